"""Agreement coefficients: published examples, hand computations, plain definitions, and undefined cases."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import (
    MeasurementLevel,
    Weights,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    icc,
    krippendorff_alpha,
    masi_alpha,
    mean_pairwise,
    span_f1,
)

N = None
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", examples C and D: four observers, twelve units.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
# Shrout & Fleiss (1979), Table 2: four judges (rows here), six targets.
SHROUT = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
# The worked example of Fleiss' kappa: ten subjects, fourteen raters, counts of five categories; kappa .210.
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip

votes = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=raters, max_size=raters), min_size=1, max_size=9
    ).map(lambda items: [list(row) for row in zip(*items, strict=True)])
)


def plain_alpha(matrix: list[list[int | None]], level: str) -> float | None:
    """Return Krippendorff's alpha from the coincidence matrix, as in the paper."""
    items = [[row[i] for row in matrix if row[i] is not None] for i in range(len(matrix[0]))]
    items = [item for item in items if len(item) >= 2]
    values = sorted({v for item in items for v in item})
    o = {(c, k): 0.0 for c in values for k in values}
    for item in items:
        for c, k in permutations(range(len(item)), 2):
            o[item[c], item[k]] += 1 / (len(item) - 1)
    totals = {c: sum(o[c, k] for k in values) for c in values}
    n = sum(totals.values())

    def distance(c: int, k: int) -> float:
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return (c - k) ** 2
        if level == "ratio":
            return ((c - k) / (c + k)) ** 2 if c + k else 0.0
        between = sum(totals[g] for g in values if min(c, k) <= g <= max(c, k))
        return (between - (totals[c] + totals[k]) / 2) ** 2 if c != k else 0.0

    observed = sum(o[c, k] * distance(c, k) for c in values for k in values)
    expected = sum(totals[c] * totals[k] * distance(c, k) for c in values for k in values)
    return 1 - (n - 1) * observed / expected if expected else None


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_of_krippendorffs_example(level: str, published: float) -> None:
    got = krippendorff_alpha(KRIPPENDORFF, level)
    assert round(got.value, 3) == published
    # Unit 12 has a single vote and cannot be paired.
    assert (got.n, got.missing, got.details["votes"], got.details["raters"]) == (11, 1, 40, 4)


def test_nominal_alpha_by_hand() -> None:
    # Example C: 40 pairable votes, n_c = 9, 13, 10, 5, 3, agreeing coincidences 7, 10, 8, 4, 3.
    agreeing, chance = 7 + 10 + 8 + 4 + 3, 9 * 8 + 13 * 12 + 10 * 9 + 5 * 4 + 3 * 2
    want = (39 * agreeing - chance) / (40 * 39 - chance)
    assert krippendorff_alpha(KRIPPENDORFF).value == pytest.approx(want, abs=1e-15)


def test_binary_alpha_by_hand() -> None:
    # Example A: ten units, two observers, four disagreements among 14 zeros and 6 ones: 1 - 19 * 4 / (14 * 6).
    meg, owen = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha([meg, owen]).value == pytest.approx(1 - 19 * 4 / 84, abs=1e-15)
    for level in MeasurementLevel:
        # With two values, all levels of measurement are equal.
        assert krippendorff_alpha([meg, owen], level).value == pytest.approx(1 - 19 * 4 / 84, abs=1e-12)


@pytest.mark.parametrize("level", list(MeasurementLevel))
@given(matrix=votes)
@settings(max_examples=60, deadline=None)
def test_alpha_follows_its_definition(level: str, matrix: list[list[int | None]]) -> None:
    got, want = krippendorff_alpha(matrix, level), plain_alpha(matrix, level)
    assert (got.value is None) == (want is None)
    if want is None:
        assert got.reason in ("constant input", "no item has 2 votes")
    else:
        assert got.value == pytest.approx(want, abs=1e-9)
        turned = [row[::-1] for row in matrix[::-1]]
        assert krippendorff_alpha(turned, level).value == pytest.approx(got.value, abs=1e-12)


def test_votes_are_a_matrix_on_the_scale() -> None:
    with pytest.raises(ValueError, match="negative"):
        krippendorff_alpha([[-1, 2], [1, 2]], "ratio")
    with pytest.raises(ValueError, match="2 dimension"):
        krippendorff_alpha([1, 2, 3])
    with pytest.raises(ValueError, match="not on the scale"):
        gwet_ac1([[1, 2], [1, 3]], scale=[2, 1])


def test_cohen_by_hand() -> None:
    # 50 items: 20 both yes, 5 and 10 split, 15 both no. po = .7; pe = .5 * .6 + .5 * .4 = .5; kappa = .4.
    one = [1] * 25 + [0] * 25
    two = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    got = cohen_kappa([one, two])
    assert (got.value, got.details["observed"], got.details["expected"]) == (
        pytest.approx(0.4),
        pytest.approx(0.7),
        pytest.approx(0.5),
    )


@pytest.mark.parametrize(("weights", "name"), [("identity", None), ("linear", "linear"), ("quadratic", "quadratic")])
@given(pairs=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_cohen_as_in_scikit_learn(weights: str, name: str | None, pairs: list[tuple[int, int]]) -> None:
    one, two = zip(*pairs, strict=True)
    got = cohen_kappa([one, two], weights, scale=[1, 2, 3, 4, 5])
    if got.value is None:
        assert set(one) == set(two)
        assert len(set(one)) == 1
        assert got.reason == "constant input"
        return
    want = sklearn.metrics.cohen_kappa_score(one, two, weights=name, labels=[1, 2, 3, 4, 5])
    assert got.value == pytest.approx(want, abs=1e-9)


def test_mean_cohen_over_pairs_by_hand() -> None:
    a, b, c = [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, None]
    single = [cohen_kappa([x, y]).value for x, y in ((a, b), (a, c), (b, c))]
    got = cohen_kappa([a, b, c])
    assert got.value == pytest.approx(np.mean(single))
    assert (got.n, got.details["raters"], got.details["votes"]) == (4, 3, 11)
    assert cohen_kappa([[1, 1], [1, 1]]).reason == "constant input"
    assert cohen_kappa([[1, None], [None, 1]]).reason == "no item has 2 votes"


def test_fleiss_published_example() -> None:
    rows = [[category for category, times in enumerate(item) for _ in range(times)] for item in FLEISS]
    got = fleiss_kappa([list(rater) for rater in zip(*rows, strict=True)])
    assert round(got.details["observed"], 3) == 0.378
    assert round(got.details["expected"], 3) == 0.213
    assert round(got.value, 3) == 0.210


def test_missing_votes_as_published_for_krippendorffs_data() -> None:
    # The same data is the example of R's irrCAC: Fleiss .76117, AC1 .77544, AC2 with quadratic weights .914.
    assert round(fleiss_kappa(KRIPPENDORFF).value, 5) == 0.76117
    assert round(gwet_ac1(KRIPPENDORFF).value, 5) == 0.77544
    assert round(gwet_ac2(KRIPPENDORFF, "quadratic").value, 3) == 0.914


def test_ac1_by_hand_where_kappa_fails() -> None:
    # Ten items, nine both 1, one split: po = .9, shares .95 and .05, pe = 2 * .95 * .05 = .095.
    matrix = [[1] * 10, [1] * 9 + [0]]
    assert gwet_ac1(matrix).value == pytest.approx((0.9 - 0.095) / (1 - 0.095), abs=1e-15)
    # Kappa of the same votes is 0, because pe = .9: the paradox that AC1 avoids.
    assert cohen_kappa(matrix).value == pytest.approx(0.0, abs=1e-12)


def test_ac2_by_hand() -> None:
    # Scale 1 2 3, linear weights 1, .5, 0; votes (1, 2) and (3, 3): credits .5 and 1, po = .75.
    # Shares 1/4, 1/4, 1/2: sum pi (1 - pi) = 3/16 + 3/16 + 4/16 = 10/16; T = 3 + 4 * .5 = 5; pe = 5 / 6 * 10/16.
    pe = 5 / 6 * 10 / 16
    got = gwet_ac2([[1, 3], [2, 3]], "linear", scale=[1, 2, 3])
    assert got.value == pytest.approx((0.75 - pe) / (1 - pe), abs=1e-15)


def test_unanimous_votes_need_a_known_scale() -> None:
    same = [[1, 1, 1], [1, 1, 1]]
    assert gwet_ac1(same, scale=[0, 1]).value == 1.0
    assert gwet_ac1(same).reason == "constant input"
    assert fleiss_kappa(same, scale=[0, 1]).reason == "constant input"
    assert krippendorff_alpha(same).reason == "constant input"
    assert gwet_ac1([[1, None], [None, 1]]).reason == "no item has 2 votes"
    assert gwet_ac1([[None], [None]]).value is None


@pytest.mark.parametrize("weights", list(Weights))
@given(matrix=votes)
@settings(max_examples=30, deadline=None)
def test_full_agreement_is_one_and_order_does_not_matter(weights: str, matrix: list[list[int | None]]) -> None:
    scale = [0, 1, 2, 3, 4]
    for coefficient in (
        partial(gwet_ac2, weights=weights, scale=scale), partial(fleiss_kappa, scale=scale),
        partial(cohen_kappa, weights=weights, scale=scale),
    ):  # fmt: skip
        got, turned = coefficient(matrix), coefficient([row[::-1] for row in matrix[::-1]])
        assert (got.value is None) == (turned.value is None)
        if got.value is not None:
            assert got.value == pytest.approx(turned.value, abs=1e-9)
            assert got.value <= 1 + 1e-12
        copied = coefficient([matrix[0], matrix[0]])
        assert copied.value is None or copied.value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "published"),
    [("1,1", 0.17), ("2,1", 0.29), ("3,1", 0.71), ("1,k", 0.44), ("2,k", 0.62), ("3,k", 0.91)],
)
def test_icc_of_shrout_and_fleiss(model: str, published: float) -> None:
    got = icc(SHROUT, model)
    assert round(got.value, 2) == published
    # Their table of variance: between targets 11.24 with 5 df, within 6.26 with 18, residual 1.02 with 15.
    f, df = (11.2417 / 6.2639, 18) if model[0] == "1" else (11.2417 / 1.0194, 15)
    assert got.p == pytest.approx(scipy.stats.f.sf(f, 5, df), rel=2e-3)


def test_icc_of_incomplete_and_degenerate_matrices() -> None:
    wider = [[*row, None if i == 2 else 5] for i, row in enumerate(SHROUT)]
    got = icc(wider)
    assert (got.value, got.n, got.missing) == (icc(SHROUT).value, 6, 1)
    assert icc([[1], [2]]).reason == "fewer than 2 complete items"
    assert icc([[1, 2]]).reason == "fewer than 2 raters"
    assert icc([[3, 3], [3, 3]]).reason == "constant input"
    assert icc([[1, 2], [2, 1]], "1,k").reason == "no variance to divide"
    assert icc([[1, 2, 3], [1, 2, 3]]).value == 1.0
    # The reliability of the mean of k raters follows from the Spearman-Brown formula.
    one = icc(SHROUT, "3,1").value
    assert icc(SHROUT, "3,k").value == pytest.approx(4 * one / (1 + 3 * one))


def test_pairwise_pearson_per_document() -> None:
    # Document a: r = 1; document b: r(1 2 3, 1 3 2) = .5; document c: the first rater is constant.
    one, two = [1, 2, 3, 1, 2, 3, 4, 4, 4], [2, 4, 6, 1, 3, 2, 1, 2, 3]
    a, b, c = (mean_pairwise([one[at : at + 3], two[at : at + 3]]) for at in (0, 3, 6))
    assert (a.value, b.value, c.value) == (pytest.approx(1), pytest.approx(0.5), None)
    assert (a.n, c.n, c.value) == (3, 3, None)
    assert mean_pairwise([[1, 1], [1, 2]]).value is None
    assert mean_pairwise([[None, 1], [2, None]]).missing == 2


def test_spans_missing_empty_and_several_annotators() -> None:
    a, b, c = [[(0, 2)], [], None], [[(0, 4)], [], [(1, 2)]], [[(2, 4)], [(0, 1)], None]
    got = span_f1([a, b])
    assert (got.value, got.n, got.missing) == (pytest.approx(4 / 6), 2, 1)
    mean = span_f1([a, b, c])
    # a-b 4/6; a-c nothing common: 0; b-c: common 2, marked 4 and 3 over the two texts both saw: 4/7.
    assert mean.value == pytest.approx((4 / 6 + 0 + 4 / 7) / 3)
    assert (mean.n, mean.missing) == (2, 1)
    # The first text drawn twice, the second not at all: a-b as before, a-c 0, b-c 2 * 2 / (4 + 2).
    assert mean.weighted(np.array([[2.0, 0.0, 1.0]])).tolist() == [pytest.approx((4 / 6 + 0 + 4 / 6) / 3)]
    assert span_f1([[[]], [[]]]).reason == "nothing was marked"
    assert span_f1([[None], [[]]]).reason == "no text was seen by both"
    assert span_f1([[[]]]).reason == "fewer than 2 annotators"
    with pytest.raises(ValueError, match="not a span"):
        span_f1([[[(3, 1)]], [[]]])
    with pytest.raises(ValueError, match="texts"):
        span_f1([[[]], []])


def test_masi_alpha_follows_its_definition() -> None:
    """Compare with observed and expected disagreement over all pairs, with Passonneau's distance."""
    rng = np.random.default_rng(3)
    pool = [frozenset(chosen) for chosen in ("a", "b", "ab", "abc", "cd")]
    votes = [[pool[place] if place < len(pool) else None for place in row] for row in rng.integers(0, 7, (4, 30))]

    def distance(left: frozenset[str], right: frozenset[str]) -> float:
        jaccard = len(left & right) / len(left | right)
        monotone = 1 if left == right else 2 / 3 if left < right or right < left else 1 / 3 if left & right else 0
        return 1 - jaccard * monotone

    units = [[vote for vote in unit if vote is not None] for unit in zip(*votes, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    every = [vote for unit in units for vote in unit]
    observed = sum(
        distance(left, right) / (len(unit) - 1) for unit in units for left, right in permutations(unit, 2)
    ) / len(every)
    expected = np.mean([distance(left, right) for left, right in permutations(every, 2)])
    got = masi_alpha(votes)
    assert got.value == pytest.approx(1 - observed / expected)
    assert (got.n, got.details["votes"]) == (len(units), len(every))
    assert masi_alpha([[pool[0], None], [None, pool[1]]]).value is None
