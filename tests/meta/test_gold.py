"""Merging of human judgments: votes, ties, sources and signatures."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meta.makers import judgment, people, sentences, voted

from summeter.data.dataset import load
from summeter.meta import Level, Tie, prefer
from summeter.meta.inputs import gold_input
from summeter.meta.options import People
from summeter.meta.sample import Sample
from summeter.meta.selection import aspects, blocks, gold_scores, votes
from summeter.records import Judgment, UsageError
from summeter.scoring import JudgmentTable

NAN = math.nan
ITEM = ("d", "A")


def one(judgments: list[Judgment], aspect: str = "coherence", level: Level = Level.SUMMARY, **rule: object) -> Sample:
    (made,) = gold_scores(JudgmentTable.of(judgments), aspect, level, People(**rule))  # type: ignore[arg-type]
    return made


def test_means_of_the_same_ratings_tie_in_whatever_order_they_were_given() -> None:
    # As floats .1 + .2 + .3 is more than .3 + .2 + .1; people who gave A and B the same prefer neither.
    cast = {("d", "A"): (0.1, 0.2, 0.3), ("d", "B"): (0.3, 0.2, 0.1)}
    gold = people({item: dict(zip("xyz", marks, strict=True)) for item, marks in cast.items()})
    first, second = gold_scores(JudgmentTable.of(gold), "coherence", Level.SUMMARY)[0].value
    assert first == second == pytest.approx(0.2)
    rates = prefer(None, gold, resamples=0).where(study="win_rate")
    assert [row.value for row in rates] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("cast", "expected"),
    [
        ({"a": 5, "b": 5, "c": 2}, 5),  # two agree
        ({"a": 5, "b": 4, "c": 2}, 11 / 3),  # none agree: the mean
        ({"a": 5, "b": 5, "c": 2, "d": 2}, 3.5),  # two and two: the mean
        ({"a": 3, "b": None, "c": None}, 3),
    ],
)
def test_mode_else_mean(cast: dict[str, float | None], expected: float) -> None:
    got = one(people({ITEM: cast}), merge="mode_else_mean")
    assert got.value.tolist() == [pytest.approx(expected)]
    assert got.judge.signature == "human.ratings|merge:mode_else_mean|v:1"


@pytest.mark.parametrize(("tie", "expected"), [("low", 2), ("high", 5), ("half", 3.5), ("drop", NAN), ("finesure", 2)])
def test_signature_of_a_majority_has_the_tie_rule(tie: str, expected: float) -> None:
    got = one(people({ITEM: {"a": 5, "b": 5, "c": 2, "d": 2, "e": 1}}), merge="majority", tie=tie)
    np.testing.assert_array_equal(got.value, [expected])
    assert f"merge:majority|tie:{'low' if tie == 'finesure' else tie}" in got.judge.signature


def test_labels_of_sentences_take_finesures_majority() -> None:
    # Sentence 0: 1 1 0 -> 1. Sentence 1: 1-1 -> 0 in FineSurE's polarity (0 = no error), so supported here.
    # Sentence 2: one vote of two asked for -> none, so the score is 2 of 2.
    rows = voted({ITEM: [{"a": 1, "b": 1, "c": 0}, {"a": 1, "b": 0, "c": None}, {"a": 0, "b": None, "c": None}]})
    got = one(rows, "faithfulness", Level.SENTENCE, min_votes=2)
    np.testing.assert_array_equal(got.value, [1, 1, NAN])
    assert got.judge.signature == "human.sentence_labels|merge:majority|tie:high|min:2|v:1"
    assert list(got.why.labels())[2] == "no vote, or dropped by the merge"
    assert one(rows, "faithfulness", min_votes=2).value.tolist() == [1.0]
    # Without the bound sentence 2 is an error: 2 of 3.
    assert one(rows, "faithfulness").value.tolist() == [pytest.approx(2 / 3)]


def test_a_tie_on_a_key_fact_is_absent() -> None:
    facts = [
        judgment("d", "A", float(label), label=label, unit="key_fact", index=0, list_id="x", judge=who,
                 aspect="completeness", signature="human.key_fact_labels|v:1")
        for who, label in (("a", 1), ("b", 0))
    ]  # fmt: skip
    got = one(facts, "completeness", Level.KEY_FACT)
    assert got.value.tolist() == [0.0]
    assert got.judge.signature == "human.key_fact_labels|merge:majority|tie:low|v:1"


@given(
    st.lists(st.lists(st.sampled_from([1.0, 2.0, 3.0, None]), min_size=1, max_size=6), min_size=1, max_size=6),
    st.sampled_from(list(Tie)), st.integers(1, 3),
)  # fmt: skip
def test_majorities_against_a_plain_count(cast: list[list[float | None]], tie: Tie, least: int) -> None:
    rows = people({(f"d{i}", "A"): {f"a{j}": vote for j, vote in enumerate(row)} for i, row in enumerate(cast)})
    got = one(rows, merge="majority", tie=tie, min_votes=least)
    found = dict(zip(got.units.document.labels(), got.value.tolist(), strict=True))
    for i, row in enumerate(cast):
        counts = Counter(vote for vote in row if vote is not None)
        tops = sorted(vote for vote, n in counts.items() if n == max(counts.values()))
        expected = NAN
        if tops and sum(counts.values()) >= least:
            expected = {
                Tie.LOW: tops[0], Tie.FINESURE: tops[0], Tie.HIGH: tops[-1], Tie.HALF: sum(tops) / len(tops),
                Tie.DROP: tops[0] if len(tops) == 1 else NAN,
            }[tie]  # fmt: skip
        np.testing.assert_allclose(found[f"d{i}"], expected)


def test_each_annotator_or_one_by_name() -> None:
    rows = people({ITEM: {"a": 4, "b": 5}})
    both = gold_scores(JudgmentTable.of(rows), "coherence", Level.SUMMARY, People(merge="each"))
    assert [(got.judge.judge, got.value.tolist(), got.judge.signature) for got in both] == [
        ("a", [4.0], "human.ratings|annotator:a|v:1"), ("b", [5.0], "human.ratings|annotator:b|v:1"),
    ]  # fmt: skip
    assert one(rows, merge="b").value.tolist() == [5.0]
    with pytest.raises(UsageError, match=r"'c' is not an annotator of the ratings of coherence \(a, b\)"):
        one(rows, merge="c")


def test_merged_values_are_used_without_votes() -> None:
    merged_only = people({ITEM: {"people": 3.5}})
    assert one(merged_only, min_votes=2).value.tolist() == [3.5]
    both = people({ITEM: {"people": 1, "a": 4, "b": 5}, ("d", "B"): {"people": 2}})
    got = one(both)
    assert dict(zip(got.units.system.labels(), got.value.tolist(), strict=True)) == {"A": 4.5, "B": 2.0}


def test_labels_of_units_come_before_ratings_and_overall_values() -> None:
    rows = [
        judgment("d", "A", 0.25, aspect="faithfulness", judge="people", signature="human.overall|v:1"),
        judgment("d", "A", 4, aspect="faithfulness", judge="a", signature="human.ratings|v:1"),
        *voted({ITEM: [{"a": 1}, {"a": 0}]}),
    ]
    columns = JudgmentTable.of(rows)
    assert blocks(columns) == ["sentence_labels", "ratings", "overall"]
    by_default = one(rows, "faithfulness")
    assert (by_default.value.tolist(), by_default.judge.signature.split("|")[0]) == ([0.5], "human.sentence_labels")
    assert gold_scores(columns, "faithfulness", Level.SUMMARY, People(source="overall"))[0].value.tolist() == [0.25]
    assert gold_scores(columns, "faithfulness", Level.SENTENCE, People(source="overall")) == []
    with pytest.raises(UsageError, match="have no 'alignment'; they have: sentence_labels, ratings, overall"):
        gold_scores(columns, "faithfulness", Level.SUMMARY, People(source="alignment"))


def test_the_composite_of_people_is_the_mean_of_the_three() -> None:
    rows = [
        *voted({ITEM: [{"a": 1}, {"a": 0}]}),  # faithfulness 1/2
        *sentences({ITEM: [1, 1, 0, 1]}, "a", "human.key_fact_labels|v:1", "completeness", "key_fact", "x"),  # 3/4
        judgment("d", "A", 1.0, aspect="conciseness", judge="people", signature="human.overall|v:1"),
        *voted({("d", "B"): [{"a": 1}]}),
    ]
    assert aspects(JudgmentTable.of(rows))[-1] == "composite"
    got = one(rows, "composite")
    np.testing.assert_array_equal(got.value, [0.75, NAN])
    assert list(got.why.labels()) == [None, "not all of the aspects"]


def test_votes_are_a_matrix_of_raters_and_units() -> None:
    got = votes(
        JudgmentTable.of(voted({ITEM: [{"a": 1, "b": 0}, {"a": None, "b": 1}]})), "faithfulness", Level.SENTENCE
    )
    assert got is not None
    np.testing.assert_array_equal(got.matrix, [[1, NAN], [0, 1]])
    assert [rater.judge for rater in got.raters] == ["a", "b"]
    assert (got.level, got.source, got.units.index.tolist()) == ("sentence", "sentence_labels", [0, 1])
    assert votes(JudgmentTable.of([]), "faithfulness", Level.SENTENCE) is None


def test_the_signature_names_the_judgment_set() -> None:
    rows = [{"document": "Rain.", "summary": "Rain.", "human": {"ratings": {"coherence": {"x": 1, "y": 3}}}}]
    data = load(rows)
    both = data.with_judgments("human.merged", data.judgments("human.raw"))
    expected = {"human.raw": "human.ratings|merge:mean|v:1",
                "human.merged": "human.ratings|merge:mean|set:human.merged|v:1"}  # fmt: skip
    for name, signature in expected.items():
        table, _ = gold_input(both, name)
        (scores,) = gold_scores(table, "coherence", Level.SUMMARY)
        assert scores.judge.signature == signature
