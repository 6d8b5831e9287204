"""Fixtures every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Tests read tables unfolded; tests of folding set a narrower terminal.
os.environ["COLUMNS"] = "250"

# A busy machine is no failure, and a suite that must pass tries the same examples every time.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")

ROOT = Path(__file__).resolve().parent.parent


LARGE = ("adapters", "cluster", "local", "neural")
"""Folders of tests that import large packages, each named as its marker."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import tests that the marker expression leaves out anyway."""
    name = collection_path.name
    return True if name in LARGE and f"not {name}" in config.option.markexpr else None


@pytest.fixture(scope="session", autouse=True)
def _unsynced() -> Iterator[None]:
    """Leave files to the operating system: no test cuts the power, and a disk may take longer than the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real annotated data beside the checkout; the test skips, visibly, where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("needs ../shared/data, which is not here")
    return folder


@pytest.fixture(scope="session")
def example(root: Path) -> Path:
    """The bundled example's flat rows."""
    return root / "examples" / "nine_domains" / "summaries.jsonl"
