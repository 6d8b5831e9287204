"""`summeter train`: train a judge on human labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, destination, in_options


def train(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="YAML file with kind, data and settings (docs/train.md).")
    ],
    out: Annotated[Path, destination("FOLDER", "Folder of the trained judge.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the folder of an earlier training run.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress and no figures.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train the judge described in CONFIG.

    The same command resumes an interrupted training.
    """
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
