"""docs/annotate.md does what it says: its campaign is made and done, its commands print what the page prints.

Who gets which task is drawn anew for each campaign's secret, so numbers are compared as numbers, not by their value.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import BLOCK, commands, python

from summeter.annotate.campaign.config import Campaign
from summeter.data.dataset import load

# Made of the figures, so it differs between campaigns as they do.
VERDICT = re.compile(r"no better than chance|above chance, but under the customary \.667")


def steady(text: str) -> list[str]:
    """Lines with N for every number, and V for the verdict on alpha; a wrapped line is one."""
    text = VERDICT.sub("V", re.sub(r"\n {2,}(?=\S)", " ", text))
    return [re.sub(r"[-+±]?\d*\.?\d+", "N", re.sub(r" +", " ", line)).strip() for line in text.splitlines()]


def check(command: str, text: str, expected: str) -> None:
    """Each line of the page is printed, in order; where it has `...`, others stand between."""
    printed, wanted = steady(text), steady(expected)
    assert "..." in wanted or len(printed) == len(wanted), f"{command} printed: {text}"
    lines = iter(printed)
    assert all(line in lines for line in wanted if line != "..."), f"{command} printed: {text}"


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(root / "examples")
    page = root / "docs" / "annotate.md"
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "yaml":
            Path("study.yaml").write_text(text, encoding="utf-8")
        elif language == "console":
            for command in commands(text):
                check(*command)
        elif language == "python":
            python(text, page.name, {})
        else:
            assert language == "sh"
    data = load("gold")
    assert {one.status for one in data.judgments("human.merged")} == {"ok"}
    assert len(data.judgments("human.raw")) == 264


def test_every_field_of_the_campaign_is_on_the_page(root: Path) -> None:
    page = (root / "docs" / "annotate.md").read_text(encoding="utf-8")
    table = page.partition("## Campaign file")[2].partition("\n## ")[0]
    missing = [name for name in Campaign.model_fields if f"`{name}`" not in table]
    assert missing == []


def test_the_pictures_are_small(root: Path) -> None:
    for name in ("annotate-quality.png", "annotate-adjudicate.png"):
        assert (root / "docs" / "images" / name).stat().st_size < 200_000
