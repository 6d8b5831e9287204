"""Tables of papers: the declaration of a table, and the functions that several papers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from statistics import fmean
from typing import Any

from pydantic import Field

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.meta._card import card
from summeter.meta._correlate import correlate
from summeter.meta.inputs import Gold, JudgeInput, gold_input, judge_input
from summeter.meta.options import Draws
from summeter.meta.results import Row, Study, judge_labels, pivot
from summeter.records import UsageError
from summeter.runs.run import RunFolder
from summeter.scoring import COMPOSITE
from summeter.tables import Best, Table, document, interval, number

QUALITIES = frozenset(
    {"faithfulness", "completeness", "conciseness", "coherence", "consistency", "coverage", "fluency", "relevance"}
)
"""Aspects that a judge is only compared on with people's judgments of the same aspect."""
ARRANGED = "The paper's arrangement was not at hand; lines and columns are ours."
"""Note of a table whose contents are known, but not its lines and columns."""
COUNT = "count"
"""Statistic of a row that counts documents or summaries, which is shown without decimals."""
SHORT = {"spearman": "Spear.", "pearson": "Pear.", "kendall_b": "Kend."}


class TableOptions(Draws):
    """The options of a table of a paper."""

    resamples: int = Field(0, ge=0, description="Resamples of the bootstrap by document; 0 for no intervals.")
    alpha: float | None = Field(0.05, gt=0, lt=1, description="Mark values with a p-value of at least this with `~`.")


@dataclass(frozen=True)
class Inputs:
    """What a table is computed from."""

    folders: Sequence[RunFolder]
    gold: Gold
    options: TableOptions

    @cached_property
    def runs(self) -> JudgeInput:
        """The judgments of all runs. Raises UsageError if there is no run."""
        if not self.folders:
            raise UsageError("no run is given")
        return judge_input(self.folders)

    @property
    def draws(self) -> dict[str, Any]:
        """The settings of the bootstrap, as keywords of a study."""
        return self.options.model_dump(include={*Draws.model_fields})

    def aspects(self, dimensions: Sequence[str], also: Sequence[str] = ()) -> list[str]:
        """Return the aspects to compare with people's `dimensions`, as `JUDGE:GOLD`.

        A judge of any of the dimensions is compared on these. Any other judge, such as a similarity to the reference,
        is compared on every dimension with each of its own aspects that is not itself one of the `QUALITIES`, or that
        is in `also`.
        """
        questions = self.runs.questions()
        direct = {(each.judge, each.signature) for each in questions if each.aspect in dimensions}
        own = [each.aspect for each in questions if (each.judge, each.signature) not in direct]
        names = [name for name in dict.fromkeys(own) if name in also or name not in {COMPOSITE, *QUALITIES}]
        present = {each.aspect for each in questions}
        pairs = [name for name in dimensions if name in present]
        return [*pairs, *(f"{name}:{dimension}" for name in names for dimension in dimensions)]

    def correlations(self, dimensions: Sequence[str], also: Sequence[str] = (), **more: Any) -> Study:
        """Return the correlations of all judges with people's `dimensions` (see `aspects` and `correlate`)."""
        return correlate(self.runs, self.gold, aspect=self.aspects(dimensions, also), **{**self.draws, **more})

    def have_labels(self, aspect: str, level: Level) -> bool:
        """Return whether judges and people have judgments of this aspect of the units of a level."""
        sides = (self.runs.table, gold_input(self.gold)[0])
        return all(level in table.where(aspect=aspect).unit.used() for table in sides)

    def cards(self, *, runs: bool = True) -> list[Row]:
        """Return the rows of the card of people and of those of the runs (see `card`)."""
        sources = [(None, self.data), *((run, None) for run in self.folders if runs)]
        return [row for run, gold in sources for row in card(run, gold, **self.draws)]

    @property
    def data(self) -> Dataset:
        """The human judgments as a dataset. Raises UsageError if they are a judgment set without texts."""
        if isinstance(self.gold, Dataset):
            return self.gold
        raise UsageError("this table needs a dataset with human judgments, not a judgment set")


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper.

    `rows` computes the rows of the cells, each placed by `place`; lines and columns appear in the order of their first
    row, or first as in `columns`. Values are multiplied by `scale` and shown with `digits` decimals. With `half_up`,
    halves are rounded up, as in the paper, instead of to even. `best` marks the highest value of a column. `needs`
    names what the table is computed from and the command that makes it. `notes` are printed below the table. Cells for
    which a condition in `differing` is true are marked with the number of its remark on the paper's cell.
    """

    title: str
    rows: Callable[[Inputs], Iterable[Row]]
    needs: str
    head: str = "evaluator"
    columns: Sequence[str] = ()
    digits: int = 3
    scale: float = 1.0
    half_up: bool = False
    best: bool = True
    notes: tuple[str, ...] = ()
    differing: Sequence[tuple[Callable[[Row], bool], str]] = ()

    def shown(self, row: Row) -> str:
        """Return the value of a row as the paper prints it, without marks."""
        if row.value is None:
            return number(None)
        if row.statistic == COUNT:
            return f"{row.value:,.0f}"
        value = row.value * self.scale
        if self.half_up:
            return str(Decimal(repr(round(value, 10))).quantize(Decimal(10) ** -self.digits, ROUND_HALF_UP))
        return number(value, self.digits)


@dataclass(frozen=True)
class Printed:
    """A table of a paper, computed from runs and people's judgments.

    `study` has the rows of the cells, whose places are `details["line"]` and `details["column"]`.
    """

    name: str
    form: PaperTable
    study: Study
    options: TableOptions

    def cell(self, line: str, column: str) -> Row:
        """Return the row of a cell. Raises LookupError if there is none."""
        rows = [row for row in self.study if place_of(row) == (line, column)]
        if not rows:
            raise LookupError(f"{self.name} has no cell in the line {line!r} and the column {column!r}")
        return rows[-1]

    def table(self) -> Table:
        """Return the table in the paper's layout."""
        rows, form = self.study.rows, self.form
        present = dict.fromkeys(place_of(row)[1] for row in rows)
        names = dict.fromkeys([*(name for name in form.columns if name in present), *present])
        highest: dict[str, float] = {}
        for row in rows:
            if row.value is not None and row.statistic != "average_of_lines":
                column = place_of(row)[1]
                highest[column] = max(row.value, highest.get(column, row.value))
        several = len({place_of(row)[0] for row in rows}) > 1

        def show(row: Row | None) -> str | Best:
            if row is None:
                return number(None)
            marks = "".join(f"[{number}]" for number, (applies, _) in enumerate(self.remarks, 1) if applies(row))
            text = f"{form.shown(row)}{'~' * self.is_weak(row)}{marks}"
            if row.low is not None and row.high is not None:
                text = f"{text} {interval(row.low * form.scale, row.high * form.scale, form.digits)}"
            best = form.best and several and row.value is not None and row.value == highest.get(place_of(row)[1])
            return Best((text,)) if best else text

        return pivot(
            rows, lambda row: place_of(row)[0], lambda row: place_of(row)[1], show,
            columns={name: name for name in names}, heads=(form.head,), title=f"{self.name}: {form.title}",
        )  # fmt: skip

    def is_weak(self, row: Row) -> bool:
        """Return whether the value of a row is marked because of its p-value."""
        return self.options.alpha is not None and row.p is not None and row.p >= self.options.alpha

    @cached_property
    def remarks(self) -> list[tuple[Callable[[Row], bool], str]]:
        """The remarks on cells of the paper that apply to a cell of this table, in the order of their numbers."""
        return [remark for remark in self.form.differing if any(map(remark[0], self.study.rows))]

    def notes(self) -> list[str]:
        """Return what the marks mean, which judgments were used, and remarks on the paper's table."""
        rows = self.study.rows
        undefined = dict.fromkeys(f"{'/'.join(place_of(row))}: {row.reason}" for row in rows if row.value is None)
        return [
            *([f"~ p >= {self.options.alpha:g}"] if any(map(self.is_weak, rows)) else []),
            *(f"[{number}] {text}" for number, (_, text) in enumerate(self.remarks, 1)),
            *list(undefined)[:5],
            *([f"{len(undefined) - 5} more cells have no value"] if len(undefined) > 5 else []),
            *self.form.notes,
            *self.study.signatures(),
        ]

    def __str__(self) -> str:
        return document([self.table(), *self.notes()]).rstrip("\n")


def place_of(row: Row) -> tuple[str, str]:
    """Return the line and the column of a row."""
    return row.details["line"], row.details["column"]


def place(row: Row, line: str, column: str, value: float | None = None) -> Row:
    """Return a row with its line and column in a table, and optionally with another value."""
    changed = {} if value is None else {"value": value, "low": None, "high": None, "p": None}
    return row.model_copy(update={**changed, "details": {**row.details, "line": line, "column": column}})


def by_judge(rows: Iterable[Row], column: Callable[[Row], str]) -> list[Row]:
    """Place the rows of judges: a line a judge.

    If a judge was compared by several of its own aspects, each aspect has a line.
    """
    listed = [row for row in rows if row.judge is not None]
    own: dict[tuple[str | None, ...], set[str | None]] = {}
    for row in listed:
        own.setdefault((row.signature, row.gold_aspect), set()).add(row.aspect)
    return [
        place(row, f"{label} {row.aspect}" if len(own[row.signature, row.gold_aspect]) > 1 else str(label), column(row))
        for label, row in zip(
            judge_labels([row.model_copy(update={"aspect": None}) for row in listed]), listed, strict=True
        )
    ]


def averages(rows: Sequence[Row], columns: Callable[[str], str | None]) -> Iterator[Row]:
    """Yield the rows, and for each line the mean of its columns; `columns` returns the name of the mean of a column."""
    yield from rows
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        line, column = place_of(row)
        if (name := columns(column)) is not None:
            groups.setdefault((line, name), []).append(row)
    yield from (average(group, line, name, "average") for (line, name), group in groups.items())


def average_line(rows: Sequence[Row], name: str) -> Iterator[Row]:
    """Yield the rows, and a line with the mean of each column."""
    yield from rows
    for column in dict.fromkeys(place_of(row)[1] for row in rows):
        yield average([row for row in rows if place_of(row)[1] == column], name, column, "average_of_lines")


def average(rows: Sequence[Row], line: str, column: str, statistic: str) -> Row:
    """Return the row of the mean of values, which is undefined if one of them is."""
    values = [row.value for row in rows if row.value is not None]
    missing = len(rows) - len(values)
    return Row(
        study=rows[0].study, judge=rows[0].judge if statistic == "average" else None, statistic=statistic,
        value=None if missing else fmean(values), status="undefined" if missing else "ok",
        reason=f"{missing} of {len(rows)} values are missing" if missing else None, n=len(values), missing=missing,
        details={"line": line, "column": column},
    )  # fmt: skip


def coefficient_columns(row: Row) -> str:
    """Return a column an aspect of people and a coefficient, such as `coherence Spear.`."""
    return f"{row.gold_aspect or row.aspect} {SHORT.get(row.statistic, row.statistic)}"
