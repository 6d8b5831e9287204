"""No circle of imports among modules, those inside functions and those for type checkers counted."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

KNOWN: frozenset[frozenset[str]] = frozenset()
"""Circles that are still to be mended, each as the set of its modules. A test fails for one that is mended."""


def module_of(file: Path) -> str:
    """`src/summeter/meta/gold.py` -> `summeter.meta.gold`; a package is its `__init__`."""
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def files() -> dict[str, Path]:
    """Every module with its file."""
    return {module_of(file): file for file in sorted((SOURCE / "summeter").rglob("*.py"))}


def imports(module: str, file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of summeter that a module names in imports, wherever they stand in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
                above = package[: len(package) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            # `from package import module` is an import of the module, and of the package only for its other names.
            named = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in known else base for name in named]
        else:
            continue
        yield from (name for name in names if name in known and name != module)


def circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module (Tarjan, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            module, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in stack:
                    low[module] = min(low[module], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == index[module]:
                    members = frozenset(stack[stack.index(module) :])
                    del stack[stack.index(module) :]
                    if len(members) > 1:
                        found.add(members)
    return found


def import_graph() -> dict[str, set[str]]:
    known = files()
    return {module: set(imports(module, file, known)) for module, file in known.items()}


def test_no_circle_of_imports() -> None:
    found = circles(import_graph())
    assert sorted(map(sorted, found - KNOWN)) == [], "new circles"
    assert sorted(map(sorted, KNOWN - found)) == [], "mended: take these from KNOWN"


def test_a_circle_is_found(tmp_path: Path) -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}
    assert circles({"a": {"b"}, "b": set(), "c": {"a", "b"}}) == set()
    file = tmp_path / "late.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from summeter.meta import gold\n\n\n"
        "def late():\n    import summeter.stats\n"
    )
    known = dict.fromkeys(("summeter.meta", "summeter.meta.gold", "summeter.stats"), file)
    assert sorted(imports("summeter.late", file, known)) == ["summeter.meta.gold", "summeter.stats"]


ROOMS = ("meta", "pages", "annotate", "report")


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_that_never_import_models(room: str) -> None:
    code = f"import sys, summeter.{room}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    loaded = [name for name in result.stdout.split() if name.startswith(("summeter.models", "summeter.evaluators"))]
    assert loaded == []
