"""Parity with the packages fenice, summac and bert-score on our network and texts.

`parity.json` contains the texts and the packages' results with their versions, computed by
benchmarks/parity/packages.py, each package in its own environment.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from neural import parity

CASES = parity.fixture()["cases"]


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network of both sides."""
    for needed in ("torch", "transformers", "safetensors", "tokenizers"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    told = parity.fixture()["tasks"]
    return parity.network(tmp_path_factory.mktemp("parity") / "net", parity.texts(told))


@pytest.mark.parametrize("name", list(CASES))
def test_the_package_gave_the_same(name: str, network: Path, tmp_path: Path) -> None:
    case = CASES[name]
    made = parity.ours(case, parity.fixture()["tasks"][case["task"]], network, tmp_path)
    assert len(parity.flat(made)) == len(parity.flat(case["scores"]))
    assert np.abs(np.array(parity.flat(made)) - np.array(parity.flat(case["scores"]))).max() < 1e-5
    assert np.std(parity.flat(case["scores"])) > 1e-3, "these scores would not tell a wrong one"
