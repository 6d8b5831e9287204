"""The blocks of studies, part of those in `blocks`: frozen values, computed once, drawn by whoever renders them."""

from __future__ import annotations

from typing import NamedTuple


class StudyRow(NamedTuple):
    """A number of a study: what it is about, in the order of the table's columns, and how sure it is.

    No `value` without a number; `reason` then says why, and beside a number why it has no interval.
    """

    names: tuple[str, ...]
    value: float | None
    digits: int
    low: float | None
    high: float | None
    bare: bool
    p: float | None
    n: int
    missing: int
    reason: str | None


class StudyTable(NamedTuple):
    """Rows of one kind. `title` is None where the study has no other; `tested` and `lacking` say whether some row has
    a p-value, and something missing; `folded` that it is long."""

    title: str | None
    meaning: str | None
    columns: tuple[str, ...]
    rows: tuple[StudyRow, ...]
    tested: bool
    lacking: bool
    folded: bool


class StudyBlock(NamedTuple):
    """A study of judges and people: its tables, what they say in words, and what they depend on."""

    title: str
    tables: tuple[StudyTable, ...]
    verdicts: tuple[str, ...]
    notes: tuple[str, ...]
    signatures: tuple[str, ...]
    people: tuple[str, ...]
    intervals: tuple[str, ...]


class Reliable(NamedTuple):
    """How far one judge, asked in two ways, agrees with itself on a system's `n` summaries: rho, and in words.

    `flagged` where that is under the tolerance, or cannot be told.
    """

    system: str
    value: float | None
    n: int
    missing: int
    flagged: bool
    words: str


class Reliability(NamedTuple):
    """Reliability of a judge's ratings on one aspect, system by system; `said` is the outcome in a sentence."""

    title: str
    judge: str
    model: str | None
    signature: str
    tolerance: float
    systems: tuple[Reliable, ...]
    said: str
