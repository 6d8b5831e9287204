"""`bartscore`: how likely one text is to be written from another (BARTScore: Yuan et al., NeurIPS 2021)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Semicolons, Tools
from summeter.models.networks import Framing, Network, ScoreTarget
from summeter.records import Item, Judgment

Direction = Literal["src-hyp", "ref-hyp", "hyp-ref", "avg", "harm", "hyp"]

ASPECTS: Mapping[Direction, str] = {
    "src-hyp": "bartscore_faithfulness", "ref-hyp": "bartscore_precision", "hyp-ref": "bartscore_recall",
    "avg": "bartscore_f1", "harm": "bartscore_harmonic", "hyp": "bartscore_fluency",
}  # fmt: skip
_WORDS: Mapping[Direction, str] = {
    "src-hyp": "a token of the summary, given the document",
    "ref-hyp": "a token of the summary, given the reference",
    "hyp-ref": "a token of the reference, given the summary",
    "hyp": "a token of the summary, given nothing",
}
_AGAINST_REFERENCES = frozenset({"ref-hyp", "hyp-ref", "avg", "harm"})
LONGEST = 1024
"""Tokens that are read of each text."""


class BartScore(Evaluator):
    """The mean log-probability of a text's tokens, given another, by an encoder-decoder (BARTScore).

    Role `bartscore`. `directions`, with semicolons: `src-hyp` (document to summary: faithfulness), `ref-hyp`
    (reference to summary: precision), `hyp-ref` (summary to reference: recall), `avg` (their mean, the paper's F) and
    `harm` (their product by their sum, as released), `hyp` (nothing to summary). `references`: what is made of several,
    in each direction, their mean or the greatest. `variant=legacy` reads a mark such as `</s>` inside a text as that
    mark, as the released class does.

    A document is encoded once for all its summaries. Each text is cut at 1,024 tokens. Writes one judgment of the
    summary a direction: a mean of natural logarithms over the tokens of what is written, marks counted (eq. 2, equal
    weights), at most 0; mostly -5 to -1. Compare values with each other, not with a fixed mark.
    """

    name, version = "bartscore", "1"
    summary = "how likely the summary is written from document or reference, or back (BARTScore)"
    aspects = tuple(ASPECTS.values())
    roles: ClassVar[Mapping[str, Role]] = {
        "bartscore": Role(
            "seq2seq",
            hint="The paper's network is hf/facebook/bart-large-cnn.",
            checkpoints=(
                Checkpoint("facebook/bart-large-cnn", "MIT"),
                Checkpoint("bart.pth (CNN+Para)", "none stated"),
            ),
        )
    }
    code_licence = "Apache-2.0"
    reduce = "whole"
    value_range = None
    reads_sentences = False
    positional_setting = "directions"

    directions: Semicolons[Direction] = ("src-hyp",)
    references: Literal["mean", "max"] = "mean"
    variant: Literal["paper", "legacy"] = "paper"

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.directions or len(set(self.directions)) < len(self.directions):
            raise ValueError(f"directions: name some of {', '.join(ASPECTS)}, each once")
        return self

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """An aspect a direction."""
        return tuple(ASPECTS[direction] for direction in self.directions)

    def skip_reason(self, item: Item) -> str | None:
        """As for every evaluator; a document is needed only where it is read."""
        if "src-hyp" in self.directions:
            return super().skip_reason(item)
        return None if item.summary.text.strip() else "the summary is empty"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment of the summary a direction."""
        network = tools.network("bartscore")
        builder = self.builder(item, prepared, tools, model=network.id)
        references = [text for text in item.references if text.strip()]
        values = await self._values(item, references, network)
        judgments = []
        for direction in self.directions:
            aspect, value = ASPECTS[direction], values.get(direction)
            if value is None:
                judgments.append(builder.failed(aspect, "skipped", "there is no reference summary"))
            else:
                judgments.append(builder.ok(aspect, value=value, reason=self._reason(direction, values, references)))
        return judgments

    async def _values(self, item: Item, references: Sequence[str], network: Network) -> dict[Direction, float]:
        """The value of each direction that can be had, those that others are made of included."""
        summary = item.summary.text
        asked: dict[Direction, list[tuple[str, str]]] = {}
        for direction in self.directions:
            if direction in _AGAINST_REFERENCES and references:
                if direction != "hyp-ref":
                    asked["ref-hyp"] = [(text, summary) for text in references]
                if direction != "ref-hyp":
                    asked["hyp-ref"] = [(summary, text) for text in references]
            elif direction == "src-hyp":
                asked[direction] = [(item.document.text, summary)]
            elif direction == "hyp":
                asked[direction] = [("", summary)]
        framing = Framing(limit=LONGEST, marks=self.variant == "legacy")
        requests = [ScoreTarget(*pair, framing) for pairs in asked.values() for pair in pairs]
        scores = iter(await network.ask(requests))
        made = max if self.references == "max" else np.mean
        values = {direction: float(made([next(scores) for _ in pairs])) for direction, pairs in asked.items()}
        if references and {"avg", "harm"} & set(self.directions):
            precision, recall = values["ref-hyp"], values["hyp-ref"]
            values["avg"] = (precision + recall) / 2
            # Both are 0 only where the network is certain of every token.
            values["harm"] = precision * recall / (precision + recall) if precision + recall else 0.0
        return values

    def _reason(self, direction: Direction, values: Mapping[Direction, float], references: Sequence[str]) -> str:
        if direction in {"avg", "harm"}:
            what = "mean" if direction == "avg" else "product by sum"
            return f"{what} of precision {values['ref-hyp']:.2f} and recall {values['hyp-ref']:.2f}"
        shown = f"probability {math.exp(values[direction]):.3g} {_WORDS[direction]} (geometric mean)"
        several = direction in _AGAINST_REFERENCES and len(references) > 1
        best = "greatest" if self.references == "max" else "mean"
        return f"{shown}; {best} of {len(references)} references" if several else shown
