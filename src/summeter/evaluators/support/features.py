"""What is measured of a claim against an evidence text, each number oriented and explained.

Shares lie in 0..1 and more is better; penalties are at least 0 and more is worse. The scorer's weights are kept
non-negative for shares and non-positive for penalties, so no feature can ever count against its meaning. Conflicts
(another number, a negation, exchanged roles) are no features: `checks.py` finds them.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from summeter.evaluators.support.analysis import Word
from summeter.evaluators.support.evidence import PREFIX, Evidence
from summeter.evaluators.support.numbers import Number
from summeter.interrupt import checkpoint

SHARES = (
    "words",  # content words found anywhere, rare ones counting more
    "sentence",  # the same within the best single sentence
    "unigrams",  # all words found anywhere (ROUGE-1 precision on stems, unclipped)
    "near",  # neighbouring content words found near each other, in this order
    "density",  # sum of squared lengths of copied fragments over squared claim length: 1 for one contiguous copy
)
PENALTIES = (
    "missing",  # ln(1 + weighted number of content words found nowhere)
    "apart",  # ln(1 + neighbouring content words that are both found but share no sentence): a splice
)
FEATURES = SHARES + PENALTIES
REVISION = "6"  # raise when a feature, a check, the stemmer or a word list changes: it is signed
SIZES = (1, 2, 3, 5)
RELATIVE = 0.5  # credit for a word of which only a relative (same first letters) is found
_NEAR = 4


@dataclass(frozen=True)
class Measured:
    """The features of one claim and the findings that its reasons are written from."""

    features: dict[str, float]
    best: tuple[int, int]  # sentences first..last of the best window
    missing: tuple[Word, ...]  # content words, other than numbers, found nowhere
    elsewhere: tuple[Word, ...]  # found, but not in the best window
    numbers: tuple[Number, ...]  # numbers found nowhere


def _kin(key: str, evidence: Evidence) -> tuple[str, ...]:
    if len(key) <= PREFIX or not key.isalpha():
        return ()
    return evidence.relatives.get(key[:PREFIX], ())


def _conflicts(number: Number, evidence: Evidence) -> bool:
    """Whether the value stands in the evidence only as another kind of quantity: 4 % where it says $4."""
    if number.kind == "plain":
        return False
    kinds = {other.kind for other in evidence.numbers if other.value == number.value}
    return bool(kinds) and number.kind not in kinds and "plain" not in kinds


def _credits(keys: Sequence[str], evidence: Evidence) -> np.ndarray:
    """(keys, sentences) matrix: 1 where the sentence has the word, RELATIVE where only a relative of it."""
    table = np.zeros((len(keys), len(evidence.sentences)))
    for row, key in enumerate(keys):
        checkpoint()
        for other, credit in [(kin, RELATIVE) for kin in _kin(key, evidence)] + [(key, 1.0)]:
            for position in evidence.places.get(other, ()):
                at = evidence.sentence_of(position)
                table[row, at] = max(table[row, at], credit)
    return table


def _sliding(table: np.ndarray, size: int) -> np.ndarray:
    """(keys, windows) maximum over windows of ``size`` neighbouring sentences; one window if there are fewer."""
    size = min(size, table.shape[1])
    width = table.shape[1] - size + 1
    best = table[:, :width].copy()
    for shift in range(1, size):
        np.maximum(best, table[:, shift : shift + width], out=best)
    return best


def _windows(table: np.ndarray, weights: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Coverage of the best sentence, and the best window: a longer one must gain a tenth."""
    shares: list[float] = []
    best, chosen = -1.0, (0, 0)
    for size in SIZES:
        covered = weights @ _sliding(table, size) / weights.sum()
        first = int(np.argmax(covered))
        shares.append(float(covered[first]))
        if shares[-1] > best + 0.1:
            best, chosen = shares[-1], (first, min(first + size, table.shape[1]))
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


def _near(content: Sequence[Word], evidence: Evidence) -> list[bool]:
    """For neighbouring words whether they are found near each other, in this order."""
    near: dict[tuple[str, str], bool] = {}
    pairs = [(left.key, right.key) for left, right in pairwise(content)]
    for pair in dict.fromkeys(pairs):
        checkpoint()
        before, after = (evidence.places.get(key, []) for key in pair)
        if len(before) <= len(after):
            near[pair] = any(_any_within(after, at + 1, at + _NEAR) for at in before)
        else:
            near[pair] = any(_any_within(before, at - _NEAR, at - 1) for at in after)
    return [near[pair] for pair in pairs]


def _any_within(positions: Sequence[int], first: int, last: int) -> bool:
    """Whether any of the rising positions lies in first..last."""
    at = bisect_left(positions, first)
    return at < len(positions) and positions[at] <= last


def measure(claim: Sequence[Word], evidence: Evidence, common: Mapping[str, float]) -> Measured:
    """All features of one claim. ``common`` gives everyday words (stems) a weight below 1.

    The claim must have at least one content word and the evidence at least one word.
    """
    keys = [word.key for word in claim]
    content = [word for word in claim if word.content]
    kinds = list(dict.fromkeys(word.key for word in content))
    weights = np.array([common.get(key, 1.0) for key in kinds])
    table = _credits(kinds, evidence)
    anywhere = table.max(axis=1)
    share, best = _windows(table, weights)
    inside = table[:, best[0] : best[1]].max(axis=1)
    credit = dict(zip(kinds, anywhere, strict=True))
    here = dict(zip(kinds, inside, strict=True))
    near = _near(content, evidence)
    rows = {key: table[i] > 0 for i, key in enumerate(kinds)}
    apart = sum(
        credit[a.key] > 0 < credit[b.key] and not bool(np.any(rows[a.key] & rows[b.key])) for a, b in pairwise(content)
    )
    lengths = _fragment_lengths(keys, evidence)
    unigrams = sum(key in evidence.places for key in keys) / len(keys)
    gone = [w for w in content if w.number and (w.key not in evidence.places or _conflicts(w.number, evidence))]
    missing = tuple(word for word in content if word.number is None and credit[word.key] == 0)
    lost = sum(common.get(word.key, 1.0) * (1 - credit[word.key]) for word in content)
    features = {
        "words": float(weights @ anywhere / weights.sum()),
        "sentence": share,
        "unigrams": unigrams,
        # A claim of one word has no pairs: its words speak for it.
        "near": sum(near) / len(near) if near else unigrams,
        "density": sum(length * length for length in lengths) / len(keys) ** 2,
        "missing": math.log1p(lost),
        "apart": math.log1p(apart),
    }
    return Measured(
        features=features,
        best=best,
        missing=missing,
        elsewhere=tuple(word for word in content if credit[word.key] > 0 and here[word.key] == 0),
        numbers=tuple(word.number for word in gone if word.number is not None),
    )
