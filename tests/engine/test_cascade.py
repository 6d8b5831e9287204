"""Cascades: the expensive judge is called only where the inexpensive one is uncertain, and never twice."""

from __future__ import annotations

import importlib.util
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any, ClassVar

import pytest
from engine.test_run import files
from engine.test_workers import ThreadExecutor

from summeter.cli.spending import run_lines
from summeter.engine import derive as engine_derive
from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.runs import Run, rescore
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.evaluators.cascade import Cascade
from summeter.evaluators.catalog import build
from summeter.evaluators.derived import MemberJudge
from summeter.meta import correlate, estimate_last_judge
from summeter.records import Item, Judgment, ModelError, UsageError

asked: Counter[tuple[str, str]] = Counter()
"""(judge, document): how often it was asked."""
BROKEN: set[str] = set()
"""Documents on which the expensive judge fails."""


def _simulation() -> ModuleType:
    """benchmarks/cascade.py, which is no module of a package."""
    file = Path(__file__).parents[2] / "benchmarks" / "cascade.py"
    spec = importlib.util.spec_from_file_location("benchmark_cascade", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


simulation = _simulation()


class Cheap(Evaluator):
    """A probability for each sentence: the number that stands in it, in percent."""

    name: ClassVar[str] = "cheap"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "reads a number"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)

    @property
    def decision_threshold(self) -> float:
        return 0.5

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        asked[self.name, item.document.id] += 1
        builder = JudgmentBuilder(self, item, tools.signature, model=f"m-{self.name}")
        if item.document.id in BROKEN and self.name == "dear":
            raise ModelError("the model is down")
        values = [int(text.rstrip(".").split()[-1]) / 100 for text in item.sentences]
        return [
            builder.ok("faithfulness", "sentence", place, value=self.value(value), label=int(self.value(value) >= 0.5),
                       reason=f"{self.name} says so")
            for place, value in enumerate(values)
        ]  # fmt: skip

    def value(self, value: float) -> float:
        return value


class Dear(Cheap):
    """0 or 1; it differs from the cheap judge only between .4 and .6, where it says the opposite."""

    name: ClassVar[str] = "dear"
    binary_units = frozenset({"sentence"})

    def value(self, value: float) -> float:
        label = value >= 0.5
        return float(label != (0.4 <= value <= 0.6))


class Of(Cascade):
    """A cascade of judges that no catalog names."""

    @property
    def members(self) -> tuple[MemberJudge, ...]:
        return (MemberJudge(Cheap()), MemberJudge(Dear(), partial=True))


@pytest.fixture(autouse=True)
def _fresh() -> None:
    asked.clear()
    BROKEN.clear()


def data(*percents: Sequence[int]) -> list[dict[str, Any]]:
    """A document each, with sentences of these values."""
    return [
        {
            "doc_id": f"d{number}", "system": "s", "document": "Whatever it may be.",
            "summary": " ".join(f"This is {value}." for value in values),
            "sentences": [f"This is {value}." for value in values],
        }
        for number, values in enumerate(percents)
    ]  # fmt: skip


def of(run: Run, judge: str = "cascade") -> dict[tuple[str, int | None], Judgment]:
    return {(row.target.document_id, row.target.index): row for row in run.judgments() if row.judge == judge}


def times(judge: str) -> set[str]:
    assert all(number == 1 for (name, _), number in asked.items() if name == judge), "asked twice"
    return {document for name, document in asked if name == judge}


HALF = [[value] for value in range(1, 101)]


def test_where_any_sentence_is_in_the_band_the_summary_goes_on(tmp_path: Path) -> None:
    run = evaluate(data([95, 90], [95, 55], [30], [70], [5]), [Of(band=[0.3, 0.7])], out=tmp_path / "run")
    assert times("cheap") == {"d0", "d1", "d2", "d3", "d4"}
    assert times("dear") == {"d1", "d2", "d3"}  # both ends are in the band
    mine = of(run)
    assert {key: row.label for key, row in mine.items()} == {
        ("d0", 0): 1, ("d0", 1): 1, ("d1", 0): 1, ("d1", 1): 0, ("d2", 0): 0, ("d3", 0): 1, ("d4", 0): 0
    }  # fmt: skip
    assert mine["d0", 0].model == "m-cheap"
    assert mine["d0", 0].reason == "decided by cheap (outside 0.3 to 0.7): cheap says so"
    assert mine["d1", 0].model == "m-dear"
    assert mine["d1", 0].reason == "decided by dear (cheap was uncertain): dear says so"


def test_it_is_one_judge_and_the_partial_one_has_no_scores(tmp_path: Path) -> None:
    run = evaluate(data([95], [55], [5]), [Of(band=[0.3, 0.7])], out=tmp_path / "run")
    assert {score.judge for score in run.scores()} == {"cheap", "cascade"}
    assert len([score for score in run.scores() if score.judge == "cascade"]) == 3
    assert [judge.partial for judge in run.manifest.judges] == [False, True, False]
    gold = [row.model_copy(update={"judge": "p", "signature": "human.sentence_labels|v:1", "model": None})
            for row in run.judgments() if row.judge == "cheap"]  # fmt: skip
    assert {row.judge for row in correlate(run, gold, resamples=0)} == {"cheap", "cascade"}
    assert run.manifest.status == "complete"


def test_a_judge_that_is_named_too_judges_all(tmp_path: Path) -> None:
    run = evaluate(data([95], [55], [5]), [Of(band=[0.3, 0.7]), Dear()], out=tmp_path / "run")
    assert times("dear") == {"d0", "d1", "d2"}
    assert {score.judge for score in run.scores()} == {"cheap", "dear", "cascade"}
    again = evaluate(data([95], [55], [5]), [Of(band=[0.3, 0.7])], out=tmp_path / "run")
    assert not [judge for judge in again.manifest.judges if judge.partial]
    later = evaluate(data([95], [55], [5]), [Of(band=[0.3, 0.7])], out=tmp_path / "later")
    asked.clear()
    later = evaluate(data([95], [55], [5]), [Of(band=[0.3, 0.7]), Dear()], out=later.folder)
    assert times("dear") == {"d0", "d2"}
    assert not later.partial


def test_a_share_is_a_share(tmp_path: Path) -> None:
    evaluate(data(*HALF), [Of(share=0.3)], out=tmp_path / "run")
    # 30 of 100, the nearest to .5.
    assert times("dear") == {f"d{value - 1}" for value in range(35, 65)}


def test_a_band_is_found_that_keeps_the_bound(tmp_path: Path) -> None:
    run = evaluate(data(*HALF * 4), [Of(error=0.05, sample=100)], out=tmp_path / "run")
    dear, cascade = times("dear"), of(run)
    assert 100 <= len(dear) < 300
    wrong = [
        key for key, row in cascade.items()
        if row.label != Dear().value((int(key[0][1:]) % 100 + 1) / 100)
    ]  # fmt: skip
    assert len(wrong) <= 20
    in_sample = [row for row in cascade.values() if "in the random sample" in (row.reason or "")]
    assert len(in_sample) == 100
    assert {row.model for row in in_sample} == {"m-dear"}


def test_with_no_more_items_than_the_sample_the_last_judge_decides_all(tmp_path: Path) -> None:
    run = evaluate(data(*HALF), [Of(sample=100)], out=tmp_path / "run")
    assert len(times("dear")) == 100
    assert {row.model for row in of(run).values()} == {"m-dear"}


def test_what_is_finished_is_left_alone_and_rescoring_gives_the_same(tmp_path: Path) -> None:
    run = evaluate(data(*HALF * 2), [Of(sample=60)], out=tmp_path / "run")
    before, number = files(run.folder), len(asked)
    evaluate(data(*HALF * 2), [Of(sample=60)], out=tmp_path / "run")
    assert len(asked) == number
    assert max(asked.values()) == 1
    assert files(run.folder) == before


def test_a_longer_run_ends_as_one_that_was_long_at_once(tmp_path: Path) -> None:
    evaluate(data(*HALF * 2), [Of(share=0.2)], out=tmp_path / "run", limit=50)
    run = evaluate(data(*HALF * 2), [Of(share=0.2)], out=tmp_path / "run")
    whole = evaluate(data(*HALF * 2), [Of(share=0.2)], out=tmp_path / "whole")
    assert {key: row.label for key, row in of(run).items()} == {key: row.label for key, row in of(whole).items()}


def test_a_dear_judge_that_fails_makes_an_error_that_is_tried_again(tmp_path: Path) -> None:
    BROKEN.add("d1")
    run = evaluate(data([95], [55], [45], [5]), [Of(band=[0.3, 0.7])], out=tmp_path / "run")
    assert of(run)["d1", None].status == "error"
    assert of(run)["d1", None].reason == "the model is down"
    assert of(run)["d2", 0].model == "m-dear"
    assert run.manifest.status == "incomplete"
    BROKEN.clear()
    asked.clear()
    run = evaluate(data([95], [55], [45], [5]), [Of(band=[0.3, 0.7])], out=tmp_path / "run")
    assert asked == {("dear", "d1"): 1}
    assert of(run)["d1", 0].label == 0
    assert run.manifest.status == "complete"


def test_a_sampled_item_on_which_the_dear_judge_fails_is_asked_once_a_session(tmp_path: Path) -> None:
    BROKEN.update({"d3", "d50", "d77"})
    run = evaluate(data(*HALF), [Of(sample=100)], out=tmp_path / "run")
    assert all(number == 1 for number in asked.values())
    assert {row.target.document_id for row in of(run).values() if row.status == "error"} <= BROKEN


KILLED = """
import os, sys
sys.path[:0] = {paths!r}
from engine.test_cascade import *
import engine.test_cascade as module

class Slow(Dear):
    async def judge(self, item, prepared, tools):
        judgments = await super().judge(item, prepared, tools)
        with open({log!r}, "a") as lines:
            lines.write(item.document.id + "\\n")
        if sum(1 for _ in open({log!r})) == {at}:
            os.kill(os.getpid(), 9)
        return judgments

class Kept(Of):
    @property
    def members(self):
        return (MemberJudge(Cheap()), MemberJudge(Slow(), partial=True))

evaluate(data(*HALF * 2), [Kept(sample=60)], out={out!r}, concurrency=1)
"""


@pytest.mark.parametrize("at", [20, 75])
def test_a_kill_in_either_round_asks_nothing_twice(tmp_path: Path, at: int) -> None:
    log, out = tmp_path / "log", tmp_path / "run"
    script = KILLED.format(paths=[str(Path(__file__).parents[1])], log=str(log), at=at, out=str(out))
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = log.read_text().split()
    assert len(before) == at
    run = evaluate(data(*HALF * 2), [Of(sample=60)], out=out, concurrency=1)
    # The one that was under way when it was killed was not written, and is asked again; no other.
    assert set(before) & times("dear") <= {before[-1]}
    whole = evaluate(data(*HALF * 2), [Of(sample=60)], out=tmp_path / "whole", concurrency=1)
    assert of(run) == of(whole)
    assert run.manifest.status == "complete"


def test_workers_judge_as_one_process_does(tmp_path: Path) -> None:
    alone = evaluate(data(*HALF * 2), [Of(sample=60)], out=tmp_path / "alone")
    judged = times("dear")
    asked.clear()
    run = evaluate(data(*HALF * 2), [Of(sample=60)], out=tmp_path / "run", executor=ThreadExecutor())
    assert times("dear") == judged
    assert files(run.folder) == files(alone.folder)


def test_its_labels_follow_its_values_by_the_threshold_that_the_run_states(tmp_path: Path) -> None:
    run = evaluate(data(*HALF), [Of(band=[0.3, 0.7])], out=tmp_path / "run")
    (line,) = [entry.threshold for entry in run.manifest.judges if entry.name == "cascade"]
    assert line == 0.5
    rows = of(run).values()
    assert {row.model for row in rows} == {"m-cheap", "m-dear"}
    assert all(row.value is not None and row.label == int(row.value >= line) for row in rows)


def test_rescore_computes_it_from_what_is_there(tmp_path: Path) -> None:
    spec = "cascade[first=abstractiveness,then=length,band=[0,0.1]]"
    with pytest.raises(Exception, match="no aspect in common"):
        evaluate(data([1]), [spec], out=tmp_path / "run")
    run = evaluate(
        data([95], [55]),
        ["cascade[first=support,then=support[max_key_facts=3],aspect=faithfulness]"],
        out=tmp_path / "run",
    )
    before = files(run.folder)
    assert files(rescore(run.folder).folder) == before


def test_what_was_saved_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_derive, "Cascade", Of)
    run = evaluate(data(*HALF * 2), [Of(share=0.25, sample=40)], out=tmp_path / "run")
    lines = [line for line in run_lines(run) if line.startswith("cascade")]
    number = len(times("dear"))
    assert lines[0] == "cascade: cheap decided 150 of 200 items, those with a value outside 0.38 to 0.62"
    saved = f"{(200 - number) / 200:.0%}"
    assert lines[1] == f"cascade: dear judged {number} of 200 (40 of them in the sample); {saved} of its work saved"
    assert lines[2].endswith(f"summeter meta estimate {run.folder} --last-judge")


def test_the_last_judges_mean_is_estimated_from_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_derive, "Cascade", Of)
    run = evaluate(data(*HALF * 4), [Of(band=[0.45, 0.65], sample=120)], out=tmp_path / "run")
    row = estimate_last_judge(run, run.cascade_samples()).one(statistic="ppi_mean")
    # It says 0 up to .39, 1 from .4 to .49, 0 from .5 to .6, 1 above: 50 of 100 values are 1.
    assert row.low is not None
    assert row.high is not None
    assert row.low <= 0.5 <= row.high
    assert (row.n, row.details["unlabelled"]) == (120, 280)
    assert (row.gold_signature or "").startswith("dear|")
    # What the cascade says without its sample differs between .4 and .45 alone, where the cheap judge says 0.
    machine = estimate_last_judge(run, run.cascade_samples()).one(statistic="machine_mean")
    assert machine.value == pytest.approx(0.45)
    without = evaluate(data([95]), [Of(band=[0, 1])], out=tmp_path / "without")
    with pytest.raises(UsageError, match="no cascade with a random sample"):
        estimate_last_judge(without, without.cascade_samples())


@pytest.mark.parametrize(
    "settings",
    [
        *("first=finesure,then=support", "first=support,then=support", "first=support,then=rts[aspect=fluency]"),
        *("first=support,then=lengthy", "first=support,then=h2h", "first=support,then=minicheck+finesure.fact_check"),
        *("band=[.6,.4]", "band=[.5,inf]", "band=.5", "band=[.2]", "band=[a,b]", "band=[[.4,.6],[.1,.2]]"),
        *("band=[.4,.6],share=.3", "share=.3,error=.1", "sample=0", "error=1.5", "bands=auto"),
        # Judges that label from unlike values on.
        *(
            "first=support,then=summac[threshold=0.2],aspect=faithfulness",
            "first=fenice[threshold=0],then=finesure.fact_check",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(settings: str) -> None:
    with pytest.raises(UsageError):
        build(f"cascade[{settings}]")


def test_judges_of_one_name_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    spec = "cascade[first=support,then=support[base_rate=.7],aspect=faithfulness,band=[0,1]]"
    run = evaluate(data([95]), [spec], out=tmp_path / "run")
    (row,) = of(run).values()
    assert (row.reason or "").startswith("decided by support[base_rate=0.7] (support was uncertain)")
    assert next(line for line in run_lines(run) if "decided" in line).startswith("cascade: support decided 0 of 1")
    assert any(line.startswith("cascade: support[base_rate=0.7] judged 1 of 1") for line in run_lines(run))


def test_a_rating_judge_learns_from_a_part_of_the_sample_where_it_may_decide() -> None:
    """The cheap judge is right about 1 and 5 and a point off elsewhere."""
    rng = random.Random(0)
    judged = []
    for item in range(1000):
        dear = rng.choice([1, 2, 3, 4, 5])
        cheap = dear if dear in (1, 5) else dear + rng.choice([-1, 1]) if dear == 3 else dear
        judged.append(simulation.both(item, cheap, dear))
    plan = simulation.Simulated(ratings=True, error=0.02, sample=300).plan(judged)
    assert plan.band is not None
    assert plan.band[0] >= 2
    assert plan.band[1] <= 4
    assert plan.bound is not None
    assert plan.bound.high <= 0.02


@pytest.mark.parametrize("ratings", [False, True])
def test_the_bound_holds_in_simulated_draws(ratings: bool) -> None:
    """A small version of benchmarks/cascade.py."""
    got = list(simulation.draws(30, 600, 200, 0.1, ratings=ratings))
    assert fmean(draw.error <= 0.1 for draw in got) >= 0.95
    assert fmean(draw.band <= 0.1 for draw in got) >= 0.85
    assert fmean(draw.saved for draw in got) > 0.3


def test_a_dry_run_says_at_most(tmp_path: Path) -> None:
    rows = data([95], [55])
    cascade = "cascade[first=support,then=finesure.fact_check,band=[.4,.6]]"
    first, last, own = dry_run(rows, [cascade], models="openai/gpt-4o")
    assert (first.at_most, last.at_most, own.at_most) == (False, True, False)
    assert last.calls == 2
