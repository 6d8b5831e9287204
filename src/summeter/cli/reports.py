"""`summeter rescore` and `summeter report`: views of runs, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, tell

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]
Folders = Annotated[list[Path], typer.Argument(metavar="RUN...", help="One run, or several to compare.")]
Page = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="PAGE", help="The HTML file; default: report.html in the run.")
]


def rescore(run: Folder, as_json: AsJson = False) -> None:
    """Rebuild RUN's scores, summary and report from its judgments. No model is asked."""
    from summeter.engine.rescore import rescore as again

    tell(again(run), as_json=as_json)


def report(runs: Folders, out: Page = None) -> None:
    """Draw one HTML page of one or several runs. No model is asked, nothing is fetched."""
    from summeter.engine.runs import Run
    from summeter.report import html

    found = [Run(folder) for folder in runs]
    typer.echo(f"report: {html(found, out or runs[0] / 'report.html')}")
