"""Parse the replies of servers and classify their errors, as far as these are the same for several vendors."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from summeter.models.base import Request, TokenLogprobs
from summeter.records import AccessError, CapabilityError, ContextError, Message, ModelError, Parameter, TransientError
from summeter.runs.calls import token_count

# 424 is Bedrock's status of a model that failed during its reply.
TRANSIENT = frozenset({408, 409, 424, 425, 429})
# The server is overloaded: 503 of Google, Bedrock, Ollama and vLLM, 529 of Anthropic.
THROTTLED = frozenset({429, 503, 529})
# Messages of errors with status 400 that do not depend on the reply format.
_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|too many (input )?tokens|(prompt|input) is too long"
    r"|input token count",
    re.IGNORECASE,
)
# Some servers fail with status 500 for an unknown format.
_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|grammar|output_?config|output_format|text_?format"
    r"|response_?(mime_?type|schema)",
    re.IGNORECASE,
)
# An exhausted budget or daily quota has status 429 or 400, but retries do not help.
_SPENT = re.compile(r"insufficient_quota|billing_|billing hard|credit balance|PerDay", re.IGNORECASE)
_BAD_KEY = re.compile(r"API_KEY_INVALID|api key (not valid|not found|expired)", re.IGNORECASE)
# Bedrock, Mistral and OpenRouter answer 400, not 404, for an unknown model.
_NO_MODEL = re.compile(
    r"model identifier is invalid|on-demand throughput|invalid_model\b|invalid model:|not a valid model", re.IGNORECASE
)
_PARAMETERS = ("temperature", "seed", "max_completion_tokens", "max_tokens", "logprobs")
_FIXES = {
    "temperature": Message("run with ", Parameter("temperature", "None"), " to leave it to the model"),
    "seed": Message("run without ", Parameter("seed")),
    "max_tokens": "run without a limit on new tokens",
    "extra_body": "use a server that fills the chat template of the model, such as vLLM",
    "logprobs": "choose a model or server that returns log-probabilities, or use the mean of samples (`draws`)",
}
ROUNDING = 1e-5  # maximum log-probability that results from rounding in low precision
_SURROGATE = re.compile("[\ud800-\udfff]")


class Answer(NamedTuple):
    """An HTTP answer with its model, address and request.

    `seconds` is the time until the last byte. `clean` removes keys from messages of the server. `request` is an empty
    request if the answer is not a completion. `key_variable` is the environment variable of the key.
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
    """Return the JSON object in an answer.

    Raises TransientError if the answer is not a JSON object.
    """
    try:
        value = json.loads(answer.content)
    except (ValueError, RecursionError) as error:
        raise TransientError(f"{answer.model}: {answer.address} sent invalid JSON: {_excerpt(answer)}") from error
    if not isinstance(value, dict):
        raise TransientError(f"{answer.model}: {answer.address} sent JSON that is not an object: {_excerpt(answer)}")
    return value


def without(answer: Answer, what: str) -> TransientError:
    """Return the error for a reply that lacks the required part `what`."""
    return TransientError(f"{answer.model}: {answer.address} sent a reply without {what}: {_excerpt(answer)}")


def capability_error(model: str, what: str, head: str | None = None) -> CapabilityError:
    """Return the error for an endpoint that does not support `what`, with advice."""
    fix = _FIXES.get(what, "a weaker reply format may work")
    return CapabilityError(Message(f"{head or f'{model} does not support {what}'}: ", fix), lacks=what)


def refuse(request: Request, model: str, *lacks: str) -> None:
    """Raise CapabilityError if the request needs one of the features that the vendor lacks (`lacks`)."""
    for what in lacks:
        if what == request.format or _requests(what, request):
            raise capability_error(model, what)


def failure(answer: Answer) -> ModelError:
    """Return the error for an answer with a status other than 200."""
    status, full_message, request = answer.status, _server_message(answer), answer.request
    message = shorten(full_message)
    head = f"{answer.model}: {answer.address} answered {status}: {message}"
    # Errors that concern all calls, although their status usually concerns a single call.
    if status in {400, 422, 429} and _SPENT.search(full_message):
        return AccessError(
            f"{head}. The budget or the daily quota of the account is exhausted; raise it, or wait, and resume"
        )
    if status == 400 and _BAD_KEY.search(full_message):
        return AccessError(f"{head}. {_advice(401, answer.key_variable)}")
    if status == 400 and _NO_MODEL.search(full_message):
        return AccessError(f"{head}. {_advice(404, answer.key_variable)}")
    if status in {400, 422, 501} or (status == 500 and request.format != "text" and _FORMAT.search(message)):
        return _refused(answer, head, message)
    if status in TRANSIENT or status >= 500:
        delay = retry_after(answer.headers)
        if delay is None:  # Google has it in the body: {"@type": ".../google.rpc.RetryInfo", "retryDelay": "34.1s"}
            texts = (str(detail.get("retryDelay", "")) for detail in _details(error_of(answer)))
            matches = (re.fullmatch(r"(\d+(?:\.\d+)?)s", text, re.ASCII) for text in texts)
            delay = next((float(match[1]) for match in matches if match), None)
        return TransientError(head, retry_after=delay, throttled=status in THROTTLED)
    if status == 403 and "logprobs" in message and _requests("logprobs", request):
        return capability_error(answer.model, "logprobs", head)
    # These errors concern all calls.
    kind = AccessError if status in {401, 402, 403, 404} or 300 <= status < 400 else ModelError
    return kind(f"{head}. {_advice(status, answer.key_variable)}")


def _refused(answer: Answer, head: str, message: str) -> ModelError:
    request = answer.request
    if _TOO_LONG.search(message):
        return ContextError(
            f"{head}. The prompt is longer than the model's context: set its length with ",
            Parameter("context", "TOKENS"),
            ", so that long documents are read in windows (",
            Parameter("on_overflow"),
            "); or choose a model with a longer context",
        )
    if not _FORMAT.search(message):
        for name in _PARAMETERS:
            if name in message.lower() and _requests(name, request):
                lacks = "max_tokens" if "tokens" in name else name
                return capability_error(answer.model, lacks, f"{head}. {answer.model} refuses {name}")
    if request.format != "text":
        return CapabilityError(f"{head}. It may not support the reply format {request.format}", lacks=request.format)
    return ModelError(f"{head}. The server refuses the request, and would refuse it again")


def _requests(name: str, request: Request) -> bool:
    fields = {"max_completion_tokens": "max_tokens", "logprobs": "top_logprobs"}
    return getattr(request, fields.get(name, name), None) is not None


def _advice(status: int, key_variable: str) -> str:
    if status in {401, 403}:
        return f"Check the key in the environment variable {key_variable} and its permissions"
    if status == 404:
        return "Check the model's name and the base URL (it usually ends in /v1)"
    if status == 402:
        return "The budget of the account is exhausted; raise it and resume"
    if status == 413:
        return "The prompt is larger than the server accepts"
    if 300 <= status < 400:
        return "Redirects are not followed, since they would carry the key elsewhere; give the final base URL"
    return "The server would refuse it again"


def retry_after(headers: Mapping[str, str], *, now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds to wait that the headers state, or None if they state none.

    The headers read are `retry-after-ms` and `Retry-After`, which contains seconds or an HTTP date.

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
    """Return the error object in the answer to a failed call, or None if there is none.

    If the answer contains another value in place of the object, this value is returned.
    """
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
            # Mistral nests its list of errors once more.
            inner = value[name]
            return inner.get("detail", inner) if name == "message" and isinstance(inner, dict) else inner
    return None


def _server_message(answer: Answer) -> str:
    """Return the message of the server's error object, or else an excerpt of the answer."""
    error = error_of(answer)
    if isinstance(error, dict):
        parts = [error.get(name) for name in ("message", "code", "type", "param", "status")]
        parts += [detail.get("reason") for detail in _details(error)]
        parts += [detail.get("quotaId") for detail in _details(error)]
        error = " / ".join(str(part) for part in parts if part)
    elif isinstance(error, list):
        error = json.dumps(error, ensure_ascii=False)
    if not isinstance(error, str) or not error:
        return _excerpt(answer) if error is None else answer.clean(_plain(answer.content))
    error_type = answer.headers.get("x-amzn-ErrorType", "").partition(":")[0]
    return answer.clean(f"{error} / {error_type}" if error_type else error)


def _details(error: Any) -> list[dict[str, Any]]:
    """Return the details in an error object of Google, including nested violations."""
    details = dicts(mapping(error).get("details"))
    return details + [violation for detail in details for violation in dicts(detail.get("violations"))]


def _excerpt(answer: Answer) -> str:
    content_type = answer.headers.get("Content-Type", "no content type")
    return f"{shorten(answer.clean(_plain(answer.content)))!r} ({shorten(answer.clean(content_type))})"


def _plain(content: bytes) -> str:
    return content[:4000].decode("utf-8", "replace")


def shorten(text: str) -> str:
    """Return a string on one line; everything after 300 characters is replaced by an ellipsis."""
    text = " ".join(text.split())
    return text if len(text) <= 300 else f"{text[:300]}..."


# Fields of untrusted JSON


def text(value: Any) -> str:
    """Return a string or the joined texts of a list of parts, or an empty string for other values.

    Lone surrogates are replaced by U+FFFD.
    """
    if isinstance(value, str):
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)
    return "".join(text(part.get("text")) for part in dicts(value))


def string(value: Any) -> str | None:
    """Return the value if it is a non-empty string, and None otherwise."""
    return text(value) if isinstance(value, str) and value else None


count = token_count
"""Return the value as a number of tokens, or None if it is not one."""


def tokens(usage: Any, **names: Sequence[str]) -> dict[str, Any]:
    """Return the token counts in the server's object `usage`.

    `names` gives, for each token count of a `Completion`, the names of the server's counts that are added. A count is
    None if the server reports none of them.
    """
    counts = {name: number for name, value in mapping(usage).items() if (number := count(value)) is not None}
    summands = {field: [counts[name] for name in fields if name in counts] for field, fields in names.items()}
    return {field: count(sum(numbers)) if numbers else None for field, numbers in summands.items()}


def logprob(value: Any) -> float | None:
    """Return the value as a log-probability, or None if it is not a number or above 0 by more than rounding.

    Minus infinity, which JSON cannot represent, becomes -9999 (OpenAI's convention), which is also the minimum.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value <= ROUNDING:
        return None
    return float(max(-9999.0, min(value, 0.0)))


def token_logprobs(
    entries: Iterable[tuple[dict[str, Any], Any]], name: str, request: Request
) -> tuple[TokenLogprobs, ...] | None:
    """Return the log-probabilities of a reply's tokens, or None if none were requested, or if one is invalid.

    `entries` holds the server's object of each token, with the list of objects of the most likely tokens at its
    position, and `name` is the field of a log-probability.
    """
    tokens: list[TokenLogprobs] = []
    for entry, alternatives in entries if request.top_logprobs is not None else ():
        chosen = logprob(entry.get(name))
        if chosen is None or not isinstance(entry.get("token"), str):
            return None
        top = tuple(
            (text(other.get("token")), likely)
            for other in dicts(alternatives)
            if (likely := logprob(other.get(name))) is not None
        )
        tokens.append(TokenLogprobs(token=text(entry["token"]), logprob=chosen, top=top))
    return tuple(tokens) or None


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, and an empty object otherwise."""
    return value if isinstance(value, dict) else {}


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, or an empty list for other values."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
