"""Parity with the released code of AlignScore, MiniCheck, SummaC and UniEval on news, dialogues and long texts.

benchmarks/parity/sentences.py computed its results.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from neural import classified, sentences

from summeter.cli.main import main
from summeter.engine.runs import Run

CASES = sentences.fixture()["cases"]


@pytest.mark.parametrize("name", list(CASES))
def test_the_released_code_gave_the_same(name: str, tmp_path: Path) -> None:
    for needed in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    theirs = np.array(CASES[name])
    ours = np.array(sentences.ours(name, sentences.fixture(), tmp_path), dtype=np.float64)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() < 1e-6
    assert theirs.std() > 1e-3, "these scores would not tell a wrong one"


def test_a_run_by_command_gives_the_same(tmp_path: Path) -> None:
    for needed in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
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
    theirs = {f"d{number}": value for number, (value,) in enumerate(CASES["summac sentence"])}
    assert values == pytest.approx(theirs, abs=1e-6)


def test_every_evaluator_has_cases_on_every_kind_of_text() -> None:
    names = [name.partition(" ")[0] for name in CASES]
    assert {name: names.count(name) for name in names} == {"alignscore": 3, "minicheck": 2, "summac": 4, "unieval": 1}
    kinds = [row["kind"] for row in sentences.fixture()["texts"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {"news": 3, "dialogue": 5, "long": 2}
