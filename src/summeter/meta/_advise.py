"""Which judge for these data? Agreement with people, cost, systems, length, and what more labels would settle.

One statistic serves all judges of an aspect, so that they can be compared: AUROC where people said yes or no (of a
judge that says only 0 and 1 it is the balanced accuracy), else Spearman's correlation. It is taken over sentences where
people and every judge have them, else over summaries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import NormalDist
from typing import Any, NamedTuple, Unpack

import numpy as np

from summeter.choices import AggregationRule, Coefficient, Level
from summeter.meta._bias import length_rows, lengths_of, self_preference
from summeter.meta._correlate import rows_interval
from summeter.meta.inputs import Gold
from summeter.meta.matrix import PairedScores, are_decisions
from summeter.meta.results import Row, Study, interval_row, judge_key, judge_labels, named, resampling
from summeter.meta.selection import (
    OF_PEOPLE,
    Selection,
    SelectionArgs,
    all_pairs,
    choose,
    meta_input,
    paired_matrices,
    takes,
)
from summeter.records import Parameter, UsageError, judge_names
from summeter.runs.calls import CallStore
from summeter.runs.run import CALLS, RunFolder
from summeter.stats import Interval, classification_interval
from summeter.stats.base import Floats
from summeter.stats.classification import Area
from summeter.stats.correlation import correlation_of
from summeter.stats.resample import Resampling, Weighted
from summeter.tables import Column, Table, number
from summeter.tables import interval as shown_interval

STUDY = "advise"
AUROC, SPEARMAN = "auroc", Coefficient.SPEARMAN.value
CHANCE = {AUROC: 0.5, SPEARMAN: 0.0}
FREE = "no model was paid for"
_SIDE = NormalDist().inv_cdf(0.975)


class Candidate(NamedTuple):
    """A judge on one aspect: its agreement, its US dollars per 1,000 summaries (None, and why, where unknown)."""

    run: RunFolder
    pairs: PairedScores
    statistic: str
    agreement: Interval
    cost: float | None
    reason: str | None

    def fields(self) -> dict[str, Any]:
        """What names it in a row."""
        about = {"study": STUDY, "level": self.pairs.level.value, "average": "pooled"}
        return {**named(self.pairs.judge, self.pairs.gold), **about}


@takes("aspect judge gold_at_least", OF_PEOPLE)
def advise(
    runs: RunFolder | Sequence[RunFolder],
    gold: Gold | None = None,
    *,
    level: str | None = None,
    families: Mapping[str, str] | None = None,
    judge_families: Mapping[str, str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    **selection: Unpack[SelectionArgs],
) -> Study:
    """Which of the judges in these runs should judge such data?

    `gold` is by default what people judged in the first run's data. `level` is "sentence" or "summary", by default
    sentences where people and all judges judged these. Rows of the study "advise": for each judge `auroc` or
    `spearman` (also for each system), with `details.frontier` (no judge agrees better for less money) and
    `details.recommended`; `cost_per_1000` and `seconds_per_1000` (for 1,000 summaries: US dollars, and seconds that
    calls took, one after the other, and that this processor computed); `length_gap` (by how much more than people's its
    scores go with the length of a summary); with `families` (and `judge_families`, as for `bias`) `self_preference`,
    how much higher than people, in standard deviations, it rates the systems of its own family; for the best judge and
    the next one ("A-B") the `difference`, and `documents_needed`, how many labelled documents would tell them apart.
    The recommendation stands in the notes.

    Recommended is the cheapest judge that the labels do not tell from the best one; none that they show to be no better
    than chance. Raises UsageError where no judge
    has an aspect in common with people.
    """
    folders = [runs] if isinstance(runs, RunFolder) else list(runs)
    if not folders:
        raise UsageError("no run given")
    chosen, resample = Selection(**selection), resampling(max(1, resamples), seed=seed)
    if chosen.merge == AggregationRule.EACH:
        raise UsageError(
            "judges are set beside one value of people for each unit; merge the annotators, or name one of them (",
            Parameter("merge", AggregationRule.AUTO.value),
            ")",
        )
    people = folders[0].data if gold is None else gold
    where = None if level is None else choose(Level, level, "level")
    found = _candidates(folders, people, chosen, where, resample)
    names = judge_names(judge_key(candidate.pairs.judge) for candidate in found)
    rows: list[Row] = []
    notes: list[str] = []
    for aspect in dict.fromkeys(candidate.pairs.gold.aspect for candidate in found):
        of_aspect = [candidate for candidate in found if candidate.pairs.gold.aspect == aspect]
        named_candidates = {names[judge_key(candidate.pairs.judge)]: candidate for candidate in of_aspect}
        block, said = _of_aspect(aspect, named_candidates, resample)
        rows += block
        notes += said
    rows += _biases(found, people, chosen, families or {}, judge_families or {}, resample)
    return Study(STUDY, rows, notes)


def overview(study: Study) -> Table:
    """A line a judge and aspect: agreement, price, time, the system on which it agrees least, the lean to length and
    (where families were given) to its own family, and marks: `frontier` where no judge agrees better for less money,
    `use` where it is recommended."""
    whole = [row for row in study if row.statistic in (AUROC, SPEARMAN) and row.system is None]
    names = judge_labels(whole)
    lines = []
    for name, row in zip(names, whole, strict=True):
        own = study.where(signature=row.signature, aspect=row.aspect, gold_aspect=row.gold_aspect)
        figures = {each.statistic: each.value for each in own if each.system is None}
        systems = [(each.value, each.system) for each in own.where(statistic=row.statistic)
                   if each.system is not None and each.value is not None]  # fmt: skip
        least = min(systems, default=None)
        marks = [mark for key, mark in (("frontier", "frontier"), ("recommended", "use")) if row.details[key]]
        lines.append((
            name, row.aspect if row.aspect == row.gold_aspect else f"{row.aspect}:{row.gold_aspect}", row.level,
            row.statistic, row.value, shown_interval(row.low, row.high), row.n, figures.get("cost_per_1000"),
            figures.get("seconds_per_1000"), None if least is None else f"{least[1]} {least[0]:.3f}",
            figures.get("length_gap"), figures.get("self_preference"), ", ".join(marks),
        ))  # fmt: skip
    columns = (
        Column("judge"), Column("aspect"), Column("level"), Column("statistic"), Column("value", show=number),
        Column("interval"), Column("n"), Column("$ per 1000", show=number), Column("s per 1000", show=number),
        Column("least on"), Column("length gap", show=number), Column("own family", show=number), Column(""),
    )  # fmt: skip
    families = any(row.statistic == "self_preference" for row in study)
    kept = [at for at, column in enumerate(columns) if families or column.head != "own family"]
    return Table(tuple(columns[at] for at in kept), tuple(tuple(line[at] for at in kept) for line in lines))


def _candidates(
    runs: Sequence[RunFolder], gold: Gold, chosen: Selection, where: Level | None, resample: Resampling
) -> list[Candidate]:
    by_level: dict[Level, dict[tuple[str, str, str], tuple[RunFolder, PairedScores]]] = {}
    lost: UsageError | None = None
    for level in [where] if where is not None else [Level.SENTENCE, Level.SUMMARY]:
        there = by_level.setdefault(level, {})
        for run in runs:
            try:
                for pairs in all_pairs(meta_input(run, gold, chosen), level, chosen):
                    there.setdefault(_key(pairs), (run, pairs))
            except UsageError as error:
                lost = error
    found = []
    for aspect in dict.fromkeys(key[0] for there in by_level.values() for key in there):
        of_aspect = [{key: own for key, own in there.items() if key[0] == aspect} for there in by_level.values()]
        # Sentences where every judge has them, else summaries.
        best = max(of_aspect, key=len)
        found += [_candidate(run, pairs, resample) for run, pairs in best.values()]
    if not found:
        raise lost or UsageError("nobody judged what people judged")
    return found


def _key(pairs: PairedScores) -> tuple[str, str, str]:
    """People's aspect, and the judge's signature and aspect: what makes a candidate."""
    return pairs.gold.aspect, pairs.judge.signature, pairs.judge.aspect


def _candidate(run: RunFolder, pairs: PairedScores, resample: Resampling) -> Candidate:
    statistic = AUROC if are_decisions(pairs.y) else SPEARMAN
    return Candidate(run, pairs, statistic, _agreement(pairs, statistic, resample), *_cost(run, pairs.judge.signature))


def _agreement(pairs: PairedScores, statistic: str, resample: Resampling) -> Interval:
    if statistic == AUROC:
        return classification_interval(pairs.y, pairs.x, AUROC, resample(pairs.document.codes))
    return rows_interval(pairs, SPEARMAN, resample)


def _cost(run: RunFolder, signature: str) -> tuple[float | None, str | None]:
    """US dollars for 1,000 summaries, or why nobody knows."""
    parts = signature.split(" + ")  # a composite's parts
    entries = [judge for judge in run.manifest.judges if judge.signature in parts]
    if entries and all(judge.imported for judge in entries):
        return None, "its judgments were imported"
    total = 0.0
    for judge in entries:
        used = run.manifest.judge_usage.get(judge.signature)
        if used is None or not used.calls:
            continue
        if used.cost is None or not used.items:
            return None, used.reason or "it judged nothing"
        total += 1000 * used.cost / used.items
    return total, None


def _seconds(run: RunFolder, signature: str) -> float | None:
    """Seconds that the calls behind 1,000 summaries took, added up, and those that this processor computed for them;
    None where none is known."""
    parts = signature.split(" + ")  # a composite's parts
    work = [run.totals.work[part] for part in parts if part in run.totals.work]
    entries = [judge for judge in run.manifest.judges if judge.signature in parts]
    rests_on = dict.fromkeys(chain(parts, *(judge.members for judge in entries)))
    items = max((each.items for each in work), default=0)
    total, timed = 0.0, 0
    for name in rests_on:
        spent, judged = run.manifest.compute.get(name), run.totals.work.get(name)
        if spent is not None and spent.items and judged is not None and items:
            # What a cascade's member judged is a part of the cascade's items.
            total, timed = total + 1000 * spent.seconds / spent.items * judged.items / items, timed + 1
    if not (run.folder / CALLS).is_file() or not any(each.items for each in work):
        return total if timed else None
    with CallStore(run.folder / CALLS, readonly=True) as store:
        for each in work:
            for completion in store.values(tuple(each.calls)).values():
                seconds = json.loads(completion).get("seconds")
                if isinstance(seconds, int | float):
                    total, timed = total + 1000 * seconds / max(1, each.items), timed + 1
    return total if timed else None


def _of_aspect(aspect: str, named: Mapping[str, Candidate], resample: Resampling) -> tuple[list[Row], list[str]]:
    """The rows of the judges of one aspect, and the recommendation."""
    ranked = sorted(
        (name for name, own in named.items() if own.agreement.value is not None),
        key=lambda name: (-(named[name].agreement.value or 0.0), named[name].cost is None, named[name].cost or 0.0),
    )
    gaps = {name: _difference(named[ranked[0]], named[name], resample) for name in ranked[1:]}
    equal = [ranked[0], *(name for name, gap in gaps.items() if not _apart(gap))] if ranked else []
    equal = [name for name in equal if not _below_chance(named[name])]
    priced = [name for name in equal if named[name].cost is not None]
    best = (
        min(priced, key=lambda name: named[name].cost or 0.0) if priced and named[ranked[0]].cost is not None else None
    )
    recommended = best if best is not None else equal[0] if equal else None
    rows: list[Row] = []
    for name, own in named.items():
        details = {"frontier": name in ranked and _on_frontier(own, named.values()), "recommended": name == recommended}
        rows.append(interval_row(own.agreement, own.fields(), statistic=own.statistic, details=details))
        rows.append(
            Row(**own.fields(), statistic="cost_per_1000", value=own.cost, n=len(own.pairs.document.used()),
                status="undefined" if own.cost is None else "ok", reason=own.reason)
        )  # fmt: skip
        seconds = _seconds(own.run, own.pairs.judge.signature)
        rows.append(
            Row(**own.fields(), statistic="seconds_per_1000", value=seconds, n=len(own.pairs.document.used()),
                status="undefined" if seconds is None else "ok",
                reason="the run says nothing of its time" if seconds is None else None)
        )  # fmt: skip
        rows += _by_system(own, resample)
    if recommended is None and ranked:
        own = named[ranked[0]]
        number = f"{own.statistic} {own.agreement.value:.3f} {shown_interval(own.agreement.low, own.agreement.high)}"
        return rows, [
            f"{aspect}: no judge can be recommended: the best, {ranked[0]}, is no better than chance ({number})."
        ]
    if recommended is None:
        return rows, [f"{aspect}: no judge can be recommended: {next(iter(named.values())).agreement.reason}"]
    if len(ranked) == 1:
        return rows, [f"{_use(aspect, recommended, named)} It is the only judge of {aspect} here."]
    other = recommended if recommended != ranked[0] else ranked[1]
    gap = gaps[other]
    more = documents_needed(gap)
    about = {
        **named[ranked[0]].fields(),
        "pair": f"{ranked[0]}-{other}",
        "judge": None,
        "signature": None,
        "model": None,
    }
    rows.append(interval_row(gap.interval, about, statistic="difference", details={"of": named[other].statistic}))
    rows.append(
        Row(**about, statistic="documents_needed", value=None if more is None else float(more), n=gap.documents,
            status="undefined" if more is None else "ok",
            reason="the two agree with people alike, or no interval could be had" if more is None else None)
    )  # fmt: skip
    return rows, [f"{_use(aspect, recommended, named)} {_why(ranked[0], other, recommended, gap, more, named)}"]


def _use(aspect: str, name: str, named: Mapping[str, Candidate]) -> str:
    own = named[name]
    spread = shown_interval(own.agreement.low, own.agreement.high)
    price = own.reason if own.cost is None else f"${own.cost:.2f} per 1,000 summaries" if own.cost else FREE
    value = f"{own.agreement.value:.3f} {spread}".strip()
    number = f"{own.statistic} {value} on {own.agreement.n:,} {_plural(own.pairs.level)}"
    chance = ""
    if own.agreement.low is None:
        chance = "; too few labels for an interval"
    elif own.agreement.low <= CHANCE[own.statistic]:
        chance = "; the labels do not tell it from chance"
    return f"{aspect}: use {name} ({number}; {price}{chance})."


def _below_chance(own: Candidate) -> bool:
    """Whether the labels say that people agree with it no better than with a coin."""
    most = own.agreement.value if own.agreement.high is None else own.agreement.high
    return most is not None and most <= CHANCE[own.statistic]


def _plural(level: Level) -> str:
    return "summaries" if level is Level.SUMMARY else f"{level.value.replace('_', ' ')}s"


def _why(
    best: str, other: str, recommended: str, gap: Difference, more: int | None, named: Mapping[str, Candidate]
) -> str:
    spread = shown_interval(gap.interval.low, gap.interval.high)
    ahead = f"{best} is ahead of {other} by {gap.interval.value or 0.0:.3f} {spread}"
    if not gap.interval.value and gap.interval.low == gap.interval.high:
        return f"{best} and {other} agree with people alike."
    if _apart(gap):
        return f"{ahead}, which the labels tell apart."
    labels = "" if more is None else f"; about {more:,} labelled documents would (there are {gap.documents:,})"
    cheaper = ""
    if recommended != best and (named[best].cost or 0.0) > (named[other].cost or 0.0):
        cheaper = f" and costs ${named[best].cost:.2f} per 1,000 summaries"
    return f"{ahead}{cheaper}, but the labels do not tell them apart{labels}."


class Difference(NamedTuple):
    """How much better one judge agrees than another, on what both and people judged."""

    interval: Interval
    documents: int


def _difference(first: Candidate, second: Candidate, resample: Resampling) -> Difference:
    """Documents are drawn for both judges alike."""
    keys = [_keys(candidate.pairs) for candidate in (first, second)]
    common = [key for key in keys[0] if key in keys[1]]
    rows = [np.array([at[key] for key in common], np.int64) for at in keys]
    one, two = (candidate.pairs.take(at) for candidate, at in zip((first, second), rows, strict=True))
    bootstrap = resample(one.document.codes)
    parts: list[Weighted] = []
    for pairs in (one, two):
        if first.statistic == AUROC:
            parts.append(Area(pairs.y, pairs.x, bootstrap.codes))
        else:
            parts.append(correlation_of(pairs.x, pairs.y, bootstrap.codes, SPEARMAN))

    def difference(weights: Floats) -> Floats:
        return np.asarray(parts[0](weights) - parts[1](weights))

    return Difference(bootstrap.interval(difference, width=len(common)), len(one.document.used()))


def _keys(pairs: PairedScores) -> dict[tuple[str | None, str | None, int], int]:
    labels = zip(pairs.document.labels(), pairs.system.labels(), pairs.index.tolist(), strict=True)
    return {key: at for at, (key, kept) in enumerate(zip(labels, pairs.kept.tolist(), strict=True)) if kept}


def _apart(gap: Difference) -> bool:
    low, high = gap.interval.low, gap.interval.high
    return low is not None and high is not None and (low > 0 or high < 0)


def documents_needed(gap: Difference) -> int | None:
    """How many labelled documents would give the difference an interval without 0: its width falls with their root."""
    value, low, high = gap.interval.value, gap.interval.low, gap.interval.high
    if not value or low is None or high is None:
        return None
    deviation = (high - low) / (2 * _SIDE)
    return math.ceil(gap.documents * (_SIDE * deviation / abs(value)) ** 2)


def _on_frontier(own: Candidate, others: Any) -> bool:
    if own.cost is None or own.agreement.value is None:
        return False
    return not any(
        other.cost is not None and other.agreement.value is not None
        and (other.cost, -other.agreement.value) != (own.cost, -own.agreement.value)
        and other.cost <= own.cost and other.agreement.value >= own.agreement.value
        for other in others
    )  # fmt: skip


def _by_system(own: Candidate, resample: Resampling) -> Iterator[Row]:
    if len(own.pairs.system.used()) < 2:
        return
    for system, part in own.pairs.split("system"):
        if part.n > 1:
            agreement = _agreement(part, own.statistic, resample)
            yield interval_row(agreement, own.fields(), statistic=own.statistic, system=system)


def _biases(
    candidates: Sequence[Candidate], gold: Gold, chosen: Selection, families: Mapping[str, str],
    judge_families: Mapping[str, str], resample: Resampling,
) -> Iterator[Row]:  # fmt: skip
    """Of the candidates only: of a judge in several runs, what the first of them says, like its other figures."""
    run_of = {_key(candidate.pairs): candidate.run for candidate in candidates}
    for run in {id(run): run for run in run_of.values()}.values():
        lengths = lengths_of(run, gold, "words")
        try:
            matrices = paired_matrices(meta_input(run, gold, chosen), chosen)
        except UsageError:
            continue  # people judged no summaries as a whole, or this run has none of their aspects
        for matrix in (matrix for matrix in matrices if run_of.get(_key(matrix.pairs)) is run):
            rows = [row for row in length_rows(matrix, lengths, "words", resample) if row.statistic == "length_gap"]
            if families:
                rows.append(self_preference(matrix, families, judge_families, resample))
            yield from (row.model_copy(update={"study": STUDY}) for row in rows)
