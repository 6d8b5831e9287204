"""`trueteacher`: whether a document entails a whole summary (TrueTeacher: Gekhman et al., EMNLP 2023)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools
from summeter.models.networks import FirstWord, Framing, Generate
from summeter.records import Item, Judgment

FAITHFULNESS = "faithfulness"
# The form of the checkpoint's training.
_TEMPLATE = "premise: {0} hypothesis: {1}"
LONGEST = 2048
"""Tokens that are read of an input."""


class TrueTeacher(Evaluator):
    """The probability that a network writes 1 (consistent) of a document and the whole summary (TrueTeacher).

    Role `trueteacher`. The value is the probability of 1 at the first step, over the whole vocabulary. `labels`: what
    the label is: whether the value reaches `threshold`, or what the network writes (`written`: 1 or 0; anything else
    is no answer, and the judgment has no label). An input is cut at 2,048 tokens, in the document.

    Writes one judgment of the summary, aspect faithfulness, in [0, 1].
    """

    name, version = "trueteacher", "1"
    summary = "whether the document entails the whole summary, by one T5 (TrueTeacher)"
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "trueteacher": Role(
            "seq2seq",
            hint="The paper's network is hf/google/t5_11b_trueteacher_and_anli (45 GB, non-commercial).",
            checkpoints=(Checkpoint("google/t5_11b_trueteacher_and_anli", "CC BY-NC 4.0", commercial=False),),
        )
    }
    code_licence = "no code released"
    reduce = "whole"
    reads_sentences = False

    labels: Literal["threshold", "written"] = "threshold"
    threshold: float = Field(default=0.5, ge=0, le=1)

    @property
    def decision_threshold(self) -> float | None:
        """The setting `threshold`, where labels go by it."""
        return self.threshold if self.labels == "threshold" else None

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment of the summary."""
        network = tools.network("trueteacher")
        builder = self.builder(item, prepared, tools, model=network.id)
        framing = Framing("only_first", _TEMPLATE, limit=LONGEST)
        row = (item.document.text, item.summary.text)
        # 0 is asked too: a network that cannot tell them apart at its first step is refused.
        ((first, _),) = await network.ask([FirstWord(row, ("1", "0"), framing)])
        value = min(1.0, math.exp(first))
        reason = f"the network writes 1 (consistent) with a probability of {value:.2f}"
        if self.labels == "threshold":
            return [builder.ok(FAITHFULNESS, value=value, label=int(value >= self.threshold), reason=reason)]
        (written,) = await network.ask([Generate(row, framing=framing)])
        label = {"1": 1, "0": 0}.get(written.strip())
        shown = f"{reason}; it wrote {written.strip()[:40]!r}"
        return [builder.ok(FAITHFULNESS, value=value, label=label, reason=shown)]
