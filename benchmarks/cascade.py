"""Does a cascade keep its bound, and what does it save? A simulated cheap and dear judge, many draws.

    python benchmarks/cascade.py [--draws 500] [--items 3000] [--ratings --error .08]

The dear judge says 1 of half of the items. The cheap judge gives a calibrated probability whose AUROC against it is
.85. Each draw makes new items, takes a sample that both judge, and compares the cascade's labels of *all* items with
the dear judge's. `kept`: the share of draws in which the share of differing labels is at most .05: as the cascade has
them, and by the band alone, as if the dear judge did not decide the sample too (what the test is about). `saved`: the
mean share of the dear judge's calls that the band saves, without and with those of the sample.

With --ratings the two are ratings from 1 to 5, and the error is the mean absolute difference as a share of the scale.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import NormalDist, fmean
from typing import ClassVar, NamedTuple

import numpy as np

from summeter.evaluators.base import Evaluator
from summeter.evaluators.cascade import Cascade
from summeter.evaluators.derived import Member, MemberJudgments
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
    def members(self) -> tuple[Member, ...]:  # type: ignore[override]  # not from a text
        first, last = (CheapRating(), DearRating()) if self.ratings else (Cheap(), Dear())
        return Member(first), Member(last, partial=True)


class Draw(NamedTuple):
    """One draw: the error as it is and by the band alone, and the calls saved without and with the sample's."""

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
    """What both judges say of all items."""
    if ratings:
        truth = rng.normal(3.6, 1.0, items)
        dear = np.clip(np.rint(truth + rng.normal(0, 0.3, items)), 1, 5)
        # Sure at the ends, unsure in the middle, and a little too kind.
        cheap = np.clip(np.rint(truth + 0.1 + rng.normal(0, 0.3 + 0.5 * (np.abs(truth - 3) < 1), items)), 1, 5)
        labels: list[tuple[int | None, int | None]] = [(None, None)] * items
    else:
        dear = rng.integers(0, 2, items).astype(np.float64)
        z = rng.normal(SHIFT * (dear - 0.5), 1.0)
        cheap = 1 / (1 + np.exp(-SHIFT * z))  # P(dear = 1 | z)
        labels = [(int(own >= 0.5), int(other)) for own, other in zip(cheap, dear, strict=True)]
    return [
        both(item, float(own), float(other), *pair)
        for item, (own, other, pair) in enumerate(zip(cheap, dear, labels, strict=True))
    ]


def draw(judged: list[MemberJudgments], cascade: Simulated) -> Draw:
    """The cascade's labels beside the dear judge's, on all items."""
    plan = cascade.plan(judged)
    scale = cascade.scale[1] - cascade.scale[0]
    (stage,) = plan.stages
    errors, by_band = [], []
    for item, ((own,), (other,)) in judged:
        if own.label is not None:
            loss = float(own.label != other.label)
        else:
            loss = abs((own.value or 0.0) - (other.value or 0.0)) / scale
        goes_on = stage.band is not None and stage.band[0] <= (own.value or 0.0) <= stage.band[1]
        by_band.append(0.0 if goes_on else loss)
        errors.append(0.0 if goes_on or plan.decider[item] == 1 else loss)
    asked = sum(plan.decider.values())
    return Draw(fmean(errors), fmean(by_band), stage.decided / stage.reached, 1 - asked / len(judged))


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
