"""Does a cascade keep its bound, and what does it save? A simulated inexpensive and expensive judge, many draws.

    python benchmarks/cascade.py [--draws 500] [--items 3000] [--ratings --error .08]

The expensive judge says 1 of half of the items. The inexpensive judge gives a calibrated probability whose AUROC
against it is .85. Each draw makes new items, takes a sample that both judge, and compares the cascade's labels of *all*
items with the expensive judge's. `kept`: the share of draws in which the share of differing labels is at most .05: as
the cascade has them, and by the band alone, as if the sample were not judged by both (what the test is about). `saved`:
the mean share of the expensive judge's calls that the band saves, without and with those of the sample.

With --ratings the two are ratings from 1 to 5, and the error is the mean absolute difference as a share of the scale.
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
"""How far two normal distributions of spread 1 lie apart whose AUROC is .85."""
SIZES = (100, 300, 1000)


class Cheap(Evaluator):
    """A calibrated probability; its label is a threshold of it."""

    name: ClassVar[str] = "cheap"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "a probability"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)

    @property
    def decision_threshold(self) -> float:
        return 0.5


class CheapRating(Cheap):
    """A rating from 1 to 5."""

    name: ClassVar[str] = "cheap_rating"

    @property
    def decision_threshold(self) -> None:  # type: ignore[override]  # a rating decides nothing
        return None

    @property
    def rating_scale(self) -> tuple[float, float]:
        return 1.0, 5.0


class Dear(Cheap):
    """Yes or no."""

    name: ClassVar[str] = "dear"


class DearRating(CheapRating):
    """A rating from 1 to 5."""

    name: ClassVar[str] = "dear_rating"


class Simulated(Cascade):
    """A cascade of these judges."""

    ratings: bool = False

    @property
    def members(self) -> tuple[MemberJudge, ...]:  # type: ignore[override]  # not from a text
        first, second = (CheapRating(), DearRating()) if self.ratings else (Cheap(), Dear())
        return MemberJudge(first), MemberJudge(second, partial=True)


class Draw(NamedTuple):
    """One draw: the error as it is and by the bands alone, and the calls of the second judge that are saved without and
    with those of the sample."""

    error: float
    band: float
    saved: float
    all_told: float


def judgment(judge: str, item: int, value: float, label: int | None) -> Judgment:
    """Of a summary."""
    return Judgment.model_construct(
        target=Target.model_construct(document_id=str(item), system="s", rival=None, unit="summary", index=None,
                                      list_id=None),
        aspect="faithfulness", judge=judge, signature=judge, value=value, label=label, status="ok", reason=None,
        calls=(), model=None,
    )  # fmt: skip


def both(
    item: int, cheap: float, dear: float, cheap_label: int | None = None, dear_label: int | None = None
) -> MemberJudgments:
    """What the two judges say of an item."""
    rows = judgment("cheap", item, cheap, cheap_label), judgment("dear", item, dear, dear_label)
    return MemberJudgments((str(item), "s", None), ((rows[0],), (rows[1],)))


def simulated(rng: np.random.Generator, items: int, *, ratings: bool) -> list[MemberJudgments]:
    """What the judges say of all items."""
    if ratings:
        truth = rng.normal(3.6, 1.0, items)
        dear = np.clip(np.rint(truth + rng.normal(0, 0.3, items)), 1, 5)
        # Sure at the ends, unsure in the middle, and a little too kind.
        cheap = np.clip(np.rint(truth + 0.1 + rng.normal(0, 0.3 + 0.5 * (np.abs(truth - 3) < 1), items)), 1, 5)
        return [both(item, float(own), float(other)) for item, (own, other) in enumerate(zip(cheap, dear, strict=True))]
    dear = rng.integers(0, 2, items).astype(np.float64)
    judged = []
    for item, (own, other) in enumerate(zip(probability(rng, dear, SHIFT), dear, strict=True)):
        judged.append(both(item, float(own), float(other), int(own >= 0.5), int(other)))
    return judged


def probability(rng: np.random.Generator, labels: np.ndarray, shift: float) -> np.ndarray:
    """P(label = 1 | z), where z is the label shifted, with noise."""
    z = rng.normal(shift * (labels - 0.5), 1.0)
    return np.asarray(1 / (1 + np.exp(-shift * z)))


def draw(judged: list[MemberJudgments], cascade: Simulated) -> Draw:
    """The cascade's labels beside the expensive judge's, on all items."""
    plan = cascade.plan(judged)
    low, high = cascade.rating_scale or (0.0, 1.0)

    def error(by_second: Collection[ItemKey]) -> float:
        errors = []
        for item, ((own,), (other,)) in judged:
            if item in by_second:
                errors.append(0.0)
            elif own.label is not None:
                errors.append(float(own.label != other.label))
            else:
                errors.append(abs((own.value or 0.0) - (other.value or 0.0)) / (high - low))
        return fmean(errors)

    by_band, told = plan.passed_on, plan.passed_on | plan.sample
    return Draw(error(told), error(by_band), 1 - len(by_band) / len(judged), 1 - len(told) / len(judged))


def draws(many: int, items: int, sample: int, error: float, *, ratings: bool = False) -> Iterator[Draw]:
    """New items each time."""
    for seed in range(many):
        judged = simulated(np.random.default_rng([seed, sample]), items, ratings=ratings)
        yield draw(judged, Simulated(sample=sample, error=error, seed=seed, ratings=ratings))


def report(many: int, items: int, error: float, *, ratings: bool) -> None:
    """A line a size of the sample."""
    print("labels  bound  kept   kept by the band  mean error  saved  saved, sample paid")
    for sample in SIZES:
        got = list(draws(many, items, sample, error, ratings=ratings))
        kept, band = (fmean(getattr(each, name) <= error + 1e-12 for each in got) for name in ("error", "band"))
        mean, saved, told = (fmean(getattr(each, name) for each in got) for name in ("error", "saved", "all_told"))
        print(f"{sample:6}  {error:5}  {kept:.3f}  {band:16.3f}  {mean:10.4f}  {saved:5.3f}  {told:5.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--error", type=float, default=0.05)
    parser.add_argument("--ratings", action="store_true")
    given = parser.parse_args()
    report(given.draws, given.items, given.error, ratings=given.ratings)
