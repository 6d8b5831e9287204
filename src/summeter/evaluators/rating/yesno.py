"""`yesno`: is the summary consistent with the document, yes or no.

The zero-shot and chain-of-thought baselines of Luo et al. (2023), which FENICE's tables (Scire et al., 2024) set
beside it as ChatGPT-ZS and ChatGPT-CoT. The forms are theirs, the wordings ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Parser, Prepared, Tools
from summeter.evaluators.rating import reading
from summeter.evaluators.rating.judge import PACKAGE, Verdict, texts, view
from summeter.evaluators.replies import choice, clean, show
from summeter.models.prompts import Prompt, Template
from summeter.models.structured import Form
from summeter.records import Item, Judgment, ReplyError

FAITHFULNESS = "faithfulness"
REPLY_TOKENS = 500
VALUES = {"yes": 1.0, "no": 0.0}
_ANSWER: dict[str, Any] = {"type": "string", "enum": list(VALUES)}
_REASONING: dict[str, Any] = {"type": "string", "maxLength": 1500}
_END = r"(?=[\s*_\"'`”)\]]*(?:[.,;:!]|\s[–—-]\s|\n|$))"
_AT_FIRST = re.compile(rf"[\s*_\"'`“(]*(yes|no)\b{_END}", re.IGNORECASE)
_NAMED = re.compile(rf"\banswer\b(?:\s+is\b)?[\s:=*_\"'`“()]*(yes|no)\b{_END}", re.IGNORECASE)
_LAST_WORD = re.compile(r"\b(yes|no)[\s*_\"'`”).!]*$", re.IGNORECASE)
_AT_LAST = re.compile(r"(?:[.!?,;]\s|\n)[\s*_\"'`“(]*(yes|no)[\s*_\"'`”).!]*$", re.IGNORECASE)
_CHOICE = re.compile(r"\byes\s*(?:or|/)\s*no\b", re.IGNORECASE)  # the question repeated


class YesNo(Evaluator):
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
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    roles: ClassVar[tuple[str, ...]] = ("judge",)
    reads_sentences: ClassVar[bool] = False

    cot: bool = False
    prompts: Path | None = None

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        return "yesno_cot" if self.cot else "yesno"

    def signature_fields(self) -> Mapping[str, object]:
        """Whether it reasons, and the prompt."""
        return {
            "variant": "cot" if self.cot else "zero-shot",
            "prompt": Template.load(PACKAGE, self.template, self.prompts).hash,
        }

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call, one judgment."""
        del prepared
        builder = JudgmentBuilder(self, item, tools.signature)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        llm = tools.llm("judge")
        seen, cut = view(item, llm, self.prompt, REPLY_TOKENS)
        answer = await llm.ask(self.prompt(seen), self.form(seen))
        builder = JudgmentBuilder(self, item, tools.signature, model=llm.id, calls=answer.calls)
        if answer.data is None:
            why = answer.reason or "no usable reply"
            return [builder.failed(FAITHFULNESS, answer.status, why, truncated_tokens=cut)]
        return [_written(builder, answer.data, cut)]

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """The judgment in a stored reply; nothing was released to read as, so both parsers are this one."""
        del parser
        builder = JudgmentBuilder(self, item, signature)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        try:
            return [_written(builder, self.strict(output, _material(item)))]
        except ReplyError as error:
            return [builder.failed(FAITHFULNESS, error.kind, str(error))]

    def prompt(self, item: Item) -> Prompt:
        """The document first, as for every rating judge."""
        return Template.load(PACKAGE, self.template, self.prompts).fill(**texts(item))

    def form(self, item: Item) -> Form[Verdict]:
        """The schema of a reply, and the strict reader of one."""
        fields = {"reasoning": _REASONING, "answer": _ANSWER} if self.cot else {"answer": _ANSWER}
        schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
        return Form(self.template, schema, lambda text: self.strict(text, _material(item)))

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The one answer of a reply: in its JSON; else where a text begins with it, ends with it or calls it the
        answer, and never says the other. What is quoted from `material` answers nothing."""
        return reading.verdict(
            text, self._from_json, lambda body: self._from_text(body, material), material, wordless=not self.cot
        )

    def _from_json(self, value: Mapping[str, Any]) -> Verdict:
        answer = choice(reading.field(value, "answer"))
        if answer not in VALUES:
            raise ReplyError(f"the answer is {show(value['answer'])}, not yes or no")
        if not self.cot:
            return Verdict(VALUES[answer])
        reasoning = reading.field(value, "reasoning")
        if not isinstance(reasoning, str) or not clean(reasoning):
            raise ReplyError(f"the reasoning is {show(reasoning)}, not a text")
        return Verdict(VALUES[answer], clean(reasoning))

    def _from_text(self, body: str, material: Sequence[str] = ()) -> Verdict:
        text = _CHOICE.sub("", reading.unquoted(body, material))
        named = reading.own(_NAMED.finditer(text), material)
        found = [one for one in (_AT_FIRST.match(text), _AT_LAST.search(text), *named) if one is not None]
        if found and (turned := _LAST_WORD.search(text)):
            found.append(turned)  # "Yes, but no"
        said = {one[1].lower() for one in found}
        if len(said) != 1:
            if said:
                raise ReplyError("the reply answers both yes and no", fault="ambiguous")
            raise ReplyError(f"the reply answers neither yes nor no; it ends {show(body[-50:])}", fault="no_json")
        return Verdict(VALUES[said.pop()], clean(body) if self.cot else None)


def _material(item: Item) -> tuple[str, str]:
    return item.document.text, item.summary.text


def _written(builder: JudgmentBuilder, verdict: Verdict, cut: int | None = None) -> Judgment:
    return builder.ok(
        FAITHFULNESS, value=verdict.value, label=int(verdict.value), reason=verdict.reason, truncated_tokens=cut
    )  # fmt: skip
