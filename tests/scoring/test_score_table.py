"""Scores stored in columns are returned unchanged."""

from __future__ import annotations

from summeter.scoring import Score, ScoreTable


def score(doc_id: str, aspect: str, value: float | None, reason: str | None = None) -> Score:
    status = "ok" if value is not None else "skipped"
    return Score(
        doc_id=doc_id, system="s", judge="j", signature="j|v:1", model=None, aspect=aspect, value=value, n=2, missing=1,
        status=status, reason=reason,
    )  # fmt: skip


def test_round_trip_of_scores() -> None:
    given = [score("a", "x", 0.1), score("a", "y", None, "empty"), score("b", "x", 1 / 3), score("b", "y", 0.0)]
    table = ScoreTable.of(given)
    assert list(table) == given
    assert (len(table), table[-1], table[1:3]) == (4, given[-1], given[1:3])
    assert [one.model_dump_json() for one in table] == [one.model_dump_json() for one in given]
    assert {item: list(rows) for item, rows in table.by_item().items()} == {("a", "s"): [0, 1], ("b", "s"): [2, 3]}
