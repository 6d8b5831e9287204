"""Preferences between systems: points, chain, pairwise verdicts, win rates and strengths."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meta.duels import duels, sound
from meta.makers import people, ratings

from summeter.meta._prefer import prefer
from summeter.meta.results import Row, Study
from summeter.records import Judgment, Target, UsageError
from summeter.stats import points, side_of_half

#          people          judge
#          A  B  C         A  B  C
# d1       5  4  1         3  2  1
# d2       4  4  1         3  4  3
# d3       3  2  2         3  3  1
# d4       4  5  1         1  5  1
TRUE = {"d1": (5, 4, 1), "d2": (4, 4, 1), "d3": (3, 2, 2), "d4": (4, 5, 1)}
SAID = {"d1": (3, 2, 1), "d2": (3, 4, 3), "d3": (3, 3, 1), "d4": (1, 5, 1)}


def gold(table: dict[str, tuple[float | None, ...]] = TRUE, aspect: str = "coherence") -> list[Judgment]:
    cells = [((doc, system), value) for doc, row in table.items() for system, value in zip("ABC", row, strict=True)]
    return people({item: {"x": value} for item, value in cells}, aspect)


def judge(table: dict[str, tuple[float | None, ...]] = SAID, aspect: str = "coherence") -> list[Judgment]:
    return ratings({doc: dict(zip("ABC", row, strict=True)) for doc, row in table.items()}, aspect)  # type: ignore[arg-type]


def counts(study: Study, which: str) -> Row:
    return next(row for row in study.where(study="correct_preferences") if row.details["pairs"] == which)


def test_points_and_correct_preferences_by_hand() -> None:
    study = prefer(judge(), gold(), resamples=0)
    sound(study)
    # A against B: people 1 + .5 + 1 + 0 = 2.5, the judge 1 + 0 + .5 + 0 = 1.5 of 4: on different sides of 2.
    row = study.one(pair="A-B", statistic="points")
    assert (row.value, row.n, row.details["gold_points"], row.details["agree"]) == (1.5, 4, 2.5, False)
    assert study.one(pair="A-B", statistic="agree").value == 0.0
    # A against C: people 4, the judge 1 + .5 + 1 + .5 = 3. B against C: people 3.5, the judge 4.
    assert study.one(pair="A-C", statistic="points").value == 3.0
    assert study.one(pair="B-C", statistic="points").value == 4.0
    # People's means are 4, 3.75 and 1.25: the chain is A-B, B-C, of which one is right.
    assert (counts(study, "all").value, counts(study, "all").n) == (2.0, 3)
    assert (counts(study, "chain").value, counts(study, "chain").n) == (1.0, 2)
    assert study.one(pair="A-C", statistic="points").details["chain"] is False


def test_win_rates_by_hand() -> None:
    study = prefer(judge(), gold(), resamples=200)
    sound(study)
    # The judge: A (1.5 + 3) / 8, B (2.5 + 4) / 8, C (1 + 0) / 8.
    for system, value in {"A": 0.5625, "B": 0.8125, "C": 0.125}.items():
        row = study.one(study="win_rate", system=system, judge="j")
        assert (row.value, row.n, row.missing) == (value, 8, 0)
        assert row.low is not None
        assert row.low <= value
    # People: A (2.5 + 4) / 8, once, under their own name.
    assert study.one(study="win_rate", system="A", judge="people").value == 0.8125


def test_a_missing_score_drops_the_document_for_its_pairs_only() -> None:
    study = prefer(judge({**SAID, "d1": (None, 2, 1)}), gold(), resamples=0)
    sound(study)
    row = study.one(pair="A-B", statistic="points")
    # Left are d2, d3, d4: the judge gives A 0 + .5 + 0, people .5 + 1 + 0, half of three being 1.5.
    assert (row.value, row.details["gold_points"], row.n, row.missing) == (0.5, 1.5, 3, 1)
    assert study.one(pair="B-C", statistic="points").n == 4


def test_pairs_are_named_as_asked_and_others_left_out() -> None:
    study = prefer(judge(), gold(), pairs=(("B", "A"),), resamples=0)
    assert [row.pair for row in study.where(study="pair", statistic="points")] == ["B-A"]
    assert study.one(pair="B-A", statistic="points").value == 2.5
    assert counts(study, "given").n == 1
    with pytest.raises(UsageError, match="'Z'"):
        prefer(judge(), gold(), pairs=(("A", "Z"),))


def test_the_chain_follows_the_block_of_ratings() -> None:
    # On fluency people rank B over A by more than A leads on coherence: the block's chain starts with B.
    fluency = dict.fromkeys(TRUE, (1, 5, 1))
    votes = gold() + gold(fluency, "fluency")
    by_block = prefer(judge(), votes, resamples=0)
    assert by_block.one(aspect="coherence", pair="B-A", statistic="points").details["chain"]
    alone = prefer(judge(), gold(), resamples=0)
    assert alone.one(aspect="coherence", pair="A-B", statistic="points").details["chain"]


def test_unlike_aspects_and_groups() -> None:
    study = prefer(judge(aspect="overall"), gold(), aspect="overall:coherence", resamples=0)
    assert study.one(pair="A-B", statistic="points").gold_aspect == "coherence"
    split = prefer(judge(), gold(), by="document", resamples=0)
    sound(split)
    one = [row for row in split.where(study="pair", pair="A-B", statistic="points") if row.details.get("group") == "d1"]
    assert [(row.value, row.n) for row in one] == [(1.0, 1)]
    with pytest.raises(UsageError, match="have none in common"):
        prefer(judge(aspect="mood"), gold())


def test_head_to_head_points_of_both_orders_are_summed_and_halved() -> None:
    # A against B, shown first and second: agreed win, first place twice, tie in one order, agreed loss.
    said = duels(("A", "B"), [(1, 1), (1, 0), (0.5, 1), (0, 0)])
    study = prefer(said, gold(), resamples=100)
    sound(study)
    row = study.one(pair="A-B", statistic="points")
    assert (row.value, row.n) == (1 + 0.5 + 0.75 + 0, 4)
    assert row.details["agree"]  # people give A 2.5 of 4, the judge 2.25
    assert (row.details["flip_rate"], row.details["first_slot"], row.details["half_tied"]) == (0.5, 1, 1)


def test_head_to_head_pairs_may_be_named_either_way() -> None:
    forward = prefer(duels(("A", "B"), [(1, 0), (1, 1)]), gold(), pairs=(("A", "B"),), resamples=0)
    back = prefer(duels(("A", "B"), [(1, 0), (1, 1)]), gold(), pairs=(("B", "A"),), resamples=0)
    one, two = forward.one(statistic="points"), back.one(statistic="points")
    assert one.value == 1.5
    assert two.value == 0.5
    # The place in the prompt keeps its name whoever is called first.
    assert one.details["first_slot"] == two.details["first_slot"] == 1


def test_a_verdict_lost_in_one_order_drops_the_document() -> None:
    row = prefer(duels(("A", "B"), [(1, 1), (1, None)]), gold(), resamples=0).one(statistic="points")
    # d3 and d4 were never asked about, and count as missing too: people judged them.
    assert (row.value, row.n, row.missing) == (1.0, 1, 3)


def test_disconnected_pairs_have_no_strengths() -> None:
    votes = people({(f"d{i}", system): {"x": i % 3} for i in range(3) for system in "ABCD"})
    said = duels(("A", "B"), [(1, 0), (0, 1)]) + duels(("C", "D"), [(1, 0), (0, 1)])
    study = prefer(said, votes, resamples=0)
    sound(study)
    rows = study.where(study="bradley_terry")
    assert all(row.value is None and "strengths are not finite" in (row.reason or "") for row in rows)


def test_strengths_by_hand_and_with_a_prior() -> None:
    # A beats B on three of four documents: log(3) / 2 each side of 0.
    said = duels(("A", "B"), [(1, 1), (1, 1), (1, 1), (0, 0)])
    study = prefer(said, gold(), resamples=0)
    assert study.one(study="bradley_terry", system="A").value == pytest.approx(math.log(3) / 2, abs=1e-9)
    always = duels(("A", "B"), [(1, 1)] * 4)
    assert prefer(always, gold(), resamples=0).one(study="bradley_terry", system="A").value is None
    # One half-won game more: 4.5 to .5, so log(9) / 2.
    held = prefer(always, gold(), prior=1.0, resamples=0)
    assert held.one(study="bradley_terry", system="A").value == pytest.approx(math.log(9) / 2, abs=1e-9)


def chosen(annotator: str, document: str, pair: str, value: float | None, aspect: str = "coherence") -> Judgment:
    """Return a human verdict, as exported by a pairwise campaign (1: the alphabetically first system is better)."""
    return Judgment(
        target=Target(document_id=document, system=pair[0], rival=pair[1], unit="pair"), aspect=aspect,
        judge=annotator, signature="human.pairs|v:1", value=value, label=pair[0] if value else pair[1],
    )  # fmt: skip


# Two annotators on three documents: A over B by both on d1, one each on d2, B by both on d3; A over C throughout.
PAIRS = [
    chosen(who, document, pair, value)
    for who, values in {"x": (1, 1, 0), "y": (1, 0, 0)}.items()
    for place, document in enumerate(("d1", "d2", "d3"))
    for pair, value in (("AB", values[place]), ("AC", 1))
]


def test_human_verdicts_on_pairs_are_a_gold() -> None:
    study = prefer(judge(), PAIRS, resamples=50)
    sound(study)
    # People give A 1 + .5 + 0 = 1.5 of 3 against B, the judge 1 + 0 + .5; both half: they agree.
    row = study.one(study="pair", pair="A-B", statistic="points")
    assert (row.value, row.n, row.details["gold_points"], row.details["agree"]) == (1.5, 3, 1.5, True)
    assert row.gold_signature == "human.pairs|merge:mean|v:1"
    assert study.one(study="pair", pair="A-C", statistic="points").details["gold_points"] == 3.0
    # The judge head to head, and one annotator's verdicts alone.
    said = duels(("A", "B"), [(1, 1), (1, 1), (0, 0)])
    row = prefer(said, PAIRS, merge="x", resamples=0).one(pair="A-B", statistic="points")
    assert row.gold_signature == "human.pairs|annotator:x|v:1"
    assert (row.value, row.details["gold_points"], row.missing) == (2.0, 2.0, 0)
    with pytest.raises(UsageError, match="'z' is not an annotator"):
        prefer(said, PAIRS, merge="z", resamples=0)
    # Scores go before verdicts, unless these are asked for.
    both = [*gold(), *PAIRS]
    assert prefer(judge(), both, resamples=0).one(pair="A-B", statistic="points").details["gold_points"] == 2.5
    asked = prefer(judge(), both, source="pairs", resamples=0)
    assert asked.one(pair="A-B", statistic="points").details["gold_points"] == 1.5


def test_people_alone_need_no_run() -> None:
    study = prefer(None, gold(), resamples=50)
    sound(study)
    assert study.one(study="win_rate", system="A", judge="people").value == 0.8125
    assert {row.study for row in study} == {"win_rate", "best_rate", "bradley_terry"}
    duelled = prefer(None, PAIRS, prior=1.0, resamples=50)
    sound(duelled)
    rows = duelled.where(study="bradley_terry").rows
    assert (rows[-1].system, {row.judge for row in rows}, rows[0].n) == ("C", {"people"}, 6)
    with pytest.raises(UsageError, match="people did not judge"):
        prefer(None, [])


cell = st.one_of(st.none(), st.integers(1, 4))
table = st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=6)


@settings(max_examples=30)
@given(table, table)
def test_counts_equal_the_statistic_whatever_the_order(said: list[Any], true: list[Any]) -> None:
    size = min(len(said), len(true))
    ours = {f"d{i}": said[i] for i in range(size)}
    theirs = {f"d{i}": true[i] for i in range(size)}
    one = prefer(judge(ours), gold(theirs), strengths=False, resamples=20)
    sound(one)
    columns = [np.array([[np.nan if v is None else v for v in row] for row in side.values()], dtype=float).T
               for side in (theirs, ours)]  # fmt: skip
    pairs = [[points(side[i], side[j]) for side in columns] for i, j in combinations(range(len(columns[0])), 2)]
    both = [(by_people + by_judge) * 0 == 0 for by_people, by_judge in pairs]
    agree = [
        side_of_half(np.array([by_people[kept].sum(), by_judge[kept].sum()]), kept.sum()).tolist()
        for (by_people, by_judge), kept in zip(pairs, both, strict=True) if kept.any()
    ]  # fmt: skip
    got = counts(one, "all")
    assert (got.n, got.missing) == (len(agree), len(pairs) - len(agree))
    assert got.value == (sum(people == own for people, own in agree) if agree else None)
    turned = prefer(judge(ours)[::-1], gold(theirs)[::-1], strengths=False, resamples=0)
    assert counts(turned, "all").value == got.value


def test_a_draw_without_documents_of_a_pair_is_no_disagreement() -> None:
    table = {f"d{place}": (5 - place % 2, 3 + place % 2 if place < 2 else None, 1) for place in range(12)}
    study = prefer(judge(table), gold(table), resamples=200)  # type: ignore[arg-type]
    for name, right in (("all", 3.0), ("chain", 2.0)):
        row = counts(study, name)
        assert (row.value, row.low, row.high) == (right, right, right)


def test_best_rates_by_hand() -> None:
    study = prefer(judge({**SAID, "d4": (1, None, None)}), gold(), resamples=100)
    sound(study)
    # The judge: A wins d1 and shares d3 with B; B wins d2; d4 has one score only.
    found = {row.system: (row.value, row.n, row.missing) for row in study.where(study="best_rate", judge="j")}
    assert found == {"A": (0.5, 3, 1), "B": (0.5, 3, 1), "C": (0.0, 3, 1)}
