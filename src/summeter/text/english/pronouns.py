"""Coreference by rules, for English, without a model: "he", "she", "it" or "they" where a sentence begins.

The pronoun stands for the subject of the sentence before, if that subject is plainly of its kind and nothing else in
that sentence is or may be. Everything else is left alone: a pronoun within a sentence, a possessive, one whose
antecedent stands further back, and whatever the word lists below do not know. A wrong replacement has the network
judge what the document does not say; a missing one costs what `coref=false` costs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from summeter.text.english.clauses import Token, finite_verb, words_of

Pronoun = Literal["he", "she", "it", "they"]
Mention = tuple[int, int]
"""(start, end) in code points of the text."""


def _held(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What words alone tell of who is meant. A word that stands in none of these lists is not guessed at.
_MEN: Final = _held(
    "mr sir lord king prince duke father brother son uncle husband grandfather nephew man boy gentleman actor waiter "
    "policeman fireman chairman businessman salesman fisherman widower monk priest "
    "adam alan albert alexander andrew anthony arthur benjamin bernard brian carl charles christopher daniel david "
    "dennis donald edward eric ernest francis frederick gary george gordon graham harold harry henry howard hugh "
    "ian ivan jack jacob james jason jeremy john jonathan joseph joshua juan karl keith kenneth kevin lawrence leonard "
    "louis luke marcus martin matthew michael neil nicholas oliver oscar otto patrick paul peter philip pierre "
    "ralph raymond richard robert roger ronald samuel scott simon stephen steven stuart thomas timothy trevor "
    "victor vincent walter william"
)
_WOMEN: Final = _held(
    "mrs ms miss madam lady dame queen princess duchess mother sister daughter aunt wife grandmother niece woman girl "
    "actress waitress policewoman chairwoman businesswoman saleswoman widow nun hostess midwife "
    "ada agnes alice alison amanda amelia amy ana andrea angela anita ann anna anne barbara beatrice betty brenda "
    "carol caroline catherine christina christine clara claire deborah diana diane dorothy edith eleanor "
    "elena elizabeth ella emily emma esther eva evelyn fiona frances gloria hannah heather helen helena "
    "ida ingrid irene isabel isabella jane janet jennifer jessica joan judith julia julie karen katherine kathleen "
    "laura linda lisa louise lucy margaret maria marie martha mary melissa michelle monica nancy natalie nora olga "
    "olivia pamela patricia paula rachel rebecca rosa ruth sandra sarah sharon silvia simone sophia sophie "
    "stephanie susan sylvia teresa theresa ursula vera veronica wendy yvonne zoe"
)
_EITHER: Final = _held(
    "dr prof professor president senator mayor judge captain minister bishop doctor nurse teacher student coach chef "
    "pilot guard chief athlete swimmer singer author writer poet painter artist scientist engineer lawyer farmer baker "
    "driver officer spokesperson patient witness suspect victim child baby cousin friend neighbour neighbor colleague "
    "guest person citizen tourist guide boss partner spouse heir clerk cook thief hero star"
)
# Endings of words for persons. They say that a word may mean one, never that it does.
_MAY: Final = re.compile(r".{3,}(?:er|or|ist|ian|ant|ent|ee|man|woman|ess|eur|body|one|mate)")
_MAY_NOT: Final = _held(
    "after never under other another later earlier however whether rather together number paper water river summer "
    "winter september october november december former longer greater over letter order quarter center corner matter "
    "tower dinner border weather floor door colour color harbour error mirror phone stone"
)
_SEVERAL: Final = _held("people police children men women wives families both all many several others they them")
_COLLECTIVE: Final = _held("team family couple council government crowd staff group band committee crew public army")
_NOT_SEVERAL: Final = _held(
    "always perhaps sometimes afterwards towards besides news series species years months weeks days hours minutes "
    "seconds metres meters miles kilometres feet euros dollars pounds times thanks less was has does his hers theirs "
    "yes this us its"
)
_ORGANISATION: Final = _held(
    "inc ltd plc corp corporation company university college bank hospital airport museum institute agency ministry "
    "airlines railway parliament senate court council party union bridge tower palace church school stadium"
)
_WHEN: Final = _held(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december year month week day morning evening afternoon night spring summer autumn "
    "winter time end beginning past decade century easter christmas first second third"
)

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
_PREPOSITIONS: Final = _held("of in at for from with on over near to between by into under as like")
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
    by_subject: dict[Mention, list[Mention]] = {}
    meant: Mention | None = None
    for before, here in pairwise(spans):
        at = _pronoun(text, here)
        meant = None if at is None or _apart(text, before, here) else _antecedent(text, before, (*at, here[1]), meant)
        if at is not None and meant is not None:
            by_subject.setdefault(meant, [meant]).append(at)
    return list(by_subject.values())


def _pronoun(text: str, sentence: Mention) -> Mention | None:
    match = _PRONOUN.match(text, *sentence)
    return match.span(1) if match else None


def _antecedent(text: str, before: Mention, at: tuple[int, int, int], meant: Mention | None) -> Mention | None:
    """What the pronoun at (start, end, its sentence's end) stands for. `meant`: what one that opens the sentence before
    stands for."""
    start, end, last = at
    pronoun: Pronoun = text[start:end].lower()  # type: ignore[assignment]
    if pronoun == "it" and any(word.text in _EMPTY for word in words_of(text[end:last])[:_LOOKED_AT]):
        return None
    opened = _pronoun(text, before)
    if opened is not None:
        if meant is None or text[slice(*opened)].lower() != pronoun:
            return None
        rest = _words(text, opened[1], before[1])
        return meant if not _rivals(text, rest, pronoun) else None
    subject = _subject(text, before)
    if subject is None or pronoun not in subject.fits or _rivals(text, subject.rest, pronoun):
        return None
    return subject.at


def _apart(text: str, before: Mention, here: Mention) -> bool:
    """Whether a new paragraph, a quotation or a question stands between the two."""
    between, both = text[before[1] : here[0]], text[before[0] : here[1]]
    return between.count("\n") > 1 or _QUOTED.search(both) is not None or "?" in text[slice(*before)]


def _words(text: str, start: int, end: int) -> tuple[Token, ...]:
    return tuple(Token(token.text, token.start + start, token.end + start) for token in words_of(text[start:end]))


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
    after = [token for token in tokens[verb + 1 : verb + 4] if text[token.start].islower()]  # "in May" is no verb
    if tokens[verb].text.endswith("ed") and finite_verb(after) is not None:
        return [], [], 0  # "the painted bridge opened": the first may be no verb
    head, aside = tokens[:verb], list[Token]()
    commas = [place for place in range(1, verb + 1) if "," in text[tokens[place - 1].end : tokens[place].start]]
    if commas:
        if len(commas) != 2 or commas[1] != verb:
            return [], [], 0
        head, aside = tokens[: commas[0]], tokens[commas[0] : verb]
    while head and (head[-1].text in _BESIDE_THE_VERB or head[-1].text.endswith("ly")):
        head = head[:-1]
    return (head, aside, verb) if len(head) <= _LONGEST_SUBJECT else ([], [], 0)


def _within(head: list[Token]) -> list[Token]:
    """The words of a subject that are not its noun: "of Ana Ruiz" in "the mother of Ana Ruiz"."""
    cut = next((place for place, token in enumerate(head) if token.text in _PREPOSITIONS), None)
    owner = [token for token in head[:1] if token.text.endswith("'s") or token.text in _OWNERS]
    return [*owner, *(head[cut:] if cut is not None else [])]


def _kinds(text: str, head: list[Token], aside: list[Token]) -> frozenset[Pronoun]:
    """The pronouns that may stand for a subject; none where it is not plain."""
    words = [token.text for token in head]
    if "and" in words:
        ends = [words[: words.index("and")], words[words.index("and") + 1 :]]
        both = all(part and (_genders(part[0]) or part[0] in _DETERMINERS) for part in ends)
        return frozenset(["they"]) if both and "or" not in words else frozenset()
    if all(text[token.start].isupper() for token in head) and words[0] not in _DETERMINERS:
        return _named(text, head, aside)
    cut = next((place for place, token in enumerate(words) if token in _PREPOSITIONS), len(words))
    noun = words[cut - 1] if cut else ""
    if cut < 2 or text[head[cut - 1].start].isupper() or noun.isdigit() or noun in _WHEN | _DETERMINERS:
        return frozenset()
    determined = words[0] in _DETERMINERS or words[0].endswith("'s")
    if _is_plural(noun):
        return frozenset(["they"])
    if _genders(noun):
        return _genders(noun) if determined else frozenset()
    return frozenset(["it"]) if determined and noun not in _SEVERAL and not _may_be_a_person(noun) else frozenset()


def _named(text: str, head: list[Token], aside: list[Token]) -> frozenset[Pronoun]:
    """Of a name: by its title or first name, an age or a word for a person behind it, or as an organisation."""
    words = [token.text for token in head]
    if any(_is_organisation(token.text, text[token.start : token.end]) for token in head):
        return frozenset(["it"])
    if len(head) > 4 or words[-1].endswith("'s"):
        return frozenset()
    if known := _genders(words[0]):
        return _genders(words[1]) & known or known if len(words) > 1 else known
    cut = next((place for place, token in enumerate(aside) if token.text in _PREPOSITIONS), len(aside))
    if cut > 1 and aside[0].text in _DETERMINERS:
        return _genders(aside[cut - 1].text)  # "a teacher from Bern"
    age = len(aside) == 1 and aside[0].text.isdigit() and len(aside[0].text) < 4
    return frozenset(["he", "she"]) if age else frozenset()


def _rivals(text: str, rest: Sequence[Token], pronoun: Pronoun) -> bool:
    """Whether anything besides the subject is, or may be, what the pronoun stands for."""
    if any(token.text in _SAME[pronoun] for token in rest):
        return True
    if pronoun == "they":
        return any(_may_be_several(token.text) or token.text == "and" for token in rest)
    if pronoun == "it":
        return any(_thing(text, rest, place) for place in range(len(rest)))
    return any(_person(text, rest, place, pronoun) for place in range(len(rest)))


def _person(text: str, rest: Sequence[Token], place: int, pronoun: Pronoun) -> bool:
    word = rest[place].text.removesuffix("'s")
    if _genders(word):
        return pronoun in _genders(word)
    if word in _WHEN | _DETERMINERS or word.isdigit():
        return False
    if not text[rest[place].start].isupper():
        return _may_be_a_person(word)
    first = place
    while first and text[rest[first - 1].start].isupper():
        first -= 1
    before = rest[first - 1].text if first else ""
    # A surname goes with its first name, and what something happens in is no person.
    return not _genders(rest[first].text) and before not in _PLACED


def _thing(text: str, rest: Sequence[Token], place: int) -> bool:
    word, after = rest[place].text, rest[place + 1].text if place + 1 < len(rest) else ""
    if text[rest[place].start].isupper():
        return word not in _WHEN and not _genders(word)
    known = after in _WHEN or after.isdigit() or _is_plural(after) or bool(_genders(after))
    if word in _DETERMINERS:
        return not known
    named = bool(after) and text[rest[place + 1].start].isupper()
    return word in _PREPOSITIONS and bool(after) and not (known or named or after in _DETERMINERS)


# What a word may stand for


def _genders(word: str) -> frozenset[Pronoun]:
    """Which of "he" and "she" may stand for the person a word names; neither where it is not known to name one.

    >>> sorted(_genders("mrs")), sorted(_genders("mayor")), sorted(_genders("bridge"))
    (['she'], ['he', 'she'], [])
    """
    if word in _MEN:
        return frozenset(["he"])
    if word in _WOMEN:
        return frozenset(["she"])
    return frozenset(["he", "she"]) if word in _EITHER else frozenset()


def _may_be_a_person(word: str) -> bool:
    """Whether a common noun names a person, or ends as such nouns do."""
    return bool(_genders(word)) or (word not in _MAY_NOT and _MAY.fullmatch(word) is not None)


def _may_be_several(word: str) -> bool:
    """Whether "they" may stand for what the word names."""
    return word in _SEVERAL | _COLLECTIVE or _is_plural(word)


def _is_plural(word: str) -> bool:
    """Whether a noun is one of several: by its ending, or one of the common ones without."""
    plain = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))
    return word in {"people", "children", "men", "women"} or (plain and word not in _NOT_SEVERAL)


def _is_organisation(word: str, written: str) -> bool:
    """Whether part of a name tells that no person has it: a word for an institution, or letters alone (NASA)."""
    return word in _ORGANISATION or (len(written) > 2 and written.isupper())
