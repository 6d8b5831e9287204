"""A series of results that goes on with a new judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from meta.makers import ratings, sentences
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.engine.api import evaluate
from summeter.meta import bridge
from summeter.records import Judgment, UsageError

DOCUMENTS = [f"d{number}" for number in range(6)]
OLD = {document: {"A": number + 2.0, "B": number + 1.0} for number, document in enumerate(DOCUMENTS)}


def rated(table: dict[str, dict[str, float | None]], model: str, judge: str = "rts") -> list[Judgment]:
    return ratings(table, judge=judge, signature=f"{judge}|judge:{model}|v:1")


def changed(slope: float, offset: float) -> list[Judgment]:
    return rated(
        {doc: {name: slope * value + offset for name, value in row.items()} for doc, row in OLD.items()}, "b/n"
    )


def test_scores_with_the_same_spread_are_shifted() -> None:
    study = bridge(rated(OLD, "a/m"), changed(1, 0.5), coefficient="pearson")  # type: ignore[arg-type]
    offset = study.one(statistic="offset")
    assert (offset.value, offset.low, offset.high, offset.n) == (0.5, 0.5, 0.5, 12)
    # The values are 2 to 7 and 1 to 6.
    assert (offset.details["old_mean"], offset.details["new_mean"]) == (4, 4.5)
    assert study.one(statistic="slope").value == pytest.approx(1)
    agreement = study.one(statistic="agreement")
    assert (agreement.value, agreement.details["coefficient"]) == (pytest.approx(1), "pearson")
    assert study.one(statistic="same_conclusions").value == 1
    assert offset.signature == "rts|judge:a/m|v:1 vs rts|judge:b/n|v:1"
    (note,) = study.notes
    assert "a/m" in note
    assert "b/n" in note
    assert "add 0.500" in note


def test_scores_on_another_scale_are_converted_by_mean_and_spread() -> None:
    study = bridge(rated(OLD, "a/m"), changed(2, -1))  # type: ignore[arg-type]
    slope = study.one(statistic="slope")
    assert [slope.value, slope.low, slope.high, slope.details["intercept"]] == pytest.approx([2, 2, 2, -1])
    assert study.one(statistic="offset").value == 3  # 2 * 4 - 1 - 4
    assert "multiply it by 2.000 and add -1.000" in study.notes[0]
    constant = bridge(rated({doc: {"A": 3.0} for doc in OLD}, "a/m"), changed(1, 0))
    assert constant.one(statistic="slope").reason == "constant input"
    assert constant.one(statistic="offset").value == 1.5  # the mean of 2 to 7 is 4.5


def test_without_an_interval_the_offset_is_not_said_to_suffice() -> None:
    study = bridge(rated(OLD, "a/m"), changed(2, -1), resamples=0)  # type: ignore[arg-type]
    assert study.one(statistic="slope").low is None
    assert "without an interval" in study.notes[0]
    assert "multiply it by 2.000 and add -1.000" in study.notes[0]
    assert "add 3.000" not in study.notes[0]


def test_rankings_and_conclusions_that_change() -> None:
    # A is better by 1 on all six documents (p = 2/64). By the new judge, B is better on four, and A on two.
    gaps = [1, 1, 1, 1, -1, -1]
    new = {doc: {"A": 3.0, "B": 3.0 + gap} for doc, gap in zip(DOCUMENTS, gaps, strict=True)}
    row = bridge(rated(OLD, "a/m"), rated(new, "b/n")).one(statistic="same_conclusions")  # type: ignore[arg-type]
    assert (row.value, row.n) == (0, 1)
    assert row.details["changed"] == [{"pair": ["A", "B"], "old": "A", "new": None}]
    assert (row.details["old_ranking"], row.details["new_ranking"]) == (["A", "B"], ["B", "A"])
    few = {doc: new[doc] for doc in DOCUMENTS[:5]}
    row = bridge(rated(OLD, "a/m"), rated(few, "b/n")).one(statistic="same_conclusions")  # type: ignore[arg-type]
    assert (row.value, row.n, row.missing) == (None, 0, 1)
    assert row.reason == "no two systems share 6 documents"


def test_decisions_that_change() -> None:
    def labelled(votes: list[int | None], model: str) -> list[Judgment]:
        table = {(document, "A"): list(votes) for document in DOCUMENTS}
        return sentences(table, judge="fact", signature=f"fact|judge:{model}|v:1")

    study = bridge(labelled([1, 1, 0, 0, 1], "a/m"), labelled([1, 0, 0, 1, None], "b/n"))
    row = study.one(level="sentence", statistic="identical")
    assert (row.value, row.details["to_0"], row.details["to_1"]) == (0.5, 6, 6)
    kappa = study.one(level="sentence", statistic="agreement")  # po = pe = 1/2
    assert (kappa.value, kappa.n) == (pytest.approx(0), 24)
    assert "12 of 24 decisions on sentences changed, 6 from 0 to 1 and 6 from 1 to 0" in study.notes[0]


def test_judges_are_paired_by_name_or_as_the_only_ones() -> None:
    old, other = rated(OLD, "a/m"), rated(OLD, "b/n", "direct")  # type: ignore[arg-type]
    assert bridge(old, other).one(statistic="offset").judge == "rts vs direct"
    both = [*other, *changed(1, 0.5)]
    assert {row.judge for row in bridge(old, both)} == {"rts"}
    assert {row.judge for row in bridge(old, both, judges="rts,direct")} == {"rts vs direct"}
    three = [*other, *rated(OLD, "b/n", "stareval")]  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"no judges of the two runs correspond.*judges"):
        bridge(old, three)
    # A judge that did not change is left out beside one that did.
    study = bridge([*old, *other], [*changed(1, 0.5), *other])
    assert {row.judge for row in study} == {"rts"}
    assert "direct did not change: left out" in study.notes
    assert {row.value for row in bridge(other, other).where(statistic="offset")} == {0}


def test_summaries_without_both_scores_are_missing() -> None:
    part = {doc: {"A": row["A"], "B": None} for doc, row in OLD.items()}
    row = bridge(rated(OLD, "a/m"), rated(part, "b/n")).one(statistic="offset")  # type: ignore[arg-type]
    assert (row.value, row.n, row.missing) == (0, 6, 6)


def test_the_command_reads_two_runs_of_the_same_texts(tmp_path: Path) -> None:
    rows = [{"doc_id": doc, "document": "The cats ran home.", "summary": "A cat ran.", "reference": "Cats ran."}
            for doc in DOCUMENTS]  # fmt: skip
    evaluate(rows, "rouge", out=tmp_path / "old")
    evaluate(rows, "rouge[stemmer=true]", out=tmp_path / "new")
    arguments = ["meta", "bridge", str(tmp_path / "old"), str(tmp_path / "new"), "--aspect", "rouge1", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    (row,) = [row for row in json.loads(done.stdout)["rows"] if row["statistic"] == "offset"]
    # Of (a, cat, ran) and (cats, ran), one word is shared, or two with a stemmer: F1 of 2/5 and 4/5.
    assert (row["study"], row["value"], row["n"]) == ("bridge", pytest.approx(0.4), 6)


def test_changes_are_counted_by_group() -> None:
    def labelled(of_b: int, model: str) -> list[Judgment]:
        table = {(document, system): [1, of_b if system == "B" else 1] for document in DOCUMENTS for system in "AB"}
        return sentences(table, judge="fact", signature=f"fact|judge:{model}|v:1")  # type: ignore[arg-type]

    study = bridge(labelled(1, "a/m"), labelled(0, "b/n"), by="system").where(statistic="identical")
    found = {row.system: (row.value, row.details["to_0"], row.details["to_1"]) for row in study}
    assert found == {None: (0.75, 6, 0), "A": (1, 0, 0), "B": (0.5, 6, 0)}
