"""Bootstrap resampling of clusters, and confidence intervals.

The *cluster* (normally the document) is resampled, because the scores of summaries of one document are correlated;
resampling rows would make the intervals too narrow (Field & Welsh, 2007). A draw gives every cluster a weight, which is
how often the cluster was drawn. A statistic is a function of the weights (draws x clusters) that is vectorised over the
draws; if all weights are 1, it gives the estimate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from .base import (
    ALL_MISSING,
    CONSTANT,
    EMPTY,
    Bools,
    Estimate,
    Floats,
    Ints,
    Labels,
    Seed,
    Status,
    Values,
    codes,
    complete,
    generator,
    seed_number,
    split_rows,
)

Weighted = Callable[[Floats], Floats]
"""A statistic as a function of weights (draws x clusters).

It returns one value per draw (or draws x columns), NaN if undefined.
"""

_CELLS = 500_000  # cells sampled at a time, which keeps the memory of one block near 8 MB
_KEPT = 20_000_000  # maximum number of cached counts (20 MB)
_REPEATS = 8  # mean number of repetitions of a cluster above which sampling counts is faster than sampling clusters
_MANY = 50_000
_FEWEST_DRAWS = 2
_LARGEST_POWER = 256  # squares, cubes and sums of values up to 2^256 do not overflow (the limit is 2^1024)


def _sample_counts(rng: np.random.Generator, units: int, draws: int) -> Ints:
    return rng.multinomial(units, np.full(units, 1 / units), draws) if units else np.zeros((draws, 0), np.int64)


@lru_cache(maxsize=2)
def _cached_draws(seed: int, units: int, resamples: int) -> np.ndarray[Any, np.dtype[np.unsignedinteger]]:
    """Return all draws of a seed.

    They are cached because sampling is slow and the aspects of a dataset share the draws. A count is at most the number
    of clusters; if there are more than 255, larger counts are practically impossible, because a count has the mean 1.
    """
    rng, size = generator(seed), max(1, _CELLS // max(1, units))
    sizes = [min(size, resamples - start) for start in range(0, resamples, size)]
    return np.concatenate([_sample_counts(rng, units, each).astype(np.uint8) for each in sizes or [0]])


@dataclass(frozen=True)
class Bootstrap:
    """Bootstrap draws of whole clusters with replacement, reproducible by seed.

    ``clusters`` gives the label of each row's cluster; an integer is a number of rows, each of which is a cluster.
    ``resamples`` is the number of draws (0 for no intervals); each draw contains as many clusters as there are.
    ``level`` is the confidence level, and ``by`` says what a cluster is. Raises ValueError if ``resamples`` is negative
    or ``level`` is not between 0 and 1.

    The mean of 1, 2 and 6, as a function of the weights of the rows:


    >>> import numpy as np
    >>> values = np.array([1.0, 2.0, 6.0])
    >>> got = Bootstrap(3, resamples=200).interval(lambda weights: weights @ values / weights.sum(axis=1))
    >>> got.value, got.low >= 1, got.high <= 6, got.resamples
    (3.0, True, True, 200)
    """

    clusters: Labels | int
    resamples: int = 1000
    level: float = 0.95
    seed: Seed = 0
    by: str = "document"

    def __post_init__(self) -> None:
        if self.resamples < 0:
            raise ValueError(f"resamples must not be negative, got {self.resamples}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must be between 0 and 1, got {self.level}")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.clusters if isinstance(self.clusters, int) else len(self.clusters)

    @cached_property
    def codes(self) -> Ints:
        """Cluster of each row: 0, 1, ... in order of the labels.

        Integer labels are in ascending order, other labels in order of first appearance.
        """
        if isinstance(self.clusters, int):
            return np.arange(self.clusters)
        if isinstance(self.clusters, np.ndarray) and np.issubdtype(self.clusters.dtype, np.integer):
            return np.unique(self.clusters, return_inverse=True)[1].astype(np.int64)
        return codes(self.clusters)

    @cached_property
    def units(self) -> int:
        """Number of clusters."""
        return int(self.codes.max(initial=-1)) + 1

    def sums(self, rows: Floats) -> Floats:
        """Return the sum of ``rows`` (rows, or rows x columns) within each cluster.

        >>> import numpy as np
        >>> Bootstrap(["a", "b", "a"]).sums(np.array([1.0, 2.0, 4.0])).tolist()
        [5.0, 2.0]
        """
        totals = np.zeros((self.units, *rows.shape[1:]))
        np.add.at(totals, self.codes, rows)
        return totals

    def weights(self, width: int = 1) -> Iterator[Floats]:
        """Yield blocks of weights (draws x clusters): how often each draw contains each cluster.

        The draws for an integer seed are cached if there are not too many of them. ``width`` is the number of values
        that the caller computes per draw, and limits the size of a block.

        >>> [block.sum(axis=1).tolist() for block in Bootstrap(3, resamples=2).weights()]
        [[3.0, 3.0]]
        """
        size = max(1, _CELLS // max(1, self.units, width))
        if isinstance(self.seed, int) and self.resamples * self.units <= _KEPT:
            drawn = _cached_draws(self.seed, self.units, self.resamples)
            for start in range(0, self.resamples, size):
                yield drawn[start : start + size].astype(np.float64)
            return
        rng = generator(self.seed)
        for start in range(0, self.resamples, size):
            yield _sample_counts(rng, self.units, min(size, self.resamples - start)).astype(np.float64)

    def samples(self, *statistics: Weighted, width: int = 1) -> list[Floats]:
        """Return the values of each statistic in all draws, iterating over the draws once."""
        parts: list[list[Floats]] = [[] for _ in statistics]
        for weights in self.weights(width):
            for statistic, values in zip(statistics, parts, strict=True):
                values.append(statistic(weights))
        no_draws = np.zeros((0, self.units))
        return [
            np.concatenate(values) if values else statistic(no_draws)
            for statistic, values in zip(statistics, parts, strict=True)
        ]

    def interval(
        self,
        statistic: Weighted,
        *,
        value: float | None = None,
        n: int | None = None,
        missing: int = 0,
        width: int = 1,
        undefined: str = "the statistic is undefined on the whole sample",
    ) -> Estimate:
        """Return the value of a statistic with an interval.

        ``value`` is the statistic of the whole sample, which is computed if ``value`` is None. ``n`` defaults to the
        number of rows. ``undefined`` is the reason that is given if there is no value. See ``of_samples`` for undefined
        draws.
        """
        if value is None:
            estimate = statistic(np.ones((1, self.units)))[0] if self.units else np.nan
            value = None if not np.isfinite(estimate) else float(estimate)
        if value is None or self.units < 2 or self.resamples < _FEWEST_DRAWS:
            return self.of_samples(value, np.zeros(0), n=n, missing=missing, undefined=undefined)
        (samples,) = self.samples(statistic, width=width)
        return self.of_samples(value, samples, n=n, missing=missing)

    def of_samples(
        self,
        value: float | None,
        samples: Floats,
        *,
        n: int | None = None,
        missing: int = 0,
        undefined: str = EMPTY,
    ) -> Estimate:
        """Return a value with an interval computed from its samples, one per draw.

        Undefined draws (NaN, for example for a constant sample) are left out and counted. No interval is given if there
        are fewer than 2 draws, if more than half of them are undefined, or if the ends do not enclose the value,
        because the statistic is then biased under resampling. (The rank correlation of the means of few systems is an
        example, because both sides share the noise of the resampled documents.)
        """
        shell = Estimate(
            value,
            self.rows if n is None else n,
            missing,
            method=self._method(self.resamples),
            clusters=self.units,
            resamples=self.resamples,
        )
        if value is None:
            return replace(shell, status=Status.UNDEFINED, reason=undefined)
        if self.units < 2:
            what = "values" if isinstance(self.clusters, int) else "clusters"
            return replace(shell, status=Status.NO_INTERVAL, reason=f"fewer than 2 {what}: no interval")
        if self.resamples < _FEWEST_DRAWS:
            reason = f"{self.resamples} resample{'s' * (self.resamples != 1)}: no interval"
            return replace(shell, status=Status.NO_INTERVAL, reason=reason)
        drawn = samples[np.isfinite(samples)]
        lost = self.resamples - len(drawn)
        shell = replace(shell, resamples=len(drawn), lost=lost, method=self._method(len(drawn), lost))
        if lost * 2 > self.resamples:
            reason = f"the statistic is undefined in {lost} of {self.resamples} resamples"
            return replace(shell, status=Status.NO_INTERVAL, reason=reason)
        low, high = np.quantile(drawn, [(1 - self.level) / 2, (1 + self.level) / 2]).tolist()
        rounding = 1e-12 + 1e-9 * max(abs(low), abs(high), abs(value))
        if not low - rounding <= value <= high + rounding:
            reason = f"biased under resampling (draws from {low:.3g} to {high:.3g}): no interval"
            return replace(shell, status=Status.NO_INTERVAL, reason=reason)
        left_out = f"{lost} of {self.resamples} resamples undefined, left out" if lost else None
        return replace(shell, low=low, high=high, reason=left_out or (CONSTANT if low == high else None))

    def _method(self, resamples: int, lost: int = 0) -> str:
        """Return a description of an interval from ``resamples`` draws, of which ``lost`` others have no value."""
        count = f"{resamples} of {resamples + lost}" if lost else f"{resamples}"
        seed = seed_number(self.seed)
        seeded = "" if seed is None else f", seed {seed}"
        return f"{100 * self.level:g}% percentile bootstrap by {self.by}, {count} resamples{seeded}"

    def alone(self, value: float | None, reason: str, *, n: int | None = None, missing: int = 0) -> Estimate:
        """Return a value without an interval (or an undefined value), with the reason."""
        got = self.of_samples(value, np.zeros(0), n=n, missing=missing, undefined=reason)
        if value is None:
            return got
        return replace(got, resamples=0, lost=0, method=self._method(0), status=Status.NO_INTERVAL, reason=reason)

    def mean(self, values: Values) -> Estimate:
        """Return the mean of the rows' ``values`` (None or NaN if missing) with an interval.

        The mean of a draw is the sum of its values divided by their number, so that every row has the same weight as in
        the plain mean. Clusters without a value are not resampled, and the order of the rows does not matter. Clusters
        with the same sum and size are sampled as one multinomial count, which has the same distribution. With at least
        50,000 clusters whose sums are not skewed, the interval is normal, as ``method`` says.

        >>> got = Bootstrap(5, seed=7).mean([1, 0, 1, 1, None])
        >>> got.value, got.n, got.missing, got.low <= 0.75 <= got.high
        (0.75, 4, 1, True)
        """
        (column,), kept = complete(values)
        # Scale by a power of two if sums of the values, or of their squares, could overflow.
        power = int(np.frexp(np.abs(column).max(initial=0.0))[1])
        if power > _LARGEST_POWER:
            small = self.mean(np.ldexp(np.asarray(values, dtype=np.float64), -power))
            sizes = (small.value, small.low, small.high)
            value, low, high = (None if size is None else float(np.ldexp(size, power)) for size in sizes)
            return replace(small, value=value, low=low, high=high)
        n, missing = len(column), int((~kept).sum())
        used = self.subset(kept)
        if n == 0:
            return used.of_samples(None, column, n=n, missing=missing, undefined=empty_reason(missing))
        sums, counts = column, np.ones(len(column))
        if not isinstance(used.clusters, int):
            sums = np.bincount(used.codes, weights=column).astype(np.float64)
            counts = np.bincount(used.codes).astype(np.float64)
        mean = float(sums.sum() / n)
        order = np.lexsort((counts, sums))  # makes the result independent of the order of the rows
        sums, counts = sums[order], counts[order]
        if len(sums) < 2 or self.resamples < _FEWEST_DRAWS:
            return used.of_samples(mean, np.zeros(0), n=n, missing=missing)
        error = _normal_error(sums, counts, mean)
        if error is not None:
            step = NormalDist().inv_cdf((1 + self.level) / 2) * error
            method = f"{100 * self.level:g}% normal interval by {self.by}"
            return Estimate(mean, n, missing, mean - step, mean + step, method=method, clusters=len(sums))
        samples = _mean_samples(sums, counts, self.resamples, generator(self.seed))
        return used.of_samples(mean, samples, n=n, missing=missing)

    def subset(self, mask: Bools) -> "Bootstrap":
        """Return the bootstrap of the rows in a mask.

        Raises ValueError if the length of the mask is not the number of rows.
        """
        if len(mask) != self.rows:
            raise ValueError(f"{self.rows} cluster labels for {len(mask)} rows")
        if mask.all():
            return self
        left = int(mask.sum()) if isinstance(self.clusters, int) else self.codes[mask]
        return Bootstrap(left, self.resamples, self.level, self.seed, self.by)


def undefined_in_all(weights: Floats) -> Floats:
    """Return NaN for every draw, for a statistic without an interval."""
    return np.full(len(weights), np.nan)


@dataclass(frozen=True)
class Measurement:
    """A statistic of rows: the value, and a function of cluster weights.

    ``value`` is None if the statistic is undefined; ``reason`` then says why. ``n`` rows were used and ``missing`` were
    not. ``p`` is the two-sided p-value, if there is one. ``details`` holds further figures.

    ``weighted`` maps weights (draws x clusters) to the statistic, and ``width`` is the number of values that
    ``weighted`` computes per draw. A statistic that is a mean sets ``rows`` instead: the values to be averaged (NaN if
    undefined), one per row or one per cluster. If neither is given, no interval is computed.
    """

    value: float | None
    n: int
    missing: int = 0
    p: float | None = None
    reason: str | None = None
    weighted: Weighted = undefined_in_all
    width: int = 1
    rows: Floats | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def estimate(self, bootstrap: Bootstrap) -> Estimate:
        """Return the value with an interval.

        ``bootstrap.codes`` must be the clusters that ``weighted`` expects.

        >>> import numpy as np
        >>> values = np.array([1.0, 2.0, 6.0])
        >>> mean = Measurement(3.0, 3, weighted=lambda weights: weights @ values / weights.sum(axis=1))
        >>> mean.estimate(Bootstrap(3, resamples=200)).low >= 1
        True
        """
        counts: dict[str, Any] = {"n": self.n, "missing": self.missing}
        if self.value is None:
            got = bootstrap.alone(None, self.reason or EMPTY, **counts)
        elif self.rows is not None:
            drawn = bootstrap if len(self.rows) == bootstrap.rows else replace(bootstrap, clusters=len(self.rows))
            got = replace(drawn.mean(self.rows), **counts)
        elif self.weighted is undefined_in_all:
            got = bootstrap.alone(self.value, self.reason or "", **counts)
        else:
            got = bootstrap.interval(self.weighted, value=self.value, **counts, width=self.width)
        return replace(got, p=self.p, details=self.details)


Resampling = Callable[[Labels | int], Bootstrap]
"""A function that makes a `Bootstrap` from cluster labels or a number of rows."""


def of_rows(statistic: Callable[..., float | None], columns: Sequence[Floats], labels: Ints) -> Weighted:
    """Return a statistic of rows as a function of cluster weights.

    Every row is repeated as often as its cluster was drawn.
    """
    groups = [rows for _, rows in split_rows(labels)]

    def weighted(weights: Floats) -> Floats:
        values = np.full(len(weights), np.nan)
        for draw, times in enumerate(weights.astype(np.int64)):
            picked = [groups[unit] for unit in np.repeat(np.arange(len(groups)), times)]
            if picked:
                rows = np.concatenate(picked)
                value = statistic(*(column[rows] for column in columns))
                values[draw] = np.nan if value is None else value
        return values

    return weighted


def empty_reason(missing: int) -> str:
    """Return why a statistic of no rows is undefined: all values are missing, or there are none."""
    return ALL_MISSING if missing else EMPTY


def _normal_error(sums: Floats, counts: Floats, value: float) -> float | None:
    """Return the standard error of a normally distributed mean, or None if it must be resampled."""
    if len(sums) < _MANY:
        return None
    pulls = sums - value * counts
    square = float((pulls**2).sum())
    # A skewness of .05 moves the ends by 2 % of the standard error; the random error of 2,000 draws is 6 % of it.
    if abs(float((pulls**3).sum())) > 0.05 * square**1.5:
        return None
    return float(np.sqrt(square) / counts.sum())


def _mean_samples(sums: Floats, counts: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Return the mean of each draw of len(sums) clusters; ``sums`` and ``counts`` are sorted together."""
    units = len(sums)
    new = np.append(True, (np.diff(sums) != 0) | (np.diff(counts) != 0))  # the first of each run of equal clusters
    times = np.diff(np.append(np.flatnonzero(new), units))
    samples = np.empty(resamples)
    if len(times) * _REPEATS <= units:
        block = max(1, _CELLS // len(times))
        for start in range(0, resamples, block):
            size = min(block, resamples - start)
            weights = rng.multinomial(units, times / units, size=size).astype(np.float64)
            samples[start : start + size] = (weights @ sums[new]) / (weights @ counts[new])
        return samples
    equal = bool((counts == counts[0]).all())
    block = max(1, _CELLS // units)
    for start in range(0, resamples, block):
        picks = rng.integers(0, units, (min(block, resamples - start), units), dtype=np.uint32)
        sizes = counts[0] * units if equal else counts[picks].sum(axis=1)
        samples[start : start + len(picks)] = sums[picks].sum(axis=1) / sizes
    return samples
