"""Each task type has an example campaign file that builds a campaign."""

from __future__ import annotations

import json
import subprocess
import sys
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


def test_the_command_of_the_image_serves_a_campaign(tmp_path: Path) -> None:
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    command = json.loads(text.rpartition("ENTRYPOINT ")[2])
    assert command[:3] == ["summeter", "annotate", "serve"]
    assert f"EXPOSE {command[command.index('--port') + 1]}" in text
    assert f"VOLUME {command[3]}" in text
    made = tmp_path / "made"
    CliRunner().invoke(app, ["annotate", "new", str(FOLDER / "rating.yaml"), "-o", str(made)])
    words = [sys.executable, "-m", *command[:3], str(made), "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            assert any("http://" in line for line in server.stdout)
        finally:
            server.terminate()
