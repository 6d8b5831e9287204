"""Campaigns that simulated annotators have completed, for tests of the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annotate import campaigns as made

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile

GOOD, LAZY = Profile(accuracy=1.0), Profile(laziness=1.0)


def done(folder: Path, profiles: Sequence[Profile], data: Any = None, **plan: Any) -> CampaignFolder:
    """Build a campaign with the answers of simulated annotators."""
    accounts = [f"p{number}" for number in range(len(profiles))]
    plan.setdefault("platform", {"name": "local", "accounts": accounts})
    place = made.make(folder, made.rows(6, 2, 3) if data is None else data, **plan)
    with CampaignService(place) as service:
        simulate(service, crowd(place, list(profiles), Gold()))
    return place


def say(service: CampaignService, task: str, answers: dict[str, Any]) -> None:
    """Write answers to a task to the log."""

    def decide(transaction: Any) -> None:
        for who, answer in answers.items():
            if who not in transaction.state.people:
                arm = "unassisted" if who.startswith("un") else "assisted"
                transaction.emit("joined", who, data={"platform": "local", "id": who, "arm": arm})
            check = service.tasks.by_key[task].role == "check"
            transaction.emit("assigned", who, task=task, batch=1, data={"check": check})
            passed = service.task_type.passed(service.tasks.by_key[task], TaskAnswer(**answer)) if check else None
            data = {"answer": answer, "seconds": 9.0, "client_at": None, "passed": passed}
            transaction.emit("answered", who, task=task, batch=1, data=data)

    service.log.do(decide)


YES = {"values": {"label": "supported"}}
NO = {"values": {"label": "not_supported", "error_types": ["entity error"]}}
