"""What words alone tell of who is meant: persons and their gender, things, several; for English, by short lists.

The lists hold what is common and plain. A word that stands in none of them is not guessed at.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Pronoun = Literal["he", "she", "it", "they"]


def _held(words: str) -> frozenset[str]:
    return frozenset(words.split())


MEN: Final = _held(
    "mr sir lord king prince duke father brother son uncle husband grandfather nephew man boy gentleman actor waiter "
    "policeman fireman chairman businessman salesman fisherman widower monk priest "
    "adam alan albert alexander andrew anthony arthur benjamin bernard brian carl charles christopher daniel david "
    "dennis donald edward eric ernest francis frederick gary george gordon graham harold harry henry howard hugh "
    "ian ivan jack jacob james jason jeremy john jonathan joseph joshua juan karl keith kenneth kevin lawrence leonard "
    "louis luke marcus martin matthew michael neil nicholas oliver oscar otto patrick paul peter philip pierre "
    "ralph raymond richard robert roger ronald samuel scott simon stephen steven stuart thomas timothy trevor "
    "victor vincent walter william"
)
WOMEN: Final = _held(
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
SEVERAL: Final = _held("people police children men women wives families both all many several others they them")
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
WHEN: Final = _held(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december year month week day morning evening afternoon night spring summer autumn "
    "winter time end beginning past decade century easter christmas first second third"
)


def genders(word: str) -> frozenset[Pronoun]:
    """Which of "he" and "she" may stand for the person a word names; neither where it is not known to name one.

    >>> sorted(genders("mrs")), sorted(genders("mayor")), sorted(genders("bridge"))
    (['she'], ['he', 'she'], [])
    """
    if word in MEN:
        return frozenset(["he"])
    if word in WOMEN:
        return frozenset(["she"])
    return frozenset(["he", "she"]) if word in _EITHER else frozenset()


def may_be_a_person(word: str) -> bool:
    """Whether a common noun names a person, or ends as such nouns do."""
    return bool(genders(word)) or (word not in _MAY_NOT and _MAY.fullmatch(word) is not None)


def may_be_several(word: str) -> bool:
    """Whether "they" may stand for what the word names."""
    return word in SEVERAL | _COLLECTIVE or is_plural(word)


def is_plural(word: str) -> bool:
    """Whether a noun is one of several: by its ending, or one of the common ones without."""
    plain = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))
    return word in {"people", "children", "men", "women"} or (plain and word not in _NOT_SEVERAL)


def is_organisation(word: str, written: str) -> bool:
    """Whether part of a name tells that no person has it: a word for an institution, or letters alone (NASA)."""
    return word in _ORGANISATION or (len(written) > 2 and written.isupper())
