"""docs/studies.md is up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_page_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "studies_page.py"))["page"]()
    assert (ROOT / "docs" / "studies.md").read_text(encoding="utf-8") == made, "run python scripts/studies_page.py"
    assert "| `resamples` | `--resamples` | `1000` |" in made
    assert "| `judgment_set` | `--judgment-set` | `human.raw` |" in made
