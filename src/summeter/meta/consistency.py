"""Does a judge say the same when asked again? Temperature 0 is no guarantee of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from summeter.choices import Level, Use
from summeter.meta._agree import LEVELS, Measure, aligned_votes, measure, scale_of
from summeter.meta.grids import merged_details, named
from summeter.meta.inputs import JudgeInput, RunLike, judge_input
from summeter.meta.matrix import Scores
from summeter.meta.results import Row, Study, interval_row, resampling
from summeter.meta.selection import Selection, SelectionArgs, checks_keywords
from summeter.records import UsageError
from summeter.stats.resample import Resampling

_REPEAT = re.compile(r"\|rep:\d+(?![^|) ])")
FOR_LABELS = ("identical", "alpha_nominal")
FOR_SCORES = ("identical", "alpha_interval", "rater_deviation")


@checks_keywords
def self_consistency(
    runs: Sequence[RunLike],
    *,
    level: str = "summary",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    **selection: Unpack[SelectionArgs],
) -> Study:
    """How far repeats of one judge agree (FineSurE, table 4): those of one run made with repeats, and each of `runs`.

    What is compared has the same signature but for the number of the repeat, or else, over several runs, the same
    judge and model (a seed may differ). Rows have the study `self_consistency`: `identical` (the share of units on
    which all repeats say the same), alpha, and for scores the mean population standard deviation over repeats.
    Raises UsageError where no judge was asked twice.
    """
    chosen, resample = Selection.of(**selection), resampling(resamples, confidence, seed)
    if level not in LEVELS[:3]:
        raise UsageError(f"repeats are compared by sentence, key fact or summary, not at the level {level!r}")
    at = Level(level)
    rows = [
        row for found in _repeats([judge_input(run) for run in runs], chosen, at) for row in _rows(found, at, resample)
    ]
    if not rows:
        raise UsageError("no judge was asked twice: give a run made with repeats, or two runs or more of one "
                         "judge, on the same aspect and at this level")  # fmt: skip
    return Study("self_consistency", rows)


def _repeats(runs: Sequence[JudgeInput], chosen: Selection, level: Level) -> list[list[Scores]]:
    """The series of each judge and aspect over the runs, those with two or more."""
    use = Use.VALUE if level is Level.SUMMARY else Use.LABEL
    names = [one.partition(":")[0] for one in chosen.aspects]
    by_signature: dict[tuple[str | None, ...], list[Scores]] = {}
    by_judge: dict[tuple[str | None, ...], list[Scores]] = {}
    for run in runs:
        for question in run.questions(judge=chosen.judge):
            if names and question[2] not in names:
                continue
            series = run.scores(question, level, use)
            if len(series):
                by_signature.setdefault((question[0], repeated(question[1]), *question[2:]), []).append(series)
                by_judge.setdefault((series.judge, series.model, series.aspect), []).append(series)
    same = [found for found in by_signature.values() if len(found) > 1]
    return same or [found for found in by_judge.values() if len(found) > 1 and len(runs) > 1]


def repeated(signature: str) -> str:
    """A signature without the number of the repeat.

    >>> repeated("rts|judge:openai/gpt-4o|t:0|rep:2|v:1")
    'rts|judge:openai/gpt-4o|t:0|v:1'
    """
    return _REPEAT.sub("", signature)


def _rows(found: Sequence[Scores], level: Level, resample: Resampling) -> list[Row]:
    votes = aligned_votes([(f"repeat {number}", one) for number, one in enumerate(found, 1)])
    seen = votes.values[~np.isnan(votes.values)]
    names = FOR_LABELS if np.isin(seen, (0.0, 1.0)).all() and level is not Level.SUMMARY else FOR_SCORES
    rows = []
    for name in names:
        got = measure(name, votes.values, votes.document.codes, Measure(scale_of(votes.values)), resample)
        about = merged_details(named(found[0]), **got.details, repeats=len(found))
        about |= {"study": "self_consistency", "signature": repeated(found[0].signature), "level": level.value,
                  "statistic": name}  # fmt: skip
        rows.append(interval_row(got.estimate, **about))
    return rows
