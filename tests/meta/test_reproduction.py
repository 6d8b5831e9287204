"""The cells of the reproduction by `scripts/reproduce_shen2023.py`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def script(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("reproduce_shen2023", root / "scripts" / "reproduce_shen2023.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cells(script: ModuleType, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    runs = script.read(shared / "data", "legacy", tmp_path_factory.mktemp("replies"))
    found = script.measure(runs)
    return list(script.compare(shared / "data", found, found))


@pytest.mark.shared
def test_every_cell_marked_match_agrees_to_the_printed_digit(cells: list[Any]) -> None:
    lost = [cell.key for cell in cells if cell.expected and not cell.agrees]
    assert lost == []
    assert len(cells) == 776
    assert sum(cell.agrees for cell in cells) == 771


@pytest.mark.shared
def test_every_cell_is_the_value_recomputed_elsewhere(cells: list[Any], shared: Path) -> None:
    printed = json.loads((shared / "data" / "shen2023.expected.json").read_text(encoding="utf-8"))["cells"]
    for cell, one in zip(cells, printed, strict=True):
        assert cell.value == pytest.approx(one["recomputed"], abs=6e-7), cell.key


@pytest.mark.shared
def test_the_page_holds_these_numbers(cells: list[Any], script: ModuleType, root: Path) -> None:
    page = (root / "reports" / "reproduction.md").read_text(encoding="utf-8")
    assert "**771 of 776 cells agree.**" in page
    for table in script.TITLES:
        section = page.partition(f"### {script.TITLES[table]}\n")[2].partition("\n### ")[0]
        for cell in cells:
            if cell.key[0] == table:
                start = f"| {cell.key[1]} | {cell.key[2]} | {cell.paper:g} | {script._shown(cell.value)} | "
                assert start + ("yes |" if cell.agrees else "**no** |") in section


def test_rounding_is_the_papers(script: ModuleType) -> None:
    # Two digits, a half going up, although 4.205 and 3.0875 lie just beside it in binary; three digits elsewhere.
    assert [script.rounded("25", value) for value in (4.205, 3.0875, 2.345, 1.0)] == ["4.21", "3.09", "2.35", "1.00"]
    assert [script.rounded("6", value) for value in (-0.0004, 0.34965, -0.121212)] == ["0.000", "0.350", "-0.121"]
