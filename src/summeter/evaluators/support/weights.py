"""The fitted weights of the lexical scorer, stored as JSON beside the code and hashed into its name."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from summeter.data.shipped import shipped_text
from summeter.evaluators.support.features import FEATURES, REVISION

# What is asked of the scorer: a sentence against its source, or a short fact against a summary.
Use = Literal["source", "summary"]


class Calibration(NamedTuple):
    """What a score means in one use of the scorer.

    ``knots`` are (score, probability) pairs, both rising: between them the probability is interpolated, below the
    first it decays exponentially, above the last it stays. ``decision`` are (copied share, score) pairs: the score
    from which a claim of which that share is copied counts as supported, interpolated between them, constant beyond.
    A claim that copies is held to more, because words in common are cheap there: a splice of two sentences has them
    all. One threshold for both would call nearly every reworded sentence unsupported.
    """

    knots: tuple[tuple[float, float], ...]
    decision: tuple[tuple[float, float], ...]

    def probability(self, score: float) -> float:
        """Calibrated probability of support, in 0..1.

        >>> Calibration(((0.0, 0.1), (1.0, 0.3)), ((0.0, 0.5),)).probability(0.5)
        0.2
        """
        first, least = self.knots[0]
        if score < first:
            return least * math.exp(score - first)
        for (left, low), (right, high) in pairwise(self.knots):
            if score < right:
                return low + (high - low) * (score - left) / (right - left)
        return self.knots[-1][1]

    def least(self, copied: float) -> float:
        """The score a claim needs to count as supported, when this share of its words is copied.

        >>> Calibration((), ((0.5, 1.0), (1.0, 3.0))).least(0.75)
        2.0
        """
        first, lowest = self.decision[0]
        if copied <= first:
            return lowest
        for (left, low), (right, high) in pairwise(self.decision):
            if copied < right:
                return low + (high - low) * (copied - left) / (right - left)
        return self.decision[-1][1]


@dataclass(frozen=True)
class Weights:
    """A linear score of the features, its calibration by use, and the weights of everyday words."""

    coefficients: Mapping[str, float]
    calibration: Mapping[Use, Calibration]
    common: Mapping[str, float]
    card: Mapping[str, Any]
    digest: str

    def score(self, features: Mapping[str, float]) -> float:
        """Weighted sum of the features; the same in every use, so uses differ in probability but never in order."""
        return float(sum(weight * features[name] for name, weight in self.coefficients.items()))


def calibrations(stored: Mapping[Use, Any]) -> dict[Use, Calibration]:
    """Calibrations as they are stored, by use."""
    return {
        use: Calibration(
            tuple((z, p) for z, p in calibration["knots"]), tuple((c, z) for c, z in calibration["decision"])
        )
        for use, calibration in stored.items()
    }


def _read(name: str) -> Any:
    return json.loads(shipped_text(str(__package__), name))


def digest(model: Mapping[str, Any], common: Mapping[str, float]) -> str:
    """First 16 hex digits of the SHA-256 of model, everyday words and the revision of the feature code."""
    text = json.dumps([REVISION, model, common], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def shipped() -> Weights:
    """The weights that come with the package. Raises ValueError if they belong to other features."""
    stored, common = _read("weights.json"), _read("common.json")
    model = stored["model"]
    unknown = set(model["coefficients"]) - set(FEATURES)
    if unknown:
        raise ValueError(f"weights.json names features this version does not measure: {sorted(unknown)}")
    return Weights(
        coefficients=model["coefficients"],
        calibration=calibrations(model["calibration"]),
        common=common,
        card=stored["card"],
        digest=digest(model, common),
    )
