"""Messages name parameters in Python and options on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import summeter
from summeter.cli.main import main
from summeter.records import UsageError

ROW = {"document": "It rained.", "summary": "It rained."}


def call(evaluators: list[str], columns: dict[str, str] | None, options: dict[str, Any]) -> None:
    summeter.evaluate(summeter.load("here.jsonl", map=columns), evaluators, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "python", "command"),
    [
        (["-e", "rts"], {}, "with models={'judge': 'PROVIDER/MODEL'}", "with -m judge=PROVIDER/MODEL"),
        (["--map", "docment=a"], {}, "map={'docment': 'a'}: unknown field", "--map docment=a: unknown field"),
        (["-e", "rts", "-m", "openai/none-such", "--max-cost", "1"], {"models": "openai/none-such", "max_cost": 1.0},
         "max_cost needs all prices", "--max-cost needs all prices"),
        (["-o", "here.jsonl"], {"out": "here.jsonl"}, "Choose another out", "Choose another -o"),
    ],
)  # fmt: skip
def test_a_message_names_the_parameter_or_the_option(
    arguments: list[str], options: dict[str, Any], python: str, command: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("here.jsonl").write_text(json.dumps(ROW) + "\n")
    evaluators = ["rts"] if "rts" in arguments else ["support"]
    columns = {"docment": "a"} if "--map" in arguments else None
    with pytest.raises(UsageError) as caught:
        call(evaluators, columns, options)
    assert python in str(caught.value)
    with pytest.raises(SystemExit) as end:
        main(["score", "here.jsonl", *arguments])
    assert end.value.code == 2
    assert command in capsys.readouterr().err
