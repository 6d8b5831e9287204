"""How much of a claim stands in a text: three shares, and what of the claim is missing there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from summeter.evaluators.support.numbers import Number, currency
from summeter.evaluators.support.words import PREFIX, Evidence, Word
from summeter.interrupt import checkpoint

SIZES = (1, 2, 3, 5)  # sentences of a window
LEAST_GAIN = 0.1  # the share of words that a longer window must add
RELATIVE = 0.5  # credit for a word of which only a relative (same first letters) is found


class Overlap(NamedTuple):
    """Shares of the claim, from 0 to 1.

    ``words``: content words that stand anywhere in the text. ``sentence``: content words that stand in the sentence
    which has most of them. ``density``: sum of squared lengths of copied fragments over the squared length of the claim
    (1 for a copy), words that stand nowhere left out (Grusky et al., 2018).
    """

    words: float
    sentence: float
    density: float


@dataclass(frozen=True)
class ClaimFeatures:
    """Overlap of a claim with the evidence, and the words that its reasons quote."""

    overlap: Overlap
    best: tuple[int, int]  # sentences first..last of the best window
    missing: tuple[Word, ...]  # content words, other than numbers, found nowhere
    elsewhere: tuple[Word, ...]  # found, but not in the best window
    numbers: tuple[Number, ...]  # numbers found nowhere, or as another quantity only


def measure(text: str, claim: Sequence[Word], evidence: Evidence) -> ClaimFeatures:
    """Compare a claim with a text. The claim must have a content word and the evidence a word."""
    content = [word for word in claim if word.content]
    kinds = list(dict.fromkeys(word.key for word in content))
    credit_of = np.zeros((len(kinds), len(evidence.sentences)))  # 1: the sentence has the word; RELATIVE: a relative
    for row, key in enumerate(kinds):
        checkpoint()
        is_long = len(key) > PREFIX and key.isalpha()
        relatives = evidence.relatives.get(key[:PREFIX], ()) if is_long else ()
        for other, credit in [(relative, RELATIVE) for relative in relatives] + [(key, 1.0)]:
            for position in evidence.places.get(other, ()):
                at = evidence.sentence_of(position)
                credit_of[row, at] = max(credit_of[row, at], credit)
    anywhere = credit_of.max(axis=1)
    share, best = _best_window(credit_of)
    found = dict(zip(kinds, anywhere > 0, strict=True))
    inside = dict(zip(kinds, credit_of[:, best[0] : best[1]].max(axis=1) > 0, strict=True))
    keys = [word.key for word in claim]
    lengths = _fragment_lengths(keys, evidence)
    return ClaimFeatures(
        Overlap(float(anywhere.mean()), share, sum(length * length for length in lengths) / len(keys) ** 2),
        best=best,
        missing=tuple(word for word in content if word.number is None and not found[word.key]),
        elsewhere=tuple(word for word in content if found[word.key] and not inside[word.key]),
        numbers=tuple(
            word.number
            for word in content
            if word.number and (word.key not in evidence.places or _is_another_quantity(text, word.number, evidence))
        ),
    )


def _is_another_quantity(text: str, number: Number, evidence: Evidence) -> bool:
    """Whether the value stands in the evidence only as another quantity: 4 % where it says $4, £4 where it says €4."""
    same = [other for other in evidence.numbers if other.value == number.value]
    kinds = {other.kind for other in same}
    if number.kind == "plain" or not same or "plain" in kinds:
        return False
    if number.kind not in kinds:
        return True
    named = [currency(evidence.text, other) for other in same if other.kind == "currency"]
    own = currency(text, number) if number.kind == "currency" else None
    return own is not None and None not in named and own not in named


def _best_window(credit_of: np.ndarray) -> tuple[float, tuple[int, int]]:
    """The share of the best sentence, and the best window: a longer one must gain LEAST_GAIN."""
    shares: list[float] = []
    best, chosen = -1.0, (0, 0)
    for size in SIZES:
        length = min(size, credit_of.shape[1])
        width = credit_of.shape[1] - length + 1
        windows = credit_of[:, :width].copy()
        for shift in range(1, length):
            np.maximum(windows, credit_of[:, shift : shift + width], out=windows)
        covered = windows.mean(axis=0)
        first = int(np.argmax(covered))
        shares.append(float(covered[first]))
        if shares[-1] > best + LEAST_GAIN:
            best, chosen = shares[-1], (first, first + length)
    return shares[0], chosen


def _fragment_lengths(keys: Sequence[str], evidence: Evidence) -> list[int]:
    """Greedy longest copied fragments, left to right (Grusky et al. 2018); words found nowhere are left out."""
    lengths = []
    at, words = 0, evidence.words
    while at < len(keys):
        checkpoint()
        longest = 1 if keys[at] in evidence.places else 0
        if at + 1 < len(keys):
            for position in evidence.pairs.get((keys[at], keys[at + 1]), ()):
                # The word that would make it the longest is looked at first: of a word said over and over, one run is
                # followed, and not that from every place.
                if longest > 1 and (
                    at + longest >= len(keys)
                    or position + longest >= len(words)
                    or keys[at + longest] != words[position + longest].key
                ):
                    continue
                run = 2
                while (
                    at + run < len(keys) and position + run < len(words) and keys[at + run] == words[position + run].key
                ):
                    run += 1
                longest = max(longest, run)
        if longest:
            lengths.append(longest)
        at += max(1, longest)
    return lengths
