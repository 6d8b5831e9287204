"""`summeter rescore` and `summeter report`: views of runs and studies, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import AsJson, tell

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


def rescore(run: Folder, as_json: AsJson = False) -> None:
    """Rebuild RUN's scores, summary and report from its judgments. No model is asked."""
    from summeter.engine.runs import rescore as again

    tell(again(run), as_json=as_json)


def report(
    runs: Folders = None, study: StudyFiles = None, out: Page = None, tolerance: Tolerance = None,
) -> None:  # fmt: skip
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
    parts: list[RunFolder | Study] = [*(Run(folder) for folder in folders), *(read_study(file) for file in study or [])]
    chosen = TOLERANCE if tolerance is None else tolerance
    typer.echo(f"report: {html(parts, target, tolerance=chosen)}")
