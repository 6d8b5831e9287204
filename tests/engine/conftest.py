"""Fixtures of every engine test: a key for stub servers, a separate configuration folder, fresh counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.judges import calls


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STUB_API_KEY", "sk-secret-stub")
    for vendor in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{vendor}_API_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path.parent / "config"))
    calls.clear()
