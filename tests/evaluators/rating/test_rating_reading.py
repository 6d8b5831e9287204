"""Strict parsing: one score, letter or number of stars, and no other possible reading."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from growth import assert_within
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.evaluators.catalog import build
from summeter.evaluators.rating.h2h import HeadToHead
from summeter.evaluators.rating.judge import RatingJudge
from summeter.evaluators.rating.mcq import MultipleChoice
from summeter.evaluators.rating.reading import score_in
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.evaluators.rating.stareval import StarEval
from summeter.evaluators.rating.yesno import YesNo
from summeter.records import ReplyError

FORMS = yaml.safe_load((Path(__file__).parent / "forms.yaml").read_text("utf-8"))
READ = [(judge, text, value) for judge, forms in FORMS.items() for text, value in forms["read"].items()]
UNREAD = [(judge, text) for judge, forms in FORMS.items() for text in forms["unread"]]


def _strict(judge: str, text: str) -> float:
    found = build(judge)
    assert isinstance(found, RatingJudge | YesNo)
    return found.strict(text).value


@together("judge, text, value", READ)
def test_a_published_form_is_read(judge: str, text: str, value: float) -> None:
    assert _strict(judge, text) == value


@together("judge, text", UNREAD)
def test_ambiguous_answers_are_unparsed(judge: str, text: str) -> None:
    with pytest.raises(ReplyError) as caught:
        _strict(judge, text)
    assert caught.value.kind == "unparsed"


@together("answer", ["Score: 4", "4/5", "the score is 4", "4 out of 5", "a score of 4"])
@together(
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
def test_an_answer_inside_a_sentence_is_rejected(answer: str, sentence: str) -> None:
    with pytest.raises(ReplyError):
        score_in(sentence.format(answer))


WORDS = "score of is a 4 3/5 not between and 5 out-of two stars so , . :".split()  # noqa: SIM905


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_scores_occur_in_the_text(words: list[str]) -> None:
    text = " ".join(words)
    with suppress(ReplyError):
        assert score_in(text) in {{"4": 4.0, "3/5": 3.0, "5": 5.0, "two": 2.0}.get(word) for word in words}


@given(st.text(max_size=300))
def test_any_text_gives_a_value_on_the_scale_or_an_error(text: str) -> None:
    for judge in (ReasonThenScore(), MultipleChoice(), StarEval(), HeadToHead(), YesNo()):
        value: float | None = None
        with suppress(ReplyError):
            value = judge.strict(text).value
        assert value is None or 0 <= value <= 5


@together(
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
def test_adversarial_replies_take_linear_time(text: str) -> None:
    def read_all() -> None:
        for judge in (ReasonThenScore(), StarEval(), MultipleChoice(), HeadToHead(), YesNo()):
            with pytest.raises(ReplyError):
                judge.strict(text, ["A score of 4 and no answer. " * 3000])

    assert_within(3, read_all)
