"""Key facts: given, extracted from reference or document, and validated by several models (votes, ties, failures)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from evaluators.bad_replies import BAD, ODD, Case, Replies
from evaluators.judging import Judge, item, run
from together import together

from summeter.evaluators.base import Prepared
from summeter.evaluators.catalog import build
from summeter.evaluators.finesure.align import Align, FineSurE
from summeter.evaluators.finesure.key_facts import (
    KeyFactExtraction,
    merged,
    read_key_facts,
    read_votes,
    validator_roles,
)
from summeter.evaluators.replies import Texts
from summeter.models.base import Request
from summeter.models.prompts import LANGUAGES
from summeter.records import Item, KeyFacts, ModelError, ReplyError, fault_of

FACTS = ["Ana sold a boat.", "Ana bought a mill.", "It was May."]
BARE = item(key_facts=())


def prepared_facts(reply: Any, one: Item = BARE, **settings: Any) -> tuple[Prepared, Judge]:
    judge = Judge(json.dumps(reply))
    prepared, judgments = run(KeyFactExtraction(**settings), one, judge)
    assert judgments == []
    return prepared, judge


def test_given_key_facts_are_used_without_a_call() -> None:
    prepared, judge = prepared_facts({}, item(key_facts=("A.", "A.", " b ")), validators=1)
    assert prepared.data == {"key_facts": ["A.", "A.", " b "], "origin": "given"}
    assert not judge.asked


def test_from_the_reference_then_from_the_document() -> None:
    one = item(key_facts=(), references=(" ", "Ana sold the REFERENCE boat."))
    prepared, judge = prepared_facts({"key_facts": ["Ana sold a boat.", "ana  sold a boat", "It burnt down."]}, one)
    facts = {"key_facts": ["Ana sold a boat.", "It burnt down."], "origin": "reference", "repeated": 1, "cut": 0}
    assert prepared.data == facts
    assert "REFERENCE" in judge.asked[0].prompt
    assert "at most 16" in judge.asked[0].prompt
    assert prepared.calls == (judge.asked[0].key,)
    prepared, judge = prepared_facts({"key facts": ["x1"]})
    assert prepared.data["origin"] == "document"
    assert "at most 20" in judge.asked[0].prompt


def test_lists_are_cut_at_the_limit() -> None:
    reply = {"key_facts": [f"fact {number}" for number in range(25)]}
    prepared, _ = prepared_facts(reply, item(), source="document")
    assert (len(prepared.data["key_facts"]), prepared.data["cut"]) == (20, 5)
    prepared, _ = prepared_facts(reply, item(), source="document", at_most=3)
    assert prepared.data["key_facts"] == ["fact 0", "fact 1", "fact 2"]


@pytest.mark.parametrize("source", ["reference", "document"])
@pytest.mark.parametrize("language", [None, *LANGUAGES])
def test_key_facts_by_importance(source: str, language: str | None) -> None:
    one = item(references=["Ana sold a boat."], key_facts=())
    first, second = (
        prepared_facts({"key_facts": ["A."]}, one, source=source, prompts=language, **order)[1].asked[0].prompt
        for order in ({}, {"order": "importance"})
    )
    assert first != second
    if language is None:
        assert "the most important first" in second


def test_too_many_key_facts_are_cut_from_each_window_alike() -> None:
    found = [Texts(("A1.", "A2.", "A3."), 0), Texts(("B1.", "a1", "B2."), 1), Texts(("C1.",), 0)]
    # The first facts of A, B and C, then the second of A (B's second repeats A1).
    assert merged(found, 4) == {"key_facts": ["A1.", "A2.", "B1.", "C1."], "repeated": 2, "cut": 2}
    assert merged(found, 4, ranked=True)["key_facts"] == ["A1.", "B1.", "C1.", "A2."]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"key_facts": []}', "expected a list of key facts"),
        ('{"key_facts": ["a", ""]}', "key fact 2 is '', not a statement"),
        ('{"key_facts": ["..."]}', "key fact 1 is '...', not a statement"),
        ('{"key_facts": ["a", null]}', "key fact 2 is None"),
        ('{"key_facts": [["a"]]}', "key fact 1 is "),
        ('{"key_facts": "a"}', "expected a list of key facts"),
        ('["a"]', "does not have the requested form"),
    ],
)
def test_invalid_lists_of_key_facts(text: str, says: str) -> None:
    assert read_key_facts('{"note": ["x"], "key_facts": ["a]", "b"]}').texts == ("a]", "b")
    with pytest.raises(ReplyError, match=says):
        read_key_facts(text)


# --- validation ---


def votes(*useful: str) -> str:
    """Return a reply with one vote per fact."""
    said = {"y": "yes", "n": "no"}
    rows = {str(at): {"reason": f"Because {one}.", "useful": said[one]} for at, one in enumerate(useful, 1)}
    return json.dumps(rows)


def absent(_: Request) -> str:
    raise ModelError("test/judge: no answer")


def models(*replies: str, facts: Sequence[str] = FACTS) -> dict[str, Judge]:
    """Return a judge that proposes `facts`, and one validator per reply."""
    roles = zip(validator_roles(len(replies)), replies, strict=True)
    return {"judge": Judge(json.dumps({"key_facts": facts})), **{role: Judge(reply) for role, reply in roles}}


def validated(llms: Mapping[str, Judge], one: Item = BARE, **settings: Any) -> Prepared:
    return run(KeyFactExtraction(validators=len(llms) - 1), one, llms, **settings)[0]


def test_validation_by_majority() -> None:
    # Against: fact 1 none, fact 2 two of three, fact 3 one of three.
    llms = models(votes("y", "n", "y"), votes("y", "n", "n"), votes("y", "y", "y"))
    found = validated(llms)
    assert found.status == "ok"
    assert found.data["key_facts"] == ["Ana sold a boat.", "It was May."]
    assert (found.data["proposed"], found.data["rejected"]) == (FACTS, [1])
    rows = found.data["validation"]
    assert [(row["role"], row["model"], row["status"], row["reason"]) for row in rows] == [
        (role, "test/judge", "ok", None) for role in ("validator", "validator2", "validator3")
    ]
    assert rows[0]["votes"][1] == {"useful": False, "reason": "Because n."}
    assert len(found.calls) == 4
    facts = KeyFacts.of(found.data["key_facts"], found.data["origin"])
    assert facts.id == KeyFacts.of(["Ana sold a boat.", "It was May."], "document").id
    # Two roles with one model give two samples; one reply does not vote twice.
    first, second = llms["validator"].asked[0], llms["validator2"].asked[0]
    assert first.messages == second.messages
    assert (first.draw, second.draw) == (0, 1)
    text = first.messages[1].content
    assert text.index("It burnt down.") < text.index("(1) Ana sold a boat.")


@pytest.mark.parametrize(
    ("replies", "rejected"),
    [
        ([votes("n", "y", "y")], [0]),  # 1 of 1
        ([votes("n", "n", "y"), votes("y", "n", "y")], [1]),  # 1 of 2 is a tie, which keeps the fact; 2 of 2
        ([votes("n", "n", "n"), votes("n", "n", "y"), votes("y", "n", "y"), votes("y", "y", "y")], [1]),  # 2, 3, 1 of 4
        # One of three validators fails: 1 of 2 usable votes is a tie.
        ([votes("n", "n", "y"), "no idea", votes("y", "n", "y")], [1]),
        # Two fail: only the third votes.
        (["", votes("y", "y", "n"), "I'm sorry, I can't."], [2]),
    ],
)
def test_ties_and_failed_votes(replies: list[str], rejected: list[int]) -> None:
    found = validated(models(*replies))
    assert (found.status, found.data["rejected"]) == ("ok", rejected)
    assert found.data["key_facts"] == [fact for place, fact in enumerate(FACTS) if place not in rejected]
    failed = [row for row in found.data["validation"] if row["votes"] is None]
    assert all(row["status"] in {"unparsed", "refused"} and row["reason"] for row in failed)


@pytest.mark.parametrize(
    ("replies", "status"),
    [
        (["no idea", "I'm sorry, I can't."], "unparsed"),
        (["I'm sorry, I can't.", "I cannot help with that."], "refused"),
        ([votes("n", "n", "n")], "skipped"),
    ],
)
def test_without_an_accepted_fact_there_is_no_list(replies: list[str], status: str) -> None:
    found = validated(models(*replies))
    assert found.status == status
    assert "key_facts" not in found.data
    assert found.data["proposed"] == FACTS
    assert len(found.calls) == 1 + len(replies)
    assert status != "unparsed" or fault_of(found.reason) == "no_json"


def test_a_model_error_ends_the_validation_after_all_votes() -> None:
    llms = models(votes("y", "y", "y"), votes("y", "y", "y")) | {"validator": Judge(absent)}
    with pytest.raises(ModelError):
        validated(llms)
    assert [len(llm.asked) for llm in llms.values()] == [1, 1, 1]


def test_validators_see_passages_of_a_long_document() -> None:
    filler = " ".join(f"Filler sentence {place} is about nothing." for place in range(900))
    one = item(key_facts=(), document=f"{filler} Ana sold her boat. " + "And more of it follows. " * 300)
    llms = models(votes("y", "y", "y"))
    llms["judge"] = Judge(lambda _: json.dumps({"key_facts": FACTS}))
    found = validated(llms, one, context=3000)
    (row,) = found.data["validation"]
    assert row["truncated_tokens"] > 1000
    short = llms["validator"].asked[0].prompt
    assert len(short) < 3000 * 4
    assert "Ana sold her boat." in short


def test_facts_of_the_reference_are_checked_against_the_document() -> None:
    llms = models(votes("y", "n", "y"))
    found = validated(llms, item(key_facts=(), references=("REFERENCE text.",)))
    assert (found.data["origin"], found.data["rejected"]) == ("reference", [1])
    assert "REFERENCE" not in llms["validator"].asked[0].prompt
    blank = validated(llms, item(key_facts=(), document=" ", references=("R.",)))
    assert (blank.status, len(llms["validator"].asked)) == ("skipped", 1)


def test_roles_and_signature() -> None:
    assert KeyFactExtraction().required_roles == ("judge",)
    assert FineSurE(validators=1).required_roles == ("judge", "validator")
    assert build("finesure[validators=2]").required_roles == ("judge", "validator", "validator2")
    bound = {"judge": "p/j", "validator": "p/v", "validator2": "p/w"}
    assert "validator" not in Align().sign(bound)
    assert "|validator:p/v|validator2:p/w|" in Align(validators=2).sign(bound)
    assert Align(validators=2).signature_fields()["prompt"] != Align().signature_fields()["prompt"]


GOOD = json.loads(votes("y", "y"))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"1": {"reason": "x", "useful": "yes"}}, "no entry for key fact 2"),
        ({**GOOD, "3": {"useful": "no"}}, "an entry for key fact 3"),
        ({**GOOD, "2": {"reason": "x"}}, "no field named useful"),
        ({**GOOD, "2": {"useful": "partly"}}, "'partly' is neither yes nor no"),
        ({**GOOD, "2": {"useful": "yes", "response": "no"}}, "more than one field"),
        ([{"statement_id": 1, "response": "Yes"}, {"statement_id": 1, "response": "No"}], "two entries for key fact 1"),
        ({**GOOD, "2": "yes"}, "the entry is 'yes', not an object"),
        ({**GOOD, "2": {"useful": "no", "reason": 1}}, "the reason is 1, not a string"),
    ],
)
def test_invalid_votes(value: Any, says: str) -> None:
    with pytest.raises(ReplyError, match=says):
        read_votes(json.dumps(value), 2)


PROMPT = "\n\n".join(m.content for m in KeyFactExtraction().validation_prompt(BARE.document.text, FACTS).messages)
REPLIES = Replies(votes("y", "n", "y"), votes("y", "y", "y"), PROMPT)


@together("case", [*BAD, *ODD])
def test_bad_and_odd_replies_of_validators(case: Case) -> None:
    found = validated(models(case.build(REPLIES)))
    assert found.status == case.status
    if case in ODD:
        assert found.data["rejected"] == [1]
    else:
        assert found.data["validation"][0]["votes"] is None
        assert "key_facts" not in found.data
