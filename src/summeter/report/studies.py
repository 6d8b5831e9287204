"""Studies as blocks: one a study name, with a table for each kind of row and a sentence that says what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from summeter.meta.results import Row, Study
from summeter.report.blocks import StudyBlock, StudyTable
from summeter.report.words import about

LONG = 60
"""Tables with more rows are folded."""

# Counts and numbers of groups; a mean of them has its decimals.
_COUNTS = frozenset({"agree", "cluster", "correct_preferences", "needs_people"})
# What `details` may add to the name of a row.
_DETAILS = ("group", "pairs")
_NUMBER = "study"
_ORDER = ("run", "judge", "aspect", "level", "average", "system", "domain", "category", "pair", *_DETAILS, "statistic")


def studies(given: Sequence[Study]) -> tuple[StudyBlock, ...]:
    """One block for each name, in the order of first appearance."""
    by_name: dict[str, list[Study]] = {}
    for study in given:
        by_name.setdefault(study.name, []).append(study)
    return tuple(_block(name, namesakes) for name, namesakes in by_name.items())


def digits(row: Row) -> int:
    """How many decimals the value of a row is shown with."""
    value = row.value
    whole = row.statistic in _COUNTS and value is not None and value.is_integer() and row.low is None
    return 0 if whole else 3


def _block(name: str, namesakes: Sequence[Study]) -> StudyBlock:
    rows = [row for study in namesakes for row in study]
    kinds = list(dict.fromkeys(row.study for row in rows))
    return StudyBlock(
        title=about(name).title,
        tables=tuple(_table(kind, namesakes, titled=kinds != [name]) for kind in kinds),
        verdicts=_distinct(_verdict(row) for row in rows),
        notes=_distinct(note for study in namesakes for note in study.notes),
        signatures=_distinct(row.signature for row in rows),
        people=_distinct(row.gold_signature for row in rows),
        intervals=_distinct(row.interval for row in rows),
    )


def _distinct(texts: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _verdict(row: Row) -> str | None:
    verdict = row.details.get("verdict")
    return verdict if isinstance(verdict, str) else None


def _table(kind: str, namesakes: Sequence[Study], *, titled: bool) -> StudyTable:
    # With each row the number of its study, since several may have one name.
    numbered = [(number, row) for number, study in enumerate(namesakes, 1) for row in study if row.study == kind]
    by_column = [_names(row) for _, row in numbered]
    columns = [column for column in _ORDER if any(column in names for names in by_column)]
    names = [tuple(cells.get(column, "") for column in columns) for cells in by_column]
    numbers = [number for number, _ in numbered]
    if _clash(numbers, names):
        columns.insert(0, _NUMBER)
        names = [(str(number), *cells) for number, cells in zip(numbers, names, strict=True)]
    words = about(kind)
    return StudyTable(
        title=words.title if titled else None,
        meaning=words.meaning,
        columns=tuple(columns),
        names=tuple(names),
        rows=tuple(row for _, row in numbered),
        folded=len(numbered) > LONG,
    )


def _names(row: Row) -> dict[str, str]:
    """What a row is about, by column; what does not apply is left out."""
    names = {name: getattr(row, name) for name in _ORDER if name in Row.model_fields}
    names["aspect"] = _aspect(row)
    names |= {name: text for name in _DETAILS if isinstance(text := row.details.get(name), str)}
    if isinstance(run := row.details.get("run"), str):
        names["run"] = PurePath(run).name  # where it lies is nobody's business but the owner's
    return {name: text for name, text in names.items() if text}


def _aspect(row: Row) -> str | None:
    """`completeness`; `rouge1 against completeness` where judge and people were asked different things."""
    if row.aspect and row.gold_aspect and row.aspect != row.gold_aspect:
        return f"{row.aspect} against {row.gold_aspect}"
    return row.aspect or row.gold_aspect


def _clash(numbers: Sequence[int], names: Sequence[tuple[str, ...]]) -> bool:
    """Whether rows of two studies would look the same."""
    first: dict[tuple[str, ...], int] = {}
    return any(first.setdefault(cells, number) != number for number, cells in zip(numbers, names, strict=True))
