"""Rows and studies: columns of the contract, and reasons of missing values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from summeter import meta
from summeter.meta.results import Row, Study, payload, pivot, read_study
from summeter.records import InputError

ROW = Row(study="correlation", judge="rts", aspect="coherence", statistic="pearson", value=0.5, n=9)
NONE = Row(
    study="correlation", judge="mcq", aspect="coherence", statistic="pearson", value=None, status="undefined",
    reason="constant input", n=9, missing=2,
)  # fmt: skip


def test_a_row_without_a_value_says_why() -> None:
    with pytest.raises(ValidationError, match="needs a `reason`"):
        Row(study="s", statistic="pearson", value=None, status="undefined", n=0)
    with pytest.raises(ValidationError, match="status 'ok'"):
        Row(study="s", statistic="pearson", value=None, reason="constant", n=0)
    with pytest.raises(ValidationError, match="status 'undefined'"):
        Row(study="s", statistic="pearson", value=0.5, status="undefined", reason="no", n=0)


def test_the_table_shows_missing_counts_and_reasons() -> None:
    text = str(Study("correlation", [ROW, NONE], ["a note"]))
    assert text.splitlines() == [
        "judge  aspect     statistic  value  n  missing  why",
        "rts    coherence  pearson    0.500  9        0",
        "mcq    coherence  pearson        -  9        2  constant input",
        "",
        "a note",
    ]


def about(judge: str, signature: str, **more: Any) -> Row:
    return Row(study="correlation", judge=judge, signature=signature, statistic="pearson", value=0.5, n=9, **more)


def test_two_settings_of_one_judge_are_distinguished() -> None:
    rows = [about("rouge", "rouge|v:1"), about("rouge", "rouge|stemmer:yes|v:1"), about("rts", "rts|v:1")]
    names = [line.split()[0] for line in str(Study("correlation", rows)).splitlines()[1:4]]
    assert names == ["rouge", "rouge[stemmer=yes]", "rts"]


def test_rows_with_different_gold_are_distinguished() -> None:
    golds = [f"human.ratings|merge:each|annotator:{name}|v:1" for name in ("ann", "bob")]
    table = Study("correlation", [about("rts", "rts|v:1", gold_signature=gold) for gold in golds]).table()
    place = table.heads.index("people")
    assert [row[place] for row in table.rows] == ["people[annotator=ann]", "people[annotator=bob]"]


def test_rows_become_a_table_of_chosen_and_labelled_lines_and_columns() -> None:
    rows = [
        ROW.model_copy(update={"system": system, "domain": domain, "value": value, "n": n})
        for system, domain, value, n in [("a", "news", 0.1, 1), ("b", "law", 0.2, 2), ("a", "law", 0.3, 3),
                                         ("c", "news", 0.4, 4), ("a", "talk", 0.5, 5)]
    ]  # fmt: skip
    table = pivot(
        rows,
        line=lambda row: row.system,
        column="domain",
        show=lambda row: "none" if row is None else str(row.value),
        lines={"b": ("B", "second"), "a": ("A", "first"), "d": ("D", "unknown")},
        columns={"law": "Law", "news": "News"},
        heads=["system", "place"],
        after={"n": lambda here: sum(row.n for row in here)},
    )
    assert table.heads == ["system", "place", "Law", "News", "n"]
    assert table.cells() == [
        ["B", "second", "0.2", "none", "2"],
        ["A", "first", "0.3", "0.1", "9"],
        ["D", "unknown", "none", "none", "0"],
    ]


def printed(**more: Any) -> dict[str, Any]:
    row = {"study": "correlation", "judge": "rts", "statistic": "pearson", "value": 0.5, "n": 9}
    return {"schema": "summeter/1", "rows": [row], **more}


def test_json_output_can_be_read_again(tmp_path: Path) -> None:
    rows = [
        Row(study="correlation", statistic="pearson", value=0.5, n=9, details={"group": "é", "k": 3}),
        Row(study="correlation", statistic="pearson", value=None, status="undefined", reason="constant", n=0),
    ]
    study = Study("mine", rows, ["one"])
    file = tmp_path / "study.json"
    file.write_text(json.dumps(payload(study)), encoding="utf-8-sig")  # some shells write a byte-order mark
    again = read_study(file)
    assert (again.name, again.rows, again.notes) == (study.name, study.rows, study.notes)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "f.json: is a list; give a mapping (name: value); give the output of `summeter meta ... --json`"),
        ({"rows": []}, "f.json: schema: is missing; give the output of `summeter meta ... --json`"),
        ({**printed(), "schema": "summeter/9"}, "f.json: schema: is 'summeter/9'"),
        ({"schema": "summeter/1"}, "f.json: rows: is missing"),
        (printed(rows={}), "f.json: rows: is an object; give a list"),
        (printed(study=3), "f.json: study: is the number 3; give a string"),
        (printed(notes="one"), "f.json: notes: is a string; give a list"),
        (printed(rows=[3]), "f.json: rows.0: is the number 3"),
        (printed(rows=[{**printed()["rows"][0], "n": "many"}]), "f.json: rows.0.n: is 'many'"),
        (printed(rows=[{**printed()["rows"][0], "vlaue": 1}]), "f.json: rows.0.vlaue: is not known"),
        (
            printed(rows=[{**printed()["rows"][0], "value": None}]),
            "f.json: rows.0: a row of correlation has the value",
        ),
    ],
)
def test_invalid_files_are_refused_by_field(data: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        Study.from_payload(data, "f.json")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"judge  value", "is not JSON"),
        (b'{"schema": "summeter/1", "rows": [NaN]}', "NaN"),
        (b"\xff\xfe{", "is not UTF-8"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_files_that_cannot_be_read(content: bytes | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_study(file)
    assert caught.value.faults[0].file == str(file)
    assert said in str(caught.value)


def test_public_names_are_studies_and_keywords() -> None:
    plumbing = {"Sample", "Grid", "Rater", "Units", "judge_input", "gold_input", "Selection"}
    assert not plumbing & set(dir(meta))
    assert {"correlate", "protocol", "self_consistency", "Study", "Row", "read_study"} <= set(meta.__all__)
    assert all(hasattr(meta, name) for name in meta.__all__)
