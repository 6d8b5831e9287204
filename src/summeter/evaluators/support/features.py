"""Features of the overlap between a claim and a text, and the missing words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from summeter.evaluators.support.numbers import Number, currency
from summeter.evaluators.support.words import PREFIX, Evidence, Word
from summeter.interrupt import checkpoint

WINDOW_SIZES = (1, 2, 3, 5)  # sentences
MIN_GAIN = 0.1  # minimum share of words that a longer window must add
RELATED_CREDIT = 0.5  # credit for a word if the text only has a related word, with the same first letters


class Overlap(NamedTuple):
    """The shares of the claim that occur in the text, from 0 to 1.

    ``words`` is the share of content words that occur anywhere in the text. ``sentence`` is the share in the sentence
    that contains most of them. ``density`` is the sum of the squared lengths of copied fragments, divided by the
    squared length of the claim (1 for a copy). Words that do not occur in the text form no fragment (Grusky et al.,
    2018).
    """

    words: float
    sentence: float
    density: float


@dataclass(frozen=True)
class ClaimFeatures:
    """The overlap of a claim with the evidence, and the words that reasons quote."""

    overlap: Overlap
    best: tuple[int, int]  # sentence indices of the best window, end exclusive
    missing: tuple[Word, ...]  # content words, except numbers, that the evidence lacks
    elsewhere: tuple[Word, ...]  # content words found only outside the best window
    numbers: tuple[Number, ...]  # numbers that the evidence lacks or has only as another quantity


def compute_features(text: str, claim: Sequence[Word], evidence: Evidence) -> ClaimFeatures:
    """Compute the features of a claim with the given text and words.

    The claim must contain a content word, and the evidence must contain a word.
    """
    content = [word for word in claim if word.content]
    unique_keys = list(dict.fromkeys(word.key for word in content))
    # Credit of each word in each sentence: 1 for the word itself, RELATED_CREDIT for a related word.
    word_credits = np.zeros((len(unique_keys), len(evidence.sentences)))
    for row, key in enumerate(unique_keys):
        checkpoint()
        is_long = len(key) > PREFIX and key.isalpha()
        relatives = evidence.relatives.get(key[:PREFIX], ()) if is_long else ()
        for other, credit in [(relative, RELATED_CREDIT) for relative in relatives] + [(key, 1.0)]:
            for position in evidence.positions.get(other, ()):
                at = evidence.sentence_of(position)
                word_credits[row, at] = max(word_credits[row, at], credit)
    anywhere = word_credits.max(axis=1)
    share, best = _best_window(word_credits)
    found = dict(zip(unique_keys, anywhere > 0, strict=True))
    inside = dict(zip(unique_keys, word_credits[:, best[0] : best[1]].max(axis=1) > 0, strict=True))
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
            if word.number and (word.key not in evidence.positions or _is_another_quantity(text, word.number, evidence))
        ),
    )


def _is_another_quantity(text: str, number: Number, evidence: Evidence) -> bool:
    """Return True if the evidence contains the value only as another quantity.

    Examples are $4 for 4 % and €4 for £4.
    """
    same = [other for other in evidence.numbers if other.value == number.value]
    kinds = {other.kind for other in same}
    if number.kind == "plain" or not same or "plain" in kinds:
        return False
    if number.kind not in kinds:
        return True
    currencies = [currency(evidence.text, other) for other in same if other.kind == "currency"]
    claimed = currency(text, number) if number.kind == "currency" else None
    return claimed is not None and None not in currencies and claimed not in currencies


def _best_window(word_credits: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Return the highest share of words in a sentence, and the best window.

    A longer window is better only if it adds more than MIN_GAIN.
    """
    shares: list[float] = []
    best, chosen = -1.0, (0, 0)
    for size in WINDOW_SIZES:
        length = min(size, word_credits.shape[1])
        width = word_credits.shape[1] - length + 1
        windows = word_credits[:, :width].copy()
        for shift in range(1, length):
            np.maximum(windows, word_credits[:, shift : shift + width], out=windows)
        covered = windows.mean(axis=0)
        first = int(np.argmax(covered))
        shares.append(float(covered[first]))
        if shares[-1] > best + MIN_GAIN:
            best, chosen = shares[-1], (first, first + length)
    return shares[0], chosen


def _fragment_lengths(keys: Sequence[str], evidence: Evidence) -> list[int]:
    """Return the lengths of the longest copied fragments (Grusky et al., 2018).

    The fragments are found greedily from left to right.
    """
    lengths = []
    at, words = 0, evidence.words
    while at < len(keys):
        checkpoint()
        longest = 1 if keys[at] in evidence.positions else 0
        if at + 1 < len(keys):
            for position in evidence.pairs.get((keys[at], keys[at + 1]), ()):
                # Skip this position if it cannot give a longer fragment. Otherwise, a repeated word would be followed
                # from each of its positions.
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
