"""Faults of a campaign's file are in its own words: the line, the field, the nearest name; all of them at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import read_campaign
from summeter.records import InputError

FAULTY = """\
name: mine
kind: ratings            # 2
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


def faults(folder: Path, text: str) -> list[str]:
    file = folder / "campaign.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_campaign(file)
    return [str(fault).removeprefix(f"{folder}/") for fault in caught.value.faults]


def test_every_fault_has_its_line_and_the_nearest_name(tmp_path: Path) -> None:
    found = faults(tmp_path, FAULTY)
    assert found.pop(0).startswith("campaign.yaml:2: kind: is none of fact_verification, ")
    expected = [
        "campaign.yaml:4: answers_per_item: is 'many'; give a whole number",
        "campaign.yaml:5: order: is 'shufled'; give shuffled or as_given (did you mean shuffled?)",
        "campaign.yaml:6: platfrom: is not known (did you mean platform?)",
        "campaign.yaml:10: consent: is true; give a text, in quotes where it looks like something else",
        "campaign.yaml:12: scale.labls: is not known (did you mean labels?)",
        "campaign.yaml:13: scale.low: is 'a'; give a number",
        "campaign.yaml:17: questions.0.type: is 'scales'; give scale or choice or choices or yes_no or text (d",
        "campaign.yaml:19: questions.1.name: is 'a.b'; name it without . and +, and without blanks around it",
        "campaign.yaml:20: questions.1.question: is empty; give 1 or more characters",
        "campaign.yaml:22: questions.1.scale.show: is 'sliders'; give points or slider (did you mean slider?)",
        "campaign.yaml:23: questions.2.question: is missing",
        "campaign.yaml:26: aspects.1.scale: 101 points are more than the 11 that fit; give show: slider",
        "campaign.yaml:27: batch: is given twice; the file would not say which counts",
        "campaign.yaml:28: codes: is a text; give fields of its own (name: value)",
        "campaign.yaml:29: hosts: is a text; give a list",
    ]
    assert len(found) == len(expected)
    assert [fault[: len(start)] for fault, start in zip(found, expected, strict=True)] == expected


def test_faults_found_with_the_data_have_lines_too(tmp_path: Path) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in made.rows())
    (tmp_path / "data.jsonl").write_text(rows, encoding="utf-8")
    file = tmp_path / "campaign.yaml"
    head = "name: mine\nkind: fact_verification\ndata: data.jsonl\n"
    for more, wanted in (
        ("select:\n  systems: [s9]\n", "campaign.yaml:5: select.systems: the data has no system 's9'"),
        (
            "questions:\n- name: q\n  question: Why?\n  type: text\n  when:\n    label: suported\n",
            "campaign.yaml:9: questions.0.when.label: suported is no answer to 'label'; it has: supported, not_suppor",
        ),
        ("error_types:\n- fine\n- a+b\n", "campaign.yaml:6: error_types.1.name: 'a+b' would be read as several"),
        ("interface: klingon\n", "campaign.yaml:4: interface: "),
        ("error_types:\n- fine\n- ' '\n", "campaign.yaml:6: error_types.1.name: is ' '; give a text that can be read"),
        ("error_types:\n- 'fine '\n", "campaign.yaml:5: error_types.0.name: is 'fine '; leave out the blanks"),
        ("error_types:\n- name: a\n  label: ' '\n", "campaign.yaml:6: error_types.0.label: is ' '; give a text"),
        (
            "error_types:\n- wrong\n- name: b\n  label: wrong\n",
            "campaign.yaml:7: error_types.1.label: annotators read 'wrong' at error_types.0.name too",
        ),
        ("aspects:\n- ' style'\n", "campaign.yaml:5: aspects.0.name: is ' style'; leave out the blanks around it"),
        (
            "aspects:\n- name: style\n  scale:\n    labels:\n    - bad\n    - 'good '\n",
            "campaign.yaml:9: aspects.0.scale.labels.1: is 'good '; leave out the blanks",
        ),
        ("scale:\n  labels:\n  - bad\n  - bad\n", "campaign.yaml:7: scale.labels.1: annotators read 'bad' at scale."),
        (
            f"{CHOICE}  - plain\n  - ' '\n",
            "campaign.yaml:10: questions.0.options.1.name: is ' '; give a text that can be read",
        ),
        (
            f"{CHOICE}  - so so\n  - so  so\n",
            "campaign.yaml:10: questions.0.options.1.name: annotators read 'so so' at questions.0.options.0.name too",
        ),
    ):
        file.write_text(head + more, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            build(file, tmp_path / "made")
        assert wanted in str(caught.value)
        assert not (tmp_path / "made").exists()


def test_an_empty_file_says_what_it_needs(tmp_path: Path) -> None:
    assert faults(tmp_path, "") == ["campaign.yaml: is no mapping; a campaign needs at least name, kind and data"]
    assert faults(tmp_path, "name: x\n") == [
        "campaign.yaml:1: kind: is missing",
        "campaign.yaml:1: data: is missing",
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("questions: [{name: a, question: b, type: choice, options: [yes, 2]}]",
         "questions.0.options.0: is true; give a name, in quotes where it looks like something else"),
        ("questions: [{name: a, question: b, type: text, when: {x: {y: 1}}}]",
         "questions.0.when.x: is an object; give a text, a number, or true or false"),
        ("questions: &q [*q]", "is an alias"),
        ("title: &t [*t]", "is an alias"),
        ("scale: {low: .inf}", "scale.low: "),
        ("scale: {low: 0, high: 1, step: 1.0e-320, show: slider}", "scale.step: is 1e-320; give at least 1e-06"),
        ("scale: {low: 0, high: 1.0e-9, step: 1.0e-10}", "scale.step: is 1e-10; give at least 1e-06"),
        ("scale: {step: 0}", "scale.step: is 0; give at least 1e-06"),
        ("scale: {low: 0, high: 1, step: 1.0e-6, show: slider}", "scale: a slider has at most 1000 steps, not 1000000"),
        ("1: 2", "1: "),
    ],
)  # fmt: skip
def test_odd_yaml_is_a_fault_and_no_crash(more: str, message: str, tmp_path: Path) -> None:
    found = faults(tmp_path, f"name: a\nkind: rating\ndata: x\n{more}\n")
    assert any(f": {message}" in fault for fault in found), found
