"""QAFactEval worked by hand: filtered questions, unanswered questions, and a summary without questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge
from evaluators.questions.test_squad import reader, whole_words
from numpy.typing import NDArray

from summeter.evaluators.questions.qafacteval import QAFactEval
from summeter.models.networks import Classify, Generate
from summeter.records import Judgment

DOCUMENT = "Ada sold the boat to Bo. It rained."
SUMMARY = "Ada sold the mill. Bo paid."


def asker(form: str = "{}") -> FakeNetwork:
    """Return a network whose question about a phrase is the phrase."""

    def written(request: Generate) -> str:
        assert request.framing.template == "{0}<m> {1} </m>{2}"
        return form.format(request.source[1])

    return FakeNetwork({Generate: written}, "table/asker")


def answering(**table: str) -> FakeNetwork:
    """Return a network that answers a question with itself, or by the table, if the text contains the answer."""
    return reader(
        lambda question: (table.get(question.replace(" ", "_"), question).split()[-1],),
        lambda text: [(start, end - text[:end].endswith(".")) for start, end in whole_words(text)],
    )


def lerc() -> FakeNetwork:
    """Return 5 for equal answers, else 2."""

    def logits(request: Classify) -> NDArray[np.float32]:
        assert request.classes == 1
        assert (request.framing.template, request.framing.limit) == ("{0} <q> {1} <r> {2} <c> {3}", 512)
        _, phrase, answer, _ = request.texts
        return np.array([5.0 if phrase.endswith(answer) else 2.0], dtype=np.float32)

    return FakeNetwork({Classify: logits}, "table/lerc")


def rows(summary: str = SUMMARY, reader: FakeNetwork | None = None, **settings: Any) -> tuple[dict[Any, Judgment], Any]:
    networks = {"asker": asker(), "reader": reader or answering(), "lerc": lerc()}
    source = document("Ada sold the boat to Bo.", "It rained.", text=DOCUMENT)
    (found,) = judge(QAFactEval(**settings), source, summary, **networks)
    return {(row.aspect, row.target.unit, row.target.index): row for row in found}, networks


def test_questions_that_the_document_does_not_answer_count_as_zero() -> None:
    found, networks = rows()
    # Ada, the mill, Bo: all answered by the summary; "mill" is not in the document.
    assert networks["asker"].texts == [
        ("", "Ada", " sold the mill."), ("Ada sold ", "the mill", "."), ("", "Bo", " paid."),
    ]  # fmt: skip
    assert [row[1:] for row in networks["lerc"].texts] == [("Ada", "Ada", DOCUMENT), ("Bo", "Bo", DOCUMENT)]
    values = {aspect: found[aspect, "summary", None].value for aspect in QAFactEval.aspects}
    assert values == pytest.approx(
        {"faithfulness": 10 / 3, "answered": 2 / 3, "answer_exact": 2 / 3, "answer_f1": 2 / 3}
    )
    assert [found["faithfulness", "sentence", place].value for place in (0, 1)] == [2.5, 5.0]
    assert [found["faithfulness", "claim", place].value for place in range(3)] == [5.0, 0.0, 5.0]
    reason = found["faithfulness", "summary", None].reason or ""
    assert reason.startswith("3 of 3 questions kept; the document does not answer 1 of them; lowest: 'the mill'")


def test_questions_with_a_different_answer_are_dropped() -> None:
    found, _ = rows(reader=answering(Bo="mill"))
    assert found["answered", "summary", None].reason is not None
    assert found["answered", "summary", None].reason.startswith("2 of 3 questions kept")
    last = found["faithfulness", "sentence", 1]
    assert (last.status, last.reason) == ("skipped", "no kept question is about this sentence")


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ("it was sold.", "the summary has no noun chunk to ask about"),
        ("Ada won.", "0 of 1 questions kept: the summary does not answer them with the phrase asked about"),
    ],
)
def test_summaries_without_questions_score_zero(summary: str, why: str) -> None:
    reader = answering(Ada="nowhere")
    found, _ = rows(summary, reader)
    assert {row.value for row in found.values()} == {0.0}
    assert {row.reason for row in found.values()} == {f"{why}; the method scores this 0"}
    found, _ = rows(summary, reader, none="skip")
    assert {(row.status, row.value, row.reason) for row in found.values()} == {("skipped", None, why)}
    signatures = [QAFactEval(none=none).sign({}) for none in ("zero", "skip")]
    assert ["|none:zero|" in signatures[0], "|none:skip|" in signatures[1]] == [True, True]


def test_marks_in_a_document_are_plain_text() -> None:
    """The tokenizer does not look for special marks in users' texts."""
    source = document("Ada <c> sold </m> it.", text="Ada <c> sold </m> it.")
    networks = {"asker": asker(), "reader": answering(), "lerc": lerc()}
    judge(QAFactEval(), source, "Ada sold.", **networks)
    assert networks["lerc"].texts == [("Ada", "Ada", "Ada", "Ada <c> sold </m> it.")]
