"""Longest common subsequences of words, bit-parallel, so that whole documents can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from summeter.interrupt import checkpoint

_STEPS: Final = 64  # words between two looks at whether to go on


class LcsSide(NamedTuple):
    """A word sequence made ready to be compared: for each word the set of its positions, as bits of an integer."""

    words: Sequence[str]
    places: dict[str, int]

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """Make a sequence ready."""
        places: dict[str, int] = {}
        for at, word in enumerate(words):
            places[word] = places.get(word, 0) | 1 << at
        return cls(words, places)


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence: O(len(left) len(right) / word size).

    >>> lcs_length("abcde", "xbdy")
    2
    """
    row = full = (1 << len(right)) - 1
    places = LcsSide.of(right).places
    for at, word in enumerate(left):
        if not at % _STEPS:
            checkpoint()
        row = _next_row(row, places.get(word, 0), full)
    return (row ^ full).bit_count()


def lcs_indexes(left: Sequence[str], right: LcsSide) -> list[int]:
    """Indexes in `left`, ascending, of one longest common subsequence: of several, the one `rouge_score` picks.

    It walks back from the ends of both, takes equal words, else goes back in `right` where the table of lengths
    is greater that way, else in `left`. Memory: len(left) len(right) bits.

    >>> lcs_indexes("abcde", LcsSide.of("xbdy"))
    [1, 3]
    """
    full = (1 << len(right.words)) - 1
    rows = [full]
    for at, word in enumerate(left):
        if not at % _STEPS:
            checkpoint()
        rows.append(_next_row(rows[-1], right.places.get(word, 0), full))
    i, j = len(left), len(right.words)
    taken: list[int] = []
    while i and j:
        if left[i - 1] == right.words[j - 1]:
            i, j = i - 1, j - 1
            taken.append(i)
        elif _value(rows[i], j - 1) > _value(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return taken[::-1]


def _next_row(row: int, places: int, full: int) -> int:
    """The next row of the table as a bit vector (Hyyrö, 2004): bit j is 0 where the length steps up at column j."""
    both = row & places
    return ((row + both) | (row - both)) & full


def _value(row: int, column: int) -> int:
    """The table's entry: the number of steps (zero bits) in the first `column` columns."""
    return column - (row & ((1 << column) - 1)).bit_count()
