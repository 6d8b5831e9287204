"""Parity with the released code of AlignScore, MiniCheck, A3CU and Lite2Pyramid on our networks and texts.

benchmarks/parity/classified.py computed its results.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from neural import classified

CASES = classified.fixture()["cases"]


@pytest.mark.parametrize("name", list(CASES))
def test_the_released_code_gave_the_same(name: str, tmp_path: Path) -> None:
    for needed in ("torch", "transformers", "tokenizers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    theirs = np.array(CASES[name])
    made = np.array(classified.ours(name, classified.fixture(), tmp_path))
    assert made.shape == theirs.shape
    assert np.abs((made - theirs) / np.maximum(1, np.abs(theirs))).max() < 1e-6
    assert theirs.std() > 1e-3, "these scores would not tell a wrong one"


def test_every_paper_of_the_family_has_cases() -> None:
    names = [name.partition(" ")[0] for name in CASES]
    assert {name: names.count(name) for name in names} == {
        "alignscore": 6, "minicheck": 3, "a3cu": 1, "lite2pyramid": 4,
    }  # fmt: skip
