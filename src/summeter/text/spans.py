"""Text spans: what of a text is read or compared, with the code points it stands on.

`sentence_spans` and `paragraph_spans` cut a text; `chunks` joins their spans into larger ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from summeter.records import Document, Side, Span, Summary
from summeter.text.split import split

Splitter = Literal["punkt", "stored"]
"""Which sentences a text has: those of NLTK's Punkt, as in released code, or those stored with the data."""


class TextSpan(NamedTuple):
    """A text as a model reads it, and the code points `start` to `end` of the whole that it stands on.

    `text` differs from the whole between them where spans were joined or blanks evened out.
    """

    text: str
    start: int
    end: int

    @classmethod
    def of(cls, whole: str, start: int = 0, end: int | None = None) -> TextSpan:
        """The span `whole[start:end]`, by default all of it."""
        end = len(whole) if end is None else end
        return cls(whole[start:end], start, end)

    @classmethod
    def joined(cls, spans: Sequence[TextSpan]) -> TextSpan:
        """Neighbouring spans as one, their texts joined by a blank.

        >>> TextSpan.joined([TextSpan("A b.", 0, 4), TextSpan("C d.", 6, 10)])
        TextSpan(text='A b. C d.', start=0, end=10)
        """
        return cls(" ".join(span.text for span in spans), spans[0].start, spans[-1].end)

    @property
    def offsets(self) -> tuple[int, int]:
        """(start, end)."""
        return self.start, self.end

    def as_span(self, of: Side) -> Span:
        """As the record that points into a document or a summary."""
        return Span(of=of, start=self.start, end=self.end)


def evidence(spans: Iterable[TextSpan], of: Side = "document") -> tuple[Span, ...]:
    """Text spans as the evidence of a judgment, each once."""
    return tuple(dict.fromkeys(span.as_span(of) for span in spans))


def sentence_spans(part: Document | Summary, splitter: Splitter = "stored") -> list[TextSpan]:
    """Its sentences. `stored`: those of the data, or, where it has none, by the rules of `text.split`."""
    text = part.text
    if splitter == "punkt":
        from summeter.text.punkt import punkt_split

        return [TextSpan.of(text, start, end) for start, end in punkt_split(text)]
    stored = [TextSpan.of(text, span.start, span.end) for span in part.sentences]
    return stored or [TextSpan.of(text, start, end) for start, end in split(text)]


def paragraph_spans(text: str) -> list[TextSpan]:
    """What stands between empty lines, or between line ends where no line is empty, without blank ones.

    A line of blanks is not empty (as in the released code of SummaC).
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
    """Sentences of a summary: the first `scored` of `spans` make its score, and each stored sentence, which has a
    judgment of its own, is the one at its place in `judged`."""

    spans: list[TextSpan]
    scored: int
    judged: list[int]

    @classmethod
    def of(cls, summary: Summary, splitter: Splitter) -> SummarySentences:
        """The sentences that the setting asks for, then those stored that are not among them.

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
