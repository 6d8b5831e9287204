"""Agreement of a run's judges with the human judgments in the data, compared with chance.

Reports show this agreement next to the scores of a judge if the data have human judgments.
"""

from __future__ import annotations

from collections.abc import Iterator

from summeter.choices import Level, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.meta.inputs import Gold, OneRun, TooLargeError, gold_input, judge_input
from summeter.meta.measure import STATISTICS, estimate, pair_fields
from summeter.meta.options import Draws, GoldAtLeast, Selection, study
from summeter.meta.results import Study, interval_row, judge_labels
from summeter.meta.sample import Sample, are_decisions
from summeter.meta.selection import MetaInput, aspects, golds
from summeter.meta.verdicts import against_chance, agreement
from summeter.records import UsageError
from summeter.runs.run import RunFolder
from summeter.scoring.table import Question

STUDY = "agreement_with_people"
_LEVELS = (Level.SENTENCE, Level.KEY_FACT, Level.SUMMARY)


class AgreementOptions(Selection, GoldAtLeast, Draws):
    """The options of `agreement_with_people`."""


@study(AgreementOptions)
def agreement_with_people(run: OneRun, gold: Gold | None, options: AgreementOptions) -> Study:
    """Measure the agreement of the judges of a run with people on the data of the run.

    `gold` is by default the data of the run. Rows have the study "agreement_with_people". There is one row for each
    judge and aspect that people also judged. The statistic is `balanced_accuracy` if the values of both sides are 0 or
    1 (on sentences, or else key facts, or else summaries), and otherwise `spearman`, computed from the scores of
    summaries. `n` is the number of units with both values. `details.chance` is the value of a random judge (0.5 or 0).
    `details.verdict` is "above chance", "below chance" or "cannot be told from chance" (if the interval contains the
    value of chance, or there are fewer than 6 documents), or None if the row has no value. There are no rows if people
    judged nothing. If scores are too large to compute with, a note says so.

        sm.meta.agreement_with_people(run).rows
    """
    if gold is None and isinstance(run, RunFolder):  # the terminal and the report use the same study
        return run.once((STUDY, repr(options)), lambda: _study(run, None, options))
    return _study(run, gold, options)


def _study(run: OneRun, gold: Gold | None, options: AgreementOptions) -> Study:
    if gold is None:
        if not isinstance(run, RunFolder):
            raise UsageError("judgments without a run need human judgments as `gold`")
        gold = run.data
    if isinstance(gold, Dataset) and options.judgment_set not in gold.judgment_sets:
        return Study(STUDY, [])
    try:
        people, context = gold_input(gold, options.judgment_set)
        if isinstance(run, RunFolder) and not options.aspects:
            # Avoid reading a large run unnecessarily.
            judged = {aspect for judge in run.manifest.judges for aspect in judge.aspects}
            if not judged.intersection(aspects(people)):
                return Study(STUDY, [])
        machine = judge_input(run)
    except TooLargeError as error:  # a note, so that the report of the run can be written
        return Study(STUDY, [], [str(error)])
    read = MetaInput(machine, people, context if context.domains else machine.context)
    rows = []
    for question in machine.questions(judge=options.judge):
        if question in machine.composites:
            continue
        for judge_aspect, aspect in options.aspect_pairs or [(question.aspect, question.aspect)]:
            for pairs, decided in _pairs(read, question, aspect, options) if judge_aspect == question.aspect else ():
                statistic = "balanced_accuracy" if decided else "spearman"
                got = estimate(pairs, statistic, options.resampling)
                chance = against_chance(statistic, got.low, got.high, got.clusters)
                details = {
                    "chance": STATISTICS[statistic].chance, "verdict": None if got.value is None else chance
                }  # fmt: skip
                fields = {"study": STUDY, "statistic": statistic, "average": "pooled", "details": details}
                rows.append(interval_row(got, pair_fields(pairs), fields))
    return Study(STUDY, rows)


def _pairs(
    read: MetaInput, question: Question, aspect: str, options: AgreementOptions
) -> Iterator[tuple[Sample, bool]]:
    """Yield samples of a judge joined with people, and whether all values are decisions.

    Samples are at the lowest possible level.
    """
    for level in _LEVELS:
        labels = read.judge.scores(question, level, ValueOrLabel.LABEL)
        if not are_decisions(labels.value):
            continue
        joined = [Sample.join([labels, gold], read.context) for gold in golds(read.gold, aspect, level, options)]
        if joined and all(pairs.n and are_decisions(pairs.y) for pairs in joined):
            yield from ((pairs, True) for pairs in joined)
            return
    scores = read.judge.scores(question, Level.SUMMARY)
    if len(scores):
        for gold in golds(read.gold, aspect, Level.SUMMARY, options):
            yield Sample.join([scores, gold], read.context), False


def agreement_lines(study: Study) -> list[str]:
    """Return one line per row, for a terminal or a page.

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


def agreement_elsewhere(run: RunFolder) -> list[str]:
    """Return lines on the agreement that is known from other data only.

    There is one line per judge and aspect that people did not judge in the run's data.

    "support on faithfulness: not measured on these data; elsewhere balanced accuracy 0.61 on seven datasets"
    """
    rows = agreement_with_people(run, seed=run.seed)
    measured = {(row.signature, row.aspect) for row in rows if row.value is not None}
    return [
        f"{judge.name} on {aspect}: not measured on these data; elsewhere {text}"
        for judge in run.manifest.judges
        if not judge.partial
        for aspect, text in judge.measured_agreement.items()
        if (judge.signature, aspect) not in measured
    ]
