"""Texts as words that can be compared, and a text indexed so that claims are looked up in it.

Word lists are English. Text in other languages is compared word by word, scripts without spaces character by character.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from summeter.evaluators.support.numbers import MONEY, PERCENT, Number, letters, numbers, shares
from summeter.interrupt import checkpoint
from summeter.text.ngrams import words
from summeter.text.spans import TextSpan


def words_of(text: str) -> frozenset[str]:
    """The words of a list written in one string."""
    return frozenset(text.split())


# Words that carry grammar rather than facts. "n", "t", "s" and their like are what a tokeniser leaves of "isn't".
FUNCTION_WORDS = words_of("""
    a an the this that these those such some any each every either both all another other others own same
    i you he she it we they me him her us them my your his its our their mine yours hers ours theirs
    myself yourself himself herself itself ourselves themselves one ones who whom whose which what
    be am is are was were been being have has had having do does did doing done
    will would shall should can could may might must ought
    s t d m n ll re ve nt lrb rrb lsb rsb
    of in on at by for from to with about into onto over under between among through during before after
    above below against within along across behind beyond near since until till upon toward towards off out up
    down around as than like per via
    and or but nor so yet if then else because while whereas although though unless whether when where why how
    not no never none neither without cannot
    there here now just also too very only even still already again ever much many more most less least few
    quite rather really however thus therefore hence meanwhile moreover
    yes oh well
    """)

NEGATIONS = words_of("not no never none nobody nothing nowhere neither nor without cannot unable nt hardly scarcely")
# Before a "t" split off by the tokeniser these words make a negation ("isn't", "won't").
CONTRACTED = words_of("""
    isn aren wasn weren don doesn didn hasn haven hadn won wouldn shan shouldn can couldn mustn needn mightn ain
    """)

# Forms a suffix rule cannot bring home. Left the form, right the base.
_IRREGULAR = """
    went go; gone go; made make; said say; told tell; took take; taken take; came come; gave give; given give
    got get; gotten get; found find; thought think; knew know; known know; became become; left leave; felt feel
    brought bring; began begin; begun begin; kept keep; held hold; wrote write; written write; stood stand
    heard hear; meant mean; met meet; paid pay; sat sit; spoke speak; spoken speak; led lead; grew grow
    grown grow; lost lose; fell fall; fallen fall; sent send; built build; understood understand; drew draw
    drawn draw; broke break; broken break; spent spend; rose rise; risen rise; drove drive; driven drive
    bought buy; wore wear; worn wear; chose choose; chosen choose; ran run; saw see; seen see; won win
    sold sell; taught teach; caught catch; fought fight; threw throw; thrown throw; flew fly; flown fly
    stole steal; stolen steal; struck strike; shot shoot; hid hide; hidden hide; died die; dying die; lay lie
    lying lie; dead die; death die; ate eat; eaten eat; drank drink; drunk drink; sang sing; sung sing; swam swim
    slept sleep; dealt deal; lent lend; won win; shook shake; beat beat; beaten beat; bitten bite; froze freeze
    frozen freeze; rode ride; ridden ride; forgot forget; forgotten forget; sought seek; swore swear; sworn swear
    used use; using use; uses use
    men man; women woman; children child; people person; feet foot; teeth tooth; wives wife; lives life; mice mouse
    better good; best good; worse bad; worst bad
    jan january; feb february; apr april; jun june; jul july; aug august; sep september; sept september
    oct october; nov november; dec december; tues tuesday; wed wednesday; thur thursday; thurs thursday
    fri friday; percent percent; pc percent; kilometre km; kilometer km; kilometres km; kilometers km
    kilogram kg; kilograms kg; kilo kg; kilos kg; metre m; meter m; metres m; meters m
    british britain; scottish scotland; welsh wales; irish ireland; english england; french france; german germany
    spanish spain; italian italy; american america; chinese china; japanese japan; russian russia; dutch holland
    swedish sweden; danish denmark; polish poland; turkish turkey; greek greece; swiss switzerland
    colour color; colours color; favour favor; honour honor; labour labor; centre center; theatre theater
    defence defense; grey gray; programme program; programmes program
"""


@cache
def irregular() -> dict[str, str]:
    """Form to base form, for words the suffix rules cannot bring home."""
    return dict(entry.split() for line in _IRREGULAR.strip().splitlines() for entry in line.split(";"))


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
        if suffix == "ed" and base.endswith("i"):
            return base[:-1] + "y"
        # runn -> run; but fall, miss, buzz keep their end.
        doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeioulsz"
        return base[:-1] if doubled else base
    return None


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
        base = _plural_off(word) or _verb_ending_off(word)
        if base is None:
            base = word[:-2] if word.endswith("ly") and len(word) > 5 else word
        base = irregular().get(base, base)
    # A silent e is lost in moving and kept in moves: drop it everywhere.
    return base[:-1] if base.endswith("e") and len(base) > 3 else base


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


_BEFORE_MONTH = frozenset(("in", "of", "last", "since", "by", "early", "late", "until"))


def _is_content(tokens: list[TextSpan], i: int, *, capital: bool) -> bool:
    text = tokens[i].text
    after = tokens[i + 1].text if i + 1 < len(tokens) else ""
    before = tokens[i - 1].text if i else ""
    if text == "may":
        # The month, not the verb: by its capital inside a sentence, or by its neighbours where all is lower-case.
        return (capital and i > 0) or before in _BEFORE_MONTH or after.isdigit()
    if text in CONTRACTED and after == "t":
        return False
    return text not in FUNCTION_WORDS


def _word(text: str, tokens: list[TextSpan], i: int) -> Word:
    token = tokens[i]
    capital = text[token.start].isupper()
    contracted = token.text == "t" and i > 0 and (tokens[i - 1].text in CONTRACTED or tokens[i - 1].text == "n")
    return Word(
        # No number, lest "one" as a pronoun be missed; yet 1 man is one man.
        key="#1" if token.text == "one" else stem(_ORDINALS.get(token.text, token.text)),
        start=token.start,
        end=token.end,
        content=_is_content(tokens, i, capital=capital),
        capital=capital,
        number=None,
        negation=token.text in NEGATIONS or contracted,
    )


def _plain(key: str, start: int, end: int, *, content: bool = True, number: Number | None = None) -> Word:
    return Word(key, start, end, content, capital=False, number=number, negation=False)


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
            key = number_key(number.value) + ("s" if number.kind == "decade" else "")
            word = _plain(key, number.start, number.end, number=number)
            analysed += [*_sign_before(text, number), word, *_sign_behind(text, number)]
            at, held = analysed[-1].end, number
        if token.end > max(at, number.end):  # the kg of 105kg
            unit = "".join(piece.text for piece in words(text[at : token.end]))
            if unit:
                analysed.append(_plain(stem(unit), at, token.end, content=len(unit) > 1))
    return analysed


_SPEAKER = re.compile(r"^[ \t]*[^\W\d_][\w .'-]{0,30}?[ \t]?:", re.MULTILINE)
PREFIX = 5  # words sharing this many first letters may be relatives (nutrition, nutritionist)


@dataclass(frozen=True)
class Evidence:
    """A prepared text.

    ``sentences`` are its spans in code points; ``bounds`` the index of each sentence's first word, with the number
    of words at the end; ``places`` gives the positions of each word key, ``pairs`` those of the first word of each
    pair of neighbours, ``relatives`` the keys by their first letters.
    """

    text: str
    sentences: tuple[tuple[int, int], ...]
    words: tuple[Word, ...]
    bounds: tuple[int, ...]
    places: dict[str, list[int]]
    pairs: dict[tuple[str, str], list[int]]
    relatives: dict[str, tuple[str, ...]]
    numbers: tuple[Number, ...]

    @cached_property
    def scaled(self) -> dict[float, list[float]]:
        """What letters multiply the numbers by (the m of 340m), by their value with it."""
        scaled: dict[float, list[float]] = defaultdict(list)
        for number in self.numbers:
            times = letters(self.text, number)
            scaled[number.value * times].append(times)
        return dict(scaled)

    @cached_property
    def shares(self) -> list[Number]:
        """What stands for a share of a whole."""
        return shares(self.text)

    @cached_property
    def is_dialogue(self) -> bool:
        """Whether most lines begin with a speaker's name."""
        lines = sum(not line.isspace() for line in self.text.splitlines() if line)
        return 2 <= len(_SPEAKER.findall(self.text)) >= lines / 2

    @cached_property
    def folded(self) -> str:
        """The letters and digits of the text without what stands between them, in one case."""
        return "".join(filter(str.isalnum, self.text)).casefold()

    def sentence_of(self, position: int) -> int:
        """Index of the sentence the word at this position stands in."""
        return bisect_right(self.bounds, position) - 1

    def words_of(self, first: int, last: int) -> tuple[Word, ...]:
        """The words of sentences ``first`` up to but without ``last``."""
        return self.words[self.bounds[first] : self.bounds[last]]


def _covering(sentences: Sequence[tuple[int, int]], length: int) -> tuple[tuple[int, int], ...]:
    """The given spans, checked, with what they leave uncovered added, so that no word is out of every sentence."""
    covering: list[tuple[int, int]] = []
    at = 0
    for start, end in sentences:
        if start < at or end < start or end > length:
            raise ValueError(f"sentence {start}-{end} overlaps the one before or leaves the text of {length}")
        if start > at:
            covering.append((at, start))
        covering.append((start, end))
        at = end
    if at < length:
        covering.append((at, length))
    return tuple(covering)


def prepare(text: str, sentences: Sequence[tuple[int, int]]) -> Evidence:
    """Index a text. ``sentences`` are ordered spans in code points; gaps with words in them count as sentences.

    Raises ValueError if spans overlap or leave the text.
    """
    spans = _covering(sentences, len(text))
    words = analyse(text)
    kept: list[tuple[int, int]] = []
    bounds: list[int] = []
    at = 0
    for span in spans:
        first = at
        while at < len(words) and words[at].start < span[1]:
            at += 1
        if at > first:
            kept.append(span)
            bounds.append(first)
    bounds.append(len(words))
    places: dict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        places[word.key].append(i)
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, (left, right) in enumerate(pairwise(words)):
        pairs[left.key, right.key].append(i)
    relatives: dict[str, list[str]] = defaultdict(list)
    for key in places:
        if len(key) >= PREFIX and key.isalpha():
            relatives[key[:PREFIX]].append(key)
    return Evidence(
        text=text,
        sentences=tuple(kept),
        words=tuple(words),
        bounds=tuple(bounds),
        places=dict(places),
        pairs=dict(pairs),
        relatives={prefix: tuple(keys) for prefix, keys in relatives.items()},
        numbers=tuple(word.number for word in words if word.number is not None),
    )
