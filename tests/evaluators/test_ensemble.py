"""Ensembles: majority and mean worked by hand, members without a verdict, and calls that members share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from evaluators.judging import run

from summeter.engine.api import evaluate
from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.evaluators.catalog import build
from summeter.evaluators.derived import MemberJudge, MemberJudgments
from summeter.evaluators.ensemble import Ensemble
from summeter.models.providers.scripted import Scripted
from summeter.records import Document, Item, Judgment, Span, Status, Summary

SUMMARY = Summary(
    document_id="d", system="s", text="One. Two.", splitter="given",
    sentences=(Span(of="summary", start=0, end=4), Span(of="summary", start=5, end=9)),
)  # fmt: skip
ITEM = Item(document=Document(id="d", text="One and two."), summary=SUMMARY)


class Says(Evaluator):
    """A judge with fixed labels of sentences (None: no verdict), or of the summary if `whole` is set."""

    name: ClassVar[str] = "says"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "says what it is given"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)

    labels: tuple[int | None, ...] = ()
    whole: float | None = None
    status: Status = "unparsed"
    nick: str = ""

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        builder = JudgmentBuilder(self, item, tools.signature, model="m", calls=(f"call {self.nick}",))
        if self.whole is not None:
            return [builder.ok("faithfulness", value=self.whole)]
        return [
            builder.failed("faithfulness", self.status, "cut off", "sentence", place)
            if label is None
            else builder.ok("faithfulness", "sentence", place, value=float(label), label=label,
                        error_type="no error" if label else f"{self.nick} error")
            for place, label in enumerate(self.labels)
        ]  # fmt: skip


class InWords(Evaluator):
    """A judge that labels the first sentence with a word and has no value."""

    name: ClassVar[str] = "in words"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "a label in words"
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness",)

    version_: str = "1"

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        return [JudgmentBuilder(self, item, tools.signature).ok("faithfulness", "sentence", 0, label="neutral")]


class Of(Ensemble):
    """An ensemble of evaluators that are not in the catalog."""

    judges: tuple[Evaluator, ...]

    @property
    def members(self) -> tuple[MemberJudge, ...]:
        return tuple(MemberJudge(one, None) for one in self.judges)


def join(*members: Evaluator, **settings: Any) -> list[Judgment]:
    return judged(Of(judges=members, **settings))


def judged(ensemble: Ensemble, llm: Any = None) -> list[Judgment]:
    """Return the ensemble's judgments of the item."""
    heard = tuple(tuple(run(member.evaluator, ITEM, llm)[1]) for member in ensemble.members)
    return list(ensemble.derive([MemberJudgments(("d", "s", None), heard)], "sig"))


def says(nick: str, *labels: int | None, **fields: Any) -> Says:
    return Says(nick=nick, labels=labels, **fields)


class TestMajority:
    def test_by_hand(self) -> None:
        one, two = join(says("a", 1, 0), says("b", 1, 0), says("c", 0, 0))
        # Sentence 1: two of three labels are 1. Sentence 2: all are 0; the error type is the most frequent.
        assert (one.label, one.value, one.confidence) == (1, pytest.approx(2 / 3), pytest.approx(2 / 3))
        assert (two.label, two.value, two.confidence, two.error_type) == (0, 0.0, 1.0, "a error")
        assert one.reason == "2 of 3 say 1: says 1, says 1, says 0"
        assert one.error_type == "no error"
        assert (one.target.unit, two.target.index) == ("sentence", 1)
        assert one.calls == ("call a", "call b", "call c")
        assert Judgment.model_validate_json(one.line) == one

    def test_a_tie_has_no_label(self) -> None:
        one, two = join(says("a", 1, 0), says("b", 0, 0))
        assert (one.status, one.label, one.value) == ("skipped", None, None)
        assert one.reason == "tie among 2: says 1, says 0"
        assert two.label == 0

    def test_members_without_verdict_are_left_out(self) -> None:
        one, _ = join(says("a", 1, 0), says("b", None, 0), says("c", 1, 0))
        assert (one.label, one.confidence) == (1, 1.0)
        assert one.reason == "2 of 2 say 1: says 1, says 1; no verdict by says (unparsed: cut off)"

    def test_without_any_verdict_it_fails(self) -> None:
        found = join(says("a", None, None), says("b", None, None, status="refused"))
        assert [(one.status, one.target.unit) for one in found] == [("refused", "summary")]
        assert found[0].value is None


class TestMean:
    def test_mean_of_values(self) -> None:
        one, _ = join(says("a", 1, 0), says("b", 0, 0), how="mean")
        # (1 + 0) / 2; they differ by the whole scale.
        assert (one.value, one.label, one.confidence) == (0.5, None, 0.0)

    def test_different_units_are_combined_by_summary(self) -> None:
        (one,) = join(says("a", 1, 0), says("b", whole=0.9))
        # Half of a's sentences are supported; b's value of the summary is .9. Mean .7; they differ by .4 of the scale.
        assert (one.target.unit, one.value) == ("summary", pytest.approx(0.7))
        assert one.confidence == pytest.approx(0.6)

    def test_a_label_in_words_is_no_number(self) -> None:
        found = join(says("a", 1), InWords(), how="mean")
        assert [(one.status, one.value) for one in found] == [("skipped", None)]
        assert found[0].reason == "a mean needs numbers, but in words gives none; use how=majority"
        (voted,) = join(InWords(), InWords(version_="2"), how="majority")
        assert (voted.label, voted.value, voted.confidence) == ("neutral", None, 1.0)


def ask(ensemble: Ensemble, **replies: Any) -> list[Judgment]:
    def answer(request: Any) -> str:
        return json.dumps(replies[request.schema_name])

    return judged(ensemble, Scripted(answer))


class TestRatings:
    def test_the_mean_is_on_the_common_scale(self) -> None:
        (one,) = ask(Ensemble(of="rts+mcq"), rts={"reason": "so", "score": 4}, mcq={"answer": "C"})
        # C is 3: (4 + 3) / 2; they differ by 1 of 4 points.
        assert (one.value, one.confidence) == (3.5, 0.75)
        assert one.reason == "mean of 2: rts 4, mcq 3"
        assert "scale:1-5" in Ensemble(of="rts+mcq").sign({})

    def test_different_scales_are_converted_to_0_1(self) -> None:
        ensemble = Ensemble(of="rts[aspect=faithfulness]+yesno")
        (one,) = ask(ensemble, rts={"reason": "so", "score": 4}, yesno={"answer": "yes"})
        # 4 of 1-5 is .75; yes is 1.
        assert one.value == pytest.approx(0.875)
        assert "scale:0-1" in ensemble.sign({})


class TestSpelling:
    def test_settings_are_passed_to_members(self) -> None:
        found = build("ensemble[of=rts+mcq[aspect=fluency]+direct[prompts=null,aspect=fluency],aspect=fluency]")
        assert isinstance(found, Ensemble)
        assert [one.evaluator.active_aspects for one in found.members] == [("fluency",)] * 3
        assert found.active_aspects == ("fluency",)

    def test_members_with_a_second_model(self) -> None:
        found = build("ensemble[rts+rts@second]")
        assert found.required_roles == ("judge", "second")
        assert [part.name for part in found.components()] == ["rts", "ensemble"]
        assert "second:b/c" in found.sign({"judge": "a/b", "second": "b/c"})


def test_members_are_called_once(tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    score, letter = json.dumps({"reason": "so", "score": 4}), json.dumps({"answer": "B"})
    lines = [
        {"match": "from A to E", "reply": letter},
        {"match": '"answer"', "reply": letter},
        {"match": "", "reply": score},
    ]
    rules.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    row = {"doc_id": "d", "document": "It rained all day.", "summary": "It rained.", "system": "s"}
    run = evaluate([row], ["ensemble[rts+mcq]"], models=f"scripted/{rules}", out=tmp_path / "run")
    found = {one.judge: one for one in run.judgments()}
    assert {name: one.value for name, one in found.items()} == {"rts": 4.0, "mcq": 2.0, "ensemble": 3.0}
    # Four members asked, but only two questions were sent.
    assert sorted(found["ensemble"].calls) == sorted((*found["rts"].calls, *found["mcq"].calls))
    again = evaluate([row], run.specs, models=f"scripted/{rules}", replay=run.folder, out=tmp_path / "again")
    assert {one.judge: one.line for one in again.judgments()} == {name: one.line for name, one in found.items()}
