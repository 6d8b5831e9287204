"""Flat rows as documents and summaries: grouped, agreed upon, split into sentences; and written back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import ValidationError

from summeter.data.faults import Faults
from summeter.data.human import CROWD, RAW, Subject, check_human
from summeter.data.judged import list_id_of, to_block, to_judgments
from summeter.data.rows import Entry
from summeter.records import Document, Judgment, Span, Summary
from summeter.records.text import Side
from summeter.text.split import SPLITTER, locate, split

GIVEN = "given"
"""The splitter of sentences that came with the input."""

_SHARED = ("references", "key_facts", "domain", "split")


class Flat(NamedTuple):
    """What a flat file says. `judgments` makes each set anew from the rows' blocks, which are far smaller."""

    documents: dict[str, Document]
    summaries: tuple[Summary, ...]
    judgments: dict[str, Callable[[], Iterator[Judgment]]]


class Gatherer:
    """Takes checked rows one by one; faults go to `faults`."""

    def __init__(self, faults: Faults, language: str = "en") -> None:
        self._faults = faults
        self._language = language
        self._splitter = splitter_of(language)
        self._documents: dict[str, _Draft] = {}
        self._summaries: list[Summary] = []
        self._lines: dict[tuple[str, str], int] = {}
        self._blocks: list[tuple[int, int, dict[str, Any]]] = []

    def add(self, entry: Entry) -> None:
        """One row."""
        key = (entry.doc_id, entry.system)
        if key in self._lines:
            what = f"is a second summary of doc_id {entry.doc_id!r} by system {entry.system!r}"
            rest = f"after line {self._lines[key]}; give each row its own doc_id and system"
            self._faults.add(entry.line, None, f"{what}, {rest}")
            return
        self._lines[key] = entry.line
        draft = self._documents.setdefault(entry.doc_id, _Draft(entry))
        draft.join(entry, self._faults)
        summary = self._summary(entry)
        if summary is None:
            return
        if entry.human:
            self._blocks.append((entry.line, len(self._summaries), entry.human))
        self._summaries.append(summary)

    def finish(self) -> Flat:
        """All rows were added. Blocks are checked now: a row may bring the key facts of an earlier one."""
        if not self._lines and not self._faults.count:
            self._faults.add(None, None, "holds no rows; give one row per summary")
        filled: set[str] = set()
        for line, place, block in self._blocks:
            fault, warn = _at(self._faults.add, line), _at(self._faults.warn, line)
            filled |= check_human(block, self._subject(place), fault, warn)
        self._faults.stop()
        documents = {doc_id: draft.document(self._language) for doc_id, draft in self._documents.items()}
        return Flat(
            documents, tuple(self._summaries), {name: self._maker(name) for name in (RAW, CROWD) if name in filled}
        )

    def _maker(self, name: str) -> Callable[[], Iterator[Judgment]]:
        def make() -> Iterator[Judgment]:
            for _, place, block in self._blocks:
                yield from to_judgments(block, self._subject(place), name)

        return make

    def _subject(self, place: int) -> Subject:
        summary = self._summaries[place]
        draft = self._documents[summary.document_id]
        return Subject(summary, draft.key_facts, draft.list_id)

    def _summary(self, entry: Entry) -> Summary | None:
        try:
            places = self._sentences(entry)
            return Summary(
                document_id=entry.doc_id, system=entry.system, text=entry.summary,
                sentences=spans(places, "summary"), splitter=self._splitter if entry.sentences is None else GIVEN,
                category=entry.category, extra=entry.extra,
            )  # fmt: skip
        except ValidationError as error:
            for problem in error.errors():
                self._faults.add(entry.line, "sentences", f"do not fit the summary: {problem['msg']}")
        except ValueError as error:
            self._faults.add(entry.line, "sentences", str(error))
        return None

    def _sentences(self, entry: Entry) -> Iterable[tuple[int, int]]:
        if entry.sentences is None:
            return split(entry.summary, self._language)
        if not entry.sentences and entry.summary.strip():
            raise ValueError("is an empty list for a summary that is not empty; leave it out to have it split")
        return _places(entry.summary, [sentence.strip() for sentence in entry.sentences])


def _places(text: str, sentences: list[str]) -> Iterable[tuple[int, int]]:
    """Where given sentences stand: letter by letter if they do, else as `locate` reads them.

    Sentences of released data may be cut within a word, which `locate` refuses; so letters count more than words.
    """
    found: Iterable[tuple[int, int]] | None = None
    problem: ValueError | None = None
    try:
        found = locate(text, sentences)
        if [text[start:end] for start, end in found] == sentences:
            return found
    except ValueError as error:
        problem = error
    exact = _exact_places(text, sentences)
    if exact is not None:
        return exact
    if found is None:
        raise ValueError(f"{problem}; sentences must stand in the summary, in order") from problem
    return found


def _exact_places(text: str, sentences: Iterable[str]) -> list[tuple[int, int]] | None:
    places: list[tuple[int, int]] = []
    end = 0
    for sentence in sentences:
        start = text.find(sentence, end)
        if start < 0:
            return None
        end = start + len(sentence)
        places.append((start, end))
    return places


def splitter_of(language: str) -> str:
    """The name of the splitter as set for a language: `rules-1`, `rules-1:de`."""
    return SPLITTER if language == "en" else f"{SPLITTER}:{language}"


def spans(places: Iterable[tuple[int, int]], of: Side) -> tuple[Span, ...]:
    """Offsets as spans."""
    return tuple(Span(of=of, start=start, end=end) for start, end in places)


def _at(note: Callable[[int | None, str | None, str], None], line: int) -> Callable[[str, str], None]:
    return lambda field, message: note(line, field, message)


class _Draft:
    """A document while its rows come in; rows may leave out what another row says, never contradict it."""

    def __init__(self, first: Entry) -> None:
        self.id = first.doc_id
        self.line = first.line
        self.text = first.document
        self.said: dict[str, tuple[Any, int]] = {}

    @property
    def key_facts(self) -> tuple[str, ...]:
        value: tuple[str, ...] = self.said.get("key_facts", ((), 0))[0]
        return value

    @cached_property
    def list_id(self) -> str | None:
        """Of the key facts; asked for only once all rows are in."""
        return list_id_of(self.key_facts)

    def join(self, entry: Entry, faults: Faults) -> None:
        if entry.document != self.text:
            faults.add(entry.line, "document", self._differs(self.line))
        for name in _SHARED:
            value = getattr(entry, name)
            if value is None:
                continue
            known, line = self.said.setdefault(name, (value, entry.line))
            if known != value:
                faults.add(entry.line, name, self._differs(line))

    def _differs(self, line: int) -> str:
        return f"differs from line {line}, which has the same doc_id {self.id!r}; make them agree, or use two doc_ids"

    def document(self, language: str) -> Document:
        said = {name: value for name, (value, _) in self.said.items()}
        return Document(id=self.id, text=self.text, sentences=spans(split(self.text, language), "document"), **said)


def flat_row(document: Document, summary: Summary, judgments: Iterable[Judgment]) -> tuple[dict[str, Any], int]:
    """The flat row of a summary with what people said of it, and how many judgments a row has no place for."""
    row: dict[str, Any] = {"doc_id": document.id, "system": summary.system}
    _put(row, "category", summary.category)
    row |= {"document": document.text, "summary": summary.text}
    if len(document.references) == 1:
        row["reference"] = document.references[0]
    elif document.references:
        row["references"] = list(document.references)
    if document.key_facts:
        row["key_facts"] = list(document.key_facts)
    if summary.splitter == GIVEN:
        row["sentences"] = list(summary.sentence_texts)
    _put(row, "domain", document.domain)
    _put(row, "split", document.split)
    block, homeless = to_block(judgments, Subject(summary, document.key_facts, list_id_of(document.key_facts)))
    if block:
        row["human"] = block
    return row | summary.extra, homeless


def _put(row: dict[str, Any], name: str, value: Mapping[str, Any] | str | None) -> None:
    if value is not None:
        row[name] = value
