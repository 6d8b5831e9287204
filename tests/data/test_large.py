"""Data that exceed the memory limit equal the same data in memory."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import pytest
from data.files import put
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from summeter.data import folder as folders
from summeter.data import streaming
from summeter.data.dataset import Dataset, load, save
from summeter.data.on_demand import StoredSummaries
from summeter.data.subsets import sample
from summeter.records import FactOrigin, Fault, InputError, UsageError

ROWS = [
    {
        "doc_id": f"{document:03}", "system": system,
        "document": f"It rained on day {document}. We stayed. Nobody came.",
        "summary": f"It rained on {document}, says {system}. We stayed.", "domain": ["news", "mail"][document % 2],
        "key_facts": [f"It rained on day {document}.", "They stayed."], "note": document,
        "human": {
            "ratings": {"faithfulness": {"ann": document % 5, "bea": 2}},
            "sentence_labels": [1, {"ann": 0, "bea": 1}],
            "key_fact_labels": [1, 0],
        },
    }
    for document in range(7) for system in ("ash", "birch", "cedar")
]  # fmt: skip


def assert_same(large: Dataset, small: Dataset) -> None:
    assert isinstance(large.summaries, StoredSummaries)
    assert list(large.items()) == list(small.items())
    assert list(large.documents) == list(small.documents)
    assert list(large.summaries) == list(small.summaries)
    for name in ("hash", "systems", "domains", "splitters", "document_count"):
        assert getattr(large, name) == getattr(small, name), name
    assert len(large) == len(small)
    assert large.document_domains() == small.document_domains()
    assert set(large.judgment_sets) == set(small.judgment_sets)
    order = list(small.documents)
    for name in small.judgment_sets:
        in_order = sorted(small.judgments(name), key=lambda judgment: order.index(judgment.target.document_id))
        assert sorted(large.iter_judgments(name), key=lambda each: order.index(each.target.document_id)) == in_order
    assert dict(large.fact_origins) == dict(small.fact_origins)


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the memory limit to 0."""
    monkeypatch.setattr(folders, "LARGE", 0)


def test_large_folder_round_trip(tmp_path: Path, limit: None) -> None:
    small = load(ROWS)
    origins = {"001": tuple(FactOrigin(proposed=fact, origin="document") for fact in small.documents["001"].key_facts)}
    small = small.with_key_facts({}, origins)
    save(small, tmp_path / "data")
    large = load(tmp_path / "data")
    assert_same(large, small)
    save(large, tmp_path / "again")
    assert_same(load(tmp_path / "again"), small)
    assert large.card.hash == small.hash
    assert large.summaries[-1] == small.summaries[-1]
    assert large.summaries[2:4] == tuple(small.summaries[2:4])
    assert large.key_facts("002") == small.key_facts("002")


def test_derived_datasets_do_not_depend_on_size(tmp_path: Path, limit: None) -> None:
    small = load(ROWS)
    save(small, tmp_path / "data")
    large = load(tmp_path / "data")
    assert_same(large.with_documents(["005", "002"]), small.with_documents(["002", "005"]))
    assert_same(large.with_card(name="x"), small.with_card(name="x"))
    assert_same(large.with_key_facts({"001": ["Rain."]}), small.with_key_facts({"001": ["Rain."]}))
    assert large.with_key_facts({"001": ["Rain."]}).hash != large.hash
    votes = small.judgments("human.raw")[:5]
    assert_same(large.with_judgments("more", votes), small.with_judgments("more", votes))
    assert sample(large, 3).hash == sample(small, 3).hash
    for data in (small, large):
        with pytest.raises(UsageError, match="there is no document '7'"):
            data.with_documents(["7"])
        with pytest.raises(KeyError):
            data.documents["7"]


def test_the_order_of_rows_does_not_matter_as_long_as_documents_come_in_order(tmp_path: Path, limit: None) -> None:
    interleaved = sorted(ROWS, key=lambda row: row["system"])
    apart = load(interleaved)
    assert apart.hash == load(ROWS).hash
    assert [own.document_id for own in apart.summaries] == [row["doc_id"] for row in ROWS]
    save(apart, tmp_path / "data")
    assert_same(load(tmp_path / "data"), load(ROWS))


def test_file_changed_after_opening_is_an_error(tmp_path: Path, limit: None) -> None:
    save(load(ROWS), tmp_path / "data")
    large = load(tmp_path / "data")
    summaries = tmp_path / "data" / "summaries.jsonl"
    with summaries.open("r+b") as file:
        file.truncate(300)
    with pytest.raises(InputError, match=r"summaries.jsonl: the line at byte .* the file was changed"):
        list(large.items())
    with pytest.raises(InputError, match=r"summaries.jsonl: was changed after import"):
        load(tmp_path / "data")


def test_empty_texts_are_warned_about_in_large_data_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(load([*ROWS, {"doc_id": "e", "document": "A text.", "summary": ""}]), tmp_path / "data")
    small = load(tmp_path / "data").warnings
    monkeypatch.setattr(folders, "LARGE", 0)
    assert load(tmp_path / "data").warnings == small
    assert [(Path(fault.file).name, fault.line) for fault in small] == [("summaries.jsonl", 22)]


# ---- flat files ----

_texts = st.sampled_from(["It rained. We stayed.", "Snow fell.", "Nothing happened here, they say. Really."])
_spans = st.lists(
    st.fixed_dictionaries({"start": st.integers(0, 3), "end": st.integers(4, 8), "label": st.just("entity"),
                           "annotator": st.sampled_from(["ann", "bea", "cem", "?1"])}), max_size=2,
)  # fmt: skip
_human = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"ratings": st.fixed_dictionaries({"fluency": st.sampled_from([3, {"ann": 1}, {"dan": 2}])})}
    ),
    st.fixed_dictionaries({"spans": _spans}),
    st.fixed_dictionaries({"spans": _spans, "overall": st.just({"faithfulness": {"bea": 1}})}),
)
_rows = st.lists(
    st.fixed_dictionaries(
        {"document": _texts, "summary": _texts, "system": st.sampled_from(["a", "b"]), "human": _human},
        optional={"extra": st.integers(0, 2), "references": st.just(["It rained."])},
    ), min_size=1, max_size=9,
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=_rows, size=st.integers(1, 3))
@example(rows=[{"document": text, "summary": "Rain.", "system": "a"} for text in "abba"], size=1)
def test_streamed_rows_equal_loaded_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], size: int
) -> None:
    source = put(tmp_path_factory.mktemp("any") / "rows.jsonl", rows)
    small = load(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folders, "LARGE", 0)
        patch.setattr(streaming, "DOCUMENTS_AT_ONCE", size)
        large = load(source)
    assert_same(large, small)
    assert sorted(map(str, large.warnings)) == sorted(map(str, small.warnings))


BAD: list[list[dict[str, Any]]] = [
    [{"document": "It rained."}],
    [{"doc_id": "000", "document": "Another text.", "summary": "Rain."}],
    [{"doc_id": ["d"], "document": "A text.", "summary": "Rain."}, {"document": 3, "summary": "x"}],
    [{**ROWS[4], "system": "new", "human": {"sentence_labels": [1, 2, 3]}}],
    [{**ROWS[4], "system": "new", "human": {"key_fact_labels": [1]}}],
]


@pytest.mark.parametrize("extra", BAD)
@pytest.mark.parametrize("on_fault", ["error", "skip", "keep-valid"])
def test_faults_do_not_depend_on_size(
    tmp_path: Path, extra: list[dict[str, Any]], on_fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [put(tmp_path / "a.jsonl", ROWS), put(tmp_path / "b.jsonl", extra)]
    with files[1].open("a", encoding="utf-8") as file:
        file.write("{nonsense\n")

    def outcome() -> tuple[tuple[Fault, ...], Any, Any]:
        try:
            data = load(files, on_fault=on_fault)
        except InputError as error:
            return error.faults, None, None
        return (), sorted(map(repr, data.dropped)), list(data.items())

    expected = outcome()
    monkeypatch.setattr(folders, "LARGE", 0)
    monkeypatch.setattr(streaming, "DOCUMENTS_AT_ONCE", 2)
    assert outcome() == expected
    assert bool(expected[0]) == (on_fault == "error")
    assert {Path(fault.file).name for fault in expected[0]} <= {"b.jsonl"}


def test_tables_stdin_and_mapped_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = [{"id": row["doc_id"], "src": row["document"], "summary": row["summary"], "system": row["system"]}
            for row in sorted(ROWS, key=lambda row: row["system"])]  # fmt: skip
    columns = {"document": "src", "doc_id": "id"}
    small = load(flat, map=columns)
    monkeypatch.setattr(folders, "LARGE", 0)
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(flat[0]))
        table.writeheader()
        table.writerows(flat)
    assert_same(load(tmp_path / "rows.csv", map=columns), small)
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(put(tmp_path / "rows.jsonl", flat).read_bytes()))
    assert_same(load(packed, map=columns), small)
    with (tmp_path / "rows.jsonl").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert_same(load("-", map=columns), small)


def test_temporary_folder_is_removed_with_the_data(
    tmp_path: Path, limit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = put(tmp_path / "rows.jsonl", ROWS)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    votes = load(source).with_documents(["001"]).iter_judgments("human.raw")
    assert len(list(votes)) == len(load(ROWS[3:6]).judgments("human.raw"))
    del votes
    assert not list((tmp_path / "temporary").iterdir())
    with pytest.raises(InputError):
        load([source, put(tmp_path / "bad.jsonl", [{"document": "x"}])])
    assert not list((tmp_path / "temporary").iterdir())


def test_missing_files(tmp_path: Path) -> None:
    for source in (tmp_path / "*.jsonl", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]):
        with pytest.raises(InputError, match=r"jsonl: no such file"):
            load(source)
