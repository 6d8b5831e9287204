"""`summeter models`: convert released checkpoints to folders of local models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, Output

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command()
def convert(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="alignscore, a3cu, dae, bartscore or hhem.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Released checkpoint.", exists=True, dir_okay=False)],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="New folder to write.")],
    base: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder with config and tokenizer of the base model. Default: the folder of FILE.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Convert a released checkpoint to a folder for -m.

    The folder holds safetensors with checked tensor names, and a README.md with the hash and the licence.
    """
    from summeter.models.local.convert import convert as write

    folders = write(kind, file, out, base)
    if as_json:
        Output("json").write((), [{"folder": str(folder)} for folder in folders])
        return
    for folder in folders:
        typer.echo(f"-> {folder}")
