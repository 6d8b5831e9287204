"""What attention checks, outcomes and exclusions do to a person's campaign."""

from __future__ import annotations

from summeter.annotate.campaign.config import HARD, Campaign
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.state import CHECKS_RULE, Batch, Person

BY_RULE = "rule"


def end_overdue(transaction: Transaction, campaign: Campaign) -> None:
    """End every lease that has run out: what was not answered is offered to others."""
    for person, batch in transaction.state.overdue(transaction.now):
        _release(transaction, person, batch, "expired")
        if batch.answered and not batch.finished:
            finish(transaction, campaign, person, batch, by="lease")


def give_back(transaction: Transaction, campaign: Campaign, person: Person, batch: Batch) -> int:
    """Return the unanswered tasks of a batch; what was answered makes the batch finished."""
    count = _release(transaction, person, batch, "returned")
    if batch.answered:
        finish(transaction, campaign, person, batch, by="annotator")
    return count


def _release(transaction: Transaction, person: Person, batch: Batch, kind: str) -> int:
    waiting = [task for task in batch.tasks if task in batch.waiting]
    for task in waiting:
        transaction.emit(kind, person.annotator, task=task, batch=batch.number)
    return len(waiting)


def finish(transaction: Transaction, campaign: Campaign, person: Person, batch: Batch, *, by: str) -> None:
    """Finish a batch, and end the person's work where the checks or the number of batches say so."""
    transaction.emit("finished", person.annotator, batch=batch.number, data={"by": by})
    _judge(transaction, campaign, person)


def answered_late(transaction: Transaction, campaign: Campaign, person: Person, batch: Batch) -> None:
    """What an answer to a batch that is over does: the batch counts as finished, and is judged by its checks so far.

    More answers may follow: checks without an answer, here and in a batch held now, are taken as passed.
    """
    if not batch.finished:
        transaction.emit("finished", person.annotator, batch=batch.number, data={"by": "annotator"})
    checks = batch.checks | (person.active.checks if person.active is not None else set())
    _judge(transaction, campaign, person, unanswered=len(checks - person.answers.keys()))


def _judge(transaction: Transaction, campaign: Campaign, person: Person, *, unanswered: int = 0) -> None:
    if person.ended in HARD or person.excluded:
        return
    if failed(campaign, person, unanswered=unanswered):
        transaction.emit("ended", person.annotator, data={"outcome": "failed_checks"})
        if campaign.attention.exclude:
            judged = person.checks_judged
            reason = f"passed {sum(judged)} of {len(judged)} attention checks"
            transaction.emit("excluded", person.annotator, data={"reason": reason, "by": BY_RULE, "rule": CHECKS_RULE})
        return
    complete = _enough(campaign, person) or person.ended == "no_more_items"
    if complete and person.active is None and person.ended != "completed":
        transaction.emit("ended", person.annotator, data={"outcome": "completed"})


def failed(campaign: Campaign, person: Person, *, unanswered: int = 0) -> bool:
    """Whether enough checks were answered, and too few as expected, even if as many as `unanswered` were passed yet."""
    passed = person.checks_judged
    share = (sum(passed) + unanswered) / max(1, len(passed) + unanswered)
    return len(passed) >= campaign.attention.judge_after and share < campaign.attention.pass_share


def _enough(campaign: Campaign, person: Person) -> bool:
    return campaign.batch.per_annotator is not None and person.finished >= campaign.batch.per_annotator


def stages(campaign: Campaign, training: int) -> list[str]:
    """The stages of a campaign; one without text or tasks is passed over."""
    there = {
        "consent": bool(campaign.consent),
        "instructions": bool(campaign.instructions),
        "qualification": campaign.qualification is not None,
        "training": training > 0,
    }
    return [*(name for name, yes in there.items() if yes), "work"]


def stage_of(campaign: Campaign, training: int, person: Person) -> str:
    """Where a person stands; `training` is the number of training tasks there are."""
    if person.excluded or person.ended in HARD:
        return "done"
    passed = {
        "consent": bool(person.agreed),
        "instructions": person.instructed,
        "qualification": person.qualified,
        "training": len(person.trained) >= training,
    }
    for name in stages(campaign, training)[:-1]:
        if not passed[name]:
            return name
    return "done" if person.ended is not None and person.active is None else "work"


def outcome_of(person: Person) -> str:
    """How it ended for a person whose stage is done."""
    return person.ended or "screened_out"


def ended_at(person: Person) -> str:
    """The stage at which it ended for a person whose stage is done: one screened out before the work, else `work`."""
    if person.ended != "screened_out":
        return "work"
    if person.agreed is False:
        return "consent"
    return "training" if person.trained else "qualification"
