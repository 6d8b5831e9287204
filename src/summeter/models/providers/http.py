"""Define the base class for providers with an HTTP endpoint, which sends one POST request per call.

Each API has a subclass.
"""

from __future__ import annotations

import asyncio
import errno
import io
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from summeter.models.base import Completion, Request, attach_reply, to_bytes
from summeter.models.per_loop import PerLoop
from summeter.models.providers import replies
from summeter.models.providers.provider import Endpoint, Options, Provider, join, proxy, url_secrets
from summeter.records import AccessError, ModelError, OutageError, Parameter, TransientError, UnreachableError
from summeter.records.addresses import bare_url

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

MAX_REPLY_BYTES = 32 * 2**20
"""Maximum size of a reply in bytes; completions usually have a few kilobytes."""

STREAMED_BYTES = 2**20
"""Size in bytes above which a request body is streamed."""

MIN_KEY_LENGTH = 16
"""Minimum length of a key that is removed from replies; a shorter key may be an ordinary word."""

HEALTH_TIMEOUT = 5.0
"""Seconds to wait for the answer to a health check."""

CONNECT_TIMEOUT = 30.0
"""Seconds to wait for a connection; an address without a server may leave the request unanswered."""

NOT_REACHABLE = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
"""The system errors raised for an address without a server."""

UPLOAD_TIMEOUT = 900.0
"""Minimum timeout in seconds of a request that uploads a batch."""


class HttpLLM(ABC):
    """A model at an endpoint.

    Subclasses override `url`, `payload` and `completion`, and `headers` if necessary.

    `model` is the part of the model string after the provider, and `name` is the server's name for the model if it
    differs. The `timeout` in the options limits the time of the whole call in seconds, from connecting to the last
    byte. Calls are not retried here but in the layers above.
    """

    key_header: str | None = None
    """The header of the key unless the dialect names one, or None for `Authorization: Bearer`."""

    def __init__(
        self, provider: Provider, model: str, endpoint: Endpoint, options: Options, *, name: str | None = None
    ) -> None:  # fmt: skip
        self.provider = provider
        self.name = model if name is None else name
        self.endpoint = endpoint
        self.options = options
        self.id = f"{provider.name}/{model}"
        self._url = self.url()
        self._proxy = proxy(self._url)
        self._reached = False
        self._sessions: PerLoop[aiohttp.ClientSession] = PerLoop(self._open)

    @classmethod
    def open(cls, provider: Provider, name: str, options: Options) -> Self:
        """Return the client of the model at the provider's endpoint.

        Raises UsageError for a missing key or address.
        """
        return cls(provider, name, provider.endpoint(options), options)

    @property
    def address(self) -> str:
        """The base URL of the endpoint without secrets.

        Models with the same address share the rate limits of the endpoint.
        """
        return bare_url(self.endpoint.base_url)

    async def complete(self, request: Request) -> Completion:
        """Send one POST request and return the reply.

        Raises TransientError for temporary failures, CapabilityError for unsupported features, and ModelError
        otherwise.
        """
        body = to_bytes(self.payload(request))
        return self.read(await self._within(self.options.timeout, "POST", self._url, body), request)

    def read(self, answer: replies.Answer, request: Request) -> Completion:
        """Return the reply in an answer to the request, or raise the error that the answer represents."""
        answer = answer._replace(request=request)
        completion = self.completion(replies.body(answer), answer) if answer.status == 200 else self.failed(answer)
        completion = completion.model_copy(
            update={"seconds": answer.seconds, "format": request.format, **self._redacted(completion)}
        )
        answered = completion.text and not completion.refusal
        if answered and request.top_logprobs is not None and completion.logprobs is None:
            with attach_reply(completion):
                raise replies.capability_error(self.id, "logprobs", f"{self.id} answered without log-probabilities")
        return completion

    async def close(self) -> None:
        session = self._sessions.pop()
        if session is not None:
            await session.close()

    # Overridden by subclasses

    @abstractmethod
    def url(self) -> URL:
        """Return the URL to which all calls are sent."""

    @abstractmethod
    def payload(self, request: Request) -> dict[str, Any]:
        """Return the body of the call.

        Raises CapabilityError for features that the vendor does not support.
        """

    @abstractmethod
    def completion(self, body: dict[str, Any], answer: replies.Answer) -> Completion:
        """Return the reply in an answer with status 200."""

    def headers(self) -> dict[str, str]:
        """Return the headers that all calls have."""
        if (key := self.endpoint.key) is None:
            return {}
        header, secret = self.provider.dialect.key_header or self.key_header, key.get_secret_value()
        return {"Authorization": f"Bearer {secret}"} if header is None else {header: secret}

    async def sign(self, body: bytes) -> Mapping[str, str] | None:
        """Return the headers that depend on the body, such as a signature.

        Returns None if there are none.
        """
        del body
        return None

    def secrets(self) -> tuple[str, ...]:
        """Return the keys that must not appear in messages or replies."""
        key = self.endpoint.key
        return (*(() if key is None else (key.get_secret_value(),)), *url_secrets(self.endpoint.base_url))

    def failed(self, answer: replies.Answer) -> Completion:
        """Raise the error for a status other than 200, or return a reply if the prompt was refused."""
        raise replies.failure(answer)

    # Batches and other requests

    def batches(self) -> Any:
        """Return the vendor's batch API for this model (a `BatchAPI`), or None if there is none."""
        return None

    def beside(self, *segments: str) -> URL:
        """Return the base URL with path segments appended."""
        return join(self.endpoint.base_url, *segments)

    def above(self, *segments: str) -> URL:
        """Return the base URL without `/v1` at its end, with path segments appended."""
        base, mark, query = self.endpoint.base_url.partition("?")
        return join(base.removesuffix("/v1") + mark + query, *segments)

    def answer(self, status: int, body: Any) -> replies.Answer:
        """Return a result in a batch as if it were the answer to a single call."""
        return self._answer(status, {}, to_bytes(body))

    async def parsed(
        self, method: str, url: URL, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Send a request to the batch API and return the JSON object in the answer.

        Raises the same errors as calls.
        """
        answer = await self.exchange(method, url, body, headers)
        if answer.status != 200:
            raise self._batch_error(answer)
        return replies.body(answer)

    async def healthy(self) -> bool:
        """Return whether the server answers its health check with a status below 500.

        The health check is that of vLLM and llama.cpp (`/health`).
        """
        try:
            return (await self._within(HEALTH_TIMEOUT, "GET", self.above("health"))).status < 500
        except ModelError:
            return False

    async def exchange(
        self, method: str, url: URL, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> replies.Answer:
        """Send any request and return the answer, whatever its status is."""
        return await self._within(max(UPLOAD_TIMEOUT, self.options.timeout), method, url, body, headers)

    async def lines(self, url: URL) -> AsyncIterator[bytes]:
        """Yield the lines of a long answer as they arrive.

        Raises an error if a line is longer than the maximum size of a reply.
        """
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None, sock_read=self.options.timeout)
        try:
            async with self._sessions.get().get(
                url, proxy=self._proxy, allow_redirects=False, timeout=timeout
            ) as response:
                if response.status != 200:
                    content = await response.content.read(MAX_REPLY_BYTES >> 10)
                    raise self._batch_error(self._answer(response.status, response.headers, content))
                rest = b""
                async for chunk in response.content.iter_any():
                    *complete, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else (rest + chunk,)
                    for line in complete:
                        yield line
                    if len(rest) > MAX_REPLY_BYTES:
                        raise self._too_long()
                yield rest
        except TimeoutError as error:
            raise TransientError(f"{self.id}: {self.address} stopped sending its results") from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreached(error) from (None if isinstance(error, aiohttp.ClientResponseError) else error)

    def _batch_error(self, answer: replies.Answer) -> ModelError:
        error = replies.failure(answer)
        if answer.status == 404 and isinstance(error, AccessError):
            return AccessError(
                f"{self.id}: {answer.address} answered 404 to a batch request. It may have no batch API (run without ",
                Parameter("batch"),
                "), the base URL or the model may be wrong, or the batch may belong to another account",
            )
        return error

    # HTTP

    async def _within(
        self, seconds: float, method: str, url: URL, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> replies.Answer:
        import aiohttp

        start = time.perf_counter()
        # Large bodies are streamed, since sending them at once would copy them and block the event loop.
        data = body if body is None or len(body) <= STREAMED_BYTES else io.BytesIO(body)
        chunks, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                headers = headers or await self.sign(body or b"")
                async with self._sessions.get().request(
                    method, url, data=data, headers=headers, proxy=self._proxy, allow_redirects=False
                ) as response:
                    self._reached = True
                    async for chunk in response.content.iter_any():
                        chunks.append(chunk)
                        size += len(chunk)
                        if size > MAX_REPLY_BYTES:
                            response.close()
                            raise self._too_long()
        except aiohttp.ConnectionTimeoutError as error:
            raise self._unreached(error) from error
        except TimeoutError as error:
            message = f"{self.id}: no complete reply from {self.address} within {seconds:g} s"
            slow = () if self._reached else (". If the model is slow, raise ", Parameter("timeout"))
            raise TransientError(message, *slow, *self._hint(), unanswered=not self._reached) from error
        except (aiohttp.ClientError, OSError) as error:
            # aiohttp's errors of an answer contain the request headers.
            raise self._unreached(error) from (None if isinstance(error, aiohttp.ClientResponseError) else error)
        answer = self._answer(response.status, response.headers, b"".join(chunks))
        return answer._replace(seconds=round(time.perf_counter() - start, 6))

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> replies.Answer:
        return replies.Answer(
            self.id, self.address, status, headers, content, clean=self._clean, key_variable=self.endpoint.key_variable
        )

    def _too_long(self) -> ModelError:
        return ModelError(
            f"{self.id}: {self.address} sent more than {MAX_REPLY_BYTES >> 20} MiB, "
            "which is too long for a model's reply. Check the base URL"
        )

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        return aiohttp.ClientSession(
            headers={"Content-Type": "application/json", "Accept": "application/json", **self.headers()},
            connector=aiohttp.TCPConnector(limit=self.options.max_connections, ttl_dns_cache=300),
            # The timeout of a call is applied in `_within`.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _unreached(self, error: Exception) -> ModelError:
        """Return the error for a failed connection.

        If no connection has ever succeeded, the address may be wrong.
        """
        import aiohttp

        what = self._clean(f"{type(error).__name__}: {error}")
        permanent = (aiohttp.ClientConnectorDNSError, aiohttp.ClientSSLError, aiohttp.ConnectionTimeoutError)
        number = getattr(getattr(error, "os_error", None), "errno", None)
        absent = isinstance(error, permanent) or number in NOT_REACHABLE
        if absent and self._reached:
            return OutageError(f"{self.id}: {self.address} can no longer be reached ({what})")
        if absent or isinstance(error, aiohttp.InvalidURL):
            return UnreachableError(f"{self.id}: cannot reach {self.address} ({what})", *self._hint())
        message = f"{self.id}: the connection to {self.address} failed ({what})"
        return TransientError(message, *self._hint(), unanswered=not self._reached)

    def _hint(self) -> tuple[str | Parameter, ...]:
        """Return what to do about an address that has never answered, and nothing for one that has."""
        if self._reached:
            return ()
        address = Parameter("base_url")
        return ". Start the server, or correct the address in ", address, f" or {self.endpoint.url_variable}"

    def _redacted(self, completion: Completion) -> dict[str, str]:
        """Return those fields of a reply that contain a key, with the key removed.

        Short keys such as EMPTY are not removed, since they may be ordinary words.
        """
        keys = [key for key in self.secrets() if len(key) >= MIN_KEY_LENGTH]
        redacted = {}
        for name in ("text", "finish_reason", "refusal", "model"):
            text = getattr(completion, name) or ""
            if any(key in text for key in keys):
                for key in keys:
                    text = text.replace(key, "[key]")
                redacted[name] = text
        return redacted

    def _clean(self, text: str) -> str:
        """Return a server's message with keys removed.

        Some servers repeat the key or the beginning of the key in their error messages.
        """
        for key in self.secrets():
            if len(key) >= 12:
                text = re.sub(re.escape(key[:8]) + r"[^\s\"']*", "[key]", text)
            if len(key) >= 4:
                text = text.replace(key, "[key]")
        return text
