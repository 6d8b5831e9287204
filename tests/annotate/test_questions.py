"""Additional questions: validation, storage, merging, adjudication and agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made

from summeter.annotate.analysis.adjudicate import Decision, adjudicate, disputes
from summeter.annotate.analysis.aggregate import dataset_of, judgments_of, merged_of
from summeter.annotate.analysis.quality import quality
from summeter.annotate.campaign.config import Scale
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.questions import Question, asked
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.annotate.tasks.task import Task
from summeter.meta import agree, card
from summeter.records import UsageError

SURE = {"name": "sure", "question": "How sure are you?", "type": "scale",
        "scale": {"low": 0, "high": 100, "step": 5, "show": "slider",
                  "anchors": {"low": "guessed", "high": "sure"}}}  # fmt: skip
WHY = {"name": "why", "question": "Why not?", "type": "text", "required": False, "when": {"label": "not_supported"}}
TONE = {"name": "tone", "question": "How does it sound?", "type": "choice", "options": ["dry", "lively", "odd"]}
FLAWS = {"name": "flaws", "question": "What else is wrong?", "type": "choices", "required": False,
         "options": [{"name": "grammar", "meaning": "Ill formed."}, "spelling", "length"]}  # fmt: skip
HARM = {"name": "harm", "question": "Could it do harm?", "type": "yes_no"}
HOW = {"name": "how", "question": "How?", "type": "text", "when": {"harm": True}, "longest": 40}
QUESTIONS = [SURE, WHY, TONE, FLAWS, HARM, HOW]


def answer(service: CampaignService, task: dict[str, Any], own: Any, who: str = "anna", **more: Any) -> None:
    body = {"answer_id": made.answer_id(), "task": task["id"], "seconds": 9}
    given = {**made.plain(task), **more}
    given["values"] = {**given["values"], **own}
    service.request("answers", made.who(who), {**body, "answer": given})


FINE = {"sure": 55, "tone": "dry", "harm": False}


def test_rating_questions_about_each_summary(tmp_path: Path) -> None:
    grade = {"name": "grade", "question": "Why this grade?", "type": "yes_no", "when": {"style": [-1, 0]}}
    aspects = [{"name": "style", "question": "?", "scale": {"low": -1, "high": 1}}, "sense"]
    folder = made.make(tmp_path, task_type="rating", aspects=aspects, scale={"labels": ["no", "yes"]},
                       questions=[grade], attention={"rate": 0}, best=False)  # fmt: skip
    with CampaignService(folder) as service:
        task = service.request("batch", made.who("anna"))["batch"]["tasks"][0]
        form = service.request("session", made.who("anna"))["form"]
        shown = {question["name"]: question["scale"] for question in form["questions"] if question["each_summary"]}
        assert [point["value"] for point in shown["style"]["points"]] == [-1, 0, 1]
        assert [point["label"] for point in shown["sense"]["points"]] == ["no", "yes"]
        high, low = {"style": 1, "sense": 2}, {"style": 0, "sense": 1}
        given = {"A": high, "B": {**low, "grade": True}}
        answer(service, task, {}, values={}, summaries=given)
        again = service.request("session", made.who("anna"))["batch"]["tasks"][0]
        assert again["answer"]["summaries"] == given
        (stored,) = service.state.people["anna"].answers.values()
        letters = service.folder.letters("anna", service.tasks.work[0])
        votes = [one for one in judgments_of(service) if one.aspect == "grade"]
        assert [(one.target.system, one.label, one.signature) for one in votes] == [
            (letters[1], 1, "human.yes_no|v:1")
        ]  # fmt: skip
        assert set(stored.answer.summaries) == set(letters)


def test_answers_are_merged_by_type_and_adjudicated(tmp_path: Path) -> None:
    given = [
        {**FINE, "sure": 20, "flaws": ["grammar", "length"]},
        {**FINE, "sure": 40, "flaws": ["grammar"], "harm": True, "how": "It misleads."},
        {**FINE, "sure": 90, "tone": "odd", "flaws": ["spelling"]},
    ]
    with CampaignService(made.make(tmp_path, questions=QUESTIONS, attention={"rate": 0})) as service:
        for name, values in zip(("anna", "ben", "cleo"), given, strict=True):
            answer(service, service.request("batch", made.who(name))["batch"]["tasks"][0], values, name)
        key = next(iter(service.state.people["anna"].answers))
        merged = {one.aspect: one for one in merged_of(service)}
        assert merged["sure"].value == pytest.approx(50)  # the mean of 20, 40, 90
        assert (merged["tone"].label, merged["flaws"].label) == ("dry", "grammar")  # more than half
        assert (merged["harm"].label, merged["harm"].value) == (0, 0.0)
        assert "how" not in merged  # free text is no vote
        raw = [one for one in judgments_of(service) if one.aspect in {"how", "flaws"}]
        assert [(one.judge, one.label) for one in raw] == [
            ("anna", "grammar+length"), ("ben", "grammar"), ("ben", "It misleads."), ("cleo", "spelling"),
        ]  # fmt: skip
        (dispute,) = disputes(service)
        assert dispute.task.key == key
        assert dispute.why == (
            "sure: 1 20, 1 40, 1 90; tone: 2 dry, 1 odd; flaws: 1 grammar, length, 1 grammar, 1 spelling; "
            "harm: 2 no, 1 yes"
        )
        assert dispute.to_json()["answers"][1]["said"].endswith("harm: yes; how: It misleads.")
        values = {"label": "supported", **FINE, "tone": "sad"}
        with pytest.raises(UsageError, match=r"answer\.values\.tone"):
            adjudicate(service, [Decision(key, TaskAnswer(values=values))])
        adjudicate(service, [Decision(key, TaskAnswer(values={**values, "tone": "odd", "sure": 100}))])
        decided = {one.aspect: one for one in merged_of(service)}
        assert (decided["tone"].label, decided["sure"].value) == ("odd", 100)
        assert "flaws" not in decided  # left out by who decided


def test_a_choice_without_a_majority_has_no_label(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path, questions=[TONE], attention={"rate": 0})) as service:
        for name, tone in (("anna", "dry"), ("ben", "odd")):
            answer(service, service.request("batch", made.who(name))["batch"]["tasks"][0], {"tone": tone}, name)
        (merged,) = (one for one in merged_of(service) if one.aspect == "tone")
        assert (merged.status, merged.label) == ("skipped", None)
        assert merged.reason == "no majority (1 for dry, 1 for odd); adjudicate it"


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_every_task_type_asks_additional_questions(task_type: str, tmp_path: Path) -> None:
    questions = [question for question in QUESTIONS if question is not WHY]
    folder = made.make(tmp_path, made.rows(documents=6), task_type=task_type, questions=questions, batch={"size": 20})
    with CampaignService(folder) as service:
        profiles = [Profile(accuracy=1.0)] * 3 + [Profile(laziness=1.0)]
        assert simulate(service, crowd(folder, profiles, Gold(seed=3), seed=2)) > 0
        study = agree(dataset_of(service), resamples=0)
        first = {row.aspect: row for row in reversed(list(study.where(study="agreement")))}
        assert {name: first[name].statistic for name in ("sure", "tone", "flaws", "harm")} == {
            "sure": "alpha_ordinal", "tone": "alpha_nominal", "flaws": "alpha_masi", "harm": "alpha_nominal",
        }  # fmt: skip
        assert all(first[name].n > 0 for name in ("sure", "tone", "harm"))
        assert "how" not in first
        assert {"sure", "tone", "harm"} <= {row.aspect for row in quality(service, resamples=50).headline()}
        brief = quality(service, resamples=50, brief=True)
        assert {row.aspect: row.statistic for row in brief.headline()}["sure"] == "alpha_ordinal"
        three = [person for person in brief.annotators if person["annotator"] != "dora"]
        assert len(three) == 3
    same = agree(judgments_of_kind(dataset_of(service), {"anna", "ben", "cleo"}), resamples=0)
    row = next(one for one in same if one.aspect == "tone" and one.statistic == "identical")
    assert row.value == 1  # all three see what is right


def judgments_of_kind(data: Any, who: set[str]) -> list[Any]:
    return [one for one in data.judgments("human.raw") if one.judge in who and one.aspect == "tone"]


def test_names_and_texts_have_no_mean(tmp_path: Path) -> None:
    """Dataset summaries and numeric coefficients contain scales and labels, but no choices or texts."""
    questions = [TONE, SURE, FLAWS, {**HOW, "when": {}}]
    with CampaignService(made.make(tmp_path, questions=questions, batch={"size": 20})) as service:
        simulate(service, crowd(service.folder, [Profile()] * 3, Gold(seed=3), seed=2))
        data = dataset_of(service)
    assert {row.aspect for row in card(gold=data, resamples=0) if row.aspect} == {"faithfulness", "sure"}
    assert {one.aspect for one in data.judgments("human.raw")} >= {"tone", "flaws", "how", "sure"}
    study = agree(data, coefficients=("alpha_ordinal", "alpha_masi"), resamples=0)
    rows = {(row.aspect, row.statistic): row for row in study}
    assert (rows["tone", "alpha_ordinal"].value, rows["sure", "alpha_masi"].value) == (None, None)
    assert rows["tone", "alpha_ordinal"].reason == "alpha_ordinal needs numbers, but these votes are categories"
    assert rows["sure", "alpha_ordinal"].value is not None


def test_values_of_scales() -> None:
    assert Scale(labels=("a", "b", "c")).values == [1, 2, 3]
    tenths = Scale(low=0, high=1, step=0.1, show="slider")
    assert tenths.values[3] == 0.3
    assert tenths.has(0.1 + 0.2)
    assert not tenths.has(0.35)
    assert tenths.nearest(0.44) == 0.4
    page = Scale(low=-2, high=2, anchors={"low": "bad", "middle": "so so", "high": "good"}).to_page()
    assert [point["label"] for point in page["points"]] == ["bad", "", "so so", "", "good"]


def test_conditions_ignore_questions_that_are_not_asked() -> None:
    questions = [
        Question(name="types", type="choices", text="?", options=[{"name": name} for name in "xyz"]),
        Question(name="a", type="yes_no", text="?"),
        Question(name="b", type="yes_no", text="?", when=({"a": (True,)},)),
        Question(name="c", type="text", text="?", when=({"b": (True, False), "types": ("x", "y")},)),
        Question(name="d", type="text", text="?", when=({"a": (False,)}, {"b": (False,)})),
    ]
    task = Task(key="t", document_id="d", body={})

    def shown(**values: Any) -> str:
        return "".join(question.name for question in asked(questions, values, task)).removeprefix("types")

    assert shown(types=["y"]) == "a"
    assert shown(types=["y"], a=True) == "ab"
    assert shown(types=["z", "y"], a=True, b=False) == "abcd"
    assert shown(types=["z"], a=True, b=True) == "ab"
    assert shown(types=["y"], a=False, b=True) == "ad"  # what is not shown decides nothing
    assert shown(types=["y"], a=1) == "a"  # 1 is not true
