"""The prompt strategies of FineSurE 3.3: what each asks for, what its replies are read as; evidence quotes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, get_args

import pytest
from evaluators.finesure.finesure_items import Judge, item, run

from summeter.evaluators.catalog import build
from summeter.evaluators.finesure.fact_check import QUOTE, WANTED, FactCheck, Strategy
from summeter.records import UsageError, fault_of

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
SOURCE = "Ana sold her boat and bought a mill. It burnt down — “all of it”, she said."

# One good reply each. By hand: sentences 1 and 3 right, 2 wrong.
REPLIES: dict[Strategy, dict[str, Any]] = {
    "basic": {"1": {"supported": "yes"}, "2": {"supported": "No."}, "3": {"supported": True}},
    "instruction": {"1": {"supported": "Yes"}, "2": {"supported": "no"}, "3": "yes"},
    "categorization": {"1": {"category": "no error"}, "2": {"category": "CircE"}, "3": "no error"},
    "reasoning": {
        "1": {"reason": "It says so.", "category": "no error"},
        "2": {"reason": "No month is given.", "category": "circumstantial error"},
        "3": {"reason": "It says so.", "category": "no error"},
    },
    "evidence": {
        "1": {"quote": "Ana sold her boat", "reason": "It says so.", "category": "no error"},
        "2": {"quote": "", "reason": "No month is given.", "category": "circumstantial error"},
        "3": {"quote": 'it burnt down - "all of it"', "reason": "It says so.", "category": "no error"},
    },
}


def judged(strategy: Strategy, reply: Any) -> list[Any]:
    return run(FactCheck(strategy=strategy), item(document=SOURCE), Judge(lambda request: json.dumps(reply)))[1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_three_verdicts(strategy: Strategy) -> None:
    judgments = judged(strategy, REPLIES[strategy])
    assert [(one.label, one.value) for one in judgments] == [(1, 1.0), (0, 0.0), (1, 1.0)]
    wanted = WANTED[strategy]
    kinds = ["no error", "circumstantial error", "no error"] if wanted.category else [None] * 3
    assert [one.error_type for one in judgments] == kinds
    reasons = ["It says so.", "No month is given.", "It says so."] if wanted.reason else [None] * 3
    assert [one.reason for one in judgments] == reasons
    assert bool(judgments[0].evidence) is wanted.quote


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_schema_and_prompt_ask_for_what_the_strategy_wants_and_no_more(strategy: Strategy) -> None:
    check = FactCheck(strategy=strategy)
    fields = {
        "basic": ["supported"], "instruction": ["supported"], "categorization": ["category"],
        "reasoning": ["reason", "category"], "evidence": ["quote", "reason", "category"],
    }[strategy]  # fmt: skip
    verdict = check.form(item()).schema["$defs"]["verdict"]
    assert list(verdict["properties"]) == verdict["required"] == fields
    text = check.prompt(item()).messages[1].content
    shown = '{"1": {' + ", ".join(f'"{name}": ' for name in fields).split(":", maxsplit=1)[0]
    assert shown in text
    for name in ("supported", "category", "reason", "quote"):
        assert (f'"{name}": ' in text) is (name in fields)
    # Only the basic prompt goes without steps.
    assert ("one after the other" in text) is (strategy != "basic")
    assert ("nine categories" in text) is ("category" in fields)


def test_each_strategy_asks_for_all_that_the_one_before_does() -> None:
    ladder = [WANTED[strategy] for strategy in STRATEGIES]
    for sooner, later in pairwise(ladder):
        assert all(more >= less for less, more in zip(sooner, later, strict=True))
    assert [sum(wanted) for wanted in ladder] == [0, 1, 2, 3, 4]


def test_the_default_is_what_finesure_ships_and_others_are_signed() -> None:
    assert "strategy" not in FactCheck().sign({})
    signed = {FactCheck(strategy=strategy).sign({}) for strategy in STRATEGIES}
    assert len(signed) == 5
    assert build("finesure.fact_check[strategy=basic]").sign({}) in signed


@pytest.mark.parametrize("name", ["finesure", "finesure.fact_check"])
def test_a_taxonomy_without_categories_is_an_error(name: str) -> None:
    with pytest.raises(
        UsageError, match="asks for yes or no and for no category, so taxonomy=unisumeval has no effect"
    ):
        build(f"{name}[strategy=basic,taxonomy=unisumeval]")
    assert build(f"{name}[strategy=evidence,taxonomy=unisumeval]")


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ({"supported": "mostly"}, "sentence 1: 'mostly' is neither yes nor no"),
        ({"supported": None}, "sentence 1: None is neither yes nor no"),
        ({"supported": 1}, "sentence 1: 1 is neither yes nor no"),
        ({"category": "no error"}, "sentence 1: it has no field named supported"),
        ("no error", "sentence 1: 'no error' is neither yes nor no"),
        (True, "sentence 1: the entry is True, not an object"),
    ],
)
def test_what_is_no_yes_and_no_no(first: Any, says: str) -> None:
    failed = judged("basic", {**REPLIES["basic"], "1": first})
    assert [one.status for one in failed] == ["unparsed"] * 3
    assert failed[0].reason == f"meaningless: {says}"


def test_two_binary_answers_that_differ_are_refused() -> None:
    yes = {**REPLIES["basic"], "2": {"supported": "yes"}}
    _, found = run(FactCheck(strategy="basic"), item(), Judge(lambda _: f"{json.dumps(yes)} {REPLIES['basic']}"))
    assert {fault_of(one.reason) for one in found} == {"ambiguous"}


# --- evidence ---


def test_quotes_point_into_the_document() -> None:
    found = judged("evidence", REPLIES["evidence"])
    # Sentence 3 is quoted with other quotation marks, another dash, in lower case: it is found all the same.
    assert [[span.cut(SOURCE) for span in one.evidence] for one in found] == [
        ["Ana sold her boat"], [], ["It burnt down — “all of it”"],
    ]  # fmt: skip
    assert {span.of for one in found for span in one.evidence} == {"document"}


def test_a_quote_that_is_not_there_is_no_evidence_and_said_to_be_so() -> None:
    made_up = {"quote": "The mill was insured for a million.", "reason": "It says so.", "category": "no error"}
    first = judged("evidence", {**REPLIES["evidence"], "1": made_up})[0]
    assert (first.status, first.label, first.evidence) == ("ok", 1, ())
    assert first.reason == "It says so. [not in the document: 'The mill was insured for a million.']"


@pytest.mark.parametrize("quote", ["", "  ", None, [], [None], ["", " "]])
def test_no_quote_is_noted_where_the_sentence_is_said_to_be_supported(quote: Any) -> None:
    found = judged("evidence", {key: {**entry, "quote": quote} for key, entry in REPLIES["evidence"].items()})
    assert [one.reason for one in found] == [
        "It says so. [no quote given]", "No month is given.", "It says so. [no quote given]",
    ]  # fmt: skip
    assert {one.evidence for one in found} == {()}


def test_several_quotes_and_one_twice() -> None:
    quotes = ["Ana sold her boat", "bought a mill", "Ana sold her boat", "a castle in the air"]
    first = judged("evidence", {**REPLIES["evidence"], "1": {**REPLIES["evidence"]["1"], "quote": quotes}})[0]
    assert [span.cut(SOURCE) for span in first.evidence] == ["Ana sold her boat", "bought a mill"]
    assert first.reason == "It says so. [not in the document: 'a castle in the air']"


@pytest.mark.parametrize("quote", [3, 0, False, {}, [1], ["x", {}]])
def test_a_quote_that_is_no_text_is_a_fault(quote: Any) -> None:
    found = judged("evidence", {**REPLIES["evidence"], "2": {**REPLIES["evidence"]["2"], "quote": quote}})
    assert {one.status for one in found} == {"unparsed"}
    assert "sentence 2: the quote is" in str(found[0].reason)


def test_stored_replies_have_their_evidence_too() -> None:
    one = item(document=SOURCE)
    read = FactCheck(strategy="evidence").read(json.dumps(REPLIES["evidence"]), one, "strict", "sig")
    assert [judgment.evidence for judgment in read] == [one.evidence for one in judged("evidence", REPLIES["evidence"])]


def test_without_the_strategy_a_quote_is_not_looked_at() -> None:
    found = judged("reasoning", REPLIES["evidence"])
    assert {one.evidence for one in found} == {()}
    assert found[0].reason == "It says so."


def test_texts_are_bounded_where_a_server_can_bound_them() -> None:
    properties = FactCheck(strategy="evidence").form(item()).schema["$defs"]["verdict"]["properties"]
    assert (properties["quote"]["maxLength"], properties["reason"]["maxLength"]) == (QUOTE, 300)
