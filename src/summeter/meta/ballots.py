"""Votes as a matrix annotators x units, made in every way a study of agreement needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from summeter.choices import Level
from summeter.meta.gold import PEOPLE, Aggregation, Votes, block_of, chosen, gold_scores, votes
from summeter.meta.matrix import Scores, align
from summeter.records import UsageError
from summeter.scoring.table import JudgmentTable, Names
from summeter.stats.base import Bools, Floats


def unit_level(name: str) -> Level:
    """The level of that name at which there are votes. Raises UsageError for any other."""
    if name not in (Level.SENTENCE, Level.KEY_FACT, Level.SUMMARY):
        raise UsageError(f"there are votes on sentences, key facts and summaries, not at the level {name!r}")
    return Level(name)


def take(found: Votes, units: Bools) -> Votes:
    """Some of the units."""
    return Votes(
        found.values[:, units], found.raters, found.document.take(units), found.system.take(units),
        found.list_id.take(units), found.index[units], found.unit, found.source,
    )  # fmt: skip


def score_votes(columns: JudgmentTable, aspect: str, source: str | None = None) -> Votes | None:
    """Each annotator's *score* of a summary (the share of its labels that are 1) as votes on summaries."""
    rows = chosen(columns, aspect, Level.SUMMARY, source)
    if rows is None:
        return None
    found = gold_scores(columns, aspect, Level.SUMMARY, Aggregation("each"), source)
    return replace(aligned_votes([(one.judge, one) for one in found]), source=block_of(found[0].signature))


def aligned_votes(found: Sequence[tuple[str, Scores]]) -> Votes:
    """Scores of one level as the votes of raters, each with its name; a unit that any of them has is a column."""
    columns: dict[tuple[Any, ...], int] = {}
    places = [[columns.setdefault(unit, len(columns)) for unit in _units(one)] for _, one in found]
    matrix = np.full((len(found), len(columns)), np.nan)
    for row, (_, one) in enumerate(found):
        matrix[row, places[row]] = one.value
    documents, systems, lists, index = zip(*columns, strict=True) if columns else ((), (), (), ())
    level = found[0][1].level.value if found else "summary"
    return Votes(
        matrix, tuple(name for name, _ in found), Names.of(documents), Names.of(systems), Names.of(lists),
        np.array(index, np.int64), level, "",
    )  # fmt: skip


def _units(one: Scores) -> Iterator[tuple[Any, ...]]:
    return zip(one.document.labels(), one.system.labels(), one.list_id.labels(), one.index.tolist(), strict=True)


def type_votes(columns: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> Votes | None:
    """The error types that annotators named as votes; each name is a number, which means nothing but itself."""
    rows = chosen(columns, aspect, level, source)
    if rows is None:
        return None
    code = np.array([np.nan if name is None else float(i) for i, name in enumerate(rows.error_type.names)])
    if np.isnan(code).all():
        return None
    values = code[rows.error_type.codes]
    return votes(replace(rows, value=values, label=np.full(len(rows), np.nan)), aspect, level, source)


def merge(values: Floats, unit: str) -> Floats:
    """The mean of ratings; of labels the majority, none where it is split evenly."""
    counts = (~np.isnan(values)).sum(axis=0)
    empty: Floats = np.full(values.shape[1], np.nan)
    means: Floats = np.divide(np.nansum(values, axis=0), counts, out=empty, where=counts > 0)
    if unit == "summary":
        return means
    return np.where(means == 0.5, np.nan, np.round(means))


def aligned_values(series: Scores, found: Votes) -> Floats:
    """The values of a series on the units of the votes, NaN where it has none."""
    size = found.values.shape[1]
    level = Level(found.unit)
    places = Scores(
        PEOPLE, "", None, series.aspect, level, found.document, found.system, found.list_id, found.index,
        np.arange(size, dtype=np.float64), Names.same(None, size),
    )  # fmt: skip
    pairs = align(series, places)
    values: Floats = np.full(size, np.nan)
    rows = pairs.kept
    values[pairs.y[rows].astype(np.int64)] = pairs.x[rows]
    return values


def lines(aspect: str, found: Votes, raters: Sequence[str]) -> Iterator[list[Any]]:
    """One line a unit: aspect, unit, document, system, list, index, and the vote of each of `raters` (None: none)."""
    place = {rater: row for row, rater in enumerate(found.raters)}
    units = zip(
        found.document.labels(), found.system.labels(), found.list_id.labels(), found.index.tolist(), strict=True
    )
    for column, (document, system, list_id, index) in enumerate(units):
        cells = [found.values[place[one], column] if one in place else np.nan for one in raters]
        given = [None if np.isnan(cell) else int(cell) if cell == int(cell) else float(cell) for cell in cells]
        yield [aspect, found.unit, document, system, list_id, None if index < 0 else index, *given]
