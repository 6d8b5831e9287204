"""Files of factuality benchmarks, made up in each layout: what becomes of them, what is counted, what is a fault."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from summeter.data.dataset import Dataset, load
from summeter.data.factuality import GROUPS, Benchmark, Files, read_benchmark
from summeter.data.presets.claims import CLAIMS
from summeter.records import InputError, UsageError

ROW: dict[str, Any] = {
    "dataset": "Alpha", "origin": "cnndm", "id": "7", "doc": "It rained all day.", "summary": "It rained.",
    "model_name": "BART", "label": 1, "cut": "val", "Toy_score": 0.5, "Toy_label": "",
}  # fmt: skip


def table(folder: Path, *rows: dict[str, Any]) -> Path:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (folder / "a.csv").write_text(out.getvalue(), encoding="utf-8")
    return folder / "a.csv"


def lines(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder / name


def read(folder: Path, *rows: dict[str, Any], **more: Any) -> Benchmark:
    return read_benchmark("aggrefact", Files([(None, table(folder, *rows))], **more))


def faults(layout: str, files: Files) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_benchmark(layout, files)
    return [line.split("/")[-1] for line in str(caught.value).splitlines()]


def test_aggrefact(tmp_path: Path) -> None:
    found = read(tmp_path, ROW, ROW | {"model_name": "PtGen", "summary": "It snowed.", "label": "0", "cut": "test",
                                       "Toy_score": ""})  # fmt: skip
    first, second = found.data.summaries
    assert (first.system, first.category, second.category) == ("BART", "SOTA", "OLD")
    assert first.extra == {"dataset": "Alpha", "origin": "cnndm", "model": "BART", "id": "7", "cut": "val"}
    assert len(found.data.documents) == 1
    assert [one.value for one in found.data.judgments("human.raw")] == [1.0, 0.0]
    assert [(one.judge, one.value) for one in found.released["Toy"]] == [("Toy", 0.5)]
    assert found.tally.scores == {"Toy": 1}
    assert found.tally.lines()[0] == "2 rows (1 test, 1 val)"


def test_everything_odd_is_kept_and_counted(tmp_path: Path) -> None:
    found = read(
        tmp_path, ROW, ROW, ROW | {"label": 0}, ROW | {"dataset": "Beta"}, ROW | {"label": "", "summary": "Rain."},
        ROW | {"summary": ""}, ROW | {"model_name": "LEAD3", "summary": "It did."},
    )  # fmt: skip
    tally = found.tally
    assert (tally.rows, tally.duplicates, tally.contradictions, tally.shared) == (7, 1, 1, 1)
    assert (tally.unlabelled, tally.empty, tally.ungrouped) == (1, 1, {"LEAD3": 1})
    assert len(found.data) == 7
    assert [one.system for one in found.data.summaries][:4] == ["BART", "BART#2", "BART#3", "BART#4"]
    assert found.data.summaries[-1].category is None
    assert len(list(found.data.judgments("human.raw"))) == 6


def said(data: Dataset) -> list[tuple[str, float | None]]:
    return [(row.target.document_id and data.documents[row.target.document_id].text, row.value)
            for row in data.judgments("human.raw")]  # fmt: skip


def test_the_preset_and_the_protocol_read_a_row_alike(tmp_path: Path) -> None:
    # Both labels are there, and not the same; the text is empty where the document stands beside it.
    story = {"summary": "It rained.", "text_id": "1", "source": "gutenberg", "factual": 1, "label": 0, "cut": "test"}
    path = lines(tmp_path, "test.jsonl", story | {"text": "", "document": "It rained all day."})
    measured = read_benchmark("story-summeval", Files([(None, path)])).data
    assert said(load(path, preset="story_summeval")) == said(measured) == [("It rained all day.", 1.0)]
    # A table writes the labels of a column with gaps as 1.0.
    rows = table(tmp_path, ROW | {"label": "1.0"}, ROW | {"label": "0.0", "summary": "It snowed."})
    measured = read_benchmark("aggrefact", Files([(None, rows)])).data
    assert (
        [value for _, value in said(load(rows, preset="aggrefact"))] == [value for _, value in said(measured)] == [1, 0]
    )


def test_faults_name_line_and_column(tmp_path: Path) -> None:
    path = table(tmp_path, ROW, ROW | {"label": "yes"}, ROW | {"cut": "train"}, ROW | {"origin": ""},
                 ROW | {"Toy_score": "high"}, ROW | {"Toy_score": "inf"}, ROW | {"cut": ""})  # fmt: skip
    assert faults("aggrefact", Files([(None, path)]))[:6] == [
        "a.csv:3: label: holds 'yes' where aggrefact has 1 (consistent) or 0",
        "a.csv:4: cut: holds 'train'; say val or test, or leave the row out",
        "a.csv:5: origin: is empty, and every row of aggrefact has it",
        "a.csv:6: Toy_score: holds 'high', which is no score; give a number, or leave it empty",
        "a.csv:7: Toy_score: is infinite; leave it empty where there is no score",
        "a.csv:8: cut: is empty; say val or test",
    ]


def test_a_score_that_is_no_double_is_a_fault(tmp_path: Path) -> None:
    data = lines(tmp_path, "big.jsonl", ROW | {"Toy_score": 10**400})
    assert faults("aggrefact", Files([(None, data)])) == [
        "big.jsonl:1: Toy_score: holds a number of many digits, which is no score; give a number, or leave it empty"
    ]


def test_a_column_of_scores_that_the_first_row_lacks_is_read_too(tmp_path: Path) -> None:
    first = {name: value for name, value in ROW.items() if name != "Toy_score"}
    data = lines(tmp_path, "late.jsonl", first, ROW | {"summary": "It poured."})
    found = read_benchmark("aggrefact", Files([(None, data)]))
    assert [one.value for one in found.released["Toy"]] == [0.5]
    assert found.tally.scores == {"Toy": 1}  # missing of one of two rows


def test_a_summarizer_called_as_a_second_summary_would_be(tmp_path: Path) -> None:
    found = read(tmp_path, ROW, ROW, ROW | {"model_name": "BART#2"}, ROW)
    assert [one.system for one in found.data.summaries] == ["BART", "BART#2", "BART#2#2", "BART#3"]


def test_folders_and_files_of_no_format(tmp_path: Path) -> None:
    (tmp_path / "a.dat").touch()
    assert faults("aggrefact", Files([(None, tmp_path)])) == [f"{tmp_path.name}: is a folder; name the files in it"]
    assert "rename it to what it is: .csv" in faults("aggrefact", Files([(None, tmp_path / "a.dat")]))[0]


def test_a_layout_that_is_not_there(tmp_path: Path) -> None:
    bare = {name: value for name, value in ROW.items() if name not in ("doc", "cut")}
    told = faults("aggrefact", Files([(None, table(tmp_path, bare))]))
    assert told[0].startswith(
        "a.csv:1: doc: is missing, and aggrefact has it; if another column holds it, say `columns: {doc"
    )
    assert "columns are: dataset, origin, id" in told[0]
    assert any("`data: {val: FILE, test: FILE}`" in line for line in told)
    renamed = {("text" if name == "doc" else name): value for name, value in ROW.items()}
    found = read(tmp_path, renamed, columns={"document": "text"})
    assert next(iter(found.data.documents.values())).text == ROW["doc"]
    with pytest.raises(UsageError, match="has no field 'documents'; did you mean 'document'"):
        read(tmp_path, ROW, columns={"documents": "text"})
    assert (
        "there is no such column of scores; did you mean 'Toy_score'?"
        in faults("aggrefact", Files([(None, table(tmp_path, ROW))], scores=["Tou_score"]))[0]
    )
    with pytest.raises(UsageError, match="unknown benchmark 'agrefact'; did you mean 'aggrefact'"):
        read_benchmark("agrefact", Files([]))
    with pytest.raises(UsageError, match="no file of summac is named"):
        read_benchmark("summac", Files([]))


def test_a_file_named_for_a_split_that_its_rows_are_not_of(tmp_path: Path) -> None:
    told = faults("aggrefact", Files([("test", table(tmp_path, ROW))]))
    assert told[0] == "a.csv:2: cut: holds 'val', but the file was named as that of test"
    with pytest.raises(UsageError, match="'train' is no split"):
        read_benchmark("aggrefact", Files([("train", table(tmp_path, ROW))]))


def test_llm_aggrefact_from_parquet(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"dataset": "Delta", "doc": "It rained.", "claim": claim, "label": label, "contamination_identifier": "x"}
            for claim, label in (("Rain.", 1), ("Snow.", 0))]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "test.parquet")
    found = read_benchmark("llm-aggrefact", Files([("test", tmp_path / "test.parquet")]))
    assert [one.extra for one in found.data.summaries] == [{"dataset": "Delta", "cut": "test"}] * 2
    assert len(set(found.data.systems)) == 2
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
    assert faults("summac", Files([("val", path)])) == ["val.jsonl:3: document: is null; give a text (it may be empty)"]
    two = lines(tmp_path, "two.jsonl", *map(json.loads, path.read_text("utf-8").splitlines()[:2]))
    found = read_benchmark("summac", Files([("val", two)]))
    assert [one.extra.get("id") for one in found.data.summaries] == ["c1", "5"]
    assert [one.extra["cut"] for one in found.data.summaries] == ["val", "val"]


def test_story_summeval_finds_its_stories(tmp_path: Path) -> None:
    rows = lines(
        tmp_path, "test.jsonl",
        {"summary": "A man rows.", "source": "Gutenberg", "text_id": 12, "system_id": "s1", "factual": True},
        {"summary": "A man flies.", "source": "Gutenberg", "text_id": 12, "system_id": "s2", "factual": False},
    )  # fmt: skip
    stories = lines(tmp_path, "stories.jsonl", {"source": "gutenberg", "text_id": "12", "text": "A man rowed home."})
    found = read_benchmark("story-summeval", Files([("test", rows)], [stories]))
    assert [one.value for one in found.data.judgments("human.raw")] == [1.0, 0.0]
    assert [one.text for one in found.data.documents.values()] == ["A man rowed home."]
    assert "`texts`" in faults("story-summeval", Files([("test", rows)]))[0]
    other = lines(tmp_path, "other.jsonl", {"source": "gutenberg", "text_id": "13", "text": "x"})
    assert faults("story-summeval", Files([("test", rows)], [other]))[0] == (
        "test.jsonl:1: text_id: 'gutenberg 12' is in none of the files of `texts`; add it there, or leave the row out"
    )
    twice = lines(tmp_path, "twice.jsonl", *({"source": "a", "text_id": "1", "text": text} for text in "xy"))
    assert "is there twice with two texts" in faults("story-summeval", Files([("test", rows)], [twice]))[0]
    lacking = lines(tmp_path, "lacking.jsonl", {"source": "a", "text": "x"})
    assert "text_id: is missing" in faults("story-summeval", Files([("test", rows)], [lacking]))[0]
    with pytest.raises(UsageError, match="has its documents in the rows"):
        read_benchmark("summac", Files([("test", rows)], [stories]))


def test_no_summarizer_is_in_two_groups() -> None:
    models = [model for group in GROUPS.values() for model in group]
    assert len(models) == len(set(models))
    assert all(set(layout.required) <= set(layout.columns) for layout in CLAIMS.values())
