"""Biases of judges: position in the prompt, length of the summary, and self-preference.

Rows have these studies and statistics:

    position         for pairwise judges that saw both orders, over all pairs and for each pair: `flip_rate` (the share
                     of verdicts that change with the order) and `slot_preference` (the share of pairs in which the
                     first position won both times, minus that of the second; from -1 to 1, where 0 is no bias; `p` is
                     from an exact sign test)
    length           `partial_pearson`, the partial correlation of the judge's scores with length, given human scores;
                     `length_judge` and `length_people`, the correlations of the judge's and people's scores with
                     length; and `length_gap`, the difference of these two
    self_preference  `self_preference`, how much higher the judge rates systems of its own family than other systems,
                     minus how much higher people rate them, in standard deviations of each side's scores
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.meta._prefer import Verdicts, verdicts
from summeter.meta.inputs import Gold, RunLike, judge_input
from summeter.meta.options import By, Choice, Draws, Families, GoldAtLeast, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged, named, pair_name
from summeter.meta.selection import Group, meta_input, summary_groups
from summeter.records import Summary, UsageError
from summeter.stats import Bootstrap, Estimate, OrderEffect, correlate, correlation_of, order_effect
from summeter.stats.base import Bools, Floats, Ints, correlation_p, ratio
from summeter.stats.resample import Resampling

Measure = Callable[[str], int]
_FEWEST_ROWS = 4

LENGTHS: dict[str, Measure] = {"words": lambda text: len(text.split()), "characters": len}
"""Functions that return the length of a summary in words separated by white space or in code points."""


class BiasOptions(Selection, GoldAtLeast, By, Families, Draws):
    """The options of `bias`."""

    length: Annotated[str, Choice(LENGTHS, "length")] = Field(
        "words", description="Unit of length: words or characters."
    )


@study(BiasOptions, command="RUN...")
def bias(run: RunLike, gold: Gold | None, options: BiasOptions) -> Study:
    """Audit judges for position, length and self-preference bias.

    Position is the position of a summary in the prompt; self-preference is a preference for the judge's own model
    family. The effects of length and family are compared with those on human scores, because a bias is a preference
    that people do not share. Lengths are those of the summaries of the run, or else of the gold. Self-preference is
    audited only if `families` is given. Raises UsageError if nothing can be audited.
    """
    resample = options.resampling
    judges = judge_input(run)
    gold = judges.data if gold is None else gold
    read = meta_input(judges, gold if gold is not None else (), options)
    rows: list[Row] = []
    notes: list[str] = []
    for judge in verdicts(judges, options.judge, options.judge_aspects):
        rows += position_rows(judge, resample)
    data = judges.data or gold
    summaries: Sequence[Summary] = data.summaries if isinstance(data, Dataset) else ()
    length_of = LENGTHS[options.length]
    lengths = {(summary.document_id, summary.system): length_of(summary.text) for summary in summaries}
    try:
        matrices = summary_groups(read, options, options.by)
    except UsageError as error:
        matrices = []
        if not rows:
            raise
        notes.append(f"only position was audited: {error}")
    for matrix in matrices:
        if lengths:
            rows += length_rows(matrix, lengths, options.length, resample)
        if options.families:
            rows.append(self_preference(matrix, options, resample))
    if matrices and not options.families:
        notes.append("self-preference was not audited, because no families were given")
    return Study("bias", rows, notes)


def own_family(
    judge: str, signature: str, model: str | None, systems: Sequence[str], options: Families
) -> tuple[str | None, list[str], str | None]:
    """Return the family of a judge, the systems that belong to it, and why they cannot be compared with the others.

    The judge is looked up by name, signature or model; if it is not found, its family is the only one whose name is
    part of the name of its model. The reason is None if there are systems on both sides.
    """
    families, given = options.families or {}, options.judge_families or {}
    known = list(dict.fromkeys(families.values()))
    fitting = [family for family in known if family.casefold() in (model or "").casefold()]
    named_family = next((given[name] for name in (judge, signature, model or "") if name in given), None)
    family = named_family or (fitting[0] if len(fitting) == 1 else None)
    own = [system for system in systems if family is not None and families.get(system) == family]
    reason = None
    if not families:
        reason = "no families of systems were given (option families)"
    elif family is None:
        reason = f"the judge's family is unknown; give it in judge_families (families: {', '.join(known)})"
    elif not own:
        reason = f"no system belongs to the judge's family {family}"
    elif len(own) == len(systems):
        reason = "every system belongs to the judge's family"
    return family, own, reason


def position_rows(judge: Verdicts, resample: Resampling) -> Iterator[Row]:
    """Yield the rows on position, for all pairs together and for each pair.

    Verdicts in one order only count as missing.
    """
    for pair in (None, *(judge.pairs if len(judge.pairs) > 1 else ())):
        places = slice(None) if pair is None else [judge.pairs.index(pair)]
        ab, ba = judge.ab[places], judge.ba[places]
        judged, both = ~(np.isnan(ab) & np.isnan(ba)), ~(np.isnan(ab) | np.isnan(ba))
        effect = order_effect(ab[judged], ba[judged])
        # If the first system has 1 point when shown first and 0 when shown second, the first position won both times.
        flipped, lean = both & (ab != ba), np.where(both, ab - ba, 0.0)
        one_position = np.where(np.abs(lean) == 1, lean, 0.0)
        sums = np.stack([side.sum(axis=0) for side in (both, flipped, one_position)], axis=1).astype(np.float64)
        bootstrap = resample(np.arange(both.shape[1]))
        (samples,) = bootstrap.samples(
            lambda weights, sums=sums: ratio((weights @ sums)[:, 1:], (weights @ sums)[:, :1])  # type: ignore[misc]
        )
        details = {"consistent": effect.consistent, "first_slot": effect.first_slot, "second_slot": effect.second_slot,
                   "half_tied": effect.half_tied}  # fmt: skip
        about = merged(named(judge.rater), details=details)
        about |= {"study": "position", "level": Level.SUMMARY.value, "pair": pair_name(*pair) if pair else None,
                  "n": effect.n, "missing": effect.missing, "reason": "no pair was judged in both orders"}  # fmt: skip
        preference = None if not effect.n else (effect.first_slot - effect.second_slot) / effect.n
        flips = bootstrap.of_samples(effect.flip_rate, samples[:, 0])
        yield interval_row(flips, about, statistic="flip_rate")
        yield interval_row(
            bootstrap.of_samples(preference, samples[:, 1]), about, statistic="slot_preference", p=sign_p(effect)
        )


def sign_p(effect: OrderEffect) -> float | None:
    """Return the exact two-sided p-value of the sign test on flipped verdicts, or None if there are none.

    >>> sign_p(OrderEffect(0, 5, 0, 0, 5, 0))
    0.0625
    """
    first, second = effect.first_slot, effect.second_slot
    total = first + second
    if not total:
        return None
    ways = sum(math.comb(total, k) for k in range(min(first, second) + 1))
    return min(1.0, 2 * ways / int(2**total))


def length_rows(matrix: Group, lengths: Mapping[tuple[str, str], int], unit: str, resample: Resampling) -> list[Row]:
    """Return the rows on length, over the summaries that have a length and both scores."""
    grid = matrix.grid
    size = np.array([[lengths.get((doc, system), np.nan) for doc in grid.documents] for system in grid.systems])
    included = grid.complete & ~np.isnan(size)
    judge, gold, words = grid.judge[included], grid.gold[included], size[included].astype(np.float64)
    n = int(included.sum())
    about = merged(matrix.about(), details={"length": unit})
    about |= {"study": "length", "level": Level.SUMMARY.value, "average": "pooled", "n": n,
              "missing": int((~(np.isnan(grid.judge) & np.isnan(grid.gold))).sum()) - n}  # fmt: skip
    # Documents without rows are also resampled.
    bootstrap, documents = resample(np.arange(len(grid.documents))), np.nonzero(included)[1].astype(np.int64)
    return length_estimates(judge, gold, words, documents, bootstrap, about)


def length_estimates(
    judge: Floats, gold: Floats, words: Floats, documents: Ints, bootstrap: Bootstrap, about: Mapping[str, Any]
) -> list[Row]:
    """Return the rows on length, given complete scores, lengths, and the cluster of each in the bootstrap.

    The partial correlation of the judge's scores and lengths given human scores is (r12 - r13 r23) / sqrt((1 - r13^2)
    (1 - r23^2)). It is undefined with fewer than four rows, or if human scores completely explain the judge's scores or
    the lengths.
    """
    pairs = (judge, words), (judge, gold), (words, gold)
    correlations = [correlation_of(*pair, documents, "pearson") for pair in pairs]
    sizes = np.bincount(documents, minlength=bootstrap.units)

    def statistics(weights: Floats) -> Floats:
        r12, r13, r23 = (correlation(weights) for correlation in correlations)
        rest = (1 - r13**2) * (1 - r23**2)
        few = weights @ sizes < _FEWEST_ROWS
        partial = (r12 - r13 * r23) / np.sqrt(np.where(few | ~(rest > 1e-12), np.nan, rest))
        return np.stack([np.clip(partial, -1, 1), r12, r23, r12 - r23], axis=1)

    (samples,) = bootstrap.samples(statistics, width=len(judge))
    values = [None if np.isnan(value) else value for value in statistics(np.ones((1, bootstrap.units)))[0].tolist()]
    by_judge, by_people = correlate(judge, words), correlate(gold, words)
    partial_p = None if values[0] is None else correlation_p(values[0], len(judge) - 3)
    names = ("partial_pearson", "length_judge", "length_people", "length_gap")
    tested = zip(names, values, samples.T, (partial_p, by_judge.p, by_people.p, None), strict=True)
    why = by_judge.reason or by_people.reason or "human scores explain the scores or the lengths completely"
    return [
        interval_row(bootstrap.of_samples(value, drawn, undefined=why), about, statistic=name, p=p)
        for name, value, drawn, p in tested
    ]


def self_preference(matrix: Group, options: Families, resample: Resampling) -> Row:
    """Return the row on the judge's preference for systems of its family, relative to people's."""
    judge, grid = matrix.sample.judge, matrix.grid
    family, names, reason = own_family(judge.judge, judge.signature, judge.model, grid.systems, options)
    own = np.array([system in names for system in grid.systems])
    included = grid.complete
    about = merged(matrix.about(), details={"family": family, "own_systems": names})
    about |= {"study": "self_preference", "level": Level.SUMMARY.value, "statistic": "self_preference",
              "n": int(included.sum()), "missing": int((~included).sum())}  # fmt: skip
    bootstrap = resample(np.nonzero(included)[1].astype(np.int64))
    scales = [float(side[included].std()) if included.any() else 0.0 for side in (grid.judge, grid.gold)]
    if reason is None and min(scales) < 1e-12:
        reason = "the scores of one side are constant"
    if reason is not None:
        return interval_row(bootstrap.alone(None, reason), **about)
    rows = np.repeat(own[:, None], len(grid.documents), axis=1)[included]
    gap = (grid.judge / scales[0] - grid.gold / scales[1])[included]
    got = difference_of_means(gap, rows, bootstrap, NO_FAMILY)
    if got.value is not None:
        by_judge, by_people = (
            float(side[included][rows].mean() - side[included][~rows].mean()) for side in (grid.judge, grid.gold)
        )
        about = merged(about, details={"judge_difference": by_judge, "people_difference": by_people})
    return interval_row(got, **about)


NO_FAMILY = "the judge's family or the other systems have no item with both votes"


def difference_of_means(values: Floats, first: Bools, bootstrap: Bootstrap, undefined: str) -> Estimate:
    """Return the mean of the values of one side (`first`) minus the mean of the others.

    The rows of the bootstrap are the values. `undefined` is the reason if a side has no value.
    """
    sides = np.stack([first, ~first], axis=1).astype(np.float64)
    sums, counts = bootstrap.sums(sides * values[:, None]), bootstrap.sums(sides)

    def gap(weights: Floats) -> Floats:
        means = ratio(weights @ sums, weights @ counts)
        return np.asarray(means[:, 0] - means[:, 1])

    return bootstrap.interval(gap, undefined=undefined)
