"""What of a run is finished, in columns: some 50 bytes an item, where a record of each would take a kilobyte."""

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
"""(document, system, rival): what a judge judges."""
DoneKey = tuple[str, str, str, str | None]
"""(signature, document, system, rival): an item that a judge has finished."""
Keys = NDArray[np.bytes_]

KEY_BYTES = 16
_KEY = f"S{KEY_BYTES}"
PART = 2**25
"""Bytes of a file that are in memory at a time, parsed."""
_RECENT = 4096


class Done(Record):
    """Progress: one evaluator has finished one item; `judgments` is how many it wrote, `checksum` that of the
    item and their lines, `prepared` the id of what was prepared for them."""

    signature: str
    document_id: str
    system: str
    rival: str | None = None
    judgments: int
    checksum: int
    prepared: str | None = None

    @property
    def key(self) -> DoneKey:
        """(signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


def hashed(document_id: str, system: str, rival: str | None) -> bytes:
    """An item as 16 bytes of a hash; none ends with a zero, which numpy would take off."""
    text = f"{len(document_id)}:{len(system)}:{'' if rival is None else len(rival)}:{document_id}{system}{rival or ''}"
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
    return key if key[-1] else key[:-1] + b"\1"


def hashes_of(items: Iterable[ItemKey]) -> Keys:
    """`hashed` of each item."""
    return np.frombuffer(b"".join(hashed(*item) for item in items), dtype=_KEY)


def places_of(wanted: Keys, keys: Keys) -> Ints:
    """The place of each wanted hash among `keys`, -1 where it is not there; of two equal keys the first counts.

    >>> places_of(hashes_of([("a", "s", None), ("c", "s", None)]), hashes_of([("b", "s", None), ("a", "s", None)]))
    array([ 1, -1])
    """
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(keys[order].searchsorted(wanted), len(keys) - 1)
    return np.where(keys[order][at] == wanted, order[at], -1).astype(np.int64)


class DoneItems:
    """The items that each judge has finished: 16 bytes an item, and a set of those finished last.

    >>> done = DoneItems()
    >>> done.add(("j|v:1", "d", "s", None))
    >>> ("j|v:1", "d", "s", None) in done, ("j|v:1", "d", "t", None) in done, len(done), done.count("j|v:1")
    (True, False, 1, 1)
    """

    def __init__(self) -> None:
        self._sorted: dict[str, Keys] = {}
        self._recent: dict[str, set[bytes]] = {}

    @classmethod
    def of(cls, keys: Iterable[DoneKey]) -> DoneItems:
        """From keys."""
        done = cls()
        for key in keys:
            done.add(key)
        return done

    def __contains__(self, key: object) -> bool:
        match key:
            case (str(signature), str(document_id), str(system), rival) if rival is None or isinstance(rival, str):
                return self._has(signature, hashed(document_id, system, rival))
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
        """How many items a judge has finished."""
        return len(self._sorted.get(signature, ())) + len(self._recent.get(signature, ()))

    def add(self, key: DoneKey) -> None:
        """Note that a judge has finished an item."""
        signature, document_id, system, rival = key
        name = hashed(document_id, system, rival)
        if self._has(signature, name):
            return
        recent = self._recent.setdefault(signature, set())
        recent.add(name)
        if len(recent) > max(_RECENT, self.count(signature) // 8):
            self.add_all(signature, np.array(sorted(recent), dtype=_KEY))
            recent.clear()

    def add_all(self, signature: str, keys: Keys) -> None:
        """Note that a judge has finished the items with these hashes."""
        known = self._sorted.get(signature)
        self._sorted[signature] = np.unique(keys if known is None else np.concatenate([known, keys]))

    def drop(self, signature: str) -> None:
        """Forget all that a judge has finished."""
        self._sorted.pop(signature, None)
        self._recent.pop(signature, None)


class ProgressTable:
    """The lines of progress.jsonl as columns, one row an item: of two lines about it the later counts, at the place of
    the first. `checksum` is that of an item's lines of judgments."""

    def __init__(self, key: Sequence[Categorical], judgments: Ints, checksum: Ints, prepared: Categorical) -> None:
        """`key` has the columns of a `DoneKey`."""
        self.signature, self.document, self.system, self.rival = key
        self.judgments, self.checksum, self.prepared = judgments, np.array(checksum), prepared

    @classmethod
    def read(cls, file: Path, damaged: list[Fault] | None = None) -> ProgressTable:
        """Raises InputError naming file and line of a damaged line; given a list, notes it there and reads on."""
        table = cls.of(read_lines(file, Done, damaged))
        groups = Groups.by(table.signature, table.document, table.system, table.rival)
        if len(groups) < len(table):
            last = np.zeros(len(groups), np.int64)
            np.maximum.at(last, groups.of, np.arange(len(table)))
            table = table.take(last)
        return table

    @classmethod
    def of(cls, lines: Iterable[Done]) -> ProgressTable:
        """From records."""
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
        # A line's checksum is of the item too: an item whose name was changed has lines that are not as written.
        for factor, own in zip(_FACTORS, (table.document, table.system, table.rival), strict=True):
            by_name = np.array([factor * _name_sum(name) for name in own.names], np.int64)
            table.checksum = (table.checksum - by_name[own.codes]) & _MASK
        return table

    @classmethod
    def concat(cls, tables: Sequence[ProgressTable]) -> ProgressTable:
        """Several tables, one below the other."""
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
        """Some of the rows."""
        key = [column.take(rows) for column in (self.signature, self.document, self.system, self.rival)]
        return ProgressTable(key, self.judgments[rows], self.checksum[rows], self.prepared.take(rows))

    def of_judge(self, signature: str) -> Ints:
        """The rows of a judge."""
        return np.flatnonzero(self.signature.equal(signature))

    def item(self, row: int) -> ItemKey:
        """(document, system, rival) of a row."""
        document, system, rival = (
            column.names[column.codes[row]] for column in (self.document, self.system, self.rival)
        )
        return document or "", system or "", rival

    def items(self) -> Iterator[ItemKey]:
        """`item` of every row."""
        return map(self.item, range(len(self)))

    def keys(self) -> Keys:
        """The hash of the item of each row."""
        return hashes_of(self.items())

    def done(self) -> DoneItems:
        """Which items each judge has finished."""
        done = DoneItems()
        for signature in self.signature.used():
            done.add_all(signature or "", self.take(self.of_judge(signature or "")).keys())
        return done

    def record(self, row: int) -> Done:
        """A row as a record."""
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
        """The rows as lines of JSON."""
        return (self.record(row).model_dump_json() for row in range(len(self)))


_MASK = 0xFFFFFFFF
_FACTORS = 1, 3, 5
"""Of document, system and rival: so that names which change places change the sum."""


def _name_sum(name: str | None) -> int:
    return 0 if name is None else crc32(name.encode("utf-8", "surrogatepass"))


def item_checksum(item: ItemKey, lines: int) -> int:
    """The checksum of an item and its lines of judgments, from that of the lines."""
    return (lines + sum(factor * _name_sum(name) for factor, name in zip(_FACTORS, item, strict=True))) & _MASK


def checksum(lines: Iterable[bytes]) -> int:
    """Of lines with their line feeds, whatever their order.

    >>> checksum([b"a\\n", b"b\\n"]) == checksum([b"b\\n", b"a\\n"])
    True
    """
    return sum(map(crc32, lines)) & _MASK


class ItemPlaces(NamedTuple):
    """Where the lines of finished items stand in a file of judgments, one item after the other from its start: those of
    item `i` from byte `starts[i]` up to `starts[i + 1]` (`lines` counts the lines in the same way); `more`, whether
    others stand behind them."""

    starts: Ints
    lines: Ints
    more: bool = False

    def parts(self) -> list[int]:
        """The items, by their places, at which parts of some 32 MB begin, and where the last part ends."""
        at, last = [0], len(self.starts) - 1
        while (end := int(self.starts.searchsorted(self.starts[at[-1]] + PART))) < last:
            at.append(end)
        return [*at, last]


def item_places(file: Path, items: ProgressTable) -> ItemPlaces | None:
    """Where the lines of these items stand. None where they do not stand one item after the other from the start of the
    file as they were written. Reads the lines without parsing them."""
    if not file.exists() and items.judgments.any():
        return None
    starts = array("q", [0])
    with closing(whole_lines(file)) as lines:
        for many, wanted in zip(items.judgments.tolist(), items.checksum.tolist(), strict=True):
            own = list(islice(lines, many))
            if checksum(own) != wanted:
                return None
            starts.append(starts[-1] + sum(map(len, own)))
        more = next(lines, None) is not None
    return ItemPlaces(np.array(starts, np.int64), np.append(0, np.cumsum(items.judgments)), more)


class JudgmentLines:
    """The lines of a file of judgments beside the `items` that are confirmed, each line parsed: `of` is the row of its
    item, -1 for one that is not confirmed and for what cannot be read (`damaged` says what is wrong with that). A torn
    last line (a killed writer) is passed over."""

    def __init__(self, file: Path, items: ProgressTable) -> None:
        self.file, self.items = file, items
        self.damaged: list[Fault] = []
        keys, sums, read = bytearray(), array("L"), bytearray()
        for number, line in enumerate(whole_lines(file), 1):
            sums.append(crc32(line))
            try:
                keys += hashed(*Judgment.model_validate_json(line).target.item)
                read.append(1)
            except ValidationError as error:
                keys += bytes(KEY_BYTES - 1) + b"\1"
                read.append(0)
                self.damaged.append(damaged_line(file, number, error))
        places = places_of(np.frombuffer(bytes(keys), dtype=_KEY), items.keys())
        self.of = np.where(np.frombuffer(bytes(read), np.uint8) == 1, places, -1)
        self._sums = np.array(sums, np.uint32)
        known = self.of >= 0
        self.count = np.bincount(self.of[known], minlength=len(items)).astype(np.int64)
        # A sum of whole numbers is exact in a float up to 2^53: two million lines an item.
        total = np.bincount(self.of[known], weights=self._sums[known], minlength=len(items))
        self.checksums = total.astype(np.int64) & 0xFFFFFFFF
        """The checksum of the lines of each item, as they stand."""

    @property
    def whole(self) -> Bools:
        """Which items have exactly the lines that were written."""
        whole: Bools = (self.count == self.items.judgments) & (self.items.checksum == self.checksums)
        return whole

    def alterations(self) -> list[Fault]:
        """The items that have as many lines as were written, or more, and not those; copies of one change nothing."""
        more = (self.count > 0) & (self.count >= self.items.judgments)
        other = self.items.checksum != self.checksums
        faults = []
        for row in np.flatnonzero(more & other).tolist():
            lines = np.flatnonzero(self.of == row)
            if sum(set(self._sums[lines].tolist())) & 0xFFFFFFFF != self.items.checksum[row]:
                document, system, _ = self.items.item(row)
                what = f"judgments of document {document!r}, system {system!r} are not as they were written"
                faults.append(Fault(str(self.file), int(lines[0]) + 1, None, what))
        return faults
