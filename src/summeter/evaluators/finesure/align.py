"""`finesure.align`: which key facts a summary conveys, and with which sentences; and `finesure`, all of FineSurE.

FineSurE, section 3.2 (Song et al., ACL 2024). With the edges E between key facts K and sentences S:
completeness = |{k : (k, s) in E}| / |K|, conciseness = |{s : (k, s) in E}| / |S|. One call a summary; the
document is not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator, ExpectedJudgment, JudgmentBuilder, Parser, Prepared, Role, Tools
from summeter.evaluators.finesure import legacy
from summeter.evaluators.finesure.fact_check import (
    WANTED,
    FactCheck,
    Strategy,
    Taxonomy,
    Wanted,
    asked_first,
    check_strategy,
    find_quotes,
    quotes_of,
)
from summeter.evaluators.finesure.key_facts import MOST, KeyFactExtraction, Source
from summeter.evaluators.llm import NO_DATA, LLMJudge
from summeter.evaluators.replies import (
    YES_NO,
    choice,
    field,
    keyed_schema,
    list_schema,
    number,
    optional_text,
    read_entries,
    show,
    yes,
)
from summeter.models.prompts import PromptFolder, fence_code, lines
from summeter.records import Document, Item, Judgment, KeyFacts, ReplyError
from summeter.text.match import QuoteFinder

COMPLETENESS: Final = "completeness"
CONCISENESS: Final = "conciseness"
WHOLLY: Final = "conveyed"
DEGREES: Final = (WHOLLY, "partly conveyed", "not conveyed")
"""Categories of a key fact, where a strategy asks for one; only the first counts as present."""


class Match(NamedTuple):
    """Whether one key fact is present, and in which sentences (indexes from 0, ascending); `degree` is one of
    `DEGREES`, and `quotes` what the judge copied from the summary, where they were asked for."""

    present: bool
    sentences: tuple[int, ...] = ()
    degree: str | None = None
    reason: str | None = None
    quotes: tuple[str, ...] = ()


class Alignment(NamedTuple):
    """A reply: a match for each key fact. `released` is set instead where the released parser read it."""

    facts: KeyFacts
    matches: tuple[Match, ...] = ()
    released: legacy.Alignment | None = None


class Align(LLMJudge[Alignment]):
    """Matches key facts with summary sentences, by an LLM judge.

    `strategy` is a prompt strategy of FineSurE's section 3.3, as for `finesure.fact_check`; each asks for all that the
    one before it does:

    - "basic": is the key fact conveyed, yes or no, and by which lines; nothing else
    - "instruction", the default and what FineSurE ships: the same, with the steps to take
    - "categorization": with those steps, whether it is conveyed wholly, partly or not; only wholly counts as present
    - "reasoning": before that, the reason in one sentence
    - "evidence": before both, the words of the summary that decide

    `source`, `at_most`, `validators` and `prompts` are those of KeyFactExtraction, which derives the key facts.

    Writes one judgment per key fact (aspect completeness: label 1 present, 0 absent; evidence: the
    sentences that convey it, or the words quoted; `list_id` names the list) and one per sentence (aspect conciseness:
    label 1 where it conveys some key fact). Without key facts both aspects have the status of that failure.
    """

    name, version = "finesure.align", "2"
    summary = "An LLM judge matches key facts with summary sentences (FineSurE)."
    binary_units = frozenset({"sentence", "key_fact"})
    aspects = (COMPLETENESS, CONCISENESS)
    long_documents = "unread"

    strategy: Strategy = "instruction"
    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    validators: int = Field(default=0, ge=0)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the validators of key facts."""
        return self._extraction.required_roles

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        return "align" if self.strategy == "instruction" else "align_strategies"

    @property
    def templates(self) -> tuple[str, ...]:
        """The prompts of extraction and alignment together."""
        return (self.template, *self._extraction.templates)

    def skip_reason(self, item: Item) -> str | None:
        """As for every evaluator; and there must be sentences."""
        return super().skip_reason(item) or (None if item.sentences else "the summary has no sentences")

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The key facts of the document."""
        return await self._extraction.prepare(document, tools)

    def stored_data(self, item: Item) -> Mapping[str, Any]:
        """The key facts given with the document."""
        return {"key_facts": item.key_facts, "origin": "given"}

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a stored reply, over the key facts given with the document."""
        if parser == "strict" and not item.key_facts:
            why = "no key facts are given, so the reply cannot be checked against them"
            return JudgmentBuilder(self, item, signature).skipped(why)
        return super().read(output, item, parser, signature)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The key facts first, since all summaries of a document share them."""
        facts = _facts(data)
        return {
            "key_facts": lines(facts.texts),
            "facts_code": fence_code(*facts.texts),
            "sentences": lines(item.sentences),
            "summary_code": fence_code(*facts.texts, item.summary.text),
            **WANTED[self.strategy]._asdict(),
        }

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """One match a key fact, with what the strategy asks for."""
        wanted, sentences = WANTED[self.strategy], len(item.sentences)
        line_numbers = list_schema({"type": "integer", "enum": list(range(1, sentences + 1))}, sentences, least=None)
        verdict = {"category": {"type": "string", "enum": list(DEGREES)}} if wanted.category else {"present": YES_NO}
        match = {**asked_first(wanted), **verdict, "lines": line_numbers}
        return keyed_schema(len(_facts(data).facts), "match", match)

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Alignment:
        """One match a key fact, in this evaluator's form or the released code's."""
        facts, wanted = _facts(data), WANTED[self.strategy]
        matched = read_entries(
            text,
            len(facts.facts),
            "key fact",
            lambda entry, _: _match(entry, len(item.sentences), wanted),
            decision=lambda match: (match.present, match.sentences, match.degree),
            material=(item.summary.text, *facts.texts),
            wordless=not wanted.reason,
        )
        return Alignment(facts, matched)

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Alignment:
        """What the released parser reads: one answer per returned item, however many there are, and line numbers."""
        released = legacy.parse_alignment(text)
        if not released.present:
            raise ReplyError(f"the released parser finds no answer in {show(text)}", fault="no_json")
        return Alignment(_facts(data), released=released)

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """One per key fact and one per sentence. How many key facts there would be where none were had is unknown: one
        for completeness. What the released parser does not read has one for conciseness."""
        facts = _facts(data)
        first = [ExpectedJudgment(COMPLETENESS, "key_fact", at, facts.id) for at in range(len(facts.facts))]
        sentences = [ExpectedJudgment(CONCISENESS, "sentence", index) for index in range(len(item.sentences))]
        second = {"strict": sentences, "legacy": [ExpectedJudgment(CONCISENESS)]}[parser]
        return [*(first or [ExpectedJudgment(COMPLETENESS)]), *second]

    def judgments(self, reply: Alignment, builder: JudgmentBuilder) -> list[Judgment]:
        """One judgment per key fact and one per sentence. Of what the released parser reads: one per returned item, and
        one for the summary, the number of distinct lines named, in range or not, by the number of sentences. It may
        exceed 1."""
        if reply.released is not None:
            present, named = reply.released
            list_id = reply.facts.id if len(present) == len(reply.facts.facts) else legacy.LIST
            count = len(builder.item.sentences)
            why = f"{len(named)} distinct lines named, {count} sentences"
            return [
                *(
                    builder.ok(COMPLETENESS, "key_fact", index, value=float(one), label=one, list_id=list_id)
                    for index, one in enumerate(present)
                ),
                builder.ok(CONCISENESS, value=len(named) / count, reason=why),
            ]
        spans = builder.item.summary.sentences
        finder = QuoteFinder(builder.item.summary.text)
        carried: list[list[str]] = [[] for _ in spans]
        judgments = []
        for index, match in enumerate(reply.matches):
            for sentence in match.sentences:
                carried[sentence].append(str(index + 1))
            quoted, notes = find_quotes(match.quotes, finder, "summary")
            degree = f"[{match.degree}]" if match.degree not in (None, WHOLLY) else None
            judgments.append(
                builder.ok(
                    COMPLETENESS,
                    "key_fact",
                    index,
                    value=float(match.present),
                    label=int(match.present),
                    evidence=quoted or tuple(spans[sentence] for sentence in match.sentences),
                    reason=" ".join(filter(None, [match.reason, degree, *notes])) or None,
                    list_id=reply.facts.id,
                )
            )
        for index, facts in enumerate(carried):
            noun = "key fact" if len(facts) == 1 else "key facts"
            why = f"conveys {noun} {', '.join(facts)}" if facts else "conveys no key fact"
            value = bool(facts)
            judgments.append(
                builder.ok(CONCISENESS, "sentence", index, value=float(value), label=int(value), reason=why)
            )
        return judgments

    @property
    def _extraction(self) -> KeyFactExtraction:
        return KeyFactExtraction(
            source=self.source, at_most=self.at_most, validators=self.validators, prompts=self.prompts
        )


class FineSurE(Evaluator):
    """Faithfulness, completeness and conciseness in two calls a summary, plus one a document where key
    facts have to be extracted, and one a document for each validator of them.

    `strategy` is the prompt strategy of the fact check, `align_strategy` that of the alignment; the other settings are
    those of the parts.

    A bundle: `components()` do the work, and their judgments carry the parts' own names and signatures.

    >>> [part.name for part in FineSurE().components()]
    ['finesure.fact_check', 'finesure.align']
    """

    name, version = "finesure", "2"
    summary = "Faithfulness, completeness and conciseness by an LLM judge (FineSurE)."
    aspects = ("faithfulness", "completeness", "conciseness")
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}

    taxonomy: Taxonomy = "finesure"
    strategy: Strategy = "reasoning"
    align_strategy: Strategy = "instruction"
    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    validators: int = Field(default=0, ge=0)
    prompts: PromptFolder | None = None

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        check_strategy(self.strategy, self.taxonomy)
        return self

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the validators of key facts."""
        return tuple(dict.fromkeys(role for part in self.components() for role in part.required_roles))

    def components(self) -> tuple[Evaluator, ...]:
        """The fact check and the alignment, with this bundle's settings."""
        return (
            FactCheck(taxonomy=self.taxonomy, strategy=self.strategy, prompts=self.prompts),
            Align(
                strategy=self.align_strategy,
                source=self.source,
                at_most=self.at_most,
                validators=self.validators,
                prompts=self.prompts,
            ),
        )


def _match(entry: Any, sentences: int, wanted: Wanted) -> Match:
    """The match in an entry of this evaluator's form, or of the released one: {"key fact", "response", "line number"}.

    A single line number counts as a list of one; the lines of an absent fact are ignored. A fact said to be present in
    no line is an answer that contradicts itself: completeness would count a fact that no sentence conveys.
    """
    degree = None
    if wanted.category:
        named = field(entry, "category")
        degree = choice(named)
        if degree not in DEGREES:
            raise ReplyError(f"{show(named)} is none of the categories: {', '.join(DEGREES)}")
    present = degree == WHOLLY if wanted.category else yes(field(entry, "present", "response"))
    why = optional_text(entry) if wanted.reason else None
    quotes = quotes_of(entry) if wanted.quote else ()
    if not present:
        return Match(present=False, degree=degree, reason=why, quotes=quotes)
    value = field(entry, "lines", "line number")
    indexes = set()
    for written in value if isinstance(value, list) else [value]:
        line = number(written)
        if line is None:
            raise ReplyError(f"{show(written)} is not a line number")
        if not 1 <= line <= sentences:
            raise ReplyError(f"line {line}, but the lines run from 1 to {sentences}")
        indexes.add(line - 1)
    if not indexes:
        raise ReplyError("it is said to be present, but in no line")
    return Match(present=True, sentences=tuple(sorted(indexes)), degree=degree, reason=why, quotes=quotes)


def _facts(data: Mapping[str, Any]) -> KeyFacts:
    return KeyFacts.of(data.get("key_facts", ()), data.get("origin", "given"))
