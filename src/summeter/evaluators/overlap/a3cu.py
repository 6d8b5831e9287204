"""`a3cu`: the share of common content units, estimated by a regression network.

A3CU (Liu et al., EMNLP 2023) estimates the scores of `a2cu` without extracting units.
"""

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
"""Maximum number of tokens of each text."""
SHORTEST = 10
"""Number of words below which the authors consider A3CU unsuitable for a text."""


Floats = NDArray[np.float64]


class A3CU(Evaluator):
    """Estimate recall, precision and F1 of content units between summary and reference (A3CU).

    The network returns one number at the first token of the pair (summary, reference) for recall and of (reference,
    summary) for precision; each text is truncated to 254 tokens. Both numbers are regression outputs, which are close
    to [0, 1] but not limited to it. For values with opposite signs, F1 = 2PR / (P + R + 1e-10) is unbounded (down to
    -2e8), so negative P and R count as 0. `variant` is `paper`, or `legacy` for the released code, which computes F1
    from the unclipped values and reads marks such as `[SEP]` inside a text as special tokens.

    If there are several references, each score is the mean over them. Truncated tokens are counted in
    `truncated_tokens` and reported at the end of the run. Writes one judgment of the summary for each aspect.
    """

    name, version = "a3cu", "1"
    summary = "A regression network estimates the content units shared with the reference (A3CU)."
    aspects = (RECALL, PRECISION, F1)
    needs = frozenset({"reference"})
    roles: ClassVar[Mapping[str, Role]] = {
        "a3cu": Role(
            "token_classifier",
            checkpoints=(Checkpoint("Yale-LILY/a3cu", "none stated", size=335, tokens=512, convert="a3cu"),),
        )
    }
    code_licence = "none"
    reduce = "whole"
    value_range = None
    reads_sentences = False

    variant: Literal["paper", "legacy"] = "paper"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary for each aspect."""
        network = tools.network("a3cu")
        builder = self.builder(item, prepared, tools, model=network.id)
        text, references = item.summary.text, item.references
        pairs = [pair for reference in references for pair in ((text, reference), (reference, text))]
        how = Framing((LONGEST, LONGEST), marks=self.variant == "legacy")
        # The regression uses the state of the first token.
        outputs = [
            float(row.logits[0, 0]) for row in await network.ask([ClassifyTokens(pair, 1, how) for pair in pairs])
        ]
        recalls, precisions = np.array(outputs[::2]), np.array(outputs[1::2])
        scores = f1(precisions, recalls, clip=self.variant == "paper")
        tokens = await network.ask([FindTokens(one) for one in (text, *references)])
        truncated = sum(max(0, len(of_text) - LONGEST) for of_text in tokens)
        builder = replace(builder, truncated_tokens=truncated or None)
        notes = [f"mean of {len(references)} references"] if len(references) > 1 else []
        if short := [
            name for name, words in (("summary", text), ("reference", references[0])) if len(words.split()) < SHORTEST
        ]:
            notes.append(f"the {' and the '.join(short)} has fewer than {SHORTEST} words, too few for A3CU")
        if self.variant == "paper" and min(outputs) < 0:
            notes.append("F1 counts a value below 0 as 0")
        means = {RECALL: recalls.mean(), PRECISION: precisions.mean(), F1: scores.mean()}
        reason = "; ".join(notes) or "with the reference"
        return [builder.ok(aspect, value=float(value), reason=reason) for aspect, value in means.items()]


def f1(precision: Floats, recall: Floats, *, clip: bool) -> Floats:
    """Return 2PR / (P + R + 1e-10). If `clip` is true, negative P and R count as 0.

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
