"""Judgments as a typed table, in order of creation, with one row per question.

`JudgmentTable.of` takes records. `JudgmentTable.read` takes JSON Lines files with keys in any order, and creates no
records (DuckDB reads the files; see design/decisions/0012). Both give the same columns, from which all scores are
computed (`summeter.scoring.scores`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from summeter.records import InputError, Judgment, Status, Unit, read_lines
from summeter.stats.base import Bools, Floats, Ints

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_CODES = 2**62
_BATCH = 256
_AS_RECORDS = 2**20  # below about 4,000 judgments, starting DuckDB takes longer than reading records
"""Maximum size in bytes of files that are read as records.

DuckDB needs 35 MB of memory to start, plus the size of the file.
"""

QUESTION = ("signature", "judge", "aspect", "document", "system", "rival", "unit", "list_id", "index")
"""Columns that identify a question (see `Judgment.key`).

If two judgments have equal values in these columns, the later one counts.
"""


class Categorical(NamedTuple):
    """A column of strings, in which row i has the name `names[codes[i]]`.

    Names are in order of first appearance; one of them may be None. Codes created by this class have 32 bits, because
    fewer than 2^31 names and rows fit in memory.
    """

    codes: Ints
    names: tuple[str | None, ...]

    @classmethod
    def of(cls, labels: Iterable[str | None]) -> Categorical:
        """Return a column from one name per row.

        >>> Categorical.of(["b", "a", "b"]).names
        ('b', 'a')
        """
        vocabulary = Vocabulary()
        codes = [vocabulary[label] for label in labels]
        return cls(np.array(codes, np.int32), tuple(vocabulary) or (None,))

    @classmethod
    def same(cls, name: str | None, rows: int) -> Categorical:
        """Return a column with the same name in all rows; the codes take no memory."""
        return cls(np.broadcast_to(np.int64(0), (rows,)), (name,))

    def labels(self) -> NDArray[np.object_]:
        """Return the name of each row."""
        table = np.empty(len(self.names), dtype=object)
        table[:] = self.names
        return table[self.codes]

    def take(self, rows: Ints | Bools) -> Categorical:
        """Return a column of the selected rows, with unchanged names."""
        if len(self.names) == 1:
            return Categorical.same(self.names[0], int(rows.sum()) if rows.dtype == np.bool_ else len(rows))
        return Categorical(self.codes[rows], self.names)

    def repeat(self, times: Sequence[int]) -> Categorical:
        """Return a column with each row repeated the given number of times.

        >>> Categorical.of(["a", "b"]).repeat([2, 1]).labels().tolist()
        ['a', 'a', 'b']
        """
        return Categorical(np.repeat(self.codes, times), self.names)

    def equal(self, *names: str | None) -> Bools:
        """Return the mask of the rows with one of the given names."""
        wanted = frozenset(names)
        return np.array([name in wanted for name in self.names], np.bool_)[self.codes]

    def used(self) -> list[str | None]:
        """Return the names that occur, in order of first appearance."""
        return [self.names[code] for code in np.flatnonzero(np.bincount(self.codes, minlength=len(self.names)))]

    def dense(self) -> Categorical:
        """Return the same column without the names that do not occur."""
        codes, rows = np.unique(self.codes, return_inverse=True)
        return Categorical(rows.astype(np.int64), tuple(self.names[code] for code in codes))

    @staticmethod
    def concat(columns: Sequence[Categorical]) -> Categorical:
        """Return the concatenation of several columns."""
        vocabulary = Vocabulary()
        codes_of = [np.array([vocabulary[name] for name in column.names], np.int32) for column in columns]
        if len(vocabulary) == 1:
            return Categorical.same(next(iter(vocabulary)), sum(len(column.codes) for column in columns))
        codes = [new[column.codes] for new, column in zip(codes_of, columns, strict=True)]
        return Categorical(np.concatenate(codes), tuple(vocabulary))


class Vocabulary(dict[str | None, int]):
    """A mapping that assigns numbers to names in order of first appearance."""

    def __missing__(self, name: str | None) -> int:
        self[name] = number = len(self)
        return number


def row_keys(*columns: Categorical | Ints) -> Ints:
    """Return one integer per row.

    Two integers are equal exactly if the rows are equal in all columns.
    """
    key: Ints | None = None
    size = 1
    for column in columns:
        codes = (column.codes if isinstance(column, Categorical) else column).astype(np.int64, copy=False)
        width = int(codes.max(initial=0)) + 1
        if key is None:
            key, size = codes, width
            continue
        if size * width >= _MOST_CODES:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key, size = key * width + codes, size * width
    return np.empty(0, np.int64) if key is None else key


def model_names(models: Categorical) -> str | None:
    """Return the distinct models, joined by commas, or None if there is no model."""
    named = dict.fromkeys(model for name in models.used() if name is not None for model in name.split(","))
    return ",".join(named) or None


@dataclass(frozen=True)
class Groups:
    """Groups of rows: the first row of each group, and the group of each row.

    Groups are in order of first appearance.
    """

    first: Ints
    of: Ints

    @classmethod
    def by(cls, *columns: Categorical | Ints) -> Groups:
        """Return the groups of rows that are equal in all columns."""
        keys = row_keys(*columns)
        if len(keys) and int(keys.max()) <= 2 * len(keys):
            place = np.full(int(keys.max()) + 1, -1, np.int64)
            place[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # the first of equal keys is written last
            first = np.sort(place[place >= 0])
            place[keys[first]] = np.arange(len(first))
            return cls(first, place[keys])
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return cls(first[order].astype(np.int64), rank[inverse])

    def __len__(self) -> int:
        return len(self.first)

    def count(self, rows: Bools) -> Ints:
        """Return the number of selected rows in each group."""
        return np.bincount(self.of[rows], minlength=len(self.first)).astype(np.int64)

    def rows(self) -> list[Ints]:
        """Return the row numbers of each group."""
        if not len(self):
            return []
        order = np.argsort(self.of, kind="stable").astype(np.int64)
        return np.split(order, np.cumsum(np.bincount(self.of, minlength=len(self.first)))[:-1])


class Columns:
    """Base of tables of named columns: selection of rows and concatenation."""

    def take(self, rows: Ints | Bools) -> Self:
        """Return the selected rows, by number (in the given order) or by mask."""
        selected: dict[str, Any] = {}
        for name, column in vars(self).items():
            if isinstance(column, Categorical):
                selected[name] = column.take(rows)
            elif _is_constant(column):
                selected[name] = constant(column[0], int(rows.sum()) if rows.dtype == np.bool_ else len(rows))
            else:
                selected[name] = column[rows]
        return type(self)(**selected)

    @classmethod
    def concat(cls, tables: Sequence[Self]) -> Self:
        """Return the concatenation of several tables."""
        if len(tables) == 1:
            return tables[0]
        joined: dict[str, Any] = {}
        for name in vars(tables[0]):
            columns = [vars(table)[name] for table in tables]
            joined[name] = (
                Categorical.concat(columns) if isinstance(columns[0], Categorical) else _concatenated(columns)
            )
        return cls(**joined)


def constant(number: Any, rows: int) -> NDArray[Any]:
    """Return a column with the same number in all rows, which takes no memory."""
    return np.broadcast_to(number, (rows,))


def compact(column: NDArray[Any]) -> NDArray[Any]:
    """Return `constant` if all numbers of a column are equal, otherwise the column itself."""
    return constant(column[0], len(column)) if len(column) and (column == column[0]).all() else column


def _is_constant(column: NDArray[Any]) -> bool:
    return column.strides == (0,) and len(column) > 0


def _concatenated(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    filled = [column for column in columns if len(column)]
    if filled and all(map(_is_constant, filled)):
        numbers = np.array([column[0] for column in filled])
        if np.array_equal(numbers, np.full_like(numbers, numbers[0]), equal_nan=numbers.dtype.kind == "f"):
            return constant(filled[0][0], sum(map(len, columns)))
    return np.concatenate(columns)


class Question(NamedTuple):
    """What a judge evaluates: the judge's name, its signature and the aspect.

    `run` is the name of the judge's run if several runs are studied together.
    """

    judge: str
    signature: str
    aspect: str
    run: str | None = None


@dataclass(frozen=True)
class _Source:
    """Source of a column: an attribute of a record, or an SQL expression and a function of the record.

    `path` is the path of the attribute, which is the same in JSON; `absent` replaces null.
    """

    path: str
    sql: str | None = None
    of: Callable[[Judgment], Any] | None = None
    absent: float | None = None
    required: bool = False

    @property
    def expression(self) -> str:
        """SQL expression of the column."""
        return self.sql or (self.path if self.absent is None else f"coalesce({self.path}, '{self.absent}')")

    def reader(self) -> Callable[[Judgment], Any]:
        """Return the function that reads the column's cell from a record."""
        attribute, absent = attrgetter(self.path), self.absent
        if self.of is not None or absent is None:
            return self.of or attribute
        return lambda judgment: absent if (value := attribute(judgment)) is None else value


def _number(label: object) -> float:
    return float(label) if isinstance(label, int | float) else float("nan")


def _number_of_label(judgment: Judgment) -> float:
    return _number(judgment.label)


@dataclass(frozen=True)
class JudgmentTable(Columns):
    """Judgments as a table with one row per question.

    A missing `value` or `label` is NaN; a missing `index` is -1. `label` holds numeric labels, and `named` holds the
    labels that are strings (None in other rows). `reason` is None if the status is ok. `calls` holds the keys of the
    calls, separated by spaces; `truncated_tokens` is 0 if nothing was cut.
    """

    document: Annotated[Categorical, _Source("target.document_id", required=True)]
    system: Annotated[Categorical, _Source("target.system", required=True)]
    rival: Annotated[Categorical, _Source("target.rival")]
    unit: Annotated[Categorical, _Source("target.unit", required=True)]
    list_id: Annotated[Categorical, _Source("target.list_id")]
    aspect: Annotated[Categorical, _Source("aspect", required=True)]
    judge: Annotated[Categorical, _Source("judge", required=True)]
    signature: Annotated[Categorical, _Source("signature", required=True)]
    model: Annotated[Categorical, _Source("model")]
    status: Annotated[Categorical, _Source("status", required=True)]
    error_type: Annotated[Categorical, _Source("error_type")]
    named: Annotated[
        Categorical, _Source("label", of=lambda judgment: judgment.label if isinstance(judgment.label, str) else None)
    ]
    reason: Annotated[
        Categorical,
        _Source(
            "reason",
            "CASE WHEN status <> 'ok' THEN reason END",
            lambda judgment: None if judgment.status == "ok" else judgment.reason,
        ),
    ]
    calls: Annotated[
        Categorical,
        _Source("calls", "coalesce(array_to_string(calls, ' '), '')", lambda judgment: " ".join(judgment.calls)),
    ]
    index: Annotated[Ints, _Source("target.index", absent=-1)]
    value: Annotated[Floats, _Source("value", absent=np.nan)]
    label: Annotated[Floats, _Source("label", "label::VARCHAR", _number_of_label)]
    truncated_tokens: Annotated[Ints, _Source("truncated_tokens", absent=0)]

    @classmethod
    def of(cls, judgments: Iterable[Judgment] | JudgmentTable) -> JudgmentTable:
        """Return the table of judgments.

        If there are several judgments of one question, the last one counts.
        """
        if isinstance(judgments, JudgmentTable):
            return judgments
        return _of_records(judgments).last_asked()

    @classmethod
    def of_values(
        cls,
        *,
        document: Categorical,
        system: Categorical,
        aspect: Categorical,
        judge: Categorical,
        signature: Categorical,
        value: Floats,
    ) -> JudgmentTable:
        """Return a table of values of whole summaries.

        The status of each row is ok; the rows have no reasons, models or calls.

        >>> a = Categorical.same("a", 1)
        >>> table = JudgmentTable.of_values(
        ...     document=a, system=a, aspect=a, judge=a, signature=a, value=np.array([2.0])
        ... )
        >>> table.unit.labels().tolist(), table.value.tolist()
        (['summary'], [2.0])
        """
        rows = len(value)
        none = Categorical.same(None, rows)
        return cls(
            document=document,
            system=system,
            rival=none,
            unit=Categorical.same("summary", rows),
            list_id=none,
            aspect=aspect,
            judge=judge,
            signature=signature,
            model=none,
            status=Categorical.same("ok", rows),
            error_type=none,
            named=none,
            reason=none,
            calls=Categorical.same("", rows),
            index=constant(np.int64(-1), rows),
            value=value,
            label=constant(np.nan, rows),
            truncated_tokens=constant(np.int64(0), rows),
        )

    @classmethod
    def read(cls, *files: Path, repeats: bool = False) -> JudgmentTable:
        """Return the table of JSON Lines files; a missing file has no rows.

        If there are several judgments of one question, the last one counts, unless `repeats` is True. An incomplete
        last line (after a killed process) is ignored. Raises InputError with the file, line and field of a damaged
        line.
        """
        tables = [_of_file(file) for file in files]
        return cls.concat(tables) if repeats else cls.join(tables)

    @classmethod
    def read_part(cls, file: Path, start: int, end: int) -> JudgmentTable:
        """Return the table of a file's lines from byte `start` to byte `end`, including repeated questions.

        The part is copied to a temporary file, because DuckDB reads whole files.
        """
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as part, file.open("rb") as whole:
            whole.seek(start)
            left = end - start
            while left > 0 and (block := whole.read(min(left, 1 << 20))):
                part.write(block)
                left -= len(block)
            part.flush()
            table = _scan(Path(part.name))
            if table is None:
                try:
                    return _of_records(read_lines(Path(part.name), Judgment))
                except InputError:
                    return cls.read(file, repeats=True)  # this raises an error that names the line
            return table

    @classmethod
    def join(cls, tables: Sequence[JudgmentTable]) -> JudgmentTable:
        """Return several tables as one.

        If there are several judgments of one question, the last one counts.
        """
        return (cls.concat(tables) if tables else _of_records([])).last_asked()

    def __len__(self) -> int:
        return len(self.value)

    def where(self, **names: str | Sequence[str] | None) -> JudgmentTable:
        """Return the rows that have the given name, or one of several names, in each of the columns.

        >>> len(JudgmentTable.of([]).where(unit="pair", status=("ok", "skipped")))
        0
        """
        rows = np.ones(len(self), np.bool_)
        for column, wanted in names.items():
            names_of_column = [wanted] if wanted is None or isinstance(wanted, str) else wanted
            rows &= getattr(self, column).equal(*names_of_column)
        return self if rows.all() else self.take(rows)

    def last_asked(self) -> JudgmentTable:
        """Return the last judgment of each question, in order of the questions' first appearance."""
        keys = row_keys(*(getattr(self, name) + 1 if name == "index" else getattr(self, name) for name in QUESTION))
        if (keys[1:] > keys[:-1]).all():
            return self  # ascending keys are distinct
        ordered = np.sort(keys)
        if (ordered[1:] > ordered[:-1]).all():
            return self
        groups = Groups.by(keys)
        if len(groups) == len(self):
            return self
        last = np.zeros(len(groups), np.int64)
        np.maximum.at(last, groups.of, np.arange(len(self)))
        return self.take(last)

    def groups(self, *columns: str) -> Groups:
        """Return the groups of rows that are equal in the columns."""
        return Groups.by(*(getattr(self, name) + 1 if name == "index" else getattr(self, name) for name in columns))

    def questions(self) -> dict[Question, Ints]:
        """Return the row numbers of each (judge, signature, aspect), in order of first appearance."""
        groups = self.groups("judge", "signature", "aspect")
        columns = (column.take(groups.first).labels() for column in (self.judge, self.signature, self.aspect))
        names = (Question(*(name or "" for name in question)) for question in zip(*columns, strict=True))
        return dict(zip(names, groups.rows(), strict=True))


_COLUMNS = get_type_hints(JudgmentTable, include_extras=True)
_SOURCES: dict[str, _Source] = {name: hint.__metadata__[0] for name, hint in _COLUMNS.items()}
_NUMBERS = {
    name: np.int64 if hint.__origin__ == Ints else np.float64
    for name, hint in _COLUMNS.items()
    if hint.__origin__ is not Categorical
}


def _of_records(judgments: Iterable[Judgment]) -> JudgmentTable:
    words = {name: Vocabulary() for name in _SOURCES if name not in _NUMBERS}
    kinds = {name: _NUMBERS.get(name, np.int32) for name in _SOURCES}
    readers = {name: source.reader() for name, source in _SOURCES.items()}
    parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, kind)] for name, kind in kinds.items()}
    rows = iter(judgments)
    while batch := list(islice(rows, _BATCH)):
        for name, of in readers.items():
            cells = map(of, batch) if name in _NUMBERS else map(words[name].__getitem__, map(of, batch))
            parts[name].append(np.fromiter(cells, kinds[name], len(batch)))
    columns: dict[str, Any] = {}
    for name in _SOURCES:
        column = np.concatenate(parts.pop(name))
        columns[name] = column if name in _NUMBERS else _named(column, tuple(words.pop(name)) or (None,))
    return JudgmentTable(**columns)


def _named(codes: Ints, names: tuple[str | None, ...]) -> Categorical:
    return Categorical(codes, names) if len(names) > 1 else Categorical.same(names[0], len(codes))


COLUMN_TYPES = {
    "target": "STRUCT(document_id VARCHAR, system VARCHAR, rival VARCHAR, unit VARCHAR, index BIGINT, list_id VARCHAR)",
    **dict.fromkeys(("aspect", "judge", "signature", "model", "status", "error_type", "reason"), "VARCHAR"),
    "value": "DOUBLE",
    "label": "JSON",
    "calls": "VARCHAR[]",
    "truncated_tokens": "BIGINT",
}
"""The types of the fields of judgments that tables have, as columns of DuckDB."""
_READ = """
CREATE TABLE judgments AS SELECT {cells}
FROM {source}
"""
_JSON = "read_json(?, format = 'newline_delimited', columns = {columns}, maximum_object_size = 1048576)"
_INVALID = """
SELECT count(*) FROM judgments WHERE {absent} OR status NOT IN ({statuses}) OR unit NOT IN ({units})
    OR (status = 'ok') <> (NOT isnan("value") OR label IS NOT NULL)
    OR (status <> 'ok' AND coalesce(reason, '') = '') OR NOT (label IN ('0', '1') OR label LIKE '"%')
"""


def _of_file(file: Path) -> JudgmentTable:
    """Return the rows of a file, read by DuckDB if it is large or has keys unknown to records.

    If neither way works, the file is damaged, and reading it as records raises an error that names the line.
    """
    if not file.exists() or not file.stat().st_size:
        return _of_records([])
    if file.stat().st_size <= _AS_RECORDS:
        try:
            return _of_records(read_lines(file, Judgment))
        except InputError:
            pass
    with file.open("rb") as lines:
        lines.seek(-1, 2)
        complete = lines.read() == b"\n"
    table = _scan(file) if complete else None
    return table if table is not None else _of_records(read_lines(file, Judgment))


def _scan(file: Path) -> JudgmentTable | None:
    """Return the rows of a file, read by DuckDB, or None if a row is not a judgment."""
    import duckdb

    statuses, units = (", ".join(f"'{member}'" for member in get_args(kind)) for kind in (Status, Unit))
    absent = " OR ".join(f"{name} IS NULL" for name, source in _SOURCES.items() if source.required)
    expressions = {name: source.expression for name, source in _SOURCES.items() if name != "named"}
    cells = ", ".join(f'{expression} AS "{name}"' for name, expression in expressions.items())
    kinds = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMN_TYPES.items()) + "}"
    path = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))  # escape glob patterns
    json_lines = _JSON.format(columns=kinds)
    with duckdb.connect() as connection:
        try:
            connection.execute(_READ.format(cells=cells, source=json_lines), [path])
        except duckdb.Error:
            return None
        invalid = connection.execute(_INVALID.format(absent=absent, statuses=statuses, units=units)).fetchone()
        return None if invalid is None or invalid[0] else _columns(connection)


def _columns(connection: DuckDBPyConnection) -> JudgmentTable:
    """Return the columns of the table `judgments`, with names as codes in order of first appearance."""
    numbers = [name for name in _NUMBERS if name != "label"]
    names = [name for name in _SOURCES if name not in {*_NUMBERS, "named"}]
    columns = read_columns(connection, "judgments", [*names, "label"], numbers)
    texts: Categorical = columns["label"]
    labels = [None if text is None else json.loads(text) for text in texts.names]
    values = np.array([_number(label) for label in labels])
    columns["label"] = constant(values[0], len(texts.codes)) if len(values) == 1 else values[texts.codes]
    # More than one label can map to None.
    vocabulary = Vocabulary()
    codes = np.array([vocabulary[label if isinstance(label, str) else None] for label in labels])
    columns["named"] = _named(codes[texts.codes], tuple(vocabulary))
    return JudgmentTable(**columns)


def read_columns(
    connection: DuckDBPyConnection, table: str, names: Sequence[str], numbers: Sequence[str]
) -> dict[str, Any]:
    """Return columns of a DuckDB table.

    The columns in `names` are returned as `Categorical`, in order of first appearance, and those in `numbers` as
    arrays. A column with a single name or number takes no memory.
    """
    cells: list[str] = []
    rows: int = connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]  # noqa: S608 - names of our own
    columns: dict[str, Any] = {}
    for name in numbers:
        known = connection.execute(f'SELECT DISTINCT "{name}" FROM {table} LIMIT 2').fetchnumpy()[name]  # noqa: S608
        if len(known) == 1:
            columns[name] = constant(np.asarray(known)[0], rows)
        else:
            cells.append(f'"{name}"')
    names_of: dict[str, list[str | None]] = {}
    for name in names:
        distinct = connection.execute(f'SELECT "{name}" FROM {table} GROUP BY ALL ORDER BY min(rowid)').fetchall()  # noqa: S608
        names_of[name] = [row[0] for row in distinct]
        if len(distinct) > 1:
            present = f'SELECT "{name}" FROM {table} WHERE "{name}" IS NOT NULL GROUP BY ALL ORDER BY min(rowid)'  # noqa: S608
            connection.execute(f'CREATE TYPE "{name}_names" AS ENUM ({present})')
            cells.append(f'coalesce(enum_code("{name}"::"{name}_names")::INTEGER, -1) AS "{name}"')
    read = connection.execute(f"SELECT {', '.join(cells)} FROM {table}").fetchnumpy() if cells else {}  # noqa: S608
    for name, known_names in names_of.items():
        if len(known_names) <= 1:
            columns[name] = Categorical.same(known_names[0] if known_names else None, rows)
            continue
        # The codes of the enumeration do not include null, which has its own position among the names.
        order = [position for position, text in enumerate(known_names) if text is not None]
        absent = known_names.index(None) if None in known_names else 0
        columns[name] = Categorical(np.array([*order, absent], np.int32)[read.pop(name)], tuple(known_names))
    return columns | {name: np.asarray(column) for name, column in read.items()}
