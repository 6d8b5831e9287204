"""SummaC-ZS and SummaC-Conv worked by hand, with a fake network."""

from __future__ import annotations

import asyncio
from math import exp
from pathlib import Path

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge, table_nli
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.entailment.convolution import EVEN50, Convolution, histogram, released
from summeter.evaluators.entailment.premises import fitted
from summeter.evaluators.entailment.summac import SummaC, passages_of
from summeter.records import Judgment
from summeter.scoring import summary_scores
from summeter.text.spans import TextSpan, sentence_spans

ONE, TWO, THREE = "Ada sold her mill.", "It rained in May.", "Nobody saw the boat."
SOURCE = document(ONE, TWO, THREE)
SUMMARY = "Ada sold the mill. A boat was seen."
FIRST, SECOND = "Ada sold the mill.", "A boat was seen."
TABLE = {
    (ONE, FIRST): (0.9, 0.08, 0.02), (TWO, FIRST): (0.1, 0.6, 0.3), (THREE, FIRST): (0.0, 1.0, 0.0),
    (ONE, SECOND): (0.05, 0.95, 0.0), (TWO, SECOND): (0.2, 0.8, 0.0), (THREE, SECOND): (0.1, 0.1, 0.8),
}  # fmt: skip


def run(evaluator: SummaC, text: str = SUMMARY, nli: FakeNetwork | None = None) -> list[Judgment]:
    (found,) = judge(evaluator, SOURCE, text, nli=nli or table_nli(TABLE))
    return found


def score(found: list[Judgment]) -> float | None:
    (one,) = summary_scores(found, {"summac": SummaC.reduce})
    return one.value


class TestZeroShot:
    def test_maximum_over_passages_then_mean_over_sentences(self) -> None:
        whole, first, second = run(SummaC())
        # Sentence 1: max(.9, .1, 0) = .9; sentence 2: max(.05, .2, .1) = .2; mean .55.
        assert (first.value, second.value) == pytest.approx((0.9, 0.2))
        assert whole.value == pytest.approx(0.55)
        assert score([whole, first, second]) == pytest.approx(0.55)
        assert (whole.contradicted, first.contradicted, second.contradicted) == (None, False, True)  # .8 by passage 3
        assert [(one.target.unit, one.target.index, one.label) for one in (whole, first, second)] == [
            ("summary", None, 1), ("sentence", 0, 1), ("sentence", 1, 0),
        ]  # fmt: skip

    def test_entailment_minus_contradiction_uses_separate_maxima(self) -> None:
        whole, first, second = run(SummaC(labels="ec"))
        # .9 - max(.02, .3, 0) = .6, from two passages; .2 - .8 = -.6; mean 0.
        assert (first.value, second.value) == (pytest.approx(0.6), pytest.approx(-0.6))
        assert whole.value == pytest.approx(0.0)

    def test_evidence_and_reasons(self) -> None:
        whole, first, second = run(SummaC())
        assert [span.cut(SOURCE.text) for span in first.evidence] == [ONE]
        assert first.reason == "entailed by a passage (entailment .90, contradiction .02)"
        # TWO entails it most; THREE contradicts it with .8, so it is in the evidence too.
        assert [span.cut(SOURCE.text) for span in second.evidence] == [TWO, THREE]
        assert second.reason is not None
        assert second.reason.endswith("; another passage contradicts it (entailment .10, contradiction .80)")
        assert second.reason.startswith("no passage entails it; nearest: a passage (entailment .20, contradiction .00)")
        assert whole.reason == "2 passages of the summary judged; lowest 0.20"
        assert [span.cut(SUMMARY) for span in whole.evidence] == [SECOND]

    def test_least_and_most_leave_out_passages(self) -> None:
        # The released code drops sentences of 10 characters or fewer, and passages after the 100th.
        nli = table_nli(TABLE)
        found = run(SummaC(least=10, most=2), "So be it. Ada sold the mill.", nli)
        assert {premise for premise, _ in nli.texts} == {ONE, TWO}
        assert [(one.target.unit, one.target.index) for one in found] == [("summary", None), ("sentence", 1)]
        (none,) = run(SummaC(least=10), "So be it.")
        assert (none.status, none.reason) == ("skipped", "the summary has no passage of more than 10 characters")

    def test_nearest_limits_the_passages(self) -> None:
        nli = table_nli(TABLE)
        whole, first, second = run(SummaC(labels="ec", nearest=1), nli=nli)
        # The first sentence shares "Ada", "sold" and "mill" with the first passage, the second "boat" with the third.
        assert nli.texts == [(ONE, FIRST), (THREE, SECOND)]
        # .9 - .02; .1 - .8; their mean.
        assert [first.value, second.value, whole.value] == pytest.approx([0.88, -0.7, 0.09])

    def test_pairs_are_computed_once_for_all_summaries(self) -> None:
        nli = table_nli(TABLE)
        judge(SummaC(), SOURCE, SUMMARY, SECOND, FIRST, nli=nli)
        assert len(nli.texts) == len(set(nli.texts)) == 6


class TestGrains:
    TEXT = "One is here. Two is\nhere.\n\nThree is here."
    PLACES = ((0, 12), (13, 25), (27, 41))

    @pytest.mark.parametrize(
        ("grain", "expected"),
        [
            ("sentence", ["One is here.", "Two is\nhere.", "Three is here."]),
            ("2sents", ["One is here. Two is\nhere.", "Two is\nhere. Three is here.", "Three is here."]),
            ("paragraph", ["One is here. Two is\nhere.", "Three is here."]),
            (
                "mixed",
                ["One is here.", "Two is\nhere.", "Three is here.", "One is here. Two is\nhere.", "Three is here."],
            ),
            ("document", [TEXT]),
        ],
    )
    def test_passages_by_granularity(self, grain: str, expected: list[str]) -> None:
        sentences = [TextSpan.of(self.TEXT, *place) for place in self.PLACES]
        found = passages_of(self.TEXT, sentences, grain)  # type: ignore[arg-type]
        assert [one.text for one in found] == expected
        assert all(" ".join(self.TEXT[one.start : one.end].split()) == " ".join(one.text.split()) for one in found)

    def test_long_passages_are_split_at_sentences(self) -> None:
        # The network reads 12 tokens; a quarter is for the hypothesis: 9 are left, two sentences of four words.
        source = document(ONE, TWO, THREE)
        whole, sentences = [TextSpan.of(source.text)], sentence_spans(source)
        found = asyncio.run(fitted(source.text, whole, sentences, table_nli(limit=12)))
        assert [one.text for one in found] == [f"{ONE} {TWO}", THREE]


# Three bins: [0, .2), [.2, .8), [.8, 1]; a passage adds -1, 0 or 2 to a sentence's score; the bias is -.5.
SMALL = Convolution(bins=(0.0, 0.2, 0.8, 1.0), labels="e", weights=(-1.0, 0.0, 2.0), bias=-0.5)


def sigmoid(number: float) -> float:
    return 1 / (1 + exp(-number))


class TestConvolution:
    def test_by_hand(self, tmp_path: Path) -> None:
        SMALL.save(tmp_path / "weights.json")
        whole, first, second = run(SummaC(method="conv", weights=tmp_path / "weights.json"))
        # Sentence 1: .9, .1, 0 -> counts 2, 0, 1 -> -2 + 2 - .5 = -.5. Sentence 2: .05, .2, .1 -> 2, 1, 0 -> -2.5.
        assert first.value == pytest.approx(sigmoid(-0.5))
        assert second.value == pytest.approx(sigmoid(-2.5))
        # The mean of the scores is -1.5; the mean of the probabilities differs.
        assert whole.value == pytest.approx(sigmoid(-1.5))
        assert score([whole, first, second]) == whole.value

    def test_histograms_count_every_passage_once(self) -> None:
        table = np.array([[0.0, 0.5, 0.5], [0.02, 0.98, 0.0], [1.0, 0.0, 0.0], [np.nan] * 3])
        counts = histogram(table, EVEN50, "e")
        # An edge belongs to the bin on its right, 1 to the last bin; passages not asked about (NaN) are not counted.
        assert (counts[0], counts[1], counts[49], counts.sum()) == (1, 1, 1, 3)

    @given(st.integers(0, 10_000))
    def test_the_released_layers_give_the_same_probability(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        mlp, bias = rng.normal(size=50), float(rng.normal())
        final, final_bias = rng.normal(size=(2, 3)), rng.normal(size=2)
        tables = [rng.dirichlet([1, 1, 1], size=7) for _ in range(int(rng.integers(1, 14)))]
        for aggregate in ("min", "mean", "max", "all"):
            mine = released(
                (mlp, bias), (final.tolist(), final_bias.tolist()), bins=EVEN50, aggregate=aggregate
            )  # fmt: skip
            got = mine.probability([mine.score(one) for one in tables])
            # As the released model's forward pass: the first ten sentences, their scores, three features, a softmax.
            rows = np.array([histogram(one, EVEN50, "e") @ mlp + bias for one in tables[:10]])
            three = np.array([rows.min(), rows.mean(), rows.max()])
            seen = three if aggregate == "all" else np.full(3, three[["min", "mean", "max"].index(aggregate)])
            logits = final @ seen + final_bias
            logits -= logits.max()
            assert got == pytest.approx(float(np.exp(logits[1]) / np.exp(logits).sum()), abs=1e-9)
