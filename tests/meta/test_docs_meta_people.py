"""The page on systems, judges and people keeps its word: its Python runs, and what it names is there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.meta._agree import COEFFICIENTS


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "meta-people.md").read_text("utf-8")


def test_its_python_runs(page: str) -> None:
    test = doctest.DocTestParser().get_doctest(page, {}, "meta-people.md", "docs/meta-people.md", 0)
    found: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=found.append)
    assert found == []
    assert len(test.examples) > 8


@pytest.mark.parametrize("command", ["prefer", "stability", "reliability", "agree", "bias", "reasons"])
def test_its_options_are_those_of_the_commands(page: str, command: str) -> None:
    done = CliRunner().invoke(app, ["meta", command, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    section = page.partition(f"## {command}\n")[2].partition("\n## ")[0]
    options = re.findall(r"`(--[a-z-]+)", section)
    assert options
    for option in options:
        assert option in done.output, option


def test_it_names_every_coefficient(page: str) -> None:
    for name in COEFFICIENTS:
        assert name in page or name.replace("mean_pairwise", "") in page, name
