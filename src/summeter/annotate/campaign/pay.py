"""What a person has earned: base pay by batch, and the bonus for careful work (UniSumEval, G.2)."""

from __future__ import annotations

from typing import NamedTuple

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Batch, Person, Submission


class Earned(NamedTuple):
    """Amounts in the campaign's currency."""

    base: float
    bonus: float

    @property
    def total(self) -> float:
        """Both."""
        return self.base + self.bonus


def pay_of(campaign: Campaign, person: Person, submission: Submission | None = None) -> Earned:
    """What a person has earned so far, or under one submission; nothing where the campaign says nothing of pay.

    A batch of which 4 of 5 tasks were answered earns 4/5 of `per_batch`. The bonus goes to whole batches (or once)
    where the share of passed checks is at least `checks_at_least`; without checks nobody has failed any. A batch is
    earned under the submission under which it was last worked on, a bonus for the campaign under the last such one.
    """
    plan = campaign.pay
    if plan is None:
        return Earned(0.0, 0.0)
    ended = [batch for batch in person.batches.values() if batch.over and batch.tasks]
    own = [batch for batch in ended if submission is None or batch.submission == submission]
    base = sum(plan.per_batch * len(batch.answered) / len(batch.tasks) for batch in own)
    whole = [batch for batch in own if _whole(batch)]
    rule = plan.bonus
    if rule is None or person.excluded or not whole:
        return Earned(base, 0.0)
    if rule.per == "campaign":
        last = [batch for batch in ended if _whole(batch)][-1]
        due = _share(person, None) >= rule.checks_at_least and last in whole
        return Earned(base, rule.amount if due else 0.0)
    return Earned(base, rule.amount * sum(_share(person, batch) >= rule.checks_at_least for batch in whole))


def _whole(batch: Batch) -> bool:
    return batch.finished and len(batch.answered) == len(batch.tasks)


def _share(person: Person, batch: Batch | None) -> float:
    checks = [answer for answer in person.checks if batch is None or answer.batch == batch.number]
    return sum(bool(answer.passed) for answer in checks) / len(checks) if checks else 1.0
