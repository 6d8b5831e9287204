"""Pages of runs that are too large to list all summaries: a sample is listed, numbers are over all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engine.judges import Moody

from summeter.engine.api import evaluate
from summeter.report import views
from summeter.report.blocks import RunBlock
from summeter.report.build import Page, page
from summeter.runs import readers
from summeter.runs.run import RunFolder

ROWS = [
    {
        "doc_id": f"d{n}",
        "system": system,
        "document": f"It rained on day {n}. We stayed at home.",
        "summary": " ".join(f"word{n}{place}" for place in range(n % 4)) + " It rained on day.",
    }
    for n in range(20)
    for system in ("aster", "birch")
]


def blocks_of(page: Page) -> list[RunBlock]:
    """Return the run blocks of a page, with views that list everything."""
    return [block._replace(view=replace(block.view, listed=None)) for block in page.runs]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(evaluate(ROWS, ["abstractiveness"], out=tmp_path / "run").folder)


def test_a_large_run_lists_the_lowest_and_others_at_random(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page([run])
    assert whole.items.sample is None
    assert len(whole.items) == len(ROWS)
    for name, number in (("LISTED", 39), ("WORST", 5), ("SAMPLED", 4)):
        monkeypatch.setattr(views, name, number)
        monkeypatch.setattr(f"summeter.report.items.{name}", number, raising=False)
    sampled = page([run])
    assert sampled.items.sample == (
        "9 of 40 summaries are listed: the 5 lowest, and a random sample of 4. "
        "All numbers above are over all summaries."
    )
    lowest = [view.scores for view in list(whole.items)[:5]]
    assert [view.scores for view in list(sampled.items)[:5]] == lowest
    assert len(sampled.items) == 9
    assert sampled.tables == whole.tables
    assert blocks_of(sampled) == blocks_of(whole)
    assert page([run]).items.view(6).scores == sampled.items.view(6).scores  # the sample is reproducible
    assert page([run, run]).comparisons[0].sentences[0].startswith("Nothing changed")
    assert len(page([run, run]).items) == 9


def test_failures_are_counted_over_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = evaluate(ROWS, ["abstractiveness", Moody(system="birch")], out=tmp_path / "moody")
    for name, number in (("LISTED", 39), ("WORST", 5), ("SAMPLED", 4)):
        monkeypatch.setattr(views, name, number)
    (group,) = page([run]).failures
    assert (group.judgments, len(group.items)) == (20, 20)
    assert len(group.listed) < 9


def test_a_page_creates_no_records_of_unlisted_judgments(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("every judgment was read")

    whole = page([run])
    monkeypatch.setattr(RunFolder, "iter_judgments", never)
    monkeypatch.setattr(readers, "from_json", never)
    assert blocks_of(page([run])) == blocks_of(whole)
    assert [view.scores for view in page([run]).items] == [view.scores for view in whole.items]
