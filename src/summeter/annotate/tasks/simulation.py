"""Simulated annotators: a `Profile` (how somebody answers) and `Gold` (what is right)."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from pydantic import Field

from summeter.annotate.campaign.people import fraction
from summeter.annotate.tasks.task import Json, Task
from summeter.data.human_judgments import SIGNATURES, SPAN_FREE
from summeter.records import Judgment, Record, Target

_Key = tuple[str, str, str | None, str, int | None, str]


class Profile(Record):
    """A simulated annotator.

    `accuracy` is the chance that an answer (of ratings and choices: each cell) is right. `bias`, from -1 to 1, is the
    share of labels turned to the positive side (supported, valid, aligned, clean; below 0 to the negative side);
    ratings are moved by twice the bias. `laziness` is the chance to answer without reading: what the machine says,
    else the first thing at hand, in a tenth of the time. `trust` is the chance to say what the machine says after
    reading; `trust_reasons` the chance where it gives a reason too (None: the same). `seconds` is the usual time for a
    task.
    """

    accuracy: float = Field(default=0.9, ge=0, le=1)
    bias: float = Field(default=0.0, ge=-1, le=1)
    laziness: float = Field(default=0.0, ge=0, le=1)
    trust: float = Field(default=0.0, ge=0, le=1)
    trust_reasons: float | None = Field(default=None, ge=0, le=1)
    seconds: float = Field(default=20.0, gt=0)

    def trusts(self, machine: Json, rng: Random) -> bool:
        """Whether somebody who has read says what this verdict says."""
        explained = self.trust if machine.get("reason") is None else self.trust_reasons
        return rng.random() < (self.trust if explained is None else explained)

    def label(self, right: bool, rng: Random) -> bool:  # noqa: FBT001
        """A yes or no where `right` is right."""
        label = right if rng.random() < self.accuracy else not right
        return self.bias > 0 if rng.random() < abs(self.bias) else label


class Gold:
    """What is right in a campaign: gold judgments where there are any, else values drawn from a seed.

    `gold` are merged judgments of people (see `aggregate.merge`). Where they say nothing of a task, the answer is
    drawn by hash from `seed`: each system is good to a degree of its own, between .55 and .95, and that is the chance
    that a sentence of it is supported, a key fact present, a summary clean.
    """

    def __init__(self, gold: Iterable[Judgment] = (), *, seed: int = 0) -> None:
        self.seed = seed
        self._gold: dict[_Key, Judgment] = {}
        self._spans: dict[tuple[str, str], list[Judgment]] = {}
        self._searched: set[tuple[str, str]] = set()
        for judgment in gold:
            if judgment.status != "ok":
                continue
            target = judgment.target
            if judgment.signature == SIGNATURES[SPAN_FREE]:
                self._searched.add((target.document_id, target.system))
                continue
            if target.unit == "span":
                self._spans.setdefault((target.document_id, target.system), []).append(judgment)
            key = (target.document_id, target.system, target.rival, target.unit, target.index, judgment.aspect)
            self._gold[key] = judgment

    def quality(self, system: str | None) -> float:
        """How good a system is, from .55 to .95."""
        return 0.55 + 0.4 * fraction("system", self.seed, system)

    def chance(self, task: Task, *parts: object) -> float:
        """A number in [0, 1) that is always the same for a task (and what is asked of it)."""
        return fraction("truth", self.seed, task.key, *parts)

    def of(self, target: Target, aspect: str) -> Judgment | None:
        """The gold judgment of a target."""
        return self._gold.get((target.document_id, target.system, target.rival, target.unit, target.index, aspect))

    def spans(self, task: Task) -> list[Judgment]:
        """The spans that gold marks in a task's summary."""
        return self._spans.get((task.document_id, task.system or ""), [])

    def searched_for_spans(self, task: Task) -> bool:
        """Whether gold says if the task's summary has spans: without any it is then clean."""
        return (task.document_id, task.system or "") in self._searched
