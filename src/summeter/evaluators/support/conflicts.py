"""Where claim and source say the opposite, or less, or the other way round, in words that both of them have."""

import re
from collections.abc import Callable, Sequence

from summeter.evaluators.support import lexicon
from summeter.evaluators.support.analysis import Word, opposites, stem
from summeter.evaluators.support.lexicon import MONTHS, WEEKDAYS
from summeter.evaluators.support.names import DENYING_KEYS
from summeter.evaluators.support.scene import Finding, Scene

_SPEAKER = re.compile(r"^[ \t]*(?P<name>[^\W\d_][\w .'-]{0,30}?)[ \t]?:", re.MULTILINE)
_REPORTING = frozenset(stem(word) for word in lexicon.REPORTING)
_NO_DEEDS = _REPORTING | {"percent"}
_ENGLISH = lexicon.words_of("the of and to for its his her their with from by")
_BEING = lexicon.words_of("be is am are was were been being get gets got")
_CALENDAR = frozenset(stem(word) for word in MONTHS | WEEKDAYS)
# Not only, no other, no later than: these compare, they do not deny.
_NO_DENIAL = lexicon.words_of("only just least as so other longer more less later fewer")
_AUXILIARY = lexicon.words_of(
    "do be is am are was were did does has have had will would can could shall should may might must"
)


def conflicts_in(scene: Scene) -> list[Finding]:
    """All of them, most telling first."""
    checks: tuple[Callable[[Scene], list[Finding]], ...] = (
        _negation,
        _opposite,
        _roles,
        _speaker,
        _pronoun,
        _quantifier,
        _modality,
        _cause,
    )
    return [finding for check in checks for finding in check(scene)]


def _denies(words: Sequence[Word]) -> bool:
    """Whether anything in the words denies: not, fail, refuse."""
    return any(word.negation or word.key in DENYING_KEYS for word in words)


def _denied(scene: Scene, words: Sequence[Word], *, ours: bool) -> list[tuple[Word, Word, Word]]:
    """Each negation's beginning (with its auxiliary), itself and the content word it is about."""
    denials = []
    for at, word in enumerate(words):
        if not word.negation:
            continue
        about = next((following for following in scene.ahead(words, at, 4, ours=ours) if following.content), None)
        after = next(scene.ahead(words, at, 1, ours=ours), None)
        if about is None or about.number or (after and scene.lower(after, ours=ours) in _NO_DENIAL):
            continue
        first = word
        for before in scene.behind(words, at, 2, ours=ours):
            text = scene.lower(before, ours=ours)
            if before.end + 1 < first.start or not (text in _AUXILIARY or text in lexicon.CONTRACTED or text == "n"):
                break
            first = before
        denials.append((first, word, about))
    return denials


def _negation(scene: Scene) -> list[Finding]:
    """What one side denies and the other says outright; what both deny cancels out."""
    ours, theirs = _denied(scene, scene.ours, ours=True), _denied(scene, scene.line, ours=False)
    denied, denied_there = {denial[2].key for denial in ours}, {denial[2].key for denial in theirs}
    ours = [denial for denial in ours if denial[2].key not in denied_there]
    theirs = [denial for denial in theirs if denial[2].key not in denied]
    if scene.is_question:
        return [] if ours or _denies(scene.ours) else _answered_no(scene)
    if not ours and not any(word.key in DENYING_KEYS for word in scene.ours):
        for first, _, about in theirs:
            if about.key in scene.keys:
                return [Finding("negation", f"negated in the {scene.named}: '{scene.in_evidence(first, about)}'")]
    for first, _, about in ours:
        pool = scene.line if about.key in {word.key for word in scene.line} else scene.window
        if about.key in {word.key for word in pool} and not _denies(pool):
            return [Finding("negation", f"negated here, not in the {scene.named}: '{scene.in_claim(first, about)}'")]
    return []


def _answered_no(scene: Scene) -> list[Finding]:
    """The claim says what the source asks, and the answer is no."""
    if scene.core + 1 >= len(scene.evidence.sentences):
        return []
    answer = scene.evidence.words_of(scene.core + 1, scene.core + 2)
    for at, word in enumerate(answer[:3]):
        if word.negation:
            last = next(
                (following for following in answer[at + 1 : at + 2] if not scene.parted(word, following, ours=False)),
                word,
            )
            return [Finding("negation", f"negated in the {scene.named}: '{scene.in_evidence(word, last)}'")]
    return []


def _opposite(scene: Scene) -> list[Finding]:
    """Opposites; those that are grammar words (after, before) only in front of the same word."""
    denied = {denial[2].start for denial in _denied(scene, scene.ours, ours=True)}
    denied_there = {denial[2].start for denial in _denied(scene, scene.line, ours=False)}
    present = {word.key: word for word in scene.line}
    findings = []
    for mine in scene.ours:
        if mine.key in present or mine.start in denied:
            continue
        against = sorted(key for key in opposites().get(mine.key, ()) if key in present and key not in scene.keys)
        for other in (present[key] for key in against):
            if other.start in denied_there or not (mine.content or _same_next(scene, mine, other)):
                continue
            findings.append(Finding("opposite", scene.instead(scene.in_claim(mine), scene.in_evidence(other)), (mine,)))
            break
    return findings


def _same_next(scene: Scene, mine: Word, other: Word) -> bool:
    ours, theirs = _next(scene.ours, mine), _next(scene.evidence.words, other)
    return bool(ours and theirs and ours.key == theirs.key)


def _next(words: Sequence[Word], word: Word) -> Word | None:
    at = words.index(word)
    return next((following for following in words[at + 1 : at + 3] if following.content), None)


def _roles(scene: Scene) -> list[Finding]:
    """Who did it to whom: the words beside a shared word stand on its other sides in the source."""
    line = scene.line
    # Only where order says who: not in German, where a verb may have its subject behind it.
    if not any(scene.lower(word, ours=False) in _ENGLISH for word in line):
        return []
    for at, verb in enumerate(scene.ours):
        if not verb.content or verb.capital or verb.number or verb.key in _NO_DEEDS:
            continue
        ours = _sides(scene, scene.ours, at, ours=True)
        if ours is None or verb.key in {stem(word) for word in lexicon.SAME_BOTH_WAYS}:
            continue
        for place, other in enumerate(line):
            if other.key == verb.key and _crossed(scene, ours, (line, place)):
                text = f"'{scene.in_claim(ours[0], ours[1])}' is the other way round in the {scene.named}"
                return [Finding("roles", text)]
    return []


def _sides(scene: Scene, words: Sequence[Word], at: int, *, ours: bool) -> tuple[Word, Word, bool] | None:
    """The nearest content words before and behind, and whether it is passive; None where order does not say who."""

    def fit(word: Word) -> bool:
        return word.content and not word.number and word.key != "percent" and word.key not in _CALENDAR

    left = next((word for word in scene.behind(words, at, 4, ours=ours) if fit(word)), None)
    right = next((word for word in scene.ahead(words, at, 5, ours=ours) if fit(word)), None)
    passive = _passive(scene, words, at, ours=ours)
    return None if left is None or right is None or passive is None else (left, right, passive)


def _passive(scene: Scene, words: Sequence[Word], at: int, *, ours: bool) -> bool | None:
    """Whether what stands in front is done to; None where a form of "be" has no "by" behind it."""
    being = any(scene.lower(word, ours=ours) in _BEING for word in scene.behind(words, at, 3, ours=ours))
    ahead = [scene.lower(word, ours=ours) for word in scene.ahead(words, at, 4, ours=ours)]
    if being:
        return True if "by" in ahead else None
    return ahead[:1] == ["by"]


def _crossed(scene: Scene, ours: tuple[Word, Word, bool], there: tuple[Sequence[Word], int]) -> bool:
    words, place = there
    left, right, passive = ours
    theirs = _passive(scene, words, place, ours=False)
    if theirs is None:
        return False
    before = {word.key for word in scene.behind(words, place, 6, ours=False)}
    behind = {word.key for word in scene.ahead(words, place, 6, ours=False)}
    if passive != theirs:
        before, behind = behind, before
    crossed = left.key in behind and right.key in before
    return crossed and left.key not in before and right.key not in behind


def _speaker(scene: Scene) -> list[Finding]:
    """A dialogue's line is given to somebody who neither speaks it nor is named in it."""
    if not scene.ours or not scene.ours[0].capital:
        return []
    subject, text = scene.ours[0], scene.evidence.text
    name = scene.in_claim(subject)
    # Most texts are no dialogue: they are not searched for speakers again for every claim.
    if f"{name}:" not in text or subject.key in {word.key for word in scene.line}:
        return []
    marks = [(match.start("name"), match["name"].strip()) for match in _SPEAKER.finditer(text)]
    own = [speaker for start, speaker in marks if start <= scene.line[0].start]
    if not own or own[-1] in scene.claim or name not in {speaker for _, speaker in marks}:
        return []
    text = f"'{name}' does not say this in the {scene.named}; '{own[-1]}' does"
    return [Finding("name", text, (subject,))]


def _pronoun(scene: Scene) -> list[Finding]:
    """He where the source speaks of her only, or the reverse."""
    for own, other in ((lexicon.MALE, lexicon.FEMALE), (lexicon.FEMALE, lexicon.MALE)):
        mine = next((word for word in scene.ours if scene.lower(word, ours=True) in own), None)
        if mine is None or any(stem(name) in scene.evidence.places for name in own):
            continue
        theirs = next((word for word in scene.line if scene.lower(word, ours=False) in other), None)
        if theirs:
            return [Finding("word", scene.instead(scene.in_claim(mine), scene.in_evidence(theirs)), (mine,))]
    return []


def _quantifier(scene: Scene) -> list[Finding]:
    """All where the source says some, in front of the same word."""
    for at, word in enumerate(scene.ours):
        rank = lexicon.QUANTIFIERS.get(scene.lower(word, ours=True))
        counted = next(
            (following for following in scene.ahead(scene.ours, at, 3, ours=True) if following.content), None
        )
        if rank is None or counted is None or counted.number:
            continue
        others = [
            quantifier
            for place, other in enumerate(scene.window)
            if other.key == counted.key
            for quantifier in scene.behind(scene.window, place, 3, ours=False)
            if scene.lower(quantifier, ours=False) in lexicon.QUANTIFIERS
        ]
        ranks = {lexicon.QUANTIFIERS[scene.lower(other, ours=False)] for other in others}
        if ranks and rank not in ranks:
            text = scene.instead(scene.in_claim(word, counted), _with_next(scene, others[0]))
            return [Finding("quantifier", text, (word,))]
    return []


def _with_next(scene: Scene, word: Word) -> str:
    following = _next(scene.evidence.words, word)
    return scene.in_evidence(word, following) if following else scene.in_evidence(word)


Mood = tuple[str, Word | None]


def _mood(scene: Scene, words: Sequence[Word], at: int, *, ours: bool) -> Mood | None:
    """Whether what a word tells may be, will be, must be, or is done; None where its form does not say."""
    for word in scene.behind(words, at, 3, ours=ours):
        text = scene.lower(word, ours=ours)
        for name, members in (("possible", lexicon.POSSIBLE), ("future", lexicon.FUTURE), ("needed", lexicon.NEEDED)):
            if text in members and not word.capital:
                return name, word
    text = scene.lower(words[at], ours=ours)
    if text.endswith("ed") or (text in lexicon.irregular() and lexicon.irregular()[text] != text):
        return "done", None
    return None


def _modality(scene: Scene) -> list[Finding]:
    """Will where the source says may; done where the source says it will be."""
    texts = {scene.lower(word, ours=True) for word in scene.ours}
    for at, word in enumerate(scene.ours):
        if not word.content or word.capital or word.number or word.key in _REPORTING:
            continue
        mine = _mood(scene, scene.ours, at, ours=True)
        places = [place for place, other in enumerate(scene.line) if other.key == word.key]
        moods = [(_mood(scene, scene.line, place, ours=False), place) for place in places]
        if mine is None or not moods or any(mood is None or mood[0] == mine[0] for mood, _ in moods):
            continue
        if mine[0] != "needed" and mine[1] is None and texts & lexicon.UNSETTLED:
            continue
        mood, place = moods[0]
        theirs = mood[1] if mood and mood[1] else scene.line[place]
        claimed = scene.in_claim(mine[1], word) if mine[1] else scene.in_claim(word)
        text = scene.instead(claimed, scene.in_evidence(theirs, scene.line[place]))
        return [Finding("modality", text, (word,))]
    return []


def _cause(scene: Scene) -> list[Finding]:
    """A cause that the source does not name, between things that stand in different sentences."""
    at = next((i for i, word in enumerate(scene.ours) if scene.lower(word, ours=True) in lexicon.CAUSES), None)
    if at is None or any(scene.lower(word, ours=False) in lexicon.LINKS for word in scene.window):
        return []
    word = scene.ours[at]
    before = {other.key for other in scene.ours[:at] if other.content}
    behind = {other.key for other in scene.ours[at + 1 :] if other.content}
    if not before or not behind or _together(scene, before, behind):
        return []
    return [Finding("cause", f"'{scene.in_claim(word)}': the {scene.named} does not link the two", (word,))]


def _together(scene: Scene, before: set[str], behind: set[str]) -> bool:
    """Whether one sentence of the evidence has most of both sides."""
    for i in range(len(scene.evidence.sentences)):
        keys = {word.key for word in scene.evidence.words_of(i, i + 1)}
        if 2 * len(keys & before) >= len(before) and 2 * len(keys & behind) >= len(behind):
            return True
    return False
