"""Can a judge's trust be known without people? (Shen et al., 2023, section 4.3.)

Two judges, or one judge asked in two ways (RTS and MCQ), agree more on some systems than on others: the reliability
R_i is their correlation on the summaries of system i (study `reliability`). Whether that tells on which systems the
judge agrees with people is checked against people: rho over systems of R_i and the judge's correlation with people
P_i (study `reliability_check`). `verdict` says, for a tolerance r, which systems need people: those with R_i < r, or
without any R_i. `dependence` says how far a judge's aspects go together, beside how far people's do.

`self_consistency` asks whether a judge says the same when asked again: temperature 0 is no guarantee of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from summeter.choices import Level, ValueOrLabel
from summeter.meta._stability import (
    SystemCorrelations,
    over_systems_row,
    per_system_rows,
    system_correlations,
)
from summeter.meta.gold import aspects, gold_scores
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.measure import measure
from summeter.meta.options import LISTED, Choice, CommandLine, Draws, Judges, Selection, Together, study
from summeter.meta.results import Row, Study, merged, named, unique_labels
from summeter.meta.sample import Grid, Sample
from summeter.records import UsageError
from summeter.runs.run import RunFolder
from summeter.scoring.table import JudgmentTable
from summeter.stats.base import Floats
from summeter.stats.resample import Resampling

_REPEAT = re.compile(r"\|rep:\d+(?![^|) ])")
FOR_LABELS = ("identical", "alpha_nominal")
FOR_SCORES = ("identical", "alpha_interval", "rater_deviation")


class _Two(NamedTuple):
    """Two judges' and people's scores on the same systems and documents (people's None without a gold)."""

    first: Sample
    second: Sample
    gold: Sample | None
    systems: tuple[str, ...]
    grids: tuple[Floats, ...]

    def fields(self) -> dict[str, Any]:
        """Both judges, joined by a plus, as the fields of a row."""
        first, second = named(self.first.judge), named(self.second.judge)
        both = {name: f"{first[name]} + {second[name]}" for name in ("judge", "signature")}
        models = dict.fromkeys(model for model in (first["model"], second["model"]) if model)
        return {**first, **both, "model": " + ".join(models) or None}


class NoTwoJudgesError(UsageError):
    """No aspect has scores of two judges."""


class ReliabilityOptions(Selection, Together, Draws):
    """The options of `reliability`."""

    judges: Annotated[tuple[str, str] | None, LISTED, CommandLine(metavar="A,B")] = Field(
        None,
        description="The two judges to compare (names or signatures); default: every two that judged the same aspect.",
    )
    tolerance: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="The correlation (of the first coefficient) below which a system needs people; default: none.",
    )
    dependence: bool = Field(default=True, description="Correlations between the aspects of a judge too.")


@study(ReliabilityOptions)
def reliability(run: RunLike | Sequence[RunFolder], gold: Gold | None, options: ReliabilityOptions) -> Study:
    """Compare two judges system by system (of one run or several), and say where people are needed.

    `run` may be several runs' folders, one a judge. With people's judgments the study says what the agreement of the
    judges is worth. Intervals as in `stability`. Raises UsageError where no aspect has two judges.
    """
    resample, coefficients = options.resampling, options.coefficients
    machine = one_run(run)
    people = None if gold is None else gold_input(gold, options.judgment_set)[0]
    rows: list[Row] = []
    notes: list[str] = []
    for two in _twos(machine, people, options):
        reliable = system_correlations(two.systems, two.grids[0], two.grids[1], coefficients, resample)
        rows += per_system_rows("reliability", two.fields(), reliable)
        if options.tolerance is not None:
            rows += _verdict(two, reliable, coefficients[0], options.tolerance, notes)
        rows += _checks(two, reliable, coefficients, resample, together=options.together)
    if options.dependence:
        rows += aspect_correlations(machine, people, options, coefficients[0], resample)
    if not rows:
        there = ", ".join(dict.fromkeys(question.judge for question in machine.questions()))
        raise NoTwoJudgesError(
            f"reliability needs two judges of one aspect (the option judges names two); the run has: {there}"
        )
    return Study("reliability", rows, notes)


def one_run(run: RunLike | Sequence[RunFolder]) -> JudgeInput:
    """One run, or several as one (the context is the first's)."""
    if not isinstance(run, Sequence) or not all(isinstance(part, RunFolder) for part in run) or not run:
        return judge_input(run)  # type: ignore[arg-type]
    inputs = [judge_input(part) for part in run]
    reduce = {name: how for part in inputs for name, how in part.reduce.items()}
    return JudgeInput(JudgmentTable.join([part.table for part in inputs]), reduce, inputs[0].context)


def _twos(machine: JudgeInput, people: JudgmentTable | None, options: ReliabilityOptions) -> Iterator[_Two]:
    every = ((question.aspect, question.aspect) for question in machine.questions())
    for own, gold_aspect in dict.fromkeys(options.aspect_pairs or every):
        series = (machine.scores(question, Level.SUMMARY) for question in machine.questions(own, options.judge))
        usable = [scores for scores in series if len(scores)]
        golds: list[Sample | None] = [None]
        if people is not None:
            golds = [*gold_scores(people, gold_aspect, Level.SUMMARY, options.rule, options.source)] or golds
        pairs = list(combinations(usable, 2))
        if options.judges is not None:
            sides = [
                [own for own in usable if name in (own.judge.judge, own.judge.signature)] for name in options.judges
            ]
            pairs = [(one, two) for one in sides[0] for two in sides[1] if one is not two]
        for first, second in pairs:
            for gold in golds:
                grids = [Grid.of(scores) for scores in (first, second, gold) if scores is not None]
                systems = tuple(name for name in grids[0].systems if name in grids[1].systems)
                documents = tuple(dict.fromkeys(name for grid in grids for name in grid.documents))
                tables = tuple(grid.over(systems, documents).judge for grid in grids)
                yield _Two(first, second, gold, systems, tables)


def _verdict(two: _Two, reliable: SystemCorrelations, name: str, tolerance: float, notes: list[str]) -> list[Row]:
    """For each system, 1 where people are needed, 0 where the judges agree at least as much as asked."""
    rows, needed = [], []
    for system, stat in zip(two.systems, reliable.statistics[name], strict=True):
        need = stat.value is None or round(stat.value, 12) < tolerance
        needed += [system] if need else []
        details = {"reliability": stat.value, "tolerance": tolerance, "coefficient": name}
        rows.append(Row(
            **two.fields(), study="verdict", statistic="needs_people", level=Level.SYSTEM.value, system=system,
            value=float(need), n=stat.n, missing=stat.missing, reason=stat.reason, details=details,
        ))  # fmt: skip
    first, second = unique_labels([two.first.judge, two.second.judge])
    notes.append(
        f"{first} and {second} on {two.first.judge.aspect}: at {name} < {tolerance:g} people are "
        f"needed for {len(needed)} of {len(rows)} systems ({', '.join(needed) or 'none'})"
    )
    return rows


def _checks(
    two: _Two, reliable: SystemCorrelations, coefficients: Sequence[str], resample: Resampling, *, together: bool
) -> Iterator[Row]:
    """rho(R, P) over systems, for each of the two judges' P."""
    if two.gold is None:
        return
    for place, (judge, other) in enumerate(((two.first, two.second), (two.second, two.first))):
        about = merged(named(judge.judge, two.gold.gold), details={"with_judge": other.judge.signature})
        with_people = system_correlations(two.systems, two.grids[place], two.grids[2], coefficients, resample)
        for name in coefficients:
            kept = reliable.defined(name, together=together) & with_people.defined(name, together=together)
            sides = reliable.of(name), with_people.of(name)
            yield over_systems_row(reliable, name, kept, *sides, about, "reliability_check")


def aspect_correlations(
    machine: JudgeInput, people: JudgmentTable | None, options: Selection, coefficient: str, resample: Resampling
) -> Iterator[Row]:
    """Correlations between the aspects of each judge over all summaries, with people's in `details`.

    A judge that cannot tell aspects apart has correlations far above people's. Rows have the study `dependence` and
    the aspect `A+B`; people's own have the judge `people`.
    """
    names = options.judge_aspects
    own: dict[tuple[str, str], list[Sample]] = {}
    for question in machine.questions(judge=options.judge):
        if not names or question.aspect in names:
            series = machine.scores(question, Level.SUMMARY)
            if len(series):
                own.setdefault((question.judge, question.signature), []).append(series)
    human: dict[str, float] = {}
    if people is not None:
        golds = [gold_scores(people, aspect, Level.SUMMARY, options.rule, options.source) for aspect in aspects(people)]
        wanted = {scores.judge.aspect for series in own.values() for scores in series}
        merged = [series[0] for series in golds if series and series[0].judge.aspect in wanted]
        for row in _between(merged, coefficient, resample, {}):
            if row.value is not None:
                human[row.aspect or ""] = row.value
            yield row
    for of_judge in own.values():
        yield from _between(of_judge, coefficient, resample, human)


def _between(series: Sequence[Sample], name: str, resample: Resampling, human: dict[str, float]) -> Iterator[Row]:
    for first, second in combinations(series, 2):
        one, two = first.judge, second.judge
        aspect = f"{one.aspect}+{two.aspect}"
        by_people = human.get(aspect, human.get(f"{two.aspect}+{one.aspect}"))
        about = merged(named(one), aspect=aspect, level=Level.SUMMARY.value)
        for row in measure(Sample.join([first, second]), [name], study="dependence", draws=resample, about=about):
            if by_people is None or row.value is None:
                yield row
            else:
                details = {**row.details, "people": by_people, "above": row.value - by_people}
                yield row.model_copy(update={"details": details})


# ---- one judge with itself ----


class SelfConsistencyOptions(Judges, Draws):
    """The options of `self_consistency`."""

    level: Annotated[str, Choice(("sentence", "key_fact", "summary"), "level")] = Field(
        "summary", description="Repeats compared by sentence, key_fact or summary."
    )


@study(SelfConsistencyOptions)
def self_consistency(runs: Sequence[RunLike], options: SelfConsistencyOptions) -> Study:
    """Measure how far repeats of one judge agree (FineSurE, table 4): those of one run made with repeats, and of runs.

    What is compared has the same signature but for the number of the repeat, or else, over several runs, the same
    judge and model (a seed may differ). Rows have the study `self_consistency`: `identical` (the share of units on
    which all repeats say the same), alpha, and for scores the mean population standard deviation over repeats.
    Raises UsageError where no judge was asked twice.
    """
    at = Level(options.level)
    rows = [
        row
        for repeats in _repeats([judge_input(run) for run in runs], options, at)
        for row in _rows(repeats, at, options.resampling)
    ]
    if not rows:
        raise UsageError("no judge was asked twice: give a run made with repeats, or two runs or more of one "
                         "judge, on the same aspect and at this level")  # fmt: skip
    return Study("self_consistency", rows)


def _repeats(runs: Sequence[JudgeInput], options: Judges, level: Level) -> list[list[Sample]]:
    """The series of each judge and aspect over the runs, those with two or more."""
    use = ValueOrLabel.VALUE if level is Level.SUMMARY else ValueOrLabel.LABEL
    names = options.judge_aspects
    by_signature: dict[tuple[str | None, ...], list[Sample]] = {}
    by_judge: dict[tuple[str | None, ...], list[Sample]] = {}
    for run in runs:
        for question in run.questions(judge=options.judge):
            if names and question.aspect not in names:
                continue
            series = run.scores(question, level, use)
            if len(series):
                by_signature.setdefault((question.judge, repeated(question.signature), question.aspect), []).append(
                    series
                )
                by_judge.setdefault((question.judge, series.judge.model, question.aspect), []).append(series)
    same = [series for series in by_signature.values() if len(series) > 1]
    return same or [series for series in by_judge.values() if len(series) > 1 and len(runs) > 1]


def repeated(signature: str) -> str:
    """A signature without the number of the repeat.

    >>> repeated("rts|judge:openai/gpt-4o|t:0|rep:2|v:1")
    'rts|judge:openai/gpt-4o|t:0|v:1'
    """
    return _REPEAT.sub("", signature)


def _rows(repeats: Sequence[Sample], level: Level, resample: Resampling) -> Iterator[Row]:
    sample = Sample.join(repeats, explain=False)
    seen = sample.value[~np.isnan(sample.value)]
    names = FOR_LABELS if np.isin(seen, (0.0, 1.0)).all() and level is not Level.SUMMARY else FOR_SCORES
    judge = repeats[0].judge
    about = merged(
        named(judge), signature=repeated(judge.signature), level=level.value, details={"repeats": len(repeats)}
    )
    about["average"] = None
    return measure(sample, names, study="self_consistency", draws=resample, about=about)
