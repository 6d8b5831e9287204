"""Measure abstractiveness: how far the wording of a summary differs from the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from summeter.text.ngrams import ngrams, words

LENGTHS: Final = (1, 3, 5)


@dataclass(frozen=True)
class Novelty:
    """The abstractiveness of a summary.

    `value` is the mean of `by_n`, in [0, 1], or None if `by_n` is empty. `by_n` contains novel_n for each length n for
    which the summary has an n-gram, and `missing` is the number of lengths for which the summary is too short.
    """

    value: float | None
    by_n: Mapping[int, float]
    missing: int


def novelty(document: str, summary: str, lengths: Sequence[int] = LENGTHS) -> Novelty:
    """Return the mean, over several n, of the share of summary n-grams not in the document.

    novel_n = 1 - |copied n-grams| / |n-grams of the summary|, over sets of n-grams; abstractiveness is the mean over n
    = 1, 3, 5 (UniSumEval, Lee et al., 2024, equations 5 and 6). The paper does not define words; here they are the
    lower-cased words of `text.ngrams.words`. Raises ValueError if `lengths` is empty or contains a length below 1.

    >>> novelty("the cat sat on the mat", "the dog")  # 1 of 2 words is new; no 3-gram, no 5-gram
    Novelty(value=0.5, by_n={1: 0.5}, missing=2)
    """
    if not lengths:
        raise ValueError("novelty needs at least one n-gram length")
    source, summary_words = words(document), words(summary)
    by_n: dict[int, float] = {}
    for n in lengths:
        grams = ngrams(summary_words, n).keys()
        if grams:
            by_n[n] = 1 - len(grams & ngrams(source, n).keys()) / len(grams)
    return Novelty(fmean(by_n.values()) if by_n else None, by_n, len(set(lengths)) - len(by_n))
