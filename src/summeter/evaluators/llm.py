"""LLMJudge: an evaluator that asks a language model about an item and writes judgments from its reply.

A judge gives a prompt (a template file beside its module, or `prompt_text`), the `reply_schema`, `parse` (the
strict reader), and `judgments`. Asking, the repair turn, long documents, stored replies and failures are done here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar

from summeter.evaluators.base import JudgmentBuilder, Parser, Prepared, PromptedEvaluator, Role, Tools
from summeter.evaluators.replies import object_schema
from summeter.evaluators.windows import DocumentView, DocumentViews, document_views, with_document
from summeter.models.prompts import Prompt, fence_codes
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import Item, Judgment, ReplyError, Status, Summary

R = TypeVar("R")

NO_DATA: Final[Mapping[str, Any]] = MappingProxyType({})
"""What was prepared, where nothing was."""


class NoVerdict(NamedTuple):
    """Why there is no verdict on a unit."""

    status: Status
    reason: str


class LLMJudge(PromptedEvaluator, Generic[R]):
    """A judge that puts one question about an item to the model in the role `judge`; R is a reply, read.

    Class facts: `prompt_text`, the template itself where no file holds it; `reply`, the fields of the JSON object that
    is asked for, each with its schema; `long_documents`, what becomes of a document that is longer than the model
    reads: "passages" (its opening and what is nearest to the summary), "windows" (one question each, until
    `is_decided`, then `combine`), or "unread" (the prompt does not hold it); `reply_tokens`, about how many tokens a
    reply takes.

    Methods take `data`, what `prepare` derived (`Prepared.data`).
    """

    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}
    reply: ClassVar[Mapping[str, Any]] = {}
    long_documents: ClassVar[Literal["passages", "windows", "unread"]] = "passages"
    reply_tokens: ClassVar[int] = 200

    # --- what a judge gives ---

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """The JSON schema of a reply about this item. Default: an object with the fields of `reply`."""
        return object_schema(self.reply)

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> R:
        """The reply, read strictly; ReplyError where it says nothing plain. Never a guess."""
        raise NotImplementedError

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> R:
        """The reply as the paper's released code reads it. Default: as `parse`, where nothing was released."""
        return self.parse(text, item, data)

    def judgments(self, reply: R, builder: JudgmentBuilder) -> list[Judgment]:
        """The judgments that a reply gives."""
        raise NotImplementedError

    # --- what a judge may change ---

    @property
    def template(self) -> str:
        """The name of its prompt template, and of the schema that is sent: the judge's, dots as underscores."""
        return self.name.replace(".", "_")

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of all templates that bear on its judgments."""
        return (self.template,)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """What fills the template: by default the texts of the item, with the codes of their fences."""
        return texts(item)

    def expected_tokens(self, item: Item) -> int:
        """About how many tokens the reply takes."""
        return self.reply_tokens

    def is_decided(self, answers: Sequence[Answer[R]], item: Item) -> bool:
        """Whether the windows asked about so far decide, so that no more need be."""
        return False

    def combine(self, answers: Sequence[Answer[R]], item: Item, views: Sequence[DocumentView]) -> R | NoVerdict:
        """One reply from those on all windows. Default: there is one."""
        (answer,) = answers
        if answer.data is None:
            return NoVerdict(answer.status, answer.reason or "no usable reply")
        return answer.data

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[R]:
        """Put the question: once, and once more where the reply can be mended."""
        return await llm.ask(self.prompt(item, data), self.form(item, data))

    # --- what is the same for all ---

    def prompt(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> Prompt:
        """The question about an item."""
        return self.load_template(self.template).fill(**self.template_variables(item, data))

    def form(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> Form[R]:
        """The schema of a reply to this item, and the strict reader of one."""
        return Form(self.template, self.reply_schema(item, data), lambda text: self.parse(text, item, data))

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One question, or one a window of a long document; a judgment for every unit."""
        llm, data = tools.llm("judge"), prepared.data
        seen = self.document_views(item, data, llm)
        answers: list[Answer[R]] = []
        for view in seen.views:
            view_item = item if seen.whole else with_document(item, view.text)
            answers.append(await self.ask(llm, view_item, data))
            if self.is_decided(answers, item):
                break
        calls = tuple(key for answer in answers for key in answer.calls)
        cut = seen.truncated_tokens
        builder = self.builder(item, prepared, tools, model=llm.id, calls=calls, truncated_tokens=cut)
        reply = self.combine(answers, item, seen.views)
        if isinstance(reply, NoVerdict):
            return builder.all_failed(reply.status, reply.reason, self.expected(item, data))
        return self.judgments(reply, builder)

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a stored reply: in this judge's form or the published one, or by the released parser."""
        builder = JudgmentBuilder(self, item, signature)
        data = self.stored_data(item)
        try:
            read = {"strict": self.parse, "legacy": self.parse_released}[parser]
            return self.judgments(read(output, item, data), builder)
        except ReplyError as error:
            return builder.all_failed(error.kind, str(error), self.expected(item, data, parser))

    def stored_data(self, item: Item) -> Mapping[str, Any]:
        """What is taken for prepared where a stored reply is read."""
        return NO_DATA

    def document_views(self, item: Item, data: Mapping[str, Any], llm: BoundLLM) -> DocumentViews:
        """What of the document the judge is shown, and in how many questions."""
        if self.long_documents == "unread" or llm.context is None:
            return DocumentViews((DocumentView(item.document.text, 0),))
        near = None
        if self.long_documents == "passages":
            near = [*_parts(item.summary), *(_parts(item.rival) if item.rival else ())]
        frame = self.prompt(with_document(item, ""), data)
        return document_views(item.document, llm, frame, self.expected_tokens(item), near)


def texts(item: Item) -> dict[str, Any]:
    """The texts of an item with the codes of their fences. The document's code depends on the document alone."""
    document, summary = item.document.text, item.summary.text
    rival = item.rival.text if item.rival else None
    return {"document": document, "summary": summary, "rival": rival, **fence_codes(document, summary, rival)}


def material(item: Item) -> tuple[str, ...]:
    """The texts under judgment: an answer that is quoted from them is no answer."""
    rival = (item.rival.text,) if item.rival else ()
    return (item.document.text, item.summary.text, *rival)


def _parts(summary: Summary) -> tuple[str, ...]:
    return summary.sentence_texts or (summary.text,)
