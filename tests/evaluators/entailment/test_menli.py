"""MENLI: hand-worked directions, formulas and references, and the combination with another evaluator in a run."""

from __future__ import annotations

from typing import Any

import pytest
from evaluators.networks import judge, table_nli

from summeter.evaluators.derived import MemberJudgments
from summeter.evaluators.entailment.menli import Menli, MenliCombined
from summeter.records import Document, Judgment, Target

REFERENCE, SUMMARY = "Ada sold the mill.", "The mill was sold."
FORTH, BACK = (0.7, 0.2, 0.1), (0.5, 0.1, 0.4)
TABLE = {(REFERENCE, SUMMARY): FORTH, (SUMMARY, REFERENCE): BACK}


def value(evaluator: Menli, *references: str, nli: Any = None, summary: str = SUMMARY) -> Judgment:
    document = Document(id="d", text="Ada sold the mill to Bo.", references=references or (REFERENCE,))
    ((row,),) = judge(evaluator, document, summary, nli=nli or table_nli(TABLE))
    return row


@pytest.mark.parametrize(
    ("direction", "formula", "expected"),
    [
        ("rh", "e", 0.7), ("rh", "-c", -0.1), ("rh", "e-c", 0.6), ("rh", "e-n", 0.5),
        ("hr", "e", 0.5), ("hr", "-c", -0.4), ("hr", "e-c", 0.1), ("hr", "e-n", 0.4),
        ("avg", "e", 0.6), ("avg", "-c", -0.25), ("avg", "e-c", 0.35), ("avg", "e-n", 0.45),
    ],
)  # fmt: skip
def test_directions_and_formulas(direction: Any, formula: Any, expected: float) -> None:
    row = value(Menli(direction=direction, formula=formula))
    assert row.value == pytest.approx(expected, abs=1e-12)
    assert (row.aspect, row.label, row.truncated_tokens) == ("entailment", None, None)


def test_source_compares_with_the_document() -> None:
    nli = table_nli({("Ada sold the mill to Bo.", SUMMARY): (0.9, 0.1, 0.0)})
    row = value(Menli(direction="rh", source=True), nli=nli)
    assert (row.value, row.aspect) == (pytest.approx(0.9), "faithfulness")
    assert nli.texts == [("Ada sold the mill to Bo.", SUMMARY)]
    assert row.reason == "entailment .90, neutral .10, contradiction .00 (document to summary)"


def test_the_best_of_several_references_counts_and_blank_ones_do_not() -> None:
    table = {**TABLE, ("Other.", SUMMARY): (0.8, 0.2, 0.0), (SUMMARY, "Other."): (0.8, 0.2, 0.0)}
    row = value(Menli(), REFERENCE, " ", "Other.", nli=table_nli(table))
    assert row.value == pytest.approx(0.8)
    assert row.reason is not None
    assert "best of 2 references" in row.reason


# ---- combined with another evaluator ----


def judgments(scores: dict[str, tuple[float | None, float | None]]) -> list[MemberJudgments]:
    """Return judgments from scores of (menli, bertscore_f1) by system."""

    def row(judge: str, aspect: str, system: str, number: float | None) -> Judgment:
        failed: dict[str, Any] = {} if number is not None else {"status": "skipped", "reason": "too short"}
        target = Target(document_id="d", system=system)
        return Judgment(target=target, aspect=aspect, judge=judge, signature=judge, value=number, **failed)

    return [
        MemberJudgments(
            ("d", system, None),
            ((row("menli", "entailment", system, nli),), (row("bertscore", "bertscore_f1", system, other),)),
        )
        for system, (nli, other) in scores.items()
    ]


def combined(scores: dict[str, tuple[float | None, float | None]], **settings: Any) -> list[Judgment]:
    return list(MenliCombined(**settings).derive(judgments(scores), "s"))


def test_both_scores_are_scaled_over_the_run() -> None:
    rows = combined({"a": (0.1, 0.90), "b": (0.3, 0.95), "c": (0.5, 0.80)}, weight=0.2)
    # By hand: the scaled NLI scores are 0, .5, 1; those of the other evaluator 2/3, 1, 0.
    assert [row.value for row in rows] == pytest.approx([0.8 * 2 / 3, 0.2 * 0.5 + 0.8, 0.2])
    assert rows[1].reason == "0.2 * menli 0.300 + 0.8 * bertscore 0.950, each scaled over 3 summaries"


def test_summaries_without_both_scores_are_skipped() -> None:
    rows = combined({"a": (0.1, 0.9), "b": (None, 0.0), "c": (0.5, 0.8), "d": (0.9, None)}, weight=0.5)
    assert [row.status for row in rows] == ["ok", "skipped", "ok", "skipped"]
    assert [row.value for row in rows] == [0.5, None, 0.5, None]
    assert rows[1].reason == "menli gave no score: too short"
    assert rows[3].reason == "bertscore gave no score: too short"


def test_scores_that_cannot_be_scaled_are_skipped() -> None:
    (row,) = combined({"a": (0.1, 0.9)})
    assert (row.status, row.value) == ("skipped", None)
    rows = combined({"a": (0.1, 0.9), "b": (0.1, 0.8)})
    assert {row.status for row in rows} == {"skipped"}
    assert rows[0].reason == "the scores by menli do not differ, so they cannot be scaled"
    assert {row.status for row in combined({"a": (None, 0.9), "b": (None, 0.8)})} == {"skipped"}
