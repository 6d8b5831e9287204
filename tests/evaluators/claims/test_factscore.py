"""factscore: claims checked in batches and windows, and failed calls."""

from __future__ import annotations

import json
from math import exp
from typing import Any

import pytest
from evaluators.judging import run
from evaluators.long_items import Reader, document, item

from summeter.evaluators.claims.factscore import FactScore
from summeter.models.base import Completion, Request
from summeter.models.providers.scripted import Scripted
from summeter.records import Document, Judgment
from summeter.scoring import summary_scores

SOURCE = Document(id="d", text="Ada sold the mill in May. The mill burnt down. Nobody was hurt.")
ITEM = item(SOURCE, "Ada sold the mill in May.", "Everybody was hurt.", "The mill burnt down.")


def judge(evaluator: FactScore, llm: Any, one: Any = ITEM, **settings: Any) -> list[Judgment]:
    return run(evaluator, one, llm, **settings)[1]


def test_every_claim_is_judged_with_its_text_place_and_evidence() -> None:
    found = judge(FactScore(), Reader())
    assert [(one.label, one.value, one.status) for one in found] == [(1, 1.0, "ok"), (0, 0.0, "ok"), (1, 1.0, "ok")]
    assert [one.target.unit for one in found] == ["claim"] * 3
    assert len({one.target.list_id for one in found}) == 1
    first = found[0]
    assert first.claim is not None
    assert first.claim.text == "Ada sold the mill in May"
    assert first.claim.span == ITEM.summary.sentences[0]
    assert [span.cut(SOURCE.text) for span in first.evidence] == ["Ada sold the mill in May"]
    assert Judgment.model_validate_json(first.line) == first
    # Two claims of three are supported.
    (score,) = summary_scores(found, {"factscore": FactScore.reduce})
    assert (score.aspect, score.value, score.n) == ("faithfulness", pytest.approx(2 / 3), 3)


@pytest.mark.parametrize(("batch", "questions"), [(1, 3), (2, 2), (10, 1)])
def test_claims_share_questions_by_the_batch(batch: int, questions: int) -> None:
    reader = Reader()
    found = judge(FactScore(batch=batch), reader)
    assert [one.label for one in found] == [1, 0, 1]
    assert len(reader.prompts) == 1 + questions


def test_length_penalty() -> None:
    found = judge(FactScore(gamma=10), Reader())
    # FActScore's penalty for 3 claims, with gamma 10: exp(1 - 10/3) = .0970; two of three are supported: .0647.
    (score,) = summary_scores(found, {"factscore": "mean"})
    assert score.value == pytest.approx(exp(1 - 10 / 3) * 2 / 3)
    assert [one.label for one in found] == [1, 0, 1]
    assert FactScore(gamma=3).penalty(3) == 1.0


def spoilt(request: Request) -> str:
    """Extract the claims, fail on the window that contains "Zurich", and support nothing elsewhere."""
    if request.schema_name == "claims":
        return json.dumps({"claims": ["It was in Bern."]})
    if "Zurich" in request.prompt:
        return "Everything is fine."
    return json.dumps({"1": {"quote": "", "reason": "not there", "supported": "no"}})


def test_an_unusable_window_leaves_the_claim_undecided() -> None:
    source = document(4000, last="That was in Zurich.")
    (found,) = judge(FactScore(), Scripted(spoilt), item(source, "It was in Bern."), context=2000)
    assert (found.status, found.label, found.value) == ("unparsed", None, None)
    assert found.reason is not None
    assert found.reason.startswith("window 4 of 4: ")
    assert found.claim is not None


def test_the_window_with_a_quote_decides() -> None:
    def answer(request: Request) -> str:
        if request.schema_name == "claims":
            return json.dumps({"claims": ["It was in Bern."]})
        quote = "That was in Zurich." if "Zurich" in request.prompt else ""
        return json.dumps({"1": {"quote": quote, "reason": quote or "nothing", "supported": "no"}})

    source = document(4000, last="That was in Zurich.")
    (found,) = judge(FactScore(), Scripted(answer), item(source, "It was in Bern."), context=2000)
    assert (found.label, found.reason) == (0, "That was in Zurich.")
    assert [span.cut(source.text) for span in found.evidence] == ["That was in Zurich."]


def test_failed_extraction_is_one_failed_judgment() -> None:
    found = judge(FactScore(), Scripted(lambda _: Completion(text="", refusal="no")))
    assert [(one.status, one.target.unit) for one in found] == [("refused", "summary")]
