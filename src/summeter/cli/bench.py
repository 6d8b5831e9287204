"""`summeter bench`: build a benchmark of summaries, or run a published one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from summeter.cli.common import AsJson, Output, destination, in_options, output_options

if TYPE_CHECKING:
    from summeter.benchmark.chain import StepRow
    from summeter.benchmark.step import Manifest
    from summeter.tables import Table

app = typer.Typer(no_args_is_help=True)


@app.command()
@output_options(file=False)
def run(
    config: Annotated[
        Path, typer.Argument(metavar="BENCH.yaml", help="YAML file with one section of settings per step.")
    ],
    out: Annotated[
        Path | None, destination("FOLDER", "Folder of the benchmark. Default: `output` in BENCH.yaml.")
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="STEP", help="Run only this step, even if it is done.")] = None,
    until: Annotated[str | None, typer.Option(metavar="STEP", help="Last step to run.")] = None,
    *,
    output: Output,
) -> None:
    """Run the steps of BENCH.yaml that are not done or out of date.

    A step is out of date if its input or its settings have changed.
    """
    from summeter.benchmark.chain import chain_status, output_of, read_chain, run_chain
    from summeter.engine.progress import progress

    tell = partial(typer.echo, err=True)
    run_chain(config, out, only=only, until=until, tell=tell, progress=progress(quiet=output.format == "json"))
    _show(chain_status(output_of(read_chain(config), out)), output)


@app.command()
@output_options()
def status(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a benchmark.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="BENCH.yaml", help="New path of the YAML file, if it was moved.")
    ] = None,
    step: Annotated[
        str | None, typer.Option(metavar="STEP", help="Show counts, dropped items and tables of this step.")
    ] = None,
    *,
    output: Output,
) -> None:
    """Show the state of each step of a benchmark, with counts.

    A step is done, stale, left, waiting or failed.
    """
    from summeter.benchmark.chain import chain_status
    from summeter.benchmark.step import read_manifest
    from summeter.records import UsageError, nearest

    rows = chain_status(folder, config)
    if step is None:
        _show(rows, output)
        return
    known = [row.step for row in rows if row.state in ("done", "stale")]
    if step not in known:
        raise UsageError(f"--step {step}: this step is not done{nearest(step, known)}; done: {', '.join(known)}")
    manifest = read_manifest(folder / step)
    if output.format == "json":
        output.put(manifest.model_dump_json(by_alias=True))
    else:
        output.write(_described(manifest), [manifest.model_dump(mode="json", by_alias=True)])


def _show(rows: list[StepRow], output: Output) -> None:
    """Print the state of each step, and the reasons below."""
    from summeter.benchmark.chain import status_table

    reasons = [f"{row.step}: {' '.join(row.reason.split())}" for row in rows if row.reason]
    output.write([status_table(rows), *reasons], (row._asdict() for row in rows), study="bench")


def _described(manifest: Manifest) -> Iterator[Table | str]:
    """Yield the counts, the dropped items with reasons, and the tables of a step."""
    from summeter.tables import Table

    for word, counts in (("in", manifest.counts_in), ("out", manifest.counts_out)):
        if counts:
            yield f"{word}: " + ", ".join(f"{number:,} {name}" for name, number in counts.items())
    for reason, number in manifest.dropped.items():
        yield f"left out: {number:,} {reason}"
    for name, rows in manifest.details.items():
        if isinstance(rows, dict) and rows and all(isinstance(value, int | float) for value in rows.values()):
            yield f"{name.replace('_', ' ')}: " + ", ".join(f"{value:,} {key}" for key, value in rows.items())
        elif isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            heads = list(rows[0])
            lines = [["" if row.get(head) is None else str(row[head]) for head in heads] for row in rows]
            align = "".join("r" if isinstance(rows[0][head], int | float) else "l" for head in heads)
            yield Table.of(heads, lines, align=align, title=name.replace("_", " "))


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder written by the step `release`.")],
    as_json: AsJson = False,
) -> None:
    """Rebuild a release from its data and compare the two.

    Compares hashes, counts, splits, agreement, card and tables. Exits with 3 if something differs.
    """
    from summeter.benchmark.step import file_hashes
    from summeter.benchmark.verify import VerifyError
    from summeter.benchmark.verify import verify as differences_of
    from summeter.tables import wrapped

    differences = differences_of(folder)
    if as_json:
        Output("json").write((), (each._asdict() for each in differences), study="verify", verified=not differences)
    elif not differences:
        files = len(file_hashes(folder))
        typer.echo(wrapped(f"{folder} is verified: {files} files, all counts and tables recomputed"))
    if differences:
        raise VerifyError(folder, differences)


@app.command()
@output_options(file=False)
def protocol(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG.yaml", help="YAML file with protocol, files, evaluators and models.")
    ],
    out: Annotated[
        Path | None,
        destination(
            "FOLDER", "Folder of run, study and tables; an existing run is resumed. Default: runs/NAME-OF-CONFIG."
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Read and describe the files without judging.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress and no table.")] = False,
    *,
    output: Output,
) -> None:
    """Measure evaluators by the protocol of a published benchmark.

    Protocols: AggreFact, LLM-AggreFact, SummaC and the long-form set of FENICE, on your copy of the files; or `own`,
    for systems and evaluators on your own benchmark.
    """
    from summeter.benchmark.protocol import long_rows, read_config, run_protocol
    from summeter.engine.progress import progress
    from summeter.engine.runs import check_coverage

    settings, base = read_config(config), config.parent
    if check:
        lines = settings.read(base).lines
        output.write(lines, [{"said": line} for line in lines], study="check")
        return
    show = progress(quiet=quiet or output.format == "json")
    result = run_protocol(settings, out or Path("runs") / config.stem, base=base, progress=show)
    if not quiet or output.format != "text":
        study = result.study
        parts: list[Table | str] = [*settings.tables(study), *map(in_options, study.notes), *study.signatures()]
        output.write_study(study, parts, csv=long_rows(study))
        typer.echo(f"written to {result.folder}", err=True)
    if result.run is not None:
        check_coverage(result.run)  # a table without values is a failure


@app.command()
def leaderboard(
    config: Annotated[
        Path, typer.Argument(metavar="BOARD.yaml", help="YAML file with title, labelled sets and judges.")
    ],
    out: Annotated[Path, destination("FOLDER", "Folder of the page to write.")],
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the path of the page.")] = False,
) -> None:
    """Compare judges on labelled datasets on one page.

    Evaluators are run in the folder `runs` of BOARD.yaml, where the same command resumes them. FOLDER contains numbers
    only: the page, leaderboard.json and leaderboard.csv.
    """
    from summeter.benchmark import leaderboard as boards
    from summeter.engine.progress import progress

    board = boards.read_board(config)
    found = boards.leaderboard(board, base=config.parent, progress=progress(quiet=quiet))
    page = boards.write(found, out)
    if not quiet:
        Output().write([found.ranking()], ())
    typer.echo(page)
