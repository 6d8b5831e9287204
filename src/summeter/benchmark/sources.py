"""Documents to be summarized: rows that need no summary yet."""

from __future__ import annotations

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

_OF_SUMMARIES = ("system", "category", "summary", "sentences", "human")
"""Fields of a flat row that are not its document's."""


def read_documents(source: str | Path) -> Dataset:
    """The documents of a dataset folder or of flat rows: `document`, and what belongs to it (`doc_id`, `domain`,
    `reference`...), with the columns in which all their rows say the same. Summaries that are there are not read.

    Raises InputError with every fault found.
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
        data = load([_bare(row.cells, place) for place, (_, row) in enumerate(rows)])
    except InputError as error:
        places = {place: (name, row.line) for place, (name, row) in enumerate(rows, 1)}
        unknown = file_name(source), None
        raise InputError(
            [
                fault._replace(file=file, line=line)
                for fault in error.faults
                for file, line in [places.get(fault.line or 0, unknown)]
            ]
        ) from error
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


def _bare(row: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The row's document, under a system of its own without a summary: rows of several systems are one document."""
    kept = {name: value for name, value in row.items() if value is not None and name not in _OF_SUMMARIES}
    return {**kept, "system": f"row {place}", "summary": ""}


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
