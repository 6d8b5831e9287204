"""The claims of a summary from one of four sources: rules, a parser, a sequence-to-sequence network, or an LLM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, assert_never

from summeter.evaluators.base import Tools
from summeter.evaluators.claims.extract import anchor, extract_claims
from summeter.evaluators.entailment.premises import sentences_of
from summeter.models.base import Seq2Seq
from summeter.models.prompts import Template
from summeter.records import Claim, Span, Status, Summary, digest
from summeter.text.english.clauses import LONGEST, clauses
from summeter.text.english.dependency import parse, statements
from summeter.text.split import split

Source = Literal["rules", "parse", "seq2seq", "llm"]
"""`rules`: clauses by rules. `parse`: statements along a dependency tree (the extra `parse`).
`seq2seq`: a network trained to write a summary's claims one sentence each, such as the paper's T5. `llm`: an LLM in the
role `extractor`."""


class Drawn(NamedTuple):
    """The claims of a summary, each once; or why there are none. `model` drew them (None: rules did)."""

    claims: tuple[Claim, ...]
    status: Status = "ok"
    reason: str | None = None
    calls: tuple[str, ...] = ()
    model: str | None = None

    @property
    def id(self) -> str:
        """Twelve hex digits that change with any text of the list."""
        return digest([claim.text for claim in self.claims], 12)


async def draw(summary: Summary, source: Source, tools: Tools, template: Template | None = None) -> Drawn:
    """The claims of a summary. Each names the sentence it comes from, where one is found."""
    match source:
        case "rules":
            return Drawn(_each(summary, clauses))
        case "parse":
            return Drawn(by_parse(summary))
        case "seq2seq":
            return await by_network(summary, tools.seq2seq("seq2seq"))
        case "llm":
            llm = tools.llm("extractor")
            extracted = await extract_claims(summary, llm, template)
            return Drawn(extracted.claims, extracted.status, extracted.reason, extracted.calls, llm.id)
        case _:
            assert_never(source)


def by_parse(summary: Summary) -> tuple[Claim, ...]:
    """The statements along each sentence's dependency tree. InstallError where the parser is missing."""
    return _each(summary, _parsed)


def _parsed(sentence: str) -> tuple[str, ...]:
    whole = sentence.strip()
    # A line break within a sentence is no word; the parser would take it for one.
    return (len(whole) <= LONGEST and statements(parse(" ".join(whole.split())))) or (whole,)


def _each(summary: Summary, apart: Callable[[str], tuple[str, ...]]) -> tuple[Claim, ...]:
    """The statements of each sentence; a statement said twice is one claim."""
    claims: dict[str, Span] = {}
    for span in sentences(summary):
        for text in apart(span.cut(summary.text)):
            claims.setdefault(text, span)
    return tuple(Claim(text=text, span=span) for text, span in claims.items())


async def by_network(summary: Summary, model: Seq2Seq) -> Drawn:
    """What the network writes, one sentence one claim (FENICE, section 3.1); exact repetitions are left out."""
    (text,) = await model.generate([summary.text])
    texts = tuple(dict.fromkeys(text[start:end] for start, end in split(text)))
    if not texts:
        return Drawn((), "unparsed", f"claims of the summary: {model.id} wrote none", model=model.id)
    return Drawn(_anchored(texts, summary), model=model.id)


def by_sentence(summary: Summary) -> Drawn:
    """Every sentence as it stands, for the ladder's lowest step."""
    return Drawn(tuple(Claim(text=span.cut(summary.text), span=span) for span in sentences(summary)))


def sentences(summary: Summary) -> tuple[Span, ...]:
    """The summary's sentences: those stored, or, where it has none, by the rules."""
    return tuple(Span(of="summary", start=start, end=end) for start, end in sentences_of(summary))


def _anchored(texts: Sequence[str], summary: Summary) -> tuple[Claim, ...]:
    anchors = anchor(texts, summary)
    return tuple(Claim(text=text, span=span) for text, (span, _) in zip(texts, anchors, strict=True))
