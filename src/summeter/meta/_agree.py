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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Unpack

import numpy as np

from summeter.choices import USUAL_COEFFICIENTS, AggregationRule, Level, Use
from summeter.data.dataset import Dataset
from summeter.meta.context import Context
from summeter.meta.gold import PEOPLE, Aggregation, Votes, aspects, block_of, blocks, chosen, gold_scores, votes
from summeter.meta.grids import named
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.matrix import PairedScores, Scores, align
from summeter.meta.results import Row, Study, interval_row, resampling
from summeter.meta.selection import Group, Selection, SelectionArgs, check_known, checks_keywords, groups
from summeter.records import Judgment, UsageError
from summeter.scoring import COMPOSITE
from summeter.scoring.table import JudgmentTable, Names
from summeter.stats import (
    Agreement,
    Bootstrap,
    Interval,
    Model,
    Overlap,
    Statistic,
    Status,
    Weights,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    icc,
    krippendorff_alpha,
    mean_cohen_kappa,
    mean_pairwise,
    mean_span_f1,
    overlap,
    rater_deviation,
)
from summeter.stats import Level as Measurement
from summeter.stats.base import Bools, Floats
from summeter.stats.resample import Resampling, Weighted, of_rows
from summeter.stats.spans import Spans

SPAN_F1 = "span_f1"
LEVELS = ("sentence", "key_fact", "summary", "pair")
FOR_LABELS = ("alpha_nominal", "kappa_fleiss", "kappa_cohen", "ac1")
FOR_RATINGS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "ac2", "icc", "mean_pairwise_pearson",
               "rater_deviation")  # fmt: skip
FOR_TYPES = ("alpha_nominal", "kappa_fleiss", "ac1")
ON_SCALE = frozenset({"kappa_cohen", "kappa_fleiss", "ac1", "ac2"})
_MANY_RATERS = 10
_FEWEST = 2
_NO_DRAWS = resampling(0)


@dataclass(frozen=True)
class Measure:
    """How a coefficient is computed: the scale all votes are on, the weights of ac2, the form of the ICC.

    `scale` matters for kappas and AC1/AC2: the values that could have been given, in order. By default it is the
    values given to any unit of the aspect, so that it does not change from one domain to the next.
    """

    scale: tuple[float, ...] = ()
    weights: str = Weights.QUADRATIC
    model: str = Model.ICC2


class RatingMatrix(NamedTuple):
    """The votes on one aspect, what they are called in a row, and how they are measured."""

    aspect: str
    votes: Votes
    how: Measure
    names: tuple[str, ...]
    signature: str
    resample: Resampling

    def take(self, units: Bools) -> RatingMatrix:
        """Some of the units."""
        return self._replace(votes=take(self.votes, units))

    def rows(self, study: str, values: Floats | None = None, **more: Any) -> list[Row]:
        """A row a coefficient, of the matrix's own votes or of others on the same units."""
        cast = self.votes.values if values is None else values
        return [
            self.row(study, name, measure(name, cast, self.votes.document.codes, self.how, self.resample), **more)
            for name in self.names
        ]

    def row(self, study: str, name: str, got: Measured, **more: Any) -> Row:
        """A measured coefficient as a row."""
        fields: dict[str, Any] = {
            "aspect": self.aspect, "gold_aspect": self.aspect, "gold_signature": self.signature,
            "level": self.votes.unit, "p": got.p, **more, "details": {**got.details, **more.get("details", {})},
        }  # fmt: skip
        return interval_row(got.estimate, study=study, statistic=name, **fields)


class _Asked(NamedTuple):
    """What `agree` and `export` were asked for; see `agree`."""

    coefficients: tuple[str, ...]
    level: str | None
    scale: tuple[float, ...]
    weights: str
    model: str
    error_types: bool
    resample: Resampling


@checks_keywords
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
    annotators. Intervals at `confidence` draw documents (`resamples`=0: none). Of the other keywords
    (`SelectionArgs`) `merge` is for annotators where one is set beside the others or a judge beside all. Coefficients
    of span overlap need the judgments themselves or a data set. Raises UsageError where there are no votes.
    """
    selected = Selection(**selection)
    asked = _asked(coefficients, level, scale, weights, icc_model, resampling(resamples, confidence, seed),
                   error_types=error_types)  # fmt: skip
    records, table, context = _read(gold, selected.judgment_set)
    matrices = list(_matrices(table, selected, asked))
    rows: list[Row] = []
    for matrix in matrices:
        # A value that came merged, or one annotator's: nobody to agree with, and no row unless asked for.
        if selected.aspects or not _alone(matrix):
            rows += _groups(matrix, selected.by, context)
        if each:
            rows += list(_each(matrix))
    for run in judges:
        machine = judge_input(run)
        for matrix in matrices:
            rows += list(_with_judges(matrix, machine, table, selected))
    if SPAN_F1 in asked.coefficients or not asked.coefficients:
        rows += span_rows(marked(records), context, selected.by, asked.resample)
    if not rows:
        raise UsageError(f"no votes to compare; people's judgments are: {', '.join(blocks(table)) or 'none'}")
    return Study("agree", rows, _notes(matrices))


def _asked(
    coefficients: Sequence[str], level: str | None, scale: Sequence[float], weights: str, model: str,
    resample: Resampling, *, error_types: bool,
) -> _Asked:  # fmt: skip
    if coefficients:
        check_known(coefficients, (*COEFFICIENTS, SPAN_F1), "coefficient")
    if level is not None and level not in LEVELS:
        raise UsageError(f"there are votes on sentences, key facts, summaries and pairs, not at the level {level!r}")
    check_known([weights], list(Weights), "weights")
    check_known([model], list(Model), "icc_model")
    return _Asked(tuple(coefficients), level, tuple(scale), weights, model, error_types, resample)


def _alone(matrix: RatingMatrix) -> bool:
    return len(matrix.votes.raters) < _FEWEST


def _read(gold: Gold, name: str) -> tuple[Sequence[Judgment], JudgmentTable, Context]:
    """People's judgments as records (none where only a table was given), as a table, and their context."""
    if isinstance(gold, JudgmentTable):
        return (), gold, Context()
    records = gold.judgments(name) if isinstance(gold, Dataset) else tuple(gold)
    return records, *gold_input(gold if isinstance(gold, Dataset) else records, name)


def _matrices(table: JudgmentTable, selected: Selection, asked: _Asked) -> Iterator[RatingMatrix]:
    names = [one.partition(":")[2] or one for one in selected.aspects] or aspects(table)
    for aspect in names:
        if aspect == COMPOSITE and aspect not in table.aspect.names:
            continue
        cast = _votes(table, aspect, selected.source, asked)
        if cast is None:
            if selected.aspects:
                where = f" at the level {asked.level}" if asked.level else ""
                there = ", ".join(aspects(table)) or "nothing"
                raise UsageError(f"people did not vote on {aspect!r}{where}; they judged: {there}")
            continue
        how = Measure(asked.scale or scale_of(cast.values), asked.weights, asked.model)
        coefficients = tuple(name for name in asked.coefficients if name != SPAN_F1)
        if not coefficients and SPAN_F1 not in asked.coefficients:
            coefficients = FOR_TYPES if asked.error_types else usual(cast.values, cast.unit)
        yield RatingMatrix(aspect, cast, how, coefficients, f"human.{cast.source}|merge:none|v:1", asked.resample)


def _votes(table: JudgmentTable, aspect: str, source: str | None, asked: _Asked) -> Votes | None:
    if asked.level == "pair":
        return pair_votes(table, aspect)
    level = Level(asked.level or Level.SUMMARY)
    if asked.error_types:
        return type_votes(table, aspect, level, source)
    cast = votes(table, aspect, level, source)
    if cast is None and asked.level is None and source in (None, "pairs"):
        return pair_votes(table, aspect)
    if cast is None or asked.level is None or cast.unit == asked.level:
        return cast
    return score_votes(table, aspect, source)


def _groups(matrix: RatingMatrix, by: str | None, context: Context) -> Iterator[Row]:
    yield from matrix.rows("agreement")
    if by is None:
        return
    column = context.column(by, matrix.votes.document, matrix.votes.system)
    for code in dict.fromkeys(column.codes.tolist()):
        name = column.names[code]
        if name is None:
            continue
        known = by in ("system", "domain", "category")
        more: dict[str, Any] = {by: name} if known else {"details": {"by": by, "group": name}}
        yield from matrix.take(column.codes == code).rows("agreement", **more)


def _each(matrix: RatingMatrix) -> Iterator[Row]:
    """Each annotator beside the others' merged votes, and the others without each."""
    values, raters = matrix.votes.values, matrix.votes.raters
    for place, rater in enumerate(raters):
        others = np.delete(values, place, axis=0)
        if not len(others):
            continue
        pair = np.stack([values[place], merge(others, matrix.votes.unit)])
        yield from _fitting(matrix, pair).rows("annotator", pair, judge=rater)
        if len(others) >= _FEWEST:
            yield from matrix.rows("agreement_without", others, judge=rater)


def _fitting(matrix: RatingMatrix, values: Floats) -> RatingMatrix:
    """The matrix without the coefficients of a fixed scale, where the values (means of ratings) are not on it."""
    if set(scale_of(values)) <= set(matrix.how.scale):
        return matrix
    return matrix._replace(names=tuple(name for name in matrix.names if name not in ON_SCALE))


def _with_judges(matrix: RatingMatrix, machine: JudgeInput, table: JudgmentTable, selected: Selection) -> Iterator[Row]:
    """A judge as one more annotator, and beside the merged votes."""
    if matrix.votes.unit == "pair":
        return
    level = Level(matrix.votes.unit)
    wanted = [one.partition(":")[0] for one in selected.aspects if (one.partition(":")[2] or one) == matrix.aspect]
    for question in machine.questions(judge=selected.judge):
        if question[2] not in (wanted or [matrix.aspect]):
            continue
        series = machine.scores(question, level, Use.VALUE if level is Level.SUMMARY else Use.LABEL)
        if not len(series):
            continue
        values = aligned_values(series, matrix.votes)
        units = ~np.isnan(values)
        fields = named(series)
        del fields["gold_aspect"], fields["gold_signature"]
        part, own = matrix.take(units), values[units]
        strange = _off_scale(own, matrix.how)
        for merged in gold_scores(table, matrix.aspect, level, selected.rule, selected.source):
            pair = np.stack([own, aligned_values(merged, part.votes)])
            about = {**fields, "gold_signature": merged.signature}
            yield from _judge_rows(_fitting(part, pair), "judge_and_people", pair, strange, about)
        everyone = np.vstack([part.votes.values, own])
        documents = part.votes.document.codes
        alone = {name: measure(name, part.votes.values, documents, part.how).estimate.value for name in part.names}
        for row in _judge_rows(part, "agreement_with_judge", everyone, strange, fields):
            by_people = alone[row.statistic]
            change = None if by_people is None or row.value is None else row.value - by_people
            yield row.model_copy(update={"details": {**row.details, "people": by_people, "change": change}})


def _judge_rows(
    matrix: RatingMatrix, study: str, values: Floats, strange: str | None, fields: dict[str, Any]
) -> Iterator[Row]:
    if strange is None:
        yield from matrix.rows(study, values, **fields)
        return
    for name in matrix.names:
        empty = measure(name, values[:, :0], matrix.votes.document.codes[:0], matrix.how)
        nothing = empty.estimate._replace(value=None, status=Status.UNDEFINED, reason=strange, missing=values.shape[1])
        yield matrix.row(study, name, empty._replace(estimate=nothing), **fields)


def _off_scale(values: Floats, how: Measure) -> str | None:
    """Why a judge's values cannot be set beside people's; None where they can."""
    if not len(values) or not how.scale:
        return "the judge judged none of the units people voted on"
    if values.min() < min(how.scale) or values.max() > max(how.scale):
        span = f"{min(how.scale):g} to {max(how.scale):g}"
        return f"the judge's values lie outside people's scale ({span}), so they cannot agree"
    return None


class Export(NamedTuple):
    """The raw item x rater matrix, ready for any other program: None is no vote."""

    head: list[str]
    rows: list[list[Any]]


def export(
    gold: Gold,
    *,
    coefficients: Sequence[str] = (),
    level: str | None = None,
    error_types: bool = False,
    **selection: Unpack[SelectionArgs],
) -> Export:
    """The votes as a table, one row a unit, one column an annotator; keywords as in `agree`."""
    selected = Selection(**selection)
    asked = _asked(coefficients, level, (), Weights.QUADRATIC, Model.ICC2, _NO_DRAWS, error_types=error_types)
    _, table, _ = _read(gold, selected.judgment_set)
    matrices = list(_matrices(table, selected, asked))
    raters = list(dict.fromkeys(rater for matrix in matrices for rater in matrix.votes.raters))
    rows = [line for matrix in matrices for line in lines(matrix.aspect, matrix.votes, raters)]
    return Export(["aspect", "unit", "doc_id", "system", "list_id", "index", *raters], rows)


def _notes(matrices: Sequence[RatingMatrix]) -> list[str]:
    notes = []
    for one in matrices:
        who = "one annotator only, or merged" if _alone(one) else f"{len(one.votes.raters)} annotators"
        notes.append(f"{one.aspect}: {who}, {one.votes.values.shape[1]} units ({one.votes.unit})")
    return notes


class Measured(NamedTuple):
    """A coefficient with its interval and what it rests on, before it is a row."""

    estimate: Interval
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


def measure(
    name: str, values: Floats, documents: np.ndarray[Any, Any], how: Measure, resample: Resampling = _NO_DRAWS
) -> Measured:
    """One coefficient of votes (raters x units), NaN for none, with an interval by document where `resample` draws.

    >>> votes = np.array([[0.0, 0, 1, 1], [0, 1, 1, 1]])
    >>> round(measure("alpha_nominal", votes, np.arange(4), Measure()).estimate.value, 4)
    0.5333
    """
    check_known([name], (*COEFFICIENTS,), "coefficient")
    return _MEASURES[name](name, values, documents, how, resample)


_Measuring = Callable[[str, Floats, np.ndarray[Any, Any], Measure, Resampling], Measured]


def _details(values: Floats, **more: Any) -> dict[str, Any]:
    return {"raters": int((~np.isnan(values)).any(axis=1).sum()), **more}


def _counted(whole: Agreement) -> dict[str, Any]:
    return {"votes": whole.votes, "observed": whole.observed, "expected": whole.expected}


def _alpha(name: str, values: Floats, documents: np.ndarray[Any, Any], how: Measure, resample: Resampling) -> Measured:
    del how
    bootstrap, compact = resample(documents), slots(values)
    if name == "alpha_ratio" and (compact < 0).any():
        return _misfit(bootstrap, values, "ratio votes must not be negative")
    whole = krippendorff_alpha(compact, name.removeprefix("alpha_"), bootstrap.codes)
    return Measured(whole.interval(bootstrap), None, _details(values, **_counted(whole)))


def _on_scale(
    name: str, values: Floats, documents: np.ndarray[Any, Any], how: Measure, resample: Resampling
) -> Measured:
    """Kappas, AC1 and AC2, which depend on the values there could have been."""
    bootstrap, scale = resample(documents), how.scale
    seen = values[~np.isnan(values)]
    if not np.isin(seen, scale).all():
        listed = ", ".join(f"{value:g}" for value in scale)
        return _misfit(bootstrap, values, f"some votes are not on the scale {listed}")
    details: dict[str, Any] = {"scale": list(scale)}
    categories, clusters = scale or None, bootstrap.codes
    match name:
        case "kappa_cohen":
            raters = values[(~np.isnan(values)).any(axis=1)]
            kappa = cohen_kappa if len(raters) == 2 else mean_cohen_kappa
            whole = kappa(raters, scale=categories, clusters=clusters)
        case "kappa_fleiss":
            whole = fleiss_kappa(slots(values), categories, clusters)
        case "ac1":
            whole = gwet_ac1(slots(values), categories, clusters)
        case "ac2":
            whole = gwet_ac2(slots(values), how.weights, categories, clusters)
            details["weights"] = how.weights
        case _:
            raise ValueError(f"{name} is no coefficient of categories")
    return Measured(whole.interval(bootstrap), None, _details(values, **details, **_counted(whole)))


def _icc(name: str, values: Floats, documents: np.ndarray[Any, Any], how: Measure, resample: Resampling) -> Measured:
    del name
    bootstrap = resample(documents)
    raters = values[(~np.isnan(values)).any(axis=1)]
    whole = icc(raters, how.model)
    details = _details(values, model=how.model)
    if whole.value is None:
        return Measured(bootstrap.alone(None, whole.reason or "", n=whole.n, missing=whole.missing), None, details)

    def of_units(units: Floats) -> float | None:
        return icc(raters[:, units.astype(np.int64)], how.model).value

    drawn = of_rows(of_units, [np.arange(values.shape[1], dtype=np.float64)], bootstrap.codes)
    return Measured(bootstrap.interval(drawn, n=whole.n, missing=whole.missing), whole.p, details)


def _mean(name: str, values: Floats, documents: np.ndarray[Any, Any], how: Measure, resample: Resampling) -> Measured:
    """What is a mean over units."""
    del how
    compact = slots(values)
    whole = rater_deviation(compact) if name == "rater_deviation" else identical(compact)
    details = _details(values)
    if whole.value is None:
        nothing = resample(documents).alone(None, whole.reason or "", n=whole.n, missing=whole.missing)
        return Measured(nothing, None, details)
    kept = (~np.isnan(compact)).sum(axis=0) >= _FEWEST
    inside = compact[:, kept]
    each = np.nanstd(inside, axis=0) if name == "rater_deviation" else np.nanmax(inside, 0) == np.nanmin(inside, 0)
    estimate = resample(documents[kept]).mean(each.astype(np.float64))
    return Measured(estimate._replace(n=whole.n, missing=whole.missing), None, details)


def _pairwise(
    name: str, values: Floats, documents: np.ndarray[Any, Any], how: Measure, resample: Resampling
) -> Measured:
    """The mean correlation of two raters within a document, averaged over documents (SummQual's agreement)."""
    del how
    kind = name.removeprefix("mean_pairwise_")
    by_document: list[float | None] = []
    for document in dict.fromkeys(documents.tolist()):
        inside = values[:, documents == document]
        part = inside[(~np.isnan(inside)).any(axis=1)]
        by_document.append(mean_pairwise(part, kind).value if inside.size else None)
    defined = [value for value in by_document if value is not None]
    here = (~np.isnan(values)).sum(axis=0) >= _FEWEST
    n, missing = int(here.sum()), int((~here).sum())
    details = _details(values, documents=len(defined), undefined_documents=len(by_document) - len(defined))
    if not defined:
        reason = "no document has two raters whose votes vary" if n else "no item has 2 votes"
        return Measured(resample(documents).alone(None, reason, n=n, missing=missing), None, details)
    return Measured(resample(len(defined)).mean(defined)._replace(n=n, missing=missing), None, details)


def _misfit(bootstrap: Bootstrap, values: Floats, reason: str) -> Measured:
    """Votes that cannot be measured so, and why."""
    return Measured(bootstrap.alone(None, reason, n=0, missing=values.shape[1]), None, _details(values))


_MEASURES: dict[str, _Measuring] = {
    **dict.fromkeys((f"alpha_{level.value}" for level in Measurement), _alpha),
    **dict.fromkeys(("kappa_cohen", "kappa_fleiss", "ac1", "ac2"), _on_scale),
    "icc": _icc,
    **dict.fromkeys(("rater_deviation", "identical"), _mean),
    **dict.fromkeys((f"mean_pairwise_{name}" for name in USUAL_COEFFICIENTS), _pairwise),
}
COEFFICIENTS = tuple(_MEASURES)
"""Every coefficient there is, besides `span_f1`."""


def slots(values: Floats) -> Floats:
    """The votes of each unit pushed together, without the raters' identity: as many rows as the most votes on a unit.

    >>> slots(np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan]])).tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    order = np.argsort(np.isnan(values), axis=0, kind="stable")
    most = int((~np.isnan(values)).sum(axis=0).max(initial=0))
    return np.asarray(np.take_along_axis(values, order, axis=0)[: max(1, most)])


def identical(values: Floats) -> Statistic:
    """The share of units on which all votes are the same, of those with two or more.

    >>> identical(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, np.nan]])).value
    0.5
    """
    kept = (~np.isnan(values)).sum(axis=0) >= 2
    n, missing = int(kept.sum()), int((~kept).sum())
    if not n:
        return Statistic("identical", None, 0, missing, None, Status.UNDEFINED, "no item has 2 votes")
    same = np.nanmax(values[:, kept], axis=0) == np.nanmin(values[:, kept], axis=0)
    return Statistic("identical", float(same.mean()), n, missing)


def take(found: Votes, units: Bools) -> Votes:
    """Some of the units."""
    return Votes(
        found.values[:, units], found.raters, found.document.take(units), found.system.take(units),
        found.list_id.take(units), found.index[units], found.unit, found.source,
    )  # fmt: skip


def score_votes(table: JudgmentTable, aspect: str, source: str | None = None) -> Votes | None:
    """Each annotator's *score* of a summary (the share of its labels that are 1) as votes on summaries."""
    rows = chosen(table, aspect, Level.SUMMARY, source)
    if rows is None:
        return None
    found = gold_scores(table, aspect, Level.SUMMARY, Aggregation(AggregationRule.EACH), source)
    return replace(aligned_votes([(one.judge, one) for one in found]), source=block_of(found[0].signature))


def aligned_votes(found: Sequence[tuple[str, Scores]]) -> Votes:
    """Scores of one level as the votes of raters, each with its name; a unit that any of them has is a column."""
    columns: dict[tuple[Any, ...], int] = {}
    places = [[columns.setdefault(unit, len(columns)) for unit in _units(one)] for _, one in found]
    matrix = np.full((len(found), len(columns)), np.nan)
    for row, (_, one) in enumerate(found):
        matrix[row, places[row]] = one.value
    documents, systems, lists, index = zip(*columns, strict=True) if columns else ((), (), (), ())
    level = found[0][1].level.value if found else "summary"
    return Votes(
        matrix, tuple(name for name, _ in found), Names.of(documents), Names.of(systems), Names.of(lists),
        np.array(index, np.int64), level, "",
    )  # fmt: skip


def _units(one: Scores) -> Iterator[tuple[Any, ...]]:
    return zip(one.document.labels(), one.system.labels(), one.list_id.labels(), one.index.tolist(), strict=True)


def type_votes(table: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> Votes | None:
    """The error types that annotators named as votes; each name is a number, which means nothing but itself."""
    rows = chosen(table, aspect, level, source)
    if rows is None:
        return None
    code = np.array([np.nan if name is None else float(i) for i, name in enumerate(rows.error_type.names)])
    if np.isnan(code).all():
        return None
    values = code[rows.error_type.codes]
    return votes(replace(rows, value=values, label=np.full(len(rows), np.nan)), aspect, level, source)


def merge(values: Floats, unit: str) -> Floats:
    """The mean of ratings; of labels the majority, none where it is split evenly."""
    counts = (~np.isnan(values)).sum(axis=0)
    empty: Floats = np.full(values.shape[1], np.nan)
    means: Floats = np.divide(np.nansum(values, axis=0), counts, out=empty, where=counts > 0)
    if unit == "summary":
        return means
    return np.where(means == 0.5, np.nan, np.round(means))


def aligned_values(series: Scores, found: Votes) -> Floats:
    """The values of a series on the units of the votes, NaN where it has none."""
    size = found.values.shape[1]
    level = Level(found.unit)
    places = Scores(
        PEOPLE, "", None, series.aspect, level, found.document, found.system, found.list_id, found.index,
        np.arange(size, dtype=np.float64), Names.same(None, size),
    )  # fmt: skip
    pairs = align(series, places)
    values: Floats = np.full(size, np.nan)
    rows = pairs.kept
    values[pairs.y[rows].astype(np.int64)] = pairs.x[rows]
    return values


def lines(aspect: str, found: Votes, raters: Sequence[str]) -> Iterator[list[Any]]:
    """One line a unit: aspect, unit, document, system, list, index, and the vote of each of `raters` (None: none)."""
    place = {rater: row for row, rater in enumerate(found.raters)}
    units = zip(
        found.document.labels(), found.system.labels(), found.list_id.labels(), found.index.tolist(), strict=True
    )
    for column, (document, system, list_id, index) in enumerate(units):
        cells = [found.values[place[one], column] if one in place else np.nan for one in raters]
        given = [None if np.isnan(cell) else int(cell) if cell == int(cell) else float(cell) for cell in cells]
        yield [aspect, found.unit, document, system, list_id, None if index < 0 else index, *given]


def pair_votes(table: JudgmentTable, aspect: str) -> Votes | None:
    """Votes on pairs of summaries (what a pairwise campaign exports): 1 where the first system, in the order of the
    alphabet, is preferred, 0 where its rival is, 0.5 for a tie. A unit is a document and a pair, named "A vs B"."""
    rows = table.where(unit="pair", aspect=aspect)
    if not len(rows):
        return None
    turned = np.array([system > rival for system, rival in zip(rows.system.labels(), rows.rival.labels(), strict=True)])
    cast = np.where(np.isnan(rows.value), rows.label, rows.value)
    cast = np.where(turned, 1 - cast, cast)
    pairs = [" vs ".join(sorted(pair)) for pair in zip(rows.system.labels(), rows.rival.labels(), strict=True)]
    columns: dict[tuple[str, str], int] = {}
    places = [columns.setdefault(unit, len(columns)) for unit in zip(rows.document.labels(), pairs, strict=True)]
    raters = [str(name) for name in rows.judge.used()]
    matrix = np.full((len(raters), len(columns)), np.nan)
    matrix[[raters.index(str(name)) for name in rows.judge.labels()], places] = cast
    documents, systems = zip(*columns, strict=True)
    size = len(columns)
    return Votes(
        matrix, tuple(raters), Names.of(documents), Names.of(systems), Names.same(None, size),
        np.full(size, -1, np.int64), "pair", block_of(rows.signature.names[rows.signature.codes[0]] or ""),
    )  # fmt: skip


Item = tuple[str, str]


class Marked(NamedTuple):
    """What annotators marked: for each, the spans of each summary seen, None for one not seen."""

    aspect: str
    signature: str
    items: tuple[Item, ...]
    raters: tuple[str, ...]
    spans: tuple[tuple[Spans | None, ...], ...]

    def take(self, places: Sequence[int]) -> Marked:
        """Some of the summaries."""
        kept = tuple(tuple(row[place] for place in places) for row in self.spans)
        return self._replace(items=tuple(self.items[place] for place in places), spans=kept)


def marked(judgments: Sequence[Judgment]) -> list[Marked]:
    """The spans marked on each aspect.

    Having marked nothing is an answer, but leaves no judgment. So an annotator is taken to have seen a summary who
    gave any judgment of it; one who gave nothing but spans is taken to have seen every judged summary of each
    document in which he or she marked something.
    """
    spans = [one for one in judgments if one.target.unit == "span" and one.status == "ok"]
    found = []
    for aspect in dict.fromkeys(one.aspect for one in spans):
        own = [one for one in spans if one.aspect == aspect]
        raters = tuple(dict.fromkeys(one.judge for one in own))
        seen = {rater: _seen(judgments, rater) for rater in raters}
        items = tuple(dict.fromkeys(item for rater in raters for item in seen[rater]))
        at: dict[tuple[str, Item], list[tuple[int, int]]] = {}
        for one in own:
            item = one.target.document_id, one.target.system
            at.setdefault((one.judge, item), []).extend((span.start, span.end) for span in one.evidence)
        grid = tuple(
            tuple(tuple(at.get((rater, item), ())) if item in seen[rater] else None for item in items)
            for rater in raters
        )
        found.append(Marked(aspect, own[0].signature, items, raters, grid))
    return found


def _seen(judgments: Sequence[Judgment], rater: str) -> dict[Item, None]:
    """The summaries an annotator saw, in order."""
    own = [one for one in judgments if one.judge == rater]
    whole = dict.fromkeys((one.target.document_id, one.target.system) for one in own)
    if any(one.target.unit != "span" for one in own):
        return whole
    documents = {document for document, _ in whole}
    every = ((one.target.document_id, one.target.system) for one in judgments)
    return dict.fromkeys(item for item in every if item[0] in documents)


def span_rows(marks: Sequence[Marked], context: Context, by: str | None, resample: Resampling) -> list[Row]:
    """Rows of the study `agreement` with the statistic `span_f1`: of all, and by a column."""
    rows = []
    for one in marks:
        rows.append(_span_row(one, {}, resample))
        if by is not None:
            rows += [_span_row(part, fields, resample) for fields, part in _split(one, context, by)]
    return rows


def _split(one: Marked, context: Context, by: str) -> Iterator[tuple[dict[str, Any], Marked]]:
    look = context.lookup(by)
    values = [look(*item) for item in one.items]
    for value in dict.fromkeys(values):
        if value is None:
            continue
        places = [place for place, other in enumerate(values) if other == value]
        known = by in ("system", "domain", "category")
        yield ({by: value} if known else {"details": {"by": by, "group": value}}), one.take(places)


def _span_row(one: Marked, fields: dict[str, Any], resample: Resampling) -> Row:
    got = mean_span_f1(one.spans)
    details = {**fields.get("details", {}), "raters": len(one.raters)}
    about = {
        **fields, "study": "agreement", "statistic": SPAN_F1, "aspect": one.aspect, "gold_aspect": one.aspect,
        "gold_signature": one.signature, "level": "summary", "n": got.n, "missing": got.missing,
        "reason": got.reason, "details": details,
    }  # fmt: skip
    bootstrap = resample([document for document, _ in one.items])
    if got.value is None:
        return interval_row(bootstrap.alone(None, got.reason or ""), **about)
    return interval_row(bootstrap.interval(_pooled_f1(one, bootstrap)), **about)


def _pooled_f1(one: Marked, bootstrap: Bootstrap) -> Weighted:
    """The mean over pairs of annotators of pooled F1, as a function of the weights of documents."""
    pairs = []
    for first, second in combinations(one.spans, 2):
        counts = np.zeros((len(one.items), 2))
        for place, (left, right) in enumerate(zip(first, second, strict=True)):
            if left is not None and right is not None:
                both: Overlap = overlap(left, right)
                counts[place] = (2 * both.both, both.first + both.second)
        pairs.append(bootstrap.sums(counts))

    def mean(weights: Floats) -> Floats:
        drawn = np.array([weights @ counts for counts in pairs])
        values = np.divide(drawn[..., 0], drawn[..., 1], out=np.full(drawn.shape[:2], np.nan), where=drawn[..., 1] > 0)
        there = ~np.isnan(values)
        counted = there.sum(axis=0)
        sums = np.where(there, values, 0.0).sum(axis=0)
        return np.asarray(np.divide(sums, counted, out=np.full(len(weights), np.nan), where=counted > 0))

    return mean


@checks_keywords
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
    machine = judge_input(shown)
    table, context = gold_input(gold, selected.judgment_set)
    context = context if context.domains else machine.context
    rows: list[Row] = []
    for question in machine.questions(judge=selected.judge):
        wanted = [one.partition(":") for one in selected.aspects] or [(question[2], "", "")]
        for own, _, other in wanted:
            if own != question[2]:
                continue
            labels = machine.scores(question, at, Use.LABEL)
            for merged in gold_scores(table, other or own, at, selected.rule, selected.source):
                for group in groups(align(labels, merged, context), selected.by):
                    rows += _overridden(group, at, resample)
    if not rows:
        raise UsageError(f"no {level} has both a label that was shown and people's decision on it")
    return Study("overruled", rows)


def _overridden(group: Group, level: Level, resample: Resampling) -> list[Row]:
    pairs: PairedScores = group.pairs
    changed = np.where(pairs.kept, (pairs.x != pairs.y).astype(np.float64), np.nan)
    fields = {**named(pairs.judge, pairs.gold), **group.fields(), "study": "overruled", "statistic": "overruled"}
    details = fields.pop("details", {})
    rows = []
    for label in (None, 1.0, 0.0):
        inside = np.ones(len(pairs), dtype=np.bool_) if label is None else pairs.x == label
        more: dict[str, Any] = {**details, "overruled": int(np.nansum(changed[inside]))}
        if label is not None:
            name = ", ".join(filter(None, (details.get("group"), f"shown {label:g}")))
            more |= {"shown": int(label), "group": name}
        estimate = resample(pairs.document.codes[inside]).mean(changed[inside])
        reason = "no unit has both labels" if estimate.value is None else None
        rows.append(interval_row(estimate, **fields, level=level.value, reason=reason, details=more))
    return rows
