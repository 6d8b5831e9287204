"""The figures of a card on ratings with known results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import summeter as sm
from summeter.training.figures import (
    CONSTANT,
    JUDGE,
    LENGTH,
    PEOPLE,
    ROUGE,
    UNTRAINED,
    Figure,
    baselines,
    figures,
    warnings,
    yes_no_figures,
)
from summeter.training.ratings import Ratings, read_ratings


def rated(by_length: bool) -> Ratings:
    """Return 20 documents of two domains by three systems; the rating is the length of the summary, or unrelated to
    it."""
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
    return figures(ratings, {"coverage": values}, {"coverage": 1.0}, {"coverage": 5.0}, every,
                   resamples=50, seed=0)  # fmt: skip


def value(
    given: list[Figure], of: str, statistic: str, domain: str | None = None, level: str = "summary"
) -> float | None:
    (figure,) = [
        each for each in given if (each.of, each.statistic, each.domain, each.level) == (of, statistic, domain, level)
    ]
    return figure.value


def test_a_perfect_judge_has_perfect_figures() -> None:
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


def test_a_judge_equal_to_length_has_a_warning() -> None:
    ratings = rated(by_length=True)
    given = listed(ratings, baselines(ratings)[LENGTH])
    assert value(given, LENGTH, "pearson") == pytest.approx(1)
    assert value(given, JUDGE, "pearson_beyond_length") == pytest.approx(0)
    assert any(LENGTH in text for text in warnings(given))


def copied() -> Ratings:
    """Return summaries of five words, rated by the number of words that occur in the document."""
    given = []
    for number in range(20):
        for place, system in enumerate("ABC"):
            known = 1 + (number + place) % 5
            summary = " ".join(["mill", "bern", "ferry", "holt", "kiel"][:known] + ["rain"] * (5 - known))
            given.append({"doc_id": f"d{number}", "document": "The mill in Bern and the ferry of Holt at Kiel.",
                          "system": system, "summary": summary,
                          "human": {"ratings": {"coverage": known + (number % 3) / 10}}})  # fmt: skip
    return read_ratings(sm.load(given))


def test_a_judge_equal_to_rouge_has_a_warning() -> None:
    ratings = copied()
    given = listed(ratings, baselines(ratings)[ROUGE])
    assert value(given, JUDGE, "pearson_beyond_length") == pytest.approx(value(given, JUDGE, "pearson") or 0)
    assert value(given, JUDGE, "pearson_beyond_rouge1") == pytest.approx(0)
    assert [name for name in UNTRAINED if any(name in text for text in warnings(given))] == [ROUGE]


def test_a_yes_no_output_is_compared_with_all_untrained_baselines() -> None:
    ratings = copied()
    free = (ratings.mean("coverage") > 3.5).astype(np.float64)
    every = np.ones(len(free), dtype=bool)
    given = yes_no_figures(replace(ratings, span_free=free), free, "span_free", every, resamples=50, seed=0)
    values = {figure.of: figure.value for figure in given}
    assert list(values) == [JUDGE, *UNTRAINED]
    assert (values[JUDGE], values[LENGTH], values[ROUGE]) == (1.0, 0.5, pytest.approx(1.0))


def test_a_negative_correlation_of_a_baseline_counts_by_its_absolute_value() -> None:
    ratings = rated(by_length=True)
    given = listed(ratings, -baselines(ratings)[LENGTH])
    assert value(given, JUDGE, "pearson_beyond_length") == pytest.approx(-2)


def test_a_constant_judge_has_no_correlation() -> None:
    ratings = rated(by_length=False)
    given = listed(ratings, np.full(len(ratings.summaries), 3.0))
    assert value(given, JUDGE, "pearson") is None
    assert [value(given, JUDGE, f"pearson_beyond_{name}") for name in UNTRAINED] == [None] * len(UNTRAINED)
    assert len(warnings(given)) == len(UNTRAINED)
