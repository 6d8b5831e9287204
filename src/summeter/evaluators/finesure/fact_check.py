"""`finesure.fact_check`: is each sentence of the summary true to the document, and if not, how not.

FineSurE, sections 3.1 and 3.3 (Song et al., ACL 2024); the five-category variant after UniSumEval (Lee et al.,
EMNLP 2024). One call a summary. faithfulness = share of sentences without error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from pydantic import model_validator

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Parser, Prepared, Tools
from summeter.evaluators.fences import fence_code, lines
from summeter.evaluators.finesure import legacy
from summeter.evaluators.finesure.blocks import prompt_hash, template
from summeter.evaluators.finesure.by_window import joined, settled
from summeter.evaluators.finesure.taxonomy import Taxonomy
from summeter.evaluators.finesure.verdicts import WANTED, Strategy, Verdict, VerdictForm
from summeter.evaluators.replies import read_reply, show
from summeter.evaluators.windows import seen, shown
from summeter.models.prompts import Prompt
from summeter.models.structured import Answer, Form
from summeter.records import Item, Judgment, ReplyError, Span, Status
from summeter.text.match import QuoteFinder

FAITHFULNESS = "faithfulness"
REPLY_TOKENS = 80
"""Tokens that the verdict on a sentence takes, reason and quote included."""


class FactCheck(Evaluator):
    """A verdict on each summary sentence, from an LLM judge.

    `strategy` is the prompt strategy of FineSurE's section 3.3. Each asks for all that the one before it does:

    - "basic": is the sentence supported, yes or no; nothing else
    - "instruction": the same, with the steps to take
    - "categorization": with those steps, which category of error (or none) instead of yes or no
    - "reasoning", the default and what FineSurE ships: before the category, the reason in one sentence
    - "evidence": before both, the passage of the document that decides, word for word

    `taxonomy`: "finesure" (nine categories) or "unisumeval" (five). `prompts`: a folder whose templates
    replace the shipped ones of the same name.

    Writes one judgment per sentence (aspect faithfulness): label 1 and value 1.0 for "no error" (or yes), else
    0 and 0.0; `error_type` is the category where one was asked for; `evidence` the places of the document that
    were quoted. A quote that is not in the document is no evidence, and the reason says so. A reply that cannot be used
    gives one failed judgment per sentence.
    """

    name: ClassVar[str] = "finesure.fact_check"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge finds the factual errors of each sentence (FineSurE)."
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS,)
    roles: ClassVar[tuple[str, ...]] = ("judge",)

    taxonomy: Taxonomy = "finesure"
    strategy: Strategy = "reasoning"
    prompts: Path | None = None

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        check_strategy(self.strategy, self.taxonomy)
        return self

    def signature_fields(self) -> Mapping[str, object]:
        """Taxonomy and strategy where they are not the default, and the prompt."""
        return {**super().signature_fields(), "prompt": prompt_hash([self._template], self.prompts)}

    def skip_reason(self, item: Item) -> str | None:
        """As for every evaluator; and there must be sentences."""
        return super().skip_reason(item) or (None if item.sentences else "the summary has no sentences")

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call, or one a window of a document that is longer than the judge reads (see `by_window`); one judgment
        per sentence."""
        del prepared
        builder = JudgmentBuilder(self, item, tools.signature)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        llm = tools.llm("judge")
        count = len(item.sentences)
        found = shown(item.document, llm, self.prompt(seen(item, "")), REPLY_TOKENS * count)
        answers: list[Answer[tuple[Verdict, ...]]] = []
        while len(answers) < len(found.views) and not (answers and settled(answers, count)):
            one = item if found.whole else seen(item, found.views[len(answers)].text)
            answers.append(await llm.ask(self.prompt(one), self.form(one)))
        calls = tuple(key for answer in answers for key in answer.calls)
        builder = JudgmentBuilder(self, item, tools.signature, model=llm.id, calls=calls)
        finder: QuoteFinder = tools.scratch.setdefault("quotes", QuoteFinder(item.document.text))
        verdicts = [joined(answers, place, text, found.views) for place, text in enumerate(item.sentences)]
        return self._written(builder, verdicts, finder, found.truncated_tokens)

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a stored reply: of this evaluator's form, or of the released code's."""
        builder = JudgmentBuilder(self, item, signature)
        if why := self.skip_reason(item):
            return [builder.failed(FAITHFULNESS, "skipped", why)]
        if parser == "legacy":
            return legacy.faithfulness(builder, output)
        try:
            return self._written(builder, self._read(output, item), QuoteFinder(item.document.text))
        except ReplyError as error:
            return _failed(builder, error.kind, str(error))

    def prompt(self, item: Item) -> Prompt:
        """The document first: the same beginning for all evaluators and all summaries of a document, so that a
        provider's prefix cache can serve it."""
        return template(self._template, self.prompts).fill(
            document=item.document.text,
            document_code=fence_code(item.document.text),
            sentences=lines(item.sentences),
            summary_code=fence_code(item.document.text, item.summary.text),
            **WANTED[self.strategy]._asdict(),
        )

    def form(self, item: Item) -> Form[tuple[Verdict, ...]]:
        """The schema of a reply to this item, and the strict reader of one."""
        return Form("fact_check", self._form.schema(len(item.sentences)), lambda text: self._read(text, item))

    def _read(self, text: str, item: Item) -> tuple[Verdict, ...]:
        return read_reply(
            text,
            lambda value: self._form.read(value, item.sentences),
            same=lambda found: [(verdict.supported, verdict.category) for verdict in found],
            material=(item.document.text, item.summary.text),
            wordless=not self._form.wanted.reason,
        )

    def _written(
        self,
        builder: JudgmentBuilder,
        found: Sequence[Verdict | tuple[Status, str]],
        finder: QuoteFinder,
        cut: int | None = None,
    ) -> list[Judgment]:
        judgments = []
        for index, verdict in enumerate(found):
            if not isinstance(verdict, Verdict):
                judgments.append(builder.failed(FAITHFULNESS, *verdict, "sentence", index, truncated_tokens=cut))
                continue
            evidence, reason = _evidence(verdict, finder) if self._form.wanted.quote else ((), verdict.reason)
            judgments.append(
                builder.ok(
                    FAITHFULNESS, "sentence", index, value=float(verdict.supported), label=int(verdict.supported),
                    error_type=verdict.category, evidence=evidence, reason=reason, truncated_tokens=cut,
                )
            )  # fmt: skip
        return judgments

    @property
    def _form(self) -> VerdictForm:
        return VerdictForm(WANTED[self.strategy], self.taxonomy)

    @property
    def _template(self) -> str:
        if not self._form.wanted.category:
            return "fact_check_yes_no"
        return "fact_check" if self.taxonomy == "finesure" else f"fact_check_{self.taxonomy}"


def check_strategy(strategy: Strategy, taxonomy: Taxonomy) -> None:
    """Raises ValueError where a taxonomy is chosen and no category asked for: it would be signed, and do nothing."""
    if taxonomy != "finesure" and not WANTED[strategy].category:
        raise ValueError(
            f"strategy={strategy} asks for yes or no and for no category, so taxonomy={taxonomy} has no effect; "
            "leave one of them out"
        )


def _evidence(verdict: Verdict, finder: QuoteFinder) -> tuple[tuple[Span, ...], str | None]:
    """Where the quotes stand in the document; and the reason, with a note on those that stand nowhere."""
    spans, notes = [], []
    for quote in verdict.quotes:
        found = finder.find(quote)
        if found is None:
            notes.append(f"[not in the document: {show(quote, 120)}]")
        else:
            spans.append(Span(of="document", start=found.start, end=found.end))
    if verdict.supported and not verdict.quotes:
        notes.append("[no quote given]")
    return tuple(dict.fromkeys(spans)), " ".join(filter(None, [verdict.reason, *notes])) or None


def _failed(builder: JudgmentBuilder, status: Status, reason: str | None) -> list[Judgment]:
    why = reason or "no usable reply"
    return [
        builder.failed(FAITHFULNESS, status, why, "sentence", index) for index in range(len(builder.item.sentences))
    ]
