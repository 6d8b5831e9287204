"""`summeter advise`: which judge for these data?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.choices import Level
from summeter.cli.common import check_suffix, in_options
from summeter.cli.study_command import BOOTSTRAP, MAKERS, PEOPLE, Given, study_command

if TYPE_CHECKING:
    from summeter.meta.results import Study

app = typer.Typer()


@study_command(app, f"runs gold aspect judge {PEOPLE} gold_at_least {BOOTSTRAP} {MAKERS}")
def advise(
    given: Given,
    level: Annotated[
        Level | None,
        typer.Option(help="sentence or summary; default: sentences where people and all judges judged them."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.svg", help="A picture: agreement against cost.")
    ] = None,
) -> list[Study]:
    """Say which judge of RUN... suits such data, by agreement, cost, time, systems and bias; do labels suffice?"""
    from summeter.data.atomic import write_text
    from summeter.meta import advise as study
    from summeter.meta._advise import overview

    if out is not None:
        check_suffix(out, ".svg")
    result = study(given.runs, given.data(), level=level, **given.makers, **given.keywords)
    given.tables = False
    given.lines += [overview(result).text(), "", *result.signatures(), *map(in_options, result.notes)]
    if out is not None:
        from summeter.report.frontier import frontier_svg

        write_text(out, frontier_svg(result))
        given.lines.append(f"picture: {out}")
    return [result]


command = app.registered_commands[0].callback
