"""Strict reading: one score, one letter or one number of stars, and nothing that could be meant besides."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from growth import assert_within
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.rating.direct import DirectAssessment
from summeter.evaluators.rating.h2h import HeadToHead
from summeter.evaluators.rating.judge import RatingJudge
from summeter.evaluators.rating.mcq import MultipleChoice
from summeter.evaluators.rating.reading import STARS as STAR_SCALE
from summeter.evaluators.rating.reading import letter_in, number_in
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.evaluators.rating.stareval import StarEval
from summeter.records import ReplyError

SCORES = {
    "Well put. Score: 4": 4,
    "Well put. Score: 4.": 4,
    "Well put. Score: 4/5.": 4,
    "**Score:** 4": 4,
    "Final score - 2": 2,
    "Score (1-5): 3": 3,
    "Score = 5": 5,
    "The score is a 4.": 4,
    "I would rate it a 3 for coherence.": 3,
    "It drifts, resulting in a score of 2 for incoherence.": 2,
    "It is dull, earning a score of 3 out of 5 for relevance.": 3,
    "It fails, scoring a one out of five.": 1,
    "It wanders; 3 out of 5.": 3,
    "It is irrelevant (1/5).": 1,
    "4 out of 5.": 4,
    "(4/5)": 4,
    "Score: four": 4,
    "Score: Three out of five": 3,
    "Score: 3.5": 3.5,
    "a score of 4.0": 4,
    "Score: 4. To repeat: a score of four out of 5.": 4,
    "2 out of 5 goals are told, hence a score of 3.": 3,
    "It does not say who won, resulting in a score of 2.": 2,
    "Score: ４": 4,
    "<think>perhaps a score of 2?</think>\nScore: 4": 4,
    "As an AI language model, I give a score of 4.": 4,
}
NO_SCORE = {
    "It is irrelevant (1).": "names no score",
    "4": "names no score",
    "It gets a 4.": "names no score",
    "On a scale from 1 to 5.": "names no score",
    "I will give a score from one to five.": "names no score",
    "4 out of 5 ships sank.": "names no score",
    "Score: -1": "names no score",
    "Score: 4th": "names no score",
    "Score: 0": "is 0, which is not from 1 to 5",
    "Score: 6": "is 6, which is not from 1 to 5",
    "Score: 45": "is 45, which",
    "Score: ten": "is 10, which",
    "Score: 9/10": "out of 10, not out of 5",
    "Score: 4 out of ten": "out of ten, not out of 5",
    "Score: 3-4": "not one number",
    "Score: 3 to 4": "not one number",
    "a score of 3 or 4": "not one number",
    "Score: 3,5": "not one number",
    "Score: 3½": "not one number",
    "Score: 3 1/2": "not one number",
    "Score: three and a half": "not one number",
    "Score: 3. On reflection, score: 4.": r"more than one score \(3, 4\)",
    "Coherence score: 3. Fluency score: 5.": r"more than one score \(3, 5\)",
    "It does not deserve a score of 5.": "only spoken of",
    "It isn't a score of 4.": "only spoken of",
    "I would give it less than a score of 4.": "only spoken of",
    "at least a score of 3": "only spoken of",
    "": "empty",
    " \n": "empty",
}


@pytest.mark.parametrize(("text", "score"), SCORES.items())
def test_a_score_is_read(text: str, score: float) -> None:
    verdict = ReasonThenScore().strict(text)
    assert verdict.value == score
    assert verdict.reason


@pytest.mark.parametrize(("text", "why"), NO_SCORE.items())
def test_what_names_no_one_score_is_refused(text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why) as caught:
        ReasonThenScore().strict(text)
    assert caught.value.kind == "unparsed"


@given(st.sampled_from([1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]), st.sampled_from(["Score: {}", "a score of {} out of 5."]))
def test_half_points_are_kept(score: float, form: str) -> None:
    assert number_in(form.format(f"{score:g}")) == score


@given(st.text(max_size=300))
def test_no_text_gives_anything_but_a_number_on_the_scale_or_a_refusal(text: str) -> None:
    for judge in (ReasonThenScore(), MultipleChoice(), StarEval(), HeadToHead()):
        value: float | None = None
        with suppress(ReplyError):
            value = judge.strict(text).value
        assert value is None or 0 <= value <= 5


JSON = {
    '{"reason": "dull", "score": 4}': 4,
    '{"Reason": "dull", "Score": "4"}': 4,
    '{"reason": "dull", "score": "four"}': 4,
    '{"reason": "dull", "score": 3.5}': 3.5,
    '{"reason": "dull", "score": 4, "confidence": 1}': 4,
    '{"result": {"reason": "dull", "score": 4}}': 4,
    'Score: 2, as JSON: {"reason": "dull", "score": 4}': 4,  # the JSON was asked for and is the answer
}
NO_JSON = {
    '{"score": 4}': "no reason",
    '{"reason": "", "score": 4}': "not a text",
    '{"reason": "dull"}': "no score",
    '{"reason": "dull", "score": null}': "not a number from 1 to 5",
    '{"reason": "dull", "score": true}': "not a number from 1 to 5",
    '{"reason": "dull", "score": [4]}': "not a number from 1 to 5",
    '{"reason": "dull", "score": "4/5"}': "not a number from 1 to 5",
    '{"reason": "dull", "score": 0}': "not from 1 to 5",
    '{"reason": "dull", "score": 5.5}': "not from 1 to 5",
    '{"reason": "dull", "score": NaN}': "NaN",
    '{"reason": "dull", "score": 4} or {"reason": "dull", "score": 2}': "two complete answers that differ",
    '{"reason": "Score: 4", "score":': "cut off",
    "Score: 4 {sic}": "no JSON",
}


@pytest.mark.parametrize(("text", "score"), JSON.items())
def test_json_is_read(text: str, score: float) -> None:
    assert ReasonThenScore().strict(text) == (score, "dull")


@pytest.mark.parametrize(("text", "why"), NO_JSON.items())
def test_json_without_a_plain_answer_is_refused(text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        ReasonThenScore().strict(text)


LETTERS = {
    "D": 4, " d\n": 4, "D.": 4, "D)": 4, "(D)": 4, "**D**": 4, "Answer: D": 4, "The answer is D.": 4,
    "My final answer: **B**": 2, "Option E": 5, "A": 1, "D. Most of it is there.": 4, "C\nIt is fair.": 3,
    "“E”": 5, "[B]": 2,
}  # fmt: skip
NO_LETTER = {
    "A good summary.": "does not begin with a letter",
    "a, in short": "does not begin with a letter",
    "Dull.": "does not begin with a letter",
    "F": "is F, not a letter from A to E",
    "I cannot tell.": "does not begin|refused",
    "A or B": "does not begin with a letter",
    "A, B": r"more than one letter \(A, B\)",
    "A. But E. would do as well": r"more than one letter \(A, E\)",
    "DE": "does not begin with a letter",
    "4": "does not begin with a letter",
}


@pytest.mark.parametrize(("text", "value"), LETTERS.items())
def test_a_letter_is_read(text: str, value: float) -> None:
    assert MultipleChoice().strict(text).value == value


@pytest.mark.parametrize(("text", "why"), NO_LETTER.items())
def test_what_is_not_one_letter_is_refused(text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        MultipleChoice().strict(text)


@pytest.mark.parametrize("value", ["D", "d", " D. ", "(D)"])
def test_a_letter_in_json(value: str) -> None:
    assert MultipleChoice().strict(json.dumps({"answer": value})).value == 4


@pytest.mark.parametrize("value", ["", "DE", "F", 4, None, "option D"])
def test_no_letter_in_json(value: object) -> None:
    with pytest.raises(ReplyError, match="not one letter from A to E"):
        MultipleChoice().strict(json.dumps({"answer": value}))


STARS = {
    "4 stars": 4, "4": 4, "four stars.": 4, "4-star": 4, "Stars: 3": 3, "3.5 stars": 3.5, "4/5": 4,
    "4 out of 5 stars": 4, "I give it 3 stars out of five.": 3, "**5 stars**": 5,
}  # fmt: skip
NO_STARS = {
    "6 stars": "not from 1 to 5",
    "0.87": "not from 1 to 5",
    "4 of them": "names no number of stars",
    "3 stars, no, 4 stars": r"more than one number of stars \(3, 4\)",
    "8 out of 10 stars": "out of 10",
    "3-4 stars": "names no number of stars|not one number",
    "not 5 stars": "only spoken of",
    "a stellar summary": "names no",
}


@pytest.mark.parametrize(("text", "value"), STARS.items())
def test_stars_are_read(text: str, value: float) -> None:
    assert StarEval().strict(text).value == value
    assert number_in(text, STAR_SCALE) == value


@pytest.mark.parametrize(("text", "why"), NO_STARS.items())
def test_what_names_no_one_number_of_stars_is_refused(text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        StarEval().strict(text)


COMPARED = {
    "A": 1, "B": 0, "C": 0.5, "b": 0, '{"answer": "C"}': 0.5, "A: Summary #1 is more fluent.": 1,
    "B: Summary #2 is more fluent than Summary #1.": 0,
    "C: Both Summary #1 and Summary #2 are equally relevant.": 0.5, "Answer: A": 1,
}  # fmt: skip
NOT_COMPARED = {
    "D": "is D, not a letter from A to C",
    "Both.": "does not begin",
    "Summary #1": "does not begin",
    "A: Summary #2 is more fluent.": "do not plainly agree",
    "B: Summary #1 is more fluent.": "do not plainly agree",
    "C: Summary #1 is more fluent.": "do not plainly agree",
    "A: Summary #1 is less fluent.": "do not plainly agree",
    "A: Summary #1 isn't worse.": "do not plainly agree",
    "A. Or B.": "more than one letter",
}


@pytest.mark.parametrize(("text", "value"), COMPARED.items())
def test_a_comparison_is_read(text: str, value: float) -> None:
    assert HeadToHead().strict(text).value == value


@pytest.mark.parametrize(("text", "why"), NOT_COMPARED.items())
def test_an_unclear_comparison_is_refused_and_no_tie(text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        HeadToHead().strict(text)


@pytest.mark.parametrize("judge", [ReasonThenScore(), MultipleChoice(), StarEval(), HeadToHead()], ids=lambda j: j.name)
def test_a_refusal_is_one(judge: RatingJudge) -> None:
    with pytest.raises(ReplyError, match="the model refused") as caught:
        judge.strict("I'm sorry, but I can't rate this.")
    assert caught.value.kind == "refused"


def test_what_follows_a_letter_is_kept() -> None:
    assert letter_in("D) Most of it.", "ABCDE") == ("D", "Most of it.")


@pytest.mark.parametrize(
    "text", ["score " * 20000, "score" + " " * 100000, "1" * 100000, "4 out of " * 20000, "*" * 100000, "not " * 30000]
)
def test_hostile_replies_take_no_long_time(text: str) -> None:
    def read_all() -> None:
        for judge in (ReasonThenScore(), StarEval(), MultipleChoice(), HeadToHead()):
            with pytest.raises(ReplyError):
                judge.strict(text)

    assert_within(3, read_all)


INVENTED: tuple[tuple[RatingJudge, tuple[str, ...]], ...] = (
    (HeadToHead(), (
        "B. No: A", "A: the latter is more coherent", "B: the former is better", "A: it lost", "A: inferior",
        "A - incoherent", "B: this one is rambling and hard to follow", '{"answer": "A", "reason": "#2 is better"}',
        '{"answer": "B", "reason": "the former is better"}', "A\nThe latter is better.", "A\nIt lost.",
        "A: Summary #1 is more incoherent.", "A: Summary #1 is hardly more fluent.",
        "A: Summary #1 is better in nothing.", "C: Both are equally bad? No.",
    )),
    (MultipleChoice(), (
        "E. g. the date is wrong", "D: no", "E: does not fit", "A: this option does not apply", "E\nNOT.",
        "E: the summary does not fit", "E. The summary is good. Not.", "D\nJust kidding.", "$D", "#D",
        "Answer: E\n\nAnswer: A", "E: no sentence has to do with the others",
    )),
    (ReasonThenScore(), (
        "It deserves a score of 5. NOT.", "Score: 4. Just kidding.", "Score: \u2074", "Score: 4 (not)", "Score: 4 ❌",
        "Corrected score: 4. Just kidding.", "Score: 4. The summary is fine. NOT.",
    )),
    (DirectAssessment(), ("4*2", "4**2", "4_2", '8"5', "Score: 4*2")),
    (StarEval(), ("★★★★☆☆☆", "★★☆", "$4", "#4", ">4", "4\u00b2", "4 ❌", "4°", "Stars: $4")),
)  # fmt: skip
EXPLAINED: tuple[tuple[RatingJudge, dict[str, float]], ...] = (
    (HeadToHead(), {
        "B: Summary #2 is better.": 0, "A: The first summary is slightly more relevant than the second summary.": 1,
        "C: both are equally good": 0.5, "A\n\nSummary #1 names the cause.": 1, "A\n\nAnswer: A": 1,
        '{"answer": "A", "reason": "#1 is better"}': 1, "A: the former is better": 1,
        '{"answer": "A", "reason": "Summary #2 does not say who won; it is less fluent. #1 is better."}': 1,
        '{"answer": "B", "reason": "#1 is not wrong, but #2 names the cause."}': 0,
    }),
    (MultipleChoice(), {
        "D: most sentences follow from what goes before. Score: four.": 4,
        "A: no sentence has to do with the others": 1,
        "D. The summary is mostly accurate.": 4, "B\n\nThe summary does not mention it.": 2,
        "Answer: E\n\nAnswer: E": 5,
        "$D$": 4, "### D": 4,
    }),
    (ReasonThenScore(), {
        "Score: 2 - The summary does not tell who won.": 2, "Score: 1\nReason: It is another story.": 1,
    }),
    (StarEval(), {"★★★★☆": 4, "⭐⭐⭐⭐": 4, "$4$": 4, "## 4 stars": 4}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("judge", "text"),
    [(judge, text) for judge, texts in INVENTED for text in texts],
    ids=lambda part: getattr(part, "name", ascii(part)),
)
def test_an_answer_taken_back_or_of_another_form_is_unparsed(judge: RatingJudge, text: str) -> None:
    with pytest.raises(ReplyError) as caught:
        judge.strict(text)
    assert caught.value.kind == "unparsed"


@pytest.mark.parametrize(
    ("judge", "text", "value"),
    [(judge, text, value) for judge, replies in EXPLAINED for text, value in replies.items()],
    ids=lambda part: getattr(part, "name", ascii(part)),
)
def test_an_answer_and_its_explanation_are_read(judge: RatingJudge, text: str, value: float) -> None:
    assert judge.strict(text).value == value
