"""Numbers as pages and sentences show them."""

from __future__ import annotations

import pytest

from summeter.pages.numbers import count, interval, number, ordinal


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.125, "0.12"), (-0.126, "−0.13"), (-0.001, "0.00"), (1, "1.00")]
)
def test_numbers(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_intervals_counts_places() -> None:
    assert interval(-0.1, 0.25) == "[−0.10, 0.25]"
    assert interval(None, None) == ""
    assert count(1, "summary", "summaries") == "1 summary"
    assert count(1204, "summary", "summaries") == "1,204 summaries"
    assert [ordinal(place) for place in (1, 2, 3, 4, 11, 12, 13, 21, 101, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "101st", "111th",
    ]  # fmt: skip
