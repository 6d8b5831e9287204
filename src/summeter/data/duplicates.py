"""Find near-duplicates: texts whose word 5-grams have a Jaccard index of .7 or more.

All such pairs are found, without sampling, by prefix filtering (Chaudhuri et al., 2006; Bayardo et al., 2007): similar
sets share at least one of their rarest 5-grams, and most 5-grams occur in only one text.
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
"""Minimum Jaccard index of near-duplicates."""
SHINGLE = 5
"""Number of words in a shingle."""

Ints = npt.NDArray[np.int64]
_SLACK = 1e-9  # tolerance for the rounding of products that should be integers


class DuplicateGroup(NamedTuple):
    """The ids of texts that are near-duplicates, directly or transitively, in input order.

    `similarity` is the lowest Jaccard index, in (0, 1], among the pairs that connect the group.
    """

    ids: tuple[str, ...]
    similarity: float


def near_duplicates(
    texts: Mapping[str, str], *, threshold: float = THRESHOLD, shingle: int = SHINGLE
) -> list[DuplicateGroup]:
    """Return the groups of near-duplicates among texts, which are given by id.

    Texts are compared as sets of shingles, sequences of `shingle` consecutive words (lower-cased, without punctuation).
    A text with fewer words is a single shingle; a text without words has no duplicates. `threshold` is the minimum
    Jaccard index, in (0, 1]. Raises UsageError if `threshold` is outside this range or `shingle` is below 1.

    >>> rain = "it rained all day in the valley and the river rose"  # 7 shingles
    >>> near_duplicates({"a": rain, "b": "It snowed.", "c": f"{rain} again"})  # 7 of 8 are shared
    [DuplicateGroup(ids=('a', 'c'), similarity=0.875)]
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"the threshold of near-duplicates must be above 0 and at most 1, not {threshold}")
    if shingle < 1:
        raise UsageError(f"a shingle must have at least one word, not {shingle}")
    ids, numbers = list(texts), dict[str, int]()
    shingles, indexes_of = _distinct(_shingles(text, shingle, numbers) for text in texts.values())
    group = np.arange(len(shingles))
    lowest = np.ones(len(shingles))
    for first, second in _candidates(shingles, threshold, group):
        shared = len(np.intersect1d(shingles[first], shingles[second], assume_unique=True))
        union = len(shingles[first]) + len(shingles[second]) - shared
        if shared >= threshold * union - _SLACK:
            kept, merged = sorted((group[first], group[second]))
            lowest[kept] = min(lowest[kept], lowest[merged], shared / union)
            group[group == merged] = kept
    members: dict[int, list[int]] = {}
    for index, equal in enumerate(indexes_of):
        members.setdefault(int(group[index]), []).extend(equal)
    groups = sorted((sorted(indexes), key) for key, indexes in members.items() if len(indexes) > 1)
    return [DuplicateGroup(tuple(ids[index] for index in indexes), float(lowest[key])) for indexes, key in groups]


def _shingles(text: str, length: int, numbers: dict[str, int]) -> npt.NDArray[np.uint64]:
    """Return the sorted 64-bit hashes of the distinct shingles of a text; `numbers` numbers the distinct words."""
    codes = np.array([numbers.setdefault(word.text, len(numbers)) for word in words(text)], dtype=np.uint64)
    if not len(codes):
        return codes
    length = min(length, len(codes))
    hashes = np.full(len(codes) - length + 1, length, dtype=np.uint64)
    for start in range(length):
        hashes = _mixed(hashes ^ _mixed(codes[start : start + len(hashes)] + np.uint64(start + 1)))
    return np.unique(hashes)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the hashes of the numbers (the finalizer of SplitMix64)."""
    values = (values + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _distinct(sets: Iterable[npt.NDArray[np.uint64]]) -> tuple[list[Any], list[list[int]]]:
    """Return the distinct non-empty sets, and for each the indexes of the texts with this set."""
    indexes_of: dict[bytes, list[int]] = {}
    distinct = []
    for index, shingles in enumerate(sets):
        if len(shingles):
            if (key := shingles.tobytes()) not in indexes_of:
                distinct.append(shingles)
            indexes_of.setdefault(key, []).append(index)
    return distinct, list(indexes_of.values())


def _candidates(shingles: list[Any], threshold: float, group: Ints) -> Iterator[tuple[int, int]]:
    """Yield once each pair of sets that may be similar enough and is not yet in the same group.

    If the members of a set of size n are sorted from rare to common, every similar set contains one of the first n -
    ceil(threshold * n) + 1 members. Members that occur in only one set are the rarest and lead to no pair.
    """
    if not shingles:
        return
    sizes = np.array([len(members) for members in shingles])
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
    for index, neighbours in enumerate(lists):
        if not neighbours:
            continue
        others = np.unique(np.concatenate(neighbours))
        smaller, larger = np.minimum(sizes[others], sizes[index]), np.maximum(sizes[others], sizes[index])
        for other in others[(others > index) & (smaller >= threshold * larger - _SLACK)].tolist():
            if group[index] != group[other]:
                yield index, other


def _shared(shingles: Sequence[npt.NDArray[np.uint64]]) -> list[Ints]:
    """Return for each set the numbers of those members that also occur in another set."""
    every = np.sort(np.concatenate(shingles))
    repeated = np.unique(every[1:][every[1:] == every[:-1]])
    del every
    if not len(repeated):
        return [np.zeros(0, dtype=np.int64) for _ in shingles]
    shared = []
    for members in shingles:
        positions = np.minimum(np.searchsorted(repeated, members), len(repeated) - 1)
        shared.append(positions[repeated[positions] == members])
    return shared


def _owner_lists(codes: Ints, owners: Ints) -> list[list[Ints]]:
    """Return for each set the distinct lists of sets that share a shingle with it."""
    lists: list[list[Ints]] = [[] for _ in range(int(owners.max()) + 1 if len(owners) else 0)]
    known: set[bytes] = set()
    for shared in np.split(owners, np.flatnonzero(np.diff(codes)) + 1):
        key = shared.tobytes()
        if len(shared) > 1 and key not in known:
            known.add(key)
            for owner in shared[:-1].tolist():
                lists[owner].append(shared)
    return lists
