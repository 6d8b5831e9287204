"""Simulated annotators over HTTP, who repeat lost requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from summeter.annotate.simulate import Script
from summeter.records import SummeterError, UsageError

if TYPE_CHECKING:
    import aiohttp

Json = dict[str, Any]
CSRF = "X-CSRF-Token"


class Lost(Exception):
    """Raised if a request or its reply is lost."""


@dataclass
class Network:
    """An unreliable network, and what it delivered.

    `drop` is the chance that a request is lost before it arrives, and again that its reply is. `pause` is waited
    before the same request is sent again, `patience` is how long (seconds) nobody may answer before it is given up.
    `acknowledged` holds (annotator, answer_id) -> seq of each answer whose reply came through; `heard` is called
    after each.
    """

    drop: float = 0.0
    pause: float = 0.05
    patience: float = 120.0
    seed: int = 0
    acknowledged: dict[tuple[str, str], int] = field(default_factory=dict)
    lost: int = 0
    heard: Callable[[], None] | None = None


async def simulate_over_http(address: str, scripts: Sequence[Script], network: Network | None = None) -> Network:
    """Run simulated annotators over HTTP until they are done.

    Raises SummeterError where the server refuses something, or cannot be reached for longer than `patience`.
    """
    network = network or Network()
    await asyncio.gather(*(_Browser(address.rstrip("/"), script, network).run() for script in scripts))
    return network


class _Browser:
    def __init__(self, address: str, script: Script, network: Network) -> None:
        self.address, self.script, self.network = address, script, network
        self.rng = Random(f"{network.seed}/{script.annotator}/network")
        self.head: dict[str, str] = {}

    async def run(self) -> None:
        import aiohttp

        jar = aiohttp.CookieJar(unsafe=True)  # also of an address that is a number
        async with aiohttp.ClientSession(cookie_jar=jar) as self.http:
            await self.insist("GET", self.link(), None)
            steps = self.script.steps()
            request, body = next(steps)
            while True:
                reply = await self.step(request, body)
                try:
                    request, body = steps.send(reply)
                except StopIteration:
                    return

    def link(self) -> str:
        """Return the link of the annotator."""
        visitor, folder = self.script.visitor, self.script.folder
        queries: Mapping[str, str] = {
            "local": f"{folder.links().get(visitor.id, '')}&study={visitor.study}",
            "prolific": f"?PROLIFIC_PID={visitor.id}&STUDY_ID={visitor.study}&SESSION_ID=simulated",
            "mturk": f"?workerId={visitor.id}&assignmentId=simulated&hitId={visitor.study}",
        }
        return f"/{queries[visitor.platform]}"

    async def step(self, request: str, body: Json) -> Json:
        path = f"/api/{request}"
        reply = await self.insist("GET" if request == "session" else "POST", path, body)
        if request == "session":
            self.head = {CSRF: reply["csrf"]}
        if request == "answers":
            self.network.acknowledged[self.script.annotator, body["answer_id"]] = reply["seq"]
            if self.network.heard is not None:
                self.network.heard()
        return reply

    async def insist(self, method: str, path: str, body: Json | None) -> Json:
        """Repeat a request until its reply arrives."""
        import aiohttp

        clock = asyncio.get_running_loop().time
        until = clock() + self.network.patience
        while True:
            try:
                return await self.once(method, path, body)
            except (Lost, aiohttp.ClientError, TimeoutError) as error:
                self.network.lost += 1
                if clock() > until:
                    silent = f"{self.address} did not answer for {self.network.patience:g} s"
                    raise SummeterError(f"{silent}; is the campaign served there?") from error
            await asyncio.sleep(self.network.pause)

    async def once(self, method: str, path: str, body: Json | None) -> Json:
        if self.rng.random() < self.network.drop:
            raise Lost
        more: dict[str, Any] = {"json": body} if method == "POST" else {"allow_redirects": False}
        async with self.http.request(method, self.address + path, headers=self.head, **more) as reply:
            content = await _read(reply)
            if reply.status >= 500 or self.rng.random() < self.network.drop:
                raise Lost
            if reply.status >= 400:
                why = content.get("error", {}).get("message", f"status {reply.status}")
                raise UsageError(f"{self.script.annotator}: {method} {path.partition('?')[0]} was refused: {why}")
            return content


async def _read(reply: aiohttp.ClientResponse) -> Json:
    text = await reply.text()
    if not reply.content_type.endswith("json"):
        return {}
    content = json.loads(text)
    return content if isinstance(content, dict) else {}
