"""Formatting of numbers and counts, with a true minus sign and a dash for missing values."""

from __future__ import annotations

from summeter import tables
from summeter.records import Phrase, count

__all__ = ["MOST_DIGITS", "count", "interval", "number", "ordinal", "percent", "signed", "with_interval"]

MOST_DIGITS = 6
"""Maximum number of decimals in the result of `percent`."""


def number(value: float | None, digits: int = 2) -> str:
    """Return a formatted number, or a dash for None.

    >>> number(-0.126), number(None)
    ('−0.13', '–')
    """
    return "–" if value is None else _typeset(tables.number(value, digits))


def signed(value: float) -> str:
    """Return a difference with its sign, in few characters.

    >>> signed(0.126), signed(-0.004), signed(-12.34)
    ('+.13', '.00', '−12')
    """
    text = f"{value:+.2f}" if abs(value) < 9.995 else f"{value:+.0f}"
    return ".00" if float(text) == 0 else _typeset(text.replace("0.", ".", 1) if abs(value) < 1 else text)


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """Return an interval such as `[0.88, 0.94]`, or an empty string if a bound is missing."""
    return _typeset(tables.interval(low, high, digits))


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return a value with its interval, such as `0.91 [0.88, 0.94]`."""
    return "–" if value is None else _typeset(tables.with_interval(value, low, high, 2))


def _typeset(text: str) -> str:
    return text.replace("-", "−")


def ordinal(number: int) -> str:
    """Return an ordinal number, such as `1st`, `2nd` or `11th`."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return Phrase("rank {number}", shown=f"{number}{suffix}", number=number)


def percent(share: float) -> str:
    """Return a fraction as a percentage; only exactly 0 and 1 are shown as 0 % and 100 %.

    >>> percent(0.9996), percent(0.5), percent(1.0), percent(0.0004)
    ('99.96 %', '50 %', '100 %', '0.04 %')
    """
    for decimals in range(1, MOST_DIGITS + 1):
        text = f"{share * 100:.{decimals}f}"
        if share in (0, 1) or float(text) not in (0, 100):
            return f"{text.removesuffix('.0')} %"
    return "less than a millionth" if share < 0.5 else "all but a millionth"
