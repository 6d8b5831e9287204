"""A new member of an enumeration fails loudly where it was forgotten: it is never taken for another one."""

from __future__ import annotations

from enum import StrEnum
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from summeter.evaluators.entailment.grains import cut
from summeter.meta import _correlate, _errors, _estimate, correlate, selection
from summeter.records import Judgment, Target
from summeter.stats import clusters_of_equals, significance, thresholds, tune_threshold

FORGOTTEN = (KeyError, AssertionError)


def grown(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> Any:
    """The enumeration that a module sees, with one more member, `NEW`."""
    members = {member.name: member.value for member in getattr(module, name)}
    enumeration = StrEnum(name, {**members, "NEW": "new"})  # type: ignore[misc] - made from the members there are
    monkeypatch.setattr(module, name, enumeration)
    return enumeration


def test_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    grown(monkeypatch, significance, "ClusterRule")
    with pytest.raises(FORGOTTEN):
        clusters_of_equals([3.0, 2.0], [[None, 0.01], [0.01, None]], rule="new")


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
    monkeypatch.undo()
    items = grown(monkeypatch, selection, "Items")
    with pytest.raises(FORGOTTEN):
        correlate(judged, judged, level="system", items=items.NEW, resamples=0)


def test_grains_of_premises() -> None:
    with pytest.raises(FORGOTTEN):
        cut("A b.", [(0, 4)], "new")  # type: ignore[arg-type]
