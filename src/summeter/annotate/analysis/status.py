"""How far a campaign is: the figures of `annotate status` and of the dashboard."""

from __future__ import annotations

from collections import Counter
from typing import Any

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.stages import stage_of
from summeter.annotate.campaign.state import Person, State

HOUR = 3_600_000
DAY = 24 * HOUR
FEWEST, SHORTEST = 10, HOUR // 6
"""Minimum number of answers and milliseconds from which a pace is estimated."""
Json = dict[str, Any]


def status(service: CampaignService, state: State, now: int, last_seq: int) -> Json:
    """Counts over the whole campaign; `now` in milliseconds."""
    campaign, people, items = service.campaign, list(state.people.values()), list(state.items.values())
    overlap = campaign.answers_per_item
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
        "pay": _pay(campaign, people),
        "adjudicated": len(state.adjudicated),
        "answers_last_hour": recent,
        "expected_end": expected_end(state, overlap * len(items), now),
        "last_seq": last_seq,
    }


def expected_end(state: State, needed: int, now: int) -> Json:
    """When the last answer that is `needed` should come, from the pace of those that count.

    `at` is in milliseconds (None: unknown, or nothing is left), `pace` in answers an hour, over the last 24
    hours or since the first answer; `how` says in words what `at` rests on, or why there is none.
    """
    counted = [state.people[name].answers[key].at for key, slots in state.items.items() for name in slots.counted]
    left = needed - len(counted)
    if left <= 0:
        return {"at": None, "pace": None, "left": 0, "how": "every task has its answers"}
    recent = [at for at in counted if at > now - DAY]
    since = max(min(counted, default=now), now - DAY)
    unknown = {"at": None, "pace": None, "left": left}
    if len(recent) < FEWEST:
        answers = f"{len(recent)} {'answer' if len(recent) == 1 else 'answers'} in the last 24 hours"
        return {**unknown, "how": f"not known yet: {answers}, and a pace takes {FEWEST}"}
    if now - since < SHORTEST:
        return {**unknown, "how": "not known yet: the first answer came less than 10 minutes ago"}
    pace = len(recent) * HOUR / (now - since)
    span = "of the last 24 hours" if since == now - DAY else "since the first answer"
    how = f"at the pace {span}: {len(recent)} answers, {pace:.1f} an hour; {left} to come"
    return {"at": round(now + left / pace * HOUR), "pace": pace, "left": left, "how": how}


def people(service: CampaignService, state: State) -> list[Json]:
    """One row a person, in order of joining."""
    return [row_of(service, person) for person in state.people.values()]


def facts(person: Person) -> Json:
    """What the log says of how a person works."""
    return {
        "annotator": person.annotator,
        "arm": person.arm,
        "outcome": person.ended,
        "excluded": person.excluded,
        "answered": len(person.answers),
        "checks_seen": person.checks_seen,
        "checks_passed": person.checks_passed,
        "seconds_median": person.seconds_median,
        "seconds_waited": person.seconds_waited,
        "contradicted": person.contradicted,
    }


def _pay(campaign: Campaign, people_: list[Person]) -> Json | None:
    if campaign.pay is None:
        return None
    earned = [pay_of(campaign, person) for person in people_]
    base, bonus = sum(part.base for part in earned), sum(part.bonus for part in earned)
    return {
        "currency": campaign.pay.currency,
        "base": round(base, 2),
        "bonus": round(bonus, 2),
        "total": round(base + bonus, 2),
    }


def row_of(service: CampaignService, person: Person) -> Json:
    """One person's row."""
    campaign = service.campaign
    return {
        **facts(person),
        "platform": person.visitor["platform"],
        "stage": stage_of(campaign, len(service.tasks.training), person),
        "batches": person.finished,
        "pay": None if campaign.pay is None else round(pay_of(campaign, person).total, 2),
        "joined_at": person.joined,
        "seen_at": person.seen,
    }
