"""Findings put into words a person checks in a second.

At most three, the most telling first, each of at most 140 characters and true as it stands: what it quotes stands in
the claim or in the evidence text as quoted. A supported claim gets the reason; findings against it are marked as
cautions.
"""

from collections.abc import Sequence
from itertools import pairwise

from summeter.evaluators.support.conflicts import conflicts_in
from summeter.evaluators.support.evidence import Evidence
from summeter.evaluators.support.features import Measured
from summeter.evaluators.support.lexicon import LIGHT, REPORTING
from summeter.evaluators.support.names import (
    names_elsewhere,
    names_missing,
    others_in_place,
    siblings_in,
    words_missing,
)
from summeter.evaluators.support.quantities import numbers_in, other_forms
from summeter.evaluators.support.scene import Finding, Scene

MOST = 3
LONGEST = 140
CAUTION = "caution: "
_NEAR = 5
_ABSENT = frozenset(("number", "name", "word", "missing"))
# A name, a conflict or a number is worth a caution; that a supported sentence has words of its own is not always.
_ORDER = (
    "number", "unit", "negation", "opposite", "roles", "name", "word", "quantifier", "modality", "cause", "missing",
    "elsewhere", "form",
)  # fmt: skip


def findings(claim: str, measured: Measured, evidence: Evidence, named: str) -> list[Finding]:
    """All findings against the claim, most important first; no word of the claim is reported twice."""
    scene = Scene(claim, measured, evidence, named)
    hard = [*numbers_in(scene), *siblings_in(scene), *conflicts_in(scene), *names_elsewhere(scene)]
    hard += others_in_place(scene)
    used = _used(hard)
    soft = names_missing(scene, used)
    soft += words_missing(scene, used | _used(soft))
    return _once([*hard, *soft, *_elsewhere(scene, used | _used(soft)), *other_forms(scene)])


def _used(conflicts: Sequence[Finding]) -> frozenset[int]:
    return frozenset(word.start for finding in conflicts for word in finding.words)


def _once(conflicts: Sequence[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    used: set[int] = set()
    for finding in sorted(conflicts, key=lambda finding: _ORDER.index(finding.kind)):
        starts = {word.start for word in finding.words}
        if not starts or not starts <= used:
            kept.append(finding)
            used |= starts
    return kept


def _elsewhere(scene: Scene, used: frozenset[int]) -> list[Finding]:
    words = [word for word in scene.measured.elsewhere if word.start not in used]
    if not words:
        return []
    texts = list(dict.fromkeys(f"'{scene.in_claim(word)}'" for word in words))
    verb = "stands" if len(texts) == 1 else "stand"
    more = f" and {len(texts) - MOST} more" if len(texts) > MOST else ""
    text = f"{', '.join(texts[:MOST])}{more} {verb} elsewhere in the {scene.named}, not beside the rest"
    return [Finding("elsewhere", text, tuple(words))]


def _worth(finding: Finding, claim: str) -> bool:
    """Whether a reader of a supported sentence should look: not for words that say little."""
    if finding.kind == "elsewhere":
        return any(word.capital for word in finding.words)
    if finding.kind != "missing":
        return finding.kind != "form"
    light = LIGHT | REPORTING
    return not all(claim[word.start : word.end].lower() in light or word.key in light for word in finding.words)


def reasons_for(
    claim: str, measured: Measured, evidence: Evidence, named: str, *, supported: bool = True
) -> tuple[str, ...]:
    """Why the claim is decided as it is, most telling first; ``named`` is what the evidence is called.

    Where no word is at fault and the claim is still not ``supported``, the reason is how its words are joined.
    """
    against = findings(claim, measured, evidence, named)
    if not supported:
        texts = [finding.text for finding in against] or [_unjoined(Scene(claim, measured, evidence, named))]
        return tuple(_short(text) for text in texts[:MOST])
    cautions = [CAUTION + finding.text for finding in against if _worth(finding, claim)]
    return tuple(_short(text) for text in (*cautions[: MOST - 1], _for(measured, against)))


def _for(measured: Measured, against: Sequence[Finding]) -> str:
    """What speaks for a supported claim."""
    if any(finding.kind in _ABSENT for finding in against):
        return "the other content words found here"
    if measured.features["swapped"] > 0.25:
        return "all content words found here, in another order"
    if measured.features["density"] == 1:
        return "copied word for word from here"
    return "all content words found here"


def _unjoined(scene: Scene) -> str:
    """Two neighbours of the claim that no sentence of the window has close to each other."""
    content = [word for word in scene.ours if word.content and word.key not in ("cent", "percent")]
    first, last = scene.measured.best
    lines = [[word.key for word in scene.evidence.words_of(i, i + 1)] for i in range(first, last)]
    for left, right in pairwise(content):
        if left.key != right.key and not any(_close(left.key, right.key, line) for line in lines):
            quotes = f"'{scene.in_claim(left)}' and '{scene.in_claim(right)}' stand in the {scene.named}"
            return f"{quotes}, but not joined like this"
    return f"its words stand in the {scene.named}, but not joined like this"


def _close(first: str, second: str, line: Sequence[str]) -> bool:
    ours, theirs = ([at for at, key in enumerate(line) if key == wanted] for wanted in (first, second))
    return any(abs(here - there) <= _NEAR for here in ours for there in theirs)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
