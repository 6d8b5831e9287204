"""How far each judge of a run agrees with the people who judged the very data of the run, and whether that is chance.

A report shows it beside a judge's numbers, unasked, wherever the data hold people's judgments.
"""

from __future__ import annotations

from collections.abc import Iterator

from summeter.choices import Level, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.meta.coefficients import STATISTICS
from summeter.meta.gold import aspects
from summeter.meta.inputs import Gold, RunLike, TooLargeError, gold_input, judge_input
from summeter.meta.measure import estimate, pair_fields
from summeter.meta.options import Draws, GoldAtLeast, Selection, study
from summeter.meta.results import Row, Study, interval_row, judge_labels
from summeter.meta.sample import Sample, are_decisions
from summeter.meta.selection import MetaInput, check_known, golds
from summeter.meta.verdicts import against_chance, agreement
from summeter.records import UsageError
from summeter.runs.run import RunFolder
from summeter.scoring.table import Question
from summeter.stats.resample import Resampling

STUDY = "agreement_with_people"
_LEVELS = (Level.SENTENCE, Level.KEY_FACT, Level.SUMMARY)


class AgreementOptions(Selection, GoldAtLeast, Draws):
    """The options of `agreement_with_people`."""


@study(AgreementOptions)
def agreement_with_people(run: RunLike, gold: Gold | None, options: AgreementOptions) -> Study:
    """Measure how far the judges of a run agree with people on this very data.

    `gold` is by default the run's own data. One row a judge and an aspect that people judged too, of the study
    "agreement_with_people": `balanced_accuracy` of decisions on sentences, else key facts, else summaries, where both
    sides decide 0 or 1; else `spearman` of scores of summaries. `n` units have both sides. `details.chance` is the
    value of guessing (0.5 or 0) and `details.verdict` is "above chance", "below chance" or "cannot be told from chance"
    (the interval at `confidence`, drawn by document, holds it, or there are fewer than 6 documents), None without a
    value. No row where people judged nothing; scores beyond what arithmetic can hold are said in a note.

        sm.meta.agreement_with_people(run).rows
    """
    if gold is None and isinstance(run, RunFolder):  # asked for by the terminal, and by the page behind it
        return run.once((STUDY, repr(options)), lambda: _study(run, None, options))
    return _study(run, gold, options)


def _study(run: RunLike, gold: Gold | None, options: AgreementOptions) -> Study:
    try:
        read = _read(run, gold, options)
    except TooLargeError as error:  # a run's page is drawn all the same
        return Study(STUDY, [], [str(error)])
    if read is None:
        return Study(STUDY, [])
    questions = read.judge.rows
    if options.judge is not None:
        names = dict.fromkeys(name for question in questions for name in (question.judge, question.signature))
        check_known([options.judge], list(names), "judge")
    return Study(STUDY, [
        _row(pairs, decided, options.resampling)
        for question in questions if options.judge in {None, question.judge, question.signature}
        for own, aspect in options.aspect_pairs or [(question.aspect, question.aspect)] if own == question.aspect
        for pairs, decided in _pairs(read, question, aspect, options)
    ])  # fmt: skip


def _read(run: RunLike, gold: Gold | None, options: AgreementOptions) -> MetaInput | None:
    """Judges and people; None where people judged nothing that a judge of the run did."""
    if gold is None:
        if not isinstance(run, RunFolder):
            raise UsageError("judgments alone have no data: give people's judgments as gold")
        gold = run.data
    if isinstance(gold, Dataset) and options.judgment_set not in gold.judgment_sets:
        return None
    people, context = gold_input(gold, options.judgment_set)
    if isinstance(run, RunFolder) and not options.aspects:
        # Reading a large run for nothing takes seconds.
        judged = {aspect for judge in run.manifest.judges for aspect in judge.aspects}
        if not judged.intersection(aspects(people)):
            return None
    machine = judge_input(run)
    return MetaInput(machine, people, context if context.domains else machine.context)


def _pairs(
    read: MetaInput, question: Question, aspect: str, options: AgreementOptions
) -> Iterator[tuple[Sample, bool]]:
    """The judge beside people, and whether both sides are decisions: at the lowest level at which they are."""
    for level in _LEVELS:
        labels = read.judge.scores(question, level, ValueOrLabel.LABEL)
        if not are_decisions(labels.value):
            continue
        sides = [Sample.join([labels, gold], read.context) for gold in golds(read.gold, aspect, level, options)]
        if sides and all(pairs.n and are_decisions(pairs.y) for pairs in sides):
            yield from ((pairs, True) for pairs in sides)
            return
    scores = read.judge.scores(question, Level.SUMMARY)
    if len(scores):
        for gold in golds(read.gold, aspect, Level.SUMMARY, options):
            yield Sample.join([scores, gold], read.context), False


def _row(pairs: Sample, decided: bool, resample: Resampling) -> Row:  # noqa: FBT001 - which of two statistics
    statistic = "balanced_accuracy" if decided else "spearman"
    got = estimate(pairs, statistic, resample)
    verdict = None
    if got.value is not None:
        verdict = against_chance(statistic, got.low, got.high, got.clusters)
    details = {"chance": STATISTICS[statistic].chance, "verdict": verdict}
    return interval_row(got, pair_fields(pairs), study=STUDY, statistic=statistic, average="pooled", details=details)


def agreement_lines(study: Study) -> list[str]:
    """One line a row, for a terminal or a page.

    "support on faithfulness: balanced accuracy 0.71 [0.62, 0.80], above chance (120 sentences)"
    """
    lines = []
    for row, judge in zip(study.rows, judge_labels(study.rows), strict=True):
        on = row.aspect if row.gold_aspect in {None, row.aspect} else f"{row.aspect} (people: {row.gold_aspect})"
        shown = agreement(
            row.statistic, row.value, row.low, row.high, verdict=row.details["verdict"], n=row.n,
            level=row.level or "summary", reason=row.reason,
        )  # fmt: skip
        lines.append(f"{judge} on {on}: {shown}")
    return lines
