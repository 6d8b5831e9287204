"""Scores from fake logits, weights, files of units, and the human column of REALSumm."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from evaluators.entailment.test_alignscore import table_of
from evaluators.networks import FakeNetwork, judge

from summeter.evaluators.catalog import build
from summeter.evaluators.entailment.lite2pyramid import Lite2Pyramid, Lite3Pyramid, read_units, values
from summeter.records import Document, InputError, Judgment

TEXT = "Ada sold the mill."
FACTS = ("Ada sold something.", "The mill burnt.")
SOURCE = Document(id="d", text="Anything.", key_facts=FACTS)
LOGITS = {(TEXT, FACTS[0]): (2.0, 1.0, 0.5), (TEXT, FACTS[1]): (1.0, 0.0, 1.5)}


def run(
    evaluator: Lite2Pyramid, source: Document = SOURCE, text: str = TEXT, table: FakeNetwork | None = None
) -> list[Judgment]:
    (role,) = evaluator.roles
    (rows,) = judge(evaluator, source, text, **{role: table or table_of(LOGITS)})
    return rows


def sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


@pytest.mark.parametrize(
    ("score", "wanted"),
    [
        ("p2c", [sigmoid(0.5), sigmoid(-0.5)]),
        ("l2c", [1.0, 0.0]),
        ("p3c", [np.exp(2) / (np.exp(2) + np.exp(1) + np.exp(0.5)), np.exp(1) / (np.exp(1) + 1 + np.exp(1.5))]),
        ("l3c", [1.0, 0.0]),
    ],
)
def test_scores_of_units_by_hand(score: str, wanted: list[float]) -> None:
    whole, first, second = run(build(f"lite2pyramid[{score}]"))  # type: ignore[arg-type]
    assert [first.value, second.value] == pytest.approx(wanted)
    assert whole.value == pytest.approx(np.mean(wanted))
    assert [(one.target.unit, one.target.index, one.label) for one in (first, second)] == [
        ("key_fact", 0, 1), ("key_fact", 1, 0),
    ]  # fmt: skip
    assert first.target.list_id == second.target.list_id is not None


def test_p2c_uses_logits_not_probabilities() -> None:
    logits = np.array([[2.0, 1.0, 0.5]])
    assert values(logits + 1, "p3c") == pytest.approx(values(logits, "p3c"))
    assert values(logits + 1, "p2c") == pytest.approx([sigmoid(0.5 - 1)])
    assert values(np.array([[1.0, 0.5, 0.5]]), "l2c").tolist() == [1.0], "a tie is present"


def test_units_of_a_file_have_weights(tmp_path: Path) -> None:
    file = tmp_path / "units.json"
    file.write_text(json.dumps({"d": [{"text": FACTS[0], "weight": 3}, FACTS[1]], "e": []}))
    whole, *parts = run(Lite2Pyramid(units=file))
    assert len(parts) == 2
    assert whole.value == pytest.approx((3 * sigmoid(0.5) + sigmoid(-0.5)) / 4)
    held = Lite2Pyramid(units=file).units
    assert held is not None
    assert read_units(held) is read_units(held), "a file is not read again for each summary"
    assert "units:" in Lite2Pyramid(units=file).sign({"lite2pyramid": "m"})
    (row,) = run(Lite3Pyramid(units=file), source=Document(id="e", text="Anything."))
    assert (row.status, row.reason) == ("skipped", "the file of units has no unit of this document")
    (tmp_path / "cut.json").write_text('{"d": [')
    with pytest.raises(InputError, match="is not valid JSON: EOF while parsing a list at line 1 column 7"):
        Lite2Pyramid(units=tmp_path / "cut.json")
    file.write_text(json.dumps({"d": ["x"]}))
    again = Lite3Pyramid(units=file)
    assert again.sign({"lite3pyramid": "m"}) != Lite3Pyramid(units=tmp_path / "units.json", score="l3c").sign({})


@pytest.mark.shared
def test_the_human_column_of_realsumm(shared: Path) -> None:
    """If the network gives the majority label, the score is the human column of Zhang and Bansal, table 2."""
    with gzip.open(shared / "data" / "realsumm.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["system"] == "abs_bart_out"]
    found = []
    for row in rows:
        votes = [list(of_one.values()) for of_one in row["human"]["key_fact_labels"]]
        said = {
            (row["summary"], fact): (5.0, 0.0, 0.0) if 2 * sum(vote) > len(vote) else (0.0, 5.0, 0.0)
            for fact, vote in zip(row["key_facts"], votes, strict=True)
        }
        source = Document(id=row["doc_id"], text=row["document"], key_facts=tuple(row["key_facts"]))
        whole, *parts = run(Lite2Pyramid(score="l3c"), source, row["summary"], table_of(said))
        assert len(parts) == len(votes)
        found.append(whole.value)
    assert len(found) == 100
    assert mean(value for value in found if value is not None) == pytest.approx(0.48349483849483854, abs=1e-12)
