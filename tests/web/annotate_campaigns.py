"""Campaigns for the browser tests: one per task type, from the bundled example, with an invented assisting judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from report import fake_runs as fake

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.tasks import TASK_TYPES
from summeter.records import Document, Judgment, KeyFacts, Summary
from summeter.runs.manifest import JudgeEntry

__all__ = ["TASK_TYPES"]
ASSISTED = TASK_TYPES[:3]
WIDE = "a 😀 família 👩‍👩‍👧 of é and 漢字"
MACHINE = JudgeEntry(
    name="made.machine", signature="made.machine|v:1", aspects=("faithfulness", "completeness", "key_fact_validity"),
    reduce="share", file="machine",
)  # fmt: skip
QUESTIONS = [
    {"question": "When is a sentence supported?", "choices": ["When it sounds true", "When the document says so"],
     "answer": 1},
    {"question": "May you use what you know from elsewhere?", "choices": ["Yes", "No"], "answer": 1},
]  # fmt: skip
INSTRUCTIONS = """Read the document **before** the summary.

- A sentence is *supported* when everything in it follows from the document.
- What you know from elsewhere does not count.
"""


def machine(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """Judge every second sentence unsupported, and every key fact valid and conveyed by the first sentence."""
    facts = KeyFacts.of(document.key_facts, "given")
    made = []
    for index in range(len(summary.sentences)):
        good = index % 2 == 0
        said = "The document says the same." if good else "The document gives another number, as far as I can see."
        made.append(fake.judgment(document, summary, entry, "faithfulness", unit="sentence", index=index,
                                  value=float(good), label=int(good), reason=said,
                                  error_type=None if good else "entity error"))  # fmt: skip
    made += [
        fake.judgment(document, summary, entry, aspect, unit="key_fact", index=index, list_id=facts.id, value=1.0,
                      label=1, reason="It is said there.", evidence=summary.sentences[:1])
        for index in range(len(facts.texts))
        for aspect in ("completeness", "key_fact_validity")
    ]  # fmt: skip
    return made


def rows(example: Path, documents: int = 2) -> list[dict[str, Any]]:
    """Return the first documents of the example without human judgments; one summary contains wide characters."""
    found = [json.loads(line) for line in example.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(one["doc_id"] for one in found))[:documents]
    kept = [{name: value for name, value in one.items() if name not in {"human", "reference"}} for one in found]
    kept = [one for one in kept if one["doc_id"] in names]
    kept[0]["summary"] = f"{WIDE} stands. {kept[0]['summary']}"
    kept[0].pop("sentences", None)
    return kept


def campaign(folder: Path, task_type: str, given: list[dict[str, Any]], **changes: Any) -> CampaignFolder:
    """Make a campaign over `given` rows for two local accounts; `changes` replace fields of its YAML file."""
    folder.mkdir(parents=True)
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in given), encoding="utf-8")
    fields: dict[str, Any] = {
        "name": task_type.replace("_", "-"), "title": "Summaries of 2031", "task_type": task_type, "data": "rows.jsonl",
        "order": "as_given", "answers_per_item": 2, "batch": {"size": 3, "lease_minutes": 60},
        "platform": {"name": "local", "accounts": ["anna", "ben"]}, "attention": {"rate": 0},
        "contact": "team@example.org",
    }  # fmt: skip
    if task_type in ASSISTED and changes.get("assistance", ...) is ...:
        fake.make(folder / "run", given, judges=((MACHINE, machine),))
        fields["assistance"] = {"machine": {"run": "run", "judge": MACHINE.name}}
    fields |= changes
    (folder / "campaign.yaml").write_text(yaml.safe_dump(fields, allow_unicode=True), encoding="utf-8")
    return CampaignFolder(build(folder / "campaign.yaml", folder / "made"))
