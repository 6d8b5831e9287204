"""Human ratings in a second file: layouts, keys, scales, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from summeter.data.dataset import Dataset, load, save
from summeter.records import InputError, UsageError

ROWS = [
    {"id": number, "doc_id": f"d{number // 2}", "system": "ab"[number % 2], "document": f"{number // 2} days of rain.",
     "summary": f"Rain {number}."}
    for number in range(4)
]  # fmt: skip
WIDE = "id,annotator,coherence,fluency,note\n0,ann,4,5,good\n0,ben,2,,\n1,ann,3,1,\n9,ann,1,1,\n"
LONG = """doc_id\tsystem\tworker_id\tcriterion\trating
d0\ta\tann\tcoherence\t4
d0\ta\tann\tfluency\t5
d0\ta\tben\tcoherence\t2
d0\tb\tann\tcoherence\t3
d0\tb\tann\tfluency\t1
d7\ta\tann\tcoherence\t1
"""
VOTES = [  # of both files, by hand
    ("d0", "a", "coherence", "ann", 4.0), ("d0", "a", "coherence", "ben", 2.0), ("d0", "a", "fluency", "ann", 5.0),
    ("d0", "b", "coherence", "ann", 3.0), ("d0", "b", "fluency", "ann", 1.0),
]  # fmt: skip


def votes(data: Dataset) -> list[tuple[Any, ...]]:
    return [
        (each.target.document_id, each.target.system, each.aspect, each.judge, each.value)
        for each in data.judgments("human.raw")
    ]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_column_for_each_rater() -> None:
    rows = [{"id": 0, "ann": 4, "ben": 2, "note": "good"}, {"id": 1, "ann": 3, "ben": None, "note": ""}]
    data = load(ROWS).with_ratings(rows, on="id", rater="ann, ben", aspects="coherence")
    assert sorted(votes(data)) == [vote for vote in VOTES if vote[2] == "coherence"]
    assert data.ratings is not None
    assert tuple(data.ratings.scales[0]) == ("coherence", 2, 4, 2, 2, 3)
    assert data.ratings.unread == ("note",)
    with pytest.raises(InputError, match="2: ben: is a second rating of the coherence of this summary by 'ben'"):
        load(ROWS).with_ratings([rows[0], rows[0]], on="id", rater="ann,ben", aspects="coherence")
    with pytest.raises(InputError, match="1: ann: is a second rating of the coherence of this summary by 'ann'"):
        load(ROWS).with_ratings(rows[:1], on="id", rater="ann,ben,ann", aspects="coherence")
    with pytest.raises(UsageError, match="name the one aspect that they rated with aspects=ASPECT"):
        load(ROWS).with_ratings(rows, on="id", rater="ann,ben")
    with pytest.raises(UsageError, match="rater: ratings has no column 'bob'"):
        load(ROWS).with_ratings(rows, on="id", rater="ann,bob", aspects="coherence")


def test_wide_and_long_files_give_the_same_judgments(tmp_path: Path) -> None:
    data = load(ROWS)
    wide = data.with_ratings(written(tmp_path, "r.csv", WIDE), on="id")
    long = data.with_ratings(written(tmp_path, "r.tsv", LONG))
    assert sorted(votes(wide)) == sorted(votes(long)) == VOTES
    assert wide.hash == long.hash == data.hash
    assert {each.signature for each in wide.judgments("human.raw")} == {"human.ratings|v:1"}
    report, other = wide.ratings, long.ratings
    assert report is not None is not other
    assert (report.layout, report.key, report.rater, report.unread) == ("wide", ("id",), "annotator", ("note",))
    assert (other.layout, other.key, other.rater) == ("long", ("doc_id", "system"), "worker_id")
    # coherence: 4, 2, 3 by two raters of two summaries; fluency: 5, 1 by ann; the summaries 2 and 3 have no rating
    for each in (report, other):
        assert [tuple(scale) for scale in each.scales] == [("coherence", 2, 4, 2, 2, 3), ("fluency", 1, 5, 1, 2, 2)]
    assert (report.rows, report.unmatched, report.first_unmatched) == (4, 1, ("line 5 (id '9')",))
    assert (report.summaries, report.unrated, report.first_unrated) == (4, 2, ("id '2'", "id '3'"))
    assert other.first_unrated == ("doc_id 'd1', system 'a'", "doc_id 'd1', system 'b'")


def test_rows_with_other_names_and_without_raters() -> None:
    rows = [{"item": number, "Q1": number + 1, "Q2": None} for number in range(4)]
    data = load(ROWS, ratings=rows, on={"id": "item"}, aspects={"coherence": "Q1"})
    assert [vote[2:] for vote in votes(data)] == [("coherence", "people", number) for number in (1.0, 2.0, 3.0, 4.0)]
    long = [{"item": 0, "aspect": name, "value": 1} for name in ("Q1", "Q2")]
    assert votes(load(ROWS, ratings=long, on="id=item", aspects="fluency=Q2")) == [
        ("d0", "a", "fluency", "people", 1.0)
    ]


def test_ratings_join_the_judgments_of_the_data_and_replace_equal_votes(tmp_path: Path) -> None:
    human = {"ratings": {"coherence": {"ann": 1, "cleo": 5}}, "sentence_labels": [1]}
    data = load([ROWS[0] | {"human": human}, *ROWS[1:]], ratings=written(tmp_path, "r.csv", WIDE), on="id")
    save(data, tmp_path / "data")
    again = load(tmp_path / "data", ratings=tmp_path / "r.csv", on="id")
    for each in (data, again):
        assert sorted(votes(each), key=str) == sorted(
            [*VOTES, ("d0", "a", "coherence", "cleo", 5.0), ("d0", "a", "faithfulness", "people", 1.0)], key=str
        )


def test_columns_of_the_data_have_the_names_that_they_had_in_the_file(tmp_path: Path) -> None:
    rows = [{"item": row["id"], "article": row["document"], "summary": row["summary"]} for row in ROWS]
    mapping = {"doc_id": "item", "document": "article"}
    save(load([row | {"article": f"{row['article']} {row['item']}"} for row in rows], map=mapping), tmp_path / "data")
    for how in ({}, {"on": "item"}, {"on": "doc_id=item"}):
        data = load(tmp_path / "data").with_ratings([{"item": 3, "coherence": 1}], **how)
        assert votes(data) == [("3", "system", "coherence", "people", 1.0)]


def test_data_frames() -> None:
    frame = pytest.importorskip("pandas").DataFrame({"id": [0.0, 1.0, None], "coherence": [4, None, None]})
    data = load(ROWS, ratings=frame, on="id")
    assert votes(data) == [("d0", "a", "coherence", "people", 4.0)]
    assert data.ratings is not None
    assert (data.ratings.rows, data.ratings.unmatched) == (3, 1)


def test_numbers_of_tables_match_texts(tmp_path: Path) -> None:
    path = written(tmp_path, "r.jsonl", json.dumps({"id": 1.0, "quality": 2.5}))
    assert votes(load(ROWS).with_ratings(path, on="id")) == [("d0", "b", "quality", "people", 2.5)]


@pytest.mark.parametrize(
    ("text", "aspects"),
    [
        ("id,quality,score\n0,4,1\n", {"quality": 4, "score": 1}),
        ("id,question,score\n0,1,4\n0,2,5\n", {"1": 4, "2": 5}),
        ("id,question,points\n0,clear?,4\n0,true?,5\n", {"clear?": 4, "true?": 5}),
        (",id,summary_id,faithfulness,why\n0,0,7,1,because\n", {"faithfulness": 1}),
        ("id,question\n0,4\n", {"question": 4}),
    ],
)
def test_the_layout_is_recognised_by_names_and_contents(tmp_path: Path, text: str, aspects: dict[str, float]) -> None:
    data = load(ROWS).with_ratings(written(tmp_path, "r.csv", text), on="id")
    assert {each.aspect: each.value for each in data.judgments("human.raw")} == aspects


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("id,coherence\n0,good\n1,4\n2,5\n", [(2, "coherence")]),
        ("id,coherence\n0,4\n0,4\n", [(3, "coherence")]),
        ("id,rater,aspect,score\n0,ann,x,4\n0,ann,y,4\n0,ann,x,3\n1,,x,1\n", [(5, "rater"), (4, "score")]),
        ("id,aspect,score\n0,x,4\n1,,3\n2,,\n", [(3, "score")]),
        ("id,coherence\n8,4\n9,4\n", [(None, None)]),
        ("id,coherence\n", [(None, None)]),
    ],
)
def test_faults_are_named_by_line_and_column(tmp_path: Path, text: str, faults: list[Any]) -> None:
    path = written(tmp_path, "r.csv", text)
    with pytest.raises(InputError) as caught:
        load(ROWS).with_ratings(path, on="id")
    assert [(each.file, each.line, each.field) for each in caught.value.faults] == [
        (str(path), *fault) for fault in sorted(faults, key=lambda fault: fault[0] or 0)
    ]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, ["doc_id", "on='id'", "id, annotator"]),
        ({"on": "name"}, ["'name'", "id, annotator", "on='id'"]),
        ({"on": "item=id"}, ["no column 'item'", "system", "on='id'"]),
        ({"on": "id=note"}, ["name other columns with on='id'"]),
        ({"on": "id", "rater": "anotator"}, ["did you mean annotator?"]),
        ({"on": "id", "aspects": "coherenc"}, ["did you mean coherence?"]),
        ({"on": "id", "aspects": "coherence,coherence"}, ["aspects"]),
    ],
)
def test_wrong_columns_are_refused_with_those_there_are(tmp_path: Path, how: dict[str, str], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        load(ROWS).with_ratings(written(tmp_path, "r.csv", WIDE), **how)
    assert [word for word in words if word not in str(caught.value)] == []


def test_columns_that_may_be_the_same_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="may be the raters: worker, user_id; give rater=worker, or"):
        load(ROWS).with_ratings([{"id": 0, "worker": 1, "user_id": 2, "coherence": 1}], on="id")
    with pytest.raises(UsageError, match="no column with the values"):
        load(ROWS).with_ratings([{"id": 0, "aspect": "coherence", "points": "many"}], on="id")


@pytest.mark.parametrize(
    ("columns", "noted"),
    [(("alice", "bob"), True), (("Annotator A", "B2"), True), (("fluency", "bob"), False), (("alice",), False)],
)
def test_columns_that_may_be_raters_are_noted(columns: tuple[str, ...], noted: bool) -> None:
    rows = [{"id": 0, **dict.fromkeys(columns, 4)}]
    report = load(ROWS, ratings=rows, on="id").ratings
    assert report is not None
    assert report.maybe_raters == (columns if noted else ())
    assert ("note: " in str(report)) is noted


def test_a_key_of_several_summaries_is_refused() -> None:
    with pytest.raises(UsageError, match=r"ratings:1: doc_id 'd0' belongs to 2 summaries"):
        load(ROWS).with_ratings([{"doc_id": "d0", "coherence": 1}])


def test_columns_of_ratings_without_ratings_are_refused() -> None:
    with pytest.raises(UsageError, match="rater has no effect without ratings"):
        load(ROWS, rater="annotator")
