"""How often people decide against what a machine told them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from summeter.choices import Level, Use
from summeter.meta.ballots import unit_level
from summeter.meta.gold import gold_scores
from summeter.meta.grids import Draws, drawn_row, named
from summeter.meta.inputs import Gold, RunLike, gold_input, judge_input
from summeter.meta.matrix import Scores, align
from summeter.meta.results import Row, Study
from summeter.meta.selection import Selection, selected
from summeter.records import UsageError
from summeter.stats import bootstrap_mean


def overruled(
    shown: RunLike, gold: Gold, *, aspect: str | Sequence[str] | None = None, select: Selection | None = None,
    level: str = "sentence", draws: Draws | None = None,
) -> Study:  # fmt: skip
    """How often people decided against the machine label they were shown (UniSumEval, Table 12), both ways.

    `shown` are the machine's judgments, of any judge. Rows: the share of units overruled, of all units, and of
    those shown as 1 and as 0 (`details.shown`); `n` units have both labels. Raises UsageError where no unit has.
    """
    chosen_, draws = selected(select, aspect), draws or Draws()
    at = unit_level(level)
    machine, (columns, _) = judge_input(shown), gold_input(gold, chosen_.set_name)
    rows: list[Row] = []
    for question in machine.questions(judge=chosen_.judge):
        wanted = [one.partition(":") for one in chosen_.aspects] or [(question[2], "", "")]
        for own, _, theirs in wanted:
            if own != question[2]:
                continue
            said = machine.scores(question, at, Use.LABEL)
            for merged in gold_scores(columns, theirs or own, at, chosen_.rule, chosen_.source):
                rows += _overruled(said, merged, at, draws)
    if not rows:
        raise UsageError(f"no {level} has both a label that was shown and people's decision on it")
    return Study("overruled", rows)


def _overruled(said: Scores, merged: Scores, level: Level, draws: Draws) -> list[Row]:
    pairs = align(said, merged)
    changed = np.where(pairs.kept, (pairs.x != pairs.y).astype(np.float64), np.nan)
    fields = {**named(said, merged), "study": "overruled", "statistic": "overruled", "level": level.value}
    rows = []
    for label in (None, 1.0, 0.0):
        inside = np.ones(len(pairs), dtype=np.bool_) if label is None else pairs.x == label
        got = bootstrap_mean(
            changed[inside], pairs.document.codes[inside], max(1, draws.resamples), draws.level, draws.seed
        )
        details: dict[str, Any] = {"overruled": int(np.nansum(changed[inside]))}
        if label is not None:
            details |= {"shown": int(label), "group": f"shown {label:g}"}
        reason = got.reason if got.value is not None else "no unit has both labels"
        ends = None if got.low is None or got.high is None else (got.low, got.high)
        about = {**fields, "n": got.n, "missing": got.missing, "reason": reason, "details": details}
        rows.append(drawn_row(about, got.value, ends, draws))
    return rows
