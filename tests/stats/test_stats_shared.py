"""Statistics on real annotated datasets."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from summeter.stats import ppi_mean

pytestmark = pytest.mark.shared


@cache
def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_prediction_powered_intervals_cover_on_real_judgments(shared: Path) -> None:
    """The population are 1,400 summaries, the machine a stored metric, and the sample 60 random human labels."""
    data = shared / "data"
    human = [
        float(np.mean(list(row["human"]["ratings"]["relevance"].values())))
        for row in rows(data / "dialsummeval.jsonl.gz")
    ]
    keys = [(row["doc_id"], row["system"]) for row in rows(data / "dialsummeval.jsonl.gz")]
    stored = {
        (row["doc_id"], row["system"]): row["value"]
        for row in rows(data / "dialsummeval.scores.jsonl.gz")
        if row["evaluator"] == "rouge-1"
    }
    people, machine = np.array(human), np.array([stored[key] for key in keys])
    rng = np.random.default_rng(0)
    hits, narrower = 0, 0
    for _ in range(400):
        sample = rng.choice(len(people), 60, replace=False)
        known = np.full(len(people), np.nan)
        known[sample] = people[sample]
        got = ppi_mean(known, machine)
        hits += got.estimate.low <= people.mean() <= got.estimate.high
        narrower += got.narrower < 1
    # 400 intervals at 95 % have a standard deviation of 1.1 points.
    assert 0.915 <= hits / 400 <= 0.985
    assert narrower > 300
