"""A text as the words a claim is checked by: stems, numbers as values, grammar words apart from content words."""

import re
from functools import cache, lru_cache
from typing import NamedTuple

from summeter.evaluators.support.lexicon import (
    CONTRACTED,
    FUNCTION_WORDS,
    NEGATIONS,
    irregular,
    opposite_words,
)
from summeter.evaluators.support.numbers import MONEY, PERCENT, Number, numbers
from summeter.interrupt import checkpoint
from summeter.text.ngrams import Token, words


class Word(NamedTuple):
    """One word: ``key`` is what is compared (a stem, or ``#value`` for a number); offsets are code points."""

    key: str
    start: int
    end: int
    content: bool
    capital: bool
    number: Number | None
    negation: bool


_VOWEL = re.compile(r"[aeiouy]")


def _undouble(base: str) -> str:
    """runn -> run; but fall, miss, buzz keep their end."""
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeioulsz":
        return base[:-1]
    return base


def _plural_off(word: str) -> str | None:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return None


def _verb_ending_off(word: str) -> str | None:
    for suffix in ("ing", "ed"):
        base = word.removesuffix(suffix)
        if base == word or len(base) < 3 or not _VOWEL.search(base):
            continue
        if word.endswith("eed"):
            return word[:-1]
        return base[:-1] + "y" if suffix == "ed" and base.endswith("i") else _undouble(base)
    return None


def _suffix_off(word: str) -> str:
    shorter = _plural_off(word) or _verb_ending_off(word)
    if shorter is None and word.endswith("ly") and len(word) > 5:
        return word[:-2]
    return shorter or word


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A lower-cased word without its inflection; words with other than the letters a to z stay as they are.

    >>> [stem(w) for w in ("studies", "running", "made", "cars", "moved", "moving", "quickly")]
    ['study', 'run', 'mak', 'car', 'mov', 'mov', 'quick']
    """
    if not (word.isascii() and word.isalpha()) or len(word) < 3:
        return word
    base = irregular().get(word)
    if base is None:
        base = _suffix_off(word)
        base = irregular().get(base, base)
    # A silent e is lost in moving and kept in moves: drop it everywhere.
    return base[:-1] if base.endswith("e") and len(base) > 3 else base


@cache
def opposites() -> dict[str, frozenset[str]]:
    """Stem to the stems of its opposites."""
    table: dict[str, set[str]] = {}
    for first, second in opposite_words():
        table.setdefault(stem(first), set()).add(stem(second))
        table.setdefault(stem(second), set()).add(stem(first))
    return {key: frozenset(others) for key, others in table.items()}


def number_key(value: float) -> str:
    """How a number is spelled as a word key: 1,000 and one thousand are both ``#1000``."""
    return f"#{value:.10g}"


# What stands beside a number, written in many ways.
_HALF_OF_DAY = re.compile(r"\s?(?P<sign>(?P<half>[ap])\.?m\b)", re.IGNORECASE)
_MONEY = re.compile(r"[$£€¥₹]\s?$")
_MINUTES = 60
_ORDINALS = {"1st": "first", "2nd": "second"}  # where numbers() leaves them as words


def _sign_before(text: str, number: Number) -> list[Word]:
    """The money of £5, for others to find (5 pounds), but no word to miss: $5 and 5 dollars are the same."""
    money = _MONEY.search(text, max(0, number.start - 2), number.start) if number.kind == "currency" else None
    if money is None:
        return []
    name = MONEY[money.group()[0]]
    return [_plain(stem(name), money.start(), money.start() + 1, content=False)]


def _sign_behind(text: str, number: Number) -> list[Word]:
    """The per cent, am or pm of a number as one word: 14% has no word less than 14 per cent."""
    if number.kind == "percent":
        sign = PERCENT.match(text, number.end)
        return [_plain(stem("percent"), *sign.span("sign"))] if sign else []
    sign = _HALF_OF_DAY.match(text, number.end) if number.value < _MINUTES else None
    return [_plain(sign["half"].lower() + "m", *sign.span("sign"))] if sign else []


def _is_negation(tokens: list[Token], i: int) -> bool:
    token = tokens[i]
    if token.text in NEGATIONS:
        return True
    return token.text == "t" and i > 0 and (tokens[i - 1].text in CONTRACTED or tokens[i - 1].text == "n")


_BEFORE_MONTH = frozenset(("in", "of", "last", "since", "by", "early", "late", "until"))


def _is_content(tokens: list[Token], i: int, *, capital: bool) -> bool:
    text = tokens[i].text
    after = tokens[i + 1].text if i + 1 < len(tokens) else ""
    before = tokens[i - 1].text if i else ""
    if text == "may":
        # The month, not the verb: by its capital inside a sentence, or by its neighbours where all is lower-case.
        return (capital and i > 0) or before in _BEFORE_MONTH or after.isdigit()
    if text in CONTRACTED and after == "t":
        return False
    return text not in FUNCTION_WORDS


def _word(text: str, tokens: list[Token], i: int) -> Word:
    token = tokens[i]
    capital = text[token.start].isupper()
    return Word(
        # No number, lest "one" as a pronoun be missed; yet 1 man is one man.
        key="#1" if token.text == "one" else stem(_ORDINALS.get(token.text, token.text)),
        start=token.start,
        end=token.end,
        content=_is_content(tokens, i, capital=capital),
        capital=capital,
        number=None,
        negation=_is_negation(tokens, i),
    )


def _plain(key: str, start: int, end: int, *, content: bool = True, number: Number | None = None) -> Word:
    return Word(key, start, end, content, capital=False, number=number, negation=False)


def _number_word(number: Number) -> Word:
    key = number_key(number.value) + ("s" if number.kind == "decade" else "")
    return _plain(key, number.start, number.end, number=number)


def analyse(text: str) -> list[Word]:
    """The words of a text in order, each number one word however it is written, its signs words beside it.

    >>> [w.key for w in analyse("Twenty-five men weren't paid £1,000.")]
    ['#25', 'man', 'weren', 't', 'pay', 'pound', '#1000']
    """
    tokens = words(text)
    analysed: list[Word] = []
    waiting = numbers(text)[::-1]
    held: Number | None = None  # the number whose word stands last in found
    at = 0  # all before is read
    for i, token in enumerate(tokens):
        if not i % 1024:
            checkpoint()
        while waiting and waiting[-1].end <= token.start:
            waiting.pop()
        number = waiting[-1] if waiting else None
        if number is None or token.end <= number.start:
            if token.start >= at:
                analysed.append(_word(text, tokens, i))
            continue
        if number is not held:
            analysed += [*_sign_before(text, number), _number_word(number), *_sign_behind(text, number)]
            at, held = analysed[-1].end, number
        if token.end > max(at, number.end):  # the kg of 105kg
            unit = "".join(piece.text for piece in words(text[at : token.end]))
            if unit:
                analysed.append(_plain(stem(unit), at, token.end, content=len(unit) > 1))
    return analysed
