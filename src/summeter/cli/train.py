"""`summeter train`: judges and networks fitted to people's labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, in_options


def train(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A YAML file: its kind, its data, its settings (docs/train.md).")
    ],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the trained judge goes.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that a training wrote.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no figures.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train what CONFIG describes and write FOLDER. The same command resumes an interrupted training."""
    import json

    from summeter.engine.progress import progress
    from summeter.training import train as run

    outcome = run(config, out, force=force, progress=progress(quiet=quiet or as_json, verb="training"))
    if as_json:
        typer.echo(json.dumps({"schema": "summeter/1", "study": "train", "card": outcome.card}, ensure_ascii=False))
        return
    if not quiet:
        for line in outcome.lines:
            typer.echo(in_options(line))
    typer.echo(f"written to {outcome.folder}", err=True)
