"""`summeter runs`: list, verify, merge, export and remove runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import AsJson, OldRun, Output, destination, folder_argument, output_options

if TYPE_CHECKING:
    from summeter.runs.inspect import RunState

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command("list")
@output_options()
def list_(
    output: Output,
    folder: Annotated[
        Path, folder_argument("[FOLDER]", "Folder to search, at any depth. Default: the working directory.")
    ] = Path(),
) -> None:
    """List the runs in FOLDER with status, progress and size."""
    from summeter.runs.inspect import runs_in, state
    from summeter.tables import Table

    states = [state(run) for run in runs_in(folder)]
    heads = ["run", "status", "documents", "summaries", "judges", "done", "size", "updated"]
    rows = [
        [
            each.run, _status(each), f"{each.documents:,}", f"{each.summaries:,}", str(len(each.judges)), _done(each),
            _bytes(each.size), (each.updated or "")[:16].replace("T", " "),
        ]
        for each in states
    ]  # fmt: skip
    shown = Table.of(heads, rows, align="llrrrrrl") if rows else f"there is no run in {folder}"
    output.write([shown], map(_row, states))


@app.command()
@output_options()
def info(run: OldRun, output: Output) -> None:
    """Show the judges of RUN and their progress, its data and its size."""
    from summeter.pages.numbers import count
    from summeter.runs.inspect import state
    from summeter.tables import Table

    about = state(run)
    lines = [f"{about.run}: {_status(about)}"]
    if about.reason is not None:
        lines.append(about.reason)
    if about.source is not None and about.hash is not None:
        size = f"{count(about.documents, 'document')}, {count(about.summaries, 'summary', 'summaries')}"
        lines.append(f"data: {about.source} ({size}, hash {about.hash[:12]})")
        lines.append(f"started {about.created}, last written {about.updated}")
    if about.counts:
        lines.append("judgments: " + ", ".join(f"{number:,} {status}" for status, number in about.counts.items()))
    kinds = ", ".join(f"{kind} {_bytes(size)}" for kind, size in about.bytes.items() if size)
    lines.append(f"on disk: {_bytes(about.size)} ({kinds})")
    judges = [
        [judge.signature, f"{judge.done:,} pairs" if judge.of is None else f"{judge.done:,} of {judge.of:,} summaries"]
        for judge in about.judges
    ]
    output.write([*lines, Table.of(["judge", "done"], judges)], [_row(about)])


@app.command()
def verify(run: OldRun, as_json: AsJson = False) -> None:
    """Compare RUN with the checksums recorded when it ended.

    Exits with 2 if a file is damaged, missing or new.
    """
    from summeter.records import InputError
    from summeter.runs.checksums import verify as check

    faults = check(run)
    if as_json:
        Output("json").write((), (fault._asdict() for fault in faults), intact=not faults)
        if faults:
            raise typer.Exit(2)
        return
    if faults:
        raise InputError(faults)
    typer.echo(f"{run}: all files are intact")


@app.command()
def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Folders of two or more runs.")],
    out: Annotated[Path, destination("RUN", "Folder of the new run.")],
) -> None:
    """Merge runs over the same data, or over disjoint documents.

    An item that several runs judged equally under one signature counts once. If their judgments of an item differ,
    nothing is merged.
    """
    from summeter.engine.merge import merge as together

    run = together(runs, out)
    judges = f"{len(run.manifest.judges)} judge{'s' * (len(run.manifest.judges) != 1)}"
    typer.echo(f"{out}: {sum(run.manifest.counts.values()):,} judgments by {judges}, {run.manifest.status}")


@app.command()
def export(
    run: OldRun,
    out: Annotated[Path, destination("FOLDER", "Folder for the files.")],
) -> None:
    """Write the judgments and scores of RUN as Parquet files.

    No command reads these files.
    """
    from summeter.runs.export import export as write
    from summeter.runs.run import RunFolder

    for file, rows in write(RunFolder(run), out).items():
        typer.echo(f"{file}: {rows:,} rows")


@app.command()
def rm(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Remove runs with their stored calls.

    A folder that is not a run, or that is being written, is refused.
    """
    from summeter.runs.inspect import check_removable, remove, state

    states = [state(run) for run in runs]
    for run in runs:
        check_removable(run)
    if not yes:
        for each in states:
            typer.echo(f"{each.run}: {_status(each)}, {_bytes(each.size)}")
        try:
            typer.confirm(f"Remove {len(states)} run{'s' * (len(states) != 1)} permanently?", abort=True)
        except typer.Abort:
            typer.echo("nothing was removed", err=True)
            raise typer.Exit(130) from None
    for run in runs:
        remove(run)
        typer.echo(f"removed {run}")


def _row(about: RunState) -> dict[str, object]:
    return {**about.model_dump(mode="json"), "size": about.size}


def _status(about: RunState) -> str:
    return "being written" if about.writing else "killed" if about.status == "running" else about.status


def _done(about: RunState) -> str:
    """Return the fraction of finished items, over all judges that judge items one by one."""
    of = sum(judge.of or 0 for judge in about.judges)
    return f"{sum(judge.done for judge in about.judges if judge.of) / of:.0%}" if of else ""


def _bytes(size: int) -> str:
    for unit, number in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= number:
            return f"{size / number:.1f} {unit}"
    return f"{size} B"
