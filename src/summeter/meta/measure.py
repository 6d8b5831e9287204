"""Measure statistics of a sample, pooled or averaged, by group, and with intervals.

estimate       return a statistic of a sample as an `Estimate`
measure        return rows of several statistics, for all units and for each value of a column
over_groups    return a statistic over groups, such as a meta-correlation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from summeter.choices import Average, Level
from summeter.meta.coefficients import STATISTICS, Statistic, scale_of
from summeter.meta.results import Row, interval_row, merged, named
from summeter.meta.sample import Sample, rounded, rows_by_name
from summeter.meta.selection import groups
from summeter.stats import (
    Bootstrap,
    Estimate,
    Measurement,
    correlate,
    correlation_by_group,
)
from summeter.stats.base import ALL_MISSING, CONSTANT, EMPTY, Bools, Floats, Ints, mean_present, undefined
from summeter.stats.correlation import CORRELATIONS, weighted_correlations
from summeter.stats.resample import Resampling

FEWEST_GROUPS = 3
"""Minimum number of groups of a correlation."""


def pooled_measurement(sample: Sample, statistic: Statistic) -> tuple[Measurement, Ints]:
    """Return a statistic of all units together, and the cluster (document) of each resampled row."""
    if (why := statistic.unsuited(sample)) is not None:
        return Measurement(None, 0, len(sample), reason=why, details=_raters(sample)), np.zeros(0, np.int64)
    used = sample.take(sample.complete) if statistic.two else sample
    if used.level == Level.SYSTEM and used.summaries is not None:
        # For means of systems, the documents of the averaged summaries are resampled.
        rows = used.summaries.take(
            used.summaries.complete & used.summaries.units.system.equal(*used.units.system.used())
        )
        used = replace(used, summaries=rows)
        drawn = rows.units.document.codes
    else:
        drawn = used.units.document.codes
    clusters = _dense(drawn)
    whole = statistic.of(used, clusters)
    if not statistic.two:
        scale = {"scale": list(scale_of(sample))} if statistic.on_scale else {}
        return replace(whole, details={**scale, **whole.details, **_raters(sample)}), clusters
    reason = ALL_MISSING if whole.reason == EMPTY and sample.missing else whole.reason
    return replace(whole, missing=sample.missing, reason=reason), clusters


def _raters(sample: Sample) -> dict[str, Any]:
    voted = len(np.unique(sample.rater[~np.isnan(sample.value)]))
    return {"raters": voted, **({"exchangeable": True} if sample.exchangeable else {})}


def estimate(
    sample: Sample,
    statistic: Statistic | str,
    draws: Resampling,
    within: Average = Average.POOLED,
    *,
    only_significant: float | None = None,
) -> Estimate:
    """Return a statistic of all units together, or the mean of a statistic over groups.

    If `within` is given, the statistic is computed within each document or system and averaged. Intervals resample
    documents: `draws` creates the bootstrap from the labels of documents. `only_significant` restricts a mean over
    groups to the groups whose p-value is at most this number. Groups without a value are left out and counted in
    `details`.
    """
    how = STATISTICS[statistic] if isinstance(statistic, str) else statistic
    if within is Average.POOLED:
        whole, clusters = pooled_measurement(sample, how)
        return whole.estimate(draws(clusters))
    if how.averages:
        whole = how.of(sample, _dense(sample.units.document.codes), within=within)
        return whole.estimate(draws(0))
    inside = by_group(sample, how, within, with_p=only_significant is not None)
    defined = {group: got for group, got in inside.items() if got.value is not None}
    included = {
        group: got
        for group, got in defined.items()
        if only_significant is None or (got.p is not None and got.p <= only_significant)
    }
    values = [got.value for got in included.values() if got.value is not None]
    constant = sum(got.reason == CONSTANT for got in inside.values())
    too_small = len(inside) - len(defined) - constant
    details: dict[str, Any] = {"groups": len(values), "constant_groups": constant, "groups_too_small": too_small}
    if only_significant is not None:
        details |= {
            "only_significant": only_significant,
            "groups_not_significant": len(defined) - len(included),
        }
    if not values:
        why = f"no {within.value} has a value: {constant} are constant and {too_small} are too small"
        return replace(undefined(why, sample.n, sample.missing), details=details)
    whole = Measurement(float(np.mean(values)), sample.n, sample.missing, details=details)
    if within is Average.DOCUMENT:
        return replace(whole, rows=np.array(values)).estimate(draws(len(values)))
    if only_significant is not None:
        why = "no interval, because the significant groups change from draw to draw"
        return replace(whole, reason=why).estimate(draws(0))
    complete = sample.take(sample.complete)
    clusters = _dense(complete.units.document.codes)
    rows_of = [np.flatnonzero(complete.units.system.codes == code) for code in np.unique(complete.units.system.codes)]
    systems = [(how.of(complete.take(rows), _dense(clusters[rows])), np.unique(clusters[rows])) for rows in rows_of]

    def mean(weights: Floats) -> Floats:
        return mean_present(np.array([system.weighted(weights[:, drawn]) for system, drawn in systems]))

    return replace(whole, weighted=mean, width=len(complete)).estimate(draws(clusters))


def _dense(clusters: Ints) -> Ints:
    """Return clusters renumbered as 0, 1, ... in ascending order."""
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)


def by_group(sample: Sample, how: Statistic, within: Average, *, with_p: bool = True) -> dict[str, Estimate]:
    """Return the statistic of each document or system, without intervals."""
    column = sample.units.groups_of(within)
    if how.name in CORRELATIONS:
        got = correlation_by_group(sample.x, sample.y, list(column.labels()), how.name, with_p=with_p)
        return {str(group): each for group, each in got.items()}
    whole = {group: pooled_measurement(sample.take(rows), how)[0] for group, rows in rows_by_name(column)}
    return {
        group: undefined(got.reason or EMPTY, got.n, got.missing)
        if got.value is None
        else Estimate(got.value, got.n, got.missing, p=got.p)
        for group, got in whole.items()
    }


def measure(
    sample: Sample,
    statistics: Iterable[Statistic | str],
    *,
    study: str,
    draws: Resampling,
    by: str | None = None,
    within: Average = Average.POOLED,
    level: Level | None = None,
    min_items: int = 1,
    only_significant: float | None = None,
    about: Mapping[str, Any] | None = None,
) -> Iterator[Row]:
    """Yield one row per statistic for all units, then for each value of the column `by`.

    A `by` of "a*b" crosses two columns. With `level`, units are documents or systems, whose values are means over
    summaries. With an average within systems, each system also has a row. `about` holds the common fields of all rows,
    by default judge and people.
    """
    for group in groups(sample, by):
        part = group.sample if level is None else group.sample.at(level, min_items=min_items)
        fields = merged({"average": within.value}, pair_fields(part) if about is None else about, group.fields())
        for each in statistics:
            how = STATISTICS[each] if isinstance(each, str) else each
            got = estimate(part, how, draws, within, only_significant=only_significant)
            yield interval_row(got, fields, study=study, statistic=how.name)
            if within is Average.SYSTEM and group.column is None and not how.averages:
                about = {"study": study, "statistic": how.name, "average": Average.POOLED.value}
                for system, inside in by_group(part, how, within).items():
                    own = pair_fields(part.take(part.units.system.equal(system)))
                    yield interval_row(inside, own, about, system=system)


def pair_fields(sample: Sample) -> dict[str, Any]:
    """Return the fields of a row that compares a judge with people.

    The fields identify both, the level, and the reasons for missing units.
    """
    details: dict[str, Any] = {"missing_reasons": reasons} if (reasons := sample.missing_reasons) else {}
    if sample.summaries is not None:
        details |= {"items": sample.summaries.n, "items_missing": sample.summaries.missing}
    fields = named(sample.judge, sample.gold)
    return merged(fields, level=str(sample.level), details=details)


# ---- statistics over groups ----


SPREADS: Mapping[str, Callable[..., Any]] = {"mean": np.mean, "range": np.ptp, "deviation": np.std}
"""Statistics over groups with one value each. The deviation is the population standard deviation."""


@dataclass(frozen=True)
class GroupValues:
    """Values of a statistic for several groups, NaN if undefined.

    `samples` holds bootstrap samples of the values (draws x groups), if an interval is needed.
    """

    values: Floats
    samples: Floats = field(default_factory=lambda: np.zeros((0, 0)))


def over_groups(
    name: str, *sides: GroupValues, included: Bools, bootstrap: Bootstrap | None = None, what: str = "systems"
) -> Estimate:
    """Return a statistic over the `included` groups.

    With one side, `name` is one of SPREADS (as for domain stability or the range of per-system correlations). With two
    sides, `name` is a correlation (as for a meta-correlation or the check of a reliability). A spread requires two
    groups and a correlation three. Values are rounded before they are correlated, so that values that are equal in
    exact arithmetic are tied. If `bootstrap` is None, there is no interval. `what` is the word for the groups in the
    reason for an undefined value.

    >>> means = GroupValues(np.array([0.9, 0.8, np.nan, 0.6]))
    >>> round(over_groups("range", means, included=~np.isnan(means.values)).value, 9)
    0.3
    """
    n, missing = int(included.sum()), int((~included).sum())
    values = [side.values[included] for side in sides]
    if name in SPREADS:
        if (n < 2 and name != "mean") or not n:
            return undefined(f"fewer than 2 {what}" if name != "mean" else f"no {what}", n, missing)
        whole = Estimate(float(SPREADS[name](values[0])), n, missing)
    else:
        if n < FEWEST_GROUPS:
            return undefined(f"{n} {what}; at least {FEWEST_GROUPS} are needed", n, missing)
        whole = replace(correlate(rounded(values[0]), rounded(values[1]), name), missing=missing)
    if bootstrap is None or whole.value is None:
        return whole
    samples = [side.samples[:, included] for side in sides]
    drawn = SPREADS[name](samples[0], axis=1) if name in SPREADS else correlate_draws(samples[0], samples[1], name)
    return replace(bootstrap.of_samples(whole.value, drawn, n=n, missing=missing), p=whole.p)


def correlate_draws(first: Floats, second: Floats, name: str) -> Floats:
    """Return the correlation of two draws x groups matrices for each row, NaN if undefined.

    Only groups with both values are used.

    >>> correlate_draws(np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 4.0, 5.0]]), "spearman").round(12).tolist()
    [1.0]
    """
    left, right = rounded(first), rounded(second)
    present = ~(np.isnan(left) | np.isnan(right))
    values = weighted_correlations(left, right, present.astype(np.float64), name)
    return np.asarray(np.where(present.sum(axis=1) >= FEWEST_GROUPS, values, np.nan))
