"""Correlation of judges with people, at all levels, pooled or averaged, with intervals by document.

    summary level, pooled        over all summaries (Shen et al., Table 4; FineSurE, Table 3)
    summary level, by document   within each document over its systems, then averaged (SummEval, REALSumm)
    summary level, by system     within each system over its documents, then averaged; each system also has a row
    system level                 over the means of systems (a rank correlation with `spearman` or `kendall_b`)

The correlation of a group in which one side is constant is undefined. Such groups are left out of the mean and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from summeter.choices import PAIRWISE, Average, Level
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.measure import STATISTICS, measure
from summeter.meta.options import (
    By,
    Choice,
    Coefficients,
    CommandLine,
    Draws,
    GoldAtLeast,
    Selection,
    study,
)
from summeter.meta.results import Row, Study
from summeter.meta.selection import all_pairs, check_average, meta_input, notes
from summeter.records import UsageError
from summeter.stats.correlation import CORRELATIONS

STUDY = "correlation"


class CorrelateOptions(Selection, GoldAtLeast, By, Coefficients, Draws):
    """The options of `correlate`."""

    known: ClassVar[Sequence[str]] = (*CORRELATIONS, PAIRWISE)
    level: Annotated[str, Choice(Level, "level")] = Field(Level.SUMMARY, description="Level of the correlated values.")
    average: Annotated[str, Choice(Average, "average")] = Field(
        Average.POOLED,
        description="Correlate all values at once (pooled), or average correlations within each document or system.",
    )
    min_items: int = Field(1, ge=1, description="Leave out systems or documents with fewer items.")
    only_significant: Annotated[float | None, CommandLine(metavar="P")] = Field(
        None,
        description="Average only groups whose p-value is at most this (REALSumm uses .05).",
    )
    calibrate_ties: bool = Field(
        default=False, description="For pairwise accuracy, tune the difference below which scores count as tied."
    )


@study(CorrelateOptions, command="RUN...")
def correlate(run: RunLike, gold: Gold, options: CorrelateOptions) -> Study:
    """Correlate judges with people.

    `run` is a run or judgments. `gold` is a dataset with human judgments, or a judgment set.

    Rows have the study "correlation". Values are in [-1, 1], or in [0, 1] for pairwise accuracy. An undefined
    correlation has the value None and a reason. Raises UsageError if judges and people have nothing in common.

        sm.meta.correlate(run, data.judgments("human.raw"), level="summary", average="document")
    """
    level, average = Level(options.level), Average(options.average)
    check_average(level, average)
    if level is Level.SYSTEM and options.by == "system":
        raise UsageError("the system level cannot be broken down by system; give another column")
    read = meta_input(run, gold, options)
    samples = list(all_pairs(read, level, options))
    statistics = [
        STATISTICS[name].using(calibrate=options.calibrate_ties) if name == PAIRWISE else STATISTICS[name]
        for name in options.coefficients
    ]
    rows: list[Row] = []
    for sample in samples:
        rows += measure(
            sample,
            statistics,
            study=STUDY,
            draws=options.resampling,
            by=options.by,
            within=average,
            level=level,
            min_items=options.min_items,
            only_significant=options.only_significant,
        )
    remarks = notes(read, options, level, samples)
    if any(row.n == 2 and row.value is not None and average is Average.POOLED for row in rows):
        remarks.append("a correlation of 2 values is 1 or -1 for any values, and says nothing about the judge")
    return Study(STUDY, rows, remarks)
