"""Cascades: the dear judge is asked where the cheap one is not sure, never twice, whatever ends the run."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from engine.test_run import files

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.runs import Run, rescore
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.evaluators.cascade import Cascade
from summeter.evaluators.derived import Member
from summeter.meta import correlate
from summeter.records import Item, Judgment, ModelError

asked: Counter[tuple[str, str]] = Counter()
"""(judge, document): how often it was asked."""
BROKEN: set[str] = set()
"""Documents on which the dear judge fails."""


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


class Third(Dear):
    """A third one."""

    name: ClassVar[str] = "third"


class Of(Cascade):
    """A cascade of judges that no catalog names."""

    three: bool = False

    @property
    def members(self) -> tuple[Member, ...]:
        last = (Member(Third(), partial=True),) if self.three else ()
        return (Member(Cheap()), Member(Dear(), partial=True), *last)


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
    assert mine["d1", 0].reason == "decided by dear (cheap was not sure): dear says so"


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


def test_three_judges(tmp_path: Path) -> None:
    run = evaluate(data([95], [55], [70], [5]), [Of(three=True, band=[[0.4, 0.8], [0.0, 0.5]])], out=tmp_path / "run")
    assert (times("dear"), times("third")) == ({"d1", "d2"}, {"d1"})
    assert {key[0]: row.model for key, row in of(run).items()} == {
        "d0": "m-cheap", "d1": "m-third", "d2": "m-dear", "d3": "m-cheap"
    }  # fmt: skip


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
        return (Member(Cheap()), Member(Slow(), partial=True))

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


def test_a_dry_run_says_at_most(tmp_path: Path) -> None:
    rows = data([95], [55])
    cascade = "cascade[first=support,then=finesure.fact_check,band=[.4,.6]]"
    first, last, own = dry_run(rows, [cascade], models="dry/model")
    assert (first.at_most, last.at_most, own.at_most) == (False, True, False)
    assert last.calls == 2
