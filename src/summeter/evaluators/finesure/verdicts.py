"""The fact check's replies: what each prompt strategy asks for, the schema of it, and the strict reading.

The strategies are those of FineSurE, section 3.3 (Song et al., ACL 2024). Each asks for all that the one before
it asks for, and for one thing more.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

from summeter.evaluators.finesure.answers import REASON, field, keyed, reason, text, yes
from summeter.evaluators.finesure.taxonomy import CATEGORIES, Taxonomy, category
from summeter.evaluators.replies import choice, clean, entries, show
from summeter.records import ReplyError
from summeter.records.taxonomy import NO_ERROR

Strategy = Literal["basic", "instruction", "categorization", "reasoning", "evidence"]

QUOTE: Final = 400
"""Longest quote a server is told to let through, in characters; the prompts ask for 50 words."""


class Wanted(NamedTuple):
    """What a strategy asks for beside the verdict: `steps` to take, a `category` of error, a `reason`, a `quote`."""

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


class Verdict(NamedTuple):
    """The verdict on one sentence. `category` is one of the taxonomy's names, None where none was asked for;
    `quotes` what the judge copied from the document, blank ones left out."""

    supported: bool
    category: str | None = None
    reason: str | None = None
    quotes: tuple[str, ...] = ()


class VerdictForm(NamedTuple):
    """What a reply is read as: the strategy's wishes, in the categories of a taxonomy."""

    wanted: Wanted
    taxonomy: Taxonomy

    def schema(self, count: int) -> dict[str, Any]:
        """An object with one required verdict a sentence, each with what the strategy asks for, in that order."""
        # No, and errors, first: a dry run, which takes the first, then counts every window of a long document.
        if not self.wanted.category:
            return keyed(count, "verdict", {"supported": {"type": "string", "enum": ["no", "yes"]}})
        named = {"type": "string", "enum": sorted(CATEGORIES[self.taxonomy], key=lambda one: one == NO_ERROR)}
        quote = {"quote": text(QUOTE)} if self.wanted.quote else {}
        why = {"reason": text(REASON)} if self.wanted.reason else {}
        return keyed(count, "verdict", {**quote, **why, "category": named})

    def read(self, value: Any, sentences: tuple[str, ...]) -> tuple[Verdict, ...]:
        """One verdict per sentence from the JSON of a reply, or ReplyError.

        Read are the form asked for, lists whose entries carry an `id`, and the released form: a list in the
        order of the sentences. Entries may be a bare category (or a bare yes or no, where that was asked). Where
        an entry repeats its sentence, it must not be the text of another one.
        """
        found = []
        for index, entry in enumerate(entries(value, len(sentences), "sentence")):
            try:
                found.append(self._verdict(entry, index, sentences))
            except ReplyError as error:
                raise error.within(f"sentence {index + 1}") from None
        return tuple(found)

    def _verdict(self, entry: Any, index: int, sentences: tuple[str, ...]) -> Verdict:
        if isinstance(entry, str):
            return self._bare(entry)
        if not isinstance(entry, dict):
            raise ReplyError(f"the verdict is {show(entry)}, not an object")
        _check_sentence(entry.get("sentence"), index, sentences)
        if not self.wanted.category:
            return Verdict(yes(field(entry, "supported")), None, reason(entry))
        if "category" not in entry:
            raise ReplyError("the verdict has no category")
        why, named = reason(entry), category(entry["category"], self.taxonomy)
        quotes = _quotes(entry.get("quote")) if self.wanted.quote else ()
        return Verdict(named == NO_ERROR, named, why, quotes)

    def _bare(self, said: str) -> Verdict:
        if not self.wanted.category:
            return Verdict(yes(said))
        named = category(said, self.taxonomy)
        return Verdict(named == NO_ERROR, named)


def _quotes(said: Any) -> tuple[str, ...]:
    """One quote, or several in a list; a blank one is none."""
    quotes = []
    for one in said if isinstance(said, list) else [said]:
        if one is not None and not isinstance(one, str):
            raise ReplyError(f"the quote is {show(one)}, not a text")
        quotes.append(clean(one or ""))
    return tuple(filter(None, quotes))


def _check_sentence(repeated: Any, index: int, sentences: tuple[str, ...]) -> None:
    """Judges often retype a sentence a little, so no match is no fault; but the text of another one is."""
    said = _letters(repeated)
    if not said or said == _letters(sentences[index]):
        return
    for other, sentence in enumerate(sentences):
        if said == _letters(sentence):
            raise ReplyError(f"the entry in its place repeats sentence {other + 1}", fault="wrong_count")


def _letters(said: Any) -> str:
    return re.sub(r"\W+", "", choice(said) or "")
