"""`finesure.align`: which key facts a summary conveys, and with which sentences.

FineSurE, section 3.2 (Song et al., ACL 2024). With the edges E between key facts K and sentences S:
completeness = |{k : (k, s) in E}| / |K|, conciseness = |{s : (k, s) in E}| / |S|. One call a summary; the
document is not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Parser, Prepared, Tools
from summeter.evaluators.fences import fence_code, lines
from summeter.evaluators.finesure import legacy
from summeter.evaluators.finesure.answers import YES_NO, field, keyed, yes
from summeter.evaluators.finesure.blocks import prompt_hash, template
from summeter.evaluators.finesure.key_facts import MOST, KeyFactExtraction, Source, key_facts_of, templates
from summeter.evaluators.replies import entries, number, read_reply, show
from summeter.models.prompts import Prompt
from summeter.models.structured import Form
from summeter.records import Document, Item, Judgment, KeyFacts, ReplyError, Status

COMPLETENESS = "completeness"
CONCISENESS = "conciseness"


class Match(NamedTuple):
    """Whether one key fact is present, and in which sentences (indexes from 0, ascending)."""

    present: bool
    sentences: tuple[int, ...]


class Align(Evaluator):
    """Matches key facts with summary sentences, by an LLM judge.

    `source`, `at_most`, `validators` and `prompts` are those of KeyFactExtraction, which derives the key facts.

    Writes one judgment per key fact (aspect completeness: label 1 present, 0 absent; evidence: the
    sentences that convey it; `list_id` names the list) and one per sentence (aspect conciseness: label 1
    where it conveys some key fact). Without key facts both aspects have the status of that failure.
    """

    name: ClassVar[str] = "finesure.align"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge matches key facts with summary sentences (FineSurE)."
    aspects: ClassVar[tuple[str, ...]] = (COMPLETENESS, CONCISENESS)
    roles: ClassVar[tuple[str, ...]] = ("judge",)

    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    validators: int = Field(default=0, ge=0)
    prompts: Path | None = None

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the validators of key facts."""
        return self._extraction.required_roles

    def signature_fields(self) -> Mapping[str, object]:
        """Changed settings, and the prompts of extraction and alignment together."""
        return {
            **super().signature_fields(),
            "prompt": prompt_hash(["align", *templates(self.validators)], self.prompts),
        }

    def skip_reason(self, item: Item) -> str | None:
        """As for every evaluator; and there must be sentences."""
        return super().skip_reason(item) or (None if item.sentences else "the summary has no sentences")

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The key facts of the document."""
        return await self._extraction.prepare(document, tools)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One call; one judgment per key fact and one per sentence."""
        builder = JudgmentBuilder(self, item, tools.signature, prepared=prepared.id)
        if why := self.skip_reason(item):
            return _skipped(builder, why)
        facts = key_facts_of(prepared)
        if facts is None:
            return _without_facts(builder, prepared)
        llm = tools.llm("judge")
        answer = await llm.ask(self.prompt(item, facts), form(item, facts))
        builder = JudgmentBuilder(self, item, tools.signature, prepared=prepared.id, model=llm.id, calls=answer.calls)
        if answer.data is None:
            return _failed(builder, facts, answer.status, answer.reason)
        return _written(builder, facts, answer.data)

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Judgments from a stored reply, over the key facts given with the document."""
        builder = JudgmentBuilder(self, item, signature)
        if why := self.skip_reason(item):
            return _skipped(builder, why)
        facts = KeyFacts.of(item.key_facts, "given")
        if parser == "legacy":
            return legacy.alignment(builder, output, facts)
        if not facts.facts:
            return _skipped(builder, "no key facts are given, so the reply cannot be checked against them")
        try:
            return _written(builder, facts, _read(output, item, facts))
        except ReplyError as error:
            return _failed(builder, facts, error.kind, str(error))

    @property
    def _extraction(self) -> KeyFactExtraction:
        return KeyFactExtraction(
            source=self.source, at_most=self.at_most, validators=self.validators, prompts=self.prompts
        )

    def prompt(self, item: Item, facts: KeyFacts) -> Prompt:
        """The key facts first, since all summaries of a document share them."""
        return template("align", self.prompts).fill(
            key_facts=lines(facts.texts),
            facts_code=fence_code(*facts.texts),
            sentences=lines(item.sentences),
            summary_code=fence_code(*facts.texts, item.summary.text),
        )


def form(item: Item, facts: KeyFacts) -> Form[tuple[Match, ...]]:
    """The schema of a reply about this summary and these key facts, and the strict reader of one."""
    made = schema(len(facts.facts), len(item.sentences))
    return Form("alignment", made, lambda text: _read(text, item, facts))


def schema(facts: int, sentences: int) -> dict[str, Any]:
    """An object with one required property a key fact; line numbers in range. Shaped as the fact check's."""
    numbers = {"type": "integer", "enum": list(range(1, sentences + 1))}
    lines_ = {"type": "array", "items": numbers, "maxItems": sentences}
    return keyed(facts, "match", {"present": YES_NO, "lines": lines_})


def matches(value: Any, facts: int, sentences: int) -> tuple[Match, ...]:
    """One match per key fact from the JSON of a reply, or ReplyError.

    Also read is the released form: a list in the order of the key facts, of {"key fact", "response",
    "line number"}. The lines of an absent fact are ignored. A fact said to be present in no line is an
    answer that contradicts itself: completeness would count a fact that no sentence conveys.
    """
    found = []
    for position, entry in enumerate(entries(value, facts, "key fact"), start=1):
        try:
            found.append(_match(entry, sentences))
        except ReplyError as error:
            raise error.within(f"key fact {position}") from None
    return tuple(found)


def _match(entry: Any, sentences: int) -> Match:
    if not isinstance(entry, dict):
        raise ReplyError(f"the answer is {show(entry)}, not an object")
    present = yes(field(entry, "present", "response"))
    if not present:
        return Match(present=False, sentences=())
    numbers = _lines(field(entry, "lines", "line number"), sentences)
    if not numbers:
        raise ReplyError("it is said to be present, but in no line")
    return Match(present=True, sentences=numbers)


def _lines(said: Any, sentences: int) -> tuple[int, ...]:
    """Line numbers as indexes from 0; a single number counts as a list of one."""
    found = set()
    for one in said if isinstance(said, list) else [said]:
        line = number(one)
        if line is None:
            raise ReplyError(f"{show(one)} is not a line number")
        if not 1 <= line <= sentences:
            raise ReplyError(f"line {line}, but the lines run from 1 to {sentences}")
        found.add(line - 1)
    return tuple(sorted(found))


def _read(text: str, item: Item, facts: KeyFacts) -> tuple[Match, ...]:
    return read_reply(
        text,
        lambda value: matches(value, len(facts.facts), len(item.sentences)),
        material=(item.summary.text, *facts.texts),
        wordless=True,
    )


def _written(builder: JudgmentBuilder, facts: KeyFacts, found: tuple[Match, ...]) -> list[Judgment]:
    spans = builder.item.summary.sentences
    carried: list[list[str]] = [[] for _ in spans]
    judgments = []
    for index, match in enumerate(found):
        for sentence in match.sentences:
            carried[sentence].append(str(index + 1))
        judgments.append(
            builder.ok(
                COMPLETENESS, "key_fact", index, value=float(match.present), label=int(match.present),
                evidence=tuple(spans[sentence] for sentence in match.sentences), list_id=facts.id,
            )
        )  # fmt: skip
    for index, numbers in enumerate(carried):
        noun = "key fact" if len(numbers) == 1 else "key facts"
        reason = f"conveys {noun} {', '.join(numbers)}" if numbers else "conveys no key fact"
        judgments.append(
            builder.ok(
                CONCISENESS, "sentence", index, value=float(bool(numbers)), label=int(bool(numbers)), reason=reason
            )
        )
    return judgments


def _failed(builder: JudgmentBuilder, facts: KeyFacts, status: Status, reason: str | None) -> list[Judgment]:
    why = reason or "no usable reply"
    return [
        *(
            builder.failed(COMPLETENESS, status, why, "key_fact", index, list_id=facts.id)
            for index in range(len(facts.facts))
        ),
        *(builder.failed(CONCISENESS, status, why, "sentence", index) for index in range(len(builder.item.sentences))),
    ]


def _without_facts(builder: JudgmentBuilder, prepared: Prepared) -> list[Judgment]:
    """How many key facts there would be is unknown: one missing judgment for completeness, one per sentence for
    conciseness."""
    status: Status = "skipped" if prepared.status == "ok" else prepared.status
    why = prepared.reason or "there are no key facts"
    return [
        builder.failed(COMPLETENESS, status, why),
        *(builder.failed(CONCISENESS, status, why, "sentence", index) for index in range(len(builder.item.sentences))),
    ]


def _skipped(builder: JudgmentBuilder, why: str) -> list[Judgment]:
    return [builder.failed(aspect, "skipped", why) for aspect in (COMPLETENESS, CONCISENESS)]
