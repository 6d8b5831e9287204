"""`summeter batches`: list and cancel the batches that a run submitted to a vendor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import OldRun, Output, output_options

if TYPE_CHECKING:
    from summeter.models.pending_batches import PendingBatch

app = typer.Typer(no_args_is_help=True, add_completion=False)

BaseUrl = Annotated[str | None, typer.Option(help="Address given to the run.")]


@app.command("list")
@output_options()
def list_(run: OldRun, output: Output, base_url: BaseUrl = None) -> None:
    """List the pending batches of RUN with their state at the vendor."""
    _show(_pending(run, base_url), output)


@app.command()
@output_options()
def cancel(
    run: OldRun,
    output: Output,
    batches: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Batches to cancel. Default: all.")
    ] = None,
    base_url: BaseUrl = None,
) -> None:
    """Cancel the pending batches of RUN.

    Calls that were already answered are charged and stored.
    """
    pending = _pending(run, base_url, only=batches or (), cancel=True)
    following = (
        "run the command that submitted them again, with --batch, to fetch the replies; cancelled calls become errors, "
        "and the next run of that command sends them again"
    )
    _show(pending, output, *([following] if pending else []))


def _pending(
    run: Path, base_url: str | None, *, only: list[str] | tuple[str, ...] = (), cancel: bool = False
) -> list[PendingBatch]:
    import asyncio

    from summeter.models.pending_batches import pending_batches
    from summeter.records import SummeterError
    from summeter.runs.batches import BATCHES, BatchLog
    from summeter.runs.run import read_manifest

    read_manifest(run)  # raises an error if the folder is not a run
    pending: list[PendingBatch] = []

    async def ask() -> None:
        async for batch in pending_batches(BatchLog(run / BATCHES), cancel=cancel, only=only, base_url=base_url):
            pending.append(batch)  # noqa: PERF401 - kept if the next one fails

    try:
        asyncio.run(ask())
    except SummeterError:
        # The batches before the failed one have been cancelled.
        for batch in pending:
            typer.echo(f"{batch.batch}  {batch.calls} calls to {batch.model}: {batch.words}", err=True)
        raise
    return pending


def _show(pending: list[PendingBatch], output: Output, *notes: str) -> None:
    from summeter.tables import Table

    heads = ["batch", "calls", "model", "since", "state"]
    rows = [[batch.batch, batch.calls, batch.model, batch.since, batch.words] for batch in pending]
    table = Table.of(heads, rows, align="lrl") if rows else "this run has no pending batch"
    output.write([table, *notes], (batch._asdict() for batch in pending), list="batches")
