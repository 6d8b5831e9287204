"""Alignment of key facts: prompts and schemas by strategy, strict parsing, judgments, success ratio."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from evaluators.judging import Judge, item, run
from together import together

from summeter.evaluators.finesure.align import Align, FineSurE
from summeter.evaluators.finesure.fact_check import REPLY_FIELDS, Strategy
from summeter.models.base import Request
from summeter.records import Judgment, KeyFacts
from summeter.scoring import reply_counts

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
GOOD = {"1": {"present": "yes", "lines": [3, 1]}, "2": {"present": "no", "lines": []}}
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
    return run(Align(strategy=strategy), item(), Judge(json.dumps(answer)))[1]


def labels(value: Any) -> list[Any]:
    return [one.label for one in Align().read(json.dumps(value), item(), "strict", "sig")]


def test_judgments_per_key_fact_and_per_sentence() -> None:
    one = item()
    prepared, judgments = run(Align(), one, Judge(json.dumps(GOOD)))
    facts, sentences = judgments[:2], judgments[2:]
    assert [(j.aspect, j.target.unit, j.target.index, j.label, j.value) for j in facts] == [
        ("completeness", "key_fact", 0, 1, 1.0),
        ("completeness", "key_fact", 1, 0, 0.0),
    ]
    # The key facts are the document's own, so human labels of them have the same list id.
    assert {j.target.list_id for j in facts} == {KeyFacts.of(one.key_facts, "given").id}
    assert [span.cut(one.summary.text) for span in facts[0].evidence] == ["Ana sold the boat.", "It burnt down."]
    assert facts[1].evidence == ()
    # Fact 1 is in sentences 1 and 3: conciseness 2/3.
    assert [(j.aspect, j.target.unit, j.target.index, j.label, j.reason) for j in sentences] == [
        ("conciseness", "sentence", 0, 1, "conveys key fact 1"),
        ("conciseness", "sentence", 1, 0, "conveys no key fact"),
        ("conciseness", "sentence", 2, 1, "conveys key fact 1"),
    ]
    assert {j.prepared for j in judgments} == {prepared.id}
    assert {j.target.list_id for j in sentences} == {None}


def test_several_facts_in_one_sentence() -> None:
    judgments = judged("instruction", {key: {"present": "yes", "lines": [1]} for key in ("1", "2")})
    assert [j.label for j in judgments] == [1, 1, 1, 0, 0]
    assert judgments[2].reason == "conveys key facts 1, 2"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_alignment(strategy: Strategy) -> None:
    judgments, wanted = judged(strategy, reply(strategy)), REPLY_FIELDS[strategy]
    assert [one.label for one in judgments] == [1, 0, 1, 0, 1]
    first = "It says so." if wanted.reason else None
    second = " ".join(["No mill."] * wanted.reason + ["[partly conveyed]"] * wanted.category) or None
    assert [one.reason for one in judgments[:2]] == [first, second]
    quoted = [span.cut(item().summary.text) for span in judgments[0].evidence]
    assert quoted == (["Ana sold the boat"] if wanted.quote else ["Ana sold the boat.", "It burnt down."])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_prompt_and_schema_ask_for_what_the_strategy_wants_and_no_more(strategy: Strategy) -> None:
    judge = Judge(json.dumps(reply(strategy)))
    run(Align(strategy=strategy), item(document="SECRET text"), judge)
    (request,) = judge.asked
    assert request.schema_ is not None
    assert request.schema_["required"] == ["1", "2"]
    properties = request.schema_["$defs"]["match"]["properties"]
    assert list(properties) == FIELDS[strategy]
    assert properties["lines"]["items"]["enum"] == [1, 2, 3]
    text = request.messages[1].content
    assert "SECRET" not in text
    assert text.index("(1) Ana sold a boat.") < text.index("[1] Ana sold the boat.")
    for name in ("present", "category", "reason", "quote"):
        assert (f'"{name}"' in text) is (name in FIELDS[strategy])
    assert text.endswith("The lines of the summary run from 1 to 3.")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # The released form, in order.
        (
            [
                {"key fact": "Ana sold a boat.", "response": "Yes", "line number": [1]},
                {"key fact": "Ana bought a mill.", "response": "No", "line number": []},
            ],
            [1, 0, 1, 0, 0],
        ),
        ({**GOOD, "1": {"present": "Yes.", "lines": ["1"]}}, [1, 0, 1, 0, 0]),
        ({**GOOD, "1": {"present": True, "lines": [1, 1]}}, [1, 0, 1, 0, 0]),
        ({**GOOD, "1": {"present": " YES ", "lines": 1}}, [1, 0, 1, 0, 0]),
        ({**GOOD, "1": {"response": "yes", "line number": ["[1]"]}}, [1, 0, 1, 0, 0]),
        # Lines of an absent fact do not count.
        ({"1": {"present": "no", "lines": [2, 99]}, "2": {"present": "no"}}, [0, 0, 0, 0, 0]),
    ],
)
def test_accepted_replies(value: Any, expected: list[int]) -> None:
    assert labels(value) == expected


@together(
    "strategy, first, says",
    [
        ("instruction", {"present": "yes", "lines": []}, "in no line"),
        ("instruction", {"present": "yes", "lines": [0]}, "line 0"),
        ("instruction", {"present": "yes", "lines": [1, 4]}, "line 4"),
        ("instruction", {"present": "yes", "lines": ["1, 2"]}, "'1, 2' is not a line number"),
        ("instruction", {"present": "yes", "lines": [1.5]}, "1.5 is not a line number"),
        ("instruction", {"present": "yes", "lines": [True]}, "True is not a line number"),
        ("instruction", {"present": "yes", "lines": None}, "None is not a line number"),
        ("instruction", {"present": "yes"}, "no field named lines"),
        ("instruction", {"lines": [1]}, "no field named present"),
        ("instruction", {"present": "yes", "response": "no", "lines": [1]}, "more than one field"),
        ("instruction", {"present": "partly", "lines": [1]}, "'partly' is neither yes nor no"),
        ("instruction", {"present": 1, "lines": [1]}, "1 is neither yes nor no"),
        ("instruction", "yes", "the entry is 'yes', not an object"),
        ("evidence", {**FIRST, "category": "maybe"}, "'maybe' is not one of the categories"),
        ("evidence", {**FIRST, "quote": 3}, "the quote is 3"),
    ],
)
def test_rejected_replies_name_the_unit(strategy: Strategy, first: Any, says: str) -> None:
    failed = judged(strategy, {**reply(strategy), "1": first})
    assert [(one.status, one.target.unit) for one in failed] == [("unparsed", "key_fact")] * 2 + [
        ("unparsed", "sentence")
    ] * 3
    assert all(one.target.list_id for one in failed[:2])
    assert {f"key fact 1: {says}" in str(one.reason) or says in str(one.reason) for one in failed} == {True}


def test_a_quote_not_in_the_text_is_noted() -> None:
    first = judged("evidence", reply("evidence", quote="a castle in the air"))[0]
    assert first.reason == "It says so. [not in the summary: 'a castle in the air']"
    assert [span.cut(item().summary.text) for span in first.evidence] == ["Ana sold the boat.", "It burnt down."]


def test_stored_replies_without_key_facts_cannot_be_checked() -> None:
    judgments = Align().read(json.dumps(GOOD), item(key_facts=()), "strict", "sig")
    assert [(j.aspect, j.status) for j in judgments] == [("completeness", "skipped"), ("conciseness", "skipped")]


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


def test_alignment_uses_the_extracted_list() -> None:
    def answer(request: Request) -> str:
        return json.dumps({"key_facts": ["F1", "F2"]} if "(1) " not in request.messages[1].content else GOOD)

    judge = Judge(answer)
    prepared, judgments = run(Align(), item(key_facts=()), judge)
    assert len(judge.asked) == 2
    assert [j.label for j in judgments] == [1, 0, 1, 0, 1]
    assert {j.target.list_id for j in judgments[:2]} == {KeyFacts.of(["F1", "F2"], "document").id}
    assert all(j.calls == (judge.asked[1].key,) for j in judgments)
    assert prepared.calls == (judge.asked[0].key,)


@pytest.mark.parametrize(
    ("align", "says", "status", "why"),
    [
        (Align(source="reference"), "{}", "skipped", "there is no reference summary to extract key facts from"),
        (Align(), "I'm sorry, I can't.", "refused", "key facts from the document: the model refused"),
        (Align(validators=2), '{"key_facts": ["A."]}', "unparsed", "validation of key facts"),
    ],
)
def test_without_key_facts_both_aspects_have_its_status(align: Align, says: str, status: str, why: str) -> None:
    prepared, judgments = run(align, item(key_facts=()), Judge(says))
    assert prepared.status == status
    assert [(j.aspect, j.status, j.target.unit) for j in judgments] == [
        ("completeness", status, "summary"),
        *[("conciseness", status, "sentence")] * 3,
    ]
    assert all(str(j.reason).startswith(why) for j in judgments)


def test_the_bundle_passes_its_settings_to_its_components(tmp_path: Path) -> None:
    bundle = FineSurE(
        taxonomy="unisumeval",
        strategy="evidence",
        align_strategy="basic",
        source="document",
        at_most=5,
        order="importance",
        validators=2,
        prompts=tmp_path,
    )
    check, align = bundle.components()
    assert check.model_dump() == {"taxonomy": "unisumeval", "strategy": "evidence", "prompts": str(tmp_path)}
    settings = {"source": "document", "at_most": 5, "order": "importance", "validators": 2, "prompts": str(tmp_path)}
    wanted = {"strategy": "basic", **settings}
    assert align.model_dump() == wanted
    assert bundle.required_roles == ("judge", "validator", "validator2")
    assert {aspect for part in bundle.components() for aspect in part.aspects} == set(bundle.aspects)


def test_signatures_change_with_any_template_used(tmp_path: Path) -> None:
    plain = Align().sign({"judge": "m/x"})
    for name in ("align", "key_facts_reference", "key_facts_document"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.txt").write_text(name, "utf-8")
        assert Align(prompts=folder).sign({"judge": "m/x"}) != plain
    signed = {Align(strategy=strategy).sign({}) for strategy in STRATEGIES}
    assert len(signed) == 5
    assert Align().sign({}) in signed
