"""Planning of human labels: predicted widths, unbiased samples and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from annotate import campaigns as made
from annotate.test_aggregate import command
from annotate.test_cli import run
from meta.makers import judgment

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.data.dataset import load
from summeter.meta import Level, plan_calibration, plan_comparison
from summeter.meta.inputs import JudgeInput, judge_input
from summeter.meta.sample import Grid
from summeter.records import InputError

N = 120
RNG = np.random.default_rng(5)
BASE = RNG.normal(3, 0.7, (N, 2))


def judge(name: str, lead: float, noise: float = 0.4, size: int = N) -> JudgeInput:
    """Return a judge that scores A higher than B by `lead`."""
    rng = np.random.default_rng(len(name))
    values = BASE + lead * np.array([1.0, 0.0]) + noise * rng.normal(size=BASE.shape)
    return judge_input([
        judgment(f"d{place:03d}", system, float(values[place, column]), judge=name)
        for place in range(size) for column, system in enumerate("AB")
    ])  # fmt: skip


def test_more_labels_give_narrower_intervals() -> None:
    found = plan_comparison([judge("one", 0.3), judge("three", 0.3)], ("A", "B"), sizes=(20, 40, 80))
    widths = [row.value or 0 for row in found.study]
    assert widths == sorted(widths, reverse=True)
    # Four times the labels: half the width of people's part; the machine's part, over all documents, stays.
    assert 0.45 < widths[2] / widths[0] < 0.8
    assert all((row.value or 0) <= row.details["labels_alone"] * 1.1 for row in found.study)
    assert "20 labels give about ±" in found.study.notes[1]
    far = plan_comparison([judge("one", 0.3)], ("A", "B"), sizes=(20, 500))
    assert far.study.notes[-1] == "500 labels are more than there are items"
    assert "proxy for people: three" in found.study.notes[1]


def test_width_equals_the_formula_with_an_uninformative_judge() -> None:
    # A correlation of 0 is assumed: people alone, so +- t(.95, 39) s / sqrt 40 with s the spread of the differences.
    machine = judge("one", 0.3)
    found = plan_comparison([machine], ("A", "B"), sizes=(40,), expect=0.0, draws=300)
    grid = Grid.of(machine.scores(machine.questions()[0], Level.SUMMARY)).judge
    spread = float((grid[0] - grid[1]).std(ddof=1))
    assert found.study[0].value == pytest.approx(2.0227 * spread / math.sqrt(40), rel=0.06)


def test_it_settles_a_wide_gap_and_says_so_of_a_narrow_one() -> None:
    wide = plan_comparison([judge("one", 2.0)], ("A", "B"))
    assert wide.settled_at == 25
    assert wide.study.notes[2].startswith("about 25 labelled documents would tell them apart with probability 0.8, if")
    assert wide.labels == 25
    assert len(wide.items) == 50
    narrow = plan_comparison([judge("one", 0.0)], ("A", "B"))
    assert narrow.settled_at is None
    assert "may be equal" in narrow.study.notes[2]


def test_every_document_is_as_likely_to_be_chosen() -> None:
    counts: dict[str, int] = {}
    for seed in range(60):
        proposal = plan_comparison([judge("one", 0.3)], ("A", "B"), labels=30, sizes=(30,), draws=1, seed=seed)
        for document, _ in proposal.items[::2]:
            counts[document] = counts.get(document, 0) + 1
    # 60 samples of a quarter: 15 each; the binomial standard deviation is 3.4.
    assert len(counts) == N
    assert max(abs(count - 15) for count in counts.values()) < 5 * 3.4


def test_labels_there_are_already_take_the_place_of_assumptions(tmp_path: Path) -> None:
    rows = [
        {"doc_id": f"d{place:03d}", "document": "x", "system": system, "summary": "y",
         "human": {"ratings": {"coherence": {"anna": float(BASE[place, column])}}} if place < 30 else {}}
        for place in range(N) for column, system in enumerate("AB")
    ]  # fmt: skip
    found = plan_comparison([judge("one", 0.3)], ("A", "B"), gold=load(rows), sizes=(40,), labels=20)
    assert "30 existing labels" in " ".join(found.study.notes)
    assert not {document for document, _ in found.items} & {f"d{place:03d}" for place in range(30)}
    assert len(found.items) == 40


def test_calibration_plans_summaries() -> None:
    found = plan_calibration([judge("one", 0.3), judge("three", 0.3)], "three", labels=50)
    assert len(found.items) == 50
    assert found.study[0].judge == "three"
    assert found.study.notes[0].startswith("the mean of three on coherence is")
    alone = plan_calibration([judge("one", 0.3)], "one")
    assert alone.settled_at is None


def test_from_runs_to_a_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data.jsonl"
    rows = made.rows(12, 2)
    data.write_text("".join(json.dumps(one) + "\n" for one in rows))
    raw = tmp_path / "raw.jsonl"
    lines = [{"doc_id": one["doc_id"], "system": one["system"], "evaluator": "mine", "aspect": "coherence",
              "value": 3 + (one["system"] == "s1") + index % 3 / 4} for index, one in enumerate(rows)]  # fmt: skip
    raw.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert command("outputs", "import", data, raw, "-o", tmp_path / "run") == 0
    items = tmp_path / "items.jsonl"
    asked = ["plan", tmp_path / "run", "--question", "compare", "s0", "s1", "--aspect", "coherence", "--items", items]
    capsys.readouterr()
    assert run(*asked, "--labels", 6) == 0
    assert "select: {items: items.jsonl}" in capsys.readouterr().out
    assert run(*asked, "--json") == 0
    assert json.loads(capsys.readouterr().out)["study"] == "plan"
    assert run("plan", tmp_path / "run", "--question", "calibrate", "mine") == 0
    assert run("plan", tmp_path / "run", "--question", "compare") == 2
    assert run(*asked, "--labels", 6) == 0
    plan = {"name": "planned", "task_type": "rating", "data": "data.jsonl", "select": {"items": "items.jsonl"}}
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    made_ = CampaignFolder(build(tmp_path / "plan.yaml", tmp_path / "campaign"))
    assert len(made_.tasks.work) == 6
    assert {(one.document_id, one.system) for one in made_.data.summaries} == {
        (one["doc_id"], one["system"]) for one in map(json.loads, items.read_text().splitlines())
    }
    items.write_text('{"doc_id": "doc0", "system": "s9"}\n')
    with pytest.raises(InputError, match="no summary of document 'doc0' by system 's9'"):
        build(tmp_path / "plan.yaml", tmp_path / "other")
