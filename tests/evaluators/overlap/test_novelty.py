"""Abstractiveness, compared with hand computations."""

from __future__ import annotations

import pytest
from evaluators.networks import document, judge
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.overlap.novelty import Abstractiveness, novel_shares

DOCUMENT = "the cat sat on the mat and the dog lay on the rug"


@pytest.mark.parametrize(
    ("source", "summary", "shares"),
    [
        (DOCUMENT, "The cat sat on the mat.", {1: 0.0, 3: 0.0, 5: 0.0}),
        (DOCUMENT, "pets were seen resting indoors", {1: 1.0, 3: 1.0, 5: 1.0}),
        (DOCUMENT, "the bird", {1: 0.5}),
        # N-grams are counted once: words {new, the}, of which one is new.
        (DOCUMENT, "new new new the", {1: 0.5, 3: 1.0}),
        *((DOCUMENT, summary, {}) for summary in ("", "  ", "?!")),
        ("", "a b c", {1: 1.0, 3: 1.0}),
    ],
)
def test_shares_by_hand(source: str, summary: str, shares: dict[int, float]) -> None:
    assert novel_shares(source, summary) == shares


def test_a_mixed_summary_by_hand() -> None:
    # words: the dog sat on the mat quietly; set {the dog sat on mat quietly}: 1 of 6 new
    # trigrams: the-dog-sat*, dog-sat-on*, sat-on-the, on-the-mat, the-mat-quietly*: 3 of 5 new
    # 5-grams: the-dog-sat-on-the*, dog-sat-on-the-mat*, sat-on-the-mat-quietly*: 3 of 3 new
    summary = "The dog sat on the mat, quietly."
    assert novel_shares(DOCUMENT, summary) == pytest.approx({1: 1 / 6, 3: 3 / 5, 5: 1.0})
    ((whole,),) = judge(Abstractiveness(), document(DOCUMENT), summary)
    assert whole.value == pytest.approx((1 / 6 + 3 / 5 + 1) / 3)


@given(st.text(max_size=40), st.text(max_size=40))
def test_bounds_and_copies(source: str, summary: str) -> None:
    assert all(0 <= share <= 1 for share in novel_shares(source, summary).values())
    assert set(novel_shares(summary, summary).values()) <= {0.0}
