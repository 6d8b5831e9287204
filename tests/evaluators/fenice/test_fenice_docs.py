"""The pages on local judges, and the examples in their modules, are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from summeter.evaluators.catalog import build

ROOMS = {
    "evaluators.entailment": ("convolution", "grains", "premises", "reasons"),
    "evaluators.fenice": ("align", "coref", "reasons"),
    "evaluators.overlap": ("backbones", "greedy"),
    "text.english": ("clauses", "dependency", "pronouns"),
}
MODULES = [f"{room}.{name}" for room, names in ROOMS.items() for name in names]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_modules(name: str) -> None:
    found = doctest.testmod(import_module(f"summeter.{name}"))
    assert found.failed == 0


def test_the_page_runs(root: Path) -> None:
    page = (root / "docs" / "fenice.md").read_text()
    test = doctest.DocTestParser().get_doctest(page, {}, "fenice.md", "docs/fenice.md", 0)
    assert len(test.examples) == 5
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert told == []


@pytest.mark.parametrize(
    ("page", "names"), [("fenice.md", ["fenice", "summac"]), ("similarity.md", ["bertscore", "similarity"])]
)
def test_every_setting_has_a_line(root: Path, page: str, names: list[str]) -> None:
    text = (root / "docs" / page).read_text()
    for name in names:
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for setting in type(build(name)).model_fields:
            assert f"`{setting}`" in section, (name, setting)
        assert "**Proof: " in section
