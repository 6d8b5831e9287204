"""`summeter bench protocol`: a factuality benchmark from one file of settings."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import AsJson, print_json, print_study_json


class Layout(StrEnum):
    """How the table is printed."""

    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"


def protocol(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="Protocol, files, evaluators, models.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="Where the run, the study and the tables go; default "
                     "runs/NAME-OF-CONFIG. What is judged already is not judged again."),
    ] = None,
    layout: Annotated[Layout, typer.Option(help="How the table is printed; all three are written.")] = Layout.MARKDOWN,
    check: Annotated[bool, typer.Option("--check", help="Read the files, say what is in them, judge nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no table.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure evaluators as AggreFact, LLM-AggreFact, SummaC or FENICE's long-form set do, on files of your own."""
    from summeter.benchmark.protocol import read_config, read_files, run_protocol

    found, base = read_config(config), config.parent
    if check:
        _told(read_files(found, base).tally.lines(), as_json=as_json)
        return
    from summeter.engine.progress import progress
    from summeter.meta.protocol_layouts import laid_out

    made = run_protocol(found, out or Path("runs") / config.stem, base=base, progress=progress(quiet=quiet or as_json))
    if as_json:
        print_study_json(made.study)
    elif not quiet:
        typer.echo(laid_out(made.study, layout.value), nl=False)
        typer.echo(
            f"\nwritten to {made.folder}" if layout is Layout.MARKDOWN else f"written to {made.folder}", err=True
        )
    if made.run is not None:
        from summeter.engine.runs import check_coverage

        check_coverage(made.run)  # a table of dashes is no success


def _told(lines: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json([{"said": line} for line in lines], study="check")
        return
    for line in lines:
        typer.echo(line)
