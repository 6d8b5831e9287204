"""Campaigns for tests: generated data, a fixed clock, and annotators who answer correctly."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from pathlib import Path
from typing import Any

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.language import shipped
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks import TASK_TYPES, task_type_named
from summeter.annotate.tasks.base import TaskType
from summeter.annotate.tasks.simulation import Gold
from summeter.data.dataset import Dataset, save

__all__ = ["TASK_TYPES"]
TOPICS = ("bridge", "market", "school", "harbour", "museum", "orchard")


class Clock:
    """A clock that a test sets, in seconds since 1970."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def rows(documents: int = 3, systems: int = 2, sentences: int = 2) -> list[dict[str, Any]]:
    """Return data rows whose documents have different topics."""
    made = []
    for number in range(documents):
        topic = f"{TOPICS[number % len(TOPICS)]}{number}"
        body = f"The {topic} was opened in May. The mayor paid for the {topic}. Children sang. It rained at noon."
        facts = [f"The {topic} was opened.", f"The mayor paid for the {topic}."]
        for system in range(systems):
            said = [f"The {topic} number {index} by s{system} opened in May." for index in range(sentences)]
            made.append(
                {
                    "doc_id": f"doc{number}", "document": body, "system": f"s{system}", "summary": " ".join(said),
                    "sentences": said, "key_facts": facts,
                }
            )  # fmt: skip
    return made


def make(folder: Path, data: list[dict[str, Any]] | Dataset | None = None, **plan: Any) -> CampaignFolder:
    """Build a campaign of rows or a dataset under `folder`; `plan` are fields of the campaign file.

    The secrets are the same for every campaign, so that pseudonyms, and with them the assignment, are reproducible.
    """
    folder.mkdir(parents=True, exist_ok=True)
    given = {"name": "made", "task_type": "fact_verification", "data": "data.jsonl"} | plan
    if isinstance(data, Dataset):
        save(data, folder / "dataset")
        given["data"] = "dataset"
    else:
        lines = [json.dumps(one) for one in (rows() if data is None else data)]
        (folder / "data.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if given.get("platform") is None:
        given["platform"] = {"name": "local", "accounts": ["anna", "ben", "cleo", "dora"]}
    (folder / "plan.yaml").write_text(json.dumps(given), encoding="utf-8")
    numbers = itertools.count()
    token = lambda: hashlib.sha256(str(next(numbers)).encode()).hexdigest()  # noqa: E731
    return CampaignFolder(build(folder / "plan.yaml", folder / "campaign", token=token))


def task_type_of(name: str, **fields: Any) -> TaskType:
    """Return a task type with fields of a campaign."""
    return task_type_named(name)(Campaign(name="made", task_type=name, data="data.jsonl", **fields), shipped("en"))


def who(name: str) -> Visitor:
    """Return the visitor of a local account."""
    return Visitor("local", name)


_numbers = itertools.count()


def answer_id() -> str:
    """Return a new answer identifier."""
    return f"answer-{next(_numbers):08d}"


def body(task: dict[str, Any], answer: Any = None, *, seconds: float) -> dict[str, Any]:
    """Return a request that answers a task, by default with `plain`."""
    given = plain(task) if answer is None else answer
    return {"answer_id": answer_id(), "task": task["id"], "answer": given, "seconds": seconds}


def plain(task: dict[str, Any], *, good: bool = True) -> dict[str, Any]:
    """Return a valid answer to a task in the format of browsers, positive if `good`."""
    body, task_type = task["body"], task["task_type"]
    machine = (task["assistance"] or {}).get("machine")
    ids = [one["id"] for one in body.get("summaries", ())]
    if task_type == "rating":
        return ratings(dict.fromkeys(ids, 4 if good else 2), ids[0] if len(ids) > 1 else None)
    values: dict[str, Any] = {
        "fact_verification": {"label": "supported"}
        if good
        else {"label": "not_supported", "error_types": ["entity error"]},
        "key_fact_validation": dict.fromkeys(("significant", "correct", "relevant"), good),
        "key_fact_alignment": {"sentences": [0] if good else []},
        "span_highlighting": {"spans": [] if good else [span(0, 3)]},
        "pairwise": {"overall": "A" if good else "B"},
    }[task_type]
    if machine is None:
        return {"values": values}
    same = (
        machine["values"]["sentences"] == values["sentences"] if "sentences" in values else machine["accepts"] == good
    )
    return {"values": values, "machine": "agree" if same else "disagree"}


def ratings(by_summary: dict[str, int], best: str | None) -> dict[str, Any]:
    """Return equal ratings on the default aspects."""
    names = ("coherence", "consistency", "coverage", "fluency", "overall")
    cells = {one: dict.fromkeys(names, value) for one, value in by_summary.items()}
    return {"values": {} if best is None else {"best": best}, "summaries": cells}


def span(start: int, end: int) -> dict[str, Any]:
    """Return a marked span."""
    return {"start": start, "end": end, "kind": "contradicted", "category": "entity error", "reason": None}


def right(service: CampaignService, annotator: str, task: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that passes checks."""
    person = service.state.people[annotator]
    key = service.folder.task_key(person, task["id"])
    found = service.tasks.by_key[key or ""]
    if found.role == "work" or not found.expected:
        return plain(task)
    answer = service.task_type.right_answer(found, Gold())
    letters = service.folder.letters(annotator, found)
    shown = (task["assistance"] or {}).get("machine")
    agrees = None if shown is None else "agree" if service.task_type.agrees(found, answer) else "disagree"
    return service.task_type.page_answer(answer.model_copy(update={"machine": agrees}), letters)


def do_batch(service: CampaignService, name: str, *, passing: bool = True, seconds: float = 9.0) -> int:
    """Answer a batch and return its number of tasks."""
    visitor = who(name)
    batch = service.request("batch", visitor)["batch"]
    if batch is None:
        return 0
    for task in batch["tasks"]:
        given = right(service, name, task) if passing else plain(task)
        service.request("answers", visitor, body(task, given, seconds=seconds))
    service.request("finish", visitor)
    return len(batch["tasks"])


def replayed(service: CampaignService) -> str:
    """Return the digest of the state rebuilt from the log."""
    state = service.empty_state()
    for event in service.log.events():
        state.apply(event)
    return state.digest()


class Gate:
    """Block the log's thread until `open`, so that all submitted commands are committed together."""

    def __init__(self, service: CampaignService) -> None:
        self._opened = threading.Event()
        self._held = service.log.submit(lambda _: self._opened.wait(60))

    def open(self) -> None:
        self._opened.set()
        assert self._held.result()
