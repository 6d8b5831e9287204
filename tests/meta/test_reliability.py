"""Reliability of two judges by system, its check against people, dependence of aspects, and repeats."""

from __future__ import annotations

import numpy as np
import pytest
from meta.duels import sound
from meta.makers import judgment, people, ratings, sentences
from scipy import stats as scipy_stats

from summeter.meta._reliability import reliability, self_consistency
from summeter.records import Judgment, UsageError

Table = dict[str, tuple[float | None, ...]]

# A row a system, on three documents.
RTS: Table = {"A": (1, 2, 3), "B": (1, 2, 3), "C": (1, 3, 2), "D": (2, 2, 2)}
MCQ: Table = {"A": (2, 4, 5), "B": (3, 2, 1), "C": (1, 2, 3), "D": (1, 2, 3)}
TRUE: Table = {"A": (1, 2, 4), "B": (2, 1, 3), "C": (3, 2, 1), "D": (5, 4, 5)}


def said(table: Table, judge: str, aspect: str = "coherence", signature: str | None = None) -> list[Judgment]:
    size = len(next(iter(table.values())))
    by_document = {f"d{i}": {system: row[i] for system, row in table.items()} for i in range(size)}
    return ratings(by_document, aspect, judge, signature)


def gold(table: Table, aspect: str = "coherence") -> list[Judgment]:
    return people(
        {(f"d{i}", system): {"x": value} for system, row in table.items() for i, value in enumerate(row)}, aspect
    )


BOTH = said(RTS, "rts") + said(MCQ, "mcq")


def test_reliability_by_hand() -> None:
    found = reliability(BOTH, judges=("rts", "mcq"), resamples=0)
    sound(found)
    # Spearman of the two: A 1, B -1, C .5; D is constant for one of them.
    for system, value in {"A": 1.0, "B": -1.0, "C": 0.5, "D": None}.items():
        row = found.one(study="reliability", system=system, statistic="spearman")
        assert row.value == (None if value is None else pytest.approx(value, abs=1e-12))
        assert row.judge == "rts + mcq"
        assert row.signature == "rts|v:1 + mcq|v:1"


def test_check_against_people_by_hand() -> None:
    found = reliability(BOTH, gold(TRUE), judges=("rts", "mcq"), resamples=0)
    sound(found)
    # R = 1, -1, .5 on A, B, C. P of rts (Spearman): A 1, B .5, C -.5. Ranks 3 1 2 against 3 2 1: rho .5.
    row = found.one(study="reliability_check", judge="rts", statistic="spearman")
    assert row.value == pytest.approx(0.5)
    assert (row.n, row.missing, row.details["dropped"]) == (3, 1, ["D"])
    # P of mcq: A 1, B -.5, C -1 (2 1 3 against 3 2 1; 3 2 1 against 1 2 3): ranks 3 1 2 against 3 2 1, .5 again.
    assert found.one(study="reliability_check", judge="mcq", statistic="spearman").value == pytest.approx(0.5)


def test_verdict_at_a_tolerance() -> None:
    found = reliability(BOTH, judges=("rts", "mcq"), coefficients=("spearman",), tolerance=0.5, resamples=0)
    # Below .5 is B; D has no reliability at all, so people are needed as well.
    need = {row.system: row.value for row in found.where(study="verdict")}
    assert need == {"A": 0.0, "B": 1.0, "C": 0.0, "D": 1.0}
    assert found.one(study="verdict", system="D").reason == "constant input"
    assert "human judgments are needed for 2 of 4 systems (B, D)" in found.notes[0]
    with pytest.raises(UsageError, match="tolerance"):
        reliability(BOTH, tolerance=2.0)


def test_intervals_and_p_equal_scipy() -> None:
    rng = np.random.default_rng(2)
    true = rng.integers(1, 6, (6, 25))
    one, two = (np.clip(true + rng.integers(-2, 3, true.shape), 1, 5) for _ in range(2))
    tables = [{f"S{i}": tuple(map(float, row)) for i, row in enumerate(side)} for side in (one, two, true)]
    both = said(tables[0], "one") + said(tables[1], "two")
    found = reliability(both, gold(tables[2]), resamples=150, dependence=False)
    sound(found)
    r = [scipy_stats.kendalltau(a, b).statistic for a, b in zip(one, two, strict=True)]
    p = [scipy_stats.kendalltau(a, b).statistic for a, b in zip(one, true, strict=True)]
    want = scipy_stats.kendalltau(r, p)
    row = found.one(study="reliability_check", judge="one", statistic="kendall_b")
    assert row.value == pytest.approx(want.statistic, abs=1e-9)
    assert row.p == pytest.approx(want.pvalue, abs=1e-9)
    assert row.low is not None


def test_every_two_judges_or_the_two_named() -> None:
    three = BOTH + said(TRUE, "third")
    names = {row.judge for row in reliability(three, resamples=0).where(study="reliability")}
    assert names == {"rts + mcq", "rts + third", "mcq + third"}
    with pytest.raises(UsageError, match="two judges"):
        reliability(said(RTS, "rts"), resamples=0)
    with pytest.raises(UsageError, match="rts, mcq"):
        reliability(BOTH, judges=("rts", "nobody"), dependence=False, resamples=0)


def test_dependence_beside_people() -> None:
    # The judge gives both aspects the same scores; people do not: 1 above what people have (r = 0 by symmetry).
    one: Table = {"A": (1, 2, 3)}
    judge = said(one, "j", "coherence") + said(one, "j", "fluency")
    true = gold(one, "coherence") + gold({"A": (1, 2, 1)}, "fluency")
    found = reliability(judge, true, resamples=0)
    sound(found)
    row = found.one(study="dependence", judge="j")
    assert (row.aspect, row.value) == ("coherence+fluency", pytest.approx(1.0))
    assert row.details["people"] == pytest.approx(0.0)
    assert row.details["above"] == pytest.approx(1.0)
    assert found.one(study="dependence", judge="people").value == pytest.approx(0.0)


def test_self_consistency_by_hand() -> None:
    again: Table = {**RTS, "C": (1, 3, 4)}
    found = self_consistency([said(RTS, "rts"), said(again, "rts")], resamples=50)
    sound(found)
    row = found.one(statistic="identical")
    # One of twelve scores changed.
    assert row.value == pytest.approx(11 / 12)
    assert (row.n, row.details["repeats"]) == (12, 2)
    # That one lies 1 from its mean: the population deviation is 1, over twelve units.
    assert found.one(statistic="rater_deviation").value == pytest.approx(1 / 12)
    assert found.one(statistic="alpha_interval").value == pytest.approx(_alpha(RTS, again), abs=1e-12)


def _alpha(one: Table, two: Table) -> float:
    """Compute Krippendorff's alpha of two complete lists of numbers from its definition."""
    pairs = [(a, b) for system in one for a, b in zip(one[system], two[system], strict=True)]
    values = np.array(pairs, dtype=float).ravel()
    observed = np.mean([(float(a or 0) - float(b or 0)) ** 2 for a, b in pairs])
    gaps = np.subtract.outer(values, values) ** 2
    return float(1 - observed / (gaps.sum() / (len(values) * (len(values) - 1))))


def test_repeats_of_labels_and_other_signatures() -> None:
    first, second = {("d", "A"): [1, 0, 1, 1]}, {("d", "A"): [1, 1, 1, None]}
    runs = [sentences(first, signature="j|seed:1"), sentences(second, signature="j|seed:2")]
    found = self_consistency(runs, level="sentence", resamples=0)
    row = found.one(statistic="identical")
    assert (row.value, row.n, row.missing) == (pytest.approx(2 / 3), 3, 1)
    with pytest.raises(UsageError, match="no judge has repeats"):
        self_consistency(runs[:1])
    with pytest.raises(UsageError, match="unknown level 'system'; choose one of sentence, key_fact, summary"):
        self_consistency(runs, level="system")
    with pytest.raises(UsageError, match="no judge"):
        self_consistency(runs, aspect="fluency")


def test_failures_are_missing_not_scores() -> None:
    lost = [*said({"A": (1, 2, 3)}, "rts"), judgment("d9", "A", None, judge="rts", status="unparsed")]
    row = self_consistency([lost, said({"A": (1, 2, 3)}, "rts")], resamples=0).one(statistic="identical")
    assert (row.value, row.n, row.missing) == (1.0, 3, 1)
