"""Every file that an evaluator loads has a licence, and licences that forbid commercial use are reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

import pytest
from together import together

from summeter.cli.main import main
from summeter.evaluators.base import Checkpoint, Evaluator, Role
from summeter.evaluators.catalog import CATALOG, find
from summeter.evaluators.entailment.minicheck import MiniCheck
from summeter.evaluators.seq2seq.trueteacher import TrueTeacher
from summeter.evaluators.seq2seq.unieval import UniEval

BASELINES = (
    "bartscore", "unieval", "trueteacher", "alignscore", "minicheck", "faithlens", "granite_guardian", "hhem",
    "lettucedetect", "a3cu", "a2cu", "dae", "qafacteval", "menli",
)  # fmt: skip


@together("name", CATALOG)
def test_every_entry_states_its_licences(name: str) -> None:
    evaluator = find(name)
    assert evaluator.code_licence
    assert all(checkpoint.licence for role in evaluator.roles.values() for checkpoint in role.checkpoints)
    if name in BASELINES:
        assert all(role.checkpoints for role in evaluator.roles.values())


class Two(TrueTeacher):
    """A judge with weights for any use and for noncommercial use."""

    roles: ClassVar[Mapping[str, Role]] = {
        "trueteacher": Role(
            "seq2seq", checkpoints=(*TrueTeacher.roles["trueteacher"].checkpoints, Checkpoint("org/free", "MIT"))
        )
    }


T5, BESPOKE = "google/t5_11b_trueteacher_and_anli (CC BY-NC 4.0)", "bespokelabs/Bespoke-MiniCheck-7B (CC BY-NC 4.0)"


@together(
    "judge, model, said",
    [
        (TrueTeacher(), "hf/google/t5_11b_trueteacher_and_anli@1a2b", T5),
        (TrueTeacher(), "local/any-folder@1a2b", T5),
        (TrueTeacher(), "hf/org/another@1a2b", None),
        (Two(), "local/any-folder@1a2b", None),
        (Two(), "local/T5_11b_trueteacher_and_anli@1a2b", T5),
        (UniEval(), "hf/MingZhong/unieval-sum@1a2b", None),
        (MiniCheck(network="llm"), "vllm/bespokelabs/Bespoke-MiniCheck-7B", BESPOKE),
        (MiniCheck(network="llm"), "ollama/bespoke-minicheck:7b-q8_0", BESPOKE),
        (MiniCheck(network="llm"), "openai/gpt-4o", None),
        (MiniCheck(), "hf/lytang/MiniCheck-RoBERTa-Large@1a2b", None),
    ],
)
def test_noncommercial_weights(judge: Evaluator, model: str, said: str | None) -> None:
    assert judge.noncommercial_weights({judge.required_roles[0]: model}) == ((said,) if said else ())


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["list", "evaluators", *arguments])
    assert not ended.value.code
    return capsys.readouterr().out


def test_the_list_of_evaluators_shows_licences(capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys).splitlines()
    closed = [line.split()[0] for line in lines if "non-commercial" in line]
    assert "trueteacher" in closed
    assert "unieval" not in closed
    rows = json.loads(listed(capsys, "--json"))["rows"]
    (row,) = [row for row in rows if row["name"] == "trueteacher"]
    assert row["code_licence"] == "no code released"
    assert row["weights"] == [
        {
            "role": "trueteacher",
            "model": "google/t5_11b_trueteacher_and_anli",
            "licence": "CC BY-NC 4.0",
            "commercial": False,
            "size": 11_000,
            "tokens": 2048,
        }
    ]
