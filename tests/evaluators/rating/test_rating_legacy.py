"""The released parsers, rule by rule, with their known misreadings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from growth import assert_within
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.evaluators.rating import legacy
from summeter.records import ReplyError

RTS = {
    # 1: "score:" and a digit
    "Score: 4.": (4, 1),
    "SCORE:3/5": (3, 1),
    "Score: 2.5": (2.5, 1),
    "Score: 10": (1, 1),
    # 2: "score:" and a word
    "Score: four": (4, 2),
    "Score: fourteen": (4, 2),
    # 3: the first digit in the sentence after the leftmost cue that is followed by one
    "resulting in a score of 2": (2, 3),
    "a score of 3.5 for fluency": (3.5, 3),
    "a score of 4.0": (4, 3),
    "a score of 3.8": (3, 3),
    "it tells the 2-2 score after 3 goals": (3, 3),  # the only digit after the cue
    "no score here. Yet a score of 5": (5, 3),
    "scoring a 1 out of 5": (1, 3),
    "a score for 3 of 4 points, 5 in all": (3, 3),
    # 4: a word for a number in the sentence after the cue, also inside another word
    "scoring a one out of five.": (1, 4),
    "a score, as mentioned, of three.": (1, 4),  # "mentiONEd"
    # 6: the last digit anywhere
    "Dull; 4 out of 5.": (5, 6),
    "It is irrelevant (1/5).": (5, 6),
    "It is irrelevant (1).": (1, 6),
    "4.5 out of 5": (4.5, 6),
    "2.6 ": (2, 6),  # a decimal counts from .1 to .5, as in rule 3
    "Between 3 and 4.9 out of 5": (4, 6),
    "the 1 goal in the Euro League contest": (1, 6),
    "score.4": (4, 6),  # a full stop is in between
}


@together("text, ruled", RTS.items())
def test_the_rules_of_rts(text: str, ruled: tuple[float, int]) -> None:
    assert legacy.rts(text) == ruled


@together("text", ["", "No idea.", "Score: 7", "I'm sorry, but I cannot."])
def test_minus_one_of_the_released_code_is_no_score(text: str) -> None:
    with pytest.raises(ReplyError, match="keeps -1"):
        legacy.rts(text)


@given(st.text(alphabet="score:ing. 1234567890five/", max_size=60))
def test_rts_gives_a_score_from_1_or_none(text: str) -> None:
    try:
        found = legacy.rts(text)
    except ReplyError:
        assert not set("12345") & set(text)
    else:
        assert 1 <= found.score < 6


READ = {
    legacy.mcq: {"A": 1, " E\n": 5},
    legacy.stareval: {"4 stars": 4, "Four stars.": 4, "3.5 star": 3.5, "9 stars": 9, "a 2 stars, not 3 stars": 2},
    legacy.h2h: {
        "A": 1, "B": 0, "C": 0.5, "A: Summary #1 is more fluent.": 1, "B. Plainly.": 0, "C both": 0.5, "Summary A": 1,
        "I prefer summary b.": 0, "Each summary accurately tells it.": 1, "It is no summary because it repeats.": 0,
        # Everything else is a tie.
        " A": 0.5, "B\n": 0.5, "Answer: A": 0.5, "I'm sorry, but I cannot.": 0.5, "": 0.5, "A) the first": 0.5,
    },
}  # fmt: skip


@together("parse, text, value", [(parse, text, value) for parse, read in READ.items() for text, value in read.items()])
def test_letters_and_stars(parse: Callable[[str], float], text: str, value: float) -> None:
    assert parse(text) == value


@together(
    "parse, text",
    [
        *((legacy.mcq, text) for text in ("", "F", "d", "D.", "AB", "Answer: D")),
        *(
            (legacy.stareval, text)
            for text in ("", "4", "4-star", "several stars", "nan stars", "inf stars", "startle")
        ),
    ],
)
def test_the_released_code_ends_with_an_error(parse: Callable[[str], float], text: str) -> None:
    with pytest.raises(ReplyError, match="fails with an error"):
        parse(text)


@pytest.mark.parametrize(
    "text", ["score " * 20000, "scoring" * 20000, "x" * 200000, " " * 200000, "score:" + " " * 99999]
)
def test_adversarial_replies_take_linear_time(text: str) -> None:
    def parse_all() -> None:
        for parse in (legacy.rts, legacy.mcq, legacy.stareval):
            with pytest.raises(ReplyError):
                parse(text)
        assert legacy.h2h(text) == 0.5

    assert_within(3, parse_all)
