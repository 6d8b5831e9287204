"""How many items people should judge, and which, to settle a question that judges have judged already.

A simulation estimates how wide the interval will be after k labels: a proxy takes the part of people (the labels there
are already, else another judge, else an assumed correlation), k items are drawn, the estimate of `meta estimate` is
made, and this is repeated (`coverage`). The items proposed are a systematic random sample along the judges'
disagreement: every item has the same probability, so the estimate is unbiased.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from summeter.choices import Level, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.meta._estimate import CoverageOptions, coverage
from summeter.meta.gold import gold_scores
from summeter.meta.inputs import JudgeInput, gold_input
from summeter.meta.options import Options, study
from summeter.meta.results import Row, Study
from summeter.meta.sample import Sample
from summeter.meta.verdicts import POWER, labels_sentence
from summeter.records import UsageError
from summeter.scoring.table import Question
from summeter.stats import error_to_find
from summeter.stats.base import Floats

LADDER = (25, 50, 100, 200, 500, 1000, 2000, 5000)
PILOT = 5
"""So many labels make a pilot; fewer say nothing of people yet."""
NEAR = 5
"""An unlabelled item borrows the label of one of so many labelled ones with the nearest machine score."""
Item = tuple[str, str]


class PlanOptions(Options):
    """The options of `plan_calibration`."""

    aspect: str | None = Field(None, description="The aspect; needed where the runs have several.")
    gold: Dataset | None = Field(None, description="Data with the labels that there are already.")
    expect: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Assumed correlation of judge and people where there are neither labels nor a second judge.",
    )
    labels: int | None = Field(
        None,
        ge=2,
        description="Number of items to propose; default: the smallest that settles the question, else the largest "
        "of `sizes`.",
    )
    sizes: Sequence[Annotated[int, Field(ge=2)]] = Field(
        (), description="Numbers of labels to simulate; default: up to eight from 25 to 5,000."
    )
    draws: int = Field(100, ge=1, description="Simulations of each number of labels.")
    seed: int = Field(0, description="Random seed.")
    level: float = Field(0.95, gt=0, lt=1, description="Level of the intervals.")


class PlanComparisonOptions(PlanOptions):
    """The options of `plan_comparison`."""

    judge: str | None = Field(None, description="The judge whose scores help people; default: the first one.")


class Proposal(NamedTuple):
    """What to expect after k labels (rows `half_width`), the question's answer so far in words, and the items."""

    study: Study
    items: tuple[Item, ...]
    labels: int
    settled_at: int | None

    def lines(self) -> list[str]:
        """The items file: one JSON object a line, as `select.items` of a campaign takes it."""
        return [
            json.dumps({"doc_id": document, "system": system}, ensure_ascii=False) for document, system in self.items
        ]


class _Units(NamedTuple):
    """The question as one number a unit (a document's difference, a summary's score), from each judge."""

    judge: str
    signature: str
    aspect: str
    units: tuple[Item, ...]
    machine: Floats
    others: Mapping[str, Floats]
    people: Floats
    domains: tuple[str, ...]


@study(PlanComparisonOptions)
def plan_comparison(runs: Sequence[JudgeInput], systems: tuple[str, str], options: PlanComparisonOptions) -> Proposal:
    """Propose the documents that people should judge to say which of two systems is better.

    One label is one document, read with both systems' summaries. The command is `summeter annotate plan`. Raises
    UsageError where no run judged the aspect or a system.
    """
    scores = _differences(runs, systems, options)
    stand_ins = _stand_ins(scores, options)
    steps = _steps(scores.machine, stand_ins, options)
    gap, size = float(scores.machine.mean()), len(scores.machine)
    settled = _settled(steps, abs(gap), options)
    lead, behind = systems if gap >= 0 else systems[::-1]
    notes = [
        f"{scores.judge} puts {lead} {abs(gap):.3f} above {behind} on {scores.aspect}, over {size} documents",
        _widths_text(steps, "document", f" (each with both summaries; people stood in for by {', '.join(stand_ins)})"),
        f"none of these numbers is likely to tell them apart by {abs(gap):.3f}: the systems may be equal"
        if settled is None
        else f"{labels_sentence(settled)}, if people see the same difference",
    ]
    proposal = _proposal(scores, steps, settled, options, notes, pair="-".join(systems))
    return proposal._replace(items=tuple((document, system) for document, _ in proposal.items for system in systems))


@study(PlanOptions)
def plan_calibration(runs: Sequence[JudgeInput], judge: str, options: PlanOptions) -> Proposal:
    """Propose the summaries that people should judge to say how far a judge's mean lies from theirs.

    One label is one summary. The command is `summeter annotate plan`. Raises UsageError for an unknown judge or aspect.
    """
    scores = _aligned(runs, *_tables(runs, judge, options))
    stand_ins = _stand_ins(scores, options)
    errors = {name: scores.machine - values for name, values in stand_ins.items()}
    steps = _steps(np.zeros(len(scores.machine)), errors, options)
    gap = max(abs(float(np.nanmean(error))) for error in errors.values())
    settled = _settled(steps, gap, options) if scores.others or (~np.isnan(scores.people)).sum() >= PILOT else None
    mean, size = float(scores.machine.mean()), len(scores.machine)
    notes = [
        f"{scores.judge} gives {scores.aspect} a mean of {mean:.3f} over {size} summaries; how far is people's?",
        _widths_text(steps, "summary", f" (people stood in for by {', '.join(stand_ins)})"),
    ]
    if settled is not None:
        bias = labels_sentence(settled, f"show a bias of {gap:.3f}", "summaries")
        notes.append(f"{bias}, as the stand-ins have it")
    return _proposal(scores, steps, settled, options, notes)


class _Step(NamedTuple):
    labels: int
    half_width: float
    least: float
    most: float
    alone: float


def _questions(runs: Sequence[JudgeInput], judge: str | None, aspect: str | None) -> list[tuple[JudgeInput, Question]]:
    """Every judge of the aspect, the one asked about first."""
    every = [(run, question) for run in runs for question in run.questions()]
    names = list(dict.fromkeys(question[2] for _, question in every if judge is None or judge in question[:2]))
    if judge is not None and not names:
        known = ", ".join(dict.fromkeys(question[0] for _, question in every))
        raise UsageError(f"no judge {judge!r} in the runs; they have: {known}")
    if aspect is None and len(names) > 1:
        raise UsageError(f"the runs judged several aspects; choose one with the option aspect: {', '.join(names)}")
    if aspect is None:
        aspect = next(iter(names), "")
    chosen = [(run, question) for run, question in every if question[2] == aspect]
    if not chosen:
        judged = ", ".join(dict.fromkeys(question[2] for _, question in every))
        raise UsageError(f"no run judged {aspect!r}; they judged: {judged}")
    return sorted(chosen, key=lambda both: judge is not None and judge not in both[1][:2])


def _tables(
    runs: Sequence[JudgeInput], judge: str | None, options: PlanOptions
) -> tuple[list[tuple[Question, dict[Item, float]]], dict[Item, float]]:
    """Sample of summaries by judge, and people's; what has no score is left out."""
    questions = _questions(runs, judge, options.aspect)
    judged = [
        (question, _scores(run.scores(question, Level.SUMMARY, ValueOrLabel.VALUE))) for run, question in questions
    ]
    if options.gold is None:
        return judged, {}
    columns, _ = gold_input(options.gold)
    merged = gold_scores(columns, questions[0][1][2], Level.SUMMARY)
    return judged, _scores(merged[0]) if merged else {}


def _scores(series: Sample) -> dict[Item, float]:
    rows = zip(series.units.document.labels(), series.units.system.labels(), series.x.tolist(), strict=True)
    return {(document, system): value for document, system, value in rows if not np.isnan(value)}


def _differences(runs: Sequence[JudgeInput], systems: tuple[str, str], options: PlanComparisonOptions) -> _Units:
    judged, labels = _tables(runs, options.judge, options)
    there = list(dict.fromkeys(system for _, system in judged[0][1]))
    for system in systems:
        if system not in there:
            raise UsageError(f"no system {system!r} in the judgments; there are: {', '.join(there)}")
    if systems[0] == systems[1]:
        raise UsageError(f"name two systems to compare, not {systems[0]} twice")

    def gaps(scores: Mapping[Item, float]) -> dict[Item, float]:
        documents = dict.fromkeys(document for document, _ in scores)
        pairs = {document: [scores.get((document, system)) for system in systems] for document in documents}
        return {(document, ""): a - b for document, (a, b) in pairs.items() if a is not None and b is not None}

    return _aligned(runs, [(question, gaps(scores)) for question, scores in judged], gaps(labels))


def _aligned(
    runs: Sequence[JudgeInput], judged: Sequence[tuple[Question, dict[Item, float]]], labels: Mapping[Item, float]
) -> _Units:
    question, machine = judged[0]
    units = tuple(machine)
    if len(units) < 4:
        raise UsageError(f"{question[0]} has {len(units)} items for this question; planning needs at least 4")
    domains = {document: domain for run in runs for document, domain in run.context.domains.items()}
    others = {
        (other[0] if other[0] != question[0] else other[1]): np.array([scores.get(unit, np.nan) for unit in units])
        for other, scores in judged[1:]
    }
    return _Units(
        question[0],
        question[1],
        question[2],
        units,
        np.array([machine[unit] for unit in units]),
        {name: values for name, values in others.items() if (~np.isnan(values)).sum() >= 4},
        np.array([labels.get(unit, np.nan) for unit in units]),
        tuple(domains.get(document) or "" for document, _ in units),
    )


def _stand_ins(scores: _Units, options: PlanOptions) -> dict[str, Floats]:
    """Who takes people's part: their own labels so far, else each other judge, else the machine with noise."""
    rng = np.random.default_rng(options.seed)
    known = np.flatnonzero(~np.isnan(scores.people))
    if len(known) >= PILOT:
        return {f"{len(known)} labels there are": _borrowed(scores, known, rng)}
    if scores.others:
        return dict(scores.others)
    size = len(scores.machine)
    mixed = np.where(rng.random(size) < options.expect, scores.machine, rng.permutation(scores.machine))
    return {f"an assumed correlation of {options.expect:g}": mixed}


def _borrowed(scores: _Units, known: np.ndarray[tuple[int], np.dtype[np.intp]], rng: np.random.Generator) -> Floats:
    values: Floats = scores.people.copy()
    for place in np.flatnonzero(np.isnan(values)):
        gaps = np.abs(scores.machine[known] - scores.machine[place])
        near = known[np.argsort(gaps, kind="stable")[:NEAR]]
        values[place] = scores.people[rng.choice(near)]
    return values


def _steps(machine: Floats, stand_ins: Mapping[str, Floats], options: PlanOptions) -> list[_Step]:
    """The half-width after each number of labels, averaged over the stand-ins."""
    most = min(int((~np.isnan(values)).sum()) for values in stand_ins.values())
    usual = [size for size in LADDER if size < most] or sorted({max(2, most * part // 4) for part in (1, 2, 3)})
    wanted = {*(options.sizes or usual), *([options.labels] if options.labels is not None else [])}
    sizes = sorted(size for size in wanted if size < most)
    if not sizes:
        raise UsageError(f"there are {most} items to draw from; ask for fewer labels than that")
    simulation = CoverageOptions(draws=options.draws, seed=options.seed, confidence=options.level)
    steps = []
    for size in sizes:
        simulated = [coverage(values, machine, size, simulation) for values in stand_ins.values()]
        halves = [result.width / 2 for result in simulated]
        alone = fmean(result.human_width / 2 for result in simulated)
        steps.append(_Step(size, fmean(halves), min(halves), max(halves), alone))
    return steps


def _settled(steps: Sequence[_Step], gap: float, options: PlanOptions) -> int | None:
    """The smallest number of labels whose interval leaves out 0 with the chance POWER, for a difference of `gap`."""
    wanted = error_to_find(gap, options.level, POWER)
    return next((step.labels for step in steps if error_to_find(step.half_width, options.level) <= wanted), None)


def _proposal(
    scores: _Units, steps: Sequence[_Step], settled: int | None, options: PlanOptions, notes: list[str], **pair: str
) -> Proposal:
    """The items to have judged, with the widths; `notes` and which sizes asked for cannot be drawn."""
    if options.labels is not None and options.labels >= len(scores.machine):
        raise UsageError(f"there are {len(scores.machine)} items to draw from; ask for fewer labels than that")
    labels = options.labels or settled or steps[-1].labels
    drawn = {step.labels for step in steps}
    notes += [
        f"{size} labels: there are not that many items to draw from" for size in options.sizes if size not in drawn
    ]
    rows = [_row(scores, step, options, **pair) for step in steps]
    return Proposal(Study("plan", rows, notes), tuple(_sample(scores, labels, options.seed)), labels, settled)


def _row(scores: _Units, step: _Step, options: PlanOptions, **more: str) -> Row:
    details = {
        "least": step.least,
        "most": step.most,
        "labels_alone": step.alone,
        "draws": options.draws,
        "seed": options.seed,
        "level": options.level,
    }
    return Row(
        study="plan",
        judge=scores.judge,
        signature=scores.signature,
        aspect=scores.aspect,
        gold_aspect=scores.aspect,
        level="system",
        statistic="half_width",
        value=step.half_width,
        n=step.labels,
        details=details,
        **more,
    )


def _widths_text(steps: Sequence[_Step], unit: str, about: str) -> str:
    """The widths in words.

    >>> _widths_text([_Step(200, 0.04, 0.04, 0.04, 0.05), _Step(500, 0.025, 0.02, 0.03, 0.03)], "document", "")
    '200 labels give about ±0.040; 500 ±0.025; one label is one document'
    """
    first, *rest = [(step.labels, f"±{step.half_width:.3f}") for step in steps]
    parts = [f"{first[0]} labels give about {first[1]}", *(f"{labels} {width}" for labels, width in rest)]
    return f"{'; '.join(parts)}; one label is one {unit}{about}"


def _sample(scores: _Units, size: int, seed: int) -> list[Item]:
    """A systematic random sample of the units nobody has labelled, in the order of the data.

    Along domain and doubt (how far judges are apart; with one judge, the size of its score) every n-th is taken from a
    random start, so that every unit has the same chance.
    """
    free = np.flatnonzero(np.isnan(scores.people))
    size = min(size, len(free))
    if scores.others:
        stack = np.stack([scores.machine, *scores.others.values()])
        doubt = np.nanmax(stack, axis=0) - np.nanmin(stack, axis=0)
    else:
        doubt = np.abs(scores.machine)
    rng = np.random.default_rng(seed)
    luck = rng.random(len(scores.machine))
    order = sorted(free.tolist(), key=lambda place: (scores.domains[place], doubt[place], luck[place]))
    step = len(order) / size if size else 1.0
    start = rng.random() * step
    places = sorted(order[int(start + number * step)] for number in range(size))
    return [scores.units[place] for place in places]
