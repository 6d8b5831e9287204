"""Stability over systems: is a judge as reliable on good systems as on poor systems?

The studies follow Shen et al. (2023, section 4.2). The study `per_candidate` computes the correlation with people on
the summaries of each system. The study `meta_correlation` correlates these values with the quality of the systems: M =
rho(Q, P), where P_i is the judge's correlation on system i and Q_i the mean human score of system i. A negative M means
that the judge is less reliable on better systems. The study `candidate_spread` gives the range and the standard
deviation of the per-system correlations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.measure import GroupValues, over_groups
from summeter.meta.options import By, Coefficients, Draws, GoldAtLeast, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged
from summeter.meta.selection import Group, meta_input, summary_groups
from summeter.stats import Bootstrap, Estimate, correlate
from summeter.stats.base import Bools, Floats, mean_present, ratio
from summeter.stats.correlation import weighted_correlations
from summeter.stats.resample import Resampling

_TOO_FEW = "too few documents for an interval"


class SystemCorrelations(NamedTuple):
    """Correlations of two matrices on each system, by coefficient.

    `groups` holds their values with bootstrap samples (draws x systems).
    """

    systems: Sequence[str]
    statistics: dict[str, list[Estimate]]
    groups: dict[str, GroupValues]
    bootstrap: Bootstrap

    @property
    def defined(self) -> Bools:
        """Mask of the systems on which every coefficient is defined (Shen et al., 2023)."""
        return np.asarray(~np.any([np.isnan(groups.values) for groups in self.groups.values()], axis=0))


class StabilityOptions(Selection, GoldAtLeast, By, Coefficients, Draws):
    """The options of `stability`."""


@study(StabilityOptions, command="RUN...")
def stability(run: RunLike, gold: Gold, options: StabilityOptions) -> Study:
    """Test whether judges are equally reliable on all systems.

    The rows contain the per-candidate correlations and the meta-correlation (Shen et al., 2023), computed with the same
    coefficient. Intervals resample documents, with the same draws for all systems, and recompute both correlations. The
    p-value of the meta-correlation is that of a correlation of k systems. Raises UsageError if judges and people have
    nothing in common.
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
            present = ~np.isnan(grid.gold)
            scores, counts = np.where(present, grid.gold, 0.0), present.astype(np.float64)
            (samples,) = got.bootstrap.samples(
                lambda weights, scores=scores, counts=counts: ratio(weights @ scores.T, weights @ counts.T)  # type: ignore[misc]
            )
            quality = GroupValues(mean_present(grid.gold, axis=1), samples)
            included = got.defined & ~np.isnan(quality.values)
            sides = quality, got.groups[name]
            rows.append(over_systems_row(got, name, included, *sides, matrix.about(), "meta_correlation"))
    return Study("stability", rows)


def system_correlations(
    systems: Sequence[str], first: Floats, second: Floats, coefficients: Sequence[str], resample: Resampling
) -> SystemCorrelations:
    """Return the correlations of two systems x documents matrices on each system.

    Bootstrap samples are drawn over documents.

    >>> got = system_correlations(
    ...     ["A"], np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]]), ["spearman"], lambda n: Bootstrap(n, 10))
    >>> round(got.statistics["spearman"][0].value, 12), got.groups["spearman"].samples.shape
    (0.5, (10, 1))
    """
    bootstrap = resample(np.arange(first.shape[1]))
    statistics: dict[str, list[Estimate]] = {}
    groups: dict[str, GroupValues] = {}
    for name in coefficients:
        statistics[name] = [correlate(x, y, name) for x, y in zip(first, second, strict=True)]

        def on_each(weights: Floats, name: str = name) -> Floats:
            values = np.full((len(weights), len(first)), np.nan)
            for place, (x, y) in enumerate(zip(first, second, strict=True)):
                here = ~(np.isnan(x) | np.isnan(y))
                values[:, place] = weighted_correlations(x[here], y[here], weights[:, here], name)
            return values

        (samples,) = bootstrap.samples(on_each)
        values = np.array([each.value for each in statistics[name]], dtype=np.float64)
        groups[name] = GroupValues(values, samples)
    return SystemCorrelations(systems, statistics, groups, bootstrap)


def per_system_rows(study: str, fields: dict[str, Any], got: SystemCorrelations) -> list[Row]:
    """Return one row per system and coefficient."""
    about = merged(fields, study=study, level=Level.SUMMARY.value, average="pooled")
    rows = []
    for name, statistics in got.statistics.items():
        for place, (system, stat) in enumerate(zip(got.systems, statistics, strict=True)):
            interval = got.bootstrap.of_samples(stat.value, got.groups[name].samples[:, place])
            if stat.value is not None and stat.n <= 2:
                interval = got.bootstrap.alone(stat.value, _TOO_FEW)
            counts = {"n": stat.n, "missing": stat.missing, "p": stat.p, "reason": stat.reason}
            rows.append(interval_row(interval, about, counts, statistic=name, system=system))
    return rows


def _spread(matrix: Group, got: SystemCorrelations, name: str) -> Iterator[Row]:
    """Yield the range and the population standard deviation of the per-system correlations."""
    values = got.groups[name].values
    defined = ~np.isnan(values)
    about = merged(matrix.about(), study="candidate_spread", level=Level.SYSTEM.value, details={"coefficient": name})
    if defined.sum() >= 2:
        ends = got.systems[int(np.nanargmin(values))], got.systems[int(np.nanargmax(values))]
        about = merged(about, details=dict(zip(("lowest", "highest"), ends, strict=True)))
    for what in ("range", "deviation"):
        estimate = over_groups(what, got.groups[name], included=defined, bootstrap=got.bootstrap)
        yield interval_row(estimate, about, statistic=f"{what}_{name}")


def over_systems_row(
    got: SystemCorrelations,
    name: str,
    included: Bools,
    first: GroupValues,
    second: GroupValues,
    about: Mapping[str, Any],
    study: str,
) -> Row:
    """Return the row of a correlation over the `included` systems (see `over_groups`).

    `details.systems` has the two correlated values of each of them.
    """
    estimate = over_groups(name, first, second, included=included, bootstrap=got.bootstrap)
    dropped = [system for system, used in zip(got.systems, included, strict=True) if not used]
    pairs = zip(got.systems, np.stack([first.values, second.values], axis=1).tolist(), strict=True)
    details = {"k": estimate.n, "dropped": dropped, "systems": {key: pair for key, pair in pairs if key not in dropped}}
    return interval_row(estimate, about, study=study, statistic=name, level=Level.SYSTEM.value, details=details)
