"""QuestEval: the released arithmetic from stored answers, and hand-worked questions, answers and filters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge, word_encoder
from numpy.typing import NDArray

from summeter.evaluators.questions.questeval import AskedQuestion, Comparison, QuestEval, first_sentences
from summeter.evaluators.questions.squad import token_f1
from summeter.models.networks import FirstWord, Generate
from summeter.records import Document, Judgment
from summeter.text import english
from summeter.text.spans import TextSpan

FIXTURE = json.loads((Path(__file__).parents[2] / "neural" / "questions.json").read_text("utf-8"))["questeval"]
LEGACY = QuestEval(variant="legacy")


def stored_answers(run: dict[str, Any]) -> list[Comparison]:
    """Convert stored answers of the released code."""
    told = FIXTURE["asked"]

    def asked(of: str, on: str) -> tuple[AskedQuestion, ...]:
        rows = []
        for answer in [*told["answers"][of]["NER"], *told["answers"][of]["NOUN"]]:
            row = told["asked"][f"{of}|{answer}|{on}"]
            similar = told["similar"][f"{row['reply']}|{answer}"]
            weight = 1 - told["weights"][answer] if run.get("weighter") and of == run["source"] else 1.0
            overlap = token_f1(answer, row["reply"])
            rows.append(
                AskedQuestion(TextSpan(answer, 0, 0), "?", row["reply"], row["answerability"], overlap, similar, weight)
            )
        return tuple(rows)

    source = [Comparison("source", asked("hyp", run["source"]), asked(run["source"], "hyp"))] if run["source"] else []
    return [*source, *(Comparison("reference", asked("hyp", ref), asked(ref, "hyp")) for ref in run["references"])]


@pytest.mark.parametrize("number", range(len(FIXTURE["gave"])))
def test_the_arithmetic_is_that_of_the_released_code(number: int) -> None:
    run, gave = FIXTURE["asked"]["runs"][number], FIXTURE["gave"][number]
    scores = [LEGACY.score(one) for one in stored_answers(run)]
    assert max(score for score, _, _ in filter(None, scores)) == pytest.approx(gave, abs=1e-12)


def test_a_direction_without_questions() -> None:
    (bare,) = stored_answers({"source": "bare", "references": []})
    assert bare.recall == ()
    assert QuestEval().score(bare) is None
    assert (LEGACY.score(bare) or ())[0] == pytest.approx(FIXTURE["gave"][5])


DOCUMENT = "Ada sold the mill. It rained. It rained. It rained. It rained. Kiel sank."
SUMMARY = "Ada sold the boat."


def writer() -> FakeNetwork:
    """Return a network whose question about a phrase is the phrase with a question mark."""

    def written(request: Generate) -> str:
        assert (request.how.max_new_tokens, request.how.num_beams) == (19, 1)
        return f"{request.source[0]} ?"

    return FakeNetwork({Generate: written}, "table/questions")


def answering() -> FakeNetwork:
    """Return a network that answers with the phrase (answerability 1) if the text has it, else `unanswerable` (.1)."""

    def written(request: Generate) -> str:
        assert request.framing.template == "{0} {eos} {1}"
        question, text = request.source
        return question[:-1] if question[:-1] in text else "unanswerable"

    def first(request: FirstWord) -> NDArray[np.float64]:
        question, text = request.source
        return np.array([-50.0 if question[:-1] in text else np.log(0.9)])

    return FakeNetwork({Generate: written, FirstWord: first}, "table/answers")


def weighter() -> FakeNetwork:
    """Return a network that rates questions about the mill as important."""

    def first(request: FirstWord) -> NDArray[np.float64]:
        assert request.words == ("true",)
        assert request.framing.template == "{0} {eos} {1} {eos} {2}"
        return np.log(np.array([0.75 if "mill" in request.source[0] else 0.25]))

    return FakeNetwork({FirstWord: first}, "table/weighter")


def rows(
    summary: str = SUMMARY, text: str = DOCUMENT, references: tuple[str, ...] = (), **settings: Any
) -> tuple[dict[Any, Judgment], dict[str, Any]]:
    networks = {
        "questions": writer(), "answers": answering(), "answer_encoder": word_encoder(), "weighter": weighter(),
    }  # fmt: skip
    source = document(text) if not references else Document(id="d", text=text, references=references)
    (found,) = judge(QuestEval(**settings), source, summary, **networks)
    return {(row.aspect, row.target.unit, row.target.index): row for row in found}, networks


def test_questions_about_both_texts() -> None:
    found, networks = rows(scores="answerability;f1")
    # The small parser does not find names after a full stop; "Kiel" is in the sixth sentence.
    assert networks["questions"].texts == [
        ("Ada", SUMMARY), ("the boat", SUMMARY), ("Ada", DOCUMENT), ("the mill", DOCUMENT), ("It", DOCUMENT),
    ]  # fmt: skip
    assert {one.words for one in networks["answers"].asked if isinstance(one, FirstWord)} == {("unanswerable",)}
    assert networks["answers"].texts[0] == ("Ada?", DOCUMENT)  # the blank before the question mark is removed
    boat, mill = (0.1 + 0.0) / 2, (0.1 + 0.0) / 2
    it = (0.1 + 0.0) / 2
    precision = (1.0 + boat) / 2
    assert found["questeval_precision", "summary", None].value == pytest.approx(precision)
    recall = np.mean([1.0, mill, *[it] * 4])
    assert found["questeval_recall", "summary", None].value == pytest.approx(recall)
    assert found["faithfulness", "summary", None].value == pytest.approx((precision + recall) / 2)
    assert found["questeval_precision", "sentence", 0].value == pytest.approx(precision)


def test_evidence_is_the_phrase() -> None:
    found, _ = rows()
    spans = [found["questeval_precision", "claim", place].evidence[0] for place in range(2)]
    assert [SUMMARY[span.start : span.end] for span in spans] == ["Ada", "the boat"]
    spans = [found["questeval_recall", "claim", place].evidence[0] for place in range(6)]
    assert [(span.of, DOCUMENT[span.start : span.end]) for span in spans[1:3]] == [
        ("document", "the mill"), ("document", "It"),
    ]  # fmt: skip
    assert len({span.start for span in spans}) == 6


def test_weights_of_the_documents_questions() -> None:
    plain, _ = rows(scores="answerability")
    paper, _ = rows(scores="answerability", weighter=True)
    legacy, networks = rows(scores="answerability", weighter=True, variant="legacy")
    key = ("questeval_recall", "claim", 1)
    assert plain[key].value == pytest.approx(0.1)
    assert (paper[key].value, legacy[key].value) == (pytest.approx(0.075), pytest.approx(0.025))
    same = ("questeval_precision", "summary", None)
    assert plain[same].value == paper[same].value == legacy[same].value
    assert {framing.marks for framing in networks["questions"].framings} == {True}


def test_the_papers_formula_by_hand() -> None:
    found, _ = rows(formula="paper")
    values = {aspect: found[aspect, "summary", None].value for aspect in QuestEval(formula="paper").active_aspects}
    # F1 of the summary's questions: Ada 1, the boat 0. Answerability of the document's: Ada 1 (weight .25), the mill .1
    # (.75), and four times It .1 (.25 each): (.25 + .075 + .1) / (.25 + .75 + 1).
    assert values == pytest.approx(
        {
            "questeval_precision": 0.5,
            "questeval_recall": 0.2125,
            "faithfulness": 2 * 0.5 * 0.2125 / (0.5 + 0.2125),
        }
    )
    claims = [found["questeval_precision", "claim", place].value for place in range(2)]
    claims += [found["questeval_recall", "claim", place].value for place in range(3)]
    assert claims == pytest.approx([1.0, 0.0, 1.0, 0.1, 0.1])
    assert found["questeval_precision", "sentence", 0].value == 0.5
    uniform, _ = rows(formula="paper", weighter=False)
    assert uniform["questeval_recall", "summary", None].value == pytest.approx((1 + 5 * 0.1) / 6)
    assert uniform["faithfulness", "summary", None].value == pytest.approx(1 / 3)


def test_without_questions_it_is_skipped_or_zero_in_legacy() -> None:
    found, _ = rows(text="it rained.")
    assert {row.status for row in found.values()} == {"skipped"}
    reason = found["faithfulness", "summary", None].reason
    assert reason == "there are no questions in one direction (summary 2, source 0)"
    found, _ = rows(text="it rained.", variant="legacy", scores="answerability")
    assert found["questeval_recall", "summary", None].value == 0.0
    assert found["faithfulness", "summary", None].value == pytest.approx(0.05)


def test_sentences_end_before_the_first_word_after_a_stop() -> None:
    text = 'He won?! "Yes." So. It was 3.'
    spans = first_sentences(text, english.parse(text).words, 9)
    assert [span.text for span in spans] == ['He won?! "', 'Yes."', "So.", "It was 3."]
    assert first_sentences("", [], 5) == []
    assert first_sentences("a", [english.Word("a", 0, "ROOT")], 5) == [TextSpan("a", 0, 1)]


def test_the_papers_score_is_zero_where_both_directions_are() -> None:
    asked = AskedQuestion(TextSpan("Bo", 0, 2), "Who?", "Ada", 0.0, 0.0, 0.9)
    paper = QuestEval(formula="paper")
    assert paper.score(Comparison("source", (asked,), (asked,))) == (0.0, 0.0, 0.0)
    assert paper.score(Comparison("source", (asked,), ())) is None
