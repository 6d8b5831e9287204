"""Means of preferences over documents, with their flip rate."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from summeter.records import Judgment, Target
from summeter.scoring import pair_scores, preferences


def verdict(doc: str, system: str, rival: str, value: float | None, aspect: str = "fluency") -> Judgment:
    target = Target(document_id=doc, system=system, rival=rival, unit="pair")
    status, reason = ("ok", None) if value is not None else ("unparsed", "no letter")
    return Judgment.model_validate({
        "target": target, "aspect": aspect, "judge": "h2h", "signature": "h2h|v:1", "value": value,
        "status": status, "reason": reason,
    })  # fmt: skip


def test_means_n_missing_and_flips() -> None:
    found = pair_scores(
        preferences(
            [
                verdict("d1", "a", "b", 1.0), verdict("d1", "b", "a", 0.0),  # a in both orders: 1
                verdict("d2", "a", "b", 1.0), verdict("d2", "b", "a", 1.0),  # changes with the order: 0.5
                verdict("d3", "a", "b", 0.5), verdict("d3", "b", "a", 0.0),  # a tie, then a: (0.5 + 1) / 2 = 0.75
                verdict("d4", "a", "b", None), verdict("d4", "b", "a", 1.0),  # b, once: 0
                verdict("d5", "a", "b", None), verdict("d5", "b", "a", None),
            ]
        )
    )  # fmt: skip
    (one,) = found
    assert (one.system, one.rival, one.n, one.missing) == ("a", "b", 4, 1)
    assert one.value == (1 + 0.5 + 0.75 + 0) / 4
    assert one.flip_rate == 1 / 3  # d2, among d1, d2 and d3
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.value <= one.high


def test_scores_by_aspect_and_pair() -> None:
    rows = [verdict("d1", "a", "b", 1.0), verdict("d1", "a", "c", 1.0), verdict("d1", "a", "b", 0.0, "relevance")]
    assert [(one.rival, one.aspect, one.value) for one in pair_scores(preferences(rows))] == [
        ("b", "fluency", 1.0), ("c", "fluency", 1.0), ("b", "relevance", 0.0),
    ]  # fmt: skip


def both(doc: str, value: float) -> list[Judgment]:
    """Return judgments of `a` and `b` in both orders, with the same preference."""
    return [verdict(doc, "a", "b", value), verdict(doc, "b", "a", 1 - value)]


def test_a_score_from_the_side_of_the_rival() -> None:
    rows = [*both("d1", 0.0), *both("d2", 0.0), *both("d3", 0.5), verdict("d4", "a", "b", 0.0)]
    (one,) = pair_scores(preferences(rows))
    assert (one.value, one.twice, one.flips) == (0.125, 3, 0)  # (0 + 0 + 0.5 + 0) / 4
    other = one.turned()
    assert (other.system, other.rival, other.value, other.n) == ("b", "a", 0.875, 4)
    assert one.low is not None
    assert one.high is not None
    assert (other.low, other.high) == (1 - one.high, 1 - one.low)
    assert other.turned() == one
    assert one.leading() == other == other.leading()


def test_a_preference_needs_six_documents() -> None:
    def pair(*values: float) -> bool:
        rows = [verdict(f"d{at}", "a", "b", value) for at, value in enumerate(values)]
        return pair_scores(preferences(rows))[0].settled

    assert not pair(*[1.0] * 5)  # unanimous, but a coin does the same with probability 1/16
    assert pair(*[1.0] * 6)
    assert pair(*[0.0] * 6)
    assert not pair(*[1.0, 0.0] * 6)


def test_many_pairs_are_corrected() -> None:
    """None of 45 pairs of equal systems is significant, although some uncorrected intervals exclude 0.5."""
    rng = np.random.default_rng(3)
    names = [f"s{number}" for number in range(10)]
    rows = [
        verdict(f"d{document}", first, second, float(rng.choice([0.0, 0.5, 1.0])))
        for document in range(12)
        for first, second in combinations(names, 2)
    ]
    scores = pair_scores(preferences(rows))
    assert any(pair.low is not None and pair.high is not None and not pair.low <= 0.5 <= pair.high for pair in scores)
    assert not any(pair.settled for pair in scores)
    assert all(pair.ends[0] is not None and pair.ends[0] <= 0.5 for pair in scores)
    (one,) = pair_scores(preferences([verdict(f"d{document}", "a", "b", 1.0) for document in range(6)]))
    assert one.settled
    assert (one.turned().value, one.turned().settled) == (0.0, True)
    assert "claim" not in one.model_dump()
