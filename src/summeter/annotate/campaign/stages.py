"""Stages of an annotator's campaign, and how attention checks affect them."""

from __future__ import annotations

from summeter.annotate.campaign.config import HARD, Campaign
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.state import CHECKS_RULE, Batch, Person

BY_RULE = "rule"


def end_overdue(transaction: Transaction, campaign: Campaign) -> None:
    """End every expired lease, so that the unanswered tasks are offered to others."""
    for person, batch in transaction.state.expired_leases(transaction.now):
        _release(transaction, person, batch, "expired")
        if batch.answered and not batch.finished:
            finish(transaction, campaign, person, batch, by="lease")


def give_back(transaction: Transaction, campaign: Campaign, person: Person, batch: Batch) -> int:
    """Give back the unanswered tasks of a batch, and return how many there were.

    The batch is finished if it has answers.
    """
    count = _release(transaction, person, batch, "returned")
    if batch.answered:
        finish(transaction, campaign, person, batch, by="annotator")
    return count


def _release(transaction: Transaction, person: Person, batch: Batch, event: str) -> int:
    unanswered = [task for task in batch.tasks if task in batch.waiting]
    for task in unanswered:
        transaction.emit(event, person.annotator, task=task, batch=batch.number)
    return len(unanswered)


def finish(transaction: Transaction, campaign: Campaign, person: Person, batch: Batch, *, by: str) -> None:
    """Finish a batch.

    The annotator's work ends once they have failed the attention checks or completed all batches.
    """
    transaction.emit("finished", person.annotator, batch=batch.number, data={"by": by})
    _apply_checks(transaction, campaign, person)


def answered_late(transaction: Transaction, campaign: Campaign, person: Person, batch: Batch) -> None:
    """Finish a closed batch that received a late answer, and apply the attention checks.

    More late answers may follow, so the unanswered checks of this batch and of the current batch count as passed.
    """
    if not batch.finished:
        transaction.emit("finished", person.annotator, batch=batch.number, data={"by": "annotator"})
    checks = batch.checks | (person.active.checks if person.active is not None else set())
    _apply_checks(transaction, campaign, person, unanswered=len(checks - person.answers.keys()))


def _apply_checks(transaction: Transaction, campaign: Campaign, person: Person, *, unanswered: int = 0) -> None:
    """End the annotator's work after too many failed checks, or after all batches.

    Checks are not judged until `judge_after` of them are answered. The number `unanswered` of checks without an answer
    counts as passed.
    """
    if person.ended in HARD or person.excluded:
        return
    plan, attention, checks = campaign.batch, campaign.attention, person.checks_that_count
    share = (sum(checks) + unanswered) / max(1, len(checks) + unanswered)
    if len(checks) >= attention.judge_after and share < attention.pass_share:
        transaction.emit("ended", person.annotator, data={"outcome": "failed_checks"})
        if attention.exclude:
            reason = f"passed {sum(checks)} of {len(checks)} attention checks"
            transaction.emit("excluded", person.annotator, data={"reason": reason, "by": BY_RULE, "rule": CHECKS_RULE})
        return
    all_batches = plan.per_annotator is not None and person.finished >= plan.per_annotator
    if (all_batches or person.ended == "no_more_items") and person.active is None and person.ended != "completed":
        transaction.emit("ended", person.annotator, data={"outcome": "completed"})


def stages(campaign: Campaign, training: int) -> list[str]:
    """Return the names of the campaign's stages; `training` is the number of training tasks."""
    present = {
        "consent": bool(campaign.consent),
        "instructions": bool(campaign.instructions),
        "qualification": campaign.qualification is not None,
        "training": training > 0,
    }
    return [*(name for name, is_present in present.items() if is_present), "work"]


def stage_of(campaign: Campaign, training: int, person: Person) -> str:
    """Return the current stage of an annotator; `training` is the number of training tasks."""
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


def ended_at(person: Person) -> str:
    """Return the stage at which an annotator was screened out, or else `work`.

    The stage of the annotator must be `done`.
    """
    if person.ended != "screened_out":
        return "work"
    if person.agreed is False:
        return "consent"
    return "training" if person.trained else "qualification"
