"""Verdicts of `summeter trust` on simulated judges, and the coverage of the corrected rate.

python benchmarks/trust.py [REPEATS]

Three annotators repeat the truth with the given accuracy. A constant judge gives the most common label, a random judge
draws labels with the frequencies of the truth, and a perfect judge gives the truth.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

import summeter as sm
from summeter.stats.prevalence import rogan_gladen

SETTINGS = {
    "labels, 50 % of 1": (np.array([0.5, 0.5]), 0.85),
    "labels, 80 % of 1": (np.array([0.2, 0.8]), 0.85),
    "labels, 90 % of 1": (np.array([0.1, 0.9]), 0.9),
    "ratings 1 to 5": (np.full(5, 0.2), 0.6),
    "ratings, 60 % fives": (np.array([0.1, 0.1, 0.1, 0.1, 0.6]), 0.6),
}
"""Frequencies of the values, and the accuracy of people."""


def votes(
    rng: np.random.Generator, shares: np.ndarray, accuracy: float, items: int, judge: str
) -> list[dict[str, int]]:
    """Return rows of simulated votes."""
    values = np.arange(len(shares)) + (len(shares) > 2)
    truth = rng.choice(values, items, p=shares)

    def noisy() -> np.ndarray:
        other = 1 - truth if len(values) == 2 else np.clip(truth + rng.choice([-1, 1], items), 1, 5)
        return np.where(rng.random(items) < accuracy, truth, other)

    people = [noisy() for _ in range(3)]
    judged = {
        "constant": np.full(items, values[shares.argmax()]),
        "random": rng.choice(values, items, p=shares),
        "perfect": truth,
        "noisy": noisy(),
    }[judge]
    return [
        {"item": number, "judge": int(score), **{f"human_{place}": int(vote) for place, vote in enumerate(row)}}
        for number, (score, *row) in enumerate(zip(judged, *people, strict=True))
    ]


def verdicts(items: int, judge: str, setting: str, repeats: int, resamples: int = 300) -> Counter[str]:
    """Return how often each verdict is given."""
    shares, accuracy = SETTINGS[setting]
    rng = np.random.default_rng(items)
    studies = (sm.trust(votes(rng, shares, accuracy, items, judge), resamples=resamples) for _ in range(repeats))
    return Counter(str(study.verdict) for study in studies)


def coverage(share: float, sensitivity: float, specificity: float, n: int, labelled: int, repeats: int = 2000) -> float:
    """Return the share of intervals of the corrected rate that contain the true rate."""
    rng = np.random.default_rng(0)
    covered = defined = 0
    for _ in range(repeats):
        truth = rng.random(n + labelled) < share
        judged = np.where(truth, rng.random(n + labelled) < sensitivity, rng.random(n + labelled) >= specificity)
        known, seen, rest = truth[:labelled], judged[:labelled], judged[labelled:]
        if known.all() or not known.any():
            continue
        got = rogan_gladen(
            rest.mean(), n, seen[known].mean(), known.sum(), 1 - seen[~known].mean(), labelled - known.sum()
        )
        if got.low is not None and got.high is not None:
            defined += 1
            covered += got.low <= share <= got.high
    return covered / defined


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for case in (
        (0.3, 0.9, 0.8, 1000, 200), (0.7, 0.9, 0.8, 500, 100), (0.9, 0.95, 0.7, 1000, 200), (0.5, 0.8, 0.7, 300, 100),
        (0.95, 0.9, 0.8, 500, 150),
    ):  # fmt: skip
        print("share {}, sensitivity {}, specificity {}, n {}, labelled {}:".format(*case), f"{coverage(*case):.1%}")
    for items in (300, 20):
        for setting in SETTINGS:
            for judge in ("constant", "random", "perfect", "noisy"):
                print(items, setting, judge, dict(verdicts(items, judge, setting, repeats)), flush=True)
