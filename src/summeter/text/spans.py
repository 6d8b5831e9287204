"""Text spans: pieces of a text with their code-point offsets.

`sentence_spans` and `paragraph_spans` split a text; `chunks` joins spans into larger ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from summeter.records import Document, Side, Span, Summary
from summeter.text.split import split

Splitter = Literal["punkt", "stored"]
"""Sentence splitting: by NLTK's Punkt, as in released code, or as stored with the data."""


class TextSpan(NamedTuple):
    """A piece of text as a model reads it, and its offsets `start` to `end` in the complete text.

    `text` may differ from the complete text between these offsets if spans were joined or white space was normalised.
    """

    text: str
    start: int
    end: int

    @classmethod
    def of(cls, whole: str, start: int = 0, end: int | None = None) -> TextSpan:
        """Return the span `whole[start:end]`; by default the complete text."""
        end = len(whole) if end is None else end
        return cls(whole[start:end], start, end)

    @classmethod
    def joined(cls, spans: Sequence[TextSpan]) -> TextSpan:
        """Return adjacent spans as one, with their texts joined by a space.

        >>> TextSpan.joined([TextSpan("A b.", 0, 4), TextSpan("C d.", 6, 10)])
        TextSpan(text='A b. C d.', start=0, end=10)
        """
        return cls(" ".join(span.text for span in spans), spans[0].start, spans[-1].end)

    @property
    def offsets(self) -> tuple[int, int]:
        """(start, end)."""
        return self.start, self.end

    def as_span(self, of: Side) -> Span:
        """Return the span as a record that refers to a document or a summary."""
        return Span(of=of, start=self.start, end=self.end)


def evidence(spans: Iterable[TextSpan], of: Side = "document") -> tuple[Span, ...]:
    """Return text spans as the evidence of a judgment, without duplicates."""
    return tuple(dict.fromkeys(span.as_span(of) for span in spans))


def sentence_spans(source: Document | Summary, splitter: Splitter = "stored") -> list[TextSpan]:
    """Return sentence spans. `stored`: those of the data or, if there are none, by the rules of `text.split`."""
    text = source.text
    if splitter == "punkt":
        from summeter.text.punkt import punkt_split

        return [TextSpan.of(text, start, end) for start, end in punkt_split(text)]
    stored = [TextSpan.of(text, span.start, span.end) for span in source.sentences]
    return stored or [TextSpan.of(text, start, end) for start, end in split(text)]


def paragraph_spans(text: str) -> list[TextSpan]:
    """Return the non-blank paragraphs: text between empty lines or, without an empty line, between line breaks.

    A line of spaces is not empty (as in the released code of SummaC).
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
    """Sentences of a summary for scores and for judgments.

    The first `scored` of `spans` determine the score. `judged` holds, for each stored sentence (which has its own
    judgment), its index in `spans`.
    """

    spans: list[TextSpan]
    scored: int
    judged: list[int]

    @classmethod
    def of(cls, summary: Summary, splitter: Splitter) -> SummarySentences:
        """Return the sentences of the splitter, followed by stored sentences that are not among them.

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
