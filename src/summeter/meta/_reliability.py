"""Reliability of judges without human judgments (Shen et al., 2023, section 4.3).

Two judges, or one judge with two methods (RTS and MCQ), agree more on some systems than on others. The reliability R_i
is their correlation on the summaries of system i (study `reliability`). With human judgments, the study
`reliability_check` tests whether R_i predicts a judge's agreement with people: R_i is correlated over systems with P_i,
the judge's correlation with people. For a tolerance r, the study `verdict` gives the systems that need human judgments:
those with R_i < r, or with an undefined R_i. The study `dependence` correlates the aspects of a judge with each other
and, for comparison, those of people.

The study `self_consistency` measures whether a repeated judge gives the same judgments, which temperature 0 does not
guarantee.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any

from pydantic import Field

from summeter.choices import Level, ValueOrLabel
from summeter.meta._stability import per_system_rows, system_correlations
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input, restricted
from summeter.meta.measure import measure
from summeter.meta.options import LISTED, Choice, Coefficients, CommandLine, Draws, Judges, Selection, study
from summeter.meta.results import Row, Study, merged, named, unique_labels
from summeter.meta.sample import Grid, Rater, Sample, are_decisions
from summeter.meta.selection import aspects, gold_scores
from summeter.records import JudgeKey, UsageError
from summeter.scoring.table import JudgmentTable
from summeter.stats.resample import Resampling

_REPEAT = re.compile(r"\|rep:\d+(?![^|) ])")
FOR_LABELS = ("identical", "alpha_nominal")
FOR_SCORES = ("identical", "alpha_interval", "rater_deviation")


class NoTwoJudgesError(UsageError):
    """Raised if no aspect has scores of two judges."""


class ReliabilityOptions(Selection, Coefficients, Draws):
    """The options of `reliability`."""

    judges: Annotated[tuple[str, str] | None, LISTED, CommandLine(metavar="A,B")] = Field(
        None,
        description="Two judges to compare (names or signatures). Default: all pairs that judged the same aspect.",
    )
    tolerance: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="Correlation (first coefficient) below which a system needs human judgments. Default: none.",
    )
    dependence: bool = Field(default=True, description="Add correlations between the aspects of a judge.")


@study(ReliabilityOptions)
def reliability(run: RunLike, gold: Gold | None, options: ReliabilityOptions) -> Study:
    """Compare two judges on each system to find unreliable scores.

    With human judgments, the study also tests whether the agreement of the judges predicts their agreement with people.
    Intervals are computed as in `stability`. Raises UsageError if no aspect has two judges.
    """
    resample, coefficients = options.resampling, options.coefficients
    machine = judge_input(run)
    people = None if gold is None else restricted(gold_input(gold, options.judgment_set)[0], machine.common)
    rows: list[Row] = []
    notes: list[str] = []
    for pair, grid in _judge_pairs(machine, people, options):
        two = pair.raters[:2]
        reliable = system_correlations(grid.systems, grid.values[0], grid.values[1], coefficients, resample)
        about = _about(two)
        rows += per_system_rows("reliability", about, reliable)
        if options.tolerance is not None:
            tolerance, name, needed = options.tolerance, coefficients[0], []
            for system, stat in zip(reliable.systems, reliable.statistics[name], strict=True):
                need = stat.value is None or round(stat.value, 12) < tolerance
                needed += [system] if need else []
                details = {"reliability": stat.value, "tolerance": tolerance, "coefficient": name}
                rows.append(Row(
                    **merged(about, details=details), study="verdict", statistic="needs_people",
                    level=Level.SYSTEM.value, system=system, value=float(need), n=stat.n, missing=stat.missing,
                    reason=stat.reason,
                ))  # fmt: skip
            first, second = unique_labels(two)
            notes.append(
                f"{first} and {second} on {pair.judge.aspect}: with {name} < {tolerance:g}, human judgments are "
                f"needed for {len(needed)} of {len(reliable.systems)} systems ({', '.join(needed) or 'none'})"
            )
        if len(pair.raters) > 2:
            # rho(R, P) over systems, with P of each of the two judges
            for place, judge in enumerate(two):
                about = merged(named(judge, pair.gold), details={"with_judge": two[1 - place].signature})
                with_people = system_correlations(grid.systems, grid.values[place], grid.gold, coefficients, resample)
                included = reliable.defined & with_people.defined
                for name in coefficients:
                    r, samples = reliable.values(name), reliable.samples[name]
                    rows.append(
                        with_people.row_over_systems(name, r, samples, included, study="reliability_check", about=about)
                    )
    if options.dependence:
        rows += _aspect_correlations(machine, people, options, coefficients[0], resample)
    if not rows:
        names = ", ".join(dict.fromkeys(question.judge for question in machine.questions()))
        raise NoTwoJudgesError(f"reliability needs two judges of the same aspect; the run has: {names}")
    return Study("reliability", rows, notes)


def _judge_pairs(
    machine: JudgeInput, people: JudgmentTable | None, options: ReliabilityOptions
) -> Iterator[tuple[Sample, Grid]]:
    """Yield the scores of each two judges and, if there are any, of people, with a grid of the judges' systems."""
    same = ((question.aspect, question.aspect) for question in machine.questions())
    for judge_aspect, gold_aspect in dict.fromkeys(options.aspect_pairs or same):
        questions = machine.questions([judge_aspect], options.judge)
        usable = [scores for question in questions if len(scores := machine.scores(question, Level.SUMMARY))]
        golds: list[Sample | None] = [None]
        if people is not None:
            golds = [*gold_scores(people, gold_aspect, Level.SUMMARY, options)] or golds
        pairs = list(combinations(usable, 2))
        if options.judges is not None:
            sides = [
                [scores for scores in usable if name in (scores.judge.judge, scores.judge.signature)]
                for name in options.judges
            ]
            pairs = [(one, two) for one in sides[0] for two in sides[1] if one is not two]
        for first, second in pairs:
            for gold in golds:
                pair = Sample.join([scores for scores in (first, second, gold) if scores is not None], explain=False)
                ours, theirs = (scores.units.system.used() for scores in (first, second))
                systems = [str(name) for name in ours if name in theirs]
                grid = Grid.of(pair)
                yield pair, grid.over(systems, grid.documents)


def _about(judges: Sequence[Rater]) -> dict[str, Any]:
    """Return the fields of a row about several judges, with names, signatures, models and runs joined by a plus."""
    about = named(judges[0])
    about |= {name: " + ".join(getattr(judge, name) for judge in judges) for name in ("judge", "signature")}
    models, runs = (
        dict.fromkeys(filter(None, names)) for names in zip(*((j.model, j.run) for j in judges), strict=True)
    )
    return {**about, "model": " + ".join(models) or None, **({"details": {"run": " + ".join(runs)}} if runs else {})}


def _aspect_correlations(
    machine: JudgeInput, people: JudgmentTable | None, options: Selection, coefficient: str, resample: Resampling
) -> Iterator[Row]:
    """Yield correlations between the aspects of each judge over all summaries.

    The correlations of people are in `details`. A judge that does not distinguish aspects has much higher correlations
    than people. Rows have the study `dependence` and the aspect `A+B`; people's rows have the judge `people`.
    """
    by_judge: dict[JudgeKey, list[Sample]] = {}
    for question in machine.questions(options.judge_aspects, options.judge):
        series = machine.scores(question, Level.SUMMARY)
        if len(series):
            by_judge.setdefault(series.judge.key, []).append(series)
    human: dict[str, float] = {}
    if people is not None:
        golds = [gold_scores(people, aspect, Level.SUMMARY, options) for aspect in aspects(people)]
        wanted = {scores.judge.aspect for series in by_judge.values() for scores in series}
        merged = [series[0] for series in golds if series and series[0].judge.aspect in wanted]
        for row in _between(merged, coefficient, resample, {}):
            if row.value is not None:
                human[row.aspect or ""] = row.value
            yield row
    for series_of_judge in by_judge.values():
        yield from _between(series_of_judge, coefficient, resample, human)


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


# ---- self-consistency ----


class SelfConsistencyOptions(Judges, Draws):
    """The options of `self_consistency`."""

    level: Annotated[str, Choice(("sentence", "key_fact", "summary"), "level")] = Field(
        "summary", description="Level at which repeats are compared: sentence, key_fact or summary."
    )


@study(SelfConsistencyOptions)
def self_consistency(runs: RunLike, options: SelfConsistencyOptions) -> Study:
    """Measure the agreement of repeats of a judge, within a run or over several runs.

    Within a run, repeats have the same signature apart from the number of the repeat; over several runs, they have the
    same judge and model (seeds can differ). Rows have the study `self_consistency` and the statistics `identical` (the
    share of units on which all repeats are equal), alpha and, for scores, the mean population standard deviation over
    repeats (FineSurE, Table 4). Raises UsageError if no judge has repeats.
    """
    level = Level(options.level)
    rows: list[Row] = []
    for repeats in _repeats(judge_input(runs), options, level):
        sample = Sample.join(repeats, explain=False)
        names = FOR_LABELS if are_decisions(sample.value) and level is not Level.SUMMARY else FOR_SCORES
        judges = [series.judge for series in repeats]
        about = merged(_about(judges), **named(judges[0]) | {"details": {"repeats": len(repeats)}})
        about |= {"signature": repeated(judges[0].signature), "level": level.value, "average": None}
        rows += measure(sample, names, study="self_consistency", draws=options.resampling, about=about)
    if not rows:
        raise UsageError(
            "no judge has repeats on the same aspect at this level; give a run with repeats, or several runs of a judge"
        )
    return Study("self_consistency", rows)


def _repeats(runs: JudgeInput, options: Judges, level: Level) -> list[list[Sample]]:
    """Return the repeats of each judge and aspect with at least two repeats."""
    use = ValueOrLabel.VALUE if level is Level.SUMMARY else ValueOrLabel.LABEL
    by_signature: dict[tuple[str | None, ...], list[Sample]] = {}
    by_judge: dict[tuple[str | None, ...], list[Sample]] = {}
    for question in runs.questions(options.judge_aspects, options.judge):
        series = runs.scores(question, level, use)
        if len(series):
            by_signature.setdefault((question.judge, repeated(question.signature), question.aspect), []).append(series)
            by_judge.setdefault((question.judge, series.judge.model, question.aspect), []).append(series)
    same = [series for series in by_signature.values() if len(series) > 1]
    return same or [series for series in by_judge.values() if len(series) > 1 and runs.runs]


def repeated(signature: str) -> str:
    """Return a signature without the number of the repeat.

    >>> repeated("rts|judge:openai/gpt-4o|t:0|rep:2|v:1")
    'rts|judge:openai/gpt-4o|t:0|v:1'
    """
    return _REPEAT.sub("", signature)
