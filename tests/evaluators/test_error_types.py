"""`error_types`: the labels of a classifier as error types of sentences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, judge

from summeter.evaluators.error_types import ErrorTypes
from summeter.models.networks import Classify, FindLabels, Labels
from summeter.records import Document, Judgment, UsageError

NAMES = ("NoE", "EntE", "OutE")
LOGITS = {"It rained.": (2.0, -1.0, -2.0), "Ana left.": (-2.0, 1.0, 0.5), "Ben slept.": (-1.0, -2.0, -3.0)}


def judgments(labels: Labels, *, limit: int = 512) -> list[Judgment]:
    network = FakeNetwork(
        {FindLabels: lambda _: labels, Classify: lambda request: np.array(LOGITS[request.texts[1]])}, limit=limit
    )
    document = Document(id="d", text="It rained all day in the valley.")
    (rows,) = judge(ErrorTypes(), document, " ".join(LOGITS), error_types=network)
    return rows


def test_multi_label_types() -> None:
    rows = judgments(Labels(NAMES, several=True))
    assert [(row.target.index, row.label, row.value, row.error_type) for row in rows] == [
        (0, 1, 1.0, "no error"),
        (1, 0, 0.0, "entity error+out-of-context error"),
        (2, 1, 1.0, "no error"),
    ]
    assert [row.confidence for row in rows] == pytest.approx([1 / (1 + math.exp(-x)) for x in (2.0, 0.5, -1.0)])


def test_single_label_types() -> None:
    rows = judgments(Labels(NAMES, several=False))
    assert [row.error_type for row in rows] == ["no error", "entity error", "no error"]
    shares = np.exp([-2.0, 1.0, 0.5])
    assert rows[1].confidence == pytest.approx(shares[1] / shares.sum())
    assert rows[1].reason == "entity error (probability 0.60)"


def test_invalid_labels_are_errors() -> None:
    with pytest.raises(UsageError, match="has the labels entailment, neutral; error_types needs error types"):
        judgments(Labels(("entailment", "neutral"), several=False))
