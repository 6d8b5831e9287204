"""Reading of ratings for training, with all errors reported before the training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from together import together

import summeter as sm
from summeter.records import UsageError
from summeter.stats.base import Bools
from summeter.training.figures import Draws
from summeter.training.ratings import check_sizes, read_ratings

Row = dict[str, Any]


def row(number: int, system: str, ratings: Row | None, **human: Any) -> Row:
    block = {"ratings": ratings, **human} if ratings is not None else human
    given = {"doc_id": f"d{number}", "document": f"It rained {number} times.", "system": system, "summary": "Rain."}
    return {**given, **({"human": block} if block else {})}


def rows(*values: float | None, aspect: str = "coherence") -> list[Row]:
    """Return two systems per document; None means no rating."""
    return [
        row(number, system, None if value is None else {aspect: {"ana": value, "ben": value + 1}})
        for number, value in enumerate(values)
        for system in ("s", "t")
    ]


def test_ratings_by_aspect_and_annotator() -> None:
    ratings = read_ratings(sm.load([*rows(1, 2), row(9, "s", {"fluency": {"ana": 4.0}}), row(9, "t", None),
                                    row(8, "s", {"fluency": {"ana": 2.0}})]))  # fmt: skip
    assert ratings.aspects == ("coherence", "fluency")
    assert ratings.raters == {"coherence": ("ana", "ben"), "fluency": ("ana",)}
    assert ratings.mean("coherence").tolist()[:4] == [1.5, 1.5, 2.5, 2.5]
    assert np.isnan(ratings.mean("coherence")[4:]).all()
    assert [summary.document_id for summary in ratings.summaries] == ["d0", "d0", "d1", "d1", "d9", "d8"]


def test_aggregated_values_count_only_without_individual_ratings() -> None:
    votes = [(1, 2), (2, 2), (4, 3), (5, 5), (3, 1)]
    own = [row(number, "s", {"tone": {"ana": a, "ben": b}}) for number, (a, b) in enumerate(votes)]
    both = [row(number, "s", {"tone": {"ana": a, "ben": b, "people": 9}}) for number, (a, b) in enumerate(votes)]
    rest = [row(9, "t", {"tone": 3})]
    plain, merged = (read_ratings(sm.load([*rows, *rest])) for rows in (own, both))
    for ratings in (plain, merged):
        assert ratings.mean("tone").tolist() == [1.5, 2.0, 3.5, 5.0, 2.0, 3.0]
    figures = [Draws(ratings, 20, 0).agreement("tone", None) for ratings in (plain, merged)]
    assert figures[0] == figures[1]
    assert merged.annotators("tone") == ("ana", "ben")


def test_the_usual_aspects_come_first_and_some_can_be_chosen() -> None:
    given = {"tone": {"ana": 1.0}, "overall": {"ana": 2.0}, "coherence": {"ana": 3.0}}
    other = {aspect: {"ana": votes["ana"] + 1} for aspect, votes in given.items()}
    data = sm.load([row(0, "s", given), row(0, "t", other)])
    assert read_ratings(data).aspects == ("coherence", "overall", "tone")
    assert read_ratings(data, ["tone"]).aspects == ("tone",)


def test_spans_and_sentences_say_whether_a_summary_is_free_of_errors() -> None:
    given: Sequence[Row] = [
        {**listed, "sentences": ["Rain."]} for listed in (
            row(0, "s", {"coherence": {"ana": 1.0}}, sentence_labels=[{"ana": 1, "ben": 0, "cleo": 1}]),
            row(0, "t", {"coherence": {"ana": 2.0}}, sentence_labels=[{"ana": 0, "ben": 0, "cleo": 1}]),
            row(1, "t", {"coherence": {"ana": 2.0}}),
        )
    ]  # fmt: skip
    free = read_ratings(sm.load(given), span_free=True).span_free
    assert free.tolist()[:2] == [1.0, 0.0]
    assert np.isnan(free[2])


@together("given, options, field", [
        (rows(None, None), {}, "human.raw"),
        ([row(number, "s", {"coherence": {"ana": float(number)}}) for number in range(5)], {}, "one system"),
        ([row(0, system, {"coherence": {"ana": 3.0}}) for system in "st"], {}, "coherence are equal"),
        ([*rows(1, 2), *(row(5, system, {"Coherence": {"ana": 2.0}}) for system in "st")], {}, "Coherence"),
        (rows(1, 2), {"aspects": ["coherense"]}, "aspects: "),
        (rows(1, 2), {"span_free": True}, "span_free: "),
    ],
)  # fmt: skip
def test_unsuitable_data_are_refused(given: list[Row], options: dict[str, Any], field: str) -> None:
    with pytest.raises(UsageError, match=field):
        read_ratings(sm.load(given), **options)


def test_too_few_documents() -> None:
    ratings = read_ratings(sm.load(rows(*range(10))))

    def subsets(**documents: int) -> dict[str, Bools]:
        return {name: ratings.document_codes < size for name, size in documents.items()}

    with pytest.raises(
        UsageError, match="too few documents with ratings: train 7, dev 2, test 1; train needs at least 10"
    ):
        check_sizes(ratings, subsets(train=7, dev=2, test=1))
    check_sizes(ratings, subsets(train=10, dev=5))
