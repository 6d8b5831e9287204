"""Recommendations of judges: statistic, frontier, significance, cost and labels needed."""

from __future__ import annotations

import json
import math
import random
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.meta import advise, compare, trust
from summeter.meta._advise import overview
from summeter.pages.figures import Points
from summeter.records import Item, Judgment
from summeter.report import plot
from summeter.runs.usage import Usage


class Noisy(Evaluator):
    """A judge that repeats the human label in the sentence with noise."""

    name: ClassVar[str] = "noisy"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "a noisy judge"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)

    noise: float = 0.5

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        builder = JudgmentBuilder(self, item, tools.signature)
        rng = random.Random(f"{item.document.id} {item.summary.system} {self.noise}")
        labels = [int("right" in text) for text in item.sentences]
        return [
            builder.ok("faithfulness", "sentence", place, value=label + rng.gauss(0, self.noise))
            for place, label in enumerate(labels)
        ]


def data(documents: int = 40) -> list[dict[str, Any]]:
    rng = random.Random(1)
    rows = []
    for number in range(documents):
        for system in ("a", "b"):
            labels = [rng.randint(0, 1) for _ in range(2)]
            sentences = [f"This is {'right' if label else 'wrong'} {place}." for place, label in enumerate(labels)]
            rows.append({
                "doc_id": f"d{number}", "system": system, "document": "It is so.", "summary": " ".join(sentences),
                "sentences": sentences, "human": {"sentence_labels": labels},
            })  # fmt: skip
    return rows


def with_costs(run: Run, **costs: float) -> Run:
    """Return the run with the given costs of its judges (by noise) in dollars per 1,000 summaries."""
    items = len(run.data.summaries)
    used = {
        judge.signature: Usage(calls=1, items=items, cost=costs[str(judge.settings.get("noise", 0.5))] * items / 1000)
        for judge in run.manifest.judges
        if str(judge.settings.get("noise", 0.5)) in costs
    }
    run.manifest = run.manifest.model_copy(update={"judge_usage": used})
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    judges = [Noisy(noise=0.3), Noisy(noise=0.32), Noisy(noise=3.0)]
    return evaluate(data(), judges, out=tmp_path_factory.mktemp("advise") / "run")


def recommended(study: Any) -> str:
    (row,) = [row for row in study if row.details.get("recommended")]
    return str(row.signature)


def test_sentences_serve_where_all_have_them_and_the_cheapest_equal_is_recommended(run: Run) -> None:
    study = advise(with_costs(run, **{"0.3": 9.0, "0.32": 2.0, "3.0": 1.0}), resamples=300)
    whole = [row for row in study if row.statistic == "auroc" and row.system is None]
    assert [row.level for row in whole] == ["sentence"] * 3
    assert [row.n for row in whole] == [160] * 3
    assert "noise:0.32" in recommended(study)  # .3 and .32 cannot be told apart, and 3.0 is worse
    (verdict,) = [row.details["trust"] for row in study if row.details.get("recommended")]
    assert verdict == trust(run, judge=recommended(study), resamples=300).verdict
    assert f"`summeter trust`: {verdict}" in " ".join(study.notes)
    by_noise = {part: row for row in whole for part in (row.signature or "").split("|") if part.startswith("noise")}
    best = max(whole, key=lambda row: row.value or 0)
    assert best.details["frontier"]
    assert by_noise["noise:3"].details["frontier"]  # nothing is cheaper
    difference = study.one(statistic="difference")
    assert difference.low is not None
    assert difference.high is not None
    assert difference.low <= 0 <= difference.high
    assert (study.one(statistic="labels_needed").value or 0) > 40
    assert (difference.details["comparisons"], difference.details["better"]) == (3, None)
    assert difference.details["p_holm"] >= difference.p
    costs = {row.signature: row.value for row in study if row.statistic == "cost_per_1000"}
    assert sorted(costs.values()) == pytest.approx([1.0, 2.0, 9.0])


def test_a_judge_that_is_worse_than_chance_is_not_recommended(tmp_path: Path) -> None:
    rows = data(20)
    for row in rows:  # people say the opposite of what the judge reads
        row["human"]["sentence_labels"] = [1 - label for label in row["human"]["sentence_labels"]]
    study = advise(evaluate(rows, [Noisy(noise=0.3)], out=tmp_path / "wrong"), resamples=200)
    assert not [row for row in study if row.details.get("recommended") or "trust" in row.details]
    assert len(study.notes) == 1


@pytest.mark.parametrize("draws", ["0", "1"])
def test_no_verdict_without_resamples(run: Run, draws: str) -> None:
    arguments = ["advise", str(run.folder), "--resamples", draws, "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = [row for row in json.loads(result.stdout)["rows"] if row["statistic"] == "auroc"]
    assert {(row["low"], row["high"], row["status"]) for row in rows} == {(None, None, "no_interval")}
    assert all(row["reason"] for row in rows)
    assert not any(row["details"].get("recommended") for row in rows)


class Rater(Noisy):
    """A judge that repeats the human ratings of coherence with noise."""

    name: ClassVar[str] = "rater"
    aspects: ClassVar[tuple[str, ...]] = ("coherence",)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        builder = JudgmentBuilder(self, item, tools.signature)
        noise = random.Random(f"{item.summary.text} {self.noise}").gauss(0, self.noise)
        return [builder.ok("coherence", "summary", None, value=len(item.summary.text.split("right")) + noise)]


def rated(documents: int = 30) -> list[dict[str, Any]]:
    """Return `data` with ratings of coherence: the number of supported sentences."""
    rows = data(documents)
    for row in rows:
        row["human"]["ratings"] = {"coherence": {"ann": 1 + sum(row["human"]["sentence_labels"])}}
    return rows


def test_differences_are_those_of_compare(tmp_path: Path) -> None:
    """For ratings, the test, p and correction are those of `meta compare` with Spearman's correlation."""
    judges = [Rater(noise=noise) for noise in (0.5, 0.7, 2.0, 2.5)]
    run = evaluate(rated(), judges, out=tmp_path / "run")
    row = advise(run, resamples=100).one(statistic="difference")
    compared = compare(run, run.data, coefficient="spearman", resamples=100)
    pairs = [
        each for each in compared if each.statistic == "spearman_difference"
        and {each.details["first_signature"], each.details["second_signature"]}
        == {row.details["first_signature"], row.details["second_signature"]}
    ]  # fmt: skip
    assert [(each.p, each.details["p_holm"], each.details["comparisons"]) for each in pairs] == [
        (row.p, row.details["p_holm"], 6)
    ]


def test_runs_of_unlike_aspects_are_advised_on_together(tmp_path: Path) -> None:
    faith = evaluate(rated(), [Noisy(noise=0.3)], out=tmp_path / "faith")
    coherent = evaluate(rated(), [Rater(noise=0.3)], out=tmp_path / "coherent")
    folders = [str(faith.folder), str(coherent.folder)]
    asked = ["--aspect", "faithfulness", "--aspect", "coherence"]
    for more in ([], asked):
        result = CliRunner().invoke(app, ["advise", *folders, *more, "--resamples", "100", "--json"])
        assert result.exit_code == 0, result.output
        rows = json.loads(result.stdout)["rows"]
        assert {(row["judge"], row["aspect"]) for row in rows if row["details"].get("recommended")} == {
            ("noisy", "faithfulness"), ("rater", "coherence"),
        }  # fmt: skip


def test_a_judge_that_cannot_be_compared_is_named(tmp_path: Path) -> None:
    """With human labels of faithfulness only, the judge of coherence has a row with a reason."""
    faith = evaluate(data(12), [Noisy(noise=0.3)], out=tmp_path / "faith")
    coherent = evaluate(data(12), [Rater(noise=0.3)], out=tmp_path / "coherent")
    study = advise([faith, coherent], resamples=50)
    row = study.one(statistic="agreement")
    assert (row.judge, row.aspect, row.value, row.status) == ("rater", "coherence", None, "undefined")
    assert row.reason
    assert any("rater" in note for note in study.notes)


def test_the_same_judge_in_two_runs_is_kept_apart(tmp_path: Path, run: Run) -> None:
    fewer = evaluate(data(12), [Noisy(noise=0.3)], out=tmp_path / "fewer")
    (signature,) = {judgment.signature for judgment in fewer.judgments()}
    study = advise([run, fewer], run.data, resamples=20)
    agreement = [row for row in study if row.signature == signature and row.statistic == "auroc"]
    assert [row.details["run"] for row in agreement] == [run.folder.name, fewer.folder.name]
    assert [str(line[0]) for line in overview(study).rows if "(fewer)" in str(line[0])]
    # Both are studied on the documents that both runs have.
    assert [(row.n, row.missing) for row in agreement] == [(48, 0), (48, 0)]
    assert any("studied on the" in note for note in study.notes)


def test_a_judge_that_labels_do_not_tell_from_chance_is_not_recommended(tmp_path: Path) -> None:
    run = evaluate(data(10), [Noisy(noise=3.0)], out=tmp_path / "noise")
    study = advise(run, resamples=200)
    agreement = study.one(statistic="auroc")
    assert agreement.low is not None
    assert agreement.low < 0.5 < (agreement.value or 0) < (agreement.high or 0)
    assert agreement.details["recommended"] is False
    needed = study.one(statistic="labels_needed")
    # The interval is 2 * 1.96 standard errors wide; 1.96 + 0.84 of them must fit into the distance to 0.5.
    error = (agreement.high - agreement.low) / (2 * 1.959964)  # type: ignore[operator]
    expected = math.ceil(10 * (error * (1.959964 + 0.841621) / (agreement.value - 0.5)) ** 2)  # type: ignore[operator]
    assert (needed.value, needed.n, needed.judge) == (expected, 10, agreement.judge)
    assert not any(": use " in note for note in study.notes)
    assert any(f"about {expected:,} labelled documents would tell it from chance" in note for note in study.notes)


def test_the_picture_marks_the_frontier(run: Run) -> None:
    study = advise(with_costs(run, **{"0.3": 9.0, "0.32": 2.0, "3.0": 1.0}), resamples=100)
    (panel,) = plot.cost(study).panels
    assert isinstance(panel, Points)
    assert [point.x for point in panel.points if point.line] == [9.0, 2.0, 1.0]
    assert [point.x for point in panel.points if point.filled] == [2.0]
    circles = ET.fromstring(plot.cost(study).svg).findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 3
