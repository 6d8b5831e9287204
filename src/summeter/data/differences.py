"""Describe how the documents and summaries of two datasets differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from summeter.records import Document, Summary, count

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset

LISTED = 5
"""Maximum number of documents or summaries that are listed per difference."""
_DOCUMENT, _SUMMARY = ("document", "documents"), ("summary", "summaries")


def differences(before: Dataset, now: Dataset, only: tuple[str, str] = ("only before", "only now")) -> str:
    """Return the differences between two datasets with different hashes, in words.

    The first ids and their number are given for each difference. Summaries of documents that only one dataset has are
    not listed. `only` contains the words for records of one dataset.

    >>> from summeter.data.dataset import load
    >>> row = {"doc_id": "d1", "document": "It rained.", "summary": "Rain."}
    >>> differences(load([row]), load([row | {"summary": "Sun."}, row | {"doc_id": "d2"}]))
    'another text: 1 summary (d1 by system); only now: 1 document (d2)'
    """
    old, new = dict(record_hashes(before)), dict(record_hashes(now))
    found: dict[tuple[str, tuple[str, str]], list[str]] = {}
    for key in dict.fromkeys((*old, *new)):
        document, *system = key
        kind, name = (_SUMMARY, f"{document} by {system[0]}") if system else (_DOCUMENT, document)
        for title, these, others in ((only[0], old, new), (only[1], new, old)):
            if key in these and key not in others and (not system or (document,) in others):
                found.setdefault((title, kind), []).append(name)
        if key in old and key in new and old[key] != new[key]:
            field = next(field for field, value in new[key].items() if value != old[key][field])
            found.setdefault((f"another {field.replace('_', ' ')}", kind), []).append(name)
    words = [
        f"{title}: {count(len(names), *kind)} ({', '.join(names[:LISTED])}{', ...' * (len(names) > LISTED)})"
        for (title, kind), names in found.items()
    ]
    return "; ".join(words) or "the same documents and summaries in another order"


def record_hashes(data: Dataset) -> Iterator[tuple[tuple[str, ...], dict[str, int]]]:
    """Yield the key of each document and summary, and a hash of each of its fields, the text first.

    The key is (document,) or (document, system).
    """
    for document, summaries in data.items():
        yield (document.id,), _hashes(document)
        for summary in summaries:
            yield (document.id, summary.system), _hashes(summary)


def _hashes(record: Document | Summary) -> dict[str, int]:
    return {name: hash(repr(value)) for name, value in record if name not in {"id", "document_id", "system", "extra"}}
