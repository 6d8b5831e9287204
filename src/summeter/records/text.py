"""Define the records of documents, summaries and text spans."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, StrictBool, model_serializer, model_validator

from summeter.records.base import Record

Side = Literal["document", "summary"]


class Span(Record):
    """A passage of a text: `text[start:end]`, with offsets in Unicode code points.

    >>> Span(of="document", start=4, end=7).cut("the cat")
    'cat'
    """

    of: Side
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"span ends at {self.end}, before its start at {self.start}")
        return self

    def cut(self, text: str) -> str:
        """Return the passage; `text` is the document or summary that the span refers to."""
        return text[self.start : self.end]


def _check_spans(spans: tuple[Span, ...], text: str, of: Side) -> None:
    previous = 0
    for index, span in enumerate(spans):
        if span.of != of:
            raise ValueError(f"sentence {index} refers to the {span.of}, not to the {of}")
        if span.start < previous or span.end > len(text):
            raise ValueError(
                f"sentence {index} ({span.start}-{span.end}) overlaps the one before it or exceeds the text"
            )
        previous = span.end


class Source(Record):
    """One of several texts that form a document: `text[start:end]`, with offsets in Unicode code points.

    >>> Source(id="agenda", start=0, end=9).label, Source(id="a", title="Agenda", start=0, end=9).label
    ('agenda', 'Agenda')
    """

    id: str
    title: str | None = None
    start: int = Field(ge=0)
    end: int

    @property
    def label(self) -> str:
        """The title, or the id of a source without a title."""
        return self.title or self.id


def _check_sources(sources: tuple[Source, ...], text: str) -> None:
    previous = 0
    for source in sources:
        if source.start < previous or not source.start <= source.end <= len(text):
            raise ValueError(f"source {source.id!r} ({source.start}-{source.end}) overlaps another or exceeds the text")
        previous = source.end
    if len({source.id for source in sources}) < len(sources):
        raise ValueError("two sources have the same id")


SHARE = "share"
"""The field of a document that says whether its text may be published."""


def is_share(column: str) -> bool:
    """Return whether a column is called `share`, ignoring case and surrounding blanks."""
    return column.strip().casefold() == SHARE


def read_share(cell: Any) -> Any:
    """Return a boolean for "true" or "false", ignoring case, and any other value unchanged.

    >>> read_share("FALSE"), read_share("no")
    (False, 'no')
    """
    texts = {"true": True, "false": False}
    return texts.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell


def _check_columns(extra: dict[str, Any]) -> None:
    """Raise ValueError if an unknown column is called `share`."""
    if column := next(filter(is_share, extra), None):
        raise ValueError(f"the column {column!r} is not read; use the field `share` of the document")


class Document(Record):
    """A source text with its references and key facts.

    `sources` are the texts of which `text` consists if there are several, such as an agenda and a transcript.
    `sentences` are spans of `text`. `references` are summaries written by people. `key_facts` are the facts that a good
    summary conveys. `share` says whether the text may be published. `extra` contains further fields, such as source or
    licence. Serialization omits `share` if it is true, and `sources` and `extra` if they are empty.
    """

    id: str
    text: str
    sources: tuple[Source, ...] = ()
    sentences: tuple[Span, ...] = ()
    references: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    domain: str | None = None
    split: str | None = None
    share: StrictBool = True
    extra: dict[str, Any] = Field(default_factory=dict)

    def __hash__(self) -> int:
        """Return a hash of the id and the text, because `extra` is not hashable."""
        return hash((self.id, self.text))

    @model_serializer(mode="wrap")
    def _without_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        for name in ("sources", "extra"):
            if not getattr(self, name):
                fields.pop(name, None)
        if self.share:
            fields.pop(SHARE, None)
        return fields

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_spans(self.sentences, self.text, "document")
        _check_sources(self.sources, self.text)
        _check_columns(self.extra)
        return self

    @property
    def cell(self) -> str | list[dict[str, str]]:
        """The text as in a flat row: a string, or a list of `{id, title, text}` if there are sources."""
        return [
            source.model_dump(include={"id", "title"}, exclude_none=True)
            | {"text": self.text[source.start : source.end]}
            for source in self.sources
        ] or self.text

    def only(self, source: Source) -> Document:
        """Return the document `ID/SOURCE` that consists of one source, with the same other fields."""
        sentences = (
            Span(of="document", start=each.start - source.start, end=each.end - source.start)
            for each in self.sentences
            if source.start <= each.start and each.end <= source.end
        )
        text = self.text[source.start : source.end]
        changes = {"id": f"{self.id}/{source.id}", "text": text, "sources": (), "sentences": tuple(sentences)}
        return self.model_copy(update=changes)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The offsets (start, end) of the sources or, if there are none, of the text."""
        return [(source.start, source.end) for source in self.sources] or [(0, len(self.text))]

    def sources_in(self, start: int, end: int) -> tuple[Source, ...]:
        """Return the sources that overlap the range `text[start:end]`.

        >>> sources = Source(id="agenda", start=0, end=5), Source(id="minutes", start=7, end=12)
        >>> document = Document(id="d", text="A b.\\n\\n\\nC d.\\n", sources=sources)
        >>> [source.id for source in document.sources_in(8, 10)]
        ['minutes']
        """
        return tuple(source for source in self.sources if source.start < end and start < source.end)

    def place(self, span: Span) -> str | None:
        """Return the sources that a span of the text overlaps, with its sentences there, counted from 1.

        Returns None if there are no sources or if the span is one of the summary.

        >>> sentences = tuple(Span(of="document", start=start, end=start + 4) for start in (0, 6))
        >>> source = Source(id="a", start=0, end=10)
        >>> document = Document(id="d", text="A b.  C d.", sentences=sentences, sources=(source,))
        >>> document.place(Span(of="document", start=6, end=8)), document.place(Span(of="document", start=0, end=8))
        ('a, sentence 2', 'a, sentences 1 to 2')
        """
        places = []
        for source in self.sources_in(span.start, span.end) if span.of == "document" else ():
            inside = [each for each in self.sentences if source.start <= each.start and each.end <= source.end]
            numbers = [at for at, each in enumerate(inside, 1) if each.start < span.end and span.start < each.end]
            last = f"s {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f" {numbers[0]}" if numbers else ""
            places.append(f"{source.label}, sentence{last}" if numbers else source.label)
        return "; ".join(places) or None

    def titled(self, start: int = 0, end: int | None = None) -> str:
        """Return the text of a range, by default of the whole document, with a title before each source.

        >>> sources = Source(id="agenda", start=0, end=4), Source(id="b", title="Transcript", start=6, end=10)
        >>> Document(id="d", text="A b.\\n\\nC d.", sources=sources).titled(2)
        '[agenda]\\nb.\\n\\n[Transcript]\\nC d.'
        """
        end = len(self.text) if end is None else end
        parts, previous = [], start
        for source in self.sources_in(start, end):
            first = max(start, source.start)
            parts += [self.text[previous:first], f"[{source.label}]\n"]
            previous = first
        return "".join([*parts, self.text[previous:end]])

    @property
    def is_withheld(self) -> bool:
        """Whether the text, whose length is then unknown, is absent because it may not be published."""
        return not self.share and not self.text

    @property
    def sentence_texts(self) -> tuple[str, ...]:
        """The texts of the sentences."""
        return tuple(span.cut(self.text) for span in self.sentences)


class Summary(Record):
    """A system's summary of a document.

    `sentences` are spans of `text`. `splitter` is the method that found the sentences, or "given" if the input contains
    them. `category` is the kind of system. `extra` contains the unknown columns of the input.
    """

    document_id: str
    system: str
    text: str
    sentences: tuple[Span, ...] = ()
    splitter: str
    category: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_spans(self.sentences, self.text, "summary")
        _check_columns(self.extra)
        return self

    @property
    def sentence_texts(self) -> tuple[str, ...]:
        """The texts of the sentences."""
        return tuple(span.cut(self.text) for span in self.sentences)
