"""`summeter outputs`: import replies and scores of earlier experiments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from summeter.cli.common import Output, Reading, destination, output_options, read_data, reading_options, warn
from summeter.cli.score import Full, show_scores, show_summary, write_report
from summeter.tables import Table, wrapped

app = typer.Typer(no_args_is_help=True)


@app.command("import")
@output_options(file=False)
@reading_options
def import_(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Judged data.")],
    raw: Annotated[
        str | None,
        typer.Argument(
            metavar="RAW",
            help="File with one row per reply (`output`) or score (`value`). Default: the column `replies` of DATA.",
        ),
    ] = None,
    *,
    out: Annotated[Path, destination("RUN", "Folder of the new run, or of the runs if there is no RAW.")],
    parser: Annotated[
        Literal["strict", "legacy"],
        typer.Option(
            help="Require that a reply fits its item (strict), or read it like the released code of the paper (legacy)."
        ),
    ] = "strict",
    reading: Reading,
    full: Full = False,
    output: Output,
) -> None:
    """Create RUN from stored replies or scores, without model calls.

    Without RAW, the replies of each model and evaluator become the run RUN/MODEL/EVALUATOR. With --preset shen2023,
    DATA is the folder that Shen et al. (2023) released.
    """
    from summeter.engine.outputs import import_outputs, import_replies
    from summeter.report import score_parts

    loaded = read_data(data, reading)
    if raw is None:
        warn(loaded.warnings)
        imports = [
            {"run": str(run.folder), **result._asdict()}
            for run in import_replies(loaded, out, parser)
            for result in run.imported
        ]
        columns = {"run": "run", "rows": "rows", "repeated": "repeated", "ok": "usable", "failed": "not usable"}
        cells = [[str(row[name]) for name in columns] for row in imports]
        reasons = [f"{row['run']}: {line}" for row in imports for line in _reasons(row["reasons"])] if full else []
        output.write([Table.of(list(columns.values()), cells, align="lr"), *reasons], imports, study="import")
        return
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
            for line in _reasons(result.reasons):
                typer.echo(wrapped(f"    {line}"))
        if result.contradicted:
            rows = "row contradicts" if result.contradicted == 1 else "rows contradict"
            warning = f"{result.contradicted} {rows} an earlier row for the same question; add the column `attempt`"
            typer.echo(wrapped(f"warning: {result.signature}: {warning}, or remove one of the rows"), err=True)
    show_summary(run, page)


def _reasons(counts: Mapping[str, int]) -> list[str]:
    """Return the most frequent reasons for unusable replies."""
    return [f"{number} x {reason}" for reason, number in sorted(counts.items(), key=lambda pair: -pair[1])[:10]]
