"""Check the means of a run against minimum values, and against an earlier run, for every system and judge.

A missing mean or difference fails. If a calibration is given, the signature of the judge must be that of the calibrated
judge, and the tuned threshold turns scores into decisions.

Against an earlier run (the baseline), the paired difference of the summaries of each system is compared with the
largest drop that is allowed. The check fails if the whole interval of the difference lies below the negative of this
drop, passes if the whole interval lies above, and is unclear otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from textwrap import shorten
from typing import Annotated, Any

import numpy as np
from pydantic import Field, FiniteFloat, SkipValidation

from summeter.meta._calibrate import Calibration
from summeter.meta.inputs import context_of
from summeter.meta.options import By, Choice, CommandLine, study
from summeter.meta.pairing import CHANGED, Pairing, difference_rows
from summeter.meta.results import Row, Study, judge_labels, merged, status_of
from summeter.meta.sample import CROSSED, rows_by_name
from summeter.meta.selection import group_fields, group_label
from summeter.meta.texts import Texts
from summeter.meta.verdicts import ABOVE, UNDECIDED, against_chance, reaches, same
from summeter.pages.numbers import count
from summeter.records import CoverageError, GateError, Judgment, Parameter, UsageError, signature_changes
from summeter.runs.run import RunFolder
from summeter.runs.totals import without
from summeter.scoring import system_scores
from summeter.scoring.scores import UNITS, ScoreTable, composites, unit_scores
from summeter.stats import decide, labels_to_find
from summeter.tables import Table, interval, number, with_interval

STUDY = "gate"


class GateOptions(By):
    """The options of `gate`."""

    min: Annotated[Mapping[str, FiniteFloat] | None, CommandLine(metavar="ASPECT=VALUE")] = Field(
        None, description="Smallest mean of an aspect that passes. Repeatable."
    )
    on: Annotated[str, Choice(("mean", "lower-bound"), "value")] = Field(
        "mean", description="Compare the minimum with the mean, or with the lower end of its interval."
    )
    max_drop: Annotated[Mapping[str, FiniteFloat] | None, CommandLine(metavar="ASPECT=VALUE")] = Field(
        None, description="Largest drop of an aspect's mean below the baseline that passes. Repeatable."
    )
    baseline: Annotated[SkipValidation[RunFolder | None], CommandLine(python_only=True)] = Field(
        None, description="Earlier run, with which the run is compared."
    )
    if_unclear: Annotated[str, Choice(("fail", "pass"), "outcome")] = Field(
        "fail", description="Result of a comparison with the baseline that is unclear."
    )
    confidence: float = Field(0.95, gt=0, lt=1, description="Confidence level of the intervals.")
    calibrations: Annotated[SkipValidation[Iterable[Calibration]], CommandLine(python_only=True)] = Field(
        (), description="Results of `calibrate`. The judge must be unchanged, and its tuned threshold is used."
    )
    judge: str | None = Field(None, description="Check only this judge (name or signature). Default: all judges.")
    systems: Annotated[Sequence[str], CommandLine(("--system", "--systems"))] = Field(
        (), description="Check only this system. Repeatable. Default: all systems."
    )


class Checks(Study):
    """The checks of `gate`, one per row."""

    @property
    def passed(self) -> bool:
        """Whether all checks are passed."""
        return all(row.details["passed"] for row in self)

    @property
    def verdict(self) -> str:
        """Whether the gate is passed, and how many checks are not."""
        lost = sum(not row.details["passed"] for row in self)
        return f"gate not passed: {lost} of {len(self)} checks" if lost else f"gate passed: {count(len(self), 'check')}"

    def labels(self) -> list[str]:
        """Return what each row checks: "aster: faithfulness in news by support"."""
        names = []
        for row, judge in zip(self, judge_labels(self.rows), strict=True):
            change, group = "" if row.statistic == "mean" else "change of ", group_label(row)
            names.append(
                f"{row.system or 'all systems'}: {change}{row.aspect}{f' in {group}' if group else ''} by {judge}"
            )
        return names

    def table(self) -> Table:
        """Return a table with one line per check.

        `needed` is the number of documents that would settle an unclear check.
        """
        rows = self.rows
        columns: dict[str, list[Any]] = {
            "result": ["FAILED" if row.details["outcome"] == "failed" else row.details["outcome"] for row in rows],
            "system": [row.system or "all" for row in rows],
            "group": [group_label(row) for row in rows],
            "aspect": [row.aspect for row in rows],
            "judge": list(judge_labels(rows)),
            "value": [number(row.value) for row in rows],
            "interval": [interval(row.low, row.high) for row in rows],
            "bound": [_bound(row) for row in rows],
            "n": [row.n for row in rows],
            "missing": [row.missing for row in rows],
            "needed": [row.details.get("needed") for row in rows],
        }
        columns = {
            name: cells for name, cells in columns.items() if any(cells) and (name != "judge" or len(set(cells)) > 1)
        }
        align = "".join("r" if name in {"value", "n", "missing", "needed"} else "l" for name in columns)
        return Table.of(list(columns), list(zip(*columns.values(), strict=True)), align=align)

    def parts(self) -> list[Table | str]:
        """Return the table, the signatures and the notes."""
        return [self.table(), *self.signatures(), *self.notes]


@study(GateOptions)
def gate(run: RunFolder, options: GateOptions) -> Checks:
    """Check the means of a run against minimum values, and against an earlier run.

    Rows have the study "gate". There is one row with the statistic `mean` for each aspect in `min`, judge and system,
    and one with the statistic `mean_difference` (the run minus the baseline, over the summaries whose document is the
    same in both runs) for each aspect in `max_drop`, judge and system, and for all systems together (`system` is None).
    With `by`, there are further rows for each value of a column: means by system, and differences over all systems
    (unless `systems` is given).

    `details.outcome` is "passed", "failed" or "unclear", and `details.verdict` says it in a sentence. A mean passes if
    it, or the lower end of its interval, is at least `details.min`. A difference fails if its whole interval lies below
    the negative of `details.max_drop` or if it has no value, passes if the whole interval lies above, and is unclear
    otherwise; `details.needed` is then the number of documents that would probably settle it, if the difference and its
    spread stayed the same. `details.passed` is false if a check failed, or if it is unclear and `if_unclear` is "fail".
    If units of the summaries were not judged, the row also has `details.units` (the number of judged units) and
    `details.units_missing`. If an aspect has a calibration, only the calibrated judge is checked on it.

        sm.meta.gate(run, min={"faithfulness": 0.8}, baseline=sm.Run("runs/old"), max_drop={"faithfulness": 0.02})

    Raises UsageError if the run does not have an aspect, judge or system, if the baseline has no document in common
    with the run or was judged by another version of the judge, or if a calibration is stale, which means that its
    signature is not in the run. Raises CoverageError if nothing has been judged yet.
    """
    _ = run.data  # raises InputError if the run's copy of the data is missing or damaged
    if not (options.min or options.max_drop):
        raise UsageError("nothing to check; give a bound with ", Parameter("min"), " or ", Parameter("max_drop"))
    if (options.baseline is None) != (not options.max_drop):
        raise UsageError("give both or neither of ", Parameter("baseline"), " and ", Parameter("max_drop"))
    calibrations: dict[str, Calibration] = {}
    for each in options.calibrations:
        if each.aspect not in {**(options.min or {}), **(options.max_drop or {})}:
            raise UsageError(f"the calibration is for {each.aspect}, which has no bound; give one")
        if each.aspect in calibrations:
            raise UsageError(f"there are two calibrations for {each.aspect}; give one per aspect")
        check_fresh(each, run)
        calibrations[each.aspect] = each
    rows: list[Row] = []
    notes = list(_notes(run, calibrations))
    if options.min:
        rows += _mean_rows(run, _scores(run, calibrations), calibrations, options)
    if options.baseline is not None:
        pairing = Pairing.of(options.baseline, run)
        rows += _difference_rows(pairing, calibrations, options)
        notes += pairing.unpaired("the baseline", "the run")
    unclear = [row for row in rows if row.details["outcome"] == "unclear"]
    if any(row.details["needed"] for row in unclear):
        notes.append(f"needed: documents that would settle an unclear check, {_ASSUMED}")
    notes += dict.fromkeys(_settles(row) for row in unclear if not row.details["needed"])
    return _with_verdicts(Checks(STUDY, rows, notes))


_ASSUMED = "if the difference and its spread stay the same"


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


def _scores(run: RunFolder, by_aspect: Mapping[str, Calibration]) -> ScoreTable:
    """Return the scores of summaries; that of a calibrated judge with a threshold is the share of decisions 1."""
    # Judges that judged only items selected by a cascade are left out.
    table = without(run.table(), run.partial)
    tuned = np.zeros(len(table), np.bool_)
    label = table.label.copy()
    for calibration in by_aspect.values():
        if calibration.threshold is not None:
            rows = table.signature.equal(calibration.signature) & table.aspect.equal(calibration.aspect)
            decided = decide(np.where(table.status.equal("ok"), table.value, np.nan), calibration.threshold)
            label[rows & ~np.isnan(decided)] = decided[rows & ~np.isnan(decided)]
            tuned |= rows
    decisions = replace(table, label=label, value=label).take(tuned)
    scores = ScoreTable.concat([unit_scores(table.take(~tuned), run.reduce), unit_scores(decisions, {})])
    return ScoreTable.concat([scores, composites(scores)])


def _mean_rows(
    run: RunFolder, scores: ScoreTable, calibrations: Mapping[str, Calibration], options: GateOptions
) -> Iterator[Row]:
    """Yield a row for the mean of each aspect, judge, system and group."""
    lower, by = options.on == "lower-bound", _by_system(options)
    for aspect, least in (options.min or {}).items():
        calibration = calibrations.get(aspect)
        table = scores.take(scores.aspect.equal(aspect))
        judge = options.judge if calibration is None else calibration.signature
        if judge is not None:
            table = table.take(table.judge.equal(judge) | table.signature.equal(judge))
        if not len(table):
            if any(aspect in entry.aspects for entry in run.manifest.judges):
                check_complete(run)
            known = ", ".join(sorted({f"{each.aspect} ({each.judge})" for each in scores.questions()}))
            by_judge = f" by {options.judge}" if options.judge else ""
            raise UsageError(f"the run has no score of {aspect}{by_judge}; it has: {known}")
        _check_systems(options, aspect, table.system.used())
        if options.systems:
            table = table.take(table.system.equal(*options.systems))
        parts: list[tuple[dict[str, Any], ScoreTable]] = [({}, table)]
        if by is not None:
            values = context_of(run.data).column(by, table.document, table.system)
            parts += [(group_fields(by, value), table.take(rows)) for value, rows in rows_by_name(values)]
        for group, part in parts:
            for mean in system_scores(part, level=options.confidence):
                passed = reaches(mean.low if lower else mean.value, least)
                details: dict[str, Any] = {
                    "min": least, "on": options.on, "outcome": "passed" if passed else "failed", "passed": passed,
                }  # fmt: skip
                if mean.units_missing:
                    details |= {"units": mean.units, "units_missing": mean.units_missing}
                if calibration is not None:
                    details |= {
                        "threshold": calibration.threshold, "calibrated_on": calibration.data_hash,
                        "kappa": calibration.kappa.value, "calibration": calibration.checksum,
                    }  # fmt: skip
                shared = ("judge", "signature", "model", "aspect", "value", "low", "high", "n", "missing", "system")
                fields = {name: getattr(mean, name) for name in shared} | {
                    "study": STUDY, "level": "system", "statistic": "mean", "details": details,
                    "status": status_of(mean.value, None if mean.low is not None else "no_interval"),
                    "reason": mean.reason or ("no usable score" if mean.value is None else None),
                    "interval": mean.interval if mean.low is not None else None,
                }  # fmt: skip
                yield Row(**merged(fields, group))


def _by_system(options: GateOptions) -> str | None:
    """Return the column `by`, crossed with the system."""
    by = options.by
    return by if by is None or "system" in [name.strip() for name in by.split("*")] else f"{by}*system"


def _check_systems(options: GateOptions, aspect: str, known: Iterable[str | None]) -> None:
    names = list(dict.fromkeys(name for name in known if name is not None))
    for system in options.systems:
        if system not in names:
            raise UsageError(f"system {system!r} has no score of {aspect}; the systems are: {', '.join(names)}")


def _difference_rows(pairing: Pairing, calibrations: Mapping[str, Calibration], options: GateOptions) -> Iterator[Row]:
    """Yield the rows of `difference_rows` for each aspect, with the outcomes of their checks."""
    baseline, run = pairing.a, pairing.b
    if not pairing.paired.any():
        moved = int(pairing.moved.sum())
        why = f": {moved} have another document in the baseline" if moved else ""
        raise UsageError(f"no summary of {run.folder} can be compared with {baseline.folder}{why}")
    unchanged = not (pairing.text[pairing.paired] == CHANGED).any()
    for aspect, drop in (options.max_drop or {}).items():
        if (calibration := calibrations.get(aspect)) is not None and calibration.threshold is not None:
            raise UsageError(
                f"the calibration of {aspect} has a threshold, which a comparison with a baseline does not use; check "
                f"{aspect} against a baseline without the calibration"
            )
        rows = difference_rows(
            pairing, aspects=[aspect], judge=options.judge, by=_by_system(options) if options.systems else options.by,
            alpha=1 - options.confidence, corrected=False,
        )  # fmt: skip
        if not rows:
            for each in (run, baseline):
                check_complete(each)
            judge = f" by {options.judge}" if options.judge else ""
            raise UsageError(f"{run.folder} and {baseline.folder} have no common score of {aspect}{judge}")
        _check_systems(options, aspect, [row.system for row in rows])
        for row in rows:
            before, now = row.details["signature_a"], row.signature or ""
            if before != now:
                changes = "; ".join(signature_changes(before, now))
                raise UsageError(
                    f"{row.judge} is not the judge of the baseline: {changes}. Judge the summaries of "
                    f"{baseline.folder} again"
                )
            if options.systems and row.system not in options.systems:
                continue
            outcome, needed = _outcome(row, -drop, unchanged=unchanged)
            passed = outcome == "passed" or (outcome == "unclear" and options.if_unclear == "pass")
            details = {"max_drop": drop, "outcome": outcome, "passed": passed, "needed": needed}
            yield row.model_copy(update={"study": STUDY, "details": {**row.details, **details}})


def _outcome(row: Row, bound: float, *, unchanged: bool) -> tuple[str, int | None]:
    """Return the outcome of the check of a difference, and how many documents would settle an unclear one.

    `unchanged` means that all summaries are the same as in the baseline.
    """
    if row.value is None:
        return "failed", None
    if unchanged and same(row.value, 0.0):
        return "passed" if reaches(0.0, bound) else "failed", None
    if row.low is None or row.high is None:
        return "unclear", None
    if reaches(row.low, bound) or not reaches(row.high, bound):
        return "passed" if reaches(row.low, bound) else "failed", None
    if same(row.value, bound):
        return "unclear", None
    # The half of the interval on the side of the bound must become shorter than the distance to the bound.
    half = row.value - row.low if row.value > bound else row.high - row.value
    return "unclear", labels_to_find(row.n, half, abs(row.value - bound))


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


def _with_verdicts(checks: Checks) -> Checks:
    """Return the checks with a sentence in `details.verdict` of each row.

    "FAILED aster: faithfulness by support 0.620 [0.500, 0.700] < 0.8 (n = 18, missing 2)"
    """
    rows = []
    for row, label in zip(checks, checks.labels(), strict=True):
        details, outcome = row.details, row.details["outcome"]
        lost = details.get("units_missing", 0)
        units = f"; {lost} of {details['units'] + lost} units not judged" if lost else ""
        lower = " (lower bound)" if details.get("on") == "lower-bound" else ""
        bound = f"{details['min'] if row.statistic == 'mean' else 0.0 - details['max_drop']:g}{lower}"
        text = f"{with_interval(row.value, row.low, row.high)} {_SIGNS[outcome]} {bound}"
        if row.value is None:
            text = f"has no value ({row.reason}); the bound is {bound}"
        elif lower and row.low is None:
            text = f"{number(row.value)} has no interval; the bound is {bound}"
        result = "FAILED" if outcome == "failed" else outcome
        settles = f"; {_settles(row)}" if outcome == "unclear" else ""
        sentence = f"{result} {label} {text} (n = {row.n}, missing {row.missing}{units}){settles}"
        rows.append(row.model_copy(update={"details": {**details, "verdict": sentence}}))
    return Checks(checks.name, rows, checks.notes)


_SIGNS = {"passed": ">=", "failed": "<", "unclear": "around"}


def _settles(row: Row) -> str:
    """Return what would settle an unclear comparison."""
    if (needed := row.details["needed"]) is not None:
        return f"about {needed:,} documents would settle it, {_ASSUMED}"
    if row.low is None:
        return row.reason or "no interval"
    return "no number of documents would settle a difference that equals its bound"


def _bound(row: Row) -> str:
    """Return the bound of a check, as a condition."""
    if row.statistic == "mean":
        return f"{'low' if row.details['on'] == 'lower-bound' else 'mean'} >= {row.details['min']:g}"
    return f"change >= {-row.details['max_drop'] + 0.0:g}"


def findings(run: RunFolder, judgments: Iterable[Judgment], row: Row, most: int = 5) -> list[str]:
    """Return the judgments that lower the mean of a row, worst first: the text, the reason and the evidence.

    `judgments` are those of the run. The result contains the sentences, claims and key facts with the label 0, or else
    the summaries with the lowest values.
    """
    judged = [
        each
        for each in judgments
        if (each.signature, each.aspect, each.status) == (row.signature, row.aspect, "ok")
        and row.system in (None, each.target.system)
    ]
    values = {"domain": row.domain, "category": row.category}
    if group := row.details.get("group"):
        values = dict(zip(row.details["by"].split("*"), group.split(CROSSED), strict=True))
    for column, value in values.items():
        if value is not None:
            value_of = context_of(run.data).lookup(column.strip())
            judged = [each for each in judged if value_of(each.target.document_id, each.target.system) == value]
    units = [each for each in judged if each.target.unit in UNITS]
    wrong = (
        [each for each in units if each.label == 0] if units else [each for each in judged if each.value is not None]
    )
    wrong.sort(key=lambda each: 0.0 if each.value is None else each.value)
    lines = []
    texts = Texts(run.data.with_documents({each.target.document_id for each in wrong[:most]}))
    for each in wrong[:most]:
        target = each.target
        unit = target.unit.replace("_", " ") + ("" if target.index is None else f" {target.index + 1}")
        value = "" if each.value is None else f" ({number(each.value, 2)})"
        lines.append(f"{target.document_id}, {unit}{value}: {shorten(texts.judged(each) or '', 300)}")
        if each.reason:
            lines.append(f"    reason: {shorten(each.reason, 300)}")
        lines += (f"    {span.place or span.of}: {shorten(span.text, 300)}" for span in islice(texts.evidence(each), 3))
    if len(wrong) > most and units:
        lines.append(f"... and {len(wrong) - most} more")
    return lines


def check(checks: Checks, *runs: RunFolder) -> None:
    """Raise an error if a run is not complete or if a check failed.

    Raises CoverageError (exit code 4) if a run is not complete, and GateError (exit code 3) if a check failed, or is
    unclear and `if_unclear` is "fail".
    """
    for run in runs:
        check_complete(run)
    lost = [row.details["verdict"] for row in checks if not row.details["passed"]]
    if lost:
        raise GateError(f"{checks.verdict}; the first: {lost[0].removeprefix('FAILED ')}")


def check_complete(run: RunFolder) -> None:
    """Raise CoverageError if the run is not complete."""
    if run.manifest.status != "complete":
        raise CoverageError(f"gate not passed: {run.folder} is {run.manifest.status}; resume this run first")
