"""A2CU with fake networks: the units of a text, and whether a text contains them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge, table_seq2seq
from numpy.typing import NDArray

from summeter.evaluators.seq2seq.a2cu import A2CU
from summeter.models.networks import Classify, Framing, Generation
from summeter.records import Judgment

SUMMARY, REFERENCE, OTHER = "Ada sold it.", "Ada sold the mill.", "It burned."


def matching(held: Mapping[tuple[str, ...], float]) -> FakeNetwork:
    """Return logits whose third class is the most probable for units that the text contains."""

    def logits(request: Classify) -> NDArray[np.float64]:
        assert request.classes == 3
        share = held[request.texts]
        return np.log(np.array([(1 - share) / 2, (1 - share) / 2, share]))

    return FakeNetwork({Classify: logits}, "table/matcher")


def judged(
    evaluator: A2CU, writer: FakeNetwork, matcher: FakeNetwork, *references: str, times: int = 1
) -> list[Judgment]:
    source = document(text="Ada sold the mill.").model_copy(update={"references": references})
    first, *others = judge(evaluator, source, *[SUMMARY] * times, acu_writer=writer, acu_matcher=matcher)
    assert all([row.value for row in rows] == [row.value for row in first] for rows in others)
    return first


HELD: dict[tuple[str, ...], float] = {
    (SUMMARY, "Ada sold."): 0.9,
    (SUMMARY, "It was a mill."): 0.5,
    (SUMMARY, "It burned."): 0.2,
    (REFERENCE, "Ada sold."): 0.8,
    (OTHER, "Ada sold."): 0.4,
}
WRITES = {REFERENCE: "Ada sold.|||It was a mill. ||| Ada sold.|||", OTHER: "It burned.", SUMMARY: "Ada sold."}


def test_recall_is_the_share_of_contained_units() -> None:
    writer, matcher = table_seq2seq(WRITES), matching(HELD)
    rows = judged(A2CU(), writer, matcher, REFERENCE, times=3)
    whole, *units = rows
    assert (whole.aspect, whole.value) == ("a2cu_recall", 0.5), "equal units count once, empty ones not"
    assert [(row.target.unit, row.target.index, row.label) for row in units] == [("key_fact", 0, 1), ("key_fact", 1, 0)]
    assert units[1].value == pytest.approx(0.5), "one half is not held"
    assert writer.texts == [(REFERENCE,)], "once for all summaries"
    assert {one.how for one in writer.asked} == {Generation(511, 4, None, 1.0, True)}
    assert writer.framings == {Framing(limit=256)}
    assert matcher.framings == {Framing((200, 100))}


def test_scores_are_means_over_references() -> None:
    every = A2CU(measures=("recall", "precision", "f1"))
    rows = judged(every, table_seq2seq(WRITES), matching(HELD), REFERENCE, OTHER)
    values = {row.aspect: row.value for row in rows if row.target.unit == "summary"}
    assert values == {"a2cu_recall": 0.25, "a2cu_precision": 0.5, "a2cu_f1": pytest.approx((2 * 0.5 / 1.5 + 0) / 2)}
    claims = [(row.claim.text, row.value, row.label) for row in rows if row.claim is not None]
    assert claims == [("Ada sold.", pytest.approx(0.8), 1)], "at the reference that holds it best"


def test_a_reference_without_units_is_left_out_of_recall_and_f1() -> None:
    every = A2CU(measures=("recall", "precision", "f1"))
    writer = table_seq2seq({**WRITES, OTHER: ""})
    rows = judged(every, writer, matching(HELD), OTHER, REFERENCE)
    values = {row.aspect: row.value for row in rows if row.target.unit == "summary"}
    assert values == {"a2cu_recall": 0.5, "a2cu_precision": 0.5, "a2cu_f1": pytest.approx(2 * 0.5 / 1.5)}
