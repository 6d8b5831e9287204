"""BARTScore, UniEval and TrueTeacher with fake networks: the requests, and the judgments made of the results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from evaluators.networks import Answers, FakeNetwork, document, judge

from summeter.evaluators.base import Evaluator
from summeter.evaluators.seq2seq.bartscore import BartScore
from summeter.evaluators.seq2seq.trueteacher import TrueTeacher
from summeter.evaluators.seq2seq.unieval import UniEval
from summeter.models.networks import FirstWord, Framing, Generate, ScoreTarget
from summeter.records import Document, Judgment

SOURCE = "Ada sold the mill in May. It burned down in June."
SUMMARY = "Ada sold the mill. It burned in July."
FIRST, SECOND = "Ada sold the mill.", "It burned in July."


def answering(
    scores: Mapping[tuple[str, str], float] | None = None,
    first: Mapping[tuple[str, ...], tuple[float, ...]] | None = None,
    written: Mapping[str, str] | None = None,
) -> FakeNetwork:
    """Return a network with scores by (source, target) and first-word probabilities by texts."""
    answers: Answers = {
        ScoreTarget: lambda request: (scores or {})[request.source, request.target],
        FirstWord: lambda request: np.log(np.array((first or {})[request.source])),
        Generate: lambda request: (written or {})[request.source[0]],
    }
    return FakeNetwork(answers, "table/answers")


def judged(
    evaluator: Evaluator, network: FakeNetwork, source: Document, summary: str = SUMMARY
) -> list[Judgment]:  # fmt: skip
    (rows,) = judge(evaluator, source, summary, **dict.fromkeys(evaluator.required_roles, network))
    return rows


def with_references(*references: str) -> Document:
    return document(text=SOURCE).model_copy(update={"references": references})


class TestBartScore:
    def test_each_direction_is_a_mean_log_probability(self) -> None:
        network = answering({(SOURCE, SUMMARY): -2.0, ("R", SUMMARY): -3.0, (SUMMARY, "R"): -1.0, ("", SUMMARY): -6.0})
        every = BartScore(directions=("src-hyp", "ref-hyp", "hyp-ref", "avg", "harm", "hyp"))
        rows = judged(every, network, with_references("R"))
        assert {row.aspect: row.value for row in rows} == {
            "bartscore_faithfulness": -2.0, "bartscore_precision": -3.0, "bartscore_recall": -1.0,
            "bartscore_f1": -2.0, "bartscore_harmonic": -0.75, "bartscore_fluency": -6.0,
        }  # fmt: skip
        assert {row.target.unit for row in rows} == {"summary"}
        assert rows[0].reason == "probability 0.135 per token of the summary, given the document (geometric mean)"
        assert len(network.asked) == 4, "what several directions need is asked once"
        assert network.framings == {Framing(limit=1024)}

    def test_several_references_are_joined_in_each_direction_first(self) -> None:
        network = answering({("R", SUMMARY): -3.0, ("Q", SUMMARY): -1.0, (SUMMARY, "R"): -1.0, (SUMMARY, "Q"): -2.0})
        source = with_references("R", " ", "Q")
        values = {row.aspect: row.value for row in judged(BartScore(directions=("avg", "harm")), network, source)}
        assert values == {"bartscore_f1": (-2.0 + -1.5) / 2, "bartscore_harmonic": 3.0 / -3.5}
        best = BartScore(directions=("ref-hyp", "avg"), references="max")
        assert [row.value for row in judged(best, network, source)] == [-1.0, -1.0]

    def test_directions_without_a_reference_are_skipped(self) -> None:
        network = answering({(SOURCE, SUMMARY): -2.0})
        rows = judged(BartScore(directions=("src-hyp", "avg")), network, document(text=SOURCE))
        assert [(row.status, row.value) for row in rows] == [("ok", -2.0), ("skipped", None)]
        assert rows[1].reason == "there is no reference summary"


class TestUniEval:
    ROWS: Mapping[tuple[str, ...], tuple[float, float]] = {
        (SUMMARY, SOURCE): (0.3, 0.1), (FIRST, SOURCE): (0.4, 0.1), (SECOND, SOURCE): (0.1, 0.4),
        (FIRST,): (0.09, 0.01), (SECOND,): (0.06, 0.04), (SUMMARY, "R"): (0.2, 0.2),
    }  # fmt: skip

    def test_the_released_arithmetic(self) -> None:
        network = answering(first=self.ROWS)
        rows = judged(UniEval(), network, with_references("", "R", "Q"))
        whole = {row.aspect: row.value for row in rows if row.target.unit == "summary"}
        wanted = {"coherence": 0.75, "consistency": 0.5, "fluency": 0.75, "relevance": 0.5, "overall": 0.625}
        assert whole == pytest.approx(wanted)
        parts = [(row.aspect, row.target.index, row.value) for row in rows if row.target.unit == "sentence"]
        assert parts == [
            ("consistency", 0, pytest.approx(0.8)), ("consistency", 1, pytest.approx(0.2)),
            ("fluency", 0, pytest.approx(0.9)), ("fluency", 1, pytest.approx(0.6)),
        ]  # fmt: skip
        consistency = next(row for row in rows if row.aspect == "consistency")
        assert [span.cut(SUMMARY) for span in consistency.evidence] == [SECOND], "the weakest sentence is shown"

    def test_prompts_are_those_of_the_training(self) -> None:
        network = answering(first=self.ROWS)
        judged(UniEval(), network, with_references("R"))
        templates = [
            str(template).format("S", "D", eos="</s>")
            for template in dict.fromkeys(one.framing.template for one in network.asked)
        ]
        assert templates == [
            "question: Is this a coherent summary to the document? </s> summary: S </s> document: D",
            "question: Is this claim consistent with the document? </s> claim: S </s> document: D",
            "question: Is this a fluent paragraph? </s> paragraph: S",
            "question: Is this summary relevant to the reference? </s> summary: S </s> reference: D",
        ]
        assert {(framing.limit, framing.marks, framing.cut) for framing in network.framings} == {
            (1024, False, "longest_first")
        }

    def test_dimensions_without_a_reference_are_skipped(self) -> None:
        rows = judged(UniEval(), answering(first=self.ROWS), document(text=SOURCE))
        skipped = {row.aspect: row.reason for row in rows if row.status == "skipped"}
        assert skipped == {
            "relevance": "there is no reference summary",
            "overall": "relevance is missing: there is no reference summary",
        }
        three = judged(
            UniEval(dimensions=("coherence", "consistency", "fluency")),
            answering(first=self.ROWS),
            document(text=SOURCE),
        )
        (overall,) = [row for row in three if row.aspect == "overall"]
        assert overall.value == pytest.approx((0.75 + 0.5 + 0.75) / 3)

    def test_fact_is_consistency_by_another_network(self) -> None:
        fact = UniEval(task="fact")
        assert (fact.required_roles, fact.active_aspects) == (("unieval_fact",), ("consistency",))
        rows = judged(fact, answering(first=self.ROWS), document(text=SOURCE))
        assert [row.value for row in rows] == [pytest.approx(value) for value in (0.5, 0.8, 0.2)]


class TestTrueTeacher:
    ROW = (SOURCE, SUMMARY)

    def test_the_value_is_the_probability_of_1_over_the_vocabulary(self) -> None:
        network = answering(first={self.ROW: (0.4, 0.1)})
        (row,) = judged(TrueTeacher(), network, document(text=SOURCE))
        assert row.value == pytest.approx(0.4), "and not its share of 1 and 0"
        assert row.label == 0
        assert network.framings == {Framing("only_first", "premise: {0} hypothesis: {1}", limit=2048)}

    @pytest.mark.parametrize(("written", "label"), [("1", 1), (" 0", 0), ("maybe", None), ("", None)])
    def test_labels_from_the_generated_text(self, written: str, label: int | None) -> None:
        network = answering(first={self.ROW: (0.6, 0.1)}, written={SOURCE: written})
        evaluator = TrueTeacher(labels="written")
        (row,) = judged(evaluator, network, document(text=SOURCE))
        assert (row.value, row.label) == (pytest.approx(0.6), label)
        assert evaluator.decision_threshold is None
