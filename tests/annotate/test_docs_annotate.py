"""docs/annotate.md does what it says: its campaign is made and done, its commands print what the page prints.

Who gets which task is drawn anew for each campaign's secret, so numbers are compared as numbers, not by their value.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
from pages import BLOCK, commands, python
from typer.testing import CliRunner

from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.folder import read_campaign
from summeter.cli.main import app
from summeter.data.dataset import load
from summeter.records import InputError

# Made of the figures, so it differs between campaigns as they do.
VERDICT = re.compile(r"cannot be told from chance|below chance|above chance, but below the customary limit of 0\.667")


def steady(text: str) -> list[str]:
    """Return unwrapped lines with N for numbers and V for the interpretation of alpha."""
    text = VERDICT.sub("V", re.sub(r"\n {2,}(?=\S)", " ", text))
    return [re.sub(r"[-+±]?\d*\.?\d+", "N", re.sub(r" +", " ", line)).strip() for line in text.splitlines()]


def check(command: str, text: str, expected: str) -> None:
    """Check that the documented lines are printed in order; `...` stands for other lines."""
    printed, wanted = steady(text), steady(expected)
    assert "..." in wanted or len(printed) == len(wanted), f"{command} printed: {text}"
    lines = iter(printed)
    assert all(line in lines for line in wanted if line != "..."), f"{command} printed: {text}"


def follow(page: Path, campaign: str) -> None:
    """Run the examples of a page in the working directory."""
    Path("examples").symlink_to(page.parent.parent / "examples")
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "yaml":
            Path(campaign).write_text(text, encoding="utf-8")
        elif language == "console":
            for command in commands(text):
                check(*command)
        elif language == "python":
            python(text, page.name, {})
        else:
            assert language in {"sh", "text"}


def test_commands_print_the_documented_output(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    follow(root / "docs" / "annotate.md", "study.yaml")
    data = load("gold")
    assert {one.status for one in data.judgments("human.merged")} == {"ok"}
    assert len(data.judgments("human.raw")) == 264


def test_the_campaign_of_the_reference_can_be_built(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = root / "docs" / "campaign-file.md"
    follow(page, "brief.yaml")
    data = load("brief-gold")
    signatures = {one.aspect: one.signature for one in data.judgments("human.raw")}
    assert signatures["klarheit"] == "human.scale|v:1"
    assert signatures["folgen"] == "human.choices|v:1"
    decided = {one.aspect: one.value for one in data.judgments("human.adjudicated")}
    assert decided["klarheit"] == 3
    faulty = Path("brief.yaml").read_text("utf-8").replace("meaning: Davon", "meanin: Davon").replace(
        "labels: [gar", "labls: [gar").replace("label: not_supported", "label: suported")  # fmt: skip
    Path("brief.yaml").write_text(faulty, encoding="utf-8")
    told = page.read_text("utf-8").partition("```text\nsummeter: ")[2].partition("\n```")[0].splitlines()
    with pytest.raises(InputError) as caught:
        read_campaign("brief.yaml")
    assert str(caught.value).splitlines() == told[:2]
    mended = faulty.replace("meanin:", "meaning:").replace("labls:", "labels:")
    Path("brief.yaml").write_text(mended, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        build("brief.yaml", "again")
    assert str(caught.value).splitlines() == told[2:]


def test_the_reference_is_generated_from_the_models(root: Path) -> None:
    made = runpy.run_path(str(root / "scripts" / "campaign_page.py"))["page"]()
    assert (root / "docs" / "campaign-file.md").read_text("utf-8") == made, "run python scripts/campaign_page.py"


def test_the_schema_matches_the_model() -> None:
    """Check the parts of the schema that editors use."""
    described = json.loads(CliRunner().invoke(app, ["annotate", "schema"]).stdout)
    assert described["required"] == ["name", "task_type", "data"]
    assert described["additionalProperties"] is False
    assert described["properties"]["error_types"]["items"]["anyOf"][0] == {"type": "string"}
    assert described["$defs"]["OwnQuestion"]["properties"]["name"]["description"]
    assert set(described["properties"]) == set(Campaign.model_fields)
