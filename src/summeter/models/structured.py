"""A prompt and a form in, a typed answer or a named failure out.

The server is asked to enforce the form's schema; one that cannot is asked for less (`layers/formats.py`).
A reply that does not fit the form gets one repair turn that names the fault. What still does not fit is
an Answer with a status, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from summeter.models.base import LLM, Completion, Format, Message, Request, TokenLogprobs
from summeter.models.contexts import known_context
from summeter.models.prompts import Prompt
from summeter.records import ReplyError, Status

T = TypeVar("T")

Overflow = Literal["window", "truncate", "error"]


class Form(NamedTuple, Generic[T]):
    """The shape of a usable reply. `read` turns a reply's text into T or raises ReplyError.

    `read` is the strict parser of the evaluator, so a stored reply and a live one are read alike. Without a `schema`
    plain text is asked for, whatever the run's reply format, and there is no repair turn.
    """

    name: str
    schema: dict[str, Any] | None
    read: Callable[[str], T]


class Answer(NamedTuple, Generic[T]):
    """`data` where status is "ok"; else None and why. `calls` are the keys of the calls behind it;
    `logprobs` those of the last reply's tokens, where they were asked for."""

    data: T | None
    status: Status
    reason: str | None
    calls: tuple[str, ...]
    text: str | None
    logprobs: tuple[TokenLogprobs, ...] | None = None


class Sampling(NamedTuple):
    """What one question asks beside its text. `draw` tells independent samples of one prompt apart;
    `temperature` and `max_tokens` go before the settings', and a reply that ends at this `max_tokens` is whole;
    `top_logprobs` asks for the likeliest alternatives of every token."""

    draw: int = 0
    temperature: float | None = None
    top_logprobs: int | None = None
    max_tokens: int | None = None


REPEATS = 10_000
"""Draws of one prompt that an evaluator may ask for; those of the next repeat follow."""


class Settings(NamedTuple):
    """How a bound model is asked. None leaves a choice to the endpoint and is not sent.

    `format` is the strictest reply format asked for; `repair` allows the one repair turn. `context` is how many
    tokens the model reads and writes together; `on_overflow` what becomes of a document that does not fit.
    `repeat` counts from 1: each repeat of an evaluator asks
    the same questions as independent samples. `fence` is the secret that keys the codes of fences in what is sent.
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
    """An LLM in a role, with its settings: what `tools.llm("judge")` gives an evaluator."""

    def __init__(self, llm: LLM, settings: Settings | None = None) -> None:
        self.llm = llm
        self.settings = settings or Settings()

    @property
    def id(self) -> str:
        """The model string, as it stands in signatures."""
        return self.llm.id

    @cached_property
    def context(self) -> int | None:
        """The tokens it reads and writes together: as told, else as known of hosted models; None for no known limit."""
        return self.settings.context if self.settings.context is not None else known_context(self.llm.id)

    async def ask(self, prompt: Prompt, form: Form[T], sampling: Sampling | None = None) -> Answer[T]:
        """Ask once, repair once at most. ModelError passes through: no answer is not a bad answer."""
        sampling = sampling or Sampling()
        messages, sent = prompt.messages, prompt.fenced(self.settings.fence)
        request, completion = await self._complete(sent, messages, form, sampling)
        calls = [request.key]
        result = _read(completion, form, sampling)
        # A refusal or a cut reply would only be refused or cut again.
        repair = self.settings.repair and completion.finish_reason != "length" and bool(completion.text.strip())
        if isinstance(result, ReplyError) and result.kind == "unparsed" and repair and form.schema is not None:
            fault = f"That reply cannot be used: {result.detail}\nGive the whole answer again, as JSON only, corrected."
            more = (Message(role="assistant", content=completion.text), Message(role="user", content=fault))
            request, completion = await self._complete((*sent, *more), (*messages, *more), form, sampling)
            calls.append(request.key)
            result = _read(completion, form, sampling)
        reply = (tuple(calls), completion.text, completion.logprobs)
        if isinstance(result, ReplyError):
            return Answer(None, result.kind, str(result), *reply)
        return Answer(result, "ok", None, *reply)

    async def _complete(
        self, sent: tuple[Message, ...], unkeyed: tuple[Message, ...], form: Form[T], sampling: Sampling
    ) -> tuple[Request, Completion]:
        settings = self.settings
        reply_format: Format = "text" if form.schema is None else settings.format
        schema = form.schema if reply_format == "json_schema" else None
        draw = sampling.draw + REPEATS * (settings.repeat - 1)
        request = Request(
            model=self.llm.id,
            messages=sent,
            unkeyed=None if sent == unkeyed else unkeyed,
            temperature=settings.temperature if sampling.temperature is None else sampling.temperature,
            max_tokens=settings.max_tokens if sampling.max_tokens is None else sampling.max_tokens,
            format=reply_format,
            # One seed for all draws would make one sample of them.
            seed=None if settings.seed is None else settings.seed + draw,
            schema_name=form.name if schema else None,
            schema_=schema,
            draw=draw,
            top_logprobs=sampling.top_logprobs,
        )
        return request, await self.llm.complete(request)


def _read(completion: Completion, form: Form[T], sampling: Sampling) -> T | ReplyError:
    if completion.refusal:
        return ReplyError(f"refused: {completion.refusal}", kind="refused")
    if completion.finish_reason == "content_filter":
        return ReplyError("refused: stopped by the provider's content filter", kind="refused")
    if completion.finish_reason == "length" and sampling.max_tokens is None:
        tokens = "" if completion.tokens_out is None else f" after {completion.tokens_out} tokens"
        return ReplyError(f"the reply was cut by the length limit{tokens}", fault="truncated")
    try:
        return form.read(completion.text)
    except ReplyError as error:
        return error
