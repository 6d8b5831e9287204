"""What besides quality moves a judge: the place in the prompt, the length of the summary, its own family.

Rows:

    position         of head-to-head judges asked in both orders, over all pairs and each: `flip_rate` (the share of
                     verdicts that turn with the order) and `slot_preference` (share of those that chose the first
                     place both times minus the second's, from -1 to 1; p of an exact sign test)
    length           `partial_pearson`, the correlation of the judge's scores with length at equal scores of people;
                     `length_judge`, `length_people` and `length_gap`, the correlation of each with length, and the
                     difference: beyond what people do
    self_preference  `self_preference`, how much higher the judge rates the systems of its own family than other
                     systems, minus how much higher people rate them, in standard deviations of each side's scores
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.meta.grids import Draws, PairedMatrix, drawn_row, merged_details, paired_matrices
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.results import Row, Study, pair_name
from summeter.meta.selection import Selection, meta_input, selected
from summeter.meta.verdicts import Verdicts, verdicts
from summeter.records import Summary, UsageError
from summeter.runs.run import RunFolder
from summeter.stats import OrderEffect, order_effect, pearson
from summeter.stats.base import Floats, Ints, correlation_p

Measure = Callable[[str], int]
_FEWEST = 4

LENGTHS: dict[str, Measure] = {"words": lambda text: len(text.split()), "characters": len}
"""How the length of a summary is counted: words between blanks, or code points."""


@dataclass(frozen=True)
class Suspicion:
    """What is looked for.

    `families` maps a system to the family of its maker; `judge_families` a judge (name, signature or model) to its
    own. A judge that is not named there belongs to the family whose name its model's name holds ("openai/gpt-4o"
    holds "gpt"). `length` is words or characters.
    """

    families: Mapping[str, str] = field(default_factory=dict)
    judge_families: Mapping[str, str] = field(default_factory=dict)
    length: str = "words"

    def __post_init__(self) -> None:
        if self.length not in LENGTHS:
            raise UsageError(f"length is {' or '.join(LENGTHS)}, not {self.length!r}")

    def family_of(self, judge: str | None, signature: str | None, model: str | None) -> str | None:
        """The family a judge belongs to, None where nobody knows."""
        for name in (judge, signature, model):
            if name is not None and name in self.judge_families:
                return self.judge_families[name]
        held = [one for one in dict.fromkeys(self.families.values()) if model and one.casefold() in model.casefold()]
        return held[0] if len(held) == 1 else None


def bias(
    run: RunLike, gold: Gold | None = None, *, aspect: str | Sequence[str] | None = None,
    select: Selection | None = None, suspicion: Suspicion | None = None, draws: Draws | None = None,
) -> Study:  # fmt: skip
    """Audit the judges of a run for bias by position, length and family, whichever can be seen in it.

    Length and family need people's scores: a bias is what people do not share. Lengths are those of the run's own
    summaries (or the gold's data set). Raises UsageError where nothing can be audited.
    """
    chosen, suspicion, draws = selected(select, aspect), suspicion or Suspicion(), draws or Draws()
    if gold is None and isinstance(run, RunFolder):
        gold = run.data
    read = meta_input(run, gold if gold is not None else (), chosen)
    own = {one.partition(":")[0] for one in chosen.aspects}
    rows: list[Row] = []
    notes: list[str] = []
    for said in verdicts(read.judge.table, chosen.judge):
        if not own or said.aspect in own:
            rows += position(said, draws)
    lengths = lengths_of(run, gold, suspicion.length)
    try:
        found = paired_matrices(read, chosen)
    except UsageError as error:
        found = []
        if not rows:
            raise
        notes.append(f"only position was audited: {error}")
    for one in found:
        if lengths:
            rows += length(one, lengths, suspicion.length, draws)
        if suspicion.families:
            rows.append(self_preference(one, suspicion, draws))
    if found and not suspicion.families:
        notes.append("families were not given, so self-preference was not audited (--family SYSTEM=NAME)")
    return Study("bias", rows, notes)


def lengths_of(run: RunLike, gold: Gold | None, unit: str) -> dict[tuple[str, str], int]:
    """The length of each summary by (document, system); empty where no texts are at hand."""
    data = run.data if isinstance(run, RunFolder) else gold
    summaries: Sequence[Summary] = data.summaries if isinstance(data, Dataset) else ()
    return {(one.document_id, one.system): LENGTHS[unit](one.text) for one in summaries}


def position(said: Verdicts, draws: Draws) -> list[Row]:
    """Rows about order, over all pairs and for each; verdicts in one order only are missing."""
    rows = _position(said, None, said.ab, said.ba, draws)
    if len(said.pairs) > 1:
        for place, pair in enumerate(said.pairs):
            rows += _position(said, pair, said.ab[[place]], said.ba[[place]], draws)
    return rows


def _position(said: Verdicts, pair: tuple[str, str] | None, ab: Floats, ba: Floats, draws: Draws) -> list[Row]:
    asked = ~(np.isnan(ab) & np.isnan(ba))
    effect = order_effect(ab[asked], ba[asked])
    both = ~(np.isnan(ab) | np.isnan(ba))
    # Points of the first system: 1 when shown first and 0 when second is a verdict for the first place both times.
    turned, lean = both & (ab != ba), np.where(both, ab - ba, 0.0)
    slots = np.where(np.abs(lean) == 1, lean, 0.0)
    drawn = [_share(part, both, draws) for part in (turned.astype(np.float64), slots)]
    details = {"consistent": effect.consistent, "first_slot": effect.first_slot, "second_slot": effect.second_slot,
               "half_tied": effect.half_tied}  # fmt: skip
    about = merged_details(said.fields(), **details)
    about |= {"study": "position", "level": Level.SUMMARY.value, "pair": pair_name(*pair) if pair else None,
              "n": effect.n, "missing": effect.missing,
              "reason": None if effect.n else "no pair was judged in both orders"}  # fmt: skip
    leaning = None if not effect.n else (effect.first_slot - effect.second_slot) / effect.n
    return [
        drawn_row({**about, "statistic": "flip_rate"}, effect.flip_rate, drawn[0], draws),
        drawn_row({**about, "statistic": "slot_preference", "p": sign_p(effect)}, leaning, drawn[1], draws),
    ]


def _share(part: Floats, both: np.ndarray[Any, np.dtype[np.bool_]], draws: Draws) -> tuple[float, float] | None:
    """The interval of a mean over verdicts, documents drawn whole."""
    if both.shape[1] < 2:
        return None
    times = draws.times(both.shape[1]).astype(np.float64)
    counts = times @ both.sum(axis=0)
    empty: Floats = np.full(len(counts), np.nan)
    return draws.ends(np.divide(times @ part.sum(axis=0), counts, out=empty, where=counts > 0))


def sign_p(effect: OrderEffect) -> float | None:
    """The exact two-sided p-value that verdicts turned by order favour neither place; None when none turned.

    >>> sign_p(OrderEffect(0, 5, 0, 0, 5, 0))
    0.0625
    """
    one, two = effect.first_slot, effect.second_slot
    total = one + two
    if not total:
        return None
    ways = sum(math.comb(total, k) for k in range(min(one, two) + 1))
    return min(1.0, 2 * ways / int(2**total))


def length(one: PairedMatrix, lengths: Mapping[tuple[str, str], int], unit: str, draws: Draws) -> list[Row]:
    """Rows about length; a summary counts when it has a length and both have scored it."""
    size = np.array([[lengths.get((doc, system), np.nan) for doc in one.documents] for system in one.systems])
    kept = one.kept & ~np.isnan(size)
    columns = np.nonzero(kept)[1].astype(np.int64)
    judge, gold, words = one.judge[kept], one.gold[kept], size[kept].astype(np.float64)
    n = int(kept.sum())
    about = merged_details(one.fields(), length=unit)
    about |= {"study": "length", "level": Level.SUMMARY.value, "average": "pooled", "n": n,
              "missing": int((~(np.isnan(one.judge) & np.isnan(one.gold))).sum()) - n}  # fmt: skip
    ours, theirs = pearson(judge, words), pearson(gold, words)
    gap = None if ours.value is None or theirs.value is None else ours.value - theirs.value
    part = partial(judge, words, gold)
    why = ours.reason or theirs.reason or "people's scores leave nothing to explain"
    part_p = None if part is None else correlation_p(part, n - 3)
    found: list[tuple[str, float | None, float | None]] = [
        ("partial_pearson", part, part_p), ("length_judge", ours.value, ours.p),
        ("length_people", theirs.value, theirs.p), ("length_gap", gap, None),
    ]  # fmt: skip
    drawn = drawn_lengths(np.stack([judge, words, gold]), columns, draws.times(len(one.documents)))
    several = len(one.documents) > 1
    return [
        drawn_row({**about, "statistic": name, "p": p, "reason": why if value is None else None}, value,
                  draws.ends(drawn[name]) if several and value is not None else None, draws)
        for name, value, p in found
    ]  # fmt: skip


def partial(one: Floats, two: Floats, given: Floats) -> float | None:
    """The correlation of two lists at equal values of a third: (r12 - r13 r23) / sqrt((1 - r13^2)(1 - r23^2)).

    None with fewer than four rows, or where the third explains one of them wholly.

    >>> round(partial(np.array([1.0, 2, 3, 5]), np.array([2.0, 1, 4, 3]), np.array([1.0, 3, 2, 4])), 6)
    0.952579
    """
    found = [pearson(x, y).value for x, y in ((one, two), (one, given), (two, given))]
    r12, r13, r23 = (math.nan if value is None else value for value in found)
    rest = (1 - r13**2) * (1 - r23**2)
    if len(one) < _FEWEST or math.isnan(r12 + rest) or rest < 1e-12:
        return None
    return max(-1.0, min(1.0, (r12 - r13 * r23) / math.sqrt(rest)))


def drawn_lengths(rows: Floats, documents: Ints, times: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, Floats]:
    """The four statistics of length in each draw, NaN where undefined, from sums over documents.

    `rows` are the judge's scores, the lengths and people's scores (3 x summaries), `documents` their documents
    0..D-1, `times` how often each document is in each draw (draws x D).
    """
    rows = rows - rows.mean(axis=1, keepdims=True) if rows.shape[1] else rows
    parts = np.vstack([np.ones(rows.shape[1]), rows, (rows[:, None] * rows[None]).reshape(9, -1)])
    sums = np.zeros((times.shape[1], len(parts)))
    np.add.at(sums, documents, parts.T)
    drawn = times.astype(np.float64) @ sums
    with np.errstate(divide="ignore", invalid="ignore"):
        means = drawn[:, 1:] / drawn[:, :1]
        first, second = means[:, :3], means[:, 3:].reshape(-1, 3, 3)
        spread = second - first[:, :, None] * first[:, None, :]
        own = np.diagonal(spread, axis1=1, axis2=2)
        own = np.where(own > 1e-12 * np.diagonal(second, axis1=1, axis2=2), own, np.nan)
        r = spread / np.sqrt(own[:, :, None] * own[:, None, :])
        rest = (1 - r[:, 0, 2] ** 2) * (1 - r[:, 1, 2] ** 2)
        part = (r[:, 0, 1] - r[:, 0, 2] * r[:, 1, 2]) / np.sqrt(np.where(rest > 1e-12, rest, np.nan))
    return {
        "partial_pearson": np.clip(part, -1, 1), "length_judge": r[:, 0, 1], "length_people": r[:, 1, 2],
        "length_gap": r[:, 0, 1] - r[:, 1, 2],
    }  # fmt: skip


def self_preference(one: PairedMatrix, suspicion: Suspicion, draws: Draws) -> Row:
    """How far a judge favours its own family's systems beyond people."""
    judge = one.pairs.judge
    family = suspicion.family_of(judge.judge, judge.signature, judge.model)
    own = np.array([family is not None and suspicion.families.get(system) == family for system in one.systems])
    kept = one.kept
    named = [system for system, mine in zip(one.systems, own, strict=True) if mine]
    about = merged_details(one.fields(), family=family, own_systems=named)
    about |= {"study": "self_preference", "level": Level.SUMMARY.value, "statistic": "self_preference",
              "n": int(kept.sum()), "missing": int((~kept).sum())}  # fmt: skip
    reason = _no_family(family, own, suspicion)
    scales = [float(side[kept].std()) if kept.any() else 0.0 for side in (one.judge, one.gold)]
    if reason is None and min(scales) < 1e-12:
        reason = "one side gives every summary the same score"
    if reason is not None:
        return drawn_row({**about, "reason": reason}, None, None, draws)
    gap = one.judge / scales[0] - one.gold / scales[1]
    sums, counts = (_by_side(part, own) for part in (np.where(kept, gap, 0.0), kept.astype(np.float64)))
    value = _difference(sums.sum(axis=1)[None], counts.sum(axis=1)[None])[0]
    if np.isnan(value):
        return drawn_row({**about, "reason": "no summary of one of the two sides has both scores"}, None, None, draws)
    raw = [_difference(_by_side(np.where(kept, side, 0.0), own).sum(axis=1)[None], counts.sum(axis=1)[None])[0]
           for side in (one.judge, one.gold)]  # fmt: skip
    about = merged_details(about, judge_difference=float(raw[0]), people_difference=float(raw[1]))
    times = draws.times(len(one.documents)).astype(np.float64)
    ends = draws.ends(_difference(times @ sums.T, times @ counts.T)) if len(one.documents) > 1 else None
    return drawn_row(about, float(value), ends, draws)


def _no_family(family: str | None, own: np.ndarray[Any, np.dtype[np.bool_]], suspicion: Suspicion) -> str | None:
    if family is None:
        known = ", ".join(dict.fromkeys(suspicion.families.values()))
        return f"the judge's family is not known; name it (--judge-family JUDGE=NAME; families: {known})"
    if not own.any():
        return f"no system is of the judge's family {family}"
    return "every system is of the judge's family" if own.all() else None


def _by_side(values: Floats, own: np.ndarray[Any, np.dtype[np.bool_]]) -> Floats:
    """Sums over own systems and over others, by document (2 x documents)."""
    return np.stack([values[own].sum(axis=0), values[~own].sum(axis=0)])


def _difference(sums: Floats, counts: Floats) -> Floats:
    """The mean of own minus the mean of others, row by row (rows x 2); NaN where a side has nothing."""
    empty: Floats = np.full(sums.shape, np.nan)
    means = np.divide(sums, counts, out=empty, where=counts > 0)
    return np.asarray(means[:, 0] - means[:, 1])
