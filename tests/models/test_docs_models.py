"""docs/models.md: its Python runs, its rules reply, and its table lists all providers."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from models.server import asked

from summeter.models.providers.provider import PROVIDERS
from summeter.models.resolve import resolve
from summeter.records import ModelError, TransientError


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "models.md").read_text("utf-8")


def test_its_rules_answer(page: str, tmp_path: Path) -> None:
    rules = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert rules is not None
    (tmp_path / "rules.jsonl").write_text(rules[1], "utf-8")
    llm = resolve(f"scripted/{tmp_path / 'rules.jsonl'}")

    def ask(text: str) -> str:
        return asyncio.run(llm.complete(asked(text))).text

    assert ask("facts about Ana") == '{"key_facts": ["Ana sold a boat."]}'
    assert ask("Sentence 1") == "half a repl"
    with pytest.raises(TransientError):
        ask("the bus")
    with pytest.raises(ModelError):
        ask("the bus")
    assert ask("the bus") == "anything else"


def test_its_table_names_every_provider(page: str) -> None:
    assert set(re.findall(r"^\| `([a-z-]+)/", page, re.MULTILINE)) == set(PROVIDERS)


def test_the_columns_of_the_scores_are_those_it_names(page: str) -> None:
    from summeter.runs.views import SCORE_COLUMNS

    (said,) = re.findall(r"ten columns, (.*?), plus `reason`", page, re.S)
    assert (*re.findall(r"`(\w+)`", said), "reason") == SCORE_COLUMNS
    assert len(SCORE_COLUMNS) == 10 + 1
