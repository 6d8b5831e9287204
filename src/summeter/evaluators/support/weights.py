"""The fitted weights of the scorers, stored as JSON beside the code and hashed into their names."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from summeter.data.shipped import shipped_text
from summeter.evaluators.support.checks import CONFLICTS
from summeter.evaluators.support.features import FEATURES, REVISION
from summeter.evaluators.support.scene import Kind

# What is asked of the scorer: a sentence against its source, or a short fact against a summary.
Use = Literal["source", "summary"]
THRESHOLD: Final = 0.5
"""The probability from which on a claim is labelled supported."""
MOST: Final = 2
"""Findings of one kind that count."""
_SMALLEST = 1e-9


class Seen(NamedTuple):
    """What a calibration reads of a claim: the ``score`` of its words; the ``network``'s log-odds, 0 where it is not
    asked; the share of the claim's words that the best sentence lacks (``unmatched``); whether the text is a
    ``dialogue``."""

    score: float
    network: float = 0.0
    unmatched: float = 0.0
    dialogue: bool = False


class Calibration(NamedTuple):
    """What is seen of a claim as log-odds of support where half of the claims are supported: a weight of each, and a
    shift. ``reworded``: the network counts by so much more where no word of the claim is matched."""

    words: float
    shift: float
    dialogue: float = 0.0
    network: float = 0.0
    reworded: float = 0.0

    def probability(self, seen: Seen, base_rate: float = 0.5) -> float:
        """Calibrated probability of support, in 0..1, where the share ``base_rate`` of claims is supported.

        >>> Calibration(2.0, -1.0).probability(Seen(0.5))
        0.5
        >>> round(Calibration(2.0, -1.0).probability(Seen(0.5), base_rate=0.8), 3)
        0.8
        >>> Calibration(2.0, -1.0, network=0.2, reworded=0.4).probability(Seen(0.5, network=-5.0, unmatched=1.0)) < 0.05
        True
        """
        network = (self.network + self.reworded * seen.unmatched) * seen.network
        log_odds = self.words * seen.score + self.dialogue * seen.dialogue + network + self.shift
        return _sigmoid(log_odds + math.log(base_rate / (1 - base_rate)))


@dataclass(frozen=True)
class Weights:
    """What makes a score of features and findings, in one use: log-odds that the claim's words speak for it
    (``intercept`` and ``coefficients``, by feature), the probability that a finding of a kind is an error
    (``checks``), and what the score means."""

    intercept: float
    coefficients: Mapping[str, float]
    checks: Mapping[Kind, float]
    calibration: Calibration

    def score(self, features: Mapping[str, float], conflicts: Mapping[Kind, int]) -> float:
        """Log-odds that the words speak for the claim and that none of the conflicts is an error.

        >>> weights = Weights(0.0, {"words": 2.0}, {"number": 0.5}, Calibration(1.0, 0.0))
        >>> round(weights.score({"words": 0.0}, {"number": 1}), 4)  # ln(.25 / .75)
        -1.0986
        """
        words = self.intercept + sum(weight * features[name] for name, weight in self.coefficients.items())
        sound = math.prod((1 - self.checks[kind]) ** min(count, MOST) for kind, count in conflicts.items())
        if sound == 1:  # exact, however large the score
            return words
        probability = max(_sigmoid(words) * sound, _SMALLEST)
        return math.log(probability / (1 - probability))


@dataclass(frozen=True)
class Model:
    """The weights of each use, the weights below 1 of everyday words, and what is known of both."""

    uses: Mapping[Use, Weights]
    common: Mapping[str, float]
    card: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Combination:
    """What words and network together mean in each use, and what is known of it."""

    uses: Mapping[Use, Calibration]
    card: Mapping[str, Any]
    digest: str


def _sigmoid(score: float) -> float:
    """1 / (1 + exp(-score)) without overflow."""
    return 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))


def _read(name: str) -> Any:
    return json.loads(shipped_text(str(__package__), name))


def digest(model: Mapping[str, Any], common: Mapping[str, float]) -> str:
    """First 16 hex digits of the SHA-256 of model, everyday words and the revision of the code that measures."""
    text = json.dumps([REVISION, model, common], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def weights_of(stored: Mapping[str, Any]) -> Weights:
    """Weights as they are stored. Raises ValueError if they belong to other features or checks."""
    unknown = set(stored["coefficients"]) - set(FEATURES) or set(stored["checks"]) ^ set(CONFLICTS)
    if unknown:
        raise ValueError(f"the stored weights are not those of this version's features and checks: {sorted(unknown)}")
    calibration = Calibration(**stored["calibration"])
    return Weights(stored["intercept"], stored["coefficients"], stored["checks"], calibration)


@cache
def shipped() -> Model:
    """The weights of the words that come with the package."""
    stored, common = _read("weights.json"), _read("common.json")
    uses = {use: weights_of(weights) for use, weights in stored["model"].items()}
    return Model(uses, common, stored["card"], digest(stored["model"], common))


@cache
def combination() -> Combination:
    """What comes with the package to combine words and network; the card names the network and the words."""
    stored = _read("combination.json")
    uses = {use: Calibration(**weights) for use, weights in stored["model"].items()}
    return Combination(uses, stored["card"], digest(stored["model"], {}))
