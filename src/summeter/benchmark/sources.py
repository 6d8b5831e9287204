"""Reading of documents that have no summaries yet, and truncation of texts."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

from summeter.data.dataset import Dataset, load
from summeter.data.faults import Faults
from summeter.data.flat import splitter_of
from summeter.data.folder import Card
from summeter.data.formats import file_name, format_of, read_rows
from summeter.data.hub import fetch, is_address
from summeter.data.intake import Intake
from summeter.data.layout import PEEKED
from summeter.data.rows import Columns
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
    faults, columns = Faults(file_name(paths[0])), Columns(None)
    rows = [row for path in paths for row in read_rows(path, faults.of(file_name(path)), format_of(path))]
    for number, row in enumerate(rows, 1):
        fields = {name: value for name, value in row.cells.items() if value is not None and name not in _SUMMARY_FIELDS}
        # An empty summary by a system of the row's own, because several rows may have the same document.
        rows[number - 1] = row._replace(cells={**fields, "system": f"row {number}", "summary": ""})
    columns.recognise(rows[:PEEKED], faults)
    intake = Intake(faults, columns, "en")
    for row in rows:
        intake.take(row)
    content = intake.finish()
    extra: dict[str, dict[str, Any]] = {}
    for summary in content.summaries:
        common = extra.setdefault(summary.document_id, summary.extra)
        extra[summary.document_id] = {
            name: value for name, value in common.items() if name in summary.extra and summary.extra[name] == value
        }
    documents = {
        doc_id: document.model_copy(update={"extra": extra.get(doc_id, {})})
        for doc_id, document in content.documents.items()
    }
    card = Card(name="rows", splitter=splitter_of("en"), columns=columns.renamed)
    return Dataset(documents, (), {}, card)


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
