"""Simulated annotators have the given accuracy, bias, laziness and trust, also over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from annotate import campaigns as made
from annotate import crowds
from annotate.network import Network, simulate_over_http

from summeter.annotate.analysis.aggregate import dataset_of, judgments_of
from summeter.annotate.analysis.quality import quality
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.app import make_app
from summeter.annotate.simulate import crowd
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.annotate.tasks.task import Task
from summeter.data.dataset import load, save
from summeter.meta import agree
from summeter.records import Judgment, Target, UsageError

STAGES: dict[str, Any] = {
    "consent": "May we?", "instructions": "Read.", "training": {"made": 2},
    "qualification": {"questions": [{"question": "Two?", "choices": ["1", "2"], "answer": 1}]},
}  # fmt: skip


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_every_task_type_can_be_completed_and_studied(task_type: str, tmp_path: Path) -> None:
    folder = crowds.done(tmp_path / "made", [crowds.GOOD] * 4, task_type=task_type, **STAGES)
    with CampaignService(folder, readonly=True) as service:
        assert all(len(one.counted) == 3 and not one.held for one in service.state.items.values())
        assert all(one.checks_passed == one.checks_seen for one in service.state.people.values())
        assert {one.ended for one in service.state.people.values()} <= {"completed", "no_more_items"}
        truth = Gold()
        for task in service.tasks.work:
            right = service.task_type.right_answer(task, truth)
            assert service.task_type.read(right.to_json(), task) == right
            assert all(answer.answer == right for answer in service.state.counted_answers(task.key))
        data, raw = dataset_of(service), judgments_of(service)
        save(data, tmp_path / "out")
        assert load(tmp_path / "out").judgments("human.raw") == tuple(raw)
        found = quality(service, 0)
        values = [row.value for row in found.headline()] + [row["agreement"] for row in found.annotators]
        assert found.headline()
        assert all(value in (None, pytest.approx(1.0)) for value in values)
    if task_type not in {"pairwise", "key_fact_validation"}:
        assert list(agree(data, aspect=raw[0].aspect, resamples=0))


def work(task_type: str, machine: dict[str, Any] | None = None) -> Task:
    body = {"sentence": "It rained.", "summary": {"text": "It rained.", "sentences": [[0, 10]]},
            "key_fact": "It rained."}  # fmt: skip
    assistance = None if machine is None else {"similar": [], "machine": machine}
    return Task(key=f"{task_type}/d/A/0", document_id="d", system="A", index=0, body=body, assistance=assistance)


def share_yes(profile: Profile, *, right: bool, machine: dict[str, Any] | None = None) -> float:
    task_type, task, rng = made.task_type_of("key_fact_validation"), work("key_fact_validation", machine), Random(0)
    target = Target(document_id="d", system="A", unit="key_fact", index=0)
    gold = Judgment(target=target, aspect="key_fact_validity", judge="people", signature="g", label=int(right))
    answers = [task_type.simulated(task, machine, profile, Gold([gold]), rng, order=())[0] for _ in range(500)]
    return sum(answer.values["significant"] for answer in answers) / len(answers)


def test_accuracy_bias_laziness_and_trust() -> None:
    # Binomial with n = 500: three standard errors are at most .067.
    near = 0.067
    assert share_yes(Profile(accuracy=0.8), right=True) == pytest.approx(0.8, abs=near)
    assert share_yes(Profile(accuracy=0.8), right=False) == pytest.approx(0.2, abs=near)
    # Half turned to the good side: .2 * .5 + .5; to the bad side: .8 * .5.
    assert share_yes(Profile(accuracy=0.8, bias=0.5), right=False) == pytest.approx(0.6, abs=near)
    assert share_yes(Profile(accuracy=0.8, bias=-0.5), right=True) == pytest.approx(0.4, abs=near)
    assert share_yes(Profile(accuracy=1, laziness=1), right=False) == 1.0
    wrong = {"accepts": True, "values": {}, "reason": None}
    assert share_yes(Profile(accuracy=1, trust=0.3), right=False, machine=wrong) == pytest.approx(0.3, abs=near)
    assert share_yes(Profile(accuracy=1, laziness=1), right=True, machine={**wrong, "accepts": False}) == 0.0


def test_agreement_with_the_machine_matches_the_answer() -> None:
    machine = {"accepts": True, "values": {}, "reason": None}
    task_type, task = made.task_type_of("fact_verification"), work("fact_verification", machine)
    for profile in (Profile(accuracy=0.5), Profile(trust=1), Profile(laziness=1)):
        for seed in range(20):
            answer, _ = task_type.simulated(task, machine, profile, Gold(), Random(seed), order=())
            assert task_type.read(answer.to_json(), task) == answer


def test_right_answers_follow_gold() -> None:
    task = work("fact_verification")
    for label in (0, 1):
        gold = Judgment(
            target=Target(document_id="d", system="A", unit="sentence", index=0), aspect="faithfulness", judge="people",
            signature="human.sentence_labels|v:1", label=label, error_type=None if label else "entity error",
        )  # fmt: skip
        right = made.task_type_of("fact_verification").right_answer(task, Gold([gold]))
        assert right.values == (
            {"label": "supported"} if label else {"label": "not_supported", "error_types": ["entity error"]}
        )


@pytest.mark.parametrize("aspect", ["faithfulness", "faithfulness_spans"])  # the second: exports of earlier versions
def test_a_summary_without_gold_spans_has_no_errors(aspect: str) -> None:
    task_type, task = made.task_type_of("span_highlighting"), work("span_highlighting")
    target = Target(document_id=task.document_id, system=task.system or "")
    clean = Judgment(target=target, aspect=aspect, judge="people", signature="human.spans_none|v:1", label=1)
    rated = Judgment(target=target, aspect="faithfulness", judge="people", signature="human.overall|v:1", value=0.4)
    seeds = range(40)  # without gold, some seeds draw a span
    assert all(task_type.right_answer(task, Gold([clean, rated], seed=seed)).values["spans"] == [] for seed in seeds)
    assert not all(task_type.right_answer(task, Gold([rated], seed=seed)).values["spans"] == [] for seed in seeds)


def test_too_few_accounts_are_refused(tmp_path: Path) -> None:
    folder = made.make(tmp_path)
    with pytest.raises(UsageError, match="4 accounts for 5 annotators"):
        crowd(folder, [crowds.GOOD] * 5, Gold())


@pytest.mark.parametrize("platform", ["local", "prolific", "mturk"])
def test_simulation_over_an_unreliable_network(platform: str, tmp_path: Path) -> None:
    plan = None if platform == "local" else {"name": platform}
    folder = made.make(tmp_path, made.rows(2), answers_per_item=2, platform=plan, **STAGES)
    scripts = crowd(folder, [crowds.GOOD] * 3, Gold())
    network = Network(drop=0.2, pause=0.0)

    async def work_there() -> None:
        with CampaignService(folder) as service:
            server = TestServer(make_app(service))
            await server.start_server()
            await simulate_over_http(str(server.make_url("/")), scripts, network)
            await server.close()

    asyncio.run(work_there())
    with CampaignService(folder, readonly=True) as service:
        answered = {(one.annotator, one.token): one.seq for one in service.log.events() if one.kind == "answered"}
        assert answered == network.acknowledged
        assert network.lost > 0
        assert all(len(one.counted) == 2 for one in service.state.items.values())
