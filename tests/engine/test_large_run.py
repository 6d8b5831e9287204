"""A run over data larger than memory, in one file or in several, is the run over the same data in memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from engine.test_derived import Centred
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.data import folder as folders
from summeter.data import streaming
from summeter.data.dataset import Dataset, load
from summeter.data.on_demand import StoredSummaries
from summeter.engine.api import evaluate
from summeter.engine.merge import merge
from summeter.engine.runs import Run, rescore
from summeter.runs.checksums import verify
from summeter.runs.journal import ItemOrder

ROWS: list[dict[str, Any]] = [
    {
        "doc_id": f"{number:03}", "system": system, "domain": ["news", "mail"][number % 2],
        "document": f"It rained on day {number}. We stayed at home. Nobody came to see us.",
        "summary": f"It rained on {number}, says {system}. We stayed.", "reference": "It rained.",
        "key_facts": ["It rained."],
        "human": {"ratings": {"faithfulness": {"ann": number % 3, "007": 1}}},
    }
    for number in range(6) for system in ("ash", "birch")
]  # fmt: skip
JUDGES = ["abstractiveness", "rouge", "support"]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def files(folder: Path) -> dict[str, bytes]:
    names = [*folder.glob("judgments/*"), *(folder / name for name in ("progress.jsonl", "scores.csv", "summary.json"))]
    names += [folder / "data" / name for name in ("documents.jsonl", "summaries.jsonl", "keyfacts.jsonl")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is too large for memory, and two documents are held at once."""
    monkeypatch.setattr(folders, "LARGE", 0)
    monkeypatch.setattr(streaming, "DOCUMENTS_AT_ONCE", 2)


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, bytes]:
    return files(evaluate(ROWS, JUDGES, out=tmp_path / "whole").folder)


def by_system(system: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["system"] == system]


def test_runs_from_one_file_several_a_folder_and_a_pattern_are_equal(
    tmp_path: Path, whole: dict[str, bytes], large: None
) -> None:
    one = write(tmp_path / "one.jsonl", ROWS)
    apart = write(tmp_path / "apart.jsonl", sorted(ROWS, key=lambda row: row["system"]))
    several = [write(tmp_path / "parts" / f"{system}.jsonl", by_system(system)) for system in ("ash", "birch")]
    sources: list[Any] = [one, apart, several, tmp_path / "parts", str(tmp_path / "parts" / "*.jsonl")]
    for number, source in enumerate(sources):
        data = load(source)
        assert isinstance(data.summaries, StoredSummaries)
        assert data.document_domains() == load(ROWS).document_domains()
        assert sorted(map(repr, data.iter_judgments("human.raw"))) == sorted(
            map(repr, load(ROWS).judgments("human.raw"))
        )
        run = evaluate(data, JUDGES, out=tmp_path / f"run{number}")
        assert files(run.folder) == whole
        assert files(rescore(run.folder).folder) == whole
        assert isinstance(Run(run.folder).data.summaries, StoredSummaries)
        assert verify(run.folder) == []


def test_score_takes_several_files_on_the_command_line(tmp_path: Path, whole: dict[str, bytes], large: None) -> None:
    several = [write(tmp_path / "parts" / f"{system}.jsonl", by_system(system)) for system in ("ash", "birch")]
    names = [part for name in JUDGES for part in ("-e", name)]
    result = CliRunner().invoke(app, ["score", *map(str, several), *names, "-o", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert files(tmp_path / "run") == whole
    compared = CliRunner().invoke(app, ["meta", "compare", str(tmp_path / "run"), "--json"])
    assert compared.exit_code == 0, compared.output
    assert json.loads(compared.stdout)["rows"]


def test_a_run_that_goes_on_reads_only_what_is_left(
    tmp_path: Path, whole: dict[str, bytes], large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = load(write(tmp_path / "rows.jsonl", ROWS))
    evaluate(data, JUDGES, out=tmp_path / "run", limit=3)
    read: list[int] = []
    item = Dataset.item
    monkeypatch.setattr(Dataset, "item", lambda self, place: read.append(place) or item(self, place))
    run = evaluate(data, JUDGES, out=tmp_path / "run")
    assert sorted(set(read)) == [3, 4, 5]
    assert files(run.folder) == whole
    read.clear()
    evaluate(data, JUDGES, out=tmp_path / "run")
    assert read == []


def test_a_judge_of_judges_over_large_data(tmp_path: Path, large: None) -> None:
    small = evaluate(ROWS, [Centred()], out=tmp_path / "whole")
    run = evaluate(write(tmp_path / "rows.jsonl", ROWS), [Centred()], out=tmp_path / "run")
    assert files(run.folder) == files(small.folder)


def test_memory_does_not_grow_with_the_data(tmp_path: Path, large: None) -> None:
    def peak(documents: int) -> int:
        text = "It rained. " * 200
        rows = ({"doc_id": f"{number:05}", "system": system, "document": f"{number} {text}", "summary": f"{text}!"}
                for system in "ab" for number in range(documents))  # fmt: skip
        path = tmp_path / f"{documents}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        tracemalloc.start()
        try:
            assert sum(len(summaries) for _, summaries in load(path).items()) == 2 * documents
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(4)  # what is imported stays
    few, many = peak(10), peak(60)
    assert many - few < 50 * 4_400  # fifty documents more, of 2,200 characters and twice as many of summaries


def test_runs_over_parts_of_large_data_are_merged(tmp_path: Path, whole: dict[str, bytes], large: None) -> None:
    halves = [write(tmp_path / f"{number}.jsonl", ROWS[6 * number : 6 * number + 6]) for number in range(2)]
    runs = [evaluate(half, JUDGES, out=tmp_path / f"half{number}").folder for number, half in enumerate(halves)]
    merged = merge(runs, tmp_path / "merged")
    assert files(merged.folder) == whole
    assert merged.data.judgments("human.raw") == load(ROWS).judgments("human.raw")
    assert merged.data.card.counts == {"documents": 6, "summaries": 12, "keyfacts": 6, "judgments/human.raw": 24}
    assert verify(merged.folder) == []


def test_a_merge_holds_no_texts(tmp_path: Path, large: None) -> None:
    def peak(documents: int) -> int:
        text = "It rained. " * 500
        runs = []
        for half in "xy":
            rows = [
                {"doc_id": f"{half}{number}", "document": f"{number} {text}", "summary": f"{text}!"}
                for number in range(documents)
            ]
            path = write(tmp_path / f"{half}{documents}.jsonl", rows)
            runs.append(evaluate(path, ["length"], out=tmp_path / f"{half}{documents}").folder)
        tracemalloc.start()
        try:
            merge(runs, tmp_path / f"merged{documents}")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(4)  # what is imported stays
    few, many = peak(5), peak(30)
    assert many - few < 50 * 5_500  # fifty documents more, of 5,500 characters and as many of their summaries


def test_the_order_of_items_is_that_of_the_data() -> None:
    data = load(ROWS[:6])
    order = ItemOrder(data)
    keys = [
        (document.id, own.system, rival)
        for document, summaries in data.items()
        for own in summaries
        for rival in (None, *(other.system for other in summaries if other is not own))
    ]
    assert sorted(sorted(keys, key=str), key=order.__getitem__) == keys
    assert len({order[key] for key in keys}) == len(keys)
    with pytest.raises(KeyError):
        order["000", "nobody", None]
