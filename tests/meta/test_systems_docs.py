"""docs/meta-systems.md does what it says: its commands run, and print what the page prints (or begins to print)."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def console(text: str) -> None:
    command, _, expected = text.removeprefix("$ ").partition("\n")
    words = shlex.split(command)
    assert words[0] == "summeter"
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0 or words[1] == "gate", result.output
    assert result.stdout.startswith(expected), command


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (root / "docs" / "meta-systems.md").read_text(encoding="utf-8")
    shutil.copytree(root / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    files = iter(re.findall(r"this as `([\w.]+)`:$", page, re.M))
    names: dict[str, Any] = {}
    printed = ""
    for language, text in BLOCK.findall(page):
        if language == "jsonl":
            Path(next(files)).write_text(text, encoding="utf-8")
        elif language == "console":
            console(text)
        elif language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, "docs/meta-systems.md", "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            assert printed == text
        else:
            assert language == "sh"
