"""`summeter batches`: what a run handed in to vendors' batch APIs, and calling it off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import AsJson, print_json

if TYPE_CHECKING:
    from summeter.models.standing import Standing

app = typer.Typer(no_args_is_help=True, add_completion=False)

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", exists=True, file_okay=False)]
BaseUrl = Annotated[str | None, typer.Option(help="The address the run was given, if it was given one.")]


@app.callback()
def _group() -> None:
    """The batches of a run that were handed in and not fetched."""


@app.command("list")
def list_(run: Folder, base_url: BaseUrl = None, as_json: AsJson = False) -> None:
    """Ask the vendor how the batches stand that RUN waits for."""
    _show(_standing(run, base_url), as_json=as_json)


@app.command()
def cancel(
    run: Folder,
    batches: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Only these; default: all.")] = None,
    base_url: BaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Call off the batches RUN waits for. What was answered by then is paid for, and kept; asking twice is harmless."""
    found = _standing(run, base_url, only=batches or (), cancel=True)
    _show(found, as_json=as_json)
    if found and not as_json:
        typer.echo("the command that handed them in, --batch included, fetches what was answered; the calls that were "
                   "cancelled end as errors there, and are made anew when it is given once more")  # fmt: skip


def _standing(
    run: Path, base_url: str | None, *, only: list[str] | tuple[str, ...] = (), cancel: bool = False
) -> list[Standing]:
    import asyncio

    from summeter.models.standing import At, standing
    from summeter.records import SummeterError
    from summeter.runs.batches import BATCHES, BatchLog
    from summeter.runs.run import read_manifest

    read_manifest(run)  # a folder that holds no run is told of

    found: list[Standing] = []

    async def ask() -> None:
        async for one in standing(BatchLog(run / BATCHES), cancel=cancel, only=only, at=At(base_url)):
            found.append(one)  # noqa: PERF401 - there, even if the next one fails

    try:
        asyncio.run(ask())
    except SummeterError:
        # What was called off before one could not be asked is called off.
        _lines(found, err=True)
        raise
    return found


def _show(found: list[Standing], *, as_json: bool) -> None:
    if as_json:
        print_json((one._asdict() for one in found), list="batches")
        return
    _lines(found)
    if not found:
        typer.echo("this run waits for no batch")


def _lines(found: list[Standing], *, err: bool = False) -> None:
    for one in found:
        typer.echo(f"{one.batch}  {one.calls} calls to {one.model}, since {one.since}: {one.words}", err=err)
