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
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, NamedTuple, Unpack, assert_never

import numpy as np

from summeter.choices import AggregationRule, AgreementCoefficient, Level, QuestionType, Tie, Use
from summeter.data.dataset import Dataset
from summeter.data.human_judgments import SIGNATURES, SPAN_LABELS
from summeter.meta.context import Context
from summeter.meta.gold import (
    PEOPLE,
    Votes,
    aspects,
    blocks,
    chosen,
    gold_scores,
    merged_votes,
    summary_votes,
    votes,
    votes_of,
)
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.matrix import Scores, align, parts
from summeter.meta.results import Row, Study, interval_row, named, resampling
from summeter.meta.selection import (
    OF_PEOPLE,
    Group,
    Selection,
    SelectionArgs,
    check_known,
    choose,
    golds,
    group_fields,
    groups,
    meta_input,
    takes,
)
from summeter.records import Judgment, UsageError, error_types, unnamed
from summeter.records.taxonomy import SEPARATOR
from summeter.scoring import COMPOSITE
from summeter.scoring.table import JudgmentTable, Names
from summeter.stats import (
    Bootstrap,
    Estimate,
    Measured,
    Model,
    Weights,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    icc,
    krippendorff_alpha,
    masi_alpha,
    mean_cohen_kappa,
    mean_of_items,
    mean_pairwise,
    span_f1,
)
from summeter.stats.base import Bools, Floats, Ints
from summeter.stats.resample import Resampling
from summeter.stats.spans import Spans
from summeter.tables import Table

COEFFICIENTS = tuple(name.value for name in AgreementCoefficient if name is not AgreementCoefficient.SPAN_F1)
"""Every coefficient of votes; `span_f1` is of spans."""
SPAN_F1 = AgreementCoefficient.SPAN_F1.value
LEVELS = ("sentence", "key_fact", "summary", "pair")
FOR_LABELS = ("alpha_nominal", "kappa_fleiss", "kappa_cohen", "ac1")
FOR_RATINGS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "ac2", "icc", "mean_pairwise_pearson",
               "rater_deviation")  # fmt: skip
OF_PERSONS = frozenset(
    {"kappa_cohen", "icc", "mean_pairwise_pearson", "mean_pairwise_spearman", "mean_pairwise_kendall_b"}
)
"""Coefficients that follow one person over units; votes without names have none, save for one-way ICCs."""
FOR_TYPES = ("alpha_nominal", "kappa_fleiss", "ac1", "alpha_masi")
FOR_QUESTIONS: Mapping[QuestionType, tuple[str, ...]] = {
    QuestionType.SCALE: ("alpha_ordinal", "alpha_interval", "ac2", "icc", "rater_deviation", "identical"),
    QuestionType.CHOICE: ("alpha_nominal", "kappa_fleiss", "ac1", "identical"),
    QuestionType.CHOICES: ("alpha_masi", "identical"),
    QuestionType.YES_NO: ("alpha_nominal", "kappa_fleiss", "ac1", "identical"),
    QuestionType.TEXT: (),
}
"""The coefficients that suit a campaign's own questions, by their level of measurement. Text is not measured."""
OF_NAMES = frozenset({"alpha_nominal", "kappa_cohen", "kappa_fleiss", "ac1", "identical"})
"""Coefficients that ask of two votes only whether they are the same."""
ON_SCALE = frozenset({"kappa_cohen", "kappa_fleiss", "ac1", "ac2"})
_PAIRED = frozenset({"annotator", "judge_and_people"})
"""Studies of two raters with a name: one annotator or judge, and the merged votes of people."""
_MANY_RATERS = 10
_FEWEST_VOTES = 2
_NO_DRAWS = resampling(0)


@dataclass(frozen=True)
class Measure:
    """How a coefficient is computed: the scale all votes are on, the weights of ac2, the form of the ICC.

    `scale` matters for kappas and AC1/AC2: the values that could have been given, in order. By default it is the
    values given to any unit of the aspect, so that it does not change from one domain to the next. Where votes are
    names, `names` says which: vote 0 is the first. A name may hold several, joined by "+", a set to alpha_masi.
    `question` is the type of a campaign's own question, None for any other aspect.
    """

    scale: tuple[float, ...] = ()
    weights: str = Weights.QUADRATIC
    model: str = Model.ICC2
    names: tuple[str, ...] = ()
    question: QuestionType | None = None

    def __post_init__(self) -> None:
        check_known([self.weights], list(Weights), "weights")
        check_known([self.model], list(Model), "icc_model")


@dataclass(frozen=True)
class _Request:
    """What `agree` measures; see there."""

    coefficients: Sequence[str]
    level: str | None
    error_types: bool
    how: Measure = field(default_factory=Measure)
    resample: Resampling = _NO_DRAWS

    def __post_init__(self) -> None:
        if self.coefficients:
            check_known(self.coefficients, list(AgreementCoefficient), "coefficient")
        if self.level is not None and self.level not in LEVELS:
            raise UsageError(
                f"there are votes on sentences, key facts, summaries and pairs, not at the level {self.level!r}"
            )


class RatingMatrix(NamedTuple):
    """The votes on one aspect, what they are called in a row, and how they are measured."""

    aspect: str
    votes: Votes
    how: Measure
    names: tuple[str, ...]
    resample: Resampling

    @property
    def alone(self) -> bool:
        """Whether there is one rater only, or a value that came merged: nobody to agree with."""
        return len(self.votes.raters) < _FEWEST_VOTES

    @property
    def who(self) -> str:
        """Who cast the votes, in words."""
        if self.alone:
            return "one annotator only, or merged"
        if self.votes.exchangeable:
            return f"up to {self.votes.most} votes a unit, without names"
        return f"{len(self.votes.raters)} annotators"

    def take(self, units: Bools) -> RatingMatrix:
        """Some of the units."""
        return self._replace(votes=self.votes.take(units))

    def fitting(self, values: Floats) -> RatingMatrix:
        """Without the coefficients of a fixed scale, where the values (means of ratings) are not on it."""
        if set(scale_of(values)) <= set(self.how.scale):
            return self
        return self._replace(names=tuple(name for name in self.names if name not in ON_SCALE))

    @property
    def rule(self) -> AggregationRule:
        """How several raters' votes become one: the mean of ratings, the majority of labels, names and sets."""
        match self.how.question:
            case None:
                return AggregationRule.MAJORITY if self.how.names else self.votes.rule
            case QuestionType.SCALE:
                return AggregationRule.MEAN
            case QuestionType.CHOICE | QuestionType.CHOICES | QuestionType.YES_NO | QuestionType.TEXT:
                return AggregationRule.MAJORITY
            case question:
                assert_never(question)

    def merged(self, values: Floats) -> Floats:
        """Several raters' votes as one, by `rule`; none where a majority is split evenly."""
        rater, unit = np.nonzero(~np.isnan(values))
        return merged_votes(unit, values[rater, unit], values.shape[1], self.rule, Tie.DROP)

    def rows(
        self, study: str, values: Floats | None = None, *, unusable: str | None = None, **fields: Any
    ) -> Iterator[Row]:
        """A row a coefficient, of the matrix's own votes or of others on the same units; none has a value where these
        are `unusable`, and why."""
        cast, documents = self.votes.values if values is None else values, self.votes.document.codes
        exchangeable = self.votes.exchangeable and study not in _PAIRED
        for name in self.names:
            if unusable is None:
                got = measured_agreement(name, cast, documents, self.how, self.resample, exchangeable=exchangeable)
            else:
                got = measured_agreement(name, cast[:, :0], documents[:0], self.how)
                got = got._replace(estimate=replace(got.estimate, reason=unusable, missing=cast.shape[1]))
            about: dict[str, Any] = {
                "aspect": self.aspect, "gold_aspect": self.aspect, "level": self.votes.unit, "p": got.p,
                "gold_signature": f"human.{self.votes.source}|merge:none|v:1",
                "details": got.details,
            }  # fmt: skip
            yield interval_row(got.estimate, about, fields, study=study, statistic=name)


@takes("aspect judge by", OF_PEOPLE)
def agree(
    gold: Gold,
    *,
    coefficients: Sequence[str] = (),
    level: str | None = None,
    scale: Sequence[float] = (),
    weights: str = Weights.QUADRATIC,
    icc_model: str = Model.ICC2,
    error_types: bool = False,
    each: bool = False,
    judges: Sequence[RunLike] = (),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    **selection: Unpack[SelectionArgs],
) -> Study:
    """How far the annotators of `gold` agree on each aspect, and how far each judge of `judges` agrees with them.

    `coefficients` are from COEFFICIENTS and `span_f1`; by default those that suit the votes (see `usual`) and, where
    people marked spans, `span_f1`. `level` is sentence, key_fact, summary (each annotator's score) or pair; by default
    the units people voted on. `scale` lists all values there could be, `weights` are those of ac2, `icc_model` is the
    form of the ICC. `error_types` compares the names of errors rather than the labels. `each` adds the rows of single
    annotators, each beside the others' mean rating or majority (a tie is left out). Intervals at `confidence` draw
    documents (`resamples`=0: none). Of the other keywords (`SelectionArgs`) `merge`, `tie` and `min_votes` are for
    people beside a judge. Coefficients of span overlap need the judgments themselves or a data set. Raises UsageError
    where there are no votes.
    """
    selected = Selection(**selection)
    how = Measure(tuple(scale), weights, icc_model)
    request = _Request(coefficients, level, error_types, how, resampling(resamples, confidence, seed))
    records, table, context = _read(gold, selected.judgment_set)
    matrices = list(_matrices(table, selected, request))
    rows: list[Row] = []
    for matrix in matrices:
        # Of nobody to agree with there is no row unless asked for.
        if selected.aspects or not matrix.alone:
            rows += _groups(matrix, selected.by, context)
        if each:
            rows += _each(matrix)
    for run in judges:
        machine = judge_input(run)
        for matrix in matrices:
            rows += _with_judges(matrix, machine, table, selected)
    if SPAN_F1 in coefficients or not coefficients:
        rows += span_rows(marked_spans(records), context, selected.by, request.resample)
    if not rows:
        raise UsageError(f"no votes to compare; people's judgments are: {', '.join(blocks(table)) or 'none'}")
    notes = [
        f"{matrix.aspect}: {matrix.who}, {matrix.votes.values.shape[1]} units ({matrix.votes.unit})"
        for matrix in matrices
    ]
    if each and any(matrix.votes.exchangeable for matrix in matrices):
        notes.append("votes without names are nobody's in particular: there are no rows of single annotators")
    return Study("agree", rows, notes)


def _read(gold: Gold, name: str) -> tuple[Sequence[Judgment], JudgmentTable, Context]:
    """People's judgments as records (none where only a table was given), as a table, and their context."""
    if isinstance(gold, JudgmentTable):
        return (), gold, Context()
    records = gold.judgments(name) if isinstance(gold, Dataset) else tuple(gold)
    return records, *gold_input(gold if isinstance(gold, Dataset) else records, name)


def _matrices(table: JudgmentTable, selected: Selection, request: _Request) -> Iterator[RatingMatrix]:
    for aspect in selected.gold_aspects or aspects(table):
        if aspect == COMPOSITE and aspect not in table.aspect.names:
            continue
        cast = _cast(table, aspect, selected.source, request)
        if cast is None:
            if selected.aspects:
                where = f" at the level {request.level}" if request.level else ""
                there = ", ".join(aspects(table)) or "nothing"
                raise UsageError(f"people did not vote on {aspect!r}{where}; they judged: {there}")
            continue
        votes_cast, question = cast.votes, cast.question
        names = tuple(name for name in request.coefficients if name != SPAN_F1)
        if not request.coefficients:
            if question is not None:
                names = FOR_QUESTIONS[question]
            else:
                names = FOR_TYPES if request.error_types else usual(votes_cast.values, votes_cast.unit)
            names = tuple(name for name in names if not (votes_cast.exchangeable and _follows(name, request.how)))
        how = replace(
            request.how,
            scale=request.how.scale or scale_of(votes_cast.values),
            names=cast.names,
            question=question,
        )
        yield RatingMatrix(aspect, votes_cast, how, names, request.resample)


class _Cast(NamedTuple):
    """Votes, and what they are where they are no plain labels or ratings (see `Measure`)."""

    votes: Votes
    names: tuple[str, ...] = ()
    question: QuestionType | None = None


def _cast(table: JudgmentTable, aspect: str, source: str | None, request: _Request) -> _Cast | None:
    """The votes on an aspect: on a campaign's own question where it is one, else labels, ratings or error types."""
    own = question_votes(table, aspect, source)
    if own is not None and not request.error_types:
        return own if request.level in (None, own.votes.unit) else None
    if table.where(aspect=aspect).signature.used() == [SIGNATURES[QuestionType.TEXT.value]]:
        return None  # free text is no vote
    if request.error_types:
        return type_votes(table, aspect, Level(request.level or Level.SUMMARY), source)
    cast = _votes(table, aspect, source, request)
    return None if cast is None else _Cast(cast)


def _votes(table: JudgmentTable, aspect: str, source: str | None, request: _Request) -> Votes | None:
    """The votes at the level asked for: by default those on the units that people judged, else on pairs."""
    if request.level == "pair":
        return pair_votes(table, aspect)
    level = Level(request.level or Level.SUMMARY)
    cast = votes(table, aspect, level, source)
    if request.level is None:
        return pair_votes(table, aspect) if cast is None and source in (None, "pairs") else cast
    if cast is None or cast.unit == request.level:
        return cast
    # Each annotator's score of a summary: the share of its labels that are 1.
    scores = summary_votes(table, aspect, source)
    return replace(aligned_votes([(rater.judge, rater) for rater in scores]), source=cast.source)


def _groups(matrix: RatingMatrix, by: str | None, context: Context) -> Iterator[Row]:
    yield from matrix.rows("agreement")
    if by is not None:
        for value, units in parts(context.column(by, matrix.votes.document, matrix.votes.system)):
            yield from matrix.take(units).rows("agreement", **group_fields(by, value))


def _each(matrix: RatingMatrix) -> Iterator[Row]:
    """Each annotator beside the others' merged votes, and the others without each; none of votes without names."""
    if matrix.votes.exchangeable:
        return
    values = matrix.votes.values
    for place, rater in enumerate(matrix.votes.raters):
        others = np.delete(values, place, axis=0)
        if not len(others):
            continue
        yield from _beside(matrix, place)
        if len(others) >= _FEWEST_VOTES:
            yield from matrix.rows("agreement_without", others, judge=rater)


def _beside(matrix: RatingMatrix, place: int) -> Iterator[Row]:
    """One annotator beside the merged votes of the others."""
    own, others = matrix.votes.values[place], np.delete(matrix.votes.values, place, axis=0)
    pair = np.stack([own, matrix.merged(others)])
    tie = "|tie:drop" if matrix.rule is AggregationRule.MAJORITY else ""
    how = f"human.{matrix.votes.source}|merge:{matrix.rule}{tie}|v:1"
    yield from matrix.fitting(pair).rows("annotator", pair, judge=matrix.votes.raters[place], gold_signature=how)


def _with_judges(matrix: RatingMatrix, machine: JudgeInput, table: JudgmentTable, selected: Selection) -> Iterator[Row]:
    """A judge as one more annotator, and beside the merged votes."""
    if matrix.votes.unit == "pair" or matrix.how.names:
        return
    level = Level(matrix.votes.unit)
    names = [own for own, gold in selected.aspect_pairs if gold == matrix.aspect] or [matrix.aspect]
    for question in machine.questions(judge=selected.judge):
        if question.aspect not in names:
            continue
        scores = machine.scores(question, level, Use.VALUE if level is Level.SUMMARY else Use.LABEL)
        if not len(scores):
            continue
        values = aligned_values(scores, matrix.votes)
        units = ~np.isnan(values)
        part, own = matrix.take(units), values[units]
        about = named(scores)
        about["unusable"] = _off_scale(own, matrix.how)
        for merged in gold_scores(table, matrix.aspect, level, selected.rule, selected.source):
            pair = np.stack([own, aligned_values(merged, part.votes)])
            yield from part.fitting(pair).rows("judge_and_people", pair, **about, gold_signature=merged.signature)
        people = part._replace(resample=_NO_DRAWS).rows("agreement")
        everyone = part.rows("agreement_with_judge", np.vstack([part.votes.values, own]), **about)
        for row, alone in zip(everyone, people, strict=True):
            change = None if alone.value is None or row.value is None else row.value - alone.value
            yield row.model_copy(update={"details": {**row.details, "people": alone.value, "change": change}})


def _off_scale(values: Floats, how: Measure) -> str | None:
    """Why a judge's values cannot be set beside people's; None where they can."""
    if not len(values) or not how.scale:
        return "the judge judged none of the units people voted on"
    if values.min() < min(how.scale) or values.max() > max(how.scale):
        span = f"{min(how.scale):g} to {max(how.scale):g}"
        return f"the judge's values lie outside people's scale ({span}), so they cannot agree"
    return None


def export(
    gold: Gold,
    *,
    coefficients: Sequence[str] = (),
    level: str | None = None,
    error_types: bool = False,
    **selection: Unpack[SelectionArgs],
) -> Table:
    """The votes as a table, one row a unit, one column an annotator (None: no vote); keywords as in `agree`."""
    selected = Selection(**selection)
    _, table, _ = _read(gold, selected.judgment_set)
    matrices = list(_matrices(table, selected, _Request(coefficients, level, error_types)))
    raters = list(dict.fromkeys(rater for matrix in matrices for rater in matrix.votes.raters))
    rows = (line for matrix in matrices for line in _lines(matrix, raters))
    return Table.of(["aspect", "unit", "doc_id", "system", "list_id", "index", *raters], rows)


def _lines(matrix: RatingMatrix, raters: Sequence[str]) -> Iterator[list[Any]]:
    """One line a unit: aspect, unit, document, system, list, index, and the vote of each of `raters`."""
    cast, names = matrix.votes, matrix.how.names
    place = {rater: row for row, rater in enumerate(cast.raters)}
    units = zip(cast.document.labels(), cast.system.labels(), cast.list_id.labels(), cast.index.tolist(), strict=True)
    for column, (document, system, list_id, index) in enumerate(units):
        cells = [cast.values[place[rater], column] if rater in place else np.nan for rater in raters]
        given = [None if np.isnan(cell) else names[int(cell)] if names else _short(cell) for cell in cells]
        yield [matrix.aspect, cast.unit, document, system, list_id, None if index < 0 else index, *given]


def _short(number: float) -> float | int:
    return int(number) if number == int(number) else float(number)


# ---- one coefficient ----


class MeasuredAgreement(NamedTuple):
    """A coefficient with its interval and what it rests on, before it is a row."""

    estimate: Estimate
    p: float | None
    details: dict[str, Any]


def usual(values: Floats, unit: str = Level.SUMMARY) -> tuple[str, ...]:
    """The coefficients that suit votes: those for labels where all are 0 or 1 or on pairs, else those for ratings.

    >>> usual(np.array([[1.0, 0.0], [1.0, np.nan]]))[0]
    'alpha_nominal'
    """
    seen = values[~np.isnan(values)]
    if unit != "pair" and not np.isin(seen, (0.0, 1.0)).all():
        return FOR_RATINGS
    return tuple(name for name in FOR_LABELS if name != "kappa_cohen" or len(values) <= _MANY_RATERS)


def scale_of(values: Floats) -> tuple[float, ...]:
    """The values given, in order."""
    return tuple(np.unique(values[~np.isnan(values)]).tolist())


def _follows(name: str, how: Measure) -> bool:
    """Whether a coefficient follows one person over units."""
    return name in OF_PERSONS and not (name == AgreementCoefficient.ICC and how.model in {Model.ICC1, Model.ICC1K})


def _unsuited(name: str, how: Measure, *, exchangeable: bool) -> str | None:
    """Why a coefficient is not of such votes; None where it is."""
    if how.names and name not in OF_NAMES | {AgreementCoefficient.ALPHA_MASI}:
        return f"{name} needs numbers, and these votes are names"
    if name == AgreementCoefficient.ALPHA_MASI and not how.names:
        return "alpha_masi is of names or sets of names, and these votes are numbers"
    if exchangeable and _follows(name, how):
        why = f"the votes have no names, and {name} compares annotators; take alpha"
        return f"{why}, or the icc_model 1,1" if name == AgreementCoefficient.ICC else why
    return None


def measured_agreement(
    name: str,
    values: Floats,
    documents: Ints,
    how: Measure,
    resample: Resampling = _NO_DRAWS,
    *,
    exchangeable: bool = False,
) -> MeasuredAgreement:
    """One coefficient of votes (raters x units), NaN for none, with an interval by document where `resample` draws.

    Of `exchangeable` votes, a row of which is no one person, only coefficients of the votes within units have a value.

    >>> votes = np.array([[0.0, 0, 1, 1], [0, 1, 1, 1]])
    >>> round(measured_agreement("alpha_nominal", votes, np.arange(4), Measure()).estimate.value, 4)
    0.5333
    """
    bootstrap = resample(documents)
    details: dict[str, Any] = {"raters": int((~np.isnan(values)).any(axis=1).sum())}
    details |= {"exchangeable": True} if exchangeable else {}
    if (why := _unsuited(name, how, exchangeable=exchangeable)) is not None:
        return _unfit(bootstrap, values, why)._replace(details=details)
    values = slots(values) if exchangeable else values
    match kind := choose(AgreementCoefficient, name, "coefficient"):
        case (
            AgreementCoefficient.ALPHA_NOMINAL
            | AgreementCoefficient.ALPHA_ORDINAL
            | AgreementCoefficient.ALPHA_INTERVAL
            | AgreementCoefficient.ALPHA_RATIO
        ):
            got = _alpha(kind, values, bootstrap)
        case AgreementCoefficient.ALPHA_MASI:
            sets = [_meant(name, how.question) for name in how.names]
            cast = [[None if np.isnan(code) else sets[int(code)] for code in row] for row in slots(values)]
            got = _agreed(masi_alpha(cast, bootstrap.codes), bootstrap)
        case (
            AgreementCoefficient.KAPPA_COHEN
            | AgreementCoefficient.KAPPA_FLEISS
            | AgreementCoefficient.AC1
            | AgreementCoefficient.AC2
        ):
            got = _on_scale(kind, values, how, bootstrap)
        case AgreementCoefficient.ICC:
            got = _agreed(icc(_who_voted(values), how.model, bootstrap.codes), bootstrap, model=how.model)
        case AgreementCoefficient.RATER_DEVIATION:
            got = _agreed(mean_of_items(slots(values), lambda inside: np.nanstd(inside, axis=0)), bootstrap)
        case AgreementCoefficient.IDENTICAL:
            got = _agreed(mean_of_items(slots(values), _identical), bootstrap)
        case (
            AgreementCoefficient.MEAN_PAIRWISE_PEARSON
            | AgreementCoefficient.MEAN_PAIRWISE_SPEARMAN
            | AgreementCoefficient.MEAN_PAIRWISE_KENDALL_B
        ):
            means = mean_pairwise(values, kind.removeprefix("mean_pairwise_"), documents)
            got = _agreed(means, bootstrap)
        case AgreementCoefficient.SPAN_F1:
            raise UsageError("span_f1 is of spans, not of votes")
        case _:
            assert_never(kind)
    return got._replace(details={**got.details, **details})


def _meant(name: str, question: QuestionType | None) -> frozenset[str]:
    """The set that a vote names, in whatever order; error types in their canonical spelling. A choice is one name."""
    match question:
        case None:
            return error_types(name)
        case QuestionType.CHOICES:
            return frozenset(name.split(SEPARATOR))
        case _:
            return frozenset([name])


def _agreed(whole: Measured, bootstrap: Bootstrap, **details: Any) -> MeasuredAgreement:
    """A coefficient with what it rests on."""
    return MeasuredAgreement(whole.estimate(bootstrap), whole.p, {**details, **whole.details})


def _identical(votes: Floats) -> Floats:
    return np.asarray(np.nanmax(votes, axis=0) == np.nanmin(votes, axis=0), dtype=np.float64)


def _unfit(bootstrap: Bootstrap, values: Floats, reason: str) -> MeasuredAgreement:
    """Votes that cannot be measured so, and why."""
    return MeasuredAgreement(bootstrap.alone(None, reason, n=0, missing=values.shape[1]), None, {})


def _alpha(name: str, values: Floats, bootstrap: Bootstrap) -> MeasuredAgreement:
    compact = slots(values)
    if name == "alpha_ratio" and (compact < 0).any():
        return _unfit(bootstrap, values, "ratio votes must not be negative")
    return _agreed(krippendorff_alpha(compact, name.removeprefix("alpha_"), bootstrap.codes), bootstrap)


def _on_scale(name: str, values: Floats, how: Measure, bootstrap: Bootstrap) -> MeasuredAgreement:
    """Kappas, AC1 and AC2, which depend on the values there could have been."""
    if not np.isin(values[~np.isnan(values)], how.scale).all():
        listed = ", ".join(f"{value:g}" for value in how.scale)
        return _unfit(bootstrap, values, f"some votes are not on the scale {listed}")
    scale, clusters, details = how.scale or None, bootstrap.codes, {}
    match name:
        case "kappa_cohen":
            raters = _who_voted(values)
            kappa = cohen_kappa if len(raters) == 2 else mean_cohen_kappa
            whole = kappa(raters, scale=scale, clusters=clusters)
        case "kappa_fleiss":
            whole = fleiss_kappa(slots(values), scale, clusters)
        case "ac1":
            whole = gwet_ac1(slots(values), scale, clusters)
        case "ac2":
            whole = gwet_ac2(slots(values), how.weights, scale, clusters)
            details = {"weights": how.weights}
        case _:
            raise ValueError(f"{name} is no coefficient of categories")
    return _agreed(whole, bootstrap, scale=list(how.scale), **details)


def _who_voted(values: Floats) -> Floats:
    """The rows of raters with a vote."""
    return values[(~np.isnan(values)).any(axis=1)]


def slots(values: Floats) -> Floats:
    """The votes of each unit pushed together, without the raters' identity: as many rows as the most votes on a unit.

    >>> slots(np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan]])).tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    order = np.argsort(np.isnan(values), axis=0, kind="stable")
    most = int((~np.isnan(values)).sum(axis=0).max(initial=0))
    return np.asarray(np.take_along_axis(values, order, axis=0)[: max(1, most)])


# ---- votes of other kinds: scores, error types, pairs ----


def aligned_votes(scores: Sequence[tuple[str, Scores]]) -> Votes:
    """Scores of one level as the votes of raters, each with its name; a unit that any of them has is a column."""
    sides = [side for _, side in scores]
    document, system, list_id = (
        Names.concat([getattr(side, name) for side in sides]) for name in ("document", "system", "list_id")
    )
    value, index = np.concatenate([side.value for side in sides]), np.concatenate([side.index for side in sides])
    rater, level = Names.of(name for name, side in scores for _ in range(len(side))), sides[0].level
    labels = level.base is not Level.SUMMARY and np.isin(value[~np.isnan(value)], (0.0, 1.0)).all()
    return Votes.of(
        rater, value, unit=Names.same(level.value, len(value)), document=document, system=system, list_id=list_id,
        index=index, rule=AggregationRule.MAJORITY if labels else AggregationRule.MEAN,
    )  # fmt: skip


def type_votes(table: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> _Cast | None:
    """The error types that annotators named as votes; each name is a number, which means nothing but itself."""
    rows = chosen(table, aspect, level, source)
    return None if rows is None else _votes_of_names(rows, rows.error_type)


def _votes_of_names(rows: JudgmentTable, column: Names, question: QuestionType | None = None) -> _Cast | None:
    """Names as numbers, the same number for names that mean the same; a number stands for the first such name."""
    spelled: dict[frozenset[str], str] = {}
    for name in column.names:
        if name is not None:
            spelled.setdefault(_meant(name, question), name)
    if not spelled:
        return None
    number = {meaning: float(place) for place, meaning in enumerate(spelled)}
    code = np.array([np.nan if name is None else number[_meant(name, question)] for name in column.names])
    cast = votes_of(replace(rows, value=code[column.codes], label=np.full(len(rows), np.nan)))
    return _Cast(cast, tuple(spelled.values()), question)


def question_votes(table: JudgmentTable, aspect: str, source: str | None = None) -> _Cast | None:
    """The votes on a campaign's own question; None where the aspect is none, or its answers are free text.

    A unit is whatever the question was asked of; a pair of summaries is named "A vs B".
    """
    for question in QuestionType:
        rows = table.where(aspect=aspect, signature=SIGNATURES[question.value])
        if not len(rows) or source not in (None, question.value) or question is QuestionType.TEXT:
            continue
        rivals = zip(rows.system.labels(), rows.rival.labels(), strict=True)
        system = Names.of(name if rival is None else f"{name} vs {rival}" for name, rival in rivals)
        rows = replace(rows, system=system)
        if question in {QuestionType.CHOICE, QuestionType.CHOICES}:
            return _votes_of_names(rows, rows.named, question)
        return _Cast(votes_of(rows), question=question)
    return None


def pair_votes(table: JudgmentTable, aspect: str) -> Votes | None:
    """Votes on pairs of summaries (what a pairwise campaign exports): 1 where the first system, in the order of the
    alphabet, is preferred, 0 where its rival is, 0.5 for a tie. A unit is a document and a pair, named "A vs B"."""
    rows = table.where(unit="pair", aspect=aspect)
    if not len(rows):
        return None
    pairs = [sorted(pair) for pair in zip(rows.system.labels(), rows.rival.labels(), strict=True)]
    turned = np.array([pair[0] != system for pair, system in zip(pairs, rows.system.labels(), strict=True)])
    vote = np.where(np.isnan(rows.value), rows.label, rows.value)
    system = Names.of(" vs ".join(pair) for pair in pairs)
    return votes_of(
        replace(rows, system=system, value=np.where(turned, 1 - vote, vote), label=np.full(len(rows), np.nan))
    )


def aligned_values(scores: Scores, cast: Votes) -> Floats:
    """The scores on the units of the votes, NaN where there is none."""
    size = cast.values.shape[1]
    places = Scores(
        PEOPLE, "", None, scores.aspect, Level(cast.unit), cast.document, cast.system, cast.list_id, cast.index,
        np.arange(size, dtype=np.float64), Names.same(None, size),
    )  # fmt: skip
    pairs = align(scores, places)
    values: Floats = np.full(size, np.nan)
    rows = pairs.kept
    values[pairs.y[rows].astype(np.int64)] = pairs.x[rows]
    return values


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
        documents, systems = (Names.of(names) for names in zip(*whole.items, strict=True))
        for value, rows in parts(context.column(by, documents, systems)):
            part = whole._replace(
                items=tuple(compress(whole.items, rows)), spans=tuple(tuple(compress(row, rows)) for row in whole.spans)
            )
            yield part.row(resample, **group_fields(by, value))


# ---- what people made of the labels they were shown ----


@takes("aspect judge by", OF_PEOPLE)
def override_rate(
    shown: RunLike,
    gold: Gold,
    *,
    level: str = "sentence",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    **selection: Unpack[SelectionArgs],
) -> Study:
    """How often people decided against the machine label they were shown (UniSumEval, Table 12), both ways.

    `shown` are the machine's judgments, of any judge. Rows of the study "overruled": the share of units overruled, of
    all units, and of those shown as 1 and as 0 (`details.shown`), also by a column; `n` units have both labels.
    `level` is sentence, key_fact or summary. Intervals at `confidence` draw documents; the other keywords are those
    of `SelectionArgs`. Raises UsageError where no unit has both.
    """
    selected, resample = Selection(**selection), resampling(resamples, confidence, seed)
    if level not in LEVELS[:3]:
        raise UsageError(f"there are labels of sentences, key facts and summaries, not at the level {level!r}")
    at = Level(level)
    read = meta_input(shown, gold, selected)
    rows: list[Row] = []
    for question in read.judge.questions(judge=selected.judge):
        for own, other in selected.aspect_pairs or [(question.aspect, question.aspect)]:
            if own != question.aspect:
                continue
            labels = read.judge.scores(question, at, Use.LABEL)
            for merged in golds(read.gold, other, at, selected):
                for group in groups(align(labels, merged, read.context), selected.by):
                    rows += _overridden(group, at, resample)
    if not rows:
        raise UsageError(f"no {level} has both a label that was shown and people's decision on it")
    return Study("overruled", rows)


def _overridden(group: Group, level: Level, resample: Resampling) -> Iterator[Row]:
    pairs = group.pairs
    changed = np.where(pairs.kept, (pairs.x != pairs.y).astype(np.float64), np.nan)
    fields = {**named(pairs.judge, pairs.gold), **group.fields(), "study": "overruled", "statistic": "overruled"}
    details = fields.pop("details", {})
    for label in (None, 1.0, 0.0):
        inside = np.ones(len(pairs), dtype=np.bool_) if label is None else pairs.x == label
        more: dict[str, Any] = {**details, "overruled": int(np.nansum(changed[inside]))}
        if label is not None:
            name = ", ".join(filter(None, (details.get("group"), f"shown {label:g}")))
            more |= {"shown": int(label), "group": name}
        estimate = resample(pairs.document.codes[inside]).mean(changed[inside])
        reason = "no unit has both labels" if estimate.value is None else None
        yield interval_row(estimate, **fields, level=level.value, reason=reason, details=more)
