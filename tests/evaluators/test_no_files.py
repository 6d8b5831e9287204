"""Evaluators open no files or sockets: weights, clients and templates come from `Tools` and lower packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

OPENERS = frozenset({"open", "read_text", "read_bytes", "write_text", "write_bytes", "load_session", "memmap"})
MODULES = frozenset({"socket", "ssl", "http", "urllib", "aiohttp", "requests", "sqlite3", "importlib.resources", "io"})


def openings(file: Path) -> Iterator[str]:
    """Return the calls of a module that open something, as "file:line: call"."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            name = (
                called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
            )
            if name in OPENERS:
                yield f"{file.name}:{node.lineno}: {name}()"
        elif isinstance(node, ast.Import):
            yield from (f"{file.name}:{node.lineno}: {name.name}" for name in node.names if name.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield f"{file.name}:{node.lineno}: {node.module}"


def test_the_check_detects_open(tmp_path: Path) -> None:
    file = tmp_path / "judge.py"
    file.write_text("import socket\nfrom pathlib import Path\nrows = Path('x').read_text()\nopen('y')\n", "utf-8")
    assert list(openings(file)) == ["judge.py:1: socket", "judge.py:3: read_text()", "judge.py:4: open()"]


def test_evaluators_open_nothing(root: Path) -> None:
    files = sorted((root / "src" / "summeter" / "evaluators").rglob("*.py"))
    assert len(files) > 40
    assert [place for file in files for place in openings(file)] == []
