"""What besides quality moves a judge: the place in the prompt, the length of the summary, its own family.

Rows:

    position         of head-to-head judges asked in both orders, over all pairs and each: `flip_rate` (the share of
                     verdicts that turn with the order) and `slot_preference` (share of pairs in which the
                     first place won both times, minus the second's, from -1 to 1, 0: no bias; p of an exact sign test)
    length           `partial_pearson`, the correlation of the judge's scores with length at equal scores of people;
                     `length_judge`, `length_people` and `length_gap`, the correlation of each with length, and the
                     difference: beyond what people do
    self_preference  `self_preference`, how much higher the judge rates the systems of its own family than other
                     systems, minus how much higher people rate them, in standard deviations of each side's scores
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.meta._prefer import Verdicts, verdicts
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.options import By, Choice, Draws, Families, GoldAtLeast, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged, named, pair_name
from summeter.meta.selection import Group, meta_input, summary_groups
from summeter.records import Summary, UsageError
from summeter.runs.run import RunFolder
from summeter.stats import OrderEffect, correlate, order_effect
from summeter.stats.base import Bools, Floats, Ints, correlation_p, ratio
from summeter.stats.correlation import near_one
from summeter.stats.resample import Resampling

Measure = Callable[[str], int]
_FEWEST_ROWS = 4

LENGTHS: dict[str, Measure] = {"words": lambda text: len(text.split()), "characters": len}
"""How the length of a summary is counted: words between blanks, or code points."""


class BiasOptions(Selection, GoldAtLeast, By, Families, Draws):
    """The options of `bias`."""

    length: Annotated[str, Choice(LENGTHS, "length")] = Field(
        "words", description="How length is counted: words or characters."
    )


@study(BiasOptions, command="RUN...")
def bias(run: RunLike, gold: Gold | None, options: BiasOptions) -> Study:
    """Audit judges for what should not move them: place in the prompt, length, their own family.

    Length and family need people's scores: a bias is what people do not share. Lengths are those of the run's own
    summaries (or the gold's data set). Self-preference is audited where `families` are given. Raises UsageError where
    nothing can be audited.
    """
    resample = options.resampling
    if gold is None and isinstance(run, RunFolder):
        gold = run.data
    read = meta_input(run, gold if gold is not None else (), options)
    own = options.judge_aspects
    rows: list[Row] = []
    notes: list[str] = []
    for judge in verdicts(read.judge.table, options.judge):
        if not own or judge.aspect in own:
            rows += position_rows(judge, resample)
    lengths = lengths_of(run, gold, options.length)
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
            rows.append(self_preference(matrix, options.families, options.judge_families or {}, resample))
    if matrices and not options.families:
        notes.append("families were not given, so self-preference was not audited")
    return Study("bias", rows, notes)


def family_of(
    judge: str, signature: str, model: str | None, families: Mapping[str, str], judge_families: Mapping[str, str]
) -> str | None:
    """The family a judge (its name, signature and model) belongs to, None where nobody knows."""
    for name in (judge, signature, model):
        if name is not None and name in judge_families:
            return judge_families[name]
    held = [family for family in dict.fromkeys(families.values()) if family.casefold() in (model or "").casefold()]
    return held[0] if len(held) == 1 else None


def lengths_of(run: RunLike, gold: Gold | None, unit: str) -> dict[tuple[str, str], int]:
    """The length of each summary by (document, system); empty where no texts are at hand."""
    data = run.data if isinstance(run, RunFolder) else gold
    summaries: Sequence[Summary] = data.summaries if isinstance(data, Dataset) else ()
    return {(summary.document_id, summary.system): LENGTHS[unit](summary.text) for summary in summaries}


def position_rows(judge: Verdicts, resample: Resampling) -> list[Row]:
    """Rows about order, over all pairs and for each; verdicts in one order only are missing."""
    rows = _position(judge, None, judge.ab, judge.ba, resample)
    if len(judge.pairs) > 1:
        for place, pair in enumerate(judge.pairs):
            rows += _position(judge, pair, judge.ab[[place]], judge.ba[[place]], resample)
    return rows


def _position(judge: Verdicts, pair: tuple[str, str] | None, ab: Floats, ba: Floats, resample: Resampling) -> list[Row]:
    judged = ~(np.isnan(ab) & np.isnan(ba))
    effect = order_effect(ab[judged], ba[judged])
    both = ~(np.isnan(ab) | np.isnan(ba))
    # Points of the first system: 1 when shown first and 0 when second is a verdict for the first place both times.
    turned, lean = both & (ab != ba), np.where(both, ab - ba, 0.0)
    slots = np.where(np.abs(lean) == 1, lean, 0.0)
    sums = np.stack([side.sum(axis=0) for side in (both, turned, slots)], axis=1).astype(np.float64)

    def shares(weights: Floats) -> Floats:
        drawn = weights @ sums
        return ratio(drawn[:, 1:], drawn[:, :1])

    bootstrap = resample(np.arange(both.shape[1]))
    (samples,) = bootstrap.samples(shares)
    details = {"consistent": effect.consistent, "first_slot": effect.first_slot, "second_slot": effect.second_slot,
               "half_tied": effect.half_tied}  # fmt: skip
    about = merged(named(judge), details=details)
    about |= {"study": "position", "level": Level.SUMMARY.value, "pair": pair_name(*pair) if pair else None,
              "n": effect.n, "missing": effect.missing, "reason": "no pair was judged in both orders"}  # fmt: skip
    leaning = None if not effect.n else (effect.first_slot - effect.second_slot) / effect.n
    flips, slot = (
        bootstrap.of_samples(value, samples[:, place]) for place, value in enumerate((effect.flip_rate, leaning))
    )
    return [
        interval_row(flips, **about, statistic="flip_rate"),
        interval_row(slot, **about, statistic="slot_preference", p=sign_p(effect)),
    ]


def sign_p(effect: OrderEffect) -> float | None:
    """The exact two-sided p-value that verdicts turned by order favour neither place; None when none turned.

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
    """Rows about length; a summary counts when it has a length and both have scored it."""
    grid = matrix.grid
    size = np.array([[lengths.get((doc, system), np.nan) for doc in grid.documents] for system in grid.systems])
    kept = grid.complete & ~np.isnan(size)
    judge, gold, words = grid.judge[kept], grid.gold[kept], size[kept].astype(np.float64)
    n = int(kept.sum())
    about = merged(matrix.about(), details={"length": unit})
    about |= {"study": "length", "level": Level.SUMMARY.value, "average": "pooled", "n": n,
              "missing": int((~(np.isnan(grid.judge) & np.isnan(grid.gold))).sum()) - n}  # fmt: skip
    by_judge, by_people = correlate(judge, words), correlate(gold, words)
    bootstrap = resample(np.arange(len(grid.documents)))
    # Clusters without a row are drawn too, so the sums are laid out by document.
    sums = _length_sums(np.stack([judge, words, gold]), np.nonzero(kept)[1].astype(np.int64), bootstrap.units)
    (samples,) = bootstrap.samples(lambda weights: length_statistics(weights @ sums))
    whole = length_statistics(sums.sum(axis=0)[None])[0].tolist()
    part, *others = (None if np.isnan(value) else value for value in whole)
    part_p = None if part is None else correlation_p(part, n - 3)
    names = ("partial_pearson", "length_judge", "length_people", "length_gap")
    tested = zip(names, (part, *others), (part_p, by_judge.p, by_people.p, None), strict=True)
    why = by_judge.reason or by_people.reason or "people's scores leave nothing to explain"
    return [
        interval_row(bootstrap.of_samples(value, samples[:, place], undefined=why), **about, statistic=name, p=p)
        for place, (name, value, p) in enumerate(tested)
    ]


def _length_sums(rows: Floats, documents: Ints, size: int) -> Floats:
    """Sums by document of the judge's scores, the lengths and people's scores (3 x summaries), and of products."""
    rows = near_one(rows)  # a correlation knows no units, and products of large scores overflow
    rows = rows - rows.mean(axis=1, keepdims=True) if rows.shape[1] else rows
    parts = np.vstack([np.ones(rows.shape[1]), rows, (rows[:, None] * rows[None]).reshape(9, -1)])
    sums = np.zeros((size, len(parts)))
    np.add.at(sums, documents, parts.T)
    return sums


def length_statistics(sums: Floats) -> Floats:
    """The four statistics of length (draws x 4), NaN where undefined, from the sums of each draw.

    The partial correlation of the judge's scores and the lengths at equal scores of people is (r12 - r13 r23) /
    sqrt((1 - r13^2)(1 - r23^2)); there is none of fewer than four rows, or where the third explains one wholly.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums[:, 1:] / sums[:, :1]
        first, second = means[:, :3], means[:, 3:].reshape(-1, 3, 3)
        spread = second - first[:, :, None] * first[:, None, :]
        own = np.diagonal(spread, axis1=1, axis2=2)
        own = np.where(own > 1e-12 * np.diagonal(second, axis1=1, axis2=2), own, np.nan)
        r = spread / np.sqrt(own[:, :, None] * own[:, None, :])
        rest = (1 - r[:, 0, 2] ** 2) * (1 - r[:, 1, 2] ** 2)
        explained = (sums[:, 0] < _FEWEST_ROWS) | ~(rest > 1e-12)
        part = (r[:, 0, 1] - r[:, 0, 2] * r[:, 1, 2]) / np.sqrt(np.where(explained, np.nan, rest))
    return np.stack([np.clip(part, -1, 1), r[:, 0, 1], r[:, 1, 2], r[:, 0, 1] - r[:, 1, 2]], axis=1)


def self_preference(
    matrix: Group, families: Mapping[str, str], judge_families: Mapping[str, str], resample: Resampling
) -> Row:
    """How far a judge favours its own family's systems beyond people."""
    judge, grid = matrix.sample.judge, matrix.grid
    family = family_of(judge.judge, judge.signature, judge.model, families, judge_families)
    own = np.array([family is not None and families.get(system) == family for system in grid.systems])
    kept = grid.complete
    names = [system for system, mine in zip(grid.systems, own, strict=True) if mine]
    about = merged(matrix.about(), details={"family": family, "own_systems": names})
    about |= {"study": "self_preference", "level": Level.SUMMARY.value, "statistic": "self_preference",
              "n": int(kept.sum()), "missing": int((~kept).sum())}  # fmt: skip
    bootstrap = resample(np.arange(len(grid.documents)))
    reason = _no_family(family, own, families)
    scales = [float(side[kept].std()) if kept.any() else 0.0 for side in (grid.judge, grid.gold)]
    if reason is None and min(scales) < 1e-12:
        reason = "one side gives every summary the same score"
    if reason is not None:
        return interval_row(bootstrap.alone(None, reason), **about)
    gap = grid.judge / scales[0] - grid.gold / scales[1]
    sums, counts = (_by_side(part, own) for part in (np.where(kept, gap, 0.0), kept.astype(np.float64)))
    interval = bootstrap.interval(
        lambda weights: _difference(weights @ sums.T, weights @ counts.T),
        undefined="no summary of one of the two sides has both scores",
    )
    if interval.value is not None:
        by_judge, by_people = (
            float(_difference(_by_side(np.where(kept, side, 0.0), own).sum(axis=1)[None], counts.sum(axis=1)[None])[0])
            for side in (grid.judge, grid.gold)
        )
        about = merged(about, details={"judge_difference": by_judge, "people_difference": by_people})
    return interval_row(interval, **about)


def _no_family(family: str | None, own: Bools, families: Mapping[str, str]) -> str | None:
    if family is None:
        known = ", ".join(dict.fromkeys(families.values()))
        return f"the judge's family is not known; name it in judge_families (families: {known})"
    if not own.any():
        return f"no system is of the judge's family {family}"
    return "every system is of the judge's family" if own.all() else None


def _by_side(values: Floats, own: Bools) -> Floats:
    """Sums over own systems and over others, by document (2 x documents)."""
    return np.stack([values[own].sum(axis=0), values[~own].sum(axis=0)])


def _difference(sums: Floats, counts: Floats) -> Floats:
    """The mean of own minus the mean of others, row by row (rows x 2); NaN where a side has nothing."""
    means = ratio(sums, counts)
    return np.asarray(means[:, 0] - means[:, 1])
