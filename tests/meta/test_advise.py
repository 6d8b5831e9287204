"""advise: one statistic for all judges, the frontier, what the labels tell apart, and a recommendation that follows."""

from __future__ import annotations

import json
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
from summeter.meta import advise
from summeter.meta._advise import Difference, documents_needed, overview
from summeter.records import Item, Judgment, UsageError
from summeter.report.frontier import frontier_svg
from summeter.runs.manifest import JudgeUsage
from summeter.stats import Interval, Status


class Noisy(Evaluator):
    """People's label, which stands in the sentence, with noise."""

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


class Louder(Noisy):
    """Twice the value: the same order."""

    name: ClassVar[str] = "louder"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        rows = await super().judge(item, prepared, tools)
        return [row.model_copy(update={"value": 2 * (row.value or 0.0)}) for row in rows]


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
    """The run as if its judges, by their noise, had cost so many dollars for 1,000 summaries."""
    items = len(run.data.summaries)
    used = {
        judge.signature: JudgeUsage(
            calls=1, items=items, cost=costs[str(judge.settings.get("noise", 0.5))] * items / 1000
        )
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
    by_noise = {part: row for row in whole for part in (row.signature or "").split("|") if part.startswith("noise")}
    best = max(whole, key=lambda row: row.value or 0)
    assert best.details["frontier"]
    assert by_noise["noise:3"].details["frontier"]  # nothing is cheaper
    difference = study.one(statistic="difference")
    assert difference.low is not None
    assert difference.high is not None
    assert difference.low <= 0 <= difference.high
    assert (study.one(statistic="documents_needed").value or 0) > 40
    (note,) = study.notes
    assert note.startswith("faithfulness: use noisy")
    assert "the labels do not tell them apart" in note
    assert {row.system for row in study if row.statistic == "auroc" and row.system} == {"a", "b"}
    costs = {row.signature: row.value for row in study if row.statistic == "cost_per_1000"}
    assert sorted(costs.values()) == pytest.approx([1.0, 2.0, 9.0])


def test_a_better_judge_is_worth_its_money_where_the_labels_tell_it_apart(run: Run) -> None:
    study = advise(with_costs(run, **{"0.3": 9.0, "0.32": 9.0, "3.0": 0.0}), resamples=300, judge=None)
    assert "noise:3" not in recommended(study)


def test_a_judge_that_is_worse_than_chance_is_not_recommended(tmp_path: Path) -> None:
    rows = data(20)
    for row in rows:  # people say the opposite of what the judge reads
        row["human"]["sentence_labels"] = [1 - label for label in row["human"]["sentence_labels"]]
    study = advise(evaluate(rows, [Noisy(noise=0.3)], out=tmp_path / "wrong"), resamples=200)
    assert not [row for row in study if row.details.get("recommended")]
    (note,) = study.notes
    assert note.startswith("faithfulness: no judge can be recommended: the best, noisy")
    assert "is no better than chance (auroc 0." in note


def test_a_judge_that_may_be_chance_is_said_to_be(tmp_path: Path) -> None:
    study = advise(evaluate(data(20), [Noisy(noise=60.0)], out=tmp_path / "coin"), resamples=200)
    (row,) = [row for row in study if row.statistic == "auroc" and row.system is None]
    assert (row.low or 0) <= 0.5 <= (row.high or 0)
    assert "the labels do not tell it from chance)." in study.notes[0]


def test_one_document_gives_no_interval_and_the_note_says_so(tmp_path: Path) -> None:
    row = data(1)[0] | {"sentences": ["It is right 0.", "It is wrong 1."], "summary": "It is right 0. It is wrong 1."}
    row["human"] = {"sentence_labels": [1, 0]}
    (note,) = advise(evaluate([row], [Noisy(noise=0.01)], out=tmp_path / "few"), resamples=50).notes
    assert "auroc 1.000 on 2 sentences" in note
    assert "too few labels for an interval)." in note
    row["human"] = {"sentence_labels": [0, 1]}
    (note,) = advise(evaluate([row], [Noisy(noise=0.01)], out=tmp_path / "wrong"), resamples=50).notes
    assert "no judge can be recommended" in note


def test_judges_of_one_order_agree_alike(tmp_path: Path) -> None:
    study = advise(evaluate(data(20), [Noisy(noise=0.3), Louder(noise=0.3)], out=tmp_path / "twins"), resamples=200)
    (note,) = study.notes
    assert note.endswith("agree with people alike.")


def test_documents_needed_by_hand() -> None:
    # Its standard error is .1 / 1.96 from 50 documents. For an interval of +-.05 it takes (.1 / .05)^2 times as many.
    interval = Interval(0.05, -0.05, 0.15, 100, 0, 50, 1000, 0, "percentile", 0.95, 0, Status.OK, None)
    assert documents_needed(Difference(interval, 50)) == 200
    assert documents_needed(Difference(interval._replace(value=0.0), 50)) is None


def test_the_figures_of_a_judge_are_of_one_run(tmp_path: Path, run: Run) -> None:
    fewer = evaluate(data(12), [Noisy(noise=0.3)], out=tmp_path / "fewer")
    (signature,) = {judgment.signature for judgment in fewer.judgments()}

    def of_the_judge(study: Any) -> list[Any]:
        return [row for row in study if row.signature == signature and row.statistic != "auroc"]

    both, alone = advise([run, fewer], run.data, resamples=20), advise([run], run.data, resamples=20)
    assert of_the_judge(both) == of_the_judge(alone)
    assert [row.n for row in of_the_judge(both) if row.statistic == "length_gap"] == [80]


def test_judges_are_not_advised_on_by_one_annotator_of_several(run: Run) -> None:
    with pytest.raises(UsageError, match=r"one value of people for each unit.*merge=auto"):
        advise(run, merge="each")


def test_a_judge_that_favours_its_own_family_is_seen(tmp_path: Path) -> None:
    class Kind(Noisy):
        """Half a point more for system a."""

        name: ClassVar[str] = "kind"

        async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
            more = 0.5 * (item.summary.system == "a")
            rows = await super().judge(item, prepared, tools)
            return [row.model_copy(update={"value": (row.value or 0.0) + more}) for row in rows]

    run = evaluate(data(), [Kind(noise=0.1), Noisy(noise=0.1)], out=tmp_path / "run")
    makers = {"families": {"a": "acme", "b": "bolt"}, "judge_families": {"kind": "acme", "noisy": "bolt"}}
    study = advise(run, resamples=200, **makers)
    own = {row.judge: row for row in study if row.statistic == "self_preference"}
    assert own["kind"].low is not None
    assert own["kind"].low > 0.5
    assert own["noisy"].value == pytest.approx(0, abs=0.2)
    assert "own family" in overview(study).text()
    assert "own family" not in overview(advise(run, resamples=50)).text()


def test_the_picture_marks_the_frontier(run: Run) -> None:
    study = advise(with_costs(run, **{"0.3": 9.0, "0.32": 2.0, "3.0": 1.0}), resamples=100)
    picture = ET.fromstring(frontier_svg(study))
    name = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(f".//{name}circle")) == 3
    assert len(picture.findall(f".//{name}polyline[@class='frontier']")) == 1
    assert [circle.get("fill") for circle in picture.findall(f".//{name}circle")].count("#06c") == 1


def test_the_command_prints_the_contract_and_draws(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "frontier.svg"
    arguments = ["advise", str(run.folder), "--resamples", "50", "-o", str(out)]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["schema"] == "summeter/1"
    assert {row["study"] for row in printed["rows"]} == {"advise"}
    assert out.read_text().startswith("<svg")
    plain = CliRunner().invoke(app, arguments)
    assert "faithfulness: use noisy" in plain.stdout


def test_without_labels_it_says_so(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row.items() if key != "human"} for row in data(3)]
    with pytest.raises(UsageError):
        advise(evaluate(rows, [Noisy()], out=tmp_path / "run"))
