"""Split texts into spans: pieces of text with code-point offsets.

`sentence_spans` and `paragraph_spans` split a text; `chunks` joins spans into larger ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from summeter.records import Document, Side, Span, Summary
from summeter.text.split import split

Splitter = Literal["punkt", "stored"]
"""The sentences to use: those of NLTK's Punkt, as in released code, or those stored with the data."""


class TextSpan(NamedTuple):
    """A piece of text as a model reads it, with offsets `start` and `end` in the complete text.

    `text` may differ from the complete text between these offsets if spans were joined or white space was normalised.
    """

    text: str
    start: int
    end: int

    @classmethod
    def of(cls, whole: str, start: int = 0, end: int | None = None) -> TextSpan:
        """Return the span `whole[start:end]`, by default of the complete text."""
        end = len(whole) if end is None else end
        return cls(whole[start:end], start, end)

    @classmethod
    def joined(cls, spans: Sequence[TextSpan]) -> TextSpan:
        """Return one span for adjacent spans, with their texts joined by a space.

        >>> TextSpan.joined([TextSpan("A b.", 0, 4), TextSpan("C d.", 6, 10)])
        TextSpan(text='A b. C d.', start=0, end=10)
        """
        return cls(" ".join(span.text for span in spans), spans[0].start, spans[-1].end)

    @property
    def offsets(self) -> tuple[int, int]:
        """The offsets (start, end)."""
        return self.start, self.end

    def as_span(self, of: Side) -> Span:
        """Return the span as a record that refers to a document or a summary."""
        return Span(of=of, start=self.start, end=self.end)


def evidence(spans: Iterable[TextSpan], of: Side = "document") -> tuple[Span, ...]:
    """Return text spans as the evidence for a judgment, without duplicates."""
    return tuple(dict.fromkeys(span.as_span(of) for span in spans))


def sentence_spans(source: Document | Summary, splitter: Splitter = "stored") -> list[TextSpan]:
    """Return the sentence spans of a document or summary.

    If `splitter` is `stored`, they are the sentences stored with the data or, if there are none, those found by
    `text.split`.
    """
    text = source.text
    if splitter == "stored" and source.sentences:
        return [TextSpan.of(text, span.start, span.end) for span in source.sentences]
    find: Callable[[str], Iterable[tuple[int, int]]] = split
    if splitter == "punkt":
        from summeter.text.punkt import punkt_split

        find = punkt_split
    parts = source.parts if isinstance(source, Document) else [(0, len(text))]
    return [
        TextSpan.of(text, first + start, first + end) for first, last in parts for start, end in find(text[first:last])
    ]


def ranges_by_source(
    document: Document, spans: Sequence[TextSpan], ranges: Callable[[int, int], Iterable[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """Return ranges (first, last) of the spans of a document, none of which crosses the end of a source.

    `ranges(first, last)` returns the ranges of the spans of one source, counted from `first`.

    >>> from summeter.records import Source
    >>> sources = Source(id="a", start=0, end=4), Source(id="b", start=6, end=10)
    >>> document = Document(id="d", text="A b.\\n\\nC d.", sources=sources)
    >>> ranges_by_source(document, sentence_spans(document), lambda first, last: [(0, last - first)])
    [(0, 1), (1, 2)]
    """
    starts = [span.start for span in spans]
    edges = [0, *(bisect_left(starts, source.start) for source in document.sources[1:]), len(spans)]
    return [
        (first + start, first + end)
        for first, last in pairwise(edges)
        if first < last or not document.sources
        for start, end in ranges(first, last)
    ]


def paragraph_spans(text: str) -> list[TextSpan]:
    """Return the spans of the non-blank paragraphs of a text.

    Paragraphs are separated by empty lines or, if there are no empty lines, by line breaks.

    A line that consists of spaces is not empty (as in the released code of SummaC).
    """
    edge = "\n\n" if "\n\n" in text else "\n"
    spans, start = list[TextSpan](), 0
    for part in text.split(edge):
        if bare := part.strip():
            first = start + part.index(bare)
            spans.append(TextSpan(bare, first, first + len(bare)))
        start += len(part) + len(edge)
    return spans


class SummarySentences(NamedTuple):
    """The sentences of a summary for computing the score and for storing judgments.

    The first `scored` spans determine the score. Each stored sentence gets a judgment of its own; `judged` contains the
    index in `spans` of each stored sentence.
    """

    spans: list[TextSpan]
    scored: int
    judged: list[int]

    @classmethod
    def of(cls, summary: Summary, splitter: Splitter) -> SummarySentences:
        """Return the sentences of the splitter, followed by stored sentences that it does not find.

        >>> summary = Summary(document_id="d", system="s", text="A b.\\nC d", splitter="rules-1")
        >>> sentences = SummarySentences.of(summary, "punkt")
        >>> [span.text for span in sentences.spans], sentences.scored, sentences.judged
        (['A b.', 'C d'], 2, [0, 1])
        """
        scored, stored = sentence_spans(summary, splitter), sentence_spans(summary)
        spans = list(dict.fromkeys([*scored, *stored]))
        order = {span: at for at, span in enumerate(spans)}
        return cls(spans, len(scored), [order[span] for span in stored])

    @property
    def texts(self) -> list[str]:
        """The sentences as strings."""
        return [span.text for span in self.spans]
