"""What is wrong with the numbers of a claim: not in the source, of another unit, or beside another word."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from summeter.evaluators.support.analysis import Word, stem
from summeter.evaluators.support.lexicon import ORDINALS, TIMES
from summeter.evaluators.support.numbers import Number
from summeter.evaluators.support.scene import Finding, Scene, shown

_REACH = 4
_SIGN_BEFORE = re.compile(r"(?:[$£€¥₹]|\b(?:usd|eur|gbp))\s?$", re.IGNORECASE)
_SIGN_AFTER = re.compile(
    r"\s?(?:%|％|per\s?cent\b|percent\b|pc\b|dollars?\b|euros?\b|pounds?\b|yen\b|usd\b|eur\b|gbp\b|[€£$])",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[\s-]?[^\W\d_]+(?:-[^\W\d_]+)?")
_ABBREVIATED = re.compile(r"(?:k|m|mn|bn|tn)\b", re.IGNORECASE)
_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "tn": 1e12}


@cache
def _other_words() -> dict[float, frozenset[str]]:
    table = {value: {stem(word) for word in words.split()} for value, words in TIMES.items()}
    for value, word in enumerate(ORDINALS):
        table.setdefault(float(value), set()).add(stem(word))
    return {value: frozenset(words) for value, words in table.items()}


def _signed(text: str, number: Number) -> str:
    """The number with its sign of money or per cent."""
    before = _SIGN_BEFORE.search(text, max(0, number.start - 5), number.start)
    after = _SIGN_AFTER.match(text, number.end)
    return shown(text, before.start() if before else number.start, after.end() if after else number.end)


def numbers_in(scene: Scene) -> list[Finding]:
    """Findings about numbers, those that stand nowhere first."""
    findings = [_absent(scene, number) for number in scene.measured.numbers if _in_other_form(scene, number) is None]
    taken = {word.start for finding in findings for word in finding.words}
    for at, word in enumerate(scene.ours):
        ordinal = word.number is not None and scene.claim[word.end - 1].isalpha() and scene.claim[word.start].isdigit()
        if ordinal or word.number is None or word.start in taken or word.key not in scene.evidence.places:
            continue
        finding = _other_money(scene, word) or _other_unit(scene, at) or _other_company(scene, at)
        if finding:
            findings.append(finding)
    return findings


def _in_other_form(scene: Scene, number: Number) -> str | None:
    """The value where it stands in words that the comparison does not know: twice, eighth, 340m."""
    evidence = scene.evidence
    if number.kind == "plain" and not _of_score(scene, number):
        for key in sorted(_other_words().get(number.value, ())):
            if key in evidence.places:
                return scene.in_evidence(evidence.words[evidence.places[key][0]])
    written = scene.claim[number.start : number.end]
    if "," in written:  # 15 , 000 in texts that were cut into tokens
        spaced = re.search(r"\s*,\s*".join(map(re.escape, written.split(","))), evidence.text)
        if spaced:
            return shown(evidence.text, spaced.start(), spaced.end())
    times = _letters(scene.claim, number)
    for other in evidence.numbers:
        others = _letters(evidence.text, other)
        if times != others and other.value * others == number.value * times:
            return shown(evidence.text, other.start, other.end)
    return None


def _letters(text: str, number: Number) -> float:
    """What a letter behind the number multiplies it by: the m of 340m euros."""
    match = _ABBREVIATED.match(text, number.end)
    return _SCALES[match.group().lower()] if match else 1.0


def _of_score(scene: Scene, number: Number) -> bool:
    """3-2: a number that a hyphen joins to another."""
    return any(
        other.number and {other.end, other.start} & {number.start - 1, number.end + 1} and other.start != number.start
        for other in scene.ours
    )


def other_forms(scene: Scene) -> list[Finding]:
    """Numbers that the source has in words the comparison does not know."""
    findings = []
    for number in scene.measured.numbers:
        other = _in_other_form(scene, number)
        if other is not None:
            claimed = shown(scene.claim, number.start, number.end)
            findings.append(Finding("form", f"'{claimed}' stands in the {scene.named} only as '{other}'"))
    return findings


def _absent(scene: Scene, number: Number) -> Finding:
    at = next(i for i, word in enumerate(scene.ours) if word.start == number.start)
    word = scene.ours[at]
    after = scene.ours[at + 1] if at + 1 < len(scene.ours) else None
    missing = {other.start for other in scene.measured.missing}
    if after and after.start in missing and not scene.parted(word, after, ours=True) and number.kind == "plain":
        return Finding("number", f"'{scene.in_claim(word, after)}' is not in the {scene.named}", (word, after))
    claimed = scene.in_claim(word)
    nearest = _nearest(scene, at)
    if nearest is None:
        tail = ", which has no numbers"
    elif nearest.value == number.value or nearest.kind != number.kind:
        claimed, tail = _signed(scene.claim, number), f"; nearest: {_marked(_signed(scene.evidence.text, nearest))}"
    else:
        tail = f"; nearest: {_marked(shown(scene.evidence.text, nearest.start, nearest.end))}"
    return Finding("number", f"{_marked(claimed)} is not in the {scene.named}{tail}", (word,))


def _marked(text: str) -> str:
    """In quotes where it is written in words; digits speak for themselves."""
    return f"'{text}'" if text[:1].isalpha() else text


def _nearest(scene: Scene, at: int) -> Number | None:
    """The number in the claim's place: between its neighbours, beside one, of its kind, and only then by value."""
    number = scene.ours[at].number
    if number is None or not scene.evidence.numbers:
        return None
    beside = {word.key for word in _around(scene.ours, at)}
    held = {word.key for word in scene.ours if word.number}

    def rank(pair: tuple[int, Word]) -> tuple[float, ...]:
        place, other = pair
        shared = len(beside & {word.key for word in _around(pool, place)})
        theirs = other.number or number
        return -shared, other.key in held, theirs.kind != number.kind, abs(theirs.value - number.value), other.start

    for pool in (scene.line, scene.window, scene.evidence.words):
        numbered = [(i, word) for i, word in enumerate(pool) if word.number]
        if numbered:
            return min(numbered, key=rank)[1].number
    return None


def _around(words: Sequence[Word], at: int) -> Iterator[Word]:
    yield from words[max(0, at - 1) : at]
    yield from words[at + 1 : at + 2]


def _other_money(scene: Scene, word: Word) -> Finding | None:
    """£25,000 where the source says €25,000."""
    number = word.number
    if number is None or number.kind != "currency":
        return None
    same = [other for other in scene.evidence.numbers if other.value == number.value and other.kind == "currency"]
    ours, theirs = _currency(scene.claim, number), [_currency(scene.evidence.text, other) for other in same]
    if ours is None or not same or None in theirs or ours in theirs:
        return None
    text = scene.instead(_signed(scene.claim, number), _signed(scene.evidence.text, same[0]))
    return Finding("unit", text, (word, *_following(scene, word)))


_MONEY = {"$": "dollar", "£": "pound", "€": "euro", "usd": "dollar", "eur": "euro", "gbp": "pound", "¥": "yen"}


def _currency(text: str, number: Number) -> str | None:
    before = _SIGN_BEFORE.search(text, max(0, number.start - 5), number.start)
    after = _SIGN_AFTER.match(text, number.end)
    sign = before or after
    if sign is None:
        return None
    written = sign.group().strip().lower()
    return _MONEY.get(written, written.rstrip("s"))


def _following(scene: Scene, word: Word) -> tuple[Word, ...]:
    at = scene.ours.index(word)
    return scene.ours[at + 1 : at + 2]


def _other_unit(scene: Scene, at: int) -> Finding | None:
    """20 g where the source says 20 mg: the number stands there, the word behind it does not."""
    word, after = scene.ours[at], scene.ours[at + 1] if at + 1 < len(scene.ours) else None
    if after is None or after.start not in {other.start for other in scene.measured.missing}:
        return None
    if scene.parted(word, after, ours=True):
        return None
    pool = scene.evidence.words
    for place in scene.evidence.places[word.key]:
        behind = pool[place + 1] if place + 1 < len(pool) else None
        if behind is None or not behind.content or behind.number or behind.key in scene.keys:
            continue
        if scene.parted(pool[place], behind, ours=False):
            continue
        unit = _UNIT.match(scene.evidence.text, pool[place].end)
        theirs = shown(scene.evidence.text, pool[place].start, unit.end() if unit else behind.end)
        return Finding("unit", scene.instead(scene.in_claim(word, after), theirs), (word, after))
    return None


def _other_company(scene: Scene, at: int) -> Finding | None:
    """3 people injured where the source has 12 people injured and 3 killed: both numbers stand there, exchanged."""
    word, pool = scene.ours[at], scene.evidence.words
    ours = _governed(scene, scene.ours, at, ours=True)
    theirs = {
        other.key for place in scene.evidence.places[word.key] for other in _governed(scene, pool, place, ours=False)
    }
    if not ours or any(other.key in theirs for other in ours):
        return None
    # What it stands behind binds it as well: on page 3.
    before = {other.key for other in scene.behind(scene.ours, at, 1, ours=True) if other.content}
    if before & {
        other.key for place in scene.evidence.places[word.key] for other in scene.behind(pool, place, 1, ours=False)
    }:
        return None
    line = scene.line
    for place, other in enumerate(line):
        if other.number is None or other.key == word.key:
            continue
        shared = {other.key: other for other in _governed(scene, line, place, ours=False)}
        bound = next((other for other in ours if other.key in shared), None)
        if bound is not None:
            text = scene.instead(scene.in_claim(word, bound), scene.in_evidence(other, shared[bound.key]))
            return Finding("unit", text, (word,))
    return None


def _governed(scene: Scene, words: Sequence[Word], at: int, *, ours: bool) -> list[Word]:
    """The content words a number may count: a few behind it, up to the next number or the end of the clause."""
    counted = []
    for word in scene.ahead(words, at, _REACH, ours=ours):
        if word.number:
            break
        if word.content and word.key not in ("cent", "percent"):
            counted.append(word)
    return counted
