"""A judge's and people's scores of summaries as two matrices systems x documents, and what is drawn from them.

Studies of systems (`prefer`, `stability`, `reliability`, `bias`) start here: `tables` sets every judge's aspect beside
people's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.meta.matrix import PairedScores
from summeter.meta.results import merged, named
from summeter.meta.selection import Group, MetaInput, Selection, all_pairs, groups
from summeter.stats.base import Bools, Floats, mean_present

_DIGITS = 12


class PairedMatrix(NamedTuple):
    """Scores of summaries by a judge and by people, systems x documents; NaN is missing on that side."""

    group: Group
    systems: tuple[str, ...]
    documents: tuple[str, ...]
    judge: Floats
    gold: Floats

    @property
    def pairs(self) -> PairedScores:
        """What the table was made of."""
        return self.group.pairs

    @property
    def kept(self) -> Bools:
        """The cells that both have."""
        return ~(np.isnan(self.judge) | np.isnan(self.gold))

    def fields(self) -> dict[str, Any]:
        """The fields that every row about this table has."""
        return merged(named(self.pairs.judge, self.pairs.gold), self.group.fields())


def paired_matrices(read: MetaInput, selection: Selection) -> list[PairedMatrix]:
    """The matrices of every judge, aspect and gold, and of each value of the column to break down by.

    Raises UsageError where nobody judged summaries on what is asked (see `selection.all_pairs`).
    """
    matrices = []
    for whole in all_pairs(read, Level.SUMMARY, selection):
        for group in groups(whole, selection.by):
            pairs = group.pairs
            systems, documents = pairs.system.dense(), pairs.document.dense()
            judge, gold = (np.full((len(systems.names), len(documents.names)), np.nan) for _ in range(2))
            at = systems.codes, documents.codes
            judge[at], gold[at] = pairs.x, pairs.y
            names = tuple(map(str, systems.names)), tuple(map(str, documents.names))
            matrices.append(PairedMatrix(group, *names, judge, gold))
    return matrices


def system_means(values: Floats) -> Floats:
    """The mean of each row over the documents it has, NaN without any; rounded, so that equal means tie.

    >>> system_means(np.array([[1.0, 2.0], [4.0, np.nan]])).tolist()
    [1.5, 4.0]
    """
    return np.asarray(np.round(mean_present(values, axis=1), _DIGITS))
