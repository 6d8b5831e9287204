"""Near-duplicate texts: the one rule by which documents count as the same, for looking at data and for splitting them.

Two texts are near-duplicates if their sets of word 5-grams have a Jaccard index of .7 or more. Every such pair is found
(no sampling, no seed): sets that share so much share one of their rarest members (prefix filtering: Chaudhuri et al.,
2006; Bayardo et al., 2007), and most 5-grams stand in one text alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from summeter.records import UsageError
from summeter.text.ngrams import words

THRESHOLD = 0.7
"""The least Jaccard index of near-duplicates."""
SHINGLE = 5
"""Words of a shingle."""

Ints = npt.NDArray[np.int64]
_SLACK = 1e-9  # of products of floats that stand for whole numbers


class DuplicateGroup(NamedTuple):
    """Texts that are tied by near-duplication, directly or through each other, in the order they were given.

    `similarity` is the lowest of the Jaccard indexes by which they were tied: of two texts, theirs.
    """

    ids: tuple[str, ...]
    similarity: float


def near_duplicates(
    texts: Mapping[str, str], *, threshold: float = THRESHOLD, shingle: int = SHINGLE
) -> list[DuplicateGroup]:
    """The groups of near-duplicates among texts by id; a text without any is in no group.

    Texts are compared as sets of `shingle` words in a row (lower-cased, without punctuation; a shorter text is one
    shingle, one without words is nothing's duplicate). `threshold` is the least Jaccard index, in (0, 1]. Raises
    UsageError for another threshold or a shingle of no words.

    >>> rain = "it rained all day in the valley and the river rose"  # 7 shingles
    >>> near_duplicates({"a": rain, "b": "It snowed.", "c": f"{rain} again"})  # 7 of 8 are shared
    [DuplicateGroup(ids=('a', 'c'), similarity=0.875)]
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"the threshold of near-duplicates must be above 0 and at most 1, not {threshold}")
    if shingle < 1:
        raise UsageError(f"a shingle has at least one word, not {shingle}")
    ids = list(texts)
    shingles, places = _distinct(map(_Shingles(shingle).of, texts.values()))
    group = np.arange(len(shingles))
    lowest = np.ones(len(shingles))
    for first, second in _candidates(shingles, threshold, group):
        shared = len(np.intersect1d(shingles[first], shingles[second], assume_unique=True))
        every = len(shingles[first]) + len(shingles[second]) - shared
        if shared >= threshold * every - _SLACK:
            kept, gone = sorted((group[first], group[second]))
            lowest[kept] = min(lowest[kept], lowest[gone], shared / every)
            group[group == gone] = kept
    members: dict[int, list[int]] = {}
    for index, equal in enumerate(places):
        members.setdefault(int(group[index]), []).extend(equal)
    tied = sorted((sorted(indexes), key) for key, indexes in members.items() if len(indexes) > 1)
    return [DuplicateGroup(tuple(ids[index] for index in indexes), float(lowest[key])) for indexes, key in tied]


class _Shingles:
    """Texts as sets of numbers, one a shingle: words are numbered, and runs of numbers hashed to 64 bits."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> npt.NDArray[np.uint64]:
        """The distinct shingles of a text, in order."""
        numbers = self._numbers
        codes = np.array([numbers.setdefault(word.text, len(numbers)) for word in words(text)], dtype=np.uint64)
        if not len(codes):
            return codes
        length = min(self._length, len(codes))
        hashes = np.full(len(codes) - length + 1, length, dtype=np.uint64)
        for start in range(length):
            hashes = _mixed(hashes ^ _mixed(codes[start : start + len(hashes)] + np.uint64(start + 1)))
        return np.unique(hashes)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Each number with its bits spread (SplitMix64's finalizer)."""
    values = (values + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _distinct(sets: Iterable[npt.NDArray[np.uint64]]) -> tuple[list[Any], list[list[int]]]:
    """The distinct sets that are not empty, and where each stands: equal texts are compared once."""
    places: dict[bytes, list[int]] = {}
    distinct = []
    for index, shingles in enumerate(sets):
        if len(shingles):
            if (key := shingles.tobytes()) not in places:
                distinct.append(shingles)
            places.setdefault(key, []).append(index)
    return distinct, list(places.values())


def _candidates(shingles: list[Any], threshold: float, group: Ints) -> Iterator[tuple[int, int]]:
    """Pairs of sets that may be similar enough and are not in one `group` yet, each pair once.

    With its members sorted from rare to common, a set of n shares one of its first n - ceil(threshold * n) + 1 with
    one of the other's: more may not be missing. What stands in one set alone is the rarest and leads to nobody.
    """
    if not shingles:
        return
    sizes = np.array([len(own) for own in shingles])
    shared = _shared(shingles)
    counts = np.array([len(codes) for codes in shared])
    owners = np.repeat(np.arange(len(shared)), counts)
    codes = np.concatenate(shared)
    frequency = np.bincount(codes)
    order = np.lexsort((codes, frequency[codes], owners))
    rank = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    prefix = np.array([size - math.ceil(threshold * size - _SLACK) + 1 for size in sizes.tolist()])
    leads = order[rank < np.repeat(prefix - (sizes - counts), counts)]
    leads = leads[np.lexsort((owners[leads], codes[leads]))]
    lists = _owner_lists(codes[leads], owners[leads])
    for place, mine in enumerate(lists):
        if not mine:
            continue
        others = np.unique(np.concatenate(mine))
        smaller, larger = np.minimum(sizes[others], sizes[place]), np.maximum(sizes[others], sizes[place])
        for other in others[(others > place) & (smaller >= threshold * larger - _SLACK)].tolist():
            if group[place] != group[other]:
                yield place, other


def _shared(shingles: Sequence[npt.NDArray[np.uint64]]) -> list[Ints]:
    """Of each set the members that stand in another one too, numbered."""
    every = np.sort(np.concatenate(shingles))
    repeated = np.unique(every[1:][every[1:] == every[:-1]])
    del every
    if not len(repeated):
        return [np.zeros(0, dtype=np.int64) for _ in shingles]
    shared = []
    for own in shingles:
        places = np.minimum(np.searchsorted(repeated, own), len(repeated) - 1)
        shared.append(places[repeated[places] == own])
    return shared


def _owner_lists(codes: Ints, owners: Ints) -> list[list[Ints]]:
    """For each set, lists of the sets that share a shingle with it; shingles that the same sets share count once."""
    lists: list[list[Ints]] = [[] for _ in range(int(owners.max()) + 1 if len(owners) else 0)]
    known: set[bytes] = set()
    for shared in np.split(owners, np.flatnonzero(np.diff(codes)) + 1):
        key = shared.tobytes()
        if len(shared) > 1 and key not in known:
            known.add(key)
            for owner in shared[:-1].tolist():
                lists[owner].append(shared)
    return lists
