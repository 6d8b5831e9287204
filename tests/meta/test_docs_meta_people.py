"""The page on systems, judges and people keeps its word: what it names is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import options_missing

from summeter.meta._agree import COEFFICIENTS


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "meta-people.md").read_text("utf-8")


@pytest.mark.parametrize("command", ["prefer", "stability", "reliability", "agree", "bias"])
def test_its_options_are_those_of_the_commands(page: str, command: str) -> None:
    assert options_missing(page, command) == []


def test_it_names_every_coefficient(page: str) -> None:
    for name in COEFFICIENTS:
        assert name in page or name.replace("mean_pairwise", "") in page, name
