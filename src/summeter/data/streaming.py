"""Read flat rows that do not fit into memory into a temporary dataset folder."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import ExitStack
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
    parts = _spill(rows, columns, temporary.path / "rows")
    fresh = temporary.path / "data"
    faults_before = deepcopy(faults)
    annotators = _write(fresh, parts, Intake(faults, columns, language))
    if annotators.marked:  # repeat, because only now are all annotators of spans known
        shutil.rmtree(fresh)
        _write(fresh, parts, Intake(faults_before, columns, language, annotators))
    shutil.rmtree(temporary.path / "rows")
    return folders.read_on_demand(fresh, temporary)


def _spill(rows: Iterable[Row], columns: Columns, folder: Path) -> list[Path]:
    """Write the rows, in order of appearance, to files with the rows of 1,000 documents each.

    A hash of each document id is held in memory. The rows of two ids with the same hash are in one file.
    """
    folder.mkdir()
    parts: list[Path] = []
    number_of: dict[int, int] = {}
    handles: OrderedDict[int, IO[bytes]] = OrderedDict()
    try:
        for row in rows:
            part = number_of.setdefault(hash(_document_of(row, columns)), len(number_of) // DOCUMENTS_AT_ONCE)
            if part == len(parts):
                parts.append(folder / f"{part:05}.jsonl")
            handle = handles.pop(part, None)
            if handle is None:
                if len(handles) >= _OPEN_FILES:
                    handles.popitem(last=False)[1].close()
                handle = parts[part].open("ab")
            handles[part] = handle
            handle.write(json.dumps(row, default=repr).encode() + b"\n")
    finally:
        for handle in handles.values():
            handle.close()
    return parts


def _write(fresh: Path, parts: Iterable[Path], intake: Intake) -> SpanAnnotators:
    """Write the documents of each part to the files of a dataset folder, and return the annotators of spans."""
    (fresh / folders.JUDGMENTS).mkdir(parents=True)
    files: dict[str, IO[bytes]] = {}
    with ExitStack() as stack:
        for part in parts:
            with part.open("rb") as lines:
                for line in lines:
                    intake.take(Row(*json.loads(line)))
            if (content := intake.batch()) is None:
                continue
            for name, records in folders.files_with(content):
                if name not in files:
                    files[name] = stack.enter_context((fresh / name).open("wb"))
                files[name].writelines(f"{record}\n".encode() for record in records)
    return intake.end()


def _document_of(row: Row, columns: Columns) -> str:
    """Return the document id of a row, or "" if the row has none because it is faulty."""
    doc_id = columns.cell(row.cells, "doc_id")
    if isinstance(doc_id, int) and not isinstance(doc_id, bool):
        return str(doc_id)
    if isinstance(doc_id, str) and doc_id:
        return doc_id
    cell = document_in(columns.cell(row.cells, "document"), as_text=row.as_text)
    return unnamed_document(cell) if isinstance(cell, str | list) else ""
