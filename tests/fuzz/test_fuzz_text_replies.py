"""Free-text answers with a hedge, a negation, a range, an ordinal or a fraction put in: never another number."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from evaluators.bad_replies import ITEM
from together import together

from fuzz import Check, corpus
from summeter.evaluators.catalog import build

ANSWERS = corpus("text_answers")
HEDGES = (
    "not ", "never ", "hardly ", "far from ", "at least ", "at most ", "less than ", "more than ", "almost ", "about ",
    "between 1 and ", "not quite ", "anything but ", "over ", "under ", "maybe ", "no more than ", "instead of ",
)  # fmt: skip
ENDINGS = (
    "-5", " to 5", " or 5", "½", " 1/2", ",5", " and a half", "th", "st place", "%", "+", "/10", " out of 10",
    "e3", ",000", "0000", " (worst) to 5 (best)", " is not deserved", " points are missing", " would be wrong", "?",
    " of the 7 facts",
)  # fmt: skip
FRAMES = (
    "If it were shorter: {}", "It is wrong to say: {}", "Unless I err, {}", "Nobody would say {}", "I can't say {}",
    "{} No.", "{} is what others say, not I", "The article says: {}", "{} if the date were right", "{} or perhaps not",
)  # fmt: skip
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _stated(text: str) -> set[float]:
    return {float(number) for number in _NUMBER.findall(text)}


def _value(judge: Any, text: str) -> float | None:
    start = time.process_time()
    (judgment,) = judge.read(text, ITEM, "strict", "s")
    assert time.process_time() - start < 5, text
    assert (judgment.status == "ok") == (judgment.value is not None), text
    return judgment.value  # type: ignore[no-any-return]


@together("row", ANSWERS)
def test_an_answer_is_read(row: dict[str, Any]) -> None:
    assert _value(build(row["judge"]), row["reply"]) == row["value"]


@together("row", [row for row in ANSWERS if _NUMBER.search(row["reply"]) and row["judge"] != "h2h"])  # fmt: skip
@together("hedge", HEDGES)
def test_hedged_number_is_not_read(row: dict[str, Any], hedge: str) -> None:
    """The hedge goes before the number, and before the phrase that the number stands in."""
    text, judge = row["reply"], build(row["judge"])
    at = _NUMBER.search(text)
    assert at is not None
    assert _value(judge, text[: at.start()] + hedge + text[at.start() :]) is None
    for phrase in ("a score of", "the score is"):
        if phrase in text:
            assert _value(judge, text.replace(phrase, f"{hedge}{phrase}")) is None


@together("row", [row for row in ANSWERS if _NUMBER.search(row["reply"]) and row["judge"] != "h2h"])  # fmt: skip
@together("ending", ENDINGS)
def test_longer_number_is_not_read(row: dict[str, Any], ending: str) -> None:
    text = row["reply"]
    at = _NUMBER.search(text)
    assert at is not None
    assert _value(build(row["judge"]), text[: at.end()] + ending + text[at.end() :]) is None


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: f"{row['judge']}: {row['reply'][:30]}")
def test_edited_replies(row: dict[str, Any], fuzz: Callable[[Check], None]) -> None:
    """For any edited reply, the reader fails or returns a number that the text states."""
    judge = build(row["judge"])

    def check(random: Random) -> None:
        text = row["reply"]
        for _ in range(random.randint(1, 3)):
            at = random.choice([0, len(text), *(space.start() for space in re.finditer(r"\b", text))])
            piece = random.choice(
                (random.choice(HEDGES), random.choice(ENDINGS), " " + random.choice(ANSWERS)["reply"])
            )
            text = text[:at] + piece + text[at:]
        if random.random() < 0.3:
            text = random.choice(FRAMES).format(text)
        value = _value(judge, text)
        if value is not None and row["judge"] in {"rts", "stareval", "direct", "geval[single]"}:
            assert value in _stated(text), text

    fuzz(check)
