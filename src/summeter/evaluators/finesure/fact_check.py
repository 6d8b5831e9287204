"""`finesure.fact_check`: the faithfulness and the error type of each summary sentence.

See FineSurE, sections 3.1 and 3.3 (Song et al., ACL 2024); the taxonomy of five categories is UniSumEval's (Lee et al.,
EMNLP 2024). There is one call per summary. Faithfulness is the share of sentences without an error.

The alignment also uses the prompt strategies of section 3.3. Each strategy adds one element to the previous one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, Self, get_args

from pydantic import model_validator

from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.finesure import legacy
from summeter.evaluators.llm import NO_DATA, material
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
from summeter.evaluators.supported import SentenceJudge, SupportVerdict, Verdicts, support_judgment
from summeter.models.prompts import fence_code, lines
from summeter.records import Item, Judgment, ReplyError, Span, canonical_error_type
from summeter.records.taxonomy import FINESURE, NO_ERROR, UNISUMEVAL
from summeter.text.match import QuoteFinder

Taxonomy = Literal["finesure", "unisumeval"]

CATEGORIES: dict[Taxonomy, tuple[str, ...]] = {"finesure": FINESURE, "unisumeval": UNISUMEVAL}
"""The nine categories of FineSurE (after FRANK, Pagnoni et al., 2021) and the five of UniSumEval (Lee et al., 2024).

The prompt templates define them.
"""


Strategy = Literal["basic", "instruction", "categorization", "reasoning", "evidence"]

QUOTE: Final = 400
"""Maximum length of a quote in the schema, in characters; the prompts ask for 50 words."""


class ReplyFields(NamedTuple):
    """The fields of a reply that a strategy requests besides the verdict.

    `steps` adds instructions to the prompt.
    """

    steps: bool
    category: bool
    reason: bool
    quote: bool


REPLY_FIELDS: Final[dict[Strategy, ReplyFields]] = {
    strategy: ReplyFields(steps=level > 0, category=level > 1, reason=level > 2, quote=level > 3)
    for level, strategy in enumerate(get_args(Strategy))
}
"""The reply fields of each strategy. Each strategy requests what the previous one does and one more element."""


class FactCheck(SentenceJudge):
    """Judge the faithfulness of each summary sentence by an LLM.

    `strategy` is a prompt strategy of section 3.3 of the paper. Each strategy extends the previous one:

    - "basic": whether the sentence is supported, yes or no
    - "instruction": the same question, with the steps to take
    - "categorization": the category of the error, or "no error", instead of yes or no
    - "reasoning" (the default, and FineSurE's choice): a reason in one sentence before the answer
    - "evidence": the deciding passage of the document, verbatim, before the reason

    `taxonomy` is "finesure" (nine categories) or "unisumeval" (five). `prompts` is a folder whose templates replace the
    shipped ones of the same name.

    Writes one judgment per sentence (aspect faithfulness). The label is 1 and the value 1.0 for "no error" (or yes),
    and otherwise 0 and 0.0. `error_type` is the category, and `evidence` contains the quoted spans of the document. A
    quote that is not in the document is reported in the reason. An unusable reply gives one failed judgment per
    sentence.
    """

    name, version = "finesure.fact_check", "2"
    summary = "An LLM judge finds the factual errors of each sentence (FineSurE)."
    binary_units = frozenset({"sentence"})
    reply_tokens = 80  # reason and quote included

    taxonomy: Taxonomy = "finesure"
    strategy: Strategy = "reasoning"

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_strategy(self.strategy, self.taxonomy)
        return self

    @property
    def template(self) -> str:
        """The name of the prompt template."""
        if not self._fields.category:
            return "fact_check_yes_no"
        return "fact_check" if self.taxonomy == "finesure" else f"fact_check_{self.taxonomy}"

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the template variables.

        The document comes first, so that the prefix can be cached.
        """
        document = item.document.titled()
        return {
            "document": document,
            "document_code": fence_code(document),
            "sentences": lines(item.sentences),
            "summary_code": fence_code(document, item.summary.text),
            **self._fields._asdict(),
        }

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply, with one verdict per sentence and the fields of the strategy."""
        if not self._fields.category:
            return keyed_schema(len(item.sentences), "verdict", {"supported": NO_YES})
        # Errors come first, so that a dry run, which answers with the first value, counts every window.
        named = {"type": "string", "enum": sorted(CATEGORIES[self.taxonomy], key=lambda name: name == NO_ERROR)}
        return keyed_schema(len(item.sentences), "verdict", {**schemas_before_verdict(self._fields), "category": named})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Verdicts:
        """Parse one verdict per sentence, in the form of this evaluator or in the released form.

        The released form is an ordered list.
        """
        texts = item.sentences
        return read_entries(
            text,
            len(texts),
            "sentence",
            lambda entry, place: self._verdict(entry, place, texts),
            decision=lambda verdict: (verdict.supported, verdict.category),
            material=material(item)[:2],
            wordless=not self._fields.reason,
            bare=True,
        )

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Verdicts:
        """Parse one verdict per label that the released parser reads.

        The number of labels is not checked.
        """
        categories = legacy.parse_fact_check(text)
        if not categories:
            raise ReplyError(f"the released parser found no verdict in {show(text)}", fault="no_json")
        return tuple(SupportVerdict(name.lower() == NO_ERROR, clean(name) or None) for name in categories)

    def judgments(self, reply: Verdicts, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per verdict.

        If the number of verdicts differs from the number of sentences (only the released parser allows this), the
        judgments have the `list_id` "legacy", and their indexes do not refer to sentences.
        """
        if len(reply) != len(builder.item.sentences):
            return [
                support_judgment(builder, verdict, place, list_id=legacy.LIST)
                for place, verdict in enumerate(reply)
                if isinstance(verdict, SupportVerdict)
            ]
        return super().judgments(reply, builder)

    def verdict_judgment(self, verdict: SupportVerdict, place: int, builder: JudgmentBuilder) -> Judgment:
        """Return the judgment for a verdict, with the quoted spans of the document as evidence."""
        if verdict.quotes is None:
            return support_judgment(builder, verdict, place)
        spans, notes = find_quotes(verdict.quotes, finder_of(builder.item.document.text), "document")
        if verdict.supported and not verdict.quotes:
            notes.append("[no quote given]")
        reason = " ".join(filter(None, [verdict.reason, *notes])) or None
        return support_judgment(builder, verdict._replace(reason=reason), place, spans)

    @property
    def _fields(self) -> ReplyFields:
        return REPLY_FIELDS[self.strategy]

    def _verdict(self, entry: Any, place: int, sentences: tuple[str, ...]) -> SupportVerdict:
        """Parse an entry in the requested form, or an entry that consists of a category (or yes or no).

        An entry that repeats the text of another sentence is rejected.
        """
        bare = isinstance(entry, str)
        if bare:
            entry = {"category" if self._fields.category else "supported": entry}
        # Judges often change a repeated sentence slightly, so only the text of another sentence is an error.
        repeated, known = _letters(entry.get("sentence")), [_letters(sentence) for sentence in sentences]
        if repeated and repeated != known[place] and repeated in known:
            raise ReplyError(f"the entry repeats sentence {known.index(repeated) + 1}", fault="wrong_count")
        if not self._fields.category:
            return SupportVerdict(yes(field(entry, "supported")), None, optional_text(entry))
        if "category" not in entry:
            raise ReplyError("the verdict has no category")
        why, named = optional_text(entry), category(entry["category"], self.taxonomy)
        return SupportVerdict(
            named == NO_ERROR, named, why, quotes_of(entry) if self._fields.quote and not bare else None
        )


def check_strategy(strategy: Strategy, taxonomy: Taxonomy) -> None:
    """Raise ValueError if a taxonomy is set although the strategy does not ask for a category."""
    if taxonomy != "finesure" and not REPLY_FIELDS[strategy].category:
        raise ValueError(
            f"strategy={strategy} asks for no category, so taxonomy={taxonomy} has no effect; remove one of them"
        )


@lru_cache(maxsize=32)
def finder_of(document: str) -> QuoteFinder:
    """Return the finder of quotes in a document.

    The result is cached because it is expensive to create.
    """
    return QuoteFinder(document)


def category(value: Any, taxonomy: Taxonomy) -> str:
    """Return the category of the taxonomy that an answer names.

    Raises ReplyError if there is no such category.

    Case, white space, hyphens, quotes, a full stop and the word "error" are ignored.

    >>> category("Out of context.", "finesure")
    'out-of-context error'
    """
    label = choice(value)
    if label is None:
        raise ReplyError(f"the category is {show(value)}, not a string")
    name = canonical_error_type(label)
    if name in CATEGORIES[taxonomy]:
        return name
    raise ReplyError(f"{show(value)} is not one of the categories {', '.join(CATEGORIES[taxonomy])}")


def _letters(text: Any) -> str:
    return re.sub(r"\W+", "", choice(text) or "")


def schemas_before_verdict(fields: ReplyFields) -> dict[str, Any]:
    """Return the schemas of the quote and the reason that a strategy asks for before the verdict."""
    quote = {"quote": text_schema(QUOTE)} if fields.quote else {}
    return {**quote, **({"reason": text_schema(REASON)} if fields.reason else {})}


def quotes_of(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return the non-blank quotes of an entry, which contains a single quote or a list of quotes."""
    value = entry.get("quote")
    quotes = []
    for quote in value if isinstance(value, list) else [value]:
        if quote is not None and not isinstance(quote, str):
            raise ReplyError(f"the quote is {show(quote)}, not a string")
        quotes.append(clean(quote or ""))
    return tuple(filter(None, quotes))


def find_quotes(quotes: Sequence[str], finder: QuoteFinder, of: Any) -> tuple[tuple[Span, ...], list[str]]:
    """Return the distinct spans of quotes in a text, and a note on each missing quote."""
    spans, notes = [], []
    for quote in quotes:
        place = finder.find(quote)
        if place is None:
            notes.append(f"[not in the {of}: {show(quote, 120)}]")
        else:
            spans.append(Span(of=of, start=place.start, end=place.end))
    return tuple(dict.fromkeys(spans)), notes
