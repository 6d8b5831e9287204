"""Scripted replies: rules, files, failures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from models.server import asked

from summeter.models.base import Completion, Message, Request
from summeter.models.providers.scripted import Rule, Scripted
from summeter.models.resolve import resolve
from summeter.records import InputError, ModelError, TransientError


def ask(llm: Any, text: str) -> Completion:
    turns = (Message(role="system", content="Be kind."), Message(role="user", content=text))
    result: Completion = asyncio.run(llm.complete(Request(model=llm.id, messages=turns)))
    return result


def test_the_first_matching_rule_replies() -> None:
    llm = Scripted([
        Rule(match=("cat", "mat"), reply="both"),
        Rule(match="cat", reply="cat"),
        Rule(regex=r"(?i)DOG\d", reply={"n": 1}),
        Rule(reply="else"),
    ])  # fmt: skip
    assert [ask(llm, text).text for text in ("a mat, a cat", "a cat", "dog7", "dog")] == [
        "both", "cat", '{"n": 1}', "else",
    ]  # fmt: skip
    assert llm.calls == 4
    assert llm.requests[1].messages[1].content == "a cat"


def test_a_function_answers_or_raises() -> None:
    def reply(request: Request) -> Completion | str:
        if "boom" in request.prompt:
            raise TransientError("boom")
        return Completion(text="whole", tokens_in=3) if "whole" in request.prompt else request.messages[-1].content

    llm = Scripted(reply)
    assert ask(llm, "echo").text == "echo"
    assert ask(llm, "whole").tokens_in == 3
    with pytest.raises(TransientError):
        ask(llm, "boom")


def test_rules_by_key_and_for_a_number_of_replies() -> None:
    request = asked("x")
    llm = Scripted([Rule(key=request.key[:10], reply="once", times=1), Rule(reply="then")])
    assert [asyncio.run(llm.complete(request)).text for _ in range(3)] == ["once", "then", "then"]


def test_refusals_and_cuts() -> None:
    llm = Scripted([Rule(match="bomb", refusal="No."), Rule(reply='{"a', finish_reason="length", tokens_out=9)])
    assert (ask(llm, "bomb").refusal, ask(llm, "bomb").text) == ("No.", "")
    assert (ask(llm, "x").finish_reason, ask(llm, "x").tokens_out) == ("length", 9)


def test_a_prompt_without_a_matching_rule_is_reported() -> None:
    with pytest.raises(ModelError, match=r"no rule matches the prompt that begins with 'Be kind.*where is the cat"):
        ask(Scripted({"dog": "woof"}), "where is the cat")


def test_a_file_of_rules(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rules.jsonl"
    path.parent.mkdir()
    path.write_text('{"match": "cat", "reply": "miaow"}\n\n{"match": ["a", "b"], "reply": [1, 2]}\n', "utf-8")
    llm = resolve(f"scripted/{path}")
    assert llm.id == f"scripted/{path}"
    assert ask(llm, "cat").text == "miaow"
    assert ask(llm, "a b").text == "[1, 2]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"", "contains no rules"),
        (b"\xff", "cannot be read"),
        (b'{"reply": "a"}\n{"reply"', r"rules\.jsonl:2: "),
        (b'{"replly": "a"}', r"rules\.jsonl:1: replly: "),
        (b'{"match": "a"}', r"needs a `reply`"),
        (b'{"regex": "(", "reply": "a"}', "not a regular expression"),
        (b'{"match": 3, "reply": "a"}', r"rules\.jsonl:1: match"),
    ],
)
def test_errors_of_a_file_have_a_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "rules.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        resolve(f"scripted/{path}")
