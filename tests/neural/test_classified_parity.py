"""Parity with the released code of the evaluators by entailment, A3CU and UniEval on our networks and texts.

benchmarks/parity/classified.py and benchmarks/parity/sentences.py computed the results of the released code.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from neural import classified, sentences

from summeter.cli.main import main
from summeter.engine.runs import Run

CASES = [(cases, name) for cases in (classified, sentences) for name in cases.fixture()["cases"]]


def need_networks() -> None:
    for needed in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")


@pytest.mark.parametrize(("cases", "name"), CASES, ids=[f"{cases.__name__} {name}" for cases, name in CASES])
def test_the_released_code_gave_the_same(cases: ModuleType, name: str, tmp_path: Path) -> None:
    need_networks()
    held = cases.fixture()
    theirs = np.array(held["cases"][name])
    made = np.array(cases.ours(name, held, tmp_path), dtype=np.float64)
    assert made.shape == theirs.shape
    assert np.abs((made - theirs) / np.maximum(1, np.abs(theirs))).max() < 1e-6
    assert theirs.std() > 1e-3, "these scores would not tell a wrong one"


def test_a_run_by_command_gives_the_same(tmp_path: Path) -> None:
    need_networks()
    held = sentences.fixture()
    classified.roberta(tmp_path / "nli", sentences.words_of(held), 3, 43, lines=True)
    rows = [{**row, "doc_id": f"d{number}", "system": "s"} for number, row in enumerate(held["texts"])]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    model = f"nli=local/{tmp_path / 'nli'}[max_tokens=500]"
    written = "summac[labels=ec,least=10,most=100]"
    with pytest.raises(SystemExit) as ended:
        main(["score", str(data), "-e", written, "-m", model, "-o", str(tmp_path / "run"), "--quiet"])
    assert not ended.value.code
    values = {
        row.target.document_id: row.value for row in Run(tmp_path / "run").judgments() if row.target.unit == "summary"
    }
    theirs = {f"d{number}": value for number, (value,) in enumerate(held["cases"]["summac sentence"])}
    assert values == pytest.approx(theirs, abs=1e-6)


def test_every_evaluator_has_cases_on_every_kind_of_text() -> None:
    names = [name.partition(" ")[0] for _, name in CASES]
    assert {name: names.count(name) for name in names} == {
        "alignscore": 9, "minicheck": 5, "a3cu": 1, "lite2pyramid": 4, "summac": 4, "unieval": 1,
    }  # fmt: skip
    kinds = [row["kind"] for row in sentences.fixture()["texts"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"news": 3, "dialogue": 5, "long": 2}
