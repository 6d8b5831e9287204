"""Samples at every level: keys, means, missing values and reasons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meta.makers import judgment, ratings, sentences

from summeter.meta import Level, ValueOrLabel
from summeter.meta.inputs import JudgeInput
from summeter.meta.sample import OTHER_LIST, Context, Sample, group_means
from summeter.records import Judgment, UsageError
from summeter.scoring import summary_scores
from summeter.scoring.table import JudgmentTable

NAN = math.nan


def only(
    judgments: list[Judgment],
    level: Level = Level.SUMMARY,
    use: ValueOrLabel = ValueOrLabel.VALUE,
    reduce: str = "share",
) -> Sample:
    """Return the sample of judgments of one judge and aspect."""
    judged = JudgeInput(JudgmentTable.of(judgments), {judgments[0].judge: reduce})
    (question,) = judged.questions()
    return judged.scores(question, level, use)


def values(pairs: Sample) -> dict[tuple[str | None, ...], tuple[float, float]]:
    keys = zip(pairs.units.document.labels(), pairs.units.system.labels(), pairs.units.index.tolist(), strict=True)
    return {
        key: (float(x), float(y)) for key, x, y in zip(keys, pairs.x, pairs.y, strict=True)
    }  # fmt: skip


def test_shares_and_means_are_those_of_scoring() -> None:
    # Labels 1 0 1 -> 2/3; values .9 .2 .4 -> .5; the failed sentence is left out of both.
    rows = [
        judgment("d", "A", 0.9, label=1, unit="sentence", index=0, aspect="faithfulness"),
        judgment("d", "A", 0.2, label=0, unit="sentence", index=1, aspect="faithfulness"),
        judgment("d", "A", 0.4, label=1, unit="sentence", index=2, aspect="faithfulness"),
        judgment("d", "A", None, unit="sentence", index=3, aspect="faithfulness", status="unparsed"),
    ]
    for reduce, expected in (("share", 2 / 3), ("mean", 0.5)):
        got = only(rows, reduce=reduce)
        assert got.value.tolist() == [pytest.approx(expected, abs=1e-15)]
        assert summary_scores(rows, {"j": reduce})[0].value == pytest.approx(expected, abs=1e-15)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["d1", "d2"]), st.sampled_from(["A", "B"]),
            st.sampled_from(["summary", "sentence", "claim"]), st.integers(0, 3), st.sampled_from([None, 0, 1]),
            st.sampled_from([0.0, 0.3, 1.0]),
        ), min_size=1, max_size=25,
    ),
    st.sampled_from(["share", "mean"]),
)  # fmt: skip
def test_summary_values_equal_scoring(rows: list[tuple[str, str, str, int, int | None, float]], reduce: str) -> None:
    made = [
        judgment(d, s, None if label is None else value, label=None if unit == "summary" else label,
                 unit=unit, index=None if unit == "summary" else index)
        for d, s, unit, index, label, value in rows
    ]  # fmt: skip
    expected = {(one.doc_id, one.system): one.value for one in summary_scores(made, {"j": reduce})}
    got = only(made, reduce=reduce)
    items = zip(got.units.document.labels(), got.units.system.labels(), strict=True)
    found = {item: None if math.isnan(value) else value for item, value in zip(items, got.value.tolist(), strict=True)}
    assert found == {key: None if value is None else pytest.approx(value, abs=1e-12) for key, value in expected.items()}


def test_a_label_is_used_as_a_decision_and_a_value_as_a_score() -> None:
    rows = [
        judgment("d", "A", 0.9, label=1, unit="sentence", index=0, aspect="faithfulness"),
        judgment("d", "A", 0.7, unit="sentence", index=1, aspect="faithfulness"),
        judgment("d", "A", 1.0, unit="sentence", index=2, aspect="faithfulness"),
    ]
    assert only(rows, Level.SENTENCE).value.tolist() == [0.9, 0.7, 1.0]
    decided = only(rows, Level.SENTENCE, ValueOrLabel.LABEL)
    np.testing.assert_array_equal(decided.value, [1.0, NAN, 1.0])
    assert list(decided.why.labels()) == [None, "no decision: give a threshold", None]


def test_summaries_meet_by_document_and_system_in_any_order() -> None:
    judge = only(ratings({"d2": {"B": 4, "A": 3}, "d1": {"A": 1}}))
    gold = only(ratings({"d1": {"A": 10, "B": 20}, "d2": {"A": 30}}, judge="people"))
    pairs = Sample.join([judge, gold])
    got = values(pairs)
    assert got["d1", "A", -1] == (1, 10)
    assert got["d2", "A", -1] == (3, 30)
    assert (pairs.n, pairs.missing) == (2, 2)
    assert pairs.missing_reasons == {"gold: no judgment": 1, "judge: no judgment": 1}


def test_key_facts_match_within_one_list() -> None:
    # d1 was judged on people's list, d2 on another one: its facts are missing, not compared by number.
    judge = only(
        [*sentences({("d1", "A"): [1, 0]}, unit="key_fact", list_id="own1", aspect="completeness"),
         *sentences({("d2", "A"): [1]}, unit="key_fact", list_id="extracted", aspect="completeness")],
        Level.KEY_FACT,
    )  # fmt: skip
    gold = only(
        [*sentences({("d1", "A"): [1, 1]}, "p", unit="key_fact", list_id="own1", aspect="completeness"),
         *sentences({("d2", "A"): [0]}, "p", unit="key_fact", list_id="own2", aspect="completeness")],
        Level.KEY_FACT,
    )  # fmt: skip
    pairs = Sample.join([judge, gold])
    assert pairs.n == 2
    assert pairs.missing_reasons == {f"judge: {OTHER_LIST}": 1, f"gold: {OTHER_LIST}": 1}


def test_numbered_key_facts_without_a_list_are_of_the_list_people_judged() -> None:
    judge = only(sentences({("d1", "A"): [1, 0]}, unit="key_fact"), Level.KEY_FACT)
    gold = only(sentences({("d1", "A"): [1, 1]}, "p", unit="key_fact", list_id="x"), Level.KEY_FACT)
    assert Sample.join([judge, gold]).n == 2


def test_a_summary_that_failed_whole_names_the_failure_for_its_sentences() -> None:
    rows = [
        *sentences({("d1", "A"): [1]}),
        judgment("d2", "A", None, aspect="faithfulness", status="refused"),
    ]
    gold = only(sentences({("d1", "A"): [1], ("d2", "A"): [0, 1]}, "p"), Level.SENTENCE)
    pairs = Sample.join([only(rows, Level.SENTENCE), gold])
    assert pairs.missing_reasons == {"judge: refused": 2}


def test_levels_do_not_mix() -> None:
    gold = only(ratings({"d": {"A": 1}}))
    with pytest.raises(UsageError, match="cannot be joined"):
        Sample.join([only(sentences({("d", "A"): [1]}), Level.SENTENCE), gold])
    sentence = only(sentences({("d", "A"): [1]}), Level.SENTENCE)
    with pytest.raises(UsageError, match="need values of summaries"):
        Sample.join([sentence, sentence]).at(Level.SYSTEM)


def test_means_are_over_common_items() -> None:
    #        judge        people
    #        A    B       A    B       common: A {d1}, B {d1, d2}
    # d1     1    2       10   20
    # d2     -    4       30   40
    judge = only(ratings({"d1": {"A": 1, "B": 2}, "d2": {"B": 4}}))
    gold = only(ratings({"d1": {"A": 10, "B": 20}, "d2": {"A": 30, "B": 40}}, judge="p"))
    pairs = Sample.join([judge, gold])
    common = pairs.at(Level.SYSTEM)
    assert list(common.units.system.labels()) == ["A", "B"]
    assert (common.x.tolist(), common.y.tolist()) == ([1, 3], [10, 30])
    assert common.missing_reasons == {"judge: no judgment": 1}
    assert common.units.document.labels().tolist() == [None, None]
    by_document = pairs.at(Level.DOCUMENT)
    assert (by_document.x.tolist(), by_document.y.tolist()) == ([1.5, 4], [15, 40])
    few = pairs.at(Level.SYSTEM, min_items=2)
    np.testing.assert_array_equal(few.x, [NAN, 3])
    assert (few.n, few.missing) == (1, 1)


def test_equal_means_tie_whatever_the_order_of_summing() -> None:
    # 100 ratings of thirds, the same multiset in two orders and as two other multisets with the same sum.
    one = np.array([1 / 3, 2 / 3, 1.0] * 33 + [5 / 3])
    two = one[::-1].copy()
    three = np.array([2 / 3] * 99 + [5 / 3])
    got = group_means(np.concatenate([one, two, three]), np.repeat([0, 1, 2], 100), 3)
    assert len(set(got.tolist())) == 1


def test_rows_split_by_any_column_of_the_data() -> None:
    context = Context(
        domains={"d1": "news", "d2": None},
        categories={("d1", "A"): "extractive"},
        extra={"year": {("d2", "B"): "2023"}},
    )
    side = only(ratings({"d1": {"A": 1, "B": 2}, "d2": {"B": 4}}))
    pairs = Sample.join([side, side], context)
    assert {name: part.n for name, part in pairs.split("domain")} == {"news": 2}
    assert {name: part.n for name, part in pairs.split("system")} == {"A": 1, "B": 2}
    assert {name: part.n for name, part in pairs.split("category")} == {"extractive": 1}
    assert {name: part.n for name, part in pairs.split("year")} == {"2023": 1}
    with pytest.raises(UsageError, match="no column 'weather'"):
        list(pairs.split("weather"))


def test_a_judgment_without_a_number_says_so_alone_and_in_a_composite() -> None:
    rows = [
        judgment("d1", "A", None, unit="sentence", index=0, label="EntE", aspect="faithfulness"),
        judgment("d1", "A", 0.5, aspect="completeness"),
        judgment("d1", "A", 0.5, aspect="conciseness"),
    ]
    read = JudgeInput(JudgmentTable.of(rows))
    for aspect, why in (("faithfulness", "no number"), ("composite", "faithfulness: no number")):
        (question,) = read.questions(aspect)
        assert list(read.scores(question, Level.SUMMARY).why.labels()) == [why]
