"""Derived judges: evaluated after their members, over the whole run; resumable and replayable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import ClassVar

import pytest
from engine.judges import Lengths, Moody, calls, rows
from engine.test_run import files

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.options import Options
from summeter.engine.runs import Run, rescore
from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.catalog import build
from summeter.evaluators.derived import DerivedEvaluator, MemberJudge, MemberJudgments
from summeter.records import Item, Judgment

BROKEN: dict[str, str] = {}
"""What the tests' moody member suffers from."""


class Fickle(Moody):
    """Moody only while BROKEN says so."""

    name: ClassVar[str] = "fickle"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        return await (super().judge if BROKEN else super(Moody, self).judge)(item, prepared, tools)


class Centred(DerivedEvaluator):
    """A summary's share of short sentences, less the mean over the run: it needs all documents."""

    name: ClassVar[str] = "centred"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "a member's share, less the run's mean"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)
    reduce = "mean"

    member: str = "lengths"

    @property
    def members(self) -> tuple[MemberJudge, ...]:
        judges: dict[str, Evaluator] = {"lengths": Lengths(), "moody": Moody(), "fickle": Fickle()}
        return (MemberJudge(judges[self.member]),)

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        shares = [fmean(float(row.label or 0) for row in rows) for _, (rows,) in judged]
        for (item, (own,)), share in zip(judged, shares, strict=True):
            called = tuple(call for row in own for call in row.calls)
            yield self.judgment(
                item, signature, "faithfulness", value=share - fmean(shares), calls=called, reason=f"of {len(shares)}"
            )


class Buggy(Centred):
    """Divides by zero behind the first item."""

    name: ClassVar[str] = "buggy"

    def derive(self, judged: Sequence[MemberJudgments], signature: str) -> Iterator[Judgment]:
        yield next(super().derive(judged, signature))
        raise ZeroDivisionError("oops")


def values(run: Run, judge: str) -> dict[tuple[str, str], float | None]:
    return {one.target.item[:2]: one.value for one in run.judgments() if one.judge == judge}


def test_it_sees_the_whole_run_and_its_members_stand_beside_it(tmp_path: Path) -> None:
    run = evaluate(rows(3), [Centred()], out=tmp_path / "run")
    assert [judge.name for judge in run.manifest.judges] == ["lengths", "centred"]
    assert run.manifest.judges[1].members == (run.manifest.judges[0].signature,)
    # System a: both sentences are short; b: one of two. The mean of 1, .5 three times is .75.
    assert values(run, "centred") == {
        (f"d{number}", system): share for number in range(3) for system, share in (("a", 0.25), ("b", -0.25))
    }
    assert run.manifest.status == "complete"


def test_a_longer_run_computes_it_anew(tmp_path: Path) -> None:
    evaluate(rows(3), [Centred()], out=tmp_path / "run", limit=1)
    calls.clear()
    run = evaluate(rows(3), [Centred()], out=tmp_path / "run")
    assert calls["judge"] == 4  # the members' work of the first document is not done again
    assert {one.reason for one in run.judgments() if one.judge == "centred"} == {"of 6"}
    whole = evaluate(rows(3), [Centred()], out=tmp_path / "whole")
    assert files(run.folder) == files(whole.folder)


def test_a_shorter_run_keeps_what_was_derived_before(tmp_path: Path) -> None:
    judge = "cascade[first=support,then=support[base_rate=.7],aspect=faithfulness,band=[0,.5]]"
    evaluate(rows(3), [judge], out=tmp_path / "run", limit=2)
    run = evaluate(rows(3), [judge, "length"], out=tmp_path / "run", limit=1)
    before = values(run, "cascade")
    assert len(before) == 4
    assert values(rescore(run.folder), "cascade") == before


def test_what_is_finished_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = evaluate(rows(2), [Centred()], out=tmp_path / "run")
    before = files(run.folder)
    monkeypatch.setattr(Centred, "derive", lambda *_: pytest.fail("it was computed again"))
    assert files(evaluate(rows(2), [Centred()], out=tmp_path / "run").folder) == before


def test_a_member_that_fails_makes_it_an_error_that_is_tried_again(tmp_path: Path) -> None:
    BROKEN["now"] = "yes"
    judge = Centred(member="fickle")
    run = evaluate(rows(2), [judge], out=tmp_path / "run")
    assert values(run, "centred") == {("d0", "a"): 0.0, ("d1", "a"): 0.0, ("d0", "b"): None, ("d1", "b"): None}
    errors = [one for one in run.judgments() if one.judge == "centred" and one.status == "error"]
    assert {one.reason for one in errors} == {"the model is down"}
    assert run.manifest.status == "incomplete"
    assert files(rescore(run.folder).folder) == files(run.folder)
    BROKEN.clear()
    run = evaluate(rows(2), [judge], out=tmp_path / "run")
    assert set(values(run, "centred").values()) == {0.25, -0.25}
    assert run.manifest.status == "complete"


def test_an_error_of_its_own_is_no_number(tmp_path: Path) -> None:
    run = evaluate(rows(2), [Buggy()], out=tmp_path / "run")
    mine = [one for one in run.judgments() if one.judge == "buggy"]
    assert {(one.status, one.value, one.reason) for one in mine} == {("error", None, "ZeroDivisionError: oops")}
    assert len(mine) == 4
    assert all(one.status == "ok" for one in run.judgments() if one.judge == "lengths")


def test_empty_summaries_are_skipped_and_it_is_not_asked(tmp_path: Path) -> None:
    data = [*rows(2), {**rows(1)[0], "doc_id": "d9", "summary": " "}]
    run = evaluate(data, [Centred()], out=tmp_path / "run")
    (skipped,) = [one for one in run.judgments() if one.judge == "centred" and one.status == "skipped"]
    assert skipped.reason == "the summary is empty"
    assert {one.reason for one in run.judgments() if one.judge == "centred"} == {"of 4", "the summary is empty"}


def test_a_kill_while_it_is_written_leaves_nothing_half_done(tmp_path: Path) -> None:
    run = evaluate(rows(3), [Centred()], out=tmp_path / "run")
    before = files(run.folder)
    progress = run.folder / "progress.jsonl"
    lines = progress.read_text().splitlines(keepends=True)
    progress.write_text("".join(line for line in lines if '"centred' not in line or '"d0"' in line))
    again = evaluate(rows(3), [Centred()], out=tmp_path / "run")
    assert files(again.folder) == before


def rules(folder: Path, name: str, score: int) -> str:
    """A scripted model that rates everything with `score`."""
    file = folder / f"{name}.jsonl"
    lines = [{"match": "from A to E", "reply": json.dumps({"answer": "B"})}]
    lines.append({"match": "", "reply": json.dumps({"reason": "so", "score": score})})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted/{file}"


class TestAnotherModel:
    """`ensemble[rts+rts@second]`."""

    def test_each_model_stands_in_the_run_and_the_replay_is_the_same(self, tmp_path: Path) -> None:
        models = {"judge": rules(tmp_path, "one", 4), "second": rules(tmp_path, "two", 1)}
        run = evaluate(rows(1, "a"), ["ensemble[rts+rts@second]"], models=models, out=tmp_path / "run")
        judges = run.manifest.judges
        assert [(judge.name, judge.model) for judge in judges] == [
            ("rts", models["judge"]), ("rts", models["second"]), ("ensemble", ",".join(models.values())),
        ]  # fmt: skip
        assert (
            judges[1].signature == evaluate(rows(1, "a"), ["rts"], models=models["second"]).manifest.judges[0].signature
        )
        assert [one.value for one in run.judgments()] == [4.0, 1.0, 2.5]
        assert [one.reason for one in run.judgments()][-1] == "mean of 2: rts 4, rts@second 1"
        assert [one.name for one in run.specs] == ["rts", "ensemble"]
        again = evaluate(rows(1, "a"), run.specs, models=models, replay=run.folder, out=tmp_path / "again")
        assert files(again.folder) == files(run.folder)
        assert files(rescore(run.folder).folder) == files(again.folder)

    def test_repeats_are_joined_repeat_by_repeat(self, tmp_path: Path) -> None:
        models = {"judge": rules(tmp_path, "one", 4), "second": rules(tmp_path, "two", 1)}
        run = evaluate(rows(1, "a"), ["ensemble[rts+rts@second]"], models=models, out=tmp_path / "run", repeats=2)
        joined = [judge for judge in run.manifest.judges if judge.name == "ensemble"]
        assert len(joined) == 2
        for number, judge in enumerate(joined, 1):
            assert f"|rep:{number}|" in judge.signature
            assert all(f"|rep:{number}|" in member for member in judge.members)

    @pytest.mark.parametrize(
        "spec",
        [
            "ensemble[of=alignscore+minicheck]",
            "cascade[first=minicheck,then=alignscore,band=[.2,.8]]",
            "menli.combined[other=alignscore,aspect=faithfulness]",
        ],
    )
    def test_networks_are_not_repeated_and_sign_no_temperature(self, spec: str, tmp_path: Path) -> None:
        models = dict.fromkeys(build(spec).required_roles, "hf/org/x")
        found = dry_run(rows(1, "a"), [spec], models=models, repeats=3)
        assert len({row.judge for row in found}) == len(found)
        signed = build(spec).sign(models, None, Options().sampling)
        assert "|t:" not in signed

    def test_only_the_roles_that_are_asked_need_a_model(self, tmp_path: Path) -> None:
        models = {"second": rules(tmp_path, "one", 4), "extractor": rules(tmp_path, "two", 1)}
        run = evaluate(rows(1, "a"), ["ensemble[rts@second+mcq@extractor]"], models=models, out=tmp_path / "run")
        assert run.specs[0].name == "ensemble"
        again = evaluate(rows(1, "a"), run.specs, models=models, replay=run.folder, out=tmp_path / "again")
        assert files(again.folder) == files(run.folder)
