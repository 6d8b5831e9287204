"""`summeter outputs`: raw outputs and scores of earlier experiments."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, Format, Map, Preset, print_json, read_data, show_scores

app = typer.Typer(no_args_is_help=True)


class Parser(StrEnum):
    """How raw replies are read."""

    STRICT = "strict"
    LEGACY = "legacy"


@app.callback()
def _group() -> None:
    """Bring in raw outputs and scores of earlier experiments."""


@app.command("import")
def import_(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The data that were judged.")],
    raw: Annotated[str, typer.Argument(metavar="RAW", help="One row a reply (`output`) or score (`value`).")],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The new run's folder.")],
    parser: Annotated[
        Parser, typer.Option(help="strict: a reply must fit its item; legacy: as the paper's released code read it.")
    ] = Parser.STRICT,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    as_json: AsJson = False,
) -> None:
    """Make a RUN of earlier replies and scores. Calls nothing."""
    from summeter.engine.outputs import import_outputs
    from summeter.report import html
    from summeter.runs.journal import held

    loaded = read_data(data, map_, preset, format_)
    run = import_outputs(loaded, raw, out, parser.value)
    with held(run.folder):
        page = html([run], run.folder / "report.html")
    if as_json:
        pairs = [row.model_dump() for row in run.pairs()]
        print_json((result._asdict() for result in run.imported), study="import", pairs=pairs)
        return
    show_scores(run)
    for result in run.imported:
        again = f", {result.repeated} asked again (the last counts)" if result.repeated else ""
        absent = f", {result.absent} summaries without one" if result.absent else ""
        typer.echo(f"{result.signature}: {result.rows} rows{again}: {result.ok} usable, {result.failed} not{absent}")
        if result.contradicted:
            rows = "row contradicts" if result.contradicted == 1 else "rows contradict"
            typer.echo(f"    warning: {result.contradicted} {rows} an earlier one of the same question with another "
                       "value; give `attempt`, or keep one of them")  # fmt: skip
        for reason, number in sorted(result.reasons.items(), key=lambda pair: -pair[1])[:10]:
            typer.echo(f"    {number} x {reason}")
    typer.echo(f"report: {page}")
