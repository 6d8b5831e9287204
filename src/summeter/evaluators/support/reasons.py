"""Findings put into words a person checks in a second.

At most three, the most telling first, each of at most 140 characters and true as it stands: what it quotes stands in
the claim or in the evidence text as quoted. A supported claim gets the reason; findings against it are marked as
cautions.
"""

from collections.abc import Sequence
from itertools import pairwise

from summeter.evaluators.support.evidence import Evidence
from summeter.evaluators.support.features import Measured
from summeter.evaluators.support.findings import findings
from summeter.evaluators.support.lexicon import LIGHT, REPORTING
from summeter.evaluators.support.scene import Finding, Scene

MOST = 3
LONGEST = 140
CAUTION = "caution: "
_NEAR = 5
_ABSENT = frozenset(("number", "name", "word", "missing"))


def reasons_for(
    claim: str, measured: Measured, evidence: Evidence, named: str, *, supported: bool = True
) -> tuple[str, ...]:
    """Why the claim is decided as it is, most telling first; ``named`` is what the evidence is called.

    Where no word is at fault and the claim is still not ``supported``, the reason is how its words are joined.
    """
    scene = Scene.of(claim, measured, evidence, named)
    against = findings(scene)
    if not supported:
        texts = [finding.text for finding in against] or [_unjoined(scene)]
        return tuple(_short(text) for text in texts[:MOST])
    cautions = [CAUTION + finding.text for finding in against if _worth(finding, claim)]
    return tuple(_short(text) for text in (*cautions[: MOST - 1], _for(measured, against)))


def _worth(finding: Finding, claim: str) -> bool:
    """Whether a reader of a supported sentence should look: a name, a conflict, a number; not words that say little."""
    if finding.kind == "elsewhere":
        return any(word.capital for word in finding.words)
    if finding.kind != "missing":
        return finding.kind != "form"
    light = LIGHT | REPORTING
    return not all(claim[word.start : word.end].lower() in light or word.key in light for word in finding.words)


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
