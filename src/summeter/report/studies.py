"""Studies as blocks: one a study name, with a table for each kind of row and a sentence that says what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from summeter.meta.results import Row, Study
from summeter.report.blocks import StudyBlock, StudyRow, StudyTable
from summeter.report.words import About, about

__all__ = ["about", "studies"]

LONG = 60
"""Tables with more rows are folded."""

DIGITS = 3
# Counts and numbers of groups; a mean of them has its decimals.
_WHOLE = frozenset({"agree", "cluster", "correct_preferences", "needs_people"})
# What `details` may add to the name of a row.
_DETAILS = ("group", "pairs")
_NUMBERED = "study"


class _Given(NamedTuple):
    """A row and the number of the study it came from, since several may have one name."""

    number: int
    row: Row


def studies(given: Sequence[Study]) -> tuple[StudyBlock, ...]:
    """One block for each name, in the order of first appearance."""
    return tuple(
        _block(name, [one for one in given if one.name == name]) for name in dict.fromkeys(one.name for one in given)
    )


def _block(name: str, named: Sequence[Study]) -> StudyBlock:
    rows = [_Given(number, row) for number, study in enumerate(named, 1) for row in study]
    own = about(name)
    kinds = dict.fromkeys(row.study for _, row in rows)
    only = list(kinds) == [name]
    return StudyBlock(
        title=own.title,
        tables=tuple(_table([one for one in rows if one.row.study == kind], about(kind), titled=not only)
                     for kind in kinds),
        verdicts=_once(_verdict(row) for _, row in rows),
        notes=_once(note for study in named for note in study.notes),
        signatures=_once(row.signature for _, row in rows), people=_once(row.gold_signature for _, row in rows),
        intervals=_once(row.interval for _, row in rows),
    )  # fmt: skip


def _once(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _verdict(row: Row) -> str | None:
    said = row.details.get("verdict")
    return said if isinstance(said, str) else None


def _table(rows: Sequence[_Given], words: About, *, titled: bool) -> StudyTable:
    named = [_names(row) for _, row in rows]
    columns = list(dict.fromkeys(column for column in _ORDER if any(column in names for names in named)))
    shown = [tuple(names.get(column, "") for column in columns) for names in named]
    if _clash(rows, shown):
        columns.insert(0, _NUMBERED)
        shown = [(str(one.number), *names) for one, names in zip(rows, shown, strict=True)]
    return StudyTable(
        title=words.title if titled else None, meaning=words.meaning, columns=tuple(columns),
        rows=tuple(_row(one.row, names) for one, names in zip(rows, shown, strict=True)),
        tested=any(row.p is not None for _, row in rows), lacking=any(row.missing for _, row in rows),
        folded=len(rows) > LONG,
    )  # fmt: skip


_ORDER = ("run", "judge", "aspect", "level", "average", "system", "domain", "category", "pair", *_DETAILS, "statistic")


def _names(row: Row) -> dict[str, str]:
    """What a row is about, by column; what does not apply is left out."""
    found = {name: getattr(row, name) for name in _ORDER if name in Row.model_fields}
    found["aspect"] = _aspect(row)
    found |= {name: text for name in _DETAILS if isinstance(text := row.details.get(name), str)}
    if isinstance(run := row.details.get("run"), str):
        found["run"] = PurePath(run).name  # where it lies is nobody's business but the owner's
    return {name: text for name, text in found.items() if text}


def _aspect(row: Row) -> str | None:
    """`completeness`; `rouge1 against completeness` where judge and people were asked different things."""
    if row.aspect and row.gold_aspect and row.aspect != row.gold_aspect:
        return f"{row.aspect} against {row.gold_aspect}"
    return row.aspect or row.gold_aspect


def _clash(rows: Sequence[_Given], shown: Sequence[tuple[str, ...]]) -> bool:
    """Whether rows of two studies would look the same."""
    first: dict[tuple[str, ...], int] = {}
    return any(first.setdefault(names, one.number) != one.number for one, names in zip(rows, shown, strict=True))


def _row(row: Row, names: tuple[str, ...]) -> StudyRow:
    whole = row.statistic in _WHOLE and row.value is not None and row.value.is_integer() and row.low is None
    return StudyRow(
        names=names, value=row.value, digits=0 if whole else DIGITS, low=row.low, high=row.high,
        bare=row.status == "no_interval", p=row.p, n=row.n, missing=row.missing, reason=row.reason,
    )  # fmt: skip
