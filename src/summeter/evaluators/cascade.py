"""`cascade`: an inexpensive judge decides the confident cases, an expensive one the others.

The bound on the error that this adds is by Learn-then-Test (Angelopoulos, Bates, Candès, Jordan & Lei, 2021): both
judges judge a random sample; bands of the first judge's values, from the widest to none, are tested on it in that
order, and the last before the first that fails is taken (`stats.certified`).
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
Sureness = Callable[[float], float]
Values = Mapping[ItemKey, Sequence[float]]
"""The values of each item's units."""

SAMPLE: Final = 300
"""Items that both judges judge where a band is looked for."""
STEPS: Final = 100
"""Bands that are tested: each decides one percent of the items more than the one before."""
_CHOOSING = 3  # of a sample, one in so many chooses the order of bands where the judge's values give none
_BINS = 10
_PRIOR = 2.0  # observations of the mean loss that each bin of values begins with


class CascadePlan(NamedTuple):
    """Which judge decides which items, as far as is known.

    The first has judged the items `first`, and passes on `passed_on`: those with a value in the `band` (both ends in
    it; None: no value is), or that it could not judge. Both judge the `sample`: its items in `sampled` the second has
    decided, those in `waiting` it has not judged. `bound` is the error that this adds, as the sample has it; None where
    the band was given, not tested. `alike`: both judge the same kind of unit.
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
    """Two judges of one aspect: `first` judges everything and decides what it is sure of, `then` the rest.

    Both are named as for `-e`. The second sets the standard. A summary is passed on whole: where any of its sentences
    (or its rating) lies in the band of values in which the first judge is not sure, or was not judged.

    `band="auto"`: both judges judge a random `sample`, and the narrowest band is taken for which the error is, with
    `confidence`, at most `error`: the mean over all items of the share of sentences whose label differs from the second
    judge's; for ratings, the mean absolute difference as a share of the scale. `band=[LOW,HIGH]` is taken as it is.
    `share`: that share of the items is passed on, the least sure. With these two `sample` (none by default) serves
    `meta estimate` alone. `aspect` is handed to each judge that has such a setting. `seed` draws the sample.

    How sure: by the distance of a value from the judge's decision threshold (or the middle of its scale, with `share`);
    where it has none, a third of the sample says which values differ least from the second judge's.

    Each judgment is that of the judge that decided: it has its model and calls, and its name begins the reason. On the
    sample the second decides. Where the judges judge different units, or reduce them differently, there is one judgment
    a summary.
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
    def _auto_or_two_numbers(cls, band: Any) -> Any:
        if band == "auto":
            return band
        two = isinstance(band, list | tuple) and len(band) == 2
        if not two or any(isinstance(end, bool) or not isinstance(end, int | float) for end in band):
            raise ValueError("it is auto, or the two numbers [LOW,HIGH]")
        if not -math.inf < band[0] <= band[1] < math.inf:
            raise ValueError("a band is [LOW,HIGH], finite, LOW not above HIGH")
        return band

    @model_validator(mode="after")
    def _can_work(self) -> Self:
        try:
            members = self.members
        except UsageError as error:
            raise ValueError(str(error)) from error
        names = " and ".join(self.named)
        common = set.intersection(*(set(member.evaluator.active_aspects) for member in members))
        if not self.active_aspects:
            raise ValueError(f"{names} judge no aspect in common{f' ({self.aspect})' if self.aspect else ''}")
        if self.aspect is None and len(common) > 1:
            raise ValueError(f"{names} both judge {', '.join(sorted(common))}: name one with aspect=...")
        # A value that one judge labels 1 must not be a 0 of the other: labels would not follow values.
        thresholds = [member.evaluator.decision_threshold for member in members]
        stated = [(name, line) for name, line in zip(self.named, thresholds, strict=True) if line is not None]
        if len({line for _, line in stated}) > 1:
            shown = " and ".join(f"{name} from {line:g}" for name, line in stated)
            raise ValueError(f"its judges label 1 from unlike values on ({shown}); give them one threshold")
        for member, binary in zip(members, self.named, strict=True):
            for name, line in stated:
                if member.evaluator.binary_units and not 0 < line <= 1:
                    raise ValueError(
                        f"{name} labels 1 from {line:g} on, where {binary} gives 0 and 1: set its threshold"
                    )
        if self.share is not None and self.band != "auto":
            raise ValueError("give a band or a share, not both")
        if not self.auto and (strange := {"error", "confidence"} & self.model_fields_set):
            raise ValueError(f"{sorted(strange)[0]} is for band=auto; a band or a share that is given is not tested")
        if self.auto and self.sample == 0:
            raise ValueError("band=auto needs a sample that both judges judge: sample=300, say")
        return self

    @property
    def auto(self) -> bool:
        """Whether the band is looked for."""
        return self.band == "auto" and self.share is None

    @cached_property
    def members(self) -> tuple[MemberJudge, ...]:
        """The two judges; the second judges what is passed on to it."""
        members: list[MemberJudge] = []
        for text in (self.first, self.then):
            named = named_members(text, self.aspect)
            if len(named) != 1:
                parts = ", ".join(member.name for member in named) or "none"
                raise UsageError(
                    f"{text!r} names {len(named)} judges of summaries ({parts}), and one has to decide; name it"
                )
            members.append(named[0]._replace(partial=bool(members)))
        check_named_once(members)
        return tuple(members)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The judges' names, with the settings they were given where both have one name."""
        names = [member.name for member in self.members]
        if len(set(names)) == len(names):
            return tuple(names)
        named = []
        for member in self.members:
            given = member.evaluator.model_dump(mode="json", exclude_unset=True)
            settings = ",".join(f"{name}={value}" for name, value in given.items() if name != "aspect")
            role = "" if member.role is None else f"@{member.role}"
            named.append(f"{member.evaluator.name}{f'[{settings}]' if settings else ''}{role}")
        return tuple(named)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspect that both judges judge."""
        first, second = (member.evaluator.active_aspects for member in self.members)
        return tuple(aspect for aspect in first if aspect in second and self.aspect in (None, aspect))[:1]

    @property
    def decision_threshold(self) -> float | None:
        """That of the judges that state one."""
        thresholds = (member.evaluator.decision_threshold for member in self.members)
        return next((threshold for threshold in thresholds if threshold is not None), None)

    @property
    def rating_scale(self) -> Scale | None:
        """The judges' scale; 0 to 1 where they have different ones."""
        return joint_scale(self.members)

    def undecided(self, judged: Sequence[MemberJudgments]) -> Container[ItemKey]:
        """The sample, and what the first judge was not sure of."""
        plan = self.plan(judged)
        return plan.sample | plan.passed_on

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """The judgments of the judge that decided each item; none where that or the sample waits for the second."""
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
        """The judgments of the items that each judge decides, signed with `signature`."""
        (aspect,) = self.active_aspects
        first, second = self.named
        outside = "sure of all" if plan.band is None else f"outside {plan.band[0]:.3g} to {plan.band[1]:.3g}"
        for item, by_member in judged:
            if item not in by_second and item not in by_first:
                continue
            place = int(item in by_second)
            rows = [row for row in by_member[place] if row.aspect == aspect]
            cause = (
                outside if place == 0 else "in the random sample" if item in plan.sample else f"{first} was not sure"
            )
            why = f"decided by {second if place else first} ({cause})"
            if plan.alike:
                for row in rows:
                    reason = why if row.reason is None else f"{why}: {row.reason}"
                    update = {"judge": self.name, "signature": signature, "prepared": None, "reason": reason}
                    yield row.model_copy(update=update)
            elif rows:
                opinion = opinion_of(self.members[place], rows)
                value = opinion.on(self.rating_scale or SHARES)
                fields: dict[str, Any] = {"value": value, "reason": why}
                if value is None:
                    status = opinion.status if opinion.status != "ok" else "skipped"
                    fields = {"status": status, "reason": f"{why}: {opinion.reason or 'its judgment is no number'}"}
                cut = max((row.truncated_tokens for row in rows if row.truncated_tokens), default=None)
                yield self.judgment(item, signature, aspect, behind=rows, truncated_tokens=cut, **fields)

    def draw(self, items: Iterable[ItemKey]) -> list[ItemKey]:
        """These items in a random order, by their hashes with the seed."""
        return sorted(items, key=lambda item: blake2b(repr((self.seed, *item)).encode(), digest_size=16).digest())

    def plan(self, judged: Sequence[MemberJudgments]) -> CascadePlan:
        """Which judge decides which items, from what is judged so far."""
        (aspect,) = self.active_aspects
        size = (SAMPLE if self.auto else 0) if self.sample is None else self.sample
        sample = self.draw(item for item, _ in judged)[:size]
        in_sample = frozenset(sample)
        first, passed_on, sampled, waiting = (set[ItemKey]() for _ in range(4))
        values: dict[ItemKey, Sequence[float]] = {}
        losses: dict[ItemKey, float] = {}
        kinds: tuple[set[str], set[str]] = set(), set()
        for item, by_member in judged:
            rows, others = ([row for row in own if row.aspect == aspect] for own in by_member)
            for kind, own in zip(kinds, (rows, others), strict=True):
                kind.update(row.target.unit for row in own if row.status == "ok")
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
            passed_on |= {item for item, own in values.items() if any(low <= value <= high for value in own)}
        elif values and self.share is not None:
            sureness = _by_distance(self.members[0], values)
            least = {item: min(map(sureness, own)) for item, own in values.items()}
            ordered = sorted(self.draw(least), key=least.__getitem__)
            taken = ordered[: max(0, math.ceil(self.share * len(first)) - len(passed_on))]
            passed_on |= set(taken)
            band = _band(sureness, values, max((least[item] for item in taken), default=-math.inf))
        elif values:
            unsure, band, bound = self._tested(values, [item for item in sample if item in losses], losses, len(judged))
            passed_on |= unsure
        alike = (not all(kinds) or kinds[0] == kinds[1]) and all(
            member.evaluator.reduce == "share" for member in self.members
        )
        return CascadePlan(in_sample, first, passed_on, sampled & first, waiting, band, bound, alike)

    def _tested(
        self, values: Values, testing: Sequence[ItemKey], losses: Mapping[ItemKey, float], population: int
    ) -> tuple[set[ItemKey], Band | None, RiskBound]:
        """The narrowest band of which the sample `testing` says that it keeps the bound: the items in it, its ends, the
        bound."""
        sureness = _by_distance(self.members[0], values)
        distinct = {sureness(value) for own in values.values() for value in own}
        if self.members[0].evaluator.decision_threshold is None or len(distinct) == 1:
            chosen, testing = testing[: len(testing) // _CHOOSING], testing[len(testing) // _CHOOSING :]
            population -= len(chosen)
            pairs = [(value, losses[item]) for item in chosen if item in values for value in values[item]]
            sureness = _by_loss(pairs, [value for own in values.values() for value in own])
        least = {item: min(map(sureness, own)) for item, own in values.items()}
        # The sureness up to which items are passed on, from the widest band to none; each step decides a percent more.
        ordered = np.sort(np.fromiter(least.values(), np.float64))
        passed = (len(ordered) - math.floor(len(ordered) * step / STEPS) for step in range(1, STEPS + 1))
        marks = list(dict.fromkeys(float(ordered[count - 1]) if count else -math.inf for count in passed))
        on_sample = np.array([least.get(item, -math.inf) for item in testing])
        on_losses = np.array([losses[item] for item in testing], np.float64)

        def loss_at(mark: float) -> Floats:
            return np.where(on_sample > mark, on_losses, 0.0)

        kept = certified(map(loss_at, marks), self.error, self.confidence, population)
        mark = marks[kept - 1] if kept else math.inf
        unsure = {item for item, own in least.items() if own <= mark}
        return unsure, _band(sureness, values, mark), risk_bound(loss_at(mark), self.confidence, population)

    def _loss(self, rows: Sequence[Judgment], others: Sequence[Judgment]) -> float | None:
        """How far the first judge's judgments of an item are from the second's, from 0 to 1: the share of units
        labelled otherwise, or the mean difference as a share of the scale. None where nothing can be compared."""
        losses = []
        for unit in common_units([rows, others]):
            own, other = (opinion_of(*each, unit) for each in zip(self.members, (rows, others), strict=True))
            if own.status != "ok" or other.status != "ok":
                continue
            labels = [opinion.judgment and opinion.judgment.label for opinion in (own, other)]
            value, standard = own.on(SHARES), other.on(SHARES)
            if None not in labels:
                losses.append(float(labels[0] != labels[1]))
            elif value is not None and standard is not None:
                losses.append(min(1.0, abs(value - standard)))
        return math.fsum(losses) / len(losses) if losses else None


def _by_distance(member: MemberJudge, values: Values) -> Sureness:
    """How far a value is from the judge's threshold, or from the middle of its scale where it has none, as a share of
    the way to the end of its side."""
    drawn = [value for own in values.values() for value in own]
    low, high = member.evaluator.rating_scale or member.evaluator.value_range or (min(drawn), max(drawn))
    threshold = member.evaluator.decision_threshold
    at = (low + high) / 2 if threshold is None else threshold

    def sureness(value: float) -> float:
        way = high - at if value >= at else at - low
        return abs(value - at) / way if way > 0 else math.inf

    return sureness


def _by_loss(pairs: Sequence[tuple[float, float]], values: Sequence[float]) -> Sureness:
    """Values that differ least from the second judge's are the surest: of bins of values, from all to none, the outer
    one with the smaller mean loss is left out first, so that what is left is a band."""
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
    sureness = [0.0] * len(edges)
    left, right = 0, len(edges) - 1
    while left < right:
        at = left if mean[left] < mean[right] else right
        sureness[at] = float(right - left)
        left, right = (left + 1, right) if at == left else (left, right - 1)
    return lambda value: sureness[bin_of(value)]


def _band(sureness: Sureness, values: Values, mark: float) -> Band | None:
    """The values that are no surer than `mark`: least and greatest."""
    unsure = [value for own in values.values() for value in own if sureness(value) <= mark]
    return (min(unsure), max(unsure)) if unsure else None
