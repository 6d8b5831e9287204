"""Measured where many annotators each saw a few of the units, as in every campaign.

The rows are those of `meta agree`, to the number. That reads votes as a matrix of annotators by units; with hundreds of
annotators nearly all of it is empty. Here votes stay rows, the draws of documents are shared by all aspects, and an
annotator beside the others is the coefficient for the weights that count nobody else's units.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from summeter.choices import AggregationRule, Level
from summeter.meta import agree
from summeter.meta.gold import aspects, block_of, chosen, usual_rule
from summeter.meta.results import Row, interval_row
from summeter.records import UsageError
from summeter.scoring.scores import exact_means
from summeter.scoring.table import JudgmentTable, Names, row_keys
from summeter.stats import Bootstrap, Measured, krippendorff_alpha
from summeter.stats.base import Floats, Ints, ratio

ALPHAS = ("alpha_nominal", "alpha_ordinal", "alpha_interval")
"""What is computed here; other coefficients are left to `meta agree`."""
_CELLS = 1_000_000


class Beside(NamedTuple):
    """An annotator beside the merged votes of the others, on one aspect: the coefficient of `n` shared units."""

    annotator: str
    aspect: str
    value: float | None
    n: int


class _Votes(NamedTuple):
    """The votes on one aspect, a row each: annotator and unit as codes. `document` is that of each unit."""

    aspect: str
    rater: Names
    unit: Ints
    value: Floats
    document: Ints
    level: str
    block: str
    rule: AggregationRule

    @property
    def units(self) -> int:
        return len(self.document)

    def matrix(self) -> Floats:
        """The votes of each unit as a column, without the annotators' identity (`meta`'s slots)."""
        slot = self.slot()
        votes = np.full((int(slot.max(initial=0)) + 1, self.units), np.nan)
        votes[slot, self.unit] = self.value
        return votes

    def slot(self) -> Ints:
        """The place of each vote among those on its unit: 0, 1, ..."""
        order = np.argsort(self.unit, kind="stable")
        sizes = np.bincount(self.unit, minlength=self.units)
        slot = np.empty(len(order), np.int64)
        slot[order] = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[self.unit[order]]
        return slot

    def others(self) -> Floats:
        """For each vote the others on the same unit merged, as `meta agree` merges them (NaN: none)."""
        if self.rule is AggregationRule.MEAN:
            return self._others_mean()
        names, code = np.unique(self.value, return_inverse=True)
        given = np.bincount(self.unit * len(names) + code, minlength=self.units * len(names))
        others = given.reshape(-1, len(names))[self.unit]
        others[np.arange(len(code)), code] -= 1
        most = others.max(axis=1, keepdims=True)
        sole = (most[:, 0] > 0) & ((others == most).sum(axis=1) == 1)
        return np.where(sole, names[others.argmax(axis=1)], np.nan)

    def _others_mean(self) -> Floats:
        if not (self.value % 1).any():  # sums of whole numbers are right as they stand
            count = np.bincount(self.unit, minlength=self.units)[self.unit] - 1
            total = np.bincount(self.unit, weights=self.value, minlength=self.units)[self.unit] - self.value
            return ratio(total, count)
        slot, mean = self.slot(), np.full(len(self.value), np.nan)
        last = np.bincount(self.unit, minlength=self.units)[self.unit] - 1
        for place in range(int(last.max(initial=-1)) + 1):
            own, rest = slot == place, (slot != place) & (last >= place)
            counts = np.bincount(self.unit[rest], minlength=self.units)
            mean[own] = exact_means(self.value[rest], self.unit[rest], counts)[self.unit[own]]
        return mean


class CrowdVotes:
    """The votes in a table of judgments, by aspect. Pairs of summaries must be named as one unit."""

    def __init__(self, table: JudgmentTable) -> None:
        self.table = table

    @cached_property
    def by_aspect(self) -> tuple[_Votes, ...]:
        """Those on each aspect that two annotators or more judged."""
        return tuple(_votes(self.table))


def headline(crowd: CrowdVotes, coefficient: str, resamples: int, *, seed: int = 0) -> list[Row]:
    """A row an aspect: the coefficient of all annotators, with its interval by document.

    Raises UsageError where there are no votes of two annotators.
    """
    if coefficient not in ALPHAS:
        return list(agree(crowd.table, coefficients=[coefficient], resamples=resamples, seed=seed))
    measured = [(votes, _alpha(votes, coefficient)) for votes in crowd.by_aspect]
    if not measured:
        raise UsageError("no unit has the answers of two annotators")
    drawn: dict[bytes, list[tuple[_Votes, Measured]]] = {}
    for votes, alpha in measured:
        drawn.setdefault(votes.document.tobytes(), []).append((votes, alpha))
    rows: dict[str, Row] = {}
    for group in drawn.values():
        bootstrap = Bootstrap(group[0][0].document, resamples, seed=seed)
        samples = bootstrap.samples(*(alpha.weighted for _, alpha in group))
        for (votes, alpha), values in zip(group, samples, strict=True):
            rows[votes.aspect] = _row(votes, alpha, coefficient, bootstrap, values)
    return [rows[votes.aspect] for votes, _ in measured]


def beside_others(crowd: CrowdVotes, coefficient: str) -> Iterator[Beside]:
    """Each annotator beside the merged votes of the others, on each aspect: `meta agree`'s rows `annotator`."""
    if coefficient not in ALPHAS:
        for row in agree(crowd.table, coefficients=[coefficient], each=True, resamples=0).where(study="annotator"):
            yield Beside(str(row.judge), str(row.aspect), row.value, row.n)
        return
    for votes in crowd.by_aspect:
        others = votes.others()
        alpha = krippendorff_alpha(
            np.stack([votes.value, others]), coefficient.removeprefix("alpha_"), votes.rater.codes
        )
        raters = len(votes.rater.names)
        own = np.bincount(votes.rater.codes[~np.isnan(others)], minlength=raters)
        # A weight of 1 for one annotator's units and of 0 for all others is the coefficient of that annotator.
        parts = max(1, raters * max(raters, len(others)) // _CELLS) if coefficient == "alpha_ordinal" else 1
        values = np.concatenate([alpha.weighted(weights) for weights in np.array_split(np.eye(raters), parts)])
        for name, value, n in zip(votes.rater.names, values.tolist(), own.tolist(), strict=True):
            yield Beside(str(name), votes.aspect, None if np.isnan(value) else value, n)


def _votes(table: JudgmentTable) -> Iterator[_Votes]:
    """The votes on each aspect that two annotators or more judged."""
    for aspect in aspects(table):
        rows = chosen(table, aspect, Level.SUMMARY) if aspect in table.aspect.names else None
        if rows is None:
            continue
        value = np.where(np.isnan(rows.label), rows.value, rows.label)
        if np.isnan(value).any():
            rows, value = rows.take(~np.isnan(value)), value[~np.isnan(value)]
        rater = rows.judge.dense()
        if len(rater.names) < 2:
            continue
        _, first, unit = np.unique(
            row_keys(rows.document, rows.system, rows.unit, rows.list_id, rows.index + 1),
            return_index=True,
            return_inverse=True,
        )
        level, signature = (column.labels()[0] for column in (rows.unit, rows.signature))
        yield _Votes(
            aspect, rater, unit.astype(np.int64), value, rows.document.codes[first], str(level), block_of(signature),
            usual_rule(rows),
        )  # fmt: skip


def _alpha(votes: _Votes, coefficient: str) -> Measured:
    """The coefficient, as a function of the weights of documents."""
    documents = np.unique(votes.document, return_inverse=True)[1].astype(np.int64)
    return krippendorff_alpha(votes.matrix(), coefficient.removeprefix("alpha_"), documents)


def _row(votes: _Votes, alpha: Measured, coefficient: str, bootstrap: Bootstrap, samples: Floats) -> Row:
    """As `meta agree` makes it."""
    if alpha.value is None:
        interval = bootstrap.alone(None, alpha.reason or "", n=alpha.n, missing=alpha.missing)
    else:
        interval = bootstrap.of_samples(alpha.value, samples, n=alpha.n, missing=alpha.missing)
    return interval_row(
        interval,
        study="agreement",
        statistic=coefficient,
        aspect=votes.aspect,
        gold_aspect=votes.aspect,
        level=votes.level,
        gold_signature=f"human.{votes.block}|merge:none|v:1",
        details={**alpha.details, "raters": len(votes.rater.names)},
    )
