"""How well a text supports a claim, by its words: three shares of overlap, and what the checks find.

The weights come with the package (`weights.json`); `scripts/support.py` fits them.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, Literal, NamedTuple

from summeter.data.shipped import shipped_text
from summeter.evaluators.support.checks import CONFLICTS, Finding, Kind, Scene, findings, reasons_for
from summeter.evaluators.support.features import ClaimFeatures, Overlap, measure
from summeter.evaluators.support.words import Evidence, analyse, prepare
from summeter.interrupt import checkpoint

Use = Literal["source", "summary"]
"""What is asked of the scorer: a sentence against its source, or a short fact against a summary."""
THRESHOLD: Final = 0.5
"""The probability from which on a claim is labelled supported."""
MOST: Final = 2
"""Findings of one kind that count."""
REVISION: Final = "7"
"""Raised when a feature, a check, the stemmer or a word list changes: part of the scorer's id."""


@dataclass(frozen=True)
class Weights:
    """The fitted numbers of one use.

    ``intercept`` and ``overlap``: log-odds that the claim's words speak for it. ``precision``: the probability that a
    finding of a kind is an error. ``slope``, ``shift`` and ``dialogue`` (where the text is one) make of both the
    log-odds of support, where half of the claims are supported.
    """

    intercept: float
    overlap: Overlap
    precision: Mapping[Kind, float]
    slope: float
    shift: float
    dialogue: float = 0.0

    def log_odds(self, overlap: Overlap, conflicts: Mapping[Kind, int], *, is_dialogue: bool = False) -> float:
        """Log-odds that the words speak for the claim and no finding is an error, calibrated.

        >>> weights = Weights(0.0, Overlap(2.0, 0.0, 0.0), {"number": 0.5}, slope=1.0, shift=0.0)
        >>> round(weights.log_odds(Overlap(0.0, 0.0, 0.0), {"number": 1}), 4)  # ln(.25 / .75)
        -1.0986
        """
        score = self.intercept + sum(weight * share for weight, share in zip(self.overlap, overlap, strict=True))
        sound = math.prod((1 - self.precision[kind]) ** min(count, MOST) for kind, count in conflicts.items())
        if sound < 1:
            probability = max(sigmoid(score) * sound, 1e-9)
            score = math.log(probability / (1 - probability))
        return self.slope * score + self.shift + self.dialogue * is_dialogue


class Support(NamedTuple):
    """Verdict on one claim.

    ``probability`` lies in 0..1, or is None when there is nothing to check (``reasons`` say why). ``evidence`` are
    (start, end) spans in code points of the evidence text, best first; empty when nothing in it speaks of the claim.
    """

    probability: float | None
    evidence: tuple[tuple[int, int], ...]
    reasons: tuple[str, ...]

    @property
    def supported(self) -> bool | None:
        """Whether the probability is at least THRESHOLD; None if it is missing."""
        return None if self.probability is None else self.probability >= THRESHOLD


class Look(NamedTuple):
    """Features of a claim, the stems of its content words, and the findings against it."""

    features: ClaimFeatures
    keys: frozenset[str]
    scene: Scene
    findings: Sequence[Finding]

    @property
    def conflicts(self) -> dict[Kind, int]:
        """How many findings of each kind count against the claim."""
        return dict(Counter(finding.kind for finding in self.findings if finding.kind in CONFLICTS))


@dataclass(frozen=True)
class LexicalScorer:
    """Support by word overlap and checks.

    Deterministic, CPU only, no download; about a hundred microseconds to a few milliseconds a claim. It reads the
    whole evidence text, however long. It knows words, not meaning: a faithful paraphrase in other words scores low.
    ``named`` says what the evidence text is: the "source" of summary sentences, or the "summary" that key facts are
    looked for in. Reasons call it so, and it picks the weights (short facts are worded more freely than summary
    sentences, so less overlap means as much). ``base_rate`` is the share of claims that are supported where it is
    used: probabilities are calibrated for one half, and moved to it. ``weights``: others than the shipped ones.

    >>> scorer = LexicalScorer()
    >>> text = "Profits rose 14 percent in May. Staff numbers fell."
    >>> evidence = scorer.prepare(text, [(0, 31), (32, 51)])
    >>> verdict = scorer.score(["Profits rose 41 percent."], evidence)[0]
    >>> verdict.evidence, verdict.supported, verdict.reasons
    (((0, 31),), False, ('41 is not in the source; nearest: 14',))
    """

    named: Use = "source"
    base_rate: float = 0.5
    weights: Weights | None = None

    @property
    def id(self) -> str:
        """``lexical@`` and the hash of the shipped weights and the revision of the code."""
        return f"lexical@{digest(_stored()['model'])}"

    def prepare(self, text: str, sentences: Sequence[tuple[int, int]]) -> Evidence:
        """Index the text. Raises ValueError if the spans overlap or leave it."""
        return prepare(text, sentences)

    def score(self, claims: Sequence[str], evidence: Evidence) -> list[Support]:
        """One verdict for each claim, in order; None where claim or evidence has no words to check."""
        looks = (self.look(claim, evidence) for claim in claims)
        return [look if isinstance(look, Support) else self.verdict(look, self.log_odds(look)) for look in looks]

    def probabilities(self, claims: Sequence[str], evidence: Evidence) -> list[float | None]:
        """The probabilities of `score` without evidence and reasons."""
        looks = (self.look(claim, evidence) for claim in claims)
        return [None if isinstance(look, Support) else self.probability(self.log_odds(look)) for look in looks]

    def look(self, claim: str, evidence: Evidence) -> Look | Support:
        """What the words show, not yet weighed; a verdict where there is nothing to check."""
        checkpoint()
        words = _claim_words(claim)
        if not any(word.content for word in words):
            return Support(None, (), ("no content words to check",))
        if not evidence.words:
            return Support(None, (), (f"the {self.named} has no words",))
        features = measure(claim, words, evidence)
        keys = frozenset(word.key for word in words if word.content)
        return Look(features, keys, *findings(claim, words, features, evidence, self.named))

    def log_odds(self, look: Look) -> float:
        """The log-odds of support, where half of the claims are supported."""
        weights = self.weights or shipped()[self.named]
        return weights.log_odds(look.features.overlap, look.conflicts, is_dialogue=look.scene.evidence.is_dialogue)

    def probability(self, log_odds: float) -> float:
        """Log-odds as a probability, moved to the base rate."""
        return sigmoid(log_odds + math.log(self.base_rate / (1 - self.base_rate)))

    def verdict(self, look: Look, log_odds: float) -> Support:
        """The verdict on a claim with these log-odds of support (at a base rate of one half)."""
        probability = self.probability(log_odds)
        reasons = reasons_for(look.scene, look.findings, supported=probability >= THRESHOLD)
        return Support(probability, _spans(look), reasons)


def _spans(look: Look) -> tuple[tuple[int, int], ...]:
    """Sentences of the best window that hold words of the claim and the one with most of what is elsewhere.

    Best first: the sentence that holds most of the claim's words, of equals the earlier.
    """
    features, evidence = look.features, look.scene.evidence

    def held(i: int) -> int:
        return len({word.key for word in evidence.words_of(i, i + 1) if word.content} & look.keys)

    chosen = {i for i in range(*features.best) if held(i)}
    counts = Counter(
        i
        for key in {word.key for word in features.elsewhere}
        for i in {evidence.sentence_of(position) for position in evidence.places.get(key, ())}
    )
    if counts:
        chosen.add(max(counts, key=lambda i: (counts[i], -i)))
    spans = []
    for i in sorted(chosen, key=lambda i: (-held(i), i)):
        start, end = evidence.sentences[i]
        text = evidence.text[start:end]
        spans.append((end - len(text.lstrip()), start + len(text.rstrip())))
    return tuple(spans)


# A key fact is asked of every summary of its document and of every sentence of each: read it once.
_claim_words = lru_cache(maxsize=512)(analyse)


def sigmoid(log_odds: float) -> float:
    """1 / (1 + exp(-log_odds)) without overflow."""
    return 1 / (1 + math.exp(-log_odds)) if log_odds >= 0 else math.exp(log_odds) / (1 + math.exp(log_odds))


def digest(model: Mapping[str, Any]) -> str:
    """First 16 hex digits of the SHA-256 of stored numbers and REVISION."""
    text = json.dumps([REVISION, model], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _stored() -> Any:
    return json.loads(shipped_text(str(__package__), "weights.json"))


@cache
def shipped() -> Mapping[Use, Weights]:
    """The weights that come with the package. Raises ValueError if they belong to other checks."""
    model = _stored()["model"]
    for stored in model.values():
        if set(stored["precision"]) != set(CONFLICTS):
            raise ValueError(
                "the stored weights are not those of this version's checks; run scripts/support.py --write"
            )
    return {use: Weights(**{**stored, "overlap": Overlap(**stored["overlap"])}) for use, stored in model.items()}
