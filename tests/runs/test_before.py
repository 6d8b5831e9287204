"""A run's folder written by the version before is read, carried on and reported as it was."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from summeter.engine.runs import rescore
from summeter.meta import correlate
from summeter.report import html
from summeter.runs.calls import CallStore
from summeter.runs.places import RunReader
from summeter.runs.run import RunFolder

RUN = Path(__file__).parent.parent / "fixtures" / "before" / "run"
VIEWS = ("scores.jsonl", "scores.csv", "pairs.jsonl")
ADDED = {"units", "units_missing"}
"""Fields of a system's row that the version before did not write."""


def as_before(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of systems without what has been added since."""
    assert all(row.keys() >= ADDED for row in rows)
    return [{name: cell for name, cell in row.items() if name not in ADDED} for row in rows]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    shutil.copytree(RUN, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def test_its_scores_are_those_it_had(run: RunFolder) -> None:
    written = [json.loads(line) for line in (RUN / "scores.jsonl").read_text().splitlines()]
    assert [score.model_dump() for score in run.scores()] == written
    # Two repeats have a composite each, and support has its own.
    assert len({score.signature for score in run.scores() if score.aspect == "composite"}) == 3
    with (RUN / "scores.csv").open(newline="") as rows:
        assert len(list(csv.DictReader(rows))) == len(written)


def test_its_means_and_pairs_are_those_it_had(run: RunFolder) -> None:
    summary = json.loads((RUN / "summary.json").read_text())
    assert as_before(run.summary().to_dicts()) == summary["rows"]
    assert [pair.model_dump() for pair in run.pairs()] == summary["pairs"]
    assert run.manifest.counts == summary["counts"] == {"ok": 79, "unparsed": 8, "refused": 1, "error": 1}


def test_its_judgments_are_read_whole_and_by_summary(run: RunFolder) -> None:
    judgments, reader = run.judgments(), RunReader(run)
    assert len(judgments) == sum(run.manifest.counts.values())
    assert {one.status for one in judgments} == {"ok", "unparsed", "refused", "error"}
    singles = [one for one in judgments if one.target.rival is None]
    read = [one for item in reader.items() for one in reader.read(*item) if one.target.rival is None]
    assert sorted(one.line for one in read) == sorted(one.line for one in singles)


def test_scored_anew_its_views_are_the_same_bytes(run: RunFolder) -> None:
    rescore(run.folder)
    assert {name: (run.folder / name).read_bytes() for name in VIEWS} == {
        name: (RUN / name).read_bytes() for name in VIEWS
    }
    summary = json.loads((run.folder / "summary.json").read_text())
    before = json.loads((RUN / "summary.json").read_text())
    assert {**summary, "rows": as_before(summary["rows"])} == before


def test_it_is_reported_studied_and_its_calls_are_there(run: RunFolder, tmp_path: Path) -> None:
    page = html([run], tmp_path / "page.html").read_text()
    assert "support" in page
    assert "h2h" in page
    assert {row.aspect for row in correlate(run, run.data, level="sentence")} == {"faithfulness"}
    with CallStore(run.folder / "calls.sqlite", readonly=True) as calls:
        assert len(calls) == run.manifest.usage["scripted/judge"].calls > 0
