"""Reading of documents that have no summaries yet, and truncation of texts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from summeter.data.dataset import Dataset, load
from summeter.data.faults import Faults
from summeter.data.formats import TABLES, Row, file_name, format_of, read_rows
from summeter.data.hub import fetch, is_address
from summeter.records import InputError
from summeter.records.text import SHARE, read_share
from summeter.text.ngrams import words

_SUMMARY_FIELDS = ("system", "category", "summary", "sentences", "human")
"""Fields of a flat row that belong to the summary."""


def read_documents(source: str | Path) -> Dataset:
    """Read the documents, but not the summaries, of a dataset folder or of flat rows.

    Columns in which all rows of a document have the same value become fields of the document's `extra`. Raises
    InputError with all faults.
    """
    if not is_address(source) and Path(source).is_dir():
        data = load(source)
        return Dataset(data.documents, (), {}, data.card, data.warnings, fact_origins=data.fact_origins)
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
        data = load([_document_row(row.cells, number) for number, (_, row) in enumerate(rows)])
    except InputError as error:
        locations = {number: (name, row.line) for number, (name, row) in enumerate(rows, 1)}
        unknown = file_name(source), None
        raise InputError(
            [
                fault._replace(file=file, line=line)
                for fault in error.faults
                for file, line in [locations.get(fault.line or 0, unknown)]
            ]
        ) from error
    extra: dict[str, dict[str, Any]] = {}
    for summary in data.summaries:
        common = extra.setdefault(summary.document_id, summary.extra)
        extra[summary.document_id] = {
            name: value for name, value in common.items() if name in summary.extra and summary.extra[name] == value
        }
    documents = {
        doc_id: document.model_copy(update={"extra": extra.get(doc_id, {})})
        for doc_id, document in data.documents.items()
    }
    return Dataset(documents, (), {}, data.card, data.warnings)


def _document_row(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the row with an empty summary by a system that is unique to the row.

    Several rows may then have the same document.
    """
    fields = {name: value for name, value in row.items() if value is not None and name not in _SUMMARY_FIELDS}
    return {**fields, "system": f"row {number}", "summary": ""}


def truncate(text: str, max_words: int | None) -> tuple[str, int]:
    """Return the first `max_words` words of a text, and the number of words that were removed.

    Words are counted by `text.ngrams.words`. A sequence without whitespace ("re-opened", "5:30") is not divided, so the
    result may have fewer words. The text is returned unchanged if `max_words` is None.

    >>> truncate("It rained. (It snowed.)", 2)
    ('It rained.', 2)
    >>> truncate("It re-opened.", 2)
    ('It', 2)
    """
    tokens = [] if max_words is None else words(text)
    if max_words is None or len(tokens) <= max_words:
        return text, 0
    gaps = [text[first.end : second.start] for first, second in itertools.pairwise(tokens[: max_words + 1])]
    # A text may end at whitespace, or between any two words in a script that is written without spaces.
    ends = (count for count in range(max_words, 0, -1) if not gaps[count - 1] or re.search(r"\s", gaps[count - 1]))
    kept = next(ends, max_words)
    marks = re.match(r"\S*(?=\s)", gaps[kept - 1])
    return text[: tokens[kept - 1].end + (0 if marks is None else marks.end())], len(tokens) - kept
