"""Is a judge as good on good systems as on bad ones? (Shen et al., 2023, section 4.2.)

The correlation with people is computed for every system over its own summaries (study `per_candidate`), and then set
against how good people find the systems: the meta-correlation M = rho(Q, P), where P_i is the judge's correlation on
system i and Q_i the mean of people's scores of it (study `meta_correlation`). A negative M says that the judge is
the less to be trusted the better the systems are. `candidate_spread` says how much the correlations differ at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.measure import GroupValues, over_groups
from summeter.meta.options import By, Draws, GoldAtLeast, Selection, Together, study
from summeter.meta.results import Row, Study, interval_row, merged
from summeter.meta.selection import Group, meta_input, summary_groups
from summeter.stats import Bootstrap, Estimate, correlate
from summeter.stats.base import Bools, Floats, mean_present, ratio
from summeter.stats.correlation import weighted_correlations
from summeter.stats.resample import Resampling

_TOO_FEW = "too few documents for an interval"


class SystemCorrelations(NamedTuple):
    """The correlation of two matrices on each system, by coefficient, and its samples (draws x systems)."""

    systems: Sequence[str]
    statistics: dict[str, list[Estimate]]
    samples: dict[str, Floats]
    bootstrap: Bootstrap

    def values(self, name: str) -> Floats:
        """The correlations of one coefficient, NaN where undefined."""
        return np.array([np.nan if statistic.value is None else statistic.value for statistic in self.statistics[name]])

    def of(self, name: str) -> GroupValues:
        """The correlations of one coefficient with their samples."""
        return GroupValues(self.values(name), self.samples[name])

    def defined(self, name: str, *, together: bool) -> Bools:
        """The systems that count for a coefficient."""
        names = list(self.statistics) if together else [name]
        return np.asarray(~np.any([np.isnan(self.values(coefficient)) for coefficient in names], axis=0))


class StabilityOptions(Selection, GoldAtLeast, By, Together, Draws):
    """The options of `stability`."""


@study(StabilityOptions, command="RUN...")
def stability(run: RunLike, gold: Gold, options: StabilityOptions) -> Study:
    """Ask whether judges are as good on good systems as on bad ones: per-candidate and meta-correlation.

    Each coefficient is computed with itself in both steps. Intervals draw documents, the same ones for all systems,
    and compute everything anew. The p-value of the meta-correlation is that of a correlation of k systems. Raises
    UsageError where there is nothing to correlate.
    """
    coefficients = options.coefficients
    rows: list[Row] = []
    for matrix in summary_groups(meta_input(run, gold, options), options, options.by):
        grid = matrix.grid
        got = system_correlations(grid.systems, grid.judge, grid.gold, coefficients, options.resampling)
        rows += per_system_rows("per_candidate", matrix.about(), got)
        for name in coefficients:
            rows += _spread(matrix, got, name)
            # M = rho(Q, P) over the systems on which P is defined.
            quality = GroupValues(mean_present(grid.gold, axis=1), got.bootstrap.samples(partial(_means, grid.gold))[0])
            kept = got.defined(name, together=options.together) & ~np.isnan(quality.values)
            rows.append(over_systems_row(got, name, kept, quality, got.of(name), matrix.about(), "meta_correlation"))
    return Study("stability", rows)


def system_correlations(
    systems: Sequence[str], first: Floats, second: Floats, coefficients: Sequence[str], resample: Resampling
) -> SystemCorrelations:
    """Correlate two matrices systems x documents on each system, with samples over drawn documents.

    >>> got = system_correlations(
    ...     ["A"], np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]]), ["spearman"], lambda n: Bootstrap(n, 10))
    >>> round(got.statistics["spearman"][0].value, 12), got.samples["spearman"].shape
    (0.5, (10, 1))
    """
    bootstrap = resample(np.arange(first.shape[1]))
    statistics: dict[str, list[Estimate]] = {}
    samples: dict[str, Floats] = {}
    for name in coefficients:
        statistics[name] = [correlate(x, y, name) for x, y in zip(first, second, strict=True)]

        def on_each(weights: Floats, name: str = name) -> Floats:
            values = np.full((len(weights), len(first)), np.nan)
            for place, (x, y) in enumerate(zip(first, second, strict=True)):
                here = ~(np.isnan(x) | np.isnan(y))
                values[:, place] = weighted_correlations(x[here], y[here], weights[:, here], name)
            return values

        (samples[name],) = bootstrap.samples(on_each)
    return SystemCorrelations(systems, statistics, samples, bootstrap)


def per_system_rows(study: str, fields: dict[str, Any], got: SystemCorrelations) -> list[Row]:
    """One row a system and coefficient."""
    about = merged(fields, study=study, level=Level.SUMMARY.value, average="pooled")
    rows = []
    for name, statistics in got.statistics.items():
        for place, (system, stat) in enumerate(zip(got.systems, statistics, strict=True)):
            interval = got.bootstrap.of_samples(stat.value, got.samples[name][:, place])
            if stat.value is not None and stat.n <= 2:
                interval = got.bootstrap.alone(stat.value, _TOO_FEW)
            own = {"n": stat.n, "missing": stat.missing, "p": stat.p, "reason": stat.reason}
            rows.append(interval_row(interval, about, own, statistic=name, system=system))
    return rows


def _spread(matrix: Group, got: SystemCorrelations, name: str) -> Iterator[Row]:
    """How far the systems' correlations lie apart: their range and their standard deviation (population)."""
    values = got.values(name)
    kept = ~np.isnan(values)
    about = merged(matrix.about(), study="candidate_spread", level=Level.SYSTEM.value, details={"coefficient": name})
    if kept.sum() >= 2:
        ends = got.systems[int(np.nanargmin(values))], got.systems[int(np.nanargmax(values))]
        about = merged(about, details=dict(zip(("lowest", "highest"), ends, strict=True)))
    for what in ("range", "deviation"):
        estimate = over_groups(what, got.of(name), included=kept, bootstrap=got.bootstrap)
        yield interval_row(estimate, about, statistic=f"{what}_{name}")


def over_systems_row(
    got: SystemCorrelations,
    name: str,
    kept: Bools,
    first: GroupValues,
    second: GroupValues,
    about: Mapping[str, Any],
    study: str,
) -> Row:
    """The row of a correlation over systems, those that are not `kept` dropped (see `over_groups`)."""
    estimate = over_groups(name, first, second, included=kept, bootstrap=got.bootstrap)
    dropped = [system for system, here in zip(got.systems, kept, strict=True) if not here]
    details = {"k": estimate.n, "dropped": dropped}
    return interval_row(estimate, about, study=study, statistic=name, level=Level.SYSTEM.value, details=details)


def _means(values: Floats, weights: Floats) -> Floats:
    """The mean of each system in each draw (draws x systems)."""
    there = ~np.isnan(values)
    return ratio(weights @ np.where(there, values, 0.0).T, weights @ there.T.astype(np.float64))
