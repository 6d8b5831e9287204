"""What an OpenAI-compatible server sent back, read: a Completion, or an error that says what to do."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from summeter.models.base import Completion, Request
from summeter.records import AccessError, CapabilityError, ModelError, TransientError

Clean = Callable[[str], str]

TRANSIENT = frozenset({408, 409, 425, 429})
# Said in a 400 that another reply format cannot mend.
_TOO_LONG = re.compile(r"context.{0,3}length|maximum context|too many tokens|prompt is too long", re.IGNORECASE)
# Some servers break (500) over a format they do not know.
_FORMAT = re.compile(r"response_format|json_schema|json_object|grammar", re.IGNORECASE)
# A spent budget comes as 429, but no wait of this run's restores it.
_SPENT = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
_PARAMETERS = ("temperature", "seed", "max_completion_tokens", "max_tokens")
_MEND = {
    "temperature": "run with --temperature none to leave it to the model",
    "seed": "run without --seed",
    "max_tokens": "run without a limit on new tokens",
}
_SURROGATE = re.compile("[\ud800-\udfff]")


class Answer(NamedTuple):
    """An HTTP answer: who gave it, and what it was."""

    model: str
    address: str
    status: int
    headers: Mapping[str, str]
    content: bytes


def completion(answer: Answer, request: Request, seconds: float, clean: Clean) -> Completion:
    """The Completion in a 200. A body that is no completion is worth another try."""
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError) as error:
        raise TransientError(f"{answer.model}: {answer.address} sent no valid JSON: {_shown(answer, clean)}") from error
    if not isinstance(body, dict):
        raise TransientError(f"{answer.model}: {answer.address} sent JSON that is no object: {_shown(answer, clean)}")
    choices = body.get("choices")
    if not choices and body.get("error"):
        raise _error_in_200(answer, body["error"], request, clean)
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise TransientError(f"{answer.model}: {answer.address} sent a reply without choices: {_shown(answer, clean)}")
    told = body.get("usage")
    usage: dict[str, Any] = told if isinstance(told, dict) else {}
    refusal = message.get("refusal") or _refusal_part(message.get("content"))
    return Completion(
        text=_text(message.get("content")),
        finish_reason=_string(first.get("finish_reason")),
        refusal=_string(refusal),
        model=_string(body.get("model")),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        seconds=round(seconds, 6),
        format=request.format,
    )


def failure(answer: Answer, request: Request, key_variable: str, clean: Clean) -> ModelError:
    """The error a status other than 200 stands for."""
    status, said = answer.status, _said(answer, clean)
    head = f"{answer.model}: {answer.address} answered {status}: {said}"
    if status in {400, 422, 501} or (status == 500 and request.format != "text" and _FORMAT.search(said)):
        return _refused(answer, head, said, request)
    if status in TRANSIENT or status >= 500:
        if status == 429 and _SPENT.search(said):
            return AccessError(f"{head}. The account's budget is spent; add to it and resume")
        return TransientError(head, retry_after=retry_after(answer.headers))
    # Turned away, unpaid, unknown or elsewhere: so would every other call be.
    kind = AccessError if status in {401, 402, 403, 404} or 300 <= status < 400 else ModelError
    return kind(f"{head}. {_advice(status, key_variable)}")


def _refused(answer: Answer, head: str, said: str, request: Request) -> ModelError:
    if _TOO_LONG.search(said):
        return ModelError(f"{head}. The prompt is longer than the model takes; choose a model with a longer context")
    if not _FORMAT.search(said):
        for name in _PARAMETERS:
            if name in said.lower() and _sent(name, request):
                lacks = "max_tokens" if "tokens" in name else name
                return CapabilityError(f"{head}. {answer.model} refuses {name}: {_MEND[lacks]}", lacks=lacks)
    if request.format != "text":
        return CapabilityError(f"{head}. It may not know the reply format {request.format}", lacks=request.format)
    return ModelError(f"{head}. The server refuses the request; another try would be refused too")


def _sent(name: str, request: Request) -> bool:
    return getattr(request, "max_tokens" if "tokens" in name else name) is not None


def _advice(status: int, key_variable: str) -> str:
    if status in {401, 403}:
        return f"Check the key in the environment variable {key_variable} and what it is allowed to use"
    if status == 404:
        return "Check the model's name and the base URL (it usually ends in /v1)"
    if status == 402:
        return "The account's budget is spent; add to it and resume"
    if status == 413:
        return "The prompt is larger than the server takes"
    if 300 <= status < 400:
        return "Redirects are not followed, since they would carry the key elsewhere; give the final base URL"
    return "Another try would be refused too"


def _error_in_200(answer: Answer, error: Any, request: Request, clean: Clean) -> ModelError:
    # Gateways pass on a failure of the server behind them under their own 200.
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return failure(answer._replace(status=status), request, "of this endpoint", clean)


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Seconds the server asks to wait: `retry-after-ms`, or Retry-After in seconds or as an HTTP date.

    >>> retry_after({"Retry-After": "2.5"})
    2.5
    """
    for name, unit in (("retry-after-ms", 1000.0), ("Retry-After", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d+(\.\d*)?|\.\d+", value, re.ASCII):
            return float(value) / unit
    try:
        date = parsedate_to_datetime(headers.get("Retry-After", ""))
    except (ValueError, OverflowError):
        return None
    return max(0.0, date.timestamp() - now())


def _said(answer: Answer, clean: Clean) -> str:
    """The server's own words: the message of its error object where there is one."""
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        return _shown(answer, clean)
    error = body.get("error", body.get("detail", body.get("message"))) if isinstance(body, dict) else None
    if isinstance(error, dict):
        parts = [error.get(name) for name in ("message", "code", "type", "param")]
        error = " / ".join(str(part) for part in parts if part)
    return _shorten(clean(error if isinstance(error, str) and error else _plain(answer.content)))


def _shown(answer: Answer, clean: Clean) -> str:
    kind = answer.headers.get("Content-Type", "no content type")
    return f"{_shorten(clean(_plain(answer.content)))!r} ({kind})"


def _plain(content: bytes) -> str:
    return content[:4000].decode("utf-8", "replace")


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else f"{text[:300]}..."


def _text(content: Any) -> str:
    """Content is a string, null (a refusal, or nothing), or a list of parts of which the texts count."""
    if isinstance(content, str):
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", content)
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return ""


def _refusal_part(content: Any) -> Any:
    parts = content if isinstance(content, list) else []
    return next((part["refusal"] for part in parts if isinstance(part, dict) and part.get("refusal")), None)


def _string(value: Any) -> str | None:
    return _text(value) if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
