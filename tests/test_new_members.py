"""A new member of an enumeration fails loudly where it was forgotten: it is never taken for another one."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from summeter.choices import Level
from summeter.evaluators.entailment.grains import cut
from summeter.meta import (
    _compare,
    _correlate,
    _errors,
    _estimate,
    _prefer,
    _protocol,
    compare_systems,
    correlate,
    matrix,
)
from summeter.records import Judgment, Target
from summeter.scoring import scores
from summeter.scoring.table import JudgmentTable, Question
from summeter.stats import Bootstrap, thresholds, tune_threshold

FORGOTTEN = (KeyError, AssertionError)


def grown(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> Any:
    """The enumeration that a module sees, with one more member, `NEW`."""
    members = {member.name: member.value for member in getattr(module, name)}
    enumeration = StrEnum(name, {**members, "NEW": "new"})  # type: ignore[misc] - made from the members there are
    monkeypatch.setattr(module, name, enumeration)
    return enumeration


def test_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    grown(monkeypatch, thresholds, "Candidates")
    with pytest.raises(FORGOTTEN):
        tune_threshold([0, 1], [0.1, 0.9], "new")


def test_simulated_populations(monkeypatch: pytest.MonkeyPatch) -> None:
    population = grown(monkeypatch, _estimate, "Population")
    with pytest.raises(FORGOTTEN):
        _estimate._picked([np.array([0])], np.random.default_rng(0), population.NEW)


def test_matches_of_error_types(monkeypatch: pytest.MonkeyPatch) -> None:
    match = grown(monkeypatch, _errors, "Match")
    rules = _errors._Rules._make([match.NEW] + [None] * (len(_errors._Rules._fields) - 1))
    for call in (lambda: rules.fits(frozenset(), frozenset()), lambda: rules.names(frozenset(), frozenset(), "x")):
        with pytest.raises(FORGOTTEN):
            call()


def test_averages_and_items(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = [
        Judgment(
            target=Target(document_id=f"d{row % 3}", system="AB"[row % 2]),
            aspect="a",
            judge="j",
            signature="j",
            value=row,
        )
        for row in range(6)
    ]
    grown(monkeypatch, _correlate, "Average")
    with pytest.raises(FORGOTTEN):
        correlate(judged, judged, average="new", resamples=0)


def test_grains_of_premises() -> None:
    with pytest.raises(FORGOTTEN):
        cut("A b.", [(0, 4)], "new")  # type: ignore[arg-type]


def test_annotators_of_error_types(monkeypatch: pytest.MonkeyPatch) -> None:
    annotators = grown(monkeypatch, _errors, "Annotators")
    with pytest.raises(FORGOTTEN):
        _errors._merged([frozenset({"a"})], 1, annotators.NEW)


def test_documents_of_a_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    grown(monkeypatch, _compare, "Documents")
    judged = [
        Judgment(target=Target(document_id=f"d{row}", system=system), aspect="a", judge="j", signature="j", value=row)
        for system, rows in (("A", range(7)), ("B", range(3, 9)))
        for row in rows
    ]
    with pytest.raises(FORGOTTEN):
        compare_systems(judged, documents="new")


def test_merging_of_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    grown(monkeypatch, _prefer, "AggregationRule")
    judged = [
        Judgment(
            target=Target(document_id="d", system="A", rival="B", unit="pair"),
            aspect="a",
            judge=judge,
            signature="human.pairs|v:1",
            value=1.0,
        )
        for judge in ("x", "y")
    ]
    with pytest.raises((*FORGOTTEN, ValueError), match="new"):
        _prefer.people_verdicts(JudgmentTable.of(judged), "a", _New())


class _New(NamedTuple):
    merge: str = "new"
    min_votes: int = 1


def test_what_is_read_of_judgments(monkeypatch: pytest.MonkeyPatch) -> None:
    use = grown(monkeypatch, matrix, "Use")
    monkeypatch.setattr(matrix, "numbers", lambda value, *_: value)
    with pytest.raises(FORGOTTEN):
        matrix.scores_of(JudgmentTable.of([]), Question("j", "j", "a"), Level.SENTENCE, {}, use.NEW)


def test_reduction_of_units(monkeypatch: pytest.MonkeyPatch) -> None:
    grown(monkeypatch, scores, "Reduce")
    judged = [Judgment(target=Target(document_id="d", system="s"), aspect="a", judge="j", signature="j", value=1.0)]
    with pytest.raises(FORGOTTEN):
        scores.summary_scores(judged, {"j": "new"})


def test_what_one_class_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    one_class = grown(monkeypatch, _protocol, "OneClass")
    how = replace(_protocol.PROTOCOLS["summac"], one_class=one_class.NEW)
    data = _protocol._Benchmark([], np.array([1.0]), {}, np.array([False]), np.array([True]), np.array([0]), 1)
    board = _protocol._Board(how.tables[0], how, data, Bootstrap(1), [])
    with pytest.raises(FORGOTTEN):
        board.worth(np.array([[1.0]]))
