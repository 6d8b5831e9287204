"""Which rules keep their mean loss under a bound? Learn-then-Test: one test a rule, in a fixed order.

A loss lies in [0, 1] for each item of a finite population (is the label wrong?), and is known on a random sample drawn
without replacement. A rule whose hypothesis "its mean loss over the population is above the bound" is rejected keeps
the bound; going through rules in an order that does not depend on the sample, and stopping at the first that is not
rejected, no correction for their number is needed (Angelopoulos, Bates, Candès, Jordan & Lei, 2021, section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .base import Floats, Values, floats


class RiskBound(NamedTuple):
    """A mean loss: ``value`` on the sample of ``n``, and ``high``, which the mean over the population does not pass at
    the confidence asked for."""

    value: float
    high: float
    n: int


def risk_p_value(losses: Values, bound: float, population: int | None = None) -> float:
    """Return the p-value of "the mean loss of the population is above ``bound``".

    ``losses``, from 0 to 1, are those of a random sample in random order, drawn without replacement from
    ``population`` items (None: from infinitely many). Where all are 0 or 1 the test is exact: hypergeometric, or
    binomial as in Clopper & Pearson (1934). Else it is the capital of a bet against the hypothesis (Waudby-Smith &
    Ramdas, 2023, theorem 4 and section 5 for a finite population), which is valid for any losses in [0, 1].

    Not one error in 60 of 1,000 items rejects "more than 5 % are wrong" at .05:

    >>> round(risk_p_value([0] * 60, 0.05, 1000), 3)
    0.039
    """
    values = floats(losses)
    if not 0 <= bound <= 1:
        raise ValueError(f"a bound lies between 0 and 1, not at {bound}")
    if len(values) and not bool(((values >= 0) & (values <= 1)).all()):
        raise ValueError("losses must lie between 0 and 1, and none may be missing")
    if population is not None and len(values) > population:
        raise ValueError(f"a sample of {len(values)} is larger than its population of {population}")
    if not len(values):
        return 1.0
    if np.isin(values, (0.0, 1.0)).all():
        return _exact(int(values.sum()), len(values), bound, population)
    return _betting(values, bound, population)


def _exact(wrong: int, n: int, bound: float, population: int | None) -> float:
    from scipy import stats

    if population is None:
        return float(stats.binom.cdf(wrong, n, bound))
    fewest = math.floor(bound * population + 1e-9) + 1  # the fewest errors that are too many
    if fewest > population:
        return 0.0  # more errors than items cannot be
    return float(stats.hypergeom.cdf(wrong, population, fewest, n))


def _betting(values: Floats, bound: float, population: int | None) -> float:
    """1 over the most capital that a bet on smaller losses reaches: stakes go by what was seen before, so that under
    the hypothesis nobody expects to gain."""
    n = len(values)
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    counts = np.arange(n)
    # The mean of what is left, if the mean of all is the bound.
    means = np.full(n, bound) if population is None else (population * bound - before) / (population - counts)
    if bool((means > 1).any()):
        # What was seen leaves more loss than there are items: the hypothesis cannot be true from there on.
        return 0.0
    squares = np.concatenate([[0.0], np.cumsum((values - (0.5 + np.cumsum(values)) / (2 + counts)) ** 2)[:-1]])
    variances = (0.25 + squares) / (1 + counts)
    stakes = np.sqrt(2 * math.log(1 / 0.05) / (n * variances))
    with np.errstate(divide="ignore"):
        limits = np.where(means < 1, 0.9 / np.maximum(1 - means, 1e-12), np.inf)
    stakes = np.where(means > 0, np.minimum(stakes, limits), 0.0)
    capital = np.cumsum(np.log1p(stakes * (means - values)))
    return float(min(1.0, math.exp(-max(0.0, float(capital.max())))))


def risk_bound(losses: Values, confidence: float = 0.95, population: int | None = None) -> RiskBound:
    """Return the mean loss of the sample with the least bound that the test does not rule out.

    >>> bound = risk_bound([0] * 95 + [1] * 5)
    >>> round(bound.value, 3), round(bound.high, 3)
    (0.05, 0.102)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    values = floats(losses)
    if not len(values):
        return RiskBound(0.0, 1.0, 0)
    low, high = float(values.mean()), 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if risk_p_value(values, middle, population) <= 1 - confidence else (middle, high)
    return RiskBound(float(values.mean()), high, len(values))


def certified(
    losses: Iterable[Values], bound: float, confidence: float = 0.95, population: int | None = None
) -> int:  # fmt: skip
    """Return how many rules, from the first on, keep the mean loss at or under ``bound``, all of them together with the
    probability ``confidence`` at least: fixed-sequence testing.

    ``losses`` are those of the sample under each rule, drawn lazily. The order of the rules must not depend on them.

    >>> certified([[0] * 100, [0] * 99 + [1], [0] * 90 + [1] * 10, [0] * 100], 0.05)
    2
    """
    number = 0
    for each in losses:
        if risk_p_value(each, bound, population) > 1 - confidence:
            return number
        number += 1
    return number
