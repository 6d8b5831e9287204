"""The commands of campaigns."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.cli.main import main


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main(["annotate", *map(str, arguments)])
    return int(end.value.code or 0)


def test_commands_from_campaign_file_to_judgments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.make(tmp_path, answers_per_item=1)
    with CampaignService(folder) as service:
        while made.do_batch(service, "anna"):
            pass
    other = tmp_path / "second"
    assert run("new", tmp_path / "plan.yaml", "-o", other) == 0
    printed = capsys.readouterr()
    assert "12 tasks of fact_verification, 1 answers each; 3 attention checks" in printed.out
    assert "note: an annotator sees at most about 3.0 attention checks" in printed.err
    assert run("status", folder.folder) == 0
    assert "12 of 12 answers, 12 of 12 tasks complete" in capsys.readouterr().out
    assert run("status", folder.folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)["status"]["complete_items"] == 12
    asked = ["--events", tmp_path / "e.jsonl", "--submissions", tmp_path / "p.csv", "--study", tmp_path / "s.json",
             "--data", tmp_path / "out"]  # fmt: skip
    assert run("export", folder.folder, *asked) == 0
    assert "12 judgments written" in capsys.readouterr().out
    assert json.loads((tmp_path / "s.json").read_text())["completion_codes"]["completed"]
    assert run("import", other, tmp_path / "e.jsonl") == 0
    assert run("export", other, "--events", tmp_path / "f.jsonl") == 0
    assert (tmp_path / "e.jsonl").read_bytes() == (tmp_path / "f.jsonl").read_bytes()


def test_a_new_campaign_has_a_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.make(tmp_path)
    assert run("status", folder.folder, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["status"]["counted"], found["status"]["people"]) == ([], 0, 0)
    assert found["status"]["needed"] > 0
    for command in (["status"], ["status", "--quick"], ["export"], ["adjudicate"]):
        assert run(command[0], folder.folder, *command[1:]) == 0


def test_a_used_port_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.make(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run("serve", folder.folder, "--port", port) == 2
    assert f"cannot listen on 127.0.0.1, port {port}:" in capsys.readouterr().err


def test_help_imports_no_heavy_modules() -> None:
    code = ("import sys; from summeter.cli.main import app; "
            "sys.exit(bool({'sqlalchemy', 'alembic', 'aiohttp'} & set(sys.modules)))")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_status_fits_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = made.make(tmp_path, platform={"name": "prolific"}, assistance={"hide_for": 0.5, "similar": None})
    with CampaignService(folder) as service:
        scripts = crowd(folder, [Profile()] * 6, Gold())
        simulate(service, scripts)
        for script in scripts[:2]:
            service.exclude(script.annotator, "to see it", by="test")
    capsys.readouterr()
    assert run("status", folder.folder) == 0
    said = capsys.readouterr().out.splitlines()
    assert max(map(len, said)) <= 80
    assert sum("excluded" in line and "prolific-" in line for line in said) == 2


def test_a_damaged_campaign_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, other = made.make(tmp_path / "a").folder, made.make(tmp_path / "b", made.rows(2)).folder
    log, tasks = folder / "events.sqlite", folder / "tasks.jsonl"
    kept = log.read_bytes(), tasks.read_bytes()

    def refused(file: Path, content: bytes | None, *command: object) -> None:
        file.unlink() if content is None else file.write_bytes(content)
        assert run(*command) == 2
        assert file.name in capsys.readouterr().err
        log.write_bytes(kept[0])
        tasks.write_bytes(kept[1])

    refused(log, None, "status", folder)
    refused(log, b"not a database at all, but long enough to look like one" * 20, "status", folder)
    for command in (["status"], ["export"], ["import", tmp_path / "a" / "plan.yaml"]):
        refused(log, (other / "events.sqlite").read_bytes(), command[0], folder, *command[1:])
    refused(tasks, b"", "serve", folder)
    refused(tasks, None, "status", folder)
    assert run("new", tmp_path / "a" / "plan.yaml", "-o", folder) == 2
    assert (log.read_bytes(), tasks.read_bytes()) == kept


def test_a_missing_extra_is_reported_with_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made.make(tmp_path)
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    assert run("serve", folder.folder, "--port", "0") == 2
    assert "pip install 'summeter[annotate]'" in capsys.readouterr().err
