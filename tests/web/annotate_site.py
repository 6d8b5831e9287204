"""Serve a campaign to the browser tests: the real application on a loopback port, in a separate thread."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from aiohttp import web
from web.slow import dawdle
from web.steps import PATIENCE

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.app import make_app


class Site(NamedTuple):
    """A served campaign."""

    service: CampaignService
    url: str

    def link(self, account: str = "anna") -> str:
        """Return the link of a local account."""
        return f"{self.url}/{self.service.folder.links()[account]}"

    @property
    def preview(self) -> str:
        """Return the link to the preview."""
        return f"{self.url}/?preview=1"

    @property
    def admin(self) -> str:
        """Return the link to the dashboard."""
        return f"{self.url}/admin?token={self.service.folder.keys['admin']}"

    def answers(self, account: str = "anna") -> list[dict[str, Any]]:
        """Return the stored answers of an annotator, in the order in which the tasks were first answered."""
        person = self.service.state.people.get(account)
        answers = [] if person is None else [one.answer.model_dump() for one in person.answers.values()]
        return [{**answer, **answer.pop("values")} for answer in answers]

    def events(self, kind: str) -> list[Any]:
        """Return the log's events of one kind."""
        return [one for one in self.service.log.events() if one.kind == kind]


@contextmanager
def serving(folder: CampaignFolder, clock: Callable[[], float] = time.time) -> Iterator[Site]:
    """Serve the campaign until the block ends."""
    with CampaignService(folder, clock=clock) as service, Served(service) as port:
        yield Site(service, f"http://127.0.0.1:{port}")


@contextmanager
def reserved() -> Iterator[int]:
    """Reserve a port for `Served` until the block ends."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


class Served:
    """A server in a thread; entering it returns its port. A given `port` must be `reserved`."""

    def __init__(self, service: CampaignService, port: int = 0) -> None:
        self._service = service
        self._wanted = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> int:
        self._thread.start()
        self._runner, port = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(PATIENCE)
        return port

    async def _open(self) -> tuple[web.AppRunner, int]:
        runner = web.AppRunner(
            dawdle(make_app(self._service)), handle_signals=False, access_log=None, shutdown_timeout=1
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._wanted, reuse_port=self._wanted > 0 or None).start()
        return runner, int(runner.addresses[0][1])

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
