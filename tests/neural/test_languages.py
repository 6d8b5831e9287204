"""Language detection of raw documents by py3langid (extra `build`): texts in other languages are dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from summeter.benchmark import run_step
from summeter.benchmark.raw.source import STEP, SourceSettings
from summeter.data.dataset import load

pytestmark = pytest.mark.neural

pytest.importorskip("py3langid")

ENGLISH = "The river rose quickly after the storm, and the mayor asked the families to leave their houses."
GERMAN = "Der Fluss stieg nach dem Sturm sehr schnell, und die Familien mussten ihre Häuser verlassen."


def test_texts_in_another_language_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "en.txt").write_text(ENGLISH, "utf-8")
    (tmp_path / "two" / "de.txt").write_text(GERMAN, "utf-8")
    settings = SourceSettings.model_validate({"sources": {"two": str(tmp_path / "two")}})
    manifest = run_step(STEP, None, tmp_path / "out", settings)
    data = load(tmp_path / "out")
    assert list(data.documents) == ["two/en"]
    assert data.documents["two/en"].extra["language"] == "en"
    assert manifest.dropped == {"document: not in the language en": 1}
    assert json.loads((tmp_path / "out" / "dropped.jsonl").read_text("utf-8"))["detail"] == "de"
    assert "py3langid" in manifest.versions
