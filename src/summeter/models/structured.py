"""Call an LLM with a prompt and parse the reply into a typed answer or a status.

The server is asked to enforce the JSON schema of the form, or a weaker reply format if it does not support schemas
(`layers/formats.py`). If a reply does not match the form, one repair turn that states the error is sent. If the second
reply does not match either, the answer has a status and no data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from summeter.models.base import LLM, Completion, Format, Message, Request, TokenLogprobs
from summeter.models.contexts import known_context
from summeter.models.prompts import Prompt
from summeter.records import ReplyError, Status

T = TypeVar("T")

Overflow = Literal["window", "truncate", "error"]


class Form(NamedTuple, Generic[T]):
    """The expected form of a reply.

    `read` is the evaluator's strict parser, which is applied to new and stored replies alike: it returns the parsed
    reply or raises ReplyError. `schema` is the JSON schema; if it is None, plain text is requested regardless of the
    run's reply format, and there is no repair turn. `example` is a reply for dry runs, which otherwise answer with an
    example of the schema.
    """

    name: str
    schema: dict[str, Any] | None
    read: Callable[[str], T]
    example: str | None = None


class Answer(NamedTuple, Generic[T]):
    """The parsed reply, or the reason why there is none.

    `data` is None unless `status` is "ok". `calls` holds the keys of the calls that were made. `text` is the last
    reply, and `logprobs` holds the log-probabilities of its tokens if they were requested.
    """

    data: T | None
    status: Status
    reason: str | None
    calls: tuple[str, ...]
    text: str | None
    logprobs: tuple[TokenLogprobs, ...] | None = None


REPEATS = 10_000
"""Maximum number of draws of one prompt per repeat; the draws of the second repeat are numbered from this value."""


class Settings(NamedTuple):
    """Settings of the calls of a role; a sampling parameter that is None is not sent.

    The endpoint then uses its own default for this parameter.

    `format` is the strictest reply format requested, and `repair` allows one repair turn. `context` is the context
    length in tokens (prompt and reply together), and `on_overflow` says how a document that does not fit is handled.
    `repeat` counts from 1; each repeat of an evaluator draws independent samples of the same prompts. `fence` is the
    secret with which the fence codes are keyed, or None for unkeyed codes.
    """

    temperature: float | None = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    repair: bool = True
    format: Format = "json_schema"
    context: int | None = None
    on_overflow: Overflow = "window"
    repeat: int = 1
    fence: str | None = None


class BoundLLM:
    """An LLM in a role, with the settings of the role, as returned by `tools.llm("judge")`."""

    def __init__(self, llm: LLM, settings: Settings | None = None) -> None:
        self.llm = llm
        self.settings = settings or Settings()

    @property
    def id(self) -> str:
        """The model string used in signatures."""
        return self.llm.id

    @cached_property
    def context(self) -> int | None:
        """The context length in tokens, or None if it is unknown.

        It is the setting `context`, or else the context length of a hosted model in the table.
        """
        return self.settings.context if self.settings.context is not None else known_context(self.llm.id)

    async def ask(
        self,
        prompt: Prompt,
        form: Form[T],
        *,
        draw: int = 0,
        temperature: float | None = None,
        top_logprobs: int | None = None,
        max_tokens: int | None = None,
    ) -> Answer[T]:
        """Call the model, with at most one repair turn, and return the parsed answer.

        `draw` numbers independent samples of one prompt. `temperature` and `max_tokens` override the settings unless
        they are None; a reply that ends at this `max_tokens` counts as complete. `top_logprobs` is the number of
        alternatives requested for each token. Raises ModelError if the model returns no reply.
        """
        settings = self.settings
        reply_format: Format = "text" if form.schema is None else settings.format
        schema = form.schema if reply_format == "json_schema" else None
        draw += REPEATS * (settings.repeat - 1)
        messages, sent = prompt.messages, prompt.fenced(settings.fence)
        request = Request(
            model=self.llm.id,
            messages=sent,
            unkeyed=None if sent == messages else messages,
            temperature=settings.temperature if temperature is None else temperature,
            max_tokens=settings.max_tokens if max_tokens is None else max_tokens,
            format=reply_format,
            # With the same seed, all draws would be the same sample.
            seed=None if settings.seed is None else settings.seed + draw,
            schema_name=form.name if schema else None,
            schema_=schema,
            draw=draw,
            top_logprobs=top_logprobs,
            example=form.example,
            extra_body=prompt.extra_body,
        )
        completion = await self.llm.complete(request)
        calls = [request.key]
        result = _read(completion, form, max_tokens)
        # A refused or truncated reply would be refused or truncated again.
        repair = settings.repair and completion.finish_reason != "length" and bool(completion.text.strip())
        if isinstance(result, ReplyError) and result.kind == "unparsed" and repair and form.schema is not None:
            fault = f"That reply cannot be used: {result.detail}\nGive the whole answer again, as JSON only, corrected."
            more = (Message(role="assistant", content=completion.text), Message(role="user", content=fault))
            unkeyed = None if request.unkeyed is None else (*request.unkeyed, *more)
            request = request.model_copy(update={"messages": (*sent, *more), "unkeyed": unkeyed})
            completion = await self.llm.complete(request)
            calls.append(request.key)
            result = _read(completion, form, max_tokens)
        reply = (tuple(calls), completion.text, completion.logprobs)
        if isinstance(result, ReplyError):
            return Answer(None, result.kind, str(result), *reply)
        return Answer(result, "ok", None, *reply)


async def ask_together(questions: Iterable[Awaitable[T]]) -> list[T]:
    """Return the answers to questions that are asked concurrently.

    If one of them raises an error, the first error is raised when all questions have ended, so that the replies to the
    others are stored.
    """
    tasks = [asyncio.ensure_future(question) for question in questions]
    await asyncio.gather(*tasks, return_exceptions=True)
    return [task.result() for task in tasks]


def _read(completion: Completion, form: Form[T], max_tokens: int | None) -> T | ReplyError:
    if completion.refusal:
        return ReplyError(f"refused: {completion.refusal}", kind="refused")
    if completion.finish_reason == "content_filter":
        return ReplyError("refused: stopped by the provider's content filter", kind="refused")
    if completion.finish_reason == "length" and max_tokens is None:
        tokens = "" if completion.tokens_out is None else f" after {completion.tokens_out} tokens"
        return ReplyError(f"the reply was truncated by the length limit{tokens}", fault="truncated")
    try:
        return form.read(completion.text)
    except ReplyError as error:
        return error
