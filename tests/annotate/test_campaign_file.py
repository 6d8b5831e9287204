"""Errors of a campaign file: line, field and suggestion, all at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import read_campaign
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
CHOICE = "questions:\n- name: q\n  question: Which?\n  type: choice\n  options:\n"


def faults(folder: Path, text: str) -> list[Fault]:
    file = folder / "campaign.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_campaign(file)
    assert {fault.file for fault in caught.value.faults} == {str(file)}
    return list(caught.value.faults)


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


def test_errors_that_depend_on_the_data_have_lines(tmp_path: Path) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in made.rows())
    (tmp_path / "data.jsonl").write_text(rows, encoding="utf-8")
    file = tmp_path / "campaign.yaml"
    head = "name: mine\ntask_type: fact_verification\ndata: data.jsonl\n"
    for more, line, field in (
        ("select:\n  systems: [s9]\n", 5, "select.systems"),
        (
            "questions:\n- name: q\n  question: Why?\n  type: text\n  when:\n    label: suported\n",
            9,
            "questions.0.when.label",
        ),
        ("error_types:\n- fine\n- a+b\n", 4, "error_types"),
        ("interface: klingon\n", 4, "interface"),
        ("error_types:\n- fine\n- ' '\n", 6, "error_types.1.name"),
        ("error_types:\n- wrong\n- name: b\n  label: wrong\n", 4, "error_types"),
        ("aspects:\n- name: style\n  scale:\n    labels:\n    - bad\n    - ' '\n", 9, "aspects.0.scale.labels.1"),
        ("scale:\n  labels:\n  - bad\n  - 'bad '\n", 5, "scale.labels"),
        (f"{CHOICE}  - plain\n  - ' '\n", 10, "questions.0.options.1.name"),
        (f"{CHOICE}  - so so\n  - so  so\n", 8, "questions.0.options"),
    ):
        file.write_text(head + more, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            build(file, tmp_path / "made")
        (fault,) = caught.value.faults
        assert (fault.file, fault.line, fault.field) == (str(file), line, field)
        assert not (tmp_path / "made").exists()


def test_an_empty_file_lists_required_fields(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "")
    assert fault.field is None
    assert [(fault.line, fault.field) for fault in faults(tmp_path, "name: x\n")] == [(1, "task_type"), (1, "data")]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ("questions: [{name: a, question: b, type: choice, options: [yes, 2]}]", "questions.0.options.0"),
        ("questions: [{name: a, question: b, type: text, when: {x: {y: 1}}}]", "questions.0.when.x"),
        ("questions: &q [*q]", None),
        ("title: &t [*t]", None),
        ("scale: {low: .inf}", "scale.low"),
        ("scale: {low: 0, high: 1, step: 1.0e-320, show: slider}", "scale.step"),
        ("scale: {low: 0, high: 1.0e-9, step: 1.0e-10}", "scale.step"),
        ("scale: {step: 0}", "scale.step"),
        ("scale: {low: 0, high: 1, step: 1.0e-6, show: slider}", "scale"),
        ("1: 2", "1"),
    ],
)
def test_unusual_yaml_does_not_crash(more: str, field: str | None, tmp_path: Path) -> None:
    assert field in {fault.field for fault in faults(tmp_path, f"name: a\ntask_type: rating\ndata: x\n{more}\n")}
