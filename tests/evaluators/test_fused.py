"""`fused`: its values, reasons and errors, and missing inputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluators.fused_models import by_hand, written

import summeter as sm
from summeter.evaluators.catalog import build
from summeter.evaluators.fused import FILE, Combination, FusedMember, Input
from summeter.records import UsageError

ROWS = [
    {"doc_id": "d1", "system": "a", "document": "It rained all day in Oslo.", "summary": "It rained all day in Oslo."},
    {"doc_id": "d1", "system": "b", "document": "It rained all day in Oslo.", "summary": "Snow fell. Nobody came."},
]


def test_the_value_is_the_weighted_sum_of_standardised_inputs(tmp_path: Path) -> None:
    run = sm.evaluate(ROWS, [f"fused[model={written(tmp_path / 'judge')}]"])
    values = {row.target.system: row for row in run.judgments() if row.judge == "fused"}
    # a: 6 words, none new; b: 4 words, all new (abstractiveness 1).
    assert values["a"].value == pytest.approx(3 + 0.5 * (6 - 10) / 5 - 0.25 * (0 - 0.5) / 0.25)
    assert values["b"].value == pytest.approx(3 + 0.5 * (4 - 10) / 5 - 0.25 * (1 - 0.5) / 0.25)
    assert {row.aspect for row in values.values()} == {"coherence"}
    assert [row.judge for row in run.judgments() if row.target.system == "a"].count("length") == 4


def test_reasons_show_interval_and_contributions(tmp_path: Path) -> None:
    run = sm.evaluate(ROWS, [f"fused[model={written(tmp_path / 'judge')}]"])
    reason = next(row.reason for row in run.judgments() if row.judge == "fused" and row.target.system == "b")
    # 1.9 minus 1.5 is below the end of the scale.
    assert reason == (
        "90% interval 1.00 to 3.40; largest contributions: length words 4 (-0.60), abstractiveness 1 (-0.50)"
    )


def test_yes_no_aspects_are_probabilities(tmp_path: Path) -> None:
    yes = Combination(
        link="logistic", scale=(0, 1), intercept=0.0, weights=(2.0, 0.0), means=(5.0, 0.0), deviations=(1.0, 1.0)
    )
    run = sm.evaluate(ROWS, [f"fused[{written(tmp_path / 'judge', by_hand(aspects={'faithfulness': yes}))}]"])
    rows = {row.target.system: row for row in run.judgments() if row.judge == "fused"}
    assert rows["a"].value == pytest.approx(1 / (1 + 2.718281828459045**-2))
    assert (rows["a"].label, rows["b"].label) == (1, 0)
    assert "(log-odds)" in (rows["a"].reason or "")


def test_missing_inputs_are_a_status(tmp_path: Path) -> None:
    members = (*by_hand().members, FusedMember(name="rouge", signature="rouge|split:rules-1|v:1"))
    inputs = (Input(member=0, aspect="words"), Input(member=2, aspect="rouge1"))
    folder = written(tmp_path / "judge", by_hand(members=members, inputs=inputs))
    rows = [ROWS[0], {**ROWS[1], "doc_id": "d2", "reference": "Snow fell."}]
    run = sm.evaluate(rows, [f"fused[{folder}]"])
    first, second = (row for row in run.judgments() if row.judge == "fused")
    assert (first.status, first.value, first.reason) == (
        "skipped", None, "no rouge rouge1 (skipped: there is no reference summary)",
    )  # fmt: skip
    assert second.status == "ok"


def test_values_of_units_are_inputs(tmp_path: Path) -> None:
    document = "It rained all day in Oslo. The trams stood still."
    rows = [{"document": document, "summary": "It rained in Oslo. Penguins sang."}]
    support = sm.evaluate(rows, ["support"])
    signature = next(row.signature for row in support.judgments())
    values = [row.value for row in support.judgments() if row.aspect == "faithfulness" and row.value is not None]
    inputs = tuple(Input(member=0, aspect="faithfulness", statistic=statistic) for statistic in ("mean", "least"))
    folder = written(
        tmp_path / "judge",
        by_hand(members=(FusedMember(name="support", signature=signature),), inputs=inputs, aspects={
            "mean": Combination(intercept=0, weights=(1, 0), means=(0, 0), deviations=(1, 1)),
            "least": Combination(intercept=0, weights=(0, 1), means=(0, 0), deviations=(1, 1)),
        }),
    )  # fmt: skip
    fused = {
        row.aspect: row.value for row in sm.evaluate(rows, [f"fused[{folder}]"]).judgments() if row.judge == "fused"
    }
    assert len(values) == 2
    assert fused == {"mean": pytest.approx(sum(values) / 2), "least": min(values)}


def test_different_signatures_are_errors_before_any_work(tmp_path: Path) -> None:
    folder = written(tmp_path / "judge")
    given = [{**row, "sentences": [row["summary"]]} for row in ROWS]
    with pytest.raises(UsageError, match=r"length: its signature was length\|split:rules-1\|v:1 and is now"):
        sm.evaluate(given, [f"fused[{folder}]"], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_unknown_members_and_settings(tmp_path: Path) -> None:
    unknown = by_hand(members=(FusedMember(name="lenght", signature="x"), by_hand().members[1]))
    with pytest.raises(UsageError, match=r"no evaluator 'lenght' \(did you mean length\?\)"):
        build(f"fused[{written(tmp_path / 'one', unknown)}]")
    other = by_hand(members=(FusedMember(name="length", settings={"most": 3}, signature="x"), by_hand().members[1]))
    with pytest.raises(UsageError, match="there is no setting 'most'"):
        build(f"fused[{written(tmp_path / 'two', other)}]")


def test_missing_models(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"fused needs a trained judge: fused\[model=FOLDER\]"):
        sm.evaluate(ROWS, ["fused"])
    with pytest.raises(UsageError, match=r"file of a fused judge does not exist: .*none; `summeter train`"):
        build(f"fused[{tmp_path / 'none'}]")
    (tmp_path / FILE).write_text('{"schema": "summeter-summac-conv/1"}', "utf-8")
    with pytest.raises(UsageError, match=r"schema: must be summeter-fused/1"):
        build(f"fused[{tmp_path}]")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"inputs": []}, "inputs"),
        ({"inputs": [{"member": 2, "aspect": "words"}]}, "an input refers to a member that does not exist"),
        ({"inputs": [{"member": 0, "aspect": "words"}]}, "the number of weights of an aspect differs"),
        ({"aspects": {}}, "aspects"),
    ],
)
def test_invalid_models(tmp_path: Path, change: dict[str, object], what: str) -> None:
    file = written(tmp_path / "judge") / FILE
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(UsageError, match=f"fused.json.*{what}"):
        build(f"fused[{file.parent}]")


def test_the_signature_names_the_model_and_the_run_keeps_its_text(tmp_path: Path) -> None:
    folder = written(tmp_path / "judge")
    fused = build(f"fused[{folder}]")
    assert fused.sign({}, "rules-1") == f"fused|model:{by_hand().id}|scale:1-5|split:rules-1|v:1"
    other = by_hand(aspects={"coherence": by_hand().aspects["coherence"].model_copy(update={"intercept": 3.1})})
    assert build(f"fused[{written(tmp_path / 'other', other)}]").sign({}) != fused.sign({})
    sm.evaluate(ROWS, [fused], out=tmp_path / "run")
    kept = [file.read_text("utf-8") for file in (tmp_path / "run" / "files").iterdir()]
    assert kept == [(folder / FILE).read_text("utf-8")]
