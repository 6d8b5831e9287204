"""A campaign that the version before wrote, answers and decisions included: everything comes out of it as it did.

tests/fixtures/before/campaign is the folder, campaign.expected what that version printed and exported.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from annotate.test_cli import run

from summeter.annotate.analysis.automation_bias import automation_bias, cases
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService

FIXTURES = Path(__file__).parents[1] / "fixtures" / "before"
EXPECTED = FIXTURES / "campaign.expected"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "campaign", tmp_path / "campaign"))


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    capsys.readouterr()
    assert run(*arguments, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXPECTED / name).read_text(encoding="utf-8"))
    return found


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_status_and_annotators(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, before = printed(capsys, "status", campaign), expected("status.json")
    for one in (found, before):
        del one["status"]["answers_last_hour"]  # counted back from now
    del found["status"]["expected_end"]  # that version did not say
    assert found["status"] == before["status"]
    assert found["rows"] == before["rows"]
    assert found["notes"] == before["notes"]


def test_agreement_and_the_bias_towards_the_machine(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, before = printed(capsys, "status", campaign), expected("status.json")
    with CampaignService(CampaignFolder(campaign), readonly=True) as service:
        everybody = cases(service)
    # That version counted an excluded person's check, too: her own, on which she follows the machine.
    (left_out,) = [case for case in everybody if case.annotator == "fay"]
    assert (left_out.check, left_out.same, left_out.arm) == (True, True, "assisted")
    for row, other in zip(found["assistance"], before["assistance"], strict=True):
        hers = row["details"]["tasks"] != "work" and row["details"].get("arm") != "unassisted"
        assert row["n"] == other["n"] - hers
    found["assistance"] = [row.model_dump() for row in automation_bias(everybody)]
    for part in ("agreement", "assistance"):
        assert [row_key(one) for one in found[part]] == [row_key(one) for one in before[part]]
        for row, other in zip(found[part], before[part], strict=True):
            assert row["value"] == pytest.approx(other["value"], abs=1e-12)
            for end in ("low", "high"):  # of random draws, over five documents
                assert row[end] == pytest.approx(other[end], abs=0.1)


def row_key(row: dict[str, Any]) -> list[Any]:
    details = {name: row["details"].get(name) for name in ("group", "tasks", "arm", "kind")}
    return [
        row["study"],
        row["statistic"],
        row["aspect"],
        row["domain"],
        row["judge"],
        row["n"],
        row["status"],
        details,
    ]


def test_disputes_and_decisions(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "adjudicate", campaign, "--all") == expected("disputes.json")


def test_exports(campaign: Path, tmp_path: Path) -> None:
    assert run("export", campaign, "--csv", tmp_path / "s.csv", "--events", tmp_path / "e.jsonl") == 0
    assert (tmp_path / "s.csv").read_bytes() == (EXPECTED / "submissions.csv").read_bytes()
    assert (tmp_path / "e.jsonl").read_bytes() == (EXPECTED / "events.jsonl").read_bytes()
    for name in ("human.raw", "human.adjudicated", "human.merged"):
        judgments = lines(campaign / "judgments" / f"{name}.jsonl")
        for judgment in judgments:  # that version kept only the first of several error types
            if "+" in judgment.get("error_type", ""):
                assert judgment["error_type"] == "entity error+relation error"
                judgment["error_type"] = "entity error"
        assert judgments == lines(EXPECTED / f"{name}.jsonl")


def test_an_export_of_the_log_goes_into_an_empty_folder(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (campaign / "events.sqlite").unlink()
    assert run("import", campaign, EXPECTED / "events.jsonl") == 0
    assert "227 events added" in capsys.readouterr().out
    assert printed(capsys, "adjudicate", campaign, "--all") == expected("disputes.json")
