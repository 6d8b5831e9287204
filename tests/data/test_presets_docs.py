"""The table of presets in docs/presets.md."""

from __future__ import annotations

from pathlib import Path

from summeter.data.presets import PRESETS
from summeter.data.presets.base import Preset


def line(preset: Preset) -> str:
    """Return the row of a preset in the table."""
    counts = "; ".join(map(str, preset.counts))
    cells = (f"`{preset.name}`", preset.about, preset.needs, preset.gives, counts or "-", preset.terms)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def test_table_lists_all_presets(root: Path) -> None:
    page = (root / "docs" / "presets.md").read_text(encoding="utf-8").splitlines()
    start = page.index("| preset | content | files | fields | size | licence |") + 2
    table = page[start : page.index("", start)]
    assert table == [line(preset) for preset in PRESETS.values()]
