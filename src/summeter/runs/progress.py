"""Store the finished items of a run in columns, with about 50 bytes per item.

A record would take about a kilobyte.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from summeter.records import Fault, Judgment, Record, damaged_line, read_lines, whole_lines
from summeter.scoring.table import Categorical, Groups, Vocabulary
from summeter.stats.base import Bools, Ints

PROGRESS = "progress.jsonl"

ItemKey = tuple[str, str, str | None]
"""An item: (document, system, rival)."""
DoneKey = tuple[str, str, str, str | None]
"""An item that a judge has finished: (signature, document, system, rival)."""
Keys = NDArray[np.bytes_]

KEY_BYTES = 16
_KEY = f"S{KEY_BYTES}"
CHUNK = 2**25
"""Number of bytes of a file that are read and parsed at a time."""
_RECENT = 4096


class Done(Record):
    """A line of progress.jsonl: a judge has finished an item.

    `judgments` is the number of judgments, `checksum` the checksum of the item and the lines of the judgments, and
    `prepared` the id of the prepared data that the judgments use, or None if they use none.
    """

    signature: str
    document_id: str
    system: str
    rival: str | None = None
    judgments: int
    checksum: int
    prepared: str | None = None

    @property
    def key(self) -> DoneKey:
        """The judge's signature and the item: (signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


def item_hash(document_id: str, system: str, rival: str | None) -> bytes:
    """Return a 16-byte hash of an item.

    The last byte is not zero, because NumPy strips trailing zeros.
    """
    text = f"{len(document_id)}:{len(system)}:{'' if rival is None else len(rival)}:{document_id}{system}{rival or ''}"
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
    return key if key[-1] else key[:-1] + b"\1"


def item_hashes(items: Iterable[ItemKey]) -> Keys:
    """Return an array of the hashes of the items."""
    return np.frombuffer(b"".join(item_hash(*item) for item in items), dtype=_KEY)


class DoneItems:
    """The items that each judge has finished.

    The items are stored as sorted hashes and a set of recent hashes.

    >>> done = DoneItems()
    >>> done.add(("j|v:1", "d", "s", None))
    >>> ("j|v:1", "d", "s", None) in done, ("j|v:1", "d", "t", None) in done, len(done), done.count("j|v:1")
    (True, False, 1, 1)
    """

    def __init__(self) -> None:
        self._sorted: dict[str, Keys] = {}
        self._recent: dict[str, set[bytes]] = {}

    def __contains__(self, key: object) -> bool:
        match key:
            case (str(signature), str(document_id), str(system), rival) if rival is None or isinstance(rival, str):
                return self._has(signature, item_hash(document_id, system, rival))
            case _:
                return False

    def _has(self, signature: str, key: bytes) -> bool:
        if key in self._recent.get(signature, ()):
            return True
        keys = self._sorted.get(signature)
        if keys is None:
            return False
        at = int(keys.searchsorted(np.bytes_(key)))
        return at < len(keys) and bool(keys[at] == key)

    def __len__(self) -> int:
        return sum(self.count(signature) for signature in {**self._sorted, **self._recent})

    def count(self, signature: str) -> int:
        """Return the number of items that a judge has finished."""
        return len(self._sorted.get(signature, ())) + len(self._recent.get(signature, ()))

    def add(self, key: DoneKey) -> None:
        """Add an item that a judge has finished."""
        signature, document_id, system, rival = key
        hashed_item = item_hash(document_id, system, rival)
        if self._has(signature, hashed_item):
            return
        recent = self._recent.setdefault(signature, set())
        recent.add(hashed_item)
        if len(recent) > max(_RECENT, self.count(signature) // 8):
            self.add_all(signature, np.array(sorted(recent), dtype=_KEY))
            recent.clear()

    def add_all(self, signature: str, keys: Keys) -> None:
        """Add the items that a judge has finished, given by hash."""
        old = self._sorted.get(signature)
        self._sorted[signature] = np.unique(keys if old is None else np.concatenate([old, keys]))

    def drop(self, signature: str) -> None:
        """Remove all items of a judge."""
        self._sorted.pop(signature, None)
        self._recent.pop(signature, None)


class ProgressTable:
    """The lines of progress.jsonl as columns, one row per item.

    If there are several lines about an item, the values of the last line are used at the position of the first.
    `checksum` is the checksum of the lines of judgments only.
    """

    def __init__(self, key: Sequence[Categorical], judgments: Ints, checksum: Ints, prepared: Categorical) -> None:
        """Create a table; `key` contains the columns for the fields of a `DoneKey`."""
        self.signature, self.document, self.system, self.rival = key
        self.judgments, self.checksum, self.prepared = judgments, np.array(checksum), prepared

    @classmethod
    def read(cls, file: Path, damaged: list[Fault] | None = None) -> ProgressTable:
        """Read progress.jsonl.

        Raises InputError if a line is damaged; if the list `damaged` is given, the fault is instead appended to this
        list.
        """
        table = cls.of(read_lines(file, Done, damaged))
        groups = Groups.by(table.signature, table.document, table.system, table.rival)
        if len(groups) < len(table):
            last = np.zeros(len(groups), np.int64)
            np.maximum.at(last, groups.of, np.arange(len(table)))
            table = table.take(last)
        return table

    @classmethod
    def of(cls, lines: Iterable[Done]) -> ProgressTable:
        """Create a table from records."""
        fields = ("signature", "document_id", "system", "rival", "prepared")
        words = {name: Vocabulary() for name in fields}
        codes = {name: array("i") for name in fields}
        judgments, sums = array("q"), array("q")
        for line in lines:
            for name in fields:
                codes[name].append(words[name][getattr(line, name)])
            judgments.append(line.judgments)
            sums.append(line.checksum)
        names = [Categorical(np.array(codes[name], np.int32), tuple(words[name]) or (None,)) for name in fields]
        table = cls(names[:4], np.array(judgments, np.int64), np.array(sums, np.int64), names[4])
        # The checksum of a line includes the item, so that a renamed item is detected.
        for factor, column in zip(_FACTORS, (table.document, table.system, table.rival), strict=True):
            by_name = np.array([factor * _name_sum(name) for name in column.names], np.int64)
            table.checksum = (table.checksum - by_name[column.codes]) & _MASK
        return table

    @classmethod
    def concat(cls, tables: Sequence[ProgressTable]) -> ProgressTable:
        """Concatenate tables."""
        signature, document, system, rival, prepared = (
            Categorical.concat([getattr(table, name) for table in tables])
            for name in ("signature", "document", "system", "rival", "prepared")
        )
        judgments, sums = (
            np.concatenate([getattr(table, name) for table in tables]) for name in ("judgments", "checksum")
        )
        return cls((signature, document, system, rival), judgments, sums, prepared)

    def __len__(self) -> int:
        return len(self.judgments)

    def take(self, rows: Ints | Bools) -> ProgressTable:
        """Return the table with the selected rows."""
        key = [column.take(rows) for column in (self.signature, self.document, self.system, self.rival)]
        return ProgressTable(key, self.judgments[rows], self.checksum[rows], self.prepared.take(rows))

    def of_judge(self, signature: str) -> Ints:
        """Return the indexes of the rows of a judge."""
        return np.flatnonzero(self.signature.equal(signature))

    def item(self, row: int) -> ItemKey:
        """Return the item of a row."""
        document, system, rival = (
            column.names[column.codes[row]] for column in (self.document, self.system, self.rival)
        )
        return document or "", system or "", rival

    def items(self) -> Iterator[ItemKey]:
        """Yield the item of every row."""
        columns = (column.labels() for column in (self.document, self.system, self.rival))
        return ((document or "", system or "", rival) for document, system, rival in zip(*columns, strict=True))

    def keys(self) -> Keys:
        """Return an array of the hashes of the items of all rows."""
        return item_hashes(self.items())

    def done(self) -> DoneItems:
        """Return the finished items by judge."""
        done = DoneItems()
        for signature in self.signature.used():
            done.add_all(signature or "", self.take(self.of_judge(signature or "")).keys())
        return done

    def record(self, row: int) -> Done:
        """Return a row as a record."""
        document, system, rival = self.item(row)
        return Done(
            signature=self.signature.names[self.signature.codes[row]] or "",
            document_id=document,
            system=system,
            rival=rival,
            judgments=int(self.judgments[row]),
            checksum=item_checksum((document, system, rival), int(self.checksum[row])),
            prepared=self.prepared.names[self.prepared.codes[row]],
        )

    def lines(self) -> Iterator[str]:
        """Yield the rows as lines of JSON."""
        return (self.record(row).model_dump_json() for row in range(len(self)))


_MASK = 0xFFFFFFFF
_FACTORS = 1, 3, 5
"""Factors for document, system and rival, which differ so that swapped names change the checksum."""


def _name_sum(name: str | None) -> int:
    return 0 if name is None else crc32(name.encode("utf-8", "surrogatepass"))


def item_checksum(item: ItemKey, lines: int) -> int:
    """Return the checksum of an item and the lines of its judgments.

    `lines` is the checksum of the lines.
    """
    return (lines + sum(factor * _name_sum(name) for factor, name in zip(_FACTORS, item, strict=True))) & _MASK


def checksum(lines: Iterable[bytes]) -> int:
    """Return a checksum of lines (with line feeds) that does not depend on their order.

    >>> checksum([b"a\\n", b"b\\n"]) == checksum([b"b\\n", b"a\\n"])
    True
    """
    return sum(map(crc32, lines)) & _MASK


class ItemOffsets(NamedTuple):
    """The offsets of the lines of consecutive items in a file of judgments.

    Item `i` has the bytes from `starts[i]` up to but not including `starts[i + 1]`, and the lines from `lines[i]` up to
    but not including `lines[i + 1]`. `more` says whether other lines follow the last item.
    """

    starts: Ints
    lines: Ints
    more: bool = False

    def chunks(self) -> list[int]:
        """Return the indexes of the items at which chunks start, and the number of items.

        A chunk contains about 32 MB.
        """
        at, last = [0], len(self.starts) - 1
        while (end := int(self.starts.searchsorted(self.starts[at[-1]] + CHUNK))) < last:
            at.append(end)
        return [*at, last]


def item_offsets(file: Path, items: ProgressTable) -> ItemOffsets | None:
    """Return the offsets of the lines of the items without parsing these lines.

    Returns None unless the file starts with the unchanged lines of these items in this order.
    """
    if not file.exists() and items.judgments.any():
        return None
    starts = array("q", [0])
    with closing(whole_lines(file)) as lines:
        for count, expected in zip(items.judgments.tolist(), items.checksum.tolist(), strict=True):
            item_lines = list(islice(lines, count))
            if checksum(item_lines) != expected:
                return None
            starts.append(starts[-1] + sum(map(len, item_lines)))
        more = next(lines, None) is not None
    return ItemOffsets(np.array(starts, np.int64), np.append(0, np.cumsum(items.judgments)), more)


class JudgmentLines:
    """The parsed lines of a file of judgments, matched with the confirmed `items`.

    `of` contains the row in `items` for each line, or -1 if the item is not confirmed or the line is damaged; `damaged`
    contains the faults. A truncated last line, left by a crash, is skipped.
    """

    def __init__(self, file: Path, items: ProgressTable) -> None:
        self.file, self.items = file, items
        self.damaged: list[Fault] = []
        rows = {item: row for row, item in enumerate(items.items())}
        sums, of = array("L"), array("q")
        for number, line in enumerate(whole_lines(file), 1):
            sums.append(crc32(line))
            try:
                of.append(rows.get(Judgment.model_validate_json(line).target.item, -1))
            except ValidationError as error:
                of.append(-1)
                self.damaged.append(damaged_line(file, number, error))
        self.of = np.array(of, np.int64)
        self._sums = np.array(sums, np.uint32)
        confirmed = self.of >= 0
        self.count = np.bincount(self.of[confirmed], minlength=len(items)).astype(np.int64)
        # A sum of integers is exact in a float up to 2^53, that is for two million lines per item.
        total = np.bincount(self.of[confirmed], weights=self._sums[confirmed], minlength=len(items))
        self.checksums = total.astype(np.int64) & 0xFFFFFFFF
        """The checksum of the lines of each item that are in the file."""

    @property
    def intact(self) -> Bools:
        """Boolean mask of the items whose lines are complete and unchanged."""
        intact: Bools = (self.count == self.items.judgments) & (self.items.checksum == self.checksums)
        return intact

    def alterations(self) -> list[Fault]:
        """Return a fault for each item whose lines are complete but changed.

        Repeated lines are not a change.
        """
        complete = (self.count > 0) & (self.count >= self.items.judgments)
        changed = self.items.checksum != self.checksums
        faults = []
        for row in np.flatnonzero(complete & changed).tolist():
            lines = np.flatnonzero(self.of == row)
            if sum(set(self._sums[lines].tolist())) & 0xFFFFFFFF != self.items.checksum[row]:
                document, system, _ = self.items.item(row)
                message = f"judgments of document {document!r}, system {system!r} have been changed"
                faults.append(Fault(str(self.file), int(lines[0]) + 1, None, message))
        return faults
