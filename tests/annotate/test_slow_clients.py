"""Clients that trickle are cut off, whatever part of a request they dwell on; those who work are not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.app import make_app
from summeter.annotate.server.patience import Guards, Patience

SHORT = Patience(head=0.3, body=0.3, reply=0.3)
HEAD = b"GET /api/session HTTP/1.1\r\nHost: localhost\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def served(folder: CampaignFolder, body: Callable[[Callable[[], Awaitable[Streams]]], Awaitable[None]]) -> None:
    """Runs a coroutine with what opens a connection to the campaign's server."""
    from aiohttp import web

    async def inside() -> None:
        with CampaignService(folder) as service:
            guards = Guards(SHORT)
            runner = web.AppRunner(make_app(service, guards), access_log=None)
            await runner.setup()
            assert runner.server is not None
            server = await asyncio.get_running_loop().create_server(guards.factory(runner.server), "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            try:
                await body(lambda: asyncio.open_connection("127.0.0.1", port))
            finally:
                server.close()
                await runner.cleanup()

    asyncio.run(inside())


async def trickled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, byte: bytes) -> bytes:
    """Send a byte at a time until the server hangs up; what it said before."""

    async def drip() -> None:
        while True:
            writer.write(byte)
            await writer.drain()
            await asyncio.sleep(0.02)

    task = asyncio.create_task(drip())
    reply = b""
    try:
        async with asyncio.timeout(30):
            while part := await reader.read(65536):
                reply += part
        return reply
    except ConnectionError:  # what we still sent met a closed door; what came before that counts
        return reply
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        writer.close()


@pytest.mark.parametrize("begin", [b"", b"GET /", HEAD + b"X-Slow: "], ids=["nothing", "a line", "a header"])
def test_a_head_that_trickles_is_cut_off(begin: bytes, tmp_path: Path) -> None:
    async def body(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(begin)
        if begin:
            assert await trickled(reader, writer, b"a") == b""
        else:
            assert await asyncio.wait_for(reader.read(), 30) == b""
            writer.close()

    served(made.make(tmp_path), body)


def test_a_body_that_trickles_is_refused(tmp_path: Path) -> None:
    async def body(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(b"POST /api/answers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
        said = await trickled(reader, writer, b" ")
        assert said.startswith(b"HTTP/1.1 408 ")
        assert b'"too_slow"' in said

    served(made.make(tmp_path), body)


def test_a_connection_that_is_used_again_is_waited_for_each_time(tmp_path: Path) -> None:
    async def body(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        for _ in range(3):
            await asyncio.sleep(SHORT.head * 2 if _ else 0)  # idle between requests is no slowness
            writer.write(HEAD + b"\r\n")
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            assert head.startswith(b"HTTP/1.1 401 ")
            lines = [one.lower().partition(b":") for one in head.split(b"\r\n")]
            await reader.readexactly(next(int(size) for name, _, size in lines if name == b"content-length"))
        writer.write(b"GET /")
        assert await trickled(reader, writer, b"a") == b""

    served(made.make(tmp_path), body)


def test_a_page_that_is_left_while_it_sends_is_no_fault(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body(connect: Callable[[], Awaitable[Streams]]) -> None:
        _, writer = await connect()
        writer.write(b"POST /api/answers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\nabc")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()
        await asyncio.sleep(0.05)

    served(made.make(tmp_path), body)
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


def test_what_is_not_http_is_answered_and_leaves_no_traceback(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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
