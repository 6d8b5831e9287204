"""docs/data.md does what it says: its files are read, its commands and Python run, its output compared."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from summeter.cli.data import app

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def steady(text: str) -> str:
    """Without what changes with the splitter's version."""
    return re.sub(r"rules-\d+", "rules-N", re.sub(r"hash [0-9a-f]{12}", "hash H", text))


def console(text: str) -> None:
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        assert words[:2] == ["summeter", "data"]
        assert steady(CliRunner().invoke(app, words[2:]).stdout) == steady(expected), command


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (root / "docs" / "data.md").read_text(encoding="utf-8")
    files = iter(re.findall(r"^.*[Ss]ave this as `([\w.]+)`:$", page, re.M))
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
                exec(compile(text, "docs/data.md", "exec"), names)
            printed = out.getvalue()
        else:
            assert printed == text
