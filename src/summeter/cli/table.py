"""`summeter table`: tables of papers, computed from your runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from summeter.cli.common import Output, Reading, folder_argument, gold_data, output_options, reading_options


@output_options()
@reading_options
def command(
    name: Annotated[str | None, typer.Argument(metavar="PAPER.N", help="Name of the table (see --list).")] = None,
    runs: Annotated[list[Path] | None, folder_argument("RUN", "Folders of runs.")] = None,
    *,
    gold: Annotated[
        str | None, typer.Option(metavar="DATA", help="Data with human judgments. Default: the copy in the run.")
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of the bootstrap by document; 0 for no intervals.")
    ] = 0,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    alpha: Annotated[
        str, typer.Option(metavar="P|none", help="Mark values with a p-value of at least this with ~.")
    ] = "0.05",
    list_: Annotated[bool, typer.Option("--list", help="List the tables.")] = False,
    reading: Reading,
    output: Output,
) -> None:
    """Print a table of a paper, computed from RUNs, in the paper's layout.

    JSON and CSV contain the values in full precision, a row a cell.
    """
    from summeter.engine.runs import Run
    from summeter.meta.papers import PAPERS, UNDECLARED, table
    from summeter.records import UsageError
    from summeter.tables import Table

    if list_:
        shown = Table.of(["table", "shows"], [(key, form.title) for key, form in PAPERS.items()])
        others = Table.of(["not declared", "closest"], [*UNDECLARED.items()])
        output.write([shown, others], [
            *({"table": key, "title": form.title, "needs": form.needs} for key, form in PAPERS.items()),
            *({"table": key, "title": None, "needs": None, "closest": closest} for key, closest in UNDECLARED.items()),
        ])  # fmt: skip
        return
    if name is None:
        raise UsageError("give the name of a table, such as shen2023.4; `summeter table --list` lists them")
    folders = list(map(Run, runs or ()))
    data = gold_data(gold, reading, folders)
    marked = None if alpha == "none" else alpha
    found = table(name, folders, data, resamples=resamples, confidence=confidence, seed=seed, alpha=marked)
    output.write([found.table(), *found.notes()], found.study.to_dicts(), study=name, title=None)
