"""Coverage of a cascade's error bound, and the calls it saves, for simulated judges and many draws.

    python benchmarks/cascade.py [--draws 500] [--items 3000] [--ratings --error .08]

The expensive judge labels half of the items 1. The inexpensive judge gives a calibrated probability with an AUROC of
.85 against it. Each draw simulates new items, samples items that both judge, and compares the cascade's labels of *all*
items with those of the expensive judge. `kept` is the share of draws in which at most .05 of the labels differ, for the
cascade and for the band alone (ignoring that both judged the sample, which is what the test is about). `saved` is the
mean share of the expensive judge's calls that the band saves, without and with the calls for the sample.

With --ratings, both judges give ratings from 1 to 5, and the error is the mean absolute difference relative to the
scale.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from statistics import NormalDist, fmean
from typing import ClassVar, NamedTuple

import numpy as np

from summeter.evaluators.base import Evaluator
from summeter.evaluators.cascade import Cascade
from summeter.evaluators.derived import ItemKey, MemberJudge, MemberJudgments
from summeter.records import Judgment, Target

SHIFT = 2**0.5 * NormalDist().inv_cdf(0.85)
"""Distance of two normal distributions with standard deviation 1 and an AUROC of .85."""
SIZES = (100, 300, 1000)


class Cheap(Evaluator):
    """A judge with a calibrated probability and a threshold for its label."""

    name: ClassVar[str] = "cheap"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "a probability"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)

    @property
    def decision_threshold(self) -> float:
        return 0.5


class CheapRating(Cheap):
    """A judge with a rating from 1 to 5."""

    name: ClassVar[str] = "cheap_rating"

    @property
    def decision_threshold(self) -> None:  # type: ignore[override]  # ratings have no threshold
        return None

    @property
    def rating_scale(self) -> tuple[float, float]:
        return 1.0, 5.0


class Expensive(Cheap):
    """A judge with a binary label."""

    name: ClassVar[str] = "expensive"


class ExpensiveRating(CheapRating):
    """A judge with a rating from 1 to 5."""

    name: ClassVar[str] = "expensive_rating"


class Simulated(Cascade):
    """A cascade of the simulated judges."""

    ratings: bool = False

    @property
    def members(self) -> tuple[MemberJudge, ...]:  # type: ignore[override]  # not parsed from text
        first, second = (CheapRating(), ExpensiveRating()) if self.ratings else (Cheap(), Expensive())
        return MemberJudge(first), MemberJudge(second, partial=True)


class Draw(NamedTuple):
    """One draw: the error of the cascade and of the band, and the shares of saved calls without and with the sample."""

    error: float
    band: float
    saved: float
    saved_net: float


def judgment(judge: str, item: int, value: float, label: int | None) -> Judgment:
    """Return the judgment of a summary."""
    return Judgment.model_construct(
        target=Target.model_construct(document_id=str(item), system="s", rival=None, unit="summary", index=None,
                                      list_id=None),
        aspect="faithfulness", judge=judge, signature=judge, value=value, label=label, status="ok", reason=None,
        calls=(), model=None,
    )  # fmt: skip


def both(
    item: int, cheap: float, expensive: float, cheap_label: int | None = None, expensive_label: int | None = None
) -> MemberJudgments:
    """Return the judgments of both judges on an item."""
    rows = judgment("cheap", item, cheap, cheap_label), judgment("expensive", item, expensive, expensive_label)
    return MemberJudgments((str(item), "s", None), ((rows[0],), (rows[1],)))


def simulated(rng: np.random.Generator, items: int, *, ratings: bool) -> list[MemberJudgments]:
    """Return the judgments of both judges on all items."""
    if ratings:
        truth = rng.normal(3.6, 1.0, items)
        second = np.clip(np.rint(truth + rng.normal(0, 0.3, items)), 1, 5)
        # Confident at the ends, uncertain in the middle, and slightly lenient.
        first = np.clip(np.rint(truth + 0.1 + rng.normal(0, 0.3 + 0.5 * (np.abs(truth - 3) < 1), items)), 1, 5)
        return [both(item, float(one), float(two)) for item, (one, two) in enumerate(zip(first, second, strict=True))]
    second = rng.integers(0, 2, items).astype(np.float64)
    judged = []
    for item, (one, two) in enumerate(zip(probability(rng, second, SHIFT), second, strict=True)):
        judged.append(both(item, float(one), float(two), int(one >= 0.5), int(two)))
    return judged


def probability(rng: np.random.Generator, labels: np.ndarray, shift: float) -> np.ndarray:
    """Return P(label = 1 | z), where z is the shifted label plus noise."""
    z = rng.normal(shift * (labels - 0.5), 1.0)
    return np.asarray(1 / (1 + np.exp(-shift * z)))


def draw(judged: list[MemberJudgments], cascade: Simulated) -> Draw:
    """Compare the labels of the cascade with those of the expensive judge on all items."""
    plan = cascade.plan(judged)
    low, high = cascade.rating_scale or (0.0, 1.0)

    def error(by_second: Collection[ItemKey]) -> float:
        errors = []
        for item, ((first,), (second,)) in judged:
            if item in by_second:
                errors.append(0.0)
            elif first.label is not None:
                errors.append(float(first.label != second.label))
            else:
                errors.append(abs((first.value or 0.0) - (second.value or 0.0)) / (high - low))
        return fmean(errors)

    by_band, with_sample = plan.passed_on, plan.passed_on | plan.sample
    saved, saved_net = (1 - len(items) / len(judged) for items in (by_band, with_sample))
    return Draw(error(with_sample), error(by_band), saved, saved_net)


def draws(many: int, items: int, sample: int, error: float, *, ratings: bool = False) -> Iterator[Draw]:
    """Yield draws, each with new items."""
    for seed in range(many):
        judged = simulated(np.random.default_rng([seed, sample]), items, ratings=ratings)
        yield draw(judged, Simulated(sample=sample, error=error, seed=seed, ratings=ratings))


def report(many: int, items: int, error: float, *, ratings: bool) -> None:
    """Print one line per sample size."""
    print("labels  bound  kept   kept by the band  mean error  saved  saved less sample")
    for sample in SIZES:
        got = list(draws(many, items, sample, error, ratings=ratings))
        kept, band = (fmean(getattr(each, name) <= error + 1e-12 for each in got) for name in ("error", "band"))
        mean, saved, net = (fmean(getattr(each, name) for each in got) for name in ("error", "saved", "saved_net"))
        print(f"{sample:6}  {error:5}  {kept:.3f}  {band:16.3f}  {mean:10.4f}  {saved:5.3f}  {net:5.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=500, help="number of draws")
    parser.add_argument("--items", type=int, default=5000, help="number of items per draw")
    parser.add_argument("--error", type=float, default=0.05, help="error bound")
    parser.add_argument("--ratings", action="store_true", help="judges with ratings from 1 to 5")
    options = parser.parse_args()
    report(options.draws, options.items, options.error, ratings=options.ratings)
