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
    every = [one for one in person.batches.values() if one.over and one.tasks]
    over = [one for one in every if submission is None or one.submission == submission]
    base = sum(plan.per_batch * len(one.answered) / len(one.tasks) for one in over)
    whole = [one for one in over if one.finished and len(one.answered) == len(one.tasks)]
    rule = plan.bonus
    if rule is None or person.excluded or not whole:
        return Earned(base, 0.0)
    if rule.per == "campaign":
        last = [one for one in every if one.finished and len(one.answered) == len(one.tasks)][-1]
        due = _share(person, None) >= rule.checks_at_least and last in whole
        return Earned(base, rule.amount if due else 0.0)
    return Earned(base, rule.amount * sum(_share(person, one) >= rule.checks_at_least for one in whole))


def _share(person: Person, batch: Batch | None) -> float:
    checks = [one for one in person.checks if batch is None or one.batch == batch.number]
    return sum(bool(one.passed) for one in checks) / len(checks) if checks else 1.0
