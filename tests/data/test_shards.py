"""A dataset in shards says what the same data say in memory, whatever the order of rows; what is damaged is named."""

from __future__ import annotations

import csv
import gzip
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from summeter import data as datasets
from summeter.data import dataset as dataset_module
from summeter.data import folder as folder_module
from summeter.data.dataset import Dataset, ShardedDataset, load, save
from summeter.data.sharding import shard
from summeter.records import FactOrigin, Fault, InputError, Judgment, UsageError

ROWS = [
    {
        "doc_id": f"d{document}", "system": system, "document": f"It rained on day {document}. We stayed. Nobody came.",
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


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def grouped(judgments: Iterator[Judgment] | Sequence[Judgment], order: Sequence[str]) -> list[Judgment]:
    """Judgments in the order of documents."""
    return sorted(judgments, key=lambda judgment: order.index(judgment.target.document_id))


def assert_same(sharded: ShardedDataset, loaded: Dataset) -> None:
    assert list(sharded.items()) == list(loaded.items())
    assert len(sharded) == len(loaded)
    assert sharded.document_count == len(loaded.documents)
    assert set(sharded.systems) == set(loaded.systems)
    assert sharded.domains == loaded.domains
    assert sharded.splitters == loaded.splitters
    assert sharded.judgment_sets == tuple(sorted(loaded.judgment_sets))
    order = list(loaded.documents)
    for name in loaded.judgment_sets:
        assert list(sharded.iter_judgments(name)) == grouped(loaded.judgments(name), order)
    assert sharded.fact_origins == loaded.fact_origins
    in_order = Dataset(loaded.documents, [each for _, own in loaded.items() for each in own], {}, loaded.card)
    assert sharded.hash == in_order.hash == sharded.whole.hash


@pytest.mark.parametrize("size", [1, 3, 100])
def test_shards_hold_what_is_loaded(tmp_path: Path, size: int) -> None:
    source = write(tmp_path / "rows.jsonl", ROWS)
    sharded = shard(source, tmp_path / "out", documents_per_shard=size)
    loaded = load(source)
    assert_same(sharded, loaded)
    assert sharded.hash == loaded.hash
    again = load(tmp_path / "out")
    assert isinstance(again, ShardedDataset)
    assert_same(again, loaded)
    assert len(list((tmp_path / "out").glob("shard-*"))) == -(-7 // size)
    assert not list((tmp_path / "out").glob(".*"))


def test_rows_of_a_document_may_stand_apart(tmp_path: Path) -> None:
    rows = sorted(ROWS, key=lambda row: row["system"])
    source = write(tmp_path / "rows.jsonl", rows)
    sharded = shard(source, tmp_path / "out", documents_per_shard=2)
    assert_same(sharded, load(source))
    assert not list((tmp_path / "out").glob(".*"))


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
def test_any_rows_in_shards_are_those_loaded(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], size: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    given = [{name: value for name, value in row.items() if value is not None} for row in rows]
    loaded = load(given)
    sharded = shard(given, folder / "out", documents_per_shard=size)
    assert_same(sharded, loaded)
    assert sorted(map(str, sharded.warnings)) == sorted(map(str, loaded.warnings))


BAD: list[list[dict[str, Any]]] = [
    [{"document": "It rained."}],
    [{"doc_id": "d0", "document": "Another text.", "summary": "Rain."}],
    [{"doc_id": ["d"], "document": "A text.", "summary": "Rain."}, {"document": 3, "summary": "x"}],
    [{**ROWS[4], "system": "new", "human": {"sentence_labels": [1, 2, 3]}}],
    [{**ROWS[4], "system": "new", "human": {"key_fact_labels": [1]}}],
]


@pytest.mark.parametrize("extra", BAD)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("on_fault", ["error", "skip", "keep-valid"])
def test_faults_are_those_of_loading(tmp_path: Path, extra: list[dict[str, Any]], first: bool, on_fault: Any) -> None:
    rows = [*extra, *ROWS] if first and "Another" not in str(extra) else [*ROWS, *extra]
    source = write(tmp_path / "rows.jsonl", rows)

    def outcome(read: Any) -> tuple[tuple[Fault, ...], Any, Any]:
        try:
            data = read()
        except InputError as error:
            return error.faults, None, None
        return (), sorted(map(repr, data.dropped)), list(data.items())

    expected = outcome(lambda: load(source, on_fault=on_fault))
    assert outcome(lambda: shard(source, tmp_path / "out", documents_per_shard=2, on_fault=on_fault)) == expected
    if on_fault == "error":
        assert expected[0]
        assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_lines_that_are_no_json_are_named_once_though_rows_stand_apart(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.jsonl", sorted(ROWS, key=lambda row: row["system"]))
    with source.open("a", encoding="utf-8") as file:
        file.write("{nonsense\n")
    with pytest.raises(InputError) as error:
        shard(source, tmp_path / "out", documents_per_shard=2)
    assert [(fault.file, fault.line) for fault in error.value.faults] == [(str(source), 22)]
    kept = shard(source, tmp_path / "out", documents_per_shard=2, on_fault="skip")
    assert [(each.line, each.dropped) for each in kept.dropped] == [(22, "row")]
    assert load(tmp_path / "out").dropped == kept.dropped


def test_tables_stdin_and_mapped_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = [{"id": row["doc_id"], "src": row["document"], "summary": row["summary"], "system": row["system"]}
            for row in sorted(ROWS, key=lambda row: row["system"])]  # fmt: skip
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(flat[0]))
        table.writeheader()
        table.writerows(flat)
    columns = {"document": "src", "doc_id": "id"}
    assert_same(shard(tmp_path / "rows.csv", tmp_path / "csv", documents_per_shard=2, map=columns),
                load(tmp_path / "rows.csv", map=columns))  # fmt: skip
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(write(tmp_path / "rows.jsonl", flat).read_bytes()))
    loaded = load(packed, map=columns)
    assert_same(shard(packed, tmp_path / "gz", documents_per_shard=2, map=columns), loaded)
    with (tmp_path / "rows.jsonl").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert_same(shard("-", tmp_path / "stdin", documents_per_shard=2, map=columns), loaded)


def test_a_dataset_keeps_all_that_belongs_to_it(tmp_path: Path) -> None:
    data = load(ROWS[::-1])
    origins = {"d1": tuple(FactOrigin(proposed=fact, origin="document") for fact in data.documents["d1"].key_facts)}
    data = data.with_key_facts({}, origins).with_judgments("human.adjudicated", data.judgments("human.raw")[::2])
    save(data, tmp_path / "folder")
    for source in (data, tmp_path / "folder"):
        sharded = shard(source, tmp_path / "out", documents_per_shard=2, force=True, card={"version": "7"})
        assert_same(sharded, load(tmp_path / "folder"))
        assert (sharded.card.version, sharded.card.name) == ("7", "rows")
    again = shard(load(tmp_path / "out"), tmp_path / "more", documents_per_shard=5)
    assert_same(again, load(tmp_path / "folder"))
    assert [each.documents for each in again.source.manifest.shards] == [5, 2]


def test_reading_holds_a_shard_or_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded = shard(ROWS, tmp_path / "out", documents_per_shard=1)
    read: list[str] = []
    own = ShardedDataset._part
    monkeypatch.setattr(
        ShardedDataset, "_part", lambda self, part, only=None: read.append(part.name) or own(self, part, only)
    )
    items = sharded.items()
    next(items)
    assert len(read) <= 2
    next(items)
    assert len(read) <= 3
    items.close()


def test_of_some_documents_no_others_are_made_into_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded, wanted = shard(ROWS, tmp_path / "out", documents_per_shard=2), {"d1", "d4"}
    same = load(ROWS).with_documents(wanted)
    monkeypatch.setattr(folder_module, "read", None)
    some = sharded.with_documents(wanted)
    assert (dict(some.documents), some.summaries) == (dict(same.documents), same.summaries)
    assert len(some.documents["d1"].key_facts) == 2


def test_what_is_too_large_for_memory_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded = shard(ROWS, tmp_path / "out", documents_per_shard=2)
    monkeypatch.setattr(dataset_module, "WHOLE", 20)
    with pytest.raises(UsageError, match="21 summaries in 4 shards, and this needs all of them in memory"):
        _ = sharded.documents
    assert [len(part) for part in sharded.parts()] == [6, 6, 6, 3]
    drawn = datasets.sample(sharded, 3)
    assert (len(drawn.documents), len(drawn)) == (3, 9)
    assert drawn.hash == datasets.sample(load(ROWS), 3).hash


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        shard(ROWS, tmp_path / "out", documents_per_shard=2)
        return tmp_path / "out"

    def test_a_missing_shard(self, folder: Path) -> None:
        shutil.rmtree(folder / "shard-00002")
        items = load(folder).items()
        assert [next(items)[0].id for _ in range(4)] == ["d0", "d1", "d2", "d3"]
        with pytest.raises(InputError, match=r"shard-00002: shard 3 of 4 is missing"):
            next(items)

    @pytest.mark.parametrize("name", ["documents.jsonl", "summaries.jsonl", "judgments/human.raw.jsonl"])
    def test_a_changed_file(self, folder: Path, name: str) -> None:
        path = folder / "shard-00001" / name
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("d2", "x2", 1), encoding="utf-8")
        with pytest.raises(InputError, match=r"shard-00001: .* was changed after import; it belongs to shard 2 of 4"):
            list(load(folder).items())

    def test_a_shard_sealed_again(self, folder: Path) -> None:
        save(load(ROWS[:3]), folder / "shard-00001", force=True)
        with pytest.raises(InputError, match=r"shard-00001.dataset.json: shard 2 of 4 was changed after the data were"):
            list(load(folder).items())

    @pytest.mark.parametrize("text", ["", "{}", "nonsense", '{"layout": "summeter-shards/1"}'])
    def test_a_damaged_list(self, folder: Path, text: str) -> None:
        (folder / "shards.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"shards.json.*damaged"):
            load(folder)

    def test_no_name_leads_out_of_the_folder(self, folder: Path) -> None:
        path = folder / "shards.json"
        path.write_text(path.read_text(encoding="utf-8").replace("shard-00001", "../out2"), encoding="utf-8")
        with pytest.raises(InputError, match=r"shards.json: shards.1.name: damaged"):
            load(folder)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="exists and is not a dataset in shards"):
        shard(ROWS, target, force=True)
    shard(ROWS, tmp_path / "other")
    with pytest.raises(UsageError, match="already holds a dataset in shards"):
        shard(ROWS[:3], tmp_path / "other")
    assert len(shard(ROWS[:3], tmp_path / "other", force=True)) == 3
    with pytest.raises(UsageError, match="documents_per_shard"):
        shard(ROWS, tmp_path / "none", documents_per_shard=0)


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    import tracemalloc

    def peak(documents: int) -> int:
        rng = random.Random(7)
        rows = [{"doc_id": f"d{number % documents}", "system": f"s{number // documents}", "document": "x",
                 "summary": "".join(rng.choices("abcdef ", k=2000))} for number in range(3 * documents)]  # fmt: skip
        for row in rows:
            row["document"] = f"Text {row['doc_id']} " * 300
        source = write(tmp_path / f"{documents}.jsonl", rows)
        del rows
        tracemalloc.start()
        try:
            shard(source, tmp_path / f"out{documents}", documents_per_shard=10)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few = peak(20)
    assert peak(200) < few + 1_500_000  # the rows are 3 MB; up to 64 spilled shards have a buffer each
