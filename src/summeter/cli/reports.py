"""`summeter rescore`, `summeter report` and `summeter gate`: views of runs that are there, and their bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import AsJson, OldRun, assignments, check_suffix, in_options, print_study_json, tell

if TYPE_CHECKING:
    from summeter.meta.results import Study
    from summeter.runs.run import RunFolder

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]
Folders = Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="One run, or several to compare.")]
StudyFiles = Annotated[
    list[Path] | None,
    typer.Option("--study", metavar="FILE.json", help="What `summeter meta ... --json` printed. Repeatable."),
]
Page = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="PAGE", help="The HTML file; default: report.html in the run.")
]
Tolerance = Annotated[
    float | None,
    typer.Option(min=-1, max=1, help="Flag systems where a judge's RTS and MCQ correlate less (default 0.4)."),
]


def rescore(
    run: Folder,
    as_json: AsJson = False,
) -> None:
    """Rebuild RUN's scores, summary and report from its judgments. No model is asked."""
    from summeter.engine.runs import rescore as again

    tell(again(run), as_json=as_json)


def report(runs: Folders = None, study: StudyFiles = None, out: Page = None, tolerance: Tolerance = None) -> None:
    """Draw one HTML page of runs, of studies, or of both. No model is asked, nothing is fetched."""
    from summeter.engine.runs import Run
    from summeter.meta.results import read_study
    from summeter.records import UsageError
    from summeter.report import TOLERANCE, html

    folders = runs or []
    if not folders and not study:
        raise UsageError("nothing to report: name a RUN, or a study with --study FILE.json")
    if not folders and out is None:
        raise UsageError("a page of studies alone lies in no run: say where with -o PAGE.html")
    target = out if out is not None else folders[0] / "report.html"
    check_suffix(target, ".html", ".htm")
    parts: list[RunFolder | Study] = [*map(Run, folders), *map(read_study, study or ())]
    typer.echo(f"report: {html(parts, target, tolerance=TOLERANCE if tolerance is None else tolerance)}")


def gate(
    run: OldRun,
    minimum: Annotated[
        list[str], typer.Option("--min", metavar="ASPECT=VALUE", help="The least a mean may be. Repeatable.")
    ],
    calibration: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A calibration (`summeter meta calibrate`): the judge must be the one "
            "calibrated, and its threshold decides. Repeatable.",
        ),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Only this judge (name or signature); default: each.")] = None,
    system: Annotated[list[str] | None, typer.Option(help="Only this system; default: each. Repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Exit with 3 where the mean of an aspect is under its bound, or missing, for any system and judge of RUN.

    With 4 where RUN did not come to its end with everything judged.
    """
    from summeter.meta import gate as study
    from summeter.meta import load_calibration
    from summeter.meta._gate import check, sentences
    from summeter.runs.run import RunFolder

    folder = RunFolder(run)
    rows = study(
        folder, bounds(minimum), calibrations=list(map(load_calibration, calibration or ())), judge=judge,
        systems=tuple(system or ()),
    )  # fmt: skip
    if as_json:
        passed = folder.manifest.status == "complete" and all(row.details["passed"] for row in rows)
        print_study_json(rows, passed=passed)
    else:
        typer.echo("\n".join((*sentences(rows), *map(in_options, rows.notes))))
    check(rows, folder)


def bounds(texts: list[str]) -> dict[str, float]:
    """`ASPECT=VALUE` options as a dict."""
    import math

    from summeter.records import UsageError

    minima: dict[str, float] = {}
    for aspect, text in assignments(texts, "--min", "ASPECT=VALUE, such as faithfulness=0.8").items():
        try:
            minima[aspect] = float(text)
        except ValueError:
            minima[aspect] = math.nan
        if not math.isfinite(minima[aspect]):
            raise UsageError(f"--min {aspect}={text} is not ASPECT=VALUE, such as faithfulness=0.8")
    return minima
