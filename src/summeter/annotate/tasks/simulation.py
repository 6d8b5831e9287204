"""The behaviour of simulated annotators (`Profile`) and the right answers (`Gold`)."""

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
    """The behaviour of a simulated annotator.

    For ratings and choices, `accuracy` applies to each value. `bias` is the fraction of labels that are changed to the
    positive label (supported, valid, aligned, clean), or to the negative label if it is below 0; ratings are shifted by
    `bias` times half the scale. Annotators who do not read repeat the machine or give the first option, and take a
    tenth of the time.
    """

    accuracy: float = Field(0.9, ge=0, le=1, description="Probability of a correct answer.")
    bias: float = Field(0.0, ge=-1, le=1, description="Share of labels changed to positive (or negative).")
    laziness: float = Field(0.0, ge=0, le=1, description="Probability of answering without reading.")
    trust: float = Field(0.0, ge=0, le=1, description="Probability of following the machine's verdict.")
    trust_reasons: float | None = Field(
        None, ge=0, le=1, description="Probability of following a verdict with a reason; default: `trust`."
    )
    seconds: float = Field(20.0, gt=0, description="Typical seconds for a task.")

    def trusts(self, machine: Json, rng: Random) -> bool:
        """Return whether an annotator who has read the task repeats a machine verdict."""
        has_reason = machine.get("reason") is not None
        return rng.random() < (self.trust_reasons if has_reason and self.trust_reasons is not None else self.trust)

    def label(self, right: bool, rng: Random) -> bool:  # noqa: FBT001
        """Return a noisy answer to a yes-or-no question whose right answer is `right`."""
        label = right if rng.random() < self.accuracy else not right
        return self.bias > 0 if rng.random() < abs(self.bias) else label


class Gold:
    """The right answers of a campaign: gold judgments, or else pseudo-random values.

    `gold` contains merged human judgments (see `aggregate.merge`). A pseudo-random value depends on `seed` and the
    task. Each system has a quality between 0.55 and 0.95, which is the probability that one of its sentences is
    supported, a key fact is present, or a summary is free of errors.
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
        """Return the quality of a system, from 0.55 to 0.95."""
        return 0.55 + 0.4 * fraction("system", self.seed, system)

    def chance(self, task: Task, *parts: object) -> float:
        """Return a pseudo-random number in [0, 1) that depends on the seed, the task and `parts`."""
        return fraction("truth", self.seed, task.key, *parts)

    def of(self, target: Target, aspect: str) -> Judgment | None:
        """Return the gold judgment on a target, or None if there is none."""
        return self._gold.get((target.document_id, target.system, target.rival, target.unit, target.index, aspect))

    def spans(self, task: Task) -> list[Judgment]:
        """Return the gold judgments on spans of a task's summary."""
        return self._spans.get((task.document_id, task.system or ""), [])

    def searched_for_spans(self, task: Task) -> bool:
        """Return whether gold annotators searched the summary for spans.

        If they did, a summary without marked spans has no errors.
        """
        return (task.document_id, task.system or "") in self._searched
