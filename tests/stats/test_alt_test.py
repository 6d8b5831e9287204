"""The alternative annotator test and the corrected rate, against hand-worked and published figures."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from summeter.stats.alt_test import alt_test, balance, benjamini_yekutieli, wins
from summeter.stats.prevalence import effective_size, rogan_gladen

HELD = np.nan


def test_wins_by_hand() -> None:
    """Item 1: the judge agrees with both others of each; item 2: with none; item 3 has a single annotator.

    Against ann (1) and ben (1), the judge (0) has 0 on item 2, and cat (0) has 0 too, a tie that both win; against ann
    and cat, ben has 0.5 and the judge 0.5.
    """
    got = wins([1, 0, 1], [[1, 1, 1], [1, 1, HELD], [1, 0, HELD]])
    assert np.array_equal(got.judge, [[1, 1, HELD], [1, 1, HELD], [1, 1, HELD]], equal_nan=True)
    assert np.array_equal(got.person, [[1, 1, HELD], [1, 1, HELD], [1, 1, HELD]], equal_nan=True)
    # Judge 3 against 4 and 2: root mean square 1; ann 5 against the same: sqrt((1 + 9) / 2); only the judge wins.
    rated = wins([3], [[5], [4], [2]], "neg_rmse")
    assert rated.judge[0, 0] == 1
    assert rated.person[0, 0] == 0
    alone = wins([1, 0], [[1, 1], [0, 1]], expert=[1, 1])
    assert alone.judge.tolist() == [[1, 0], [1, 0]]
    assert alone.person.tolist() == [[1, 1], [0, 1]]
    similar = wins([3], [[5], [4], [2]], lambda first, second: -abs(first - second))
    assert similar.judge.tolist() == [[1], [1], [1]]


def test_the_correction_of_several_tests_by_hand() -> None:
    """With three tests the limits are k * 0.05 / (3 * 11 / 6): 0.00909, 0.01818 and 0.02727."""
    assert benjamini_yekutieli([0.02, 0.027, 0.005], 0.05).tolist() == [True, True, True]
    assert benjamini_yekutieli([0.02, 0.028, 0.005], 0.05).tolist() == [False, False, True]


def test_the_test_by_hand() -> None:
    """d has 40 times 0 and 10 times 1: mean 0.2, variance 0.1633; epsilon 0.3 gives t = -0.1 / 0.05714 = -1.75."""
    won = wins([0] * 10 + [1] * 40, [[1] * 50, [1] * 50])
    got = alt_test(won, 0.3)
    ann = got.annotators[0]
    assert (ann.judge, ann.person, ann.n, ann.test) == (0.8, 1.0, 50, "t")
    assert ann.error == pytest.approx(math.sqrt(0.16 * 50 / 49 / 50))
    assert ann.p == pytest.approx(0.0432, abs=1e-4)
    assert got.winning_rate == 0.0  # the limit of two equal p-values is 2 * 0.05 / (2 * 1.5) = 0.0333
    assert alt_test(won, 0.3, 0.1).winning_rate == 1.0
    assert got.advantage == 0.8
    # No variance: a tie everywhere passes at any epsilon above 0, and not at 0.
    same = wins([1] * 50, [[1] * 50, [1] * 50])
    assert (alt_test(same, 0.1).winning_rate, alt_test(same, 0.0).winning_rate) == (1.0, 0.0)
    few = alt_test(wins([1] * 20, [[1] * 20, [1] * 20]), 0.1)
    assert few.annotators[0].test == "wilcoxon"
    assert few.winning_rate == 1.0
    assert alt_test(wins([1] * 20, [[1] * 20]), 0.1).reason


def test_clusters_and_weights() -> None:
    """Fifty items in five documents with equal differences are five observations."""
    judge = np.repeat([0, 1, 1, 1, 1], 10)
    won = wins(judge, np.ones((2, 50)))
    clustered = alt_test(won, 0.3, clusters=np.repeat(np.arange(5), 10), fewest=5).annotators[0]
    assert clustered.error == pytest.approx(math.sqrt(0.16 / 4))
    # A constant judge on labels of which 90 % are 1, with people who agree: it ties on 90 items and loses 10.
    people = np.tile(np.repeat([1.0, 0.0], [90, 10]), (3, 1))
    constant = wins(np.ones(100), people)
    assert alt_test(constant, 0.2).passed
    weights = balance(people)
    assert weights is not None
    assert weights[0, [0, -1]].tolist() == pytest.approx([100 / 90, 10])
    balanced = alt_test(constant, 0.2, weights=weights)
    assert balanced.annotators[0].judge == pytest.approx(0.5)
    assert not balanced.passed
    # 100 (0.03015 (1.9217 + 0.8416) / 0.05)^2, with the corrected level 0.05 / (1 + 1/2 + 1/3)
    assert alt_test(constant, 0.15).growth_needed(0.8) == 2.78


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((0.5, 10_000, 0.9, 5000, 0.9, 5000), (0.5, 0.48571, 0.51429)),  # of the authors' program
        ((0.7, 200, 0.9, 50, 0.8, 50), (0.71429, 0.58422, 0.86393)),
    ],
)
def test_the_corrected_rate_equals_published_figures(counts: tuple[float, ...], expected: tuple[float, ...]) -> None:
    got = rogan_gladen(*counts)
    assert (got.value, got.low, got.high) == pytest.approx(expected, abs=5e-6)


def test_a_rate_that_cannot_be_corrected() -> None:
    assert "better than chance" in (rogan_gladen(1.0, 100, 1.0, 60, 0.0, 40).reason or "")
    assert "no labelled item is 0" in (rogan_gladen(0.5, 100, 1.0, 60, 0.0, 0).reason or "")
    assert effective_size(np.repeat([1.0, 0.0, 1.0, 0.0], 25), np.repeat([0, 1, 2, 3], 25)) == pytest.approx(3)


def test_intervals_of_the_corrected_rate_cover_at_95_percent() -> None:
    """2,000 intervals at 95 % have a standard deviation of 0.5 points."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(2000):
        positives = rng.binomial(150, 0.4)
        hits, rejections = rng.binomial(positives, 0.85), rng.binomial(150 - positives, 0.75)
        said = rng.binomial(800, 0.4 * 0.85 + 0.6 * 0.25)
        got = rogan_gladen(
            said / 800, 800, hits / positives, positives, rejections / (150 - positives), 150 - positives
        )
        assert got.low is not None
        assert got.high is not None
        covered += got.low <= 0.4 <= got.high
    assert 0.93 <= covered / 2000 <= 0.97


@pytest.mark.shared
def test_the_test_on_real_judgments_equals_its_definition(shared: Path) -> None:
    """ChatGPT's stars (Shen et al., 2023) and three experts, by a literal reading of Calderon et al. (2025)."""
    from scipy.stats import ttest_1samp

    def lines(name: str) -> list[dict]:
        with gzip.open(shared / "data" / name, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    stars = {
        (row["doc_id"], row["system"]): float(found.group())
        for row in lines("shen2023.outputs.jsonl.gz")
        if row["evaluator"] == "rts" and row["aspect"] == "relevance" and (found := re.search(r"[1-5]", row["output"]))
    }
    rows = [row for row in lines("shen2023.jsonl.gz") if (row["doc_id"], row["system"]) in stars]
    judge = [stars[row["doc_id"], row["system"]] for row in rows]
    people = [[float(row["human"]["ratings"]["relevance"][f"expert{j}"]) for row in rows] for j in (1, 2, 3)]
    p_values, advantages = [], []
    for j in range(3):
        others = [people[k] for k in range(3) if k != j]
        scored = [
            [-math.sqrt(sum((vote - other[i]) ** 2 for other in others) / 2) for i, vote in enumerate(votes)]
            for votes in (judge, people[j])
        ]
        f, h = (np.array(side).round(10) for side in scored)
        d = (h >= f).astype(float) - (f >= h).astype(float)
        p_values.append(ttest_1samp(d, 0.2, alternative="less").pvalue)
        advantages.append(float((f >= h).mean()))
    got = alt_test(wins(judge, people, "neg_rmse"), 0.2)
    assert [each.p for each in got.annotators] == pytest.approx(p_values, rel=1e-9)
    assert got.advantage == pytest.approx(np.mean(advantages), abs=1e-12)
    assert got.winning_rate == pytest.approx(1 / 3)
    assert (len(rows), round(got.advantage, 4)) == (1195, 0.658)
