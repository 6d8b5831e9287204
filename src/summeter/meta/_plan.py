"""Plan human labels: how many and which items people should judge to answer a question.

A simulation predicts the width of the interval after k labels. People's scores are replaced by a proxy (existing
labels, or else the scores of another judge, or else scores with an assumed correlation). In each repetition, k items
are drawn and the estimate of `meta estimate` is computed (see `coverage`). The proposed items are a systematic random
sample in the order of the judges' disagreement. All items have the same probability, so that the estimate is unbiased.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.meta._estimate import coverage
from summeter.meta.inputs import JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.options import Options, study
from summeter.meta.results import Row, Study, merged, named
from summeter.meta.sample import Grid, Rater, Sample, Units
from summeter.meta.selection import PEOPLE, gold_scores
from summeter.meta.verdicts import POWER, labels_sentence
from summeter.records import UsageError, judge_names
from summeter.scoring.table import Categorical
from summeter.stats import error_to_find
from summeter.stats.base import Floats

LADDER = (25, 50, 100, 200, 500, 1000, 2000, 5000)
PILOT = 5
"""Minimum number of existing labels that are used as a proxy for people."""
NEAR = 5
"""Number of nearest labelled items, by machine score, that give an unlabelled item a proxy label."""
Item = tuple[str, str]


class PlanOptions(Options):
    """The options of `plan_calibration`."""

    aspect: str | None = Field(None, description="Aspect; required if the runs have several.")
    gold: Dataset | None = Field(None, description="Data with existing labels.")
    expect: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Assumed correlation of judge and people if there are neither labels nor a second judge.",
    )
    labels: int | None = Field(
        None,
        ge=2,
        description="Number of items to propose. Default: the smallest sufficient number, else the largest of `sizes`.",
    )
    sizes: Sequence[Annotated[int, Field(ge=2)]] = Field(
        (), description="Numbers of labels to simulate. Default: up to eight from 25 to 5,000."
    )
    draws: int = Field(100, ge=1, description="Number of simulations for each number of labels.")
    seed: int = Field(0, description="Random seed.")
    level: float = Field(0.95, gt=0, lt=1, description="Confidence level of the intervals.")


class PlanComparisonOptions(PlanOptions):
    """The options of `plan_comparison`."""

    judge: str | None = Field(
        None, description="Judge whose scores are used with human labels. Default: the first judge."
    )


class Proposal(NamedTuple):
    """Expected half-widths for numbers of labels (in rows `half_width`), notes, and proposed items."""

    study: Study
    items: tuple[Item, ...]
    labels: int
    settled_at: int | None

    def lines(self) -> list[str]:
        """Return the lines of an items file: one JSON object per line, for `select.items` of a campaign."""
        return [
            json.dumps({"doc_id": document, "system": system}, ensure_ascii=False) for document, system in self.items
        ]


@study(PlanComparisonOptions)
def plan_comparison(runs: RunLike, systems: tuple[str, str], options: PlanComparisonOptions) -> Proposal:
    """Propose documents for people to judge in order to find out which of two systems is better.

    One label is one document with the summaries of both systems. The command `summeter annotate plan` calls this
    function. Raises UsageError if no run judged the aspect or a system.
    """
    votes = _differences(_votes(judge_input(runs), options.judge, options), systems)
    proxies, machine = _proxies(votes, options), votes.x
    steps = _steps(votes, machine, proxies, options, pair="-".join(systems))
    gap = float(machine.mean())
    settled = _settled(steps, abs(gap), options)
    higher, lower = systems if gap >= 0 else systems[::-1]
    judge = votes.judge
    notes = [
        f"{judge.judge} scores {higher} {abs(gap):.3f} above {lower} on {judge.aspect}, over {len(votes)} documents",
        _widths_text(steps, "document", f" (each with both summaries; proxy for people: {', '.join(proxies)})"),
        f"none of these numbers is likely to detect a difference of {abs(gap):.3f}; the systems may be equal"
        if settled is None
        else f"{labels_sentence(settled)}, if people see the same difference",
    ]
    proposal = _proposal(votes, steps, settled, options, notes)
    return proposal._replace(items=tuple((document, system) for document, _ in proposal.items for system in systems))


@study(PlanOptions)
def plan_calibration(runs: RunLike, judge: str, options: PlanOptions) -> Proposal:
    """Propose summaries for people to judge in order to measure the bias of a judge's mean.

    One label is one summary. The command `summeter annotate plan` calls this function. Raises UsageError if the judge
    or the aspect is unknown.
    """
    votes = _votes(judge_input(runs), judge, options)
    proxies = _proxies(votes, options)
    errors = {name: votes.x - values for name, values in proxies.items()}
    steps = _steps(votes, np.zeros(len(votes)), errors, options)
    gap = max(abs(float(np.nanmean(error))) for error in errors.values())
    settled = _settled(steps, gap, options) if _others(votes) or (~np.isnan(votes.y)).sum() >= PILOT else None
    notes = [
        f"the mean of {votes.judge.judge} on {votes.judge.aspect} is {votes.x.mean():.3f} over {len(votes)} summaries",
        _widths_text(steps, "summary", f" (proxy for people: {', '.join(proxies)})"),
    ]
    if settled is not None:
        bias = labels_sentence(settled, f"show a bias of {gap:.3f}", "summaries")
        notes.append(f"{bias}, according to the proxy for people")
    return _proposal(votes, steps, settled, options, notes)


def _votes(judges: JudgeInput, judge: str | None, options: PlanOptions) -> Sample:
    """Return the scores of summaries by the selected judge (always present), the other judges and people."""
    selected = judges.questions(judge=judge)
    names = list(dict.fromkeys(question.aspect for question in selected))
    if options.aspect is None and len(names) > 1:
        raise UsageError(f"the runs judged several aspects; choose one with the option aspect: {', '.join(names)}")
    aspect = options.aspect if options.aspect is not None else next(iter(names), "")
    questions = sorted(judges.questions([aspect]), key=lambda question: question not in selected)
    if not questions:
        judged = ", ".join(dict.fromkeys(question.aspect for question in judges.questions()))
        raise UsageError(f"no run judged {aspect!r}; they judged: {judged}")
    scores = [judges.scores(question, Level.SUMMARY) for question in questions]
    units = replace(scores[0].units, context=judges.context)
    gold = [] if options.gold is None else gold_scores(gold_input(options.gold)[0], aspect, Level.SUMMARY)
    labels = gold[0].values_on(units) if gold else np.full(len(units), np.nan)
    raters = [*(each.judge for each in scores), gold[0].gold if gold else Rater(PEOPLE, "", None, aspect)]
    return _planned(Sample.of_values(units, raters, np.stack([*(each.values_on(units) for each in scores), labels])))


def _planned(votes: Sample) -> Sample:
    """Return the votes on the units that the selected judge judged. Raises UsageError if there are fewer than 4."""
    judged = votes.take(~np.isnan(votes.x))
    if len(judged) < 4:
        who = votes.judge.judge
        raise UsageError(f"{who} has {len(judged)} items for this question; planning needs at least 4")
    return judged


def _differences(votes: Sample, systems: tuple[str, str]) -> Sample:
    """Return the difference of the scores of two systems on each document, by each judge and by people."""
    grid = Grid.of(votes)
    for system in systems:
        if system not in grid.systems:
            raise UsageError(f"the judgments have no system {system!r}; they have: {', '.join(grid.systems)}")
    if systems[0] == systems[1]:
        raise UsageError(f"give two different systems to compare, not {systems[0]} twice")
    first, second = (grid.values[:, grid.systems.index(system)] for system in systems)
    size = len(grid.documents)
    documents, none = Categorical(np.arange(size), grid.documents), Categorical.same(None, size)
    units = Units(Level.DOCUMENT, documents, none, none, np.full(size, -1, np.int64), votes.units.context)
    return _planned(Sample.of_values(units, votes.raters, first - second))


def _others(votes: Sample) -> dict[str, Floats]:
    """Return the values of each other judge that judged at least 4 of the units, by name."""
    names = list(judge_names(rater.key for rater in votes.raters[:-1]).values())
    others = zip(names[1:], votes.matrix[1:-1], strict=True)
    return {name: values for name, values in others if (~np.isnan(values)).sum() >= 4}


def _proxies(votes: Sample, options: PlanOptions) -> dict[str, Floats]:
    """Return the proxies for people's scores.

    They are existing labels, or else the scores of each other judge, or else machine scores with added noise.
    """
    rng = np.random.default_rng(options.seed)
    machine, people = votes.x, votes.y
    known = np.flatnonzero(~np.isnan(people))
    if len(known) >= PILOT:
        values = people.copy()
        for unlabelled in np.flatnonzero(np.isnan(values)):
            gaps = np.abs(machine[known] - machine[unlabelled])
            nearest = known[np.argsort(gaps, kind="stable")[:NEAR]]
            values[unlabelled] = people[rng.choice(nearest)]
        return {f"{len(known)} existing labels": values}
    if others := _others(votes):
        return others
    mixed = np.where(rng.random(len(votes)) < options.expect, machine, rng.permutation(machine))
    return {f"an assumed correlation of {options.expect:g}": mixed}


def _steps(
    votes: Sample, machine: Floats, proxies: Mapping[str, Floats], options: PlanOptions, **pair: str
) -> list[Row]:
    """Return a row with the half-width after each number of labels (`n`), averaged over the proxies."""
    most = min(int((~np.isnan(values)).sum()) for values in proxies.values())
    usual = [size for size in LADDER if size < most] or sorted({max(2, most * part // 4) for part in (1, 2, 3)})
    wanted = {*(options.sizes or usual), *([options.labels] if options.labels is not None else [])}
    sizes = sorted(size for size in wanted if size < most)
    if not sizes:
        raise UsageError(f"there are {most} items to draw from; request fewer labels")
    settings: dict[str, Any] = {"draws": options.draws, "seed": options.seed}
    steps = []
    for size in sizes:
        simulated = [
            coverage(values, machine, size, confidence=options.level, **settings) for values in proxies.values()
        ]
        halves = [got.details["width"] / 2 for got in simulated]
        alone = fmean(got.details["human_width"] / 2 for got in simulated)
        details = {"least": min(halves), "most": max(halves), "labels_alone": alone, **settings, "level": options.level}
        steps.append(
            Row(**merged(named(votes.judge), details=details), study="plan", gold_aspect=votes.judge.aspect,
                level="system", statistic="half_width", value=fmean(halves), n=size, **pair)
        )  # fmt: skip
    return steps


def _settled(steps: Sequence[Row], gap: float, options: PlanOptions) -> int | None:
    """Return the smallest number of labels that detects a difference of `gap` with power `POWER`.

    Returns None if no number in `steps` suffices.
    """
    wanted = error_to_find(gap, options.level, POWER)
    return next((row.n for row in steps if error_to_find(row.value or 0.0, options.level) <= wanted), None)


def _proposal(
    votes: Sample, steps: Sequence[Row], settled: int | None, options: PlanOptions, notes: list[str]
) -> Proposal:
    """Return the proposal, with notes on requested sizes that are too large."""
    if options.labels is not None and options.labels >= len(votes):
        raise UsageError(f"there are {len(votes)} items to draw from; request fewer labels")
    labels = options.labels or settled or steps[-1].n
    simulated = {row.n for row in steps}
    notes += [f"{size} labels are more than there are items" for size in options.sizes if size not in simulated]
    return Proposal(Study("plan", steps, notes), tuple(_sample(votes, labels, options.seed)), labels, settled)


def _widths_text(steps: Sequence[Row], unit: str, about: str) -> str:
    """Return a sentence such as `200 labels give about ±0.040; 500 ±0.025; one label is one document`."""
    first, *rest = [(row.n, f"±{row.value:.3f}") for row in steps]
    parts = [f"{first[0]} labels give about {first[1]}", *(f"{labels} {width}" for labels, width in rest)]
    return f"{'; '.join(parts)}; one label is one {unit}{about}"


def _sample(votes: Sample, size: int, seed: int) -> list[Item]:
    """Return a systematic random sample of the unlabelled units, in the order of the data.

    The units are sorted by domain and by the disagreement of the judges (or by the absolute score if there is only one
    judge). Every n-th unit is drawn from a random start, so that all units have the same probability.
    """
    free = np.flatnonzero(np.isnan(votes.y))
    size = min(size, len(free))
    if others := _others(votes):
        by_judge = np.stack([votes.x, *others.values()])
        disagreement = np.nanmax(by_judge, axis=0) - np.nanmin(by_judge, axis=0)
    else:
        disagreement = np.abs(votes.x)
    rng = np.random.default_rng(seed)
    tie_break = rng.random(len(votes))
    domains = [name or "" for name in votes.units.column("domain").labels()]
    order = sorted(free.tolist(), key=lambda at: (domains[at], disagreement[at], tie_break[at]))
    step = len(order) / size if size else 1.0
    start = rng.random() * step
    places = sorted(order[int(start + number * step)] for number in range(size))
    units = votes.units.take(np.array(places, np.int64))
    return list(zip(units.document.labels(), units.system.labels(), strict=True))
