"""Twenty annotators on a network that drops requests and replies, while the server is killed five times.

No acknowledged answer is lost, the overlap is exact, nobody holds a task twice, and the log survives export, import
and export.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from annotate import campaigns as made
from annotate.network import Network, simulate_over_http

from summeter.annotate.analysis.export import export_events, import_events
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.simulate import crowd
from summeter.annotate.tasks.simulation import Gold, Profile

PEOPLE = tuple(f"p{index}" for index in range(20))
OVERLAP, KILLS = 3, 5


class Server:
    """The server process, killed and restarted each time that a sixth of the answers has been acknowledged."""

    def __init__(self, folder: CampaignFolder, network: Network, answers: int) -> None:
        # Bound as long as the test lasts, if to listen to nothing: no other program gets the port between kills.
        self.held = socket.socket()
        self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held.bind(("127.0.0.1", 0))
        self.port = self.held.getsockname()[1]
        if sys.platform != "linux":  # elsewhere a bound port is nobody else's, not even the server's
            self.held.close()
        self.command = [sys.executable, "-u", "-m", "summeter", "annotate", "serve", str(folder.folder), "--port",
                        str(self.port)]  # fmt: skip
        self.network, self.step, self.kills = network, answers // (KILLS + 1), 0
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def maybe_kill(self) -> None:
        if self.kills < KILLS and len(self.network.acknowledged) >= self.step * (self.kills + 1):
            self.process.kill()
            self.process.communicate()
            self.kills += 1
            self.process = self._start()

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=600)
        self.held.close()
        return self.process.returncode, said


def test_no_acknowledged_answer_is_lost(tmp_path: Path) -> None:
    plan: dict[str, Any] = {
        "answers_per_item": OVERLAP, "batch": {"size": 3}, "attention": {"exclude": False, "judge_after": 1000},
        "platform": {"name": "local", "accounts": list(PEOPLE)},
    }  # fmt: skip
    folder = made.make(tmp_path / "a", made.rows(12, 1, 4), **plan)
    network = Network(drop=0.1, pause=0.2, patience=600)  # a closer watch would delay the restart of the server
    server = Server(folder, network, 12 * 4 * OVERLAP)
    network.heard = server.maybe_kill
    scripts = crowd(folder, [Profile()] * len(PEOPLE), Gold())
    try:
        asyncio.run(simulate_over_http(f"http://127.0.0.1:{server.port}", scripts, network))
        code, said = server.stop()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.process.pid, signal.SIGKILL)
        server.process.communicate()
    assert (code, server.kills) == (0, KILLS), said
    with CampaignService(folder) as service:
        events = list(service.log.events())
        answered = [one for one in events if one.kind == "answered"]
        assert {(one.annotator, one.token): one.seq for one in answered} == network.acknowledged
        assert len(answered) == len(network.acknowledged)
        assert [one.seq for one in events] == list(range(1, len(events) + 1))
        assert all(len(one.counted) == OVERLAP and not one.held for one in service.state.items.values())
        assigned = Counter((one.annotator, one.task) for one in events if one.kind == "assigned")
        assert set(assigned.values()) == {1}
        assert made.replayed(service) == service.state.digest()
        export_events(service, tmp_path / "one.jsonl")
    other = made.make(tmp_path / "b", made.rows(12, 1, 4), **plan)
    with CampaignService(other) as second:
        import_events(second, tmp_path / "one.jsonl")
        export_events(second, tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
