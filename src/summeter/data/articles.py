"""Read documents from separate files: tables with ids and texts, or one file per document."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Any

from summeter.data.faults import Faults
from summeter.data.formats import Row, file_name, format_of, read_rows
from summeter.records import Parameter, UsageError
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


class ArticleTexts:
    """Documents read from files and folders.

    Files in a folder or its subfolders (`.story`, `.summary`, `.txt`, `.document`) are named after the document id, and
    each is read when it is accessed. From a table or JSON file, the documents whose ids are in `wanted` (all documents
    if it is None) are loaded into memory.
    """

    def __init__(self, paths: Iterable[str | Path], faults: Faults, wanted: set[str] | None = None) -> None:
        self.names = ", ".join(map(str, paths := list(paths)))
        self._faults = faults
        self._files: dict[str, list[Path]] = {}
        self._texts: dict[str, str] = {}
        self._lines: dict[str, tuple[str, int]] = {}
        self.withheld: set[str] = set()
        """Ids of the documents that must not be published."""
        for path in paths:
            if Path(path).is_dir():
                self._list_folder(Path(path))
            else:
                self._read_table(path, wanted)
        for doc_id in self._files:
            if wanted is None or doc_id in wanted:
                self._check_unique(doc_id)

    def text(self, doc_id: str) -> str | None:
        """Return the text of a document, or None if it is missing or unreadable.

        An unreadable document is a fault.
        """
        if doc_id in self._texts:
            return self._texts[doc_id]
        if doc_id not in self._files:
            return None
        text = self._text_of(self._files[doc_id][0])
        if text is not None:
            self._texts[doc_id] = text
        return text

    def shared(self, row: Row, doc_id: str) -> Row:
        """Return the row, with `share` set to false if the document must not be published."""
        if doc_id not in self.withheld:
            return row
        cells = copy(row.cells)
        cells[SHARE] = False
        return row._replace(cells=cells)

    def _check_unique(self, doc_id: str) -> None:
        """Add a fault if a document occurs several times with different texts."""
        first, *others = self._files[doc_id]
        if doc_id in self._lines:
            location, others = "{} (line {})".format(*self._lines[doc_id]), [first, *others]
        else:
            location = str(first)
        for path in others:
            text, other = self.text(doc_id), self._text_of(path)
            if text is not None and other is not None and text != other:
                message = f"{doc_id!r} has a different text in {location}; keep one"
                self._faults.of(str(path)).fail(None, None, message)

    def _text_of(self, path: Path) -> str | None:
        try:
            return _SUFFIXES[path.suffix.lower()](path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            self._faults.of(str(path)).fail(None, None, f"is not UTF-8: byte {error.start + 1}; save the file as UTF-8")
        except OSError as error:
            self._faults.of(str(path)).fail(None, None, f"cannot be read: {error.strerror or error}")
        return None

    def _list_folder(self, folder: Path) -> None:
        for parent, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = Path(parent) / name
                if path.suffix.lower() in _SUFFIXES:
                    self._files.setdefault(path.stem, []).append(path)
        if not self._files:
            kinds = ", ".join(_SUFFIXES)
            self._faults.of(str(folder)).fail(None, None, f"contains no documents; give files named ID{kinds}")

    def _read_table(self, path: str | Path, wanted: set[str] | None) -> None:
        faults = self._faults.of(file_name(path))
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
            if wanted is not None and doc_id not in wanted:
                continue
            for name in filter(is_share, map(str, row.cells)):
                share = read_share(row.cells[name])
                if share is False:
                    self.withheld.add(doc_id)
                elif share is not None and share is not True:
                    faults.fail(line, name, f"is {share!r}; give true or false")
            if doc_id in self._lines and self._texts[doc_id] != cells[content]:
                file, other = self._lines[doc_id]
                where = f"in line {other}" if file == faults.file else f"in {file}, line {other}"
                faults.fail(line, column, f"{doc_id!r} has a different text {where}; keep one")
                continue
            self._lines.setdefault(doc_id, (faults.file, line))
            self._texts[doc_id] = cells[content]


def missing_articles(what: str) -> tuple[str | Parameter, ...]:
    """Return the message for rows without documents."""
    return (f"the rows have no documents; give {what} with ", Parameter("documents", "FILE|FOLDER"))
