"""Load test of the annotation server: waiting times in a busy campaign.

    python benchmarks/annotate.py [--annotators 300] [--items 10000] [--seconds 60] [--hostile 20]
    python benchmarks/annotate.py --status [--pages 7000]

Each annotator answers every 2 seconds and loads the page (HTML and session) every 10 seconds; batches are fetched and
finished in between. The real server process runs on this machine together with the load generator. Goal: p95 below 150
ms with 300 annotators and 10,000 items on two cores. Then, for --hostile seconds, the annotators continue while one of
them sends hostile requests without a pause, 40 at a time; the waiting times of the others are reported separately.

With --status: CPU time of `summeter annotate status` for a finished campaign of 7,000 rating pages with 273,000
judgments. Each page is a document with 13 summaries, rated on two aspects, and the best summary: 39 judgments. Three
people answered each document. Goal: below 2 s, including the start of Python and all imports.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.tasks.task import Task

WORDS = ("the", "council", "bridge", "river", "repair", "plan", "cost", "spring", "budget", "vote", "mayor", "street")
ASPECTS = ["coherence", "coverage"]
EVERY_ANSWER, EVERY_PAGE = 2.0, 10.0
AT_ONCE = 40
WRITES = (
    "consent",
    "instructions",
    "qualification",
    "training",
    "batch",
    "opened",
    "answers",
    "finish",
    "return",
)
NASTY = (
    b'{"seconds": 1e400}', b"\xff\xfe", b"[", b'{"a":' * 3_000, b'{"a": "\\ud800"}', b'{"a": ' + b"9" * 5_000 + b"}",
    json.dumps({"a": [0] * 21_000}).encode(), json.dumps({"a": "x" * 20_000}).encode(),
    json.dumps({"answer_id": "answer-hostile", "task": "A" * 24, "answer": {"label": []}, "seconds": 9}).encode(),
    json.dumps({"answer_id": "answer-hostile", "task": None, "answer": [[]] * 50, "seconds": -1}).encode(),
)  # fmt: skip


def text(rng: random.Random, sentences: int) -> str:
    """Return random prose."""
    return " ".join(" ".join(rng.choices(WORDS, k=18)).capitalize() + "." for _ in range(sentences))


def campaign(folder: Path, items: int, annotators: int) -> Path:
    """Build a fact-verification campaign with at least `items` tasks: documents of 20, summaries of 5 sentences."""
    rng, rows = random.Random(0), []
    for document in range((items + 9) // 10):
        body = text(rng, 20)
        for system in ("aster", "birch"):
            row = {"doc_id": f"d{document}", "document": body, "system": system, "summary": text(rng, 5)}
            rows.append(row)
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    accounts = [f"p{index}" for index in range(annotators)]
    plan = {"name": "load", "task_type": "fact_verification", "data": "data.jsonl", "answers_per_item": 3,
            "platform": {"name": "local", "accounts": accounts}}  # fmt: skip
    (folder / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    made = folder / "campaign"
    subprocess.run([sys.executable, "-m", "summeter", "annotate", "new", folder / "plan.yaml", "-o", made], check=True)
    return made


class Load:
    """Waiting times by request, and errors."""

    def __init__(self, address: str, until: float, mark: str = "answer") -> None:
        self.address, self.until, self.mark = address, until, mark
        self.waits: dict[str, list[float]] = {}
        self.errors: Counter[str] = Counter()

    async def ask(self, http: aiohttp.ClientSession, method: str, path: str, **more: Any) -> Any:
        began = time.perf_counter()
        try:
            async with http.request(method, self.address + path, **more) as reply:
                body = await reply.read()
                if reply.status != 200:
                    self.errors[f"{path} {reply.status}"] += 1
        except (aiohttp.ClientError, TimeoutError) as error:
            self.errors[f"{path} {type(error).__name__}"] += 1
            return None
        self.waits.setdefault(f"{method} {path.partition('?')[0]}", []).append(time.perf_counter() - began)
        return json.loads(body) if path.startswith("/api/") else None

    async def person(self, query: str, rng: random.Random) -> None:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            await asyncio.sleep(rng.random() * EVERY_ANSWER)
            async with http.get(f"{self.address}/{query}") as reply:
                await reply.read()
            session = await self.ask(http, "GET", "/api/session")
            head = {"X-CSRF-Token": session["csrf"]}
            await asyncio.gather(self.work(http, head, rng), self.look(http, rng))

    async def look(self, http: aiohttp.ClientSession, rng: random.Random) -> None:
        await asyncio.sleep(rng.random() * EVERY_PAGE)
        while time.monotonic() < self.until:
            await self.ask(http, "GET", "/work")
            await self.ask(http, "GET", "/api/session")
            await asyncio.sleep(EVERY_PAGE)

    async def work(self, http: aiohttp.ClientSession, head: dict[str, str], rng: random.Random) -> None:
        number = 0
        due = time.monotonic()
        while time.monotonic() < self.until:
            found = await self.ask(http, "POST", "/api/batch", json={}, headers=head)
            if found is None or found.get("batch") is None:
                return
            for task in found["batch"]["tasks"]:
                due += EVERY_ANSWER
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                if time.monotonic() >= self.until:
                    return
                number += 1
                answer: dict[str, Any] = {"values": {"label": "supported"}}
                if rng.random() < 0.5:
                    answer = {"values": {"label": "not_supported", "error_types": ["entity error"]}}
                body = {"answer_id": f"{self.mark}-{number:08d}", "task": task["id"], "answer": answer, "seconds": 2.0}
                await self.ask(http, "POST", "/api/answers", json=body, headers=head)
            await self.ask(http, "POST", "/api/finish", json={}, headers=head)


def serve(made: Path) -> tuple[subprocess.Popen[str], str, list[str]]:
    """Start the server on a free port; returns the process, its address and the annotators' links."""
    command = [sys.executable, "-u", "-m", "summeter", "annotate", "serve", str(made), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    queries, address = [], ""
    for line in process.stdout or ():
        if "/?token=" in line:
            address, _, query = line.partition(": ")[2].strip().partition("/?")
            queries.append(f"?{query}")
        if line.startswith("Ctrl-C"):
            break
    return process, address, queries


def quantile(sorted_waits: list[float], share: float) -> float:
    return sorted_waits[min(len(sorted_waits) - 1, int(share * len(sorted_waits)))] * 1000


async def drive(load: Load, queries: list[str], hostile: str | None = None) -> Counter[int]:
    """Run all annotators, and a hostile one if given; returns the statuses of the hostile requests."""
    statuses: Counter[int] = Counter()
    attack = [] if hostile is None else [harass(load, hostile, statuses)]
    people = (load.person(query, random.Random(index)) for index, query in enumerate(queries))
    await asyncio.gather(*people, *attack)
    return statuses


async def harass(load: Load, query: str, statuses: Counter[int]) -> None:
    """Send all hostile bodies to all addresses, without a pause, until the time is over."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        async with http.get(f"{load.address}/{query}") as reply:
            await reply.read()
        async with http.get(f"{load.address}/api/session") as reply:
            head = {"X-CSRF-Token": (await reply.json())["csrf"]}
        bodies = itertools.cycle([(path, body) for body in NASTY for path in WRITES])

        async def send() -> None:
            while time.monotonic() < load.until:
                path, body = next(bodies)
                left = aiohttp.ClientTimeout(total=max(0.1, load.until - time.monotonic()))
                try:
                    async with http.post(f"{load.address}/api/{path}", data=body, headers=head, timeout=left) as reply:
                        await reply.read()
                        statuses[reply.status] += 1
                except (aiohttp.ClientError, TimeoutError):
                    statuses[0] += 1

        await asyncio.gather(*(send() for _ in range(AT_ONCE)))


def rated(folder: Path, pages: int) -> Path:
    """Build a finished rating campaign with answered pages, written to its log as by the server."""
    rng, rows, systems, overlap, people = random.Random(0), [], 13, 3, 100
    for document in range(pages // overlap):
        about = {"doc_id": f"d{document}", "document": text(rng, 20)}
        rows += [{**about, "system": f"s{number}", "summary": text(rng, 3)} for number in range(systems)]
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    accounts = [f"p{index}" for index in range(people)]
    plan = {"name": "rated", "task_type": "rating", "data": "data.jsonl", "answers_per_item": overlap,
            "aspects": ASPECTS, "platform": {"name": "local", "accounts": accounts}}  # fmt: skip
    (folder / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    with CampaignService(CampaignFolder(build(folder / "plan.yaml", folder / "campaign"))) as service:
        places = (
            (place * overlap + turn, task) for place, task in enumerate(service.tasks.work) for turn in range(overlap)
        )
        todo: dict[str, list[Task]] = {name: [] for name in accounts}
        for place, task in places:
            todo[accounts[place % people]].append(task)
        for name, tasks in todo.items():
            service.log.do(lambda turn, name=name, tasks=tasks: answer_all(turn, service, name, tasks, rng))
    return folder / "campaign"


def answer_all(turn: Any, service: CampaignService, who: str, tasks: list[Task], rng: random.Random) -> None:
    """Answer all tasks of a person, in batches of ten tasks and two checks; three of five answers are correct."""
    turn.emit("joined", who, data={"platform": "local", "id": who, "study": None, "session": None, "arm": "assisted"})
    checks = rng.sample(service.tasks.checks, min(len(service.tasks.checks), len(tasks) // 5))
    for number, start in enumerate(range(0, len(tasks), 10), 1):
        batch = tasks[start : start + 10] + checks[2 * number - 2 : 2 * number]
        for task in batch:
            turn.emit("assigned", who, task=task.key, batch=number, data={"check": task.role == "check"})
        for task in batch:
            right = random.Random(task.key)
            cells = {
                system: {name: rng.choice((right.randint(1, 5),) * 3 + (2, 4)) for name in ASPECTS}
                for system in task.systems
            }
            answer = TaskAnswer(values={"best": task.systems[0]}, summaries=cells)
            passed = service.task_type.passed(task, answer) if task.role == "check" else None
            data = {"answer": answer.to_json(), "seconds": rng.uniform(5, 60), "client_at": turn.now, "passed": passed}
            turn.emit("opened", who, task=task.key, batch=number)
            turn.emit("answered", who, task=task.key, batch=number, token=f"{number}-{task.key}", data=data)
        turn.emit("finished", who, batch=number, data={"by": "annotator"})


def status(pages: int) -> int:
    """Print the CPU seconds of `annotate status`, the minimum of three runs; returns 0 if they are below 2 s."""
    # Keep the bytecode cache of imports, also if the environment disables it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as place:
        folder = rated(Path(place), pages)
        environment["PYTHONPYCACHEPREFIX"] = f"{place}/bytecode"
        command = [sys.executable, "-m", "summeter", "annotate", "status", str(folder)]
        spent = []
        for _ in range(4):
            before = os.times()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            after = os.times()
            spent.append(after.children_user - before.children_user + after.children_system - before.children_system)
    least = min(spent[1:])
    load = f"load average {os.getloadavg()[0]:.1f}"
    print(f"annotate status, {pages} pages, {pages // 3 * 3 * 39} judgments: {least:.2f} CPU seconds ({load})")
    return 0 if least < 2 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--annotators", type=int, default=300, help="number of annotators")
    parser.add_argument("--items", type=int, default=10_000, help="minimum number of tasks")
    parser.add_argument("--seconds", type=float, default=60, help="duration of the load")
    parser.add_argument("--hostile", type=float, default=20, help="duration with a hostile annotator")
    parser.add_argument("--status", action="store_true", help="measure annotate status instead")
    parser.add_argument("--pages", type=int, default=7000, help="number of pages for --status")
    options = parser.parse_args()
    if options.status:
        return status(options.pages)
    with tempfile.TemporaryDirectory() as place:
        made = campaign(Path(place), options.items, options.annotators)
        process, address, queries = serve(made)
        before = os.times().children_user + os.times().children_system
        load = Load(address, time.monotonic() + options.seconds)
        try:
            asyncio.run(drive(load, queries))
            attacked = Load(address, time.monotonic() + options.hostile, "attacked")
            statuses = asyncio.run(drive(attacked, queries[:-1], queries[-1])) if options.hostile else Counter()
        finally:
            used = os.times()
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait(30)
            served = os.times().children_user + os.times().children_system - before
    every = sorted(wait for waits in load.waits.values() for wait in waits)
    rows = [*sorted(load.waits.items()), ("all", every)]
    print(f"{'request':28} {'n':>7} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8}")
    for name, waits in rows:
        ordered = sorted(waits)
        marks = " ".join(f"{quantile(ordered, share):8.1f}" for share in (0.5, 0.95, 0.99))
        print(f"{name:28} {len(ordered):7} {marks}")
    print(
        f"errors: {dict(load.errors) or 'none'}; generator used {used.user + used.system:.0f} CPU seconds, "
        f"server {served:.0f}, in {options.seconds:.0f}"
    )
    if options.hostile:
        waits = sorted(wait for waits in attacked.waits.values() for wait in waits)
        p50, p95, most = quantile(waits, 0.5), quantile(waits, 0.95), waits[-1] * 1000
        answered = ", ".join(
            f"{count} with {status}" if status else f"{count} still open at the end"
            for status, count in sorted(statuses.items())
        )
        print(
            f"with a hostile annotator ({AT_ONCE} requests at a time, answered: {answered or 'none'}): "
            f"{len(waits)} other requests waited p50 {p50:.1f}, p95 {p95:.1f}, max {most:.1f} ms; "
            f"errors: {dict(attacked.errors) or 'none'}"
        )
    return 0 if quantile(every, 0.95) < 150 and not load.errors and not attacked.errors else 1


if __name__ == "__main__":
    sys.exit(main())
