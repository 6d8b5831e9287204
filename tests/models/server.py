"""A stub of an OpenAI-compatible server on 127.0.0.1, in its own thread, with configurable failures.

    with StubServer(lambda call: ok("{}")) as server:
        llm = resolve("openai-api/stub/m", base_url=server.url, environ={})

The behaviour is a function of the Call (its number from 0, body and headers) that returns a Reply.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from aiohttp import web

from summeter.models.base import LLM, Completion, Message, Request


class Call(NamedTuple):
    """A POST request; `at` is its monotonic time of arrival in seconds, `path` its unchanged path with query."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    path: str = ""
    raw: bytes = b""

    @property
    def format(self) -> str:
        """The requested reply format."""
        return self.body.get("response_format", {}).get("type", "text")

    @property
    def prompt(self) -> str:
        """The last turn."""
        return self.body["messages"][-1]["content"]


class Reply(NamedTuple):
    """The answer to a call: `content` with `status` after `delay` seconds, a broken connection, or no answer."""

    status: int = 200
    content: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})
    delay: float = 0.0
    reset: bool = False
    hang: bool = False
    cut: bool = False


def ok(text: str | list[Any] | None = "fine", finish: str = "stop", **message: Any) -> Reply:
    """Return a regular completion."""
    body = {
        "model": "stub-served-1",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    return json_reply(body)


def json_reply(body: Any, status: int = 200, **headers: str) -> Reply:
    """Return a JSON answer."""
    return Reply(status, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})


def fail(status: int, message: str = "no", **headers: str) -> Reply:
    """Return OpenAI's error object, with headers such as retry_after="1"."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return json_reply({"error": {"message": message, "type": "stub_error", "code": None}}, status, **named)


HANG = Reply(hang=True)
RESET = Reply(reset=True)
CUT_BODY = Reply(content=ok("a reply of which half arrives").content, cut=True)

Behaviour = Callable[[Call], Reply]


class Background:
    """A server on 127.0.0.1 in its own thread, which runs while the context is open."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def application(self) -> web.Application:
        """Return the web application."""
        raise NotImplementedError

    @property
    def root(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        app = self.application()
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port, backlog=1024)
        await site.start()
        self._port = runner.addresses[0][1]
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()


class StubServer(Background):
    """The stub server.

    `calls` holds the POST requests, `url` is the base URL, `most` the maximum number of concurrent calls. `gets` holds
    the answers to GET requests by path, and `got` the paths (with queries) of these requests. With `capacity`, further
    concurrent calls are answered with `busy` and counted in `turned_away`. `port` is the port, or 0 for any.
    """

    def __init__(
        self, behave: Behaviour, *, capacity: int | None = None, busy: Reply | None = None, port: int = 0
    ) -> None:
        super().__init__(port)
        self.behave = behave
        self.capacity = capacity
        self.busy = busy or fail(429, "slow down", retry_after="0.1")
        self.serving = self.turned_away = 0
        self.calls: list[Call] = []
        self.gets: dict[str, Any] = {}
        self.got: list[str] = []
        self.now = self.most = 0

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def application(self) -> web.Application:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/{path:.*}", self._answer)
        app.router.add_get("/{path:.*}", self._find)
        return app

    async def _find(self, request: web.Request) -> web.Response:
        self.got.append(request.raw_path)
        found = self.gets.get(request.path)
        return web.json_response(found, status=404 if found is None else 200)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await self._send(request)
        finally:
            self.now -= 1

    async def _send(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        call = Call(
            len(self.calls), json.loads(raw), dict(request.headers), time.monotonic(), request.raw_path, raw
        )  # fmt: skip
        self.calls.append(call)
        if self.capacity is not None and self.serving >= self.capacity:
            self.turned_away += 1
            return web.Response(status=self.busy.status, body=self.busy.content, headers=self.busy.headers)
        reply = self.behave(call)
        self.serving += 1
        try:
            await asyncio.sleep(3600 if reply.hang else reply.delay)
        finally:
            self.serving -= 1
        if reply.reset:
            assert request.transport is not None
            request.transport.abort()
        if reply.cut:
            # Promises the whole body, sends half, hangs up.
            response = web.StreamResponse(headers={"Content-Length": str(len(reply.content))})
            await response.prepare(request)
            await response.write(reply.content[: len(reply.content) // 2])
            assert request.transport is not None
            request.transport.abort()
            return response
        return web.Response(status=reply.status, body=reply.content, headers=reply.headers)


def asked(text: str = "hello", model: str = "m", **fields: Any) -> Request:
    """Return a request with one turn."""
    return Request(model=model, messages=(Message(role="user", content=text),), **fields)


def call(llm: LLM, *requests: Request) -> list[Completion]:
    """Return the replies of an LLM, which is closed afterwards."""

    async def main() -> list[Completion]:
        try:
            return [await llm.complete(request) for request in requests]
        finally:
            await llm.close()

    return asyncio.run(main())
