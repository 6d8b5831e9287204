"""Stability over systems: is a judge as reliable on good systems as on poor systems?

The studies follow Shen et al. (2023, section 4.2). The study `per_candidate` computes the correlation with people on
the summaries of each system. The study `meta_correlation` correlates these values with the quality of the systems: M =
rho(Q, P), where P_i is the judge's correlation on system i and Q_i the mean human score of system i. A negative M means
that the judge is less reliable on better systems. The study `candidate_spread` gives the range and the standard
deviation of the per-system correlations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.measure import over_groups
from summeter.meta.options import By, Coefficients, Draws, GoldAtLeast, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged
from summeter.meta.selection import meta_input, summary_groups
from summeter.stats import Bootstrap, Estimate, correlate
from summeter.stats.base import Bools, Floats, mean_present, ratio
from summeter.stats.correlation import weighted_correlations
from summeter.stats.resample import Resampling

_TOO_FEW = "too few documents for an interval"


class SystemCorrelations(NamedTuple):
    """Correlations of two matrices on each system, by coefficient, and their bootstrap samples (draws x systems)."""

    systems: Sequence[str]
    statistics: dict[str, list[Estimate]]
    samples: dict[str, Floats]
    bootstrap: Bootstrap

    def values(self, name: str) -> Floats:
        """Return the coefficient of each system, NaN if undefined."""
        return np.array([each.value for each in self.statistics[name]], dtype=np.float64)

    @property
    def defined(self) -> Bools:
        """Mask of the systems on which every coefficient is defined (Shen et al., 2023)."""
        return np.asarray(~np.isnan([self.values(name) for name in self.statistics]).any(axis=0))

    def row_over_systems(
        self, name: str, other: Floats, samples: Floats, included: Bools, *, study: str, about: Mapping[str, Any]
    ) -> Row:
        """Return the row of the correlation of a coefficient with `other` values of the systems (see `over_groups`).

        `samples` holds bootstrap samples of the other values (draws x systems) over the same draws. `details.systems`
        has the two correlated values of each of the `included` systems.
        """
        sides, drawn = (other, self.values(name)), (samples, self.samples[name])
        estimate = over_groups(name, *sides, included=included, samples=drawn, bootstrap=self.bootstrap)
        pairs = dict(zip(self.systems, np.stack(sides, axis=1).tolist(), strict=True))
        details = {
            "k": estimate.n,
            "dropped": list(compress(self.systems, ~included)),
            "systems": {system: pairs[system] for system in compress(self.systems, included)},
        }
        return interval_row(estimate, about, study=study, statistic=name, level=Level.SYSTEM.value, details=details)


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
    rows: list[Row] = []
    for matrix in summary_groups(meta_input(run, gold, options), options, options.by):
        grid, about = matrix.grid, matrix.about()
        got = system_correlations(grid.systems, grid.judge, grid.gold, options.coefficients, options.resampling)
        rows += per_system_rows("per_candidate", about, got)
        present = ~np.isnan(grid.gold)
        scores, counts = np.where(present, grid.gold, 0.0), present.astype(np.float64)
        quality = mean_present(grid.gold, axis=1)
        (samples,) = got.bootstrap.samples(
            lambda weights, scores=scores, counts=counts: ratio(weights @ scores.T, weights @ counts.T)  # type: ignore[misc]
        )
        for name in options.coefficients:
            values = got.values(name)
            spread = merged(about, study="candidate_spread", level=Level.SYSTEM.value, details={"coefficient": name})
            if (~np.isnan(values)).sum() >= 2:
                ends = {"lowest": int(np.nanargmin(values)), "highest": int(np.nanargmax(values))}
                spread = merged(spread, details={end: got.systems[place] for end, place in ends.items()})
            for what in ("range", "deviation"):
                estimate = over_groups(what, values, samples=[got.samples[name]], bootstrap=got.bootstrap)
                rows.append(interval_row(estimate, spread, statistic=f"{what}_{name}"))
            # M = rho(Q, P) over the systems on which P is defined.
            included = got.defined & ~np.isnan(quality)
            rows.append(got.row_over_systems(name, quality, samples, included, study="meta_correlation", about=about))
    return Study("stability", rows)


def system_correlations(
    systems: Sequence[str], first: Floats, second: Floats, coefficients: Sequence[str], resample: Resampling
) -> SystemCorrelations:
    """Return the correlations of two systems x documents matrices on each system.

    Bootstrap samples are drawn over documents.

    >>> got = system_correlations(
    ...     ["A"], np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]]), ["spearman"], lambda n: Bootstrap(n, 10))
    >>> got.values("spearman").round(12).tolist(), got.samples["spearman"].shape
    ([0.5], (10, 1))
    """

    def on_each(weights: Floats) -> Floats:
        values = np.full((len(weights), len(coefficients), len(first)), np.nan)
        for place, (x, y) in enumerate(zip(first, second, strict=True)):
            here = ~(np.isnan(x) | np.isnan(y))
            for number, name in enumerate(coefficients):
                values[:, number, place] = weighted_correlations(x[here], y[here], weights[:, here], name)
        return values

    bootstrap = resample(np.arange(first.shape[1]))
    statistics = {name: [correlate(x, y, name) for x, y in zip(first, second, strict=True)] for name in coefficients}
    (samples,) = bootstrap.samples(on_each)
    by_name = dict(zip(coefficients, samples.transpose(1, 0, 2), strict=True))
    return SystemCorrelations(systems, statistics, by_name, bootstrap)


def per_system_rows(study: str, fields: dict[str, Any], got: SystemCorrelations) -> Iterator[Row]:
    """Yield one row per coefficient and system."""
    about = merged(fields, study=study, level=Level.SUMMARY.value, average="pooled")
    for name, statistics in got.statistics.items():
        for system, stat, samples in zip(got.systems, statistics, got.samples[name].T, strict=True):
            interval = got.bootstrap.of_samples(stat.value, samples)
            if stat.value is not None and stat.n <= 2:
                interval = got.bootstrap.alone(stat.value, _TOO_FEW)
            counts = {"n": stat.n, "missing": stat.missing, "p": stat.p, "reason": stat.reason}
            yield interval_row(interval, about, counts, statistic=name, system=system)
