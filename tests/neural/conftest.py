"""Tests that run networks; they are skipped without torch."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.neural)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small checkpoints of each architecture."""
    for needed in ("torch", "transformers", "onnxruntime", "onnx"):
        pytest.importorskip(needed, reason=f"needs {needed}: make neural")
    from neural import checkpoints

    root = tmp_path_factory.mktemp("networks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's exporter, which is no part of what is tested
        for kind in ("bert", "roberta", "deberta"):
            checkpoints.classifier(root / kind, kind)
        checkpoints.encoder(root / "encoder")
        checkpoints.mpnet(root / "mpnet")
        checkpoints.seq2seq(root / "t5", "t5")
        checkpoints.seq2seq(root / "t5-answers", "t5", answers=("▁Yes", "▁No", "▁1"))
        checkpoints.seq2seq(root / "bart", "bart")
        checkpoints.to_onnx(root / "bert", root / "onnx", "logits", quantised=True)
        checkpoints.to_onnx(root / "encoder", root / "onnx-encoder", "last_hidden_state")
    return root
