"""Writing a dataset in shards: flat files are read in bounded memory, however large they are."""

from __future__ import annotations

import json
import shutil
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import IO, NamedTuple

from summeter.data import shards
from summeter.data.dataset import Dataset, Rows, ShardedDataset, Source, load
from summeter.data.faults import Dropped, Faults, OnFault
from summeter.data.folder import Card, Content
from summeter.data.formats import OnRead
from summeter.data.human_judgments import SpanAnnotators
from summeter.data.intake import Intake
from summeter.data.presets.base import Record
from summeter.data.remote import is_remote
from summeter.data.rows import Columns, unnamed_document
from summeter.data.shards import SHARD_DOCUMENTS, Shards, ShardWriter, building_shards
from summeter.records import (
    Document,
    FactOrigin,
    Fault,
    Judgment,
    Parameter,
    Summary,
    UsageError,
)

_SPILL = ".rows"
_OPEN_FILES = 64
"""Spilled shards that are open for writing at a time."""


def shard(
    data: str | Path | Rows | Sequence[str | Path] | Dataset,
    folder: str | Path,
    *,
    documents_per_shard: int = SHARD_DOCUMENTS,
    map: Mapping[str, str] | None = None,  # noqa: A002
    preset: str | None = None,
    format: str | None = None,  # noqa: A002
    language: str = "en",
    documents: str | Path | Sequence[str | Path] = (),
    on_fault: OnFault = "error",
    on_read: OnRead | None = None,
    card: Mapping[str, str] | None = None,
    force: bool = False,
) -> ShardedDataset:
    """Write a dataset as a folder of shards of so many documents each, whole or not at all; returns it.

    The shards hold what `load` gives for the same data, the summaries in the order of their documents. A flat file is
    read row by row: once where the rows of a document stand within one shard's reach of each other, else twice, its
    rows then waiting on disk beside the shards; memory holds one shard. (A file in which spans were marked is read
    twice as well: who marked nothing in a summary is known at its end.) Data of a public layout (`preset`), rows with
    `documents` by id, JSON, XLSX and dataset folders are loaded first. `card` has the `name`, `version`, `licence` and
    `citation` that the card is to say.

    Raises InputError with every fault, UsageError as `load` does, for less than one document a shard, and where the
    folder holds something: shards are replaced with `force`, anything else never.
    """
    if documents_per_shard < 1:
        raise UsageError(Parameter("documents_per_shard"), f" is {documents_per_shard}; give at least 1")
    target = folder if is_remote(folder) else Path(folder)
    shards.check_target(target, force=force)
    if isinstance(data, Dataset):
        return _shard_dataset(data, target, documents_per_shard, card or {})
    source = Source.of(data, map=map, preset=preset, format=format, language=language, documents=documents,
                       on_fault=on_fault, on_read=on_read)  # fmt: skip
    if source.folder is not None or source.layout is not None or source.documents:
        whole = load(data, map=map, preset=preset, format=format, language=language, documents=documents,
                     on_fault=on_fault, on_read=on_read)  # fmt: skip
        sharded = _shard_dataset(whole, target, documents_per_shard, card or {})
        sharded.warnings = whole.warnings
        return sharded
    streamed = _Streamed(source, map, documents_per_shard, card or {})
    with building_shards(target) as fresh:
        streamed.write(fresh)
    sharded = ShardedDataset(Shards.open(target), streamed.dropped)
    sharded.warnings = streamed.warnings
    return sharded


def _shard_dataset(data: Dataset, target: str | Path, size: int, card: Mapping[str, str]) -> ShardedDataset:
    named = data.with_card(**card)
    documents = _documents(data)
    with building_shards(target) as fresh, ShardWriter(fresh, named.card) as writer:
        while chunk := list(islice(documents, size)):
            writer.add(_content(chunk, named.card))
        writer.seal(data.dropped)
    return ShardedDataset(Shards.open(target), data.dropped)


class _Document(NamedTuple):
    """A document with all that belongs to it."""

    document: Document
    summaries: Sequence[Summary]
    judgments: Mapping[str, Sequence[Judgment]]
    origins: tuple[FactOrigin, ...] | None


def _documents(data: Dataset) -> Iterator[_Document]:
    """The documents of a dataset; of data in shards, one shard is in memory at a time."""
    for part in data.parts():
        judgments: dict[str, dict[str, list[Judgment]]] = {}
        for name in part.judgment_sets:
            for judgment in part.iter_judgments(name):
                own = judgments.setdefault(judgment.target.document_id, {})
                own.setdefault(name, []).append(judgment)
        for document, summaries in part.items():
            yield _Document(document, summaries, judgments.get(document.id, {}), part.fact_origins.get(document.id))


def _content(chunk: Sequence[_Document], card: Card) -> Content:
    """Some documents as a folder holds them."""
    names = dict.fromkeys(name for each in chunk for name in each.judgments)
    return Content(
        card,
        {each.document.id: each.document for each in chunk},
        tuple(summary for each in chunk for summary in each.summaries),
        {name: partial(_judgments, chunk, name) for name in names},
        {each.document.id: each.origins for each in chunk if each.origins is not None},
    )


def _judgments(chunk: Sequence[_Document], name: str) -> Iterator[Judgment]:
    return chain.from_iterable(each.judgments.get(name, ()) for each in chunk)


class _Apart(Exception):
    """A row belongs to a document whose shard is written already."""


class _Streamed:
    """Flat rows on their way into shards."""

    def __init__(self, source: Source, renamed: Mapping[str, str] | None, size: int, card: Mapping[str, str]) -> None:
        self._source, self._renamed, self._size = source, renamed, size
        self._card = source.card.model_copy(update=dict(card))
        self._again = source.paths is None or "-" not in map(str, source.paths)
        """Whether the rows can be read a second time."""
        self.dropped: tuple[Dropped, ...] = ()
        self.warnings: tuple[Fault, ...] = ()

    def write(self, fresh: Path) -> None:
        """Fill a new folder. Raises InputError with every fault."""
        rows = None if self._again else self._spilled(fresh)
        try:
            annotators = self._write(fresh, rows, None)
        except _Apart:
            _empty(fresh)
            self._source = self._source._replace(on_read=None)  # the rows were told of as they were read first
            rows = self._spilled(fresh)
            annotators = self._write(fresh, rows, None)
        if annotators.marked and len(list(fresh.glob("shard-*"))) > 1:
            _empty(fresh, keep=_SPILL)
            self._source = self._source._replace(on_read=None)
            self._write(fresh, rows, annotators)
        shutil.rmtree(fresh / _SPILL, ignore_errors=True)

    def _spilled(self, fresh: Path) -> _Spill:
        faults = self._source.faults()
        return _Spill(fresh / _SPILL, self._source.flat(faults), faults, self._places())

    def _places(self) -> _Places:
        return _Places(self._size, Columns(self._renamed))

    def _write(self, fresh: Path, spill: _Spill | None, annotators: SpanAnnotators | None) -> SpanAnnotators:
        """Write all shards; `annotators` are known from an earlier reading. Returns them."""
        faults, columns = self._source.faults() if spill is None else deepcopy(spill.faults), Columns(self._renamed)
        intake = Intake(faults, columns, self._source.language, annotators)
        parts = spill.parts() if spill is not None else _adjacent(self._source.flat(faults), self._places())
        with ShardWriter(fresh, self._card) as writer:
            for rows in parts:
                for record in rows:
                    intake.take(record)
                part = intake.part()
                if part is not None:
                    data = Dataset(part.documents, part.summaries, part.judgments, self._card)
                    writer.add(_content(list(_documents(data)), self._card))
            known = intake.end()
            writer.seal(faults.dropped)
        self.dropped, self.warnings = faults.dropped, (*self._source.warnings, *faults.warnings)
        return known


def _empty(folder: Path, keep: str = "") -> None:
    """Remove what stands in a folder."""
    for path in folder.iterdir():
        if path.name == keep:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


class _Places:
    """Which shard the document of a row is in: so many documents a shard, in the order in which they appear.

    Memory holds a hash of each document's id. Two ids with one hash share a shard, which does no harm.
    """

    def __init__(self, size: int, columns: Columns) -> None:
        self._size, self._columns = size, columns
        self._shards: dict[int, int] = {}

    def of(self, record: Record) -> int:
        """The number of the row's shard; one that is at fault belongs anywhere."""
        doc_id = self._columns.cell(record.cells, "doc_id")
        if isinstance(doc_id, int) and not isinstance(doc_id, bool):
            doc_id = str(doc_id)
        if not isinstance(doc_id, str) or not doc_id:
            text = self._columns.cell(record.cells, "document")
            doc_id = unnamed_document(text) if isinstance(text, str) else ""
        return self._shards.setdefault(hash(doc_id), len(self._shards) // self._size)


def _adjacent(records: Iterable[Record], places: _Places) -> Iterator[Iterator[Record]]:
    """The rows of each shard, as they come. Raises _Apart at a row of a document whose shard has been given out."""
    last = 0

    def place(record: Record) -> int:
        nonlocal last
        if (here := places.of(record)) < last:
            raise _Apart
        last = here
        return here

    return (rows for _, rows in groupby(records, place))


class _Spill:
    """The rows of each shard in a file of their own; `faults` are those of reading them."""

    def __init__(self, folder: Path, records: Iterable[Record], faults: Faults, places: _Places) -> None:
        folder.mkdir()
        self._folder, self.faults = folder, faults
        self._files: OrderedDict[int, IO[bytes]] = OrderedDict()
        self._count = 0
        try:
            for record in records:
                place = places.of(record)
                self._count = max(self._count, place + 1)
                if (line := _line(record)) is not None:
                    self._file(place).write(line)
        finally:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _file(self, place: int) -> IO[bytes]:
        file = self._files.pop(place, None)
        if file is None:
            if len(self._files) >= _OPEN_FILES:
                self._files.popitem(last=False)[1].close()
            file = self._path(place).open("ab")
        self._files[place] = file
        return file

    def _path(self, place: int) -> Path:
        return self._folder / f"{place:05}.jsonl"

    def parts(self) -> Iterator[Iterator[Record]]:
        """The rows of each shard."""
        return (self._rows(path) for path in map(self._path, range(self._count)) if path.exists())

    @staticmethod
    def _rows(path: Path) -> Iterator[Record]:
        with path.open("rb") as lines:
            for line in lines:
                yield Record(*json.loads(line))


def _line(record: Record) -> bytes | None:
    """A row as a line; None where it is nested too deeply for one. What JSON cannot hold is at fault, and noted so:
    what stands for it here only has to be read."""
    file, number, cells, as_text = record
    try:
        return json.dumps([file, number, dict(cells), as_text], default=repr).encode() + b"\n"
    except RecursionError:
        return None
