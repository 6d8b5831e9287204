"""Key facts and their alignment: prompts, schema, strict reading, judgments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluators.finesure.finesure_items import Judge, item, run

from summeter.evaluators.finesure.align import Align, FineSurE, schema
from summeter.evaluators.finesure.key_facts import KeyFactExtraction, read_key_facts
from summeter.models.base import Request
from summeter.records import KeyFacts, ReplyError

GOOD = {"1": {"present": "yes", "lines": [3, 1]}, "2": {"present": "no", "lines": []}}


def say(reply: Any) -> Judge:
    return Judge(lambda request: json.dumps(reply))


def test_judgments_per_key_fact_and_per_sentence() -> None:
    one = item()
    prepared, judgments = run(Align(), one, say(GOOD))
    facts, sentences = judgments[:2], judgments[2:]
    assert [(j.aspect, j.target.unit, j.target.index, j.label, j.value) for j in facts] == [
        ("completeness", "key_fact", 0, 1, 1.0), ("completeness", "key_fact", 1, 0, 0.0),
    ]  # fmt: skip
    # The list is the one given with the document, so people's labels on it have the same id.
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
    both = {key: {"present": "yes", "lines": [1]} for key in ("1", "2")}
    _, judgments = run(Align(), item(), say(both))
    assert [j.label for j in judgments] == [1, 1, 1, 0, 0]
    assert judgments[2].reason == "conveys key facts 1, 2"


def test_the_document_is_not_in_the_prompt_and_the_facts_come_first() -> None:
    judge = say(GOOD)
    run(Align(), item(document="SECRET text"), judge)
    text = judge.asked[0].messages[1].content
    assert "SECRET" not in text
    assert text.index("(1) Ana sold a boat.") < text.index("[1] Ana sold the boat.")
    assert 'The keys of your answer: "1" to "2"' in text
    assert text.startswith("<<<key facts ")
    assert text.endswith("The lines of the summary run from 1 to 3.")


def test_the_schema_asks_for_each_key_fact_once_with_lines_in_range() -> None:
    made = schema(2, 3)
    assert made["required"] == ["1", "2"]
    assert made["$defs"]["match"]["properties"]["lines"]["items"]["enum"] == [1, 2, 3]


def _read(value: Any) -> set[tuple[str, str | None]]:
    text = value if isinstance(value, str) else json.dumps(value)
    return {(j.status, j.reason) for j in Align().read(text, item(), "strict", "sig") if j.status != "ok"}


def test_the_released_form_is_read_in_order() -> None:
    listed = [
        {"key fact": "Ana sold a boat.", "response": "Yes", "line number": [1]},
        {"key fact": "Ana bought a mill.", "response": "No", "line number": []},
    ]
    judgments = Align().read(json.dumps(listed), item(), "strict", "sig")
    assert [j.label for j in judgments] == [1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ({"present": "yes", "lines": []}, "key fact 1: it is said to be present, but in no line"),
        ({"present": "yes", "lines": [0]}, "key fact 1: line 0, but the lines run from 1 to 3"),
        ({"present": "yes", "lines": [1, 4]}, "key fact 1: line 4, but the lines run from 1 to 3"),
        ({"present": "yes", "lines": ["1, 2"]}, "key fact 1: '1, 2' is not a line number"),
        ({"present": "yes", "lines": [1.5]}, "key fact 1: 1.5 is not a line number"),
        ({"present": "yes", "lines": [True]}, "key fact 1: True is not a line number"),
        ({"present": "yes", "lines": None}, "key fact 1: None is not a line number"),
        ({"present": "yes"}, "key fact 1: it has no field named lines or line number"),
        ({"lines": [1]}, "key fact 1: it has no field named present or response"),
        ({"present": "yes", "response": "no", "lines": [1]}, "key fact 1: it has more than one field"),
        ({"present": "partly", "lines": [1]}, "key fact 1: 'partly' is neither yes nor no"),
        ({"present": None, "lines": [1]}, "key fact 1: None is neither yes nor no"),
        ({"present": 1, "lines": [1]}, "key fact 1: 1 is neither yes nor no"),
        ("yes", "key fact 1: the entry is 'yes', not an object"),
    ],
)
def test_a_reply_that_does_not_fit_says_where(first: Any, says: str) -> None:
    failed = _read({**GOOD, "1": first})
    assert [status for status, _ in failed] == ["unparsed"]
    assert says in str(failed.pop()[1])


@pytest.mark.parametrize(
    "first",
    [
        {"present": "Yes.", "lines": ["1"]}, {"present": True, "lines": [1, 1]}, {"present": " YES ", "lines": 1},
        {"response": "yes", "line number": ["[1]"]},
    ],
)  # fmt: skip
def test_ways_to_say_yes(first: Any) -> None:
    judgments = Align().read(json.dumps({**GOOD, "1": first}), item(), "strict", "sig")
    assert [j.label for j in judgments] == [1, 0, 1, 0, 0]


def test_lines_of_an_absent_fact_do_not_count() -> None:
    value = {"1": {"present": "no", "lines": [2, 99]}, "2": {"present": "no"}}
    judgments = Align().read(json.dumps(value), item(), "strict", "sig")
    assert [j.label for j in judgments] == [0, 0, 0, 0, 0]


def test_a_failure_reaches_every_unit() -> None:
    _, judgments = run(Align(), item(), Judge(lambda request: "I'm sorry, I can't."))
    assert [(j.status, j.target.unit) for j in judgments] == [("refused", "key_fact")] * 2 + [
        ("refused", "sentence")
    ] * 3
    assert all(j.target.list_id for j in judgments[:2])


def test_stored_replies_without_key_facts_cannot_be_checked() -> None:
    judgments = Align().read(json.dumps(GOOD), item(key_facts=()), "strict", "sig")
    assert [(j.aspect, j.status) for j in judgments] == [("completeness", "skipped"), ("conciseness", "skipped")]


# --- key facts ---


def asked_of(judge: Judge) -> Request:
    return judge.asked[0]


def test_given_key_facts_are_used_as_they_are_and_cost_nothing() -> None:
    judge = say({})
    prepared, judgments = run(KeyFactExtraction(), item(key_facts=("A.", "A.", " b ")), judge)
    assert prepared.data == {"key_facts": ["A.", "A.", " b "], "origin": "given"}
    assert judgments == []
    assert not judge.asked


def test_from_the_reference_then_from_the_document() -> None:
    judge = say({"key_facts": ["Ana sold a boat.", "ana  sold a boat", "It burnt down."]})
    one = item(key_facts=(), references=(" ", "Ana sold the REFERENCE boat."))
    prepared, _ = run(KeyFactExtraction(), one, judge)
    assert prepared.data == {
        "key_facts": ["Ana sold a boat.", "It burnt down."], "origin": "reference", "repeated": 1, "cut": 0,
    }  # fmt: skip
    assert "REFERENCE" in asked_of(judge).messages[1].content
    assert "at most 16" in asked_of(judge).messages[1].content
    assert prepared.calls == (asked_of(judge).key,)

    judge = say({"key facts": ["x1"]})
    prepared, _ = run(KeyFactExtraction(), item(key_facts=()), judge)
    assert prepared.data["origin"] == "document"
    assert "at most 20" in asked_of(judge).messages[1].content


def test_a_list_beyond_the_limit_is_cut_and_the_cut_is_counted() -> None:
    judge = say({"key_facts": [f"fact {number}" for number in range(25)]})
    prepared, _ = run(KeyFactExtraction(source="document"), item(), judge)
    assert len(prepared.data["key_facts"]) == 20
    assert prepared.data["cut"] == 5
    prepared, _ = run(KeyFactExtraction(source="document", at_most=3), item(), judge)
    assert prepared.data["key_facts"] == ["fact 0", "fact 1", "fact 2"]


def test_a_named_source_that_is_missing_is_skipped_with_a_reason() -> None:
    prepared, _ = run(KeyFactExtraction(source="reference"), item(), say({}))
    assert (prepared.status, prepared.reason) == ("skipped", "there is no reference summary to draw key facts from")
    assert not prepared.data


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"key_facts": []}', "expected a list of key facts"),
        ('{"key_facts": ["a", ""]}', "key fact 2 is '', not a statement"),
        ('{"key_facts": ["..."]}', "key fact 1 is '...', not a statement"),
        ('{"key_facts": ["a", null]}', "key fact 2 is None"),
        ('{"key_facts": [1]}', "key fact 1 is 1"),
        ('{"key_facts": [["a"]]}', "key fact 1 is "),
        ('{"key_facts": "a"}', "expected a list of key facts"),
        ('{"key_facts": null}', "expected a list of key facts"),
        ('["a"]', "not of the form"),
    ],
)
def test_what_is_no_list_of_key_facts(text: str, says: str) -> None:
    with pytest.raises(ReplyError, match=says):
        read_key_facts(text)


def test_key_facts_beside_a_note() -> None:
    assert read_key_facts('{"note": ["x"], "key_facts": ["a]", "b"]}').texts == ("a]", "b")


def test_without_key_facts_both_aspects_say_why() -> None:
    one = item(key_facts=())
    prepared, judgments = run(Align(source="reference"), one, say({}))
    assert prepared.status == "skipped"
    assert [(j.aspect, j.status, j.target.unit) for j in judgments] == [
        ("completeness", "skipped", "summary"), *[("conciseness", "skipped", "sentence")] * 3,
    ]  # fmt: skip
    assert {j.reason for j in judgments} == {"there is no reference summary to draw key facts from"}

    prepared, judgments = run(Align(), one, Judge(lambda request: "I'm sorry, I can't."))
    assert {j.status for j in judgments} == {"refused"}
    assert str(judgments[0].reason).startswith("key facts from the document: the model refused")


def test_alignment_uses_the_extracted_list() -> None:
    def reply(request: Request) -> str:
        return json.dumps({"key_facts": ["F1", "F2"]} if "(1) " not in request.messages[1].content else GOOD)

    judge = Judge(reply)
    prepared, judgments = run(Align(), item(key_facts=()), judge)
    assert len(judge.asked) == 2
    assert [j.label for j in judgments] == [1, 0, 1, 0, 1]
    assert {j.target.list_id for j in judgments[:2]} == {KeyFacts.of(["F1", "F2"], "document").id}
    assert all(j.calls == (judge.asked[1].key,) for j in judgments)
    assert prepared.calls == (judge.asked[0].key,)


def test_the_bundle_passes_its_settings_on(tmp_path: Path) -> None:
    bundle = FineSurE(
        taxonomy="unisumeval", strategy="evidence", align_strategy="basic", source="document", at_most=5, validators=2,
        prompts=tmp_path,
    )  # fmt: skip
    check, align = bundle.parts()
    assert check.model_dump() == {"taxonomy": "unisumeval", "strategy": "evidence", "prompts": str(tmp_path)}
    assert align.model_dump() == {
        "strategy": "basic", "source": "document", "at_most": 5, "validators": 2, "prompts": str(tmp_path),
    }  # fmt: skip
    assert bundle.required_roles == ("judge", "validator", "validator2")
    assert {aspect for part in bundle.parts() for aspect in part.aspects} == set(bundle.aspects)


def test_signatures_change_with_any_template_used(tmp_path: Path) -> None:
    plain = Align().sign({"judge": "m/x"})
    for name in ("align", "key_facts_reference", "key_facts_document"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.txt").write_text(name, "utf-8")
        assert Align(prompts=folder).sign({"judge": "m/x"}) != plain
    assert "|source:document|" in Align(source="document").sign({"judge": "m/x"})
