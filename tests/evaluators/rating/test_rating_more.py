"""`multi`, `yesno` and direct assessment, and what all templates of rating judges share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluators.judging import item, run

from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import build, rebuild
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.evaluators.rating.together import RatedTogether
from summeter.evaluators.rating.yesno import YesNo
from summeter.models.providers.scripted import Scripted
from summeter.records import InputError, Judgment, ReplyError
from summeter.scoring import COMPOSED, composites, summary_scores

ITEM = item(("Ana sold the boat.",), document="Ana sold her boat and bought a mill.")
GOOD = {"coherence": {"reason": "It leaps.", "score": 2}, "fluency": {"reason": "It reads well.", "score": 5}}


def ask(judge: Evaluator, llm: Scripted) -> list[Judgment]:
    return run(judge, ITEM, llm, repair=True)[1]


class TestTogether:
    judge = RatedTogether(rated=("coherence", "fluency"))

    def test_one_call_gives_a_judgment_an_aspect(self) -> None:
        llm = Scripted([{"reply": GOOD}])
        found = ask(self.judge, llm)
        assert [(one.aspect, one.value, one.reason) for one in found] == [
            ("coherence", 2.0, "It leaps."), ("fluency", 5.0, "It reads well."),
        ]  # fmt: skip
        assert llm.calls == 1
        assert found[0].calls == found[1].calls

    def test_all_aspects_are_signed(self) -> None:
        signed = self.judge.sign({"judge": "p/m"})
        assert signed.startswith("rts.together|judge:p/m|aspects:coherence,fluency|prompt:")
        assert RatedTogether(rated=("fluency", "coherence")).sign({"judge": "p/m"}) != signed
        assert build("rts.together[rated=coherence;fluency]") == self.judge

    @pytest.mark.parametrize(
        ("lacking", "says"),
        [
            ({}, "there is no entry for fluency"),
            ({"fluency": None}, "fluency: expected an object, got None"),
            ({"fluency": {"reason": "Fine."}}, "fluency: it has no field named score"),
            ({"fluency": {"reason": "Fine.", "score": 6}}, "fluency: the score is 6, which is not from 1 to 5"),
            ({"fluency": {"reason": "", "score": 3}}, "fluency: the reason is '', not a string"),
        ],
    )
    def test_a_missing_aspect_fails_alone(self, lacking: dict[str, object], says: str) -> None:
        reply = {"coherence": GOOD["coherence"], **lacking}
        llm = Scripted([{"reply": reply}])
        one, two = ask(self.judge, llm)
        assert llm.calls == 2  # after a request to correct it
        assert (one.value, one.status) == (2.0, "ok")
        assert (two.value, two.status) == (None, "unparsed")
        assert (two.reason or "").partition(": ")[2] == says
        stored = self.judge.read(json.dumps(reply), ITEM, "strict", "sig")
        assert [judgment.status for judgment in stored] == ["ok", "unparsed"]

    def test_the_repair_can_add_a_missing_aspect(self) -> None:
        llm = Scripted([{"reply": {"coherence": GOOD["coherence"]}, "times": 1}, {"reply": GOOD}])
        assert [one.value for one in ask(self.judge, llm)] == [2.0, 5.0]

    def test_user_defined_aspects(self, tmp_path: Path) -> None:
        file = tmp_path / "own.yaml"
        file.write_text(
            "- {name: tone, definition: its tone, lowest: bad, highest: good}\n"
            "- {name: wit, definition: its wit, lowest: none, highest: much}\n"
        )
        assert RatedTogether(aspect_file=file).rated == ("tone", "wit")
        mixed = RatedTogether(aspect_file=file, rated="fluency;tone")  # type: ignore[arg-type]
        assert [one.name for one in mixed.about] == ["fluency", "tone"]
        assert "its tone" in mixed.prompt(ITEM).messages[1].content
        again = rebuild("rts.together", mixed.model_dump(mode="json", exclude_defaults=True))
        assert again.sign({}) == mixed.sign({})
        with pytest.raises(InputError):
            RatedTogether(aspect_file=tmp_path / "none.yaml")


class TestYesNo:
    def test_chain_of_thought_requires_reasoning(self) -> None:
        judge = YesNo(cot=True)
        (found,) = ask(judge, Scripted([{"reply": {"reasoning": "All is there.", "answer": "yes"}}]))
        assert (found.value, found.label, found.reason) == (1.0, 1, "All is there.")
        with pytest.raises(ReplyError, match="no field named reasoning"):
            judge.strict('{"answer": "yes"}')
        text = "It was sold. The document says so. The answer is yes."
        assert judge.strict(text).reason == text
        assert list(judge.form(ITEM).schema["properties"]) == ["reasoning", "answer"]


def test_ratings_of_the_three_aspects_make_no_composite() -> None:
    """A rating of faithfulness from 1 to 5 is not a share of sentences."""
    llm = Scripted([{"reply": {"reason": "So.", "score": 4}}])
    found = [one for aspect in COMPOSED for one in ask(ReasonThenScore(aspect=aspect), llm)]
    scores = summary_scores(found, {})
    assert [score.aspect for score in scores] == list(COMPOSED)
    assert list(composites(scores)) == []
