"""BERTScore compared with a direct implementation of its equations and with values worked by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators.judging import run
from evaluators.networks import item, word_encoder
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.base import Tools
from summeter.evaluators.overlap.backbones import BASELINES, LAYERS, Baseline, baseline_of
from summeter.evaluators.overlap.bertscore import F1, PRECISION, RECALL, BertScore
from summeter.evaluators.overlap.greedy import Frequencies, greedy
from summeter.models.networks import Encode, TokenStates
from summeter.records import Document, InputError, Judgment, UsageError

REFERENCE = "Ada sold her mill in May."
SUMMARY = "Ada sold the mill. It rained."


def judge(
    evaluator: BertScore, references: Sequence[str] = (REFERENCE,), text: str = SUMMARY, encoder: Any = None
) -> list[Judgment]:
    source = Document(id="d", text="Anything.", references=tuple(references))
    return run(evaluator, item(source, text), networks={"encoder": encoder or word_encoder()})[1]


def whole(found: Sequence[Judgment]) -> dict[str, float | None]:
    return {one.aspect: one.value for one in found if one.target.unit == "summary"}


def brute(one: TokenStates, other: TokenStates, idf: Frequencies | None = None) -> tuple[float, float, float]:
    """Compute equations 2 and 3 token by token."""

    def cosine(x: np.ndarray, y: np.ndarray) -> float:
        dot = sum(float(a) * float(b) for a, b in zip(x, y, strict=True))
        return dot / sqrt(sum(float(a) ** 2 for a in x)) / sqrt(sum(float(b) ** 2 for b in y))

    def side(mine: TokenStates, theirs: TokenStates) -> float:
        total = weight = 0.0
        for token, special, state in zip(mine.tokens, mine.special, mine.states, strict=True):
            if special:
                continue
            w = idf.idf(token) if idf else 1.0
            total += w * max(cosine(state, y) for y in theirs.states)
            weight += w
        return total / weight

    p, r = side(one, other), side(other, one)
    return p, r, 2 * p * r / (p + r)


def states(text: str) -> TokenStates:
    return asyncio.run(word_encoder().ask([Encode(text, 10)]))[0]


WORDS = st.lists(st.sampled_from(["ada", "sold", "the", "mill", "boat", "."]), min_size=1, max_size=9).map(" ".join)


class TestFormula:
    @given(WORDS, WORDS, st.sampled_from([None, Frequencies(9, {"the": 8, ".": 9, "ada": 2})]))
    def test_equals_brute_force(self, one: str, other: str, counts: Frequencies | None) -> None:
        found = greedy(states(one), states(other), counts)
        if found is None:
            assert counts
            assert set(one.split()) == {"."} or set(other.split()) == {"."}  # ln(10/10) = 0: all weights are 0
        else:
            expected = brute(states(one), states(other), counts)
            assert (found.precision, found.recall, found.f1) == pytest.approx(expected, abs=1e-9)

    def test_by_hand(self) -> None:
        def text(*rows: tuple[float, float]) -> TokenStates:
            tokens = tuple(f"t{at}" for at in range(len(rows)))
            count = len(rows)
            return TokenStates(
                tokens, tuple(range(count)), ((0, 0),) * count, (False,) * count, np.array(rows, np.float32)
            )

        # Candidate (1, 0), (0, 2); reference (3, 4): cosines .6 and .8. P = (.6 + .8) / 2 = .7; R = .8; F = 1.12 / 1.5.
        found = greedy(text((1, 0), (0, 2)), text((3, 4)))
        assert found is not None
        assert (found.precision, found.recall, found.f1) == pytest.approx((0.7, 0.8, 1.12 / 1.5))


class TestSentences:
    def test_sentences_have_precision_and_least_similar_words(self) -> None:
        found = judge(BertScore(), text="  Ada sold the mill. It rained.")
        parts = [one for one in found if one.target.unit == "sentence"]
        match = greedy(states("Ada sold the mill. It rained."), states(REFERENCE))
        assert match is not None
        # Tokens: [CLS] ada sold the mill . it rained . [SEP]
        assert parts[0].value == pytest.approx(match.best[1:6].mean())
        assert parts[1].value == pytest.approx(match.best[6:9].mean())
        text = "  Ada sold the mill. It rained."
        assert parts[0].evidence[0].cut(text) == "the"
        assert parts[0].reason is not None
        assert parts[0].reason.startswith("least similar to the reference: 'the' (")


class TestLayersAndBaselines:
    def test_the_published_layer_is_used(self) -> None:
        for evaluator, layer in ((BertScore(), LAYERS["roberta-base"]), (BertScore(layer=3), 3)):
            encoder = word_encoder()
            judge(evaluator, encoder=encoder)
            assert {one.layer for one in encoder.asked} == {layer}
        assert LAYERS["roberta-base"] == 10

    def test_each_measure_is_rescaled_with_its_own_baseline(self) -> None:
        # (.9 - .8) / (1 - .8) = .5; (.9 - .6) / .4 = .75; (.9 - .5) / .5 = .8
        assert Baseline(0.8, 0.6, 0.5).rescaled((0.9, 0.9, 0.9)) == pytest.approx((0.5, 0.75, 0.8))
        assert baseline_of("hf/roberta-large", 17) == BASELINES["roberta-large", 17]
        assert baseline_of("hf/roberta-large", 17).f1 == 0.83122575
        assert all(LAYERS[name] == layer for name, layer in BASELINES)

    def test_a_baseline_from_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "base.tsv"
        file.write_text("LAYER,P,R,F\n9,0.1,0.1,0.1\n10,0.5,0.4,0.3\n")
        plain, stretched = whole(judge(BertScore())), whole(judge(BertScore(rescale=True, baseline=file)))
        for aspect, base in ((PRECISION, 0.5), (RECALL, 0.4), (F1, 0.3)):
            assert stretched[aspect] == pytest.approx((plain[aspect] - base) / (1 - base))  # type: ignore[operator]
        one = BertScore(rescale=True, baseline=file).sign({"encoder": "a/b"})
        file.write_text("LAYER,P,R,F\n10,0.5,0.4,0.2\n")
        assert BertScore(rescale=True, baseline=file).sign({"encoder": "a/b"}) != one

    def test_errors_name_the_fault(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no published baseline for layer 10 of 'roberta-base'"):
            judge(BertScore(rescale=True))
        file = tmp_path / "base.tsv"
        for text, fault in [
            ("LAYER,P,R,F\n9,1,2,3\n", "no line for layer 10"), ("10,a,b,c", "is not LAYER"),
            ("10,0.1,0.2,1.0", "below 1"),
        ]:  # fmt: skip
            file.write_text(text)
            with pytest.raises(InputError, match=fault):
                baseline_of("x", 10, file)
        with pytest.raises(UsageError, match=r"models=\{'encoder': "):
            asyncio.run(BertScore().prepare(Document(id="d", text="A.", references=("B.",)), Tools("sig")))


class TestIdf:
    def test_counts_by_hand(self) -> None:
        counts = Frequencies.of(map(states, ["the mill", "the the boat", "a boat"]))
        # "the" is in 2 of 3, "boat" in 2, "mill" in 1; a token in none has ln 4.
        assert counts.idf("the") == counts.idf("boat") == pytest.approx(log(4 / 3))
        assert counts.idf("mill") == pytest.approx(log(2))
        assert counts.idf("wind") == pytest.approx(log(4))
        assert counts.idf("[CLS]") == 0.0

    def test_a_file_weighs_tokens_and_is_signed(self, tmp_path: Path) -> None:
        file = tmp_path / "idf.json"
        counts = Frequencies(9, {"the": 8, ".": 9})
        counts.save(file, {"encoder": "x"})
        assert Frequencies.load(file) == counts
        expected = brute(states(SUMMARY), states(REFERENCE), counts)
        assert tuple(whole(judge(BertScore(idf=file))).values()) == pytest.approx(expected, abs=1e-9)
        assert f"idf:{counts.id}" in BertScore(idf=file).sign({"encoder": "a/b"})

    def test_without_weighted_tokens_there_is_no_score(self, tmp_path: Path) -> None:
        file = tmp_path / "idf.json"
        Frequencies(1, dict.fromkeys(["rain", "."], 1)).save(file, {})
        found = judge(BertScore(idf=file), ["Rain."], "Rain.")
        assert {one.status for one in found} == {"skipped"}
