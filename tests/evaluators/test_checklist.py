"""`checklist`: files, weights, questions that do not apply, evidence, one call for all or one each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import summeter as sm
from summeter.evaluators import checklist
from summeter.evaluators.checklist.judge import PACKS, Checklist, Question, read_checklist
from summeter.records import InputError, SettingError

QUESTIONS = [
    {"name": "owners", "question": "Who?", "not_applicable": True},
    {"name": "invented", "question": "Anything invented?", "good": False, "weight": 3},
    {"name": "order", "question": "In order?", "levels": ["no", "in part", "yes"], "weight": 2},
]
ROW: dict[str, Any] = {
    "document": "Ana: Who writes the report? Ben: I do.",
    "summary": "Ben writes the report.",
    "human": {"ratings": {"owners": {"a": 1}, "order": {"a": 3}}},
}


def entry(answer: str, quote: str = "") -> dict[str, str]:
    return {"quote": quote, "reason": "So it says.", "answer": answer}


def run(tmp_path: Path, replies: list[dict[str, object]], spec: str = "checklist[file={file}]") -> sm.Run:
    file, rules = tmp_path / "list.yaml", tmp_path / "rules.jsonl"
    file.write_text(json.dumps(QUESTIONS))
    rules.write_text("".join(json.dumps(rule) + "\n" for rule in replies))
    return sm.evaluate([ROW], [spec.format(file=file)], models=f"scripted/{rules}", out=tmp_path / "run")


def test_values_weights_and_evidence(tmp_path: Path) -> None:
    said = {"owners": entry("yes", "Ben: I do"), "invented": entry("no"), "order": entry("2", "Ben writes the report")}
    made = run(tmp_path, [{"reply": said}])
    found = {one.aspect: one for one in made.judgments()}
    assert [(name, one.value, one.label) for name, one in found.items()] == [
        ("owners", 1.0, 1),
        ("invented", 1.0, 1),
        ("order", 2.0, None),
        ("checklist", (1 * 1 + 3 * 1 + 2 * 0.5) / 6, None),
    ]
    document, summary = (found[name].evidence[0] for name in ("owners", "order"))
    assert (document.of, ROW["document"][document.start : document.end]) == ("document", "Ben: I do")
    assert (summary.of, summary.start, summary.end) == ("summary", 0, len("Ben writes the report"))
    study = sm.meta.agree(made.data, judges=[made], aspect="owners", resamples=0)
    assert {row.study for row in study} >= {"judge_and_people"}


def test_questions_that_do_not_apply_leave_the_mean(tmp_path: Path) -> None:
    said = {"owners": entry("not applicable"), "invented": entry("yes"), "order": entry("3")}
    found = {one.aspect: one for one in run(tmp_path, [{"reply": said}]).judgments()}
    assert (found["owners"].status, found["owners"].value) == ("skipped", None)
    assert found["checklist"].value == pytest.approx((3 * 0 + 2 * 1) / 5)


def test_a_missing_answer_fails_alone_and_the_total(tmp_path: Path) -> None:
    said = {"owners": entry("perhaps"), "invented": entry("no"), "order": entry("1")}
    found = {one.aspect: one.status for one in run(tmp_path, [{"reply": said}]).judgments()}
    assert found == {"owners": "unparsed", "invented": "ok", "order": "ok", "checklist": "unparsed"}


def test_one_call_for_each_question(tmp_path: Path) -> None:
    rules: list[dict[str, object]] = [
        {"match": "owners:", "reply": {"owners": entry("yes")}},
        {"match": "invented:", "reply": "no idea"},
        {"match": "order:", "reply": {"order": entry("3")}},
    ]
    made = run(tmp_path, rules, "checklist[file={file},calls=each]")
    found = {one.aspect: one for one in made.judgments()}
    assert {name: one.status for name, one in found.items()} == {
        "owners": "ok", "invented": "unparsed", "order": "ok", "checklist": "unparsed",
    }  # fmt: skip
    assert len(found["owners"].calls) == 4  # three questions, and one repair


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_is_a_file_that_can_be_edited(name: str) -> None:
    file = Path(checklist.__path__[0]) / "packs" / f"{name}.yaml"
    assert read_checklist(file) == Checklist(pack=name).questions
    assert len({question.name for question in Checklist(pack=name).questions}) == len(Checklist(pack=name).questions)


def test_faults_of_a_file_have_a_place(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(json.dumps([QUESTIONS[0], {"name": "x y", "question": "?"}, {"name": "z", "levels": ["one"]}]))
    with pytest.raises(InputError) as caught:
        Checklist(file=file)
    assert {fault.field for fault in caught.value.faults} == {
        "question 2: name", "question 3: question", "question 3: levels",
    }  # fmt: skip
    file.write_text("name: alone\n")
    with pytest.raises(InputError):
        Checklist(file=file)
    for settings in ({"file": file, "questions": [Question(name="a", question="b")]}, {"pack": "unknown"}):
        with pytest.raises((SettingError, InputError)):
            Checklist(**settings)
    with pytest.raises(SettingError):
        Checklist(questions=[Question(name="a", question="b")] * 2)
