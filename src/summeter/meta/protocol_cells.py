"""What the tables of a benchmark are made of: its rows, the judges' scores beside them, cells and thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.meta.matrix import PairedScores
from summeter.meta.protocols import OneClass, Protocol, Table
from summeter.records import UsageError
from summeter.stats.base import Bools, Floats, Ints, Status
from summeter.stats.classify import Accuracies, Area, accuracy_of, confusion_by_unit, decide
from summeter.stats.resample import Bootstrap
from summeter.stats.thresholds import Threshold, tune_threshold

ORDER = ("SOTA", "XFORMER", "OLD")
"""AggreFact's groups as its tables have them; other values of a column come in the order of the alphabet."""


@dataclass(frozen=True)
class Settings:
    """How sure the numbers are.

    `resamples` of the bootstrap by document (0 for no intervals), `permutations` of the test of two judges, `alpha` for
    its corrected p-values.
    """

    resamples: int = 1000
    permutations: int = 10_000
    level: float = 0.95
    alpha: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 0 or self.permutations < 1 or not 0 < self.level < 1 or not 0 < self.alpha < 1:
            raise UsageError(
                "resamples is at least 0, permutations at least 1, and level and alpha lie between 0 and 1"
            )

    def says(self) -> str:
        """What stands beside an interval."""
        drawn = f"{self.level:.0%} percentile bootstrap by document, thresholds held, {self.resamples} resamples"
        return f"{drawn}, seed {self.seed}"


class Data(NamedTuple):
    """The labelled rows of the benchmark. `unit` numbers the documents of the test rows, which `draws` draws."""

    keys: list[tuple[str | None, str | None]]
    gold: Floats
    columns: dict[str, NDArray[np.object_]]
    dev: Bools
    test: Bools
    unit: Ints
    draws: Bootstrap


class Judge(NamedTuple):
    name: str
    pairs: PairedScores
    scores: Floats


class Cell(NamedTuple):
    at: dict[str, str]
    dev: Bools
    test: Bools


class Found(NamedTuple):
    """What one judge is worth on one table: by cell its threshold, decisions (NaN: none), counts and balanced accuracy;
    of the draws, draws x cells, that and the AUROC (`areas`, where asked for)."""

    thresholds: list[Threshold]
    said: list[Floats]
    counts: list[Floats]
    values: Floats
    lone: list[bool]
    draws: Floats
    areas: list[Floats]


def _keys(pairs: PairedScores) -> list[tuple[str | None, str | None]]:
    return list(zip(pairs.document.labels(), pairs.system.labels(), strict=True))


def data_of(pairs: PairedScores, how: Protocol, plan: Settings) -> Data:
    """The labelled rows of the benchmark, from any judge beside people. Raises UsageError as `protocol` does."""
    rows = pairs.take(~np.isnan(pairs.y))
    if not np.isin(rows.y, (0.0, 1.0)).all():
        raise UsageError("people's faithfulness is not 0 or 1 here; a protocol needs a yes or no for each summary")
    names = {how.dev[0], how.test[0], *(name for table in how.tables for name in table.cells + table.tuned)}
    names |= {name for table in how.tables for name, _ in table.keep}
    columns = {name: np.array(list(rows.column(name).labels()), dtype=object) for name in sorted(names)}
    dev, test = (np.asarray(columns[name] == value, dtype=np.bool_) for name, value in (how.dev, how.test))
    for what, (name, value), mask in (("validation", how.dev, dev), ("test", how.test, test)):
        tuned = any(table.threshold is None for table in how.tables)
        if not mask.any() and (tuned or what == "test"):
            raise UsageError(
                f"no row is of the {what} split ({name} = {value}); give that file too, or a number as the threshold"
            )
    unit = np.full(len(test), -1, np.int64)
    used, unit[test] = np.unique(rows.document.codes[test], return_inverse=True)
    return Data(_keys(rows), rows.y, columns, dev, test, unit, Bootstrap(len(used), plan.resamples, seed=plan.seed))


def judges_of(found: Sequence[PairedScores], data: Data) -> list[Judge]:
    """The judges by the shortest names that tell them apart, their scores in the order of the data's rows."""
    ways = [
        [one.judge.judge for one in found],
        [f"{one.judge.judge}:{one.judge.aspect}" for one in found],
        [f"{one.judge.signature}:{one.judge.aspect}" for one in found],
        [f"{number}:{one.judge.signature}:{one.judge.aspect}" for number, one in enumerate(found, 1)],
    ]
    names = next(way for way in ways if len(set(way)) == len(way))
    judges = []
    for name, pairs in zip(names, found, strict=True):
        scores = dict(zip(_keys(pairs), pairs.x.tolist(), strict=True))
        judges.append(Judge(name, pairs, np.array([scores.get(key, np.nan) for key in data.keys], dtype=np.float64)))
    return judges


def cells_of(data: Data, table: Table) -> Iterator[Cell]:
    """The cells that some test row is in, in the papers' order."""
    belongs = np.ones(len(data.gold), dtype=np.bool_)
    for name, value in table.keep:
        belongs &= np.asarray(data.columns[name] == value, dtype=np.bool_)
    for name in table.cells:
        belongs &= np.array([value is not None for value in data.columns[name]], dtype=np.bool_)
    rows = np.flatnonzero(belongs & data.test)
    places = {tuple(str(data.columns[name][row]) for name in table.cells) for row in rows}
    for values in sorted(places, key=lambda one: [(ORDER.index(v) if v in ORDER else -1, v.lower(), v) for v in one]):
        at = dict(zip(table.cells, values, strict=True))
        test, dev = belongs & data.test, belongs & data.dev
        for name, value in at.items():
            same = np.asarray(data.columns[name] == value, dtype=np.bool_)
            test &= same
            if name in table.tuned:
                dev &= same
        yield Cell(at, dev, test)


def measured(judge: Judge, data: Data, cells: Sequence[Cell], table: Table, how: Protocol) -> Found:
    """A judge's thresholds, decisions and values on a table."""
    thresholds, said, areas = [], [], []
    for cell in cells:
        got = _threshold(judge, data, cell, table, how)
        thresholds.append(got)
        decided = np.full(len(data.gold), np.nan)
        if got.threshold is not None:
            decided[cell.test] = decide(judge.scores[cell.test], got.threshold)
        said.append(decided)
        areas.append(Area(data.gold[cell.test], judge.scores[cell.test], data.unit[cell.test]))
    return worth(thresholds, said, data, how, areas)


def worth(
    thresholds: list[Threshold], said: list[Floats], data: Data, how: Protocol, areas: Sequence[Area] = ()
) -> Found:  # fmt: skip
    """What decisions are worth; a cell whose decided rows have one class is worth what the protocol says."""
    counts = [confusion_by_unit(data.gold, one, data.unit, data.draws.units) for one in said]
    whole = np.stack([one.sum(axis=0) for one in counts])
    lone = [how.one_class is OneClass.RECALL and (p > 0) != (n > 0) for _, p, _, n in whole.tolist()]
    accuracies = Accuracies(counts, lone)
    width = max([accuracies.width, *(area.width for area in areas)])
    draws, *drawn_areas = data.draws.samples(accuracies, *areas, width=width)
    return Found(thresholds, said, counts, accuracy_of(whole, np.array(lone)), lone, draws, drawn_areas)


def _threshold(judge: Judge, data: Data, cell: Cell, table: Table, how: Protocol) -> Threshold:
    if table.threshold is not None:
        return Threshold(table.threshold, None, 0, 0, Status.OK, None)
    return tune_threshold(data.gold[cell.dev], judge.scores[cell.dev], how.candidates)
