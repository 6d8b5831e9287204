"""What is wrong with single words of a claim: absent, or another one of their kind, or another one in their place."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from summeter.evaluators.support.analysis import Word, stem
from summeter.evaluators.support.lexicon import DENYING, REPORTING, TITLES, UNSETTLED, siblings
from summeter.evaluators.support.scene import Finding, Scene, names_of, slot

Phrase = tuple[Word, ...]
_SHOWN = 3
_PERCENT = ("cent", "percent")
_SPEECH = frozenset(stem(word) for word in REPORTING)
DENYING_KEYS = frozenset(stem(word) for word in DENYING)


def siblings_in(scene: Scene) -> list[Finding]:
    """June for May, the third for the second, weeks for months: the claim has one of a group, its sentence another."""
    findings = []
    missing = {word.start for word in scene.measured.missing}
    line = {word.key for word in scene.line}
    for at, word in enumerate(scene.ours):
        if not word.content or word.key in line:
            continue
        groups = [group for form in _forms(scene.lower(word, ours=True)) for group in siblings().get(form, ())]
        other = _sibling(scene, at, groups) if groups else None
        if other is None:
            continue
        if word.start in missing:
            text = f"'{scene.in_claim(word)}' is not in the {scene.named}; nearest: '{scene.in_evidence(other)}'"
        else:
            text = scene.instead(scene.in_claim(word), scene.in_evidence(other))
        findings.append(Finding("word", text, (word,)))
    return findings


def _forms(text: str) -> tuple[str, ...]:
    return (text, text[:-1]) if text.endswith("s") else (text,)


def _sibling(scene: Scene, at: int, groups: Sequence[frozenset[str]]) -> Word | None:
    """The one of the word's group that stands in the core sentence and not in the claim."""
    free = [word for word in scene.line if word.content and word.key not in scene.keys]
    before = scene.ours[at - 1].key if at else None
    for group in groups:
        others = [word for word in free if any(form in group for form in _forms(scene.lower(word, ours=False)))]
        if others:
            return min(others, key=lambda other: (not _behind(scene.line, other, before), other.start))
    return None


def _behind(words: Sequence[Word], word: Word, key: str | None) -> bool:
    at = words.index(word)
    return at > 0 and words[at - 1].key == key


def names_missing(scene: Scene, used: frozenset[int]) -> list[Finding]:
    """Names that stand nowhere, each with the name in its place."""
    findings = []
    for phrase in _phrases(scene, (word for word in scene.measured.missing if word.start not in used)):
        if not _is_name(scene, phrase):
            continue
        other = _in_place(scene, phrase) or _like(scene, phrase)
        tail = f"; nearest: '{other}'" if other else ""
        findings.append(Finding("name", f"'{_said(scene, phrase)}' is not in the {scene.named}{tail}", phrase))
    return findings


def names_elsewhere(scene: Scene) -> list[Finding]:
    """Names that the source knows, where the sentence that speaks of the claim has another name in their place."""
    line = {word.key for word in scene.line}
    findings = []
    strange = [word for word in names_of(scene.ours) if word.key not in line and word.key in scene.evidence.places]
    for phrase in _phrases(scene, strange):
        other = _in_place(scene, phrase)
        if other is not None:
            findings.append(Finding("name", scene.instead(_said(scene, phrase), other), phrase))
    return findings


def others_in_place(scene: Scene) -> list[Finding]:
    """The tenant must, where the sentence that speaks of the claim has the landlord must."""
    line = {word.key for word in scene.line}
    findings = []
    for at, word in enumerate(scene.ours):
        if not word.content or word.capital or word.number or word.key in line or word.key not in scene.evidence.places:
            continue
        place = slot(scene, at, at, scene.line)
        if place is not None and not place[-1].capital and not place[-1].number:
            findings.append(Finding("word", scene.instead(scene.in_claim(word), scene.in_evidence(*place)), (word,)))
    return findings


def words_missing(scene: Scene, used: frozenset[int]) -> list[Finding]:
    """Other words that stand nowhere: those with something in their place, then the rest in one line."""
    findings, rest = [], []
    left = [word for word in scene.measured.missing if word.start not in used and not _is_accounted(scene, word)]
    for phrase in _phrases(scene, left):
        first, last = scene.ours.index(phrase[0]), scene.ours.index(phrase[-1])
        place = None if phrase[0].key in _SPEECH else slot(scene, first, last, scene.line)
        if place is not None:
            text = f"'{_said(scene, phrase)}' is not in the {scene.named}; nearest: '{scene.in_evidence(*place)}'"
            findings.append(Finding("word", text, phrase))
        else:
            rest.append(phrase)
    if rest:
        texts = list(dict.fromkeys(f"'{_said(scene, phrase)}'" for phrase in rest))
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        verb = "has" if len(texts) == 1 else "have"
        reason = f"{', '.join(texts[:_SHOWN])}{more} {verb} no support in the {scene.named}"
        findings.append(Finding("missing", reason, tuple(word for phrase in rest for word in phrase)))
    return findings


def _is_accounted(scene: Scene, word: Word) -> bool:
    """Whether the source has it in another form: a sign of money, a negation, a doubt."""
    text = scene.lower(word, ours=True)
    # The source's "14%" has no word for "per cent"; its number was compared with the sign.
    if text in _PERCENT or word.negation:
        return True
    at = scene.ours.index(word)
    number = scene.ours[at - 1].number if at else None
    if number is not None and number.kind == "currency":
        return True
    line = {scene.lower(other, ours=False) for other in scene.line}
    if word.key in DENYING_KEYS:
        return any(other.negation or other.key in DENYING_KEYS for other in scene.line)
    return text in UNSETTLED and bool(line & UNSETTLED)


def _said(scene: Scene, phrase: Phrase) -> str:
    return scene.in_claim(phrase[0], phrase[-1])


def _phrases(scene: Scene, words: Iterable[Word]) -> Iterator[Phrase]:
    """Words that stand side by side make one phrase; a word that is said twice counts once."""
    places = {word.start: at for at, word in enumerate(scene.ours)}
    phrase: list[Word] = []
    seen: set[str] = set()
    for word in words:
        if word.key in seen:
            continue
        seen.add(word.key)
        joined = phrase and places[word.start] == places[phrase[-1].start] + 1 and word.capital == phrase[-1].capital
        if phrase and not (joined and not scene.parted(phrase[-1], word, ours=True)):
            yield tuple(phrase)
            phrase = []
        phrase.append(word)
    if phrase:
        yield tuple(phrase)


def _is_name(scene: Scene, phrase: Phrase) -> bool:
    """Capitalised inside the sentence; at its start two words must be."""
    return phrase[-1].capital and (phrase[0].start != scene.ours[0].start or len(phrase) > 1)


def _in_place(scene: Scene, phrase: Phrase) -> str | None:
    """The name that stands where the claim's does: between the same neighbours, or beside one of them."""
    first, last = scene.ours.index(phrase[0]), scene.ours.index(phrase[-1])
    both = slot(scene, first, last, scene.line)
    if both is not None and both[-1].capital:
        return scene.in_evidence(*both)
    left = scene.ours[first - 1].key if first else None
    right = scene.ours[last + 1].key if last + 1 < len(scene.ours) else None
    return _run(scene, lambda at: at > 0 and scene.line[at - 1].key == left, forward=True) or _run(
        scene, lambda at: at + 1 < len(scene.line) and scene.line[at + 1].key == right, forward=False
    )


def _run(scene: Scene, fits: Callable[[int], bool], *, forward: bool) -> str | None:
    """The capitalised words, none of them the claim's, that begin or end where it fits."""

    def free(at: int) -> bool:
        word = scene.line[at]
        if not word.capital or not word.content or word.key in scene.keys:
            return False
        return scene.lower(word, ours=False) not in TITLES

    for at in range(len(scene.line)):
        if not (free(at) and fits(at)):
            continue
        end = at
        step = 1 if forward else -1
        while 0 <= end + step < len(scene.line) and free(end + step):
            end += step
        low, high = min(at, end), max(at, end)
        return scene.in_evidence(scene.line[low], scene.line[high])
    return None


def _like(scene: Scene, phrase: Phrase) -> str | None:
    """A name of the core sentence that begins as the claim's does."""
    start = scene.lower(phrase[-1], ours=True)[:2]
    pool = [word for word in names_of(scene.line) if word.key not in scene.keys]
    other = next((word for word in pool if scene.lower(word, ours=False).startswith(start)), None)
    return scene.in_evidence(other) if other else None
