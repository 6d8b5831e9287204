"""Read documents from separate files: tables with ids and texts, or one file per document."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from summeter.data.faults import Faults
from summeter.data.formats import Row, file_name, format_of, read_rows
from summeter.records import UsageError
from summeter.records.text import SHARE, is_share, read_share

IDS = ("meeting_id", "id", "doc_id", "document_id", "bbcid", "hash")
TEXTS = ("text", "document", "article", "story", "source")
"""Column names for the id and for the text; the first one that a row contains is used."""


def story_text(content: str) -> str:
    """Return the lines of a CNN/DailyMail story before the first `@highlight`, joined by blanks.

    The scripts of SummEval and FactCC extract articles in the same way.

    >>> story_text("It rained.\\n\\n  It poured. \\n\\n@highlight\\n\\nRain")
    'It rained. It poured.'
    """
    lines = (line.strip() for line in content.partition("@highlight")[0].splitlines())
    return " ".join(line for line in lines if line)


def bbc_text(content: str) -> str:
    """Return the text after `[SN]RESTBODY[SN]` in an XSum file, without empty lines.

    >>> bbc_text("[SN]TITLE[SN]\\nRain\\n[SN]RESTBODY[SN]\\nIt rained.\\n\\nIt poured.\\n")
    'It rained.\\nIt poured.'
    """
    body = content.rpartition("[SN]RESTBODY[SN]")[2]
    return "\n".join(line.strip() for line in body.splitlines() if line.strip())


def spoken(cells: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of MediaSum's news_dialogue.json with the utterances joined in `text`.

    >>> spoken({"id": "NPR-1", "speaker": ["ANA", "BEN"], "utt": ["Rain.", "Yes."]})["text"]
    'ANA: Rain.\\nBEN: Yes.'
    """
    speakers, utterances = cells.get("speaker"), cells.get("utt")
    if not isinstance(speakers, list) or not isinstance(utterances, list) or len(speakers) != len(utterances):
        return cells
    lines = (f"{speaker}: {utterance}" for speaker, utterance in zip(speakers, utterances, strict=True))
    return {**cells, "text": "\n".join(lines)}


_SUFFIXES: dict[str, Callable[[str], str]] = {
    ".story": story_text,
    ".summary": bbc_text,
    ".txt": str.strip,
    ".document": str.strip,
}


class ArticleTexts(NamedTuple):
    """Documents by id, the ids of those that must not be published, and the names of the files."""

    texts: Mapping[str, str]
    withheld: Set[str]
    names: str

    def text_of(self, row: Row, doc_id: str, field: str | None, faults: Faults) -> str | None:
        """Return the document of a row, or add a fault and return None if there is no such document."""
        if doc_id not in self.texts:
            faults.add(row.line, field, f"there is no document {doc_id!r} in {self.names}; add it there")
        return self.texts.get(doc_id)

    def shared(self, row: Row, doc_id: str) -> Row:
        """Return the row, with `share` set to false if the document must not be published."""
        return row._replace(cells={**row.cells, SHARE: False}) if doc_id in self.withheld else row


def read_articles(paths: Sequence[str | Path], faults: Faults, wanted: Set[str]) -> ArticleTexts:
    """Return the documents with the ids `wanted` in files and folders.

    Files in a folder or its subfolders (`.story`, `.summary`, `.txt`, `.document`) are named after the document id. A
    document that is unreadable or occurs with several texts is a fault.
    """
    texts: dict[str, str] = {}
    first: dict[str, str] = {}
    """The file, and the line in a table, of each document."""
    withheld: set[str] = set()

    def add(doc_id: str, text: str, file: str, line: int | None = None, column: str | None = None) -> None:
        if texts.setdefault(doc_id, text) != text:
            message = f"{doc_id!r} has a different text in {first[doc_id]}; keep one"
            faults.of(file).fail(line, column, message)
        first.setdefault(doc_id, file if line is None else f"{file}, line {line}")

    for path in paths:
        if not Path(path).is_dir():
            _read_table(path, faults.of(file_name(path)), wanted, withheld, add)
            continue
        files = [
            Path(parent, name)
            for parent, _, names in sorted(os.walk(path))
            for name in sorted(names)
            if Path(name).suffix.lower() in _SUFFIXES
        ]
        if not files:
            kinds = ", ".join(_SUFFIXES)
            faults.of(str(path)).fail(None, None, f"contains no documents; give files named ID{kinds}")
        for file in files:
            if file.stem not in wanted:
                continue
            try:
                add(file.stem, _SUFFIXES[file.suffix.lower()](file.read_text(encoding="utf-8")), str(file))
            except UnicodeDecodeError as error:
                what = f"is not UTF-8: byte {error.start + 1}; save the file as UTF-8"
                faults.of(str(file)).fail(None, None, what)
            except OSError as error:
                faults.of(str(file)).fail(None, None, f"cannot be read: {error.strerror or error}")
    return ArticleTexts(texts, withheld, ", ".join(map(str, paths)))


def _read_table(
    path: str | Path, faults: Faults, wanted: Set[str], withheld: set[str], add: Callable[..., None]
) -> None:
    """Add the wanted documents of a table or JSON file."""
    if str(path) != "-" and not Path(path).exists():
        faults.fail(None, None, "no such file or folder")
        return
    try:
        kind = format_of(path)
    except UsageError:
        faults.fail(None, None, "has an unknown suffix; give documents as .jsonl, .json, .csv, .tsv or .parquet")
        return
    for row in read_rows(path, faults, kind):
        cells, line = spoken(row.cells), row.line
        column = next((name for name in IDS if cells.get(name) not in (None, "")), None)
        content = next((name for name in TEXTS if isinstance(cells.get(name), str)), None)
        if column is None or content is None:
            what = f"an id (one of {', '.join(IDS)})" if column is None else f"a text (one of {', '.join(TEXTS)})"
            faults.fail(line, None, f"has no column with {what}; its columns are: {', '.join(map(str, cells))}")
            return
        doc_id = str(cells[column])
        if doc_id not in wanted:
            continue
        for name in filter(is_share, map(str, row.cells)):
            share = read_share(row.cells[name])
            if share is False:
                withheld.add(doc_id)
            elif share is not None and share is not True:
                faults.fail(line, name, f"is {share!r}; give true or false")
        add(doc_id, cells[content], faults.file, line, column)
