"""Plan human labels: how many and which items people should judge to answer a question.

A simulation predicts the width of the interval after k labels. People's scores are replaced by a proxy (existing
labels, or else the scores of another judge, or else scores with an assumed correlation). In each repetition, k items
are drawn and the estimate of `meta estimate` is computed (see `coverage`). The proposed items are a systematic random
sample in the order of the judges' disagreement. All items have the same probability, so that the estimate is unbiased.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.meta._estimate import CoverageOptions, coverage
from summeter.meta.gold import gold_scores
from summeter.meta.inputs import JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.options import Options, study
from summeter.meta.results import Row, Study
from summeter.meta.sample import Sample
from summeter.meta.verdicts import POWER, labels_sentence
from summeter.records import JudgeKey, UsageError, judge_names
from summeter.scoring.table import Question
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


class _Units(NamedTuple):
    """One number per unit by each judge and by people.

    A unit is a document, with a difference of scores, or a summary, with a score.
    """

    judge: str
    signature: str
    aspect: str
    units: tuple[Item, ...]
    machine: Floats
    others: Mapping[str, Floats]
    people: Floats
    domains: tuple[str, ...]


@study(PlanComparisonOptions)
def plan_comparison(runs: RunLike, systems: tuple[str, str], options: PlanComparisonOptions) -> Proposal:
    """Propose documents for people to judge in order to find out which of two systems is better.

    One label is one document with the summaries of both systems. The command `summeter annotate plan` calls this
    function. Raises UsageError if no run judged the aspect or a system.
    """
    scores = _differences(judge_input(runs), systems, options)
    proxies = _proxies(scores, options)
    steps = _steps(scores.machine, proxies, options)
    gap, size = float(scores.machine.mean()), len(scores.machine)
    settled = _settled(steps, abs(gap), options)
    higher, lower = systems if gap >= 0 else systems[::-1]
    notes = [
        f"{scores.judge} scores {higher} {abs(gap):.3f} above {lower} on {scores.aspect}, over {size} documents",
        _widths_text(steps, "document", f" (each with both summaries; proxy for people: {', '.join(proxies)})"),
        f"none of these numbers is likely to detect a difference of {abs(gap):.3f}; the systems may be equal"
        if settled is None
        else f"{labels_sentence(settled)}, if people see the same difference",
    ]
    proposal = _proposal(scores, steps, settled, options, notes, pair="-".join(systems))
    return proposal._replace(items=tuple((document, system) for document, _ in proposal.items for system in systems))


@study(PlanOptions)
def plan_calibration(runs: RunLike, judge: str, options: PlanOptions) -> Proposal:
    """Propose summaries for people to judge in order to measure the bias of a judge's mean.

    One label is one summary. The command `summeter annotate plan` calls this function. Raises UsageError if the judge
    or the aspect is unknown.
    """
    judges = judge_input(runs)
    scores = _aligned(judges, *_tables(judges, judge, options))
    proxies = _proxies(scores, options)
    errors = {name: scores.machine - values for name, values in proxies.items()}
    steps = _steps(np.zeros(len(scores.machine)), errors, options)
    gap = max(abs(float(np.nanmean(error))) for error in errors.values())
    settled = _settled(steps, gap, options) if scores.others or (~np.isnan(scores.people)).sum() >= PILOT else None
    mean, size = float(scores.machine.mean()), len(scores.machine)
    notes = [
        f"the mean of {scores.judge} on {scores.aspect} is {mean:.3f} over {size} summaries",
        _widths_text(steps, "summary", f" (proxy for people: {', '.join(proxies)})"),
    ]
    if settled is not None:
        bias = labels_sentence(settled, f"show a bias of {gap:.3f}", "summaries")
        notes.append(f"{bias}, according to the proxy for people")
    return _proposal(scores, steps, settled, options, notes)


class _Step(NamedTuple):
    labels: int
    half_width: float
    least: float
    most: float
    alone: float


def _questions(judges: JudgeInput, judge: str | None, aspect: str | None) -> list[Question]:
    """Return the judges of the aspect, the selected judge first."""
    every = judges.questions()
    names = list(dict.fromkeys(question.aspect for question in judges.questions(judge=judge)))
    if judge is not None and not names:
        known = ", ".join(dict.fromkeys(question.judge for question in every))
        raise UsageError(f"the runs have no judge {judge!r}; they have: {known}")
    if aspect is None and len(names) > 1:
        raise UsageError(f"the runs judged several aspects; choose one with the option aspect: {', '.join(names)}")
    if aspect is None:
        aspect = next(iter(names), "")
    chosen = judges.questions([aspect])
    if not chosen:
        judged = ", ".join(dict.fromkeys(question.aspect for question in every))
        raise UsageError(f"no run judged {aspect!r}; they judged: {judged}")
    return sorted(chosen, key=lambda question: judge not in (None, question.judge, question.signature))


def _tables(
    judges: JudgeInput, judge: str | None, options: PlanOptions
) -> tuple[list[tuple[Question, dict[Item, float]]], dict[Item, float]]:
    """Return the scores of summaries by each judge and by people, without missing scores."""
    questions = _questions(judges, judge, options.aspect)
    judged = [(question, _scores(judges.scores(question, Level.SUMMARY))) for question in questions]
    if options.gold is None:
        return judged, {}
    columns, _ = gold_input(options.gold)
    merged = gold_scores(columns, questions[0].aspect, Level.SUMMARY)
    return judged, _scores(merged[0]) if merged else {}


def _scores(series: Sample) -> dict[Item, float]:
    rows = zip(series.units.document.labels(), series.units.system.labels(), series.x.tolist(), strict=True)
    return {(document, system): value for document, system, value in rows if not np.isnan(value)}


def _differences(judges: JudgeInput, systems: tuple[str, str], options: PlanComparisonOptions) -> _Units:
    judged, labels = _tables(judges, options.judge, options)
    known = list(dict.fromkeys(system for _, system in judged[0][1]))
    for system in systems:
        if system not in known:
            raise UsageError(f"the judgments have no system {system!r}; they have: {', '.join(known)}")
    if systems[0] == systems[1]:
        raise UsageError(f"give two different systems to compare, not {systems[0]} twice")

    def gaps(scores: Mapping[Item, float]) -> dict[Item, float]:
        documents = dict.fromkeys(document for document, _ in scores)
        pairs = {document: [scores.get((document, system)) for system in systems] for document in documents}
        return {(document, ""): a - b for document, (a, b) in pairs.items() if a is not None and b is not None}

    return _aligned(judges, [(question, gaps(scores)) for question, scores in judged], gaps(labels))


def _aligned(
    judges: JudgeInput, judged: Sequence[tuple[Question, dict[Item, float]]], labels: Mapping[Item, float]
) -> _Units:
    question, machine = judged[0]
    units = tuple(machine)
    if len(units) < 4:
        raise UsageError(f"{question.judge} has {len(units)} items for this question; planning needs at least 4")
    names = judge_names(JudgeKey(each.judge, each.signature, None, each.run) for each, _ in judged)
    others = {
        name: np.array([scores.get(unit, np.nan) for unit in units])
        for name, (_, scores) in zip(list(names.values())[1:], judged[1:], strict=True)
    }
    return _Units(
        question.judge,
        question.signature,
        question.aspect,
        units,
        np.array([machine[unit] for unit in units]),
        {name: values for name, values in others.items() if (~np.isnan(values)).sum() >= 4},
        np.array([labels.get(unit, np.nan) for unit in units]),
        tuple(judges.context.domains.get(document) or "" for document, _ in units),
    )


def _proxies(scores: _Units, options: PlanOptions) -> dict[str, Floats]:
    """Return the proxies for people's scores.

    They are existing labels, or else the scores of each other judge, or else machine scores with added noise.
    """
    rng = np.random.default_rng(options.seed)
    known = np.flatnonzero(~np.isnan(scores.people))
    if len(known) >= PILOT:
        values = scores.people.copy()
        for unlabelled in np.flatnonzero(np.isnan(values)):
            gaps = np.abs(scores.machine[known] - scores.machine[unlabelled])
            nearest = known[np.argsort(gaps, kind="stable")[:NEAR]]
            values[unlabelled] = scores.people[rng.choice(nearest)]
        return {f"{len(known)} existing labels": values}
    if scores.others:
        return dict(scores.others)
    size = len(scores.machine)
    mixed = np.where(rng.random(size) < options.expect, scores.machine, rng.permutation(scores.machine))
    return {f"an assumed correlation of {options.expect:g}": mixed}


def _steps(machine: Floats, proxies: Mapping[str, Floats], options: PlanOptions) -> list[_Step]:
    """Return the half-width after each number of labels, averaged over the proxies."""
    most = min(int((~np.isnan(values)).sum()) for values in proxies.values())
    usual = [size for size in LADDER if size < most] or sorted({max(2, most * part // 4) for part in (1, 2, 3)})
    wanted = {*(options.sizes or usual), *([options.labels] if options.labels is not None else [])}
    sizes = sorted(size for size in wanted if size < most)
    if not sizes:
        raise UsageError(f"there are {most} items to draw from; request fewer labels")
    simulation = CoverageOptions(draws=options.draws, seed=options.seed, confidence=options.level)
    steps = []
    for size in sizes:
        simulated = [coverage(values, machine, size, simulation) for values in proxies.values()]
        halves = [result.width / 2 for result in simulated]
        alone = fmean(result.human_width / 2 for result in simulated)
        steps.append(_Step(size, fmean(halves), min(halves), max(halves), alone))
    return steps


def _settled(steps: Sequence[_Step], gap: float, options: PlanOptions) -> int | None:
    """Return the smallest number of labels that detects a difference of `gap` with power `POWER`.

    Returns None if no number in `steps` suffices.
    """
    wanted = error_to_find(gap, options.level, POWER)
    return next((step.labels for step in steps if error_to_find(step.half_width, options.level) <= wanted), None)


def _proposal(
    scores: _Units, steps: Sequence[_Step], settled: int | None, options: PlanOptions, notes: list[str], **pair: str
) -> Proposal:
    """Return the proposal, with notes on requested sizes that are too large."""
    if options.labels is not None and options.labels >= len(scores.machine):
        raise UsageError(f"there are {len(scores.machine)} items to draw from; request fewer labels")
    labels = options.labels or settled or steps[-1].labels
    simulated = {step.labels for step in steps}
    notes += [f"{size} labels are more than there are items" for size in options.sizes if size not in simulated]
    settings = {"draws": options.draws, "seed": options.seed, "level": options.level}
    rows = [
        Row(
            study="plan",
            judge=scores.judge,
            signature=scores.signature,
            aspect=scores.aspect,
            gold_aspect=scores.aspect,
            level="system",
            statistic="half_width",
            value=step.half_width,
            n=step.labels,
            details={"least": step.least, "most": step.most, "labels_alone": step.alone, **settings},
            **pair,
        )
        for step in steps
    ]
    return Proposal(Study("plan", rows, notes), tuple(_sample(scores, labels, options.seed)), labels, settled)


def _widths_text(steps: Sequence[_Step], unit: str, about: str) -> str:
    """Return a sentence with the half-width for each number of labels.

    >>> _widths_text([_Step(200, 0.04, 0.04, 0.04, 0.05), _Step(500, 0.025, 0.02, 0.03, 0.03)], "document", "")
    '200 labels give about ±0.040; 500 ±0.025; one label is one document'
    """
    first, *rest = [(step.labels, f"±{step.half_width:.3f}") for step in steps]
    parts = [f"{first[0]} labels give about {first[1]}", *(f"{labels} {width}" for labels, width in rest)]
    return f"{'; '.join(parts)}; one label is one {unit}{about}"


def _sample(scores: _Units, size: int, seed: int) -> list[Item]:
    """Return a systematic random sample of the unlabelled units, in the order of the data.

    The units are sorted by domain and by the disagreement of the judges (or by the absolute score if there is only one
    judge). Every n-th unit is drawn from a random start, so that all units have the same probability.
    """
    free = np.flatnonzero(np.isnan(scores.people))
    size = min(size, len(free))
    if scores.others:
        by_judge = np.stack([scores.machine, *scores.others.values()])
        disagreement = np.nanmax(by_judge, axis=0) - np.nanmin(by_judge, axis=0)
    else:
        disagreement = np.abs(scores.machine)
    rng = np.random.default_rng(seed)
    tie_break = rng.random(len(scores.machine))
    order = sorted(free.tolist(), key=lambda at: (scores.domains[at], disagreement[at], tie_break[at]))
    step = len(order) / size if size else 1.0
    start = rng.random() * step
    places = sorted(order[int(start + number * step)] for number in range(size))
    return [scores.units[place] for place in places]
