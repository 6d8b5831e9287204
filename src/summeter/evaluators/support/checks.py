"""What a person can check of a claim: the checks, and the reasons that are written from what they find.

A check reads a scene (a claim beside the sentence of the text that speaks of it) and yields what it finds: a text that
a person checks in a second, and the claim's words that it accounts for. No word is reported twice: a check sees which
words those before it account for (`Scene.accounted`). Findings of the kinds in `CONFLICTS` count against the claim. An
ablation decided which checks there are (reports/quality.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from summeter.evaluators.support.features import ClaimFeatures
from summeter.evaluators.support.numbers import Number, letters, shares, signed
from summeter.evaluators.support.words import CONTRACTED, Evidence, Word, stem, words_of
from summeter.interrupt import checkpoint

Kind = Literal["number", "negation", "opposite", "sibling", "name", "missing", "elsewhere"]
MOST = 3
"""The most reasons of a verdict."""
LONGEST = 140
"""The most characters of a reason."""
CAUTION = "caution: "
_QUOTED: Final = 3  # words quoted in one finding
_LONGEST_QUOTE: Final = 48  # characters
_ABBREVIATION: Final = 3  # letters of a word that is told by its capitals
_JOINED: Final = 40  # characters on either side of a word that may be joined to it
_CLAUSE_ENDS: Final = frozenset(",;:.!?()—")
_PERCENT: Final = ("cent", "percent")

# Word lists: opposites; groups of which a fact has one; what denies without "not"; other words for a number.

_OPPOSITES = """
    rise fall; rise drop; rise decline; increase decrease; increase reduce; increase fall; increase drop
    grow shrink; gain lose; win lose; victory defeat; win defeat; success failure; succeed fail
    up down; above below; over under; before after; inside outside; into out; on off
    more less; more fewer; most least; many few; high low; higher lower; highest lowest; large small
    larger smaller; largest smallest; big small; bigger smaller; biggest smallest; great little; long short
    longer shorter; longest shortest; old young; older younger; oldest youngest; old new; early late
    earlier later; first last; first second; early later; good bad; better worse; best worst; strong weak; rich poor
    hot cold; warm cool; fast slow; hard easy; difficult easy; simple complex; simple difficult; open close
    begin end; start end; start finish; start stop; begin stop; arrive leave; arrive depart; enter leave
    join leave; buy sell; lend borrow; give take; accept reject; accept refuse; approve reject; allow forbid
    allow ban; allow prevent; permit prohibit; agree disagree; agree refuse; support oppose; confirm deny
    admit deny; love hate; like dislike; remember forget; find lose; live die; alive dead; born die; birth death
    male female; man woman; men women; boy girl; father mother; son daughter; brother sister; husband wife
    king queen; north south; east west; northern southern; eastern western; left right; top bottom; front back
    day night; morning evening; summer winter; import export; attack defend; guilty innocent; convict acquit
    arrest release; hire fire; appoint dismiss; legal illegal; possible impossible; able unable; known unknown
    common rare; public private; true false; positive negative; improve worsen; always never; with without
    all none; everyone nobody; everything nothing; same different; include exclude; build destroy; create destroy
    save kill; push pull; raise lower; expand contract; hit miss; major minor; maximum minimum; majority minority
    ancient modern; domestic foreign; safe dangerous; heavy light; wide narrow; deep shallow; full empty
"""

_SIBLINGS = """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last final
    half third quarter
    spring summer autumn fall winter
    morning noon afternoon evening night midnight
    yesterday today tomorrow
    north south east west northern southern eastern western
    second minute hour day week fortnight month quarter year decade century
    hourly daily weekly monthly quarterly annual yearly
    once twice thrice
    mm cm km metre centimetre millimetre kilometre mile foot inch yard centimeter millimeter
    mg g kg gram milligram kilogram tonne ton ounce pound
    ml litre liter millilitre gallon pint
    celsius fahrenheit kelvin
    dollar euro pound yen yuan rupee franc krona krone won peso ruble rouble
    always usually often sometimes occasionally rarely seldom never
    certainly definitely surely probably likely possibly perhaps maybe apparently
    caused cause associated linked correlated related
    doubled tripled quadrupled halved
    black white red green blue yellow orange purple brown pink grey
    mother father brother sister son daughter husband wife uncle aunt nephew niece cousin grandfather grandmother
    single married divorced widowed engaged
    mild moderate severe
    gold silver bronze
    suspected alleged confirmed convicted
"""

_DENYING: Final = frozenset(
    map(
        stem,
        words_of("""
            fail refuse deny reject lack prevent avoid stop cancel oppose dismiss decline ban block rule unlikely
            impossible absent missing cease halt withdraw unless instead rather false untrue except
            """),
    )
)
# Not only, no other, no later than: these compare, they do not deny.
_NO_DENIAL: Final = words_of("only just least as so other longer more less later fewer")
_AUXILIARY: Final = words_of(
    "do be is am are was were did does has have had will would can could shall should may might must"
)
# Everyday words whose absence from the text says little about a supported sentence.
_LIGHT: Final = words_of("""
    want take make get give become part include decide also begin start continue use show go come happen involve
    person thing way various several provide according reveal emerge follow hold see know discuss due
    say tell speak talk report announce state note add ask reply answer explain describe mention warn argue claim
    believe think
    """)
_TITLES: Final = words_of("mr mrs ms miss dr sir prof professor president judge")
_TIMES: Final = {1.0: "once single first", 2.0: "twice both pair couple double second", 3.0: "thrice triple third trio"}
_ORDINALS: Final = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"


@cache
def _opposites() -> dict[str, frozenset[str]]:
    """Stem to the stems of its opposites."""
    table: dict[str, set[str]] = {}
    for pair in _OPPOSITES.replace("\n", ";").split(";"):
        if pair.strip():
            first, second = map(stem, pair.split())
            table.setdefault(first, set()).add(second)
            table.setdefault(second, set()).add(first)
    return {key: frozenset(others) for key, others in table.items()}


@cache
def _siblings() -> dict[str, tuple[frozenset[str], ...]]:
    """A word as written to the groups that it is in."""
    groups = [words_of(line) for line in _SIBLINGS.strip().splitlines()]
    return {word: tuple(group for group in groups if word in group) for group in groups for word in group}


@cache
def _other_words() -> dict[float, frozenset[str]]:
    """The stems of other words for a number."""
    table = {value: {stem(word) for word in words.split()} for value, words in _TIMES.items()}
    for value, word in enumerate(_ORDINALS.split()):
        table.setdefault(float(value), set()).add(stem(word))
    return {value: frozenset(words) for value, words in table.items()}


def shown(text: str, start: int, end: int) -> str:
    """A stretch on one line; a long one loses its middle."""
    stretch = " ".join(text[start:end].split())
    half = _LONGEST_QUOTE // 2
    return (
        stretch
        if len(stretch) <= _LONGEST_QUOTE
        else f"{stretch[: half - 1].rstrip()} … {stretch[1 - half :].lstrip()}"
    )


class Finding(NamedTuple):
    """Something a person can check: its kind, its text, and the claim's words it accounts for."""

    kind: Kind
    text: str
    words: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Side:
    """Words where they stand in a text: the claim's, or those of a part of the evidence."""

    text: str
    words: tuple[Word, ...]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of all words."""
        return frozenset(word.key for word in self.words)

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each word by where it starts."""
        return {word.start: at for at, word in enumerate(self.words)}

    @cached_property
    def numbered(self) -> list[tuple[int, Word, Number]]:
        """The words that are numbers, each with its place."""
        return [(at, word, word.number) for at, word in enumerate(self.words) if word.number]

    @cached_property
    def shares(self) -> list[Number]:
        """What stands for a share of a whole."""
        return shares(self.text)

    @cached_property
    def number_keys(self) -> frozenset[str]:
        """The keys of the numbers."""
        return frozenset(word.key for _, word, _ in self.numbered)

    @cached_property
    def number_edges(self) -> frozenset[int]:
        """Where numbers start and end."""
        return frozenset(edge for _, word, _ in self.numbered for edge in (word.start, word.end))

    def quote(self, first: Word, last: Word | None = None) -> str:
        """A stretch of the text as written."""
        return shown(self.text, first.start, (last or first).end)

    def joined(self, word: Word) -> str:
        """The word with all that stands beside it without a space: the whole of e-mail, or of U.S. The word alone where
        that is long: no abbreviation is, and text without spaces would be read again for each of its words."""
        start, end = max(0, word.start - _JOINED), min(len(self.text), word.end + _JOINED)
        before = max(self.text.rfind(space, start, word.start) for space in " \n\t")
        after = [at for at in (self.text.find(space, word.end, end) for space in " \n\t") if at >= 0]
        if (before < 0 < start) or (not after and end < len(self.text)):
            return self.text[word.start : word.end]
        return self.text[max(start, before + 1) : min(after, default=end)]

    def lower(self, word: Word) -> str:
        """The word as written, in lower case."""
        return self.text[word.start : word.end].lower()

    def parted(self, first: Word, second: Word) -> bool:
        """Whether a comma or a stop stands between two words."""
        between = self.text[first.end : second.start]
        return between != " " and any(sign in _CLAUSE_ENDS for sign in between)

    def ahead(self, at: int, most: int) -> Iterator[Word]:
        """At most ``most`` words behind place ``at``, up to the end of the clause."""
        for i in range(at + 1, min(len(self.words), at + 1 + most)):
            if self.parted(self.words[i - 1], self.words[i]):
                return
            yield self.words[i]

    def behind(self, at: int, most: int) -> Iterator[Word]:
        """At most ``most`` words in front of place ``at``, nearest first, up to the start of the clause."""
        for i in range(at - 1, max(-1, at - 1 - most), -1):
            if self.parted(self.words[i], self.words[i + 1]):
                return
            yield self.words[i]

    def following(self, word: Word) -> Word | None:
        """The content word that is next, or next but one."""
        at = self.places[word.start]
        return next((other for other in self.words[at + 1 : at + 3] if other.content), None)

    def key(self, at: int) -> str | None:
        """The key of the word at a place; None if it is missing."""
        return self.words[at].key if 0 <= at < len(self.words) else None


@dataclass(frozen=True)
class Scene:
    """A claim and the evidence with the window found for it; ``named`` is what the evidence is called. ``accounted``:
    where the claim's words start that a finding accounts for so far."""

    claim: Side
    features: ClaimFeatures
    evidence: Evidence
    named: str
    accounted: set[int] = field(default_factory=set)

    @cached_property
    def core(self) -> int:
        """The sentence of the best window with most of the claim's words, rare ones counting more."""
        content = {
            word.key: 1 + 1 / len(self.evidence.places.get(word.key, [0])) for word in self.claim.words if word.content
        }
        first, last = self.features.best
        lines = [{word.key for word in self.evidence.words_of(i, i + 1)} for i in range(first, last)]
        counts = [sum(weight for key, weight in content.items() if key in line) for line in lines]
        return first + counts.index(max(counts))

    def part(self, first: int, last: int) -> Side:
        """Sentences ``first`` up to but without ``last`` of the evidence."""
        return Side(self.evidence.text, self.evidence.words_of(first, last))

    @cached_property
    def line(self) -> Side:
        """The core sentence."""
        return self.part(self.core, self.core + 1)

    @cached_property
    def window(self) -> Side:
        """The best window."""
        return self.part(*self.features.best)

    @cached_property
    def source(self) -> Side:
        """The whole evidence."""
        return Side(self.evidence.text, self.evidence.words)

    @cached_property
    def is_question(self) -> bool:
        """Whether the core sentence is a question."""
        start, end = self.evidence.sentences[self.core]
        return self.evidence.text[start:end].rstrip("\"'”’ \n").endswith(("?", "？", "؟"))

    @cached_property
    def missing(self) -> tuple[Word, ...]:
        """Content words of the claim that stand nowhere in the evidence, however they are joined there."""
        return tuple(word for word in self.features.missing if not self._joined_otherwise(word))

    def _joined_otherwise(self, word: Word) -> bool:
        """e-mail for email, U.S. for US: whether its letters, with those joined to it, make words of the evidence."""
        stretch = self.claim.joined(word)
        letters = "".join(filter(str.isalnum, stretch))
        if letters.casefold() not in self.evidence.folded:
            return False
        pattern = r"[\W_]?".join(map(re.escape, letters))
        same_case = len(letters) <= _ABBREVIATION  # US is not us
        return bool(re.search(rf"(?<!\w){pattern}(?!\w)", self.evidence.text, 0 if same_case else re.IGNORECASE))

    @cached_property
    def absent_starts(self) -> frozenset[int]:
        """Where the claim's words start that stand nowhere in the evidence."""
        return frozenset(word.start for word in self.missing)

    def instead(self, claimed: str, other: str) -> str:
        """'claimed', where the source says 'other'."""
        return f"'{claimed}', where the {self.named} says '{other}'"

    def absent(self, claimed: str, other: str | None) -> str:
        """'claimed' is not in the source; nearest: 'other'."""
        return f"'{claimed}' is not in the {self.named}" + (f"; nearest: '{other}'" if other else "")


Raw = tuple[str, Sequence[Word]]
"""What a check finds: the text of the finding, and the claim's words that it accounts for."""


def _listed(quotes: Iterable[str]) -> tuple[str, int]:
    """A few quotations and how many more there are; and the number of all."""
    texts = list(dict.fromkeys(quotes))
    more = f" and {len(texts) - _QUOTED} more" if len(texts) > _QUOTED else ""
    return f"{', '.join(texts[:_QUOTED])}{more}", len(texts)


# Numbers that are not in the text.

_ROUNDED: Final = 0.01  # a quarter is 26 percent
_NEARLY: Final = 0.2  # of the share itself, at most: two of a hundred are not 3 percent


def numbers_absent(scene: Scene) -> Iterator[Raw]:
    """Numbers that stand nowhere."""
    for number in scene.features.numbers:
        checkpoint()
        if not _in_other_form(scene, number):
            yield _absent_number(scene, number)
    for word in scene.missing:  # digits that are no number: a code, or more than a float holds
        if scene.claim.lower(word).isdecimal():
            yield scene.absent(scene.claim.quote(word), None), (word,)


def _in_other_form(scene: Scene, number: Number) -> bool:
    """Whether the value stands in words that the comparison does not know: twice, eighth, 340m, two in five."""
    evidence, written = scene.evidence, scene.claim.text[number.start : number.end]
    # 3-2: a number that a hyphen joins to another is part of a score.
    of_score = not scene.claim.number_edges.isdisjoint((number.start - 1, number.end + 1))
    others = _other_words().get(number.value, ()) if number.kind == "plain" and not of_score else ()
    if any(key in evidence.places for key in others):
        return True
    # 123 , 456 in texts that were cut into tokens
    if "," in written and re.search(r"\s*,\s*".join(map(re.escape, written.split(","))), evidence.text):
        return True
    times = letters(scene.claim.text, number)
    return _is_same_share(scene, number.start) or any(
        times != others for others in evidence.scaled.get(number.value * times, ())
    )


def _is_same_share(scene: Scene, at: int) -> bool:
    """Whether the source has the share of a whole that the claim has there: 40 percent for two in five."""
    mine = [share for share in scene.claim.shares if share.start <= at < share.end]
    return any(
        "plain" in (share.kind, other.kind) and abs(other.value - share.value) <= min(_ROUNDED, _NEARLY * other.value)
        for share in mine
        for other in scene.evidence.shares
    )


def _absent_number(scene: Scene, number: Number) -> Raw:
    claim = scene.claim
    at = claim.places[number.start]
    word = claim.words[at]
    after = next(claim.ahead(at, 1), None)
    if after and after.start in scene.absent_starts and number.kind == "plain":
        return (scene.absent(claim.quote(word, after), None), (word, after))
    claimed = claim.quote(word)
    nearest = _nearest(scene, at)
    if nearest is None:
        tail = ", which has no numbers"
    else:
        text, start, end = scene.evidence.text, nearest.start, nearest.end
        if nearest.value == number.value or nearest.kind != number.kind:  # the sign is what differs
            claimed = shown(claim.text, *signed(claim.text, number))
            start, end = signed(text, nearest)
        tail = f"; nearest: {_marked(shown(text, start, end))}"
    return (f"{_marked(claimed)} is not in the {scene.named}{tail}", (word,))


def _marked(text: str) -> str:
    """In quotes where it is written in words; digits speak for themselves."""
    return f"'{text}'" if text[:1].isalpha() else text


def _nearest(scene: Scene, at: int) -> Number | None:
    """The number in the claim's place: between its neighbours, beside one, of its kind, and only then by value."""
    number = scene.claim.words[at].number
    if number is None or not scene.evidence.numbers:
        return None
    beside = _beside(scene.claim, at)
    for side in (scene.line, scene.window, scene.source):
        if side.numbered:
            _, _, nearest = min(
                side.numbered,
                key=lambda found: (
                    -len(beside & _beside(side, found[0])),
                    found[1].key in scene.claim.number_keys,
                    found[2].kind != number.kind,
                    abs(found[2].value - number.value),
                ),
            )
            return nearest
    return None


def _beside(side: Side, at: int) -> set[str]:
    """The keys of the words on both sides of a place."""
    return {word.key for word in (*side.words[max(0, at - 1) : at], *side.words[at + 1 : at + 2])}


# Negations and opposites.


def _denies(side: Side, but: str | None = None) -> bool:
    """Whether anything in the words denies: not, fail, refuse (``but`` this: who does not deny says it)."""
    return any(word.negation or (word.key in _DENYING and word.key != but) for word in side.words)


def _denials(side: Side) -> list[tuple[Word, Word]]:
    """Where each negation begins (with its auxiliary), and the content word it is about."""
    denials = []
    for at, word in enumerate(side.words):
        if not word.negation:
            continue
        about = next((following for following in side.ahead(at, 4) if following.content), None)
        after = next(side.ahead(at, 1), None)
        if about is None or about.number or (after and side.lower(after) in _NO_DENIAL):
            continue
        first = word
        for before in side.behind(at, 2):
            text = side.lower(before)
            if before.end + 1 < first.start or not (text in _AUXILIARY or text in CONTRACTED or text == "n"):
                break
            first = before
        denials.append((first, about))
    return denials


def negation(scene: Scene) -> Iterator[Raw]:
    """What one side denies and the other says outright; what both deny cancels out."""
    claim, line = scene.claim, scene.line
    denials, denials_there = _denials(claim), _denials(line)
    denied, denied_there = {about.key for _, about in denials}, {about.key for _, about in denials_there}
    denials = [denial for denial in denials if denial[1].key not in denied_there]
    if scene.is_question:
        # The claim says what the source asks, and the answer is no.
        question = {word.key for word in line.words if word.content}
        answered = scene.core + 1 < len(scene.evidence.sentences) and 2 * len(question & claim.keys) >= len(question)
        if answered and not denials and not _denies(claim):
            answer = scene.part(scene.core + 1, scene.core + 2)
            for at, word in enumerate(answer.words[:3]):
                if word.negation:
                    last = next(answer.ahead(at, 1), word)
                    yield (f"negated in the {scene.named}: '{answer.quote(word, last)}'", ())
                    return
        return
    if not denials and not any(word.key in _DENYING for word in claim.words):
        for first, about in denials_there:
            if about.key in claim.keys - denied:
                yield (f"negated in the {scene.named}: '{line.quote(first, about)}'", ())
                return
    for first, about in denials:
        pool = line if about.key in line.keys else scene.window
        if about.key in pool.keys and not _denies(pool, but=about.key):
            yield (f"negated here, not in the {scene.named}: '{claim.quote(first, about)}'", ())
            return


def opposite(scene: Scene) -> Iterator[Raw]:
    """Opposites; those that are grammar words (after, before) only in front of the same word."""
    denied = {about.start for _, about in _denials(scene.claim)}
    denied_there = {about.start for _, about in _denials(scene.line)}
    present = {word.key: word for word in scene.line.words}
    for word in scene.claim.words:
        if word.key in present or word.start in denied:
            continue
        for key in sorted(_opposites().get(word.key, ())):
            if key not in present or key in scene.claim.keys:
                continue
            other = present[key]
            here, there = scene.claim.following(word), scene.line.following(other)
            same_next = here is not None and there is not None and here.key == there.key
            if other.start not in denied_there and (word.content or same_next):
                text = scene.instead(scene.claim.quote(word), scene.line.quote(other))
                yield (text, (word,))
                break


# Single words: another one of their kind, or missing.

Phrase = tuple[Word, ...]


def siblings(scene: Scene) -> Iterator[Raw]:
    """June for May, the third for the second, weeks for months: the claim has one of a group, its sentence another."""
    for at, word in enumerate(scene.claim.words):
        if not word.content or word.key in scene.line.keys:
            continue
        groups = [group for form in _forms(scene.claim.lower(word)) for group in _siblings().get(form, ())]
        other = _sibling(scene, at, groups) if groups else None
        if other is not None:
            pair = scene.claim.quote(word), scene.line.quote(other)
            yield ((scene.absent if word.start in scene.absent_starts else scene.instead)(*pair), (word,))


def _forms(text: str) -> tuple[str, ...]:
    return (text, text[:-1]) if text.endswith("s") else (text,)


def _sibling(scene: Scene, at: int, groups: Sequence[frozenset[str]]) -> Word | None:
    """The one of the word's group that stands in the core sentence and not in the claim."""
    line, before = scene.line, scene.claim.key(at - 1)
    free = [(at, word) for at, word in enumerate(line.words) if word.content and word.key not in scene.claim.keys]
    for group in groups:
        others = [(at, word) for at, word in free if any(form in group for form in _forms(line.lower(word)))]
        if others:
            return min(others, key=lambda other: (other[0] == 0 or line.key(other[0] - 1) != before, other[0]))[1]
    return None


def names_missing(scene: Scene) -> Iterator[Raw]:
    """Names that stand nowhere, each with the name in its place."""
    for phrase in _phrases(scene, (word for word in scene.missing if word.start not in scene.accounted)):
        # Capitalised inside the sentence; at its start two words must be.
        if phrase[-1].capital and (phrase[0].start != scene.claim.words[0].start or len(phrase) > 1):
            # The name in its place: beside the same word; else one of the core sentence that begins as it does.
            claim, line, start = scene.claim, scene.line, scene.claim.lower(phrase[-1])[:2]
            left = claim.key(claim.places[phrase[0].start] - 1)
            right = claim.key(claim.places[phrase[-1].start] + 1)
            other = (
                _run(scene, left, step=1)
                or _run(scene, right, step=-1)
                or next(
                    (
                        line.quote(word)
                        for word in line.words
                        if word.capital
                        and word.content
                        and word.key not in claim.keys
                        and line.lower(word).startswith(start)
                    ),
                    None,
                )
            )
            yield (scene.absent(claim.quote(phrase[0], phrase[-1]), other), phrase)


def _phrases(scene: Scene, words: Iterable[Word]) -> Iterator[Phrase]:
    """Words of the claim that stand side by side make one phrase; a word that is said twice counts once."""
    places = scene.claim.places
    phrase: list[Word] = []
    seen: set[str] = set()
    for word in words:
        checkpoint()
        if word.key in seen:
            continue
        seen.add(word.key)
        joined = phrase and places[word.start] == places[phrase[-1].start] + 1 and word.capital == phrase[-1].capital
        if phrase and not (joined and not scene.claim.parted(phrase[-1], word)):
            yield tuple(phrase)
            phrase = []
        phrase.append(word)
    if phrase:
        yield tuple(phrase)


def _run(scene: Scene, beside: str | None, *, step: Literal[1, -1]) -> str | None:
    """The capitalised words, none of them the claim's, that begin behind the word `beside` (step 1) or end before it
    (step -1)."""
    line = scene.line

    def free(at: int) -> bool:
        word = line.words[at]
        if not word.capital or not word.content or word.key in scene.claim.keys:
            return False
        return line.lower(word) not in _TITLES

    for at in range(len(line.words)):
        if beside is None or line.key(at - step) != beside or not free(at):
            continue
        end = at
        while 0 <= end + step < len(line.words) and free(end + step):
            end += step
        return line.quote(line.words[min(at, end)], line.words[max(at, end)])
    return None


def words_missing(scene: Scene) -> Iterator[Raw]:
    """The rest of what stands nowhere, in one line."""
    phrases = list(
        _phrases(
            scene,
            (word for word in scene.missing if word.start not in scene.accounted and not _is_excused(scene, word)),
        )
    )
    if phrases:
        texts, count = _listed(f"'{scene.claim.quote(phrase[0], phrase[-1])}'" for phrase in phrases)
        text = f"{texts} {'has' if count == 1 else 'have'} no support in the {scene.named}"
        yield (text, tuple(word for phrase in phrases for word in phrase))


def words_elsewhere(scene: Scene) -> Iterator[Raw]:
    """Words that stand in the source, but not beside the rest."""
    words = [word for word in scene.features.elsewhere if word.start not in scene.accounted]
    if words:
        texts, count = _listed(f"'{scene.claim.quote(word)}'" for word in words)
        verb = "stands" if count == 1 else "stand"
        text = f"{texts} {verb} elsewhere in the {scene.named}, not beside the rest"
        yield (text, tuple(words))


def _is_excused(scene: Scene, word: Word) -> bool:
    """Whether the source has it in another form: a sign of money, a negation."""
    # The source's "14%" has no word for "per cent"; its number was compared with the sign.
    if scene.claim.lower(word) in _PERCENT or word.negation or _is_same_share(scene, word.start):
        return True
    at = scene.claim.places[word.start]
    number = scene.claim.words[at - 1].number if at else None
    if number is not None and number.kind == "currency":
        return True
    return word.key in _DENYING and _denies(scene.line)


CHECKS: Final[dict[Kind, Callable[[Scene], Iterator[Raw]]]] = {
    "number": numbers_absent,
    "negation": negation,
    "opposite": opposite,
    "sibling": siblings,
    "name": names_missing,
    "missing": words_missing,
    "elsewhere": words_elsewhere,
}
"""In the order in which they look, which is that of the reasons."""
CONFLICTS: Final[tuple[Kind, ...]] = ("number", "negation", "opposite", "sibling", "name")
"""Findings that count against a claim; the others say what its overlap lacks."""


def findings(
    claim: str, words: Sequence[Word], features: ClaimFeatures, evidence: Evidence, named: str
) -> tuple[Scene, list[Finding]]:
    """The scene of a claim with these words, and all that is found against it, the most important first."""
    scene = Scene(Side(claim, tuple(words)), features, evidence, named)
    against: list[Finding] = []
    for kind, find in CHECKS.items():
        for text, accounted in find(scene):
            starts = {word.start for word in accounted}
            if not starts or not starts <= scene.accounted:
                against.append(Finding(kind, text, tuple(accounted)))
                scene.accounted.update(starts)
    return scene, against


# Reasons, the most informative one first. Each is true by itself.

_NEAR: Final = 5  # words between two that are joined


def reasons_for(scene: Scene, against: Sequence[Finding], *, supported: bool) -> tuple[str, ...]:
    """Why the claim is decided as it is, most telling first.

    A supported claim gets what speaks for it; findings against it are marked as cautions. Where nothing is found
    against one that is not supported, the reason is how its words are joined.
    """
    if not supported:
        texts = [finding.text for finding in against] or [_unjoined(scene)]
        return tuple(_short(text) for text in texts[:MOST])
    cautions = [CAUTION + finding.text for finding in against if _worth(finding, scene)]
    if any(finding.kind in ("number", "sibling", "name", "missing") for finding in against):
        speaks_for = "the other content words found here"
    elif scene.features.overlap.density == 1:
        speaks_for = "copied word for word from here"
    else:
        speaks_for = "all content words found here"
    return tuple(_short(text) for text in (*cautions[: MOST - 1], speaks_for))


def _worth(finding: Finding, scene: Scene) -> bool:
    """Whether a reader of a supported sentence should look: a name, a conflict, a number; not words that say little."""
    if finding.kind == "elsewhere":
        return any(word.capital for word in finding.words)
    if finding.kind != "missing":
        return True
    return not all(scene.claim.lower(word) in _LIGHT or word.key in _LIGHT for word in finding.words)


def _unjoined(scene: Scene) -> str:
    """Two neighbours of the claim that no sentence of the window has close to each other."""
    content = [word for word in scene.claim.words if word.content and word.key not in _PERCENT]
    lines = [[word.key for word in scene.part(i, i + 1).words] for i in range(*scene.features.best)]
    for left, right in pairwise(content):
        near = (
            right.key in line[max(0, at - _NEAR) : at + _NEAR + 1]
            for line in lines
            for at, key in enumerate(line)
            if key == left.key
        )
        if left.key != right.key and not any(near):
            quotes = f"'{scene.claim.quote(left)}' and '{scene.claim.quote(right)}' stand in the {scene.named}"
            return f"{quotes}, but not joined like this"
    return f"its words stand in the {scene.named}, but not joined like this"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
