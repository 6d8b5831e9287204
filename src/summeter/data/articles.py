"""Documents in files of their own, found by id: a table or JSON of (id, text), or a folder with a file a document."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Any

from summeter.data.faults import Faults
from summeter.data.formats import file_name, format_of, read_rows
from summeter.data.presets.base import Record
from summeter.records import Parameter, UsageError
from summeter.records.text import SHARE, is_share, read_share

IDS = ("meeting_id", "id", "doc_id", "document_id", "bbcid", "hash")
TEXTS = ("text", "document", "article", "story", "source")
"""Columns that may hold the id and the text; the first of them that a row has counts."""


def story_text(content: str) -> str:
    """The article of a CNN/DailyMail story: what stands before the first `@highlight`, its lines joined by blanks.

    That is how SummEval's and FactCC's scripts pair summaries with articles.

    >>> story_text("It rained.\\n\\n  It poured. \\n\\n@highlight\\n\\nRain")
    'It rained. It poured.'
    """
    lines = (line.strip() for line in content.partition("@highlight")[0].splitlines())
    return " ".join(line for line in lines if line)


def bbc_text(content: str) -> str:
    """The article of an XSum file: what follows `[SN]RESTBODY[SN]`, without its empty lines.

    >>> bbc_text("[SN]TITLE[SN]\\nRain\\n[SN]RESTBODY[SN]\\nIt rained.\\n\\nIt poured.\\n")
    'It rained.\\nIt poured.'
    """
    body = content.rpartition("[SN]RESTBODY[SN]")[2]
    return "\n".join(line.strip() for line in body.splitlines() if line.strip())


def spoken(cells: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row, with the utterances of a dialogue as its text where it has them apart (MediaSum's news_dialogue.json).

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
    """The documents in some files or folders. `text(id)` gives one, or None.

    A folder's files (`.story`, `.summary`, `.txt`, `.document`; in any folder below it) are named by their ids and are
    read when they are asked for. Of a table or JSON file only the documents in `wanted` are kept (None: all).
    """

    def __init__(self, paths: Iterable[str | Path], faults: Faults, wanted: set[str] | None = None) -> None:
        self.names = ", ".join(map(str, paths := list(paths)))
        self._faults = faults
        self._files: dict[str, list[Path]] = {}
        self._texts: dict[str, str] = {}
        self._lines: dict[str, tuple[str, int]] = {}
        self.withheld: set[str] = set()
        """Ids of the documents that may not be passed on, as their rows say."""
        for path in paths:
            if Path(path).is_dir():
                self._index(Path(path))
            else:
                self._read(path, wanted)
        for doc_id in self._files:
            if wanted is None or doc_id in wanted:
                self._compare(doc_id)

    def text(self, doc_id: str) -> str | None:
        """The document of that id, or None where there is none (or it cannot be read: a fault)."""
        if doc_id in self._texts:
            return self._texts[doc_id]
        if doc_id not in self._files:
            return None
        text = self._text_of(self._files[doc_id][0])
        if text is not None:
            self._texts[doc_id] = text
        return text

    def shared(self, record: Record, doc_id: str) -> Record:
        """A row about a document; `share` is false where the document's own row says so."""
        if doc_id not in self.withheld:
            return record
        cells = copy(record.cells)
        cells[SHARE] = False
        return record._replace(cells=cells)

    def _compare(self, doc_id: str) -> None:
        """A document that is there twice with two texts is a fault, which names both places."""
        first, *others = self._files[doc_id]
        if doc_id in self._lines:
            place, others = "{} (line {})".format(*self._lines[doc_id]), [first, *others]
        else:
            place = str(first)
        for path in others:
            text, other = self.text(doc_id), self._text_of(path)
            if text is not None and other is not None and text != other:
                message = f"{doc_id!r} is there twice with two texts, also in {place}; keep one"
                self._faults.of(str(path)).fail(None, None, message)

    def _text_of(self, path: Path) -> str | None:
        try:
            return _SUFFIXES[path.suffix.lower()](path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            self._faults.of(str(path)).fail(None, None, f"is not UTF-8: byte {error.start + 1}; save the file as UTF-8")
        except OSError as error:
            self._faults.of(str(path)).fail(None, None, f"cannot be read: {error.strerror or error}")
        return None

    def _index(self, folder: Path) -> None:
        for place, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = Path(place) / name
                if path.suffix.lower() in _SUFFIXES:
                    self._files.setdefault(path.stem, []).append(path)
        if not self._files:
            kinds = ", ".join(_SUFFIXES)
            self._faults.of(str(folder)).fail(None, None, f"holds no documents; give files named ID{kinds}")

    def _read(self, path: str | Path, wanted: set[str] | None) -> None:
        faults = self._faults.of(file_name(path))
        if str(path) != "-" and not Path(path).exists():
            faults.fail(None, None, "no such file or folder")
            return
        try:
            kind = format_of(path)
        except UsageError:
            faults.fail(None, None, "ends as no format does; documents are .jsonl, .json, .csv, .tsv or .parquet")
            return
        for line, released in read_rows(path, faults, kind):
            cells = spoken(released)
            column = next((name for name in IDS if cells.get(name) not in (None, "")), None)
            content = next((name for name in TEXTS if isinstance(cells.get(name), str)), None)
            if column is None or content is None:
                what = f"an id (one of {', '.join(IDS)})" if column is None else f"a text (one of {', '.join(TEXTS)})"
                faults.fail(line, None, f"has no column for {what}; its columns are: {', '.join(map(str, cells))}")
                return
            doc_id = str(cells[column])
            if wanted is not None and doc_id not in wanted:
                continue
            self._read_share(doc_id, line, released, faults)
            if doc_id in self._lines and self._texts[doc_id] != cells[content]:
                file, other = self._lines[doc_id]
                where = f"(line {other})" if file == faults.file else f"({file}, line {other})"
                faults.fail(line, column, f"{doc_id!r} is there twice with two texts {where}; keep one")
                continue
            self._lines.setdefault(doc_id, (faults.file, line))
            self._texts[doc_id] = cells[content]

    def _read_share(self, doc_id: str, line: int, cells: Mapping[str, Any], faults: Faults) -> None:
        for column in filter(is_share, map(str, cells)):
            share = read_share(cells[column])
            if share is False:
                self.withheld.add(doc_id)
            elif share is not None and share is not True:
                faults.fail(line, column, f"is {share!r}; give true or false")


def missing_articles(what: str) -> tuple[str | Parameter, ...]:
    """What is said where rows come without their documents."""
    return (f"the documents are missing: the rows have none; give {what} with ", Parameter("documents", "FILE|FOLDER"))
