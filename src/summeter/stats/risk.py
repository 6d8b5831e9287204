"""Learn-then-Test: find the decision rules whose mean loss is below a bound.

A loss between 0 and 1 is defined for each item of a finite population (for example, whether its label is wrong) and is
known for a random sample drawn without replacement. For each rule, the null hypothesis "its mean loss over the
population is above the bound" is tested. If the rules are tested in an order that does not depend on the sample, and
testing stops at the first hypothesis that is not rejected, no correction for the number of rules is needed
(Angelopoulos, Bates, Candès, Jordan & Lei, 2021, section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .base import Floats, Values, floats


class RiskBound(NamedTuple):
    """Mean loss of a sample of ``n`` items.

    ``high`` is the upper confidence bound on the mean loss of the population.
    """

    value: float
    high: float
    n: int


def risk_p_value(losses: Values, bound: float, population: int | None = None) -> float:
    """Return the p-value of the hypothesis "the mean loss of the population is above ``bound``".

    ``losses`` are between 0 and 1, in random order, from a random sample drawn without replacement from ``population``
    items (None for an infinite population). If all losses are 0 or 1, the test is exact: it is hypergeometric, or
    binomial as in Clopper & Pearson (1934). Otherwise a betting test is used (Waudby-Smith & Ramdas, 2023, theorem 4,
    and section 5 for a finite population), which is valid for any losses in [0, 1]. Raises ValueError if a loss or the
    bound is outside [0, 1], or if the sample is larger than the population.

    No error in 60 of 1,000 items rejects "more than 5 % are wrong" at the level .05:
    >>> round(risk_p_value([0] * 60, 0.05, 1000), 3)
    0.039
    """
    values = floats(losses)
    if not 0 <= bound <= 1:
        raise ValueError(f"the bound must be between 0 and 1, got {bound}")
    if len(values) and not bool(((values >= 0) & (values <= 1)).all()):
        raise ValueError("losses must be between 0 and 1 and not missing")
    if population is not None and len(values) > population:
        raise ValueError(f"the sample ({len(values)} items) is larger than the population ({population} items)")
    if not len(values):
        return 1.0
    if np.isin(values, (0.0, 1.0)).all():
        from scipy import stats

        wrong, n = int(values.sum()), len(values)
        if population is None:
            return float(stats.binom.cdf(wrong, n, bound))
        too_many = math.floor(bound * population + 1e-9) + 1  # the smallest number of errors above the bound
        return 0.0 if too_many > population else float(stats.hypergeom.cdf(wrong, population, too_many, n))
    return _betting(values, bound, population)


def _betting(values: Floats, bound: float, population: int | None) -> float:
    """Return the reciprocal of the largest capital reached by bets on smaller losses.

    Each stake depends on earlier losses only, so under the null hypothesis the expected gain is not positive.
    """
    n = len(values)
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    counts = np.arange(n)
    # Mean of the remaining losses if the mean over the population equals the bound.
    means = np.full(n, bound) if population is None else (population * bound - before) / (population - counts)
    if bool((means > 1).any()):
        # The losses of the remaining items cannot be large enough, so the null hypothesis is false.
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
    """Return the mean loss of the sample, and an upper confidence bound for the population.

    Raises ValueError if ``confidence`` is not between 0 and 1.

    >>> bound = risk_bound([0] * 95 + [1] * 5)
    >>> round(bound.value, 3), round(bound.high, 3)
    (0.05, 0.102)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must be between 0 and 1, got {confidence}")
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
    """Return the number of leading rules whose mean loss is certified to be at most ``bound``.

    The rules are tested in a fixed sequence. The probability that the mean losses of all certified rules are at most
    the bound is at least ``confidence``. ``losses`` yields the losses of the sample under each rule, and is consumed
    lazily. The order of the rules must not depend on the losses.

    >>> certified([[0] * 100, [0] * 99 + [1], [0] * 90 + [1] * 10, [0] * 100], 0.05)
    2
    """
    number = 0
    for losses_of_rule in losses:
        if risk_p_value(losses_of_rule, bound, population) > 1 - confidence:
            return number
        number += 1
    return number
