"""Documents to be summarized: rows that need no summary yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from summeter.data.dataset import Dataset, load
from summeter.data.faults import Faults
from summeter.data.formats import TABLES, Row, file_name, format_of, read_rows
from summeter.data.hub import fetch, is_address
from summeter.records import Document, InputError, UsageError
from summeter.records.text import SHARE, read_share
from summeter.text.ngrams import words

_OF_SUMMARIES = ("system", "category", "summary", "sentences", "human")
"""Fields of a flat row that are not its document's."""


def read_documents(source: Dataset | str | Path | Iterable[Mapping[str, Any]]) -> tuple[Document, ...]:
    """The documents of a dataset, of a dataset folder, or of flat rows (a file, `-`, or dicts): `document`, and what
    belongs to it (`doc_id`, `domain`, `reference`...). Summaries that are there are not looked at.

    Raises InputError with every fault found; UsageError where there is no document with text.

    >>> [one.text for one in read_documents([{"document": "It rained."}])]
    ['It rained.']
    """
    if isinstance(source, Dataset):
        data = source
    elif isinstance(source, str | Path):
        data = load(source) if str(source) != "-" and Path(source).is_dir() else _from_file(source)
    else:
        data = _with_columns(load([_bare(row, place) for place, row in enumerate(source)]))
    documents = tuple(document for document in data.documents.values() if document.text.strip())
    if not documents:
        raise UsageError("there is no document with text to summarize")
    return documents


def _from_file(source: str | Path) -> Dataset:
    paths = fetch(source).files if is_address(source) else (source,)
    rows: list[tuple[str, Row]] = []
    for path in paths:
        faults = Faults(file_name(path))
        kind = format_of(path)
        for row in read_rows(path, faults, kind):
            share = {SHARE: read_share(row.cells[SHARE])} if kind in TABLES and SHARE in row.cells else {}
            rows.append((faults.file, row._replace(cells={**row.cells, **share})))
        faults.stop()
    try:
        return _with_columns(load([_bare(row.cells, place) for place, (_, row) in enumerate(rows)]))
    except InputError as error:
        places = {place: (name, row.line) for place, (name, row) in enumerate(rows, 1)}
        unknown = file_name(source), None
        faults_by_line = [
            fault._replace(file=file, line=line)
            for fault in error.faults
            for file, line in [places.get(fault.line or 0, unknown)]
        ]
        raise InputError(faults_by_line) from error


def _bare(row: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The row's document, under a system of its own without a summary: rows of several systems are one document."""
    kept = {name: value for name, value in row.items() if value is not None and name not in _OF_SUMMARIES}
    return {**kept, "system": f"row {place}", "summary": ""}


def _with_columns(data: Dataset) -> Dataset:
    """The data whose documents keep the columns in which all their rows say the same."""
    extra: dict[str, dict[str, Any]] = {}
    for summary in data.summaries:
        known = extra.setdefault(summary.document_id, summary.extra)
        extra[summary.document_id] = {
            name: value for name, value in known.items() if name in summary.extra and summary.extra[name] == value
        }
    documents = {
        doc_id: document.model_copy(update={"extra": extra.get(doc_id, {})})
        for doc_id, document in data.documents.items()
    }
    return Dataset(documents, (), {}, data.card, data.warnings)


def cut(text: str, most: int | None) -> tuple[str, int]:
    """The first `most` words of a text (all where None), and how many words were left out.

    Words are those of `text.ngrams.words`, which every other count of words uses. What is written without a blank
    ("re-opened", "5:30") is kept or left out as a whole, so that a few words fewer may be kept.

    >>> cut("It rained. (It snowed.)", 2)
    ('It rained.', 2)
    >>> cut("It re-opened.", 2)
    ('It', 2)
    """
    tokens = [] if most is None else words(text)
    if most is None or len(tokens) <= most:
        return text, 0
    ends = (place for place in range(most, 0, -1) if _may_end(text[tokens[place - 1].end : tokens[place].start]))
    kept = next(ends, most)
    marks = re.match(r"\S*(?=\s)", text[tokens[kept - 1].end : tokens[kept].start])
    return text[: tokens[kept - 1].end + (0 if marks is None else marks.end())], len(tokens) - kept


def _may_end(between: str) -> bool:
    """Whether a text may be cut between two words: at a blank, or in a script that is written without blanks."""
    return not between or any(map(str.isspace, between))
