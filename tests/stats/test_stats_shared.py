"""The statistics on the real annotated sets, against the figures recomputed or published for them."""

import gzip
import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from summeter.stats import correlate, correlation_by_group, krippendorff_alpha, ppi_mean

pytestmark = pytest.mark.shared


@cache
def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def figures(folder: Path) -> dict[tuple[str, str], float]:
    entries = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["entries"]
    return {(entry["dataset"], entry["statistic"]): entry["recomputed"] for entry in entries}


def matrix(cells: list[dict[str, float]]) -> list[list[float | None]]:
    raters = sorted({rater for cell in cells for rater in cell})
    return [[cell.get(rater) for cell in cells] for rater in raters]


@pytest.mark.parametrize("name", ["qags_cnndm", "qags_xsum"])
def test_qags_sentence_labels(shared: Path, name: str) -> None:
    data = shared / "data"
    cells = [cell for row in rows(data / f"{name}.jsonl.gz") for cell in row["human"]["sentence_labels"]]
    got = krippendorff_alpha(matrix(cells))
    want = figures(data)[name, "Krippendorff alpha, sentence labels, nominal"]
    assert round(got.value, 4) == want


@pytest.mark.parametrize("aspect", ["coherence", "consistency", "fluency", "relevance"])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_dialsummeval_ratings(shared: Path, aspect: str, level: str) -> None:
    data = shared / "data"
    cells = [row["human"]["ratings"][aspect] for row in rows(data / "dialsummeval.jsonl.gz")]
    want = figures(data)["dialsummeval", f"Krippendorff alpha {aspect} {level}, 3 campus annotators"]
    assert round(krippendorff_alpha(matrix(cells), level).value, 4) == want


@pytest.mark.parametrize("aspect", ["coherence", "consistency", "fluency", "relevance"])
def test_dialsummeval_crowd_is_useless(shared: Path, aspect: str) -> None:
    data = shared / "data"
    cells = [row["human"]["ratings"][aspect] for row in rows(data / "dialsummeval_amt.jsonl.gz")]
    got = krippendorff_alpha(matrix(cells), "interval")
    want = figures(data)["dialsummeval_amt", f"Krippendorff alpha {aspect} interval, 283 AMT workers"]
    assert round(got.value, 4) == want
    assert got.details["raters"] == 283


def test_realsumm_key_facts(shared: Path) -> None:
    data = shared / "data"
    cells = [cell for row in rows(data / "realsumm.jsonl.gz") for cell in row["human"]["key_fact_labels"]]
    want = figures(data)["realsumm", "Krippendorff alpha nominal, key-fact labels"]
    assert round(krippendorff_alpha(matrix(cells)).value, 4) == want


@pytest.mark.parametrize(
    "metric", ["bert_recall_score", "mover_score", "rouge_1_recall", "rouge_2_recall", "rouge_l_recall", "js-2"]
)
def test_realsumm_published_kendall(shared: Path, metric: str) -> None:
    """The REALSumm notebook: mean tau-b per document over those with p <= .05, abs_bart scored as ext_bart."""
    data = shared / "data"
    gold = {
        (row["doc_id"], row["system"]): row["human"]["overall"]["completeness"]
        for row in rows(data / "realsumm.jsonl.gz")
    }
    scores = {
        (row["doc_id"], row["system"]): row["value"]
        for row in rows(data / "realsumm.scores.jsonl.gz")
        if row["evaluator"] == metric
    }
    keys = sorted(scores)
    people = [gold[doc, "ext_bart_out" if system == "abs_bart_out" else system] for doc, system in keys]
    machine = [scores[key] for key in keys]
    found = correlation_by_group(machine, people, [doc for doc, _ in keys], "kendall_b")
    values = [got.value for got in found.values() if got.p is not None and got.p <= 0.05]
    statistic = f"REALSumm notebook: mean per-document Kendall tau {metric} vs litepyramid, only documents with p<=.05"
    assert round(float(np.mean(values)), 6) == figures(data)["realsumm", statistic]


def test_dialsummeval_stored_metrics(shared: Path) -> None:
    """Every stored metric correlation: human = the majority of three if two agree, else their mean."""
    data = shared / "data"
    people: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows(data / "dialsummeval.jsonl.gz"):
        for aspect, cell in row["human"]["ratings"].items():
            value, times = Counter(cell.values()).most_common(1)[0]
            merged = value if times >= 2 else sum(cell.values()) / 3
            people[aspect][row["doc_id"], row["system"]] = merged
    machine: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows(data / "dialsummeval.scores.jsonl.gz"):
        machine[row["evaluator"]][row["doc_id"], row["system"]] = row["value"]
    checked = 0
    for (dataset, statistic), want in figures(data).items():
        kind, *rest = statistic.split()
        if dataset != "dialsummeval" or kind not in ("summary_pearson", "system_pearson"):
            continue
        metric, aspect = rest
        keys = sorted(people[aspect])
        y, x = [people[aspect][key] for key in keys], [machine[metric].get(key) for key in keys]
        if kind == "summary_pearson":
            by_document = correlation_by_group(x, y, [doc for doc, _ in keys]).values()
            got = np.mean([one.value for one in by_document if one.value is not None])
        else:
            systems = sorted({system for _, system in keys})
            means = [
                [np.mean([v for v, (_, s) in zip(column, keys, strict=True) if s == system]) for system in systems]
                for column in (np.array(x, dtype=float), y)
            ]
            got = correlate(*means).value
        assert round(got, 4) == want, statistic
        checked += 1
    assert checked >= 32


def test_prediction_powered_intervals_cover_on_real_judgments(shared: Path) -> None:
    """All 1,400 summaries are the population, a stored metric the machine, 60 random human labels the sample."""
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
        hits += got.low <= people.mean() <= got.high
        narrower += got.high - got.low < got.human_high - got.human_low
    # 400 intervals at 95 % have a standard deviation of 1.1 points.
    assert 0.915 <= hits / 400 <= 0.985
    assert narrower > 300
