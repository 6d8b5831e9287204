"""`summeter models`: checkpoints of released code made into folders that summeter reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, print_json

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Local models: checkpoints of released code."""


@app.command()
def convert(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="alignscore, a3cu, dae or bartscore.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The released checkpoint.", exists=True, dir_okay=False)],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="The folder to write; it must be new.")],
    base: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Config and tokenizer of the model it was trained from; default: FILE's folder.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a released checkpoint as a folder for -m: safetensors, names checked, its hash and licence in README.md."""
    from summeter.models.local.convert import convert as write

    folders = write(kind, file, out, base)
    if as_json:
        print_json([{"folder": str(folder)} for folder in folders])
        return
    for folder in folders:
        typer.echo(f"-> {folder}")
