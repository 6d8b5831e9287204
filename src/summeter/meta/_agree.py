"""Do people agree with each other, and does a judge agree with them as they do?

Rows, all with the units that entered (`n`) and those with too few votes (`missing`):

    agreement             a coefficient of all annotators on an aspect, also by a column
    annotator             one annotator beside the merged votes of the others (`judge` names the annotator)
    agreement_without     the coefficient when one annotator is left out (`judge` names who)
    judge_and_people      a judge and the merged votes of people, as two raters
    agreement_with_judge  a judge as one more annotator; `details` hold people's own coefficient on the same units

`override_rate` says how often people decided against a machine label they were shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, SkipValidation

from summeter.choices import AggregationRule, Level, QuestionType, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.data.human_judgments import SIGNATURES, SPAN_LABELS
from summeter.meta.coefficients import COEFFICIENTS, STATISTICS, Statistic, meaning, scale_of
from summeter.meta.context import Context
from summeter.meta.gold import PEOPLE, aspects, block_rows, blocks, gold_scores, summary_votes, votes, votes_of
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.measure import measure, measured
from summeter.meta.options import LISTED, By, Choice, Coefficients, CommandLine, Draws, Selection, study
from summeter.meta.results import Row, Study, interval_row, named, resampling
from summeter.meta.sample import Rater, Sample, rows_by_name
from summeter.meta.selection import Group, golds, group_fields, groups, meta_input
from summeter.records import Judgment, UsageError, unnamed
from summeter.scoring import COMPOSITE
from summeter.scoring.table import Categorical, JudgmentTable
from summeter.stats import Model, Weights, span_f1
from summeter.stats.base import Floats
from summeter.stats.resample import Resampling, undefined_in_all
from summeter.stats.spans import Spans
from summeter.tables import Table

SPAN_F1 = "span_f1"
"""The one coefficient of marked passages; all others are of votes."""
LEVELS = ("sentence", "key_fact", "summary", "pair")
FOR_LABELS = ("alpha_nominal", "kappa_fleiss", "kappa_cohen", "ac1")
FOR_RATINGS = (
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
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
"""The coefficients that suit a campaign's own questions, by their level of measurement. Text is not measured."""
_MANY_RATERS = 10
_CELLS = 1_000_000  # numbers in memory at a time
_NO_DRAWS = resampling(0)


class VotesOptions(Selection):
    """Which votes are compared."""

    level: Annotated[str | None, Choice(LEVELS, "level")] = Field(
        None, description="sentence, key_fact, summary (each annotator's score) or pair; default: what was voted on."
    )
    error_types: bool = Field(default=False, description="Compare the names of errors, not the labels.")


class AgreeOptions(VotesOptions, By, Coefficients, Draws):
    """The options of `agree`."""

    known: ClassVar[Sequence[str]] = (*COEFFICIENTS, SPAN_F1)

    coefficients: Annotated[Sequence[str], CommandLine(("--coefficient", "--coefficients"))] = Field(
        (),
        description="Coefficients to compute; default: those that suit the votes, and span_f1 where people marked "
        "spans. Repeatable.",
    )
    scale: Annotated[Sequence[float], LISTED, CommandLine(metavar="1,2,3,4,5")] = Field(
        (), description="All values there could be, in order; default: those seen."
    )
    weights: Annotated[str, Choice(Weights, "weights")] = Field(
        Weights.QUADRATIC, description="Weights of ac2: linear, quadratic or ordinal."
    )
    icc_model: Annotated[str, Choice(Model, "icc_model"), CommandLine(("--icc", "--icc-model"))] = Field(
        Model.ICC2, description="Form of the ICC (Shrout and Fleiss)."
    )
    each: bool = Field(
        default=False,
        description="Leave-one-annotator-out agreement, and each annotator beside the others' mean rating or majority "
        "(a tie is left out).",
    )
    judges: Annotated[SkipValidation[Sequence[RunLike]], CommandLine(python_only=True)] = Field(
        (), description="Runs whose judges are measured beside people."
    )
    context: Annotated[SkipValidation[Context | None], CommandLine(python_only=True)] = Field(
        None, description="Domains and further columns, for votes that come without a data set."
    )


@study(AgreeOptions)
def agree(gold: Gold, options: AgreeOptions) -> Study:
    """Measure how far annotators agree, and how far judges agree with them in the same coefficients.

    `merge`, `tie` and `min_votes` are for people beside a judge. Coefficients of span overlap need the judgments
    themselves or a data set. Raises UsageError where there are no votes.
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
        # Of nobody to agree with there is no row unless asked for.
        if options.aspects or len(sample.raters) > 1:
            rows += measure(sample, statistics, study="agreement", draws=draws, by=options.by, about=_of_people(sample))
        if options.each and not sample.exchangeable:
            rows += _each(sample, statistics, draws)
    for run in options.judges:
        machine = judge_input(run)
        for sample, statistics in by_aspect:
            rows += _with_judges(sample, statistics, machine, table, options, draws)
    if SPAN_F1 in options.coefficients or not options.coefficients:
        rows += span_rows(marked_spans(records), context, options.by, draws)
    if not rows:
        raise UsageError(f"no votes to compare; people's judgments are: {', '.join(blocks(table)) or 'none'}")
    notes = []
    for sample in samples:
        who = f"{len(sample.raters)} annotators"
        if len(sample.raters) < 2:
            who = "one annotator only, or merged"
        elif sample.exchangeable:
            who = f"up to {sample.max_votes} votes a unit, without names"
        notes.append(f"{sample.gold.aspect}: {who}, {len(sample)} units ({sample.level})")
    if options.each and any(sample.exchangeable for sample in samples):
        notes.append("votes without names are nobody's in particular: there are no rows of single annotators")
    return Study("agree", rows, notes)


def _read(gold: Gold, name: str) -> tuple[Sequence[Judgment], JudgmentTable, Context]:
    """People's judgments as records (none where only a table was given), as a table, and their context."""
    if isinstance(gold, JudgmentTable):
        return (), gold, Context()
    records = gold.judgments(name) if isinstance(gold, Dataset) else tuple(gold)
    return records, *gold_input(gold if isinstance(gold, Dataset) else records, name)


def votes_to_compare(table: JudgmentTable, options: VotesOptions) -> Iterator[Sample]:
    """The raw votes on each aspect that is asked for, at a level (by default the units that people voted on).

    Raises UsageError for an aspect that nobody voted on.
    """
    for aspect in options.gold_aspects or aspects(table):
        if aspect == COMPOSITE and aspect not in table.aspect.names:
            continue
        cast = _votes(table, aspect, options)
        if cast is not None:
            yield cast
        elif options.aspects:
            where = f" at the level {options.level}" if options.level else ""
            there = ", ".join(aspects(table)) or "nothing"
            raise UsageError(f"people did not vote on {aspect!r}{where}; they judged: {there}")


def _votes(table: JudgmentTable, aspect: str, options: VotesOptions) -> Sample | None:
    """The votes on an aspect: on a campaign's own question where it is one, else labels, ratings or error types."""
    level, source = options.level, options.source
    own = question_votes(table, aspect, source)
    if own is not None and not options.error_types:
        return own if level in (None, own.level) else None
    if table.where(aspect=aspect).signature.used() == [SIGNATURES[QuestionType.TEXT.value]]:
        return None  # free text is no vote
    if options.error_types:
        return type_votes(table, aspect, Level(level or Level.SUMMARY), source)
    if level == "pair":
        return pair_votes(table, aspect)
    cast = votes(table, aspect, Level(level or Level.SUMMARY), source)
    if level is None:
        return pair_votes(table, aspect) if cast is None and source in (None, "pairs") else cast
    if cast is None or cast.level == level:
        return cast
    # Each annotator's score of a summary: the share of its labels that are 1.
    scores = summary_votes(table, aspect, source)
    return replace(Sample.join(scores, explain=False), source=cast.source)


def _statistics(sample: Sample, options: AgreeOptions) -> list[Statistic]:
    """The coefficients asked for, else those that suit the votes."""
    settings = {"ac2": {"weights": options.weights}, "icc": {"model": options.icc_model}}

    def named_statistic(name: str) -> Statistic:
        return STATISTICS[name].using(**settings[name]) if name in settings else STATISTICS[name]

    if options.coefficients:
        return [named_statistic(name) for name in options.coefficients if name != SPAN_F1]
    if sample.question is not None:
        names = FOR_QUESTIONS[sample.question]
    else:
        names = FOR_TYPES if options.error_types else usual(sample)
    suited = map(named_statistic, names)
    return [statistic for statistic in suited if not (sample.exchangeable and statistic.persons)]


def usual(sample: Sample) -> tuple[str, ...]:
    """The coefficients that suit votes: those for labels where all are 0 or 1 or on pairs, else those for ratings."""
    seen = sample.value[~np.isnan(sample.value)]
    if sample.level != "pair" and not np.isin(seen, (0.0, 1.0)).all():
        return FOR_RATINGS
    return tuple(name for name in FOR_LABELS if name != "kappa_cohen" or len(sample.raters) <= _MANY_RATERS)


def _of_people(sample: Sample, **fields: Any) -> dict[str, Any]:
    """The fields of every row about the votes on an aspect."""
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
    """Each annotator beside the others' merged votes, and the others without each."""
    if len(sample.raters) < 2:
        return
    tie = "|tie:drop" if sample.rule is AggregationRule.MAJORITY else ""
    how = f"human.{sample.source}|merge:{sample.rule}{tie}|v:1"
    beside = beside_others(sample)
    for number, rater in enumerate(sample.raters):
        pair = _of_annotator(sample, beside, number)
        about = _of_people(sample, judge=rater.judge, gold_signature=how)
        yield from measure(pair, _fitting(pair, statistics), study="annotator", draws=draws, about=about)
        rest = sample.of_raters(*(other for other in range(len(sample.raters)) if other != number))
        if len(rest.raters) > 1:
            about = _of_people(sample, judge=rater.judge)
            yield from measure(rest, statistics, study="agreement_without", draws=draws, about=about)


def beside_others(sample: Sample) -> Sample:
    """Each vote beside the merged votes of the others on its unit: a sample of two raters whose units are votes."""
    votes = replace(sample, units=sample.units.take(sample.unit))
    aspect, signature = sample.gold.aspect, sample.gold.signature
    raters = [Rater("annotator", signature, None, aspect), Rater(PEOPLE, signature, None, aspect)]
    return _pair(votes, raters, np.stack([sample.value, sample.others]))


def _of_annotator(sample: Sample, beside: Sample, number: int) -> Sample:
    """One annotator's votes and those `beside` them, on the units of the sample."""
    own = sample.rater == number
    values = np.full((2, len(sample)), np.nan)
    values[:, sample.unit[own]] = beside.matrix[:, own]
    return _pair(sample, [sample.raters[number], beside.gold], values)


class LeaveOneOut(NamedTuple):
    """The agreement of an annotator with the merged votes of the others, on the `n` units that others judged too."""

    annotator: str
    aspect: str
    value: float | None
    n: int


def leave_one_out(table: JudgmentTable, coefficient: str) -> Iterator[LeaveOneOut]:
    """The values of the rows `annotator` of `agree`, without intervals, for hundreds of annotators at once.

    A coefficient is a function of the weights of clusters. With annotators as the clusters of votes, a weight of 1 for
    one annotator and of 0 for all others gives that annotator's value. Raises UsageError for a coefficient that is not
    of votes.
    """
    if coefficient not in COEFFICIENTS:
        raise UsageError(f"{coefficient} is not a coefficient of votes; there are: {', '.join(COEFFICIENTS)}")
    statistic = STATISTICS[coefficient]
    for cast in votes_to_compare(table, VotesOptions()):
        sample = replace(cast, scale=scale_of(cast))
        beside = beside_others(sample)
        voted = np.unique(sample.rater[~np.isnan(sample.value)]).tolist()
        if len(voted) < 2 or sample.exchangeable or statistic.unsuited(beside) is not None:
            continue
        raters = len(sample.raters)
        whole = statistic.of(beside, sample.rater)
        if whole.weighted is undefined_in_all:
            alone = (measured(_of_annotator(sample, beside, number), statistic)[0] for number in range(raters))
            values = [one.value for one in alone]
        else:
            blocks_of_weights = np.array_split(np.eye(raters), max(1, raters * max(raters, whole.width) // _CELLS))
            drawn = np.concatenate([whole.weighted(weights) for weights in blocks_of_weights])
            values = [None if np.isnan(value) else value for value in drawn.tolist()]
        n = np.bincount(sample.rater[~np.isnan(beside.matrix).any(axis=0)], minlength=raters)
        for number in voted:
            rater = sample.raters[number]
            yield LeaveOneOut(rater.judge, rater.aspect, values[number], int(n[number]))


def _pair(sample: Sample, raters: Sequence[Rater], values: Floats) -> Sample:
    """Two raters on the units of a sample, whose scale and names they share."""
    whole = Sample.of_values(sample.units, raters, values)
    return replace(whole, scale=sample.scale, names=sample.names, question=sample.question, rule=sample.rule)


def _fitting(sample: Sample, statistics: Sequence[Statistic]) -> list[Statistic]:
    """The statistics without those of a fixed scale, where the values (means of ratings) are not on it."""
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
    """A judge as one more annotator, and beside the merged votes."""
    if sample.level == "pair" or sample.names:
        return
    level, aspect = Level(sample.level), sample.gold.aspect
    names = [own for own, gold in options.aspect_pairs if gold == aspect] or [aspect]
    for question in machine.questions(judge=options.judge):
        if question.aspect not in names:
            continue
        scores = machine.scores(question, level, ValueOrLabel.VALUE if level is Level.SUMMARY else ValueOrLabel.LABEL)
        if not len(scores):
            continue
        own = scores.values_on(sample.units)
        units = ~np.isnan(own)
        people, own = sample.take(units), own[units]
        about = _of_people(sample, **named(scores.judge))
        unusable = None
        if not len(own) or not sample.scale:
            unusable = "the judge judged none of the units people voted on"
        elif own.min() < min(sample.scale) or own.max() > max(sample.scale):
            span = f"{min(sample.scale):g} to {max(sample.scale):g}"
            unusable = f"the judge's values lie outside people's scale ({span}), so they cannot agree"
        for merged in gold_scores(table, aspect, level, options.rule, options.source):
            values = np.stack([own, merged.values_on(people.units)])
            pair = _pair(people, [scores.judge, merged.gold], values)
            about["gold_signature"] = merged.gold.signature
            yield from _rows("judge_and_people", pair, _fitting(pair, statistics), about, unusable, draws)
        everyone = Sample.of_values(people.units, [*people.raters, scores.judge], np.vstack([people.matrix, own]))
        everyone = replace(everyone, scale=sample.scale, question=sample.question, rule=sample.rule)
        about = _of_people(sample, **named(scores.judge))
        rows = _rows("agreement_with_judge", everyone, statistics, about, unusable, draws)
        alone = measure(people, statistics, study="agreement", draws=_NO_DRAWS, about=about)
        for row, before in zip(rows, alone, strict=True):
            change = None if before.value is None or row.value is None else row.value - before.value
            yield row.model_copy(update={"details": {**row.details, "people": before.value, "change": change}})


def _rows(
    study: str,
    sample: Sample,
    statistics: Sequence[Statistic],
    about: Mapping[str, Any],
    unusable: str | None,
    draws: Resampling,
) -> Iterator[Row]:
    """A row a statistic; none has a value where the votes are `unusable`, and why."""
    rows = measure(sample, statistics, study=study, draws=draws, about=about)
    if unusable is None:
        yield from rows
        return
    nothing = {"value": None, "low": None, "high": None, "p": None, "interval": None, "n": 0, "missing": len(sample)}
    for row in rows:
        details = {name: row.details[name] for name in ("raters", "exchangeable") if name in row.details}
        yield row.model_copy(update={**nothing, "status": "undefined", "reason": unusable, "details": details})


def export(gold: Gold, options: VotesOptions) -> Table:
    """The votes as a table, one row a unit, one column an annotator (None: no vote)."""
    _, table, _ = _read(gold, options.judgment_set)
    samples = list(votes_to_compare(table, options))
    raters = list(dict.fromkeys(rater.judge for sample in samples for rater in sample.raters))
    lines = []
    for sample in samples:
        cast: dict[str, list[Any]] = {}
        for rater, votes_of_rater in zip(sample.raters, sample.matrix.tolist(), strict=True):
            cast[rater.judge] = [
                None if np.isnan(vote) else sample.names[int(vote)] if sample.names else vote for vote in votes_of_rater
            ]
        units = sample.units
        about = (units.document.labels(), units.system.labels(), units.list_id.labels(), units.index.tolist())
        for unit, (*names, index) in enumerate(zip(*about, strict=True)):
            votes_on_unit = [cast[name][unit] if name in cast else None for name in raters]
            whole = [int(vote) if isinstance(vote, float) and vote.is_integer() else vote for vote in votes_on_unit]
            lines.append([sample.gold.aspect, str(sample.level), *names, None if index < 0 else index, *whole])
    return Table.of(["aspect", "unit", "doc_id", "system", "list_id", "index", *raters], lines)


# ---- votes of other kinds: error types, questions, pairs ----


def type_votes(table: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> Sample | None:
    """The error types that annotators named as votes; each name is a number, which means nothing but itself."""
    rows = block_rows(table, aspect, level, source)
    return None if rows is None else _votes_of_names(rows, rows.error_type)


def _votes_of_names(rows: JudgmentTable, column: Categorical, question: QuestionType | None = None) -> Sample | None:
    """Names as numbers, the same number for names that mean the same; a number stands for the first such name."""
    spelled: dict[frozenset[str], str] = {}
    for name in column.names:
        if name is not None:
            spelled.setdefault(meaning(name, question), name)
    if not spelled:
        return None
    number = {meant: float(place) for place, meant in enumerate(spelled)}
    code = np.array([np.nan if name is None else number[meaning(name, question)] for name in column.names])
    cast = votes_of(replace(rows, value=code[column.codes], label=np.full(len(rows), np.nan)))
    return replace(cast, names=tuple(spelled.values()), question=question, rule=AggregationRule.MAJORITY)


def question_votes(table: JudgmentTable, aspect: str, source: str | None = None) -> Sample | None:
    """The votes on a campaign's own question; None where the aspect is none, or its answers are free text.

    A unit is whatever the question was asked of; a pair of summaries is named "A vs B".
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
    """Votes on pairs of summaries (what a pairwise campaign exports): 1 where the first system, in the order of the
    alphabet, is preferred, 0 where its rival is, 0.5 for a tie. A unit is a document and a pair, named "A vs B"."""
    rows = table.where(unit="pair", aspect=aspect)
    if not len(rows):
        return None
    pairs = [sorted(pair) for pair in zip(rows.system.labels(), rows.rival.labels(), strict=True)]
    turned = np.array([pair[0] != system for pair, system in zip(pairs, rows.system.labels(), strict=True)])
    vote = np.where(np.isnan(rows.value), rows.label, rows.value)
    system = Categorical.of(" vs ".join(pair) for pair in pairs)
    return votes_of(
        replace(rows, system=system, value=np.where(turned, 1 - vote, vote), label=np.full(len(rows), np.nan))
    )


# ---- spans ----

Item = tuple[str, str]


class MarkedSpans(NamedTuple):
    """What annotators marked: for each, the spans of each summary seen, None for one not seen."""

    aspect: str
    signature: str
    items: tuple[Item, ...]
    spans: tuple[tuple[Spans | None, ...], ...]
    exchangeable: bool
    """Whether annotators have no names: one of `spans` is then no one person's."""

    def row(self, resample: Resampling, **fields: Any) -> Row:
        """The agreement of all annotators as F1 of the characters they marked."""
        bootstrap = resample([document for document, _ in self.items])
        if self.exchangeable:
            why = f"the spans have no names, and {SPAN_F1} compares annotators"
            estimate = bootstrap.alone(None, why, n=0, missing=len(self.items))
        else:
            estimate = span_f1(self.spans, bootstrap.codes).estimate(bootstrap)
        details = {**fields.pop("details", {}), "raters": len(self.spans)}
        return interval_row(
            estimate, study="agreement", statistic=SPAN_F1, aspect=self.aspect, gold_aspect=self.aspect,
            gold_signature=self.signature, level="summary", details=details, **fields,
        )  # fmt: skip


def marked_spans(judgments: Sequence[Judgment]) -> Iterator[MarkedSpans]:
    """The spans marked on each aspect.

    Having marked nothing is an answer, which the labels derived from spans record. An annotator without such labels is
    taken to have seen the summaries of which he or she gave any judgment; one who gave nothing but spans, every judged
    summary of each document in which he or she marked something.
    """
    spans = [judgment for judgment in judgments if judgment.target.unit == "span" and judgment.status == "ok"]
    for aspect in dict.fromkeys(span.aspect for span in spans):
        own = [span for span in spans if span.aspect == aspect]
        seen = {rater: _seen(judgments, rater) for rater in dict.fromkeys(span.judge for span in own)}
        items = tuple(dict.fromkeys(item for summaries in seen.values() for item in summaries))
        marks: dict[tuple[str, Item], list[tuple[int, int]]] = {}
        for judgment in own:
            place = judgment.judge, (judgment.target.document_id, judgment.target.system)
            marks.setdefault(place, []).extend((span.start, span.end) for span in judgment.evidence)
        grid = tuple(
            tuple(tuple(marks.get((rater, item), ())) if item in summaries else None for item in items)
            for rater, summaries in seen.items()
        )
        yield MarkedSpans(aspect, own[0].signature, items, grid, any(map(unnamed, seen)))


def _seen(judgments: Sequence[Judgment], rater: str) -> dict[Item, None]:
    """The summaries an annotator saw, in order."""
    given = [judgment for judgment in judgments if judgment.judge == rater]
    labelled = any(judgment.signature in SPAN_LABELS for judgment in given)
    own = [
        judgment.target
        for judgment in given
        if not labelled or judgment.target.unit == "span" or judgment.signature in SPAN_LABELS
    ]
    if any(target.unit != "span" for target in own):
        return dict.fromkeys((target.document_id, target.system) for target in own)
    documents = {target.document_id for target in own}
    every = ((judgment.target.document_id, judgment.target.system) for judgment in judgments)
    return dict.fromkeys(item for item in every if item[0] in documents)


def span_rows(marked: Iterable[MarkedSpans], context: Context, by: str | None, resample: Resampling) -> Iterator[Row]:
    """Rows of the study `agreement` with the statistic `span_f1`: of all, and by a column."""
    for whole in marked:
        yield whole.row(resample)
        if by is None:
            continue
        documents, systems = (Categorical.of(names) for names in zip(*whole.items, strict=True))
        for value, rows in rows_by_name(context.column(by, documents, systems)):
            part = whole._replace(
                items=tuple(compress(whole.items, rows)), spans=tuple(tuple(compress(row, rows)) for row in whole.spans)
            )
            yield part.row(resample, **group_fields(by, value))


# ---- what people made of the labels they were shown ----


class OverrideOptions(Selection, By, Draws):
    """The options of `override_rate`."""

    level: Annotated[str, Choice(("sentence", "key_fact", "summary"), "level")] = Field(
        "sentence", description="What was shown: sentence, key_fact or summary."
    )


@study(OverrideOptions)
def override_rate(shown: RunLike, gold: Gold, options: OverrideOptions) -> Study:
    """Measure how often people decided against the machine label they were shown (UniSumEval, Table 12), both ways.

    `shown` are the machine's judgments, of any judge. Rows of the study "overruled": the share of units overruled, of
    all units, and of those shown as 1 and as 0 (`details.shown`), also by a column; `n` units have both labels.
    Raises UsageError where no unit has both.
    """
    at = Level(options.level)
    read = meta_input(shown, gold, options)
    rows: list[Row] = []
    for question in read.judge.questions(judge=options.judge):
        for own, other in options.aspect_pairs or [(question.aspect, question.aspect)]:
            if own != question.aspect:
                continue
            labels = read.judge.scores(question, at, ValueOrLabel.LABEL)
            for merged in golds(read.gold, other, at, options):
                for group in groups(Sample.join([labels, merged], read.context), options.by):
                    rows += _overridden(group, at, options.resampling)
    if not rows:
        raise UsageError(f"no {at} has both a label that was shown and people's decision on it")
    return Study("overruled", rows)


def _overridden(group: Group, level: Level, resample: Resampling) -> Iterator[Row]:
    pairs = group.sample
    changed = np.where(pairs.complete, (pairs.x != pairs.y).astype(np.float64), np.nan)
    fields = {**named(pairs.judge, pairs.gold), **group.fields(), "study": "overruled", "statistic": "overruled"}
    details = fields.pop("details", {})
    for label in (None, 1.0, 0.0):
        inside = np.ones(len(pairs), dtype=np.bool_) if label is None else pairs.x == label
        more: dict[str, Any] = {**details, "overruled": int(np.nansum(changed[inside]))}
        if label is not None:
            name = ", ".join(filter(None, (details.get("group"), f"shown {label:g}")))
            more |= {"shown": int(label), "group": name}
        estimate = resample(pairs.units.document.codes[inside]).mean(changed[inside])
        reason = "no unit has both labels" if estimate.value is None else None
        yield interval_row(estimate, **fields, level=level.value, reason=reason, details=more)
