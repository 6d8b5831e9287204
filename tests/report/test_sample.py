"""Pages of runs that are too large to list all summaries: a sample is listed, numbers are over all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engine.judges import Moody

from summeter.engine.api import evaluate
from summeter.report import listing
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


def shown(page: Page) -> set[tuple[str, str]]:
    """Return the summaries that a page lists."""
    return {(page.items.documents[number].id, summary.system) for number, summary in page.items.items}


def test_a_large_run_lists_the_lowest_and_others_at_random(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page([run])
    assert (whole.sample, len(whole.items)) == (None, len(ROWS))
    monkeypatch.setattr(listing, "PAGE_BYTES", 4000)
    sampled = page([run])
    assert 8 <= len(sampled.items) <= 30
    documents = {document for document, _ in shown(sampled)}
    assert shown(sampled) == {(document, system) for document in documents for system in ("aster", "birch")}
    assert (sampled.sample or "").startswith(f"{len(sampled.items)} of 40 summaries are listed")
    assert f"those of {len(documents)} of 20 documents" in (sampled.sample or "")
    lowest = [view.scores for view in list(whole.items)[:2]]
    assert [view.scores for view in list(sampled.items)[:2]] == lowest
    assert sampled.tables == whole.tables
    assert blocks_of(sampled) == blocks_of(whole)
    assert shown(page([run])) == shown(sampled)  # the sample is reproducible
    assert page([run, run]).comparisons[0].sentences[0].startswith("Nothing changed")
    assert 2 <= len(page([run, run]).items) <= len(sampled.items)
    monkeypatch.setattr(listing, "_TOGETHER", 1)
    assert len({document for document, _ in shown(page([run]))}) > len(documents)


def test_runs_over_different_data_are_sampled(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = evaluate(
        [row | {"doc_id": f"other {row['doc_id']}"} for row in ROWS], ["abstractiveness"], out=tmp_path / "b"
    )
    monkeypatch.setattr(listing, "PAGE_BYTES", 4000)
    both = page([run, RunFolder(other.folder)])
    assert "of 40 documents" in (both.sample or "")
    assert {document.startswith("other") for document, _ in shown(both)} == {True, False}


def test_a_limited_run_lists_only_what_was_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder(evaluate(ROWS, ["abstractiveness"], out=tmp_path / "run", limit=4).folder)
    monkeypatch.setattr(listing, "PAGE_BYTES", 2000)
    sampled = page([run])
    assert (sampled.sample or "").startswith(f"{len(sampled.items)} of 8 summaries are listed")
    assert {document for document, _ in shown(sampled)} < {"d0", "d1", "d2", "d3"}
    monkeypatch.setattr(listing, "PAGE_BYTES", 6000)  # less than all texts, but more than those of four documents
    assert (page([run]).sample, len(page([run]).items)) == (None, 8)


def test_failures_are_listed_first_and_counted_over_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = evaluate(ROWS, ["abstractiveness", Moody(system="birch")], out=tmp_path / "moody")
    monkeypatch.setattr(listing, "PAGE_BYTES", 4000)
    (group,) = page([run]).failures
    assert (group.judgments, len(group.items)) == (20, 20)
    assert len(group.listed) < 15


def test_disagreements_with_people_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = {"d7": {"sentence_labels": [0, 1]}, "d11": {"sentence_labels": [1, 1]}}
    rows = [
        {"doc_id": f"d{n}", "system": "aster", "document": "It rained. We stayed.", "summary": "It rained. We stayed.",
         **({"human": people[f"d{n}"]} if f"d{n}" in people else {})}
        for n in range(20)
    ]  # fmt: skip
    run = evaluate(rows, ["support"], out=tmp_path / "run")
    monkeypatch.setattr(listing, "PAGE_BYTES", 10)
    assert shown(page([run])) == {("d7", "aster"), ("d0", "aster")}  # all scores are equal, d0 is the first of them
    assert "1 on which people and a judge differ" in (page([run]).sample or "")


def test_a_page_creates_no_records_of_unlisted_judgments(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("every judgment was read")

    whole = page([run])
    monkeypatch.setattr(RunFolder, "iter_judgments", never)
    monkeypatch.setattr(readers, "from_json", never)
    assert blocks_of(page([run])) == blocks_of(whole)
    assert [view.scores for view in page([run]).items] == [view.scores for view in whole.items]
