"""Texts under judgment: Document, Summary, and Span, the way everything points into them."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, StrictBool, model_serializer, model_validator

from summeter.records.base import Record

Side = Literal["document", "summary"]


class Span(Record):
    """A stretch of a text: `text[start:end]`, counted in Unicode code points.

    >>> Span(of="document", start=4, end=7).cut("the cat")
    'cat'
    """

    of: Side
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"span ends at {self.end}, before its start at {self.start}")
        return self

    def cut(self, text: str) -> str:
        """The text under the span; `text` is the document or summary the span is `of`."""
        return text[self.start : self.end]


def _check_spans(spans: tuple[Span, ...], text: str, of: Side) -> None:
    previous = 0
    for index, span in enumerate(spans):
        if span.of != of:
            raise ValueError(f"sentence {index} is of the {span.of}, not of the {of}")
        if span.start < previous or span.end > len(text):
            raise ValueError(f"sentence {index} ({span.start}-{span.end}) overlaps or leaves the text")
        previous = span.end


SHARE = "share"
"""Field of a document: whether its text may be passed on."""


def is_share(column: str) -> bool:
    """Whether a column's name can be read as `share`, apart from its case and surrounding blanks."""
    return column.strip().casefold() == SHARE


def read_share(cell: Any) -> Any:
    """A cell of a table as the value of `share`: the texts true and false, in any case, as booleans.

    Any other text, also an empty one, is returned as it is.

    >>> read_share("FALSE"), read_share("no")
    (False, 'no')
    """
    texts = {"true": True, "false": False}
    return texts.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell


def _check_columns(extra: dict[str, Any]) -> None:
    """Raise ValueError where an unknown column would hold what only the field `share` of a document may hold."""
    if column := next(filter(is_share, extra), None):
        raise ValueError(f"the column {column!r} is not read; set the field `share` of the document")


class Document(Record):
    """A source text with what belongs to it whichever system summarized it.

    `sentences` are spans of `text`. `references` are human-written summaries; `key_facts` the facts a
    good summary holds (empty when nobody gave any). `share` says whether the text may be passed on. `extra` is what
    else is known of it (its source, licence, length class...). A document that may be shared, or has no `extra`, is
    written, and hashed, without that field.
    """

    id: str
    text: str
    sentences: tuple[Span, ...] = ()
    references: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    domain: str | None = None
    split: str | None = None
    share: StrictBool = True
    extra: dict[str, Any] = Field(default_factory=dict)

    def __hash__(self) -> int:
        """By id and text: what else is known of a document cannot always be hashed."""
        return hash((self.id, self.text))

    @model_serializer(mode="wrap")
    def _without_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        if not self.extra:
            fields.pop("extra", None)
        if self.share:
            fields.pop(SHARE, None)
        return fields

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _check_spans(self.sentences, self.text, "document")
        _check_columns(self.extra)
        return self

    @property
    def is_withheld(self) -> bool:
        """Whether the text is missing because it may not be passed on; its length is unknown then, not 0."""
        return not self.share and not self.text

    @property
    def sentence_texts(self) -> tuple[str, ...]:
        """The sentences as strings."""
        return tuple(span.cut(self.text) for span in self.sentences)


class Summary(Record):
    """One system's summary of one document.

    `sentences` are spans of `text`: boundaries are data, never recomputed by a run. `splitter` names who
    drew them ("given" when the input did). `category` is the kind of system; `extra` keeps unknown columns.
    """

    document_id: str
    system: str
    text: str
    sentences: tuple[Span, ...] = ()
    splitter: str
    category: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _check_spans(self.sentences, self.text, "summary")
        _check_columns(self.extra)
        return self

    @property
    def sentence_texts(self) -> tuple[str, ...]:
        """The sentences as strings."""
        return tuple(span.cut(self.text) for span in self.sentences)
