"""Run the notebooks in examples/notebooks, and store their outputs in them.

    python scripts/notebooks.py [NOTEBOOK...]

A test runs them too, and compares their outputs with the stored ones. Files that they write are in a temporary folder.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "notebooks"
FORMS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
"""The methods that return a result in a format that notebooks show."""


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells, which are run in order in the working directory."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            found = outputs("".join(cell["source"]), names, number)
            cells.append({**cell, "execution_count": number, "outputs": found})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def outputs(code: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell, and return what it prints and the value of its last expression."""
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value)} | {
            form: getattr(value, method)() for form, method in FORMS.items() if hasattr(value, method)
        }
        shown = {form: text.splitlines(keepends=True) for form, text in data.items() if text is not None}
        found.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown})
    return found


def run(file: Path) -> dict[str, Any]:
    """Return the notebook in a file with the outputs of its cells, run in a temporary folder beside the examples."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(FOLDER.parent)
        os.chdir(folder)
        try:
            return executed(json.loads(file.read_text(encoding="utf-8")))
        finally:
            os.chdir(before)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]) if sys.argv[1:] else sorted(FOLDER.glob("*.ipynb")):
        found = run(file.resolve())
        file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(file)
