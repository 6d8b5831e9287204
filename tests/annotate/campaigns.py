"""Campaigns for tests: made data, a clock that stands still, and people who answer by the book."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.service import CampaignService

KINDS = ("fact_verification", "key_fact_validation", "key_fact_alignment", "rating", "span_highlighting", "pairwise")
TOPICS = ("bridge", "market", "school", "harbour", "museum", "orchard")


class Clock:
    """Seconds since 1970 as a test says."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def rows(documents: int = 3, systems: int = 2, sentences: int = 2) -> list[dict[str, Any]]:
    """Flat rows; each document speaks of its own topic, so that a sentence of another is foreign."""
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


def make(folder: Path, data: list[dict[str, Any]] | None = None, **plan: Any) -> CampaignFolder:
    """A campaign's folder under `folder`; `plan` are fields of the YAML (which JSON is, too)."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(one) for one in (rows() if data is None else data)]
    (folder / "data.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = {"name": "made", "kind": "fact_verification", "data": "data.jsonl"} | plan
    if given.get("platform") is None:
        given["platform"] = {"name": "local", "accounts": ["anna", "ben", "cleo", "dora"]}
    (folder / "plan.yaml").write_text(json.dumps(given), encoding="utf-8")
    return CampaignFolder(build(folder / "plan.yaml", folder / "campaign"))


def who(name: str) -> Visitor:
    """A local account."""
    return Visitor("local", name)


_numbers = itertools.count()


def answer_id() -> str:
    """A fresh one."""
    return f"answer-{next(_numbers):08d}"


def plain(task: dict[str, Any], *, good: bool = True) -> dict[str, Any]:
    """An answer that fits a task as the browser got it: what a trusting person says, or a distrusting one."""
    body, kind = task["body"], task["kind"]
    machine = (task["assistance"] or {}).get("machine")
    if kind == "fact_verification":
        said = "supported" if good else "not_supported"
        types = [] if good else [body["error_types"][0]["name"]]
        agree = None if machine is None else ("agree" if machine["verdict"] == said else "disagree")
        return {"label": said, "error_types": types, "machine": agree}
    if kind == "key_fact_validation":
        agree = None if machine is None else ("agree" if (machine["verdict"] == "valid") == good else "disagree")
        return {"significant": good, "correct": good, "relevant": good, "machine": agree}
    if kind == "key_fact_alignment":
        chosen = [0] if good else []
        agree = None if machine is None else ("agree" if machine["sentences"] == chosen else "disagree")
        return {"sentences": chosen, "none": not good, "machine": agree}
    if kind == "rating":
        cells = {one["name"]: 4 if good else 2 for one in body["aspects"]}
        ids = [one["id"] for one in body["summaries"]]
        return {"ratings": {one: dict(cells) for one in ids}, "best": ids[0] if body["choose_best"] else None}
    if kind == "span_highlighting":
        category = body["categories"][0]["name"]
        span = {"start": 0, "end": 3, "kind": body["kinds"][0]["name"], "category": category, "reason": None}
        return {"spans": [] if good else [span], "none": good}
    return {"choices": {one["name"]: "A" if good else "B" for one in body["aspects"]}, "reason": None}


def right(service: CampaignService, annotator: str, task: dict[str, Any]) -> dict[str, Any]:
    """An answer that passes where the task is a check, and is `plain` where it is work."""
    person = service.state.people[annotator]
    key = service.folder.task_key(person, task["id"])
    found = service.tasks.by_key[key or ""]
    if found.role == "work" or found.expected is None:
        return plain(task)
    expected, given = found.expected, plain(task, good=False)
    letters = service.folder.letters(annotator, found)
    if found.kind == "key_fact_alignment" and expected["sentence"] is not None:
        machine = (task["assistance"] or {}).get("machine")
        agree = None if machine is None else ("agree" if machine["sentences"] == [expected["sentence"]] else "disagree")
        given = {"sentences": [expected["sentence"]], "none": False, "machine": agree}
    if found.kind == "rating":
        odd = "ABCDEFGH"[letters.index(expected["worst"])]
        for one, cells in given["ratings"].items():
            given["ratings"][one] = dict.fromkeys(cells, 1 if one == odd else 4)
        given["best"] = next((one for one in given["ratings"] if one != odd), None) if given["best"] else None
    if found.kind == "span_highlighting":
        given["spans"][0] |= {"start": expected["touch"][0], "end": expected["touch"][1]}
    if found.kind == "pairwise":
        winner = "B" if letters[0] == expected["loser"] else "A"
        given["choices"] = dict.fromkeys(given["choices"], winner)
    return given


def do_batch(service: CampaignService, name: str, *, passing: bool = True, seconds: float = 9.0) -> int:
    """Take a batch and answer all of it; the number of tasks, 0 where there is none left."""
    visitor = who(name)
    batch = service.request("batch", visitor)["batch"]
    if batch is None:
        return 0
    for task in batch["tasks"]:
        given = right(service, name, task) if passing else plain(task)
        service.request(
            "answers", visitor, {"answer_id": answer_id(), "task": task["id"], "answer": given, "seconds": seconds}
        )
    service.request("finish", visitor)
    return len(batch["tasks"])


class Gate:
    """Holds the log's thread, so that all that is submitted until `open` is decided and committed together."""

    def __init__(self, service: CampaignService) -> None:
        self._opened = threading.Event()
        self._held = service.log.submit(lambda _: self._opened.wait(60))

    def open(self) -> None:
        self._opened.set()
        assert self._held.result()
