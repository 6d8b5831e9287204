"""Flat rows as documents and summaries: grouped, agreed upon, split into sentences; and written back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

from pydantic import ValidationError

from summeter.data.faults import Faults, Report, path_of
from summeter.data.human import CROWD, RAW, HumanBlock, Subject, check_human, check_key_facts, voters_of
from summeter.data.human_judgments import SpanAnnotators, list_id_of, span_readers, to_judgments
from summeter.data.presets.base import Record, near_span
from summeter.data.rows import FlatRow, unnamed_document
from summeter.records import Document, Fault, Judgment, Span, Summary
from summeter.records.text import Side
from summeter.text.split import SPLITTER, locate, split

GIVEN = "given"
"""The splitter of sentences that came with the input."""

_SHARED = ("key_facts", "domain", "split")
"""What all rows of a document must agree on."""


class Flat(NamedTuple):
    """What a flat file says. `judgments` makes each set anew from the rows' blocks, which are far smaller."""

    documents: dict[str, Document]
    summaries: tuple[Summary, ...]
    judgments: dict[str, Callable[[], Iterator[Judgment]]]


class SystemNames:
    """Names of systems, each once in a document: a second summary of a document by a system is that of `NAME#2`.

    >>> names = SystemNames()
    >>> [names.take("d1", "bart") for _ in range(3)], names.take("d2", "bart")
    (['bart', 'bart#2', 'bart#3'], 'bart')
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], int] = {}

    def take(self, doc_id: str, name: str) -> str:
        """The name, with #2, #3 where the document has summaries by it already."""
        system, number = name, self._taken.get((doc_id, name), 0) + 1
        while number > 1 and (doc_id, system := f"{name}#{number}") in self._taken:  # a summarizer may be called so
            number += 1
        self._taken[doc_id, name] = number
        self._taken.setdefault((doc_id, system), 1)
        return system


class _Often:
    """Something that is true of many rows: one warning, at the first of them, with the count."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._first: Fault | None = None
        self._count = 0

    def note(self, place: Fault) -> None:
        """One more row; the message of the place is the name that the words tell."""
        self._first = self._first or place
        self._count += 1

    def warn(self, faults: Faults) -> None:
        if self._first is not None:
            file, line, field, name = self._first
            more = f" (and so in {self._count - 1:,} more rows)" if self._count > 1 else ""
            faults.of(file).warn(line, field, self._words.format(name) + more)


class _Block(NamedTuple):
    """A block as it came (it is far smaller than a checked one), its summary (by index), and where it stands."""

    file: str
    line: int
    summary: int
    content: dict[str, Any]


class _Rows:
    """The rows of some documents: what they say of these, their summaries, and the blocks of people's judgments."""

    def __init__(self) -> None:
        self.documents: dict[str, _Draft] = {}
        self.summaries: list[Summary] = []
        self.names = SystemNames()
        self.blocks: list[_Block] = []
        self.sets: set[str] = set()

    def subject(self, index: int) -> Subject:
        """A summary with the key facts of its document."""
        summary = self.summaries[index]
        draft = self.documents[summary.document_id]
        return Subject(summary, draft.key_facts, draft.list_id)

    def checked(self) -> Iterator[tuple[Subject, HumanBlock]]:
        """Each block with what it speaks of."""
        for block in self.blocks:
            subject = self.subject(block.summary)
            yield subject, HumanBlock.model_validate(block.content, context=subject.summary)

    def leave_out(self, indexes: set[int]) -> None:
        """Take some of the summaries out, with documents that then have none."""
        kept = [index for index in range(len(self.summaries)) if index not in indexes]
        place = {old: new for new, old in enumerate(kept)}
        self.summaries = [self.summaries[index] for index in kept]
        self.blocks = [block._replace(summary=place[block.summary]) for block in self.blocks if block.summary in place]
        documents = {summary.document_id for summary in self.summaries}
        self.documents = {doc_id: draft for doc_id, draft in self.documents.items() if doc_id in documents}

    def judgments(self, name: str, annotators: SpanAnnotators) -> Iterator[Judgment]:
        """The judgments of a set; `annotators` are those of all the data."""
        readers: dict[tuple[str, str], list[str]] = {}
        if annotators.marked or any(
            block.content.get(key) for block in self.blocks for key in ("spans", "span_annotators")
        ):
            readers = span_readers(((each.summary, block) for each, block in self.checked()), annotators)
        for subject, block in self.checked():
            read_by = readers.get((subject.summary.document_id, subject.summary.system), ())
            yield from to_judgments(block, subject, name, read_by)


class Gatherer:
    """Takes checked rows one by one; faults go to `faults`.

    All the rows come together (`finish`), or `part` by part: then no document stands in two parts, and `end` says
    what is true of all of them. `annotators` are those of all the data, where they are known from an earlier reading.
    """

    def __init__(self, faults: Faults, language: str = "en", annotators: SpanAnnotators | None = None) -> None:
        self._faults = faults
        self._language = language
        self._splitter = splitter_of(language)
        self._rows = _Rows()
        self._taken = 0
        self._repeated = _Often("repeats a document and system of an earlier row; it is kept as a summary by {!r}")
        self._shared_ids = _Often("is that of another document as well; this one is kept as {!r}")
        self._unlike = _Often("differs from that of earlier rows of document {!r}; all references are kept")
        self._known = annotators
        self._withheld: set[str] = set()
        """Documents of which a row that was left out says that they may not be passed on."""
        self.annotators = SpanAnnotators()
        """Those of the parts that were given out."""

    def add(self, line: int, row: FlatRow, faults: Faults, *, keep_faulty: bool = True) -> None:
        """One row. Its faults go to `faults`; a faulty one is then not taken, or taken (`keep_faulty`) so that the rows
        behind it are checked against it: `finish` raises in any case."""
        doc_id, system = str(row.doc_id), str(row.system)
        place = _Origin(faults.file, line)
        summary = self._summary(line, row, doc_id, system, faults)
        fault, warn = _at(faults.add, line), _at(faults.warn, line)
        human = repaired_spans(row.human or {}, row.summary, fault, warn)
        block = None
        if summary is not None and human:
            block = check_human(human, summary, fault, warn)
        rows = self._rows
        draft = rows.documents.get(doc_id) or _Draft(doc_id, place, row.document)
        draft.check(place, row, faults)
        if faults.count and not keep_faulty:
            return
        rows.documents[doc_id] = draft
        if draft.join(place, row):
            self._unlike.note(Fault(faults.file, line, "references", doc_id))
        if summary is None:
            return
        name = rows.names.take(doc_id, system)
        if name != system:
            self._repeated.note(Fault(faults.file, line, "system", name))
            summary = summary.model_copy(update={"system": name})
        if block is not None:
            rows.sets |= block.sets
            rows.blocks.append(_Block(faults.file, line, len(rows.summaries), human))
        rows.summaries.append(summary)
        self._taken += 1

    def note_lost(self, human: Any) -> None:
        """Some or all of a block was left out; those who voted in it are not taken for annotators of spans alone."""
        self.annotators.said_more |= voters_of(human)

    def withhold(self, cells: Mapping[str, Any]) -> None:
        """Withhold the document of a row that may be left out: other rows of it must not make it public."""
        if (doc_id := cells.get("doc_id")) not in (None, ""):
            self._withheld.add(str(doc_id))
        elif isinstance(text := cells.get("document"), str):
            self._withheld.add(unnamed_document(text))

    def with_own_id(self, record: Record, cells: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row, with `ID#2` as its document's id where another document has the id already."""
        doc_id, text = cells.get("doc_id"), cells.get("document")
        if doc_id is None:
            return cells
        name, number = str(doc_id), 1
        while (known := self._rows.documents.get(name)) is not None and known.text != text:
            number += 1
            name = f"{doc_id}#{number}"
        if number == 1:
            return cells
        self._shared_ids.note(Fault(record.file, record.line, "doc_id", name))
        return {**cells, "doc_id": name}

    def finish(self) -> Flat:
        """All rows were added. Raises InputError with the faults of all of them."""
        left_out = self._check_key_facts()
        self.end()
        return self._flat(left_out)

    def batch(self) -> Flat | None:
        """The rows since the last part; None where there is a fault, as nothing is made of the data then."""
        left_out = self._check_key_facts()
        flat = None if self._faults.count else self._flat(left_out)
        self._rows = _Rows()
        return flat

    def end(self) -> None:
        """All rows were added: warn of what is true of many. Raises InputError for faults, and where none was taken."""
        if not self._taken and not self._faults.count:
            left = "has no row that is not at fault" if self._faults.dropped else "holds no rows"
            self._faults.fail(None, None, f"{left}; give one row per summary")
        for often in (self._repeated, self._shared_ids, self._unlike):
            often.warn(self._faults)
        self._faults.stop()

    def _flat(self, left_out: set[int]) -> Flat:
        rows = self._rows
        if left_out:
            rows.leave_out(left_out)
        if any(block.content.get("spans") is not None for block in rows.blocks):
            for _, block in rows.checked():
                self.annotators.note(block)
        documents = {
            doc_id: draft.document(self._language, withheld=doc_id in self._withheld)
            for doc_id, draft in rows.documents.items()
        }
        annotators = self._known or self.annotators
        makers: dict[str, Callable[[], Iterator[Judgment]]] = {
            name: partial(rows.judgments, name, annotators)
            for name in sorted(rows.sets, key=lambda name: (name != RAW, name != CROWD, name))
        }
        return Flat(documents, tuple(rows.summaries), makers)

    def _check_key_facts(self) -> set[int]:
        """The indexes of the summaries that are left out for blocks that do not fit their key facts, which are counted
        only now: a row may bring those of an earlier one."""
        left_out = set()
        rows = self._rows
        for number, block in enumerate(rows.blocks):
            own = Faults(block.file)
            check_key_facts(block.content, len(rows.subject(block.summary).key_facts), _at(own.add, block.line))
            if not own.count:
                continue
            faults = self._faults.of(block.file)
            self.note_lost(block.content)
            if faults.on_fault != "keep-valid":
                own.pass_on(faults)
                left_out.add(block.summary)
                continue
            content = dict(block.content)
            for _, line, field, message in own.listed:
                name = (field or "").removeprefix("human.")
                faults.drop(line, field, message, "field", content.pop(name, None))
            rows.blocks[number] = block._replace(content=content)
        return left_out

    def _summary(self, line: int, row: FlatRow, doc_id: str, system: str, faults: Faults) -> Summary | None:
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
                faults.add(line, "sentences", f"do not fit the summary: {details['msg']}")
        except ValueError as error:
            faults.add(line, "sentences", str(error))
        return None

    def _sentences(self, row: FlatRow) -> Iterable[tuple[int, int]]:
        if row.sentences is None:
            return split(row.summary, self._language)
        if not row.sentences and row.summary.strip():
            raise ValueError("is an empty list for a summary that is not empty; leave it out to have it split")
        return _offsets(row.summary, [sentence.strip() for sentence in row.sentences])


def _offsets(text: str, sentences: list[str]) -> Iterable[tuple[int, int]]:
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
    exact = _exact_offsets(text, sentences)
    if exact is not None:
        return exact
    if located is None:
        raise ValueError(f"{problem}; sentences must stand in the summary, in order") from problem
    return located


def _exact_offsets(text: str, sentences: Iterable[str]) -> list[tuple[int, int]] | None:
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


def repaired_spans(human: dict[Any, Any], text: str, fault: Report, warn: Report) -> dict[Any, Any]:
    """The block with its spans where their texts are, as offsets of released data may be off by one (or count from 1).

    A span with a `text` is where that stands within three characters of its start; nowhere near is a fault."""
    given = human.get("spans")
    if not isinstance(given, list):
        return human
    fitted = [
        _repaired(span, text, path_of(("human", "spans", index)), fault, warn) for index, span in enumerate(given)
    ]
    return {**human, "spans": fitted}


def _repaired(span: Any, text: str, field: str, fault: Report, warn: Report) -> Any:
    if not isinstance(span, dict) or not all(type(span.get(name)) is int for name in ("start", "end")):
        return span
    start, end, words = span["start"], span["end"], span.get("text")
    rest = {name: value for name, value in span.items() if name != "text"}
    if isinstance(words, str):
        if text[max(0, start) : end] == words:
            return rest
        near = near_span(text, words, start)
        if near is None:
            fault(field, f"is {words!r}, which does not stand within 3 characters of {start}")
            return rest
        warn(field, f"is {words!r} at {near[0]} to {near[1]}, not at {start} to {end}; the place of the text counts")
        return {**rest, "start": near[0], "end": near[1]}
    return span


def _at(note: Callable[[int | None, str | None, str], None], line: int) -> Callable[[str, str], None]:
    return lambda field, message: note(line, field, message)


class _Origin(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    def seen_from(self, file: str) -> str:
        """The place as a message about a row of `file` names it."""
        return f"line {self.line}" if file == self.file else f"line {self.line} of {self.file}"


class _Draft:
    """A document while its rows come in; rows may leave out what another row says, and add references to it."""

    def __init__(self, doc_id: str, place: _Origin, text: str) -> None:
        self.id = doc_id
        self.place = place
        self.text = text
        self.fields: dict[str, tuple[Any, _Origin]] = {}
        """Each field that some row gave, and that row's line."""
        self.share = True
        """False once any row says so."""

    @property
    def key_facts(self) -> tuple[str, ...]:
        value: tuple[str, ...] = self.fields.get("key_facts", ((), self.place))[0]
        return value

    @cached_property
    def list_id(self) -> str | None:
        """Of the key facts; asked for only once all rows are in."""
        return list_id_of(self.key_facts)

    def check(self, place: _Origin, row: FlatRow, faults: Faults) -> None:
        """Fault what contradicts an earlier row."""
        if row.document != self.text:
            faults.add(place.line, "document", self._differs(self.place, place))
        for name in _SHARED:
            value = getattr(row, name)
            if value is not None and name in self.fields and self.fields[name][0] != value:
                faults.add(place.line, name, self._differs(self.fields[name][1], place))

    def join(self, place: _Origin, row: FlatRow) -> bool:
        """Take what the row says of the document; whether its references are not all those that are known."""
        self.share &= row.share is not False
        for name in _SHARED:
            if (value := getattr(row, name)) is not None:
                self.fields.setdefault(name, (value, place))
        if row.references is None:
            return False
        known, first = self.fields.setdefault("references", (row.references, place))
        if known != row.references:
            self.fields["references"] = (tuple(dict.fromkeys((*known, *row.references))), first)
        return bool(known != row.references)

    def _differs(self, first: _Origin, place: _Origin) -> str:
        where = first.seen_from(place.file)
        return f"differs from {where}, which has the same doc_id {self.id!r}; make them agree, or use two doc_ids"

    def document(self, language: str, *, withheld: bool) -> Document:
        fields = {name: value for name, (value, _) in self.fields.items()}
        sentences = spans(split(self.text, language), "document")
        share = self.share and not withheld
        return Document(id=self.id, text=self.text, sentences=sentences, share=share, **fields)


def flat_row(document: Document, summary: Summary) -> dict[str, Any]:
    """The flat row of a summary, without judgments."""
    single = len(document.references) == 1
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
        "share": None if document.share else False,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return document.extra | given | summary.extra
