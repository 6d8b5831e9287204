"""Sentences taken apart by rules: what is plain is taken apart, nothing is lost, the rest stays whole."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.text.english.clauses import LONGEST, clauses

APART = [
    (
        "Ms. Ode, who built the bridge, was in Bern, and she was born in 1950.",
        ["Ms. Ode was in Bern.", "She was born in 1950.", "Ms. Ode built the bridge."],
    ),
    (
        "The Aldis, a 14-metre boat, sank off Skagen, but nobody was hurt.",
        ["The Aldis sank off Skagen.", "Nobody was hurt.", "The Aldis was a 14-metre boat."],
    ),
    ("Ada bought the mill in May and sold it in June.", ["Ada bought the mill in May.", "Ada sold it in June."]),
    ("It was built in 1961 and is 14 metres wide.", ["It was built in 1961.", "It is 14 metres wide."]),
    (
        "The company, which employed 400 people, closed its plant and moved to Ohio; shares fell 4 percent.",
        [
            "The company closed its plant.", "The company moved to Ohio.", "Shares fell 4 percent.",
            "The company employed 400 people.",
        ],
    ),
    (
        "Simon Rohde, 51, resigned on Monday and was replaced by his deputy.",
        ["Simon Rohde resigned on Monday.", "Simon Rohde was replaced by his deputy.", "Simon Rohde was 51."],
    ),
    ("Ann and Ben, two dogs, slept.", ["Ann and Ben, two dogs, slept."]),
    ("Ann and Ben, the owners, are away.", ["Ann and Ben are away.", "Ann and Ben are the owners."]),
]  # fmt: skip

WHOLE = [
    "He met Ana, Ben, and Carl was ill.",
    "She said the mill burnt, and the crew fled.",
    "He was arrested and charged with theft.",
    "He was hit and sent home.",
    "Ana, Ben and Carl were hurt.",
    "He turned right and left.",
    "A red and wounded bird was found.",
    "Scientists found that the drug worked and it was safe.",
    "In May, a bomb, which was old, was found.",
    "When the fire started and the roof fell Ana fled.",
    "Paris, the capital of France, and Rome, the capital of Italy, were hit.",
    "The eggs were inspired by Faberge, and painstakingly created by 14 cooks.",
    "桥长十四米，它很新。",
    "Die Brücke wurde 1961 gebaut und ist 14 Meter breit.",
    "...",
]


@pytest.mark.parametrize(("sentence", "expected"), APART)
def test_what_is_plain_is_taken_apart(sentence: str, expected: list[str]) -> None:
    assert list(clauses(sentence)) == expected


@pytest.mark.parametrize("sentence", WHOLE)
def test_what_is_not_plain_stays_whole(sentence: str) -> None:
    assert clauses(sentence) == (sentence,)


def test_a_sentence_beyond_reason_stays_whole() -> None:
    long = "It was wide and it was old, and " * (LONGEST // 30) + "it was new."
    assert clauses(long) == (long,)


SPOKEN = "Ada the boat mill, a 14 sold was is who which and but ; , she fled said in May red moved it by 51 — police"
WORDS = st.sampled_from(SPOKEN.split())


@given(st.lists(WORDS, min_size=1, max_size=24))
def test_no_word_is_lost_and_none_is_made_up(parts: list[str]) -> None:
    sentence = " ".join(parts)
    found = clauses(sentence)
    had = set(re.findall(r"\w+", sentence.lower()))
    told = set(re.findall(r"\w+", " ".join(found).lower()))
    assert had - told <= {"and", "but", "who", "which"}
    assert told - had <= {"is", "are", "was", "were"}
    assert len(set(found)) == len(found)
