"""Formatting of NLI probabilities for reasons."""

from __future__ import annotations

import numpy as np

from summeter.evaluators.entailment.premises import CONTRADICT, ENTAIL, NEUTRAL, Floats

TELLING = 0.5
"""Minimum probability of contradiction that a reason reports."""


def shares(row: Floats, *, neutral: bool = False) -> str:
    """Format the probabilities of entailment and contradiction.

    If `neutral` is true, the probability of the neutral class is included.

    >>> shares(np.array([0.912, 0.058, 0.03]))
    'entailment .91, contradiction .03'
    """
    middle = f"neutral {short(row[NEUTRAL])}, " if neutral else ""
    return f"entailment {short(row[ENTAIL])}, {middle}contradiction {short(row[CONTRADICT])}"


def short(number: float) -> str:
    """Format a number with two decimals and without a leading zero.

    >>> short(0.912), short(-0.4), short(-0.001), short(1)
    ('.91', '-.40', '.00', '1.00')
    """
    text = f"{number:.2f}"
    return ".00" if text == "-0.00" else text.replace("0.", ".", 1)


def rounded(value: float, threshold: float) -> str:
    """Format a value with enough digits to show on which side of the threshold it lies.

    >>> rounded(0.4, 0.5), rounded(0.4996, 0.5), rounded(0.5, 0.5)
    ('.40', '.4996', '.50')
    """
    for digits in range(2, 16):
        text = f"{value:.{digits}f}"
        if (float(text) >= threshold) == (value >= threshold):
            return short(value) if digits == 2 else text.replace("0.", ".", 1)
    return repr(value)


def against(table: Floats) -> int | None:
    """Return the index of the passage that contradicts most, or None if no passage contradicts."""
    if not len(table) or np.all(np.isnan(table[:, CONTRADICT])):
        return None
    worst = int(np.nanargmax(table[:, CONTRADICT]))
    return worst if table[worst, CONTRADICT] >= TELLING else None
