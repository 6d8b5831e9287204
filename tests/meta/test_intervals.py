"""All studies describe intervals alike: resampled unit, resamples, lost resamples and seed."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from meta.makers import people, ratings
from meta.studies import STUDIES
from together import together

from summeter.meta import compare, correlate, stability
from summeter.meta.results import Row, Study, interval_row
from summeter.records import Judgment
from summeter.stats import Bootstrap, classify

DRAWS = 200
DOCUMENTS = [f"d{i}" for i in range(6)]
ACCOUNT = re.compile(
    r"(?:95|98.3333)% percentile bootstrap by (document|system|draw), (\d+)(?: of (\d+))? resamples, seed 0"
)
PREDICTED = re.compile(r"95% (prediction-powered|mean), Student's t by labelled document")


def scores(shift: int = 0) -> dict[str, dict[str, float | None]]:
    """Return ratings of six documents and three systems; C is almost constant, so many draws are undefined."""
    return {
        name: {"A": 1.0 + (i + shift) % 2, "B": 1.0 + (i * 7 + shift) % 3 % 2, "C": 2.0 - (i in (1, 4))}
        for i, name in enumerate(DOCUMENTS)
    }


def judges() -> list[Judgment]:
    return [*ratings(scores(), judge="one"), *ratings(scores(1), judge="two")]


def gold() -> list[Judgment]:
    cells = {
        (name, system): {
            "a": 1.0 + (i * i + ord(system)) % 3 % 2,
            "b": 1.0 + (i * 5 + ord(system)) % 3 % 2,
        }
        for i, name in enumerate(DOCUMENTS)
        for system in "ABC"
    }
    return people(cells)


ALWAYS_2000 = ("estimate", "simulate")
"""Studies whose bootstrap has no keyword."""
UNDRAWN = ("bias", "errors", "people", "self_consistency", "compare judges of documents")
DRAWN = [name for name in STUDIES if name not in UNDRAWN]


@cache
def studied(name: str, draws: int) -> Study:
    return STUDIES[name](judges(), gold(), draws)


def lost_draws(row: Row) -> int:
    """Return the number of lost draws in the text of an interval, after checking the text."""
    text = ACCOUNT.fullmatch(row.interval or "")
    assert text, row.interval
    return int(text[3] or text[2]) - int(text[2])


@together("name", DRAWN)
def test_one_account(name: str) -> None:
    rows = [row for row in studied(name, DRAWS) if row.low is not None or row.interval is not None]
    assert rows
    drawn = [row for row in rows if not PREDICTED.fullmatch(row.interval or "")]
    for row in drawn:
        assert row.low is not None
        lost = lost_draws(row)
        text = ACCOUNT.fullmatch(row.interval or "")
        assert text
        assert int(text[3] or text[2]) == (2000 if name in ALWAYS_2000 else DRAWS)
        said = re.match(r"(\d+) of (\d+) resamples undefined, left out", row.reason or "")
        if said:
            assert (int(said[1]), int(said[2])) == (lost, int(text[3] or text[2]))


@together("draws", [0, 1])
@together("name", [name for name in DRAWN if name not in ALWAYS_2000])
def test_without_draws_no_row_has_an_interval_and_each_says_why(name: str, draws: int) -> None:
    whole, bare = studied(name, DRAWS), studied(name, draws)
    assert len(whole) == len(bare)
    for full, row in zip(whole, bare, strict=True):
        assert row.value == pytest.approx(full.value)
        if (full.interval or "").startswith("95% percentile") or "98.3333" in (full.interval or ""):
            assert (row.low, row.high, row.interval, row.status) == (None, None, None, "no_interval")
            assert row.reason


@together("name", sorted(set(STUDIES) - {"errors", "self_consistency", "simulate"}))
def test_the_order_of_judgments_changes_no_value(name: str) -> None:
    def values(study: Study) -> dict[tuple[object, ...], float | None]:
        about = ("study", "judge", "signature", "aspect", "system", "pair", "statistic")
        keys = [
            (*(getattr(row, name) for name in about), *row.named.items(), row.details.get("group")) for row in study
        ]
        assert len(set(keys)) == len(keys)
        return dict(zip(keys, (row.value for row in study), strict=True))

    turned = [sorted(rows, key=lambda each: each.target.document_id, reverse=True) for rows in (judges(), gold())]
    assert values(STUDIES[name](*turned, 0)) == pytest.approx(values(studied(name, 0)), abs=1e-9, nan_ok=False)


def test_an_interval_that_would_not_hold_its_value_is_none() -> None:
    """All draws are above the value, since the statistic is biased under resampling."""
    above = Bootstrap(20, DRAWS).of_samples(0.06, np.linspace(0.07, 0.6, DRAWS))
    assert (above.value, above.low, above.high, above.status) == (0.06, None, None, "no_interval")
    assert above.reason


def test_the_same_draws_have_the_same_account() -> None:
    """Three studies give the same interval and lost draws for a correlation within a system."""
    by_system = correlate(judges(), gold(), by="system", coefficients=("pearson",), resamples=DRAWS)
    stable = stability(judges(), gold(), coefficients=("pearson",), resamples=DRAWS)
    compared = compare(judges(), gold(), by="system", resamples=DRAWS, permutations=20)
    lost = 0
    for judge in ("one", "two"):
        for system in "ABC":
            row = by_system.one(judge=judge, system=system, statistic="pearson")
            others = [
                stable.one(study="per_candidate", judge=judge, system=system, statistic="pearson"),
                compared.one(judge=judge, system=system, statistic="pearson"),
            ]
            for other in others:
                assert (other.interval, other.status) == (row.interval, row.status)
                assert (other.low, other.high) == pytest.approx((row.low, row.high), abs=1e-9)
            lost += lost_draws(row)
    assert lost > 0  # the data make C constant in some draws, and all three say so


def test_a_difference_of_judges_counts_its_lost_draws() -> None:
    rows = compare(judges(), gold(), by="system", resamples=DRAWS, permutations=20)
    differences = [row for row in rows if row.statistic == "pearson_difference" and row.system == "C"]
    assert [lost_draws(row) > 0 for row in differences] == [True]


def test_a_calibration_says_how_many_draws_a_coefficient_lost() -> None:
    labels, said = np.array([1.0, 1, 1, 0]), np.array([1.0, 0, 1, 0])
    estimate_ = classify(labels, said)["balanced_accuracy"].estimate(Bootstrap(4, DRAWS))
    assert estimate_.lost
    assert f"{DRAWS - estimate_.lost} of {DRAWS} resamples" in (estimate_.interval or "")


def test_interval_reason_with_a_value() -> None:
    constant = Bootstrap(3, 50).mean([2.0, 2.0, 2.0])
    row = interval_row(constant, study="s", statistic="mean")
    assert (row.value, row.low, row.status, row.reason) == (2.0, 2.0, "ok", "constant input")
