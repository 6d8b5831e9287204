"""Correlation of judges with people, at any level, pooled or averaged, with intervals by document.

    summary level, pooled      one list of all summaries (Shen et al., Table 4; FineSurE, Table 3)
    ... averaged by document   within each document over its systems, then the mean (SummEval, REALSumm)
    ... averaged by system     within each system over its documents, then the mean; each system has a row too
    system level               over the means of systems (rank correlation of systems with `spearman`, `kendall_b`)

A group in which one side is constant has no correlation; it is left out of the mean and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from summeter.choices import PAIRWISE, USUAL_COEFFICIENTS, Average, Coefficient, Level
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.measure import measure
from summeter.meta.results import Row, Study, resampling
from summeter.meta.selection import (
    Selection,
    SelectionArgs,
    all_pairs,
    check,
    check_known,
    checks_keywords,
    choose,
    meta_input,
    notes,
)
from summeter.meta.statistics import STATISTICS
from summeter.records import UsageError

STUDY = "correlation"
COEFFICIENTS = (*(coefficient.value for coefficient in Coefficient), PAIRWISE)


@checks_keywords
def correlate(
    run: RunLike,
    gold: Gold,
    *,
    level: str = Level.SUMMARY,
    average: str = Average.POOLED,
    coefficients: Sequence[str] = USUAL_COEFFICIENTS,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    only_significant: float | None = None,
    calibrate_ties: bool = False,
    **selection: Unpack[SelectionArgs],
) -> Study:
    """How well do the judges of a run agree with people?

    `run` is a run's folder or judgments, `gold` a data set with people's judgments or a judgment set. `aspect` is a
    name, `JUDGE:GOLD` for unlike ones, or several; without it every aspect both have. The other shared keywords
    (`SelectionArgs`) say which judge and gold, how annotators are merged, and by which column rows are broken down.

    `coefficients` are from COEFFICIENTS. `resamples` of the bootstrap by document (0: no intervals), with intervals at
    `confidence`. `only_significant` keeps, in an average over groups, those whose own p-value is at most this
    (REALSumm's recipe is .05: it reports the documents that agree well, so it is named in `details`).
    `calibrate_ties` finds, for pairwise accuracy, the difference under which scores count as tied.

    Rows have the study "correlation". Values lie in [-1, 1] (pairwise accuracy in [0, 1]); a correlation that does
    not exist has the value None and the reason. Raises UsageError where there is nothing to correlate.

        sm.meta.correlate(run, data.judgments("human.raw"), level="summary", average="document")
    """
    where, how = choose(Level, level, "level"), choose(Average, average, "average")
    chosen = Selection(**selection)
    check_known(coefficients, COEFFICIENTS, "coefficient")
    resample = resampling(resamples, confidence, seed)
    check(where, how)
    if where is Level.SYSTEM and chosen.by == "system":
        raise UsageError("at the system level there is nothing to break down by system; give another column")
    read = meta_input(run, gold, chosen)
    studied = list(all_pairs(read, where, chosen))
    statistics = [
        STATISTICS[name].using(calibrate=calibrate_ties) if name == PAIRWISE else STATISTICS[name]
        for name in coefficients
    ]
    rows: list[Row] = []
    for sample in studied:
        rows += measure(
            sample,
            statistics,
            study=STUDY,
            draws=resample,
            by=chosen.by,
            within=how,
            level=where,
            min_items=chosen.min_items,
            only_significant=only_significant,
        )
    return Study(STUDY, rows, notes(read, chosen, where, studied))
