"""Check the means of a run against minimum values, for every system and judge.

A missing mean fails. If a calibration file is given, the signature of the judge must be that of the calibrated judge,
and the tuned threshold turns scores into decisions.
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
        (), description="Results of `calibrate`. The judge must be unchanged, and its tuned threshold is used."
    )
    judge: str | None = Field(None, description="Check only this judge (name or signature). Default: all judges.")
    systems: Sequence[str] = Field((), description="Check only these systems. Default: all systems.")


@study(GateOptions)
def gate(run: RunFolder, minimums: Mapping[str, float], options: GateOptions) -> Study:
    """Check the means of a run against minimum values.

    Rows have the study "gate" and the statistic `mean`. There is one row for each aspect in `minimums`, judge and
    system (all of them, or those selected), with `details.min` and `details.passed`. If units of the summaries were not
    judged, the row also has `details.units` (the number of judged units) and `details.units_missing`. If an aspect has
    a calibration, only the calibrated judge is checked on it.

    Raises UsageError if the run does not have an aspect, judge or system, or if a calibration is stale, which means
    that its signature is not in the run. Raises CoverageError if nothing has been judged yet.
    """
    _ = run.data  # raises InputError if the run's copy of the data is missing or damaged
    by_aspect: dict[str, Calibration] = {}
    for each in options.calibrations:
        if each.aspect not in minimums:
            raise UsageError(f"the calibration is for {each.aspect}, which has no minimum; give one")
        if each.aspect in by_aspect:
            raise UsageError(f"there are two calibrations for {each.aspect}; give one per aspect")
        check_fresh(each, run)
        by_aspect[each.aspect] = each
    scores = _scores(run, by_aspect)
    rows: list[Row] = []
    for aspect, least in minimums.items():
        calibration = by_aspect.get(aspect)
        selected = [
            score
            for score in scores
            if score.aspect == aspect
            and (
                options.judge in (None, score.judge, score.signature)
                if calibration is None
                else score.signature == calibration.signature
            )
        ]
        if not selected:
            if any(aspect in entry.aspects for entry in run.manifest.judges):
                check_complete(run)
            known = ", ".join(sorted({f"{score.aspect} ({score.judge})" for score in scores}))
            judge = f" by {options.judge}" if options.judge else ""
            raise UsageError(f"the run has no score of {aspect}{judge}; it has: {known}")
        systems = list(dict.fromkeys(score.system for score in selected))
        for system in options.systems:
            if system not in systems:
                raise UsageError(f"system {system!r} has no score of {aspect}; the systems are: {', '.join(systems)}")
        means = system_scores(score for score in selected if not options.systems or score.system in options.systems)
        rows.extend(_row(mean, least, calibration) for mean in means)
    return Study(STUDY, rows, list(_notes(run, by_aspect)))


def check_fresh(calibration: Calibration, run: RunFolder) -> None:
    """Raise UsageError, with both signatures, if the run does not have the calibrated judge."""
    judges = [entry for entry in run.manifest.judges if calibration.aspect in entry.aspects]
    if any(entry.signature == calibration.signature for entry in judges):
        return
    same_name = [entry.signature for entry in judges if entry.name == calibration.judge]
    signatures = "\n  ".join(same_name or [entry.signature for entry in judges]) or "(no judge of this aspect)"
    raise UsageError(
        f"the calibration of {calibration.judge} on {calibration.aspect} is stale, because the judge has changed\n"
        f"calibrated:\n  {calibration.signature}\nin the run:\n  {signatures}\n"
        "calibrate the judge of this run again with `summeter meta calibrate`"
    )


def _scores(run: RunFolder, by_aspect: Mapping[str, Calibration]) -> list[Score]:
    # Judges that judged only items selected by a cascade are left out.
    judgments = [judgment for judgment in run.judgments() if judgment.signature not in run.partial]
    tuned = {
        calibration.signature: calibration for calibration in by_aspect.values() if calibration.threshold is not None
    }
    if not tuned:
        return [*summary_scores(judgments, run.reduce)]
    # The score of a calibrated judge and aspect is the share of decisions 1; other scores are unchanged.
    unchanged: list[Judgment] = []
    decided: list[Judgment] = []
    for judgment in judgments:
        calibration = tuned.get(judgment.signature)
        if calibration is None or judgment.aspect != calibration.aspect:
            unchanged.append(judgment)
        elif judgment.status != "ok" or judgment.value is None or calibration.threshold is None:
            decided.append(judgment)
        else:
            label = int(decide([judgment.value], calibration.threshold)[0])
            decided.append(judgment.model_copy(update={"label": label, "value": float(label)}))
    scores = ScoreTable.concat(
        [unit_scores(JudgmentTable.of(unchanged), run.reduce), unit_scores(JudgmentTable.of(decided), {})]
    )
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
            yield f"{calibration.aspect}: the calibration used the data of this run"


def sentences(study: Study) -> list[str]:
    """Return one line per mean, with the outcome, system, aspect, judge, mean and minimum.

    "FAILED aster: faithfulness by support 0.620 [0.500, 0.700] < 0.8 (n = 18, missing 2)"
    """
    lines = []
    for row, judge in zip(study, judge_labels(study.rows), strict=True):
        bound, passed = row.details["min"], row.details["passed"]
        if row.value is None:
            result = f"has no mean ({row.reason}); the minimum is {bound:g}"
        else:
            result = f"{with_interval(row.value, row.low, row.high)} {'>=' if passed else '<'} {bound:g}"
        lost = row.details.get("units_missing", 0)
        units = f"; {lost} of {row.details['units'] + lost} units not judged" if lost else ""
        about = f"{'passed' if passed else 'FAILED'} {row.system}: {row.aspect} by {judge}"
        lines.append(f"{about} {result} (n = {row.n}, missing {row.missing}{units})")
    return lines


def check(study: Study, run: RunFolder) -> None:
    """Raise an error if the run is not complete or if a mean is too low.

    Raises CoverageError (exit code 4) if the run is not complete, and GateError (exit code 3) if a mean is too low.
    """
    check_complete(run)
    lost = [line for line, row in zip(sentences(study), study, strict=True) if not row.details["passed"]]
    if lost:
        first = "; the first: " + lost[0].removeprefix("FAILED ")
        raise GateError(
            f"gate not passed: {len(lost)} of {len(study.rows)} means are below their minimum or missing{first}"
        )


def check_complete(run: RunFolder) -> None:
    """Raise CoverageError if the run is not complete."""
    if run.manifest.status != "complete":
        raise CoverageError(f"gate not passed: the run is {run.manifest.status} ({_progress(run)}); resume it first")


def _progress(run: RunFolder) -> str:
    limit = run.manifest.options.get("limit")
    documents = list(run.data.documents)[: limit if isinstance(limit, int) else None]
    errors = run.manifest.counts.get("error", 0)
    if run.manifest.status == "incomplete" and errors:
        return f"{errors:,} of {sum(run.manifest.counts.values()):,} judgments ended in an error"
    finished: dict[str, set[str]] = {judge.signature: set() for judge in run.manifest.judges if not judge.prepares_only}
    for item in run.progress():
        finished.get(item.signature, set()).add(item.document_id)
    names = {judge.signature: judge.name for judge in run.manifest.judges}
    counts = ", ".join(f"{names[signature]} {len(judged):,}" for signature, judged in finished.items())
    return f"judged documents of {len(documents):,}: {counts or 'none'}"
