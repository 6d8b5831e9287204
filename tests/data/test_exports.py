"""Round trips of exports to JSON Lines, Parquet and hub folders."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from data.hub_cache import fill
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.cli.main import main
from summeter.data.dataset import Dataset, load, save
from summeter.data.exports import export, target_of, write_files, write_hub
from summeter.data.faults import Faults
from summeter.data.formats import format_of, read_rows
from summeter.records import InputError, Span, UsageError

pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow (extra `parquet`), which is not here")

DOCUMENT = "It rained for hours. We all stayed in."
ROWS: list[dict[str, Any]] = [
    {"doc_id": "d1", "system": "a", "document": DOCUMENT, "summary": "Rain. All in.", "domain": "5", "split": "dev",
     "references": ["One.", "Two."], "key_facts": ["It rained.", "Who stayed?"], "sentences": ["Rain.", "All in."],
     "human": {"sentence_labels": [{"ben": 1}, {"cleo": 0, "ben": None}], "ratings": {"fluency": {"?1": 4, "?2": 5}},
               "spans": [{"annotator": "ben", "start": 0, "end": 4, "label": "x"}]},
     "rank": 1, "note": "007", "score": 1, "tags": ["x"], "flag": True},
    {"doc_id": "d1", "system": "b", "document": DOCUMENT, "summary": "", "category": "small", "rank": 2, "note": None,
     "score": 1.5, "tags": {"k": [1, None]}},
    {"doc_id": "d2", "system": "a", "document": "雨が降った。", "summary": "雨。", "big": 2**70, "tags": "x",
     "score": -0.0},
]  # fmt: skip


def content(data: Dataset) -> tuple[Any, ...]:
    place = {doc_id: number for number, doc_id in enumerate(data.documents)}  # flat rows come out in this order
    judgments = {
        name: sorted(data.judgments(name), key=lambda judgment: place[judgment.target.document_id])
        for name in data.judgment_sets
    }
    return data.documents, data.summaries, {name: judged for name, judged in judgments.items() if judged}, data.hash


def extras_of(data: Dataset) -> str:
    """Return JSON, in which 1 differs from 1.0, and absent values from null."""
    return json.dumps([summary.extra for summary in data.summaries], sort_keys=True)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    data = load(ROWS)
    sets = {"human.merged": "people", "fenice": "fenice"}
    for name, judge in sets.items():
        (first, *_) = data.judgments("human.raw")
        change = {"judge": judge, "reason": "the majority", "evidence": (Span(of="document", start=0, end=2),)}
        failed = first.model_copy(update={**change, "status": "error", "value": None, "label": None})
        data = data.with_judgments(name, [first.model_copy(update={**change, "confidence": 0.25}), failed])
    files = [tmp_path / f"rows.{suffix}", tmp_path / f"rows.judgments.{suffix}"]
    assert export(data, files[0]) == 3
    again = load(files, preset="tables")
    assert content(again) == content(data)
    assert extras_of(again) == extras_of(data)
    texts = load(files[0])
    assert (texts.hash, texts.judgment_sets) == (data.hash, ())


def test_write_files(tmp_path: Path) -> None:
    data = load(ROWS)
    assert write_files(data, tmp_path / "parts", 1) == 2
    assert load(tmp_path / "parts").hash == data.hash
    assert content(load(tmp_path / "parts", preset="tables")) == content(data)


def test_export_without_judgments_removes_an_old_judgment_file(tmp_path: Path) -> None:
    export(load(ROWS), tmp_path / "rows.jsonl")
    export(load(ROWS[1:]), tmp_path / "rows.jsonl", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_column_types(tmp_path: Path) -> None:
    export(load(ROWS), tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types == {
        "doc_id": "string", "system": "string", "category": "string", "document": "string", "summary": "string",
        "references": "list<element: string>", "key_facts": "list<element: string>",
        "sentences": "list<element: string>", "domain": "string", "split": "string", "rank": "int64",
        "note": "string", "score": "string", "tags": "string", "flag": "bool", "big": "string",
    }  # fmt: skip
    judgments = pq.read_table(tmp_path / "rows.judgments.parquet").to_pylist()
    assert judgments[0] == {
        "judgment_set": "human.raw", "doc_id": "d1", "system": "a", "unit": "summary", "index": None,
        "aspect": "fluency", "judge": "?1", "signature": "human.ratings|v:1", "value": 4.0,
        "label": None, "error_type": None, "evidence": None, "reason": None, "status": "ok",
    }  # fmt: skip


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aé\u0000 \n\"'", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=15)
@given(st.lists(st.dictionaries(st.sampled_from(["x", "y"]), values), min_size=1, max_size=4))
def test_round_trip_of_arbitrary_columns(
    tmp_path_factory: pytest.TempPathFactory, extras: list[dict[str, Any]]
) -> None:
    rows = [{"doc_id": str(place), "document": "A.", "summary": "B.", **extra} for place, extra in enumerate(extras)]
    path = tmp_path_factory.mktemp("any") / "rows.parquet"
    export(load(rows), path)
    assert extras_of(load(path)) == json.dumps(extras, sort_keys=True)


def test_invalid_json_in_a_column_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    export(load(ROWS), path)
    table = pq.read_table(path)
    place = table.column_names.index("tags")
    broken = table.set_column(place, table.schema.field("tags"), [["{", "1", "2"]])
    pq.write_table(broken, path)
    with pytest.raises(InputError, match=r"rows.parquet:1: is not JSON: .*; export the data again"):
        load(path)


def test_nulls_of_foreign_parquet_files_are_kept(tmp_path: Path) -> None:
    import pyarrow as pa

    pq.write_table(pa.table({"document": ["A."], "summary": ["B."], "note": [None]}), tmp_path / "x.parquet")
    assert load(tmp_path / "x.parquet").summaries[0].extra == {"note": None}


def test_hub_folder_round_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="needs huggingface_hub (extra `hub`), which is not here")
    data = load(ROWS).with_card(name="rain", licence="CC-BY-4.0", citation="Rain (2024)", version="2")
    assert write_hub(data, tmp_path / "rain") == 3
    folder = tmp_path / "rain"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    tables = ("documents", "judgments", "summaries")
    files = [f"{table}/{split}.parquet" for table in tables for split in ("dev", "test")]
    files.remove("judgments/test.parquet")
    assert names == ["README.md", *files]
    head = yaml.safe_load((folder / "README.md").read_text("utf-8").split("---")[1])
    assert (head["pretty_name"], head["license"]) == ("rain", "cc-by-4.0")
    assert sorted(each["path"] for config in head["configs"] for each in config["data_files"]) == files
    text = (folder / "README.md").read_text("utf-8")
    for words in ("# rain 2", "| dev | 1 | 2 |", "| test | 1 | 1 |", "citation: Rain (2024)", data.hash):
        assert words in text

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    fill(tmp_path / "hub", "org/rain", {name: (folder / name).read_bytes() for name in names})
    addresses = [f"hf:org/rain#{table}/dev" for table in tables]
    again = load(addresses, preset="tables").with_card(name="rain")
    assert again.judgments("human.raw") == data.judgments("human.raw")
    assert [row.sentence_texts for row in again.summaries] == [row.sentence_texts for row in data.summaries[:2]]
    assert again.documents == data.with_documents(["d1"]).documents
    assert again.card.licence == "cc-by-4.0"
    local = load(folder, preset="tables")
    assert [row.text for row in local.summaries] == [row.text for row in data.summaries]


def test_invalid_hub_folders(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="exists and is not empty"):
        write_hub(load(ROWS), tmp_path / "mine")
    with pytest.raises(UsageError, match=r"'\.\./x' is not a valid name of a split on a hub"):
        write_hub(load([{**ROWS[2], "split": "../x"}]), tmp_path / "new")
    assert not (tmp_path / "new").exists()


SPANS: list[dict[str, Any]] = [
    {"doc_id": doc, "system": system, "document": f"{doc}. {DOCUMENT}", "summary": "It rained. We stayed.",
     "human": human}
    for doc, system, human in (
        ("d1", "s", {"spans": [{"annotator": "ben", "start": 0, "end": 2, "label": "x"}],
                     "ratings": {"fluency": {"cleo": 4}}}),
        ("d1", "t", {"spans": []}),
        ("d2", "s", {"spans": [{"annotator": "cleo", "start": 0, "end": 2, "label": 0}]}),
        ("d2", "t", {"spans": [], "ratings": {"fluency": {"cleo": 2, "ben": 1}}}),
        ("d3", "s", {"spans": [{"start": 3, "end": 9, "label": 0}]}),
        ("d3", "t", {"spans": []}),
    )
]  # fmt: skip


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
@pytest.mark.parametrize("kept", [["d1"], ["d2"], ["d1", "d2", "d3"]])
def test_table_rows_of_a_split(tmp_path: Path, name: str, kept: list[str]) -> None:
    part = load(SPANS).with_documents(kept)
    save(part, tmp_path / "part")
    rows, judgments = tmp_path / name, tmp_path / name.replace(".", ".judgments.")
    written = [str(rows), str(judgments), "--preset", "tables"]
    for command in (["export", str(tmp_path / "part"), "-o", str(rows)],
                    ["import", *written, "-o", str(tmp_path / "again")]):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["data", *command])
        assert ended.value.code == 0
    again = load(tmp_path / "again")
    assert again.judgment_sets == ("human.raw",)
    assert Counter(again.judgments("human.raw")) == Counter(part.judgments("human.raw"))


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_file_is_replaced_with_force_only(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, source = tmp_path / name, tmp_path / "source.jsonl"
    export(load(ROWS), source)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="force=True"):
        export(load(ROWS), path)
    for force, code, content_kept in ((), 2, True), (("--force",), 0, False):
        with pytest.raises(SystemExit) as ended:
            main(["data", "export", str(source), "-o", str(path), *force])
        assert (ended.value.code, path.read_bytes() == b"mine") == (code, content_kept)
    assert "--force" in capsys.readouterr().err
    assert load(path).hash == load(ROWS).hash


def test_kinds() -> None:
    names = {"a.pq": "parquet", "a.PARQUET": "parquet", "-": "jsonl", "a.csv.gz": "csv"}
    assert {name: target_of(name) for name in names} == names
    for path, named in (("a.csv", "jsonl"), ("a", None), ("a.json", None), ("a.parquet.gz", None), ("a.csv", "xml")):
        with pytest.raises(UsageError):
            target_of(path, named)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "xlsx"])
def test_tables_for_spreadsheets(tmp_path: Path, suffix: str) -> None:
    if suffix == "xlsx":
        pytest.importorskip("openpyxl", reason="needs openpyxl (extra `xlsx`), which is not here")
    formula = {"doc_id": "d3", "system": "=a", "document": "=1+1\ttab\nline", "summary": "- one,\n- two"}
    data = load([*ROWS, formula])
    assert export(data, tmp_path / f"rows.{suffix}") == 4
    again = load(tmp_path / f"rows.{suffix}")
    assert (again.documents, again.hash) == (data.documents, data.hash)
    assert json.loads(again.summaries[0].extra["tags"]) == ["x"]
    file = f"rows.judgments.{suffix}"
    judgments = read_rows(tmp_path / file, Faults(file), format_of(file))
    assert sum(1 for _ in judgments) == len(data.judgments("human.raw"))


def test_a_text_that_does_not_fit_a_cell_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="needs openpyxl (extra `xlsx`), which is not here")
    with pytest.raises(UsageError, match=r"document of row 1 has 40,000 characters"):
        export(load([{"document": "x" * 40_000, "summary": "x"}]), tmp_path / "rows.xlsx")
    assert not list(tmp_path.iterdir())
    # A number of a sheet has 15 digits.
    export(load([{"document": "x", "summary": "x", "tweet": 1_152_921_504_606_846_977}]), tmp_path / "rows.xlsx")
    assert next(iter(load(tmp_path / "rows.xlsx").summaries)).extra["tweet"] == "1152921504606846977"


@pytest.mark.shared
@pytest.mark.parametrize("name", ["finesure_samples", "qags_xsum", "dialsummeval"])
def test_real_data_round_trip(shared: Path, tmp_path: Path, name: str) -> None:
    data = load(shared / "data" / f"{name}.jsonl.gz")
    export(data, tmp_path / "rows.parquet")
    again = load([tmp_path / "rows.parquet", tmp_path / "rows.judgments.parquet"], preset="tables")
    assert content(again) == content(data)
