"""The alternative annotator test: can a judge replace human annotators (Calderon et al., ACL 2025)?

For each annotator j, the judge and j are scored against the remaining annotators on every item. The judge wins an item
if its score is at least that of j, and j wins if the score of j is at least that of the judge, so that both win a tie.
The test asks whether j wins at most epsilon more often than the judge. Epsilon is the price of the annotator: 0.2 for
experts, 0.15 for skilled annotators, 0.1 for crowd workers.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .base import Bools, Floats, Labels, Values, codes, floats, mean_present
from .ppi import error_to_find, labels_to_find

Score = str | Callable[[float, float], float]
"""How two votes are compared: ``accuracy`` (equality), ``neg_rmse``, or a function that returns their similarity."""
SCORES = ("accuracy", "neg_rmse")
T_TEST, WILCOXON = "t", "wilcoxon"
FEWEST_ITEMS = 30
"""Number of items below which the Wilcoxon test takes the place of the t-test."""
_DIGITS = 10
_MOST_VALUES = 20


class Wins(NamedTuple):
    """Whether the judge and each annotator win each item (annotators x items, NaN if they cannot be compared)."""

    judge: Floats
    person: Floats

    @property
    def difference(self) -> Floats:
        """Win of the annotator minus win of the judge."""
        return self.person - self.judge


class Replaced(NamedTuple):
    """The test of one annotator.

    ``judge`` and ``person`` are the shares of ``n`` items that the judge and the annotator win, ``p`` is the one-sided
    p-value, and ``replaced`` says whether the test is significant after correction. ``error`` is the standard error of
    the difference.
    """

    annotator: int
    judge: float
    person: float
    n: int
    p: float
    error: float
    test: str
    replaced: bool = False


class AltTest(NamedTuple):
    """The result of the test.

    ``winning_rate`` is the share of the tested annotators whom the judge can replace (omega; the judge passes from 0.5
    on), and ``advantage`` is the mean share of items that the judge wins (rho). Both are None if no annotator can be
    tested, and ``reason`` says why.
    """

    winning_rate: float | None
    advantage: float | None
    annotators: tuple[Replaced, ...]
    epsilon: float
    alpha: float
    reason: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the judge can replace at least half of the annotators."""
        return self.winning_rate is not None and self.winning_rate >= 0.5

    def growth_needed(self, power: float) -> float | None:
        """Return the factor by which the items must grow for the judge to pass, given the observed differences.

        Returns None if more items would not help, because too few differences are below epsilon.
        """
        harmonic = sum(1 / k for k in range(1, len(self.annotators) + 1))
        growth = sorted(
            labels_to_find(each.n, each.error, error_to_find(gap, 1 - 2 * self.alpha / harmonic, power)) / each.n
            for each in self.annotators
            if (gap := self.epsilon - (each.person - each.judge)) > 0
        )
        half = math.ceil(len(self.annotators) / 2)
        return growth[half - 1] if 0 < half <= len(growth) else None


def wins(judge: Values, people: Values, score: Score = "accuracy", expert: Values | None = None) -> Wins:
    """Return the wins of a judge and of each annotator.

    ``judge`` has one vote per item, and ``people`` is an annotators x items matrix; NaN or None is no vote. Both are
    scored against the other annotators of the item (at least one), or against ``expert`` alone if it is given. Raises
    ValueError for an unknown score.

    On item 1, everybody agrees; on item 2, the judge disagrees with the two others.

    >>> wins([1, 0], [[1, 1], [1, 1], [1, 1]]).judge.tolist()
    [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    """
    if isinstance(score, str) and score not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)} or a function, not {score!r}")
    f, h = floats(judge), floats(people, 2)
    reference = None if expert is None else floats(expert)[None]
    scored = np.full((2, *h.shape), np.nan)
    for j in range(len(h)):
        voted = np.flatnonzero(~np.isnan(h[j]))
        others = (np.delete(h, j, axis=0) if reference is None else reference)[:, voted]
        for side, votes in enumerate((f, h[j])):
            scored[side, j, voted] = _scores(votes[voted], others, score)
    scored[:, np.isnan(scored).any(axis=0)] = np.nan
    known = np.where(np.isnan(scored[0]), np.nan, 1.0)
    return Wins(known * (scored[0] >= scored[1]), known * (scored[1] >= scored[0]))


def _scores(votes: Floats, others: Floats, score: Score) -> Floats:
    """Return the score of each vote against the other votes on the item, NaN without a vote."""
    if not isinstance(score, str):
        alike = np.full(others.shape, np.nan)
        for place in np.argwhere(~np.isnan(others) & ~np.isnan(votes)):
            alike[tuple(place)] = score(float(votes[place[1]]), float(others[tuple(place)]))
        return mean_present(alike)
    absent = np.isnan(others) | np.isnan(votes)
    if score == "accuracy":
        return mean_present(np.where(absent, np.nan, others == votes))
    # Scores that are equal in exact arithmetic are ties.
    return np.asarray(np.round(-np.sqrt(mean_present(np.where(absent, np.nan, (others - votes) ** 2))), _DIGITS))


def balance(people: Values) -> Floats | None:
    """Return weights (annotators x items) that give each value the same total weight, or None for many values.

    The weight of an item is the inverse of the frequency of the most common vote of the other annotators; items on
    which it is not unique have the weight 0. A constant judge, which ties with the annotators on most items if most
    labels are equal, has no advantage under these weights.
    """
    h = floats(people, 2)
    known = np.unique(h[~np.isnan(h)])
    if len(known) > _MOST_VALUES:
        return None
    votes = np.stack([(h == value) for value in known]) if len(known) else np.zeros((0, *h.shape), np.bool_)
    rest = votes.sum(axis=1, keepdims=True) - votes  # values x annotators x items
    weights = np.zeros(h.shape)
    for j in range(len(h)):
        counts = rest[:, j]
        usable = ~np.isnan(h[j]) & ((counts == counts.max(axis=0)).sum(axis=0) == 1)
        most = counts.argmax(axis=0)[usable]
        weights[j, usable] = usable.sum() / np.bincount(most, minlength=len(known))[most]
    return weights


def alt_test(
    won: Wins,
    epsilon: float,
    alpha: float = 0.05,
    *,
    weights: Floats | None = None,
    clusters: Labels | None = None,
    fewest: int = FEWEST_ITEMS,
) -> AltTest:
    """Return the test of the wins of a judge.

    An annotator is tested with a one-sided paired t-test, or with Wilcoxon's signed-rank test if there are fewer than
    ``fewest`` items, and the p-values are corrected by Benjamini and Yekutieli at ``alpha``. With ``weights`` (see
    `balance`) means are weighted and the degrees of freedom are those of the effective number of items. With
    ``clusters`` (such as documents) the standard error allows for correlated items of a cluster, and clusters are
    counted in place of items.

    The judge wins 30 items and the annotator 33, so that d = 0.1 with standard error 0.0557, and t = -1.80 for epsilon
    = 0.2.

    >>> won = Wins(np.array([[1.0] * 27 + [0.0] * 3]), np.array([[1.0] * 30]))
    >>> got = alt_test(won, 0.2)
    >>> got.winning_rate, got.annotators[0].judge, round(got.annotators[0].p, 4)
    (1.0, 0.9, 0.0415)
    """
    from scipy.special import stdtr
    from scipy.stats import wilcoxon

    groups = None if clusters is None else codes(clusters)
    tested = []
    for j, row in enumerate(won.difference):
        kept = ~np.isnan(row) & (weights is None or weights[j] > 0)
        d = row[kept]
        w = np.ones(len(d)) if weights is None else weights[j, kept]
        unit = np.arange(len(d)) if groups is None else np.unique(groups[kept], return_inverse=True)[1]
        size = int(unit.max(initial=-1)) + 1
        if size < 2 or (weights is not None and size < fewest):
            continue
        mean = float((w * d).sum() / w.sum())
        pulls = np.bincount(unit, w * (d - mean)) / w.sum()
        total = np.bincount(unit, w)
        error = math.sqrt(float((pulls**2).sum()) * size / (size - 1))
        test = T_TEST if size >= fewest else WILCOXON
        if test == WILCOXON:
            gaps = np.bincount(unit, d) / np.bincount(unit) - epsilon
            p = float(wilcoxon(gaps, alternative="less").pvalue) if gaps.any() else 1.0
        elif error > 1e-12:
            p = float(stdtr(total.sum() ** 2 / (total**2).sum() - 1, (mean - epsilon) / error))
        else:
            p = 0.0 if mean < epsilon else 1.0
        judge, person = (float((w * side[j, kept]).sum() / w.sum()) for side in won)
        tested.append(Replaced(j, judge, person, len(d), p, error, test))
    if not tested:
        few = f" with {fewest} items" if weights is not None else ""
        return AltTest(None, None, (), epsilon, alpha, f"no annotator{few} can be compared with at least one other")
    rejected = benjamini_yekutieli([each.p for each in tested], alpha)
    results = tuple(each._replace(replaced=bool(ok)) for each, ok in zip(tested, rejected, strict=True))
    advantage = float(np.mean([each.judge for each in results]))
    return AltTest(float(rejected.mean()), advantage, results, epsilon, alpha)


def benjamini_yekutieli(p_values: Values, alpha: float) -> Bools:
    """Return which hypotheses are rejected with a false discovery rate of at most ``alpha``, under any dependence.

    Of two hypotheses, the lowest p-value is compared with alpha / 3 and the other with alpha / 1.5.

    >>> benjamini_yekutieli([0.03, 0.01], 0.05).tolist()
    [True, True]
    """
    p = floats(p_values)
    m = len(p)
    order = np.argsort(p, kind="stable")
    ranks = np.arange(1, m + 1)
    below = np.flatnonzero(p[order] <= ranks * alpha / (m * (1 / ranks).sum()))
    rejected = np.zeros(m, np.bool_)
    rejected[order[: int(below[-1]) + 1 if len(below) else 0]] = True
    return rejected
