"""Judgments as one typed table: a row a judgment, in the order of asking, each question once.

`JudgmentTable.of` takes records; `JudgmentTable.read` takes files of JSON lines, whatever the order and the number of
their keys, and builds no record (DuckDB reads them: design/decisions/0012). Both give the same columns, so that every
score, whoever asks for it, comes out of one arithmetic (`summeter.scoring.scores`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from summeter.records import InputError, Judgment, Status, Unit, read_lines
from summeter.stats.base import Bools, Floats, Ints

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_CODES = 2**62
_BATCH = 256
_AS_RECORDS = 2**26
"""Files up to this many bytes are read as records, one by one: DuckDB takes 35 MB before its first row, and as much
again as the file."""

TARGET = {"document": "document_id", "system": "system", "rival": "rival", "unit": "unit", "list_id": "list_id"}
OWN = ("aspect", "judge", "signature", "model", "status", "error_type", "named", "reason", "calls")
_REQUIRED = ("document", "system", "unit", "aspect", "judge", "signature", "status")

QUESTION = ("signature", "judge", "aspect", "document", "system", "rival", "unit", "list_id", "index")
"""Two judgments that agree in these answer one question; the later one counts (`Judgment.key`)."""
ITEM = ("document", "system", "rival")


class Names(NamedTuple):
    """A column of names: row i has `names[codes[i]]`. Names are in order of first appearance; one may be None."""

    codes: Ints
    names: tuple[str | None, ...]

    @classmethod
    def of(cls, labels: Iterable[str | None]) -> Names:
        """From one name a row.

        >>> Names.of(["b", "a", "b"]).names
        ('b', 'a')
        """
        vocabulary = Vocabulary()
        codes = [vocabulary[label] for label in labels]
        return cls(np.array(codes, np.int64), tuple(vocabulary) or (None,))

    @classmethod
    def same(cls, name: str | None, rows: int) -> Names:
        """One name in all rows; its codes take no memory."""
        return cls(np.broadcast_to(np.int64(0), (rows,)), (name,))

    def labels(self) -> NDArray[np.object_]:
        """The names row by row."""
        table = np.empty(len(self.names), dtype=object)
        table[:] = self.names
        return table[self.codes]

    def take(self, rows: Ints | Bools) -> Names:
        """Some of the rows; the names stay."""
        if len(self.names) == 1:
            return Names.same(self.names[0], int(rows.sum()) if rows.dtype == np.bool_ else len(rows))
        return Names(self.codes[rows], self.names)

    def equal(self, *names: str | None) -> Bools:
        """Which rows have one of the names."""
        return np.array([name in names for name in self.names], np.bool_)[self.codes]

    def used(self) -> list[str | None]:
        """The names that occur, in the order in which they were first seen."""
        return [self.names[code] for code in np.unique(self.codes)]

    def dense(self) -> Names:
        """The same with the names that occur only."""
        codes, rows = np.unique(self.codes, return_inverse=True)
        return Names(rows.astype(np.int64), tuple(self.names[code] for code in codes))

    @staticmethod
    def concat(columns: Sequence[Names]) -> Names:
        """Several columns, one below the other."""
        vocabulary = Vocabulary()
        places = [np.array([vocabulary[name] for name in one.names], np.int64) for one in columns]
        if len(vocabulary) == 1:
            return Names.same(next(iter(vocabulary)), sum(len(one.codes) for one in columns))
        codes = [place[one.codes] for place, one in zip(places, columns, strict=True)]
        return Names(np.concatenate(codes), tuple(vocabulary))


class Vocabulary(dict[str | None, int]):
    """Name -> number, given in order of first appearance."""

    def __missing__(self, name: str | None) -> int:
        self[name] = number = len(self)
        return number


def row_keys(*columns: Names | Ints) -> Ints:
    """One number a row that is equal exactly where all columns are equal."""
    key: Ints | None = None
    size = 1
    for column in columns:
        codes = column.codes if isinstance(column, Names) else column
        width = int(codes.max(initial=0)) + 1
        if key is None:
            key, size = codes, width
            continue
        if size * width >= _MOST_CODES:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key, size = key * width + codes, size * width
    return np.empty(0, np.int64) if key is None else key


@dataclass(frozen=True)
class Groups:
    """Rows in groups, in order of first appearance: the first row of each group, and the group of each row."""

    first: Ints
    of: Ints

    @classmethod
    def by(cls, *columns: Names | Ints) -> Groups:
        """The groups of rows that are equal in all columns."""
        _, first, inverse = np.unique(row_keys(*columns), return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return cls(first[order].astype(np.int64), rank[inverse])

    def __len__(self) -> int:
        return len(self.first)

    def count(self, rows: Bools) -> Ints:
        """How many of some rows each group has."""
        return np.bincount(self.of[rows], minlength=len(self.first)).astype(np.int64)

    def rows(self) -> list[Ints]:
        """The rows of each group."""
        if not len(self):
            return []
        order = np.argsort(self.of, kind="stable").astype(np.int64)
        return np.split(order, np.cumsum(np.bincount(self.of, minlength=len(self.first)))[:-1])


class Columns:
    """What tables of names and numbers share: some of the rows, and tables one below the other."""

    def take(self, rows: Ints | Bools) -> Self:
        """Some of the rows, by place (in the order given) or by mask."""
        taken: dict[str, Any] = {}
        for name, column in vars(self).items():
            taken[name] = column.take(rows) if isinstance(column, Names) else column[rows]
        return type(self)(**taken)

    @classmethod
    def concat(cls, tables: Sequence[Self]) -> Self:
        """Several tables, one below the other."""
        joined: dict[str, Any] = {}
        for name in vars(tables[0]):
            columns = [vars(table)[name] for table in tables]
            joined[name] = Names.concat(columns) if isinstance(columns[0], Names) else np.concatenate(columns)
        return cls(**joined)


class Question(NamedTuple):
    """Who judged what, and how."""

    judge: str
    signature: str
    aspect: str


@dataclass(frozen=True)
class JudgmentTable(Columns):
    """Judgments row by row, one row a question. NaN in `value` and `label`, and -1 in `index`, are "none".

    `label` holds labels that are numbers; `named` those that are names (None elsewhere). `reason` stands only where
    the status is not ok; `calls` are the keys of the calls, with blanks between; `truncated_tokens` is 0 for none.
    """

    document: Names
    system: Names
    rival: Names
    unit: Names
    list_id: Names
    aspect: Names
    judge: Names
    signature: Names
    model: Names
    status: Names
    error_type: Names
    named: Names
    reason: Names
    calls: Names
    index: Ints
    value: Floats
    label: Floats
    truncated_tokens: Ints

    @classmethod
    def of(cls, judgments: Iterable[Judgment]) -> JudgmentTable:
        """The table of records; asked twice, the last counts."""
        return _of_records(judgments).last_asked()

    @classmethod
    def read(cls, *files: Path, repeats: bool = False) -> JudgmentTable:
        """The table of files of JSON lines; asked twice, the last counts, unless `repeats` are wanted too. A file that
        is absent has no rows.

        A last line without its end (a killed writer) is passed over. Raises InputError naming the file, the line and
        the field of a damaged line.
        """
        tables = [_of_file(file) for file in files]
        return cls.concat(tables) if repeats else cls.join(tables)

    @classmethod
    def join(cls, tables: Sequence[JudgmentTable]) -> JudgmentTable:
        """Several tables as one; asked twice, the last counts."""
        return (cls.concat(tables) if tables else _of_records([])).last_asked()

    def __len__(self) -> int:
        return len(self.value)

    def where(self, **names: str | Sequence[str] | None) -> JudgmentTable:
        """The rows that have the given name, or one of several, in each of the columns.

        >>> len(JudgmentTable.of([]).where(unit="pair", status=("ok", "skipped")))
        0
        """
        rows = np.ones(len(self), np.bool_)
        for column, wanted in names.items():
            some = [wanted] if wanted is None or isinstance(wanted, str) else wanted
            rows &= getattr(self, column).equal(*some)
        return self if rows.all() else self.take(rows)

    def last_asked(self) -> JudgmentTable:
        """One row a question: the last one asked, at the place of the first."""
        keys = row_keys(*(getattr(self, name) + 1 if name == "index" else getattr(self, name) for name in QUESTION))
        if (keys[1:] > keys[:-1]).all():
            return self  # in order already, so that no two are equal
        groups = Groups.by(keys)
        if len(groups) == len(self):
            return self
        last = np.zeros(len(groups), np.int64)
        np.maximum.at(last, groups.of, np.arange(len(self)))
        return self.take(last)

    def groups(self, *columns: str) -> Groups:
        """The rows in groups by some columns."""
        return Groups.by(*(getattr(self, name) + 1 if name == "index" else getattr(self, name) for name in columns))

    def questions(self) -> dict[Question, Ints]:
        """The rows of each (judge, signature, aspect), in order of first appearance."""
        groups = self.groups("judge", "signature", "aspect")
        return {self._question(int(first)): rows for first, rows in zip(groups.first, groups.rows(), strict=True)}

    def _question(self, row: int) -> Question:
        columns = (self.judge, self.signature, self.aspect)
        return Question(*(column.names[column.codes[row]] or "" for column in columns))


def _of_records(judgments: Iterable[Judgment]) -> JudgmentTable:
    words = {name: Vocabulary() for name in _NAME_OF}
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in (*_NAME_OF, *_NUMBER_OF)}
    source = iter(judgments)
    while batch := list(islice(source, _BATCH)):
        for name, of in _NAME_OF.items():
            parts[name].append(np.fromiter(map(words[name].__getitem__, map(of, batch)), np.int64, len(batch)))
        for name, (number_of, kind) in _NUMBER_OF.items():
            parts[name].append(np.fromiter(map(number_of, batch), kind, len(batch)))
    columns: dict[str, Any] = {}
    for name, (_, kind) in _NUMBER_OF.items():
        columns[name] = np.concatenate([np.empty(0, kind), *parts.pop(name)])
    for name, vocabulary in words.items():
        codes = np.concatenate([np.empty(0, np.int64), *parts.pop(name)])
        names = tuple(vocabulary) or (None,)
        columns[name] = Names(codes, names) if len(names) > 1 else Names.same(names[0], len(codes))
    return JudgmentTable(**columns)


def _number(label: object) -> float:
    return float(label) if isinstance(label, int | float) else float("nan")


_NAME_OF: dict[str, Callable[[Judgment], str | None]] = {
    **{name: attrgetter(f"target.{field}") for name, field in TARGET.items()},
    **{name: attrgetter(name) for name in OWN},
    "named": lambda judgment: judgment.label if isinstance(judgment.label, str) else None,
    "reason": lambda judgment: None if judgment.status == "ok" else judgment.reason,
    "calls": lambda judgment: " ".join(judgment.calls),
}
_NUMBER_OF: dict[str, tuple[Callable[[Judgment], float], type[np.generic]]] = {
    "index": (lambda judgment: -1 if judgment.target.index is None else judgment.target.index, np.int64),
    "value": (lambda judgment: np.nan if judgment.value is None else judgment.value, np.float64),
    "label": (lambda judgment: _number(judgment.label), np.float64),
    "truncated_tokens": (lambda judgment: judgment.truncated_tokens or 0, np.int64),
}

_LINE = {
    "target": "STRUCT(document_id VARCHAR, system VARCHAR, rival VARCHAR, unit VARCHAR, index BIGINT, list_id VARCHAR)",
    **dict.fromkeys(("aspect", "judge", "signature", "model", "status", "error_type", "reason"), "VARCHAR"),
    "value": "DOUBLE",
    "label": "JSON",
    "calls": "VARCHAR[]",
    "truncated_tokens": "BIGINT",
}
_READ = """
CREATE TABLE judgments AS SELECT
    target.document_id AS document, target.system AS "system", target.rival AS rival, target.unit AS unit,
    target.list_id AS list_id, aspect, judge, signature, model, status, error_type, label::VARCHAR AS label,
    CASE WHEN status <> 'ok' THEN reason END AS reason, coalesce(array_to_string(calls, ' '), '') AS calls,
    coalesce(target.index, -1) AS "index", coalesce(value, 'nan'::DOUBLE) AS "value",
    coalesce(truncated_tokens, 0) AS truncated_tokens
FROM read_json(?, format = 'newline_delimited', columns = {columns}, maximum_object_size = 1048576)
"""
_FAULTY = """
SELECT count(*) FROM judgments WHERE {absent} OR status NOT IN ({statuses}) OR unit NOT IN ({units})
    OR (status = 'ok') <> (NOT isnan("value") OR label IS NOT NULL)
    OR (status <> 'ok' AND coalesce(reason, '') = '') OR label IN ('true', 'false')
"""


def _of_file(file: Path) -> JudgmentTable:
    """The rows of a file, by DuckDB where it is large or has keys that records do not know. What neither reads is
    damaged, and reading it as records says where."""
    if not file.exists() or not file.stat().st_size:
        return _of_records([])
    if file.stat().st_size <= _AS_RECORDS:
        try:
            return _of_records(read_lines(file, Judgment))
        except InputError:
            pass
    with file.open("rb") as lines:
        lines.seek(-1, 2)
        whole = lines.read() == b"\n"
    table = _scan(file) if whole else None
    return table if table is not None else _of_records(read_lines(file, Judgment))


def _scan(file: Path) -> JudgmentTable | None:
    """The rows of a file by DuckDB; None where some line is not a judgment."""
    import duckdb

    texts = {
        name: ", ".join(f"'{one}'" for one in get_args(kind)) for name, kind in (("statuses", Status), ("units", Unit))
    }
    absent = " OR ".join(f"{name} IS NULL" for name in _REQUIRED)
    kinds = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in _LINE.items()) + "}"
    with duckdb.connect() as connection:
        try:
            connection.execute(_READ.format(columns=kinds), [_literal(file)])
        except duckdb.Error:
            return None
        found = connection.execute(_FAULTY.format(absent=absent, **texts)).fetchone()
        return None if found is None or found[0] else _columns(connection)


def _literal(file: Path) -> str:
    """A path that DuckDB does not read as a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


def _columns(connection: DuckDBPyConnection) -> JudgmentTable:
    """The columns: names as codes, in order of first appearance."""
    names: dict[str, list[str | None]] = {}
    codes = []
    for column in (*TARGET, *(name for name in OWN if name != "named"), "label"):
        known = connection.execute(f'SELECT "{column}" FROM judgments GROUP BY ALL ORDER BY min(rowid)').fetchall()  # noqa: S608 - names of our own
        names[column] = [row[0] for row in known]
        if len(known) > 1:
            there = f'SELECT "{column}" FROM judgments WHERE "{column}" IS NOT NULL GROUP BY ALL ORDER BY min(rowid)'  # noqa: S608
            connection.execute(f'CREATE TYPE "{column}_names" AS ENUM ({there})')
            codes.append(f'coalesce(enum_code("{column}"::"{column}_names")::BIGINT, -1) AS "{column}"')
    wanted = ", ".join([*codes, '"index"', '"value"', "truncated_tokens"])
    found = connection.execute(f"SELECT {wanted} FROM judgments").fetchnumpy()  # noqa: S608
    made: dict[str, Any] = {name: np.asarray(found[name]) for name in ("index", "value", "truncated_tokens")}
    rows = len(made["index"])
    for column, known_names in names.items():
        if len(known_names) == 1:
            made[column] = Names.same(known_names[0], rows)
            continue
        # The codes of the type leave out null, which has a place of its own among the names.
        order = [place for place, name in enumerate(known_names) if name is not None]
        absent = known_names.index(None) if None in known_names else 0
        made[column] = Names(np.array([*order, absent], np.int64)[found.pop(column)], tuple(known_names))
    labels: Names = made.pop("label")
    read = [None if text is None else json.loads(text) for text in labels.names]
    made["label"] = np.array([_number(one) for one in read])[labels.codes]
    made["named"] = _renamed(labels.codes, [one if isinstance(one, str) else None for one in read])
    return JudgmentTable(**made)


def _renamed(codes: Ints, names: Sequence[str | None]) -> Names:
    """Names of which several may have become one."""
    vocabulary = Vocabulary()
    places = np.array([vocabulary[name] for name in names], np.int64)
    if len(vocabulary) == 1:
        return Names.same(names[0], len(codes))
    return Names(places[codes], tuple(vocabulary))
