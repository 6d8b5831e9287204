"""Runs with --batch: killed while waiting, resumed, replayed, estimated, and charged at half price."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows
from engine.llm import answer
from engine.test_run import files
from models.batch_server import BatchServer, Body, Outcome
from models.server import StubServer, ok

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run, example
from summeter.engine.runs import Run
from summeter.models.layers import batches
from summeter.records import UsageError, first_error
from summeter.runs.batches import BatchLog
from summeter.runs.calls import CallStore

MODELS = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-0"}


@pytest.fixture
def prices(tmp_path: Path) -> str:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "date: 2026-01-02\nmodels:\n"
        + "".join(f"  {model}: {{input: 100, output: 200}}\n" for model in MODELS.values())
    )
    return str(file)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are looked for again at once."""
    monkeypatch.setattr(batches, "wait", lambda _: 0.01)


def judge(body: Body) -> Outcome:
    content = body["messages"][-1]["content"]
    return ("ok", answer(content if isinstance(content, str) else "".join(part["text"] for part in content)))


def score(server: BatchServer, vendor: str, tmp_path: Path) -> list[str]:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(6)))
    return [sys.executable, "-m", "summeter", "score", str(data), "-e", "finesure", "-m", MODELS[vendor], "--batch",
            "--base-url", server.url(vendor), "-o", str(tmp_path / "run")]  # fmt: skip


def stopped(command: list[str], how: signal.Signals, when: Callable[[], object], said: Path) -> subprocess.Popen[bytes]:
    """The command, sent a signal at that moment."""
    with said.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors) as process:
        while not when() and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(how)
        process.wait()
    return process


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("vendor", sorted(MODELS))
def test_killed_while_it_waits_it_asks_nothing_twice(tmp_path: Path, vendor: str) -> None:
    said = tmp_path / "said"
    with BatchServer(judge) as server:
        command = score(server, vendor, tmp_path)
        server.done = lambda _: False
        # As soon as the server has the batch, whether the run knows of it or not.
        killed = stopped(command, signal.SIGKILL, lambda: server.batches, said)
        assert killed.returncode == -signal.SIGKILL
        # Key facts and fact checks together: 6 documents, 12 summaries.
        assert server.sizes == [18]
        # The second session fetches them, and is killed over the alignments.
        server.done = lambda made: len(made.entries) == 18
        stopped(command, signal.SIGKILL, lambda: len(server.batches) == 2, said)
        # The third is interrupted, and says what goes on without it.
        server.seen.clear()
        ended = stopped(command, signal.SIGINT, lambda: server.seen[-1:] == [list(server.batches)[-1]], said)
        assert ended.returncode == 130
        words = said.read_text()
        assert f"batch {list(server.batches)[-1]} (12 calls to {MODELS[vendor]}, since 20" in words
        assert "run the same command with --batch to fetch the replies" in words
        server.done = lambda _: True
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert server.sizes == [18, 12]
        assert len(server.handed_in) == len(set(server.handed_in)) == 30
        evaluate(tmp_path / "data.jsonl", ["finesure"], models=MODELS[vendor], out=tmp_path / "whole", batch=True,
                 base_url=server.url(vendor))  # fmt: skip
    assert files(tmp_path / "run") == files(tmp_path / "whole")
    run = Run(tmp_path / "run")
    assert run.manifest.status == "complete"
    assert BatchLog(run.folder / "batches.jsonl").open == []
    # No server any more: the replay is the same to the byte, with --batch or without.
    replayed = evaluate(tmp_path / "data.jsonl", run.specs, models=MODELS[vendor], replay=run.folder, batch=True,
                        out=tmp_path / "again")  # fmt: skip
    assert files(replayed.folder) == files(run.folder)


class Died(BaseException):
    """The end of a process, which nothing handles."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("vendor", "after"), [("openai", False), ("anthropic", True)])
def test_a_run_may_die_at_every_write(
    tmp_path: Path, vendor: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after each event of the log and each stored reply: nothing is submitted twice, and all is judged."""
    left = [0]

    def dying(write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and not after:
                raise Died
            result = write(*args, **named)
            if left[0] == 0:
                raise Died
            return result

        return wrapped

    monkeypatch.setattr(BatchLog, "_add", dying(BatchLog._add))
    monkeypatch.setattr(CallStore, "put", dying(CallStore.put))
    with BatchServer(judge) as server:
        options: dict[str, Any] = {"models": MODELS[vendor], "batch": True, "base_url": server.url(vendor)}
        data = rows(2, "a")
        whole = evaluate(data, ["finesure"], out=tmp_path / "whole", **options)
        # Two batches, of 4 and of 2 calls: three events and one reply for each call.
        for step in range(1, 13):
            server.batches.clear()  # else Anthropic's of an earlier step are taken for those of this one
            server.handed_in.clear()
            left[0] = step
            with pytest.raises((Died, BaseExceptionGroup), check=lambda error: isinstance(first_error(error), Died)):
                evaluate(data, ["finesure"], out=tmp_path / f"run{step}", **options)
            left[0] = 0
            run = evaluate(data, ["finesure"], out=tmp_path / f"run{step}", **options)
            assert len(server.handed_in) == len(set(server.handed_in)) == 6
            assert run.manifest.status == "complete"
            assert files(run.folder) == files(whole.folder)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("vendor", sorted(MODELS))
class TestMoney:
    def test_half_the_price_and_told(self, tmp_path: Path, vendor: str, prices: str) -> None:
        with BatchServer(judge) as server:
            options: dict[str, Any] = {"models": MODELS[vendor], "prices": prices, "batch": True}
            run = evaluate(rows(4), ["finesure"], out=tmp_path / "run", base_url=server.url(vendor), **options)
        used = run.manifest.usage[MODELS[vendor]]
        # 20 calls of 11 tokens in and 7 out: (11 * 100 + 7 * 200) / 2 = 1,250 millionths of a dollar each.
        assert (used.calls, used.batched, used.retries) == (20, 20, 0)
        assert used.cost == pytest.approx(20 * 0.00125)

    def test_a_dry_run_halves_it_too(self, vendor: str, prices: str) -> None:
        whole, half = (
            dry_run(rows(4), ["finesure"], models=MODELS[vendor], prices=prices, batch=batch) for batch in (False, True)
        )
        for one, other in zip(whole, half, strict=True):
            assert one.cost is not None
            assert other.cost == pytest.approx(one.cost / 2, abs=1e-6)
            assert (one.batch, other.batch) == (False, True)


@pytest.mark.usefixtures("quick")
class TestOptions:
    def test_all_documents_are_in_one_batch_whatever_the_connections(self, tmp_path: Path) -> None:
        with BatchServer(judge) as server:
            evaluate(rows(40, "a"), ["finesure.fact_check"], models=MODELS["openai"], out=tmp_path / "run", batch=True,
                     base_url=server.url("openai"), concurrency=1)  # fmt: skip
            assert server.sizes == [40]

    def test_a_round_of_a_cascade_is_a_batch(self, tmp_path: Path) -> None:
        cascade = "cascade[first=support,then=finesure.fact_check,share=.5,sample=3]"
        options: dict[str, Any] = {"models": MODELS["openai"]}
        with BatchServer(judge) as server:
            run = evaluate(
                rows(4), [cascade], out=tmp_path / "run", batch=True, base_url=server.url("openai"), **options
            )
        # The sample while the first judge works, then what that was not sure of.
        assert len(server.sizes) == 2
        assert server.sizes[0] == 3
        assert 1 <= server.sizes[1] <= 4
        with StubServer(lambda call: ok(answer(call.prompt))) as single:
            whole = evaluate(rows(4), [cascade], out=tmp_path / "one", base_url=single.url, **options)
        assert files(run.folder).keys() == files(whole.folder).keys()
        assert [row.label for row in run.judgments()] == [row.label for row in whole.judgments()]

    def test_begun_one_by_one_and_finished_in_a_batch(self, tmp_path: Path) -> None:
        options: dict[str, Any] = {"models": MODELS["openai"], "out": tmp_path / "run"}
        with StubServer(lambda call: ok(answer(call.prompt))) as single:
            evaluate(rows(4), ["finesure.fact_check"], limit=2, base_url=single.url, **options)
        with BatchServer(judge) as server:
            run = evaluate(rows(4), ["finesure.fact_check"], batch=True, base_url=server.url("openai"), **options)
            assert server.sizes == [4]
        used = run.manifest.usage[MODELS["openai"]]
        assert (used.calls, used.batched) == (8, 4)

    def test_calls_of_one_item_that_do_not_depend_on_each_other_are_one_batch(self, tmp_path: Path) -> None:
        def fitting(body: Body) -> Outcome:
            return ("ok", json.dumps(example(body["response_format"]["json_schema"]["schema"])))

        with BatchServer(fitting) as server:
            run = evaluate(rows(2), ["geval[aspect=fluency,draws=20]"], models=MODELS["openai"], out=tmp_path / "run",
                           batch=True, base_url=server.url("openai"))  # fmt: skip
            # The steps of the evaluation; then 2 documents, 4 summaries, 20 samples of each.
            assert server.sizes == [1, 80]
        assert [one.status for one in run.judgments()] == ["ok"] * 4

    def test_an_item_that_fails_is_not_asked_again_in_later_rounds(self, tmp_path: Path) -> None:
        def refusing(body: Body) -> Outcome:
            content = str(body["messages"][-1]["content"])
            return ("error", (400, "no such thing")) if "on day 1" in content else judge(body)

        with BatchServer(refusing) as server:
            run = evaluate(rows(3), ["finesure"], models=MODELS["openai"], out=tmp_path / "run", batch=True,
                           base_url=server.url("openai"))  # fmt: skip
            assert len(server.handed_in) == len(set(server.handed_in))
        assert {one.status for one in run.failures()} == {"error"}

    def test_the_time_in_a_batch_is_not_the_items(self, tmp_path: Path) -> None:
        with BatchServer(judge) as server:
            server.done = lambda made: server.seen.count(made.id) > 20
            run = evaluate(rows(2), ["finesure.fact_check"], models=MODELS["openai"], out=tmp_path / "run", batch=True,
                           item_timeout=0.15, base_url=server.url("openai"))  # fmt: skip
        assert {one.status for one in run.judgments()} == {"ok"}

    def test_a_repair_is_the_next_batch(self, tmp_path: Path) -> None:
        def clumsy(body: Body) -> Outcome:
            turns = body["messages"]
            repair = turns[-2]["role"] == "assistant"
            return judge({"messages": turns[:-2]}) if repair else ("ok", "well...")

        with BatchServer(clumsy) as server:
            run = evaluate(rows(3), ["finesure.fact_check"], models=MODELS["openai"], out=tmp_path / "run", batch=True,
                           base_url=server.url("openai"))  # fmt: skip
            assert server.sizes == [6, 6]
        assert {one.status for one in run.judgments()} == {"ok"}

    def test_what_cannot_be_is_said_before_anything_is_written(self, tmp_path: Path) -> None:
        out = tmp_path / "run"
        with pytest.raises(UsageError, match="ollama/m has no batch API that summeter supports"):
            evaluate(rows(), ["finesure"], models="ollama/m", out=out, batch=True)
        assert not out.exists()

    def test_the_key_is_nowhere(self, tmp_path: Path) -> None:
        with BatchServer(judge) as server:
            evaluate(rows(2), ["finesure.fact_check"], models=MODELS["openai"], out=tmp_path / "run", batch=True,
                     base_url=server.url("openai"))  # fmt: skip
        for file in (tmp_path / "run").rglob("*"):
            assert not file.is_file() or os.environ["OPENAI_API_KEY"].encode() not in file.read_bytes()
        with CallStore(tmp_path / "run" / "calls.sqlite", readonly=True) as store:
            assert {call.batch for call in store.tokens()} == {next(iter(server.batches))}
