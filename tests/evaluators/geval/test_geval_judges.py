"""G-Eval with its variants, steps and key facts, and G-Eval+ with its components."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from evaluators.judging import item, run

from summeter.evaluators.aspects import RATED, AspectDef
from summeter.evaluators.base import Evaluator, Prepared
from summeter.evaluators.catalog import build
from summeter.evaluators.geval import geval
from summeter.evaluators.geval.geval import GEval, prompt_template, read_steps
from summeter.evaluators.geval.plus import GEvalPlus, GEvalPlusFaithfulness, GEvalPlusRating
from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.prompts import fence_codes
from summeter.models.providers.scripted import Scripted
from summeter.records import CapabilityError, Document, Item, Judgment, ReplyError
from summeter.scoring import summary_scores

STEPS = {"steps": ["1. Read the document.", "Step 2: Give the score."]}
SENTENCES = ("Ana sold the boat.", "She bought a mill.")


ITEM = item(SENTENCES, document="Ana sold her boat and bought a mill.", key_facts=("Ana sold a boat.",))


def weighed(request: Request) -> Completion:
    """Reply with steps if asked for them, else with a score of 4 and the probabilities 4: .5 and 2: .25."""
    if request.schema_name == "geval_steps":
        return Completion(text=json.dumps(STEPS), finish_reason="stop")
    if request.top_logprobs is None:
        return Completion(text='{"score": 4}', finish_reason="stop")
    top = (("4", math.log(0.5)), ("2", math.log(0.25)), ("no", math.log(0.1)))
    tokens = (
        TokenLogprobs(token='{"score": ', logprob=0.0), TokenLogprobs(token="4", logprob=math.log(0.5), top=top),
        TokenLogprobs(token="}", logprob=0.0),
    )  # fmt: skip
    return Completion(text='{"score": 4}', finish_reason="stop", logprobs=tokens)


def ask(judge: Evaluator, llm: Scripted, one: Item = ITEM, **settings: Any) -> tuple[Prepared, list[Judgment]]:
    return run(judge, one, llm, **settings)


class TestLogprob:
    def test_the_score_is_weighted_by_probability(self) -> None:
        """(4 x .5 + 2 x .25) / .75 = 2.5 / .75 = 3.333...; .25 of the probability is outside the scale."""
        llm = Scripted(weighed)
        prepared, (found,) = ask(GEval(), llm)
        assert found.value == pytest.approx(2.5 / 0.75, abs=1e-12)
        assert found.reason is not None
        assert found.reason.endswith("outside the scale: 0.250")
        assert found.prepared == prepared.id
        assert llm.requests[1].top_logprobs == 20
        assert llm.requests[1].temperature == 0

    def test_a_server_without_log_probabilities_is_an_error_that_names_the_variant(self) -> None:
        silent = Scripted({"Fill in the form": {"score": 4}})
        with pytest.raises(CapabilityError, match=r"without log-probabilities.*geval\[draws=20\]"):
            ask(GEval(steps="tuned", aspect="completeness"), silent)

        def refuses(request: Request) -> Completion:
            raise CapabilityError("no such thing", lacks="logprobs")

        with pytest.raises(CapabilityError, match=r"no such thing; .*geval\[draws=20\]") as caught:
            ask(GEval(steps=("Score it.",)), Scripted(refuses))
        assert caught.value.lacks == "logprobs"
        assert len(silent.requests) == 1  # and no other way was tried

    def test_log_probabilities_of_a_different_text_are_rejected(self) -> None:
        def elsewhere(request: Request) -> Completion:
            return Completion(text='{"score": 4}', finish_reason="stop",
                              logprobs=(TokenLogprobs(token='{"score": 3}', logprob=0.0),))  # fmt: skip

        _, (found,) = ask(GEval(steps=("Score it.",)), Scripted(elsewhere))
        assert (found.status, found.value) == ("unparsed", None)
        assert found.calls


class TestSample:
    @staticmethod
    def sampling(*replies: str) -> Scripted:
        return Scripted(lambda request: Completion(text=replies[request.draw - 1], finish_reason="stop"))

    def test_the_mean_of_independent_samples(self) -> None:
        """The samples are 4, 5, 4, 2: 15 / 4 = 3.75."""
        llm = self.sampling(*(json.dumps({"score": score}) for score in (4, 5, 4, 2)))
        _, (found,) = ask(GEval(draws=4, steps=("Score it.",)), llm)
        assert found.value == 3.75
        assert found.reason == "4 of 4 samples, 2: 1, 4: 2, 5: 1"
        assert sorted(request.draw for request in llm.requests) == [1, 2, 3, 4]
        assert {request.temperature for request in llm.requests} == {1.0}
        assert {request.top_logprobs for request in llm.requests} == {None}
        assert len(found.calls) == len(set(found.calls)) == 4

    def test_each_draw_has_its_own_seed(self) -> None:
        llm = self.sampling('{"score": 4}', '{"score": 4}')
        ask(GEval(draws=2, steps=("Score it.",)), llm, seed=40)
        assert sorted(request.seed or 0 for request in llm.requests) == [41, 42]

    def test_unusable_samples_are_left_out_and_counted(self) -> None:
        """Two of four samples are usable, 4 and 5: 4.5."""
        llm = self.sampling('{"score": 4}', "no idea", '{"score": 5}', '{"score": 9}')
        _, (found,) = ask(GEval(draws=4, steps=("Score it.",)), llm)
        assert found.value == 4.5
        assert found.reason is not None
        assert found.reason.startswith("2 of 4 samples, 4: 1, 5: 1; 2 unusable, the first: ")

    def test_no_usable_sample_is_a_failure(self) -> None:
        llm = self.sampling("I'm sorry, but I can't.", "no idea")
        _, (found,) = ask(GEval(draws=2, steps=("Score it.",)), llm)
        assert (found.status, found.value) == ("refused", None)
        assert found.reason is not None
        assert found.reason.startswith("none of 2 samples is usable; the first: ")

    def test_an_error_of_one_sample_does_not_stop_the_others(self) -> None:
        llm = Scripted([{"reply": {"score": 4}, "times": 1}, {"error": "model", "times": 1}, {"reply": {"score": 4}}])
        with pytest.raises(Exception, match="a scripted failure"):
            ask(GEval(draws=4, steps=("Score it.",)), llm)
        assert llm.calls == 4


class TestSteps:
    def test_steps_are_written_once_for_all_documents(self) -> None:
        llm = Scripted(weighed)
        judge = GEval(aspect="fluency")
        one, _ = ask(judge, llm)
        two, _ = ask(judge, llm, item(SENTENCES, document=Document(id="d2", text="Something else.")))
        steps = [request for request in llm.requests if request.schema_name == "geval_steps"]
        assert len({request.key for request in steps}) == 1  # so that the cache serves both with one call
        assert one.calls == two.calls == (steps[0].key,)
        assert one.data == two.data == {"steps": ["Read the document.", "Give the score."]}
        assert "1. Read the document.\n2. Give the score." in llm.requests[-1].prompt

    def test_without_steps_there_is_no_rating(self) -> None:
        llm = Scripted([{"reply": "no idea"}])
        prepared, (found,) = ask(GEval(), llm)
        assert (prepared.status, found.status, found.value) == ("unparsed", "unparsed", None)
        assert found.reason is not None
        assert found.reason.startswith("evaluation steps: ")
        assert llm.calls == 1

    def test_given_steps_need_no_question(self) -> None:
        for judge in (
            GEval(scoring="single", steps="Read it; Give the score."),  # type: ignore[arg-type]
            GEval(scoring="single", aspect="completeness", steps="tuned"),
            GEval(scoring="single", aspect="tone", definition=AspectDef(
                name="tone", definition="its tone", lowest="bad", highest="good", steps=("Listen.",))),
        ):  # fmt: skip
            llm = Scripted(weighed)
            prepared, (found,) = ask(judge, llm)
            assert (prepared.data, found.value, llm.calls) == ({}, 4.0, 1)
            assert judge.fixed_steps is not None
            assert f"1. {judge.fixed_steps[0]}" in llm.requests[0].prompt

    def test_steps_are_signed(self) -> None:
        signed = {
            GEval(aspect="completeness", **more).sign({"judge": "p/m"})
            for more in ({}, {"steps": "tuned"}, {"steps": ("a",)}, {"steps": ("b",)}, {"key_facts": "given"})
        }
        assert len(signed) == 5

    @pytest.mark.parametrize(
        "text", ['{"steps": []}', '{"steps": [1]}', '{"steps": ["..."]}', '{"steps": "read"}', '{"a": 1, "b": 2}',
                 json.dumps({"steps": ["step"] * 11})],
    )  # fmt: skip
    def test_invalid_lists_of_steps(self, text: str) -> None:
        with pytest.raises(ReplyError):
            read_steps(text)


class TestKeyFacts:
    def test_key_facts_are_shown_if_set(self) -> None:
        llm = Scripted(weighed)
        prepared, _ = ask(GEval(aspect="completeness", steps="tuned", key_facts="given"), llm)
        assert prepared.data == {"key_facts": ["Ana sold a boat."], "origin": "given"}
        assert "(1) Ana sold a boat." in llm.requests[0].prompt
        ask(GEval(aspect="completeness", steps="tuned"), llm)
        assert "key facts" not in llm.requests[1].prompt.split("<<<summary")[0].split("Criterion")[0]


class TestSettings:
    def test_the_scoring_is_signed(self) -> None:
        assert build("geval[sample,draws=5]") == build("geval[draws=5]")
        signed = [build(name).sign({"judge": "p/m"}, None, {"t": 0.2}) for name in
                  ("geval", "geval[logprob]", "geval[sample]", "geval[draws=5]", "geval[single]")]  # fmt: skip
        assert signed[0] == signed[1]
        assert [one.partition("|prompt")[0].split("|")[2:] for one in signed[1:]] == [
            ["t:0.2", "aspect:coherence", "scoring:logprob"], ["t:1", "aspect:coherence", "scoring:sample", "draws:20"],
            ["t:1", "aspect:coherence", "scoring:sample", "draws:5"], ["t:0.2", "aspect:coherence", "scoring:single"],
        ]  # fmt: skip


class TestPlus:
    def test_each_sentence_gets_yes_or_no(self) -> None:
        llm = Scripted({"For each sentence": {"1": {"response": "Yes."}, "2": {"response": "no"}}})
        _, found = ask(GEvalPlusFaithfulness(), llm)
        assert [(one.label, one.value, one.target.index) for one in found] == [(1, 1.0, 0), (0, 0.0, 1)]
        (score,) = summary_scores(found, {})
        assert (score.value, score.n) == (0.5, 2)

    def test_the_published_form_is_read(self) -> None:
        reply = json.dumps([{"sentence": one, "response": "Yes"} for one in SENTENCES])
        found = GEvalPlusFaithfulness().read(reply, ITEM, "strict", "sig")
        assert [one.label for one in found] == [1, 1]
        bad = GEvalPlusFaithfulness().read('{"1": {"response": "maybe"}, "2": {"response": "no"}}', ITEM, "strict", "s")
        assert {one.status for one in bad} == {"unparsed"}

    def test_components_of_the_bundle(self) -> None:
        parts = [(type(part), part.active_aspects) for part in GEvalPlus(scoring="single").components()]
        assert parts == [
            (GEvalPlusFaithfulness, ("faithfulness",)), (GEvalPlusRating, ("completeness",)),
            (GEvalPlusRating, ("conciseness",)),
        ]  # fmt: skip
        assert GEvalPlus(aspect="conciseness", draws=3).components() == (
            GEvalPlusRating(aspect="conciseness", draws=3),
        )


@pytest.mark.parametrize("aspect", ["coherence", "faithfulness"])
def test_the_template_for_training_gives_the_prompt_of_the_judge(aspect: str) -> None:
    one = item(SENTENCES, document="Ana {sold} {0} her boat {{ and }} bought {eos} a mill.")
    template = prompt_template(RATED[aspect])
    codes = fence_codes(one.document.text, one.summary.text).values()
    judge = GEval(aspect=aspect, steps="tuned" if aspect == "faithfulness" else geval.STEPS)
    messages = judge.prompt(one, {}).messages
    rendered = template.format(one.document.text, one.summary.text, *codes)
    assert rendered == "\n\n".join(message.content for message in messages)
