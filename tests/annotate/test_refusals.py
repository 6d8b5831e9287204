"""Campaign files and answers that are refused, by line and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate.test_service import refused

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import read_campaign
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks.key_fact_validation import CRITERIA
from summeter.records import Fault, InputError

FAULTY = """\
name: mine
task_type: [rating]           # 2
data: data.jsonl
answers_per_item: many
order: shufled
platfrom: {name: local}  # 6
batch:
  size: 0                # 8
  lease_minuts: 30
consent: yes             # 10
scale:
  labls: [bad, good]     # 12
  low: a
questions:
  - name: sure           # 15
    question: How sure are you?
    type: scales
    options: []
  - name: a.b            # 19
    question: ""
    type: text
    scale: {show: sliders}
  - {name: c, type: yes_no}
aspects:
  - style
  - {name: worth, scale: {low: 0, high: 100}}   # 26
batch: {size: 3}
codes: done
hosts: example.org
"""
HEAD = {"name": "mine", "data": "data.jsonl", "task_type": "fact_verification"}
CHOICE = "questions:\n- name: q\n  question: Which?\n  type: choice\n  options:\n"
ASKED = "questions:\n- {name: q, question: Why, type: yes_no, when: {%s}}\n"
FILES = [
    ("task_type: guessing", 1, "task_type"),
    ("task_type: ratings", 1, "task_type"),
    ("answers_per_item: 0", 1, "answers_per_item"),
    ("answer_per_item: 3", 1, "answer_per_item"),
    ("name: a/b", 1, "name"),
    ("attention: {rate: 0.9}", 1, "attention.rate"),
    ("attention: {paraphrases: [no place]}", 1, "attention.paraphrases.0"),
    ("platform: {name: mturk, accounts: [anna]}", 1, "platform"),
    ("platform: {name: local, prerequisites: {}}", 1, "platform"),
    *((f"platform: {{name: local, accounts: [anna, {name}]}}", 1, "platform")
      for name in ("people", "preview", "adjudicator")),
    ("platform: {name: local, accounts: ['?1']}", 1, "platform.accounts.0"),
    ("codes: {completed: <b>}", 1, "codes.completed"),
    ("qualification: {questions: [{question: Two, choices: [a, b], answer: 2}]}", 1, "qualification.questions.0"),
    ("task_type: rating\nassistance: {machine: {run: r}}", 2, "assistance.machine"),
    ("assistance: {machine: {set: x, run: y}}", 1, "assistance.machine"),
    ("training:\n  items:\n  - {document: d, body: {}, expected: {}, feedback: ''}", 3, "training.items.0.body"),
    ("select:\n  systems: [s9]", 2, "select.systems"),
    ("interface: klingon", 1, "interface"),
    ("interface: none.yaml", 1, "interface"),
    ("error_types: [EntE, Entity]", 1, "error_types"),
    ("error_types: [NoE]", 1, "error_types"),
    ("error_types:\n- fine\n- a+b", 1, "error_types"),
    ("error_types:\n- fine\n- ' '", 3, "error_types.1.name"),
    ("error_types:\n- wrong\n- name: b\n  label: wrong", 1, "error_types"),
    ("aspects:\n- name: style\n  scale:\n    labels:\n    - bad\n    - ' '", 6, "aspects.0.scale.labels.1"),
    ("scale:\n  labels:\n  - bad\n  - 'bad '", 2, "scale.labels"),
    ("scale: {labels: [one]}", 1, "scale"),
    ("scale: {labels: [a, b], high: 5}", 1, "scale"),
    ("scale: {labels: [a, b], show: slider}", 1, "scale"),
    ("scale: {low: 5, high: 1}", 1, "scale"),
    ("scale: {low: 0, high: 1, step: 0.3}", 1, "scale"),
    ("scale: {low: 0, high: 100}", 1, "scale"),
    ("scale: {low: 0, high: 1, step: 0.0001, show: slider}", 1, "scale"),
    ("scale: {low: 0, high: 1, step: 1.0e-6, show: slider}", 1, "scale"),
    ("scale: {low: .inf}", 1, "scale.low"),
    *((f"scale: {{low: 0, high: 1, step: {step}, show: slider}}", 1, "scale.step")
      for step in ("1.0e-320", "1.0e-10", "0")),
    (f"{CHOICE}  - plain\n  - ' '", 7, "questions.0.options.1.name"),
    (f"{CHOICE}  - so so\n  - so  so", 5, "questions.0.options"),
    ("questions:\n- {name: q, question: b, type: choice, options: [yes, 2]}", 2, "questions.0.options.0"),
    ("questions:\n- {name: faithfulness, question: b, type: yes_no}", 2, "questions.0.name"),
    (ASKED % "x: {y: 1}", 2, "questions.0.when.x"),
    (ASKED % "labl: supported", 2, "questions.0.when.labl"),
    (ASKED % "label: suported", 2, "questions.0.when.label"),
    (ASKED % "q: true", 2, "questions.0.when.q"),
    ("questions: &q [*q]", 1, None),
    ("title: &t [*t]", 1, None),
    ("1: 2", None, "1"),
    ("consent: [", 2, None),
    ("- 1", None, None),
]  # fmt: skip


def faults(folder: Path, text: str) -> list[Fault]:
    """Return the faults of a campaign file, of which nothing is built."""
    file = folder / "campaign.yaml"
    file.write_text(text, encoding="utf-8")
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made.rows()), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        build(file, folder / "made")
    assert {fault.file for fault in caught.value.faults} == {str(file)}
    assert not (folder / "made").exists()
    return list(caught.value.faults)


@pytest.mark.parametrize(("text", "line", "field"), FILES)
def test_a_campaign_file_is_refused_by_line_and_field(
    text: str, line: int | None, field: str | None, tmp_path: Path
) -> None:
    head = [f"{name}: {value}\n" for name, value in HEAD.items() if not text.startswith(f"{name}:")]
    found = [(fault.line, fault.field) for fault in faults(tmp_path, "".join(head) + text + "\n")]
    assert (found[0][0] if line is None else len(head) + line, field) in found


def test_every_error_has_a_line_and_a_suggestion(tmp_path: Path) -> None:
    found = {(fault.line, fault.field): fault.message for fault in faults(tmp_path, FAULTY)}
    assert list(found) == [
        (2, "task_type"), (4, "answers_per_item"), (5, "order"), (6, "platfrom"), (10, "consent"), (12, "scale.labls"),
        (13, "scale.low"), (17, "questions.0.type"), (19, "questions.1.name"), (20, "questions.1.question"),
        (22, "questions.1.scale.show"), (23, "questions.2.question"), (26, "aspects.1.scale"), (27, "batch"),
        (28, "codes"), (29, "hosts"),
    ]  # fmt: skip
    near = {5: "shuffled", 6: "platform", 12: "labels", 22: "slider"}
    assert {line: name for line, name in near.items() if f"did you mean {name}?" in str(found)} == near
    assert [fault.field for fault in faults(tmp_path, "")] == [None]
    assert [(fault.line, fault.field) for fault in faults(tmp_path, "name: x\n")] == [(1, "task_type"), (1, "data")]
    (tmp_path / "campaign.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_campaign(tmp_path / "campaign.yaml")


SURE = {"name": "sure", "question": "How sure are you?", "type": "scale",
        "scale": {"low": 0, "high": 100, "step": 5, "show": "slider"}}  # fmt: skip
FLAWS = {"name": "flaws", "question": "Wrong?", "type": "choices", "required": False, "options": ["a", "b"]}
OWN = {
    "asked": [
        SURE, FLAWS,
        {"name": "why", "question": "Why?", "type": "text", "required": False, "when": {"label": "not_supported"}},
        {"name": "tone", "question": "How does it sound?", "type": "choice", "options": ["dry", "lively", "odd"]},
        {"name": "harm", "question": "Could it do harm?", "type": "yes_no"},
        {"name": "how", "question": "How?", "type": "text", "when": {"harm": True}, "longest": 40},
    ],
    "graded": [{"name": "grade", "question": "Why this grade?", "type": "yes_no", "when": {"style": [-1, 0]}}],
}  # fmt: skip
CAMPAIGNS: dict[str, dict[str, Any]] = {
    **{task_type: {"task_type": task_type} for task_type in made.TASK_TYPES},
    "asked": {"questions": OWN["asked"]},
    "graded": {"task_type": "rating", "questions": OWN["graded"], "best": False, "scale": {"labels": ["no", "yes"]},
               "aspects": [{"name": "style", "question": "?", "scale": {"low": -1, "high": 1}}, "sense"]},
}  # fmt: skip
FINE = {"label": "supported", "sure": 55, "tone": "dry", "harm": False}
HIGH, LOW = {"style": 1, "sense": 2}, {"style": 0, "sense": 1}
ANSWERS: list[tuple[str, dict[str, Any], str]] = [
    ("fact_verification", {"values": {"label": "supported", "error_types": ["x"]}}, "values.error_types"),
    ("fact_verification", {"values": {"label": "not_supported"}}, "values.error_types"),
    ("fact_verification", {"values": {"label": "not_supported", "error_types": ["x"]}}, "values.error_types"),
    ("fact_verification", {"values": {"label": "perhaps"}}, "values.label"),
    ("fact_verification", {"values": {"label": "supported"}, "machine": "agree"}, "machine"),
    ("fact_verification", {"values": {"label": "supported"}, "comment": "x" * 2001}, "comment"),
    ("fact_verification", {"values": {"label": "supported"}, "summaries": {"A": {}}}, "summaries"),
    ("fact_verification", {"label": "supported"}, "label"),
    ("key_fact_validation", {"values": {"significant": 1, "correct": True}}, "values.significant"),
    ("key_fact_validation", {"values": {**dict.fromkeys(CRITERIA, True), "edit": "So."}}, "values.edit"),
    ("key_fact_alignment", {"values": {"sentences": [7]}}, "values.sentences"),
    ("key_fact_alignment", {"values": {"sentences": [0, 0]}}, "values.sentences"),
    ("key_fact_alignment", {"values": {}}, "values.sentences"),
    ("rating", {"summaries": {"A": {"coherence": 4}}, "values": {"best": "A"}}, "summaries.A.consistency"),
    ("rating", {"summaries": {"A": {"coherence": "good"}}, "values": {"best": "A"}}, "summaries.A.coherence"),
    ("rating", {"summaries": {"C": {"coherence": 4}}}, "summaries"),
    ("span_highlighting", {"values": {}}, "values.spans"),
    ("span_highlighting", {"values": {"spans": [made.span(0, 4), made.span(3, 6)]}}, "values.spans"),
    ("span_highlighting", {"values": {"spans": [{**made.span(0, 4), "kind": "x"}]}}, "values.spans"),
    ("span_highlighting", {"values": {"spans": [made.span(4, 4)]}}, "values.spans"),
    ("span_highlighting", {"values": {"spans": [{"start": 0}]}}, "values.spans.end"),
    ("pairwise", {"values": {"overall": "C"}}, "values.overall"),
    *(("asked", {"values": FINE | values}, f"values.{field}") for values, field in (
        ({"sure": 56}, "sure"), ({"sure": 105}, "sure"), ({"sure": True}, "sure"), ({"tone": "sad"}, "tone"),
        ({"tone": ["dry"]}, "tone"), ({"flaws": []}, "flaws"), ({"flaws": ["a", "a"]}, "flaws"), ({"harm": 1}, "harm"),
        ({"harm": True}, "how"), ({"how": "so"}, "how"), ({"harm": True, "how": "x" * 41}, "how"),
        ({"harm": True, "how": "  "}, "how"), ({"why": "since"}, "why"), ({"mood": "x"}, "mood"),
        ({"harm": None}, "harm"),
    )),
    *(("graded", {"summaries": summaries}, f"summaries{field}") for summaries, field in (
        ({"A": HIGH, "B": LOW}, ".B.grade"), ({"A": {**HIGH, "grade": True}, "B": LOW}, ".A.grade"), ({"C": {}}, ""),
        ({"A": {**HIGH, "style": 2}, "B": {**LOW, "grade": True}}, ".A.style"),
    )),
]  # fmt: skip


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_an_answer_is_refused_by_field(name: str, tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path, attention={"rate": 0}, **CAMPAIGNS[name])) as service:
        task = service.request("batch", made.who("anna"))["batch"]["tasks"][0]
        for campaign, answer, field in ANSWERS:
            if campaign == name:
                refusal = refused("invalid", service, "answers", made.who("anna"), made.body(task, answer, seconds=1))
                assert (refusal.status, refusal.field) == (422, f"answer.{field}")
