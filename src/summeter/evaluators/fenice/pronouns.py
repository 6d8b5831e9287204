"""Coreference by rules, for English, without a model: "he", "she", "it" or "they" where a sentence begins.

The pronoun stands for the subject of the sentence before, if that subject is plainly of its kind and nothing else in
that sentence is or may be. Everything else is left alone: a pronoun within a sentence, a possessive, one whose
antecedent stands further back, and whatever the word lists (`kinds`) do not know. A wrong replacement has the network
judge what the document does not say; a missing one costs what `coref=false` costs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from summeter.evaluators.fenice.clauses import Token, finite_verb, words_of
from summeter.evaluators.fenice.coref import Mention
from summeter.evaluators.fenice.kinds import (
    SEVERAL,
    WHEN,
    Pronoun,
    genders,
    is_organisation,
    is_plural,
    may_be_a_person,
    may_be_several,
)  # fmt: skip

_OPENER: Final = (
    r"(?:(?:(?:but|and|then|later|so|yet|however|afterwards|meanwhile|today|still)|"
    r"(?:in|by|since) (?:(?:january|february|march|april|may|june|july|august|september|october|november|december) )?"
    r"\d{4}|on (?:mon|tues|wednes|thurs|fri|satur|sun)day),? +)?"
)
_PRONOUN: Final = re.compile(_OPENER + r"(he|she|it|they)(?= +[a-z0-9])", re.IGNORECASE)
_BEGINS: Final = re.compile(_OPENER, re.IGNORECASE)
_QUOTED: Final = re.compile(r"[\"“”«»‘]|(?<!\w)'")
_SAME: Final[dict[str, frozenset[str]]] = {
    "he": frozenset(["he", "him", "his", "himself"]),
    "she": frozenset(["she", "her", "hers", "herself"]),
    "it": frozenset(["it", "itself"]),
    "they": frozenset(["they", "them", "their", "theirs", "themselves"]),
}
_DETERMINERS: Final = frozenset(
    ["the", "a", "an", "this", "that", "its", "his", "her", "their", "our", "my", "another", "each", "every", "one"]
)
_OWNERS: Final = frozenset(["his", "her", "their", "its"])
_PREPOSITIONS: Final = frozenset(
    [
        "of",
        "in",
        "at",
        "for",
        "from",
        "with",
        "on",
        "over",
        "near",
        "to",
        "between",
        "by",
        "into",
        "under",
        "as",
        "like",
    ]
)
_PLACED: Final = frozenset(["in", "at", "near", "across", "throughout", "outside"])
_BESIDE_THE_VERB: Final = frozenset(
    ["later", "also", "soon", "then", "now", "never", "always", "first", "once", "still", "already", "just", "again"]
)
# "It" that stands for nothing: "It was clear that ...", "It rained.", "It took years to ...", "It was late."
_EMPTY: Final = frozenset(
    re.findall(
        r"\w+",
        "that to whether if who how why when where because rained raining rains snowed snowing late early cold hot "
        "warm dark sunny windy cloudy noon midnight clear true seems seemed appears appeared happened turned likely "
        "possible impossible unclear monday tuesday wednesday thursday friday saturday sunday spring summer autumn "
        "winter christmas easter morning evening afternoon night time",
    )
)
_LOOKED_AT: Final = 8
_LONGEST_SUBJECT: Final = 8


class _Subject(NamedTuple):
    """A sentence's subject: its place in the document, what may stand for it, and the words that are not it."""

    at: Mention
    fits: frozenset[Pronoun]
    rest: tuple[Token, ...]


def clusters(text: str, spans: Sequence[Mention]) -> list[list[Mention]]:
    """Subjects, each with the pronouns that stand for it, in the form that models of coreference give.

    `spans` are the text's sentences. Linear in the length of the text.

    >>> text = "Ana Ruiz left Bern. In 1998, she came home. It rained."
    >>> [[text[start:end] for start, end in one] for one in clusters(text, [(0, 19), (20, 43), (44, 54)])]
    []
    >>> text = text.replace("left Bern", "moved")
    >>> [[text[start:end] for start, end in one] for one in clusters(text, [(0, 15), (16, 39), (40, 50)])]
    [['Ana Ruiz', 'she']]
    """
    found: dict[Mention, list[Mention]] = {}
    meant: Mention | None = None
    for before, here in pairwise(spans):
        at = _pronoun(text, here)
        meant = None if at is None or _apart(text, before, here) else _antecedent(text, before, (*at, here[1]), meant)
        if at is not None and meant is not None:
            found.setdefault(meant, [meant]).append(at)
    return list(found.values())


def _pronoun(text: str, sentence: Mention) -> Mention | None:
    match = _PRONOUN.match(text, *sentence)
    return match.span(1) if match else None


def _antecedent(text: str, before: Mention, at: tuple[int, int, int], meant: Mention | None) -> Mention | None:
    """What the pronoun at (start, end, its sentence's end) stands for. `meant`: what one that opens the sentence before
    stands for."""
    start, end, last = at
    said: Pronoun = text[start:end].lower()  # type: ignore[assignment]
    if said == "it" and any(word.text in _EMPTY for word in words_of(text[end:last])[:_LOOKED_AT]):
        return None
    opened = _pronoun(text, before)
    if opened is not None:
        if meant is None or text[slice(*opened)].lower() != said:
            return None
        rest = _words(text, opened[1], before[1])
        return meant if not _rivals(text, rest, said) else None
    subject = _subject(text, before)
    if subject is None or said not in subject.fits or _rivals(text, subject.rest, said):
        return None
    return subject.at


def _apart(text: str, before: Mention, here: Mention) -> bool:
    """Whether a new paragraph, a quotation or a question stands between the two."""
    between, told = text[before[1] : here[0]], text[before[0] : here[1]]
    return between.count("\n") > 1 or _QUOTED.search(told) is not None or "?" in text[slice(*before)]


def _words(text: str, start: int, end: int) -> tuple[Token, ...]:
    return tuple(Token(one.text, one.start + start, one.end + start) for one in words_of(text[start:end]))


def _subject(text: str, sentence: Mention) -> _Subject | None:
    """A subject that opens its sentence, with the verb right behind it; None where that is not plain."""
    opener = _BEGINS.match(text, *sentence)
    start = opener.end() if opener else sentence[0]
    tokens = list(_words(text, start, sentence[1]))
    head, aside, last = _head(text, tokens)
    kinds = _kinds(text, head, aside) if head else frozenset()
    return _Subject((head[0].start, head[-1].end), kinds, (*_within(head), *tokens[last:])) if kinds else None


def _head(text: str, tokens: list[Token]) -> tuple[list[Token], list[Token], int]:
    """The subject's words, those of an apposition behind it between commas, and where the verb stands."""
    verb = finite_verb(tokens)
    if verb is None or not 0 < verb <= 2 * _LONGEST_SUBJECT:
        return [], [], 0
    after = [one for one in tokens[verb + 1 : verb + 4] if text[one.start].islower()]  # "in May" is no verb
    if tokens[verb].text.endswith("ed") and finite_verb(after) is not None:
        return [], [], 0  # "the painted bridge opened": the first may be no verb
    head, aside = tokens[:verb], list[Token]()
    commas = [
        place for place in range(1, verb + 1) if "," in text[tokens[place - 1].end : tokens[place].start]
    ]  # fmt: skip
    if commas:
        if len(commas) != 2 or commas[1] != verb:
            return [], [], 0
        head, aside = tokens[: commas[0]], tokens[commas[0] : verb]
    while head and (head[-1].text in _BESIDE_THE_VERB or head[-1].text.endswith("ly")):
        head = head[:-1]
    return (head, aside, verb) if len(head) <= _LONGEST_SUBJECT else ([], [], 0)


def _within(head: list[Token]) -> list[Token]:
    """The words of a subject that are not its noun: "of Ana Ruiz" in "the mother of Ana Ruiz"."""
    cut = next((place for place, one in enumerate(head) if one.text in _PREPOSITIONS), None)
    owner = [one for one in head[:1] if one.text.endswith("'s") or one.text in _OWNERS]
    return [*owner, *(head[cut:] if cut is not None else [])]


def _kinds(text: str, head: list[Token], aside: list[Token]) -> frozenset[Pronoun]:
    """The pronouns that may stand for a subject; none where it is not plain."""
    words = [one.text for one in head]
    if "and" in words:
        ends = [words[: words.index("and")], words[words.index("and") + 1 :]]
        both = all(part and (genders(part[0]) or part[0] in _DETERMINERS) for part in ends)
        return frozenset(["they"]) if both and "or" not in words else frozenset()
    if all(text[one.start].isupper() for one in head) and words[0] not in _DETERMINERS:
        return _named(text, head, aside)
    cut = next((place for place, one in enumerate(words) if one in _PREPOSITIONS), len(words))
    noun = words[cut - 1] if cut else ""
    if cut < 2 or text[head[cut - 1].start].isupper() or noun.isdigit() or noun in WHEN | _DETERMINERS:
        return frozenset()
    determined = words[0] in _DETERMINERS or words[0].endswith("'s")
    if is_plural(noun):
        return frozenset(["they"])
    if genders(noun):
        return genders(noun) if determined else frozenset()
    return frozenset(["it"]) if determined and noun not in SEVERAL and not may_be_a_person(noun) else frozenset()


def _named(text: str, head: list[Token], aside: list[Token]) -> frozenset[Pronoun]:
    """Of a name: by its title or first name, an age or a word for a person behind it, or as an organisation."""
    words = [one.text for one in head]
    if any(is_organisation(one.text, text[one.start : one.end]) for one in head):
        return frozenset(["it"])
    if len(head) > 4 or words[-1].endswith("'s"):
        return frozenset()
    if known := genders(words[0]):
        return genders(words[1]) & known or known if len(words) > 1 else known
    cut = next((place for place, one in enumerate(aside) if one.text in _PREPOSITIONS), len(aside))
    if cut > 1 and aside[0].text in _DETERMINERS:
        return genders(aside[cut - 1].text)  # "a teacher from Bern"
    age = len(aside) == 1 and aside[0].text.isdigit() and len(aside[0].text) < 4
    return frozenset(["he", "she"]) if age else frozenset()


def _rivals(text: str, rest: Sequence[Token], said: Pronoun) -> bool:
    """Whether anything besides the subject is, or may be, what the pronoun stands for."""
    if any(one.text in _SAME[said] for one in rest):
        return True
    if said == "they":
        return any(may_be_several(one.text) or one.text == "and" for one in rest)
    if said == "it":
        return any(_thing(text, rest, place) for place in range(len(rest)))
    return any(_person(text, rest, place, said) for place in range(len(rest)))


def _person(text: str, rest: Sequence[Token], place: int, said: Pronoun) -> bool:
    word = rest[place].text.removesuffix("'s")
    if genders(word):
        return said in genders(word)
    if word in WHEN | _DETERMINERS or word.isdigit():
        return False
    if not text[rest[place].start].isupper():
        return may_be_a_person(word)
    first = place
    while first and text[rest[first - 1].start].isupper():
        first -= 1
    before = rest[first - 1].text if first else ""
    # A surname goes with its first name, and what something happens in is no person.
    return not genders(rest[first].text) and before not in _PLACED


def _thing(text: str, rest: Sequence[Token], place: int) -> bool:
    word, after = rest[place].text, rest[place + 1].text if place + 1 < len(rest) else ""
    if text[rest[place].start].isupper():
        return word not in WHEN and not genders(word)
    known = after in WHEN or after.isdigit() or is_plural(after) or bool(genders(after))
    if word in _DETERMINERS:
        return not known
    named = bool(after) and text[rest[place + 1].start].isupper()
    return word in _PREPOSITIONS and bool(after) and not (known or named or after in _DETERMINERS)
