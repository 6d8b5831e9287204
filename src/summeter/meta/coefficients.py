"""Coefficients and rates that can be computed from a sample: the table `STATISTICS`.

Statistics of two raters compare a judge with people (or with another judge) on the units that both judged. Statistics
of many raters use all votes. Each statistic is a function of document weights, so that all intervals are computed in
the same way (see `measure`). To add a statistic, add a row to this table, and a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from summeter.choices import PAIRWISE, USUAL_COEFFICIENTS, Average, Level, QuestionType
from summeter.meta.sample import Sample, rounded
from summeter.records import error_types
from summeter.records.taxonomy import SEPARATOR
from summeter.stats import (
    Bootstrap,
    Measurement,
    MeasurementLevel,
    Model,
    Weights,
    auroc,
    classify,
    cohen_kappa,
    correlate,
    correlation_of,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    icc,
    krippendorff_alpha,
    masi_alpha,
    mean_of_items,
    mean_pairwise,
    of_rows,
    pairwise_accuracy,
)
from summeter.stats.base import Floats, Ints, ratio
from summeter.stats.classification import RATES
from summeter.stats.correlation import CORRELATIONS, weighted_correlations
from summeter.stats.resample import Weighted

AUROC = "auroc"
_PAIRWISE_ROWS = 200
_MOST_PAIRS = 20_000_000


@dataclass(frozen=True)
class Statistic:
    """A statistic of a sample.

    `of` maps a sample and the clusters of its units (0, 1, ...; for means of systems, the clusters of the averaged
    summaries) to the value. The other attributes say whether the statistic compares two raters on the units that both
    judged (`two`), depends on the set of possible values (`on_scale`), accepts categories as well as numbers (`named`),
    accepts only categories or sets of categories (`sets`), or compares individual annotators, so that it is undefined
    for anonymous votes (`persons`). If `averages` is True, `of` accepts the keyword `within` and itself averages over
    documents or systems. `chance` is the expected value for a random judge.
    """

    name: str
    of: Callable[..., Measurement]
    two: bool = False
    on_scale: bool = False
    named: bool = False
    sets: bool = False
    persons: bool = False
    averages: bool = False
    chance: float | None = None

    def using(self, **options: Any) -> Statistic:
        """Return the statistic with options, such as the weights of AC2 or the form of the ICC."""
        persons = self.persons and options.get("model") not in {Model.ICC1, Model.ICC1K}
        return replace(self, of=partial(self.of, **options), persons=persons)

    def unsuited(self, sample: Sample) -> str | None:
        """Return why the statistic is undefined for a sample, or None if it is defined."""
        if sample.names and not (self.named or self.sets):
            return f"{self.name} needs numbers, but these votes are categories"
        if self.sets and not sample.names:
            return f"{self.name} needs categories or sets of categories, but these votes are numbers"
        if self.persons and sample.exchangeable:
            other = " or the icc_model 1,1" if self.name == "icc" else ""
            return f"{self.name} compares annotators, but these votes are anonymous; use alpha{other}"
        if self.on_scale and not np.isin(sample.value[~np.isnan(sample.value)], scale_of(sample)).all():
            listed = ", ".join(f"{value:g}" for value in scale_of(sample))
            return f"some votes are not on the scale {listed}"
        return None


def scale_of(sample: Sample) -> tuple[float, ...]:
    """Return the possible values in order: the sample's scale, or else the observed values."""
    return sample.scale or tuple(np.unique(sample.value[~np.isnan(sample.value)]).tolist())


# ---- two raters ----


def _correlation(sample: Sample, clusters: Ints, *, kind: str) -> Measurement:
    got = correlate(sample.x, sample.y, kind)
    of_means = sample.level == Level.SYSTEM and sample.summaries is not None
    weighted = _of_means(sample, clusters, kind) if of_means else correlation_of(sample.x, sample.y, clusters, kind)
    return Measurement(got.value, got.n, p=got.p, reason=got.reason, weighted=weighted, width=len(sample))


def _of_means(sample: Sample, clusters: Ints, kind: str) -> Weighted:
    """Return the correlation of system means as a function of document weights.

    The means are recomputed in each draw.
    """
    rows = sample.summaries or sample
    group = rows.units.system.dense().codes
    member = np.zeros((len(group), int(group.max(initial=-1)) + 1))
    member[np.arange(len(group)), group] = 1.0
    by_document = Bootstrap(clusters)
    counts, *sums = (by_document.sums(member * side[:, None]) for side in (np.ones(len(group)), rows.x, rows.y))

    def correlation(weights: Floats) -> Floats:
        times = weights @ counts
        x, y = (rounded(ratio(weights @ side, times)) for side in sums)
        return weighted_correlations(x, y, (times > 0).astype(np.float64), kind)

    return correlation


def _pairwise(
    sample: Sample,
    clusters: Ints,
    *,
    calibrate: bool = False,
    within: Average = Average.POOLED,
) -> Measurement:
    """Return the share of pairs of units that the judge orders or ties as people do.

    This is the pairwise accuracy of Deutsch et al. (2023). Pairs are formed among all units, or within each document or
    system. All pairs share one threshold up to which a difference of scores counts as a tie.
    """
    pooled = within is Average.POOLED
    labels = None if pooled else sample.units.groups_of(within).codes
    sizes = np.array([sample.n]) if labels is None else np.bincount(labels[sample.complete])
    if int((sizes * (sizes - 1) // 2).sum()) > _MOST_PAIRS:
        reason = f"more than {_MOST_PAIRS:,} pairs; average by document"
        return Measurement(None, sample.n, sample.missing, reason=reason)
    average = "pooled" if pooled else "group"
    got = pairwise_accuracy(sample.y, sample.x, labels, None if calibrate else 0.0, average)
    whole, epsilon = _with(got, ties="calibrated" if calibrate else "exact"), got.details["epsilon"]
    if got.value is None:
        return whole
    if within is Average.DOCUMENT:
        each = (pairwise_accuracy(part.y, part.x, None, epsilon).value for _, part in sample.split("document"))
        return replace(whole, rows=np.array([value for value in each if value is not None]))
    if within is Average.SYSTEM:
        return replace(whole, reason="no interval of a mean over systems")
    if sample.summaries is not None:
        return replace(whole, reason="no interval of pairwise accuracy over means of summaries")
    if len(sample) > _PAIRWISE_ROWS:
        return replace(whole, reason=f"no interval of more than {_PAIRWISE_ROWS} rows; average by document")
    columns = [sample.x, sample.y]
    drawn = of_rows(lambda x, y: pairwise_accuracy(y, x, None, epsilon).value, columns, clusters)
    return replace(whole, weighted=drawn)


def _rate(sample: Sample, clusters: Ints, *, name: str) -> Measurement:
    return classify(sample.y, sample.x, clusters)[name]


# ---- many raters ----


def _alpha(sample: Sample, clusters: Ints, *, level: str) -> Measurement:
    if level == "ratio" and (sample.value < 0).any():
        return Measurement(None, 0, len(sample), reason="ratio votes must not be negative")
    return krippendorff_alpha(sample.anonymized, level, clusters)


def _masi(sample: Sample, clusters: Ints) -> Measurement:
    sets = [meaning(name, sample.question) for name in sample.names]
    return masi_alpha(
        [[None if np.isnan(code) else sets[int(code)] for code in row] for row in sample.anonymized], clusters
    )


def meaning(name: str, question: QuestionType | None) -> frozenset[str]:
    """Return the categories that a vote contains.

    Error types are in canonical spelling; a choice is one category.
    """
    match question:
        case None:
            return error_types(name)
        case QuestionType.CHOICES:
            return frozenset(name.split(SEPARATOR))
        case _:
            return frozenset([name])


def ratings(sample: Sample) -> Floats:
    """Return the votes (raters x units) of the raters who voted at least once."""
    return sample.matrix[(~np.isnan(sample.matrix)).any(axis=1)]


def _cohen(sample: Sample, clusters: Ints) -> Measurement:
    return cohen_kappa(ratings(sample), scale=scale_of(sample) or None, clusters=clusters)


def _ac2(sample: Sample, clusters: Ints, *, weights: str = Weights.QUADRATIC) -> Measurement:
    return _with(gwet_ac2(sample.anonymized, weights, scale_of(sample) or None, clusters), weights=weights)


def _icc(sample: Sample, clusters: Ints, *, model: str = Model.ICC2) -> Measurement:
    return _with(icc(sample.anonymized if sample.exchangeable else ratings(sample), model, clusters), model=model)


def _of_votes(kappa: Callable[..., Measurement]) -> Callable[..., Measurement]:
    return lambda sample, clusters: kappa(sample.anonymized, scale_of(sample) or None, clusters)


def _of_items(of_item: Callable[[Floats], Floats]) -> Callable[..., Measurement]:
    return lambda sample, _: mean_of_items(sample.anonymized, of_item)


def _identical(votes: Floats) -> Floats:
    return np.asarray(np.nanmax(votes, axis=0) == np.nanmin(votes, axis=0), dtype=np.float64)


def _mean_pairwise(sample: Sample, clusters: Ints, *, kind: str) -> Measurement:
    return mean_pairwise(sample.matrix, kind, clusters)


def _with(whole: Measurement, **details: Any) -> Measurement:
    return replace(whole, details={**details, **whole.details})


_CHANCE = {"balanced_accuracy": 0.5}

STATISTICS: Mapping[str, Statistic] = {
    statistic.name: statistic
    for statistic in (
        *(Statistic(kind, partial(_correlation, kind=kind), two=True, chance=0.0) for kind in CORRELATIONS),
        Statistic(PAIRWISE, _pairwise, two=True, averages=True),
        *(Statistic(name, partial(_rate, name=name), two=True, chance=_CHANCE.get(name)) for name in RATES),
        Statistic(AUROC, lambda sample, clusters: auroc(sample.y, sample.x, clusters), two=True, chance=0.5),
        *(
            Statistic(f"alpha_{level}", partial(_alpha, level=level), named=level == "nominal", chance=0.0)
            for level in MeasurementLevel
        ),
        Statistic("alpha_masi", _masi, sets=True, chance=0.0),
        Statistic("kappa_cohen", _cohen, on_scale=True, named=True, persons=True, chance=0.0),
        Statistic("kappa_fleiss", _of_votes(fleiss_kappa), on_scale=True, named=True, chance=0.0),
        Statistic("ac1", _of_votes(gwet_ac1), on_scale=True, named=True, chance=0.0),
        Statistic("ac2", _ac2, on_scale=True, chance=0.0),
        Statistic("icc", _icc, persons=True, chance=0.0),
        Statistic("rater_deviation", _of_items(lambda votes: np.nanstd(votes, axis=0))),
        Statistic("identical", _of_items(_identical), named=True),
        *(
            Statistic(f"mean_pairwise_{kind}", partial(_mean_pairwise, kind=kind), persons=True, chance=0.0)
            for kind in USUAL_COEFFICIENTS
        ),
    )
}
"""All statistics, by name."""

COEFFICIENTS = tuple(name for name, statistic in STATISTICS.items() if not statistic.two)
"""Names of the coefficients of many raters."""
