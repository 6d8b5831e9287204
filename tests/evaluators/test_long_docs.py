"""The pages on claims, ensembles and long documents run, and name what is there."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from summeter.evaluators.catalog import build
from summeter.evaluators.claims.factscore import FactScore
from summeter.evaluators.ensemble import Ensemble

PAGES = ("claims.md", "ensemble.md", "long-documents.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_evaluator_in_a_command_can_be_built(root: Path, page: str) -> None:
    text = (root / "docs" / page).read_text("utf-8")
    found = re.findall(r'-e (?:"([^"]+)"|(\S+))', text)
    assert found or page == "claims.md"
    for quoted, bare in found:
        if "model=judges/fused" not in quoted:  # what a training writes: tests/training runs that command
            assert build(quoted or bare).active_aspects


def test_the_pages_name_every_setting_and_template(root: Path) -> None:
    claims = (root / "docs" / "claims.md").read_text("utf-8")
    for file in (resources.files("summeter.evaluators.claims") / "prompts").iterdir():
        assert f"`{file.name}`" in claims
    for field in FactScore.model_fields:
        assert f"| `{field}` |" in claims
    joined = (root / "docs" / "ensemble.md").read_text("utf-8")
    for field in Ensemble.model_fields:
        assert f"| `{field}` |" in joined
