"""Output and exit codes of `summeter batches`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from models.batch_server import BatchServer
from models.test_batches import ENVIRON, echo
from models.test_pending_batches import hand_in

from summeter.cli.main import main
from summeter.engine.api import evaluate
from summeter.models.pending_batches import PendingBatch
from summeter.records import ModelError


def call(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose batch log the tests write."""
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    return evaluate([{"document": "It rained.", "summary": "It rained."}], ["support"], out=tmp_path / "run").folder


def test_listing_and_cancelling(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with BatchServer(echo) as server:
        hand_in(server, "openai", run)
        place = ["--base-url", server.url("openai")]
        assert call(["batches", "list", str(run), *place]) == 0
        heads, line = capsys.readouterr().out.splitlines()
        assert heads.split() == ["batch", "calls", "model", "since", "state"]
        assert line.startswith("batch-")
        assert line.endswith(" in_progress, 0 of 3 done")
        assert call(["batches", "cancel", str(run), *place]) == 0
        _, first, _, advice = capsys.readouterr().out.splitlines()
        assert first.endswith(" cancelling, 0 of 3 done")
        assert "again, with --batch, to fetch the replies" in advice
        assert call(["batches", "list", str(run), "--json", *place]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert (row["calls"], row["words"]) == (3, "cancelling, 0 of 3 done")
        assert call(["batches", "cancel", str(run), "nonsense", *place]) == 2
        assert "'nonsense' is not a pending batch of this run" in capsys.readouterr().err


def test_cancelled_batches_are_printed_if_a_later_one_fails(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def breaks_off(*_: object, **__: object) -> AsyncIterator[PendingBatch]:
        yield PendingBatch("batch-1", "openai/m", 3, "today", "cancelling")
        raise ModelError("the vendor is down")

    monkeypatch.setattr("summeter.models.pending_batches.pending_batches", breaks_off)
    assert call(["batches", "cancel", str(run)]) != 0
    err = capsys.readouterr().err
    assert err.index("batch-1  3 calls to openai/m: cancelling") < err.index("the vendor is down")


def test_a_run_without_batches_and_a_folder_without_a_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["batches", "cancel", str(run)]) == 0
    assert capsys.readouterr().out == "this run has no pending batch\n"
    assert call(["batches", "list", str(tmp_path)]) == 2
    assert "no run" in capsys.readouterr().err
