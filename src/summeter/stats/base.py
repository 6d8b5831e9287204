"""Types and helpers for missing values, undefined results and tail probabilities.

Inputs are array-likes of numbers in which ``None`` and NaN both mean *missing*. Rows with a missing value in any array
are dropped (pairwise deletion) and counted. If a statistic cannot be computed, its value is ``None`` and a reason is
given; no function returns NaN as a result.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Values = ArrayLike | Sequence[float | None] | Sequence[int | None] | Sequence[Sequence[float | None]]
Labels = Sequence[Hashable] | NDArray[np.generic]
Seed = int | np.random.Generator

CONSTANT = "constant input"
TOO_FEW_PAIRS = "fewer than 2 pairs"
ALL_MISSING = "all values missing"
EMPTY = "no values"


class Status(StrEnum):
    """Status of an estimate.

    The status is ``ok``, ``no_interval`` (a value without an interval) or ``undefined`` (no value).
    """

    OK = "ok"
    NO_INTERVAL = "no_interval"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its sample size and, if one was computed, its confidence interval.

    ``value`` is None exactly when ``status`` is ``undefined``; ``reason`` then says why. A reason may also accompany a
    value: there is no interval, some resamples were undefined, or the interval has zero width because all clusters are
    equal. ``n`` rows were used and ``missing`` rows were dropped. ``p`` is the two-sided p-value, or None if the
    statistic has none.

    ``low`` and ``high`` are the ends of the interval, and ``method`` describes how an interval is computed (even if
    none could be). ``clusters`` is the number of clusters resampled, ``resamples`` the number of resamples that gave a
    value and ``lost`` the number that did not. ``details`` holds further figures, such as the number of raters.

    >>> Estimate(0.5, 9).status, undefined("no values").reason
    (<Status.OK: 'ok'>, 'no values')
    """

    value: float | None
    n: int
    missing: int = 0
    low: float | None = None
    high: float | None = None
    p: float | None = None
    status: Status = Status.OK
    reason: str | None = None
    method: str | None = None
    clusters: int = 0
    resamples: int = 0
    lost: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def interval(self) -> str | None:
        """Description of the interval, or None if there is no interval."""
        return None if self.low is None else self.method


def undefined(reason: str, n: int = 0, missing: int = 0) -> Estimate:
    """Return an estimate without a value, with the reason."""
    return Estimate(None, n, missing, status=Status.UNDEFINED, reason=reason)


def floats(values: Values, dims: int | None = 1) -> Floats:
    """Return ``values`` as a float array with NaN for missing values.

    Raises ValueError if a value is infinite or the array does not have ``dims`` dimensions.
    """
    array = np.asarray(values, dtype=np.float64)
    if dims is not None and array.ndim != dims:
        raise ValueError(f"expected {dims} dimension(s), got an array of shape {array.shape}")
    if np.isinf(array).any():
        raise ValueError("infinite values cannot be used; give None for a missing value")
    return array


def complete(*arrays: Values) -> tuple[list[Floats], Bools]:
    """Return arrays without the rows in which any of them has a missing value.

    The second result is the mask of the remaining rows. Raises ValueError if the lengths differ.

    >>> (x, y), kept = complete([1, None, 3], [4, 5, 6])
    >>> x.tolist(), y.tolist(), kept.tolist()
    ([1.0, 3.0], [4.0, 6.0], [True, False, True])
    """
    columns = [floats(values) for values in arrays]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(f"arrays of different lengths: {[len(column) for column in columns]}")
    kept = np.ones(len(columns[0]), dtype=np.bool_)
    for column in columns:
        kept &= ~np.isnan(column)
    return [column[kept] for column in columns], kept


def codes(labels: Labels) -> Ints:
    """Return an integer code for each label: 0, 1, ... in order of first appearance."""
    seen: dict[Hashable, int] = {}
    return np.fromiter((seen.setdefault(label, len(seen)) for label in labels), np.int64, len(labels))


def generator(seed: Seed) -> np.random.Generator:
    """Return a new generator for an integer seed, or a given generator unchanged."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def seed_number(seed: Seed) -> int | None:
    """Return the seed to report with a result, or None if a generator was passed."""
    return None if isinstance(seed, np.random.Generator) else seed


def ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Return ``above`` / ``below``, with NaN if ``below`` is not positive.

    >>> ratio(np.array([1.0, 2.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    empty = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    return np.asarray(np.divide(above, below, out=empty, where=below > 0))


def mean_present(values: Floats, axis: int = 0) -> Floats:
    """Return the mean along an axis, ignoring NaN, or NaN if all values are NaN.

    >>> mean_present(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist()
    [2.0, nan]
    """
    return ratio(np.nansum(values, axis=axis), (~np.isnan(values)).sum(axis=axis))


def split_rows(labels: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each label with its row indices, in ascending order of the labels."""
    if not len(labels):
        return
    order = np.argsort(labels, kind="stable").astype(np.int64)
    for rows in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        yield int(labels[rows[0]]), rows


def t_quantile(level: float, df: float) -> float:
    """Return the t for which P(|T| <= t) = ``level``.

    It is the half-width of a two-sided interval in standard errors.

    >>> round(t_quantile(0.95, 10), 6)
    2.228139
    """
    from scipy.special import betaincinv, ndtri  # stdtrit is accurate to eleven digits only before scipy 1.17

    if math.isinf(df):
        return float(ndtri((1 + level) / 2))
    # The fractions t^2 / (df + t^2) and df / (df + t^2), each computed at full precision.
    inside, outside = betaincinv(0.5, df / 2, level), betaincinv(df / 2, 0.5, 1 - level)
    return math.sqrt(df * inside / outside)


def correlation_p(r: float, df: float) -> float:
    """Return the two-sided p-value of a Pearson or Spearman correlation r.

    ``df`` = n - 2 is the number of degrees of freedom and must be positive.

    For t = r sqrt(df / (1 - r^2)), the tail probability of t depends on df / (df + t^2), which equals 1 - r^2.
    """
    from scipy.special import betainc

    return float(betainc(df / 2, 0.5, (1 - r) * (1 + r)))
