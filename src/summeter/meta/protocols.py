"""The protocols of factuality benchmarks: which rows make a cell, where its threshold is tuned, what is averaged.

What the released code does is followed, with its quirks, and the settings turn each of them off:

    aggrefact       a threshold per origin, data set and group, balanced accuracies averaged by number of test rows
                    within origin and group; and on SOTA one threshold per origin (Tang et al., 2023; FENICE)
    llm-aggrefact   the threshold .5 everywhere, plain mean over data sets (Tang et al., 2024)
    summac          a threshold per data set, plain mean (Laban et al., 2022)
    story-summeval  one threshold (FENICE's long-form set)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from summeter.records import UsageError
from summeter.stats.thresholds import Candidates


class Weight(StrEnum):
    """How cells are averaged: each by its number of test rows, or all alike."""

    ROWS = "rows"
    CELLS = "cells"


class OneClass(StrEnum):
    """What a cell whose test rows are all of one class is worth.

    `recall`: the recall of that class, which scikit-learn's balanced accuracy silently becomes and the papers' tables
    hold. `undefined`: nothing, with the reason.
    """

    RECALL = "recall"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Mean:
    """A mean over the cells that agree in the columns `over` (none: over all cells)."""

    over: tuple[str, ...] = ()
    weight: Weight = Weight.CELLS


@dataclass(frozen=True)
class Table:
    """One table: a row a cell (a value of each column of `cells`), among the rows that `keep` (column, value) names.

    A cell's threshold is tuned on the validation rows with its values in `tuned`, so that no columns at all means one
    threshold for the table; or it is `threshold`, and nothing is tuned.
    """

    name: str
    title: str
    cells: tuple[str, ...]
    tuned: tuple[str, ...]
    keep: tuple[tuple[str, str], ...] = ()
    means: tuple[Mean, ...] = ()
    threshold: float | None = None


@dataclass(frozen=True)
class Protocol:
    """A benchmark's tables, and how thresholds are chosen. `dev` and `test` are (column, value)."""

    name: str
    about: str
    tables: tuple[Table, ...]
    dev: tuple[str, str] = ("cut", "val")
    test: tuple[str, str] = ("cut", "test")
    candidates: Candidates = Candidates.RELEASED
    one_class: OneClass = OneClass.RECALL

    def with_thresholds(self, thresholds: str | float) -> Protocol:
        """The same tables with other thresholds: `cell` (one each), `single` (one a table), or a number, untuned.

        >>> PROTOCOLS["summac"].with_thresholds("single").tables[0].tuned
        ()

        Raises UsageError for anything else; `protocol` changes nothing.
        """
        if thresholds == "protocol":
            return self
        given = thresholds
        if isinstance(thresholds, str) and thresholds not in ("cell", "single"):
            try:
                thresholds = float(thresholds)
            except ValueError:
                thresholds = math.nan
        fixed = None if isinstance(thresholds, str) else float(thresholds)
        if fixed is not None and not math.isfinite(fixed):
            raise UsageError(f"thresholds: {given!r} is none of protocol, cell, single and a number")
        tables = (
            replace(table, threshold=fixed, tuned=table.cells if thresholds == "cell" else ()) for table in self.tables
        )
        return replace(self, tables=tuple(tables))

    def changed(self, candidates: Candidates | None = None, one_class: OneClass | None = None) -> Protocol:
        """The protocol with another choice of thresholds, or another worth of cells of one class."""
        return replace(self, candidates=candidates or self.candidates, one_class=one_class or self.one_class)

    def says(self) -> str:
        """How its thresholds are chosen, in a line."""
        fixed = sorted({table.threshold for table in self.tables if table.threshold is not None})
        if fixed:
            return f"protocol {self.name}: a score above {fixed[0]:g} counts as consistent; nothing is tuned"
        tuned = [" x ".join(table.tuned) or "the whole table" for table in self.tables]
        ways = {
            Candidates.PERCENTILES: "among the percentiles 0, 0.2, ..., 99.8",
            Candidates.RELEASED: "among the percentiles 0, 0.2, ..., 99.8, as the released code rounds",
            Candidates.SCORES: "among all scores",
        }
        return (
            f"protocol {self.name}: thresholds per {'; '.join(tuned)}, tuned on {self.dev[0]} = {self.dev[1]} "
            f"{ways[self.candidates]}, the highest of equals; a score above it counts as consistent"
        )


_ALL = (
    Protocol(
        "aggrefact", "AggreFact: a threshold per origin, data set and group; and one per origin on SOTA",
        (
            Table("per_data_set", "AggreFact, a threshold per data set", ("origin", "dataset", "category"),
                  ("origin", "dataset", "category"), means=(Mean(("origin", "category"), Weight.ROWS),)),
            Table("sota", "AggreFact-SOTA, one threshold per origin", ("origin",), ("origin",),
                  keep=(("category", "SOTA"),), means=(Mean(),)),
        ),
    ),
    Protocol(
        "llm-aggrefact", "LLM-AggreFact: the threshold .5 everywhere, plain mean over data sets",
        (Table("per_data_set", "LLM-AggreFact, threshold .5", ("dataset",), (), means=(Mean(),), threshold=0.5),),
    ),
    Protocol(
        "summac", "The SummaC benchmark: a threshold per data set, plain mean",
        (Table("per_data_set", "SummaC benchmark, a threshold per data set", ("dataset",), ("dataset",),
               means=(Mean(),)),),
    ),
    Protocol(
        "story-summeval", "FENICE's long-form set: one threshold",
        (Table("all", "Long-form summaries, one threshold", ("dataset",), ()),),
    ),
)  # fmt: skip
PROTOCOLS: Mapping[str, Protocol] = {one.name: one for one in _ALL}


def protocol_named(name: str) -> Protocol:
    """The protocol of that name. Raises UsageError."""
    found = PROTOCOLS.get(name)
    if found is None:
        raise UsageError(f"unknown protocol {name!r}; protocols are: {', '.join(PROTOCOLS)}")
    return found
