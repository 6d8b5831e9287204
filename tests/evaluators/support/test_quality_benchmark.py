"""Tests of the benchmark that writes reports/quality.md."""

import subprocess
import sys
from importlib import util

import numpy as np
import pytest

from summeter.evaluators.support.scorer import LexicalScorer


@pytest.fixture(scope="module")
def quality(root):
    spec = util.spec_from_file_location("quality_benchmark", root / "benchmarks" / "quality.py")
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_majority_label(quality):
    assert quality.majority({"a": 1, "b": 1, "c": 0}) == 1
    assert quality.majority({"a": 1, "b": 0}) == 0  # a tie is an error
    assert quality.majority({"a": 1, "b": None}) == 1
    assert quality.majority({"a": None}) is None
    assert quality.majority(1) == 1
    assert quality.majority(None) is None


def test_bootstrap_resamples_documents_with_a_fixed_seed(quality):
    units = [quality.LabelledClaim(0, f"d{i // 2}", "", i % 2) for i in range(20)]
    case = quality.Case("x", [], units)
    labels = np.array([unit.label for unit in units], dtype=float)
    columns = np.column_stack([labels, 1 - labels])
    drawn = quality.gaps(case, columns, labels)
    # every document holds one unit of each label, so each draw separates perfectly
    assert (drawn[:, 0] == 1).all()
    assert (drawn[:, 1] == 0).all()
    assert np.array_equal(drawn, quality.gaps(case, columns, labels))


def test_missing_data_is_an_error(root, tmp_path):
    completed = subprocess.run(
        [sys.executable, str(root / "benchmarks" / "quality.py"), "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 2
    assert "nothing was measured" in completed.stderr
    assert completed.stdout == ""


def test_report_has_the_scorer_id(root):
    page = (root / "reports" / "quality.md").read_text(encoding="utf-8")
    assert LexicalScorer().id in page
