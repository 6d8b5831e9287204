"""Options and small helpers that several commands share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

Map = Annotated[
    list[str] | None, typer.Option("--map", metavar="FIELD=COLUMN", help="Where a field stands in the data.")
]
Preset = Annotated[str | None, typer.Option("--preset", help="A known layout: see `summeter list presets`.")]
Format = Annotated[
    str | None, typer.Option("--format", help="jsonl, json, csv, tsv or parquet; default: by the file's name.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Out = Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The run's folder.")]


def print_json(rows: Iterable[Mapping[str, Any]], **more: Any) -> None:
    """One JSON object with the rows of a study or list."""
    typer.echo(json.dumps({"schema": "summeter/1", **more, "rows": list(rows)}, ensure_ascii=False))


def mapping(pairs: list[str] | None) -> dict[str, str]:
    """`--map field=column` options as a dict; a field named twice is an error."""
    from summeter.records import UsageError

    found: dict[str, str] = {}
    for pair in pairs or []:
        field, equals, column = (part.strip() for part in pair.partition("="))
        if not equals or not field or not column:
            raise UsageError(f"--map {pair!r} is not FIELD=COLUMN")
        if found.setdefault(field, column) != column:
            raise UsageError(f"--map names {field} twice, as {found[field]!r} and as {column!r}")
    return found


def warn(warnings: Sequence[object], shown: int = 5) -> None:
    """Warnings about the data on stderr, the first few in full."""
    for warning in warnings[:shown]:
        typer.echo(f"warning: {warning}", err=True)
    if len(warnings) > shown:
        rest = len(warnings) - shown
        typer.echo(f"warning: ... and {rest} more (`summeter data validate` lists them all)", err=True)
