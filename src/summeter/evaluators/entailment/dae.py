"""`dae`: entailment of each dependency arc of the summary by the document.

See Goyal and Durrett (NAACL 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nextafter
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import field_validator

from summeter.evaluators.base import Checkpoint, Evaluator, JudgmentBuilder, Prepared, Role, Tools, named_file
from summeter.evaluators.entailment.arcs import MOST, WHAT, Arc, Arcs, parsed, read_arcs, words
from summeter.evaluators.entailment.reasons import short
from summeter.models.fitted import DataFile
from summeter.models.networks import ClassifyTokens, Cut, FindTokens, Framing, Network, TokenLogits
from summeter.records import Claim, Item, Judgment, Span, digest
from summeter.text import english
from summeter.text.spans import TextSpan, sentence_spans

FAITHFULNESS, ENTAILED = ASPECTS = ("faithfulness", "arcs_entailed")
THRESHOLD = nextafter(0.5, 1.0)
"""Lowest probability of an entailed arc, which makes "entailed" the more probable of two classes."""
LENGTH, MARKS = 512, 3
"""Maximum number of tokens of an input, and the number of special tokens among them."""
CUT_TO = 510
"""Length to which the released code truncates longer inputs (`legacy`)."""


class Verdict(NamedTuple):
    """An arc of the summary, with its two words, their offsets, and p(entailed)."""

    arc: Arc
    words: tuple[str, str]
    offsets: tuple[tuple[int, int] | None, tuple[int, int] | None]
    value: float

    @property
    def entailed(self) -> bool:
        """Whether "entailed" is the more probable class."""
        return self.value >= THRESHOLD

    @property
    def description(self) -> str:
        """The arc as a phrase for reasons."""
        return f"'{self.words[0]}' as {self.arc.relation} of '{self.words[1]}' ({short(self.value)})"

    @property
    def evidence(self) -> tuple[Span, ...]:
        """The spans of the two words in the summary, in order."""
        offsets = sorted(span for span in self.offsets if span is not None)
        return tuple(Span(of="summary", start=start, end=end) for start, end in offsets)


class DAE(Evaluator):
    """Classify whether the document entails each dependency arc of the summary (DAE).

    The network has the role `arcs`. It reads the document and the summary once and returns two logits per arc, computed
    from the last tokens of the two words. By default, arcs come from the English parser (extra `parse`). These arcs are
    not Stanford dependencies, so the signature contains the parser, and scores differ from those of the released code.
    To use the arcs of the released code, set `corenlp` to a file of CoreNLP replies, with lines of `{"text": TEXT,
    "corenlp": REPLY}` for documents and summaries.

    If `by` is `summary`, the network reads the whole summary and its first 20 arcs, as in the released code; if it is
    `sentence`, the network reads each sentence by itself. If `variant` is `legacy`, inputs with a long document are
    truncated to 510 tokens instead of 512.

    Writes two judgments of the summary. The faithfulness is 1 if every arc is entailed, and otherwise 0 (with
    `by=sentence`, the share of sentences whose arcs are all entailed). The value of arcs_entailed is the share of
    entailed arcs. Also writes a judgment of the faithfulness of each sentence, and a judgment of arcs_entailed for each
    arc (unit claim). The value of an arc is p(entailed), its label is 1 if the value exceeds 0.5, and its evidence are
    the two words.
    """

    name, version = "dae", "1"
    summary = "A network decides whether the document entails each dependency arc of the summary (DAE)."
    aspects = ASPECTS
    roles: ClassVar[Mapping[str, Role]] = {
        "arcs": Role(
            "token_classifier",
            checkpoints=(
                Checkpoint("DAE_xsum_human_best_ckpt", "none stated", size=110, convert="dae"),
                Checkpoint("ENT-C_dae", "none stated", size=110, convert="dae"),
            ),
        )
    }
    code_licence = "none"
    reduce = "whole"

    corenlp: Annotated[DataFile | None, named_file(WHAT)] = None
    by: Literal["summary", "sentence"] = "summary"
    variant: Literal["paper", "legacy"] = "paper"

    @field_validator("corenlp")
    @classmethod
    def _check_file(cls, file: DataFile | None) -> DataFile | None:
        if file is not None:
            read_arcs(file)  # An invalid file raises an error before anything is judged.
        return file

    @property
    def decision_threshold(self) -> float:
        """The smallest float above 0.5."""
        return THRESHOLD

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings and the origin of the arcs."""
        parser = {"parser": english.version()} if self.corenlp is None else {}
        return {**super().signature_fields(), **parser}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Classify the arcs of all texts of the summary at once and return the judgments."""
        network = tools.network("arcs")
        builder = self.builder(item, prepared, tools, model=network.id)
        replies = None if self.corenlp is None else read_arcs(self.corenlp)
        file = "" if self.corenlp is None else self.corenlp.path.name
        if replies is None:
            source = tools.once("words", lambda: words(item.document.text))
        elif item.document.text in replies:
            source = replies[item.document.text].words
        else:
            return builder.skipped(f"{file} has no reply for the document")
        readings = []
        for span in [TextSpan.of(item.summary.text)] if self.by == "summary" else sentence_spans(item.summary):
            arcs = parsed(span.text) if replies is None else replies.get(span.text)
            if arcs is None:
                return builder.skipped(f"{file} has no reply for the {self.by}")
            readings.append(arcs.shifted(span.start))
        verdicts, truncated = await self._verdicts(network, " ".join(source), readings)
        builder = replace(builder, truncated_tokens=truncated or None)
        if not verdicts:
            return builder.skipped("the summary has no arc to judge")
        return self._judgments(builder, verdicts)

    async def _verdicts(self, network: Network, source: str, readings: Sequence[Arcs]) -> tuple[list[Verdict], int]:
        """Return the verdicts on all arcs, and the maximum number of truncated tokens per input."""
        texts = [" ".join(reading.words) for reading in readings]
        lengths = [len(tokens) for tokens in await network.ask([FindTokens(text) for text in (source, *texts)])]
        requests: list[tuple[Arcs, str, Cut]] = []
        for reading, text, length in zip(readings, texts, lengths[1:], strict=True):
            if reading.arcs:
                is_long = lengths[0] + length + MARKS > LENGTH
                room = (CUT_TO if is_long and self.variant == "legacy" else LENGTH) - MARKS - length
                requests.append((reading, text, (room, length) if room > 0 else "only_first"))
        rows = await network.ask(
            [ClassifyTokens((source, text), 4, Framing(cut=cut, segments=False)) for _, text, cut in requests]
        )
        verdicts = [
            verdict for (reading, _, _), row in zip(requests, rows, strict=True) for verdict in _of_row(reading, row)
        ]
        sizes = [lengths[0] + length for reading, length in zip(readings, lengths[1:], strict=True) if reading.arcs]
        # Count the tokens that were read, because the network may have fewer positions than the method's.
        truncated = [size - int((row.text >= 0).sum()) for size, row in zip(sizes, rows, strict=True)]
        return verdicts, max([0, *truncated])

    def _judgments(self, builder: JudgmentBuilder, verdicts: Sequence[Verdict]) -> list[Judgment]:
        unentailed = [verdict for verdict in verdicts if not verdict.entailed]
        sentences = builder.by_sentence(
            FAITHFULNESS,
            [(one.offsets[0][0], one) for one in verdicts if one.offsets[0] is not None],
            _of_sentence,
            missing=f"no arc of this sentence was judged (only the first {MOST} are)",
        )
        count = f"{len(verdicts) - len(unentailed)} of {len(verdicts)} arcs entailed"
        worst = min(verdicts, key=lambda verdict: verdict.value)
        reason = f"{count}; lowest: {worst.description}"
        fields = {**_of_sentence(verdicts), "reason": reason}
        judged = [sentence.value for sentence in sentences if sentence.value is not None]
        if self.by == "sentence" and judged:
            fields |= {"value": sum(judged) / len(judged), "label": None}
        overall = builder.ok(FAITHFULNESS, **fields)
        share = builder.ok(ENTAILED, value=1 - len(unentailed) / len(verdicts), reason=reason)
        list_id = digest([[*verdict.arc, *verdict.words] for verdict in verdicts], 12)
        arcs = [
            builder.ok(
                ENTAILED,
                "claim",
                place,
                value=verdict.value,
                label=int(verdict.entailed),
                reason=verdict.description,
                evidence=verdict.evidence,
                list_id=list_id,
                claim=Claim(text=f"{verdict.words[0]} ({verdict.arc.relation}) {verdict.words[1]}"),
            )
            for place, verdict in enumerate(verdicts)
        ]
        return [overall, share, *sentences, *arcs]


def _of_sentence(verdicts: Sequence[Verdict]) -> Mapping[str, Any]:
    """Return the fields of a sentence's judgment from the verdicts on its arcs."""
    unentailed = [verdict for verdict in verdicts if not verdict.entailed]
    return {
        "value": float(not unentailed),
        "label": int(not unentailed),
        "reason": "; ".join(verdict.description for verdict in unentailed) or f"all {len(verdicts)} arcs entailed",
        "evidence": tuple(dict.fromkeys(span for verdict in unentailed for span in verdict.evidence)),
    }


def _of_row(reading: Arcs, row: TokenLogits) -> list[Verdict]:
    """Return the verdicts on the first arcs of a text.

    Arcs with a word that has no token are left out.
    """
    ends = np.cumsum([len(word) + 1 for word in reading.words]) - 1
    last: dict[int, int] = {}
    for place in np.flatnonzero(row.text == 1).tolist():
        last[int(np.searchsorted(ends, row.offsets[place][1]))] = place
    verdicts = []
    for arc in reading.arcs[:MOST]:
        if arc.child in last and arc.head in last:
            logits = row.logits[last[arc.child], :2].astype(np.float64) + row.logits[last[arc.head], 2:]
            value = 1 / (1 + float(np.exp(np.clip(logits[0] - logits[1], -700, 700))))
            words_of_arc = (reading.words[arc.child], reading.words[arc.head])
            verdicts.append(Verdict(arc, words_of_arc, (reading.offsets[arc.child], reading.offsets[arc.head]), value))
    return verdicts
