"""Correlation of judges with people, at any level, pooled or averaged, with intervals by document.

    summary level, pooled      one list of all summaries (Shen et al., Table 4; FineSurE, Table 3)
    ... averaged by document   within each document over its systems, then the mean (SummEval, REALSumm)
    ... averaged by system     within each system over its documents, then the mean; each system has a row too
    system level               over the means of systems (rank correlation of systems with `spearman`, `kendall_b`)

A group in which one side is constant has no correlation; it is left out of the mean and counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from summeter.choices import PAIRWISE, USUAL_COEFFICIENTS, Average, Coefficient, Level
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.matrix import PairedScores, rounded
from summeter.meta.results import Row, Study, resampling
from summeter.meta.selection import (
    Group,
    Selection,
    SelectionArgs,
    all_pairs,
    check,
    check_known,
    checks_keywords,
    choose,
    groups,
    meta_input,
    notes,
    row,
)
from summeter.records import UsageError
from summeter.stats import Estimate, PairAccuracy, calibrate_ties, correlation_by_group, pairwise_accuracy
from summeter.stats import correlate as correlate_values
from summeter.stats.base import CONSTANT, Floats, mean_present, ratio
from summeter.stats.correlation import correlation_of, weighted_correlations
from summeter.stats.resample import Bootstrap, Resampling, Weighted, of_rows

STUDY = "correlation"
COEFFICIENTS = (*(coefficient.value for coefficient in Coefficient), PAIRWISE)

_MOST_PAIRS = 20_000_000
_PAIRWISE_ROWS = 200


class Options(NamedTuple):
    """How a correlation is computed besides its coefficient; see `correlate`."""

    resample: Resampling
    only_significant: float | None = None
    calibrate_ties: bool = False


class MeasuredCorrelation(NamedTuple):
    """One statistic of one set of pairs, before it is a row; of an average, also that of each group."""

    value: float | None
    n: int
    missing: int
    p: float | None = None
    reason: str | None = None
    interval: Estimate | None = None
    details: Mapping[str, Any] = {}
    by_group: Mapping[Hashable, Estimate] = {}


@checks_keywords
def correlate(
    run: RunLike,
    gold: Gold,
    *,
    level: str = Level.SUMMARY,
    average: str = Average.POOLED,
    coefficients: Sequence[str] = USUAL_COEFFICIENTS,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    only_significant: float | None = None,
    calibrate_ties: bool = False,
    **selection: Unpack[SelectionArgs],
) -> Study:
    """How well do the judges of a run agree with people?

    `run` is a run's folder or judgments, `gold` a data set with people's judgments or a judgment set. `aspect` is a
    name, `JUDGE:GOLD` for unlike ones, or several; without it every aspect both have. The other shared keywords
    (`SelectionArgs`) say which judge and gold, how annotators are merged, and by which column rows are broken down.

    `coefficients` are from COEFFICIENTS. `resamples` of the bootstrap by document (0: no intervals), with intervals at
    `confidence`. `only_significant` keeps, in an average over groups, those whose own p-value is at most this
    (REALSumm's recipe is .05: it reports the documents that agree well, so it is named in `details`).
    `calibrate_ties` finds, for pairwise accuracy, the difference under which scores count as tied.

    Rows have the study "correlation". Values lie in [-1, 1] (pairwise accuracy in [0, 1]); a correlation that does
    not exist has the value None and the reason. Raises UsageError where there is nothing to correlate.

        sm.meta.correlate(run, data.judgments("human.raw"), level="summary", average="document")
    """
    where, how = choose(Level, level, "level"), choose(Average, average, "average")
    chosen = Selection(**selection)
    check_known(coefficients, COEFFICIENTS, "coefficient")
    options = Options(resampling(resamples, confidence, seed), only_significant, calibrate_ties)
    check(where, how)
    if where is Level.SYSTEM and chosen.by == "system":
        raise UsageError("at the system level there is nothing to break down by system; give another column")
    read = meta_input(run, gold, chosen)
    studied = list(all_pairs(read, where, chosen))
    rows: list[Row] = []
    for part in (part for pairs in studied for part in groups(pairs, chosen.by)):
        at = part.pairs.at(where, min_items=chosen.min_items)
        for name in coefficients:
            rows += _rows(part._replace(pairs=at), name, how, options)
    return Study(STUDY, rows, notes(read, chosen, where, studied))


def _rows(group: Group, name: str, average: Average, options: Options) -> Iterator[Row]:
    got = measured_correlation(group.pairs, name, average, options)
    yield row(
        STUDY, group, name, got.value, got.interval, n=got.n, missing=got.missing, p=got.p, average=average.value,
        reason=got.reason, details=dict(got.details),
    )  # fmt: skip
    if average is Average.SYSTEM and group.column is None:
        for system, inside in got.by_group.items():
            part = Group("system", str(system), group.pairs.take(group.pairs.system.equal(str(system))))
            yield row(
                STUDY, part, name, inside.value, n=inside.n, missing=inside.missing, p=inside.p,
                reason=inside.reason, average=Average.POOLED.value,
            )  # fmt: skip


def measured_correlation(pairs: PairedScores, name: str, average: Average, options: Options) -> MeasuredCorrelation:
    """One statistic of pairs, pooled or averaged, with its interval."""
    if name == PAIRWISE:
        return _pairwise(pairs, average, options)
    if average is Average.POOLED:
        return _pooled(pairs, name, options)
    return _averaged(pairs, name, average, options)


def _pooled(pairs: PairedScores, name: str, options: Options) -> MeasuredCorrelation:
    got = correlate_values(pairs.x, pairs.y, name)
    interval = None
    if got.value is not None:
        means = pairs.source is not None and pairs.level is Level.SYSTEM
        interval = (means_interval if means else rows_interval)(pairs, name, options.resample)
    return MeasuredCorrelation(got.value, got.n, got.missing, got.p, got.reason, interval, {})


def rows_interval(pairs: PairedScores, name: str, resample: Resampling) -> Estimate:
    """The interval of a correlation over all rows."""
    kept = pairs.take(pairs.kept)
    bootstrap = resample(kept.document.codes)
    statistic = correlation_of(kept.x, kept.y, bootstrap.codes, name)
    return bootstrap.interval(statistic, missing=pairs.missing, width=len(kept))


def average_interval(pairs: PairedScores, name: str, resample: Resampling) -> Estimate:
    """The interval of the mean over systems of the correlation within each: documents are drawn for all alike."""
    kept = pairs.take(pairs.kept)
    inside = [np.flatnonzero(kept.system.codes == code) for code in np.unique(kept.system.codes)]
    bootstrap = resample(kept.document.codes)

    def mean(weights: Floats) -> Floats:
        return mean_present(np.array([
            weighted_correlations(kept.x[rows], kept.y[rows], weights[:, bootstrap.codes[rows]], Coefficient(name))
            for rows in inside
        ]))  # fmt: skip

    return bootstrap.interval(mean, missing=pairs.missing, width=len(kept))


def means_interval(pairs: PairedScores, name: str, resample: Resampling) -> Estimate:
    """The interval of a correlation of means of systems (`pairs`); the means are formed anew in each draw."""
    kept = entering(pairs)
    bootstrap = resample(kept.document.codes)
    missing = (pairs.source or pairs).missing
    return bootstrap.interval(of_means(kept, name, bootstrap), missing=missing, width=len(kept.system.used()))


def entering(pairs: PairedScores) -> PairedScores:
    """The rows of summaries that the means of systems in `pairs` are made of."""
    source = pairs.source or pairs
    names = set(pairs.system.take(pairs.kept).used())
    entered = np.array([name in names for name in source.system.names], dtype=np.bool_)[source.system.codes]
    return source.take(source.kept & entered)


def of_means(rows: PairedScores, name: str, bootstrap: Bootstrap) -> Weighted:
    """The correlation of the means of systems as a function of the weights of documents."""
    group = rows.system.dense().codes
    member = np.zeros((len(group), int(group.max(initial=-1)) + 1))
    member[np.arange(len(group)), group] = 1.0
    counts, *sums = (bootstrap.sums(member * side[:, None]) for side in (np.ones(len(group)), rows.x, rows.y))

    def correlation(weights: Floats) -> Floats:
        times = weights @ counts
        x, y = (rounded(ratio(weights @ side, times)) for side in sums)
        return weighted_correlations(x, y, (times > 0).astype(np.float64), Coefficient(name))

    return correlation


def _averaged(pairs: PairedScores, name: str, average: Average, options: Options) -> MeasuredCorrelation:
    over = {Average.DOCUMENT: pairs.document, Average.SYSTEM: pairs.system}[average]
    with_p = average is Average.SYSTEM or options.only_significant is not None
    by_group = correlation_by_group(pairs.x, pairs.y, list(over.labels()), name, with_p=with_p)
    values = [inside.value for inside in by_group.values() if inside.value is not None and _enters(inside, options)]
    reasons = [inside.reason for inside in by_group.values() if inside.value is None]
    constant = sum(reason == CONSTANT for reason in reasons)
    details: dict[str, Any] = {
        "groups": len(values), "constant_groups": constant, "groups_too_small": len(reasons) - constant
    }  # fmt: skip
    if options.only_significant is not None:
        details["only_significant"] = options.only_significant
        details["groups_not_significant"] = len(by_group) - len(reasons) - len(values)
    if not values:
        why = f"no {average.value} has a correlation: {constant} constant, {len(reasons) - constant} too small"
        return MeasuredCorrelation(None, pairs.n, pairs.missing, reason=why, details=details, by_group=by_group)
    value = float(np.mean(values))
    interval = None
    if average is Average.DOCUMENT:
        interval = options.resample(len(values)).mean(values)
    elif options.only_significant is None:
        interval = average_interval(pairs, name, options.resample)
    return MeasuredCorrelation(value, pairs.n, pairs.missing, interval=interval, details=details, by_group=by_group)


def _enters(inside: Estimate, options: Options) -> bool:
    return options.only_significant is None or (inside.p is not None and inside.p <= options.only_significant)


def _pairwise(pairs: PairedScores, average: Average, options: Options) -> MeasuredCorrelation:
    """Pairwise accuracy (Deutsch et al., 2023): pairs over all rows, or within documents or systems."""
    over = {Average.POOLED: None, Average.DOCUMENT: pairs.document, Average.SYSTEM: pairs.system}[average]
    labels = None if over is None else over.codes
    sizes = np.bincount(labels[pairs.kept]) if labels is not None else np.array([pairs.n])
    if int((sizes * (sizes - 1) // 2).sum()) > _MOST_PAIRS:
        why = f"more than {_MOST_PAIRS:,} pairs; average by document"
        return MeasuredCorrelation(None, pairs.n, pairs.missing, reason=why)
    how = "pooled" if labels is None else "group"
    got: PairAccuracy = (
        calibrate_ties(pairs.y, pairs.x, labels, how) if options.calibrate_ties
        else pairwise_accuracy(pairs.y, pairs.x, labels, 0.0, how)
    )  # fmt: skip
    details = {"epsilon": got.epsilon, "pairs": got.pairs, "ties": "calibrated" if options.calibrate_ties else "exact",
               "groups": got.groups, "groups_too_small": got.groups_without_pairs}  # fmt: skip
    interval = None if got.value is None else _pairwise_interval(pairs, average, got.epsilon, options.resample)
    return MeasuredCorrelation(got.value, got.n, got.missing, reason=got.reason, interval=interval, details=details)


def _pairwise_interval(pairs: PairedScores, average: Average, epsilon: float, resample: Resampling) -> Estimate | None:
    """By document where it is the mean of documents, else of few rows only; the epsilon is that of all rows."""
    if average is Average.DOCUMENT:
        each = (pairwise_accuracy(part.y, part.x, None, epsilon).value for _, part in pairs.split("document"))
        values = [value for value in each if value is not None]
        return resample(len(values)).mean(values)
    if pairs.n > _PAIRWISE_ROWS or pairs.source is not None or average is Average.SYSTEM:
        return None
    kept = pairs.take(pairs.kept)
    bootstrap = resample(kept.document.codes)
    statistic = of_rows(lambda x, y: pairwise_accuracy(y, x, None, epsilon).value, [kept.x, kept.y], bootstrap.codes)
    return bootstrap.interval(statistic, missing=pairs.missing)
