"""`summeter plot`: figures of runs as SVG, PDF or PNG."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from summeter.cli.common import Reading, destination, folder_argument, gold_data, reading_options


@reading_options
def plot(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the figure (see --list).")] = None,
    runs: Annotated[list[Path] | None, folder_argument("RUN", "Folders of runs.")] = None,
    *,
    out: Annotated[Path | None, destination("FILE", "File to write (.svg, .pdf or .png).")] = None,
    gold: Annotated[
        str | None, typer.Option(metavar="DATA", help="Data with human judgments. Default: the copy in the run.")
    ] = None,
    aspect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A", help="Aspect to draw. Repeatable. Default: those that rank systems, or that people judged."
        ),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Draw only this judge (name or signature). Default: all.")] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column of the groups; a*b crosses two columns. Repeatable. Default: by figure."
        ),
    ] = None,
    level: Annotated[
        str | None, typer.Option(help="Level of the drawn units, such as sentence or system. Default: by figure.")
    ] = None,
    gold_at_least: Annotated[
        float | None, typer.Option(help="Human values of at least this count as 1, others as 0. Default: unchanged.")
    ] = None,
    theme: Annotated[Literal["light", "dark"], typer.Option(help="Background.")] = "light",
    list_: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
    reading: Reading,
) -> None:
    """Draw a figure of RUNs, such as the means of systems with their intervals."""
    from summeter.engine.runs import Run
    from summeter.meta.selection import check_known
    from summeter.pages.figures import converter
    from summeter.records import Parameter, UsageError
    from summeter.report.plot import CROSSED, FIGURES, UNDECLARED
    from summeter.tables import Table

    if list_:
        about = [(key, (figure.__doc__ or "").partition("\n")[0]) for key, figure in FIGURES.items()]
        about += [(key, f"The figure groups by {' and '.join(columns)}") for key, columns in CROSSED.items()]
        typer.echo(Table.of(["figure", "shows"], about).text())
        typer.echo(Table.of(["not declared", "closest"], [*UNDECLARED.items()]).text())
        return
    if name is None or not runs:
        raise UsageError("give the NAME of a figure and a RUN; `summeter plot --list` lists the figures")
    if name in UNDECLARED:
        raise UsageError(f"what {name} shows is not known well enough to draw it; closest is {UNDECLARED[name]}")
    if name in CROSSED:
        name, by = "groups", by or [*CROSSED[name]]
    check_known([name], [*FIGURES, *CROSSED], "figure")
    if out is None:
        raise UsageError("give the file of the figure with ", Parameter("out", "FILE"))
    converter(out)  # reports an unknown suffix or a missing extra before anything is computed
    folders = list(map(Run, runs))
    given: dict[str, Any] = {
        "aspect": aspect or None,
        "by": by[0] if by and len(by) == 1 else by or None,
        "judge": judge,
        "level": level,
        "gold_at_least": gold_at_least,
        "gold": gold_data(gold, reading, folders),
    }
    options = {key: value for key, value in given.items() if value is not None}
    known = inspect.signature(FIGURES[name]).parameters
    for option in options:
        if option not in known and "options" not in known:
            raise UsageError(Parameter(option, "..."), f" has no effect on the figure {name}; leave it out")
    figure = FIGURES[name](folders, **options)
    typer.echo(f"plot: {figure.save(out, theme)}")
