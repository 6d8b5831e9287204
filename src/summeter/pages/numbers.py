"""Numbers and counts as pages and sentences show them: with a real minus sign, and a dash for no value."""

from __future__ import annotations

from summeter import tables

MOST_DIGITS = 6
"""Decimals that `percent` shows at most."""


def number(value: float | None, digits: int = 2) -> str:
    """A number for reading; a dash where there is none, and a real minus sign.

    >>> number(-0.126), number(None)
    ('−0.13', '–')
    """
    return "–" if value is None else _typeset(tables.number(value, digits))


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """`[0.88, 0.94]`, or nothing where there is no interval."""
    return _typeset(tables.interval(low, high, digits))


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """`0.91 [0.88, 0.94]`."""
    return "–" if value is None else _typeset(tables.with_interval(value, low, high, 2))


def _typeset(text: str) -> str:
    return text.replace("-", "−")


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 document`, `1,204 documents`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def ordinal(place: int) -> str:
    """`1st`, `2nd`, `11th`."""
    end = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{end}"


def percent(share: float) -> str:
    """A share for reading; what is not nothing and not everything never reads as if it were.

    >>> percent(0.9996), percent(0.5), percent(1.0), percent(0.0004)
    ('99.96 %', '50 %', '100 %', '0.04 %')
    """
    for decimals in range(1, MOST_DIGITS + 1):
        text = f"{share * 100:.{decimals}f}"
        if share in (0, 1) or float(text) not in (0, 100):
            return f"{text.removesuffix('.0')} %"
    return "less than a millionth" if share < 0.5 else "all but a millionth"
