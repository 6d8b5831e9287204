"""One POST a call, over plain HTTP: what all hosted providers share. How a vendor speaks is its subclass's matter."""

from __future__ import annotations

import asyncio
import io
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, to_json
from summeter.models.batch import BatchAPI
from summeter.models.per_loop import PerLoop
from summeter.models.providers import replies
from summeter.models.providers.endpoint import Endpoint, proxy
from summeter.models.providers.options import Options
from summeter.models.providers.wire import Exchange, failed
from summeter.records import ModelError, TransientError

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

MOST_BYTES = 32 * 2**20
"""The largest reply that is read. A completion has some kilobytes; whoever sends this much is no model."""

LARGE = 2**20

UPLOAD = 900.0
"""Seconds that a request with a whole batch may take at least."""


class HttpLLM(ABC):
    """One model at one endpoint. `timeout` bounds a whole call in seconds, connection and last byte included.

    No call is tried twice here: trying again is the business of the layers above.
    """

    def __init__(self, id: str, name: str, endpoint: Endpoint, options: Options) -> None:  # noqa: A002 - as in the protocol
        self._id = id
        self._name = name
        self._endpoint = endpoint
        self._options = options
        self._url = self._where()
        self._proxy = proxy(self._url)
        self._reached = False
        self._sessions: PerLoop[aiohttp.ClientSession] = PerLoop(self._open)

    @property
    def id(self) -> str:
        """The model string."""
        return self._id

    @property
    def address(self) -> str:
        """The endpoint's base address, without any secret: models that share it share its limits."""
        return self._endpoint.base_url.partition("?")[0]

    async def complete(self, request: Request) -> Completion:
        """One POST. TransientError for what may pass; CapabilityError for what the endpoint lacks; else ModelError."""
        # A lone surrogate has no UTF-8, but an escape in JSON.
        body = to_json(self._payload(request)).encode("utf-8", "backslashreplace")
        return self.read(await self._within(Exchange("POST", self._url, body), self._options.timeout), request)

    def read(self, answer: replies.Answer, request: Request) -> Completion:
        """The reply in an answer to the request; raises what the answer stands for where it is none."""
        if answer.status != 200:
            return self._failed(answer, request)
        return replies.checked(self._completion(replies.body(answer), answer, request), request)

    async def close(self) -> None:
        """Close the running loop's connections."""
        session = self._sessions.pop()
        if session is not None:
            await session.close()

    # For batches

    def batches(self) -> BatchAPI | None:
        """The model's batch API, where the vendor is known to have one."""
        return None

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key."""
        return self._endpoint.key_variable

    def payload(self, request: Request) -> dict[str, Any]:
        """The body of a call."""
        return self._payload(request)

    def under(self, *parts: str) -> URL:
        """An address beside that of the calls (OpenAI), or below it (Anthropic)."""
        raise NotImplementedError(f"{self.id} has no batches")

    def answer(self, status: int, body: Any) -> replies.Answer:
        """One result of a batch, as the answer it would have been alone."""
        content = to_json(body).encode("utf-8", "backslashreplace")
        return replies.Answer(self.id, self.address, status, {}, content, 0.0, self._clean)

    async def exchange(self, sent: Exchange) -> replies.Answer:
        """Any request, and its answer of whatever status."""
        return await self._within(sent, max(UPLOAD, self._options.timeout))

    async def lines(self, url: URL) -> AsyncIterator[bytes]:
        """The lines of a long answer, as they come; none may be longer than a reply."""
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None, sock_read=self._options.timeout)
        try:
            async with self._sessions.get().get(
                url, proxy=self._proxy, allow_redirects=False, timeout=timeout
            ) as response:
                if response.status != 200:
                    said, headers = await response.content.read(MOST_BYTES >> 10), response.headers
                    raise failed(self.answer(response.status, None)._replace(content=said, headers=headers), self)
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

    # A vendor's own

    @abstractmethod
    def _where(self) -> URL:
        """The address of every call."""

    @abstractmethod
    def _payload(self, request: Request) -> dict[str, Any]:
        """The body of the call. CapabilityError for what this vendor is known to lack."""

    @abstractmethod
    def _completion(self, body: dict[str, Any], answer: replies.Answer, request: Request) -> Completion:
        """The reply in a 200."""

    def _headers(self) -> dict[str, str]:
        """The headers of every call."""
        key = self._endpoint.key
        return {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}

    async def _signed(self, body: bytes) -> Mapping[str, str] | None:
        """The headers of this call alone."""
        del body
        return None

    def _secrets(self) -> tuple[str, ...]:
        """What no message may show."""
        return (self._endpoint.key.reveal(),) if self._endpoint.key else ()

    def _failed(self, answer: replies.Answer, request: Request) -> Completion:
        """Raises what a status other than 200 stands for; a refused prompt may be a reply."""
        raise replies.failure(answer, request, self._endpoint.key_variable)

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
        took = round(time.perf_counter() - start, 6)
        return replies.Answer(self.id, self.address, status, headers, content, took, self._clean)

    async def _send(self, sent: Exchange) -> tuple[int, Mapping[str, str], bytes]:
        session, signed = self._sessions.get(), await self._signed(sent.body or b"")
        async with session.request(
            sent.method, sent.url, data=_sent(sent.body), headers=sent.headers or signed, proxy=self._proxy,
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
            headers={"Content-Type": "application/json", "Accept": "application/json", **self._headers()},
            connector=aiohttp.TCPConnector(limit=self._options.max_connections, ttl_dns_cache=300),
            # The time of a call is bounded around all of it.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _unreached(self, error: Exception) -> ModelError:
        """A connection that failed. One that was never made is a wrong address or a server that does not run."""
        import aiohttp

        what = self._clean(f"{type(error).__name__}: {error}")
        cause = getattr(error, "os_error", None)
        refused = isinstance(error, aiohttp.ClientConnectorDNSError) or isinstance(cause, ConnectionRefusedError)
        if isinstance(error, aiohttp.InvalidURL) or (refused and not self._reached):
            return ModelError(
                f"{self.id}: cannot reach {self.address} ({what}). Is the server running? "
                f"The address comes from --base-url or {self._endpoint.url_variable}"
            )
        return TransientError(f"{self.id}: the connection to {self.address} failed ({what})")

    def _clean(self, text: str) -> str:
        """The server's words without the key: some servers repeat it, or its beginning, in their complaint."""
        for key in self._secrets():
            if len(key) >= 12:
                text = re.sub(re.escape(key[:8]) + r"[^\s\"']*", "[key]", text)
            if len(key) >= 4:
                text = text.replace(key, "[key]")
        return text


def _sent(body: bytes | None) -> bytes | io.BytesIO | None:
    """What is large goes out piece by piece: at once it would be copied, and hold up all others."""
    return body if body is None or len(body) <= LARGE else io.BytesIO(body)
