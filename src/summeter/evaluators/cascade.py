"""`cascade`: a cheap judge decides what it is sure of, a dear one the rest.

The bound on the error that this adds is by Learn-then-Test (Angelopoulos, Bates, Candès, Jordan & Lei, 2021): all
judges judge a random sample; bands of the cheap judge's values, from the widest to none, are tested on it in that
order, and the last before the first that fails is taken (`stats.certified`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from summeter.evaluators.aspects import ASPECTS
from summeter.evaluators.base import Role
from summeter.evaluators.derived import (
    ItemKey,
    JoinedEvaluator,
    Member,
    MemberJudgments,
    common_units,
    named_members,
    opinion_of_summary,
    opinion_of_unit,
)
from summeter.records import Judgment, UsageError
from summeter.stats.base import Floats
from summeter.stats.risk import RiskBound, certified, risk_bound

Band = tuple[float, float]
Sureness = Callable[[float], float]

SAMPLE: Final = 300
"""Items that all judges judge where a band is looked for."""
STEPS: Final = 100
"""Bands that are tested: each decides one percent of the items more than the one before."""
_CHOOSING = 3  # of a sample, one in so many chooses the order of bands where the judge's values give none
_BINS = 10
_PRIOR = 2.0  # observations of the mean loss that each bin of values begins with


class StagePlan(NamedTuple):
    """What one judge but the last does: of the `reached` items it decides `decided`, those with no value in the `band`
    (both ends in it; None: it decides all). `bound` is the error that this adds, as the sample has it; None where the
    band was given, not tested."""

    member: Member
    band: Band | None
    reached: int
    decided: int
    bound: RiskBound | None = None


@dataclass(frozen=True)
class CascadePlan:
    """Who decides what. `decider` is the place of the judge that decides an item, or whose judgment is waited for;
    `by_band` likewise, as if the sample were not judged by all. `sample` are the items that all judge. `alike`: all
    judges judge the same kind of unit."""

    sample: frozenset[ItemKey]
    by_band: Mapping[ItemKey, int] = field(default_factory=dict)
    decider: Mapping[ItemKey, int] = field(default_factory=dict)
    stages: tuple[StagePlan, ...] = ()
    alike: bool = True


class Cascade(JoinedEvaluator):
    """Two or more judges of one aspect: `first` judges everything and decides what it is sure of, `then` the rest.

    `first` and `then` name them as for `-e`; `then` may name several with plus signs between, each for what the one
    before is not sure of. The last one sets the standard. A summary goes on whole: where any of its sentences (or its
    rating) lies in the band of values in which the judge is not sure, or was not judged.

    `band="auto"`: all judges judge a random `sample`, and the narrowest band is taken for which the error is, with
    `confidence`, at most `error`: the mean over all items of the share of sentences whose label differs from the last
    judge's; for ratings, the mean absolute difference as a share of the scale. `band=[LOW,HIGH]` (of several judges one
    each) is taken as it is. `share`: that share of the items goes on, the least sure. With these two `sample` (none by
    default) serves `meta estimate` alone. `aspect` is handed to every judge that has such a setting. `seed` draws the
    sample.

    How sure: by the distance of a value from the judge's decision threshold (or the middle of its scale, with `share`);
    where it has none, a third of the sample says which values differ least from the last judge's.

    Each judgment is that of the judge that decided, whose name begins the reason, and whose model and calls it has. On
    the sample the last judge decides. Where the judges judge different units, or reduce them differently, there is one
    judgment a summary.
    """

    name: ClassVar[str] = "cascade"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "A cheap judge decides what it is sure of, a dear one the rest, within a bound."
    aspects: ClassVar[tuple[str, ...]] = tuple(ASPECTS)
    roles: ClassVar[Mapping[str, Role]] = dict.fromkeys(("judge", "second", "extractor", "validator"), Role())

    first: str = "support"
    then: str = "finesure.fact_check"
    band: Literal["auto"] | tuple[Band, ...] = "auto"
    share: float | None = Field(default=None, gt=0, lt=1)
    error: float = Field(default=0.05, gt=0, lt=1)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    sample: int | None = Field(default=None, ge=0)
    seed: int = 0
    aspect: str | None = None

    @field_validator("then", mode="before")
    @classmethod
    def _joined(cls, then: Any) -> Any:
        return "+".join(map(str, then)) if isinstance(then, list | tuple) else then

    @field_validator("band", mode="before")
    @classmethod
    def _listed(cls, band: Any) -> Any:
        listed = isinstance(band, list | tuple) and band and not isinstance(band[0], list | tuple)
        bands = (band,) if listed else band
        if bands != "auto" and not (isinstance(bands, list | tuple) and bands and all(map(_is_pair, bands))):
            raise ValueError("it is auto, or the two numbers [LOW,HIGH] (of several judges one pair each)")
        return bands

    @model_validator(mode="after")
    def _can_work(self) -> Self:
        try:
            members = self.members
        except UsageError as error:
            raise ValueError(str(error)) from error
        names = self.named
        common = set.intersection(*(set(member.evaluator.measured) for member in members)) - {self.aspect}
        if not self.measured:
            raise ValueError(
                f"{' and '.join(names)} judge no aspect in common{f' ({self.aspect})' if self.aspect else ''}"
            )
        if self.aspect is None and len(common) > 1:
            raise ValueError(f"{' and '.join(names)} all judge {', '.join(sorted(common))}: name one with aspect=...")
        self._share_a_threshold(members, names)
        given = self.model_fields_set
        if self.share is not None and self.band != "auto":
            raise ValueError("give a band or a share, not both")
        if (self.share is not None or self.band != "auto") and (strange := {"error", "confidence"} & given):
            raise ValueError(f"{sorted(strange)[0]} is for band=auto; a band or a share that is given is not tested")
        if self.band != "auto":
            if len(self.band) != len(members) - 1:
                raise ValueError(
                    f"{len(members) - 1} bands are needed, one for each judge but the last, not {len(self.band)}"
                )
            if any(not -math.inf < low <= high < math.inf for low, high in self.band):
                raise ValueError("a band is [LOW,HIGH], finite, LOW not above HIGH")
        if self.auto and self.sample == 0:
            raise ValueError("band=auto needs a sample that all judges judge: sample=300, say")
        return self

    @staticmethod
    def _share_a_threshold(members: Sequence[Member], names: Sequence[str]) -> None:
        """Raises ValueError where a value that one judge labels 1 is a 0 of another: labels would not follow values."""
        lines = {
            name: line
            for member, name in zip(members, names, strict=True)
            if (line := member.evaluator.decision_threshold) is not None
        }
        if len(set(lines.values())) > 1:
            shown = " and ".join(f"{name} from {line:g}" for name, line in lines.items())
            raise ValueError(f"its judges label 1 from unlike values on ({shown}); give them one threshold")
        for member, binary in zip(members, names, strict=True):
            for name, line in lines.items():
                if member.evaluator.binary_units and not 0 < line <= 1:
                    raise ValueError(
                        f"{name} labels 1 from {line:g} on, where {binary} gives 0 and 1: set its threshold"
                    )

    @property
    def auto(self) -> bool:
        """Whether the band is looked for."""
        return self.band == "auto" and self.share is None

    @property
    def sample_size(self) -> int:
        """How many items all judges judge, where there are as many."""
        return (SAMPLE if self.auto else 0) if self.sample is None else self.sample

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The judges, the first one first; the others judge what comes to them."""
        members: list[Member] = []
        for place, text in enumerate((self.first, *_names(self.then))):
            named = named_members(text, self.aspect)
            if len(named) != 1:
                parts = ", ".join(member.name for member in named) or "none"
                raise UsageError(
                    f"{text!r} names {len(named)} judges of summaries ({parts}), and one has to decide; name it"
                )
            members.append(named[0]._replace(partial=place > 0))
        if len(members) < 2:
            raise UsageError("a cascade needs a judge in `then`")
        signed = [(member.name, member.evaluator.sign({})) for member in members]
        if len(set(signed)) < len(signed):
            twice = next(name for name, _ in signed if sum(name == other for other, _ in signed) > 1)
            raise UsageError(f"{twice} is named twice; name it once, or ask another model (NAME@ROLE)")
        return tuple(members)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The judges' names, with the settings they were given where two share a name."""
        names = [member.name for member in self.members]
        return tuple(_with_settings(member) if names.count(member.name) > 1 else member.name for member in self.members)

    @property
    def measured(self) -> tuple[str, ...]:
        """The aspect that all judges judge."""
        first, *others = (member.evaluator.measured for member in self.members)
        common = [aspect for aspect in first if all(aspect in other for other in others)]
        return tuple(aspect for aspect in common if self.aspect in (None, aspect))[:1]

    @property
    def decision_threshold(self) -> float | None:
        """That of the judges that state one."""
        thresholds = {member.evaluator.decision_threshold for member in self.members} - {None}
        return thresholds.pop() if thresholds else None

    def signature_fields(self) -> Mapping[str, object]:
        """Those named, always, and what they sign."""
        return {**super().signature_fields(), "first": self.first, "then": self.then, **self.signed_members()}

    def sampled(self, items: Sequence[ItemKey]) -> frozenset[ItemKey]:
        """The random sample of these items: those whose hashes with the seed are the least."""
        return frozenset(sorted(items, key=self._draw)[: self.sample_size])

    def _draw(self, item: ItemKey) -> bytes:
        return blake2b(repr((self.seed, *item)).encode(), digest_size=16).digest()

    def wanted(self, place: int, judged: Sequence[MemberJudgments]) -> Container[ItemKey]:
        """The sample, and what the judges before were not sure of."""
        plan = self.plan(judged)
        return plan.sample | {item for item, decider in plan.decider.items() if decider >= place}

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        """The judgments of the judge that decided each item."""
        yield from self.judgments(judged, signature, self.plan(judged))

    def judgments(self, judged: Iterable[MemberJudgments], signature: str, plan: CascadePlan) -> Iterator[Judgment]:
        """Those that a plan gives, signed with `signature`."""
        (aspect,) = self.measured
        for item, by_member in judged:
            place = plan.decider.get(item)
            if place is None:
                continue
            if rows := [row for row in by_member[place] if row.aspect == aspect]:
                yield from self._decided(item, signature, rows, plan, place)

    def plan(self, judged: Sequence[MemberJudgments]) -> CascadePlan:
        """Who decides what, from what is judged so far."""
        read = _Read(self, judged)
        alike = len({kinds for kinds in map(frozenset, read.kinds) if kinds}) < 2 and all(
            member.evaluator.reduce == "share" for member in self.members
        )
        decider = dict.fromkeys(read.values[0], 0)
        stages = []
        for place in range(len(self.members) - 1):
            values = {item: read.values[place].get(item, ()) for item, at in decider.items() if at == place}
            values = {item: own for item, own in values.items() if item in read.values[place]}
            stage, going = self._stage(place, values, read)
            stages.append(stage)
            decider |= dict.fromkeys(going, place + 1)
        last = len(self.members) - 1
        sampled = {item: last for item in read.sample if item in decider and item in read.last_usable}
        return CascadePlan(read.sample, decider, {**decider, **sampled}, tuple(stages), alike)

    def _stage(
        self, place: int, values: Mapping[ItemKey, Sequence[float] | None], read: _Read
    ) -> tuple[StagePlan, set[ItemKey]]:
        """What one judge decides, and the items that go on. `values` are None where something could not be judged."""
        member = self.members[place]
        sure = {item: own for item, own in values.items() if own}
        going = {item for item, own in values.items() if not own}

        def stage(band: Band | None, bound: RiskBound | None = None) -> tuple[StagePlan, set[ItemKey]]:
            return StagePlan(member, band, len(values), len(values) - len(going), bound), going

        if self.band != "auto":
            low, high = self.band[place]
            going |= {item for item, own in sure.items() if any(low <= value <= high for value in own)}
            return stage((low, high))
        if not sure:
            return stage(None)
        if self.share is not None:
            sureness = _by_distance(member, sure)
            least = {item: min(map(sureness, own)) for item, own in sure.items()}
            ordered = sorted(least, key=lambda item: (least[item], self._draw(item)))
            taken = ordered[: max(0, math.ceil(self.share * len(values)) - len(going))]
            going |= set(taken)
            return stage(_band(sureness, sure, max((least[item] for item in taken), default=-math.inf)))
        return self._tested(place, sure, going, read, stage)

    def _tested(
        self, place: int, sure: Mapping[ItemKey, Sequence[float]], going: set[ItemKey], read: _Read,
        stage: Callable[[Band | None, RiskBound | None], tuple[StagePlan, set[ItemKey]]],
    ) -> tuple[StagePlan, set[ItemKey]]:  # fmt: skip
        """The narrowest band of which the sample says that it keeps the bound."""
        stages = len(self.members) - 1
        error, confidence = self.error / stages, 1 - (1 - self.confidence) / stages
        losses = read.losses[place]
        sureness = _by_distance(self.members[place], sure)
        # A later judge's bands depend on where the one before stopped, so each is tested on a part of its own.
        testing = [item for item in read.order[place::stages] if item in losses]
        population = read.items - (len(losses) - len(testing))
        unlike = {sureness(value) for own in sure.values() for value in own}
        if self.members[place].evaluator.decision_threshold is None or len(unlike) == 1:
            chosen, testing = testing[: len(testing) // _CHOOSING], testing[len(testing) // _CHOOSING :]
            population -= len(chosen)
            pairs = [(value, losses[item]) for item in chosen if item in sure for value in sure[item]]
            sureness = _by_loss(pairs, [value for own in sure.values() for value in own])
        least = {item: min(map(sureness, own)) for item, own in sure.items()}
        marks = _marks(np.sort(np.fromiter(least.values(), np.float64)))
        on_sample = np.array([least.get(item, -math.inf) for item in testing])
        on_losses = np.array([losses[item] for item in testing], np.float64)

        def loss_at(mark: float) -> Floats:
            return np.where(on_sample > mark, on_losses, 0.0)

        kept = certified(map(loss_at, marks), error, confidence, population)
        mark = marks[kept - 1] if kept else math.inf
        going |= {item for item, own in least.items() if own <= mark}
        return stage(_band(sureness, sure, mark), risk_bound(loss_at(mark), confidence, population))

    def _decided(
        self, item: ItemKey, signature: str, rows: Sequence[Judgment], plan: CascadePlan, place: int
    ) -> Iterator[Judgment]:
        member, (aspect,) = self.members[place], self.measured
        why = f"decided by {self.named[place]} ({self._why(item, plan, place)})"
        models = ",".join(dict.fromkeys(row.model for row in rows if row.model is not None)) or None
        if plan.alike:
            for row in rows:
                reason = why if row.reason is None else f"{why}: {row.reason}"
                update = {"judge": self.name, "signature": signature, "prepared": None, "reason": reason}
                yield row.model_copy(update=update)
            return
        opinion = opinion_of_summary(member, rows)
        calls = tuple(dict.fromkeys(call for row in rows for call in row.calls))
        cut = max((row.truncated_tokens for row in rows if row.truncated_tokens), default=None)
        about: dict[str, Any] = {"model": models, "calls": calls, "truncated_tokens": cut}
        if opinion.value is None:
            status = opinion.status if opinion.status != "ok" else "skipped"
            reason = opinion.reason or "its judgment is no number"
            yield self.judgment(item, signature, aspect, status=status, reason=f"{why}: {reason}", **about)
        else:
            low, high = self.scale
            yield self.judgment(item, signature, aspect, value=low + opinion.value * (high - low), reason=why, **about)

    def _why(self, item: ItemKey, plan: CascadePlan, place: int) -> str:
        if item in plan.sample and place == len(self.members) - 1:
            return "in the random sample"
        if place == len(self.members) - 1:
            return f"{self.named[place - 1]} was not sure"
        band = plan.stages[place].band
        return "sure of all" if band is None else f"outside {band[0]:.3g} to {band[1]:.3g}"


class _Read:
    """What the judges said, as far as a plan needs it.

    `values` are, of each judge but the last, the numbers of an item's units, None where one could not be judged; an
    item that it has not judged is not there. `losses` are, of each judge but the last, those of the sample's items
    against the last judge; an item that either could not judge is not there. `order` is that of the draw.
    """

    def __init__(self, cascade: Cascade, judged: Sequence[MemberJudgments]) -> None:
        members, (aspect,) = cascade.members, cascade.measured
        keys = [item for item, _ in judged]
        self.items = len(keys)
        self.sample = cascade.sampled(keys)
        self.values: list[dict[ItemKey, tuple[float, ...] | None]] = [{} for _ in members[1:]]
        self.kinds: list[set[str]] = [set() for _ in members]
        self.last_usable: set[ItemKey] = set()
        self.losses: list[dict[ItemKey, float]] = [{} for _ in members[1:]]
        self.order = sorted(self.sample, key=cascade._draw)
        for item, by_member in judged:
            rows = [[row for row in own if row.aspect == aspect] for own in by_member]
            for place, own in enumerate(rows):
                self.kinds[place] |= {row.target.unit for row in own if row.status == "ok"}
                if own and place < len(self.values):
                    numbers = [_number(row) for row in own]
                    known = tuple(number for number in numbers if number is not None)
                    self.values[place][item] = known if len(known) == len(numbers) else None
            if item in self.sample and any(row.status == "ok" for row in rows[-1]):
                self.last_usable.add(item)
                for place, own in enumerate(rows[:-1]):
                    loss = _loss((members[place], own), (members[-1], rows[-1])) if own else None
                    if loss is not None:
                        self.losses[place][item] = loss


def _names(then: str) -> list[str]:
    from summeter.evaluators.catalog import split_outside

    return split_outside(then, "+")


def _is_pair(band: Any) -> bool:
    return isinstance(band, list | tuple) and len(band) == 2 and all(isinstance(end, int | float) for end in band)


def _with_settings(member: Member) -> str:
    given = member.evaluator.model_dump(exclude_unset=True)
    settings = ",".join(f"{name}={value}" for name, value in given.items() if name != "aspect")
    role = "" if member.role is None else f"@{member.role}"
    return f"{member.evaluator.name}{f'[{settings}]' if settings else ''}{role}"


def _number(row: Judgment) -> float | None:
    if row.status != "ok":
        return None
    number = row.label if row.value is None else row.value
    return float(number) if isinstance(number, int | float) else None


def _loss(first: tuple[Member, list[Judgment]], last: tuple[Member, list[Judgment]]) -> float | None:
    """How far a judge's judgments of an item are from the last judge's, from 0 to 1: the share of units labelled
    otherwise, or the mean difference as a share of the scale. None where nothing can be compared."""
    units = common_units([first, last])
    if units is None:
        pairs = [(opinion_of_summary(*first), opinion_of_summary(*last))]
    else:
        pairs = [(opinion_of_unit(*first, key), opinion_of_unit(*last, key)) for key in units]
    losses = []
    for own, other in pairs:
        if own.status != "ok" or other.status != "ok":
            continue
        labels = [opinion.judgment and opinion.judgment.label for opinion in (own, other)]
        if None not in labels:
            losses.append(float(labels[0] != labels[1]))
        elif own.value is not None and other.value is not None:
            losses.append(min(1.0, abs(own.value - other.value)))
    return math.fsum(losses) / len(losses) if losses else None


def _by_distance(member: Member, sure: Mapping[ItemKey, Sequence[float]]) -> Sureness:
    """How far a value is from the judge's threshold, or from the middle of its scale where it has none, as a share of
    the way to the end of its side."""
    values = [value for own in sure.values() for value in own]
    ends = member.evaluator.rating_scale or member.evaluator.value_range or (min(values), max(values))
    low, high = ends
    threshold = member.evaluator.decision_threshold
    at = (low + high) / 2 if threshold is None else threshold

    def sureness(value: float) -> float:
        way = high - at if value >= at else at - low
        return abs(value - at) / way if way > 0 else math.inf

    return sureness


def _by_loss(pairs: Sequence[tuple[float, float]], values: Sequence[float]) -> Sureness:
    """Values that differ least from the last judge's are the surest: of bins of values, from all to none, the outer one
    with the smaller mean loss is left out first, so that what is left is a band."""
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


def _marks(least: Floats) -> list[float]:
    """From the widest band to none, the sureness up to which items go on; each step decides a percent more of them."""
    marks: list[float] = []
    for step in range(1, STEPS + 1):
        on = len(least) - math.floor(len(least) * step / STEPS)
        mark = float(least[on - 1]) if on else -math.inf
        if not marks or mark < marks[-1]:
            marks.append(mark)
    return marks


def _band(sureness: Sureness, sure: Mapping[ItemKey, Sequence[float]], mark: float) -> Band | None:
    """The values that are no surer than `mark`: least and greatest."""
    unsure = [value for own in sure.values() for value in own if sureness(value) <= mark]
    return (min(unsure), max(unsure)) if unsure else None
