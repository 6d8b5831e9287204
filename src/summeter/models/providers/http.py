"""One POST a call, over plain HTTP: what all providers with an endpoint share. A dialect is a subclass."""

from __future__ import annotations

import asyncio
import errno
import io
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from summeter.models.base import Completion, Request, to_bytes, turned_away
from summeter.models.per_loop import PerLoop
from summeter.models.providers import replies
from summeter.models.providers.provider import Endpoint, Options, Provider, join, proxy, url_secrets
from summeter.records import AccessError, ModelError, OutageError, Parameter, TransientError, UnreachableError
from summeter.records.addresses import bare_url

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

MOST_BYTES = 32 * 2**20
"""The largest reply that is read. A completion has some kilobytes; whoever sends this much is no model."""

LARGE = 2**20

SECRET = 16
"""Characters from which on a key is no word that a reply may hold."""

HEALTH = 5.0
"""Seconds for an answer to whether a server is well."""

ABSENT = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
"""Errors of the system where nothing answers at an address."""

UPLOAD = 900.0
"""Seconds that a request with a whole batch may take at least."""


class Exchange(NamedTuple):
    """A request on the wire."""

    method: str
    url: URL
    body: bytes | None = None
    headers: Mapping[str, str] | None = None


class HttpLLM(ABC):
    """One model at one endpoint. A dialect overrides `url`, `payload` and `completion`, and `headers` if need be.

    `model` is the model string behind the provider's name; `name` what the server calls the model, where that is
    another. The options' `timeout` bounds a whole call in seconds, connection and last byte included. No call is tried
    twice here: that is the business of the layers above.
    """

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
        """The model at the provider's endpoint. UsageError for a missing key or address."""
        return cls(provider, name, provider.endpoint(options), options)

    @property
    def address(self) -> str:
        """The endpoint's base address, without any secret: models that share it share its limits."""
        return bare_url(self.endpoint.base_url)

    async def complete(self, request: Request) -> Completion:
        """One POST. TransientError for what may pass; CapabilityError for what the endpoint lacks; else ModelError."""
        body = to_bytes(self.payload(request))
        return self.read(await self._within(Exchange("POST", self._url, body), self.options.timeout), request)

    def read(self, answer: replies.Answer, request: Request) -> Completion:
        """The reply in an answer to the request; raises what the answer stands for where it is none."""
        answer = answer._replace(request=request)
        completion = self.completion(replies.body(answer), answer) if answer.status == 200 else self.failed(answer)
        completion = completion.model_copy(
            update={"seconds": answer.seconds, "format": request.format, **self._without_keys(completion)}
        )
        with turned_away(completion):
            return replies.checked(completion, request)

    async def close(self) -> None:
        session = self._sessions.pop()
        if session is not None:
            await session.close()

    # A dialect's own

    @abstractmethod
    def url(self) -> URL:
        """The address of every call."""

    @abstractmethod
    def payload(self, request: Request) -> dict[str, Any]:
        """The body of the call. CapabilityError for what this vendor is known to lack."""

    @abstractmethod
    def completion(self, body: dict[str, Any], answer: replies.Answer) -> Completion:
        """The reply in a 200."""

    def headers(self) -> dict[str, str]:
        """The headers of every call."""
        key = self.endpoint.key
        return {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}

    async def sign(self, body: bytes) -> Mapping[str, str] | None:
        """The headers of this call alone."""
        del body
        return None

    def secrets(self) -> tuple[str, ...]:
        """What no message may show."""
        key = self.endpoint.key
        return (*(() if key is None else (key.get_secret_value(),)), *url_secrets(self.endpoint.base_url))

    def failed(self, answer: replies.Answer) -> Completion:
        """Raises what a status other than 200 stands for; a refused prompt may be a reply."""
        raise replies.failure(answer)

    # For batches and questions beside the calls

    def beside(self, *parts: str) -> URL:
        """An address of these segments behind the base URL."""
        return join(self.endpoint.base_url, *parts)

    def answer(self, status: int, body: Any) -> replies.Answer:
        """One result of a batch, as the answer it would have been alone."""
        return self._answer(status, {}, to_bytes(body))

    async def parsed(self, sent: Exchange) -> dict[str, Any]:
        """The JSON object that answers a request of a batch API; raises as a call does."""
        answer = await self.exchange(sent)
        if answer.status != 200:
            raise self._without_batches(answer)
        return replies.body(answer)

    async def healthy(self) -> bool:
        """Whether the server answers, and not with a failure of its own (vLLM's and llama.cpp's `/health`)."""
        base, mark, query = self.endpoint.base_url.partition("?")
        url = join(base.removesuffix("/v1") + mark + query, "health")
        try:
            return (await self._within(Exchange("GET", url), HEALTH)).status < 500
        except ModelError:
            return False

    async def exchange(self, sent: Exchange) -> replies.Answer:
        """Any request, and its answer of whatever status."""
        return await self._within(sent, max(UPLOAD, self.options.timeout))

    async def lines(self, url: URL) -> AsyncIterator[bytes]:
        """The lines of a long answer, as they come; none may be longer than a reply."""
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None, sock_read=self.options.timeout)
        try:
            async with self._sessions.get().get(
                url, proxy=self._proxy, allow_redirects=False, timeout=timeout
            ) as response:
                if response.status != 200:
                    content = await response.content.read(MOST_BYTES >> 10)
                    raise self._without_batches(self._answer(response.status, response.headers, content))
                held = b""
                async for part in response.content.iter_any():
                    *whole, held = (held + part).split(b"\n") if b"\n" in part else (held + part,)
                    for line in whole:
                        yield line
                    if len(held) > MOST_BYTES:
                        raise self._too_long()
                yield held
        except TimeoutError as error:
            raise TransientError(f"{self.id}: {self.address} stopped in the middle of its results") from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreached(error) from (None if isinstance(error, aiohttp.ClientResponseError) else error)

    def _without_batches(self, answer: replies.Answer) -> ModelError:
        error = replies.failure(answer)
        if answer.status == 404 and isinstance(error, AccessError):
            return AccessError(
                f"{self.id}: {answer.address} answered 404 to its batch API: it may have none (run without ",
                Parameter("batch"),
                "), the base URL or the model may be another, or the batch is not of this key's account",
            )
        return error

    # The wire

    async def _within(self, sent: Exchange, seconds: float) -> replies.Answer:
        import aiohttp

        start = time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                status, headers, content = await self._send(sent)
        except TimeoutError as error:
            raise TransientError(f"{self.id}: no whole reply from {self.address} within {seconds:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            # What aiohttp says of an answer holds the headers sent.
            raise self._unreached(error) from (None if isinstance(error, aiohttp.ClientResponseError) else error)
        self._reached = True
        return self._answer(status, headers, content)._replace(seconds=round(time.perf_counter() - start, 6))

    def _answer(self, status: int, headers: Mapping[str, str], content: bytes) -> replies.Answer:
        return replies.Answer(
            self.id, self.address, status, headers, content, clean=self._clean, key_variable=self.endpoint.key_variable
        )

    async def _send(self, sent: Exchange) -> tuple[int, Mapping[str, str], bytes]:
        session, signed = self._sessions.get(), await self.sign(sent.body or b"")
        # What is large is sent piece by piece: at once it would be copied, and hold up all others.
        body = sent.body if sent.body is None or len(sent.body) <= LARGE else io.BytesIO(sent.body)
        async with session.request(
            sent.method, sent.url, data=body, headers=sent.headers or signed, proxy=self._proxy,
            allow_redirects=False,
        ) as response:  # fmt: skip
            parts, size = [], 0
            async for part in response.content.iter_any():
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    response.close()
                    raise self._too_long()
            return response.status, response.headers, b"".join(parts)

    def _too_long(self) -> ModelError:
        return ModelError(
            f"{self.id}: {self.address} sent more than {MOST_BYTES >> 20} MiB; "
            "no model's reply is that long. Check the base URL"
        )

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        return aiohttp.ClientSession(
            headers={"Content-Type": "application/json", "Accept": "application/json", **self.headers()},
            connector=aiohttp.TCPConnector(limit=self.options.max_connections, ttl_dns_cache=300),
            # The time of a call is bounded around all of it.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _unreached(self, error: Exception) -> ModelError:
        """A connection that failed. Where none was ever made, the address is wrong or the server does not run."""
        import aiohttp

        what = self._clean(f"{type(error).__name__}: {error}")
        unmade = (aiohttp.ClientConnectorDNSError, aiohttp.ClientConnectorCertificateError)
        absent = isinstance(error, unmade) or getattr(getattr(error, "os_error", None), "errno", None) in ABSENT
        if absent and self._reached:
            return OutageError(f"{self.id}: {self.address} answered before and cannot be reached now ({what})")
        if absent or isinstance(error, aiohttp.InvalidURL):
            return UnreachableError(
                f"{self.id}: cannot reach {self.address} ({what}). Is the server running? The address comes from ",
                Parameter("base_url"),
                f" or {self.endpoint.url_variable}",
            )
        return TransientError(f"{self.id}: the connection to {self.address} failed ({what})")

    def _without_keys(self, completion: Completion) -> dict[str, str]:
        """The words of a reply that repeat a key, without it; a short key (EMPTY) may be a word of any reply."""
        keys = [key for key in self.secrets() if len(key) >= SECRET]
        cleaned = {}
        for name in ("text", "finish_reason", "refusal", "model"):
            words = getattr(completion, name) or ""
            if any(key in words for key in keys):
                for key in keys:
                    words = words.replace(key, "[key]")
                cleaned[name] = words
        return cleaned

    def _clean(self, text: str) -> str:
        """The server's words without the key: some servers repeat it, or its beginning, in their complaint."""
        for key in self.secrets():
            if len(key) >= 12:
                text = re.sub(re.escape(key[:8]) + r"[^\s\"']*", "[key]", text)
            if len(key) >= 4:
                text = text.replace(key, "[key]")
        return text
