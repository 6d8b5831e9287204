"""Property tests: for any judgments, studies of systems return valid rows or raise UsageError."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meta.duels import duel, sound
from meta.makers import judgment, people, ratings
from meta.studies import STUDIES

from summeter.data.dataset import load
from summeter.meta import card, compare, errors, prefer
from summeter.meta.results import Study
from summeter.records import Judgment, UsageError

FEW: dict[str, Any] = {"permutations": 30, "resamples": 20}
EXTREME = (0.0, 0.1, 1.0, 1.0, 2.0, 3.5, -1.0, 1e-300, 1e99, -1e99, None, None)

value = st.sampled_from(EXTREME)
system = st.sampled_from(["A", "B", "C", "a-b", ""])
cells = st.dictionaries(st.tuples(st.sampled_from(["d1", "d2", "d3", "d4"]), system.filter(bool)), value, max_size=10)


def said(table: dict[tuple[str, str], float | None], judge: str = "j") -> list[Judgment]:
    rows: dict[str, dict[str, float | None]] = {}
    for (document, name), score in table.items():
        rows.setdefault(document, {})[name] = score
    return ratings(rows, judge=judge)


def held(study: Callable[[], Study]) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = study()
    except UsageError:
        return
    sound(found)
    assert "nan" not in str(found).split("\n")[0]
    for row in found:
        assert "nan" not in f"{row.reason} {row.details.get('verdict')}".split()


@pytest.mark.parametrize("name", STUDIES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cells, cells, cells)
def test_any_scores(
    name: str,
    one: dict[tuple[str, str], float | None],
    two: dict[tuple[str, str], float | None],
    true: dict[tuple[str, str], float | None],
) -> None:
    gold = people({item: {"x": score} for item, score in true.items()})
    held(lambda: STUDIES[name]([*said(one), *said(two, "k")], gold, 20))


def test_too_large_scores_are_refused() -> None:
    with pytest.raises(UsageError, match=r"coherence of d1 by A is 1e\+308"):
        compare(said({("d1", "A"): 1e308, ("d1", "B"): 1.0}), **FEW)
    gold = people({("d1", name): {"x": 1e308, "y": 1e308} for name in "AB"})  # their sum overflows
    with pytest.raises(UsageError, match="scores must be"):
        prefer(None, gold)


verdict = st.tuples(
    st.sampled_from(["d1", "d2", "d3"]), st.sampled_from(["AB", "BA", "AC", "CB"]),
    st.sampled_from([1.0, 0.5, 0.0, None]),
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(verdict, max_size=12, unique_by=lambda one: one[:2]), cells)
def test_any_verdicts(duels: list[tuple[str, str, float | None]], true: dict[tuple[str, str], float | None]) -> None:
    gold = people({item: {"x": score} for item, score in true.items()})
    judge = [duel(document, pair[0], pair[1], points) for document, pair, points in duels]
    held(lambda: prefer(judge, gold, resamples=20))
    held(lambda: prefer([*judge, *said(true)], judge, resamples=20))


kind = st.sampled_from([None, "NoE", "EntE", "EntE+RelE", "invented", "no error+EntE"])


@settings(max_examples=30, deadline=None)
@given(st.lists(kind, max_size=5), st.lists(kind, max_size=5), st.sampled_from(["any", "all", "exact"]))
def test_any_types_of_error(one: list[str | None], two: list[str | None], match: str) -> None:
    def typed(kinds: list[str | None], judge: str, signature: str) -> list[Judgment]:
        return [
            judgment("d", "A", None, aspect="faithfulness", judge=judge, signature=signature, unit="sentence",
                     index=index, error_type=name, label=None if name is None else int(name == "NoE"))
            for index, name in enumerate(kinds)
        ]  # fmt: skip

    held(lambda: errors(typed(one, "j", "j|v:1"), typed(two, "x", "human.sentence_labels|v:1"), match=match))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["news", "", None]), value, st.sampled_from(["1", "no", "x"])), max_size=6))
def test_any_card(rows: list[tuple[str | None, float | None, str]]) -> None:
    data = load([
        {"doc_id": f"d{n}", "system": "AB"[n % 2], "document": "It rained.", "summary": "Rain.", "domain": domain,
         "redacted": redacted, "human": {"ratings": {"faithfulness": score}}}
        for n, (domain, score, redacted) in enumerate(rows)
    ]) if rows else None  # fmt: skip
    held(lambda: card(gold=data, resamples=20))
