"""Option types that the commands of `summeter annotate` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Campaign = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.", exists=True, file_okay=False)
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database", metavar="URL", envvar="SUMMETER_ANNOTATE_DATABASE",
        help="postgresql://USER@HOST/NAME in place of the folder's SQLite file.",
    ),
]  # fmt: skip
