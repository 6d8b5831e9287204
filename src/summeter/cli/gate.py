"""`summeter gate`: check a run against bounds, and against an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import TABLES
from summeter.cli.junit import Case, junit
from summeter.cli.studies import Given, study_command
from summeter.meta import gate as study
from summeter.meta import load_calibration
from summeter.meta._gate import Checks, check, check_complete, findings
from summeter.records import CoverageError
from summeter.runs.run import RunFolder


@study_command(None, "gate", name="gate", runs="RUN", formats=(*TABLES, "junit"))
def gate(
    given: Given,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Earlier run, with which RUN is compared.", exists=True, file_okay=False),
    ] = None,
    calibration: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Calibration file of `summeter meta calibrate`, which checks the judge and sets its threshold. "
            "Repeatable.",
        ),
    ] = None,
) -> None:
    """Exit with 3 if a mean of RUN is missing or below its bound, or dropped below that of an earlier run.

    Every system and judge of RUN is checked. Exits with 4 if a run is incomplete.
    """
    (run,) = given.runs
    earlier = None if baseline is None else RunFolder(baseline)
    result = study(run, baseline=earlier, calibrations=list(map(load_calibration, calibration or ())), **given.values)
    runs = [run] if earlier is None else [run, earlier]
    if given.output.format == "junit":
        about = {"run": run.folder, "baseline": baseline, "confidence": given.values.get("confidence", 0.95)}
        given.output.put(junit("summeter gate", cases(result, runs), about))
    else:
        unfinished = [f"{each.folder} is {each.manifest.status}" for each in runs if each.manifest.status != "complete"]
        title = f"gate not passed: {' and '.join(unfinished)}" if unfinished else result.verdict
        given.output.write_study(result, title=title, passed=result.passed and not unfinished)
    check(result, *runs)


def cases(result: Checks, runs: list[RunFolder]) -> list[Case]:
    """Return the checks as test cases, and an error for each run that is incomplete."""
    found = []
    judgments = () if result.passed else runs[0].judgments()
    for row, name in zip(result, result.labels(), strict=True):
        details = {key: row.details.get(key) for key in ("outcome", "min", "on", "max_drop", "needed")}
        figures = {key: getattr(row, key) for key in ("value", "low", "high", "p", "n", "missing", "signature")}
        passed = row.details["passed"]
        message = "" if passed else row.details["verdict"]
        evidence = "" if passed else "\n".join(findings(runs[0], judgments, row))
        found.append(Case(name, "passed" if passed else "failed", message, evidence, figures | details))
    for run in runs:
        try:
            check_complete(run)
        except CoverageError as error:
            found.append(Case(f"{run.folder} is complete", "error", str(error)))
    return found
