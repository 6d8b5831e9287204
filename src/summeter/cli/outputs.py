"""`summeter outputs`: import replies and scores of earlier experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from summeter.cli.common import Output, Reading, output_options, read_data, reading_options
from summeter.cli.score import Full, show_scores, show_summary, write_report
from summeter.tables import wrapped

app = typer.Typer(no_args_is_help=True)


@app.command("import")
@output_options(file=False)
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
    full: Full = False,
    output: Output,
) -> None:
    """Create RUN from stored replies or scores, without model calls."""
    from summeter.engine.outputs import import_outputs
    from summeter.report import score_parts

    loaded = read_data(data, reading)
    run = import_outputs(loaded, raw, out, parser)
    page = write_report(run)
    if output.format != "text":
        pairs = run.pairs()
        parts = score_parts(run.summary(), pairs)
        imported = (result._asdict() for result in run.imported)
        output.write(parts, imported, study="import", pairs=[row.model_dump() for row in pairs])
        return
    if full:
        show_scores(run)
    for result in run.imported:
        if full:
            again = f", {result.repeated} repeated (the last counts)" if result.repeated else ""
            absent = f", {result.absent} summaries without a row" if result.absent else ""
            counts = f"{result.rows} rows{again}: {result.ok} usable, {result.failed} not{absent}"
            typer.echo(wrapped(f"{result.signature}: {counts}"))
            for reason, number in sorted(result.reasons.items(), key=lambda pair: -pair[1])[:10]:
                typer.echo(wrapped(f"    {number} x {reason}"))
        if result.contradicted:
            rows = "row contradicts" if result.contradicted == 1 else "rows contradict"
            warning = f"{result.contradicted} {rows} an earlier row for the same question; add the column `attempt`"
            typer.echo(wrapped(f"warning: {result.signature}: {warning}, or remove one of the rows"), err=True)
    show_summary(run, page)
