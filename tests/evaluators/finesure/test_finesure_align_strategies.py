"""The prompt strategies of the alignment: what each asks for, what its replies are read as, and its success ratio."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from evaluators.finesure.finesure_items import Judge, item, run

from summeter.evaluators.catalog import build
from summeter.evaluators.finesure.align import Align
from summeter.evaluators.finesure.fact_check import WANTED, Strategy
from summeter.records import Judgment
from summeter.scoring import reply_counts

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
FIELDS: dict[Strategy, list[str]] = {
    "basic": ["present", "lines"],
    "instruction": ["present", "lines"],
    "categorization": ["category", "lines"],
    "reasoning": ["reason", "category", "lines"],
    "evidence": ["quote", "reason", "category", "lines"],
}
# Key fact 1 is in sentences 1 and 3, key fact 2 in none.
FIRST = {
    "present": "yes",
    "category": "conveyed",
    "reason": "It says so.",
    "quote": "ana sold  the boat",
    "lines": [1, 3],
}
SECOND = {"present": "no", "category": "partly conveyed", "reason": "No mill.", "quote": "", "lines": [2]}


def reply(strategy: Strategy, **changed: Any) -> dict[str, Any]:
    first, second = ({name: one[name] for name in FIELDS[strategy]} for one in (FIRST, SECOND))
    return {"1": {**first, **changed}, "2": second}


def judged(strategy: Strategy, answer: Any) -> list[Judgment]:
    return run(Align(strategy=strategy), item(), Judge(lambda _: json.dumps(answer)))[1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_alignment(strategy: Strategy) -> None:
    judgments = judged(strategy, reply(strategy))
    assert [one.label for one in judgments] == [1, 0, 1, 0, 1]
    wanted = WANTED[strategy]
    first = "It says so." if wanted.reason else None
    second = " ".join(["No mill."] * wanted.reason + ["[partly conveyed]"] * wanted.category) or None
    assert [one.reason for one in judgments[:2]] == [first, second]
    quoted = [span.cut(item().summary.text) for span in judgments[0].evidence]
    assert quoted == (["Ana sold the boat"] if wanted.quote else ["Ana sold the boat.", "It burnt down."])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_prompt_and_schema_ask_for_what_the_strategy_wants_and_no_more(strategy: Strategy) -> None:
    judge = Judge(lambda _: json.dumps(reply(strategy)))
    run(Align(strategy=strategy), item(), judge)
    (request,) = judge.asked
    assert request.schema_ is not None
    assert list(request.schema_["$defs"]["match"]["properties"]) == FIELDS[strategy]
    text = request.messages[1].content
    for name in ("present", "category", "reason", "quote"):
        assert (f'"{name}"' in text) is (name in FIELDS[strategy])
    assert text.endswith("The lines of the summary run from 1 to 3.")


def test_the_default_is_signed_as_before_and_every_other_by_its_name() -> None:
    assert "strategy" not in Align().sign({})
    signed = {strategy: build(f"finesure.align[strategy={strategy}]").sign({}) for strategy in STRATEGIES}
    assert len(set(signed.values())) == 5
    assert signed["instruction"] == Align().sign({})
    assert "|strategy:evidence|" in signed["evidence"]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {"category": "maybe"},
            "key fact 1: 'maybe' is none of the categories: conveyed, partly conveyed, not conveyed",
        ),
        ({"lines": []}, "key fact 1: it is said to be present, but in no line"),
        ({"quote": 3}, "key fact 1: the quote is 3, not a text"),
    ],
)
def test_what_does_not_fit_is_no_alignment(changed: dict[str, Any], says: str) -> None:
    failed = judged("evidence", reply("evidence", **changed))
    assert {one.status for one in failed} == {"unparsed"}
    assert {one.reason for one in failed} == {f"meaningless: {says}"}


def test_a_quote_that_is_not_there_is_said_to_be_so() -> None:
    first = judged("evidence", reply("evidence", quote="a castle in the air"))[0]
    assert first.reason == "It says so. [not in the summary: 'a castle in the air']"
    assert [span.cut(item().summary.text) for span in first.evidence] == ["Ana sold the boat.", "It burnt down."]


def test_the_success_ratio_of_each_strategy_is_counted() -> None:
    replies = [reply("basic"), reply("categorization"), "no idea"]
    rows = []
    for strategy in ("basic", "categorization"):
        for call, answer in enumerate(replies):
            read = Align(strategy=strategy).read(json.dumps(answer), item(), "strict", f"finesure.align|{strategy}")
            for one in read:
                target = one.target.model_copy(update={"document_id": f"d{call}"})
                rows.append(one.model_copy(update={"calls": (f"{strategy} {call}",), "target": target}))
    found = {one.signature: (one.usable, one.replies) for one in reply_counts(rows)}
    assert found == {"finesure.align|basic": (1, 3), "finesure.align|categorization": (1, 3)}
