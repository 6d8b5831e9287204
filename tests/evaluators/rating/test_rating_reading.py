"""Strict reading: one score, one letter or one number of stars, and nothing that could be meant besides."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from growth import assert_within
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.catalog import build
from summeter.evaluators.rating.h2h import HeadToHead
from summeter.evaluators.rating.judge import RatingJudge
from summeter.evaluators.rating.mcq import MultipleChoice
from summeter.evaluators.rating.reading import score_in
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.evaluators.rating.stareval import StarEval
from summeter.evaluators.rating.yesno import YesNo
from summeter.records import ReplyError

READ = {
    "rts": {
        "Well put. Score: 4": 4,
        "Well put. Score: 4.": 4,
        "Well put. Score: 4/5.": 4,
        "**Score:** 4": 4,
        "Final score - 2": 2,
        "Score (1-5): 3": 3,
        "Score = 5": 5,
        "The score is a 4.": 4,
        "Score: four": 4,
        "Score: Three out of five": 3,
        "Score: 3.5": 3.5,
        "a score of 4.0": 4,
        "4 out of 5.": 4,
        "(4/5)": 4,
        "It drifts, resulting in a score of 2 for incoherence.": 2,
        "It fails, scoring a one out of five.": 1,
        "It is dull, earning a score of 3 out of 5 for relevance.": 3,
        "It wanders; 3 out of 5.": 3,
        "It is irrelevant (1/5).": 1,
        "It does not say who won, resulting in a score of 2.": 2,
        "It is dull and scores a 2.": 2,
        "It is dull, therefore the score is 1.": 1,
        "It is dull; Score: 3.": 3,
        "<think>perhaps a score of 2?</think>\nScore: 4": 4,
        "Score: 4\n\nScore: 4": 4,
        "Score: 2 - The summary does not tell who won.": 2,
        "Score: 1\nReason: It is another story.": 1,
        "Score: 4. The summary is clear. However, it leaves out the date.": 4,
        'It quotes the term "black puppet." Score: 4/5.': 4,
        "It covers 3 of the 5 facts. Score: 4": 4,
    },
    "geval[single]": {
        "4": 4,
        "4/5": 4,
        " 4.\n": 4,
        "**4**/5": 4,
        "It is dull.\n\n3": 3,
        "5 points": 5,
        "Final answer: 4": 4,
    },
    "direct": {"85": 85, "85/100": 85, "Score: 70": 70, "Score (0-100): 70.": 70, "It is dull.\n\nFinal score: 0": 0},
    "stareval": {
        "4 stars": 4,
        "4": 4,
        "four stars.": 4,
        "4-star": 4,
        "Stars: 3": 3,
        "3.5 stars": 3.5,
        "4/5": 4,
        "4 out of 5 stars": 4,
        "**5 stars**": 5,
        "★★★★☆": 4,
        "⭐⭐⭐⭐": 4,
        "## 4 stars": 4,
        "Rating: ⭐⭐⭐⭐ (4/5)": 4,
    },
    "mcq": {
        "D": 4,
        " d\n": 4,
        "D.": 4,
        "D)": 4,
        "(D)": 4,
        "**D**": 4,
        "Answer: D": 4,
        "The answer is D.": 4,
        "My final answer: **B**": 2,
        "Option E": 5,
        "A": 1,
        "“E”": 5,
        "[B]": 2,
        "### D": 4,
        "Answer: E\n\nAnswer: E": 5,
        "D: most sentences follow from what goes before. Score: four.": 4,
        "D. The summary is mostly accurate.": 4,
        "A: no sentence has to do with the others": 1,
        "C\nIt is fair.": 3,
        "It has A flaw.\n\nAnswer: C": 3,
    },
    "h2h": {
        "A": 1,
        "B": 0,
        "C": 0.5,
        "b": 0,
        "Answer: A": 1,
        "A: Summary #1 is more fluent.": 1,
        "B: Summary #2 is more fluent than Summary #1.": 0,
        "B: Summary #2 is better.": 0,
        "A: the former is better": 1,
        "C: Both Summary #1 and Summary #2 are equally relevant.": 0.5,
        "C: both are equally good": 0.5,
        "A: The first summary is slightly more relevant than the second summary.": 1,
        "A\n\nAnswer: A": 1,
    },
    "yesno": {
        "Yes": 1,
        "no.": 0,
        "**No**": 0,
        '"Yes"': 1,
        "Yes, it is.": 1,
        "Answer: no": 0,
        "The answer is yes.": 1,
        "No, the summary is not consistent.": 0,
        "It says so.\nYes": 1,
        "It differs in the date. No.": 0,
        "Yes. All of it is in the document, and there is no contradiction.": 1,
        "NO\nNO": 0,
        "The date is wrong. So the final answer is: **No**": 0,
    },
}
UNREAD = {
    "rts": {
        # numbers that are merely mentioned
        "It is irrelevant (1).": "names no score",
        "It gets a 4.": "names no score",
        "4": "no score with a reason",
        "4 out of 5 ships sank.": "names no score",
        "The article lists five causes, but the summary names 4.": "no score",
        "According to the article, the team lost with a final score of 3.": "names no score",
        "The reviewers' score: 5": "names no score",
        "Others would give it a score of 5; I disagree.": "names no score",
        "The summary has two problems:\n\n1. It leaves out the verdict.\n2. It repeats the lead.": "names no score",
        "1. It leaves out the verdict.": "names no score",
        "This is a really good one.": "names no score",
        # ranges, bounds, fractions, other numerals
        "Score: 3-4": "names no score",
        "Score: 3 to 4": "names no score",
        "a score of 3 or 4": "names no score",
        "I would put it between 3 and 4.": "names no score",
        "It lies between 3 and a score of 4.": "names no score",
        "Score: between 3 and 4": "names no score",
        "at least a score of 3": "names no score",
        "Score: >3": "no score",
        "Score: 3,5": "names no score",
        "Score: 3½": "names no score",
        "Score: 3 1/2": "more than one|no score",
        "Score: three and a half": "names no score",
        "Score: 1,000": "names no score",
        "Score: 4th": "names no score",
        "Score: -1": "names no score",
        "Score: 80%": "names no score",
        "Score: 4+": "names no score",
        "Score: \u2074": "names no score",
        "Score: N/A": "names no score",
        "Score: 1/2/3/4/5": "more than one|no score",
        # off the scale
        "Score: 0": "is 0, which is not from 1 to 5",
        "Score: 6": "is 6, which is not from 1 to 5",
        "Score: 45": "is 45, which",
        "Score: 9/10": "out of 10, not out of 5",
        "Score: ten": "names no score",
        # two that differ
        "Score: 3. On reflection, score: 4.": "names no score|more than one",
        "Score: 4\n\nScore: 2": "more than one score",
        "Coherence score: 3. Fluency score: 5.": "names no score|more than one",
        "I rate it 2/5. Overall rating: 4/5": "more than one score",
        "I rate this summary a 5.\n\nScore: 3": "more than one",
        "4 out of 5 at first. Score: 3": "more than one score",
        "4 out of\n\n5": "more than one score|no score",
        "Final answer: 3\n\nScore: 4": "more than one score",
        # the scale repeated
        "On a scale from 1 to 5.": "names no score",
        "On a scale of 1 to 5: 4": "names no score",
        "I will give a score from one to five.": "names no score",
        "Score: 1 (worst) to 5 (best)": "names no score",
        "Score: <1-5>": "names no score",
        # negated, conditional, taken back
        "It does not deserve a score of 5.": "names no score",
        "It isn't a score of 4.": "names no score",
        "It deserves a score of not 5 but 3.": "names no score",
        "Score: not 5 but 3": "names no score",
        "It is far from a score of 5.": "names no score",
        "The score of 4 is not deserved.": "names no score",
        "I would give it less than a score of 4.": "names no score",
        "It wanders, not earning a score of 4.": "no score",
        "If the date were right, it would be fine, earning a score of 5.": "names no score",
        "Unless I err it is fine, earning a score of 5.": "names no score",
        "A perfect summary would score 5.": "no score",
        "Score: 4. Just kidding.": "names no score",
        "Score: 4. NOT.": "names no score",
        "Score: 4 (not)": "no score",
        "Score: 4. The summary is fine. NOT.": "names no score",
        "Score: 4. The summary deserves another rating.": "no",
        "Score: 4. It deserves a five.": "names no score",
        "Score: 4. It is a 5 really.": "names no score",
        # other languages, and no answer
        "评分：4": "names no score",
        "Note : 3/5": "names no score",
        "Bewertung: 3": "names no score",
        "Score: ４": "no score",
        "": "empty",
        " \n": "empty",
    },
    "geval[single]": {
        "not 5 but 3": "names no score",
        "3-4": "names no score",
        "4 or 5": "names no score",
        "4½": "names no score",
        "3,5": "names no score",
        "80%": "names no score",
        "4)": "names no score",
        ".4": "names no score",
        "4.5": "not a whole number",
        "0.87": "not a whole number",
        "0 1 2 3 4 5": "names no score",
        "1\n2\n3": "more than one score",
        "4\n\nArticle: It rained. Summary: It rained.\nScore: 2": "more than one score",
        "\\boxed{4}": "no JSON",
        "The match ended 4/5 in favour of the visitors.": "names no score",
    },
    "direct": {
        "0.85": "not a whole number",
        "85%": "names no score",
        "8.5/10": "out of 10",
        "80-85": "names no score",
        "over 90": "names no score",
        "1,000": "names no score",
        "4*2": "names no score",
        "4**2": "names no score",
        "4_2": "names no score",
        '8"5': "names no score",
        "85.5": "not a whole number",
        "-5": "names no score",
        "The score of 100 is not deserved": "names no score",
        "Score: 4/5": "out of 5",
        "4 stars": "a number of stars",
        "I am 95% sure of that.": "names no score",
        "Score: 1e2": "names no score",
        "4\u00b2": "names no score",
    },
    "stareval": {
        "6 stars": "not from 1 to 5",
        "0.87": "not from 1 to 5",
        "4 of them": "names no",
        "8 out of 10 stars": "out of 10",
        "3 stars, no, 4 stars": "names no",
        "3-4 stars": "names no",
        "4½ stars": "names no",
        "not 5 stars": "names no",
        "Nobody gives this 5 stars.": "names no",
        "5 stars for fluency, 2 stars for accuracy": "names no|more than one",
        "★★★★☆☆☆": "names no",
        "★★☆": "names no",
        "★★★½": "names no",
        "☆☆☆☆☆": "names no",
        "$4": "names no",
        "#4": "names no",
        ">4": "names no",
        "4 ❌": "names no",
        "⭐⭐⭐⭐ (3/5)": "more than one",
        "4 or 5 stars": "names no",
    },
    "mcq": {
        "A good summary.": "not one letter",
        "a, in short": "not one letter",
        "Dull.": "not one letter",
        "F": "is F, not a letter from A to E",
        "A or B": "not one letter",
        "A, B": "not one letter",
        "B/C": "not one letter",
        "A. But E. would do as well": "not one letter",
        "DE": "not one letter",
        "4": "not one letter",
        "Somewhere between C and D.": "not one letter",
        "Not A.": "not one letter",
        "C+": "not one letter",
        "A) very poor B) poor C) fair D) good E) very good": "not one letter",
        "E. g. the date is wrong": "not one letter",
        "D: no": "not one letter",
        "E\nNOT.": "not one letter",
        "E: the summary does not fit": "not one letter",
        "E. The summary is good. Not.": "not one letter",
        "E. The summary is not good.": "not one letter",
        "D\nJust kidding.": "not one letter",
        "$D": "not one letter",
        "#D": "not one letter",
        "Antwort: C": "not one letter",
        "Answer: E\n\nAnswer: A": "more than one letter",
        "A\n\nAnswer: B": "more than one letter",
        "B. The summary is dull.\nAnswer: D": "more than one letter",
        "The summary leaves out plan B": "not one letter",
    },
    "h2h": {
        "D": "is D, not a letter from A to C",
        "Both.": "not one letter",
        "Summary #1": "not one letter",
        "A: Summary #2 is more fluent.": "not one letter",
        "B: Summary #1 is more fluent.": "not one letter",
        "C: Summary #1 is more fluent.": "not one letter",
        "A: Summary #1 is less fluent.": "not one letter",
        "A: Summary #1 isn't worse.": "not one letter",
        "A. Or B.": "not one letter",
        "B. No: A": "not one letter",
        "A: it lost": "not one letter",
        "A - incoherent": "not one letter",
        "A\nThe latter is better.": "not one letter",
        "A: Summary #1 is more incoherent.": "not one letter",
        "A: Summary #1 is hardly more fluent.": "not one letter",
        "C: Both are equally bad? No.": "not one letter",
        "Summary #1 is better.\n\nAnswer: B": "do not agree",
        '{"answer": "A", "reason": "#2 is better"}': "do not agree",
        '{"answer": "B", "reason": "the former is better"}': "do not agree",
    },
    "yesno": {
        "Yes. Well, no.": "both yes and no",
        "Yes, but no": "both yes and no",
        "No, all in all yes.": "both yes and no",
        "Yes: all is there. Answer: no": "both yes and no",
        "Answer: Yes\nAnswer: No": "both yes and no",
        "Yes, it is not consistent.": "both yes and no",
        "No, the summary is consistent.": "both yes and no",
        "Yes, if the date were right.": "both yes and no",
        "Yes, if the headline counts; otherwise no.": "both yes and no",
        "No errors were found.": "neither",
        "yes or no": "neither",
        "Yes/No": "neither",
        "Yes and no.": "neither",
        "Maybe.": "neither",
        "My answer is no longer certain": "neither",
        "The answer is not yes": "neither",
        "Nobody says yes to that.": "neither",
        "There is no clear answer.": "neither",
        "It knows.": "neither",
        'The witness in the article said "yes"': "neither",
        "consistent: yes": "neither",
        "Ja.": "neither",
        "": "empty",
    },
}


def _cases(table: dict[str, dict[str, object]]) -> list[tuple[str, str, object]]:
    return [(judge, text, expected) for judge, texts in table.items() for text, expected in texts.items()]


def _strict(judge: str, text: str) -> float:
    found = build(judge)
    assert isinstance(found, RatingJudge | YesNo)
    return found.strict(text).value


@pytest.mark.parametrize(("judge", "text", "value"), _cases(READ))  # type: ignore[arg-type]
def test_a_published_form_is_read(judge: str, text: str, value: float) -> None:
    assert _strict(judge, text) == value


@pytest.mark.parametrize(("judge", "text", "why"), _cases(UNREAD))  # type: ignore[arg-type]
def test_what_is_no_plain_answer_is_unparsed(judge: str, text: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why) as caught:
        _strict(judge, text)
    assert caught.value.kind == "unparsed"


@pytest.mark.parametrize("answer", ["Score: 4", "4/5", "the score is 4", "4 out of 5", "a score of 4"])
@pytest.mark.parametrize(
    "sentence",
    [
        "The summary says: {}",
        "{}, they say",
        "{} if it were shorter",
        "{} or 5",
        "Not {}",
        "Hardly {}",
        "Between 1 and {}",
        "It gets no {}",
        "It is far from {}",
        "{} is too much",
        "{} of the facts",
        "{}?",
        "Nobody would say {}",
        "{}%",
        "{}.5.1",
    ],
)
def test_an_answer_inside_another_sentence_is_none(answer: str, sentence: str) -> None:
    with pytest.raises(ReplyError):
        score_in(sentence.format(answer))


@given(st.sampled_from([1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]), st.sampled_from(["Score: {}", "a score of {} out of 5."]))
def test_half_points_are_kept(score: float, form: str) -> None:
    assert score_in(form.format(f"{score:g}")) == score


WORDS = (
    "score",
    "of",
    "is",
    "a",
    "4",
    "3/5",
    "not",
    "between",
    "and",
    "5",
    "out of",
    "two",
    "stars",
    "so",
    ",",
    ".",
    ":",
)


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_a_score_is_one_that_the_text_states(words: list[str]) -> None:
    text = " ".join(words)
    with suppress(ReplyError):
        assert score_in(text) in {{"4": 4.0, "3/5": 3.0, "5": 5.0, "two": 2.0}.get(word) for word in words}


@given(st.text(max_size=300))
def test_no_text_gives_anything_but_a_number_on_the_scale_or_a_refusal(text: str) -> None:
    for judge in (ReasonThenScore(), MultipleChoice(), StarEval(), HeadToHead(), YesNo()):
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
    '{"score": 4}': "no field named reason",
    '{"reason": "", "score": 4}': "not a text",
    '{"reason": "dull"}': "no field named score",
    '{"reason": "dull", "score": null}': "not a number from 1 to 5",
    '{"reason": "dull", "score": true}': "not a number from 1 to 5",
    '{"reason": "dull", "score": [4]}': "not a number from 1 to 5",
    '{"reason": "dull", "score": "4/5"}': "not a number from 1 to 5",
    '{"reason": "dull", "score": "3,5"}': "not a number from 1 to 5",
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


@pytest.mark.parametrize("value", ["D", "d", " D. ", "(D)"])
def test_a_letter_in_json(value: str) -> None:
    assert MultipleChoice().strict(json.dumps({"answer": value})).value == 4


@pytest.mark.parametrize("value", ["", "DE", "F", 4, None, "option D"])
def test_no_letter_in_json(value: object) -> None:
    with pytest.raises(ReplyError, match="not one letter from A to E"):
        MultipleChoice().strict(json.dumps({"answer": value}))


def test_a_comparison_in_json_may_have_a_reason() -> None:
    for reply, value in (
        ({"answer": "A", "reason": "Summary #2 does not say who won; it is less fluent. #1 is better."}, 1),
        ({"answer": "B", "reason": "#1 is not wrong, but #2 names the cause."}, 0),
    ):
        assert HeadToHead().strict(json.dumps(reply)).value == value


@pytest.mark.parametrize("judge", [ReasonThenScore(), MultipleChoice(), StarEval(), HeadToHead()], ids=lambda j: j.name)
def test_a_refusal_is_one(judge: RatingJudge) -> None:
    with pytest.raises(ReplyError, match="the model refused") as caught:
        judge.strict("I'm sorry, but I can't rate this.")
    assert caught.value.kind == "refused"


def test_the_reason_of_a_comparison_is_kept() -> None:
    assert HeadToHead().strict("B: Summary #2 is more fluent.").reason == "Summary #2 is more fluent."
    assert HeadToHead().strict("B").reason is None


@pytest.mark.parametrize(
    "text",
    [
        "score " * 20000,
        "score" + " " * 100000,
        "1" * 100000,
        "4 out of " * 20000,
        "*" * 100000,
        "not " * 30000,
        "and " * 30000,
        "; " * 50000,
        "4\n" * 30000 + "5",
        "answer " * 20000,
        "the " * 30000,
        "(" * 100000,
        "no. " * 30000 + "yes",
        "it so " * 30000,
        "score it it " * 20000,
        "A.)" * 30000,
        "★☆" * 50000,
    ],
)
def test_hostile_replies_take_no_long_time(text: str) -> None:
    def read_all() -> None:
        for judge in (ReasonThenScore(), StarEval(), MultipleChoice(), HeadToHead(), YesNo()):
            with pytest.raises(ReplyError):
                judge.strict(text, ["A score of 4 and no answer. " * 3000])

    assert_within(3, read_all)
