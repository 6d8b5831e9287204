"""Flat rows as documents and summaries: grouped, agreed upon, split into sentences; and written back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import ValidationError

from summeter.data.faults import Faults
from summeter.data.human import CROWD, RAW, HumanBlock, Subject, check_human, check_key_facts
from summeter.data.human_judgments import list_id_of, span_readers, to_block, to_judgments
from summeter.data.rows import FlatRow
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
        """(line, index of the summary, block as it came: it is far smaller than a checked one)"""
        self._sets: set[str] = set()

    def add(self, line: int, row: FlatRow) -> None:
        """One row."""
        doc_id, system = str(row.doc_id), str(row.system)
        if (doc_id, system) in self._lines:
            what = f"is a second summary of doc_id {doc_id!r} by system {system!r}"
            rest = f"after line {self._lines[doc_id, system]}; give each row its own doc_id and system"
            self._faults.add(line, None, f"{what}, {rest}")
            return
        self._lines[doc_id, system] = line
        self._documents.setdefault(doc_id, _Draft(doc_id, line, row.document)).join(line, row, self._faults)
        summary = self._summary(line, row, doc_id, system)
        if summary is None:
            return
        if row.human:
            fault, warn = _at(self._faults.add, line), _at(self._faults.warn, line)
            block = check_human(row.human, summary, fault, warn)
            if block is not None:
                self._sets |= block.sets
                self._blocks.append((line, len(self._summaries), row.human))
        self._summaries.append(summary)

    def finish(self) -> Flat:
        """All rows were added. Key facts are counted now: a row may bring those of an earlier one."""
        if not self._lines and not self._faults.count:
            self._faults.add(None, None, "holds no rows; give one row per summary")
        for line, index, block in self._blocks:
            check_key_facts(block, len(self._subject(index).key_facts), _at(self._faults.add, line))
        self._faults.stop()
        documents = {doc_id: draft.document(self._language) for doc_id, draft in self._documents.items()}
        makers = {name: self._maker(name) for name in (RAW, CROWD) if name in self._sets}
        return Flat(documents, tuple(self._summaries), makers)

    def _checked(self) -> Iterator[tuple[Subject, HumanBlock]]:
        for _, index, block in self._blocks:
            subject = self._subject(index)
            yield subject, HumanBlock.model_validate(block, context=subject.summary)

    @cached_property
    def _readers(self) -> dict[tuple[str, str], list[str]]:
        """Who looked for spans in which summary."""
        if not any(block.get("spans") for _, _, block in self._blocks):
            return {}
        return span_readers((subject.summary, block) for subject, block in self._checked())

    def _maker(self, name: str) -> Callable[[], Iterator[Judgment]]:
        def make() -> Iterator[Judgment]:
            for subject, block in self._checked():
                summary = subject.summary
                yield from to_judgments(
                    block, subject, name, self._readers.get((summary.document_id, summary.system), ())
                )

        return make

    def _subject(self, index: int) -> Subject:
        summary = self._summaries[index]
        draft = self._documents[summary.document_id]
        return Subject(summary, draft.key_facts, draft.list_id)

    def _summary(self, line: int, row: FlatRow, doc_id: str, system: str) -> Summary | None:
        try:
            return Summary(
                document_id=doc_id,
                system=system,
                text=row.summary,
                sentences=spans(self._sentences(row), "summary"),
                splitter=self._splitter if row.sentences is None else GIVEN,
                category=row.category,
                extra=row.model_extra or {},
            )
        except ValidationError as error:
            for details in error.errors():
                self._faults.add(line, "sentences", f"do not fit the summary: {details['msg']}")
        except ValueError as error:
            self._faults.add(line, "sentences", str(error))
        return None

    def _sentences(self, row: FlatRow) -> Iterable[tuple[int, int]]:
        if row.sentences is None:
            return split(row.summary, self._language)
        if not row.sentences and row.summary.strip():
            raise ValueError("is an empty list for a summary that is not empty; leave it out to have it split")
        return _places(row.summary, [sentence.strip() for sentence in row.sentences])


def _places(text: str, sentences: list[str]) -> Iterable[tuple[int, int]]:
    """Where given sentences stand: letter by letter if they do, else as `locate` reads them.

    Sentences of released data may be cut within a word, which `locate` refuses; so letters count more than words.
    """
    located: Iterable[tuple[int, int]] | None = None
    problem: ValueError | None = None
    try:
        located = locate(text, sentences)
        if [text[start:end] for start, end in located] == sentences:
            return located
    except ValueError as error:
        problem = error
    exact = _exact_places(text, sentences)
    if exact is not None:
        return exact
    if located is None:
        raise ValueError(f"{problem}; sentences must stand in the summary, in order") from problem
    return located


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

    def __init__(self, doc_id: str, line: int, text: str) -> None:
        self.id = doc_id
        self.line = line
        self.text = text
        self.fields: dict[str, tuple[Any, int]] = {}
        """Each field that some row gave, and that row's line."""

    @property
    def key_facts(self) -> tuple[str, ...]:
        value: tuple[str, ...] = self.fields.get("key_facts", ((), 0))[0]
        return value

    @cached_property
    def list_id(self) -> str | None:
        """Of the key facts; asked for only once all rows are in."""
        return list_id_of(self.key_facts)

    def join(self, line: int, row: FlatRow, faults: Faults) -> None:
        if row.document != self.text:
            faults.add(line, "document", self._differs(self.line))
        for name in _SHARED:
            value = getattr(row, name)
            if value is None:
                continue
            known, first = self.fields.setdefault(name, (value, line))
            if known != value:
                faults.add(line, name, self._differs(first))

    def _differs(self, line: int) -> str:
        return f"differs from line {line}, which has the same doc_id {self.id!r}; make them agree, or use two doc_ids"

    def document(self, language: str) -> Document:
        fields = {name: value for name, (value, _) in self.fields.items()}
        return Document(id=self.id, text=self.text, sentences=spans(split(self.text, language), "document"), **fields)


def flat_row(document: Document, summary: Summary, judgments: Iterable[Judgment]) -> tuple[dict[str, Any], int]:
    """The flat row of a summary with its human judgments, and how many judgments a row has no place for."""
    single = len(document.references) == 1
    block, unplaced = to_block(judgments, Subject(summary, document.key_facts, list_id_of(document.key_facts)))
    fields = {
        "doc_id": document.id,
        "system": summary.system,
        "category": summary.category,
        "document": document.text,
        "summary": summary.text,
        "reference": document.references[0] if single else None,
        "references": list(document.references) if not single and document.references else None,
        "key_facts": list(document.key_facts) or None,
        "sentences": list(summary.sentence_texts) if summary.splitter == GIVEN else None,
        "domain": document.domain,
        "split": document.split,
        "human": block or None,
    }
    return {name: value for name, value in fields.items() if value is not None} | summary.extra, unplaced
