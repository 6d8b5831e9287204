"""Rows and studies: the contract of names, and no number without its reason."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from summeter.cli import meta_options
from summeter.meta import matrix
from summeter.meta.gold import Tie
from summeter.meta.results import CONTRACT, Row, Study, join, pair_name, payload, show_p

ROW = Row(study="correlation", judge="rts", aspect="coherence", statistic="pearson", value=0.5, n=9)
NONE = Row(
    study="correlation", judge="mcq", aspect="coherence", statistic="pearson", value=None, status="undefined",
    reason="constant input", n=9, missing=2,
)  # fmt: skip


def test_every_column_of_the_contract_comes_first_and_in_order() -> None:
    assert tuple(ROW.model_dump())[: len(CONTRACT)] == CONTRACT


def test_a_row_without_a_value_says_why() -> None:
    with pytest.raises(ValidationError, match="must say why"):
        Row(study="s", statistic="pearson", value=None, status="undefined", n=0)
    with pytest.raises(ValidationError, match="status 'ok'"):
        Row(study="s", statistic="pearson", value=None, reason="constant", n=0)
    with pytest.raises(ValidationError, match="status 'undefined'"):
        Row(study="s", statistic="pearson", value=0.5, status="undefined", reason="no", n=0)


def test_the_table_shows_what_is_missing_and_why() -> None:
    text = str(Study("correlation", [ROW, NONE], ["a note"]))
    assert text.splitlines() == [
        "judge  aspect     statistic  value  n  missing  why",
        "rts    coherence  pearson    0.500  9  0",
        "mcq    coherence  pearson    -      9  2        constant input",
        "",
        "a note",
    ]


def test_a_study_without_rows_says_so() -> None:
    assert str(Study("correlation", [])) == "correlation: no rows"


def test_rows_are_found_by_their_fields() -> None:
    study = Study("correlation", [ROW, NONE])
    assert study.one(judge="rts") is ROW
    assert [row.judge for row in study.where(value=None)] == ["mcq"]
    with pytest.raises(LookupError, match="2 rows"):
        study.one(aspect="coherence")


def test_studies_join_with_each_note_once() -> None:
    both = join("all", [Study("a", [ROW], ["x"]), Study("b", [NONE], ["x", "y"])])
    assert (both.name, len(both), both.notes) == ("all", 2, ("x", "y"))
    assert (Study("a", [ROW]) + Study("a", [NONE])).rows == (ROW, NONE)


def test_json_holds_plain_values_and_nulls() -> None:
    rows = json.loads(json.dumps(payload(Study("correlation", [NONE]))))["rows"]
    assert rows[0]["value"] is None
    assert rows[0]["reason"] == "constant input"
    assert rows[0]["pair"] is None


def test_pandas_has_a_column_a_field() -> None:
    frame = Study("correlation", [ROW, NONE]).to_pandas()
    assert list(frame["judge"]) == ["rts", "mcq"]


def test_small_formats() -> None:
    assert [show_p(0.5), show_p(0.001), show_p(0.0009)] == ["0.500", "0.001", "<.001"]
    assert pair_name("M8", "M9") == "M8-M9"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(meta_options.Level, matrix.Level), (meta_options.Average, matrix.Average), (meta_options.Items, matrix.Items),
     (meta_options.Tie, Tie)],
)  # fmt: skip
def test_the_command_line_offers_what_the_studies_take(ours: type, theirs: type) -> None:
    assert list(ours) == list(theirs)  # type: ignore[call-overload]
