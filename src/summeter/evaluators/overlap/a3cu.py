"""`a3cu`: how many atomic content units summary and reference share, as a regression network estimates it without
writing the units (A3CU: Liu et al., EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools
from summeter.models.networks import ClassifyTokens, FindTokens, Framing
from summeter.records import Item, Judgment

RECALL, PRECISION, F1 = "a3cu_recall", "a3cu_precision", "a3cu_f1"
LONGEST = 254
"""Tokens of each text that are read."""
SHORTEST = 10
"""Words below which the authors call A3CU unfit for a text."""


Floats = NDArray[np.float64]


class A3CU(Evaluator):
    """Recall, precision and F1 of content units between summary and reference, estimated in two passes (A3CU).

    The checkpoint is one number at the first token of (summary, reference) for recall and of (reference, summary) for
    precision; each text is read up to 254 tokens. Both are a regression's, near [0, 1] and not held there. F1 = 2PR /
    (P + R + 1e-10) of values below 0 would be as large as one likes (opposite signs: -2e8); so there P and R count as 0
    at least. `variant`: `paper`, or `legacy` for the released code's: F1 of the values as they are, and marks such as
    `[SEP]` inside a text read as marks.

    Against several references each score is the mean. Texts cut at 254 tokens are counted in `truncated_tokens` and at
    the end of the run. Writes one judgment of the summary for each aspect.
    """

    name, version = "a3cu", "1"
    summary = "content units shared with the reference, as a regression network estimates them (A3CU)"
    aspects = (RECALL, PRECISION, F1)
    needs = frozenset({"reference"})
    roles: ClassVar[Mapping[str, Role]] = {
        "a3cu": Role("token_classifier", checkpoints=(Checkpoint("Yale-LILY/a3cu", "none stated"),))
    }
    code_licence = "none"
    reduce = "whole"
    value_range = None
    reads_sentences = False

    variant: Literal["paper", "legacy"] = "paper"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment of the summary for each aspect."""
        network = tools.network("a3cu")
        builder = self.builder(item, prepared, tools, model=network.id)
        text = item.summary.text
        references = [reference for reference in item.references if reference.strip()]
        pairs = [pair for reference in references for pair in ((text, reference), (reference, text))]
        how = Framing((LONGEST, LONGEST), marks=self.variant == "legacy")
        # The first token's state is what the regression reads.
        outputs = [
            float(row.logits[0, 0]) for row in await network.ask([ClassifyTokens(pair, 1, how) for pair in pairs])
        ]
        recalls, precisions = np.array(outputs[::2]), np.array(outputs[1::2])
        scores = f1(precisions, recalls, clip=self.variant == "paper")
        found = await network.ask([FindTokens(one) for one in (text, *references)])
        over = sum(max(0, len(places) - LONGEST) for places in found)
        builder = replace(builder, truncated_tokens=over or None)
        notes = [f"of {len(references)} references, the mean"] if len(references) > 1 else []
        if short := [
            name for name, words in (("summary", text), ("reference", references[0])) if len(words.split()) < SHORTEST
        ]:
            notes.append(f"the {' and the '.join(short)} has fewer than {SHORTEST} words, for which A3CU is unfit")
        if self.variant == "paper" and min(outputs) < 0:
            notes.append("below 0, which F1 takes for 0")
        means = {RECALL: recalls.mean(), PRECISION: precisions.mean(), F1: scores.mean()}
        reason = "; ".join(notes) or "of the reference"
        return [builder.ok(aspect, value=float(value), reason=reason) for aspect, value in means.items()]


def f1(precision: Floats, recall: Floats, *, clip: bool) -> Floats:
    """2PR / (P + R + 1e-10), P and R at least 0 with `clip`.

    >>> f1(np.array([0.4]), np.array([0.6]), clip=True).round(3).tolist()
    [0.48]
    >>> f1(np.array([0.1]), np.array([-0.1]), clip=True).tolist()
    [0.0]
    >>> bool(f1(np.array([0.1]), np.array([-0.1]), clip=False)[0] < -1e7)
    True
    """
    if clip:
        precision, recall = np.maximum(precision, 0), np.maximum(recall, 0)
    scores: Floats = 2 * precision * recall / (precision + recall + 1e-10)
    return scores
