"""Runs against a failing server: nothing is lost, nothing is requested twice, no failure becomes a number."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from engine.judges import rows
from engine.llm import MODEL, answer, unfenced
from engine.test_run import files
from models.server import HANG, RESET, Call, Reply, StubServer, fail, ok

from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.runs.calls import CallStore


def share(*parts: object) -> float:
    """A number from 0 to 1 that the parts decide."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:8], 16) / 16**8


class BadDay:
    """30 % of all tries are 429, 500 or resets, 2 % never answered; and of all questions 4 % each get a reply cut at
    the length limit, cut JSON, a refusal, or verdicts on too few sentences, however often they are asked."""

    def __init__(self, retry_after: str = "0.01") -> None:
        self.tries: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.retry_after = retry_after

    def spoils(self, question: str) -> str | None:
        kinds = ("length", "cut", "refusal", "few")
        drawn = share("kind", question)
        return kinds[int(drawn / 0.04)] if drawn < 0.16 else None

    def __call__(self, call: Call) -> Reply:
        # A repair turn repeats the question: the first user turn names it.
        question = unfenced(next(turn["content"] for turn in call.body["messages"] if turn["role"] == "user"))
        self.tries[question] += 1
        drawn = share(question, self.tries[question])
        for kind, below, reply in (
            ("429", 0.10, fail(429, "slow down", retry_after=self.retry_after)),
            ("500", 0.20, fail(500, "oops")), ("reset", 0.30, RESET), ("hang", 0.32, HANG),
        ):  # fmt: skip
            if drawn < below:
                self.kinds[kind] += 1
                return reply
        good = answer(question)
        bad = {
            "length": ok(good[:-20], "length"), "cut": ok(good[: len(good) // 2]),
            "refusal": ok(None, refusal="I will not judge this."),
            "few": ok(json.dumps({"1": json.loads(good).get("1")})),
        }  # fmt: skip
        return bad.get(self.spoils(question) or "", ok(good))


def test_every_item_ends_as_ok_or_as_a_named_failure(tmp_path: Path) -> None:
    day = BadDay()
    with StubServer(day) as server:
        run = evaluate(rows(100), ["finesure.fact_check"], models=MODEL, out=tmp_path / "run", base_url=server.url,
                       timeout=5.0, concurrency=32, max_retries=12)  # fmt: skip
    assert all(day.kinds[kind] for kind in ("429", "500", "reset", "hang"))
    judgments = run.judgments()
    assert len({one.target.item for one in judgments}) == 200
    assert all(one.reason and one.value is None and one.label is None for one in judgments if one.status != "ok")
    assert all(one.label in {0, 1} for one in judgments if one.status == "ok")
    # What the server spoilt is a failure with its name, and nothing else is.
    spoilt = Counter(day.spoils(question) for question in day.tries)
    failed = Counter(failure.reason for failure in run.failures())
    assert sum(failed.values()) == sum(number for kind, number in spoilt.items() if kind)
    named = {"refused": "refusal", "length limit": "length"}
    for words, kind in named.items():
        assert sum(number for reason, number in failed.items() if words in reason) == spoilt[kind]
    assert run.manifest.status == "complete"
    used = run.manifest.usage[MODEL]
    assert used.retries == sum(day.kinds.values())
    assert used.failures == 0


def stop(process: subprocess.Popen[bytes], how: signal.Signals, server: StubServer, after: int) -> None:
    while len(server.calls) < after and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(how)
    if how is signal.SIGINT:
        process.send_signal(how)  # impatience changes nothing
    process.wait()


def stored(folder: Path) -> set[str]:
    """The questions whose replies the run has."""
    if not (folder / "calls.sqlite").exists():
        return set()
    with CallStore(folder / "calls.sqlite", readonly=True) as store:
        return {json.dumps(turns_of(json.loads(store.request(call.key)))) for call in store.tokens()}


def turns_of(body: dict[str, Any]) -> list[list[str]]:
    return [[turn["role"], turn["content"]] for turn in body["messages"]]


def test_stopped_at_random_points_it_asks_nothing_again(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(30)))
    out, rng = tmp_path / "run", random.Random(20)
    # The faults of a bad day, but for the replies that never come: they would only make the test slow.
    day, lock = BadDay("0"), threading.Lock()

    def behave(call: Call) -> Reply:
        with lock:
            reply = day(call)
        return fail(500) if reply.hang else reply._replace(delay=0.01)

    with StubServer(behave) as server:
        command = [sys.executable, "-m", "summeter", "score", str(data), "-e", "finesure.fact_check", "-m", MODEL,
                   "--base-url", server.url, "--max-retries", "30", "--max-connections", "8", "--quiet"]  # fmt: skip
        for how in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGINT):
            known, before = stored(out), len(server.calls)
            with (
                (tmp_path / "said").open("wb") as errors,
                subprocess.Popen([*command, "-o", str(out)], stdout=subprocess.DEVNULL, stderr=errors) as process,
            ):
                stop(process, how, server, before + rng.randint(6, 18))
            said = (tmp_path / "said").read_text()
            if how is signal.SIGINT and process.returncode != 0:
                assert process.returncode == 130
                assert said == "summeter: interrupted; finished work is saved; run the same command to resume\n"
            again = {json.dumps(turns_of(call.body)) for call in server.calls[before:]}
            assert not known & again
        known, before = stored(out), len(server.calls)
        subprocess.run([*command, "-o", str(out)], check=True, stdout=subprocess.DEVNULL)
        assert not known & {json.dumps(turns_of(call.body)) for call in server.calls[before:]}
        subprocess.run([*command, "-o", str(tmp_path / "whole")], check=True, stdout=subprocess.DEVNULL)
    assert files(out) == files(tmp_path / "whole")
    assert Run(out).manifest.status == "complete"
