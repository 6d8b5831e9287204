"""Judgments as columns: the same facts as a list of `Judgment`, in numpy arrays, for studies of millions.

`of_judgments` takes records; `read_lines` takes their JSON, one a line, and builds no record at all (a million
lines in a few seconds). Names are kept once and rows hold their numbers (`Coded`). Nothing here opens a file.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from summeter.records import InputError, Judgment
from summeter.stats.base import Bools, Floats, Ints

_BATCH = 2048
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


# A key with its quotes and colon cannot stand inside a JSON string (a quote there has a backslash before it), so the
# first `"system":` of a line is the key.
_SYSTEM, _UNIT, _VALUE, _LABEL, _REST = (f'"{name}":'.encode() for name in (
    "system", "unit", "value", "label", "evidence"
))  # fmt: skip
_NULL = b"null"


class _Chunks(dict[bytes, int]):
    """Stretch of a line -> number. Each distinct one is parsed when it is first seen; ValueError if it is no such.

    `head` and `tail` make JSON of a stretch, which must then hold exactly `keys`.
    """

    def __init__(self, head: bytes, tail: bytes, *keys: str) -> None:
        super().__init__()
        self.head, self.tail, self.keys_wanted = head, tail, frozenset(keys)
        self.rows: list[dict[str, Any]] = []

    def __missing__(self, chunk: bytes) -> int:
        row = from_json(self.head + chunk.rstrip(b", ") + self.tail)
        row |= row.pop("target", {})
        if row.keys() != self.keys_wanted:
            raise ValueError(f"not {sorted(self.keys_wanted)}")
        self[chunk] = number = len(self)
        self.rows.append(row)
        return number


class _Cut(NamedTuple):
    """Some lines, cut: the numbers of their stretches, their values (NaN for none) and statuses."""

    documents: list[int]
    systems: list[int]
    questions: list[int]
    labels: list[int]
    values: list[float]
    statuses: list[str]


class _Lines:
    """Reads lines. A million of them have few distinct stretches, and only those are parsed."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.documents = _Chunks(b"", b"}}", "document_id")
        self.systems = _Chunks(b'{"system":', b"}", "system", "rival")
        self.questions = _Chunks(
            b'{"target":{"unit":', b"}", "unit", "index", "list_id", "aspect", "judge", "signature", "model"
        )
        self.labels = _Chunks(b'{"label":', b"}", "label", "error_type")
        self.statuses = _Vocabulary()
        self.codes = {name: array("i") for name in ("documents", "systems", "questions", "labels", "statuses")}
        self.value = array("d")

    def read(self, lines: Iterable[bytes]) -> Columns:
        source, done = iter(lines), 0
        while batch := list(islice(source, _BATCH)):
            if not batch[-1].endswith(b"\n"):
                batch.pop()
            try:
                cut = self._cut(batch)
            except (ValueError, KeyError):
                cut = self._cut(self._written(batch, done + 1))
            for name in ("documents", "systems", "questions", "labels"):
                self.codes[name].extend(getattr(cut, name))
            self.codes["statuses"].extend(map(self.statuses.__getitem__, cut.statuses))
            self.value.extend(cut.values)
            done += len(batch)
        return self._finish()

    def _cut(self, batch: Sequence[bytes]) -> _Cut:
        """Cut lines at their keys; ValueError where they are not written as records write them."""
        # This loop runs once a judgment, so what it needs is at hand.
        cut = _Cut([], [], [], [], [], [OK] * len(batch))
        add_document, add_system = cut.documents.append, cut.systems.append
        add_question, add_label, add_value = cut.questions.append, cut.labels.append, cut.values.append
        questions, labels = self.questions, self.labels
        last, document, system = b"", -1, -1
        for place, line in enumerate(batch):
            item, _, rest = line.partition(_UNIT)
            if item != last:
                last = item
                first, _, second = item.partition(_SYSTEM)
                document, system = self.documents[first], self.systems[second]
            question, _, rest = rest.partition(_VALUE)
            number, _, rest = rest.partition(_LABEL)
            label, _, rest = rest.partition(_REST)
            if rest[-2:] != b"}\n":
                raise ValueError("the line is damaged")
            add_document(document)
            add_system(system)
            add_question(questions[question])
            add_label(labels[label])
            number = number.strip(b", ")
            if number != _NULL:
                add_value(float(number))
                continue
            add_value(_NAN)
            # A judgment with a value or a label is ok; what has neither says further on what became of it.
            if label.lstrip().startswith(_NULL):
                cut.statuses[place] = from_json(line)["status"]
        return cut

    def _written(self, batch: Sequence[bytes], first: int) -> list[bytes]:
        """Lines with keys in any order as records write them. Raises InputError naming the line."""
        written = []
        for number, line in enumerate(batch, first):
            try:
                written.append(_as_written(from_json(line)))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InputError.at(self.where, number, None, f"damaged: not a judgment ({error})") from error
        return written

    def _finish(self) -> Columns:
        made: dict[str, Any] = {
            "status": Coded(self._rows("statuses"), tuple(self.statuses)), "value": np.array(self.value),
            "document": self._column("documents", "document_id"), "named": self._column("labels", "label", _named),
            "error_type": self._column("labels", "error_type"),
            "index": self._numbers("questions", "index", lambda one: -1 if one is None else int(one), np.int64),
            "label": self._numbers("labels", "label", _number, np.float64),
        }  # fmt: skip
        made |= {name: self._column("systems", name) for name in ("system", "rival")}
        made |= {
            name: self._column("questions", name)
            for name in ("unit", "list_id", "aspect", "judge", "signature", "model")
        }
        return Columns(**made)

    def _rows(self, chunks: str) -> Ints:
        return np.array(self.codes[chunks], np.int64)

    def _column(self, chunks: str, field: str, read: Callable[[Any], str | None] | None = None) -> Coded:
        words = _Vocabulary()
        rows: list[dict[str, Any]] = getattr(self, chunks).rows
        names = (row[field] for row in rows) if read is None else (read(row[field]) for row in rows)
        numbers = np.array([words[name] for name in names], np.int64)
        return Coded(numbers[self._rows(chunks)], tuple(words))

    def _numbers(self, chunks: str, field: str, read: Callable[[Any], float], kind: Any) -> NDArray[Any]:
        values = [read(row[field]) for row in getattr(self, chunks).rows]
        return np.array(values, kind)[self._rows(chunks)]


def _as_written(row: dict[str, Any]) -> bytes:
    """The line a record of this judgment would write, as far as it is read here."""
    target = row["target"]
    if row.get("value") is not None:
        float(row["value"])
    whole = {
        "target": {
            "document_id": target["document_id"], "system": target["system"],
            **{name: target.get(name) for name in ("rival", "unit", "index", "list_id")},
        },
        **{name: row.get(name) for name in ("aspect", "judge", "signature", "model", "value", "label")},
        "error_type": row.get("error_type"), "evidence": None, "status": row["status"],
    }  # fmt: skip
    return json.dumps(whole, ensure_ascii=False).encode() + b"\n"


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
