"""`summeter advise`: recommend a judge for the given data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import check_suffix, in_options
from summeter.cli.studies import Given, study_command
from summeter.data.atomic import write_text
from summeter.meta import advise as study
from summeter.meta._advise import overview
from summeter.meta.results import Study

app = typer.Typer()


@study_command(app, "advise")
def advise(
    given: Given,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="Plot of agreement against cost.")] = None,
) -> list[Study]:
    """Recommend a judge, and plot agreement against cost."""
    if plot is not None:
        check_suffix(plot, ".svg", option="--plot")
    result = study(given.runs, given.data(), **given.values)
    given.parts = [overview(result), *result.signatures(), *map(in_options, result.notes)]
    if plot is not None:
        from summeter.report.frontier import frontier_svg

        write_text(plot, frontier_svg(result))
        typer.echo(f"written to {plot}", err=True)
    return [result]


command = app.registered_commands[0].callback
