"""The commands `summeter audit injection` and `summeter audit sensitivity`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engine.judges import rows
from typer.testing import CliRunner

from summeter.cli.main import app


def test_each_setting_of_a_judge_has_a_table(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    judges = "support,support[max_key_facts=3],abstractiveness"
    command = ["audit", "injection", str(data), "-e", judges, "--sample", "1", "-o", str(tmp_path / "run")]
    lines = CliRunner().invoke(app, command).stdout.splitlines()
    heads = [line.split(":")[0] for line in lines if line.endswith(": faithfulness, by sentence")]
    assert sorted(heads) == ["support", "support[max_key_facts=3]"]


def test_the_default_seed_is_passed_to_models(tmp_path: Path) -> None:
    data, rules = tmp_path / "data.jsonl", tmp_path / "rules.jsonl"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    rules.write_text(json.dumps({"reply": {"stars": 3}}))
    command = ["audit", "injection", str(data), "-e", "stareval", "-m", f"scripted/{rules}", "--sample", "1"]
    done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0, done.output
    assert all("|seed:0|" in row["signature"] for row in json.loads(done.stdout)["rows"])


def test_a_run_with_its_study_and_pages_is_verified(tmp_path: Path) -> None:
    data, run = tmp_path / "data.jsonl", tmp_path / "run"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    command = ["audit", "injection", str(data), "-e", "support", "--sample", "1", "-o", str(run)]
    assert CliRunner().invoke(app, command).exit_code == 0
    page = ["report", str(run), "--study", str(run / "injection.json"), "-o", str(run / "audit.html")]
    assert CliRunner().invoke(app, page).exit_code == 0
    assert CliRunner().invoke(app, ["runs", "verify", str(run)]).exit_code == 0
    (run / "notes.txt").write_text("mine")
    assert CliRunner().invoke(app, ["runs", "verify", str(run)]).exit_code != 0


def test_planted_errors_on_the_command_line(tmp_path: Path) -> None:
    run, rules, table = tmp_path / "run", tmp_path / "rules.jsonl", tmp_path / "table.md"
    rules.write_text(json.dumps({"reply": {"stars": 3}}))
    command = ["audit", "sensitivity", "examples/nine_domains/summaries.jsonl", "--sample", "4"]
    judges = ["-e", "support", "-e", "stareval", "-m", f"scripted/{rules}"]
    done = CliRunner().invoke(app, [*command, *judges, "-o", str(run), "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {row["study"] for row in rows} == {"sensitivity"}
    assert {row["value"] for row in rows if row["judge"] == "stareval"} <= {0.0, None}
    number = next(row for row in rows if row["judge"] == "support" and row["details"]["kind"] == "number")
    assert number["value"] == 1
    item = number["details"]["items"][0]
    assert {"doc_id", "system", "source", "original", "changed", "marked", "before", "after"} <= set(item)
    assert CliRunner().invoke(app, ["runs", "verify", str(run)]).exit_code == 0
    assert CliRunner().invoke(app, [*command, "-e", "nobody", "-o", str(run)]).exit_code != 0
    with pytest.MonkeyPatch.context() as patch:
        data = str(Path(command[2]).resolve())
        patch.chdir(tmp_path)
        done = CliRunner().invoke(
            app, ["audit", "sensitivity", data, "-e", "support", "--sample", "2", "-o", str(table)]
        )
    assert done.exit_code == 0, done.output
    assert "support on faithfulness: " in table.read_text()
    assert (tmp_path / "runs" / "sensitivity" / "sensitivity.json").is_file()
