"""`finesure.align`, which aligns key facts with sentences, and `finesure`, all of FineSurE.

See FineSurE, section 3.2 (Song et al., ACL 2024). Let E be the edges between the key facts K and the sentences S. Then
completeness = |{k : (k, s) in E}| / |K| and conciseness = |{s : (k, s) in E}| / |S|. There is one call per summary; the
prompt does not contain the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator, ExpectedJudgment, JudgmentBuilder, Parser, Prepared, Role, Tools
from summeter.evaluators.finesure import legacy
from summeter.evaluators.finesure.fact_check import (
    REPLY_FIELDS,
    FactCheck,
    ReplyFields,
    Strategy,
    Taxonomy,
    check_strategy,
    find_quotes,
    quotes_of,
    schemas_before_verdict,
)
from summeter.evaluators.finesure.key_facts import MOST, KeyFactExtraction, Order, Source
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
"""Categories of a key fact, for strategies that ask for a category. Only the first counts as present."""


class Match(NamedTuple):
    """Whether one key fact is present, and the sentences that convey the key fact.

    `sentences` are ascending indexes from 0.

    If the strategy asks for them, `degree` is one of `DEGREES` and `quotes` contains quotes from the summary.
    """

    present: bool
    sentences: tuple[int, ...] = ()
    degree: str | None = None
    reason: str | None = None
    quotes: tuple[str, ...] = ()


class Alignment(NamedTuple):
    """A parsed reply.

    It contains one match per key fact, or `released`, the result of the released parser (`legacy.parse_alignment`).
    """

    facts: KeyFacts
    matches: tuple[Match, ...] = ()
    released: tuple[list[int], set[int]] | None = None


class Align(LLMJudge[Alignment]):
    """Match key facts with summary sentences by an LLM judge.

    `strategy` is a prompt strategy of section 3.3 of the paper, as for `finesure.fact_check`. Each strategy extends the
    previous one:

    - "basic": whether the key fact is conveyed, yes or no, and by which lines
    - "instruction" (the default, and FineSurE's choice): the same question, with the steps to take
    - "categorization": whether the key fact is conveyed wholly, partly or not at all; only "wholly" counts as present
    - "reasoning": a reason in one sentence before the answer
    - "evidence": the deciding words of the summary before the reason

    `source`, `at_most`, `order`, `validators` and `prompts` are those of KeyFactExtraction, which provides key facts.

    Writes one judgment per key fact (aspect completeness) and one per sentence (aspect conciseness). A key fact has the
    label 1 if it is present, and otherwise 0; its evidence are the sentences that convey it or the quoted words, and
    `list_id` identifies the list of key facts. A sentence has the label 1 if it conveys a key fact. If there are no key
    facts, the judgments of both aspects have the status and the reason of that failure.
    """

    name, version = "finesure.align", "2"
    summary = "An LLM judge matches key facts with summary sentences (FineSurE)."
    binary_units = frozenset({"sentence", "key_fact"})
    aspects = (COMPLETENESS, CONCISENESS)
    long_documents = "unread"

    strategy: Strategy = "instruction"
    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    order: Order = "text"
    validators: int = Field(default=0, ge=0)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles of the judge and of the validators of key facts."""
        return self._extraction.required_roles

    @property
    def template(self) -> str:
        """The name of the prompt template."""
        return "align" if self.strategy == "instruction" else "align_strategies"

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates of the extraction and the alignment."""
        return (self.template, *self._extraction.templates)

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, such as a summary without sentences, or None."""
        return super().skip_reason(item) or (None if item.sentences else "the summary has no sentences")

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the key facts of the document."""
        return await self._extraction.prepare(document, tools)

    def stored_data(self, item: Item) -> Mapping[str, Any]:
        """Return the key facts of the document that are given in the data."""
        return {"key_facts": item.key_facts, "origin": "given"}

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Return judgments from a stored reply about the key facts that are given in the data."""
        if parser == "strict" and not item.key_facts:
            why = "the data contain no key facts to compare the reply with"
            return JudgmentBuilder(self, item, signature).skipped(why)
        return super().read(output, item, parser, signature)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the template variables.

        The key facts come first, because all summaries share them.
        """
        facts = _facts(data)
        return {
            "key_facts": lines(facts.texts),
            "facts_code": fence_code(*facts.texts),
            "sentences": lines(item.sentences),
            "summary_code": fence_code(*facts.texts, item.summary.text),
            **REPLY_FIELDS[self.strategy]._asdict(),
        }

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply, with one match per key fact and the fields of the strategy."""
        fields, sentences = REPLY_FIELDS[self.strategy], len(item.sentences)
        line_numbers = list_schema({"type": "integer", "enum": list(range(1, sentences + 1))}, sentences, least=None)
        verdict = {"category": {"type": "string", "enum": list(DEGREES)}} if fields.category else {"present": YES_NO}
        match = {**schemas_before_verdict(fields), **verdict, "lines": line_numbers}
        return keyed_schema(len(_facts(data).texts), "match", match)

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Alignment:
        """Parse one match per key fact, in the form of this evaluator or in the released form."""
        facts, fields = _facts(data), REPLY_FIELDS[self.strategy]
        matched = read_entries(
            text,
            len(facts.texts),
            "key fact",
            lambda entry, _: _match(entry, len(item.sentences), fields),
            decision=lambda match: (match.present, match.sentences, match.degree),
            material=(item.summary.text, *facts.texts),
            wordless=not fields.reason,
        )
        return Alignment(facts, matched)

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Alignment:
        """Parse a reply as the released parser does: one answer per returned item, and line numbers.

        The number of answers is not checked. Raises ReplyError if there is no answer.
        """
        present, lines = legacy.parse_alignment(text)
        if not present:
            raise ReplyError(f"the released parser found no answer in {show(text)}", fault="no_json")
        return Alignment(_facts(data), released=(present, lines))

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """Return one expected judgment per key fact and one per sentence.

        If there are no key facts, one judgment of completeness is expected, because the number of key facts is unknown.
        The released parser gives only one judgment of conciseness.
        """
        facts = _facts(data)
        completeness = [ExpectedJudgment(COMPLETENESS, "key_fact", at, facts.id) for at in range(len(facts.texts))]
        conciseness = [ExpectedJudgment(CONCISENESS)]
        if parser == "strict":
            conciseness = [ExpectedJudgment(CONCISENESS, "sentence", index) for index in range(len(item.sentences))]
        return [*(completeness or [ExpectedJudgment(COMPLETENESS)]), *conciseness]

    def judgments(self, reply: Alignment, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per key fact and one per sentence.

        For a result of the released parser, return one judgment per returned item and one of the summary. Its value is
        the number of distinct line numbers in the reply, whether valid or not, divided by the number of sentences; it
        may exceed 1.
        """
        if reply.released is not None:
            present, named = reply.released
            list_id = reply.facts.id if len(present) == len(reply.facts.texts) else legacy.LIST
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
        conveyed: list[list[str]] = [[] for _ in spans]
        judgments = []
        for index, match in enumerate(reply.matches):
            for sentence in match.sentences:
                conveyed[sentence].append(str(index + 1))
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
        for index, facts in enumerate(conveyed):
            noun = "key fact" if len(facts) == 1 else "key facts"
            why = f"conveys {noun} {', '.join(facts)}" if facts else "conveys no key fact"
            value = bool(facts)
            judgments.append(
                builder.ok(CONCISENESS, "sentence", index, value=float(value), label=int(value), reason=why)
            )
        return judgments

    @property
    def _extraction(self) -> KeyFactExtraction:
        return KeyFactExtraction(**_of_key_facts(self))


class FineSurE(Evaluator):
    """Judge faithfulness, completeness and conciseness by an LLM, in two calls per summary.

    The extraction of key facts needs one additional call per document, and each validator another one. `strategy` is
    the prompt strategy of the fact check and `align_strategy` that of the alignment. The other settings are those of
    the components.

    This evaluator is a bundle: `components()` write the judgments, which have the names and signatures of the
    components.

    >>> [component.name for component in FineSurE().components()]
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
    order: Order = "text"
    validators: int = Field(default=0, ge=0)
    prompts: PromptFolder | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_strategy(self.strategy, self.taxonomy)
        return self

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles of the judge and of the validators of key facts."""
        return tuple(dict.fromkeys(role for component in self.components() for role in component.required_roles))

    def components(self) -> tuple[Evaluator, ...]:
        """Return the fact check and the alignment, with the settings of this bundle."""
        return (
            FactCheck(taxonomy=self.taxonomy, strategy=self.strategy, prompts=self.prompts),
            Align(strategy=self.align_strategy, **_of_key_facts(self)),
        )


def _of_key_facts(evaluator: Align | FineSurE) -> dict[str, Any]:
    """Return those settings that are the settings of the extraction of key facts."""
    return {name: getattr(evaluator, name) for name in KeyFactExtraction.model_fields}


def _match(entry: Any, sentences: int, fields: ReplyFields) -> Match:
    """Parse an entry in the form of this evaluator or in the released form.

    The released form is {"key fact", "response", "line number"}.

    A single line number is read as a list of one. The lines of an absent fact are ignored. A present fact without a
    line is rejected as contradictory.
    """
    degree = None
    if fields.category:
        named = field(entry, "category")
        degree = choice(named)
        if degree not in DEGREES:
            raise ReplyError(f"{show(named)} is not one of the categories {', '.join(DEGREES)}")
    present = degree == WHOLLY if fields.category else yes(field(entry, "present", "response"))
    why = optional_text(entry) if fields.reason else None
    quotes = quotes_of(entry) if fields.quote else ()
    if not present:
        return Match(present=False, degree=degree, reason=why, quotes=quotes)
    value = field(entry, "lines", "line number")
    indexes = set()
    for written in value if isinstance(value, list) else [value]:
        line = number(written)
        if line is None:
            raise ReplyError(f"{show(written)} is not a line number")
        if not 1 <= line <= sentences:
            raise ReplyError(f"there is no line {line}; the lines are 1 to {sentences}")
        indexes.add(line - 1)
    if not indexes:
        raise ReplyError("the key fact is present, but in no line")
    return Match(present=True, sentences=tuple(sorted(indexes)), degree=degree, reason=why, quotes=quotes)


def _facts(data: Mapping[str, Any]) -> KeyFacts:
    return KeyFacts.of(data.get("key_facts", ()), data.get("origin", "given"))
