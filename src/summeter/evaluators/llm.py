"""LLMJudge, an evaluator that asks an LLM about an item and writes judgments from the reply.

A subclass provides a prompt (a template file beside its module, or `prompt_text`), the `reply_schema`, `parse` (the
strict parser) and `judgments`. The base class asks the LLM, requests repairs, splits long documents, reads stored
replies and writes failed judgments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar

from summeter.evaluators.base import JudgmentBuilder, Parser, Prepared, PromptedEvaluator, Role, Tools
from summeter.evaluators.replies import object_schema
from summeter.evaluators.windows import document_views, with_document
from summeter.models.prompts import Prompt, fence_codes
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import Item, Judgment, ReplyError, Status
from summeter.text.spans import TextSpan

R = TypeVar("R")

NO_DATA: Final[Mapping[str, Any]] = MappingProxyType({})
"""The prepared data of evaluators that prepare no data."""


class NoVerdict(NamedTuple):
    """The status and the reason of a unit without a verdict."""

    status: Status
    reason: str


class LLMJudge(PromptedEvaluator, Generic[R]):
    """A judge that asks an LLM one question per item. `R` is the type of a parsed reply.

    The class attribute `prompt_text` is the template if it is not in a file. `reply` maps the fields of the JSON reply
    to their schemas. `long_documents` says how a document longer than the model's context is shown: "passages" (the
    beginning and the passages most similar to the summary), "windows" (one question per window until `is_decided`, then
    `combine`) or "unread" (the prompt does not contain the document). `reply_tokens` is the expected number of tokens
    of a reply.

    The parameter `data` of the methods is `Prepared.data`.
    """

    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}
    reply: ClassVar[Mapping[str, Any]] = {}
    long_documents: ClassVar[Literal["passages", "windows", "unread"]] = "passages"
    reply_tokens: ClassVar[int] = 200

    # --- required of subclasses ---

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the JSON schema of a reply about this item.

        Default: an object with the fields of `reply`.
        """
        return object_schema(self.reply)

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> R:
        """Parse a reply strictly. Raises ReplyError if the reply is ambiguous or invalid."""
        raise NotImplementedError

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> R:
        """Parse a reply as the paper's released code does.

        Default: `parse`, for papers without released code.
        """
        return self.parse(text, item, data)

    def judgments(self, reply: R, builder: JudgmentBuilder) -> list[Judgment]:
        """Return the judgments of a parsed reply."""
        raise NotImplementedError

    # --- may be overridden ---

    @property
    def template(self) -> str:
        """The name of the prompt template and of the JSON schema.

        Default: the name of the evaluator, with underscores instead of dots.
        """
        return self.name.replace(".", "_")

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates that affect its judgments."""
        return (self.template,)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the variables of the template.

        Default: the texts of the item and the codes of their fences.
        """
        return texts(item)

    def expected_tokens(self, item: Item) -> int:
        """Return the expected number of tokens of the reply."""
        return self.reply_tokens

    def is_decided(self, answers: Sequence[Answer[R]], item: Item) -> bool:
        """Return whether the replies on the windows asked so far determine the result."""
        return False

    def combine(self, answers: Sequence[Answer[R]], item: Item, views: Sequence[TextSpan]) -> R | NoVerdict:
        """Combine the answers on all windows into one reply. Default: return the only answer."""
        (answer,) = answers
        if answer.data is None:
            return NoVerdict(answer.status, answer.reason or "no usable reply")
        return answer.data

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[R]:
        """Ask the question; if the reply cannot be parsed, ask once for a repair."""
        return await llm.ask(self.prompt(item, data), self.form(item, data))

    # --- the same for all judges ---

    def prompt(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> Prompt:
        """Return the prompt about an item."""
        return self.load_template(self.template).fill(**self.template_variables(item, data))

    def form(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> Form[R]:
        """Return the schema of a reply about this item, together with the strict parser."""
        return Form(self.template, self.reply_schema(item, data), lambda text: self.parse(text, item, data))

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Ask one question, or one per window of a long document. Return a judgment for every unit."""
        llm, data = tools.llm("judge"), prepared.data
        views, cut = [TextSpan(item.document.titled(), 0, len(item.document.text))], None
        if self.long_documents != "unread" and llm.context is not None:
            near = None
            if self.long_documents == "passages":
                summaries = filter(None, (item.summary, item.rival))
                near = [text for summary in summaries for text in summary.sentence_texts or (summary.text,)]
            frame = self.prompt(with_document(item, ""), data)
            views, cut = document_views(item.document, llm, frame, self.expected_tokens(item), near)
        whole = len(views) == 1 and cut is None
        answers: list[Answer[R]] = []
        for view in views:
            view_item = item if whole else with_document(item, view.text)
            answers.append(await self.ask(llm, view_item, data))
            if self.is_decided(answers, item):
                break
        calls = tuple(key for answer in answers for key in answer.calls)
        builder = self.builder(item, prepared, tools, model=llm.id, calls=calls, truncated_tokens=cut)
        reply = self.combine(answers, item, views)
        if isinstance(reply, NoVerdict):
            return builder.all_failed(reply.status, reply.reason, self.expected(item, data))
        return self.judgments(reply, builder)

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Return judgments from a stored reply, read by the strict or the released parser."""
        builder = JudgmentBuilder(self, item, signature)
        data = self.stored_data(item)
        try:
            parse = {"strict": self.parse, "legacy": self.parse_released}[parser]
            return self.judgments(parse(output, item, data), builder)
        except ReplyError as error:
            return builder.all_failed(error.kind, str(error), self.expected(item, data, parser))

    def stored_data(self, item: Item) -> Mapping[str, Any]:
        """Return the prepared data that the parser of a stored reply receives."""
        return NO_DATA


def texts(item: Item) -> dict[str, Any]:
    """Return the texts of an item and the codes of their fences, as template variables.

    The document has the titles of its sources.
    The fence code of a document depends only on the document, so that all prompts about it start with the same text.
    """
    document, summary = item.document.titled(), item.summary.text
    rival = item.rival.text if item.rival else None
    return {"document": document, "summary": summary, "rival": rival, **fence_codes(document, summary, rival)}


def material(item: Item) -> tuple[str, ...]:
    """Return the texts under judgment.

    JSON that a reply quotes from them does not count as an answer.
    """
    rival = (item.rival.text,) if item.rival else ()
    return (item.document.text, item.summary.text, *rival)
