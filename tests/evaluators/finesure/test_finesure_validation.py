"""Key facts validated by several models: votes, majority, ties, failures of one and of all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from evaluators.bad_replies import BAD, ODD, Case, Replies
from evaluators.finesure.finesure_items import Judge, item
from evaluators.judging import judgments_of

from summeter.evaluators.base import Evaluator, Prepared, Tools
from summeter.evaluators.catalog import build
from summeter.evaluators.finesure.align import Align, FineSurE
from summeter.evaluators.finesure.key_facts import KeyFactExtraction, read_votes, validator_roles
from summeter.models.structured import BoundLLM, Settings
from summeter.records import Item, Judgment, KeyFacts, ModelError, ReplyError, fault_of

FACTS = ["Ana sold a boat.", "Ana bought a mill.", "It was May."]
BARE = item(key_facts=())


def votes(*useful: str) -> str:
    """A reply with one vote a fact."""
    said = {"y": "yes", "n": "no"}
    return json.dumps({
        str(number): {"reason": f"Because {one}.", "useful": said[one]} for number, one in enumerate(useful, 1)
    })  # fmt: skip


class Broken(Judge):
    """A model that is not there."""

    async def complete(self, request: Any) -> Any:
        self.asked.append(request)
        raise ModelError("test/judge: no answer")


def models(*replies: str, facts: Sequence[str] = FACTS) -> dict[str, Judge]:
    """A judge that proposes `facts`, and one validator a reply."""
    made = {"judge": Judge(lambda _: json.dumps({"key_facts": facts}))}
    for role, reply in zip(validator_roles(len(replies)), replies, strict=True):
        made[role] = Judge(lambda _, reply=reply: reply)  # type: ignore[misc]
    return made


def prepare(evaluator: Evaluator, llms: Mapping[str, Judge], one: Item = BARE) -> Prepared:
    tools = Tools("sig", {role: BoundLLM(llm, Settings(repair=False)) for role, llm in llms.items()})
    return asyncio.run(evaluator.prepare(one.document, tools))


def validated(*replies: str, one: Item = BARE) -> Prepared:
    return prepare(KeyFactExtraction(validators=len(replies)), models(*replies), one)


def test_the_majority_decides_and_everything_is_kept() -> None:
    # Against: fact 1 none, fact 2 two of three, fact 3 one of three.
    found = validated(votes("y", "n", "y"), votes("y", "n", "n"), votes("y", "y", "y"))
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
    assert json.loads(found.model_dump_json())["data"]["rejected"] == [1]


@pytest.mark.parametrize(
    ("replies", "rejected"),
    [
        ([votes("n", "y", "y")], [0]),  # 1 of 1
        ([votes("n", "n", "y"), votes("y", "n", "y")], [1]),  # 1 of 2 is a tie and keeps; 2 of 2
        ([votes("n", "n", "n"), votes("n", "n", "y"), votes("y", "n", "y"), votes("y", "y", "y")], [1]),  # 2, 3, 1 of 4
        # Of three validators one fails: 1 of 2 usable votes is a tie.
        ([votes("n", "n", "y"), "no idea", votes("y", "n", "y")], [1]),
        # Two fail: the third's vote is all there is.
        (["", votes("y", "y", "n"), "I'm sorry, I can't."], [2]),
    ],
)
def test_a_tie_keeps_and_failed_votes_do_not_count(replies: list[str], rejected: list[int]) -> None:
    found = validated(*replies)
    assert found.status == "ok"
    assert found.data["rejected"] == rejected
    assert found.data["key_facts"] == [fact for place, fact in enumerate(FACTS) if place not in rejected]


def test_the_failure_of_one_validator_is_stored_with_its_class() -> None:
    rows = validated(votes("y", "y", "y"), votes("y", "y"), "I'm sorry, I can't.").data["validation"]
    assert [(row["status"], row["votes"] is None) for row in rows] == [
        ("ok", False),
        ("unparsed", True),
        ("refused", True),
    ]
    assert rows[1]["reason"] == "wrong count: no entry for key fact 3"
    assert rows[2]["reason"].startswith("the model refused")


def test_a_list_nobody_could_check_is_not_accepted() -> None:
    found = validated("no idea", "I'm sorry, I can't.")
    assert found.status == "unparsed"
    assert str(found.reason).startswith(
        "validation of key facts, without one usable reply: validator: no JSON: there is no JSON in the reply"
    )
    assert fault_of(found.reason) == "no_json"
    assert "key_facts" not in found.data
    assert found.data["proposed"] == FACTS
    assert len(found.calls) == 3
    assert validated("I'm sorry, I can't.", "I cannot help with that.").status == "refused"


def test_without_an_accepted_list_alignment_has_no_number() -> None:
    tools = Tools("sig", {role: BoundLLM(llm, Settings(repair=False)) for role, llm in models("?", "?").items()})
    align = Align(validators=2)

    async def both() -> list[Judgment]:
        return await judgments_of(align, BARE, await align.prepare(BARE.document, tools), tools)

    found = asyncio.run(both())
    assert [(one.aspect, one.status, one.value) for one in found] == [
        ("completeness", "unparsed", None), *[("conciseness", "unparsed", None)] * 3,
    ]  # fmt: skip


def test_all_facts_rejected_is_no_list_either() -> None:
    found = validated(votes("n", "n", "n"))
    assert (found.status, found.reason) == ("skipped", "the validators rejected all 3 key facts from the document")
    assert "key_facts" not in found.data
    assert found.data["rejected"] == [0, 1, 2]


def test_a_model_that_is_not_there_is_no_vote_and_no_failure_of_parsing() -> None:
    """The error passes through, as everywhere: the run tries the document again. The others were asked all the same."""
    llms = models(votes("y", "y", "y"), votes("y", "y", "y")) | {"validator": Broken(lambda _: "")}
    with pytest.raises(ModelError):
        prepare(KeyFactExtraction(validators=2), llms)
    assert [len(llm.asked) for llm in llms.values()] == [1, 1, 1]


def test_each_validator_is_asked_once_about_the_whole_list_with_the_document_first() -> None:
    llms = models(votes("y", "y", "y"), votes("y", "y", "y"))
    prepare(KeyFactExtraction(validators=2), llms)
    first, second = llms["validator"].asked[0], llms["validator2"].asked[0]
    assert first.messages == second.messages
    # Both roles have one model here: two samples, not one reply that votes twice.
    assert (first.draw, second.draw) == (0, 1)
    assert first.key != second.key
    text = first.messages[1].content
    assert text.startswith("<<<document ")
    assert text.index("It burnt down.") < text.index("(1) Ana sold a boat.")
    assert text.endswith('There are 3 key facts. The keys of your answer: "1" to "3", every one of them once.')
    assert first.schema_ is not None
    assert list(first.schema_["$defs"]["vote"]["properties"]) == ["reason", "useful"]
    assert (
        'The keys of your answer: "1".'
        in KeyFactExtraction().validation_prompt(BARE.document.text, ["One."]).messages[1].content
    )


def test_a_document_too_long_for_a_validator_is_shown_in_passages_near_the_facts() -> None:
    one = item(key_facts=(), document=" ".join(f"Filler sentence {place} is about nothing." for place in range(900))
               + " Ana sold her boat. " + "And more of it follows. " * 300)  # fmt: skip
    llms = models(votes("y", "y", "y"), votes("y", "y", "y"))
    settings = {"validator2": Settings(repair=False, context=3000)}
    tools = Tools(
        "sig", {role: BoundLLM(llm, settings.get(role, Settings(repair=False))) for role, llm in llms.items()}
    )
    found = asyncio.run(KeyFactExtraction(validators=2).prepare(one.document, tools))
    rows = found.data["validation"]
    assert "truncated_tokens" not in rows[0]
    assert rows[1]["truncated_tokens"] > 1000
    assert one.document.text in llms["validator"].asked[0].prompt
    short = llms["validator2"].asked[0].prompt
    assert len(short) < 3000 * 4
    assert "Ana sold her boat." in short


def test_given_key_facts_are_not_put_to_the_vote() -> None:
    llms = models(votes("n", "n"))
    found = prepare(KeyFactExtraction(validators=1), llms, item())
    assert found.data == {"key_facts": ["Ana sold a boat.", "Ana bought a mill."], "origin": "given"}
    assert not any(llm.asked for llm in llms.values())


def test_facts_of_the_reference_are_checked_against_the_document() -> None:
    one = item(key_facts=(), references=("REFERENCE text.",))
    llms = models(votes("y", "n", "y"))
    found = prepare(KeyFactExtraction(validators=1), llms, one)
    assert (found.data["origin"], found.data["rejected"]) == ("reference", [1])
    assert "REFERENCE" not in llms["validator"].asked[0].prompt
    assert "It burnt down." in llms["validator"].asked[0].prompt
    blank = prepare(KeyFactExtraction(validators=1), llms, item(key_facts=(), document=" ", references=("R.",)))
    assert (blank.status, len(llms["validator"].asked)) == ("skipped", 1)


def test_roles_and_signature() -> None:
    assert KeyFactExtraction().required_roles == ("judge",)
    assert Align(validators=3).required_roles == ("judge", "validator", "validator2", "validator3")
    assert FineSurE(validators=1).required_roles == ("judge", "validator")
    bound = {"judge": "p/j", "validator": "p/v", "validator2": "p/w"}
    assert "validator" not in Align().sign(bound)
    signed = Align(validators=2).sign(bound)
    assert "|validator:p/v|validator2:p/w|" in signed
    assert Align(validators=2).signature_fields()["prompt"] != Align().signature_fields()["prompt"]
    assert build("finesure[validators=2]").required_roles == ("judge", "validator", "validator2")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"1": {"reason": "x", "useful": "yes"}}, "wrong count: no entry for key fact 2"),
        ({**json.loads(votes("y", "y")), "3": {"useful": "no"}}, "wrong count: an entry for key fact 3"),
        ({"0": {"useful": "no"}, "1": {"useful": "no"}}, "wrong count: an entry for key fact 0"),
        (
            {**json.loads(votes("y", "y")), "2": {"reason": "x"}},
            "meaningless: key fact 2: it has no field named useful or response",
        ),
        ({**json.loads(votes("y", "y")), "2": {"useful": "partly"}}, "key fact 2: 'partly' is neither yes nor no"),
        (
            {"1": {"useful": "yes"}, "2": {"useful": "yes", "response": "no"}},
            "key fact 2: it has more than one field named useful or response",
        ),
        (
            [{"statement_id": 1, "response": "Yes"}, {"statement_id": 1, "response": "No"}],
            "wrong count: two entries for key fact 1",
        ),
        ([{"statement_id": 1, "response": "Yes"}, {"response": "No"}], "None is not the number of a key fact"),
        ({**json.loads(votes("y", "y")), "2": "yes"}, "key fact 2: the entry is 'yes', not an object"),
        (
            {**json.loads(votes("y", "y")), "2": {"useful": "no", "reason": 1}},
            "key fact 2: the reason is 1, not a text",
        ),
    ],
)
def test_what_is_no_ballot(value: Any, says: str) -> None:
    with pytest.raises(ReplyError) as caught:
        read_votes(json.dumps(value), 2)
    assert says in str(caught.value)


def _replies() -> Replies:
    prompt = "\n\n".join(
        message.content for message in KeyFactExtraction().validation_prompt(BARE.document.text, FACTS).messages
    )
    return Replies(votes("y", "n", "y"), votes("y", "y", "y"), prompt)


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_bad_reply_is_no_vote(case: Case) -> None:
    found = validated(case.build(_replies()))
    assert found.status == case.status
    assert found.data["validation"][0]["votes"] is None
    assert "key_facts" not in found.data


@pytest.mark.parametrize("case", ODD, ids=lambda case: case.name)
def test_an_odd_reply_votes_as_the_plain_one(case: Case) -> None:
    assert validated(case.build(_replies())).data["rejected"] == [1]
