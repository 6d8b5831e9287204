"""Judgments as columns: the same facts as a list of `Judgment`, in numpy arrays, for studies of millions.

`of_judgments` takes records; `read_lines` takes their JSON, one a line, and builds no record at all (a million
lines in a few seconds). Names are kept once and rows hold their numbers (`Coded`). Nothing here opens a file.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from summeter.records import InputError, Judgment
from summeter.stats.base import Bools, Floats, Ints

_BATCH = 8192
_COMBINED = 2**62

TARGET = {"document": "document_id", "system": "system", "rival": "rival", "unit": "unit", "list_id": "list_id"}
_OWN = ("aspect", "judge", "signature", "model", "status", "error_type")


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
    builder = _Builder()
    source = iter(judgments)
    while batch := list(islice(source, _BATCH)):
        for name, field in TARGET.items():
            builder.add(name, [getattr(one.target, field) for one in batch])
        for name in _OWN:
            builder.add(name, [getattr(one, name) for one in batch])
        builder.numbers([one.target.index for one in batch], [one.value for one in batch], [one.label for one in batch])
    return builder.finish().dedupe()


def read_lines(lines: Iterable[bytes], where: str = "judgments") -> Columns:
    """Columns of the JSON of judgments, one a line, without building records; asked twice, the last counts.

    A last line without its end (a killed writer) is passed over. Raises InputError naming file `where` and line.
    """
    builder = _Builder()
    for first, rows in _batches(lines, where):
        targets = [row["target"] for row in rows]
        for name, field in TARGET.items():
            builder.add(name, [target.get(field) for target in targets])
        for name in _OWN:
            builder.add(name, [row.get(name) for row in rows])
        try:
            builder.numbers(
                [target.get("index") for target in targets], [row.get("value") for row in rows],
                [row.get("label") for row in rows],
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise InputError.at(where, first, "value", f"damaged here or in the next {len(rows)} lines") from error
    return builder.finish().dedupe()


def _batches(lines: Iterable[bytes], where: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    source, done = iter(lines), 0
    while batch := list(islice(source, _BATCH)):
        first, done = done + 1, done + len(batch)
        if not batch[-1].endswith(b"\n"):
            batch.pop()
        if not batch:
            return
        # One document of many rows parses faster than many documents.
        try:
            rows = from_json(b"[" + b",".join(batch) + b"]")
        except ValueError:
            rows = [_row(line, first + place, where) for place, line in enumerate(batch)]
        for place, row in enumerate(rows):
            if row.__class__ is not dict or row.get("target").__class__ is not dict:
                raise InputError.at(where, first + place, None, "damaged: not a judgment")
        yield first, rows


def _row(line: bytes, number: int, where: str) -> Any:
    try:
        return from_json(line)
    except ValueError as error:
        raise InputError.at(where, number, None, f"damaged: {error}") from error


class _Vocabulary(dict[str | None, int]):
    """Name -> number, given in order of first appearance."""

    def __missing__(self, name: str | None) -> int:
        self[name] = number = len(self)
        return number


class _Builder:
    """Columns while rows come in."""

    def __init__(self) -> None:
        self.words = {name: _Vocabulary() for name in (*TARGET, *_OWN, "named")}
        self.codes = {name: array("i") for name in self.words}
        self.index, self.value, self.label = array("i"), array("d"), array("d")

    def add(self, name: str, values: Sequence[str | None]) -> None:
        look: Callable[[str | None], int] = self.words[name].__getitem__
        self.codes[name].extend(map(look, values))

    def numbers(self, index: Sequence[int | None], value: Sequence[Any], label: Sequence[Any]) -> None:
        self.index.extend([-1 if one is None else one for one in index])
        self.value.frombytes(np.array(value, dtype=np.float64).tobytes())
        names: Sequence[str | None] = [None] * len(label)
        if any(one.__class__ is str for one in label):
            names = [one if isinstance(one, str) else None for one in label]
            label = [None if isinstance(one, str) else one for one in label]
        self.label.frombytes(np.array(label, dtype=np.float64).tobytes())
        self.add("named", names)

    def finish(self) -> Columns:
        coded = {
            name: Coded(np.array(codes, dtype=np.int64), tuple(self.words[name])) for name, codes in self.codes.items()
        }
        return Columns(
            **coded, index=np.array(self.index, dtype=np.int64), value=np.array(self.value), label=np.array(self.label)
        )


def join(parts: Sequence[Columns]) -> Columns:
    """Several tables as one; asked twice, the last counts."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _Builder().finish()
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
