"""Abstractiveness, compared with hand computations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.text.novelty import Novelty, novelty

DOCUMENT = "the cat sat on the mat and the dog lay on the rug"


def test_a_copied_summary_is_not_abstractive() -> None:
    assert novelty(DOCUMENT, "The cat sat on the mat.") == Novelty(0.0, {1: 0.0, 3: 0.0, 5: 0.0}, 0)


def test_a_new_summary_is_abstractive() -> None:
    assert novelty(DOCUMENT, "pets were seen resting indoors") == Novelty(1.0, {1: 1.0, 3: 1.0, 5: 1.0}, 0)


def test_a_mixed_summary_by_hand() -> None:
    # words: the dog sat on the mat quietly; set {the dog sat on mat quietly}: 1 of 6 new
    # trigrams: the-dog-sat*, dog-sat-on*, sat-on-the, on-the-mat, the-mat-quietly*: 3 of 5 new
    # 5-grams: the-dog-sat-on-the*, dog-sat-on-the-mat*, sat-on-the-mat-quietly*: 3 of 3 new
    result = novelty(DOCUMENT, "The dog sat on the mat, quietly.")
    assert result.by_n == pytest.approx({1: 1 / 6, 3: 3 / 5, 5: 1.0})
    assert result.value == pytest.approx((1 / 6 + 3 / 5 + 1) / 3)
    assert result.missing == 0


def test_ngrams_are_counted_once() -> None:
    # words {new, the}: "new" three times is one new word of two
    assert novelty(DOCUMENT, "new new new the", lengths=(1,)).by_n == {1: 0.5}


def test_lengths_beyond_the_summary_are_missing() -> None:
    assert novelty(DOCUMENT, "the bird") == Novelty(0.5, {1: 0.5}, 2)


@pytest.mark.parametrize("summary", ["", "  ", "?!"])
def test_a_summary_without_words_has_no_value(summary: str) -> None:
    assert novelty(DOCUMENT, summary) == Novelty(None, {}, 3)


def test_every_ngram_is_new_with_an_empty_document() -> None:
    assert novelty("", "a b c").value == 1.0


@pytest.mark.parametrize("lengths", [(), (0,), (1, -3)])
def test_invalid_lengths_are_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        novelty("a", "a", lengths)


@given(st.text(max_size=40), st.text(max_size=40))
def test_bounds_and_copies(document: str, summary: str) -> None:
    result = novelty(document, summary)
    assert result.value is None or 0 <= result.value <= 1
    assert len(result.by_n) + result.missing == 3
    assert novelty(summary, summary).value in (0.0, None)
