"""`yesno`: the consistency of the summary with the document, yes or no.

The forms are those of the zero-shot and chain-of-thought baselines of Luo et al. (2023), which are called ChatGPT-ZS
and ChatGPT-CoT in the tables of FENICE (Scirè et al., 2024). The wording was written for summeter.
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
    """Judge whether a summary as a whole is consistent with the document.

    If `cot` is true, the judge reasons step by step before it answers (chain of thought); by default it answers
    directly (zero-shot). `prompts` is a folder whose templates (`yesno.txt`, `yesno_cot.txt`) replace the shipped ones.

    Writes one judgment per summary (aspect faithfulness), with label 1 and value 1.0 for yes, and 0 and 0.0 for no.
    With `cot`, the reason of the judgment is the reasoning. The mean of a system is the share of consistent summaries.

    >>> YesNo().strict("No, the date is wrong.").value
    0.0
    """

    name, version = "yesno", "1"
    summary = "An LLM judge decides whether the whole summary is consistent, directly or after reasoning."
    binary_units = frozenset({"summary"})
    aspects = (FAITHFULNESS,)
    reads_sentences = False
    reply_tokens = 500

    cot: bool = False

    @property
    def template(self) -> str:
        """The name of the prompt template."""
        return "yesno_cot" if self.cot else "yesno"

    def signature_fields(self) -> Mapping[str, object]:
        """Return whether the judge reasons, and the hash of the prompt."""
        return {"cot": self.cot, "prompt": self.prompt_hash}

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply: the answer, preceded by the reasoning if `cot` is true."""
        return object_schema({"reasoning": text_schema(1500), "answer": YES_NO} if self.cot else {"answer": YES_NO})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Rating:
        """Return the answer in a reply about this item."""
        return self.strict(text, material(item)[:2])

    def judgments(self, reply: Rating, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment."""
        return [builder.ok(FAITHFULNESS, value=reply.value, label=int(reply.value), reason=reply.reason)]

    def strict(self, text: str, material: Sequence[str] = ()) -> Rating:
        """Return the answer in a reply.

        The answer can be in JSON, at the start or the end of the text, or stated in the text.

        Raises ReplyError if the reply is ambiguous. Text that is quoted from `material`, the texts under judgment, is
        not read as an answer.
        """
        return read_answer(
            text,
            lambda answer: Rating(
                float(yes(field(answer, "answer"))), required_text(answer, "reasoning") if self.cot else None
            ),
            lambda body: Rating(float(yes_no_in(body, material)), clean(body) if self.cot else None),
            same=lambda rating: rating.value,
            material=material,
            wordless=not self.cot,
        )
