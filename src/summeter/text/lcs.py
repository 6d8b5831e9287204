"""Compute longest common subsequences of words with bit-parallel algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from summeter.interrupt import checkpoint

_STEPS: Final = 64  # number of words between checks for an interrupt


class LcsSide(NamedTuple):
    """A word sequence prepared for comparison.

    `positions` maps each word to the set of its positions, as the bits of an integer.
    """

    words: Sequence[str]
    positions: dict[str, int]

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """Prepare a word sequence for comparison."""
        positions: dict[str, int] = {}
        for at, word in enumerate(words):
            positions[word] = positions.get(word, 0) | 1 << at
        return cls(words, positions)


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    The running time is O(len(left) len(right) / machine word size).

    >>> lcs_length("abcde", "xbdy")
    2
    """
    row = full = (1 << len(right)) - 1
    positions = LcsSide.of(right).positions
    for at, word in enumerate(left):
        if not at % _STEPS:
            checkpoint()
        row = _next_row(row, positions.get(word, 0), full)
    return (row ^ full).bit_count()


def lcs_indexes(left: Sequence[str], right: LcsSide) -> list[int]:
    """Return the indexes in `left` of the longest common subsequence that `rouge_score` selects.

    The indexes are in ascending order. The trace-back starts at the ends of both sequences. Equal words are selected;
    otherwise the trace-back moves back in `right` if the table of lengths is greater in that direction, or else in
    `left`. The memory used is len(left) len(right) bits.

    >>> lcs_indexes("abcde", LcsSide.of("xbdy"))
    [1, 3]
    """
    full = (1 << len(right.words)) - 1
    rows = [full]
    for at, word in enumerate(left):
        if not at % _STEPS:
            checkpoint()
        rows.append(_next_row(rows[-1], right.positions.get(word, 0), full))
    i, j = len(left), len(right.words)
    indexes: list[int] = []
    while i and j:
        if left[i - 1] == right.words[j - 1]:
            i, j = i - 1, j - 1
            indexes.append(i)
        elif _value(rows[i], j - 1) > _value(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return indexes[::-1]


def _next_row(row: int, positions: int, full: int) -> int:
    """Return the next row of the table as bits (Hyyrö, 2004).

    Bit j is 0 if the length increases at column j.
    """
    both = row & positions
    return ((row + both) | (row - both)) & full


def _value(row: int, column: int) -> int:
    """Return an entry of the table: the number of zero bits in the first `column` columns."""
    return column - (row & ((1 << column) - 1)).bit_count()
