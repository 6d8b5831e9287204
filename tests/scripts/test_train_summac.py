"""The scripts for weights of summac and token counts of bertscore, without loading a network."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from evaluators.networks import table_nli, word_classifier, word_encoder

from summeter.evaluators.entailment.convolution import load
from summeter.evaluators.entailment.summac import SummaC
from summeter.evaluators.overlap.greedy import Frequencies
from summeter.records import UsageError


@pytest.fixture(scope="module")
def scripts(root: Path) -> Iterator[tuple[ModuleType, ModuleType]]:
    """Return both scripts as modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "scripts")
        yield importlib.import_module("train_summac"), importlib.import_module("bertscore_idf")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of forty documents, each with a copied summary and an unrelated one."""
    rows = []
    for at in range(40):
        document = f"Ship {at} left port in May. It carried {at} tons of coal. Nobody was hurt."
        rows += [
            {"doc_id": f"d{at}", "system": "a", "document": document, "summary": f"Ship {at} left port.", "label": 1,
             "reference": "A ship left port."},
            {"doc_id": f"d{at}", "system": "b", "document": document, "summary": "Wine was drunk all night.",
             "label": 0, "reference": "A ship left port."},
        ]  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_weights_are_fitted_evaluated_and_loaded(
    scripts: tuple[ModuleType, ModuleType], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, _ = scripts
    monkeypatch.setattr(script, "network", lambda _: word_classifier())
    out = tmp_path / "weights.json"
    script.main([str(data), "-m", "local/x", "-o", str(out)])
    made = load(out)
    assert (made.card["summaries"], made.card["network"], made.card["data"]) == (80, "words/classifier", "rows")
    assert made.card["held_out"]["auroc"] == 1.0
    assert made.card["ridge"] in script.RIDGES
    assert SummaC(method="conv", weights=out).signature_fields()["weights"] == made.id
    # Whoever repeats it has the same weights.
    script.main([str(data), "-m", "local/x", "-o", str(tmp_path / "again.json")])
    assert (tmp_path / "again.json").read_bytes() == out.read_bytes()


def test_an_invalid_label_is_reported(scripts: tuple[ModuleType, ModuleType], data: Path, tmp_path: Path) -> None:
    script, _ = scripts
    script_network, script.network = script.network, lambda _: table_nli()
    try:
        with pytest.raises(UsageError, match=r"d0/a: column 'gold' is missing, not 0 or 1"):
            script.main([str(data), "-m", "local/x", "-o", str(tmp_path / "w.json"), "--label", "gold"])
    finally:
        script.network = script_network


def test_missing_arguments_and_data_are_reported(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        scripts[0].main(["-o", str(tmp_path / "w.json")])
    assert "give DATA and -m, or --released FILE" in capsys.readouterr().err


def test_tokens_are_counted_over_references(
    scripts: tuple[ModuleType, ModuleType], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, script = scripts
    monkeypatch.setattr(script, "network", lambda _: word_encoder())
    out = tmp_path / "idf.json"
    script.main([str(data), "-m", "local/x", "-o", str(out)])
    found = Frequencies.load(out)
    assert found.references == 40
    assert found.holding["ship"] == found.holding["[CLS]"] == 40
