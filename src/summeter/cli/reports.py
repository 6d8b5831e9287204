"""`summeter rescore` and `report`: scores and pages of finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import Output, check_suffix, destination, output_options
from summeter.cli.score import Full, print_run

if TYPE_CHECKING:
    from summeter.meta.results import Study
    from summeter.runs.run import RunFolder

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")]
Folders = Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="Folders of runs.")]
StudyFiles = Annotated[
    list[Path] | None,
    typer.Option("--study", metavar="FILE.json", help="Output of `summeter meta ... --json`. Repeatable."),
]
Page = Annotated[Path | None, destination("PAGE", "HTML file. Default: report.html in the run, if there is one run.")]
Tolerance = Annotated[
    float | None,
    typer.Option(min=-1, max=1, help="Flag systems below this correlation of a judge's RTS and MCQ. Default: 0.4."),
]


@output_options()
def rescore(run: Folder, output: Output, full: Full = False) -> None:
    """Rebuild scores, summary and report of RUN from its judgments, without model calls."""
    from summeter.engine.runs import rescore as again

    print_run(again(run), output, full=full)


def report(
    runs: Folders = None,
    study: StudyFiles = None,
    out: Page = None,
    tolerance: Tolerance = None,
    calls: Annotated[
        bool, typer.Option("--calls", help="Include the prompt and the raw reply behind each verdict.")
    ] = False,
    language: Annotated[
        str,
        typer.Option(
            help="Language of the page: ar, de, en, es, fr, ja, zh, or auto for that of the documents. Default: en."
        ),
    ] = "en",
) -> None:
    """Write one HTML page of runs and studies, without model calls or network."""
    from summeter.engine.runs import Run
    from summeter.meta.results import read_study
    from summeter.records import UsageError
    from summeter.report import TOLERANCE, html

    folders = runs or []
    if not folders and not study:
        raise UsageError("nothing to report; give a RUN, or a study with --study FILE.json")
    if not folders and out is None:
        raise UsageError("a page that contains only studies needs a path; give it with -o PAGE.html")
    if len(folders) > 1 and out is None:
        raise UsageError("a page of several runs needs a path; give it with -o PAGE.html")
    target = out if out is not None else folders[0] / "report.html"
    check_suffix(target, ".html", ".htm")
    parts: list[RunFolder | Study] = [*map(Run, folders), *map(read_study, study or ())]
    flagged_below = TOLERANCE if tolerance is None else tolerance
    typer.echo(f"report: {html(parts, target, tolerance=flagged_below, calls=calls, language=language)}")
