"""`cascade`: an inexpensive judge decides the confident cases, and an expensive judge the others.

The bound on the additional error uses Learn-then-Test (Angelopoulos, Bates, Candès, Jordan & Lei, 2021). Both judges
judge a random sample of the items. Bands of the first judge's values are tested on this sample, from the widest to the
empty band; the last band before the first failed test is used (`stats.certified`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from summeter.evaluators.aspects import ASPECTS
from summeter.evaluators.base import Role
from summeter.evaluators.derived import (
    SHARES,
    DerivedEvaluator,
    ItemKey,
    MemberJudge,
    MemberJudgments,
    Scale,
    check_named_once,
    common_units,
    joint_scale,
    named_members,
    opinion_of,
)
from summeter.records import Judgment, UsageError
from summeter.stats.base import Floats
from summeter.stats.risk import RiskBound, certified, risk_bound

Band = tuple[float, float]
Certainty = Callable[[float], float]
Values = Mapping[ItemKey, Sequence[float]]
"""The values of the units of each item."""

SAMPLE: Final = 300
"""Default number of items that both judges judge if `band` is "auto"."""
STEPS: Final = 100
"""Number of tested bands. With each band, the first judge decides one percent more of the items than with the previous
one.
"""
_CHOOSING = 3  # one in three items of the sample determines the order of bands for judges without a threshold
_BINS = 10
_PRIOR = 2.0  # pseudo-observations of the mean loss in each bin of values


class CascadePlan(NamedTuple):
    """The assignment of items to judges, given the judgments so far.

    `first` contains the items that the first judge has judged. `passed_on` contains the items with a value in `band`
    (both ends included, or None if the band is empty) and the items that the first judge could not judge. Both judges
    judge the `sample`: the second judge has decided the items in `sampled` and has not yet judged those in `waiting`.
    `bound` is the bound on the additional error, or None if no band was tested. `alike` is whether both judges judge
    the same kind of unit and aggregate it by shares.
    """

    sample: Set[ItemKey]
    first: Set[ItemKey]
    passed_on: Set[ItemKey]
    sampled: Set[ItemKey]
    waiting: Set[ItemKey]
    band: Band | None
    bound: RiskBound | None
    alike: bool


class Cascade(DerivedEvaluator):
    """Combine two judges of one aspect: `first` decides the confident cases, and `then` the others.

    Both judges are written as for `-e`. The second judge is the standard. A summary is passed on to the second judge as
    a whole if the value of one of its sentences (or its rating) is in the band of uncertain values, or if a value is
    missing.

    - `band="auto"`: both judges judge a random `sample`, and the narrowest band is used whose error is at most `error`
      with probability `confidence`. The error is the mean over all items of the share of sentences whose label differs
      from that of the second judge. For ratings, it is the mean absolute difference, as a share of the scale.
    - `band=[LOW,HIGH]`: this band is used.
    - `share`: the share of the items that is passed on, starting with the least certain items.
    - `sample`: the number of items that both judges judge. If `band` or `share` is set, the default is 0, and the
      sample is only used by `meta estimate`.
    - `aspect`: the aspect, which is passed to each judge with a setting of this name. `seed`: the random seed of the
      sample.

    The certainty of a value is its distance from the decision threshold of the first judge or, with `share` and without
    a threshold, from the middle of the scale. If `band` is "auto" and the first judge has no threshold, a third of the
    sample is used to estimate which values differ least from those of the second judge.

    Each judgment is that of the deciding judge, with its model and calls; the reason starts with the name of the judge.
    The second judge decides the items of the sample. If the judges judge different units or aggregate them differently,
    there is one judgment per summary.
    """

    name, version = "cascade", "1"
    summary = "An inexpensive judge decides the confident cases, an expensive one the others, within a bound."
    aspects = tuple(ASPECTS)
    roles: ClassVar[Mapping[str, Role]] = dict.fromkeys(("judge", "second", "extractor", "validator"), Role())
    always_signed = ("first", "then")

    first: str = "support"
    then: str = "finesure.fact_check"
    band: Literal["auto"] | Band = "auto"
    share: float | None = Field(default=None, gt=0, lt=1)
    error: float = Field(default=0.05, gt=0, lt=1)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    sample: int | None = Field(default=None, ge=0)
    seed: int = 0
    aspect: str | None = None

    @field_validator("band", mode="before")
    @classmethod
    def _check_band(cls, band: Any) -> Any:
        if band == "auto":
            return band
        two = isinstance(band, list | tuple) and len(band) == 2
        if not two or any(isinstance(end, bool) or not isinstance(end, int | float) for end in band):
            raise ValueError("must be auto or two numbers [LOW,HIGH]")
        if not -math.inf < band[0] <= band[1] < math.inf:
            raise ValueError("must be [LOW,HIGH] with finite LOW <= HIGH")
        return band

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            members = self.members
        except UsageError as error:
            raise ValueError(str(error)) from error
        names = " and ".join(self.judge_names)
        common = set.intersection(*(set(member.evaluator.active_aspects) for member in members))
        if not self.active_aspects:
            raise ValueError(f"{names} have no aspect in common{f' ({self.aspect})' if self.aspect else ''}")
        if self.aspect is None and len(common) > 1:
            raise ValueError(f"{names} both judge {', '.join(sorted(common))}; choose one with aspect=NAME")
        # Both judges must label the same values 1, or the labels would not be consistent with the values.
        thresholds = [member.evaluator.decision_threshold for member in members]
        known = [(name, value) for name, value in zip(self.judge_names, thresholds, strict=True) if value is not None]
        if len({value for _, value in known}) > 1:
            listed = ", ".join(f"{name}: {value:g}" for name, value in known)
            raise ValueError(f"its judges have different thresholds ({listed}); set them to one value")
        for member, binary in zip(members, self.judge_names, strict=True):
            for name, value in known:
                if member.evaluator.binary_units and not 0 < value <= 1:
                    raise ValueError(
                        f"{name} has the threshold {value:g}, but the values of {binary} are 0 and 1; set its threshold"
                    )
        if self.share is not None and self.band != "auto":
            raise ValueError("band and share cannot be combined; remove one")
        if not self.auto and (unused := {"error", "confidence"} & self.model_fields_set):
            raise ValueError(f"{sorted(unused)[0]} requires band=auto; a given band or share is not tested")
        if self.auto and self.sample == 0:
            raise ValueError("band=auto needs a sample that both judges judge, such as sample=300")
        return self

    @property
    def auto(self) -> bool:
        """Whether the band is determined by tests on the sample."""
        return self.band == "auto" and self.share is None

    @cached_property
    def members(self) -> tuple[MemberJudge, ...]:
        """The two judges. The second judge only judges the sample and the items passed on to it."""
        members: list[MemberJudge] = []
        for text in (self.first, self.then):
            judges = named_members(text, self.aspect)
            if len(judges) != 1:
                names = ", ".join(member.name for member in judges) or "none"
                raise UsageError(f"{text!r} stands for {len(judges)} judges of summaries ({names}); choose one of them")
            members.append(judges[0]._replace(partial=bool(members)))
        check_named_once(members)
        return tuple(members)

    @cached_property
    def judge_names(self) -> tuple[str, ...]:
        """The names of the judges, with their settings if both names are equal."""
        names = [member.name for member in self.members]
        if len(set(names)) < len(names):
            for number, member in enumerate(self.members):
                changed = member.evaluator.model_dump(mode="json", exclude_unset=True)
                settings = ",".join(f"{name}={value}" for name, value in changed.items() if name != "aspect")
                role = "" if member.role is None else f"@{member.role}"
                names[number] = f"{member.evaluator.name}{f'[{settings}]' if settings else ''}{role}"
        return tuple(names)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspect that both judges judge."""
        first, second = (member.evaluator.active_aspects for member in self.members)
        return tuple(aspect for aspect in first if aspect in second and self.aspect in (None, aspect))[:1]

    @property
    def decision_threshold(self) -> float | None:
        """The decision threshold of the judges, or None if neither judge has one."""
        thresholds = (member.evaluator.decision_threshold for member in self.members)
        return next((threshold for threshold in thresholds if threshold is not None), None)

    @property
    def rating_scale(self) -> Scale | None:
        """The scale of the judges, or (0, 1) if their scales differ."""
        return joint_scale(self.members)

    def undecided(self, judged: Sequence[MemberJudgments]) -> Container[ItemKey]:
        """Return the items of the sample and those that the first judge passes on."""
        plan = self.plan(judged)
        return plan.sample | plan.passed_on

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """Yield the judgments of each item that does not wait for the second judge."""
        plan = self.plan(judged)
        by_second = plan.passed_on | plan.sampled
        yield from self.judgments(judged, signature, plan, plan.first - by_second - plan.waiting, by_second)

    def judgments(
        self,
        judged: Iterable[MemberJudgments],
        signature: str,
        plan: CascadePlan,
        by_first: Container[ItemKey],
        by_second: Container[ItemKey],
    ) -> Iterator[Judgment]:
        """Yield the judgments of the items that each judge has decided, signed with `signature`."""
        (aspect,) = self.active_aspects
        first = self.judge_names[0]
        outside = "all values certain" if plan.band is None else f"outside {plan.band[0]:.3g} to {plan.band[1]:.3g}"
        for item, by_member in judged:
            if item not in by_second and item not in by_first:
                continue
            judge = int(item in by_second)
            rows = [row for row in by_member[judge] if row.aspect == aspect]
            cause = outside
            if judge == 1:
                cause = "in the random sample" if item in plan.sample else f"{first} was uncertain"
            why = f"decided by {self.judge_names[judge]} ({cause})"
            if plan.alike:
                for row in rows:
                    reason = why if row.reason is None else f"{why}: {row.reason}"
                    update = {"judge": self.name, "signature": signature, "prepared": None, "reason": reason}
                    yield row.model_copy(update=update)
            elif rows:
                opinion = opinion_of(self.members[judge], rows)
                value = opinion.on(self.rating_scale or SHARES)
                fields: dict[str, Any] = {"value": value, "reason": why}
                if value is None:
                    status = opinion.status if opinion.status != "ok" else "skipped"
                    fields = {"status": status, "reason": f"{why}: {opinion.reason or 'its judgment has no value'}"}
                cut = max((row.truncated_tokens for row in rows if row.truncated_tokens), default=None)
                yield self.judgment(item, signature, aspect, sources=rows, truncated_tokens=cut, **fields)

    def shuffled(self, items: Iterable[ItemKey]) -> list[ItemKey]:
        """Return the items in a random order, which is determined by hashes of the seed and the items."""
        return sorted(items, key=lambda item: blake2b(repr((self.seed, *item)).encode(), digest_size=16).digest())

    def plan(self, judged: Sequence[MemberJudgments]) -> CascadePlan:
        """Return which judge decides which items, given the judgments so far."""
        (aspect,) = self.active_aspects
        size = (SAMPLE if self.auto else 0) if self.sample is None else self.sample
        sample = self.shuffled(item for item, _ in judged)[:size]
        in_sample = frozenset(sample)
        first, passed_on, sampled, waiting = (set[ItemKey]() for _ in range(4))
        values: dict[ItemKey, Sequence[float]] = {}
        losses: dict[ItemKey, float] = {}
        units: tuple[set[str], set[str]] = set(), set()
        for item, by_member in judged:
            rows, others = ([row for row in judgments if row.aspect == aspect] for judgments in by_member)
            for of_member, judgments in zip(units, (rows, others), strict=True):
                of_member.update(row.target.unit for row in judgments if row.status == "ok")
            if rows:
                first.add(item)
                numbers = [row.label if row.value is None else row.value for row in rows if row.status == "ok"]
                known = [float(number) for number in numbers if isinstance(number, int | float)]
                if len(known) == len(rows):
                    values[item] = known
                else:
                    passed_on.add(item)
            if item in in_sample and not by_member[1]:
                waiting.add(item)
            if item in in_sample and any(row.status == "ok" for row in others):
                sampled.add(item)
                loss = self._loss(rows, others) if rows else None
                if loss is not None:
                    losses[item] = loss
        band, bound = None, None
        if isinstance(self.band, tuple):
            low, high = band = self.band
            passed_on |= {item for item, of_item in values.items() if any(low <= value <= high for value in of_item)}
        elif values and self.share is not None:
            certainty = _by_distance(self.members[0], values)
            lowest = {item: min(map(certainty, of_item)) for item, of_item in values.items()}
            ordered = sorted(self.shuffled(lowest), key=lowest.__getitem__)
            selected = ordered[: max(0, math.ceil(self.share * len(first)) - len(passed_on))]
            passed_on |= set(selected)
            band = _band(certainty, values, max((lowest[item] for item in selected), default=-math.inf))
        elif values:
            uncertain, band, bound = self._tested(
                values, [item for item in sample if item in losses], losses, len(judged)
            )
            passed_on |= uncertain
        alike = (not all(units) or units[0] == units[1]) and all(
            member.evaluator.reduce == "share" for member in self.members
        )
        return CascadePlan(in_sample, first, passed_on, sampled & first, waiting, band, bound, alike)

    def _tested(
        self, values: Values, testing: Sequence[ItemKey], losses: Mapping[ItemKey, float], population: int
    ) -> tuple[set[ItemKey], Band | None, RiskBound]:
        """Return the narrowest band that passes the tests on the sample, with its items and bound.

        The result is (items, band, bound).
        """
        certainty = _by_distance(self.members[0], values)
        distinct = {certainty(value) for of_item in values.values() for value in of_item}
        if self.members[0].evaluator.decision_threshold is None or len(distinct) == 1:
            chosen, testing = testing[: len(testing) // _CHOOSING], testing[len(testing) // _CHOOSING :]
            population -= len(chosen)
            pairs = [(value, losses[item]) for item in chosen if item in values for value in values[item]]
            certainty = _by_loss(pairs, [value for of_item in values.values() for value in of_item])
        lowest = {item: min(map(certainty, of_item)) for item, of_item in values.items()}
        # The certainty up to which items are passed on, from the widest to the empty band, in steps of 1 %.
        ordered = np.sort(np.fromiter(lowest.values(), np.float64))
        passed = (len(ordered) - math.floor(len(ordered) * step / STEPS) for step in range(1, STEPS + 1))
        marks = list(dict.fromkeys(float(ordered[count - 1]) if count else -math.inf for count in passed))
        on_sample = np.array([lowest.get(item, -math.inf) for item in testing])
        on_losses = np.array([losses[item] for item in testing], np.float64)

        def loss_at(mark: float) -> Floats:
            return np.where(on_sample > mark, on_losses, 0.0)

        accepted = certified(map(loss_at, marks), self.error, self.confidence, population)
        mark = marks[accepted - 1] if accepted else math.inf
        uncertain = {item for item, of_item in lowest.items() if of_item <= mark}
        return uncertain, _band(certainty, values, mark), risk_bound(loss_at(mark), self.confidence, population)

    def _loss(self, rows: Sequence[Judgment], others: Sequence[Judgment]) -> float | None:
        """Return the loss of the first judge's judgments of an item, from 0 to 1.

        The loss is the share of units with different labels, or the mean absolute difference as a share of the scale.
        Returns None if no unit has comparable judgments.
        """
        losses = []
        for unit in common_units([rows, others]):
            first, second = (opinion_of(*each, unit) for each in zip(self.members, (rows, others), strict=True))
            if first.status != "ok" or second.status != "ok":
                continue
            labels = [opinion.judgment and opinion.judgment.label for opinion in (first, second)]
            value, standard = first.on(SHARES), second.on(SHARES)
            if None not in labels:
                losses.append(float(labels[0] != labels[1]))
            elif value is not None and standard is not None:
                losses.append(min(1.0, abs(value - standard)))
        return math.fsum(losses) / len(losses) if losses else None


def _by_distance(member: MemberJudge, values: Values) -> Certainty:
    """Return a function that maps a value to its certainty, by its distance from a center.

    The center is the threshold of the judge or, if it has none, the middle of the scale.

    The distance is divided by the distance between the center and the end of the scale on the same side.
    """
    observed = [value for of_item in values.values() for value in of_item]
    low, high = member.evaluator.rating_scale or member.evaluator.value_range or (min(observed), max(observed))
    threshold = member.evaluator.decision_threshold
    center = (low + high) / 2 if threshold is None else threshold

    def certainty(value: float) -> float:
        side = high - center if value >= center else center - low
        return abs(value - center) / side if side > 0 else math.inf

    return certainty


def _by_loss(pairs: Sequence[tuple[float, float]], values: Sequence[float]) -> Certainty:
    """Return a function that maps a value to its certainty, by its agreement with the second judge.

    `pairs` contains values of the first judge with their losses. Values are grouped into bins. The outer bin with the
    smaller mean loss is removed repeatedly, so that the remaining bins always form a band; a bin that is removed
    earlier is more certain.
    """
    distinct = sorted(set(values))
    edges = distinct
    if len(distinct) > _BINS:
        ordered = sorted(values)
        edges = sorted({ordered[len(ordered) * number // _BINS] for number in range(_BINS)})

    def bin_of(value: float) -> int:
        return max(0, bisect_right(edges, value) - 1)

    overall = math.fsum(loss for _, loss in pairs) / len(pairs) if pairs else 0.5
    sums, counts = [_PRIOR * overall] * len(edges), [_PRIOR] * len(edges)
    for value, loss in pairs:
        sums[bin_of(value)] += loss
        counts[bin_of(value)] += 1
    mean = [total / count for total, count in zip(sums, counts, strict=True)]
    certainty = [0.0] * len(edges)
    left, right = 0, len(edges) - 1
    while left < right:
        at = left if mean[left] < mean[right] else right
        certainty[at] = float(right - left)
        left, right = (left + 1, right) if at == left else (left, right - 1)
    return lambda value: certainty[bin_of(value)]


def _band(certainty: Certainty, values: Values, mark: float) -> Band | None:
    """Return the lowest and highest value whose certainty is at most `mark`."""
    uncertain = [value for of_item in values.values() for value in of_item if certainty(value) <= mark]
    return (min(uncertain), max(uncertain)) if uncertain else None
