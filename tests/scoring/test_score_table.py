"""Scores held as numbers come back as they were."""

from __future__ import annotations

from summeter.scoring import Score, ScoreTable


def score(doc_id: str, aspect: str, value: float | None, reason: str | None = None) -> Score:
    status = "ok" if value is not None else "skipped"
    return Score(
        doc_id=doc_id, system="s", judge="j", signature="j|v:1", model=None, aspect=aspect, value=value, n=2, missing=1,
        status=status, reason=reason,
    )  # fmt: skip


def test_scores_come_back_in_order_and_whole() -> None:
    given = [score("a", "x", 0.1), score("a", "y", None, "empty"), score("b", "x", 1 / 3), score("b", "y", 0.0)]
    held = ScoreTable.of(given)
    assert list(held) == given
    assert (len(held), held[-1], held[1:3]) == (4, given[-1], given[1:3])
    assert [one.model_dump_json() for one in held] == [one.model_dump_json() for one in given]
    assert {item: list(places) for item, places in held.by_item().items()} == {("a", "s"): [0, 1], ("b", "s"): [2, 3]}
