"""Correlation of judges with people, at any level, pooled or averaged, with intervals by document.

    summary level, pooled      one list of all summaries (Shen et al., Table 4; FineSurE, Table 3)
    ... averaged by document   within each document over its systems, then the mean (SummEval, REALSumm)
    ... averaged by system     within each system over its documents, then the mean; each system has a row too
    system level               over the means of systems (rank correlation of systems with `spearman`, `kendall_b`)

A group in which one side is constant has no correlation; it is left out of the mean and counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Average, Coefficient, Items, Level
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.matrix import PairedScores
from summeter.meta.resampling import Plan, average_interval, means_interval
from summeter.meta.results import Row, Study, status_of
from summeter.meta.selection import Group, Selection, all_pairs, check, groups, meta_input, notes, row, selected
from summeter.records import UsageError
from summeter.stats import (
    Interval,
    PairAccuracy,
    Statistic,
    bootstrap,
    bootstrap_mean,
    calibrate_ties,
    correlation_by_group,
    correlation_interval,
    pairwise_accuracy,
)
from summeter.stats import correlate as correlate_values
from summeter.stats.base import CONSTANT

STUDY = "correlation"
PAIRWISE = "pairwise_accuracy"
COEFFICIENTS = (*(one.value for one in Coefficient), PAIRWISE)
USUAL = ("pearson", "spearman", "kendall_b")

_MOST_PAIRS = 20_000_000
_PAIRWISE_ROWS = 200


@dataclass(frozen=True)
class Settings:
    """How correlations are computed.

    `coefficients` from COEFFICIENTS. `resamples` of the bootstrap by document, 0 for no interval. `level` is that
    of the interval. `only_significant` keeps, in an average over groups, those whose own p-value is at most this
    (REALSumm's recipe is .05: it reports the documents that agree well, so it is named in `details`).
    `calibrate_ties` finds, for pairwise accuracy, the difference under which scores count as tied.
    """

    coefficients: Sequence[str] = USUAL
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    only_significant: float | None = None
    calibrate_ties: bool = False

    def __post_init__(self) -> None:
        for name in self.coefficients:
            if name not in COEFFICIENTS:
                raise UsageError(f"no coefficient {name!r}; there are: {', '.join(COEFFICIENTS)}")

    @property
    def draws(self) -> Plan:
        """The bootstrap's part."""
        return Plan(self.resamples, self.level, self.seed)

    def says(self, drawn: Interval) -> str:
        """The interval in words."""
        if drawn.method == "normal":
            return f"{drawn.level:.0%} normal interval by document"
        return f"{drawn.level:.0%} {drawn.method} bootstrap by document, {drawn.resamples} resamples, seed {self.seed}"


class Measured(NamedTuple):
    """One statistic of one set of pairs, before it is a row."""

    value: float | None
    n: int
    missing: int
    p: float | None
    reason: str | None
    interval: Interval | None
    details: Mapping[str, Any]
    by_group: Mapping[Hashable, Statistic]


def correlate(
    run: RunLike, gold: Gold, *, level: str = Level.SUMMARY, average: str = Average.POOLED,
    aspect: str | Sequence[str] | None = None, select: Selection | None = None, settings: Settings | None = None,
) -> Study:  # fmt: skip
    """How well do the judges of a run agree with people?

    `run` is a run's folder or judgments, `gold` a data set with people's judgments or a judgment set. `aspect` is a
    name, `JUDGE:GOLD` for unlike ones, or several; without it every aspect both have. `select` says which gold and
    how annotators are merged, `settings` which coefficients and intervals.

    Rows have the study "correlation". Values lie in [-1, 1] (pairwise accuracy in [0, 1]); a correlation that does
    not exist has the value None and the reason. Raises UsageError where there is nothing to correlate.

        sm.meta.correlate(run, data.judgments("human.raw"), level="summary", average="document")
    """
    where, how = Level(level), Average(average)
    chosen, plan = selected(select, aspect), settings or Settings()
    check(where, how)
    if where is Level.SYSTEM and chosen.by == "system":
        raise UsageError("at the system level there is nothing to break down by system; give another column")
    read = meta_input(run, gold, chosen)
    found = list(all_pairs(read, where, chosen))
    rows = [made for pairs in found for made in _rows(pairs, where, how, chosen, plan)]
    return Study(STUDY, rows, notes(read, chosen, where, found))


def _rows(pairs: PairedScores, level: Level, average: Average, chosen: Selection, plan: Settings) -> Iterator[Row]:
    for part in groups(pairs, chosen.by):
        base = level.base
        at = part.pairs if level is base else part.pairs.at(level, items=chosen.items, min_items=chosen.min_items)
        group = part._replace(pairs=at)
        for name in plan.coefficients:
            yield from _of(group, name, average, plan)


def _of(group: Group, name: str, average: Average, plan: Settings) -> Iterator[Row]:
    got = measure(group.pairs, name, average, plan)
    drawn = got.interval
    low, high = (drawn.low, drawn.high) if drawn is not None else (None, None)
    lost = drawn.reason if drawn is not None and low is None else None
    yield row(
        STUDY, group, name, got.value, n=got.n, missing=got.missing, p=got.p, low=low, high=high,
        average=average.value, reason=got.reason or (lost if got.value is not None else None),
        status=status_of(got.value, drawn.status if drawn is not None else None),
        interval=plan.says(drawn) if drawn is not None and low is not None else None, details=dict(got.details),
    )  # fmt: skip
    if average is Average.SYSTEM and group.column is None:
        for system, one in got.by_group.items():
            inside = Group("system", str(system), group.pairs.take(group.pairs.system.equal(str(system))))
            yield row(
                STUDY, inside, name, one.value, n=one.n, missing=one.missing, p=one.p, reason=one.reason,
                average=Average.POOLED.value,
            )  # fmt: skip


def measure(pairs: PairedScores, name: str, average: Average, plan: Settings) -> Measured:
    """One statistic of pairs, pooled or averaged, with its interval."""
    if name == PAIRWISE:
        return _pairwise(pairs, average, plan)
    if average is Average.POOLED:
        return _pooled(pairs, name, plan)
    return _averaged(pairs, name, average, plan)


def _pooled(pairs: PairedScores, name: str, plan: Settings) -> Measured:
    got = correlate_values(pairs.x, pairs.y, name)
    drawn = None
    details: dict[str, Any] = {}
    if pairs.source is not None:
        details["items_rule"] = pairs.items.value
    if got.value is not None and plan.resamples and pairs.items is Items.COMMON:
        drawn = _interval(pairs, name, got.value, plan)
    return Measured(got.value, got.n, got.missing, got.p, got.reason, drawn, details, {})


def _interval(pairs: PairedScores, name: str, value: float, plan: Settings) -> Interval:
    if pairs.source is not None and pairs.level is Level.SYSTEM:
        return means_interval(pairs, pairs.source, name, value, plan.draws)
    return correlation_interval(pairs.x, pairs.y, name, pairs.document.codes, plan.resamples, plan.level, plan.seed)


def _averaged(pairs: PairedScores, name: str, average: Average, plan: Settings) -> Measured:
    over = pairs.document if average is Average.DOCUMENT else pairs.system
    found = correlation_by_group(pairs.x, pairs.y, list(over.labels()), name)
    entering = {key: one for key, one in found.items() if one.value is not None and _enters(one, plan)}
    values = [one.value for one in entering.values() if one.value is not None]
    reasons = [one.reason for one in found.values() if one.value is None]
    constant = sum(reason == CONSTANT for reason in reasons)
    details: dict[str, Any] = {
        "groups": len(values), "constant_groups": constant, "groups_too_small": len(reasons) - constant
    }  # fmt: skip
    if plan.only_significant is not None:
        details["only_significant"] = plan.only_significant
        details["groups_not_significant"] = len(found) - len(reasons) - len(values)
    n = pairs.n
    if not values:
        why = f"no {average.value} has a correlation: {constant} constant, {len(reasons) - constant} too small"
        return Measured(None, n, pairs.missing, None, why, None, details, found)
    value = float(np.mean(values))
    drawn = None
    if plan.resamples and average is Average.DOCUMENT:
        drawn = bootstrap_mean(values, None, plan.resamples, plan.level, plan.seed)
    elif plan.resamples and plan.only_significant is None:
        drawn = average_interval(pairs, name, value, plan.draws)
    return Measured(value, n, pairs.missing, None, None, drawn, details, found)


def _enters(one: Statistic, plan: Settings) -> bool:
    return plan.only_significant is None or (one.p is not None and one.p <= plan.only_significant)


def _pairwise(pairs: PairedScores, average: Average, plan: Settings) -> Measured:
    """Pairwise accuracy (Deutsch et al., 2023): pairs over all rows, or within documents or systems."""
    over = {Average.POOLED: None, Average.DOCUMENT: pairs.document, Average.SYSTEM: pairs.system}[average]
    labels = None if over is None else over.codes
    sizes = np.bincount(labels[pairs.kept]) if labels is not None else np.array([pairs.n])
    if int((sizes * (sizes - 1) // 2).sum()) > _MOST_PAIRS:
        why = f"more than {_MOST_PAIRS:,} pairs; average by document"
        return Measured(None, pairs.n, pairs.missing, None, why, None, {}, {})
    how = "pooled" if labels is None else "group"
    got: PairAccuracy = (
        calibrate_ties(pairs.y, pairs.x, labels, how) if plan.calibrate_ties
        else pairwise_accuracy(pairs.y, pairs.x, labels, 0.0, how)
    )  # fmt: skip
    details = {"epsilon": got.epsilon, "pairs": got.pairs, "ties": "calibrated" if plan.calibrate_ties else "exact",
               "groups": got.groups, "groups_too_small": got.groups_without_pairs}  # fmt: skip
    drawn = _pairwise_interval(pairs, average, got.epsilon, plan) if got.value is not None and plan.resamples else None
    return Measured(got.value, got.n, got.missing, None, got.reason, drawn, details, {})


def _pairwise_interval(pairs: PairedScores, average: Average, epsilon: float, plan: Settings) -> Interval | None:
    """By document where it is the mean of documents, else of few rows only; the epsilon is that of all rows."""
    if average is Average.DOCUMENT:
        parts = (part for _, part in pairs.split("document"))
        values = [pairwise_accuracy(part.y, part.x, None, epsilon).value for part in parts]
        return bootstrap_mean([one for one in values if one is not None], None, plan.resamples, plan.level, plan.seed)
    if pairs.n > _PAIRWISE_ROWS or pairs.source is not None or average is Average.SYSTEM:
        return None
    return bootstrap(
        lambda x, y: pairwise_accuracy(y, x, None, epsilon).value, [pairs.x, pairs.y], pairs.document.codes,
        plan.resamples, plan.level, plan.seed,
    )  # fmt: skip
