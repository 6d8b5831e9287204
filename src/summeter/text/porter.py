"""The Porter stemmer as ROUGE uses it: Porter (1980) with the extensions of NLTK's default mode.

Equal to `nltk.stem.porter.PorterStemmer().stem` on lower-case ASCII words; kept here so that ROUGE with stemming
needs no NLTK. Where NLTK departs from the paper, a comment says so.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Final

_VOWELS: Final = frozenset("aeiou")

# NLTK: irregular forms that readers reported to Martin Porter over the years.
_IRREGULAR: Final = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

# (suffix, replacement), tried in order; the first suffix that fits decides, whether its condition holds or not.
_STEP_2: Final = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),  # NLTK
)
_STEP_3: Final = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4: Final = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
    *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a lower-case English word.

    >>> [stem(word) for word in ("running", "relational", "died", "happily")]
    ['run', 'relat', 'die', 'happili']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _step_2, _step_3, _step_4, _final_e, _final_ll):
        word = step(word)
    return word


def _consonants(word: str) -> list[bool]:
    """For each letter whether it is a consonant; y is one unless it follows one."""
    flags: list[bool] = []
    for letter in word:
        flags.append(not flags[-1] if letter == "y" and flags else letter not in _VOWELS)
    return flags


def _measure(word: str) -> int:
    """Porter's m: how often a consonant follows a vowel."""
    flags = _consonants(word)
    return sum(right and not left for left, right in itertools.pairwise(flags))


def _has_vowel(word: str) -> bool:
    return not all(_consonants(word))


def _ends_short(word: str) -> bool:
    """Porter's *o: ends consonant, vowel, consonant other than w, x, y; NLTK: or is vowel, consonant."""
    flags = _consonants(word)
    if flags[-3:] == [True, False, True]:
        return word[-1] not in "wxy"
    return flags == [False, True]


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]  # NLTK: "dies" to "die"
    if word.endswith("sses"):
        return word[:-2]
    return word if word.endswith("ss") or not word.endswith("s") else word[:-1]


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]  # NLTK: "died" to "die"
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
            return _mended(word[: -len(suffix)])
    return word


def _mended(word: str) -> str:
    """What is left after "ed" or "ing": "conflat" to "conflate", "hopp" to "hop", "fil" to "file"."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and _consonants(word)[-1]:
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _final_y(word: str) -> str:
    # NLTK: y after a consonant that is not the first letter ("happy", but not "enjoy" or "by").
    if word.endswith("y") and len(word) > 2 and _consonants(word)[-2]:
        return word[:-1] + "i"
    return word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):  # NLTK: first, and then once more
        return _step_2(word[:-2])
    for suffix, replacement in _STEP_2:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) else word
    if word.endswith("logi") and _measure(word[:-3]):  # NLTK: the l counts with the stem
        return word[:-1]
    return word


def _step_3(word: str) -> str:
    for suffix, replacement in _STEP_3:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if _measure(rest) else word
    return word


def _step_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            fits = _measure(rest) > 1 and (suffix != "ion" or rest[-1] in "st")
            return rest if fits else word
    return word


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    measure = _measure(word[:-1])
    return word[:-1] if measure > 1 or (measure == 1 and not _ends_short(word[:-1])) else word


def _final_ll(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
