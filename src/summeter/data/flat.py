"""Convert flat rows to documents and summaries, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from summeter.data.faults import Faults, path_of
from summeter.data.human import HumanBlock, Subject
from summeter.data.human_judgments import SpanAnnotators, list_id_of, span_readers, to_judgments
from summeter.data.presets.base import near_span
from summeter.data.rows import FlatRow
from summeter.records import Document, Judgment, Span, Summary
from summeter.records.text import Side
from summeter.text.split import SPLITTER, locate, split

GIVEN = "given"
"""The name of the splitter if the input contains the sentences."""

_SHARED = ("key_facts", "domain", "split")
"""Fields on which all rows of a document must agree."""


class SystemNames:
    """Make the names of systems unique within a document: `NAME`, `NAME#2`, ...

    >>> names = SystemNames()
    >>> [names.take("d1", "bart") for _ in range(3)], names.take("d2", "bart")
    (['bart', 'bart#2', 'bart#3'], 'bart')
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], int] = {}

    def take(self, doc_id: str, name: str) -> str:
        """Return `name`, or `NAME#2`, `NAME#3` and so on if the document already has this name."""
        system, number = name, self._taken.get((doc_id, name), 0) + 1
        while number > 1 and (doc_id, system := f"{name}#{number}") in self._taken:  # the input may contain such names
            number += 1
        self._taken[doc_id, name] = number
        self._taken.setdefault((doc_id, system), 1)
        return system


class Block(NamedTuple):
    """An unvalidated `human` block, the index of its summary, and its position in the files."""

    file: str
    line: int
    summary: int
    content: dict[str, Any]


class DocumentDraft:
    """A document whose rows are still being read; any row may contain any of the fields."""

    def __init__(self, doc_id: str, file: str, line: int, row: FlatRow) -> None:
        self.id = doc_id
        self.text = row.document
        self.sources = row.sources
        self._first = file, line
        self._fields: dict[str, tuple[Any, tuple[str, int]]] = {}
        """The value of each field, with the file and line of the first row that contains the field."""
        self._share = True

    @property
    def key_facts(self) -> tuple[str, ...]:
        """The key facts in the rows read so far."""
        value: tuple[str, ...] = self._fields.get("key_facts", ((), None))[0]
        return value

    @cached_property
    def list_id(self) -> str | None:
        """The id of the list of key facts, or None if there are none; valid only after the last row."""
        return list_id_of(self.key_facts)

    def check(self, file: str, line: int, row: FlatRow, faults: Faults) -> None:
        """Add a fault for each field that contradicts an earlier row."""

        def differs(first: tuple[str, int]) -> str:
            where = f"line {first[1]}" if first[0] == file else f"line {first[1]} of {first[0]}"
            return f"differs from {where}, which has the same doc_id {self.id!r}; make them agree, or use two doc_ids"

        if (row.document, row.sources) != (self.text, self.sources):
            faults.add(line, "document", differs(self._first))
        for name in _SHARED:
            value = getattr(row, name)
            if value is not None and name in self._fields and self._fields[name][0] != value:
                faults.add(line, name, differs(self._fields[name][1]))

    def join(self, file: str, line: int, row: FlatRow) -> bool:
        """Add the fields of a row, and return whether its references differ from earlier rows."""
        self._share &= row.share is not False
        for name in _SHARED:
            if (value := getattr(row, name)) is not None:
                self._fields.setdefault(name, (value, (file, line)))
        if row.references is None:
            return False
        known, first = self._fields.setdefault("references", (row.references, (file, line)))
        if known != row.references:
            self._fields["references"] = (tuple(dict.fromkeys((*known, *row.references))), first)
        return bool(known != row.references)

    def document(self, language: str, *, withheld: bool) -> Document:
        """Return the document with the sentences of its text."""
        fields = {name: value for name, (value, _) in self._fields.items()}
        share = self._share and not withheld
        document = Document(id=self.id, text=self.text, sources=self.sources, share=share, **fields)
        return with_sentences(document, language)


def with_sentences(document: Document, language: str) -> Document:
    """Return the document with the sentences of its sources or of its text."""
    offsets = (
        (first + start, first + end)
        for first, last in document.parts
        for start, end in split(document.text[first:last], language)
    )
    return document.model_copy(update={"sentences": spans(offsets, "document")})


class Batch:
    """The documents, summaries and blocks of human judgments of a batch of rows."""

    def __init__(self) -> None:
        self.documents: dict[str, DocumentDraft] = {}
        self.summaries: list[Summary] = []
        self.names = SystemNames()
        self.blocks: list[Block] = []
        self.sets: set[str] = set()

    def subject(self, index: int) -> Subject:
        """Return a summary with the key facts of its document."""
        summary = self.summaries[index]
        draft = self.documents[summary.document_id]
        return Subject(summary, draft.key_facts, draft.list_id)

    def remove(self, indexes: set[int]) -> None:
        """Remove the summaries at these indexes, and the documents that then have no summaries."""
        kept = [index for index in range(len(self.summaries)) if index not in indexes]
        new_index = {old: new for new, old in enumerate(kept)}
        self.summaries = [self.summaries[index] for index in kept]
        self.blocks = [
            block._replace(summary=new_index[block.summary]) for block in self.blocks if block.summary in new_index
        ]
        documents = {summary.document_id for summary in self.summaries}
        self.documents = {doc_id: draft for doc_id, draft in self.documents.items() if doc_id in documents}

    def judgments(self, name: str, annotators: SpanAnnotators) -> Iterator[Judgment]:
        """Yield the judgments of a set; `annotators` are the span annotators of all the data."""
        readers = span_readers(((self.summaries[each.summary], each.content) for each in self.blocks), annotators)
        for block in self.blocks:
            subject = self.subject(block.summary)
            checked = HumanBlock.model_validate(block.content, context=subject.summary)
            read_by = readers.get((subject.summary.document_id, subject.summary.system), ())
            yield from to_judgments(checked, subject, name, read_by)


def sentence_offsets(text: str, sentences: Iterable[str]) -> Iterable[tuple[int, int]]:
    """Return the offsets of the given sentences in a text.

    Exact matches are preferred to those of `locate`, because sentences in released data may be cut within a word, which
    `locate` refuses. Raises ValueError if the sentences do not occur in the text in this order.
    """
    stripped = [sentence.strip() for sentence in sentences]
    located: Iterable[tuple[int, int]] | None = None
    problem: ValueError | None = None
    try:
        located = locate(text, stripped)
        if [text[start:end] for start, end in located] == stripped:
            return located
    except ValueError as error:
        problem = error
    exact: list[tuple[int, int]] = []
    end = 0
    for sentence in stripped:
        start = text.find(sentence, end)
        if start < 0:
            break
        end = start + len(sentence)
        exact.append((start, end))
    if len(exact) == len(stripped):
        return exact
    if located is None:
        raise ValueError(f"{problem}; sentences must occur in the summary, in order") from problem
    return located


def splitter_of(language: str) -> str:
    """Return the name of the sentence splitter for a language, such as `rules-1:de`."""
    return SPLITTER if language == "en" else f"{SPLITTER}:{language}"


def spans(offsets: Iterable[tuple[int, int]], of: Side) -> tuple[Span, ...]:
    """Return pairs of offsets as spans."""
    return tuple(Span(of=of, start=start, end=end) for start, end in offsets)


def repaired_spans(human: dict[Any, Any], text: str, faults: Faults, line: int) -> dict[Any, Any]:
    """Return the block with corrected offsets of spans.

    Offsets in public data may be off by one. A span with a `text` is moved to an occurrence of the text that begins
    within three characters of the start of the span. A fault is reported if there is no such occurrence.
    """
    given = human.get("spans")
    if not isinstance(given, list):
        return human
    repaired = []
    for index, span in enumerate(given):
        field = path_of(("human", "spans", index))
        if isinstance(span, dict) and all(type(span.get(name)) is int for name in ("start", "end")):
            start, end, words = span["start"], span["end"], span.get("text")
            if isinstance(words, str):
                moved = {name: value for name, value in span.items() if name != "text"}
                near = (start, end) if text[max(0, start) : end] == words else near_span(text, words, start)
                if near is None:
                    faults.add(line, field, f"is {words!r}, which does not occur within 3 characters of {start}")
                elif near != (start, end):
                    faults.warn(
                        line, field, f"is {words!r} at {near[0]} to {near[1]}, not at {start} to {end}; the text counts"
                    )
                    moved |= {"start": near[0], "end": near[1]}
                repaired.append(moved)
                continue
        repaired.append(span)
    return {**human, "spans": repaired}


def flat_row(document: Document, summary: Summary) -> dict[str, Any]:
    """Return the flat row of a summary, without judgments."""
    single = len(document.references) == 1
    fields = {
        "doc_id": document.id,
        "system": summary.system,
        "category": summary.category,
        "document": document.cell,
        "summary": summary.text,
        "reference": document.references[0] if single else None,
        "references": list(document.references) if not single and document.references else None,
        "key_facts": list(document.key_facts) or None,
        "sentences": list(summary.sentence_texts) if summary.splitter == GIVEN else None,
        "domain": document.domain,
        "split": document.split,
        "share": None if document.share else False,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return document.extra | given | summary.extra
