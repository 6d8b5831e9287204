"""Parsed answers, repair turns and failures of `BoundLLM.ask`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from summeter.models.base import Message
from summeter.models.prompts import Prompt
from summeter.models.providers.scripted import Rule, Scripted
from summeter.models.structured import Answer, BoundLLM, Form, Settings
from summeter.records import ReplyError


def read(text: str) -> str:
    if text.startswith("no thanks"):
        raise ReplyError("declined in words", kind="refused")
    if not text.isdigit():
        raise ReplyError("not a number")
    return text


FORM = Form("number", {"type": "integer"}, read)
PROMPT = Prompt("p", "0000", (Message(role="user", content="How many?"),))


def ask(llm: Scripted, settings: Settings | None = None, **more: Any) -> Answer[str]:
    return asyncio.run(BoundLLM(llm, settings).ask(PROMPT, FORM, **more))


def test_a_valid_reply() -> None:
    llm = Scripted({"How many": "12"})
    answer = ask(llm, Settings(temperature=0.7, max_tokens=5, seed=1), draw=4)
    assert (answer.data, answer.status, answer.reason, answer.text) == ("12", "ok", None, "12")
    (sent,) = llm.requests
    assert answer.calls == (sent.key,)
    assert (sent.temperature, sent.max_tokens, sent.seed, sent.draw) == (0.7, 5, 1 + 4, 4)
    assert (sent.format, sent.schema_name, sent.schema_) == ("json_schema", "number", {"type": "integer"})
    assert sent.model == "scripted/rules"


def test_a_weaker_format_may_be_chosen() -> None:
    llm = Scripted({"How many": "12"})
    ask(llm, Settings(format="text", temperature=None))
    (sent,) = llm.requests
    assert (sent.format, sent.schema_name, sent.schema_, sent.temperature) == ("text", None, None, None)


def test_the_repair_turn_states_the_error() -> None:
    llm = Scripted([Rule(reply="dozens", times=1), Rule(match="not a number", reply="12")])
    answer = ask(llm)
    assert (answer.data, len(answer.calls)) == ("12", 2)
    assert [turn.role for turn in llm.requests[1].messages] == ["user", "assistant", "user"]
    assert llm.requests[1].messages[1].content == "dozens"


def test_an_invalid_reply_to_the_repair_turn_is_a_failure() -> None:
    llm = Scripted({"How many": "dozens"})
    answer = ask(llm)
    assert (answer.data, answer.status, answer.text) == (None, "unparsed", "dozens")
    assert answer.reason == "meaningless: not a number"
    assert llm.calls == 2
    assert ask(Scripted({"How many": "dozens"}), Settings(repair=False)).calls == answer.calls[:1]


@pytest.mark.parametrize(
    ("rule", "status", "reason"),
    [
        (Rule(refusal="No."), "refused", "refused: No."),
        (Rule(reply="x", finish_reason="content_filter"), "refused",
         "refused: stopped by the provider's content filter"),
        (Rule(reply="no thanks"), "refused", "declined in words"),
        (Rule(reply="1", finish_reason="length", tokens_out=40), "unparsed",
         "truncated: the reply was truncated by the length limit after 40 tokens"),
        (Rule(reply="1", finish_reason="length"), "unparsed", "truncated: the reply was truncated by the length limit"),
        (Rule(reply="  "), "unparsed", "meaningless: not a number"),
    ],
)  # fmt: skip
def test_refusals_and_truncated_replies_are_not_repaired(rule: Rule, status: str, reason: str) -> None:
    llm = Scripted([rule])
    answer = ask(llm)
    assert (answer.data, answer.status, answer.reason) == (None, status, reason)
    assert llm.calls == 1
