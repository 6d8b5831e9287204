"""Slow bodies are refused, and closed or malformed requests leave no traceback."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.app import make_app

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def served(folder: CampaignFolder, body: Callable[[Callable[[], Awaitable[Streams]]], Awaitable[None]]) -> None:
    """Run a coroutine with a function that connects to the server."""
    from aiohttp import web

    async def inside() -> None:
        with CampaignService(folder) as service:
            runner = web.AppRunner(make_app(service, body_seconds=0.3), access_log=None)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            port = runner.addresses[0][1]
            try:
                await body(lambda: asyncio.open_connection("127.0.0.1", port))
            finally:
                await runner.cleanup()

    asyncio.run(inside())


def test_a_slow_body_is_refused(tmp_path: Path) -> None:
    async def body(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(b"POST /api/answers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
        reply = asyncio.create_task(reader.readuntil(b"too_slow"))
        while not reply.done():
            writer.write(b" ")
            await asyncio.sleep(0.02)
        assert (await reply).startswith(b"HTTP/1.1 408 ")
        writer.close()

    served(made.make(tmp_path), body)


def test_a_closed_connection_is_not_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body(connect: Callable[[], Awaitable[Streams]]) -> None:
        _, writer = await connect()
        writer.write(b"POST /api/answers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\nabc")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()
        await asyncio.sleep(0.05)

    served(made.make(tmp_path), body)
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


def test_malformed_http_leaves_no_traceback(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from summeter.annotate.server.app import serve

    replies: list[bytes] = []

    async def inside() -> None:
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        with CampaignService(made.make(tmp_path)) as service:
            serving = asyncio.create_task(serve(service, "127.0.0.1", 0, bound.set_result))
            port = int((await bound).rpartition(":")[2])
            for sent in (
                b"GARBAGE\r\n\r\n",
                b"GET / HTTP/9.9\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: a\r\nX\x00: 1\r\n\r\n",
            ):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(sent)
                replies.append(await reader.read(65536))
                writer.close()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(inside())
    assert [reply.split()[1] for reply in replies] == [b"400"] * 3
    assert not [record for record in caplog.records if record.exc_info]
