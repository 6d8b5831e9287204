"""The page on meta-evaluation keeps its word: its Python runs, and what it names is there."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from summeter import meta
from summeter.choices import AggregationRule, Tie
from summeter.cli.main import app
from summeter.meta._correlate import COEFFICIENTS
from summeter.meta.results import Row


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "meta.md").read_text("utf-8")


def test_its_python_runs(page: str) -> None:
    test = doctest.DocTestParser().get_doctest(page, {}, "meta.md", "docs/meta.md", 0)
    found: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=found.append)
    assert found == []
    assert len(test.examples) > 5


def test_it_names_every_choice(page: str) -> None:
    for name in (*COEFFICIENTS, *AggregationRule, *Tie, *Row.model_fields):
        assert f"`{name}`" in page or name in re.findall(r"[a-z_]+", page), name


@pytest.mark.parametrize("command", ["correlate", "classify", "errors"])
def test_its_options_are_those_of_the_commands(page: str, command: str) -> None:
    done = CliRunner().invoke(app, ["meta", command, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    section = page.partition(f"## {command}\n")[2].partition("\n## ")[0]
    for option in re.findall(r"`(--[a-z-]+)", section):
        assert option in done.output, option


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(meta.__path__)])
def test_every_module_example_runs(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"summeter.meta.{name}")).failed == 0
