"""Statistics of a sample, pooled or averaged, by group, and with intervals.

Statistics of two raters compare a judge with people (or with another judge) on the units that both judged. Statistics
of many raters use all votes. Each statistic is a function of document weights, so that all intervals are computed in
the same way. To add a statistic, add a row to the table `STATISTICS`, and a test.

    STATISTICS     all coefficients and rates, by name
    estimate       return a statistic of a sample as an `Estimate`
    measure        return rows of several statistics, for all units and for each value of a column
    over_groups    return a statistic over groups, such as a meta-correlation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from summeter.choices import PAIRWISE, USUAL_COEFFICIENTS, Average, Level, QuestionType
from summeter.meta.results import Row, interval_row, merged, named
from summeter.meta.sample import Sample, rounded, rows_by_name
from summeter.meta.selection import groups
from summeter.records import error_types
from summeter.records.taxonomy import SEPARATOR
from summeter.stats import (
    Bootstrap,
    Estimate,
    Measurement,
    MeasurementLevel,
    Model,
    Weights,
    auroc,
    classify,
    cohen_kappa,
    correlate,
    correlation_by_group,
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
from summeter.stats.base import ALL_MISSING, CONSTANT, EMPTY, Bools, Floats, Ints, mean_present, ratio, undefined
from summeter.stats.classification import RATES
from summeter.stats.correlation import CORRELATIONS, weighted_correlations
from summeter.stats.resample import Resampling, Weighted

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


# ---- estimates and rows ----

FEWEST_GROUPS = 3
"""Minimum number of groups of a correlation."""


def pooled_measurement(sample: Sample, statistic: Statistic) -> tuple[Measurement, Ints]:
    """Return a statistic of all units together, and the cluster (document) of each resampled row."""
    if (why := statistic.unsuited(sample)) is not None:
        return Measurement(None, 0, len(sample), reason=why, details=_raters(sample)), np.zeros(0, np.int64)
    used = sample.take(sample.complete) if statistic.two else sample
    if used.level == Level.SYSTEM and used.summaries is not None:
        # For means of systems, the documents of the averaged summaries are resampled.
        rows = used.summaries.take(
            used.summaries.complete & used.summaries.units.system.equal(*used.units.system.used())
        )
        used = replace(used, summaries=rows)
        drawn = rows.units.document.codes
    else:
        drawn = used.units.document.codes
    clusters = _dense(drawn)
    whole = statistic.of(used, clusters)
    if not statistic.two:
        scale = {"scale": list(scale_of(sample))} if statistic.on_scale else {}
        return replace(whole, details={**scale, **whole.details, **_raters(sample)}), clusters
    reason = ALL_MISSING if whole.reason == EMPTY and sample.missing else whole.reason
    return replace(whole, missing=sample.missing, reason=reason), clusters


def _raters(sample: Sample) -> dict[str, Any]:
    voted = len(np.unique(sample.rater[~np.isnan(sample.value)]))
    return {"raters": voted, **({"exchangeable": True} if sample.exchangeable else {})}


def estimate(
    sample: Sample,
    statistic: Statistic | str,
    draws: Resampling,
    within: Average = Average.POOLED,
    *,
    only_significant: float | None = None,
) -> Estimate:
    """Return a statistic of all units together, or the mean of a statistic over groups.

    If `within` is given, the statistic is computed within each document or system and averaged. Intervals resample
    documents: `draws` creates the bootstrap from the labels of documents. `only_significant` restricts a mean over
    groups to the groups whose p-value is at most this number. Groups without a value are left out and counted in
    `details`.
    """
    how = STATISTICS[statistic] if isinstance(statistic, str) else statistic
    if within is Average.POOLED:
        whole, clusters = pooled_measurement(sample, how)
        return whole.estimate(draws(clusters))
    if how.averages:
        whole = how.of(sample, _dense(sample.units.document.codes), within=within)
        return whole.estimate(draws(0))
    inside = by_group(sample, how, within, with_p=only_significant is not None)
    defined = {group: got for group, got in inside.items() if got.value is not None}
    included = {
        group: got
        for group, got in defined.items()
        if only_significant is None or (got.p is not None and got.p <= only_significant)
    }
    values = [got.value for got in included.values() if got.value is not None]
    constant = sum(got.reason == CONSTANT for got in inside.values())
    too_small = len(inside) - len(defined) - constant
    details: dict[str, Any] = {"groups": len(values), "constant_groups": constant, "groups_too_small": too_small}
    if only_significant is not None:
        details |= {
            "only_significant": only_significant,
            "groups_not_significant": len(defined) - len(included),
        }
    if not values:
        why = f"no {within.value} has a value: {constant} are constant and {too_small} are too small"
        return replace(undefined(why, sample.n, sample.missing), details=details)
    whole = Measurement(float(np.mean(values)), sample.n, sample.missing, details=details)
    if within is Average.DOCUMENT:
        return replace(whole, rows=np.array(values)).estimate(draws(len(values)))
    if only_significant is not None:
        why = "no interval, because the significant groups change from draw to draw"
        return replace(whole, reason=why).estimate(draws(0))
    complete = sample.take(sample.complete)
    clusters = _dense(complete.units.document.codes)
    rows_of = [np.flatnonzero(complete.units.system.codes == code) for code in np.unique(complete.units.system.codes)]
    systems = [(how.of(complete.take(rows), _dense(clusters[rows])), np.unique(clusters[rows])) for rows in rows_of]

    def mean(weights: Floats) -> Floats:
        return mean_present(np.array([system.weighted(weights[:, drawn]) for system, drawn in systems]))

    return replace(whole, weighted=mean, width=len(complete)).estimate(draws(clusters))


def _dense(clusters: Ints) -> Ints:
    """Return clusters renumbered as 0, 1, ... in ascending order."""
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)


def by_group(sample: Sample, how: Statistic, within: Average, *, with_p: bool = True) -> dict[str, Estimate]:
    """Return the statistic of each document or system, without intervals."""
    column = sample.units.groups_of(within)
    if how.name in CORRELATIONS:
        got = correlation_by_group(sample.x, sample.y, list(column.labels()), how.name, with_p=with_p)
        return {str(group): each for group, each in got.items()}
    whole = {group: pooled_measurement(sample.take(rows), how)[0] for group, rows in rows_by_name(column)}
    return {
        group: undefined(got.reason or EMPTY, got.n, got.missing)
        if got.value is None
        else Estimate(got.value, got.n, got.missing, p=got.p)
        for group, got in whole.items()
    }


def measure(
    sample: Sample,
    statistics: Iterable[Statistic | str],
    *,
    study: str,
    draws: Resampling,
    by: str | None = None,
    within: Average = Average.POOLED,
    level: Level | None = None,
    min_items: int = 1,
    only_significant: float | None = None,
    about: Mapping[str, Any] | None = None,
) -> Iterator[Row]:
    """Yield one row per statistic for all units, then for each value of the column `by`.

    A `by` of "a*b" crosses two columns. With `level`, units are documents or systems, whose values are means over
    summaries. With an average within systems, each system also has a row. `about` holds the common fields of all rows,
    by default judge and people.
    """
    for group in groups(sample, by):
        part = group.sample if level is None else group.sample.at(level, min_items=min_items)
        fields = merged({"average": within.value}, pair_fields(part) if about is None else about, group.fields())
        for each in statistics:
            how = STATISTICS[each] if isinstance(each, str) else each
            got = estimate(part, how, draws, within, only_significant=only_significant)
            yield interval_row(got, fields, study=study, statistic=how.name)
            if within is Average.SYSTEM and group.column is None and not how.averages:
                about = {"study": study, "statistic": how.name, "average": Average.POOLED.value}
                for system, inside in by_group(part, how, within).items():
                    own = pair_fields(part.take(part.units.system.equal(system)))
                    yield interval_row(inside, own, about, system=system)


def pair_fields(sample: Sample) -> dict[str, Any]:
    """Return the fields of a row that compares a judge with people.

    The fields identify both, the level, and the reasons for missing units.
    """
    details: dict[str, Any] = {"missing_reasons": reasons} if (reasons := sample.missing_reasons) else {}
    if sample.summaries is not None:
        details |= {"items": sample.summaries.n, "items_missing": sample.summaries.missing}
    fields = named(sample.judge, sample.gold)
    return merged(fields, level=str(sample.level), details=details)


# ---- statistics over groups ----


SPREADS: Mapping[str, Callable[..., Any]] = {"mean": np.mean, "range": np.ptp, "deviation": np.std}
"""Statistics over groups with one value each. The deviation is the population standard deviation."""


def over_groups(
    name: str,
    *values: Floats,
    included: Bools | None = None,
    samples: Sequence[Floats] = (),
    bootstrap: Bootstrap | None = None,
    what: str = "systems",
) -> Estimate:
    """Return a statistic over the `included` groups (default: those on which all values are defined).

    `values` has one value per group. If it is one array, `name` is one of SPREADS (as for domain stability or the range
    of per-system correlations). If it is two, `name` is a correlation (as for a meta-correlation or the check of a
    reliability). A spread requires two groups and a correlation three. Values are rounded before they are correlated,
    so that values that are equal in exact arithmetic are tied. `samples` holds bootstrap samples (draws x groups) of
    each array of `values`; without them, there is no interval. `what` is the word for the groups in the reason for an
    undefined value.

    >>> round(over_groups("range", np.array([0.9, 0.8, np.nan, 0.6])).value, 9)
    0.3
    """
    if included is None:
        included = np.asarray(~np.isnan(values).any(axis=0))
    n, missing = int(included.sum()), int((~included).sum())
    sides = [side[included] for side in values]
    if name in SPREADS:
        if (n < 2 and name != "mean") or not n:
            return undefined(f"fewer than 2 {what}" if name != "mean" else f"no {what}", n, missing)
        whole = Estimate(float(SPREADS[name](sides[0])), n, missing)
    else:
        if n < FEWEST_GROUPS:
            return undefined(f"{n} {what}; at least {FEWEST_GROUPS} are needed", n, missing)
        whole = replace(correlate(rounded(sides[0]), rounded(sides[1]), name), missing=missing)
    if bootstrap is None or whole.value is None:
        return whole
    drawn = [side[:, included] for side in samples]
    if name in SPREADS:
        of_draws = SPREADS[name](drawn[0], axis=1)
    else:
        left, right = map(rounded, drawn)
        present = ~(np.isnan(left) | np.isnan(right))
        of_draws = weighted_correlations(left, right, present.astype(np.float64), name)
        of_draws = np.where(present.sum(axis=1) >= FEWEST_GROUPS, of_draws, np.nan)
    return replace(bootstrap.of_samples(whole.value, of_draws, n=n, missing=missing), p=whole.p)
