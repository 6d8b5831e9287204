"""Figures of a card: a judge beside length, a constant and people, on ratings made so that each is known."""

from __future__ import annotations

import numpy as np
import pytest

import summeter as sm
from summeter.training.figures import CONSTANT, JUDGE, LENGTH, PEOPLE, Figure, Scored, baselines, figures, warnings
from summeter.training.ratings import Ratings, read_ratings


def rated(by_length: bool) -> Ratings:
    """20 documents of two domains by three systems; the rating is the length of the summary, or is not."""
    rows = []
    for number in range(20):
        for place, system in enumerate("ABC"):
            words = 2 + (number * 7 + place * 3) % 11
            value = float(words if by_length else (number * 5 + place * 8) % 13)
            rows.append({"doc_id": f"d{number}", "document": f"It rained {number} times in the valley, they said.",
                         "domain": "news" if number % 2 else "law", "system": system, "summary": "rain " * words,
                         "human": {"ratings": {"coverage": {"ana": value, "ben": value + 1}}}})  # fmt: skip
    return read_ratings(sm.load(rows))


def listed(ratings: Ratings, values: np.ndarray) -> list[Figure]:
    every = np.ones(len(values), dtype=bool)
    return figures(ratings, Scored({"coverage": values}, {"coverage": 1.0}), {"coverage": 5.0}, every,
                   resamples=50, seed=0)  # fmt: skip


def value(
    given: list[Figure], of: str, statistic: str, domain: str | None = None, level: str = "summary"
) -> float | None:
    (figure,) = [
        each for each in given if (each.of, each.statistic, each.domain, each.level) == (of, statistic, domain, level)
    ]
    return figure.value


def test_a_judge_that_knows_is_right_everywhere() -> None:
    ratings = rated(by_length=False)
    given = listed(ratings, ratings.mean("coverage") + 0.5)
    for domain in (None, "news", "law"):
        assert value(given, JUDGE, "pearson", domain) == pytest.approx(1)
        assert value(given, JUDGE, "mean_absolute_error", domain) == pytest.approx(0.5)
        assert value(given, JUDGE, "coverage", domain) == 1
    assert value(given, JUDGE, "kendall_b", level="system") == 1
    assert value(given, CONSTANT, "pearson") is None
    assert value(given, PEOPLE, "pearson_with_others") == pytest.approx(1)
    assert warnings(given) == []


def test_a_judge_of_lengths_is_warned_of() -> None:
    ratings = rated(by_length=True)
    given = listed(ratings, baselines(ratings)[LENGTH])
    assert value(given, LENGTH, "pearson") == pytest.approx(1)
    assert value(given, JUDGE, "pearson_beyond_length") == pytest.approx(0)
    (text,) = warnings(given)
    assert "does not beat the length of the summary" in text or "within chance" in text


def test_lengths_that_point_the_other_way_count_as_much() -> None:
    ratings = rated(by_length=True)
    given = listed(ratings, -baselines(ratings)[LENGTH])
    assert value(given, JUDGE, "pearson_beyond_length") == pytest.approx(-2)


def test_a_judge_that_says_one_thing_has_no_correlation() -> None:
    ratings = rated(by_length=False)
    given = listed(ratings, np.full(len(ratings.summaries), 3.0))
    assert value(given, JUDGE, "pearson") is None
    (text,) = warnings(given)
    assert "whether the judge beats length is not known" in text
