"""`trueteacher`: the entailment of a whole summary by the document.

See TrueTeacher (Gekhman et al., EMNLP 2023).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools
from summeter.models.networks import FirstWord, Framing, Generate
from summeter.records import Item, Judgment

FAITHFULNESS = "faithfulness"
# The input format of the checkpoint's training.
_TEMPLATE = "premise: {0} hypothesis: {1}"
LONGEST = 2048
"""Maximum number of tokens of an input."""


class TrueTeacher(Evaluator):
    """Compute the probability that the whole summary is consistent with the document (TrueTeacher).

    The network has the role `trueteacher`. The value is the probability of the token 1 at the first step, over the
    whole vocabulary. `labels` selects the source of the label: whether the value reaches `threshold`, or the text that
    the network generates (`written`: 1 or 0; other texts give no label). If an input exceeds 2,048 tokens, its document
    is truncated.

    Writes one judgment of the summary (aspect faithfulness), in [0, 1].
    """

    name, version = "trueteacher", "1"
    summary = "A T5 network decides whether the document entails the whole summary (TrueTeacher)."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "trueteacher": Role(
            "seq2seq",
            hint="The paper's network is hf/google/t5_11b_trueteacher_and_anli (45 GB, non-commercial).",
            checkpoints=(
                Checkpoint(
                    "google/t5_11b_trueteacher_and_anli", "CC BY-NC 4.0", commercial=False, size=11_000, tokens=2048
                ),
            ),
        )
    }
    code_licence = "no code released"
    reduce = "whole"
    reads_sentences = False

    labels: Literal["threshold", "written"] = "threshold"
    threshold: float = Field(default=0.5, ge=0, le=1)

    @property
    def decision_threshold(self) -> float | None:
        """The setting `threshold`, or None if labels do not depend on it."""
        return self.threshold if self.labels == "threshold" else None

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary."""
        network = tools.network("trueteacher")
        builder = self.builder(item, prepared, tools, model=network.id)
        framing = Framing("only_first", _TEMPLATE, limit=LONGEST)
        row = (item.document.text, item.summary.text)
        # 0 is requested too, so that a network whose first step does not distinguish 1 and 0 is an error.
        ((first, _),) = await network.ask([FirstWord(row, ("1", "0"), framing)])
        value = min(1.0, math.exp(first))
        reason = f"probability of 1 (consistent): {value:.2f}"
        if self.labels == "threshold":
            return [builder.ok(FAITHFULNESS, value=value, label=int(value >= self.threshold), reason=reason)]
        (written,) = await network.ask([Generate(row, framing=framing)])
        label = {"1": 1, "0": 0}.get(written.strip())
        reason += f"; the network generated {written.strip()[:40]!r}"
        return [builder.ok(FAITHFULNESS, value=value, label=label, reason=reason)]
