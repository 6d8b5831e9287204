"""What a person can check of a claim: one table of checks, and the reasons that are written from what they find.

`CHECKS` is in the order of importance. Each check reads a scene (a claim beside the sentence that speaks of it) and
yields what it finds: a text that a person checks in a second, and the claim's words that it accounts for. No word is
reported twice: a check sees which words those before it account for (`Scene.accounted`). The kinds in `CONFLICTS` count
against the claim's score (`weights.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from summeter.evaluators.support import lexicon
from summeter.evaluators.support.analysis import Word, opposites, stem
from summeter.evaluators.support.evidence import Evidence
from summeter.evaluators.support.features import Measured
from summeter.evaluators.support.numbers import Number, currency, letters, signed
from summeter.evaluators.support.scene import Finding, Kind, Scene, Side, shown
from summeter.interrupt import checkpoint

_SHOWN: Final = 3  # words named in one finding
_PERCENT: Final = ("cent", "percent")
_REPORTING: Final = frozenset(stem(word) for word in lexicon.REPORTING)
_DENYING: Final = frozenset(stem(word) for word in lexicon.DENYING)


Raw = tuple[str, Sequence[Word]]
"""What a check finds: the text of the finding, and the claim's words that it accounts for."""


def _listed(quotes: Iterable[str]) -> tuple[str, int]:
    """A few quotations and how many more there are; and the number of all."""
    texts = list(dict.fromkeys(quotes))
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"{', '.join(texts[:_SHOWN])}{more}", len(texts)


# Numbers: not in the source, of another unit, or beside another word.

_REACH: Final = 4
_ROUNDED: Final = 0.01  # a quarter is 26 percent
_NEARLY: Final = 0.2  # of the share itself, at most: two of a hundred are not 3 percent
_UNIT: Final = re.compile(r"[\s-]?[^\W\d_]+(?:-[^\W\d_]+)?")


@cache
def _other_words() -> dict[float, frozenset[str]]:
    table = {value: {stem(word) for word in words.split()} for value, words in lexicon.TIMES.items()}
    for value, word in enumerate(lexicon.ORDINALS):
        table.setdefault(float(value), set()).add(stem(word))
    return {value: frozenset(words) for value, words in table.items()}


def numbers_absent(scene: Scene) -> Iterator[Raw]:
    """Numbers that stand nowhere."""
    for number in scene.measured.numbers:
        checkpoint()
        if not _in_other_form(scene, number):
            yield _absent(scene, number)
    for word in scene.missing:  # digits that are no number: a code, or more than a float holds
        if scene.claim.lower(word).isdecimal():
            at = scene.claim.places[word.start]
            other = _slot(scene, at, at)
            yield (scene.absent(scene.claim.quote(word), other and scene.line.quote(*other)), (word,))


def numbers_otherwise(scene: Scene) -> Iterator[Raw]:
    """Numbers that stand in the source with another unit, or beside another word."""
    claim = scene.claim
    for at, word in enumerate(claim.words):
        checkpoint()
        ordinal = word.number is not None and claim.text[word.end - 1].isalpha() and claim.text[word.start].isdigit()
        if ordinal or word.number is None or word.start in scene.accounted or word.key not in scene.evidence.places:
            continue
        if _is_same_share(scene, word.start):
            continue
        other = _other_money(scene, at) or _other_unit(scene, at) or _other_company(scene, at)
        if other:
            yield other


def _in_other_form(scene: Scene, number: Number) -> bool:
    """Whether the value stands in words that the comparison does not know: twice, eighth, 340m, two in five."""
    evidence, written = scene.evidence, scene.claim.text[number.start : number.end]
    others = _other_words().get(number.value, ()) if number.kind == "plain" and not _of_score(scene, number) else ()
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


def _of_score(scene: Scene, number: Number) -> bool:
    """3-2: a number that a hyphen joins to another."""
    return not scene.claim.number_edges.isdisjoint((number.start - 1, number.end + 1))


def _absent(scene: Scene, number: Number) -> Raw:
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
        ranked = [
            (-len(beside & _beside(side, place)), word.key in scene.claim.number_keys, other.kind != number.kind,
             abs(other.value - number.value), word.start, other)
            for place, word, other in side.numbered
        ]  # fmt: skip
        if ranked:
            return min(ranked)[-1]
    return None


def _beside(side: Side, at: int) -> set[str]:
    """The keys of the words on both sides of a place."""
    return {word.key for word in (*side.words[max(0, at - 1) : at], *side.words[at + 1 : at + 2])}


def _other_money(scene: Scene, at: int) -> Raw | None:
    """£25,000 where the source says €25,000."""
    word = scene.claim.words[at]
    number = word.number
    if number is None or number.kind != "currency":
        return None
    same = [other for other in scene.evidence.numbers if other.value == number.value and other.kind == "currency"]
    mine, others = currency(scene.claim.text, number), [currency(scene.evidence.text, other) for other in same]
    if mine is None or not same or None in others or mine in others:
        return None
    mine_there = shown(scene.claim.text, *signed(scene.claim.text, number))
    text = scene.instead(mine_there, shown(scene.evidence.text, *signed(scene.evidence.text, same[0])))
    return (text, scene.claim.words[at : at + 2])


def _other_unit(scene: Scene, at: int) -> Raw | None:
    """20 g where the source says 20 mg: the number stands there, the word behind it does not."""
    word, after, source = scene.claim.words[at], next(scene.claim.ahead(at, 1), None), scene.source
    if after is None or after.start not in scene.absent_starts:
        return None
    for place in scene.evidence.places[word.key]:
        behind = next(source.ahead(place, 1), None)
        if behind is None or not behind.content or behind.number or behind.key in scene.claim.keys:
            continue
        unit = _UNIT.match(source.text, source.words[place].end)
        other = shown(source.text, source.words[place].start, unit.end() if unit else behind.end)
        return (scene.instead(scene.claim.quote(word, after), other), (word, after))
    return None


def _other_company(scene: Scene, at: int) -> Raw | None:
    """3 people injured where the source has 12 people injured and 3 killed: both numbers stand there, exchanged."""
    claim, source, line = scene.claim, scene.source, scene.line
    word = claim.words[at]
    places = scene.evidence.places[word.key]
    mine = _counted(claim, at)
    others = {other.key for place in places for other in _counted(source, place)}
    if not mine or any(other.key in others for other in mine):
        return None
    # What it stands behind binds it as well: on page 3.
    before = {other.key for other in claim.behind(at, 1) if other.content}
    if before & {other.key for place in places for other in source.behind(place, 1)}:
        return None
    for place, other in enumerate(line.words):
        if other.number is None or other.key == word.key:
            continue
        shared = {counted.key: counted for counted in _counted(line, place)}
        bound = next((counted for counted in mine if counted.key in shared), None)
        if bound is not None:
            text = scene.instead(claim.quote(word, bound), line.quote(other, shared[bound.key]))
            return (text, (word,))
    return None


def _counted(side: Side, at: int) -> list[Word]:
    """The content words a number may count: a few behind it, up to the next number or the end of the clause."""
    counted = []
    for word in side.ahead(at, _REACH):
        if word.number:
            break
        if word.content and word.key not in _PERCENT:
            counted.append(word)
    return counted


# Single words: absent, another one of their kind, or another one in their place.

Phrase = tuple[Word, ...]


def siblings(scene: Scene) -> Iterator[Raw]:
    """June for May, the third for the second, weeks for months: the claim has one of a group, its sentence another."""
    for at, word in enumerate(scene.claim.words):
        if not word.content or word.key in scene.line.keys:
            continue
        groups = [
            group for form in _forms(scene.claim.lower(word)) for group in lexicon.siblings().get(form, ())
        ]  # fmt: skip
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


def names_elsewhere(scene: Scene) -> Iterator[Raw]:
    """Names that the source knows, where the sentence that speaks of the claim has another name in their place."""
    strange = [
        word for word in scene.claim.names if word.key not in scene.line.keys and word.key in scene.evidence.places
    ]
    for phrase in _phrases(scene, strange):
        other = _in_place(scene, phrase)
        if other is not None:
            yield (scene.instead(scene.claim.quote(phrase[0], phrase[-1]), other), phrase)


def others_in_place(scene: Scene) -> Iterator[Raw]:
    """The tenant must, where the sentence that speaks of the claim has the landlord must."""
    for at, word in enumerate(scene.claim.words):
        if not word.content or word.capital or word.number:
            continue
        checkpoint()
        if word.key in scene.line.keys or word.key not in scene.evidence.places:
            continue
        place = _slot(scene, at, at)
        if place is not None and not place[-1].capital and not place[-1].number:
            yield (scene.instead(scene.claim.quote(word), scene.line.quote(*place)), (word,))


def names_missing(scene: Scene) -> Iterator[Raw]:
    """Names that stand nowhere, each with the name in its place."""
    for phrase in _phrases(scene, (word for word in scene.missing if word.start not in scene.accounted)):
        # Capitalised inside the sentence; at its start two words must be.
        if phrase[-1].capital and (phrase[0].start != scene.claim.words[0].start or len(phrase) > 1):
            other = _in_place(scene, phrase) or _like(scene, phrase)
            yield (scene.absent(scene.claim.quote(phrase[0], phrase[-1]), other), phrase)


def words_replaced(scene: Scene) -> Iterator[Raw]:
    """Other words that stand nowhere, where the sentence that speaks of the claim has something in their place."""
    for phrase, other in _unknown(scene):
        if other is not None:
            yield (scene.absent(scene.claim.quote(phrase[0], phrase[-1]), other), phrase)


def words_missing(scene: Scene) -> Iterator[Raw]:
    """The rest of what stands nowhere, in one line."""
    phrases = [phrase for phrase, _ in _unknown(scene)]
    if phrases:
        texts, count = _listed(f"'{scene.claim.quote(phrase[0], phrase[-1])}'" for phrase in phrases)
        text = f"{texts} {'has' if count == 1 else 'have'} no support in the {scene.named}"
        yield (text, tuple(word for phrase in phrases for word in phrase))


def _unknown(scene: Scene) -> Iterator[tuple[Phrase, str | None]]:
    """What stands nowhere and no finding accounts for yet, with what the core sentence has in its place."""
    claim = scene.claim
    left = [word for word in scene.missing if word.start not in scene.accounted and not _is_excused(scene, word)]
    for phrase in _phrases(scene, left):
        first, last = claim.places[phrase[0].start], claim.places[phrase[-1].start]
        place = None if phrase[0].key in _REPORTING else _slot(scene, first, last)
        yield phrase, place and scene.line.quote(*place)


def words_elsewhere(scene: Scene) -> Iterator[Raw]:
    """Words that stand in the source, but not beside the rest."""
    words = [word for word in scene.measured.elsewhere if word.start not in scene.accounted]
    if words:
        texts, count = _listed(f"'{scene.claim.quote(word)}'" for word in words)
        verb = "stands" if count == 1 else "stand"
        text = f"{texts} {verb} elsewhere in the {scene.named}, not beside the rest"
        yield (text, tuple(words))


def _is_excused(scene: Scene, word: Word) -> bool:
    """Whether the source has it in another form: a sign of money, a negation, a doubt."""
    text, line = scene.claim.lower(word), scene.line
    # The source's "14%" has no word for "per cent"; its number was compared with the sign.
    if text in _PERCENT or word.negation or _is_same_share(scene, word.start):
        return True
    at = scene.claim.places[word.start]
    number = scene.claim.words[at - 1].number if at else None
    if number is not None and number.kind == "currency":
        return True
    if word.key in _DENYING:
        return _denies(line)
    return text in lexicon.UNSETTLED and any(line.lower(other) in lexicon.UNSETTLED for other in line.words)


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


def _slot(scene: Scene, first: int, last: int) -> tuple[Word, Word] | None:
    """What the core sentence has between the same two neighbours as the claim's words first..last, or None.

    The start and the end of a sentence count as neighbours. It has as many words of content as the claim there, none of
    them in the claim, and at most one word more.
    """
    claim, line = scene.claim, scene.line
    left, right = claim.key(first - 1), claim.key(last + 1)
    if left is None and right is None:
        return None
    size = sum(word.content for word in claim.words[first : last + 1])
    for start in range(len(line.words)):
        if line.key(start - 1) != left:
            continue
        for end in range(start, min(len(line.words), start + last - first + 2)):
            piece = line.words[start : end + 1]
            content = [word for word in piece if word.content]
            if len(content) != size or line.key(end + 1) != right:
                continue
            if not any(word.key in claim.keys for word in content):
                return piece[0], piece[-1]
    return None


def _in_place(scene: Scene, phrase: Phrase) -> str | None:
    """The name that stands where the claim's does: between the same neighbours, or beside one of them."""
    claim, line = scene.claim, scene.line
    first, last = claim.places[phrase[0].start], claim.places[phrase[-1].start]
    both = _slot(scene, first, last)
    if both is not None and both[-1].capital:
        return line.quote(*both)
    left, right = claim.key(first - 1), claim.key(last + 1)
    return _run(scene, lambda at: at > 0 and line.key(at - 1) == left, step=1) or _run(
        scene, lambda at: at + 1 < len(line.words) and line.key(at + 1) == right, step=-1
    )


def _run(scene: Scene, fits: Callable[[int], bool], *, step: Literal[1, -1]) -> str | None:
    """The capitalised words, none of them the claim's, that begin (step 1) or end (step -1) where it fits."""
    line = scene.line

    def free(at: int) -> bool:
        word = line.words[at]
        if not word.capital or not word.content or word.key in scene.claim.keys:
            return False
        return line.lower(word) not in lexicon.TITLES

    for at in range(len(line.words)):
        if not (free(at) and fits(at)):
            continue
        end = at
        while 0 <= end + step < len(line.words) and free(end + step):
            end += step
        return line.quote(line.words[min(at, end)], line.words[max(at, end)])
    return None


def _like(scene: Scene, phrase: Phrase) -> str | None:
    """A name of the core sentence that begins as the claim's does."""
    start, line = scene.claim.lower(phrase[-1])[:2], scene.line
    return next(
        (
            line.quote(word)
            for word in line.names
            if word.key not in scene.claim.keys and line.lower(word).startswith(start)
        ),
        None,
    )


# Words that both have, and that say the opposite, or less, or the other way round.

_SAYING: Final = frozenset(
    map(stem, ("say", "announce", "report", "state", "note", "add", "explain", "warn", "argue", "claim"))
)
_ADDRESSING: Final = frozenset(map(stem, ("ask", "tell", "warn", "answer")))  # somebody, and who is who matters
_MUTUAL: Final = frozenset(stem(word) for word in lexicon.SAME_BOTH_WAYS)
_ENGLISH: Final = lexicon.words_of("the of and to for its his her their with from by")
_BEING: Final = lexicon.words_of("be is am are was were been being get gets got")
_AMOUNTS: Final = frozenset(map(stem, ("half", "quarter")))
_CALENDAR: Final = frozenset(stem(word) for word in lexicon.MONTHS | lexicon.WEEKDAYS)
# Not only, no other, no later than: these compare, they do not deny.
_NO_DENIAL: Final = lexicon.words_of("only just least as so other longer more less later fewer")
_AUXILIARY: Final = lexicon.words_of(
    "do be is am are was were did does has have had will would can could shall should may might must"
)


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
            if before.end + 1 < first.start or not (text in _AUXILIARY or text in lexicon.CONTRACTED or text == "n"):
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
        if not denials and not _denies(claim):
            yield from _answered_no(scene)
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


def _answered_no(scene: Scene) -> Iterator[Raw]:
    """The claim says what the source asks, and the answer is no."""
    if scene.core + 1 >= len(scene.evidence.sentences):
        return
    question = {word.key for word in scene.line.words if word.content}
    if 2 * len(question & scene.claim.keys) < len(question):
        return
    answer = scene.part(scene.core + 1, scene.core + 2)
    for at, word in enumerate(answer.words[:3]):
        if word.negation:
            last = next(answer.ahead(at, 1), word)
            yield (f"negated in the {scene.named}: '{answer.quote(word, last)}'", ())
            return


def opposite(scene: Scene) -> Iterator[Raw]:
    """Opposites; those that are grammar words (after, before) only in front of the same word."""
    denied = {about.start for _, about in _denials(scene.claim)}
    denied_there = {about.start for _, about in _denials(scene.line)}
    present = {word.key: word for word in scene.line.words}
    for word in scene.claim.words:
        if word.key in present or word.start in denied:
            continue
        for key in sorted(opposites().get(word.key, ())):
            if key not in present or key in scene.claim.keys:
                continue
            other = present[key]
            if other.start not in denied_there and (word.content or _same_next(scene, word, other)):
                text = scene.instead(scene.claim.quote(word), scene.line.quote(other))
                yield (text, (word,))
                break


def _same_next(scene: Scene, word: Word, other: Word) -> bool:
    here, there = scene.claim.following(word), scene.source.following(other)
    return bool(here and there and here.key == there.key)


def roles(scene: Scene) -> Iterator[Raw]:
    """Who did it to whom: the words beside a shared word stand on its other sides in the source."""
    claim, line = scene.claim, scene.line
    # Only where order says who: not in German, where a verb may have its subject behind it.
    if not any(line.lower(word) in _ENGLISH for word in line.words):
        return
    seen: set[tuple[str, str, str, bool]] = set()  # a long claim may say the same again and again
    for at, verb in enumerate(claim.words):
        checkpoint()
        if (
            not verb.content
            or verb.capital
            or verb.number
            or verb.key in _REPORTING - _ADDRESSING
            or verb.key == "percent"
        ):
            continue
        for beside in _neighbours(claim, at) if verb.key not in _MUTUAL else ():
            order = (verb.key, beside[0].key, beside[1].key, beside[2])
            if order in seen:
                continue
            seen.add(order)
            if any(other.key == verb.key and _crossed(beside, line, place) for place, other in enumerate(line.words)):
                left, right = claim.quote(beside[0]), claim.quote(verb, beside[1])
                text = f"'{left} … {right}' is the other way round in the {scene.named}"
                yield (text, ())
                return


def _neighbours(side: Side, at: int) -> Iterator[tuple[Word, Word, bool]]:
    """The nearest content words before and behind (also behind "from" and "to"), and whether it is passive; none where
    order does not say who."""

    def fit(word: Word) -> bool:
        return word.content and not word.number and word.key != "percent" and word.key not in _CALENDAR

    left = next((word for word in side.behind(at, 4) if fit(word)), None)
    passive = _passive(side, at)
    if left is None or passive is None:
        return
    wanted = True
    for word in side.ahead(at, 8):
        if side.lower(word) in ("from", "to"):
            wanted = True
        elif wanted and fit(word):
            yield left, word, passive
            wanted = False


def _passive(side: Side, at: int) -> bool | None:
    """Whether what stands in front is done to; None where a form of "be" has no "by" behind it, or where "by" says how
    much or who: rose by 4 percent, robbed by two men."""
    near = list(side.ahead(at, 4))
    ahead = [side.lower(word) for word in near]
    if any(side.lower(word) in _BEING for word in side.behind(at, 3)):
        return True if "by" in ahead else None
    if ahead[:1] != ["by"]:
        return False
    return None if any(word.number or word.key in _AMOUNTS for word in near[1:3]) else True


def _crossed(beside: tuple[Word, Word, bool], line: Side, place: int) -> bool:
    left, right, passive = beside
    passive_there = _passive(line, place)
    if passive_there is None:
        return False
    before, behind = ({word.key for word in words} for words in (line.behind(place, 6), line.ahead(place, 6)))
    if passive != passive_there:
        before, behind = behind, before
    return left.key in behind - before and right.key in before - behind


def speaker(scene: Scene) -> Iterator[Raw]:
    """A dialogue's line is given to somebody who neither speaks it nor is named in it."""
    if not scene.claim.words or not scene.claim.words[0].capital:
        return
    subject = scene.claim.words[0]
    name = scene.claim.quote(subject)
    if subject.key in scene.line.keys:
        return
    own = [speaker for start, speaker in scene.evidence.speakers if start <= scene.line.words[0].start]
    if own and own[-1] not in scene.claim.text and name in {speaker for _, speaker in scene.evidence.speakers}:
        yield (f"'{name}' does not say this in the {scene.named}; '{own[-1]}' does", (subject,))


def attribution(scene: Scene) -> Iterator[Raw]:
    """What one name says is given to another: 'according to Voss' where the sentence has 'Renz said'."""
    claim, line = scene.claim, scene.line
    mine, theirs = _who_says(claim), _who_says(line)
    if not mine or not theirs or mine[-1].key in line.keys or theirs[-1].key in claim.keys:
        return
    if mine[-1].key in scene.evidence.places and mine[-1].start not in scene.accounted:
        name, other = claim.quote(mine[0], mine[-1]), line.quote(theirs[0], theirs[-1])
        yield (f"'{name}' does not say this in the {scene.named}; '{other}' does", mine)


def _who_says(side: Side) -> Phrase:
    """The name beside the first word of reporting, or behind "according to"."""
    for at, word in enumerate(side.words):
        if side.lower(word) == "according":
            near = list(side.ahead(at, 5))
        elif word.key in _SAYING:
            near = list(side.behind(at, 3))[::-1]
        else:
            continue
        names = tuple(other for other in near if other.capital and other.content)
        if names:
            return names
    return ()


def pronoun(scene: Scene) -> Iterator[Raw]:
    """He where the source speaks of her only, or the reverse."""
    for own, other in ((lexicon.MALE, lexicon.FEMALE), (lexicon.FEMALE, lexicon.MALE)):
        here = next((word for word in scene.claim.words if scene.claim.lower(word) in own), None)
        if here is None or any(stem(name) in scene.evidence.places for name in own):
            continue
        there = next((word for word in scene.line.words if scene.line.lower(word) in other), None)
        if there:
            yield (scene.instead(scene.claim.quote(here), scene.line.quote(there)), (here,))
            return


def quantifier(scene: Scene) -> Iterator[Raw]:
    """All where the source says some, in front of the same word."""
    claim, window = scene.claim, scene.window
    for at, word in enumerate(claim.words):
        checkpoint()
        rank = lexicon.QUANTIFIERS.get(claim.lower(word))
        counted = next((following for following in claim.ahead(at, 3) if following.content), None)
        if rank is None or counted is None or counted.number:
            continue
        others = [
            other
            for place, same in enumerate(window.words)
            if same.key == counted.key
            for other in window.behind(place, 3)
            if window.lower(other) in lexicon.QUANTIFIERS
        ]
        if others and rank not in {lexicon.QUANTIFIERS[window.lower(other)] for other in others}:
            there = window.quote(others[0], scene.source.following(others[0]))
            yield (scene.instead(claim.quote(word, counted), there), (word,))
            return


_MOODS: Final = (("possible", lexicon.POSSIBLE), ("future", lexicon.FUTURE), ("needed", lexicon.NEEDED))


def _mood(side: Side, at: int) -> tuple[str, Word | None] | None:
    """Whether what a word tells may be, will be, must be, or is done; None where its form does not say."""
    for word in side.behind(at, 3):
        for name, members in _MOODS:
            if side.lower(word) in members and not word.capital:
                return name, word
    text = side.lower(side.words[at])
    return ("done", None) if text.endswith("ed") or lexicon.irregular().get(text, text) != text else None


def _stands_so(scene: Scene, at: int, mood: str) -> bool:
    """Whether the source says the claim's word, behind the same word and in this mood, in some other sentence."""
    source = scene.source
    moods = (
        _mood(source, place)
        for place in scene.evidence.places.get(scene.claim.words[at].key, ())
        if place and source.key(place - 1) == scene.claim.key(at - 1)
    )
    return any(other is not None and other[0] == mood for other in moods)


def modality(scene: Scene) -> Iterator[Raw]:
    """Will where the source says may; done where the source says it will be."""
    claim, line = scene.claim, scene.line
    unsettled = any(claim.lower(word) in lexicon.UNSETTLED for word in claim.words)
    moods: dict[str, list[tuple[tuple[str, Word | None] | None, Word]]] = {}  # of the core sentence's words, by key
    for at, word in enumerate(claim.words):
        if not word.content or word.capital or word.number or word.key in _REPORTING:
            continue
        checkpoint()
        mood = _mood(claim, at)
        if word.key not in moods:
            moods[word.key] = [
                (_mood(line, place), same) for place, same in enumerate(line.words) if same.key == word.key
            ]
        there = moods[word.key]
        if mood is None or not there or any(other is None or other[0] == mood[0] for other, _ in there):
            continue
        name, modal = mood
        if name != "needed" and modal is None and unsettled:
            continue
        if modal is not None and _stands_so(scene, at, name):
            continue
        mood_there, same = there[0]
        first = mood_there[1] if mood_there and mood_there[1] else same
        yield (scene.instead(claim.quote(modal or word, word), line.quote(first, same)), (word,))
        return


def cause(scene: Scene) -> Iterator[Raw]:
    """A cause that the source does not name, between things that stand in different sentences."""
    claim = scene.claim
    at = next((i for i, word in enumerate(claim.words) if claim.lower(word) in lexicon.CAUSES), None)
    if at is None:
        return
    before = {word.key for word in claim.words[:at] if word.content}
    behind = {word.key for word in claim.words[at + 1 :] if word.content}
    if not _mostly(before, scene.evidence.places) or not _mostly(behind, scene.evidence.places):
        return  # one of the two is told in other words: the source may link them
    lines = [scene.part(i, i + 1) for i in range(*scene.measured.best)]
    if any(line.keys & behind and any(line.lower(word) in lexicon.LINKS for word in line.words) for line in lines):
        return  # the sentence names a cause, and it may be this one
    if not _together(scene.evidence, before, behind):
        word = claim.words[at]
        yield (f"'{claim.quote(word)}': the {scene.named} does not link the two", (word,))


def _together(evidence: Evidence, before: set[str], behind: set[str]) -> bool:
    """Whether one sentence of the evidence has most of both sides."""
    for i in range(len(evidence.sentences)):
        checkpoint()
        keys = {word.key for word in evidence.words_of(i, i + 1)}
        if _mostly(before, keys) and _mostly(behind, keys):
            return True
    return False


def _mostly(keys: set[str], there: Container[str]) -> bool:
    """Whether there are any, and at least half of them are there."""
    return bool(keys) and 2 * sum(key in there for key in keys) >= len(keys)


class Check(NamedTuple):
    """A row of the table: the kind of what it finds, the predicate that finds it, and what that counts.

    "decisive": where it finds something, the claim is more likely wrong than right, however well its words match;
    "conflict": it counts as far as the fit says; "measured": the features have counted it.
    """

    kind: Kind
    find: Callable[[Scene], Iterator[Raw]]
    counts: Literal["decisive", "conflict", "measured"]


CHECKS: Final = (
    Check("number", numbers_absent, "decisive"),
    Check("unit", numbers_otherwise, "decisive"),
    Check("negation", negation, "decisive"),
    Check("opposite", opposite, "decisive"),
    Check("sibling", siblings, "decisive"),
    Check("roles", roles, "decisive"),
    Check("speaker", speaker, "decisive"),
    Check("speaker", attribution, "decisive"),
    Check("name", names_elsewhere, "conflict"),
    Check("stranger", names_missing, "decisive"),
    Check("pronoun", pronoun, "decisive"),
    Check("word", others_in_place, "conflict"),
    Check("replaced", words_replaced, "conflict"),
    Check("quantifier", quantifier, "decisive"),
    Check("modality", modality, "conflict"),
    Check("cause", cause, "conflict"),
    Check("missing", words_missing, "measured"),
    Check("elsewhere", words_elsewhere, "measured"),
)
CONFLICTS: Final = tuple(dict.fromkeys(check.kind for check in CHECKS if check.counts != "measured"))


def findings(claim: str, measured: Measured, evidence: Evidence, named: str) -> tuple[Scene, list[Finding]]:
    """The scene of a claim and all that is found against it, the most important first."""
    scene = Scene.of(claim, measured, evidence, named)
    against: list[Finding] = []
    for check in CHECKS:
        for text, words in check.find(scene):
            starts = {word.start for word in words}
            if not starts or not starts <= scene.accounted:
                against.append(Finding(check.kind, text, tuple(words)))
                scene.accounted.update(starts)
    return scene, against


# Reasons: at most MOST, the most telling first, each of at most LONGEST characters and true as it stands.

MOST = 3
LONGEST = 140
CAUTION = "caution: "
_NEAR = 5
_ABSENT: Final[frozenset[Kind]] = frozenset(
    ("number", "sibling", "name", "stranger", "pronoun", "word", "replaced", "speaker", "missing")
)


def reasons_for(scene: Scene, against: Sequence[Finding], *, supported: bool) -> tuple[str, ...]:
    """Why the claim is decided as it is, most telling first.

    A supported claim gets what speaks for it; findings against it are marked as cautions. Where nothing is found
    against one that is not supported, the reason is how its words are joined.
    """
    if not supported:
        texts = [finding.text for finding in against] or [_unjoined(scene)]
        return tuple(_short(text) for text in texts[:MOST])
    cautions = [CAUTION + finding.text for finding in against if _worth(finding, scene)]
    return tuple(_short(text) for text in (*cautions[: MOST - 1], _for(scene.measured, against)))


def _worth(finding: Finding, scene: Scene) -> bool:
    """Whether a reader of a supported sentence should look: a name, a conflict, a number; not words that say little."""
    if finding.kind == "elsewhere":
        return any(word.capital for word in finding.words)
    if finding.kind != "missing":
        return True
    light = lexicon.LIGHT | lexicon.REPORTING
    return not all(scene.claim.lower(word) in light or word.key in light for word in finding.words)


def _for(measured: Measured, against: Sequence[Finding]) -> str:
    """What speaks for a supported claim."""
    if any(finding.kind in _ABSENT for finding in against):
        return "the other content words found here"
    if measured.features["density"] == 1:
        return "copied word for word from here"
    return "all content words found here"


def _unjoined(scene: Scene) -> str:
    """Two neighbours of the claim that no sentence of the window has close to each other."""
    content = [word for word in scene.claim.words if word.content and word.key not in ("cent", "percent")]
    lines = [[word.key for word in scene.part(i, i + 1).words] for i in range(*scene.measured.best)]
    for left, right in pairwise(content):
        if left.key != right.key and not any(_close(left.key, right.key, line) for line in lines):
            quotes = f"'{scene.claim.quote(left)}' and '{scene.claim.quote(right)}' stand in the {scene.named}"
            return f"{quotes}, but not joined like this"
    return f"its words stand in the {scene.named}, but not joined like this"


def _close(first: str, second: str, line: Sequence[str]) -> bool:
    firsts, seconds = ([at for at, key in enumerate(line) if key == wanted] for wanted in (first, second))
    return any(abs(here - there) <= _NEAR for here in firsts for there in seconds)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
