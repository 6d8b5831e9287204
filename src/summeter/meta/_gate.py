"""Is the run good enough to go on? A bound on the mean of an aspect, for every system and judge of a run.

A mean that is missing fails. With a calibration file the judge must still be the one that was calibrated, signature
for signature, and its tuned threshold decides which units count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, SkipValidation

from summeter.meta._calibrate import Calibration
from summeter.meta.options import Options, study
from summeter.meta.results import Row, Study, judge_labels, status_of
from summeter.meta.verdicts import ABOVE, UNDECIDED, against_chance, reaches
from summeter.records import CoverageError, GateError, Judgment, UsageError
from summeter.runs.run import RunFolder
from summeter.scoring import Score, SystemScore, summary_scores, system_scores
from summeter.scoring.scores import ScoreTable, composites, unit_scores
from summeter.scoring.table import JudgmentTable
from summeter.stats import decide
from summeter.tables import with_interval

STUDY = "gate"


class GateOptions(Options):
    """The options of `gate`."""

    calibrations: SkipValidation[Iterable[Calibration]] = Field(
        (), description="What `calibrate` gave: the judge must still be the one calibrated, and its threshold decides."
    )
    judge: str | None = Field(None, description="Only this judge (name or signature); default: each.")
    systems: Sequence[str] = Field((), description="Only these systems; default: each.")


@study(GateOptions)
def gate(run: RunFolder, minimums: Mapping[str, float], options: GateOptions) -> Study:
    """Hold the means of a run against the least they may be.

    Rows of the study "gate", one for each aspect of `minimums`, judge and system (all of them, or those named):
    `statistic` mean, `value`, interval, `n` and `missing`, with `details.min` and `details.passed`; where units
    of these summaries were not judged, `details.units` (judged) and `details.units_missing` too. See `check` for the
    outcome. With a calibration of an aspect only the judge that was calibrated is held against it.

    Raises UsageError for an aspect, judge or system that the run does not have, and for a calibration that is
    stale: its judge's signature is not in the run. CoverageError where nothing is judged yet.
    """
    _ = run.data  # InputError where the run's copy of what was judged is gone or damaged
    by_aspect = _by_aspect(run, options.calibrations, minimums)
    scores = _scores(run, by_aspect)
    rows: list[Row] = []
    for aspect, least in minimums.items():
        wanted = by_aspect.get(aspect)
        fit = [
            score
            for score in scores
            if score.aspect == aspect
            and (
                options.judge in (None, score.judge, score.signature)
                if wanted is None
                else score.signature == wanted.signature
            )
        ]
        if not fit:
            if any(aspect in entry.aspects for entry in run.manifest.judges):
                check_complete(run)
            there = sorted({f"{score.aspect} ({score.judge})" for score in scores})
            raise UsageError(
                f"no score on {aspect}{f' by {options.judge}' if options.judge else ''}; there are: {', '.join(there)}"
            )
        named = list(dict.fromkeys(score.system for score in fit))
        for system in options.systems:
            if system not in named:
                raise UsageError(f"no system {system!r} with a score on {aspect}; there are: {', '.join(named)}")
        means = system_scores(score for score in fit if not options.systems or score.system in options.systems)
        rows.extend(_row(mean, least, wanted) for mean in means)
    return Study(STUDY, rows, list(_notes(run, by_aspect)))


def _by_aspect(
    run: RunFolder, calibrations: Iterable[Calibration], minimums: Mapping[str, float]
) -> dict[str, Calibration]:
    by_aspect: dict[str, Calibration] = {}
    for calibration in calibrations:
        if calibration.aspect not in minimums:
            raise UsageError(f"the calibration is of {calibration.aspect}, which is not gated; give its minimum too")
        if calibration.aspect in by_aspect:
            raise UsageError(f"two calibrations of {calibration.aspect}; give one an aspect")
        check_fresh(calibration, run)
        by_aspect[calibration.aspect] = calibration
    return by_aspect


def check_fresh(calibration: Calibration, run: RunFolder) -> None:
    """Raise UsageError, showing both signatures, where the run's judge is not the one that was calibrated."""
    able = [entry for entry in run.manifest.judges if calibration.aspect in entry.aspects]
    if any(entry.signature == calibration.signature for entry in able):
        return
    same = [entry.signature for entry in able if entry.name == calibration.judge] or [entry.signature for entry in able]
    there = "\n  ".join(same) or "(no judge of this aspect)"
    raise UsageError(
        f"the calibration of {calibration.judge} on {calibration.aspect} is stale: the judge has changed since\n"
        f"calibrated:\n  {calibration.signature}\nin the run:\n  {there}\n"
        "calibrate the judge of this run again (summeter meta calibrate)"
    )


def _scores(run: RunFolder, by_aspect: Mapping[str, Calibration]) -> list[Score]:
    # A judge that judged only what a cascade asked of it has no scores of its own.
    judgments = [judgment for judgment in run.judgments() if judgment.signature not in run.partial]
    tuned = {
        calibration.signature: calibration for calibration in by_aspect.values() if calibration.threshold is not None
    }
    if not tuned:
        return [*summary_scores(judgments, run.reduce)]
    # Decisions are counted as a share, also where the judge's own score is a mean of values; its other aspects stay.
    kept: list[Judgment] = []
    decided: list[Judgment] = []
    for judgment in judgments:
        calibration = tuned.get(judgment.signature)
        if calibration is None or judgment.aspect != calibration.aspect:
            kept.append(judgment)
        elif judgment.status != "ok" or judgment.value is None or calibration.threshold is None:
            decided.append(judgment)
        else:
            label = int(decide([judgment.value], calibration.threshold)[0])
            decided.append(judgment.model_copy(update={"label": label, "value": float(label)}))
    parts = [unit_scores(JudgmentTable.of(kept), run.reduce), unit_scores(JudgmentTable.of(decided), {})]
    scores = ScoreTable.concat(parts)
    return [*scores, *composites(scores)]


def _row(mean: SystemScore, least: float, calibration: Calibration | None) -> Row:
    passed = reaches(mean.value, least)
    details: dict[str, Any] = {"min": least, "passed": passed}
    if mean.units_missing:
        details |= {"units": mean.units, "units_missing": mean.units_missing}
    if calibration is not None:
        details |= {
            "threshold": calibration.threshold, "calibrated_on": calibration.data_hash,
            "kappa": calibration.kappa.value, "calibration": calibration.checksum,
        }  # fmt: skip
    return Row(
        study=STUDY, judge=mean.judge, signature=mean.signature, model=mean.model, aspect=mean.aspect, level="system",
        statistic="mean", value=mean.value, low=mean.low, high=mean.high, n=mean.n, missing=mean.missing,
        status=status_of(mean.value, None if mean.low is not None else "no_interval"),
        reason=mean.reason or ("no usable score" if mean.value is None else None), system=mean.system,
        interval=mean.interval if mean.low is not None else None, details=details,
    )  # fmt: skip


def _notes(run: RunFolder, by_aspect: Mapping[str, Calibration]) -> Iterator[str]:
    if run.manifest.status != "complete":
        yield f"warning: the run is {run.manifest.status}, not complete"
    for calibration in by_aspect.values():
        verdict = against_chance("kappa_cohen", calibration.kappa.low, calibration.kappa.high)
        if verdict != ABOVE:
            that = "that " if verdict == UNDECIDED else ""
            yield f"warning: {calibration.judge} was calibrated on {calibration.aspect} with a kappa {that}{verdict}"
        if calibration.data_hash == run.manifest.data.hash:
            yield f"{calibration.aspect}: the run judges the very data it was calibrated on"


def sentences(study: Study) -> list[str]:
    """One line per mean: outcome, system, aspect, judge, mean, bound.

    "FAILED aster: faithfulness by support 0.620 [0.500, 0.700] < 0.8 (n = 18, missing 2)"
    """
    lines = []
    for row, judge in zip(study, judge_labels(study.rows), strict=True):
        bound, passed = row.details["min"], row.details["passed"]
        if row.value is None:
            result = f"has no mean ({row.reason}); the bound is {bound:g}"
        else:
            result = f"{with_interval(row.value, row.low, row.high)} {'>=' if passed else '<'} {bound:g}"
        lost = row.details.get("units_missing", 0)
        units = f"; {lost} of {row.details['units'] + lost} units not judged" if lost else ""
        about = f"{'passed' if passed else 'FAILED'} {row.system}: {row.aspect} by {judge}"
        lines.append(f"{about} {result} (n = {row.n}, missing {row.missing}{units})")
    return lines


def check(study: Study, run: RunFolder) -> None:
    """Raise CoverageError (exit 4) where the run did not come to its end with everything judged, GateError (exit 3)
    where a bound was not reached, naming the first."""
    check_complete(run)
    lost = [line for line, row in zip(sentences(study), study, strict=True) if not row.details["passed"]]
    if lost:
        first = "; the first: " + lost[0].removeprefix("FAILED ")
        raise GateError(
            f"gate not passed: {len(lost)} of {len(study.rows)} means are under their bound or missing{first}"
        )


def check_complete(run: RunFolder) -> None:
    """Raise CoverageError where the run did not come to its end with everything judged."""
    if run.manifest.status != "complete":
        raise CoverageError(f"gate not passed: the run is {run.manifest.status}, {_how_far(run)}; carry it on first")


def _how_far(run: RunFolder) -> str:
    """How much of what there must be is judged, in words."""
    limit = run.manifest.options.get("limit")
    documents = list(run.data.documents)[: limit if isinstance(limit, int) else None]
    errors = run.manifest.counts.get("error", 0)
    if run.manifest.status == "incomplete" and errors:
        return f"{errors:,} of {sum(run.manifest.counts.values()):,} judgments ended in an error"
    finished: dict[str, set[str]] = {judge.signature: set() for judge in run.manifest.judges if not judge.prepares_only}
    for item in run.progress():
        finished.get(item.signature, set()).add(item.document_id)
    names = {judge.signature: judge.name for judge in run.manifest.judges}
    parts = [f"{names[signature]} {len(judged):,}" for signature, judged in finished.items()]
    return f"of {len(documents):,} documents these are judged: {', '.join(parts) or 'none'}"
