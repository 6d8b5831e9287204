"""`minicheck`: whether the document supports each summary sentence, by a network trained on synthetic errors
(MiniCheck: Tang et al., EMNLP 2024)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from summeter.evaluators.base import Checkpoint, Evaluator, JudgmentBuilder, Prepared, Reduce, Tools
from summeter.evaluators.entailment.classified import Stretch, counted, outputs, softmax, unread
from summeter.evaluators.entailment.premises import Floats, sentences_of
from summeter.evaluators.entailment.reasons import beside
from summeter.models.base import Cut, Framing, Kind
from summeter.records import Document, Item, Judgment

FAITHFULNESS = "faithfulness"
CHUNKS = {"encoder": 400, "t5": 500}
"""Tokens (of the encoder) or words (T5) of a chunk."""
TEMPLATES = {"encoder": "{0}{eos}{1}", "t5": "predict: {0}{eos}{1}"}
"""How document and claim are one text: what the checkpoints were trained on."""
WORDS = ("0", "1")
"""What T5 writes first: not supported, supported."""
LONGEST = 2048
"""Tokens of an input, where the network has places for so many (RoBERTa: 512)."""

Network = Literal["encoder", "t5"]

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Piece(NamedTuple):
    """A sentence, or the part of one on a line, and where it stands; a line's end is a piece of its own."""

    text: str
    start: int
    end: int


class MiniCheck(Evaluator):
    """The probability that the document supports each summary sentence, at the chunk that supports it best (MiniCheck).

    `network`: `encoder` for MiniCheck's RoBERTa and DeBERTa (role `minicheck`), `t5` for Flan-T5 (role `minicheck_t5`).
    `chunk`: how long a chunk of the document is, whole sentences and line ends filled up to it, in tokens of the
    encoder (400) or for T5 in words (500). `claims`: `sentence` judges each sentence of the summary, as the checkpoints
    were trained; `summary` judges it as one claim, as the paper's table on AggreFact. `pool`: what the summary's score
    is of its sentences', `mean` or `min`. `variant`: `paper`, or `legacy` for what the released code does where texts
    are hard to read: an input too long loses its end, and there stands the claim; marks such as `</s>` inside a text
    are read as marks. `threshold`: a claim is called supported from this probability on; the score does not depend on
    it.

    A chunk too long to be read beside a claim (one very long sentence) is cut at its end and counted in
    `truncated_tokens`. Writes one judgment a sentence, whose evidence is the best chunk, and one of the summary, aspect
    faithfulness, in [0, 1].
    """

    name: ClassVar[str] = "minicheck"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "summary sentences against chunks of the document, by a fact-checking network (MiniCheck)"
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    roles: ClassVar[tuple[str, ...]] = ("minicheck", "minicheck_t5")
    local_model_kinds: ClassVar[Mapping[str, Kind]] = {"minicheck": "classifier", "minicheck_t5": "seq2seq"}
    code_licence: ClassVar[str] = "Apache-2.0"
    checkpoints: ClassVar[tuple[Checkpoint, ...]] = (
        Checkpoint("minicheck", "lytang/MiniCheck-RoBERTa-Large", "MIT"),
        Checkpoint("minicheck", "lytang/MiniCheck-DeBERTa-v3-Large", "MIT"),
        Checkpoint("minicheck_t5", "lytang/MiniCheck-Flan-T5-Large", "MIT"),
    )
    reduce: ClassVar[Reduce] = "whole"
    positional_setting: ClassVar[str | None] = "network"

    network: Network = "encoder"
    chunk: int | None = Field(default=None, ge=16)
    claims: Literal["sentence", "summary"] = "sentence"
    pool: Literal["mean", "min"] = "mean"
    variant: Literal["paper", "legacy"] = "paper"
    threshold: float = Field(default=0.5, ge=0, le=1)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The role of the network it is set to."""
        return ("minicheck",) if self.network == "encoder" else ("minicheck_t5",)

    @property
    def decision_threshold(self) -> float:
        """The setting `threshold`."""
        return self.threshold

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Which pieces of the document make a chunk."""
        if not document.text.strip():
            return Prepared(document_id=document.id)
        items = pieces(document)
        if self.network == "encoder":
            lengths = await tools.classifier("minicheck").count([piece.text for piece in items])
        else:
            lengths = [len(piece.text.split()) for piece in items]
        return Prepared(document_id=document.id, data={"chunks": runs(lengths, self.chunk or CHUNKS[self.network])})

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment a sentence where sentences are the claims, and one of the summary."""
        encoder = self.network == "encoder"
        model = tools.classifier("minicheck") if encoder else tools.seq2seq("minicheck_t5")
        builder = JudgmentBuilder(self, item, tools.signature, prepared=prepared.stored_id, model=model.id)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        stretches = tools.once("chunks", lambda: chunks(item.document, prepared.data["chunks"]))
        text = item.summary.text
        places = sentences_of(item.summary) if self.claims == "sentence" else [(0, len(text))]
        claims = [text[start:end] for start, end in places]
        values = await self._values(stretches, claims, tools)
        if encoder:
            cut = await unread(tools.classifier("minicheck"), stretches, claims, self._framing)
            builder = replace(builder, truncated_tokens=cut)
        best = values.max(axis=0)
        value = float(best.mean() if self.pool == "mean" else best.min())
        label = int(value >= self.threshold)
        if self.claims == "summary":
            return [self._part(builder, None, stretches, values[:, 0])]
        count = "1 sentence" if len(claims) == 1 else f"{len(claims)} sentences"
        least = beside(float(best.min()), self.threshold)
        reason = f"{self.pool} over {count}, each at the best of {counted(stretches)}; the weakest has {least}"
        parts = [self._part(builder, at, stretches, values[:, at]) for at in range(len(claims))]
        return [builder.ok(FAITHFULNESS, value=value, label=label, reason=reason), *parts]

    def _part(self, builder: JudgmentBuilder, at: int | None, stretches: Sequence[Stretch], column: Floats) -> Judgment:
        place = int(column.argmax())
        value = float(column[place])
        supported = value >= self.threshold
        where = "the document" if len(stretches) == 1 else f"chunk {place + 1} of {len(stretches)}"
        verdict = "supported by" if supported else "not supported; nearest:"
        reason = f"{verdict} {where} ({beside(value, self.threshold)})"
        return builder.ok(
            FAITHFULNESS,
            "summary" if at is None else "sentence",
            at,
            value=value,
            label=int(supported),
            reason=reason,
            evidence=(stretches[place].span,),
        )

    @property
    def _framing(self) -> Framing:
        legacy = self.variant == "legacy"
        cut: Cut = "longest_first" if legacy else "only_first"
        return Framing(cut, TEMPLATES[self.network], marks=legacy, limit=LONGEST)

    async def _values(self, stretches: Sequence[Stretch], claims: Sequence[str], tools: Tools) -> Floats:
        """The probability that each stretch supports each claim: shape (stretches, claims)."""
        how = self._framing
        if self.network == "encoder":
            return softmax(await outputs(tools.classifier("minicheck"), stretches, claims, 2, how))[:, :, 1]
        rows = [(stretch.text, claim) for stretch in stretches for claim in claims]
        # The softmax of two logits is that of their log-probabilities.
        firsts = await tools.seq2seq("minicheck_t5").first(rows, WORDS, how)
        return softmax(firsts.reshape(len(stretches), len(claims), 2))[:, :, 1]


def pieces(document: Document) -> list[Piece]:
    """Sentences, cut at line ends, and between them a piece for each line's end.

    >>> [piece.text for piece in pieces(Document(id="d", text="A b. C d.\\n\\nE f."))]
    ['A b.', 'C d.', '\\n', '\\n', 'E f.']
    """
    text, items, last = document.text, list[Piece](), 0
    for start, end in [*sentences_of(document), (len(text), len(text))]:
        at = last
        for part in (text[last:start], text[start:end]):
            for line in _LINES.findall(part):
                bare = line.strip()
                if bare:
                    first = at + line.index(bare)
                    items.append(Piece(bare, first, first + len(bare)))
                if line.endswith("\n"):
                    items.append(Piece("\n", at + len(line) - 1, at + len(line)))
                at += len(line)
        last = end
    return items


def runs(lengths: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Neighbouring pieces, filled up to `most`; a longer piece stands alone.

    >>> runs([3, 4, 9, 1, 2], 8)
    [(0, 2), (2, 3), (3, 5)]
    """
    filled, first, held = list[tuple[int, int]](), 0, 0
    for at, length in enumerate(lengths):
        if at > first and held + length > most:
            filled.append((first, at))
            first, held = at, 0
        held += length
    return [*filled, (first, len(lengths))] if first < len(lengths) else filled


def chunks(document: Document, places: Sequence[tuple[int, int]]) -> list[Stretch]:
    """The chunks of a document, given which pieces each holds; those of line ends alone are left out."""
    items, stretches = pieces(document), []
    for first, last in places:
        inside = items[first:last]
        text = " ".join(piece.text for piece in inside).replace(" \n ", "\n").strip()
        if text:
            real = [piece for piece in inside if piece.text != "\n"]
            stretches.append(Stretch(text, real[0].start, real[-1].end))
    return stretches
