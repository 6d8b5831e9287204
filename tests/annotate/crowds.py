"""Campaigns with answers or machine verdicts, for tests of the analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from annotate import campaigns as made

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.data.dataset import load
from summeter.records import Judgment, Target

GOOD, LAZY = Profile(accuracy=1.0), Profile(laziness=1.0)


def done(folder: Path, profiles: Sequence[Profile], data: Any = None, **plan: Any) -> CampaignFolder:
    """Build a campaign with the answers of simulated annotators."""
    accounts = [f"p{number}" for number in range(len(profiles))]
    plan.setdefault("platform", {"name": "local", "accounts": accounts})
    place = made.make(folder, made.rows(6, 2, 3) if data is None else data, **plan)
    with CampaignService(place) as service:
        simulate(service, crowd(place, list(profiles), Gold()))
    return place


ASPECTS = {
    "fact_verification": ("sentence", "faithfulness"), "key_fact_validation": ("key_fact", "key_fact_validity"),
    "key_fact_alignment": ("key_fact", "completeness"),
}  # fmt: skip
"""The unit and aspect of machine verdicts by task type."""


def assisted(
    folder: Path,
    data: list[dict[str, Any]],
    label: Callable[[int], int] = lambda _: 1,
    *,
    task_type: str = "fact_verification",
    show: str = "verdict_and_reason",
    **plan: Any,
) -> CampaignFolder:
    """Build a campaign whose machine labels each unit by its position, with a reason that contains its text."""
    given, (unit, aspect) = load(data), ASPECTS[task_type]
    said: list[Judgment] = []
    for summary in given.summaries:
        facts = given.documents[summary.document_id].key_facts
        for index, text in enumerate(summary.sentence_texts if unit == "sentence" else facts):
            target = Target(document_id=summary.document_id, system=summary.system, unit=unit, index=index)
            verdict = {"label": label(len(said)), "value": float(label(len(said))), "reason": f"<{text}> was looked at"}
            said.append(Judgment(target=target, aspect=aspect, judge="machine", signature="machine|v:1", **verdict))
    machine = {"set": "machine", "show": show}
    dataset = given.with_judgments("machine", said)
    return made.make(folder, dataset, task_type=task_type, assistance={"machine": machine}, **plan)


def rated(folder: Path, file: Path) -> CampaignFolder:
    """Build a campaign with one page per summary, whose answers are the ratings in a file."""
    data = load(file)
    votes: dict[str, dict[str, dict[str, int]]] = {}
    for one in data.judgments("human.raw"):
        if one.value is not None:
            cells = votes.setdefault(f"{one.target.document_id}/{one.target.system}", {}).setdefault(one.judge, {})
            cells[one.aspect] = int(one.value)
    rows = [
        {"doc_id": f"{one.document_id}/{one.system}", "system": one.system, "summary": one.text,
         "document": data.documents[one.document_id].text}
        for one in data.summaries
    ]  # fmt: skip
    aspects = sorted({aspect for given in votes.values() for cells in given.values() for aspect in cells})
    most = max(len(given) for given in votes.values())
    place = made.make(folder, rows, task_type="rating", aspects=aspects, answers_per_item=most, best=False,
                      order="as_given", assistance={"similar": None}, attention={"rate": 0})  # fmt: skip
    with CampaignService(place, durable=False) as service:
        for task in service.tasks.work:
            given = votes[task.document_id]
            say(service, task.key, {who: {"summaries": {task.systems[0]: cells}} for who, cells in given.items()})
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
