"""A judge's and people's scores of summaries as two matrices systems x documents, and what is drawn from them.

Studies of systems (`prefer`, `stability`, `reliability`, `bias`) start here: `tables` sets every judge's aspect beside
people's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.meta.matrix import PairedScores, Scores
from summeter.meta.selection import Group, MetaInput, Selection, all_pairs, groups
from summeter.stats.base import Bools, Floats

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
        return {**named(self.pairs.judge, self.pairs.gold), **self.group.fields()}


def named(judge: Scores, gold: Scores | None = None) -> dict[str, Any]:
    """Judge, signature, model and aspects as fields of a row."""
    return {
        "judge": judge.judge, "signature": judge.signature, "model": judge.model, "aspect": judge.aspect,
        "gold_aspect": gold.aspect if gold else None, "gold_signature": gold.signature if gold else None,
    }  # fmt: skip


def paired_matrix(group: Group) -> PairedMatrix:
    """Pairs of summaries as two matrices."""
    pairs = group.pairs
    systems, documents = pairs.system.dense(), pairs.document.dense()
    judge, gold = (np.full((len(systems.names), len(documents.names)), np.nan) for _ in range(2))
    at = systems.codes, documents.codes
    judge[at], gold[at] = pairs.x, pairs.y
    return PairedMatrix(group, tuple(map(str, systems.names)), tuple(map(str, documents.names)), judge, gold)


def paired_matrices(read: MetaInput, selection: Selection) -> list[PairedMatrix]:
    """A table for every judge, aspect and gold, and for each value of the column to break down by.

    Raises UsageError where nobody judged summaries on what is asked (see `selection.all_pairs`).
    """
    return [
        paired_matrix(group)
        for pairs in all_pairs(read, Level.SUMMARY, selection)
        for group in groups(pairs, selection.by)
    ]


def system_means(values: Floats) -> Floats:
    """The mean of each row over the documents it has, NaN without any; rounded, so that equal means tie.

    >>> system_means(np.array([[1.0, 2.0], [4.0, np.nan]])).tolist()
    [1.5, 4.0]
    """
    counts = (~np.isnan(values)).sum(axis=1)
    sums = np.nansum(values, axis=1)
    means = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
    return np.asarray(np.round(means, _DIGITS))


def merged_details(fields: Mapping[str, Any], **details: Any) -> dict[str, Any]:
    """The fields with further details beside those that name the group."""
    return {**fields, "details": {**fields.get("details", {}), **details}}
