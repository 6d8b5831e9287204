"""Per-candidate correlations and the meta-correlation: by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from meta.duels import sound
from meta.makers import people, ratings
from scipy import stats as scipy_stats

from summeter.meta import prefer
from summeter.meta._stability import stability, system_correlations
from summeter.meta.measure import over_groups
from summeter.meta.results import Study, resampling
from summeter.records import Judgment, UsageError
from summeter.stats import correlate as correlate_values

# On three documents each, a row a system: what people and the judge say.
#   A  people 1 2 3 (mean 2)  judge 1 2 3   rho 1
#   B  people 3 4 5 (mean 4)  judge 3 2 1   rho -1
#   C  people 2 3 4 (mean 3)  judge 1 3 2   rho .5
#   D  people 4 5 5 (mean 4.667)  judge 2 2 2   none
TRUE = {"A": (1, 2, 3), "B": (3, 4, 5), "C": (2, 3, 4), "D": (4, 5, 5)}
SAID = {"A": (1, 2, 3), "B": (3, 2, 1), "C": (1, 3, 2), "D": (2, 2, 2)}


def gold(table: dict[str, tuple[float | None, ...]] | None = None) -> list[Judgment]:
    rows = (table or TRUE).items()
    return people({(f"d{i}", system): {"x": value} for system, row in rows for i, value in enumerate(row)})


def judge(table: dict[str, tuple[float | None, ...]] | None = None) -> list[Judgment]:
    rows = (table or SAID).items()
    return ratings({f"d{i}": {system: row[i] for system, row in rows} for i in range(len(next(iter(rows))[1]))})


def study(**more: object) -> Study:
    return stability(judge(), gold(), **{"resamples": 0, **more})  # type: ignore[arg-type]


def test_per_candidate_by_hand() -> None:
    found = study()
    sound(found)
    for system, value in {"A": 1.0, "B": -1.0, "C": 0.5}.items():
        row = found.one(study="per_candidate", system=system, statistic="spearman")
        assert row.value == pytest.approx(value, abs=1e-12)
        assert (row.n, row.missing) == (3, 0)
    lost = found.one(study="per_candidate", system="D", statistic="pearson")
    assert (lost.value, lost.status, lost.reason) == (None, "undefined", "constant input")


def test_meta_correlation_by_hand() -> None:
    # Q = 2, 4, 3 and P = 1, -1, .5: ranks 1 3 2 against 3 1 2, so rho = -1; D has no P and is dropped.
    row = study().one(study="meta_correlation", statistic="spearman")
    assert row.value == pytest.approx(-1.0, abs=1e-12)
    assert (row.n, row.missing, row.details["k"], row.details["dropped"]) == (3, 1, 3, ["D"])
    # Pearson of (2, 4, 3) and (1, -1, .5): -2 / sqrt(2 * 2.1667).
    pearson = study().one(study="meta_correlation", statistic="pearson")
    assert pearson.value == pytest.approx(-2 / np.sqrt(2 * (13 / 6)), abs=1e-12)


def test_spread_by_hand() -> None:
    found = study()
    # Of 1, -1, .5: the range is 2, the population deviation sqrt((1 + 1 + .25) / 3 - (1/6)^2).
    row = found.one(study="candidate_spread", statistic="range_spearman")
    assert row.value == pytest.approx(2.0)
    assert (row.n, row.missing, row.details["highest"], row.details["lowest"]) == (3, 1, "A", "B")
    deviation = found.one(study="candidate_spread", statistic="deviation_spearman")
    assert deviation.value == pytest.approx(np.sqrt(2.25 / 3 - 1 / 36))


def test_fewer_than_three_systems_are_undefined() -> None:
    found = stability(judge({"A": (1, 2, 3), "B": (3, 2, 1)}), gold({"A": (1, 2, 3), "B": (3, 4, 5)}), resamples=0)
    sound(found)
    row = found.one(study="meta_correlation", statistic="pearson")
    assert (row.value, row.n, row.reason) == (None, 2, "2 systems; at least 3 are needed")
    alone = stability(judge({"A": (2, 2, 2)}), gold({"A": (1, 2, 3)}), resamples=0)
    sound(alone)
    assert alone.one(study="candidate_spread", statistic="range_pearson").reason == "fewer than 2 systems"


def test_equals_scipy_with_p_and_intervals() -> None:
    rng = np.random.default_rng(5)
    true, said = rng.integers(1, 6, (7, 30)), rng.integers(1, 6, (7, 30))
    said[:4] = np.clip(true[:4] + rng.integers(-1, 2, (4, 30)), 1, 5)
    names = [f"S{i}" for i in range(7)]
    found = stability(
        judge({name: tuple(map(float, row)) for name, row in zip(names, said, strict=True)}),
        gold({name: tuple(map(float, row)) for name, row in zip(names, true, strict=True)}), resamples=200,
    )  # fmt: skip
    sound(found)
    names_of = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall_b": "kendalltau"}
    for name, scipy_name in names_of.items():
        function = getattr(scipy_stats, scipy_name)
        each = [function(one, two).statistic for one, two in zip(said, true, strict=True)]
        for system, value in zip(names, each, strict=True):
            row = found.one(study="per_candidate", statistic=name, system=system)
            assert row.value == pytest.approx(value, abs=1e-9)
            assert row.low is not None
            assert row.low <= row.value <= (row.high or 1)
        want = function(true.mean(axis=1), each)
        row = found.one(study="meta_correlation", statistic=name)
        assert row.value == pytest.approx(want.statistic, abs=1e-9)
        assert row.p == pytest.approx(want.pvalue, abs=1e-9)
        assert row.low is not None


def test_draws_equal_repeated_documents() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.integers(1, 6, (2, 3, 12)).astype(float)
    one[0, 3] = np.nan
    got = system_correlations(list("ABC"), one, two, ["pearson", "spearman", "kendall_b"], resampling(25, seed=4))
    (weights,) = got.bootstrap.weights()
    for number, times in enumerate(weights):
        picked = np.repeat(np.arange(12), times.astype(int))
        for name in got.statistics:
            for system in range(3):
                want = correlate_values(one[system, picked], two[system, picked], name).value
                assert got.samples[name][number, system] == pytest.approx(np.nan if want is None else want, nan_ok=True)


def test_by_a_column_and_unknown_coefficients() -> None:
    by = study(by="system")
    sound(by)
    with pytest.raises(UsageError, match="unknown coefficient 'tau'"):
        study(coefficients=("tau",))
    with pytest.raises(UsageError, match="resamples"):
        study(resamples=-1)
    few = over_groups("pearson", np.zeros(2), np.zeros(2))
    assert (few.n, few.reason) == (2, "2 systems; at least 3 are needed")


def test_correlations_that_are_equal_tie() -> None:
    # Two systems on which the judge is as good, but for the last bit: their P must tie, whatever the rank.
    quality, good = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5 + 1e-16, 0.1])

    def of(side: np.ndarray) -> float | None:  # type: ignore[type-arg]
        return over_groups("spearman", quality, side).value

    assert of(good + 1e-16) == of(good) == pytest.approx(-np.sqrt(3) / 2)


@pytest.mark.parametrize("unit", [1e-14, 1e9])
def test_the_unit_of_the_scores_does_not_matter(unit: float) -> None:
    rng = np.random.default_rng(3)
    marks = {f"d{i}": {system: float(rng.integers(1, 6)) for system in "ABCD"} for i in range(12)}
    votes = {(d, s): {who: float(rng.integers(1, 6)) for who in "ab"} for d, row in marks.items() for s in row}

    def rows(unit: float) -> list[tuple[str, float | None]]:
        judged = ratings({d: {s: unit * mark for s, mark in row.items()} for d, row in marks.items()})
        gold = people({item: {who: unit * vote for who, vote in cast.items()} for item, cast in votes.items()})
        kept = {"meta_correlation", "correct_preferences"}
        studies = (stability(judged, gold, resamples=20), prefer(judged, gold, resamples=20, strengths=False))
        return [(row.statistic, row.value) for study in studies for row in study if row.study in kept]

    assert [value for _, value in rows(unit)] == pytest.approx([value for _, value in rows(1)], abs=1e-9)
    assert None not in [value for _, value in rows(unit)]
