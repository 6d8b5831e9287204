"""Findings put into words a person checks in a second."""

from collections.abc import Iterable, Sequence

from summeter.evaluators.support.analysis import Word
from summeter.evaluators.support.evidence import Evidence
from summeter.evaluators.support.features import Measured
from summeter.evaluators.support.lexicon import MONTHS, WEEKDAYS
from summeter.evaluators.support.numbers import Number

_SHOWN = 4
_PERCENT = ("cent", "percent")


def _quoted(claim: str, words: Iterable[Word]) -> str:
    shown = list(dict.fromkeys(claim[word.start : word.end] for word in words))
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(f"'{text}'" for text in shown[:_SHOWN]) + more


def _nearest_number(number: Number, evidence: Evidence, best: tuple[int, int]) -> str | None:
    """The evidence's closest value as written there; numbers of the best window come first."""
    nearby = [word.number for word in evidence.words_of(*best) if word.number]
    pool: Sequence[Number] = nearby or evidence.numbers
    if not pool:
        return None
    closest = min(pool, key=lambda other: (abs(other.value - number.value), other.start))
    return evidence.text[closest.start : closest.end]


def _calendar(word: Word, claim: str, evidence: Evidence, best: tuple[int, int]) -> str | None:
    """The other month or weekday that stands where the claim's does not."""
    text = claim[word.start : word.end].lower()
    for names in (MONTHS, WEEKDAYS):
        if text in names:
            for pool in (evidence.words_of(*best), evidence.words):
                for other in pool:
                    if other.content and evidence.text[other.start : other.end].lower() in names:
                        return evidence.text[other.start : other.end]
    return None


def _missing(claim: str, found: Measured, evidence: Evidence, named: str) -> list[str]:
    reasons = []
    for number in found.numbers[:_SHOWN]:
        nearest = _nearest_number(number, evidence, found.best)
        tail = f"; nearest: {nearest}" if nearest else ", which has no numbers"
        reasons.append(f"{claim[number.start : number.end]} is not in the {named}{tail}")
    plain = []
    for word in found.missing:
        other = _calendar(word, claim, evidence, found.best)
        if other is None:
            plain.append(word)
        else:
            reasons.append(f"{claim[word.start : word.end]} is not in the {named}; nearest: {other}")
    against = {word for word, _ in found.opposite}
    # The source's "14%" has no word for "per cent"; its number was compared with the sign.
    plain = [w for w in plain if w not in against and claim[w.start : w.end].lower() not in _PERCENT]
    if plain:
        verb = "has" if len({claim[w.start : w.end] for w in plain}) == 1 else "have"
        reasons.append(f"{_quoted(claim, plain)} {verb} no support in the {named}")
    return reasons


def reasons_for(
    claim: str, found: Measured, evidence: Evidence, named: str, *, supported: bool = True
) -> tuple[str, ...]:
    """Why the claim got its probability, most telling first; ``named`` is what the evidence is called.

    Where nothing is amiss with any word, and the claim is not ``supported`` all the same, the wording is to blame.
    """
    reasons = _missing(claim, found, evidence, named)
    for ours, theirs in found.opposite:
        said, stands = claim[ours.start : ours.end], evidence.text[theirs.start : theirs.end]
        reasons.append(f"'{said}', where the {named} says '{stands}'")
    if found.negated:
        reasons.append(f"negated here, not in the {named}")
    if found.unnegated:
        reasons.append(f"negated in the {named}")
    if found.elsewhere:
        verb = "stands" if len({w.key for w in found.elsewhere}) == 1 else "stand"
        reasons.append(f"{_quoted(claim, found.elsewhere)} {verb} elsewhere in the {named}, not beside the rest")
    if reasons:
        return tuple(reasons)
    if not supported:
        return (f"its words stand in the {named}, but not joined like this",)
    if found.features["swapped"] > 0.25:
        return ("all content words found here, in another order",)
    if found.features["density"] == 1:
        return ("copied word for word from here",)
    return ("all content words found here",)
