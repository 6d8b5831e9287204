"""What a page of the documentation holds, and doing what it says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app

REFUSES = ("gate", "data validate")
"""Commands that pages show refusing something."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def commands(text: str) -> Iterator[tuple[str, str, str]]:
    """The commands of a console block: each, what it prints, what the page says that it prints."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        program, *words = shlex.split(command)
        assert program == "summeter"
        result = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
        refuses = " ".join(words).startswith(REFUSES)
        assert result.exit_code == 0 or refuses, f"{command}: {result.output} {result.exception}"
        yield command, result.stdout, expected


def python(text: str, page: str, names: dict[str, Any]) -> str:
    """What a block of Python prints, run with the names of the blocks before it."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("COLUMNS", "80")
        exec(compile(text, page, "exec"), names)
    return out.getvalue()


def carry_out(page: Path, check: Any) -> None:
    """Save the page's rows, run its commands and its Python, compare what it prints.

    `check(command, printed, expected)` compares a command's output.
    """
    text = page.read_text("utf-8")
    files = iter(re.findall(r"^.*\bthis as `([\w.]+)`:$", text, re.M))
    names: dict[str, Any] = {}
    printed = ""
    for language, block in BLOCK.findall(text):
        if language in {"jsonl", "csv", "toml", "yaml"}:
            Path(next(files)).write_text(block, encoding="utf-8")
        elif language == "console":
            for command, output, expected in commands(block):
                check(command, output, expected)
        elif language == "python":
            printed = python(block, page.name, names)
        elif language in {"", "text"}:
            assert printed == block
        else:
            assert language == "sh"


def section(page: str, heading: str) -> str:
    """The part of a page under a heading of level 2."""
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def options_missing(page: str, command: str) -> list[str]:
    """Options that the section of a study's command names, and the command does not have."""
    done = CliRunner().invoke(app, ["meta", command, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    named = re.findall(r"`(--[a-z-]+)", section(page, command))
    assert named
    return [option for option in named if option not in done.output]
