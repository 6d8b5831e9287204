"""How far a campaign is: the figures of `annotate status` and of the dashboard."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any

from summeter.annotate.checks import stage_of
from summeter.annotate.pay import pay_of

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk
    from summeter.annotate.state import Person, State

HOUR = 3_600_000
Json = dict[str, Any]


def status(desk: Desk, state: State, now: int, last_seq: int) -> Json:
    """Counts over the whole campaign; `now` in milliseconds."""
    people, overlap = list(state.people.values()), desk.campaign.answers_per_item
    counted = [len(one.counted) for one in state.items.values()]
    answers = [answer for one in people for answer in one.answers.values()]
    return {
        "campaign": desk.campaign.name, "kind": desk.campaign.kind, "items": len(state.items),
        "answers_per_item": overlap, "counted": sum(counted), "needed": overlap * len(state.items),
        "held": sum(len(one.held) for one in state.items.values()),
        "surplus": sum(len(one.surplus) for one in state.items.values()),
        "complete_items": sum(one >= overlap for one in counted), "people": len(people),
        "outcomes": dict(sorted(Counter(one.ended for one in people if one.ended).items())),
        "excluded": sum(one.excluded for one in people),
        "checks": {"seen": sum(one.checks_seen for one in people), "passed": sum(one.checks_passed for one in people)},
        "pass_share": desk.campaign.attention.pass_share,
        "pay": _pay(desk, people), "adjudicated": len(state.adjudicated),
        "answers_last_hour": sum(one.at > now - HOUR for one in answers), "last_seq": last_seq,
    }  # fmt: skip


def people(desk: Desk, state: State) -> list[Json]:
    """One row a person, in order of joining."""
    return [_person(desk, one) for one in state.people.values()]


def waited(person: Person) -> float | None:
    """The median time from showing to answer by the server's clock; None for whom it says nothing."""
    times = [one.waited for one in person.answers.values() if one.waited is not None]
    return round(median(times), 3) if times else None


def contradicted(person: Person) -> int:
    """How many answers claim time that had not passed."""
    return sum(one.contradicted for one in person.answers.values())


def _pay(desk: Desk, everyone: list[Person]) -> Json | None:
    if desk.campaign.pay is None:
        return None
    earned = [pay_of(desk.campaign, one) for one in everyone]
    base, bonus = sum(one.base for one in earned), sum(one.bonus for one in earned)
    return {"currency": desk.campaign.pay.currency, "base": round(base, 2), "bonus": round(bonus, 2),
            "total": round(base + bonus, 2)}  # fmt: skip


def _person(desk: Desk, one: Person) -> Json:
    times = [answer.seconds for answer in one.answers.values()]
    return {
        "annotator": one.annotator, "platform": one.visitor["platform"], "arm": one.arm,
        "stage": stage_of(desk.campaign, len(desk.tasks.training), one), "outcome": one.ended,
        "excluded": one.excluded, "answered": len(one.answers), "batches": one.finished,
        "checks_seen": one.checks_seen, "checks_passed": one.checks_passed,
        "seconds_median": median(times) if times else None, "seconds_waited": waited(one),
        "contradicted": contradicted(one),
        "pay": None if desk.campaign.pay is None else round(pay_of(desk.campaign, one).total, 2),
        "joined_at": one.joined, "seen_at": one.seen,
    }  # fmt: skip
