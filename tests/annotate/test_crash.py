"""Twenty annotators on a network that drops requests and replies, while the server is killed five times.

No acknowledged answer is lost, the overlap is exact, nobody holds a task twice, and the log survives export, import
and export.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
from annotate import campaigns as made

from summeter.annotate.analysis.export import export_events, import_events
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.security import CSRF

PEOPLE = tuple(f"p{index}" for index in range(20))
OVERLAP, KILLS = 3, 5


class Server:
    """The server process, restarted after each kill."""

    def __init__(self, folder: CampaignFolder) -> None:
        # Bound as long as the test lasts, if to listen to nothing: no other program gets the port between kills.
        self.held = socket.socket()
        self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held.bind(("127.0.0.1", 0))
        self.port = self.held.getsockname()[1]
        if sys.platform != "linux":  # elsewhere a bound port is nobody else's, not even the server's
            self.held.close()
        self.command = [sys.executable, "-u", "-m", "summeter", "annotate", "serve", str(folder.folder), "--port",
                        str(self.port)]  # fmt: skip
        self.address = f"http://127.0.0.1:{self.port}"
        self.kills = 0
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.kills += 1
        self.process = self._start()

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=600)
        self.held.close()
        return self.process.returncode, said


class Lost(Exception):
    """Raised if a request or its reply is lost."""


class Annotator:
    """Repeat a request with the same answer id until a reply arrives."""

    def __init__(self, name: str, server: Server, crowd: Crowd) -> None:
        self.name, self.server, self.crowd = name, server, crowd
        self.rng = random.Random(name)
        self.head: dict[str, str] = {}

    async def run(self, query: str) -> None:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as self.http:
            await self.until_heard("GET", f"/{query}", plain=True)
            self.head = {CSRF: (await self.until_heard("GET", "/api/session"))["csrf"]}
            while (batch := (await self.until_heard("POST", "/api/batch", {}))["batch"]) is not None:
                for number, task in enumerate(batch["tasks"]):
                    if task["answer"] is None:
                        await self.answer(task, f"{self.name}-{batch['number']:03d}-{number:03d}")
                await self.until_heard("POST", "/api/finish", {})

    async def answer(self, task: dict[str, Any], answer_id: str) -> None:
        body = {"answer_id": answer_id, "task": task["id"], "answer": made.plain(task), "seconds": 5.0}
        reply = await self.until_heard("POST", "/api/answers", body)
        self.crowd.acknowledged[answer_id] = reply["seq"]
        self.crowd.maybe_kill()

    async def until_heard(self, method: str, path: str, body: Any = None, *, plain: bool = False) -> Any:
        while True:
            try:
                return await self.once(method, path, body, plain)
            except (Lost, aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(0.2)  # a closer watch would take the time that the server needs to come back

    async def once(self, method: str, path: str, body: Any, plain: bool) -> Any:
        if self.rng.random() < 0.1:
            raise Lost
        more = {"json": body} if method == "POST" else {"allow_redirects": False}
        async with self.http.request(method, self.server.address + path, headers=self.head, **more) as reply:
            found = await (reply.text() if plain else reply.json())
            if reply.status >= 500 or self.rng.random() < 0.1:
                raise Lost
            assert reply.status < 400, found
            return found


class Crowd:
    """Acknowledged answers, and the counts of answers at which the server is killed."""

    def __init__(self, server: Server, answers: int) -> None:
        self.server = server
        self.acknowledged: dict[str, int] = {}
        self.step = answers // (KILLS + 1)

    def maybe_kill(self) -> None:
        if self.server.kills < KILLS and len(self.acknowledged) >= self.step * (self.server.kills + 1):
            self.server.kill()


async def traffic(folder: CampaignFolder, crowd: Crowd, server: Server) -> None:
    links = folder.links()
    await asyncio.wait_for(asyncio.gather(*(Annotator(one, server, crowd).run(links[one]) for one in PEOPLE)), 1200)


def test_no_acknowledged_answer_is_lost(tmp_path: Path) -> None:
    plan: dict[str, Any] = {
        "answers_per_item": OVERLAP, "batch": {"size": 3}, "attention": {"exclude": False, "judge_after": 1000},
        "platform": {"name": "local", "accounts": list(PEOPLE)},
    }  # fmt: skip
    folder = made.make(tmp_path / "a", made.rows(12, 1, 4), **plan)
    slots = 12 * 4 * OVERLAP
    server = Server(folder)
    crowd = Crowd(server, slots)
    try:
        asyncio.run(traffic(folder, crowd, server))
        code, said = server.stop()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.process.pid, signal.SIGKILL)
        server.process.communicate()
    assert (code, server.kills) == (0, KILLS), said
    with CampaignService(folder) as service:
        events = list(service.log.events())
        answered = [one for one in events if one.kind == "answered"]
        stored = Counter((one.token, one.seq) for one in answered)
        assert all(stored[token, seq] == 1 for token, seq in crowd.acknowledged.items())
        assert len({one.token for one in answered}) == len(answered) == len(crowd.acknowledged)
        assert [one.seq for one in events] == list(range(1, len(events) + 1))
        assert all(len(one.counted) == OVERLAP and not one.held for one in service.state.items.values())
        assigned = Counter((one.annotator, one.task) for one in events if one.kind == "assigned")
        assert set(assigned.values()) == {1}
        rebuilt = service.empty_state()
        for one in events:
            rebuilt.apply(one)
        assert rebuilt.digest() == service.state.digest()
        export_events(service, tmp_path / "one.jsonl")
    other = made.make(tmp_path / "b", made.rows(12, 1, 4), **plan)
    with CampaignService(other) as second:
        import_events(second, tmp_path / "one.jsonl")
        export_events(second, tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
