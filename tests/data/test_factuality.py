"""Invented files of factuality benchmarks in each layout: conversion, counts and faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from data.files import put, write

from summeter.data.factuality import GROUPS, Benchmark, read_benchmark
from summeter.data.presets.claims import CLAIMS, FIELDS
from summeter.records import InputError, UsageError

ROW: dict[str, Any] = {
    "dataset": "Alpha", "origin": "cnndm", "id": "7", "doc": "It rained all day.", "summary": "It rained.",
    "model_name": "BART", "label": 1, "cut": "val", "Toy_score": 0.5, "Toy_label": "",
}  # fmt: skip


def table(folder: Path, *rows: dict[str, Any]) -> Path:
    return write(folder / "a.csv", rows)


def lines(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    return put(folder / name, rows)


def read(folder: Path, *rows: dict[str, Any], **more: Any) -> Benchmark:
    return read_benchmark("aggrefact", [(None, table(folder, *rows))], **more)


def faults(layout: str, files: list[tuple[str | None, Path]], **more: Any) -> list[tuple[str, int | None, str | None]]:
    with pytest.raises(InputError) as caught:
        read_benchmark(layout, files, **more)
    return [(Path(fault.file).name, fault.line, fault.field) for fault in caught.value.faults]


def test_aggrefact(tmp_path: Path) -> None:
    found = read(tmp_path, ROW, ROW | {"model_name": "PtGen", "summary": "It snowed.", "label": "0", "cut": "test",
                                       "Toy_score": ""})  # fmt: skip
    first, second = found.data.summaries
    assert (first.system, first.category, second.category) == ("BART", "SOTA", "OLD")
    assert first.extra == {"dataset": "Alpha", "origin": "cnndm", "model": "BART", "id": "7", "cut": "val"}
    assert len(found.data.documents) == 1
    assert [one.value for one in found.data.judgments("human.raw")] == [1.0, 0.0]
    assert [(one.judge, one.value) for one in found.released["Toy"]] == [("Toy", 0.5)]
    assert found.counts == {"Toy": 1}
    assert found.lines[0] == "2 rows (1 test, 1 val)"


def test_counts(tmp_path: Path) -> None:
    found = read(
        tmp_path, ROW, ROW, ROW | {"label": 0}, ROW | {"dataset": "Beta"}, ROW | {"label": "", "summary": "Rain."},
        ROW | {"summary": ""}, ROW | {"model_name": "LEAD3", "summary": "It did."},
    )  # fmt: skip
    assert found.counts == {
        "duplicates": 1, "contradictions": 1, "shared": 1, "unlabelled": 1, "empty": 1, "LEAD3": 1,
    }  # fmt: skip
    assert len(found.data) == 7
    assert [one.system for one in found.data.summaries][:4] == ["BART", "BART#2", "BART#3", "BART#4"]
    assert [one.category for one in found.data.summaries if one.system == "LEAD3"] == [None]
    assert len(list(found.data.judgments("human.raw"))) == 6


def test_labels_of_a_column_with_gaps_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, ROW | {"label": "1.0"}, ROW | {"label": "0.0", "summary": "It snowed."})
    assert [row.value for row in found.data.judgments("human.raw")] == [1, 0]


def test_faults_name_file_and_column(tmp_path: Path) -> None:
    path = table(tmp_path, ROW, ROW | {"label": "yes"})
    assert faults("aggrefact", [(None, path)]) == [("a.csv", 3, "label")]
    path = table(tmp_path, ROW, ROW | {"cut": "train"}, ROW | {"id": "8", "origin": ""},
                 ROW | {"Toy_score": "high"}, ROW | {"Toy_score": "inf"}, ROW | {"cut": ""})  # fmt: skip
    found = [("cut", 2), ("Toy_score", 2), ("origin", 1)]
    assert sorted(faults("aggrefact", [(None, path)])) == sorted(
        ("a.csv", None, column) for column, count in found for _ in range(count)
    )
    data = lines(tmp_path, "big.jsonl", ROW | {"Toy_score": 10**400})
    assert faults("aggrefact", [(None, data)]) == [("big.jsonl", None, "Toy_score")]


def test_a_column_of_scores_that_the_first_row_lacks_is_read_too(tmp_path: Path) -> None:
    first = {name: value for name, value in ROW.items() if name != "Toy_score"}
    data = lines(tmp_path, "late.jsonl", first, ROW | {"summary": "It poured."})
    found = read_benchmark("aggrefact", [(None, data)])
    assert [one.value for one in found.released["Toy"]] == [0.5]
    assert found.counts["Toy"] == 1  # missing of one of two rows


def test_invalid_calls(tmp_path: Path) -> None:
    (tmp_path / "a.dat").touch()
    assert faults("aggrefact", [(None, tmp_path)]) == [(tmp_path.name, None, None)]
    with pytest.raises(UsageError, match="cannot tell the format"):
        read_benchmark("aggrefact", [(None, tmp_path / "a.dat")])
    bare = {name: value for name, value in ROW.items() if name != "doc"}
    assert faults("aggrefact", [(None, table(tmp_path, bare))])[0][2] == "doc"
    bare = {name: value for name, value in ROW.items() if name != "cut"}
    found = read_benchmark("aggrefact", [("test", table(tmp_path, ROW | {"cut": "test"}))])
    assert found.lines[0] == "1 rows (1 test)"
    assert faults("llm-aggrefact", [(None, table(tmp_path, bare | {"claim": "Rain."}))]) == [("a.csv", None, "cut")]
    renamed = {("text" if name == "doc" else name): value for name, value in ROW.items()}
    found = read(tmp_path, renamed, columns={"document": "text"})
    assert next(iter(found.data.documents.values())).text == ROW["doc"]
    assert faults("aggrefact", [(None, table(tmp_path, ROW))], scores=["Tou_score"]) == [("a.csv", None, "Tou_score")]
    assert faults("aggrefact", [("test", table(tmp_path, ROW))]) == [("a.csv", None, "cut")]
    invalid: list[tuple[str, list[tuple[str | None, Path]], dict[str, Any], str]] = [
        ("aggrefact", [(None, table(tmp_path, ROW))], {"columns": {"documents": "text"}}, "did you mean document"),
        ("agrefact", [], {}, "did you mean aggrefact"),
        ("summac", [], {}, "no file of summac is given"),
        ("aggrefact", [("train", table(tmp_path, ROW))], {}, "'train' is not a split"),
        ("summac", [("test", tmp_path)], {"texts": [tmp_path]}, "contain the documents"),
    ]
    for layout, files, more, why in invalid:
        with pytest.raises(UsageError, match=why):
            read_benchmark(layout, files, **more)


def test_llm_aggrefact_from_parquet(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    unread = {"contamination_identifier": "x", "model": "m"}  # this layout has no systems
    rows = [{"dataset": "Delta", "doc": "It rained.", "claim": claim, "label": label, **unread}
            for claim, label in (("Rain.", 1), ("Snow.", 0))]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "test.parquet")
    found = read_benchmark("llm-aggrefact", [("test", tmp_path / "test.parquet")])
    assert [one.extra for one in found.data.summaries] == [{"dataset": "Delta", "cut": "test"}] * 2
    assert len({name for name in found.data.systems if name.startswith("claim-")}) == 2
    assert found.released == {}


def test_summac_rows_differ_in_their_keys(tmp_path: Path) -> None:
    path = lines(
        tmp_path, "val.jsonl",
        {"document": "It rained.", "claim": "Rain.", "label": 1, "cnndm_id": "c1", "dataset": "cogensumm",
         "origin": "cnndm", "annotations": [1]},
        {"document": "It rained.", "claim": "Snow.", "label": 0, "bbcid": 5, "model_name": "m", "cut": "val",
         "dataset": "xsumfaith"},
        {"claim": "Hail.", "label": 0, "dataset": "factcc"},
    )  # fmt: skip
    assert faults("summac", [("val", path)]) == [("val.jsonl", 3, "document")]
    two = lines(tmp_path, "two.jsonl", *map(json.loads, path.read_text("utf-8").splitlines()[:2]))
    found = read_benchmark("summac", [("val", two)])
    assert [one.extra.get("id") for one in found.data.summaries] == ["c1", "5"]
    assert [one.extra["cut"] for one in found.data.summaries] == ["val", "val"]


def test_story_summeval_finds_its_stories(tmp_path: Path) -> None:
    rows = lines(
        tmp_path, "test.jsonl",
        {"summary": "A man rows.", "source": "Gutenberg", "text_id": 12, "system_id": "s1", "factual": True},
        {"summary": "A man flies.", "source": "Gutenberg", "text_id": 12, "system_id": "s2", "factual": False},
    )  # fmt: skip
    stories = lines(tmp_path, "stories.jsonl", {"source": "gutenberg", "text_id": "12", "text": "A man rowed home."})
    found = read_benchmark("story-summeval", [("test", rows)], texts=[stories])
    assert [one.value for one in found.data.judgments("human.raw")] == [1.0, 0.0]
    assert [one.text for one in found.data.documents.values()] == ["A man rowed home."]
    assert faults("story-summeval", [("test", rows)]) == [("test.jsonl", line, "text_id") for line in (1, 2)]
    other = lines(tmp_path, "other.jsonl", {"source": "gutenberg", "text_id": "13", "text": "x"})
    assert faults("story-summeval", [("test", rows)], texts=[other])[0] == ("test.jsonl", 1, "text_id")


def test_groups_are_disjoint() -> None:
    models = [model for group in GROUPS.values() for model in group]
    assert len(models) == len(set(models))
    assert all({*layout.required, *layout.columns} <= {*FIELDS} for layout in CLAIMS.values())
