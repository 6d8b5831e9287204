"""Results of studies: rows with a fixed set of fields, and notes.

The field names are a public contract: `--json` prints them, and reports and users' scripts read them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from summeter.data.formats import NotJSON, parse_json
from summeter.meta.sample import Rater
from summeter.records import InputError, JudgeKey, Record, UsageError, invalid, judge_names
from summeter.scoring import Frames
from summeter.stats import Bootstrap, Estimate
from summeter.stats import Status as StatStatus
from summeter.stats.resample import Resampling
from summeter.tables import Cell, Column, Table, document, interval, number, p_value

RowStatus = Literal["ok", "no_interval", "undefined"]

CONTRACT = (
    "study", "judge", "signature", "model", "aspect", "gold_aspect", "level", "average", "statistic", "value",
    "status", "reason", "n", "missing", "p", "low", "high", "system", "domain", "category", "pair",
)  # fmt: skip
"""Columns of every row of every study. A column that does not apply to a row is null."""

_LABEL_COLUMNS = (
    *("judge", "aspect", "gold_aspect", "level", "average", "system", "domain", "category", "pair", "statistic"),
)


class Row(Record):
    """One value of a study.

    `value` is None if and only if `status` is "undefined"; `reason` then gives the reason. `n` is the number of units
    used, and `missing` the number left out because one side had no value. `p` is two-sided. `low` and `high` are the
    ends of the interval that `interval` describes (method, level, resamples, seed); the status "no_interval" means that
    the value has no interval. `system`, `domain`, `category` and `pair` ("A-B") identify the group of the row and are
    None in a row for all units. `gold_signature` records which human judgments were used and how they were merged.
    `details` holds further fields, such as `constant_groups`, `groups`, `k`, `threshold` and `missing_reasons`.
    """

    study: str
    judge: str | None = None
    signature: str | None = None
    model: str | None = None
    aspect: str | None = None
    gold_aspect: str | None = None
    level: str | None = None
    average: str | None = None
    statistic: str
    value: float | None
    status: RowStatus = "ok"
    reason: str | None = None
    n: int
    missing: int = 0
    p: float | None = None
    low: float | None = None
    high: float | None = None
    system: str | None = None
    domain: str | None = None
    category: str | None = None
    pair: str | None = None
    gold_signature: str | None = None
    interval: str | None = None
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def named(self) -> dict[str, str]:
        """The details that tables show in columns of their own: those that `details["columns"]` names."""
        values = {name: self.details[name] for name in self.details.get("columns", ())}
        texts = {name: ", ".join(each) if isinstance(each, list) else str(each) for name, each in values.items()}
        return {name.replace("_", " "): text for name, text in texts.items()}

    @model_validator(mode="after")
    def _check_status(self) -> Self:
        if (self.value is None) != (self.status == "undefined"):
            raise ValueError(f"a row of {self.study} has the value {self.value} but the status {self.status!r}")
        if self.value is None and not self.reason:
            raise ValueError(f"a row of {self.study} without a value needs a `reason`")
        return self


class Study(Frames):
    """Results of a study: rows, and notes on automatic choices and omissions.

    Iteration yields the rows. `print(study)` prints a table.

    >>> study = Study("correlation", [Row(study="correlation", judge="rts", statistic="pearson", value=0.5, n=9)])
    >>> print(study)
    judge  statistic  value  n
    rts    pearson    0.500  9
    """

    def __init__(self, name: str, rows: Iterable[Row], notes: Iterable[str] = ()) -> None:
        self.name = name
        self.rows = tuple(rows)
        self.notes = tuple(dict.fromkeys(notes))

    @classmethod
    def from_payload(cls, data: object, source: str | Path = "study") -> Study:
        """Return the study in a parsed `--json` object.

        `source` identifies the object in messages. Raises InputError that names each invalid row and field.

        >>> row = {"study": "correlation", "statistic": "pearson", "value": 0.5, "n": 9}
        >>> Study.from_payload({"schema": "summeter/1", "rows": [row]}).name
        'correlation'
        """
        try:
            content = _Payload.model_validate(data)
        except ValidationError as error:
            raise invalid(source, None, error, "give the output of `summeter meta ... --json`") from error
        name = content.study or (content.rows[0].study if content.rows else "study")
        return cls(name, content.rows, content.notes)

    @classmethod
    def join(cls, studies: Sequence[Study], name: str | None = None) -> Study:
        """Return the concatenation of several studies.

        `name` is by default the name of the first study.
        """
        name = name or (studies[0].name if studies else "study")
        rows = (row for study in studies for row in study.rows)
        return cls(name, rows, (note for study in studies for note in study.notes))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Row:
        return self.rows[place]

    def where(self, **wanted: Any) -> Study:
        """Return a study with the rows whose fields equal the given values."""
        rows = [row for row in self.rows if all(getattr(row, name) == value for name, value in wanted.items())]
        return Study(self.name, rows, self.notes)

    def one(self, **wanted: Any) -> Row:
        """Return the only row whose fields equal the given values.

        Raises LookupError if there is no such row, or more than one.
        """
        rows = self.where(**wanted).rows
        if len(rows) != 1:
            raise LookupError(f"{len(rows)} rows of {self.name} match {wanted}")
        return rows[0]

    def __add__(self, other: Study) -> Study:
        return Study.join([self, other])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [row.model_dump() for row in self.rows]

    def table(self) -> Table:
        """Return a table with the identifying columns, value, interval, p, n and missing.

        Empty columns are left out. Judges with the same name are distinguished by their models or by the differences
        between their signatures. The same applies to human judgments that were merged in several ways.
        """
        rows = self.rows
        columns: dict[Column, Sequence[Any]] = {Column(name): values for name, values in self._labels().items()}
        columns[Column("value", "right")] = [number(row.value, digits(row)) for row in rows]
        if any(row.low is not None for row in rows):
            columns[Column("interval")] = [interval(row.low, row.high) for row in rows]
        if any(row.p is not None for row in rows):
            columns[Column("p", "right", p_value)] = [row.p for row in rows]
        columns[Column("n", "right")] = [row.n for row in rows]
        if any(row.missing for row in rows):
            columns[Column("missing", "right")] = [row.missing for row in rows]
        if any(constant := [row.details.get("constant_groups") for row in rows]):
            columns[Column("constant groups")] = constant
        if any(row.value is None for row in rows):
            columns[Column("why")] = [row.reason if row.value is None else None for row in rows]
        return Table(tuple(columns), tuple(zip(*columns.values(), strict=True)))

    def _labels(self) -> dict[str, list[str | None]]:
        """Return the columns that identify the rows."""
        rows = self.rows
        names = {name: [getattr(row, name) for row in rows] for name in _LABEL_COLUMNS}
        names["judge"] = judge_labels(rows)
        if all(row.gold_aspect in {None, row.aspect} for row in rows):
            del names["gold_aspect"]
        columns = {name: values for name, values in names.items() if any(value is not None for value in values)}
        rankings = [row.details.get("ranking") for row in rows]
        if len({*rankings} - {None}) > 1:
            columns["ranking"] = [None if number is None else str(number) for number in rankings]
        if any("group" in row.details for row in rows):
            columns["group"] = [row.details.get("group") for row in rows]
        named = [row.named for row in rows]
        columns |= {name: [each.get(name) for each in named] for name in dict.fromkeys(chain(*named))}
        keys = list(zip(*columns.values(), strict=True))
        of_people = [JudgeKey("people", row.gold_signature) for row in rows if row.gold_signature]
        golds: dict[str | None, str] = {key.signature: name for key, name in judge_names(of_people).items()}
        if len(set(keys)) < len(keys) and len(golds) > 1:
            columns["people"] = [golds.get(row.gold_signature) for row in rows]
        return columns

    def signatures(self) -> list[str]:
        """Return the distinct signatures of judges and people, and the descriptions of the intervals."""
        texts = [
            *(row.signature for row in self.rows),
            *(f"people: {row.gold_signature}" for row in self.rows if row.gold_signature),
            *(row.interval for row in self.rows),
        ]
        return list(dict.fromkeys(text for text in texts if text))

    def parts(self) -> list[Table | str]:
        """Return one table per kind of row (with a title if there are several), the signatures and the notes."""
        kinds = list(dict.fromkeys(row.study for row in self.rows))
        if not kinds:
            return [f"{self.name}: no rows", *self.notes]
        tables = [Study(kind, [row for row in self.rows if row.study == kind]).table() for kind in kinds]
        if len(kinds) > 1:
            tables = [replace(table, title=kind) for kind, table in zip(kinds, tables, strict=True)]
        return [*tables, *self.signatures(), *self.notes]

    def __str__(self) -> str:
        return document(self.parts()).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return replace(self.table(), title=self.name, notes=(*self.signatures(), *self.notes)).html()


def judge_labels(rows: Sequence[Row]) -> list[str | None]:
    """Return a label for the judge of each row.

    The label includes the model, settings or run if another judge has the same name.
    """
    keys = [None if row.judge is None else key_of(row) for row in rows]
    label_of: dict[tuple[str | None, JudgeKey], str] = {}
    for aspect in dict.fromkeys(row.aspect for row in rows):
        judges = [key for row, key in zip(rows, keys, strict=True) if key is not None and row.aspect == aspect]
        label_of |= {(aspect, key): name for key, name in judge_names(judges).items()}
    return [None if key is None else label_of[row.aspect, key] for row, key in zip(rows, keys, strict=True)]


def key_of(row: Row) -> JudgeKey:
    """Return the key that identifies the judge of a row (see `judge_names`)."""
    return JudgeKey(row.judge or "", row.signature or "", row.model, row.details.get("run"))


Key = str | Callable[[Row], Hashable]
"""The name of a field of a row, or a function of the row."""


def pivot(
    rows: Iterable[Row],
    line: Key,
    column: Key,
    show: Callable[[Row | None], Cell],
    *,
    lines: Mapping[Any, str | tuple[str, ...]] | None = None,
    columns: Mapping[Any, str] | None = None,
    heads: Sequence[str] = ("",),
    after: Mapping[str, Callable[[Sequence[Row]], Cell]] | None = None,
    align: str = "lr",
    title: str | None = None,
) -> Table:
    """Return a table with one line per value of `line` and one column per value of `column`.

    `show` formats the row of a cell (the last row if there are several), or None for an empty cell. `lines` and
    `columns` map the values to their labels; by default all values are shown in order of first appearance and serve as
    labels. A label that is a tuple fills several cells, one under each of `heads`. `after` holds further columns, which
    are computed from the rows of a line.

    >>> rows = [Row(study="card", system=system, domain=domain, statistic="mean", value=value, n=9)
    ...         for system, domain, value in [("aster", "news", 0.8), ("aster", "law", 0.5), ("birch", "law", 0.25)]]
    >>> shown = lambda row: number(row and row.value, 2)
    >>> print(pivot(rows, "system", "domain", shown, after={"n": lambda here: sum(row.n for row in here)}).text())
           news   law   n
    aster  0.80  0.50  18
    birch     -  0.25   9
    """
    line_of, column_of = (attrgetter(key) if isinstance(key, str) else key for key in (line, column))
    cells: dict[Any, dict[Any, Row]] = {}
    for row in rows:
        cells.setdefault(line_of(row), {})[column_of(row)] = row
    lines = {key: key for key in cells} if lines is None else lines
    columns = {key: key for here in cells.values() for key in here} if columns is None else columns
    after = after or {}
    body = []
    for key, label in lines.items():
        here = cells.get(key, {})
        values = [show(here.get(other)) for other in columns]
        further = [value(list(here.values())) for value in after.values()]
        body.append([*(label if isinstance(label, tuple) else (label,)), *values, *further])
    return Table.of([*heads, *columns.values(), *after], body, align=align, title=title)


def status_of(value: float | None, status: StatStatus | str | None = None) -> RowStatus:
    """Return the row status of a value, given the status of the statistic."""
    if value is None:
        return "undefined"
    return "no_interval" if status is not None and str(status) == StatStatus.NO_INTERVAL.value else "ok"


def pair_name(first: str, second: str) -> str:
    """Return the name of a pair of systems, as in `Row.pair`.

    >>> pair_name("M22", "M23")
    'M22-M23'
    """
    return f"{first}-{second}"


# Statistics that are counts; a single count is shown without decimals.
_COUNTS = frozenset({"agree", "cluster", "correct_preferences", "needs_people", "supporting_sources"})


def digits(row: Row) -> int:
    """Return the number of decimals of a row's value."""
    value = row.value
    whole = row.statistic in _COUNTS and value is not None and value.is_integer() and row.low is None
    return 0 if whole else 3


SCHEMA = "summeter/1"


def read_study(file: str | Path) -> Study:
    """Read a study from a file with the output of `summeter meta ... --json`.

    Raises InputError, which names the file and the field, if the file cannot be read or does not contain a study.
    """
    try:
        data = parse_json(Path(file).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError.at(file, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError.at(file, "is not UTF-8") from error
    except NotJSON as error:
        raise InputError.at(file, f"{error}; give the output of `summeter meta ... --json`") from error
    return Study.from_payload(data, file)


class _Payload(Record):
    """The JSON object of a study; commands add further fields."""

    model_config = ConfigDict(extra="ignore")

    schema_: Literal["summeter/1"] = Field(alias="schema")
    study: str | None = None
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def payload(study: Study, **more: Any) -> Mapping[str, Any]:
    """Return the JSON object that `--json` prints: schema, study, rows and notes."""
    return {"schema": SCHEMA, "study": study.name, **more, "rows": study.to_dicts(), "notes": list(study.notes)}


def resampling(resamples: int = 1000, confidence: float = 0.95, seed: int = 0) -> Resampling:
    """Return a function that creates the bootstrap of given clusters.

    `resamples` is the number of draws (0 for no intervals), and `confidence` is in (0, 1). Raises UsageError if either
    is out of range.
    """
    if resamples < 0 or not 0 < confidence < 1:
        raise UsageError(f"resamples must be >= 0 and confidence between 0 and 1, not {resamples} and {confidence}")
    return lambda clusters: Bootstrap(clusters, resamples, confidence, seed)


def merged(*about: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the merged fields of a row.

    Later fields override earlier ones, except that `details` are merged.

    >>> merged({"judge": "rts", "details": {"by": "length"}}, details={"k": 3})
    {'judge': 'rts', 'details': {'by': 'length', 'k': 3}}
    """
    combined: dict[str, Any] = {}
    for each in (*about, fields):
        details = {**combined.get("details", {}), **each.get("details", {})}
        combined = {**combined, **each, **({"details": details} if details else {})}
    return combined


def interval_row(estimate: Estimate, *about: Mapping[str, Any], **fields: Any) -> Row:
    """Return the row of an estimate.

    `about` and `fields` are the fields of the row (see `merged`). They can override `n` and `missing`, and can give the
    reason for a missing value; their `details` are added to the details of the estimate. A row with a value can also
    have a reason, which then explains the interval (for example, "constant input", or that draws were left out).
    """
    details = {"details": dict(estimate.details)} if estimate.details else {}
    row = {"p": estimate.p, "n": estimate.n, "missing": estimate.missing, **merged(details, *about, fields)}
    reason = (row.get("reason") if estimate.value is None else None) or estimate.reason
    row |= {"value": estimate.value, "low": estimate.low, "high": estimate.high, "interval": estimate.interval}
    return Row(**row | {"status": status_of(estimate.value, estimate.status), "reason": reason})


def named(judge: Rater, gold: Rater | None = None) -> dict[str, Any]:
    """Return the judge, signature, model, run and aspects as fields of a row."""
    run = {"details": {"run": judge.run}} if judge.run is not None else {}
    people = {"gold_aspect": gold.aspect, "gold_signature": gold.signature} if gold is not None else {}
    return {
        "judge": judge.judge,
        "signature": judge.signature,
        "model": judge.model,
        "aspect": judge.aspect,
        **people,
        **run,
    }


def unique_labels(judges: Sequence[Rater]) -> list[str]:
    """Return the shortest distinct labels of judges.

    A label is the judge's name, with the aspect, model or settings if necessary.
    """
    short = judge_names(judge.key for judge in judges)
    names = [short[judge.key] for judge in judges]
    candidates = [
        [judge.judge for judge in judges],
        [f"{judge.judge}:{judge.aspect}" for judge in judges],
        names,
        [f"{name}:{judge.aspect}" for name, judge in zip(names, judges, strict=True)],
    ]
    distinct = (labels for labels in candidates if len(set(labels)) == len(labels))
    return next(distinct, [f"{number}:{name}" for number, name in enumerate(names, 1)])
