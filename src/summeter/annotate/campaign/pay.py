"""Pay of annotators: base pay per batch, and a bonus for careful work (UniSumEval, G.2)."""

from __future__ import annotations

from typing import NamedTuple

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Batch, Person, Submission


class Earned(NamedTuple):
    """Amounts earned, in the campaign's currency."""

    base: float
    bonus: float

    @property
    def total(self) -> float:
        """Sum of base pay and bonus."""
        return self.base + self.bonus


def pay_of(campaign: Campaign, person: Person, submission: Submission | None = None) -> Earned:
    """Return the pay that an annotator has earned, in total or under one submission.

    An incomplete batch is paid in proportion to the number of answered tasks. The bonus is paid for each complete batch
    (or once for the campaign) if the share of passed checks is at least `checks_at_least`; without checks, the share is
    1. A batch belongs to the submission under which it was last worked on. A bonus for the campaign belongs to the
    submission of the last complete batch.
    """
    plan = campaign.pay
    if plan is None:
        return Earned(0.0, 0.0)
    closed = [batch for batch in person.batches.values() if batch.closed and batch.tasks]
    paid = [batch for batch in closed if submission is None or batch.submission == submission]
    base = sum(plan.per_batch * len(batch.answered) / len(batch.tasks) for batch in paid)
    complete = [batch for batch in paid if _is_complete(batch)]
    bonus = plan.bonus
    if bonus is None or person.excluded or not complete:
        return Earned(base, 0.0)
    if bonus.per == "campaign":
        last = [batch for batch in closed if _is_complete(batch)][-1]
        is_due = _passed_share(person, None) >= bonus.checks_at_least and last in complete
        return Earned(base, bonus.amount if is_due else 0.0)
    count = sum(_passed_share(person, batch) >= bonus.checks_at_least for batch in complete)
    return Earned(base, bonus.amount * count)


def _is_complete(batch: Batch) -> bool:
    return batch.finished and len(batch.answered) == len(batch.tasks)


def _passed_share(person: Person, batch: Batch | None) -> float:
    checks = [answer for answer in person.checks if batch is None or answer.batch == batch.number]
    return sum(bool(answer.passed) for answer in checks) / len(checks) if checks else 1.0
