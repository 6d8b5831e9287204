"""Bias of judges: position, length and family, by hand and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meta.duels import duel, duels, sound
from meta.makers import people, ratings
from scipy import stats as scipy_stats

from summeter.data.dataset import Dataset, load
from summeter.meta._bias import bias, length_estimates, own_family, sign_p
from summeter.meta.options import Families
from summeter.records import Judgment, UsageError
from summeter.stats import Bootstrap, OrderEffect


def test_position_by_hand() -> None:
    # Ten pairs judged in both orders: 3 alike, 5 twice the first place, 1 twice the second, 1 a tie in one order.
    said = duels(("A", "B"), [(1, 1), (0, 0), (0.5, 0.5), *[(1, 0)] * 5, (0, 1), (0.5, 1)])
    study = bias(said, resamples=200)
    sound(study)
    flips, slots = study.one(statistic="flip_rate"), study.one(statistic="slot_preference")
    assert (flips.value, flips.n, flips.missing) == (0.7, 10, 0)
    assert slots.value == pytest.approx((5 - 1) / 10)
    assert flips.details == {"consistent": 3, "first_slot": 5, "second_slot": 1, "half_tied": 1}
    # Five of six by a fair coin, two-sided: 2 (1 + 6) / 64.
    assert slots.p == pytest.approx(14 / 64)
    assert slots.low is not None
    assert slots.low <= slots.value <= (slots.high or 1)


def test_position_by_pair_and_with_losses() -> None:
    said = duels(("A", "B"), [(1, 0), (None, 1)]) + duels(("A", "C"), [(1, 1)]) + [duel("d5", "B", "C", 1)]
    study = bias(said, resamples=0)
    sound(study)
    every = study.one(statistic="flip_rate", pair=None)
    assert (every.value, every.n, every.missing) == (0.5, 2, 2)
    assert study.one(statistic="flip_rate", pair="A-B").value == 1.0
    lost = study.one(statistic="flip_rate", pair="B-C")
    assert (lost.value, lost.reason) == (None, "no pair was judged in both orders")


@given(st.integers(0, 12), st.integers(0, 12))
def test_sign_test_equals_scipy(first: int, second: int) -> None:
    got = sign_p(OrderEffect(0, first, second, 0, first + second, 0))
    if first + second == 0:
        assert got is None
    else:
        assert got == pytest.approx(scipy_stats.binomtest(first, first + second).pvalue, abs=1e-9)


def of_length(judge: np.ndarray, gold: np.ndarray, words: np.ndarray) -> list[float | None]:
    documents = np.arange(len(judge))
    rows = length_estimates(judge, gold, words, documents, Bootstrap(documents, 0), {"study": "length"})
    return [row.value for row in rows]


def test_lengths_equal_scipy_and_partial_correlations_those_of_residuals() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=40)
    judge, words = gold + rng.normal(size=40), rng.normal(size=40) - gold
    left, right = (column - np.polyval(np.polyfit(gold, column, 1), gold) for column in (judge, words))
    by_judge, by_people = (scipy_stats.pearsonr(side, words).statistic for side in (judge, gold))
    partial = scipy_stats.pearsonr(left, right).statistic
    assert of_length(judge, gold, words) == pytest.approx(
        [partial, by_judge, by_people, by_judge - by_people], abs=1e-9
    )
    assert of_length(judge, judge, words)[0] is None
    assert of_length(judge[:3], gold[:3], words[:3])[0] is None
    assert of_length(judge, gold, np.ones(40)) == [None] * 4


def data(texts: dict[tuple[str, str], str], scores: dict[tuple[str, str], float]) -> Dataset:
    return load([
        {"doc_id": doc, "system": system, "document": "It rained all day.", "summary": text,
         "human": {"ratings": {"coherence": {"x": scores[doc, system]}}}}
        for (doc, system), text in texts.items()
    ])  # fmt: skip


def judge(scores: dict[tuple[str, str], float]) -> list[Judgment]:
    table: dict[str, dict[str, float | None]] = {}
    for (doc, system), score in scores.items():
        table.setdefault(doc, {})[system] = score
    return ratings(table)


def test_length_by_hand() -> None:
    # The judge's scores are the number of words; people's (1 2 1 2) have nothing to do with them.
    items = [(f"d{i}", "A") for i in range(4)]
    texts = {item: "word " * (i + 1) for i, item in enumerate(items)}
    true = data(texts, dict(zip(items, (1, 2, 2, 1), strict=True)))
    study = bias(judge(dict(zip(items, (1, 2, 3, 4), strict=True))), true, resamples=100)
    sound(study)
    assert study.one(statistic="length_judge").value == pytest.approx(1.0)
    assert study.one(statistic="length_people").value == pytest.approx(0.0)
    assert study.one(statistic="length_gap").value == pytest.approx(1.0)
    part = study.one(statistic="partial_pearson")
    assert part.value == pytest.approx(1.0)
    assert (part.n, part.missing, part.details["length"]) == (4, 0, "words")
    assert any("no families were given" in note for note in study.notes)


# Two systems on two documents; the judge rates its own (A) two points higher than B, people one point.
OWN = {("d1", "A"): 5.0, ("d1", "B"): 3.0, ("d2", "A"): 5.0, ("d2", "B"): 3.0}
TRUE = {("d1", "A"): 4.0, ("d1", "B"): 2.0, ("d2", "A"): 2.0, ("d2", "B"): 2.0}


def test_self_preference_by_hand() -> None:
    true = people({item: {"x": value} for item, value in TRUE.items()})
    study = bias(judge(OWN), true, families={"A": "acme", "B": "other"}, judge_families={"j": "acme"}, resamples=100)
    sound(study)
    row = study.one(statistic="self_preference")
    # The judge: mean 4, deviation 1, difference 2. People: mean 2.5, deviation sqrt(.75), difference 1.
    assert row.value == pytest.approx(2 / 1 - 1 / np.sqrt(0.75))
    assert (row.details["judge_difference"], row.details["people_difference"]) == (2.0, 1.0)
    assert (row.details["family"], row.details["own_systems"], row.n) == ("acme", ["A"], 4)
    assert row.low is not None


def test_a_judge_without_a_family_or_rivals_has_no_self_preference() -> None:
    true = people({item: {"x": value} for item, value in TRUE.items()})
    for families, judges, why in (
        ({"A": "acme"}, {}, "family is unknown"),
        ({"A": "acme"}, {"j": "third"}, "no system belongs to the judge's family third"),
        ({"A": "acme", "B": "acme"}, {"j": "acme"}, "every system belongs to the judge's family"),
    ):
        study = bias(judge(OWN), true, families=families, judge_families=judges, resamples=0)
        sound(study)
        assert why in (study.one(statistic="self_preference").reason or "")
    flat = bias(judge(dict.fromkeys(OWN, 3.0)), true, families={"A": "a"}, judge_families={"j": "a"}, resamples=0)
    assert flat.one(statistic="self_preference").reason == "the scores of one side are constant"


def test_family_from_the_model_name() -> None:
    def family(model: str | None, options: Families) -> str | None:
        return own_family("rts", "rts|v:1", model, ["A", "B"], options)[0]

    two = Families(families={"A": "gpt", "B": "llama"})
    assert family("openai/GPT-4o", two) == "gpt"
    assert family("gpt-llama-mix", two) is None
    assert family(None, two) is None
    assert family("gpt", Families(families={"A": "gpt"}, judge_families={"rts|v:1": "x"})) == "x"


def test_nothing_to_audit() -> None:
    with pytest.raises(UsageError, match="none in common"):
        bias(judge(OWN), [])
    only = bias(duels(("A", "B"), [(1, 1)]), resamples=0)
    assert any("only position was audited" in note for note in only.notes)
