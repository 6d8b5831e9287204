"""Run the commands and the Python code of docs/data.md, and compare their output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from data.hub_cache import fill
from pages import carry_out


def steady(text: str) -> str:
    """Return the text without hashes that depend on the version of the splitter."""
    return re.sub(r"rules-\d+", "rules-N", re.sub(r"(hash )?\b[0-9a-f]{12}\b", "H", text))


def same(command: str, printed: str, expected: str) -> None:
    shown = expected.removesuffix("...\n")
    assert steady(printed if shown == expected else printed[: len(shown)]) == steady(shown), command


def test_examples_of_the_page(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="needs huggingface_hub (extra `hub`), which is not here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")  # put back afterwards: `--offline` sets it
    page = (root / "docs" / "data.md").read_text("utf-8")
    rows = page.partition("```jsonl\n")[2].partition("```")[0]
    fill(tmp_path / "hub", "example/mill", {"README.md": "---\nlicense: cc0-1.0\n---\n", "test.jsonl": rows})
    carry_out(root / "docs" / "data.md", same)
