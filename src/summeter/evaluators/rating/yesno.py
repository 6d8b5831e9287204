"""`yesno`: is the summary consistent with the document, yes or no.

The zero-shot and chain-of-thought baselines of Luo et al. (2023), which FENICE's tables (Scire et al., 2024) set
beside it as ChatGPT-ZS and ChatGPT-CoT. The forms are theirs, the wordings ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.llm import NO_DATA, LLMJudge, material
from summeter.evaluators.rating.judge import Rating
from summeter.evaluators.rating.reading import yes_no_in
from summeter.evaluators.replies import (
    YES_NO,
    clean,
    field,
    object_schema,
    read_answer,
    required_text,
    text_schema,
    yes,
)
from summeter.records import Item, Judgment

FAITHFULNESS = "faithfulness"


class YesNo(LLMJudge[Rating]):
    """Whether a summary as a whole is consistent with its document.

    `cot`: the judge reasons step by step before it answers (chain of thought); else it answers at once
    (zero-shot). `prompts`: a folder whose templates (`yesno.txt`, `yesno_cot.txt`) replace the shipped ones.

    Writes one judgment a summary (aspect faithfulness): label 1 and value 1.0 for yes, 0 and 0.0 for no; with
    `cot` the reasoning is its reason. A system's mean is the share of its summaries that are consistent.

    >>> YesNo().strict("No, the date is wrong.").value
    0.0
    """

    name, version = "yesno", "1"
    summary = "An LLM judge says whether the whole summary is consistent, at once or after reasoning."
    binary_units = frozenset({"summary"})
    aspects = (FAITHFULNESS,)
    reads_sentences = False
    reply_tokens = 500

    cot: bool = False

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        return "yesno_cot" if self.cot else "yesno"

    def signature_fields(self) -> Mapping[str, object]:
        """Whether it reasons, and the prompt."""
        return {"cot": self.cot, "prompt": self.prompt_hash}

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """The answer, after the reasoning where that is asked for."""
        return object_schema({"reasoning": text_schema(1500), "answer": YES_NO} if self.cot else {"answer": YES_NO})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Rating:
        """The answer in a reply about this item."""
        return self.strict(text, material(item)[:2])

    def judgments(self, reply: Rating, builder: JudgmentBuilder) -> list[Judgment]:
        """One judgment."""
        return [builder.ok(FAITHFULNESS, value=reply.value, label=int(reply.value), reason=reply.reason)]

    def strict(self, text: str, material: Sequence[str] = ()) -> Rating:
        """The one answer of a reply: in its JSON; else where a text begins with it, ends with it or calls it the
        answer, and never says the other. What is quoted from `material` answers nothing."""
        return read_answer(
            text,
            self._from_json,
            lambda body: Rating(float(yes_no_in(body, material)), clean(body) if self.cot else None),
            same=lambda rating: rating.value,
            material=material,
            wordless=not self.cot,
        )

    def _from_json(self, answer: Mapping[str, Any]) -> Rating:
        consistent = yes(field(answer, "answer"))
        return Rating(float(consistent), required_text(answer, "reasoning") if self.cot else None)
