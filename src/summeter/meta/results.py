"""What every study returns: rows with one set of names, and notes. A study neither draws nor prints.

The names are a public contract: `--json` prints them, reports and other people's scripts read them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from pydantic import Field, ValidationError, model_validator

from summeter.data.formats import NotJSON, parse_json
from summeter.records import Fault, InputError, JudgeKey, Record, UsageError, faults_in, judge_names
from summeter.scoring import to_frame
from summeter.stats import Bootstrap, Estimate
from summeter.stats import Status as StatStatus
from summeter.stats.resample import Resampling
from summeter.tables import Cell, Column, Table, interval, number, p_value

RowStatus = Literal["ok", "no_interval", "undefined"]

CONTRACT = (
    "study", "judge", "signature", "model", "aspect", "gold_aspect", "level", "average", "statistic", "value",
    "status", "reason", "n", "missing", "p", "low", "high", "system", "domain", "category", "pair",
)  # fmt: skip
"""The columns that every row of every study has, null where one does not apply."""

_NAMES = ("judge", "aspect", "gold_aspect", "level", "average", "system", "domain", "category", "pair", "statistic")


class Row(Record):
    """One number of a study.

    `value` is None exactly when `status` is "undefined", and `reason` then says why. `n` rows entered and
    `missing` were dropped because one side had no value. `p` is two-sided. `low`-`high` is the interval that
    `interval` describes (method, level, resamples, seed); status "no_interval" means that the value stands
    without one. `system`, `domain`, `category` and `pair` ("A-B") name the group a row is about, None for all.
    `gold_signature` says which judgments of people were used and how they were merged. `details` holds
    further counts, such as `constant_groups`, `groups`, `k`, `threshold` and `missing_reasons`.
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

    @model_validator(mode="after")
    def _no_number_without_a_reason(self) -> Self:
        if (self.value is None) != (self.status == "undefined"):
            raise ValueError(f"a row of {self.study} has the value {self.value} and the status {self.status!r}")
        if self.value is None and not self.reason:
            raise ValueError(f"a row of {self.study} without a value must say why in `reason`")
        return self


class Study:
    """The rows of one study, with notes on what was chosen or left out.

    Iterating gives the rows; `print(study)` a plain table.

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
        """The study in what `--json` printed, parsed; `source` names it in messages.

        Raises InputError, naming each row and field at fault.

        >>> row = {"study": "correlation", "statistic": "pearson", "value": 0.5, "n": 9}
        >>> Study.from_payload({"schema": "summeter/1", "rows": [row]}).name
        'correlation'
        """
        content, faults = _checked(data, str(source))
        rows = []
        for place, fields in enumerate(content.get("rows", ())):
            try:
                rows.append(Row.model_validate(fields))
            except ValidationError as error:
                for fault in faults_in(source, None, error):
                    faults.append(fault._replace(field=f"rows[{place}]" + (f".{fault.field}" if fault.field else "")))
        if faults:
            raise InputError(faults)
        name = content.get("study") or (rows[0].study if rows else "study")
        return cls(name, rows, content.get("notes", ()))

    @classmethod
    def join(cls, studies: Sequence[Study], name: str | None = None) -> Study:
        """Several studies as one, in order; by the name of the first unless one is given."""
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
        """The rows in which each named field has the value given (None: where it does not apply)."""
        kept = [row for row in self.rows if all(getattr(row, name) == value for name, value in wanted.items())]
        return Study(self.name, kept, self.notes)

    def one(self, **wanted: Any) -> Row:
        """The only row that fits; raises LookupError where none or several do."""
        rows = self.where(**wanted).rows
        if len(rows) != 1:
            raise LookupError(f"{len(rows)} rows of {self.name} fit {wanted}")
        return rows[0]

    def __add__(self, other: Study) -> Study:
        return Study.join([self, other])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain rows, the columns of the contract first."""
        return [row.model_dump() for row in self.rows]

    def to_pandas(self) -> Any:
        """A pandas data frame of `to_dicts()`."""
        return to_frame(self.to_dicts())

    def table(self) -> Table:
        """The rows as a table: what names them, value, interval, p, n, missing.

        A column is there where some row has something in it. Judges of one name are told apart by their model or by
        what differs in their signatures, and so are people's judgments merged in several ways.
        """
        rows = self.rows
        constant = [row.details.get("constant_groups") for row in rows]
        figures: list[tuple[Column, bool, Sequence[Any]]] = [
            (Column("value", show=number), True, [row.value for row in rows]),
            (
                Column("interval"),
                any(row.low is not None for row in rows),
                [interval(row.low, row.high) for row in rows],
            ),
            (Column("p", show=p_value), any(row.p is not None for row in rows), [row.p for row in rows]),
            (Column("n"), True, [row.n for row in rows]),
            (Column("missing"), any(row.missing for row in rows), [row.missing for row in rows]),
            (Column("constant groups"), any(constant), constant),
            (
                Column("why"),
                any(row.value is None for row in rows),
                [row.reason if row.value is None else None for row in rows],
            ),
        ]
        columns: list[tuple[Column, Sequence[Any]]] = []
        columns += ((Column(name), values) for name, values in self._names().items())
        columns += ((column, values) for column, shown, values in figures if shown)
        return Table(
            tuple(column for column, _ in columns), tuple(zip(*(values for _, values in columns), strict=True))
        )

    def _names(self) -> dict[str, list[str | None]]:
        """What a row is about, column by column."""
        rows = self.rows
        names = {name: [getattr(row, name) for row in rows] for name in _NAMES}
        names["judge"] = judge_labels(rows)
        if all(row.gold_aspect in {None, row.aspect} for row in rows):
            del names["gold_aspect"]
        columns = {name: values for name, values in names.items() if any(value is not None for value in values)}
        if len({row.details.get("run") for row in rows}) > 1:
            columns = {"run": [row.details.get("run") for row in rows], **columns}
        if any("group" in row.details for row in rows):
            columns["group"] = [row.details.get("group") for row in rows]
        keys = list(zip(*columns.values(), strict=True))
        of_people = [JudgeKey("people", row.gold_signature) for row in rows if row.gold_signature]
        golds: dict[str | None, str] = {key.signature: name for key, name in judge_names(of_people).items()}
        if len(set(keys)) < len(keys) and len(golds) > 1:
            columns["people"] = [golds.get(row.gold_signature) for row in rows]
        return columns

    def signatures(self) -> list[str]:
        """What made the numbers: judges' signatures, people's, and the intervals, each once."""
        texts = [
            *(row.signature for row in self.rows),
            *(f"people: {row.gold_signature}" for row in self.rows if row.gold_signature),
            *(row.interval for row in self.rows),
        ]
        return list(dict.fromkeys(text for text in texts if text))

    def __str__(self) -> str:
        if not self.rows:
            return "\n".join([f"{self.name}: no rows", *self.notes])
        tail = [*self.signatures(), *self.notes]
        return "\n".join([self.table().text(), *([""] if tail else []), *tail])

    __repr__ = __str__


def judge_labels(rows: Sequence[Row]) -> list[str | None]:
    """The judge of each row, told apart from its namesakes on the same aspect by its model or settings."""
    keys = [None if row.judge is None else JudgeKey(row.judge, row.signature or "", row.model) for row in rows]
    shown: dict[tuple[str | None, JudgeKey], str] = {}
    for aspect in dict.fromkeys(row.aspect for row in rows):
        here = [key for row, key in zip(rows, keys, strict=True) if key is not None and row.aspect == aspect]
        shown |= {(aspect, key): name for key, name in judge_names(here).items()}
    return [None if key is None else shown[row.aspect, key] for row, key in zip(rows, keys, strict=True)]


Key = str | Callable[[Row], Hashable]
"""A field of a row, or a function of the row."""


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
    """Rows as a table: one line for each value of `line`, one column for each value of `column`.

    `show` writes the row at a line and column, the last one if there are several, or None if there is none. `lines` and
    `columns` map the values to show to their labels; by default every value is shown, in order of first appearance, and
    is its own label. A label that is a tuple fills several cells, one for each of `heads`. `after` holds further
    columns, each a function of the rows of a line.

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
    """The row status that goes with a value and the status a statistic came with."""
    if value is None:
        return "undefined"
    return "no_interval" if status is not None and str(status) == StatStatus.NO_INTERVAL.value else "ok"


def pair_name(first: str, second: str) -> str:
    """How a pair of systems is named in `Row.pair`.

    >>> pair_name("M22", "M23")
    'M22-M23'
    """
    return f"{first}-{second}"


SCHEMA = "summeter/1"


def read_study(file: str | Path) -> Study:
    """The study in a file that holds what `summeter meta ... --json` printed.

    Raises InputError, naming file and field, where it cannot be read or is something else.
    """
    try:
        data = parse_json(Path(file).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError.at(file, None, None, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError.at(file, None, None, "is not UTF-8") from error
    except NotJSON as error:
        raise InputError.at(file, None, None, f"{error}; give what `summeter meta ... --json` printed") from error
    return Study.from_payload(data, file)


def _checked(data: object, source: str) -> tuple[Mapping[str, Any], list[Fault]]:
    """The object around the rows, and what is wrong with it; nothing of it where it is none."""
    wanted = f'give what `summeter meta ... --json` printed: an object with "schema": "{SCHEMA}" and "rows"'
    if not isinstance(data, Mapping):
        return {}, [Fault(source, None, None, f"is not an object; {wanted}")]
    if data.get("schema") != SCHEMA:
        return {}, [Fault(source, None, "schema", f"is {data.get('schema')!r}, not {SCHEMA!r}; {wanted}")]
    faults = [
        Fault(source, None, name, f"is not {what}")
        for name, what, right in (
            ("rows", "a list of rows", isinstance(data.get("rows"), list)),
            ("study", "a name", isinstance(data.get("study", ""), str)),
            ("notes", "a list of texts", _texts(data.get("notes", []))),
        )
        if not right
    ]
    return ({} if faults else data), faults


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def payload(study: Study, **more: Any) -> Mapping[str, Any]:
    """What `--json` prints: one object with the schema, the study's rows and its notes."""
    return {"schema": SCHEMA, "study": study.name, **more, "rows": study.to_dicts(), "notes": list(study.notes)}


def resampling(resamples: int = 1000, confidence: float = 0.95, seed: int = 0) -> Resampling:
    """How a study resamples: documents whole, `resamples` times (0: no intervals), at a confidence in (0, 1).

    Raises UsageError for other numbers.
    """
    if resamples < 0 or not 0 < confidence < 1:
        raise UsageError(f"need resamples >= 0 and 0 < confidence < 1, got {resamples} and {confidence}")
    return lambda clusters: Bootstrap(clusters, resamples, confidence, seed)


def merged(*about: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Fields of a row, later ones going before earlier ones; their `details` add up.

    >>> merged({"judge": "rts", "details": {"by": "length"}}, details={"k": 3})
    {'judge': 'rts', 'details': {'by': 'length', 'k': 3}}
    """
    whole: dict[str, Any] = {}
    for part in (*about, fields):
        details = {**whole.get("details", {}), **part.get("details", {})}
        whole = {**whole, **part, **({"details": details} if details else {})}
    return whole


def interval_row(estimate: Estimate, *about: Mapping[str, Any], **fields: Any) -> Row:
    """The row of an estimate.

    `about` and `fields` name it (see `merged`), and may say n, missing and the reason for no value; their `details` add
    to the estimate's. What the interval says of itself ("constant input", draws left out) stands as the reason beside a
    value.
    """
    own = {"details": dict(estimate.details)} if estimate.details else {}
    given = {"n": estimate.n, "missing": estimate.missing, **merged(own, *about, fields)}
    reason = (given.get("reason") if estimate.value is None else None) or estimate.reason
    given = {"p": estimate.p, **given, "value": estimate.value, "low": estimate.low, "high": estimate.high}
    given |= {"status": status_of(estimate.value, estimate.status), "reason": reason, "interval": estimate.interval}
    return Row(**given)


class Judged(Protocol):
    """Scores or verdicts: by whom, on what."""

    @property
    def judge(self) -> str: ...
    @property
    def signature(self) -> str: ...
    @property
    def model(self) -> str | None: ...
    @property
    def aspect(self) -> str: ...


def named(judge: Judged, gold: Judged | None = None) -> dict[str, Any]:
    """Judge, signature, model and aspects as fields of a row."""
    people = {"gold_aspect": gold.aspect, "gold_signature": gold.signature} if gold is not None else {}
    own = {"judge": judge.judge, "signature": judge.signature, "model": judge.model, "aspect": judge.aspect}
    return {**own, **people}


def judge_key(judge: Judged) -> JudgeKey:
    """What tells a judge from its namesakes (see `judge_names`)."""
    return JudgeKey(judge.judge, judge.signature, judge.model)


def unique_labels(judges: Sequence[Judged]) -> list[str]:
    """Each judge by the shortest name that tells it from the others: its name, with its aspect, model or settings."""
    short = judge_names(map(judge_key, judges))
    names = [short[judge_key(judge)] for judge in judges]
    ways = [
        [judge.judge for judge in judges],
        [f"{judge.judge}:{judge.aspect}" for judge in judges],
        names,
        [f"{name}:{judge.aspect}" for name, judge in zip(names, judges, strict=True)],
    ]
    unlike = (way for way in ways if len(set(way)) == len(way))
    return next(unlike, [f"{number}:{name}" for number, name in enumerate(names, 1)])
