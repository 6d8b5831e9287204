"""Comparisons of systems and judges: by hand, against scipy, in sentences, and on published data."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from meta.makers import judgment, people, ratings
from scipy import stats as scipy_stats

from summeter.meta._compare import (
    compare,
    matrices,
    pair_sentence,
)
from summeter.records import Judgment

FEW: dict[str, Any] = {"permutations": 2000, "resamples": 200}


def scores(table: dict[str, list[float | None]], judge: str = "j", aspect: str = "faithfulness") -> list[Judgment]:
    """Convert system -> scores on documents d0, d1, ... to judgments. None is an unparsed reply."""
    made = []
    for system, values in table.items():
        for number, value in enumerate(values):
            made.append(judgment(f"d{number}", system, value, aspect=aspect, judge=judge, status="unparsed" if value is
                                 None else "ok"))  # fmt: skip
    return made


class TestSystems:
    def test_a_pair_by_hand(self) -> None:
        # Differences 1, 1, 1: of the 8 flips +++ and --- reach a mean of 1, so p = 2/8.
        row = compare(scores({"a": [2, 3, 4], "b": [1, 2, 3]})).one(pair="a-b")
        assert (row.value, row.p, row.n, row.missing, row.statistic) == (1.0, 0.25, 3, 0, "mean_difference")
        assert (row.details["p_holm"], row.details["comparisons"], row.details["better"]) == (0.25, 1, None)

    def test_holm_is_over_all_pairs_of_an_aspect(self) -> None:
        study = compare(scores({"a": [9, 9, 9, 9], "b": [1, 2, 1, 2], "c": [1, 2, 2, 1]}))
        p = {row.pair: row.p for row in study if row.pair}
        # a-b and a-c: all four differences positive, 2 of 16 flips reach them: .125. b-c: 0 0 -1 1 sums to 0: p = 1.
        assert p == {"a-b": 0.125, "a-c": 0.125, "b-c": 1.0}
        # Holm: .125 * 3, then max(.375, .125 * 2), then max(.375, 1).
        assert [row.details["p_holm"] for row in study if row.pair] == [0.375, 0.375, 1.0]

    def test_missing_documents_are_left_out_of_the_pair_and_counted(self) -> None:
        study = compare(scores({"a": [1, None, 1, 0], "b": [0, 0, None, 0]}))
        row = study.one(pair="a-b")
        assert (row.n, row.missing, row.value) == (2, 2, 0.5)  # documents 0 and 3: (1 + 0) / 2
        mean = study.one(statistic="mean", system="a")
        assert (mean.value, mean.n, mean.missing, mean.details["own_documents"]) == (0.5, 2, 2, 3)
        assert pair_sentence(row) == (
            "a and b cannot be told apart on faithfulness: +0.50, 2 documents are too few for a verdict "
            "(at least 6 are needed), 2 without both scores"
        )

    def test_means_are_over_shared_documents(self) -> None:
        table: dict[str, list[float | None]] = {"a": [1, 1, None, None], "b": [0, 1, 1, 1], "c": [None, 1, 1, 0]}
        study = compare(scores(table), **FEW)
        assert {row.system: (row.value, row.n) for row in study.where(statistic="mean")} == {
            "a": (1.0, 1), "b": (1.0, 1), "c": (1.0, 1)
        }  # fmt: skip
        assert "Ranked on the 1 document" in study.notes[1]
        apart = compare(scores({"a": [1, 1, None, None], "b": [None, None, 1, 1]}), **FEW)
        mean = apart.one(statistic="mean", system="a")
        assert (mean.value, mean.n, mean.details["ranking"]) == (1.0, 2, None)
        assert apart.one(statistic="cluster", system="a").reason == "not ranked"

    def test_a_system_without_any_score_has_no_mean_no_cluster_and_no_difference(self) -> None:
        study = compare(scores({"a": [1, 1], "b": [0, 1], "c": [None, None]}), **FEW)
        assert study.one(statistic="cluster", system="c").value is None
        assert study.one(statistic="cluster", system="c").reason == "no value to rank by"
        assert study.one(pair="a-c").status == "undefined"
        assert study.one(pair="a-c").details["comparisons"] == 1  # only a-b was tested
        assert "c has no score on faithfulness" in study.notes[0]

    def test_systems_without_a_shared_document_are_compared_and_not_ranked(self) -> None:
        a = [5 + place / 10 for place in range(12)] + [None] * 12
        c = [None] * 12 + [5 + place / 10 for place in range(12)]
        study = compare(scores({"a": a, "b": [1.0] * 24, "c": c}), **FEW)
        assert "a is better than b on faithfulness" in study.notes[0]
        assert "c is better than b on faithfulness" in study.notes[0]
        # a and b share 12 documents, as do b and c, but no document is shared by all.
        assert study.notes[0].endswith("c is not ranked")
        assert {row.system: row.details["ranking"] for row in study.where(statistic="mean")} == {
            "a": 1,
            "b": 1,
            "c": None,
        }
        alike = compare(scores({"a": a, "b": [*a[:12], *c[12:]], "c": c}), **FEW)
        assert "a, b and c cannot be told apart" in alike.notes[0]
        assert "no score" not in alike.notes[0]

    def test_clusters_of_equals(self) -> None:
        rng = np.random.default_rng(1)
        high, low = (mean + 0.05 * rng.standard_normal(30) for mean in (0.9, 0.3))
        table = {"x": list(low), "y": list(high), "z": list(high + 0.02 * rng.standard_normal(30))}
        study = compare(scores(table), **FEW)
        clusters = {row.system: row.value for row in study.where(statistic="cluster")}
        assert clusters == {"x": 2.0, "y": 1.0, "z": 1.0}
        assert study.one(statistic="cluster", system="y").details["equals"] == ["y", "z"]

    def test_p_is_scipys(self) -> None:
        rng = np.random.default_rng(2)
        a, b = rng.random(9), rng.random(9)
        row = compare(scores({"a": list(a), "b": list(b)})).one(pair="a-b")
        exact = scipy_stats.permutation_test(
            (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        )  # fmt: skip
        assert row.p == pytest.approx(exact.pvalue, abs=1e-9)

    def test_equal_systems_and_one_document(self) -> None:
        same = compare(scores({"a": [0.5, 0.5, 0.5], "b": [0.5, 0.5, 0.5]})).one(pair="a-b")
        assert (same.value, same.p, same.low, same.details["better"]) == (0.0, 1.0, None, None)
        assert same.reason == "3 documents: too few for an interval"
        many = compare(scores({"a": [0.5] * 6, "b": [0.5] * 6})).one(pair="a-b")
        assert (many.value, many.low, many.high, many.details["better"]) == (0.0, 0.0, 0.0, None)
        one = compare(scores({"a": [1.0], "b": [0.0]})).one(pair="a-b")
        # Both flips reach it, so p = 1; one document has no interval.
        assert (one.value, one.p, one.low, one.status) == (1.0, 1.0, None, "no_interval")
        assert one.reason == "1 document: too few for an interval"

    def test_groups_are_one_family_of_tests(self) -> None:
        study = compare(scores({"a": [9, 9, 9, 9], "b": [1, 2, 1, 2]}), by="document")
        inside = [row for row in study if row.pair and "group" in row.details]
        assert [row.details["group"] for row in inside] == ["d0", "d1", "d2", "d3"]
        assert {row.details["comparisons"] for row in inside} == {4}
        assert study.where(statistic="mean_difference").rows[0].details["comparisons"] == 1
        assert "in d0" in study.notes[1]

    def test_a_matrix_of_many(self) -> None:
        rng = np.random.default_rng(5)
        table: dict[str, list[float | None]] = {f"s{place}": list(place // 5 + rng.random(12)) for place in range(10)}
        study = compare(scores(table), **FEW)
        (found,) = matrices(study)
        assert (found.title, len(found.rows)) == ("faithfulness by j", 10)
        best = found.rows[0]
        assert str(best[1]) in {f"s{place}" for place in range(5, 10)}
        assert list(best[6:]) == ["", *"....", *"+++++"]
        assert list(found.rows[9][6:]) == [*"-----", *"....", ""]
        assert study.notes[0].startswith("By j: 25 of 45 pairs differ on faithfulness (p <= 0.05 after Holm); clusters")
        assert len(matrices(compare(scores(table), by="document", **FEW))) == 13

    def test_people_compare_systems_too(self) -> None:
        gold = people({(f"d{n}", s): {"r1": v, "r2": v} for n in range(3) for s, v in (("a", 5), ("b", 2))})
        row = compare(None, gold).one(pair="a-b")
        assert (row.judge, row.value, row.n) == ("people", 3.0, 3)

    @hypothesis_settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(*[st.sampled_from([0, 0.25, 0.5, 1, None])] * 3), min_size=2, max_size=7))
    def test_order_does_not_matter_and_signs_turn(self, table: list[tuple[float | None, ...]]) -> None:
        columns = dict(zip("abc", map(list, zip(*table, strict=True)), strict=True))
        one = compare(scores(columns), **FEW)
        turned = {name: columns[name][::-1] for name in "cba"}
        other = compare(scores(turned), **FEW)
        for first, second in combinations("abc", 2):
            here, there = one.one(pair=f"{first}-{second}"), other.one(pair=f"{second}-{first}")
            assert (here.n, here.missing, here.status) == (there.n, there.missing, there.status)
            if here.value is not None and there.value is not None:
                assert here.value == pytest.approx(-there.value, abs=1e-12)
                assert here.p == pytest.approx(there.p)


class TestTooFew:
    def test_permutations_are_raised_for_many_pairs(self) -> None:
        rng = np.random.default_rng(0)
        table: dict[str, list[float | None]] = {name: list(place + rng.random(30)) for place, name in enumerate("abc")}
        # 20 permutations would give p = 1/21 at the least, three times that after Holm: 10 x 3 / .05 are tried.
        row = compare(scores(table), permutations=20, resamples=50).one(pair="a-b")
        assert (row.p, row.details["least_p"]) == (pytest.approx(1 / 601), 1 / 601)
        assert (row.details["better"], row.details["method"]) == ("b", "paired permutation, 600 flips")
        assert (
            row.interval == "95% permutation interval by document, simultaneous over 3 pairs, 600 permutations, seed 0"
        )


class TestWhatClustersMean:
    """System a is better than c; b differs significantly from neither."""

    SCORES = scores({
        "a": [5, 4, 5, 4, 5, 4, 5, 4, 5, 4], "b": [4, 3, 5, 4, 4, 4, 3, 4, 3, 4], "c": [4, 3, 3, 3, 4, 3, 3, 4, 3, 3]
    })  # fmt: skip

    def test_undecided_pairs_across_clusters_are_noted(self) -> None:
        study = compare(self.SCORES)
        assert {row.pair: row.details["better"] for row in study if row.pair} == {"a-b": None, "a-c": "a", "b-c": None}
        clustered = study.where(statistic="cluster")
        assert {row.system: row.value for row in clustered} == {"a": 1, "b": 1, "c": 2}
        assert {row.system: row.details["not_told_apart"] for row in clustered} == {"a": [], "b": ["c"], "c": ["b"]}


def matrix(values: dict[str, list[float]], judge: str) -> list[Judgment]:
    return ratings({f"d{n}": {s: v[n] for s, v in values.items()} for n in range(len(values["a"]))}, judge=judge)


class TestJudges:
    def setup_method(self) -> None:
        rng = np.random.default_rng(3)
        self.truth = {s: list(rng.random(12)) for s in "ab"}
        self.good = {s: [v + 0.1 * rng.standard_normal() for v in row] for s, row in self.truth.items()}
        self.bad = {s: list(rng.random(12)) for s in "ab"}
        self.gold = people({(f"d{n}", s): {"r": v} for s, row in self.truth.items() for n, v in enumerate(row)})
        self.runs = [*matrix(self.good, "good"), *matrix(self.bad, "bad")]

    def test_difference_williams_and_permutation(self) -> None:
        study = compare(self.runs, self.gold, **FEW)
        row = study.one(statistic="pearson_difference")
        x, g, b = (np.ravel(list(v.values())) for v in (self.truth, self.good, self.bad))
        r12, r13, r23 = (np.corrcoef(*two)[0, 1] for two in ((x, g), (x, b), (g, b)))
        assert row.value == pytest.approx(r12 - r13, abs=1e-9)
        # Williams' t as printed (Graham & Baldwin, 2014), n = 24.
        k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
        t = (r12 - r13) * np.sqrt(23 * (1 + r23) / (2 * k * 23 / 21 + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3))
        assert row.details["williams_t"] == pytest.approx(t, abs=1e-9)
        assert row.details["p_williams"] == pytest.approx(2 * scipy_stats.t.sf(abs(t), 21), abs=1e-9)
        assert row.p is not None
        assert row.p < 0.01
        assert (row.pair, row.n, row.missing, row.judge) == ("good-bad", 24, 0, None)
        assert "good agrees better with people than bad on coherence" in study.notes[-1]
        assert {r.judge: r.value for r in study.where(statistic="cluster")} == {"good": 1.0, "bad": 2.0}

    @pytest.mark.parametrize(
        ("level", "average", "n"), [("summary", "document", 24), ("summary", "system", 24), ("document", "pooled", 12)]
    )
    @pytest.mark.parametrize("coefficient", ["pearson", "spearman"])
    def test_every_level(self, level: str, average: str, n: int, coefficient: str) -> None:
        few: dict[str, Any] = {"permutations": 200, "resamples": 50, "coefficient": coefficient}
        study = compare(self.runs, self.gold, level=level, average=average, **few)
        row = study.one(statistic=f"{coefficient}_difference")
        both = [study.one(judge=name, statistic=coefficient).value for name in ("good", "bad")]
        assert row.value == pytest.approx(both[0] - both[1])  # type: ignore[operator]
        assert row.n == n

    def test_rows_that_one_judge_lacks_are_counted(self) -> None:
        fewer = [one for one in self.runs if one.judge == "good" or one.target.document_id != "d0"]
        row = compare(fewer, self.gold, **FEW).one(statistic="pearson_difference")
        assert (row.n, row.missing) == (22, 2)

    def test_by_a_column(self) -> None:
        study = compare(self.runs, self.gold, by="system", **FEW)
        found = [row.system for row in study.where(statistic="pearson_difference")]
        assert found == [None, "a", "b"]
        assert study.where(statistic="pearson_difference").rows[1].details["comparisons"] == 2


def test_what_is_compared_follows_from_the_inputs() -> None:
    """As in the command: judges if there are runs and human judgments, else systems or people."""
    judged = scores({"a": [2, 3, 4, 5, 6, 7], "b": [1, 2, 3, 4, 5, 6]})
    gold = people({(f"d{number}", system): {"r": number % 3} for number in range(6) for system in "ab"})
    assert {row.judge for row in compare(judged)} == {"j"}
    assert {row.judge for row in compare(None, gold)} == {"people"}
    assert {row.judge for row in compare(judged, gold, of="people")} == {"people"}
