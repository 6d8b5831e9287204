"""`summeter outputs`: import replies and scores of earlier experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from summeter.cli.common import AsJson, Reading, print_json, read_data, reading_options, show_scores

app = typer.Typer(no_args_is_help=True)


@app.command("import")
@reading_options
def import_(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Judged data.")],
    raw: Annotated[
        str, typer.Argument(metavar="RAW", help="File with one row per reply (`output`) or score (`value`).")
    ],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="Folder of the new run.")],
    parser: Annotated[
        Literal["strict", "legacy"],
        typer.Option(
            help="Require that a reply fits its item (strict), or read it like the released code of the paper (legacy)."
        ),
    ] = "strict",
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Create RUN from stored replies or scores, without model calls."""
    from summeter.engine.outputs import import_outputs
    from summeter.report import html
    from summeter.runs.journal import held

    loaded = read_data(data, reading)
    run = import_outputs(loaded, raw, out, parser)
    with held(run.folder):
        page = html([run], run.folder / "report.html")
    if as_json:
        pairs = [row.model_dump() for row in run.pairs()]
        print_json((result._asdict() for result in run.imported), study="import", pairs=pairs)
        return
    show_scores(run)
    for result in run.imported:
        again = f", {result.repeated} repeated (the last counts)" if result.repeated else ""
        absent = f", {result.absent} summaries without a row" if result.absent else ""
        typer.echo(f"{result.signature}: {result.rows} rows{again}: {result.ok} usable, {result.failed} not{absent}")
        if result.contradicted:
            rows = "row contradicts" if result.contradicted == 1 else "rows contradict"
            typer.echo(f"    warning: {result.contradicted} {rows} an earlier row for the same question; "
                       "add the column `attempt`, or remove one of the rows")  # fmt: skip
        for reason, number in sorted(result.reasons.items(), key=lambda pair: -pair[1])[:10]:
            typer.echo(f"    {number} x {reason}")
    typer.echo(f"report: {page}")
