"""A scorer of the support of a claim by a text, based on word overlap and the findings of checks.

The package contains the fitted weights (`weights.json`). `scripts/support.py` fits them.
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
from summeter.evaluators.support.checks import compare, reasons_for
from summeter.evaluators.support.comparison import CONFLICTS, Comparison, FindingKind, Overlap
from summeter.evaluators.support.words import Evidence, analyse
from summeter.interrupt import checkpoint

EvidenceName = Literal["source", "summary"]
"""The kind of evidence: the source of summary sentences, or a summary in which key facts are searched."""
THRESHOLD: Final = 0.5
"""The lowest probability of a claim with the label 1 (supported)."""
MAX_COUNTED: Final = 2
"""Maximum number of findings of one kind that lower the probability."""
REVISION: Final = "7"
"""Revision of the code, included in the scorer's id. Increase it if a feature, check, stem or word list changes."""


@dataclass(frozen=True)
class Weights:
    """Fitted parameters for one kind of evidence.

    ``intercept`` and ``overlap`` are the coefficients of a logistic regression on word overlap. ``precision`` is the
    probability that a finding of a kind is an error. ``slope``, ``shift`` and ``dialogue`` (added for dialogues)
    calibrate the log-odds of support for data in which half of the claims are supported.
    """

    intercept: float
    overlap: Overlap
    precision: Mapping[FindingKind, float]
    slope: float
    shift: float
    dialogue: float = 0.0

    def log_odds(self, overlap: Overlap, conflicts: Mapping[FindingKind, int], *, is_dialogue: bool = False) -> float:
        """Return the calibrated log-odds that the overlap shows support and no finding is an error.

        >>> weights = Weights(0.0, Overlap(2.0, 0.0, 0.0), {"number": 0.5}, slope=1.0, shift=0.0)
        >>> round(weights.log_odds(Overlap(0.0, 0.0, 0.0), {"number": 1}), 4)  # ln(.25 / .75)
        -1.0986
        """
        score = self.intercept + sum(weight * share for weight, share in zip(self.overlap, overlap, strict=True))
        sound = math.prod((1 - self.precision[kind]) ** min(count, MAX_COUNTED) for kind, count in conflicts.items())
        if sound < 1:
            probability = max(sigmoid(score) * sound, 1e-9)
            score = math.log(probability / (1 - probability))
        return self.slope * score + self.shift + self.dialogue * is_dialogue


class ClaimSupport(NamedTuple):
    """Support of one claim by a text.

    ``probability`` is from 0 to 1, or None if the claim cannot be checked (``reasons`` has the cause). ``evidence``
    holds (start, end) spans in code points of the text, best first. It is empty if no sentence has a word of the claim.
    """

    probability: float | None
    evidence: tuple[tuple[int, int], ...]
    reasons: tuple[str, ...]

    @property
    def supported(self) -> bool | None:
        """Whether the probability is at least THRESHOLD, or None if there is no probability."""
        return None if self.probability is None else self.probability >= THRESHOLD


@dataclass(frozen=True)
class LexicalScorer:
    """A scorer that compares the words of a claim with the words of a text.

    The scorer is deterministic, needs neither a GPU nor a download, and takes between 0.1 and a few milliseconds per
    claim. It searches the whole text, without a limit of length. It compares words, not meaning, so a faithful
    paraphrase in other words has a low score.

    ``evidence_name`` is the kind of evidence, which selects the weights and is used as a noun in reasons. Key facts are
    worded more freely than summary sentences, so a lower overlap is sufficient for them. Probabilities are calibrated
    for data in which half of the claims are supported, and adjusted to ``base_rate``, the share of supported claims.
    ``weights`` replaces the weights of the package.

    >>> from summeter.evaluators.support.words import index_text
    >>> scorer = LexicalScorer()
    >>> text = "Profits rose 14 percent in May. Staff numbers fell."
    >>> evidence = index_text(text, [(0, 31), (32, 51)])
    >>> support = scorer.score(["Profits rose 41 percent."], evidence)[0]
    >>> support.evidence, support.supported, support.reasons
    (((0, 31),), False, ('41 is not in the source; nearest: 14',))
    """

    evidence_name: EvidenceName = "source"
    base_rate: float = 0.5
    weights: Weights | None = None

    @property
    def id(self) -> str:
        """``lexical@`` and a hash of the weights of the package and the revision of the code."""
        return f"lexical@{digest(_stored()['model'])}"

    def score(self, claims: Sequence[str], evidence: Evidence) -> list[ClaimSupport]:
        """Return the support of each claim, in order.

        The probability is None if the claim has no content word or the evidence has no word.
        """
        results = []
        for claim in claims:
            comparison = self.analyse(claim, evidence)
            if isinstance(comparison, str):
                results.append(ClaimSupport(None, (), (comparison,)))
            else:
                probability = self._probability(comparison)
                reasons = reasons_for(comparison, supported=probability >= THRESHOLD)
                results.append(ClaimSupport(probability, _spans(comparison), reasons))
        return results

    def probabilities(self, claims: Sequence[str], evidence: Evidence) -> list[float | None]:
        """Return the same probabilities as `score`, without computing evidence and reasons."""
        comparisons = (self.analyse(claim, evidence) for claim in claims)
        return [None if isinstance(found, str) else self._probability(found) for found in comparisons]

    def analyse(self, claim: str, evidence: Evidence) -> Comparison | str:
        """Compare a claim with the evidence.

        Returns a message instead if one of them has no words to compare.
        """
        checkpoint()
        words = _claim_words(claim)
        if not any(word.content for word in words):
            return "no content words to check"
        if not evidence.words:
            return f"the {self.evidence_name} has no words"
        return compare(claim, words, evidence, self.evidence_name)

    def _probability(self, comparison: Comparison) -> float:
        weights = self.weights or shipped_weights()[self.evidence_name]
        is_dialogue = comparison.evidence.is_dialogue
        log_odds = weights.log_odds(comparison.overlap, comparison.conflicts, is_dialogue=is_dialogue)
        return sigmoid(log_odds + math.log(self.base_rate / (1 - self.base_rate)))


def _spans(comparison: Comparison) -> tuple[tuple[int, int], ...]:
    """Return the spans of the sentences that contain words of the claim.

    The sentences are those of the best window, and the sentence with the most words that the window lacks. They are
    sorted by the number of words that they share with the claim, in descending order, and then by position.
    """
    evidence = comparison.evidence
    keys = {word.key for word in comparison.claim.words if word.content}

    def shared_words(i: int) -> int:
        return len({word.key for word in evidence.words_of(i, i + 1) if word.content} & keys)

    selected = {i for i in range(*comparison.best) if shared_words(i)}
    counts = Counter(
        i
        for key in {word.key for word in comparison.elsewhere}
        for i in {evidence.sentence_of(position) for position in evidence.positions.get(key, ())}
    )
    if counts:
        selected.add(max(counts, key=lambda i: (counts[i], -i)))
    spans = []
    for i in sorted(selected, key=lambda i: (-shared_words(i), i)):
        start, end = evidence.sentences[i]
        text = evidence.text[start:end]
        spans.append((end - len(text.lstrip()), start + len(text.rstrip())))
    return tuple(spans)


# Cached, because a key fact is compared with every summary of its document and with every sentence of each summary.
_claim_words = lru_cache(maxsize=512)(analyse)


def sigmoid(log_odds: float) -> float:
    """Return 1 / (1 + exp(-log_odds)) without overflow."""
    return 1 / (1 + math.exp(-log_odds)) if log_odds >= 0 else math.exp(log_odds) / (1 + math.exp(log_odds))


def digest(model: Mapping[str, Any]) -> str:
    """Return the first 16 hex digits of the SHA-256 of the weights and REVISION."""
    text = json.dumps([REVISION, model], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _stored() -> Any:
    return json.loads(shipped_text(str(__package__), "weights.json"))


@cache
def shipped_weights() -> Mapping[EvidenceName, Weights]:
    """Return the weights of the package, by kind of evidence.

    Raises ValueError if the weights were fitted for other checks.
    """
    model = _stored()["model"]
    for stored in model.values():
        if set(stored["precision"]) != set(CONFLICTS):
            raise ValueError("weights.json was fitted for other checks; run scripts/support.py --write")
    return {name: Weights(**{**stored, "overlap": Overlap(**stored["overlap"])}) for name, stored in model.items()}
