"""Tokenisation and stemming of texts, and an index of a text for the comparison with claims.

The word lists are English. Texts in other languages are compared word by word, and scripts without spaces character by
character.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from summeter.evaluators.support.numbers import MONEY, PERCENT, Number, letter_multiplier, numbers, shares
from summeter.interrupt import checkpoint
from summeter.text.ngrams import words
from summeter.text.spans import TextSpan


def words_of(text: str) -> frozenset[str]:
    """Return the set of the words in a string."""
    return frozenset(text.split())


# Grammatical words. "n", "t", "s" and similar words are remains of tokenised contractions such as "isn't".
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
# These words form a negation with the "t" that a tokeniser splits off ("isn't", "won't").
CONTRACTED = words_of("""
    isn aren wasn weren don doesn didn hasn haven hadn won wouldn shan shouldn can couldn mustn needn mightn ain
    """)

# Irregular forms, each followed by its base form.
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
    """Return the base form of each irregular form."""
    return dict(entry.split() for line in _IRREGULAR.strip().splitlines() for entry in line.split(";"))


class Word(NamedTuple):
    """A word, with its span in code points.

    Words are equal if their keys are equal. A ``key`` is a stem, or ``#value`` for a number.
    """

    key: str
    start: int
    end: int
    content: bool = True
    capital: bool = False
    number: Number | None = None
    negation: bool = False


_VOWEL = re.compile(r"[aeiouy]")


def _without_plural(word: str) -> str | None:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return None


def _without_verb_ending(word: str) -> str | None:
    for suffix in ("ing", "ed"):
        base = word.removesuffix(suffix)
        if base == word or len(base) < 3 or not _VOWEL.search(base):
            continue
        if word.endswith("eed"):
            return word[:-1]
        if suffix == "ed" and base.endswith("i"):
            return base[:-1] + "y"
        # runn -> run, but fall, miss and buzz keep both letters.
        doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeioulsz"
        return base[:-1] if doubled else base
    return None


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a lower-case word without its inflection.

    A word with a character outside a to z is unchanged.

    >>> [stem(w) for w in ("studies", "running", "made", "cars", "moved", "moving", "quickly")]
    ['study', 'run', 'mak', 'car', 'mov', 'mov', 'quick']
    """
    if not (word.isascii() and word.isalpha()) or len(word) < 3:
        return word
    base = irregular().get(word)
    if base is None:
        base = _without_plural(word) or _without_verb_ending(word)
        if base is None:
            base = word[:-2] if word.endswith("ly") and len(word) > 5 else word
        base = irregular().get(base, base)
    # Remove a silent e everywhere, because "moving" has lost it and "moves" has not.
    return base[:-1] if base.endswith("e") and len(base) > 3 else base


def number_key(value: float) -> str:
    """Return the word key of a number. Both 1,000 and "one thousand" have the key ``#1000``."""
    return f"#{value:.10g}"


# Signs before and after a number.
_HALF_OF_DAY = re.compile(r"\s?(?P<sign>(?P<half>[ap])\.?m\b)", re.IGNORECASE)
_MONEY = re.compile(r"[$£€¥₹]\s?$")
_MINUTES = 60
_ORDINALS = {"1st": "first", "2nd": "second"}  # numbers() does not return these


def _with_signs(text: str, number: Number) -> list[Word]:
    """Return a number and its sign as words, so that "£5" matches "5 pounds" and "14%" matches "14 per cent".

    A currency sign is a function word before the number; the percent sign, "am" and "pm" are words after it.
    """
    key = number_key(number.value) + ("s" if number.kind == "decade" else "")
    word = Word(key, number.start, number.end, number=number)
    if number.kind == "currency":
        money = _MONEY.search(text, max(0, number.start - 2), number.start)
        if money:
            name = MONEY[money.group()[0]]
            return [Word(stem(name), money.start(), money.start() + 1, content=False), word]
    if number.kind == "percent":
        sign = PERCENT.match(text, number.end)
        return [word, Word(stem("percent"), *sign.span("sign"))] if sign else [word]
    sign = _HALF_OF_DAY.match(text, number.end) if number.value < _MINUTES else None
    return [word, Word(sign["half"].lower() + "m", *sign.span("sign"))] if sign else [word]


_BEFORE_MONTH = frozenset(("in", "of", "last", "since", "by", "early", "late", "until"))


def _is_content(tokens: list[TextSpan], i: int, *, capital: bool) -> bool:
    text = tokens[i].text
    after = tokens[i + 1].text if i + 1 < len(tokens) else ""
    before = tokens[i - 1].text if i else ""
    if text == "may":
        # The month has a capital inside a sentence, or a typical neighbour in lower-case text.
        return (capital and i > 0) or before in _BEFORE_MONTH or after.isdigit()
    if text in CONTRACTED and after == "t":
        return False
    return text not in FUNCTION_WORDS


def _word(text: str, tokens: list[TextSpan], i: int) -> Word:
    token = tokens[i]
    capital = text[token.start].isupper()
    contracted = token.text == "t" and i > 0 and (tokens[i - 1].text in CONTRACTED or tokens[i - 1].text == "n")
    return Word(
        # "one" is not a number, because a pronoun must not be reported as missing, but "one man" matches "1 man".
        key="#1" if token.text == "one" else stem(_ORDINALS.get(token.text, token.text)),
        start=token.start,
        end=token.end,
        content=_is_content(tokens, i, capital=capital),
        capital=capital,
        number=None,
        negation=token.text in NEGATIONS or contracted,
    )


def analyse(text: str) -> list[Word]:
    """Return the words of a text in order.

    A number in any form is one word, and its signs are separate words.

    >>> [w.key for w in analyse("Twenty-five men weren't paid £1,000.")]
    ['#25', 'man', 'weren', 't', 'pay', 'pound', '#1000']
    """
    tokens = words(text)
    analysed: list[Word] = []
    pending_numbers = numbers(text)[::-1]
    last_number: Number | None = None  # the last number in `analysed`
    at = 0  # end of the text in `analysed`
    for i, token in enumerate(tokens):
        if not i % 1024:
            checkpoint()
        while pending_numbers and pending_numbers[-1].end <= token.start:
            pending_numbers.pop()
        number = pending_numbers[-1] if pending_numbers else None
        if number is None or token.end <= number.start:
            if token.start >= at:
                analysed.append(_word(text, tokens, i))
            continue
        if number is not last_number:
            analysed += _with_signs(text, number)
            at, last_number = analysed[-1].end, number
        if token.end > max(at, number.end):  # the kg of 105kg
            unit = "".join(piece.text for piece in words(text[at : token.end]))
            if unit:
                analysed.append(Word(stem(unit), at, token.end, content=len(unit) > 1))
    return analysed


_CLAUSE_ENDS = frozenset(",;:.!?()—")
_MAX_ATTACHED = 40  # characters on each side of a word that can be attached to it
_MAX_QUOTE_LENGTH = 48  # characters


def shorten_quote(text: str, start: int, end: int) -> str:
    """Return `text[start:end]` on one line, with an ellipsis in the middle if the text is long."""
    stretch = " ".join(text[start:end].split())
    half = _MAX_QUOTE_LENGTH // 2
    if len(stretch) <= _MAX_QUOTE_LENGTH:
        return stretch
    return f"{stretch[: half - 1].rstrip()} … {stretch[1 - half :].lstrip()}"


@dataclass(frozen=True)
class Passage:
    """Consecutive words of a text: a claim, the evidence, or some sentences of it."""

    text: str
    words: tuple[Word, ...]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the words."""
        return frozenset(word.key for word in self.words)

    @cached_property
    def index_by_start(self) -> dict[int, int]:
        """The index of each word, by the start of the word in the text."""
        return {word.start: at for at, word in enumerate(self.words)}

    @cached_property
    def numbers(self) -> list[tuple[int, Word, Number]]:
        """The words that are numbers, as (index, word, number)."""
        return [(at, word, word.number) for at, word in enumerate(self.words) if word.number]

    @cached_property
    def shares(self) -> list[Number]:
        """The numbers that state a share of a whole."""
        return shares(self.text)

    @cached_property
    def number_keys(self) -> frozenset[str]:
        """The keys of the numbers."""
        return frozenset(word.key for _, word, _ in self.numbers)

    @cached_property
    def number_boundaries(self) -> frozenset[int]:
        """The starts and ends of the numbers in the text."""
        return frozenset(edge for _, word, _ in self.numbers for edge in (word.start, word.end))

    def quote(self, first: Word, last: Word | None = None) -> str:
        """Return the text from one word to another as written, shortened if the text is long."""
        return shorten_quote(self.text, first.start, (last or first).end)

    def with_attached(self, word: Word) -> str:
        """Return a word with the text attached to it without white space, as in "e-mail" or "U.S.".

        If the attached text is long, the word is returned alone. A long text is not an abbreviation, and a text without
        spaces would be searched again for each of its words.
        """
        start, end = max(0, word.start - _MAX_ATTACHED), min(len(self.text), word.end + _MAX_ATTACHED)
        before = max(self.text.rfind(space, start, word.start) for space in " \n\t")
        after = [at for at in (self.text.find(space, word.end, end) for space in " \n\t") if at >= 0]
        if (before < 0 < start) or (not after and end < len(self.text)):
            return self.text[word.start : word.end]
        return self.text[max(start, before + 1) : min(after, default=end)]

    def lower(self, word: Word) -> str:
        """Return a word as written, in lower case."""
        return self.text[word.start : word.end].lower()

    def is_clause_break(self, first: Word, second: Word) -> bool:
        """Return True if punctuation that ends a clause separates two words."""
        between = self.text[first.end : second.start]
        return between != " " and any(sign in _CLAUSE_ENDS for sign in between)

    def words_after(self, at: int, most: int) -> Iterator[Word]:
        """Yield at most ``most`` words after index ``at``, up to the end of the clause."""
        for i in range(at + 1, min(len(self.words), at + 1 + most)):
            if self.is_clause_break(self.words[i - 1], self.words[i]):
                return
            yield self.words[i]

    def words_before(self, at: int, most: int) -> Iterator[Word]:
        """Yield at most ``most`` words before index ``at``, nearest first, up to the start of the clause."""
        for i in range(at - 1, max(-1, at - 1 - most), -1):
            if self.is_clause_break(self.words[i], self.words[i + 1]):
                return
            yield self.words[i]

    def next_content_word(self, word: Word) -> Word | None:
        """Return the first content word among the next two words, or None if neither is one."""
        at = self.index_by_start[word.start]
        return next((other for other in self.words[at + 1 : at + 3] if other.content), None)

    def key_at(self, at: int) -> str | None:
        """Return the key of the word at an index, or None if there is no such word."""
        return self.words[at].key if 0 <= at < len(self.words) else None


_SPEAKER = re.compile(r"^[ \t]*[^\W\d_][\w .'-]{0,30}?[ \t]?:", re.MULTILINE)
PREFIX = 5  # words with this many first letters in common may be related (nutrition, nutritionist)


@dataclass(frozen=True)
class Evidence(Passage):
    """An indexed text.

    ``sentences`` are the spans of the sentences in code points. ``bounds`` holds the index of the first word of each
    sentence, followed by the number of words. ``positions`` maps a key to the indices of its words, ``pairs`` maps two
    keys to the indices at which the second directly follows the first, and ``relatives`` maps a prefix to the keys that
    begin with the prefix.
    """

    sentences: tuple[tuple[int, int], ...]
    bounds: tuple[int, ...]
    positions: dict[str, list[int]]
    pairs: dict[tuple[str, str], list[int]]
    relatives: dict[str, tuple[str, ...]]

    @cached_property
    def multipliers(self) -> dict[float, list[float]]:
        """The factors of the letters after numbers (the "m" of "340m"), by the multiplied value."""
        multipliers: dict[float, list[float]] = defaultdict(list)
        for _, _, number in self.numbers:
            times = letter_multiplier(self.text, number)
            multipliers[number.value * times].append(times)
        return dict(multipliers)

    @cached_property
    def is_dialogue(self) -> bool:
        """Whether at least two lines, and at least half of all lines, begin with the name of a speaker."""
        lines = sum(not line.isspace() for line in self.text.splitlines() if line)
        return 2 <= len(_SPEAKER.findall(self.text)) >= lines / 2

    @cached_property
    def letters_and_digits(self) -> str:
        """The letters and digits of the text, case-folded and without other characters."""
        return "".join(filter(str.isalnum, self.text)).casefold()

    def sentence_of(self, position: int) -> int:
        """Return the index of the sentence that contains the word at a position."""
        return bisect_right(self.bounds, position) - 1

    def words_of(self, first: int, last: int) -> tuple[Word, ...]:
        """Return the words of the sentences ``first`` to ``last - 1``."""
        return self.words[self.bounds[first] : self.bounds[last]]


def index_text(text: str, sentences: Sequence[tuple[int, int]]) -> Evidence:
    """Index a text.

    ``sentences`` are the spans of the sentences in code points, in order. A gap between them counts as a sentence if it
    contains a word. Raises ValueError if spans overlap or end after the text.
    """
    edges = [0, *(edge for span in sentences for edge in span), len(text)]
    if edges != sorted(edges):
        raise ValueError(f"a sentence overlaps the previous one or leaves the text of {len(text)} characters")
    words = analyse(text)
    spans = list(pairwise(edges))
    starts = [word.start for word in words]
    counts = [bisect_left(starts, end) for _, end in spans]  # number of words before the end of each span
    filled = [(span, first) for span, first, last in zip(spans, [0, *counts], counts, strict=False) if first < last]
    positions: dict[str, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        positions[word.key].append(i)
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, (left, right) in enumerate(pairwise(words)):
        pairs[left.key, right.key].append(i)
    relatives: dict[str, list[str]] = defaultdict(list)
    for key in positions:
        if len(key) >= PREFIX and key.isalpha():
            relatives[key[:PREFIX]].append(key)
    return Evidence(
        text=text,
        sentences=tuple(span for span, _ in filled),
        words=tuple(words),
        bounds=(*(first for _, first in filled), len(words)),
        positions=dict(positions),
        pairs=dict(pairs),
        relatives={prefix: tuple(keys) for prefix, keys in relatives.items()},
    )
