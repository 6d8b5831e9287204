"""The progress of a campaign, for `annotate status` and the dashboard."""

from __future__ import annotations

from collections import Counter
from typing import Any

from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.stages import stage_of
from summeter.annotate.campaign.state import Person, State

HOUR = 3_600_000
DAY = 24 * HOUR
FEWEST, SHORTEST = 10, HOUR // 6
"""Minimum number of answers, and minimum time in milliseconds, from which the pace is estimated."""
Json = dict[str, Any]


def status(service: CampaignService, state: State, now: int, last_seq: int) -> Json:
    """Return the counts of a campaign at the time `now`, in milliseconds since 1970."""
    campaign, people, items = service.campaign, list(state.people.values()), list(state.items.values())
    overlap = campaign.answers_per_item
    pay: Json | None = None
    if campaign.pay is not None:
        earned = [pay_of(campaign, person) for person in people]
        base, bonus = sum(earning.base for earning in earned), sum(earning.bonus for earning in earned)
        amounts = {"base": base, "bonus": bonus, "total": base + bonus}
        pay = {"currency": campaign.pay.currency, **{name: round(amount, 2) for name, amount in amounts.items()}}
    recent = sum(answer.at > now - HOUR for person in people for answer in person.answers.values())
    return {
        "campaign": campaign.name,
        "kind": campaign.task_type,
        "items": len(items),
        "answers_per_item": overlap,
        "counted": sum(len(slots.counted) for slots in items),
        "needed": overlap * len(items),
        "held": sum(len(slots.held) for slots in items),
        "surplus": sum(len(slots.surplus) for slots in items),
        "complete_items": sum(map(state.is_complete, state.items)),
        "people": len(people),
        "outcomes": dict(sorted(Counter(person.ended for person in people if person.ended).items())),
        "excluded": sum(person.excluded for person in people),
        "checks": {
            "seen": sum(person.checks_seen for person in people),
            "passed": sum(person.checks_passed for person in people),
        },
        "pass_share": campaign.attention.pass_share,
        "pay": pay,
        "adjudicated": len(state.adjudicated),
        "answers_last_hour": recent,
        "expected_end": expected_end(state, overlap * len(items), now),
        "last_seq": last_seq,
    }


def expected_end(state: State, needed: int, now: int) -> Json:
    """Return when the last needed answer is expected, given the pace of the counted answers.

    `at` is in milliseconds since 1970, or None if the time is unknown or no more answers are needed. `pace` is the
    number of answers per hour over the last 24 hours, or since the first answer if that is more recent. `how` explains
    the estimate, or says why there is none.
    """
    counted = [state.people[name].answers[key].at for key, slots in state.items.items() for name in slots.counted]
    left = needed - len(counted)
    if left <= 0:
        return {"at": None, "pace": None, "left": 0, "how": "all tasks are complete"}
    recent = [at for at in counted if at > now - DAY]
    since = max(min(counted, default=now), now - DAY)
    unknown = {"at": None, "pace": None, "left": left}
    if len(recent) < FEWEST:
        answers = f"{len(recent)} {'answer' if len(recent) == 1 else 'answers'} in the last 24 hours"
        return {**unknown, "how": f"not known yet: {answers}, but an estimate needs {FEWEST}"}
    if now - since < SHORTEST:
        return {**unknown, "how": "not known yet: the first answer came less than 10 minutes ago"}
    pace = len(recent) * HOUR / (now - since)
    span = "of the last 24 hours" if since == now - DAY else "since the first answer"
    how = f"at the pace {span}: {len(recent)} answers, {pace:.1f} per hour; {left} left"
    return {"at": round(now + left / pace * HOUR), "pace": pace, "left": left, "how": how}


def people(service: CampaignService) -> list[Json]:
    """Return one row per annotator, in order of joining."""
    return [row_of(service, person) for person in service.state.people.values()]


def row_of(service: CampaignService, person: Person) -> Json:
    """Return the row of one annotator, for `annotate status` and the pages."""
    campaign = service.campaign
    return {
        "annotator": person.annotator,
        "arm": person.arm,
        "outcome": person.ended,
        "excluded": person.excluded,
        "answered": len(person.answers),
        "checks_seen": person.checks_seen,
        "checks_passed": person.checks_passed,
        "check_rate": person.checks_passed / person.checks_seen if person.checks_seen else None,
        "seconds_median": person.seconds_median,
        "seconds_waited": person.seconds_waited,
        "contradicted": person.contradicted,
        "platform": person.visitor["platform"],
        "stage": stage_of(campaign, len(service.tasks.training), person),
        "batches": person.finished,
        "pay": None if campaign.pay is None else round(pay_of(campaign, person).total, 2),
        "joined_at": person.joined,
        "seen_at": person.seen,
    }
