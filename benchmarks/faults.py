"""A server on a bad day beside the same server on a good one: 2,000 summaries, nothing lost, and what it costs in time.

Of all tries 30 % are 429 (with Retry-After), 500 or a reset, and 2 % are never answered; of all questions 4 % each get
a reply cut at the length limit, cut JSON, a refusal, or a mark out of range. Printed beside the two wall times: the
waits that nobody can save. Those are the longest chain of Retry-After and timeouts of one summary, and the timeouts'
share of all connections, which hang on each of them.

    python benchmarks/faults.py                  2,000 summaries, 64 connections, replies after 200 ms
    python benchmarks/faults.py --summaries 400
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

DELAY, RETRY_AFTER, TIMEOUT = 0.2, 0.5, 2.0
SPOILT = {
    "length": ("stop here", "length"), "cut": ('{"stars": ', "stop"), "refusal": (None, "stop"),
    "range": ('{"stars": 9}', "stop"),
}  # fmt: skip


def share(*parts: object) -> float:
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:8], 16) / 16**8


def spoils(question: str) -> str | None:
    drawn = share("kind", question)
    return list(SPOILT)[int(drawn / 0.04)] if drawn < 0.16 else None


async def serve() -> None:
    from aiohttp import web

    tries: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    waits: dict[str, float] = defaultdict(float)
    kinds: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.StreamResponse:
        bad = request.match_info["day"] == "bad"
        body = await request.json()
        question = next(turn["content"] for turn in body["messages"] if turn["role"] == "user")
        tries[bad][question] += 1
        drawn = share(question, tries[bad][question]) if bad else 1.0
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
        await asyncio.sleep(DELAY)
        text, finish = SPOILT.get(spoils(question) or "" if bad else "", ('{"stars": 3}', "stop"))
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if text is None:
            message["refusal"] = "I will not."
        usage = {"prompt_tokens": 600, "completion_tokens": 6}
        choice = {"index": 0, "finish_reason": finish, "message": message}
        return web.json_response({"model": "bench", "choices": [choice], "usage": usage})

    async def told(_: web.Request) -> web.Response:
        spoilt = Counter(kind for question in tries[True] if (kind := spoils(question)))
        return web.json_response(
            {
                "kinds": kinds,
                "spoilt": spoilt,
                "longest": max(waits.values(), default=0.0),
                "tries": tries[True].total(),
            }
        )

    app = web.Application()
    app.router.add_post("/{day}/chat/completions", answer)
    app.router.add_get("/told", told)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def rows(summaries: int) -> list[dict[str, str]]:
    return [
        {"doc_id": f"d{number // 4}", "system": f"s{number % 4}", "summary": f"Summary {number} of it. It rained.",
         "document": f"Document {number // 4}. " + "It rained all day, and nobody went out to the fair. " * 30}
        for number in range(summaries)
    ]  # fmt: skip


def run(url: str, data: list[dict[str, str]], connections: int, folder: Path) -> tuple[float, Any]:
    from summeter.engine.api import evaluate

    start = time.perf_counter()
    made = evaluate(data, ["stareval"], models="openai-api/bench/judge", out=folder, base_url=url, timeout=TIMEOUT,
                    concurrency=connections, max_retries=20)  # fmt: skip
    return time.perf_counter() - start, made


def check(made: Any, told: dict[str, Any], summaries: int) -> None:
    judgments = made.judgments()
    assert len({one.target.item for one in judgments}) == summaries, "an item is lost"
    bad = [one for one in judgments if one.status != "ok"]
    assert all(one.value is None and one.label is None and one.reason for one in bad), "a failure is a number"
    assert len({one.target.item for one in bad}) == sum(told["spoilt"].values()), "not every failure is the server's"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--summaries", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=64)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    data = rows(options.summaries)
    with (
        subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert server.stdout is not None
        base = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        try:
            good, _ = run(f"{base}/good", data, options.connections, Path(folder) / "good")
            bad, made = run(f"{base}/bad", data, options.connections, Path(folder) / "bad")
            from urllib.request import urlopen

            with urlopen(f"{base}/told") as reply:
                told = json.load(reply)
        finally:
            server.terminate()
        check(made, told, options.summaries)
    hanging = told["kinds"]["hang"] * TIMEOUT / options.connections
    waits = told["longest"] + hanging
    print(f"{options.summaries} summaries, {options.connections} connections, load {os.getloadavg()[0]:.1f}")
    print(f"good day {good:.1f} s; bad day {bad:.1f} s with {told['tries']} tries, of which {told['kinds']}")
    print(f"unusable replies, each a named failure: {told['spoilt']}")
    print(f"waits on the critical path {waits:.1f} s: {told['longest']:.1f} of one summary, {hanging:.1f} of timeouts")
    print(f"(bad - waits) / good = {(bad - waits) / good:.2f}")


if __name__ == "__main__":
    main()
