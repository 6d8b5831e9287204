"""`summeter view`: pages of runs, served on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import folder_argument


def view(
    folder: Annotated[Path, folder_argument("RUN|FOLDER", "A run, or a folder with runs.")],
    port: Annotated[int, typer.Option(help="Port, or 0 for any free port.", min=0, max=65535)] = 8301,
    show: Annotated[bool, typer.Option("--open", help="Open the pages in a browser.")] = False,
) -> None:
    """Serve RUN, or the runs in FOLDER, until interrupted.

    Only this machine can open the pages. They show all summaries of a run with filters, however large it is.
    """
    import webbrowser

    from summeter.view.server import serve

    def ready(address: str) -> None:
        typer.echo(f"view: {address} (Ctrl-C stops)")
        if show and not webbrowser.open(address):
            typer.echo("no browser was found; open the address yourself", err=True)

    serve(folder, port, ready, lambda text: typer.echo(text, err=True))
