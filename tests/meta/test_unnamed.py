"""Anonymous votes: no statistic or merge pairs different people. Also labels of conciseness."""

from __future__ import annotations

from typing import Any

import pytest

from summeter.data.dataset import Dataset, load
from summeter.data.human import unnamed_votes
from summeter.meta import agree, agreement_with_people, correlate, errors
from summeter.records import Judgment, Target, UsageError

FOLLOWING = ("kappa_cohen", "mean_pairwise_pearson", "mean_pairwise_spearman", "mean_pairwise_kendall_b", "icc")
RATED = [[5, 4, 4], [4, 4, 2], [2, 3, 1], [1, 2, 2], [3, 5, 4], [2, 2, 5]]
LABELS = [[0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 0, 1], [0, 0, 0], [1, 1, 0]]


def data(votes: list[list[int]], kind: str = "ratings", turn: int = 0) -> Dataset:
    """Return two documents by three systems; `turn` rotates the votes of row i by i * turn."""
    rows = []
    for place, cast in enumerate(votes):
        shift = place * turn % len(cast)
        cell = unnamed_votes([*cast[shift:], *cast[:shift]])
        human: dict[str, Any] = {kind: {"coherence": cell}} if kind == "ratings" else {kind: [cell]}
        rows.append({"doc_id": f"d{place % 2}", "system": f"s{place // 2}", "document": f"Rain {place % 2}.",
                     "summary": "Rain.", "human": human})  # fmt: skip
    return load(rows)


def values(of: Dataset, **how: Any) -> dict[str, float | None]:
    return {row.statistic: row.value for row in agree(of, resamples=0, **how).rows}


@pytest.mark.parametrize(("votes", "kind"), [(RATED, "ratings"), (LABELS, "sentence_labels")])
def test_no_coefficient_depends_on_the_order_of_votes(votes: list[list[int]], kind: str) -> None:
    alone = values(data(votes, kind))
    assert len(alone) >= 3
    assert not set(FOLLOWING) & set(alone)
    assert all(value is not None for value in alone.values())
    for turn in (1, 2):
        assert values(data(votes, kind, turn)) == pytest.approx(alone)


def test_alpha_is_that_of_the_same_votes_by_names() -> None:
    rows = [{"doc_id": f"d{n}", "document": "Rain.", "summary": "Rain.",
             "human": {"ratings": {"coherence": dict(zip("abc", cast, strict=True))}}}
            for n, cast in enumerate(RATED)]  # fmt: skip
    named = values(load(rows))
    assert values(data(RATED))["alpha_interval"] == pytest.approx(named["alpha_interval"])


@pytest.mark.parametrize("name", FOLLOWING)
def test_a_coefficient_of_persons_is_refused_when_asked_for(name: str) -> None:
    (row,) = agree(data(RATED), coefficients=(name,), resamples=10).rows
    assert row.value is None
    assert str(row.reason).startswith(f"{name} compares annotators")
    assert row.details["exchangeable"] is True


def judged(aspect: str, unit: Any, values: list[int]) -> list[Judgment]:
    index = None if unit == "summary" else 0
    return [
        Judgment(
            target=Target(document_id=f"d{n % 2}", system=f"s{n // 2}", unit=unit, index=index),
            aspect=aspect, judge="j", signature="j|v:1", value=float(value), label=None if unit == "summary" else value,
        )
        for n, value in enumerate(values)
    ]  # fmt: skip


@pytest.mark.parametrize("merge", ["each", "?1"])
def test_anonymous_annotators_cannot_be_selected(merge: str) -> None:
    machine = judged("coherence", "summary", [4, 3, 2, 1, 4, 3])
    with pytest.raises(UsageError, match=r"these votes are anonymous: \?1 of one summary and \?1 of another"):
        correlate(machine, data(RATED), merge=merge, resamples=0)
    assert correlate(machine, data(RATED), resamples=0).rows[0].gold_signature == "human.ratings|merge:mean|v:1"


def test_error_types_of_one_annotator_are_refused() -> None:
    rows = [{"doc_id": "d0", "document": "Rain.", "summary": "Rain.", "system": "s0",
             "human": {"sentence_error_types": [unnamed_votes(["EntE", "OutE"])]}}]  # fmt: skip
    with pytest.raises(UsageError, match="these votes are anonymous"):
        errors(judged("faithfulness", "sentence", [0]), load(rows), merge="?1")


def test_anonymous_spans_are_undefined() -> None:
    marks = [{"annotator": who, "start": 0, "end": 4, "label": 0} for who in ("?1", "?2")]
    rows = [{"doc_id": f"d{n}", "document": "Rain.", "summary": "Rain.", "human": {"spans": marks}} for n in (1, 2)]
    row = agree(load(rows), coefficients=("span_f1",), resamples=0).one(statistic="span_f1")
    assert (row.value, row.reason) == (None, "span_f1 compares annotators, but these spans are anonymous")


def test_conciseness_of_people_is_scored_and_correlated() -> None:
    """FineSurE, Table 3: conciseness is the share of sentences with a key fact according to the majority."""
    shares = [[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0]]  # majorities 1 0 1 0 1 0
    machine = judged("conciseness", "sentence", [1, 0, 1, 0, 1, 1])
    study = correlate(machine, data(shares, "conciseness_labels"), coefficients=("pearson",), resamples=0)
    row = study.one(level="summary", average="pooled")
    # 1 0 1 0 1 1 against 1 0 1 0 1 0: covariance 1/6 over sqrt(2/9 * 1/4).
    assert row.value == pytest.approx((1 / 6) / (2 / 9 * 1 / 4) ** 0.5)
    assert row.gold_signature == "human.conciseness_labels|merge:majority|tie:low|v:1"
    beside = agreement_with_people(machine, data(shares, "conciseness_labels"), resamples=0).one(aspect="conciseness")
    assert (beside.statistic, beside.n) == ("balanced_accuracy", 6)
    assert beside.value == pytest.approx((1 + 2 / 3) / 2)  # all three that carry a fact, two of three that do not
