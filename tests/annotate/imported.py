"""Existing ratings as the answers of a campaign, written to its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotate import campaigns as made

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.data.dataset import Dataset, load

Votes = dict[str, dict[str, dict[str, int]]]
"""Task key -> annotator -> aspect -> rating."""


def rated(folder: Path, file: Path) -> CampaignFolder:
    """Build a rating campaign with one page per summary and the votes as answers."""
    data = load(file)
    votes = _votes(data)
    rows = [
        {"doc_id": f"{one.document_id}/{one.system}", "system": one.system, "summary": one.text,
         "document": data.documents[one.document_id].text}
        for one in data.summaries
    ]  # fmt: skip
    aspects = sorted({aspect for given in votes.values() for cells in given.values() for aspect in cells})
    most = max(len(given) for given in votes.values())
    place = made.make(folder, rows, task_type="rating", aspects=aspects, answers_per_item=most, best=False,
                      order="as_given", assistance={"similar": None}, attention={"rate": 0})  # fmt: skip
    _answer(place, votes)
    return place


def _votes(data: Dataset) -> Votes:
    votes: Votes = {}
    for one in data.judgments("human.raw"):
        if one.value is not None:
            name = f"{one.target.document_id}/{one.target.system}"
            votes.setdefault(name, {}).setdefault(one.judge, {})[one.aspect] = int(one.value)
    return votes


def _answer(place: CampaignFolder, votes: Votes) -> None:
    def decide(transaction: Any) -> None:
        for who in sorted({who for given in votes.values() for who in given}):
            transaction.emit("joined", who, data={"platform": "local", "id": who, "arm": "assisted"})
        for task in place.tasks.work:
            for who, cells in votes[task.document_id].items():
                transaction.emit("assigned", who, task=task.key, batch=1, data={"check": False})
                answer = {"summaries": {task.systems[0]: cells}}
                data = {"answer": answer, "seconds": 30.0, "client_at": None, "passed": None}
                transaction.emit("answered", who, task=task.key, batch=1, data=data)

    with CampaignService(place) as service:
        service.log.do(decide)
