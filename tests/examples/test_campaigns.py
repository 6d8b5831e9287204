"""Each task type has an example campaign file that builds a campaign."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.tasks import TASK_TYPES
from summeter.cli.main import app

FOLDER = Path(__file__).parents[2] / "examples" / "campaigns"


def test_every_task_type_has_a_file() -> None:
    assert {file.stem for file in FOLDER.glob("*.yaml")} == set(TASK_TYPES)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_file_builds_a_campaign(file: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["annotate", "new", str(file), "-o", str(tmp_path / "made")])
    assert result.exit_code == 0, result.output
    made = CampaignFolder(tmp_path / "made")
    assert made.campaign.task_type == file.stem
    assert made.tasks.work


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["annotate", "new", str(tmp_path / "none.yaml"), "-o", str(tmp_path / "made")])
    assert result.exit_code != 0
    assert not (tmp_path / "made").exists()
