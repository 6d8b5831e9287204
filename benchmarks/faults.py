"""Fault injection: a table of the faults that were injected and survived, and of lost and invented results.

Runs of star ratings use a faulty server, are killed and interrupted at random times, write to full disks, and have
their files damaged; after each fault the command is repeated. `lost` counts items without a value that the undisturbed
run has; `invented` counts values that the undisturbed run does not have, at any time.

The faulty server answers 30 % of all requests with 429 (with Retry-After), 500 or a reset, and 2 % never. Of all
prompts, 4 % each get a reply truncated at the length limit, truncated JSON, a refusal, or a rating out of range. The
time is printed below the table, with the waits that cannot be avoided: the longest chain of Retry-After and timeouts of
one summary, and the share of timeouts in all connections.

A busy server serves four calls at a time and answers others with 429 and Retry-After; 72 summaries use one such server,
and two that share the calls, over 32 connections. More than a third of rejected requests also counts as a failure.

    python benchmarks/faults.py                                  2,000 summaries on the faulty server, 20 kills, 200
    damages python benchmarks/faults.py --summaries 400 --kills 5 --damages 30
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import logging
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

DELAY, RETRY_AFTER, TIMEOUT = 0.2, 0.5, 2.0
SPOILT = {
    "length": ("stop here", "length"), "cut": ('{"stars": ', "stop"), "refusal": (None, "stop"),
    "range": ('{"stars": 9}', "stop"),
}  # fmt: skip
DISKS = [48, 96, 128, 160, 192, 224, 256, 320, 384, 512]
"""KiB."""
SMALL = 160  # summaries of the runs that are stopped and damaged
BUSY, CAPACITY = 72, 4  # summaries for servers that are busy, and calls that such a server serves at a time


class Row(NamedTuple):
    """A row of the table; `ends` describes the result of a survived fault."""

    fault: str
    tried: int
    survived: int
    lost: int
    invented: int
    ends: str


def share(*parts: object) -> float:
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:8], 16) / 16**8


def spoils(seed: int, question: str) -> str | None:
    drawn = share(seed, "kind", question)
    return list(SPOILT)[int(drawn / 0.04)] if drawn < 0.16 else None


# ---- the server ----


def asked(prompt: str) -> str:
    """Return a prompt without the random codes of its fences, which differ between runs."""
    return re.sub(r"(<<<[a-z ]+) \w+>>>", r"\1>>>", prompt)


async def serve(seed: int) -> None:
    from aiohttp import web

    tries: dict[str, Counter[str]] = defaultdict(Counter)
    waits: dict[str, float] = defaultdict(float)
    kinds: Counter[str] = Counter()
    serving: Counter[str] = Counter()
    turned_away: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.StreamResponse:
        day = request.match_info["day"]
        bad = day == "bad"
        body = await request.json()
        question = asked(next(turn["content"] for turn in body["messages"] if turn["role"] == "user"))
        tries[day][question] += 1
        drawn = share(seed, question, tries[day][question]) if bad else 1.0
        if drawn < 0.32:
            kind = ("429", "500", "reset", "hang")[min(3, int(drawn / 0.10))]
            kinds[kind] += 1
            if kind == "429":
                waits[question] += RETRY_AFTER
                return web.json_response({"error": "slow"}, status=429, headers={"Retry-After": str(RETRY_AFTER)})
            if kind == "500":
                return web.json_response({"error": "oops"}, status=500)
            if kind == "hang":
                waits[question] += TIMEOUT
                await asyncio.sleep(3600)
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if day.startswith("busy") and serving[day] >= CAPACITY:
            turned_away[day] += 1
            return web.json_response({"error": "slow"}, status=429, headers={"Retry-After": str(RETRY_AFTER)})
        serving[day] += 1
        try:
            await asyncio.sleep(0.05 if day == "quick" else DELAY)
        finally:
            serving[day] -= 1
        stars = (json.dumps({"stars": 1 + int(share(question) * 5)}), "stop")
        text, finish = SPOILT.get(spoils(seed, question) or "" if bad else "", stars)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if text is None:
            message["refusal"] = "I will not."
        usage = {"prompt_tokens": 600, "completion_tokens": 6}
        choice = {"index": 0, "finish_reason": finish, "message": message}
        return web.json_response({"model": "bench", "choices": [choice], "usage": usage})

    async def account(_: web.Request) -> web.Response:
        spoilt = Counter(kind for question in tries["bad"] if (kind := spoils(seed, question)))
        return web.json_response(
            {
                "kinds": kinds,
                "spoilt": spoilt,
                "longest": max(waits.values(), default=0.0),
                "turned_away": turned_away,
                "tries": {day: counter.total() for day, counter in tries.items()},
            }
        )

    app = web.Application()
    app.router.add_post("/{day}/chat/completions", answer)
    app.router.add_get("/account", account)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@contextmanager
def server(seed: int) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, __file__, "--serve", str(seed)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def account(base: str) -> dict[str, Any]:
    from urllib.request import urlopen

    with urlopen(f"{base}/account") as reply:
        return dict(json.load(reply))


# ---- runs ----


def rows(summaries: int) -> list[dict[str, str]]:
    return [
        {"doc_id": f"d{number // 4}", "system": f"s{number % 4}", "summary": f"Summary {number} of it. It rained.",
         "document": f"Document {number // 4}. " + "It rained all day, and nobody went out to the fair. " * 30}
        for number in range(summaries)
    ]  # fmt: skip


def run(url: str, summaries: int, connections: int, folder: Path, max_retries: int = 20) -> Any:
    from summeter.engine.api import evaluate

    return evaluate(rows(summaries), ["stareval"], models="openai-api/bench/judge", out=folder, base_url=url,
                    timeout=TIMEOUT, concurrency=connections, max_retries=max_retries)  # fmt: skip


def values(run: Any) -> dict[tuple[str, str], float | None]:
    return {(score.doc_id, score.system): score.value for score in run.scores()}


def compared(wanted: dict[tuple[str, str], float | None], run: Any) -> tuple[int, int]:
    """Return the numbers of items that lost their value, and of values that the undisturbed run does not have."""
    got = values(run)
    lost = sum(got.get(item) is None for item, value in wanted.items() if value is not None)
    invented = sum(value is not None and value != wanted.get(item) for item, value in got.items())
    return lost, invented


def scoring(url: str, folder: Path, **process: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--score", url, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **process)


def bad_day(base: str, summaries: int, connections: int, place: Path) -> tuple[list[Row], str]:
    start = time.perf_counter()
    whole = values(run(f"{base}/good", summaries, connections, place / "good"))
    middle = time.perf_counter()
    day = run(f"{base}/bad", summaries, connections, place / "bad")
    end = time.perf_counter()
    counts = account(base)
    spoilt = {item for item, value in values(day).items() if value is None}
    lost, invented = compared({item: value for item, value in whole.items() if item not in spoilt}, day)
    bad = [row for row in day.judgments() if row.status != "ok"]
    named = sum(row.value is None and row.label is None and bool(row.reason) for row in bad)
    asked, tried = sum(counts["spoilt"].values()), sum(counts["kinds"].values())
    lost += abs(len(spoilt) - asked)  # more or fewer failures than the server caused
    hanging = counts["kinds"]["hang"] * TIMEOUT / connections
    good, waits = middle - start, counts["longest"] + hanging
    text = (
        f"{summaries} summaries, {connections} connections, load {os.getloadavg()[0]:.1f}: no faults {good:.1f} s, "
        f"faulty server {end - middle:.1f} s with {counts['tries']['bad']} tries; unavoidable waits {waits:.1f} s, "
        f"(bad - waits) / good = {(end - middle - waits) / good:.2f}"
    )
    return [
        Row("server: 429, 500, reset, no answer", tried, tried - lost, lost, invented, "asked again, same number"),
        Row("reply: cut, at its limit, refused, out of range", asked, named, 0, len(bad) - named, "failure by name"),
    ], text


def busy(base: str, place: Path) -> list[Row]:
    """Test servers that reject calls beyond four at a time: a single one, and two that share the calls."""
    wanted = values(run(f"{base}/good", BUSY, 32, place / "rested"))
    table = []
    for days in (["busy"], ["busy1", "busy2"]):
        url = ",".join(f"{base}/{day}" for day in days)
        lost, invented = compared(wanted, run(url, BUSY, 32, place / days[0], max_retries=8))
        counts = account(base)
        away, tried = (sum(counts[kind][day] for day in days) for kind in ("turned_away", "tries"))
        survived = away - lost if away < tried / 3 else 0
        servers = "a busy server" if len(days) == 1 else "two busy servers"
        ends = f"asked again, same number ({away} of {tried} requests)"
        table.append(Row(f"{servers}: 429 beyond {CAPACITY} calls at a time", away, survived, lost, invented, ends))
    return table


def stopped(base: str, times: int, sign: signal.Signals, whole: dict[tuple[str, str], float | None], place: Path,
            rng: random.Random) -> Row:  # fmt: skip
    """Test runs that are stopped repeatedly at random times, until one ends by itself."""
    from summeter.engine.runs import Run

    tried = survived = lost = invented = number = 0
    while tried < times:
        folder, number = place / f"{sign.name}{number}", number + 1
        stops = 0
        while True:
            process = scoring(f"{base}/quick", folder)
            try:
                code = process.wait(timeout=rng.uniform(0.8, 3.5) if tried + stops < times else None)
            except subprocess.TimeoutExpired:
                process.send_signal(sign)
                code = process.wait()
                stops += 1
                if (folder / "run.json").exists():
                    invented += compared(whole, Run(folder))[1]
            else:
                break
        gone, new = compared(whole, Run(folder)) if code == 0 else (len(whole), 0)
        tried, lost, invented = tried + stops, lost + gone, invented + new
        survived += stops if not (gone or new) else 0
    words = {signal.SIGKILL: "kill -9", signal.SIGINT: "Ctrl-C"}[sign]
    return Row(f"{words} at a random moment", tried, survived, lost, invented, "the same command carries on")


def mount(place: Path, kib: int) -> bool:
    place.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(place)]
    return bool(shutil.which("mount")) and subprocess.run(command, capture_output=True, check=False).returncode == 0


def full_disks(base: str, whole: dict[tuple[str, str], float | None], place: Path) -> Row:
    """Test disks that are too small: the run ends with an error, and continues when there is space."""
    from summeter.engine.runs import Run

    survived = lost = invented = 0
    for kib in DISKS:
        disk = place / f"disk{kib}"
        mounted = mount(disk, kib)
        limit: Callable[[], None] | None = None
        if not mounted:  # limit the size of files instead
            limit = lambda size=kib * 1024 // 3: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731
        try:
            ended = scoring(f"{base}/quick", disk / "run", preexec_fn=limit).wait()
            if (disk / "run" / "progress.jsonl").exists() and (disk / "run" / "run.json").stat().st_size:
                invented += compared(whole, Run(disk / "run"))[1]
            if mounted:
                subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            again = scoring(f"{base}/quick", disk / "run").wait()
            gone, new = compared(whole, Run(disk / "run")) if again == 0 else (len(whole), 0)
            lost, invented = lost + gone, invented + new
            survived += ended not in (0, -9) and again == 0 and not (gone or new)
        finally:
            if mounted:
                subprocess.run(["umount", "-l", str(disk)], check=True)
    return Row("full disk", len(DISKS), survived, lost, invented, "one line, then carried on")


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "a flipped bit": lambda data, rng: _at(data, rng, lambda byte: bytes([byte[0] ^ 1 << rng.randrange(8)])),
    "a page of zeros": lambda data, rng: _at(data, rng, lambda _: b"\0" * 64),
    "garbage": lambda data, rng: _at(data, rng, lambda byte: rng.randbytes(40) + byte),
    "cut": lambda data, rng: data[: rng.randrange(len(data))],
    "a line twice": lambda data, rng: data + rng.choice(data.splitlines(keepends=True)),
}


def _at(data: bytes, rng: random.Random, change: Callable[[bytes], bytes]) -> bytes:
    place = rng.randrange(len(data))
    changed = change(data[place : place + 1])
    return data[:place] + changed + data[place + max(1, len(changed) if len(changed) == 64 else 1) :]


def damaged(base: str, times: int, whole: dict[tuple[str, str], float | None], source: Path, rng: random.Random,
            *, mended: bool) -> Row:  # fmt: skip
    """Test a damaged file of a finished run: read the run, then repeat the command.

    `mended`: a file that the run can make anew. The others (the data, the manifest, the calls) can only be refused.
    """
    from summeter.engine.runs import Run
    from summeter.records import SummeterError

    growing = [file for folder in ("judgments", "prepared") for file in source.glob(f"{folder}/*.jsonl")]
    anew = [file for file in (*growing, source / "progress.jsonl") if file.exists() and file.stat().st_size]
    kept = [source / "run.json", source / "calls.sqlite", *(source / "data").glob("*.json*")]
    kept = [file for file in kept if file.stat().st_size]
    survived = lost = invented = 0
    refused = False
    for _ in range(times):
        folder = source.parent / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        file = folder / rng.choice(anew if mended else kept).relative_to(source)
        damage = rng.choice(list(DAMAGES))
        file.write_bytes(DAMAGES[damage](file.read_bytes(), rng))
        sound, gone, new = True, 0, 0
        for again in (False, True):
            try:
                gone, new = compared(whole, run(f"{base}/quick", SMALL, 32, folder) if again else Run(folder))
                invented += new
            except SummeterError as error:
                gone = new = 0
                sound = bool(str(error))  # the error names the command
                refused = True
            except Exception as error:  # noqa: BLE001 - a traceback is a failure of the test
                sound = False
                print(f"{file.name}, {damage}: {error!r}", file=sys.stderr)
            else:
                refused = False
        sound = sound and not (refused and mended)
        lost += gone
        if not sound or gone or new:
            print(f"{file.name}, {damage}: lost {gone}, invented {new}", file=sys.stderr)
        survived += sound and not (gone or new)
    ends = "judged anew, same numbers" if mended else "same numbers, or an error that names the file"
    name = "judgments, prepared rows, progress" if mended else "data, run.json, calls"
    return Row(f"damaged file: {name}", times, survived, lost, invented, ends)


def shown(table: list[Row]) -> str:
    head = ("Fault", "tried", "survived", "lost", "invented", "survived means")
    body = [(row.fault, f"{row.tried:,}", f"{row.survived:,}", str(row.lost), str(row.invented), row.ends)
            for row in table]  # fmt: skip
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ("---", *["--:"] * 4, "---"), *body))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", type=int, metavar="SEED", help=argparse.SUPPRESS)
    parser.add_argument("--score", nargs=2, metavar=("URL", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--summaries", type=int, default=2000, help="number of summaries on the faulty server")
    parser.add_argument("--connections", type=int, default=64, help="number of connections")
    parser.add_argument("--kills", type=int, default=20, help="number of each type")
    parser.add_argument("--damages", type=int, default=100, help="number of each type")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
        return
    if options.score:
        sys.exit(scored(*options.score))
    logging.disable()
    rng = random.Random(options.seed)
    with server(options.seed) as base, tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        table, text = bad_day(base, options.summaries, options.connections, place)
        table += busy(base, place)
        small = run(f"{base}/quick", SMALL, 32, place / "small")
        whole = values(small)
        for sign in (signal.SIGKILL, signal.SIGINT):
            table.append(stopped(base, options.kills, sign, whole, place, rng))
        table.append(full_disks(base, whole, place))
        for mended in (True, False):
            table.append(damaged(base, options.damages, whole, small.folder, rng, mended=mended))
    print(f"{shown(table)}\n\n{text}")
    if any(row.lost or row.invented or row.survived < row.tried for row in table):
        sys.exit(1)


def scored(url: str, folder: str) -> int:
    from summeter.records import SummeterError

    try:
        run(url, SMALL, 8, Path(folder))
    except (SummeterError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    main()
