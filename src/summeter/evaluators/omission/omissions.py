"""`omissions`: the facts that a summary leaves out, most important first, from one call per summary.

The method is the end-to-end metric of Dejl et al. (arXiv 2510.07926): one prompt asks which facts of the source a text
covers and which it does not. The wording of the prompt and the degrees of importance are those of summeter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from pydantic import Field

from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.finesure.align import COMPLETENESS
from summeter.evaluators.finesure.fact_check import QUOTE, find_quotes, finder_of, quotes_of
from summeter.evaluators.finesure.key_facts import FACT, MOST
from summeter.evaluators.llm import NO_DATA, LLMJudge, NoVerdict, material, texts
from summeter.evaluators.replies import (
    YES_NO,
    choice,
    field,
    is_object,
    list_schema,
    listed_in,
    object_schema,
    read_reply,
    required_text,
    show,
    text_schema,
    yes,
)
from summeter.models.structured import Answer
from summeter.records import Claim, Item, Judgment, KeyFacts, ReplyError, Side
from summeter.text.spans import TextSpan

IMPORTANCE: Final = ("essential", "important", "minor")
REPLY_TOKENS: Final = 90
"""Expected number of tokens of a fact in a reply."""


class SourceFact(NamedTuple):
    """A fact of the document, its importance, whether the summary states it, and where it was found."""

    text: str
    importance: str
    present: bool
    quotes: tuple[str, ...]


Facts = tuple[SourceFact, ...]


class Omissions(LLMJudge[Facts]):
    """List the facts of a document that a summary states and those that it leaves out.

    The judge reads the document and the summary, and lists up to `at_most` facts with their importance (essential,
    important or minor). If the document exceeds the judge's context, it is asked about one window at a time, and the
    lists are merged. `prompts` is a folder; its template `omissions.txt` replaces the shipped one.

    Writes one judgment per fact (aspect completeness, unit key_fact), most important first. The label is 1 if the
    summary states the fact, and otherwise 0. The reason starts with the importance, and `claim` is the fact. The
    evidence is the passage of the summary that states the fact or, for a missing fact, the passage of the document.
    Each summary has a list of its own, so judgments of facts are comparable only within a summary.
    """

    name, version = "omissions", "1"
    summary = "An LLM judge lists what a summary leaves out, most important first, in one call."
    aspects = (COMPLETENESS,)
    binary_units = frozenset({"key_fact"})
    long_documents = "windows"
    reads_sentences = False

    at_most: int = Field(default=20, ge=1, le=MOST)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the texts of the item and the maximum number of facts."""
        return {"limit": self.at_most, **texts(item)}

    def expected_tokens(self, item: Item) -> int:
        """Return the expected number of tokens of a full list."""
        return REPLY_TOKENS * self.at_most

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply: a list of facts."""
        importance = {"type": "string", "enum": list(IMPORTANCE)}
        fact = {"fact": text_schema(FACT), "importance": importance, "quote": text_schema(QUOTE), "present": YES_NO}
        return object_schema({"facts": list_schema(object_schema(fact), self.at_most)})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Facts:
        """Return the distinct facts of a reply, most important first, at most `at_most`."""

        def facts(value: Any) -> Facts:
            found = []
            for place, entry in enumerate(listed_in(value, ["facts"], "fact"), 1):
                try:
                    found.append(_fact(entry))
                except ReplyError as error:
                    raise error.within(f"fact {place}") from None
            if len({(_key(fact), fact.present) for fact in found}) > len(set(map(_key, found))):
                raise ReplyError("a fact occurs twice with different answers", fault="ambiguous")
            return self._ranked(found)

        return read_reply(
            text,
            facts,
            wanted=is_object,
            same=lambda found: [(fact.text, fact.present) for fact in found],
            material=material(item)[:2],
        )

    def combine(self, answers: Sequence[Answer[Facts]], item: Item, views: Sequence[TextSpan]) -> Facts | NoVerdict:
        """Merge the lists of all windows. There is no verdict if a window has no usable reply.

        Facts of the same importance are taken from the windows in turn. A fact that two windows list is present if the
        summary has it by one of them.
        """
        for window, answer in enumerate(answers, 1):
            if answer.data is None:
                where = f"window {window} of {len(views)}: " if len(views) > 1 else ""
                return NoVerdict(answer.status, f"{where}{answer.reason or 'no usable reply'}")
        turns = zip_longest(*(answer.data or () for answer in answers))
        return self._ranked([fact for turn in turns for fact in turn if fact is not None])

    def judgments(self, reply: Facts, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per fact."""
        list_id = KeyFacts.of([fact.text for fact in reply], "document").id
        texts_of = {"summary": builder.item.summary.text, "document": builder.item.document.text}
        judgments = []
        for index, fact in enumerate(reply):
            side: Side = "summary" if fact.present else "document"
            spans, notes = find_quotes(fact.quotes, finder_of(texts_of[side]), side)
            judgments.append(
                builder.ok(
                    COMPLETENESS,
                    "key_fact",
                    index,
                    value=float(fact.present),
                    label=int(fact.present),
                    evidence=spans,
                    reason=" ".join([fact.importance, *notes]),
                    list_id=list_id,
                    claim=Claim(text=fact.text),
                )
            )
        return judgments

    def _ranked(self, facts: Sequence[SourceFact]) -> Facts:
        """Return the first `at_most` distinct facts by importance; of two with the same text, one that is present."""
        distinct: dict[str, SourceFact] = {}
        for fact in facts:
            known = distinct.get(_key(fact))
            if known is None or (fact.present and not known.present):
                distinct[_key(fact)] = fact
        ranked = sorted(distinct.values(), key=lambda fact: IMPORTANCE.index(fact.importance))
        return tuple(ranked[: self.at_most])


def _key(fact: SourceFact) -> str:
    return choice(fact.text) or fact.text


def _fact(entry: Any) -> SourceFact:
    if not isinstance(entry, dict):
        raise ReplyError(f"expected a fact as an object, got {show(entry)}")
    text = required_text(entry, "fact")
    if not any(map(str.isalnum, text)):
        raise ReplyError(f"the fact is {show(text)}, not a statement")
    importance = choice(field(entry, "importance"))
    if importance not in IMPORTANCE:
        raise ReplyError(f"the importance is {show(entry['importance'])}, not one of {', '.join(IMPORTANCE)}")
    return SourceFact(text, importance, yes(field(entry, "present")), quotes_of(entry))
