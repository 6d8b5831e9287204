"""The few distributions that p-values need, to near machine precision and without scipy.

Student's t and the beta distribution by the continued fraction of the incomplete beta function (Numerical Recipes,
3rd ed., section 6.4), the normal tail by ``math.erfc``, and Kendall's exact null distribution by counting
inversions.
"""

import math
from itertools import accumulate
from statistics import NormalDist

_TINY = 1e-300
_EPS = 1e-16
_BERNOULLI = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def normal_two_sided(z: float) -> float:
    """Return P(|Z| >= |z|) for a standard normal Z.

    >>> round(normal_two_sided(1.959963984540054), 12)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def t_two_sided(t: float, df: float) -> float:
    """Return P(|T| >= |t|) for Student's t with ``df`` > 0 degrees of freedom.

    >>> round(t_two_sided(2.0, 10), 6)
    0.073388
    """
    return betainc(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t))


def t_quantile(level: float, df: float) -> float:
    """Return t with P(|T| <= t) = ``level``: the half-width of a two-sided interval in standard errors.

    Newton's method on the two-sided tail, kept within a bracket. ``df`` of infinity gives the normal quantile.

    >>> round(t_quantile(0.95, 10), 6)
    2.228139
    """
    if math.isinf(df):
        return NormalDist().inv_cdf((1 + level) / 2)
    low, high = 0.0, 2.0
    while t_two_sided(high, df) > 1 - level:
        low, high = high, 2 * high
    t = (low + high) / 2
    for _ in range(100):
        gap = t_two_sided(t, df) - (1 - level)
        low, high = (t, high) if gap > 0 else (low, t)
        step = t + gap / (2 * _t_density(t, df))
        step = step if low < step < high else (low + high) / 2
        if abs(step - t) <= 1e-15 * t:
            break
        t = step
    return t


def correlation_p(r: float, df: float) -> float:
    """Return the two-sided p-value of a Pearson (or Spearman) r with ``df`` = n - 2 > 0 degrees of freedom.

    With t = r sqrt(df / (1 - r^2)) the argument df / (df + t^2) of the t tail is 1 - r^2.
    """
    return betainc(df / 2, 0.5, (1 - r) * (1 + r), r * r)


def betainc(a: float, b: float, x: float, rest: float | None = None) -> float:
    """Return the regularised incomplete beta function I_x(a, b), a and b > 0, 0 <= x <= 1.

    ``rest`` is 1 - x where the caller knows it more exactly than the subtraction does.

    >>> betainc(1, 1, 0.25), round(betainc(2, 3, 0.5), 12)
    (0.25, 0.6875)
    """
    y = 1 - x if rest is None else rest
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    front = math.exp(a * _log(x, y) + b * _log(y, x) - _log_beta(a, b))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, y) / b


def kendall_exact_p(n: int, concordant: int) -> float:
    """Return the exact two-sided p-value of Kendall's tau for n >= 2 untied pairs (Kendall, 1970).

    ``concordant`` is the number of concordant pairs. Twice the share of the n! orders with at most as many
    inversions as the rarer kind of pair; closed forms for 0 and 1 inversion, so n may be large there.

    >>> round(kendall_exact_p(4, 6), 12) == round(2 / 24, 12)
    True
    """
    total = n * (n - 1) // 2
    rare = min(concordant, total - concordant)
    if n == 2 or 2 * rare == total:
        return 1.0
    if rare <= 1:
        return math.exp(math.log(2) - math.lgamma(n + 1 - rare))
    ways = [1] + [0] * rare
    for size in range(2, n + 1):
        sums = list(accumulate(ways))
        ways = [sums[k] - (sums[k - size] if k >= size else 0) for k in range(rare + 1)]
    return min(1.0, 2 * sum(ways) / math.factorial(n))


def _t_density(t: float, df: float) -> float:
    return math.exp(-_log_beta(df / 2, 0.5) - (df + 1) / 2 * math.log1p(t * t / df)) / math.sqrt(df)


def _log(x: float, rest: float) -> float:
    return math.log1p(-rest) if rest < 0.5 else math.log(x)


def _log_beta(a: float, b: float) -> float:
    """Return log B(a, b) without the cancellation of large log-gammas (Stirling with its correction series)."""
    small, large = min(a, b), max(a, b)
    if large < 15:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    total = small + large
    shift = _stirling(large) - _stirling(total) - (large - 0.5) * math.log1p(small / large) + small
    return math.lgamma(small) + shift - small * math.log(total)


def _stirling(x: float) -> float:
    """Return log gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2) for x >= 15."""
    return sum(c / x ** (2 * k + 1) for k, c in enumerate(_BERNOULLI))


def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by Lentz's method."""
    c, d = 1.0, 1 / _safe(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / _safe(1 + even * d), _safe(1 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / _safe(1 + odd * d), _safe(1 + odd / c)
        step = d * c
        value *= step
        if abs(step - 1) < _EPS:
            break
    return value


def _safe(x: float) -> float:
    return x if abs(x) > _TINY else _TINY
