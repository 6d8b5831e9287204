"""`yesno`: is the summary consistent with the document, yes or no.

The zero-shot and chain-of-thought baselines of Luo et al. (2023), which FENICE's tables (Scire et al., 2024) set
beside it as ChatGPT-ZS and ChatGPT-CoT. The forms are theirs, the wordings ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.llm import NO_DATA, LLMJudge, material
from summeter.evaluators.rating import reading
from summeter.evaluators.rating.judge import Rating
from summeter.evaluators.replies import YES_NO, choice, clean, object_schema, read_answer, show, text_schema
from summeter.records import Item, Judgment, ReplyError, Unit

FAITHFULNESS = "faithfulness"
VALUES = {"yes": 1.0, "no": 0.0}
_ABROAD = {
    **dict.fromkeys(("ja", "oui", "sí", "si", "sì", "da", "да", "是", "はい", "예", "네"), "yes"),
    **dict.fromkeys(("nein", "non", "nee", "nie", "нет", "否", "不是", "いいえ", "아니요"), "no"),
}
"""Replies in other languages, where they are one word."""
_END = r"(?=[\s*_\"'`”)\]]*(?:[.,;:!]|\s[–—-]\s|\n|$))"
_AT_FIRST = re.compile(rf"[\s*_\"'`“(]*(yes|no)\b{_END}", re.IGNORECASE)
_NAMED = re.compile(rf"\banswer\b(?:\s+is\b)?[\s:=*_\"'`“()]*(yes|no)\b{_END}", re.IGNORECASE)
_LAST_WORD = re.compile(r"\b(yes|no)[\s*_\"'`”).!]*$", re.IGNORECASE)
_AT_LAST = re.compile(r"(?:[.!?,;]\s|\n)[\s*_\"'`“(]*(yes|no)[\s*_\"'`”).!]*$", re.IGNORECASE)
_CHOICE = re.compile(r"\byes\s*(?:or|/)\s*no\b", re.IGNORECASE)  # the question repeated


class YesNo(LLMJudge[Rating]):
    """Whether a summary as a whole is consistent with its document.

    `cot`: the judge reasons step by step before it answers (chain of thought); else it answers at once
    (zero-shot). `prompts`: a folder whose templates (`yesno.txt`, `yesno_cot.txt`) replace the shipped ones.

    Writes one judgment a summary (aspect faithfulness): label 1 and value 1.0 for yes, 0 and 0.0 for no; with
    `cot` the reasoning is its reason. A system's mean is the share of its summaries that are consistent.

    >>> YesNo().strict("No, the date is wrong.").value
    0.0
    """

    name: ClassVar[str] = "yesno"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM judge says whether the whole summary is consistent, at once or after reasoning."
    binary_units: ClassVar[frozenset[Unit]] = frozenset({"summary"})
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    reads_sentences: ClassVar[bool] = False
    reply_tokens: ClassVar[int] = 500

    cot: bool = False

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        return "yesno_cot" if self.cot else "yesno"

    def signature_fields(self) -> Mapping[str, object]:
        """Whether it reasons, and the prompt."""
        return {"variant": "cot" if self.cot else "zero-shot", "prompt": self.prompt_hash}

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """The answer, after the reasoning where that is asked for."""
        del item, data
        return object_schema({"reasoning": text_schema(1500), "answer": YES_NO} if self.cot else {"answer": YES_NO})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Rating:
        """The answer in a reply about this item."""
        del data
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
            lambda body: self._from_text(body, material),
            same=lambda rating: rating.value,
            material=material,
            wordless=not self.cot,
        )

    def _from_json(self, answer: Mapping[str, Any]) -> Rating:
        word = choice(reading.field(answer, "answer"))
        if word not in VALUES:
            raise ReplyError(f"the answer is {show(answer['answer'])}, not yes or no")
        return Rating(VALUES[word], reading.text(answer, "reasoning") if self.cot else None)

    def _from_text(self, body: str, material: Sequence[str] = ()) -> Rating:
        if word := _ABROAD.get(choice(body) or ""):
            return Rating(VALUES[word], clean(body) if self.cot else None)
        text = _CHOICE.sub("", reading.unquoted(body, material))
        named = reading.own(_NAMED.finditer(text), material)
        answers = [answer for answer in (_AT_FIRST.match(text), _AT_LAST.search(text), *named) if answer is not None]
        if answers and (turned := _LAST_WORD.search(text)):
            answers.append(turned)  # "Yes, but no"
        words = {answer[1].lower() for answer in answers}
        if len(words) > 1:
            raise ReplyError("the reply answers both yes and no", fault="ambiguous")
        if not words:
            raise ReplyError(f"the reply answers neither yes nor no; it ends {show(body[-50:])}", fault="no_json")
        return Rating(VALUES[words.pop()], clean(body) if self.cot else None)
