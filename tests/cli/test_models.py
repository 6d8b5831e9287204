"""`summeter models`: what judges need, what is not available, and which hosted models close."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.commands import ends

from summeter.evaluators.catalog import CATALOG, UNAVAILABLE

ROW = {"document": "It rained all day.", "summary": "It rained."}


def test_every_judge_is_listed_with_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert ends("models", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert list(dict.fromkeys(row["judge"] for row in rows if row["judge"])) == [*CATALOG, *UNAVAILABLE]
    needs = {row["judge"]: row["needs"] for row in rows}
    assert needs["support"] == "no download"
    assert (needs["unieval"], needs["bartscore"], needs["geval"]) == ("GPU network", "CPU network", "LLM endpoint")
    by_model = {row["model"]: row for row in rows if row["model"]}
    small = by_model["lytang/MiniCheck-RoBERTa-Large"]
    assert (small["size"], small["tokens"], small["languages"], small["licence"]) == (355, 512, "English", "MIT")
    assert small["fetch"] == "hf download lytang/MiniCheck-RoBERTa-Large"
    assert by_model["ssz1111/FaithLens"]["fetch"] == "vllm serve ssz1111/FaithLens"
    assert by_model["openai/gpt-4"]["state"] == "closed on 2026-10-23"


@pytest.mark.parametrize("name", ["mmbert-base", "taxonomy-head", "qwen-2b"])
def test_unavailable_weights_are_listed_and_refused_by_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends("models", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    (row,) = [row for row in rows if row["model"] == f"KRLabsOrg/lettucedect-v2-{name}"]
    assert row["unavailable"]
    assert row["fetch"] is None
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(ROW), encoding="utf-8")
    model = f"lettucedetect=hf/KRLabsOrg/lettucedect-v2-{name}"
    assert ends("score", str(data), "-e", "lettucedetect", "-m", model, "-o", str(tmp_path / "run")) == 2
    assert row["unavailable"] in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_judges_without_an_evaluator_are_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(ROW), encoding="utf-8")
    assert ends("score", str(data), "-e", "factcg", "-o", str(tmp_path / "run")) == 2
    assert UNAVAILABLE["factcg"] in capsys.readouterr().err


def test_a_run_with_a_closed_model_is_preceded_by_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(ROW), encoding="utf-8")
    assert ends("score", str(data), "-e", "rts", "-m", "openai/gpt-4", "--dry-run") == 0
    assert "openai/gpt-4 closed on 2026-10-23" in capsys.readouterr().err
