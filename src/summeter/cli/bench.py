"""`summeter bench`: building a benchmark of summaries, and running those there are."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import AsJson, print_json, print_study_json

if TYPE_CHECKING:
    from summeter.benchmark.chain import StepRow
    from summeter.benchmark.step import Manifest

app = typer.Typer(no_args_is_help=True)


class Layout(StrEnum):
    """How the table is printed."""

    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"


@app.callback()
def _root() -> None:
    """Build a benchmark of summaries, or run one of those there are."""


@app.command()
def run(
    config: Annotated[Path, typer.Argument(metavar="BENCH.yaml", help="A section for each step, with its settings.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Folder of the benchmark; default: `output` of BENCH.yaml."
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="STEP", help="Do this step, even if it is done, and no other.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="STEP", help="End after this step.")] = None,
    as_json: AsJson = False,
) -> None:
    """Build a benchmark: do every step of BENCH.yaml that is left, or whose input or settings have changed."""
    from summeter.benchmark.chain import chain_status, output_of, read_chain, run_chain
    from summeter.engine.progress import progress

    tell = partial(typer.echo, err=True)
    run_chain(config, out, only=only, until=until, tell=tell, progress=progress(quiet=as_json))
    _show(chain_status(output_of(read_chain(config), out)), as_json=as_json)


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a benchmark.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="BENCH.yaml", help="The file of settings, where it has moved.")
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="STEP", help="Show what this step did: counts, what it left out, tables.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show each step of a benchmark: done, stale and why, left, waiting or failed; what went in and came out."""
    from summeter.benchmark.chain import chain_status
    from summeter.benchmark.step import read_manifest
    from summeter.records import UsageError, nearest

    rows = chain_status(folder, config)
    if step is None:
        _show(rows, as_json=as_json)
        return
    known = [row.step for row in rows if row.state in ("done", "stale")]
    if step not in known:
        raise UsageError(f"--step {step}: this step is not done{nearest(step, known)}; done: {', '.join(known)}")
    manifest = read_manifest(folder / step)
    if as_json:
        typer.echo(manifest.model_dump_json(by_alias=True))
    else:
        _describe(manifest)


def _show(rows: list[StepRow], *, as_json: bool) -> None:
    """Print the states of steps."""
    from summeter.benchmark.chain import status_table

    if as_json:
        print_json((row._asdict() for row in rows), study="bench")
    else:
        typer.echo(status_table(rows).text())


def _describe(manifest: Manifest) -> None:
    """Print what a step did: what went in and came out, what was left out and why, and its tables."""
    from summeter.tables import Table

    for word, counts in (("in", manifest.counts_in), ("out", manifest.counts_out)):
        if counts:
            typer.echo(f"{word}: " + ", ".join(f"{number:,} {name}" for name, number in counts.items()))
    for reason, number in manifest.dropped.items():
        typer.echo(f"left out: {number:,} {reason}")
    for name, rows in manifest.details.items():
        if isinstance(rows, dict) and rows and all(isinstance(value, int | float) for value in rows.values()):
            typer.echo(f"{name.replace('_', ' ')}: " + ", ".join(f"{value:,} {key}" for key, value in rows.items()))
        elif isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            heads = list(rows[0])
            lines = [["" if row.get(head) is None else str(row[head]) for head in heads] for row in rows]
            align = "".join("r" if isinstance(rows[0][head], int | float) else "l" for head in heads)
            typer.echo(Table.of(heads, lines, align=align, title=name).text())


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="A folder that the step `release` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Build a release again from its data, and compare: hashes, counts, splits, agreement, card, tables. Exits with 3
    where something differs."""
    from summeter.benchmark.step import file_hashes
    from summeter.benchmark.verify import VerifyError
    from summeter.benchmark.verify import verify as differences_of

    differences = differences_of(folder)
    if as_json:
        print_json((each._asdict() for each in differences), study="verify", verified=not differences)
    elif not differences:
        typer.echo(f"{folder} is what it says: {len(file_hashes(folder))} files, every count and table computed again")
    if differences:
        raise VerifyError(folder, differences)


@app.command()
def protocol(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="Protocol, files, evaluators, models.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Where the run, the study and the tables go; default "
            "runs/NAME-OF-CONFIG. What is judged already is not judged again.",
        ),
    ] = None,
    layout: Annotated[Layout, typer.Option(help="How the table is printed; all three are written.")] = Layout.MARKDOWN,
    check: Annotated[bool, typer.Option("--check", help="Read the files, say what is in them, judge nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure evaluators as AggreFact, LLM-AggreFact, SummaC or FENICE's long-form set do, on files of your own; or
    systems and evaluators on a benchmark of your own (protocol: own)."""
    from summeter.benchmark.protocol import read_config, run_protocol
    from summeter.engine.progress import progress
    from summeter.engine.runs import check_coverage

    settings, base = read_config(config), config.parent
    if check:
        lines = settings.read(base).lines
        if as_json:
            print_json([{"said": line} for line in lines], study="check")
        else:
            typer.echo("\n".join(lines))
        return
    show = progress(quiet=quiet or as_json)
    result = run_protocol(settings, out or Path("runs") / config.stem, base=base, progress=show)
    if as_json:
        print_study_json(result.study)
    elif not quiet:
        typer.echo(settings.format(result.study, layout.value), nl=False)
        typer.echo(
            f"\nwritten to {result.folder}" if layout is Layout.MARKDOWN else f"written to {result.folder}", err=True
        )
    if result.run is not None:
        check_coverage(result.run)  # a table of dashes is no success
