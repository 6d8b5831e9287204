"""The prompt strategies of FineSurE, section 3.3 (Song et al., ACL 2024), for the fact check and the alignment alike.

Each strategy asks for all that the one before it asks for, and for one thing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from summeter.evaluators.replies import REASON, clean, show, text_schema
from summeter.records import ReplyError, Span
from summeter.text.match import QuoteFinder

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
    "basic": Wanted(steps=False, category=False, reason=False, quote=False),
    "instruction": Wanted(steps=True, category=False, reason=False, quote=False),
    "categorization": Wanted(steps=True, category=True, reason=False, quote=False),
    "reasoning": Wanted(steps=True, category=True, reason=True, quote=False),
    "evidence": Wanted(steps=True, category=True, reason=True, quote=True),
}


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
