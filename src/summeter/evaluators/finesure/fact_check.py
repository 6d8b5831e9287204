"""`finesure.fact_check`: is each sentence of the summary true to the document, and if not, how not.

FineSurE, sections 3.1 and 3.3 (Song et al., ACL 2024); the five-category variant after UniSumEval (Lee et al.,
EMNLP 2024). One call a summary. faithfulness = share of sentences without error.

The prompt strategies of section 3.3 are those of the alignment too: each asks for all that the one before it asks for,
and for one thing more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, Self, get_args

from pydantic import model_validator

from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.finesure import legacy
from summeter.evaluators.llm import NO_DATA, NoVerdict, material
from summeter.evaluators.replies import (
    NO_YES,
    REASON,
    choice,
    clean,
    field,
    keyed_schema,
    optional_text,
    read_entries,
    show,
    text_schema,
    yes,
)
from summeter.evaluators.supported import SentenceJudge, SupportVerdict, support_judgment
from summeter.models.prompts import fence_code, lines
from summeter.records import Item, Judgment, ReplyError, Span, canonical_error_type
from summeter.records.taxonomy import FINESURE, NO_ERROR, UNISUMEVAL
from summeter.text.match import QuoteFinder

Verdicts = tuple[SupportVerdict | NoVerdict, ...]

Taxonomy = Literal["finesure", "unisumeval"]

CATEGORIES: dict[Taxonomy, tuple[str, ...]] = {"finesure": FINESURE, "unisumeval": UNISUMEVAL}
"""FineSurE's nine categories (after FRANK, Pagnoni et al., 2021) and UniSumEval's five (Lee et al., 2024). Their
meanings stand in the prompt templates."""


Strategy = Literal["basic", "instruction", "categorization", "reasoning", "evidence"]

QUOTE: Final = 400
"""Longest quote that the schema allows, in characters; the prompts ask for 50 words."""


class Wanted(NamedTuple):
    """What a strategy asks for beside the verdict: `steps` to take, a `category`, a `reason`, a `quote`."""

    steps: bool
    category: bool
    reason: bool
    quote: bool


WANTED: Final[dict[Strategy, Wanted]] = {
    strategy: Wanted(steps=level > 0, category=level > 1, reason=level > 2, quote=level > 3)
    for level, strategy in enumerate(get_args(Strategy))
}
"""Each strategy asks for all that the one before it asks for, and for one thing more."""


class FactCheck(SentenceJudge):
    """A verdict on each summary sentence, from an LLM judge.

    `strategy` is the prompt strategy of FineSurE's section 3.3. Each asks for all that the one before it does:

    - "basic": is the sentence supported, yes or no; nothing else
    - "instruction": the same, with the steps to take
    - "categorization": with those steps, which category of error (or none) instead of yes or no
    - "reasoning", the default and what FineSurE ships: before the category, the reason in one sentence
    - "evidence": before both, the passage of the document that decides, word for word

    `taxonomy`: "finesure" (nine categories) or "unisumeval" (five). `prompts`: a folder whose templates
    replace the shipped ones of the same name.

    Writes one judgment per sentence (aspect faithfulness): label 1 and value 1.0 for "no error" (or yes), else
    0 and 0.0; `error_type` is the category where one was asked for; `evidence` the places of the document that
    were quoted. A quote that is not in the document is no evidence, and the reason says so. A reply that cannot be used
    gives one failed judgment per sentence.
    """

    name, version = "finesure.fact_check", "2"
    summary = "An LLM judge finds the factual errors of each sentence (FineSurE)."
    binary_units = frozenset({"sentence"})
    reply_tokens = 80  # reason and quote included

    taxonomy: Taxonomy = "finesure"
    strategy: Strategy = "reasoning"

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        check_strategy(self.strategy, self.taxonomy)
        return self

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        if not self._wanted.category:
            return "fact_check_yes_no"
        return "fact_check" if self.taxonomy == "finesure" else f"fact_check_{self.taxonomy}"

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document first: the same beginning for all evaluators and all summaries of a document, so that a
        provider's prefix cache can serve it."""
        return {
            "document": item.document.text,
            "document_code": fence_code(item.document.text),
            "sentences": lines(item.sentences),
            "summary_code": fence_code(item.document.text, item.summary.text),
            **self._wanted._asdict(),
        }

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """One required verdict a sentence, with what the strategy asks for, in that order."""
        if not self._wanted.category:
            return keyed_schema(len(item.sentences), "verdict", {"supported": NO_YES})
        # Errors first: a dry run, which takes the first, then counts every window of a long document.
        named = {"type": "string", "enum": sorted(CATEGORIES[self.taxonomy], key=lambda name: name == NO_ERROR)}
        return keyed_schema(len(item.sentences), "verdict", {**asked_first(self._wanted), "category": named})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Verdicts:
        """One verdict a sentence: in the form asked for, or in the released one, a list in their order."""
        texts = item.sentences
        return read_entries(
            text,
            len(texts),
            "sentence",
            lambda entry, place: self._verdict(entry, place, texts),
            decision=lambda verdict: (verdict.supported, verdict.category),
            material=material(item)[:2],
            wordless=not self._wanted.reason,
            bare=True,
        )

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Verdicts:
        """One verdict per label that the released parser reads, however many there are."""
        categories = legacy.parse_fact_check(text)
        if not categories:
            raise ReplyError(f"the released parser finds no verdict in {show(text)}", fault="no_json")
        return tuple(SupportVerdict(name.lower() == NO_ERROR, clean(name) or None) for name in categories)

    def judgments(self, reply: Verdicts, builder: JudgmentBuilder) -> list[Judgment]:
        """One judgment a verdict. Where their count is not the summary's (which only the released parser lets pass),
        they name no sentence of it: they stand in the list "legacy", and indexes may run past the last sentence."""
        if len(reply) != len(builder.item.sentences):
            return [
                support_judgment(builder, verdict, place, list_id=legacy.LIST)
                for place, verdict in enumerate(reply)
                if isinstance(verdict, SupportVerdict)
            ]
        return super().judgments(reply, builder)

    def verdict_judgment(self, verdict: SupportVerdict, place: int, builder: JudgmentBuilder) -> Judgment:
        """The judgment, with the places of the document that were quoted."""
        if verdict.quotes is None:
            return support_judgment(builder, verdict, place)
        spans, notes = find_quotes(verdict.quotes, _finder(builder.item.document.text), "document")
        if verdict.supported and not verdict.quotes:
            notes.append("[no quote given]")
        reason = " ".join(filter(None, [verdict.reason, *notes])) or None
        return support_judgment(builder, verdict._replace(reason=reason), place, spans)

    @property
    def _wanted(self) -> Wanted:
        return WANTED[self.strategy]

    def _verdict(self, entry: Any, place: int, sentences: tuple[str, ...]) -> SupportVerdict:
        """The verdict in an entry: in the form asked for, or a bare category (a bare yes or no, where that was asked).
        An entry that repeats its sentence must not have the text of another one."""
        bare = isinstance(entry, str)
        if bare:
            entry = {"category" if self._wanted.category else "supported": entry}
        # Judges often retype a sentence a little, so no match is no fault; but the text of another one is.
        repeated, own = _letters(entry.get("sentence")), [_letters(sentence) for sentence in sentences]
        if repeated and repeated != own[place] and repeated in own:
            raise ReplyError(f"the entry in its place repeats sentence {own.index(repeated) + 1}", fault="wrong_count")
        if not self._wanted.category:
            return SupportVerdict(yes(field(entry, "supported")), None, optional_text(entry))
        if "category" not in entry:
            raise ReplyError("the verdict has no category")
        why, named = optional_text(entry), category(entry["category"], self.taxonomy)
        return SupportVerdict(
            named == NO_ERROR, named, why, quotes_of(entry) if self._wanted.quote and not bare else None
        )


def check_strategy(strategy: Strategy, taxonomy: Taxonomy) -> None:
    """Raises ValueError where a taxonomy is chosen and no category asked for: it would be signed, and do nothing."""
    if taxonomy != "finesure" and not WANTED[strategy].category:
        raise ValueError(
            f"strategy={strategy} asks for yes or no and for no category, so taxonomy={taxonomy} has no effect; "
            "leave one of them out"
        )


@lru_cache(maxsize=32)
def _finder(document: str) -> QuoteFinder:
    """One for all summaries of a document: preparing it is expensive."""
    return QuoteFinder(document)


def category(value: Any, taxonomy: Taxonomy) -> str:
    """The category a judge means; ReplyError where it is none of the taxonomy's.

    Case, blanks, hyphens, quotes, a full stop and the word "error" do not matter.

    >>> category("Out of context.", "finesure")
    'out-of-context error'
    """
    label = choice(value)
    if label is None:
        raise ReplyError(f"the category is {show(value)}, not a text")
    name = canonical_error_type(label)
    if name in CATEGORIES[taxonomy]:
        return name
    raise ReplyError(f"{show(value)} is none of the categories: {', '.join(CATEGORIES[taxonomy])}")


def _letters(text: Any) -> str:
    return re.sub(r"\W+", "", choice(text) or "")


def asked_first(wanted: Wanted) -> dict[str, Any]:
    """The schemas of the quote and the reason that a strategy asks for before the verdict."""
    quote = {"quote": text_schema(QUOTE)} if wanted.quote else {}
    return {**quote, **({"reason": text_schema(REASON)} if wanted.reason else {})}


def quotes_of(entry: dict[str, Any]) -> tuple[str, ...]:
    """The quotes of an entry: one, or several in a list; a blank one is none."""
    value = entry.get("quote")
    quotes = []
    for quote in value if isinstance(value, list) else [value]:
        if quote is not None and not isinstance(quote, str):
            raise ReplyError(f"the quote is {show(quote)}, not a text")
        quotes.append(clean(quote or ""))
    return tuple(filter(None, quotes))


def find_quotes(quotes: Sequence[str], finder: QuoteFinder, of: Any) -> tuple[tuple[Span, ...], list[str]]:
    """Where quotes stand in a text, each once; and a note on each that stands nowhere."""
    spans, notes = [], []
    for quote in quotes:
        place = finder.find(quote)
        if place is None:
            notes.append(f"[not in the {of}: {show(quote, 120)}]")
        else:
            spans.append(Span(of=of, start=place.start, end=place.end))
    return tuple(dict.fromkeys(spans)), notes
