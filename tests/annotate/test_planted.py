"""Attention checks in the form of UniSumEval, and the shown part of machine verdicts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate import crowds

from summeter.annotate.analysis.automation_bias import cases
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import ADJUDICATOR, Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Answer, TaskAnswer
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile

FORM = {"rate": 0.2, "pass_share": 0.0, "form": "unisumeval"}


def sentences(task: Any) -> list[str]:
    summary = task.body["summary"]
    return [summary["text"][start:end] for start, end in summary["sentences"]]


def test_checks_of_unisumeval_are_a_fifth_and_unsupported(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(6, 2, 2), attention=FORM)
    work, checks = folder.tasks.work, folder.tasks.checks
    assert len(work) == 6 * 2 * 2
    assert len(checks) == 6, "a fifth of 30"
    planted = Counter((check.expected["label"], check.planned["accepts"]) for check in checks)
    assert planted == {("not_supported", True): 3, ("not_supported", False): 3}
    for check in checks:
        assert sentences(check)[check.body["index"]] == check.body["sentence"]
        assert check.body["sentence"] not in folder.sources[check.document_id].document.sentence_texts


def test_unisumeval_checks_paraphrase_key_facts(tmp_path: Path) -> None:
    foreign_sentence = "A ferry full of accordions left for Ghent."
    attention = {**FORM, "foreign_sentence": foreign_sentence}
    folder = made.make(tmp_path, made.rows(6, 2, 2), task_type="key_fact_alignment", attention=attention)
    checks = folder.tasks.checks
    assert len(checks) == 6
    own = [check for check in checks if check.expected["sentence"] is not None]
    assert len(own) == 3
    for check in own:
        facts = folder.sources[check.document_id].facts
        assert check.body["key_fact"] in facts
        posed = sentences(check)[check.expected["sentence"]]
        assert posed not in facts
        assert check.body["key_fact"].rstrip(".")[4:] in posed, "the paraphrase is of that very key fact"
    others = [check for check in checks if check.expected["sentence"] is None]
    assert {check.body["key_fact"] for check in others} == {foreign_sentence}
    assert all(check.planned["values"]["sentences"] in ([], [0], [1]) for check in others)


def test_a_right_answer_passes_and_the_opposite_fails(tmp_path: Path) -> None:
    for task_type in ("fact_verification", "key_fact_alignment"):
        folder = made.make(tmp_path / task_type, made.rows(6, 2, 2), task_type=task_type, attention=FORM)
        for check in folder.tasks.checks:
            right = folder.task_type.right_answer(check, Gold())
            assert folder.task_type.passed(check, right)
            wrong = {"label": "supported"} if task_type == "fact_verification" else {"sentences": []}
            if check.expected.get("sentence", 0) is None:
                wrong = {"sentences": [0]}
            assert not folder.task_type.passed(check, TaskAnswer(values=wrong))


def verdicts(folder: Path, show: str) -> CampaignFolder:
    """Build a campaign with machine verdicts."""
    return crowds.assisted(folder, made.rows(3), lambda at: at % 2, show=show, attention={**FORM, "pass_share": 0})


def shown(service: CampaignService) -> list[Any]:
    service.request("session", made.who("anna"))
    batch = service.request("batch", made.who("anna"), {})["batch"]
    return [task["assistance"] for task in batch["tasks"]]


@pytest.mark.parametrize(
    ("show", "label", "reason"),
    [("verdict_and_reason", True, True), ("verdict", True, False), ("nothing", False, False)],
)
def test_annotators_and_adjudicators_see_the_same_part_of_the_verdict(
    tmp_path: Path, show: str, label: bool, reason: bool
) -> None:
    folder = verdicts(tmp_path, show)
    with CampaignService(folder) as service:
        pages = shown(service)
    assert all(page["similar"] is not None for page in pages), "similar sentences stay"
    assert all((page["machine"] is not None) == label for page in pages)
    assert any((page["machine"] or {}).get("reason") for page in pages) == reason
    assert all(task.machine is not None for task in folder.tasks.work), "the verdict is kept to be compared with"
    assert answered(folder, Profile(accuracy=0.5))
    with CampaignService(folder) as service:
        pages = service.request("batch", Visitor(ADJUDICATOR, "lead"))["batch"]["tasks"]
    machines = [page["assistance"]["machine"] for page in pages]
    assert all((answer["answer"]["machine"] is None) != label for page in pages for answer in page["answers"])
    assert {machine is not None for machine in machines} == {label}
    assert any((machine or {}).get("reason") for machine in machines) == reason


def answered(folder: CampaignFolder, profile: Profile) -> list[Answer]:
    with CampaignService(folder) as service:
        simulate(service, crowd(folder, [profile] * 3, Gold(seed=1)))
        return [answer for task in service.tasks.work for answer in service.state.counted_answers(task.key)]


def test_hidden_verdicts_need_no_agreement(tmp_path: Path) -> None:
    folder = verdicts(tmp_path, "nothing")
    answers = answered(folder, Profile(trust=1.0))
    assert len(answers) == 3 * len(folder.tasks.work)
    assert {answer.answer.machine for answer in answers} == {None}
    with CampaignService(folder, readonly=True) as service:
        assert {case.arm for case in cases(service)} <= {"unassisted"}


def test_simulated_trust_in_reasons(tmp_path: Path) -> None:
    trusting = Profile(accuracy=0.5, trust=0.0, trust_reasons=1.0)
    agree = {}
    for show in ("verdict", "verdict_and_reason"):
        answers = answered(verdicts(tmp_path / show, show), trusting)
        agree[show] = sum(answer.answer.machine == "agree" for answer in answers) / len(answers)
    assert agree["verdict_and_reason"] == 1.0
    assert agree["verdict"] < 0.8
