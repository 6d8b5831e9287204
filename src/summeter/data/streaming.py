"""Read flat rows that do not fit into memory into a temporary dataset folder."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import IO

from summeter.data import folder as folders
from summeter.data.faults import Faults
from summeter.data.folder import Content
from summeter.data.formats import Row
from summeter.data.human_judgments import SpanAnnotators
from summeter.data.intake import Intake
from summeter.data.rows import Columns, document_in, unnamed_document

DOCUMENTS_AT_ONCE = 1000
"""Number of documents held in memory (about 50 MB if each has ten summaries)."""
_OPEN_FILES = 64
"""Maximum number of row files that are open for writing at the same time."""


class TemporaryFolder:
    """A folder that is removed when it is garbage-collected."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="summeter-data-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def stream(rows: Iterable[Row], faults: Faults, columns: Columns, language: str) -> Content:
    """Check the rows and write them to a dataset folder, from which they are read when accessed.

    Because the rows of a document may be far apart, all rows are first written to one file per 1,000 documents; the
    rows of one file at a time are held in memory. The temporary folder (in `TMPDIR`) exists as long as the returned
    content does, and needs about twice as much space as the uncompressed rows. Raises InputError with all faults.
    """
    temporary = TemporaryFolder()
    spilled = _Spilled(temporary.path / "rows", rows, columns)
    fresh = temporary.path / "data"
    faults_before = deepcopy(faults)
    annotators = _write(fresh, spilled, Intake(faults, columns, language))
    if annotators.marked:  # repeat, because only now are all annotators of spans known
        shutil.rmtree(fresh)
        _write(fresh, spilled, Intake(faults_before, columns, language, annotators))
    shutil.rmtree(temporary.path / "rows")
    return folders.read_on_demand(fresh, temporary)


def _write(fresh: Path, spilled: _Spilled, intake: Intake) -> SpanAnnotators:
    """Write the documents to `fresh` in batches, and return the annotators of spans."""
    with folders.Appending(fresh) as files:
        for rows in spilled.batches():
            for row in rows:
                intake.take(row)
            if (content := intake.batch()) is not None:
                files.add(content)
    return intake.end()


class _Spilled:
    """Rows stored on disk, in order of appearance, with one file per 1,000 documents.

    A hash of each document id is held in memory. The rows of two ids with the same hash are in one file.
    """

    def __init__(self, folder: Path, rows: Iterable[Row], columns: Columns) -> None:
        folder.mkdir()
        self._folder = folder
        number_of: dict[int, int] = {}
        handles: OrderedDict[int, IO[bytes]] = OrderedDict()
        try:
            for row in rows:
                document = hash(_document_of(row, columns))
                file = number_of.setdefault(document, len(number_of) // DOCUMENTS_AT_ONCE)
                handle = handles.pop(file, None)
                if handle is None:
                    if len(handles) >= _OPEN_FILES:
                        handles.popitem(last=False)[1].close()
                    handle = self._path(file).open("ab")
                handles[file] = handle
                handle.write(json.dumps(row, default=repr).encode() + b"\n")
        finally:
            for handle in handles.values():
                handle.close()
        self._count = -(-len(number_of) // DOCUMENTS_AT_ONCE)

    def _path(self, file: int) -> Path:
        return self._folder / f"{file:05}.jsonl"

    def batches(self) -> Iterator[Iterator[Row]]:
        """Yield for each file an iterator over its rows."""
        for path in map(self._path, range(self._count)):
            with path.open("rb") as lines:
                yield (Row(*json.loads(line)) for line in lines)


def _document_of(row: Row, columns: Columns) -> str:
    """Return the document id of a row, or "" if the row has none because it is faulty."""
    doc_id = columns.cell(row.cells, "doc_id")
    if isinstance(doc_id, int) and not isinstance(doc_id, bool):
        return str(doc_id)
    if isinstance(doc_id, str) and doc_id:
        return doc_id
    cell = document_in(columns.cell(row.cells, "document"), as_text=row.as_text)
    return unnamed_document(cell) if isinstance(cell, str | list) else ""
