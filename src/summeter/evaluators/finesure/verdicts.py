"""The prompt strategies of FineSurE, section 3.3 (Song et al., ACL 2024), and the fact check's replies.

Each strategy asks for all that the one before it asks for, and for one thing more.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

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
from summeter.evaluators.supported import SupportVerdict
from summeter.records import ReplyError, canonical_error_type
from summeter.records.taxonomy import FINESURE, NO_ERROR, UNISUMEVAL

Strategy = Literal["basic", "instruction", "categorization", "reasoning", "evidence"]

Taxonomy = Literal["finesure", "unisumeval"]

CATEGORIES: dict[Taxonomy, tuple[str, ...]] = {"finesure": FINESURE, "unisumeval": UNISUMEVAL}
"""FineSurE's nine categories (after FRANK, Pagnoni et al., 2021) and UniSumEval's five (Lee et al., 2024). Their
meanings stand in the prompt templates."""

QUOTE: Final = 400
"""Longest quote that the schema allows, in characters; the prompts ask for 50 words."""


class Wanted(NamedTuple):
    """What a strategy asks for beside the verdict: `steps` to take, a `category`, a `reason`, a `quote`."""

    steps: bool
    category: bool
    reason: bool
    quote: bool


WANTED: Final[dict[Strategy, Wanted]] = {
    "basic": Wanted(steps=False, category=False, reason=False, quote=False),
    "instruction": Wanted(steps=True, category=False, reason=False, quote=False),
    "categorization": Wanted(steps=True, category=True, reason=False, quote=False),
    "reasoning": Wanted(steps=True, category=True, reason=True, quote=False),
    "evidence": Wanted(steps=True, category=True, reason=True, quote=True),
}


class VerdictForm(NamedTuple):
    """What a reply is read as: the strategy's wishes, in the categories of a taxonomy."""

    wanted: Wanted
    taxonomy: Taxonomy

    def schema(self, count: int) -> dict[str, Any]:
        """An object with one required verdict a sentence, each with what the strategy asks for, in that order."""
        if not self.wanted.category:
            return keyed_schema(count, "verdict", {"supported": NO_YES})
        # Errors first: a dry run, which takes the first, then counts every window of a long document.
        named = {"type": "string", "enum": sorted(CATEGORIES[self.taxonomy], key=lambda name: name == NO_ERROR)}
        return keyed_schema(count, "verdict", {**asked_first(self.wanted), "category": named})

    def read(self, value: Any, sentences: tuple[str, ...]) -> tuple[SupportVerdict, ...]:
        """One verdict per sentence from the JSON of a reply, or ReplyError.

        Read are the form asked for, lists whose entries carry an `id`, and the released form: a list in the
        order of the sentences. Entries may be a bare category (or a bare yes or no, where that was asked). Where
        an entry repeats its sentence, it must not be the text of another one.
        """
        return read_entries(value, len(sentences), "sentence", lambda entry, at: self._verdict(entry, at, sentences))

    def _verdict(self, entry: Any, index: int, sentences: tuple[str, ...]) -> SupportVerdict:
        if isinstance(entry, str):
            return self._bare(entry)
        if not isinstance(entry, dict):
            raise ReplyError(f"the verdict is {show(entry)}, not an object")
        _check_sentence(entry.get("sentence"), index, sentences)
        if not self.wanted.category:
            return SupportVerdict(yes(field(entry, "supported")), None, optional_text(entry))
        if "category" not in entry:
            raise ReplyError("the verdict has no category")
        why, named = optional_text(entry), category(entry["category"], self.taxonomy)
        return SupportVerdict(named == NO_ERROR, named, why, quotes_of(entry) if self.wanted.quote else None)

    def _bare(self, word: str) -> SupportVerdict:
        if not self.wanted.category:
            return SupportVerdict(yes(word))
        named = category(word, self.taxonomy)
        return SupportVerdict(named == NO_ERROR, named)


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


def _check_sentence(repeated: Any, index: int, sentences: tuple[str, ...]) -> None:
    """Judges often retype a sentence a little, so no match is no fault; but the text of another one is."""
    letters = _letters(repeated)
    if not letters or letters == _letters(sentences[index]):
        return
    for other, sentence in enumerate(sentences):
        if letters == _letters(sentence):
            raise ReplyError(f"the entry in its place repeats sentence {other + 1}", fault="wrong_count")


def _letters(text: Any) -> str:
    return re.sub(r"\W+", "", choice(text) or "")
