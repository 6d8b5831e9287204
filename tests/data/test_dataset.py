"""Loading of flat rows with all faults, dataset folders, judgment sets, and round trips."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from data.flat_view import flat_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from summeter.data.dataset import Dataset, load, save
from summeter.data.presets import PRESETS
from summeter.meta.sample import Context
from summeter.records import Document, InputError, Judgment, KeyFacts, Summary, UsageError, digest
from summeter.text.split import SPLITTER

ONE = {"doc_id": "d1", "system": "s1", "document": "It rained. We stayed.", "summary": "It rained."}
SHARED = ("dialsummeval", "dialsummeval_amt", "finesure_samples", "qags_cnndm", "qags_xsum", "realsumm", "shen2023")


def faults(rows: list[dict[str, Any]], **how: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(rows, **how)
    assert caught.value.exit_code == 2
    return [str(one) for one in caught.value.faults]


def faulty(rows: list[dict[str, Any]], **how: Any) -> list[tuple[str, int | None, str | None]]:
    """Return file, line and field of each fault."""
    with pytest.raises(InputError) as caught:
        load(rows, **how)
    return [one[:3] for one in caught.value.faults]


def warnings(data: Dataset) -> list[str]:
    return [str(one) for one in data.warnings]


class TestRows:
    def test_minimal_row(self) -> None:
        data = load([{"document": "It rained. We stayed.", "summary": "It rained."}])
        (summary,) = data.summaries
        # the id is the hash of the text as canonical JSON: '"It rained. We stayed."'
        known = hashlib.sha256(b'"It rained. We stayed."').hexdigest()[:12]
        assert (summary.document_id, summary.system) == (f"doc-{known}", "system")
        assert summary.splitter == SPLITTER
        assert data.documents[summary.document_id].sentence_texts == ("It rained.", "We stayed.")
        assert data.warnings == ()
        assert repr(data) == "Dataset('rows': 1 document, 1 summary, judgment sets: none)"

    def test_every_field(self) -> None:
        full = ONE | {"category": "small", "references": ["r1", "r2"], "key_facts": ["k"], "domain": "news",
                      "split": "test", "note": {"deep": [1, None]}}  # fmt: skip
        data = load([full])
        assert data.documents["d1"].references == ("r1", "r2")
        assert data.documents["d1"].domain == "news"
        assert data.summaries[0].category == "small"
        assert data.summaries[0].extra == {"note": {"deep": [1, None]}}
        assert data.key_facts("d1") == KeyFacts.of(["k"], "given")
        assert (data.systems, data.domains, len(data)) == (("s1",), ("news",), 1)

    def test_empty_texts_are_valid_and_warned_about(self) -> None:
        data = load([ONE | {"summary": " "}, ONE | {"doc_id": "d2", "document": ""}])
        assert data.summaries[0].sentences == ()
        assert warnings(data) == [
            "rows:1: summary: is empty, which is valid; it is judged `skipped`",
            "rows:2: document: is empty, which is valid; it is judged `skipped`",
        ]

    @pytest.mark.parametrize(
        ("summary", "sentences", "located"),
        [
            ("He saw  Dr. No. Left.", ["He saw Dr.", "No. Left."], ("He saw  Dr.", "No. Left.")),
            # "\u0301" alone is found letter by letter, before any reading that would join it to the blank
            ("a \u0301", ["a", "\u0301"], ("a", "\u0301")),
            ("cost 69 -lrb- 65 .", ["cost 69 -lr", "b- 65 ."], ("cost 69 -lr", "b- 65 .")),
        ],
    )
    def test_given_sentences_are_located(self, summary: str, sentences: list[str], located: tuple[str, ...]) -> None:
        (found,) = load([ONE | {"summary": summary, "sentences": sentences}]).summaries
        assert (found.splitter, found.sentence_texts) == ("given", located)

    def test_names_languages_and_references(self) -> None:
        data = load([ONE | {"doc_id": 7, "system": 3, "reference": "b", "references": ["a", "b"]}], language="de")
        (summary,) = data.summaries
        assert (summary.document_id, summary.system, summary.splitter) == ("7", "3", f"{SPLITTER}:de")
        assert data.documents["7"].references == ("a", "b")

    def test_fields_of_a_document_may_be_in_any_row(self) -> None:
        rows = [ONE, ONE | {"system": "s2", "reference": "r", "key_facts": ["k"]},
                ONE | {"system": "s3", "domain": None}]  # fmt: skip
        document = load(rows).documents["d1"]
        assert (document.references, document.key_facts, document.domain) == (("r",), ("k",), None)

    def test_items_are_grouped_by_document(self) -> None:
        rows = [ONE, ONE | {"doc_id": "d2", "document": "x"}, ONE | {"system": "s2"}]
        grouped = [(document.id, [one.system for one in each]) for document, each in load(rows).items()]
        assert grouped == [("d1", ["s1", "s2"]), ("d2", ["s1"])]


class TestFaults:
    def test_missing_columns(self) -> None:
        assert faulty([ONE, {"source": "a", "output": "b"}, {"x": 1}]) == [
            ("rows", line, field) for line in (2, 3) for field in ("document", "summary")
        ]
        assert "map={'document': 'source'}" in faults([ONE, {"source": "a", "output": "b"}])[0]

    def test_repeated_summaries_are_numbered_with_one_warning(self) -> None:
        data = load([ONE, ONE | {"system": "s2"}, ONE, ONE | {"system": "s1#2"}, ONE])
        assert [one.system for one in data.summaries] == ["s1", "s2", "s1#2", "s1#2#2", "s1#3"]
        ((_, line, field, message),) = data.warnings
        assert (line, field, "'s1#2' (and 2 more rows)" in message) == (3, "system", True)

    def test_different_references_are_combined(self) -> None:
        rows = [ONE | {"reference": "x"}, ONE | {"system": "s2", "reference": "y"},
                ONE | {"system": "s3", "references": ["y", "z"]}, ONE | {"system": "s4"}]  # fmt: skip
        data = load(rows)
        assert data.documents["d1"].references == ("x", "y", "z")
        assert [(each.line, each.field) for each in data.warnings] == [(2, "references")]

    @pytest.mark.parametrize(
        ("field", "one", "two"),
        [("document", "x", "y"), ("key_facts", ["x"], ["y"]), ("domain", "x", "y"),
         ("split", "x", "y")],
    )  # fmt: skip
    def test_rows_of_a_document_must_agree(self, field: str, one: Any, two: Any) -> None:
        rows = [ONE | {field: one}, ONE | {"system": "s2"} | ({} if field != "document" else {"document": "x"}),
                ONE | {"system": "s3", field: two}]  # fmt: skip
        assert faulty(rows)[-1] == ("rows", 3, field)

    def test_no_rows(self) -> None:
        assert faults([]) == ["rows: contains no rows; give one row per summary"]

    def test_all_faults_in_file_order(self) -> None:
        rows = [ONE | {"human": {"ratings": {"x": "y"}}}, ONE | {"system": 2.5, "summary": None}, ONE | {"domain": []}]
        assert [one[1:] for one in faulty(rows)] == [
            (1, "human.ratings.x"), (2, "summary"), (2, "system"), (3, "domain"),
        ]  # fmt: skip

    def test_misspelt_column_causes_a_warning(self) -> None:
        data = load([ONE | {"refernce": "x"}])
        assert [(each.line, each.field) for each in data.warnings] == [(None, "refernce")]
        assert "map={'reference': 'refernce'}" in data.warnings[0].message
        assert data.summaries[0].extra == {"refernce": "x"}


ARTICLE = {"article": "It rained.", "output": "Rain.", "model": "m"}


class TestMap:
    def test_swaps(self) -> None:
        row = {"document": "x", "summary": "gold", "output": "mine"}
        data = load([row], map={"summary": "output", "reference": "summary"})
        assert (data.summaries[0].text, data.documents[data.summaries[0].document_id].references) == ("mine", ("gold",))

    def test_renames_a_clashing_column(self) -> None:
        data = load([{"document": "x", "summary": "gold", "output": "mine"}],
                    map={"summary": "output", "extra.gold": "summary"})  # fmt: skip
        assert data.summaries[0].extra == {"gold": "gold"}

    def test_name_clash_is_a_fault(self) -> None:
        clash = faulty([{"document": "x", "summary": "gold", "output": "mine"}], map={"summary": "output"})
        assert clash == [("rows", 1, "summary")]

    def test_missing_column(self) -> None:
        (fault,) = faults([ONE], map={"category": "sistem"})
        assert "map={'category': 'sistem'}: there is no column 'sistem' (did you mean system?)" in fault

    @pytest.mark.parametrize(
        ("how", "words"),
        [
            ({"map": {"docment": "article"}}, "did you mean document"),
            ({"map": {"document": "a", "summary": "a"}}, "is mapped to two fields"),
            ({"preset": "finsure"}, "did you mean finesure"),
            ({"on_fault": "ignore"}, "rules are: error, skip, keep-"),
            ({"map": {"category": "x"}, "format": "jsonl"}, "leave out format"),
        ],
    )
    def test_wrong_options(self, how: dict[str, Any], words: str) -> None:
        with pytest.raises(UsageError, match=words):
            load([ARTICLE], **how)


class TestTables:
    def test_csv_cells(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.csv"
        with path.open("w", encoding="utf-8", newline="") as handle:
            csv.writer(handle).writerows([
                ["doc_id", "document", "summary", "key_facts", "human", "domain", "note"],
                ["1", "It rained.", "Rain. Yes.", '["a", "b"]', '{"sentence_labels": [1, 0]}', "", ""],
                ["2", "It rained.", "", "", "", "news", "n"],
            ])  # fmt: skip
        data = load(path)
        assert data.card.name == "mine"
        assert data.documents["1"].key_facts == ("a", "b")
        assert data.documents["1"].domain is None
        assert [one.extra for one in data.summaries] == [{"note": ""}, {"note": "n"}]
        assert [one.label for one in data.judgments("human.raw")] == [1, 0]
        assert warnings(data) == [f"{path}:3: summary: is empty, which is valid; it is judged `skipped`"]

    def test_parquet(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        rows = [ONE | {"key_facts": ["k"], "doc_id": 1}, ONE | {"system": "s2", "doc_id": 1, "key_facts": None}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
        assert load(tmp_path / "a.parquet").hash == load(rows).hash


class TestFolder:
    def rows(self) -> list[dict[str, Any]]:
        return [ONE | {"key_facts": ["k", "l"], "human": {"key_fact_labels": [1, {"a": 0}], "ratings": {"x": 3}}},
                ONE | {"system": "s2", "summary": "", "note": None,
                       "human": {"crowd_ratings": {"x": {"w": 1}}}}]  # fmt: skip

    def test_files(self, tmp_path: Path) -> None:
        (tmp_path / "set").mkdir()  # an empty folder is used
        card = save(load(self.rows()).with_card(name="mine", licence="MIT"), tmp_path / "set")
        files = {str(one.relative_to(tmp_path / "set")) for one in (tmp_path / "set").rglob("*") if one.is_file()}
        assert files == {"dataset.json", "documents.jsonl", "summaries.jsonl", "keyfacts.jsonl",
                         "judgments/human.raw.jsonl", "judgments/crowd.raw.jsonl"}  # fmt: skip
        assert card.counts == {"documents": 1, "summaries": 2, "keyfacts": 1, "judgments/human.raw": 3,
                               "judgments/crowd.raw": 1}  # fmt: skip
        assert json.loads((tmp_path / "set" / "dataset.json").read_text())["licence"] == "MIT"
        assert [one.name for one in tmp_path.iterdir()] == ["set"]

    def test_round_trip(self, tmp_path: Path) -> None:
        data = load(self.rows())
        card = save(data, tmp_path / "set")
        again = load(tmp_path / "set")
        assert again.card == card
        assert again.hash == data.hash
        assert again.summaries == data.summaries
        assert again.documents == data.documents
        assert set(again.judgment_sets) == {"human.raw", "crowd.raw"}
        for name in again.judgment_sets:
            assert again.judgments(name) == data.judgments(name)
        path = tmp_path / "set" / "summaries.jsonl"
        assert warnings(again) == [f"{path}:2: text: is empty, which is valid; it is judged `skipped`"]

    def test_equal_data_give_equal_files(self, tmp_path: Path) -> None:
        cards = [save(load(self.rows()), tmp_path / name) for name in "ab"]
        assert cards[0] == cards[1]

    def test_hash_covers_documents_and_summaries(self) -> None:
        rows = self.rows()
        base = load(rows).hash
        assert load([{key: row[key] for key in reversed(row)} for row in rows]).hash == base
        assert load([row | {"human": {}} for row in rows]).hash == base
        assert load([row | {"summary": row["summary"] + "."} for row in rows]).hash != base
        assert load(rows[::-1]).hash != base

    def test_other_folders_are_never_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "set").mkdir()
        (tmp_path / "set" / "thesis.tex").write_text("years of work")
        for force in (False, True):
            with pytest.raises(UsageError, match="exists and is not a dataset"):
                save(load([ONE]), tmp_path / "set", force=force)
        assert (tmp_path / "set" / "thesis.tex").read_text() == "years of work"

    def test_dataset_is_replaced_with_force_only(self, tmp_path: Path) -> None:
        save(load(self.rows()), tmp_path / "set")
        with pytest.raises(UsageError, match=r"already contains a dataset.*force=True"):
            save(load([ONE]), tmp_path / "set")
        save(load([ONE]), tmp_path / "set", force=True)
        assert len(load(tmp_path / "set")) == 1

    def test_a_failure_writes_nothing(self, tmp_path: Path) -> None:
        data = load([ONE])
        broken = Dataset(data.documents, data.summaries, {"human.raw": lambda: iter([1 / 0])}, data.card)
        with pytest.raises(ZeroDivisionError):
            save(broken, tmp_path / "set")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "name", ["documents.jsonl", "summaries.jsonl", "keyfacts.jsonl", "judgments/human.raw.jsonl"]
    )
    def test_changed_file_is_an_error(self, tmp_path: Path, name: str) -> None:
        folder = tmp_path / "set"
        save(load(self.rows()), folder)
        path = folder / name
        path.write_text(path.read_text() + "\n")
        with pytest.raises(InputError, match=f"{name}: was changed after import.*summeter data import .* --force"):
            load(folder)
        save(load(folder, verify=False), folder, force=True)
        assert len(load(folder)) == 2

    def test_files_added_and_removed(self, tmp_path: Path) -> None:
        folder = tmp_path / "set"
        save(load(self.rows()), folder)
        (folder / "judgments" / "mine.jsonl").write_text("")
        (folder / "summaries.jsonl").unlink()
        with pytest.raises(InputError) as caught:
            load(folder)
        assert [one.message.split(";")[0] for one in caught.value.faults] == [
            "was removed after import", "was added after import",
        ]  # fmt: skip
        with pytest.raises(InputError, match=r"summaries.jsonl: is missing; import the data again"):
            load(folder, verify=False)

    @pytest.mark.parametrize(
        ("name", "record", "line", "field"),
        [
            ("documents.jsonl", '{"text": ""}', 2, "id"),
            ("documents.jsonl", '{"id": "d1", "text": "x"}', 2, "id"),
            ("documents.jsonl", "no", 2, None),
            ("summaries.jsonl", '{"document_id": "d9", "system": "s", "text": "", "splitter": "x"}', 3, "document_id"),
            ("summaries.jsonl", '{"document_id": "d1", "system": "s1", "text": "", "splitter": "x"}', 3, "system"),
            ("keyfacts.jsonl", '{"document_id": "d9", "id": "x", "origin": "given", "facts": []}', None, "document_id"),
            ("judgments/human.raw.jsonl",
             '{"target": {"document_id": "d9", "system": "s"}, "aspect": "", "judge": "", "signature": "", "label": 1}',
             4, "target"),
            ("judgments/human.raw.jsonl",
             '{"target": {"document_id": "d1", "system": "s"}, "aspect": "", "judge": "", "signature": "", "label": 2}',
             4, "label"),
        ],
    )  # fmt: skip
    def test_bad_records(self, tmp_path: Path, name: str, record: str, line: int | None, field: str | None) -> None:
        folder = tmp_path / "set"
        save(load(self.rows()), folder)
        with (folder / name).open("a") as handle:
            handle.write(record + "\n")
        with pytest.raises(InputError) as caught:
            load(folder, verify=False).judgments("human.raw")
        assert [one[:3] for one in caught.value.faults] == [(str(folder / name), line, field)]

    def test_folders_without_valid_data(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"is a folder without dataset.json and without flat files"):
            load(tmp_path)
        with pytest.raises(UsageError, match="is a folder; leave out preset"):
            load(tmp_path, preset="aggrefact")
        (tmp_path / "dataset.json").write_text('{"name": 3}')
        with pytest.raises(InputError, match=r"dataset.json: name: is the number 3"):
            load(tmp_path)


class TestJudgmentSets:
    def test_unknown(self) -> None:
        data = load([ONE | {"human": {"ratings": {"x": 1}}}])
        with pytest.raises(
            UsageError, match=r"no judgment set 'human.row' \(did you mean human.raw\?\); it has: human"
        ):
            data.judgments("human.row")
        with pytest.raises(UsageError, match="no judgment set 'x'; it has none"):
            load([ONE]).judgments("x")

    def test_added(self, tmp_path: Path) -> None:
        data = load([ONE | {"human": {"ratings": {"x": 1}}}])
        judgments = [one.model_copy(update={"judge": "team"}) for one in data.judgments("human.raw")]
        more = data.with_judgments("human.adjudicated", judgments)
        assert data.judgment_sets == ("human.raw",)
        save(more, tmp_path / "set")
        assert load(tmp_path / "set").judgments("human.adjudicated")[0].judge == "team"

    def test_names_and_targets_are_checked(self) -> None:
        data = load([ONE | {"human": {"ratings": {"x": 1}}}])
        with pytest.raises(UsageError, match=r"'../x' is not a valid name of a judgment set"):
            data.with_judgments("../x", [])
        (one,) = data.judgments("human.raw")
        target = one.target.model_copy(update={"system": "other"})
        stray: Judgment = one.model_copy(update={"target": target})
        with pytest.raises(UsageError, match="which is not in the dataset"):
            data.with_judgments("mine", [stray])
        with pytest.raises(UsageError, match="unknown field 'license'"):
            data.with_card(license="MIT")


# ------------------------------------------------------------------------------------------------ round trips
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAME = st.text(st.sampled_from("ab1é日🙂-_ "), min_size=1, max_size=6).filter(str.strip)
SENTENCE = st.text(st.sampled_from("abc.!é日🙂\u0301 "), min_size=1, max_size=10).filter(lambda one: one == one.strip())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
SCORE = st.none() | st.integers(-9, 9) | st.floats(-5, 5)


def cells(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values | st.dictionaries(NAME, values, min_size=1, max_size=3)


@st.composite
def blocks(draw: st.DrawFn, sentences: int, facts: int, length: int) -> dict[str, Any]:
    block: dict[str, Any] = {}
    for name in ("ratings", "crowd_ratings", "overall"):
        if scores := draw(st.dictionaries(NAME, cells(SCORE), max_size=2)):
            block[name] = scores
    label = st.sampled_from([0, 1, None])
    if sentences and draw(st.booleans()):
        block["sentence_labels"] = draw(st.lists(cells(label), min_size=sentences, max_size=sentences))
    if facts and draw(st.booleans()):
        block["key_fact_labels"] = draw(st.lists(cells(label), min_size=facts, max_size=facts))
    if facts and draw(st.booleans()):
        places = st.lists(st.integers(0, sentences - 1), unique=True) if sentences else st.just([])
        block["alignment"] = draw(st.lists(cells(st.none() | places), min_size=facts, max_size=facts))
    if length and draw(st.booleans()):
        start = draw(st.integers(0, length - 1))
        end = draw(st.integers(start + 1, length))
        label = draw(st.sampled_from([0, 1, "x"]))
        block["span_annotators"] = [draw(NAME)]
        block["spans"] = [{"annotator": block["span_annotators"][0], "start": start, "end": end, "label": label}]
    return block


@st.composite
def datasets(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for doc_id in draw(st.lists(NAME, min_size=1, max_size=3, unique=True)):
        facts = draw(st.lists(SENTENCE, max_size=2))
        shared = {"doc_id": doc_id, "document": draw(TEXT)}
        optional = {"reference": draw(st.none() | TEXT), "key_facts": facts or None, "domain": draw(st.none() | TEXT)}
        shared |= {name: value for name, value in optional.items() if value is not None}
        for system in draw(st.lists(NAME, min_size=1, max_size=2, unique=True)):
            row = shared | {"system": system} | {f"x_{key}": value for key, value in draw(
                st.dictionaries(TEXT, JSON, max_size=2)).items()}  # fmt: skip
            given_sentences = draw(st.none() | st.lists(SENTENCE, max_size=3))
            row["summary"] = draw(TEXT) if given_sentences is None else " ".join(given_sentences)
            if given_sentences is not None:
                row["sentences"] = given_sentences
            count = len(load([row]).summaries[0].sentences)
            if block := draw(blocks(count, len(facts), len(row["summary"]))):
                row["human"] = block
            rows.append(row)
    return draw(st.permutations(rows))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(rows=datasets())
def test_flat_folder_flat(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trip")
    (folder / "a.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    data = load(folder / "a.jsonl")
    save(data, folder / "set")
    again = load(folder / "set")
    assert list(flat_rows(again)) == list(flat_rows(data)) == in_order(rows)
    assert again.hash == data.hash
    assert all(again.judgments(name) == data.judgments(name) for name in data.judgment_sets)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows in the order of their documents."""
    ids = [row.get("doc_id") or f"doc-{digest(row['document'], 12)}" for row in rows]
    first = {doc_id: place for place, doc_id in reversed(list(enumerate(ids)))}
    return [row for _, row in sorted(zip(ids, rows, strict=True), key=lambda pair: first[pair[0]])]


@given(TEXT)
def test_ids_of_documents_without_one(text: str) -> None:
    (document,) = load([{"document": text, "summary": "x"}]).documents.values()
    assert isinstance(document, Document)
    assert document.id == f"doc-{digest(text, 12)}"


@pytest.mark.shared
@pytest.mark.parametrize("name", SHARED)
def test_real_data_round_trip(shared: Path, tmp_path: Path, name: str) -> None:
    path = shared / "data" / f"{name}.jsonl.gz"
    save(load(path), tmp_path / "set")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = in_order(list(map(json.loads, lines)))
    for before, row in zip(rows, flat_rows(load(tmp_path / "set")), strict=True):
        row.get("human", {}).pop("span_annotators", None)  # which the rows leave to be inferred
        assert row == before


@pytest.mark.shared
def test_real_votes_are_complete(shared: Path) -> None:
    data = load(shared / "data" / "realsumm.jsonl.gz")
    labels = [one for one in data.iter_judgments("human.raw") if one.target.unit == "key_fact"]
    units = {(one.target.item, one.target.index) for one in labels}
    assert len(units) == 26_400  # as its README says


# ------------------------------------------------------------------------------------------- no row breaks it
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["It rained.", "It rained. We stayed.", 10**400, -1, 0, 1, "EntE", "no error"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
FIELD = st.sampled_from(["doc_id", "system", "category", "document", "summary", "reference", "references", "key_facts",
                         "sentences", "domain", "split", "x"])  # fmt: skip
BLOCK = st.dictionaries(
    st.sampled_from(["ratings", "crowd_ratings", "overall", "sentence_labels", "sentence_error_types",
                     "key_fact_labels", "alignment", "spans", "x"]),
    ANY | st.lists(st.dictionaries(st.sampled_from(["annotator", "start", "end", "label"]), ANY), max_size=2),
    max_size=3,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.dictionaries(FIELD, ANY, max_size=4), min_size=1, max_size=3), human=BLOCK,
       preset=st.none() | st.sampled_from(["unisumeval", "summeval", "frank", "qags"]))  # fmt: skip
def test_arbitrary_rows_are_loaded_or_refused(rows: list[dict[str, Any]], human: Any, preset: str | None) -> None:
    base = ONE | {"key_facts": ["k"], "sentences": ["It rained."]}
    for row in rows:
        for tried in (row, base | row, base | row | {"human": human}):
            with contextlib.suppress(InputError):
                assert len(list(flat_rows(load([tried], preset=preset)))) == 1


WHOLE: dict[str, Any] = {
    "completeness": 1,
    "dataset": "x",
    "raw_annotations": {"a": {"factuality_labels": [0], "factuality_types": ["NoE"]}},
    "model": "m",
    "transcript": "t",
    "sentences": ["It rained."],
    "key_facts": ["k"],
    "fact_verification_label": [0],
    "keyfact_label": [1],
    "fact_verification_error_type": ["no error"],
    "expert_annotations": [{"x": 1}],
    "turker_annotations": [],
    "summary_sentences": ["It rained."],
    "summary_sentences_annotations": [{"a": ["NoE"]}],
    "label": 1,
    "id": "i",
    "summary": "It rained.",
    "document": "d",
    "claim": "It rained.",
    "doc": "d",
    "article": "d",
}
VOTES = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.dictionaries(st.sampled_from(["factuality_labels", "factuality_types", "key_fact_labels"]), ANY, min_size=1),
    min_size=1,
    max_size=2,
)
ANSWERS = st.sampled_from(["sentence", "responses", "worker_id", "response", "coherence"])
CELL = ANY | VOTES | st.lists(st.dictionaries(ANSWERS, ANY), max_size=2)


@settings(max_examples=20, deadline=None)
@given(row=st.dictionaries(st.sampled_from(sorted(WHOLE)), CELL, max_size=8), votes=VOTES)
def test_presets_accept_or_refuse_arbitrary_rows(row: dict[str, Any], votes: Any) -> None:
    for name in PRESETS:
        for tried in (row, WHOLE | row, WHOLE | {"raw_annotations": votes}):
            with contextlib.suppress(InputError):
                load([tried], preset=name)


class TestExtraFieldsOfDocuments:
    PLAIN = Document(id="d1", text="It rained.")

    def test_round_trip_in_folder_and_flat_rows(self, tmp_path: Path) -> None:
        known = self.PLAIN.model_copy(update={"extra": {"length": "short", "words": 2}})
        assert len({known, known.model_copy()}) == 1
        data = load([{"doc_id": "d1", "document": "It rained.", "summary": "Rain."}])
        data = Dataset({"d1": known}, data.summaries, {}, data.card)
        save(data, tmp_path / "data")
        again = load(tmp_path / "data")
        assert again.documents["d1"].extra == {"length": "short", "words": 2}
        assert again.hash == data.hash
        assert next(flat_rows(again)) == {
            "doc_id": "d1",
            "system": "system",
            "document": "It rained.",
            "summary": "Rain.",
            "length": "short",
            "words": 2,
        }

        save(Dataset({"d1": self.PLAIN}, (), {}, data.card), tmp_path / "alone")
        assert load(tmp_path / "alone").documents == {"d1": self.PLAIN}

    def test_studies_can_group_by_extra_fields(self) -> None:
        known = self.PLAIN.model_copy(update={"extra": {"length": "short"}})
        summary = Summary(document_id="d1", system="a", text="Rain.", splitter="given")
        assert Context.of([known], [summary]).lookup("length")("d1", "a") == "short"

    def test_empty_extra_is_not_serialized(self) -> None:
        assert self.PLAIN.model_dump_json(exclude_none=True) == (
            '{"id":"d1","text":"It rained.","sentences":[],"references":[],"key_facts":[]}'
        )
        assert "extra" not in self.PLAIN.model_dump()
