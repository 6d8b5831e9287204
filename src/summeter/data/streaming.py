"""Flat rows that are too large for memory, written as a dataset folder on their way in."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import IO

from summeter.data import folder as folders
from summeter.data.faults import Faults
from summeter.data.folder import Card, Content
from summeter.data.human_judgments import SpanAnnotators
from summeter.data.intake import Intake
from summeter.data.presets.base import Record
from summeter.data.rows import Columns, unnamed_document

DOCUMENTS_AT_ONCE = 1000
"""Documents in memory at a time: with ten summaries each some 50 MB."""
_OPEN_FILES = 64
"""Files of waiting rows that are open for writing at a time."""


class TemporaryFolder:
    """A folder that is removed when nothing refers to it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="summeter-data-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def stream(
    records: Iterable[Record], faults: Faults, renamed: Mapping[str, str] | None, language: str, card: Card
) -> Content:
    """Check the rows and write them as a dataset folder, from which they are read on demand.

    Memory holds the rows of 1,000 documents. The rows first wait on disk, in one file for each 1,000 documents, since
    the rows of a document may stand anywhere. All is written to a temporary folder (in `TMPDIR`) that goes with the
    data; it needs about twice the room of the unpacked rows. Raises InputError with every fault.
    """
    place = TemporaryFolder()
    spilled = _Spilled(place.path / "rows", records, Columns(renamed))
    fresh = place.path / "data"
    before = deepcopy(faults)
    annotators = _write(fresh, spilled, Intake(faults, Columns(renamed), language))
    if annotators.marked:  # who marked nothing in a summary is known only now
        shutil.rmtree(fresh)
        _write(fresh, spilled, Intake(before, Columns(renamed), language, annotators))
    shutil.rmtree(place.path / "rows")
    return folders.read_on_demand(fresh, card, place)


def _write(fresh: Path, spilled: _Spilled, intake: Intake) -> SpanAnnotators:
    """Write the documents part by part. Returns who marked spans. Raises InputError with every fault."""
    with folders.Appending(fresh) as files:
        for rows in spilled.batches():
            for record in rows:
                intake.take(record)
            if (part := intake.batch()) is not None:
                files.add(part.documents.values(), part.summaries, part.judgments)
    return intake.end()


class _Spilled:
    """Rows on disk, in one file for each 1,000 documents, in the order in which the documents first appear.

    Memory holds a hash of each document's id. Two ids with one hash wait in the same file, which does no harm.
    """

    def __init__(self, folder: Path, records: Iterable[Record], columns: Columns) -> None:
        folder.mkdir()
        self._folder = folder
        number_of: dict[int, int] = {}
        handles: OrderedDict[int, IO[bytes]] = OrderedDict()
        try:
            for record in records:
                document = hash(_document_of(record, columns))
                file = number_of.setdefault(document, len(number_of) // DOCUMENTS_AT_ONCE)
                handle = handles.pop(file, None)
                if handle is None:
                    if len(handles) >= _OPEN_FILES:
                        handles.popitem(last=False)[1].close()
                    handle = self._path(file).open("ab")
                handles[file] = handle
                where, number, cells, as_text = record
                handle.write(json.dumps([where, number, dict(cells), as_text], default=repr).encode() + b"\n")
        finally:
            for handle in handles.values():
                handle.close()
        self._count = -(-len(number_of) // DOCUMENTS_AT_ONCE)

    def _path(self, file: int) -> Path:
        return self._folder / f"{file:05}.jsonl"

    def batches(self) -> Iterator[Iterator[Record]]:
        """The rows of each 1,000 documents."""
        for path in map(self._path, range(self._count)):
            with path.open("rb") as lines:
                yield (Record(*json.loads(line)) for line in lines)


def _document_of(record: Record, columns: Columns) -> str:
    """The id of the document of a row; a row without one is at fault, and may wait anywhere."""
    doc_id = columns.cell(record.cells, "doc_id")
    if isinstance(doc_id, int) and not isinstance(doc_id, bool):
        return str(doc_id)
    if isinstance(doc_id, str) and doc_id:
        return doc_id
    text = columns.cell(record.cells, "document")
    return unnamed_document(text) if isinstance(text, str) else ""
