"""Agreement among annotators, and agreement of judges with annotators.

Rows have these studies. `n` is the number of units used, and `missing` the number of units with too few votes:

    agreement             a coefficient of all annotators on an aspect, optionally by a column
    annotator             one annotator (in `judge`) compared with the merged votes of the others
    agreement_without     the coefficient without one annotator (in `judge`)
    judge_and_people      a judge compared with the merged votes of people
    agreement_with_judge  a judge as an additional annotator; `details` have the coefficient of people on the same units

`override_rate` measures how often people overruled a machine label that they were shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, SkipValidation

from summeter.choices import AggregationRule, Level, QuestionType, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.data.human_judgments import SIGNATURES, SPAN_LABELS
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input, run_notes
from summeter.meta.measure import COEFFICIENTS, STATISTICS, Statistic, meaning, measure, pooled_measurement, scale_of
from summeter.meta.options import LISTED, By, Choice, Coefficients, CommandLine, Draws, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged, named, resampling
from summeter.meta.sample import Context, Rater, Sample, rows_by_name
from summeter.meta.selection import (
    PEOPLE,
    all_pairs,
    aspects,
    block_rows,
    blocks,
    gold_scores,
    group_fields,
    groups,
    meta_input,
    summary_votes,
    votes,
    votes_of,
)
from summeter.records import Judgment, UsageError, unnamed
from summeter.scoring import COMPOSITE
from summeter.scoring.table import Categorical, JudgmentTable
from summeter.stats import Estimate, Model, Weights, span_f1
from summeter.stats.base import Floats, undefined
from summeter.stats.resample import Resampling, undefined_in_all
from summeter.tables import Table

SPAN_F1 = "span_f1"
"""The coefficient for marked spans. All other coefficients are computed from votes."""
LEVELS = ("sentence", "key_fact", "summary", "pair")
FOR_LABELS = ("alpha_nominal", "kappa_fleiss", "kappa_cohen", "ac1")
FOR_RATINGS = (
    *("alpha_nominal", "alpha_ordinal", "alpha_interval"),
    "ac2",
    "icc",
    "mean_pairwise_pearson",
    "rater_deviation",
)
FOR_TYPES = ("alpha_nominal", "kappa_fleiss", "ac1", "alpha_masi")
FOR_QUESTIONS: Mapping[QuestionType, tuple[str, ...]] = {
    QuestionType.SCALE: ("alpha_ordinal", "alpha_interval", "ac2", "icc", "rater_deviation", "identical"),
    QuestionType.CHOICE: ("alpha_nominal", "kappa_fleiss", "ac1", "identical"),
    QuestionType.CHOICES: ("alpha_masi", "identical"),
    QuestionType.YES_NO: ("alpha_nominal", "kappa_fleiss", "ac1", "identical"),
    QuestionType.TEXT: (),
}
"""Default coefficients by type of custom question in a campaign. Free text has none."""
_MANY_RATERS = 10
_MAX_WEIGHTS = 1_000_000  # size of the largest matrix of weights
_NO_DRAWS = resampling(0)


class VotesOptions(Selection):
    """Selection of votes."""

    level: Annotated[str | None, Choice(LEVELS, "level")] = Field(
        None,
        description="Level of the votes: sentence, key_fact, summary (scores of annotators) or pair. Default: the "
        "level of the votes in the data.",
    )
    error_types: bool = Field(default=False, description="Compare error types instead of labels.")


class AgreeOptions(VotesOptions, By, Coefficients, Draws):
    """The options of `agree`."""

    known: ClassVar[Sequence[str]] = (*COEFFICIENTS, SPAN_F1)

    coefficients: Annotated[Sequence[str], CommandLine(("--coefficient", "--coefficients"))] = Field(
        (),
        description="Coefficients to compute. Repeatable. Default: those that suit the votes, and span_f1 if people "
        "marked spans.",
    )
    scale: Annotated[Sequence[float], LISTED, CommandLine(metavar="1,2,3,4,5")] = Field(
        (), description="All possible values, in order. Default: the observed values."
    )
    weights: Annotated[str, Choice(Weights, "weights")] = Field(
        Weights.QUADRATIC, description="Weights of AC2: linear, quadratic or ordinal."
    )
    icc_model: Annotated[str, Choice(Model, "icc_model"), CommandLine(("--icc", "--icc-model"))] = Field(
        Model.ICC2, description="Form of the ICC (Shrout & Fleiss, 1979)."
    )
    each: bool = Field(
        default=False,
        description="Add leave-one-annotator-out agreement, and compare each annotator with the mean or majority of "
        "the others (ties are left out).",
    )
    judges: Annotated[SkipValidation[RunLike], CommandLine(python_only=True)] = Field(
        (), description="Runs with judges to compare with people."
    )
    context: Annotated[SkipValidation[Context | None], CommandLine(python_only=True)] = Field(
        None, description="Domains and further columns, for votes without a dataset."
    )


@study(AgreeOptions)
def agree(gold: Gold, options: AgreeOptions) -> Study:
    """Measure the agreement of annotators and judges.

    `merge`, `tie` and `min_votes` apply to the comparison of a judge with people. The overlap of spans can be measured
    for a dataset or judgments, but not for a table. Raises UsageError if there are no votes.
    """
    draws = options.resampling
    records, table, context = _read(gold, options.judgment_set)
    context = options.context or context
    samples = [
        replace(sample, scale=tuple(options.scale) or scale_of(sample), units=replace(sample.units, context=context))
        for sample in votes_to_compare(table, options)
    ]
    by_aspect = [(sample, _statistics(sample, options)) for sample in samples]
    rows: list[Row] = []
    for sample, statistics in by_aspect:
        # An aspect with a single annotator has no row unless the aspect was selected.
        if options.aspects or len(sample.raters) > 1:
            rows += measure(sample, statistics, study="agreement", draws=draws, by=options.by, about=_of_people(sample))
        if options.each and not sample.exchangeable:
            rows += _each(sample, statistics, draws)
    machine = judge_input(options.judges)
    for sample, statistics in by_aspect:
        rows += _with_judges(sample, statistics, machine, table, options, draws)
    if SPAN_F1 in options.coefficients or not options.coefficients:
        rows += span_rows(records, context, options.by, draws)
    if not rows:
        known = ", ".join(blocks(table)) or "none"
        raise UsageError(f"no unit has votes of two annotators; the human judgments are: {known}")
    notes = []
    for sample in samples:
        annotators = f"{len(sample.raters)} annotators"
        if len(sample.raters) < 2:
            annotators = "one annotator, or merged votes"
        elif sample.exchangeable:
            annotators = f"up to {sample.max_votes} anonymous votes per unit"
        notes.append(f"{sample.gold.aspect}: {annotators}, {len(sample)} units ({sample.level})")
    if options.each and any(sample.exchangeable for sample in samples):
        notes.append("anonymous votes have no rows of single annotators")
    study = Study("agree", rows, notes)
    return Study(study.name, rows, [*notes, *run_notes(machine, study, judge=options.judge)])


def _read(gold: Gold, name: str) -> tuple[Sequence[Judgment], JudgmentTable, Context]:
    """Return human judgments as records (empty for a table) and as a table, with their context."""
    if isinstance(gold, JudgmentTable):
        return (), gold, Context()
    records = gold.judgments(name) if isinstance(gold, Dataset) else tuple(gold)
    return records, *gold_input(gold if isinstance(gold, Dataset) else records, name)


def votes_to_compare(table: JudgmentTable, options: VotesOptions) -> Iterator[Sample]:
    """Yield the raw votes on each selected aspect.

    The level is by default that of the votes in the data.

    Raises UsageError for a selected aspect without votes.
    """
    for aspect in options.gold_aspects or aspects(table):
        if aspect == COMPOSITE and aspect not in table.aspect.names:
            continue
        sample = _votes(table, aspect, options)
        if sample is not None:
            yield sample
        elif options.aspects:
            level = f" at the level {options.level}" if options.level else ""
            judged = ", ".join(aspects(table)) or "nothing"
            raise UsageError(f"people did not vote on {aspect!r}{level}; they judged: {judged}")


def _votes(table: JudgmentTable, aspect: str, options: VotesOptions) -> Sample | None:
    """Return the votes on an aspect, or None if they cannot be compared.

    Votes are answers to a custom question of a campaign, labels, ratings or error types.
    """
    level, source = options.level, options.source
    answers = question_votes(table, aspect, source)
    if answers is not None and not options.error_types:
        return answers if level in (None, answers.level) else None
    if table.where(aspect=aspect).signature.used() == [SIGNATURES[QuestionType.TEXT.value]]:
        return None  # free text cannot be compared
    if options.error_types:
        rows = block_rows(table, aspect, Level(level or Level.SUMMARY), source)
        return None if rows is None else _votes_of_names(rows, rows.error_type)
    if level == "pair":
        return pair_votes(table, aspect)
    sample = votes(table, aspect, Level(level or Level.SUMMARY), source)
    if level is None:
        return pair_votes(table, aspect) if sample is None and source in (None, "pairs") else sample
    if sample is None or sample.level == level:
        return sample
    # The score of a summary by an annotator is the share of labels 1.
    scores = summary_votes(table, aspect, source)
    return replace(Sample.join(scores, explain=False), source=sample.source)


def _statistics(sample: Sample, options: AgreeOptions) -> list[Statistic]:
    """Return the selected statistics, or by default those that are suitable for the votes.

    Votes of 0 and 1 and votes on pairs have the coefficients of labels, other votes those of ratings.
    """
    values = sample.value[~np.isnan(sample.value)]
    if options.coefficients:
        names = [name for name in options.coefficients if name != SPAN_F1]
    elif sample.question is not None:
        names = [*FOR_QUESTIONS[sample.question]]
    elif options.error_types:
        names = [*FOR_TYPES]
    elif sample.level == "pair" or np.isin(values, (0.0, 1.0)).all():
        names = [name for name in FOR_LABELS if name != "kappa_cohen" or len(sample.raters) <= _MANY_RATERS]
    else:
        names = [*FOR_RATINGS]
    settings = {"ac2": {"weights": options.weights}, "icc": {"model": options.icc_model}}
    statistics = [STATISTICS[name].using(**settings.get(name, {})) for name in names]
    return [each for each in statistics if options.coefficients or not (sample.exchangeable and each.persons)]


def _of_people(sample: Sample, **fields: Any) -> dict[str, Any]:
    """Return the common fields of rows about the votes on an aspect."""
    aspect = sample.gold.aspect
    about = {
        "aspect": aspect,
        "gold_aspect": aspect,
        "level": str(sample.level),
        "gold_signature": f"human.{sample.source}|merge:none|v:1",
        "average": None,
    }
    return {**about, **fields}


def _each(sample: Sample, statistics: Sequence[Statistic], draws: Resampling) -> Iterator[Row]:
    """Yield rows that compare each annotator with the others, and rows without each annotator."""
    if len(sample.raters) < 2:
        return
    tie = "|tie:drop" if sample.rule is AggregationRule.MAJORITY else ""
    signature = f"human.{sample.source}|merge:{sample.rule}{tie}|v:1"
    paired_votes = pair_with_others(sample)
    for number, rater in enumerate(sample.raters):
        pair = _of_annotator(sample, paired_votes, number)
        about = _of_people(sample, judge=rater.judge, gold_signature=signature)
        yield from measure(pair, _fitting(pair, statistics), study="annotator", draws=draws, about=about)
        rest = sample.of_raters(*(other for other in range(len(sample.raters)) if other != number))
        if len(rest.raters) > 1:
            about = _of_people(sample, judge=rater.judge)
            yield from measure(rest, statistics, study="agreement_without", draws=draws, about=about)


def pair_with_others(sample: Sample) -> Sample:
    """Return a sample that pairs each vote with the merged other votes on the same unit.

    The units of the returned sample are votes.
    """
    votes = replace(sample, units=sample.units.take(sample.unit))
    aspect, signature = sample.gold.aspect, sample.gold.signature
    raters = [Rater("annotator", signature, None, aspect), Rater(PEOPLE, signature, None, aspect)]
    return _pair(votes, raters, np.stack([sample.value, sample.others]))


def _of_annotator(sample: Sample, paired_votes: Sample, number: int) -> Sample:
    """Return one annotator's votes and the merged votes of the others, on the units of the sample."""
    of_annotator = sample.rater == number
    values = np.full((2, len(sample)), np.nan)
    values[:, sample.unit[of_annotator]] = paired_votes.matrix[:, of_annotator]
    return _pair(sample, [sample.raters[number], paired_votes.gold], values)


def leave_one_out(table: JudgmentTable, coefficient: str) -> Iterator[tuple[Rater, Estimate]]:
    """Yield the agreement of each annotator with the others: the `annotator` rows of `agree`, without intervals.

    This function is fast even for hundreds of annotators. Coefficients are functions of cluster weights. If votes are
    clustered by annotator, a weight of 1 for one annotator and 0 for the others gives the value of that annotator.
    Raises UsageError for an unknown coefficient.
    """
    if coefficient not in COEFFICIENTS:
        raise UsageError(f"unknown coefficient {coefficient!r}; choose one of {', '.join(COEFFICIENTS)}")
    statistic = STATISTICS[coefficient]
    for raw_votes in votes_to_compare(table, VotesOptions()):
        sample = replace(raw_votes, scale=scale_of(raw_votes))
        paired_votes = pair_with_others(sample)
        voted = np.unique(sample.rater[~np.isnan(sample.value)]).tolist()
        if len(voted) < 2 or sample.exchangeable or statistic.unsuited(paired_votes) is not None:
            continue
        raters = len(sample.raters)
        whole = statistic.of(paired_votes, sample.rater)
        if whole.weighted is undefined_in_all:
            pairs = (_of_annotator(sample, paired_votes, number) for number in range(raters))
            values = [pooled_measurement(pair, statistic)[0].value for pair in pairs]
        else:
            batches = np.array_split(np.eye(raters), max(1, raters * max(raters, whole.width) // _MAX_WEIGHTS))
            by_rater = np.concatenate([whole.weighted(weights) for weights in batches])
            values = [None if np.isnan(value) else value for value in by_rater.tolist()]
        n = np.bincount(sample.rater[~np.isnan(paired_votes.matrix).any(axis=0)], minlength=raters)
        for number in voted:
            yield sample.raters[number], Estimate(values[number], int(n[number]))


def _pair(sample: Sample, raters: Sequence[Rater], values: Floats) -> Sample:
    """Return a sample of two raters with the units, scale and names of a given sample."""
    whole = Sample.of_values(sample.units, raters, values)
    return replace(whole, scale=sample.scale, names=sample.names, question=sample.question, rule=sample.rule)


def _fitting(sample: Sample, statistics: Sequence[Statistic]) -> list[Statistic]:
    """Return the statistics that can be computed from the values.

    Statistics that need a scale are left out if the values, such as means of ratings, are not on it.
    """
    on_scale = np.isin(sample.value[~np.isnan(sample.value)], sample.scale).all()
    return [statistic for statistic in statistics if on_scale or not statistic.on_scale]


def _with_judges(
    sample: Sample,
    statistics: Sequence[Statistic],
    machine: JudgeInput,
    table: JudgmentTable,
    options: AgreeOptions,
    draws: Resampling,
) -> Iterator[Row]:
    """Yield rows that compare a judge with merged votes, and rows with the judge as an annotator."""
    if sample.level == "pair" or sample.names:
        return
    level, aspect = Level(sample.level), sample.gold.aspect
    names = [judge_aspect for judge_aspect, gold_aspect in options.aspect_pairs if gold_aspect == aspect] or [aspect]
    for question in machine.questions(names, options.judge):
        scores = machine.scores(question, level, ValueOrLabel.VALUE if level is Level.SUMMARY else ValueOrLabel.LABEL)
        if not len(scores):
            continue
        values = scores.values_on(sample.units)
        judged = ~np.isnan(values)
        people, values = sample.take(judged), values[judged]
        about = _of_people(sample, **named(scores.judge))
        unusable = None
        if not len(values) or not sample.scale:
            unusable = "the judge judged none of the units that people voted on"
        elif values.min() < min(sample.scale) or values.max() > max(sample.scale):
            unusable = f"values of the judge are outside people's scale ({min(sample.scale):g}-{max(sample.scale):g})"
        compared = []
        for gold in gold_scores(table, aspect, level, options):
            both = _pair(people, [scores.judge, gold.gold], np.stack([values, gold.values_on(people.units)]))
            signed = merged(about, gold_signature=gold.gold.signature)
            compared.append(("judge_and_people", both, _fitting(both, statistics), signed))
        everybody = _pair(people, [*people.raters, scores.judge], np.vstack([people.matrix, values]))
        compared.append(("agreement_with_judge", everybody, list(statistics), about))
        for name, pair, used, fields in compared:
            rows = measure(pair, used, study=name, draws=draws, about=fields)
            if unusable is not None:
                none = undefined(unusable, missing=len(pair))
                rows = iter([interval_row(none, fields, study=name, statistic=each.name) for each in used])
            if name == "judge_and_people":
                yield from rows
                continue
            alone = measure(people, used, study="agreement", draws=_NO_DRAWS, about=fields)
            for row, before in zip(rows, alone, strict=True):
                change = None if before.value is None or row.value is None else row.value - before.value
                yield row.model_copy(update={"details": {**row.details, "people": before.value, "change": change}})


def export(gold: Gold, options: VotesOptions) -> Table:
    """Return the votes as a table with one row per unit and one column per annotator.

    A cell without a vote is None.
    """
    _, table, _ = _read(gold, options.judgment_set)
    samples = list(votes_to_compare(table, options))
    raters = list(dict.fromkeys(rater.judge for sample in samples for rater in sample.raters))
    lines = []
    for sample in samples:
        votes_of: dict[str, list[Any]] = {}
        for rater, row in zip(sample.raters, sample.matrix.tolist(), strict=True):
            votes_of[rater.judge] = [
                None if np.isnan(vote) else sample.names[int(vote)] if sample.names else vote for vote in row
            ]
        units = sample.units
        about = (units.document.labels(), units.system.labels(), units.list_id.labels(), units.index.tolist())
        for unit, (*names, index) in enumerate(zip(*about, strict=True)):
            cells = [votes_of[name][unit] if name in votes_of else None for name in raters]
            cells = [int(vote) if isinstance(vote, float) and vote.is_integer() else vote for vote in cells]
            lines.append([sample.gold.aspect, str(sample.level), *names, None if index < 0 else index, *cells])
    return Table.of(["aspect", "unit", "doc_id", "system", "list_id", "index", *raters], lines)


# ---- votes on error types, questions and pairs ----


def _votes_of_names(rows: JudgmentTable, column: Categorical, question: QuestionType | None = None) -> Sample | None:
    """Return categories as votes, or None if there are no names.

    Equivalent names get the same number.
    """
    spelled: dict[frozenset[str], str] = {}
    for name in column.names:
        if name is not None:
            spelled.setdefault(meaning(name, question), name)
    if not spelled:
        return None
    number = {categories: float(place) for place, categories in enumerate(spelled)}
    code = np.array([np.nan if name is None else number[meaning(name, question)] for name in column.names])
    sample = votes_of(replace(rows, value=code[column.codes], label=np.full(len(rows), np.nan)))
    return replace(sample, names=tuple(spelled.values()), question=question, rule=AggregationRule.MAJORITY)


def question_votes(table: JudgmentTable, aspect: str, source: str | None = None) -> Sample | None:
    """Return the answers to a custom question of a campaign as votes.

    Units are the targets of the question; a pair of summaries is named "A vs B". Returns None if the aspect is not a
    custom question or if the answers are free text.
    """
    for question in QuestionType:
        rows = table.where(aspect=aspect, signature=SIGNATURES[question.value])
        if not len(rows) or source not in (None, question.value) or question is QuestionType.TEXT:
            continue
        rivals = zip(rows.system.labels(), rows.rival.labels(), strict=True)
        system = Categorical.of(name if rival is None else f"{name} vs {rival}" for name, rival in rivals)
        rows = replace(rows, system=system)
        if question in {QuestionType.CHOICE, QuestionType.CHOICES}:
            return _votes_of_names(rows, rows.named, question)
        rule = AggregationRule.MEAN if question is QuestionType.SCALE else AggregationRule.MAJORITY
        return replace(votes_of(rows), question=question, rule=rule)
    return None


def pair_votes(table: JudgmentTable, aspect: str) -> Sample | None:
    """Return the votes on pairs of summaries in a pairwise campaign, or None if there are none.

    A vote is 1 if the alphabetically first system is preferred, 0 if its rival is, and 0.5 for a tie. A unit is a
    document with a pair of systems, named "A vs B".
    """
    rows = table.where(unit="pair", aspect=aspect)
    if not len(rows):
        return None
    pairs = [sorted(pair) for pair in zip(rows.system.labels(), rows.rival.labels(), strict=True)]
    swapped = np.array([pair[0] != system for pair, system in zip(pairs, rows.system.labels(), strict=True)])
    vote = np.where(np.isnan(rows.value), rows.label, rows.value)
    system = Categorical.of(" vs ".join(pair) for pair in pairs)
    return votes_of(
        replace(rows, system=system, value=np.where(swapped, 1 - vote, vote), label=np.full(len(rows), np.nan))
    )


# ---- spans ----

Item = tuple[str, str]


def span_rows(judgments: Sequence[Judgment], context: Context, by: str | None, resample: Resampling) -> Iterator[Row]:
    """Yield the agreement on the spans marked on each aspect (`span_f1`), for all summaries and by a column.

    Labels derived from spans record which summaries an annotator saw without marking anything. Annotators without such
    labels are assumed to have seen the summaries that they judged. Annotators who only marked spans are assumed to have
    seen all judged summaries of each document in which they marked a span.
    """
    spans = [judgment for judgment in judgments if judgment.target.unit == "span" and judgment.status == "ok"]
    for aspect in dict.fromkeys(span.aspect for span in spans):
        of_aspect = [span for span in spans if span.aspect == aspect]
        seen = {rater: _seen(judgments, rater) for rater in dict.fromkeys(span.judge for span in of_aspect)}
        items = list(dict.fromkeys(item for summaries in seen.values() for item in summaries))
        marks: dict[tuple[str, Item], list[tuple[int, int]]] = {}
        for judgment in of_aspect:
            key = judgment.judge, (judgment.target.document_id, judgment.target.system)
            marks.setdefault(key, []).extend((span.start, span.end) for span in judgment.evidence)
        about = {
            "study": "agreement", "statistic": SPAN_F1, "aspect": aspect, "gold_aspect": aspect,
            "gold_signature": of_aspect[0].signature, "level": "summary", "details": {"raters": len(seen)},
        }  # fmt: skip
        groups: list[tuple[dict[str, Any], list[Item]]] = [({}, items)]
        if by is not None:
            documents, systems = (Categorical.of(names) for names in zip(*items, strict=True))
            for value, rows in rows_by_name(context.column(by, documents, systems)):
                groups.append((group_fields(by, value), list(compress(items, rows))))
        for fields, chosen in groups:
            bootstrap = resample([document for document, _ in chosen])
            if any(map(unnamed, seen)):
                why = f"{SPAN_F1} compares annotators, but these spans are anonymous"
                estimate = bootstrap.alone(None, why, n=0, missing=len(chosen))
            else:
                marked = [
                    [marks.get((rater, item), []) if item in summaries else None for item in chosen]
                    for rater, summaries in seen.items()
                ]
                estimate = span_f1(marked, bootstrap.codes).estimate(bootstrap)
            yield interval_row(estimate, about, fields)


def _seen(judgments: Sequence[Judgment], rater: str) -> dict[Item, None]:
    """Return the summaries that an annotator saw, in order of appearance."""
    by_rater = [judgment for judgment in judgments if judgment.judge == rater]
    labelled = any(judgment.signature in SPAN_LABELS for judgment in by_rater)
    targets = [
        judgment.target
        for judgment in by_rater
        if not labelled or judgment.target.unit == "span" or judgment.signature in SPAN_LABELS
    ]
    if any(target.unit != "span" for target in targets):
        return dict.fromkeys((target.document_id, target.system) for target in targets)
    documents = {target.document_id for target in targets}
    all_items = ((judgment.target.document_id, judgment.target.system) for judgment in judgments)
    return dict.fromkeys(item for item in all_items if item[0] in documents)


# ---- overruled machine labels ----


class OverrideOptions(Selection, By, Draws):
    """The options of `override_rate`."""

    level: Annotated[str, Choice(("sentence", "key_fact", "summary"), "level")] = Field(
        "sentence", description="Level of the shown labels: sentence, key_fact or summary."
    )


@study(OverrideOptions)
def override_rate(shown: RunLike, gold: Gold, options: OverrideOptions) -> Study:
    """Measure how often people overruled the machine labels that they were shown (UniSumEval, Table 12).

    `shown` holds the judgments of the machine, by any judge. Rows have the study "overruled" and give the share of
    overruled units among all units, and among those shown as 1 and as 0 (`details.shown`), optionally by a column. `n`
    is the number of units with both labels. Raises UsageError if no unit has both.
    """
    level = Level(options.level)
    read = meta_input(shown, gold, options)
    rows: list[Row] = []
    for pairs in all_pairs(read, level, options, ValueOrLabel.LABEL):
        for group in groups(pairs, options.by):
            part, about = group.sample, group.about()
            changed = np.where(part.complete, (part.x != part.y).astype(np.float64), np.nan)
            for label in (None, 1.0, 0.0):
                inside = np.ones(len(part), dtype=np.bool_) if label is None else part.x == label
                details: dict[str, Any] = {"overruled": int(np.nansum(changed[inside]))}
                if label is not None:
                    name = ", ".join(filter(None, (about.get("details", {}).get("group"), f"shown {label:g}")))
                    details |= {"shown": int(label), "group": name}
                got = options.resampling(part.units.document.codes[inside]).mean(changed[inside])
                about |= {"study": "overruled", "statistic": "overruled", "level": str(part.level)}
                rows.append(interval_row(got, about, reason="no unit has both labels", details=details))
    return Study("overruled", rows)
