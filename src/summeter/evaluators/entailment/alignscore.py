"""`alignscore`: how well each summary sentence is aligned with some chunk of the document, by one network trained on
many tasks (AlignScore: Zha et al., ACL 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from summeter.evaluators.base import Checkpoint, Evaluator, JudgmentBuilder, Prepared, Reduce, Role, Tools
from summeter.evaluators.entailment.classified import Stretch, counted, outputs, unread
from summeter.evaluators.entailment.premises import Floats, Sentences, SummarySentences, sentences_of
from summeter.evaluators.entailment.reasons import beside
from summeter.models.networks import Classes, Classify, CountTokens, Framing, Network, TokenLimit, softmax
from summeter.records import Document, Item, Judgment

FAITHFULNESS = "faithfulness"
WORDS = 350
"""A document has one chunk for so many words begun."""
AT_ONCE = 32
"""Inputs that the released code tokenizes together: where one cannot be cut in the document alone, none of them is."""

Mode = Literal["nli_sp", "bin_sp", "reg_sp", "nli", "bin", "reg"]
CLASSES: dict[str, Classes] = {"nli": "nli", "bin": 2, "reg": 1}


class AlignScore(Evaluator):
    """How well the document supports each summary sentence, at the chunk that supports it best (AlignScore).

    `mode`: the head of the checkpoint, and what is compared. `nli` is the probability of "aligned" among three classes
    (as the paper), `bin` that of two, `reg` a regression, whose values have no bounds; with `_sp` (as the paper) each
    sentence of the summary is compared with chunks of about 350 words of the document and the score is the mean over
    sentences of the maximum over chunks; without it whole texts are compared in one pass. Each head is a checkpoint of
    its own (`summeter models convert alignscore`), bound to the role `alignscore`. `variant`: `paper`, or `legacy` for
    what the released code does instead: marks such as `</s>` inside a text are read as marks, and where one claim
    leaves a chunk no room, the longer text of all pairs beside it is cut. `sentences`: `punkt` splits both texts as the
    released code does (NLTK's English Punkt, line breaks kept), `stored` takes the sentences of the data. `threshold`:
    a text is called supported from this value on; the score does not depend on it.

    A chunk too long to be read beside a sentence is cut at its end and counted in `truncated_tokens`. Writes one
    judgment a stored sentence (`_sp`), whose evidence is the best chunk, and one of the summary, aspect faithfulness.
    A stored sentence that is none of Punkt's is compared for its own judgment and counts nothing in the score.
    """

    name: ClassVar[str] = "alignscore"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "summary sentences against chunks of the document, by an alignment network (AlignScore)"
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "alignscore": Role("classifier", checkpoints=(Checkpoint("yzha/AlignScore", "MIT"),))
    }
    code_licence: ClassVar[str] = "MIT"
    reduce: ClassVar[Reduce] = "whole"
    value_range: ClassVar[tuple[float, float] | None] = None
    positional_setting: ClassVar[str | None] = "mode"

    mode: Mode = "nli_sp"
    variant: Literal["paper", "legacy"] = "paper"
    sentences: Sentences = "punkt"
    threshold: float = Field(default=0.5, allow_inf_nan=False)

    @property
    def decision_threshold(self) -> float:
        """The setting `threshold`."""
        return self.threshold

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment a sentence where sentences are compared, and one of the summary."""
        network = tools.network("alignscore")
        builder = self.builder(item, prepared, tools, model=network.id)
        text = item.summary.text
        if self.mode.endswith("_sp"):
            stretches = tools.once("chunks", lambda: chunks(item.document, self.sentences))
            sentences = SummarySentences.of(item.summary, self.sentences)
        else:
            stretches = [Stretch(item.document.text, 0, len(item.document.text))]
            sentences = SummarySentences([(0, len(text))], 1, [])
        claims, scored = [text[start:end] for start, end in sentences.places], sentences.scored
        values = await self._values(network, stretches, claims[:scored])
        if others := claims[scored:]:
            values = np.hstack([values, await self._values(network, stretches, others)])
        missing = await unread(network, [one.text for one in stretches], claims, Framing())
        builder = replace(builder, truncated_tokens=missing)
        best = values.argmax(axis=0)
        value = float(values[:, :scored].max(axis=0).mean())
        label = int(value >= self.threshold)
        if not self.mode.endswith("_sp"):
            return [builder.ok(FAITHFULNESS, value=value, label=label, reason="the whole summary beside the document")]
        parts = [
            self._part(builder, at, stretches, int(best[claim]), float(values[best[claim], claim]))
            for at, claim in enumerate(sentences.judged)
        ]
        count = "1 sentence" if scored == 1 else f"{scored} sentences"
        weakest = beside(float(values[:, :scored].max(axis=0).min()), self.threshold)
        reason = f"mean over {count}, each at the best of {counted(stretches)}; the weakest has {weakest}"
        return [builder.ok(FAITHFULNESS, value=value, label=label, reason=reason), *parts]

    def _part(
        self, builder: JudgmentBuilder, at: int, stretches: Sequence[Stretch], place: int, value: float
    ) -> Judgment:
        supported = value >= self.threshold
        where = "the document" if len(stretches) == 1 else f"chunk {place + 1} of {len(stretches)}"
        reason = f"{'aligned with' if supported else 'best aligned with'} {where} ({beside(value, self.threshold)})"
        return builder.ok(
            FAITHFULNESS,
            "sentence",
            at,
            value=value,
            label=int(supported),
            reason=reason,
            evidence=(stretches[place].span,),
        )

    async def _values(self, network: Network, stretches: Sequence[Stretch], claims: Sequence[str]) -> Floats:
        """How well each claim is aligned with each stretch: shape (stretches, claims)."""
        head = self.mode.removesuffix("_sp")
        classes = CLASSES[head]
        if self.variant == "legacy":
            logits = await self._released(network, stretches, claims, classes)
        else:
            logits = await outputs(network, stretches, claims, classes, Framing("only_first"))
        if head == "reg":
            return logits[:, :, 0]
        return softmax(logits)[:, :, 1 if head == "bin" else 0]

    async def _released(
        self,
        network: Network,
        stretches: Sequence[Stretch],
        claims: Sequence[str],
        classes: Classes,
    ) -> Floats:
        rows = [(stretch.text, claim) for stretch in stretches for claim in claims]
        lengths = dict(zip(claims, await network.ask([CountTokens(claim) for claim in claims]), strict=True))
        (limit,) = await network.ask([TokenLimit()])
        requests = []
        for start in range(0, len(rows), AT_ONCE):
            batch = rows[start : start + AT_ONCE]
            fits = all(lengths[claim] < limit for _, claim in batch)
            how = Framing("only_first" if fits else "longest_first", marks=True)
            requests += [Classify(row, classes, how) for row in batch]
        logits = await network.ask(requests)
        return np.array(logits, dtype=np.float64).reshape(len(stretches), len(claims), -1)


def chunks(document: Document, by: Sentences = "punkt") -> list[Stretch]:
    """Runs of as many whole sentences each, one run for 350 words begun, and a last one of the sentences that remain.

    The document is not empty (AlignScore, section 3.3; the released code's rounding).

    >>> one = Document(id="d", text="A b. " * 31)
    >>> len(chunks(one)), chunks(Document(id="d", text="A b. C d."))
    (1, [Stretch(text='A b. C d.', start=0, end=9)])
    """
    text = document.text
    places = sentences_of(document, by) or [(0, len(text))]
    each = max(len(places) // (len(text.split()) // WORDS + 1), 1)
    runs = [places[start : start + each] for start in range(0, len(places), each)]
    return [Stretch(" ".join(text[start:end] for start, end in run), run[0][0], run[-1][1]) for run in runs]
