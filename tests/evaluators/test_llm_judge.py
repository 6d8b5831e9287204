"""The base class of LLM judges: template, failures, stored replies and prepared objects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, get_args

import pytest
from evaluators.judging import item, run

from summeter.evaluators import JudgmentBuilder, LLMJudge
from summeter.evaluators.base import Parser
from summeter.evaluators.llm import NO_DATA
from summeter.evaluators.replies import YES_NO, field, read_reply, yes
from summeter.models.providers.scripted import Scripted
from summeter.records import Item, Judgment, UsageError

ITEM = item(("It rained.",), document="It rained all day.")


class Rainy(LLMJudge[bool]):
    """Does it rain?"""

    name: ClassVar[str] = "rainy"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "Does it rain?"
    aspects: ClassVar[tuple[str, ...]] = ("rain",)
    reads_sentences: ClassVar[bool] = False
    reply: ClassVar[Mapping[str, Any]] = {"rain": YES_NO}
    prompt_text: ClassVar[str | None] = "{{ document }} Does it rain in: {{ summary }}?"

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> bool:
        return read_reply(text, lambda value: yes(field(value, "rain")))

    def judgments(self, reply: bool, builder: JudgmentBuilder) -> list[Judgment]:
        return [builder.ok("rain", value=float(reply))]


class Elsewhere(Rainy):
    """Its template should stand in a file."""

    prompt_text: ClassVar[str | None] = None


def test_user_templates_replace_the_class_template(tmp_path: Path) -> None:
    assert Rainy().prompt(ITEM).messages[0].content == "It rained all day. Does it rain in: It rained.?"
    (tmp_path / "rainy.txt").write_text("{{ summary }} Rain?")
    own = Rainy(prompts=tmp_path)
    assert own.prompt(ITEM).messages[0].content == "It rained. Rain?"
    assert own.sign({}) != Rainy().sign({})
    assert Rainy().sign({"judge": "p/m"}).startswith("rainy|judge:p/m|prompt:")


def test_a_missing_template_is_named() -> None:
    with pytest.raises(UsageError, match=r"has no prompt template rainy\.txt"):
        Elsewhere().sign({})


def test_a_reply_becomes_judgments_and_a_bad_one_a_failure() -> None:
    good, bad = (
        run(Rainy(), ITEM, Scripted([{"reply": reply}]), repair=True)[1][0] for reply in ({"rain": "yes"}, "no idea")
    )
    assert (good.value, good.model, len(good.calls), good.prepared) == (1.0, "scripted/rules", 1, None)
    assert (bad.status, bad.value, len(bad.calls)) == ("unparsed", None, 2)


def test_stored_replies_are_read_alike_by_both_parsers_where_nothing_was_released() -> None:
    for parser in get_args(Parser):
        (found,) = Rainy().read('{"rain": "no"}', ITEM, parser, "sig")
        assert (found.value, found.signature) == (0.0, "sig")
