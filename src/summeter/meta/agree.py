"""Do people agree with each other, and does a judge agree with them as they do?

Rows, all with the units that entered (`n`) and those with too few votes (`missing`):

    agreement             a coefficient of all annotators on an aspect, also by a column
    annotator             one annotator beside the merged votes of the others (`judge` names the annotator)
    agreement_without     the coefficient when one annotator is left out (`judge` names who)
    judge_and_people      a judge and the merged votes of people, as two raters
    agreement_with_judge  a judge as one more annotator; `details` hold people's own coefficient on the same units
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level, Use
from summeter.data.dataset import Dataset
from summeter.meta.ballots import aligned_values, lines, merge, score_votes, take, type_votes, unit_level
from summeter.meta.coefficients import ON_SCALE, Measure, Measured, check_names, measure, scale_of, usual
from summeter.meta.context import Context
from summeter.meta.gold import Votes, aspects, blocks, gold_scores, votes
from summeter.meta.grids import Draws, named
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.results import Row, Study, status_of
from summeter.meta.selection import Selection, selected
from summeter.meta.spans import marked, span_rows
from summeter.records import Judgment, UsageError
from summeter.scoring import COMPOSITE
from summeter.scoring.table import JudgmentTable
from summeter.stats import Model, Weights
from summeter.stats.base import Bools, Floats

SPAN_F1 = "span_f1"
_FEWEST = 2


@dataclass(frozen=True)
class Panel:
    """What is asked of a panel of annotators.

    `coefficients` from COEFFICIENTS and `span_f1`; by default those that suit the votes (see `coefficients.usual`)
    and, where people marked spans, `span_f1`. `level` is sentence, key_fact or summary; by default the units people
    voted on. `scale`, `weights` and `model` are those of `Measure`. `error_types` compares the names of errors
    rather than the labels. `each` adds the rows of single annotators.
    """

    coefficients: tuple[str, ...] = ()
    level: str | None = None
    scale: tuple[float, ...] = ()
    weights: str = "quadratic"
    model: str = "2,1"
    error_types: bool = False
    each: bool = False

    def __post_init__(self) -> None:
        check_names([name for name in self.coefficients if name != SPAN_F1])
        if self.level is not None:
            unit_level(self.level)
        for value, known, what in ((self.weights, Weights, "weights"), (self.model, Model, "ICC")):
            if value not in [one.value for one in known]:
                raise UsageError(f"no {what} {value!r}; there are: {' | '.join(one.value for one in known)}")


class Board(NamedTuple):
    """The votes on one aspect, what they are called in a row, and how they are measured."""

    aspect: str
    votes: Votes
    how: Measure
    names: tuple[str, ...]
    signature: str
    draws: Draws

    def take(self, units: Bools) -> Board:
        """Some of the units."""
        return self._replace(votes=take(self.votes, units))

    def rows(self, study: str, values: Floats | None = None, **more: Any) -> list[Row]:
        """A row a coefficient, of the board's own votes or of others on the same units."""
        found = self.votes.values if values is None else values
        return [
            self.row(study, measure(name, found, self.votes.document.codes, self.how, self.draws), **more)
            for name in self.names
        ]  # fmt: skip

    def row(self, study: str, got: Measured, **more: Any) -> Row:
        """A measured coefficient as a row."""
        details = {**got.details, **more.pop("details", {})}
        fields: dict[str, Any] = {
            "aspect": self.aspect, "gold_aspect": self.aspect, "gold_signature": self.signature,
            "level": self.votes.unit, **more,
        }  # fmt: skip
        interval = self.draws.text() if got.low is not None else None
        return Row(
            study=study, statistic=got.name, value=got.value, status=status_of(got.value, got.status),
            reason=got.reason, n=got.n, missing=got.missing, p=got.p, low=got.low, high=got.high, interval=interval,
            details=details, **fields,
        )  # fmt: skip


def agree(
    gold: Gold, *, aspect: str | Sequence[str] | None = None, select: Selection | None = None,
    panel: Panel | None = None, judges: Sequence[RunLike] = (), draws: Draws | None = None,
) -> Study:  # fmt: skip
    """How far the annotators of `gold` agree on each aspect, and how far each judge of `judges` agrees with them.

    `select.rule` merges annotators where one is set beside the others or a judge beside all. Coefficients of span
    overlap need the judgments themselves or a data set. Raises UsageError where there are no votes.
    """
    chosen_, panel, draws = selected(select, aspect), panel or Panel(), draws or Draws()
    records, columns, context = _read(gold, chosen_.set_name)
    boards = list(_boards(columns, chosen_, panel, draws))
    rows: list[Row] = []
    for board in boards:
        # A value that came merged, or one annotator's: nobody to agree with, and no row unless asked for.
        if chosen_.aspects or not _alone(board):
            rows += _groups(board, chosen_.by, context)
        if panel.each:
            rows += list(_each(board))
    for run in judges:
        machine = judge_input(run)
        for board in boards:
            rows += list(_with_judges(board, machine, columns, chosen_))
    if SPAN_F1 in panel.coefficients or not panel.coefficients:
        rows += span_rows(marked(records), context, chosen_.by, draws)
    if not rows:
        raise UsageError(f"no votes to compare; people's judgments are: {', '.join(blocks(columns)) or 'none'}")
    return Study("agree", rows, _notes(boards))


def _alone(board: Board) -> bool:
    return len(board.votes.raters) < _FEWEST


def _read(gold: Gold, name: str) -> tuple[Sequence[Judgment], JudgmentTable, Context]:
    """People's judgments as records (none where only columns were given), as columns, and their context."""
    if isinstance(gold, JudgmentTable):
        return (), gold, Context()
    records = gold.judgments(name) if isinstance(gold, Dataset) else tuple(gold)
    return records, *gold_input(gold if isinstance(gold, Dataset) else records, name)


def _boards(columns: JudgmentTable, chosen_: Selection, panel: Panel, draws: Draws) -> Iterator[Board]:
    names = [one.partition(":")[2] or one for one in chosen_.aspects] or aspects(columns)
    for aspect in names:
        if aspect == COMPOSITE and aspect not in columns.aspect.names:
            continue
        found = _votes(columns, aspect, chosen_.source, panel)
        if found is None:
            if chosen_.aspects:
                where = f" at the level {panel.level}" if panel.level else ""
                there = ", ".join(aspects(columns)) or "nothing"
                raise UsageError(f"people did not vote on {aspect!r}{where}; they judged: {there}")
            continue
        how = Measure(panel.scale or scale_of(found.values), panel.weights, panel.model)
        coefficients = tuple(name for name in panel.coefficients if name != SPAN_F1)
        if not coefficients and SPAN_F1 not in panel.coefficients:
            coefficients = ("alpha_nominal", "kappa_fleiss", "ac1") if panel.error_types else usual(found.values)
        yield Board(aspect, found, how, coefficients, f"human.{found.source}|merge:none|v:1", draws)


def _votes(columns: JudgmentTable, aspect: str, source: str | None, panel: Panel) -> Votes | None:
    level = unit_level(panel.level or Level.SUMMARY)
    if panel.error_types:
        return type_votes(columns, aspect, level, source)
    found = votes(columns, aspect, level, source)
    if found is None or panel.level is None or found.unit == panel.level:
        return found
    return score_votes(columns, aspect, source)


def _groups(board: Board, by: str | None, context: Context) -> Iterator[Row]:
    yield from board.rows("agreement")
    if by is None:
        return
    column = context.column(by, board.votes.document, board.votes.system)
    for code in dict.fromkeys(column.codes.tolist()):
        name = column.names[code]
        if name is None:
            continue
        known = by in ("system", "domain", "category")
        more: dict[str, Any] = {by: name} if known else {"details": {"by": by, "group": name}}
        yield from board.take(column.codes == code).rows("agreement", **more)


def _each(board: Board) -> Iterator[Row]:
    """Each annotator beside the others' merged votes, and the others without each."""
    values, raters = board.votes.values, board.votes.raters
    for place, rater in enumerate(raters):
        others = np.delete(values, place, axis=0)
        if not len(others):
            continue
        pair = np.stack([values[place], merge(others, board.votes.unit)])
        yield from _fitting(board, pair).rows("annotator", pair, judge=rater)
        if len(others) >= _FEWEST:
            yield from board.rows("agreement_without", others, judge=rater)


def _fitting(board: Board, values: Floats) -> Board:
    """The board without the coefficients of a fixed scale, where the values (means of ratings) are not on it."""
    if set(scale_of(values)) <= set(board.how.scale):
        return board
    return board._replace(names=tuple(name for name in board.names if name not in ON_SCALE))


def _with_judges(board: Board, machine: JudgeInput, columns: JudgmentTable, chosen_: Selection) -> Iterator[Row]:
    """A judge as one more annotator, and beside the merged votes."""
    level = Level(board.votes.unit)
    wanted = [one.partition(":")[0] for one in chosen_.aspects if (one.partition(":")[2] or one) == board.aspect]
    for question in machine.questions(judge=chosen_.judge):
        if question[2] not in (wanted or [board.aspect]):
            continue
        series = machine.scores(question, level, Use.VALUE if level is Level.SUMMARY else Use.LABEL)
        if not len(series):
            continue
        said = aligned_values(series, board.votes)
        units = ~np.isnan(said)
        fields = named(series)
        del fields["gold_aspect"], fields["gold_signature"]
        part, own = board.take(units), said[units]
        strange = _off_scale(own, board.how)
        for merged in gold_scores(columns, board.aspect, level, chosen_.rule, chosen_.source):
            pair = np.stack([own, aligned_values(merged, part.votes)])
            about = {**fields, "gold_signature": merged.signature}
            yield from _judge_rows(_fitting(part, pair), "judge_and_people", pair, strange, about)
        everyone = np.vstack([part.votes.values, own])
        alone = {name: measure(name, part.votes.values, part.votes.document.codes, part.how) for name in part.names}
        for row in _judge_rows(part, "agreement_with_judge", everyone, strange, fields):
            theirs = alone[row.statistic].value
            change = None if theirs is None or row.value is None else row.value - theirs
            yield row.model_copy(update={"details": {**row.details, "people": theirs, "change": change}})


def _judge_rows(board: Board, study: str, values: Floats, strange: str | None, fields: dict[str, Any]) -> Iterator[Row]:
    if strange is None:
        yield from board.rows(study, values, **fields)
        return
    for name in board.names:
        empty = measure(name, values[:, :0], board.votes.document.codes[:0], board.how)
        yield board.row(study, empty._replace(value=None, reason=strange, missing=values.shape[1]), **fields)


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
    gold: Gold, *, aspect: str | Sequence[str] | None = None, select: Selection | None = None,
    panel: Panel | None = None,
) -> Export:  # fmt: skip
    """The votes as a table, one row a unit, one column an annotator."""
    chosen_, panel = selected(select, aspect), panel or Panel()
    _, columns, _ = _read(gold, chosen_.set_name)
    boards = list(_boards(columns, chosen_, panel, Draws()))
    raters = list(dict.fromkeys(rater for board in boards for rater in board.votes.raters))
    rows = [line for board in boards for line in lines(board.aspect, board.votes, raters)]
    return Export(["aspect", "unit", "doc_id", "system", "list_id", "index", *raters], rows)


def _notes(boards: Sequence[Board]) -> list[str]:
    told = []
    for one in boards:
        who = "one annotator only, or merged" if _alone(one) else f"{len(one.votes.raters)} annotators"
        told.append(f"{one.aspect}: {who}, {one.votes.values.shape[1]} units ({one.votes.unit})")
    return told
