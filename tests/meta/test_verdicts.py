"""Verdicts: better systems, leaders and chance, by hand and in sentences."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from summeter.meta.verdicts import Comparison, show_p
from summeter.stats import PairDifference, corrected, paired_differences


class TestWords:
    def pair(self, **changes: Any) -> PairDifference:
        pair = PairDifference("aster", "birch", 0.10, 0.02, 0.18, 0.0007, 0.0042, 6, 18, 0, 18)._replace(**changes)
        return pair._replace(better=corrected([pair._replace(p=pair.p_holm)], 0.05)[0].better)

    def verdict(self, values: dict[str, float | None], pairs: list[PairDifference], aspect: str) -> str:
        return Comparison(values, pairs, aspect).verdict()

    def sentence(self, pair: PairDifference, aspect: str) -> str:
        return Comparison({}, [pair], aspect).sentence(pair)

    def test_no_significant_difference(self) -> None:
        told = self.sentence(self.pair(p_holm=0.41, low=-0.03, family=1), "composite")
        assert told == (
            "aster and birch cannot be told apart on composite: +0.10 [-0.03, 0.18], p = .41 after Holm over 1 pair"
        )

    def test_the_whole_family(self) -> None:
        pairs = [
            self.pair(),
            PairDifference("aster", "cedar", 0.11, 0.01, 0.2, 0.001, 0.005, 6, 18, 0, 18, better="aster"),
            PairDifference("birch", "cedar", 0.01, -0.1, 0.1, 0.8, 0.8, 6, 18, 0, 18),
        ]
        told = self.verdict({"aster": 0.9, "birch": 0.8, "cedar": 0.79}, pairs, "composite")
        assert told == (
            "aster is better than birch on composite: +0.10 [0.02, 0.18], p = .004 after Holm over 6 pairs; "
            "aster is better than cedar on composite: +0.11 [0.01, 0.20], p = .005 after Holm over 6 pairs; "
            "birch and cedar cannot be told apart (p = .80)"
        )

    def test_no_system_is_better(self) -> None:
        pairs = corrected([PairDifference(a, b, 0.0, -0.1, 0.1, p, None, 0, 9, 0, 9) for (a, b), p in
                           zip(combinations("xyz", 2), (0.5, 0.2, 0.9), strict=True)], 0.05)  # fmt: skip
        told = self.verdict(dict.fromkeys("xyz", 0.5), pairs, "coherence")
        assert told == "x, y and z cannot be told apart on coherence (smallest p = .60 after Holm over 3 pairs)"

    def test_too_few_documents_do_not_separate_clusters(self) -> None:
        pairs = corrected([
            PairDifference("a", "b", 1.5, 1.2, 1.8, 0.0001, None, 0, 20, 0, 20),
            PairDifference("a", "c", 1.3, None, None, 0.25, None, 0, 3, 17, 3, 0.25),
            PairDifference("b", "c", 0.0, None, None, 1.0, None, 0, 3, 17, 3, 0.25),
        ], 0.05)  # fmt: skip
        values = {"a": 5.0, "b": 3.7, "c": 3.7}
        assert set(Comparison(values, pairs, "x").clusters.values()) == {1}
        told = self.verdict(values, pairs, "x")
        assert "p < .001 after Holm over 3 pairs on 20 documents; a and c cannot be told apart: 3 documents are" in told
        several = dict.fromkeys("xyzw", 4.0)
        level = [
            PairDifference(one, two, 0.1, -1, 1, 0.9, 1, 9, 20, 0, 20)
            for one, two in [*product("abc", several), *combinations(several, 2)]
        ]
        assert "clusters, best first: {a, b, c, x, y, z, w}" in self.verdict(values | several, [*pairs, *level], "x")
        # Where d is told from all on enough documents, its cluster stays, and clusters are counted without gaps.
        more = [PairDifference(name, "d", 3.0, 2, 4, 1e-4, 1e-3, 6, 20, 0, 20, better=name) for name in "abc"]
        assert Comparison(values | {"d": 1.0}, [*pairs, *more], "x").clusters == {"a": 1, "b": 1, "c": 1, "d": 2}

    @pytest.mark.parametrize(
        ("p", "text"), [(0.0, "p < .001"), (0.001, "p = .001"), (0.0996, "p = .10"), (0.5, "p = .50"), (0.999, "p = 1")]
    )
    def test_p(self, p: float, text: str) -> None:
        assert show_p(p) == text


class TestLeading:
    def compared(self, scores: dict[str, list[float]], aspect: str = "fluency") -> Comparison:
        (pairs,) = paired_differences([scores])
        return Comparison({name: float(np.mean(row)) for name, row in scores.items()}, pairs, aspect)

    def test_leader_and_best(self) -> None:
        # Over 12 documents a is 1 above c and 0.5 above b on every other one, below it on the rest.
        a = [3.0] * 12
        some = self.compared({"a": a, "b": [2.5, 3.4] * 6, "c": [2.0] * 12})
        assert (some.leader, some.best) == ("a", frozenset())
        assert self.compared({"a": a, "b": [2.0] * 12, "c": [1.0] * 12}).best == {"a"}
        none = self.compared({"a": a, "b": [2.5, 3.4] * 6})
        assert (none.leader, none.best) == (None, frozenset())
        assert none.leading("3.00").startswith(
            "a has the highest fluency, 3.00, but cannot be told apart from b: +0.05"
        )

    def test_equal_means_have_no_leader(self) -> None:
        tied = self.compared({"a": [0.3] * 8, "b": [0.1, 0.5] * 4, "c": [0.0] * 8})
        assert (tied.highest, tied.leader) == (["a", "b"], None)
        assert tied.leading("0.30") == "a and b share the highest fluency, 0.30: no difference between them is claimed"

    def test_neutral_aspects_have_no_leader(self) -> None:
        neutral = self.compared({"a": [0.9] * 8, "b": [0.2] * 8}, "abstractiveness")
        assert (neutral.better, neutral.leader, neutral.best) == ([("a", "b")], None, frozenset())
        assert neutral.leading("0.90").endswith("; neither high nor low is good in itself")

    def test_the_p_of_a_family_is_over_all_its_groups(self) -> None:
        # Two domains of one pair each: Holm is over both.
        one, two = paired_differences([{"a": [1, 2] * 4, "b": [2, 1] * 4}, {"a": [1, 3] * 4, "b": [3, 1] * 4}])
        told = [Comparison({"a": 1.5, "b": 1.5}, pairs, "x").verdict() for pairs in (one, two)]
        assert told == ["a and b cannot be told apart on x (p = 1 after Holm over 2 pairs)"] * 2

    def test_members_without_score_and_unranked_members(self) -> None:
        nan = float("nan")
        (pairs,) = paired_differences([{"a": [1, nan], "b": [nan, 1], "c": [nan, nan]}])
        compared = Comparison(dict.fromkeys("abc"), pairs, "x", scoreless=["c"])
        assert compared.verdict() == "nothing can be compared on x; c has no score on x; a, b are not ranked"
