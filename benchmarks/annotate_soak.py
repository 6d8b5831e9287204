"""What a campaign survives: annotators over a network that loses requests, at a server that is killed again and again.

    python benchmarks/annotate_soak.py [--annotators 20] [--documents 40] [--drop 0.1] [--kills 5] [--database URL]

The server is the real process; it is killed with SIGKILL after each sixth of the answers and started again. Afterwards:
every acknowledged answer is in the log, every task has exactly its answers, nobody got a task twice, and
export -> import -> export gives the same bytes. Ends with 1 where any of it does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from summeter.annotate.analysis.export import export_events, import_events
from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.simulate.network import Network, simulate_over_http
from summeter.annotate.simulate.script import crowd
from summeter.annotate.tasks.simulation import Profile, Truth


def campaign(folder: Path, documents: int, annotators: int) -> CampaignFolder:
    """Fact verification of `documents` documents with two summaries of three sentences each, three answers a task."""
    folder.mkdir()
    rows = [
        {"doc_id": f"d{number}", "document": f"Bridge {number} opened. The mayor paid. It rained.", "system": system,
         "summary": f"Bridge {number} was opened. It rained there. The mayor came."}
        for number in range(documents) for system in ("aster", "birch")
    ]  # fmt: skip
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    accounts = [f"p{number}" for number in range(annotators)]
    plan = {"name": "soak", "kind": "fact_verification", "data": "data.jsonl", "attention": {"pass_share": 0.0},
            "platform": {"name": "local", "accounts": accounts}}  # fmt: skip
    (folder / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    return CampaignFolder(build(folder / "plan.yaml", folder / "campaign"))


class Server:
    """The real process on one port; `hit` kills it when enough answers were acknowledged."""

    def __init__(self, folder: CampaignFolder, database: str | None, every: int, most: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        more = ["--database", database] if database else []
        self.command = [sys.executable, "-m", "summeter", "annotate", "serve", str(folder.folder), "--port",
                        str(self.port), *more]  # fmt: skip
        self.every, self.most, self.kills, self.heard = every, most, 0, 0
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start it (again)."""
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL)

    def hit(self) -> None:
        """One more answer was acknowledged."""
        self.heard += 1
        if self.kills < self.most and self.heard >= self.every * (self.kills + 1):
            self.process.kill()
            self.process.wait()
            self.kills += 1
            self.process = self.start()


def faults(folder: CampaignFolder, database: str | None, network: Network, twin: CampaignFolder) -> dict[str, int]:
    """How often each promise was broken."""
    place = folder.folder.parent
    with CampaignService(folder, database) as service:
        events = list(service.log.events())
        stored = {(one.annotator, one.token): one.seq for one in events if one.kind == "answered"}
        assigned = Counter((one.annotator, one.task) for one in events if one.kind == "assigned")
        overlap = [len(one.counted) for one in service.state.items.values()]
        export_events(service, place / "one.jsonl")
    with CampaignService(twin) as second:
        import_events(second, place / "one.jsonl")
        export_events(second, place / "two.jsonl")
    return {
        "acknowledged and lost": sum(stored.get(key) != seq for key, seq in network.acknowledged.items()),
        "wrong overlap": sum(one != folder.campaign.answers_per_item for one in overlap),
        "assigned twice": sum(one > 1 for one in assigned.values()),
        "export differs": int((place / "one.jsonl").read_bytes() != (place / "two.jsonl").read_bytes()),
    }


def main() -> int:
    """Run it once and say what held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--drop", type=float, default=0.1)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--database", help="postgresql://..., an empty database")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = campaign(Path(place) / "one", asked.documents, asked.annotators)
        twin = campaign(Path(place) / "two", asked.documents, asked.annotators)
        scripts = crowd(folder, [Profile()] * asked.annotators, Truth())
        server = Server(folder, asked.database, len(folder.tasks.work) * 3 // (asked.kills + 1), asked.kills)
        network, began = Network(drop=asked.drop, patience=300, heard=server.hit), time.perf_counter()
        try:
            asyncio.run(simulate_over_http(f"http://127.0.0.1:{server.port}", scripts, network))
        finally:
            server.process.terminate()
            server.process.wait()
        seconds = time.perf_counter() - began
        found = faults(folder, asked.database, network, twin)
    print(
        f"{asked.annotators} annotators, {len(folder.tasks.work)} tasks, {server.kills} kills, "
        f"{len(network.acknowledged)} answers acknowledged, {network.lost} requests or replies lost, {seconds:.0f} s"
    )
    print(", ".join(f"{name}: {count}" for name, count in found.items()))
    return int(any(found.values()) or server.kills != asked.kills)


if __name__ == "__main__":
    sys.exit(main())
