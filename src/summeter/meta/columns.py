"""Judgments as columns: the same facts as a list of `Judgment`, in numpy arrays, for studies of millions.

`of_judgments` takes records; `read_lines` takes their JSON, one a line, and builds no record at all (a million
lines in a few seconds). Names are kept once and rows hold their numbers (`Coded`). Nothing here opens a file.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from summeter.records import InputError, Judgment
from summeter.stats.base import Bools, Floats, Ints

_BATCH = 512  # lines at a time: more would outgrow the processor's cache, and take twice as long
_COMBINED = 2**62

TARGET = {"document": "document_id", "system": "system", "rival": "rival", "unit": "unit", "list_id": "list_id"}
OWN = ("aspect", "judge", "signature", "model", "status", "error_type", "named")
OK = "ok"
_NAN = float("nan")


class Coded(NamedTuple):
    """A column of names: row i is `names[codes[i]]`. A name may be None."""

    codes: Ints
    names: tuple[str | None, ...]

    def labels(self) -> NDArray[np.object_]:
        """The names row by row."""
        table = np.empty(len(self.names), dtype=object)
        table[:] = self.names
        return table[self.codes]

    def take(self, rows: Ints | Bools) -> Coded:
        """Some of the rows; the names stay."""
        return Coded(self.codes[rows], self.names)

    def equal(self, name: str | None) -> Bools:
        """Which rows have the name."""
        code = self.names.index(name) if name in self.names else -1
        return np.asarray(self.codes == code)

    def used(self) -> list[str | None]:
        """The names that occur, in the order in which they were first seen."""
        return [self.names[code] for code in np.unique(self.codes)]


@dataclass(frozen=True)
class Columns:
    """Judgments row by row. NaN in `value` and `label` is "none"; `index` is -1 where there is none.

    `label` holds labels that are numbers; `named` those that are names (None elsewhere).
    """

    document: Coded
    system: Coded
    rival: Coded
    unit: Coded
    list_id: Coded
    aspect: Coded
    judge: Coded
    signature: Coded
    model: Coded
    status: Coded
    error_type: Coded
    named: Coded
    index: Ints
    value: Floats
    label: Floats

    def __len__(self) -> int:
        return len(self.value)

    def take(self, rows: Ints | Bools) -> Columns:
        """Some of the rows, in the order given."""
        if len(rows) == len(self) and (rows.all() if rows.dtype == np.bool_ else (rows == np.arange(len(rows))).all()):
            return self
        made: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            made[field.name] = column.take(rows) if isinstance(column, Coded) else column[rows]
        return Columns(**made)

    def dedupe(self) -> Columns:
        """One row a question, the last asked (`scoring.dedupe`)."""
        key = combine(
            self.signature, self.judge, self.aspect, self.document, self.system, self.rival, self.unit, self.list_id,
            self.index + 1,
        )  # fmt: skip
        # The first of each key in reverse is the last asked.
        _, places = np.unique(key[::-1], return_index=True)
        if len(places) == len(key):
            return self
        return self.take(np.sort(len(key) - 1 - places).astype(np.int64))

    def by_question(self) -> dict[tuple[str, str, str], Ints]:
        """The rows of each (judge, signature, aspect), in order of first appearance."""
        if not len(self):
            return {}
        key = combine(self.judge, self.signature, self.aspect)
        order = np.argsort(key, kind="stable").astype(np.int64)
        parts = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
        parts.sort(key=lambda rows: int(rows[0]))
        return {self._question(int(rows[0])): rows for rows in parts}

    def _question(self, row: int) -> tuple[str, str, str]:
        names = [column.names[column.codes[row]] or "" for column in (self.judge, self.signature, self.aspect)]
        return names[0], names[1], names[2]


def combine(*columns: Coded | Ints) -> Ints:
    """One number a row that is equal exactly where all columns are equal."""
    key: Ints | None = None
    size = 1
    for column in columns:
        codes = (column.codes if isinstance(column, Coded) else column).astype(np.int64)
        width = int(codes.max(initial=0)) + 1
        if key is None:
            key, size = codes, width
            continue
        if size * width >= _COMBINED:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key, size = key * width + codes, size * width
    return np.empty(0, np.int64) if key is None else key


def of_judgments(judgments: Iterable[Judgment]) -> Columns:
    """Columns of records; asked twice, the last counts."""
    words = {name: _Vocabulary() for name in (*TARGET, *OWN)}
    codes = {name: array("i") for name in words}
    index, value, label = array("q"), array("d"), array("d")
    source = iter(judgments)
    while batch := list(islice(source, _BATCH)):
        for name, field in TARGET.items():
            codes[name].extend([words[name][getattr(one.target, field)] for one in batch])
        for name in OWN:
            codes[name].extend([words[name][_named(one.label) if name == "named" else getattr(one, name)]
                                for one in batch])  # fmt: skip
        index.extend([-1 if one.target.index is None else one.target.index for one in batch])
        value.extend([_NAN if one.value is None else one.value for one in batch])
        label.extend([_number(one.label) for one in batch])
    coded = {name: Coded(np.array(codes[name], np.int64), tuple(words[name])) for name in words}
    return Columns(**coded, index=np.array(index), value=np.array(value), label=np.array(label)).dedupe()


def _named(label: Any) -> str | None:
    return label if isinstance(label, str) else None


def _number(label: Any) -> float:
    return float(label) if isinstance(label, int | float) else _NAN


class _Vocabulary(dict[Any, int]):
    """Name -> number, given in order of first appearance."""

    def __missing__(self, name: Any) -> int:
        self[name] = number = len(self)
        return number


def read_lines(lines: Iterable[bytes], where: str = "judgments") -> Columns:
    """Columns of the JSON of judgments, one a line, without building records; asked twice, the last counts.

    A last line without its end (a killed writer) is passed over. Raises InputError naming file `where` and line.
    """
    return _Lines(where).read(lines).dedupe()


class _Part(NamedTuple):
    """A stretch of a judgment's line: it ends before the key `until`; `head` and `tail` make it JSON by itself."""

    until: bytes
    head: bytes
    tail: bytes
    keys: frozenset[str]


# The stretches of a line as records write it. A key with its quotes and colon cannot stand inside a JSON string
# (a quote there has a backslash before it), so the first `"system":` of a line is the key.
_PARTS = (
    _Part(b'"system":', b"", b"}}", frozenset({"document_id"})),
    _Part(b'"unit":', b'{"system":', b"}", frozenset({"system", "rival"})),
    _Part(b'"value":', b'{"target":{"unit":', b"}",
          frozenset({"unit", "index", "list_id", "aspect", "judge", "signature", "model"})),
    _Part(b'"label":', b"", b"", frozenset()),
    _Part(b'"evidence":', b'{"label":', b"}", frozenset({"label", "error_type"})),
)  # fmt: skip
_VALUE = 3
_WORDS = tuple(place for place in range(len(_PARTS)) if place != _VALUE)
_NULL = b"null"


class _Chunks(dict[bytes, int]):
    """Stretch -> number; each distinct one is parsed once, when it is first seen. ValueError where it is no such."""

    def __init__(self, part: _Part) -> None:
        super().__init__()
        self.part = part
        self.rows: list[dict[str, Any]] = []

    def __missing__(self, chunk: bytes) -> int:
        row = from_json(self.part.head + chunk.rstrip(b", ") + self.part.tail)
        row |= row.pop("target", {})
        if row.keys() != self.part.keys:
            raise ValueError(f"not {sorted(self.part.keys)}")
        self[chunk] = number = len(self)
        self.rows.append(row)
        return number


class _Lines:
    """Reads lines. A million of them have few distinct stretches, and only those are parsed."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.words = {place: _Chunks(_PARTS[place]) for place in _WORDS}
        self.codes = {place: array("i") for place in _WORDS}
        self.statuses = _Vocabulary()
        self.status, self.value = array("i"), array("d")

    def read(self, lines: Iterable[bytes]) -> Columns:
        source, done = iter(lines), 0
        while batch := list(islice(source, _BATCH)):
            if not batch[-1].endswith(b"\n"):
                batch.pop()
            if batch:
                self._add(batch, done + 1)
            done += len(batch)
        return self._finish()

    def _add(self, batch: Sequence[bytes], first: int) -> None:
        try:
            columns, values = self._cut(batch)
            status = [OK] * len(batch)
            for place, value in enumerate(values):
                # A judgment with a value or a label is ok; what has neither says further on what became of it.
                if value is None and columns[-1][place].lstrip().startswith(_NULL):
                    status[place] = from_json(batch[place])["status"]
            codes = [list(map(self.words[place].__getitem__, columns[place])) for place in _WORDS]
        except (ValueError, KeyError):
            columns, values, status = self._parsed(batch, first)
            codes = [list(map(self.words[place].__getitem__, columns[place])) for place in _WORDS]
        for place, found in zip(_WORDS, codes, strict=True):
            self.codes[place].extend(found)
        self.value.extend([_NAN if value is None else value for value in values])
        self.status.extend(map(self.statuses.__getitem__, status))

    def _cut(self, batch: Sequence[bytes]) -> tuple[list[Sequence[bytes]], list[float | None]]:
        """The lines cut at their keys; ValueError where they are not written as records write them."""
        if not all(line.endswith(b"}\n") for line in batch):
            raise ValueError("a line is damaged")
        columns: list[Sequence[bytes]] = []
        rest: Sequence[bytes] = batch
        for part in _PARTS:
            cut = [line.partition(part.until) for line in rest]
            columns.append([one[0] for one in cut])
            rest = [one[2] for one in cut]
        numbers = [one.strip(b", ") for one in columns[_VALUE]]
        return columns, [None if one == _NULL else float(one) for one in numbers]

    def _parsed(
        self, batch: Sequence[bytes], first: int
    ) -> tuple[list[Sequence[bytes]], list[float | None], list[str]]:
        """The same of lines in any order of keys, each parsed. Raises InputError naming the line."""
        rows, values, status = [], [], []
        for number, line in enumerate(batch, first):
            try:
                row = from_json(line)
                rows.append(_stretches(row))
                values.append(None if row.get("value") is None else float(row["value"]))
                status.append(str(row["status"]))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InputError.at(self.where, number, None, f"damaged: not a judgment ({error})") from error
        return list(zip(*rows, strict=True)), values, status

    def _finish(self) -> Columns:
        made: dict[str, Any] = {"status": Coded(np.array(self.status, np.int64), tuple(self.statuses))}
        names = {0: {"document": "document_id"}, 1: {"system": "system", "rival": "rival"},
                 2: {name: name for name in ("unit", "list_id", "aspect", "judge", "signature", "model")},
                 4: {"error_type": "error_type"}}  # fmt: skip
        for place, fields_ in names.items():
            rows = self.words[place].rows
            made |= {name: self._column(place, [row[field] for row in rows]) for name, field in fields_.items()}
        made["named"] = self._column(4, [_named(row["label"]) for row in self.words[4].rows])
        index = [-1 if row["index"] is None else row["index"] for row in self.words[2].rows]
        made["index"] = np.array(index, np.int64)[self._rows(2)]
        made["label"] = np.array([_number(row["label"]) for row in self.words[4].rows], np.float64)[self._rows(4)]
        return Columns(**made, value=np.array(self.value))

    def _rows(self, place: int) -> Ints:
        return np.array(self.codes[place], np.int64)

    def _column(self, place: int, names: Sequence[str | None]) -> Coded:
        words = _Vocabulary()
        numbers = np.array([words[name] for name in names], np.int64)
        return Coded(numbers[self._rows(place)], tuple(words))


def _stretches(row: dict[str, Any]) -> tuple[bytes, ...]:
    """A parsed judgment as the stretches a line of it would be cut into."""
    target = row["target"]
    whole = json.dumps(
        {
            "target": {
                "document_id": target["document_id"], "system": target["system"],
                **{name: target.get(name) for name in ("rival", "unit", "index", "list_id")},
            },
            **{name: row.get(name) for name in ("aspect", "judge", "signature", "model", "value", "label")},
            "error_type": row.get("error_type"), "evidence": None,
        },
        ensure_ascii=False,
    ).encode()  # fmt: skip
    found = []
    for part in _PARTS:
        one, _, whole = whole.partition(part.until)
        found.append(one)
    return tuple(found)


def join(parts: Sequence[Columns]) -> Columns:
    """Several tables as one; asked twice, the last counts."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return of_judgments([])
    made: dict[str, Any] = {}
    for name in (field.name for field in fields(Columns)):
        columns = [getattr(part, name) for part in parts]
        if isinstance(columns[0], Coded):
            words = _Vocabulary()
            turned = [np.array([words[one] for one in column.names], np.int64)[column.codes] for column in columns]
            made[name] = Coded(np.concatenate(turned), tuple(words))
        else:
            made[name] = np.concatenate(columns)
    return Columns(**made).dedupe()
