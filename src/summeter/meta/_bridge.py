"""Two judges, or two models of a judge, on the same summaries: whether and how a series of results can go on.

Rows of `bridge` have these statistics, for each aspect that both judged:

    offset            mean of the new score minus the old one
    slope             standard deviation of the new scores divided by that of the old ones
    agreement         coefficient of the scores, and of the decisions on sentences and key facts
    identical         share of equal decisions; `details` counts the changes in each direction
    kendall_b         correlation of the means of systems (level system)
    same_conclusions  share of the pairs of systems on which both draw the same conclusion: which one is significantly
                      better, or neither; `details.changed` lists the others
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import Level, ValueOrLabel
from summeter.meta.inputs import JudgeInput, RunLike, judge_input
from summeter.meta.measure import STATISTICS, Statistic, measure
from summeter.meta.options import LISTED, AgreementCoefficient, By, CommandLine, Judges, Significance, study
from summeter.meta.pairing import pair_judges
from summeter.meta.results import Row, Study, interval_row
from summeter.meta.sample import Grid, Sample, are_decisions, mostly_within
from summeter.meta.selection import check_known
from summeter.meta.verdicts import listed
from summeter.pages.numbers import count
from summeter.records import JudgeKey, Parameter, UsageError, judge_names
from summeter.scoring.table import Question
from summeter.stats import MIN_DOCUMENTS, Bootstrap, Estimate, Measurement, paired_differences
from summeter.stats.base import CONSTANT, EMPTY, Floats, Ints, ratio, undefined
from summeter.tables import interval, number, signed

STUDY = "bridge"
UNITS = {Level.SENTENCE: "sentences", Level.KEY_FACT: "key facts"}
"""The levels at which decisions are compared, with the name of the units."""
_LEAST = 1e-12


class BridgeOptions(Judges, By, AgreementCoefficient, Significance):
    """The options of `bridge`."""

    aspect: Annotated[str | Sequence[str] | None, CommandLine(metavar="ASPECT")] = Field(
        None, description="Aspect; OLD:NEW if the new judge calls it differently. Repeatable. Default: all in common."
    )
    judges: Annotated[tuple[str, str] | None, LISTED, CommandLine(metavar="OLD,NEW")] = Field(
        None, description="The old and the new judge (names or signatures). Default: the judges that correspond."
    )


@study(BridgeOptions)
def bridge(old: RunLike, new: RunLike, options: BridgeOptions) -> Study:
    """Compare an old judge with a new one on the same summaries.

    With the result, a series of measurements by the old judge can go on with the new one.
    The judges may be two versions of a model, or different judges of the same aspect. Judges with the same signature
    correspond, then those with the same name; a judge without a counterpart corresponds to the only other one. The
    study says how much the new scores differ, how far both agree, and which conclusions change: the ranking of the
    systems, the pairs of systems that differ significantly, and decisions on sentences and key facts. The notes say how
    to convert old means. If the scores of both have the same spread (the interval of `slope` contains 1), the offset is
    added. Otherwise, or if `slope` has no interval, they are converted so that the scores of both judges have the same
    mean and standard deviation: `slope` times the old mean plus `details.intercept`. With `by`, there are rows for each
    value of a column; an offset that depends on the system (`by="system"`) changes rankings.

    Raises UsageError if the texts of the runs differ, if a judge or an aspect is unknown, or if no judges correspond.

        print(sm.meta.bridge("runs/gpt-4o", "runs/gpt-6").notes[0])
    """
    both = judge_input([judge_input(old), judge_input(new)])
    rows, notes = list[Row](), list[str]()
    pairs = _corresponding(both, options)
    differing = [(first, second) for first, second in pairs if first.signature != second.signature]
    if differing and len(differing) < len(pairs):
        same = dict.fromkeys(first.judge for first, second in pairs if first.signature == second.signature)
        notes.append(f"{listed(list(same))} did not change: left out")
    kept = differing or pairs
    labels = judge_names(_key(both, question) for pair in kept for question in pair)
    for pair in kept:
        names = dict.fromkeys(labels[_key(both, question)] for question in pair)
        said: list[str] = []
        rows += _rows(both, *pair, options, said)
        notes.append(f"{rows[-1].aspect} by {' and then '.join(names)}: {'. '.join(said)}")
    return Study(STUDY, rows, notes)


def _corresponding(both: JudgeInput, options: BridgeOptions) -> list[tuple[Question, Question]]:
    """Return the questions of the old and the new judge that correspond."""
    runs, asked = list(both.runs), []
    for at, run in enumerate(runs):
        of_run = [each for each in both.questions((), options.judge) if each.run == run]
        if options.judges is not None:
            names = dict.fromkeys(name for each in of_run for name in (each.judge, each.signature))
            check_known([options.judges[at]], list(names), "judge")
            of_run = [each for each in of_run if options.judges[at] in (each.judge, each.signature)]
        for pair in options.aspect_pairs:
            check_known([pair[at]], list(dict.fromkeys(each.aspect for each in of_run)), "aspect")
        asked.append(of_run)
    found = []
    for aspects in options.aspect_pairs or [(name, name) for name in dict.fromkeys(each.aspect for each in asked[0])]:
        old, new = (
            {_key(both, question): question for question in of_run if question.aspect == name}
            for of_run, name in zip(asked, aspects, strict=True)
        )
        pairs = list(pair_judges(list(old), list(new)))
        found += [(old[pair.a], new[pair.b]) for pair in pairs if pair.a is not None and pair.b is not None]
        only_old = [pair.a for pair in pairs if pair.a is not None and pair.b is None]
        only_new = [pair.b for pair in pairs if pair.b is not None and pair.a is None]
        if len(only_old) == len(only_new) == 1:
            found.append((old[only_old[0]], new[only_new[0]]))
    if not found:
        judged = [listed(sorted(f"{q.judge} ({q.aspect})" for q in of_run)) or "nothing" for of_run in asked]
        what = f"no judges of the two runs correspond; {runs[0]} has {judged[0]}, and {runs[1]} has {judged[1]}. Give "
        raise UsageError(what, Parameter("judges", "OLD,NEW"), " or ", Parameter("aspect", "OLD:NEW"))
    return found


def _key(both: JudgeInput, question: Question) -> JudgeKey:
    return JudgeKey(question.judge, question.signature, both.scores(question, Level.SUMMARY).judge.model)


def _rows(both: JudgeInput, old: Question, new: Question, options: BridgeOptions, said: list[str]) -> Iterator[Row]:
    """Yield the rows about two judges of an aspect, and add what they show to `said`."""

    def joined(level: Level, use: ValueOrLabel = ValueOrLabel.VALUE) -> Sample:
        sides = [both.scores(question, level, use) for question in (old, new)]
        return Sample.join(sides, both.context, explain=False)

    scores = joined(Level.SUMMARY)
    one, two = scores.raters
    about: dict[str, Any] = {
        "judge": one.judge if one.judge == two.judge else f"{one.judge} vs {two.judge}",
        "signature": f"{one.signature} vs {two.signature}",
        "model": " vs ".join(dict.fromkeys(filter(None, (one.model, two.model)))) or None,
        "aspect": one.aspect if one.aspect == two.aspect else f"{one.aspect}:{two.aspect}",
    }
    draws = options.resampling
    on_scale = mostly_within(scores.y, np.nanmin(scores.x, initial=np.inf), np.nanmax(scores.x, initial=-np.inf))
    labels = are_decisions(scores.matrix)
    coefficient = STATISTICS[options.chosen_or_usual(labels=labels, on_scale=on_scale)]
    agreement = replace(coefficient, name="agreement")
    of_scores = about | {"level": Level.SUMMARY.value}
    measured = list(
        measure(scores, [OFFSET, SLOPE, agreement], study=STUDY, draws=draws, by=options.by, about=of_scores)
    )
    for row in measured:
        named = {"coefficient": coefficient.name} if row.statistic == "agreement" else {}
        yield row.model_copy(update={"details": {**row.details, **named}})
    said.append(_conversion(measured[:3], coefficient.name))
    for level, units in UNITS.items():
        try:
            decisions = joined(level, ValueOrLabel.LABEL)
        except UsageError:
            continue
        # A composite has no judgments of units.
        if decisions.level != level or not are_decisions(decisions.matrix[:, decisions.complete]):
            continue
        kappa = replace(STATISTICS[options.chosen_or_usual(labels=True, on_scale=True)], name="agreement")
        of_units = about | {"level": level.value}
        of_level = list(measure(decisions, [kappa, IDENTICAL], study=STUDY, draws=draws, by=options.by, about=of_units))
        yield from of_level
        up, down = (of_level[1].details[way] for way in ("to_1", "to_0"))
        changed = f"{up + down:,} of {count(of_level[1].n, 'decision')} on {units} changed"
        said.append(f"{changed}, {up:,} from 0 to 1 and {down:,} from 1 to 0")
    grid = Grid.of(scores.take(scores.complete))
    if len(grid.systems) > 1:
        of_systems = about | {"level": Level.SYSTEM.value}
        yield from measure(scores, ["kendall_b"], study=STUDY, draws=draws, level=Level.SYSTEM, about=of_systems)
        yield (row := _conclusions(grid, of_systems, options))
        said += _changes(row)


def _offset(sample: Sample, clusters: Ints) -> Measurement:  # noqa: ARG001
    sides = {"old_mean": sample.x, "new_mean": sample.y} if len(sample) else {}
    return _mean(sample.y - sample.x, {name: float(values.mean()) for name, values in sides.items()})


def _identical(sample: Sample, clusters: Ints) -> Measurement:  # noqa: ARG001
    turned = sample.y - sample.x
    ways = {"to_1": int((turned > 0).sum()), "to_0": int((turned < 0).sum())}
    return _mean((turned == 0).astype(np.float64), ways)


def _mean(values: Floats, details: dict[str, Any]) -> Measurement:
    value = float(values.mean()) if len(values) else None
    return Measurement(value, len(values), reason=EMPTY, rows=values, details=details)


def _slope(sample: Sample, clusters: Ints) -> Measurement:
    if not len(sample):
        return Measurement(None, 0, reason=EMPTY)
    old, new = sample.x.mean(), sample.y.mean()
    x, y = sample.x - old, sample.y - new
    sums = Bootstrap(clusters).sums(np.stack([np.ones(len(x)), x, y, x**2, y**2], axis=1))

    def slope(weights: Floats) -> Floats:
        n, sum_x, sum_y, sum_xx, sum_yy = (weights @ sums).T
        above, below = n * sum_yy - sum_y**2, n * sum_xx - sum_x**2
        # Rounding errors of a constant are not a spread.
        return np.sqrt(ratio(np.where(above > _LEAST, above, 0.0), np.where(below > _LEAST, below, 0.0)))

    value = float(slope(np.ones((1, len(sums))))[0])
    if np.isnan(value):
        return Measurement(None, len(x), reason=CONSTANT)
    intercept = {"intercept": float(new - value * old)}
    return Measurement(value, len(x), weighted=slope, width=len(sums), details=intercept)


OFFSET, SLOPE, IDENTICAL = (
    Statistic(name, of, two=True) for name, of in (("offset", _offset), ("slope", _slope), ("identical", _identical))
)


def _conversion(measured: Sequence[Row], coefficient: str) -> str:
    """Return in words how much the new scores differ, and how to convert a mean of old scores."""
    offset, slope, agreement = measured
    if offset.value is None:
        return f"nothing can be compared ({offset.reason})"
    differ = f"{signed(offset.value)} {interval(offset.low, offset.high)}".rstrip()
    said = (
        f"the new scores differ by {differ} on "
        f"{count(offset.n, 'summary', 'summaries')} (agreement {number(agreement.value, 2)}, {coefficient})"
    )
    if slope.value is None:
        return f"{said}. To convert an old mean, add {number(offset.value)}"
    convert = f"To convert an old mean, multiply it by {slope.value:.3f} and add {number(slope.details['intercept'])}"
    spread = f"{said}; their standard deviation is {number(slope.value)}"
    if slope.low is None or slope.high is None:
        return (
            f"{spread} times that of the old ones, without an interval, so that it is not determined whether adding "
            f"the offset suffices. {convert}"
        )
    if slope.low <= 1 <= slope.high:
        return f"{said}. To convert an old mean, add {number(offset.value)}"
    return f"{spread} {interval(slope.low, slope.high)} times that of the old ones. {convert}"


def _conclusions(grid: Grid, about: dict[str, Any], options: BridgeOptions) -> Row:
    """Return the share of pairs of systems with the same conclusion."""
    scores = np.where(grid.complete, grid.values, np.nan)
    ranks = [np.argsort(-means, kind="stable") for means in replace(grid, values=scores).means]
    rankings = {
        f"{side}_ranking": [grid.systems[at] for at in rank] for side, rank in zip(("old", "new"), ranks, strict=True)
    }
    old, new = (
        paired_differences(
            [dict(zip(grid.systems, side, strict=True))], options.alpha, options.permutations, options.seed
        )[0]
        for side in scores
    )
    tested = [pair for pair in zip(old, new, strict=True) if pair[0].units >= MIN_DOCUMENTS]
    changed = [
        {"pair": [before.first, before.second], "old": before.better, "new": after.better}
        for before, after in tested
        if before.better != after.better
    ]
    counts = {"n": len(tested), "missing": len(old) - len(tested)}
    got = undefined(f"no two systems share {MIN_DOCUMENTS} documents")
    if tested:
        got = Estimate(1 - len(changed) / len(tested), len(tested))
    details = {"changed": changed, **rankings, "alpha": options.alpha}
    return interval_row(got, about, counts, study=STUDY, statistic="same_conclusions", details=details)


def _changes(row: Row) -> list[str]:
    """Return in words whether the ranking changed, and which conclusions about pairs."""
    old, new = row.details["old_ranking"], row.details["new_ranking"]
    ranking = "is the same" if old == new else f"changes from {', '.join(old)} to {', '.join(new)}"
    said = [f"The ranking of the systems {ranking}"]
    if row.value is None:
        return [*said, f"Pairs of systems are not tested: {row.reason}"]
    words = [
        f"{' and '.join(each['pair'])}, from {_better(each['old'])} to {_better(each['new'])}"
        for each in row.details["changed"]
    ]
    of_pairs = f"{len(words)} of {count(row.n, 'pair')} of systems have another conclusion"
    return [*said, of_pairs + (f": {'; '.join(words)}" if words else "")]


def _better(name: str | None) -> str:
    return f"{name} is better" if name else "no difference"
