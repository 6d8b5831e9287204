"""Correlation of judges with people, at any level, pooled or averaged, with intervals by document.

    summary level, pooled      one list of all summaries (Shen et al., Table 4; FineSurE, Table 3)
    ... averaged by document   within each document over its systems, then the mean (SummEval, REALSumm)
    ... averaged by system     within each system over its documents, then the mean; each system has a row too
    system level               over the means of systems (rank correlation of systems with `spearman`, `kendall_b`)

A group in which one side is constant has no correlation; it is left out of the mean and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from summeter.choices import PAIRWISE, Average, Level
from summeter.meta.coefficients import STATISTICS
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.measure import measure
from summeter.meta.options import (
    By,
    Choice,
    Coefficients,
    CommandLine,
    Draws,
    GoldAtLeast,
    MinItems,
    Selection,
    study,
)
from summeter.meta.results import Row, Study
from summeter.meta.selection import all_pairs, check, meta_input, notes
from summeter.records import UsageError
from summeter.stats.correlation import CORRELATIONS

STUDY = "correlation"


class CorrelateOptions(Selection, GoldAtLeast, By, MinItems, Coefficients, Draws):
    """The options of `correlate`."""

    known: ClassVar[Sequence[str]] = (*CORRELATIONS, PAIRWISE)
    level: Annotated[str, Choice(Level, "level")] = Field(Level.SUMMARY, description="What is correlated.")
    average: Annotated[str, Choice(Average, "average")] = Field(
        Average.POOLED, description="Correlate all rows at once, or within each document or system and average."
    )
    only_significant: Annotated[float | None, CommandLine(metavar="P")] = Field(
        None,
        description="Average only groups whose own p-value is at most this (REALSumm: .05, which reports the documents "
        "that agree well).",
    )
    calibrate_ties: bool = Field(
        default=False, description="Pairwise accuracy: find the difference under which scores count as tied."
    )


@study(CorrelateOptions, command="RUN...")
def correlate(run: RunLike, gold: Gold, options: CorrelateOptions) -> Study:
    """Correlate judges with people.

    `run` is a run's folder or judgments, `gold` a data set with people's judgments or a judgment set.

    Rows have the study "correlation". Values lie in [-1, 1] (pairwise accuracy in [0, 1]); a correlation that does
    not exist has the value None and the reason. Raises UsageError where there is nothing to correlate.

        sm.meta.correlate(run, data.judgments("human.raw"), level="summary", average="document")
    """
    level, average = Level(options.level), Average(options.average)
    check(level, average)
    if level is Level.SYSTEM and options.by == "system":
        raise UsageError("at the system level there is nothing to break down by system; give another column")
    read = meta_input(run, gold, options)
    studied = list(all_pairs(read, level, options))
    statistics = [
        STATISTICS[name].using(calibrate=options.calibrate_ties) if name == PAIRWISE else STATISTICS[name]
        for name in options.coefficients
    ]
    rows: list[Row] = []
    for sample in studied:
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
    return Study(STUDY, rows, notes(read, options, level, studied))
