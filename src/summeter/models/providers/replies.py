"""What a server sent back, read: the parts that all vendors share, and what each failure stands for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypedDict, cast

from summeter.models.base import Completion, Request
from summeter.records import AccessError, CapabilityError, ContextError, Message, ModelError, Parameter, TransientError
from summeter.runs.calls import token_count

# 424 is Bedrock's for a model that broke while it answered.
TRANSIENT = frozenset({408, 409, 424, 425, 429})
# The server has more calls than it can take: 503 is Google's, Bedrock's, Ollama's and vLLM's, 529 Anthropic's.
THROTTLED = frozenset({429, 503, 529})
# Said in a 400 that another reply format cannot mend.
_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|too many (input )?tokens|(prompt|input) is too long"
    r"|input token count",
    re.IGNORECASE,
)
# Some servers break (500) over a format they do not know.
_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|grammar|output_?config|output_format|text_?format"
    r"|response_?(mime_?type|schema)",
    re.IGNORECASE,
)
# A spent budget or a day's quota comes as 429 or 400, but no wait of this run's restores it.
_SPENT = re.compile(r"insufficient_quota|billing_|billing hard|credit balance|PerDay", re.IGNORECASE)
_BAD_KEY = re.compile(r"API_KEY_INVALID|api key (not valid|not found|expired)", re.IGNORECASE)
# Bedrock, Mistral and OpenRouter answer 400, not 404, to a model that is not there.
_NO_MODEL = re.compile(
    r"model identifier is invalid|on-demand throughput|invalid_model\b|invalid model:|not a valid model", re.IGNORECASE
)
_PARAMETERS = ("temperature", "seed", "max_completion_tokens", "max_tokens", "logprobs")
_MEND = {
    "temperature": Message("run with ", Parameter("temperature", "None"), " to leave it to the model"),
    "seed": Message("run without ", Parameter("seed")),
    "max_tokens": "run without a limit on new tokens",
    "logprobs": "choose a model or server that returns log-probabilities, or take the mean of samples (`draws`)",
}
ROUNDING = 1e-5  # how far above 0 servers that compute in few bits may round a log-probability
_SURROGATE = re.compile("[\ud800-\udfff]")


class Answer(NamedTuple):
    """An HTTP answer: who gave it, what it was, and to which request (an empty one where none asked for a reply).

    `clean` takes keys out of the server's words; `key_variable` is where the key came from, for advice.
    """

    model: str
    address: str
    status: int
    headers: Mapping[str, str]
    content: bytes
    seconds: float = 0.0
    clean: Callable[[str], str] = str
    request: Request = Request(model="", messages=(), temperature=None)
    key_variable: str = ""


def body(answer: Answer) -> dict[str, Any]:
    """The JSON object that was sent. What is none is worth another try."""
    try:
        value = json.loads(answer.content)
    except (ValueError, RecursionError) as error:
        raise TransientError(f"{answer.model}: {answer.address} sent no valid JSON: {_shown(answer)}") from error
    if not isinstance(value, dict):
        raise TransientError(f"{answer.model}: {answer.address} sent JSON that is no object: {_shown(answer)}")
    return value


def without(answer: Answer, what: str) -> TransientError:
    """A reply that lacks its substance (`what`)."""
    return TransientError(f"{answer.model}: {answer.address} sent a reply without {what}: {_shown(answer)}")


def checked(completion: Completion, request: Request) -> Completion:
    """The completion, unless log-probabilities were asked for and silently left out."""
    if request.top_logprobs is None or completion.logprobs is not None or completion.refusal or not completion.text:
        return completion
    raise lacking(request.model, "logprobs", f"{request.model} answered without log-probabilities")


def lacking(model: str, what: str, head: str | None = None) -> CapabilityError:
    """The endpoint cannot do `what`; says what to do."""
    mend = _MEND.get(what, "a weaker reply format may do")
    return CapabilityError(Message(f"{head or f'{model} knows no {what}'}: ", mend), lacks=what)


def refuse(request: Request, model: str, *lacks: str) -> None:
    """Raises before anything is sent, where the request asks for what the vendor is known to lack."""
    for what in lacks:
        if what == request.format or _sent(what, request):
            raise lacking(model, what)


def failure(answer: Answer) -> ModelError:
    """The error a status other than 200 stands for."""
    status, whole, request = answer.status, _server_words(answer), answer.request
    message = shorten(whole)
    head = f"{answer.model}: {answer.address} answered {status}: {message}"
    # Where every other call would fail alike, though the status tells of this one only.
    if status in {400, 422, 429} and _SPENT.search(whole):
        return AccessError(f"{head}. The account's budget is spent, or the day's quota; add to it, or wait, and resume")
    if status == 400 and _BAD_KEY.search(whole):
        return AccessError(f"{head}. {_advice(401, answer.key_variable)}")
    if status == 400 and _NO_MODEL.search(whole):
        return AccessError(f"{head}. {_advice(404, answer.key_variable)}")
    if status in {400, 422, 501} or (status == 500 and request.format != "text" and _FORMAT.search(message)):
        return _refused(answer, head, message)
    if status in TRANSIENT or status >= 500:
        wish = retry_after(answer.headers)
        if wish is None:  # Google says it in the body: {"@type": ".../google.rpc.RetryInfo", "retryDelay": "34.1s"}
            told = (str(detail.get("retryDelay", "")) for detail in _details(error_of(answer)))
            delays = (re.fullmatch(r"(\d+(?:\.\d+)?)s", text, re.ASCII) for text in told)
            wish = next((float(delay[1]) for delay in delays if delay), None)
        return TransientError(head, retry_after=wish, throttled=status in THROTTLED)
    if status == 403 and "logprobs" in message and _sent("logprobs", request):
        return lacking(answer.model, "logprobs", head)
    # Turned away, unpaid, unknown or elsewhere: so would every other call be.
    kind = AccessError if status in {401, 402, 403, 404} or 300 <= status < 400 else ModelError
    return kind(f"{head}. {_advice(status, answer.key_variable)}")


def _refused(answer: Answer, head: str, message: str) -> ModelError:
    request = answer.request
    if _TOO_LONG.search(message):
        return ContextError(
            f"{head}. The prompt is longer than the model takes: say how much it reads with ",
            Parameter("context", "TOKENS"),
            ", and long documents are read in windows (",
            Parameter("on_overflow"),
            "); or choose a model with a longer context",
        )
    if not _FORMAT.search(message):
        for name in _PARAMETERS:
            if name in message.lower() and _sent(name, request):
                lacks = "max_tokens" if "tokens" in name else name
                return lacking(answer.model, lacks, f"{head}. {answer.model} refuses {name}")
    if request.format != "text":
        return CapabilityError(f"{head}. It may not know the reply format {request.format}", lacks=request.format)
    return ModelError(f"{head}. The server refuses the request; another try would be refused too")


def _sent(name: str, request: Request) -> bool:
    fields = {"max_completion_tokens": "max_tokens", "logprobs": "top_logprobs"}
    return getattr(request, fields.get(name, name), None) is not None


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


def error_of(answer: Answer) -> Any:
    """The error object of a failed call, or whatever stands in its place; None where there is none."""
    try:
        value = json.loads(answer.content)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    for name in ("error", "detail", "message", "Message"):
        if value.get(name):
            # Mistral wraps its list of faults once more.
            inner = value[name]
            return inner.get("detail", inner) if name == "message" and isinstance(inner, dict) else inner
    return None


def _server_words(answer: Answer) -> str:
    """The server's own words: the message of its error object where there is one."""
    error = error_of(answer)
    if isinstance(error, dict):
        parts = [error.get(name) for name in ("message", "code", "type", "param", "status")]
        parts += [detail.get("reason") for detail in _details(error)]
        parts += [detail.get("quotaId") for detail in _details(error)]
        error = " / ".join(str(part) for part in parts if part)
    elif isinstance(error, list):
        error = json.dumps(error, ensure_ascii=False)
    if not isinstance(error, str) or not error:
        return _shown(answer) if error is None else answer.clean(_plain(answer.content))
    kind = answer.headers.get("x-amzn-ErrorType", "").partition(":")[0]
    return answer.clean(f"{error} / {kind}" if kind else error)


def _details(error: Any) -> list[dict[str, Any]]:
    """Google's details of an error, those within them included."""
    given = error.get("details") if isinstance(error, dict) else None
    details = [detail for detail in given if isinstance(detail, dict)] if isinstance(given, list) else []
    for detail in list(details):
        inner = detail.get("violations")
        details += [violation for violation in inner if isinstance(violation, dict)] if isinstance(inner, list) else []
    return details


def _shown(answer: Answer) -> str:
    kind = answer.headers.get("Content-Type", "no content type")
    return f"{shorten(answer.clean(_plain(answer.content)))!r} ({shorten(answer.clean(kind))})"


def _plain(content: bytes) -> str:
    return content[:4000].decode("utf-8", "replace")


def shorten(text: str) -> str:
    """On one line, 300 characters at most."""
    text = " ".join(text.split())
    return text if len(text) <= 300 else f"{text[:300]}..."


# Values of JSON that may be of any type


def text(value: Any) -> str:
    """A string; or a list of parts of which the texts count; else nothing."""
    if isinstance(value, str):
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    return "".join(text(part.get("text")) for part in dicts(value))


def string(value: Any) -> str | None:
    """A string that is not empty."""
    return text(value) if isinstance(value, str) and value else None


count = token_count
"""A number of tokens; None for what cannot be one."""


class Tokens(TypedDict, total=False):
    """The tokens of a Completion."""

    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    tokens_written: int | None


def tokens(usage: Any, **names: Sequence[str]) -> Tokens:
    """The tokens of a reply: of each field of `Tokens`, the sum of the counts of these names; None without any."""
    counts = {name: number for name, value in mapping(usage).items() if (number := count(value)) is not None}
    parts = {field: [counts[name] for name in parts if name in counts] for field, parts in names.items()}
    return cast("Tokens", {field: count(sum(numbers)) if numbers else None for field, numbers in parts.items()})


def logprob(value: Any) -> float | None:
    """A log-probability; minus infinity, which JSON does not know, is -9999 (OpenAI's convention). None for what is
    none: no number, or one above 0 by more than rounding."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value <= ROUNDING:
        return None
    return float(max(-9999.0, min(value, 0.0)))


def mapping(value: Any) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
