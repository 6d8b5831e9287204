"""`bartscore`: the probability of generating one text from another.

See BARTScore (Yuan et al., NeurIPS 2021).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from summeter.evaluators.base import Checkpoint, Choices, Evaluator, Prepared, Role, Tools
from summeter.models.networks import Framing, ScoreTarget
from summeter.records import Item, Judgment

Direction = Literal["src-hyp", "ref-hyp", "hyp-ref", "avg", "harm", "hyp"]

ASPECTS: Mapping[Direction, str] = {
    "src-hyp": "bartscore_faithfulness", "ref-hyp": "bartscore_precision", "hyp-ref": "bartscore_recall",
    "avg": "bartscore_f1", "harm": "bartscore_harmonic", "hyp": "bartscore_fluency",
}  # fmt: skip
_WORDS: Mapping[Direction, str] = {
    "src-hyp": "per token of the summary, given the document",
    "ref-hyp": "per token of the summary, given the reference",
    "hyp-ref": "per token of the reference, given the summary",
    "hyp": "per token of the summary, without a source",
}
_BOTH: tuple[Direction, Direction] = ("ref-hyp", "hyp-ref")
"""The directions that `avg` and `harm` combine."""
LONGEST = 1024
"""Maximum number of tokens of each text."""


class BartScore(Evaluator):
    """Compute the mean log-probability of a text's tokens given another text (BARTScore).

    The network has the role `bartscore`. `directions` lists the directions, separated by semicolons: `src-hyp`
    (document to summary: faithfulness), `ref-hyp` (reference to summary: precision), `hyp-ref` (summary to reference:
    recall), `avg` (the mean of `ref-hyp` and `hyp-ref`, the paper's F), `harm` (their product divided by their sum, as
    in the released code) and `hyp` (no source text). `references` selects the `mean` or the `max` over several
    references in each direction. With `variant=legacy`, marks such as `</s>` inside a text are read as special tokens,
    as in the released class.

    A document is encoded once for all its summaries. Each text is truncated to 1,024 tokens. Writes one judgment of the
    summary per direction: the mean of the natural logarithms of the probabilities of the target's tokens, including
    special tokens (eq. 2, equal weights). Values are at most 0 and mostly between -5 and -1. Compare values with each
    other, not with a fixed threshold.
    """

    name, version = "bartscore", "1"
    summary = "The probability of the summary given the document or reference, or the reverse (BARTScore)."
    aspects = tuple(ASPECTS.values())
    roles: ClassVar[Mapping[str, Role]] = {
        "bartscore": Role(
            "seq2seq",
            hint="The paper's network is hf/facebook/bart-large-cnn.",
            checkpoints=(
                Checkpoint("facebook/bart-large-cnn", "MIT", size=406, tokens=1024),
                Checkpoint("bart.pth (CNN+Para)", "none stated", size=406, tokens=1024, convert="bartscore"),
            ),
        )
    }
    code_licence = "Apache-2.0"
    reduce = "whole"
    value_range = None
    reads_sentences = False
    positional_setting = "directions"

    directions: Choices[Direction] = ("src-hyp",)
    references: Literal["mean", "max"] = "mean"
    variant: Literal["paper", "legacy"] = "paper"

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """One aspect per direction."""
        return tuple(ASPECTS[direction] for direction in self.directions)

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, or None.

        An empty document is a reason only if it is used.
        """
        if "src-hyp" in self.directions:
            return super().skip_reason(item)
        return None if item.summary.text.strip() else "the summary is empty"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary per direction."""
        network = tools.network("bartscore")
        builder = self.builder(item, prepared, tools, model=network.id)
        references, summary = item.references, item.summary.text
        all_pairs: dict[Direction, list[tuple[str, str]]] = {
            "src-hyp": [(item.document.text, summary)],
            "ref-hyp": [(text, summary) for text in references],
            "hyp-ref": [(summary, text) for text in references],
            "hyp": [("", summary)],
        }
        pairs_of = {
            one: all_pairs[one]
            for direction in self.directions
            for one in ((direction,) if direction in all_pairs else _BOTH)
            if all_pairs[one]
        }
        framing = Framing(limit=LONGEST, marks=self.variant == "legacy")
        requests = [ScoreTarget(*pair, framing) for pairs in pairs_of.values() for pair in pairs]
        scores = iter(await network.ask(requests))
        aggregate = max if self.references == "max" else np.mean
        values = {direction: float(aggregate([next(scores) for _ in pairs])) for direction, pairs in pairs_of.items()}
        if values.keys() >= set(_BOTH):
            precision, recall = values["ref-hyp"], values["hyp-ref"]
            values["avg"] = (precision + recall) / 2
            # Both are 0 only if the network is certain of every token.
            values["harm"] = precision * recall / (precision + recall) if precision + recall else 0.0
        judgments = []
        for direction in self.directions:
            aspect, value = ASPECTS[direction], values.get(direction)
            if value is None:
                judgments.append(builder.failed(aspect, "skipped", "there is no reference summary"))
                continue
            if direction in {"avg", "harm"}:
                formula = "mean" if direction == "avg" else "product divided by sum"
                reason = f"{formula} of precision {values['ref-hyp']:.2f} and recall {values['hyp-ref']:.2f}"
            else:
                reason = f"probability {math.exp(value):.3g} {_WORDS[direction]} (geometric mean)"
                if direction in _BOTH and len(references) > 1:
                    reason += f"; {self.references} of {len(references)} references"
            judgments.append(builder.ok(aspect, value=value, reason=reason))
        return judgments
