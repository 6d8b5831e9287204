"""The page on meta-evaluation keeps its word: what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import options_missing

from summeter.choices import AggregationRule, Tie
from summeter.meta._correlate import COEFFICIENTS
from summeter.meta.results import Row


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "meta.md").read_text("utf-8")


def test_it_names_every_choice(page: str) -> None:
    for name in (*COEFFICIENTS, *AggregationRule, *Tie, *Row.model_fields):
        assert f"`{name}`" in page or name in re.findall(r"[a-z_]+", page), name


@pytest.mark.parametrize("command", ["correlate", "classify", "errors"])
def test_its_options_are_those_of_the_commands(page: str, command: str) -> None:
    assert options_missing(page, command) == []
