"""`summeter score` and `summeter demo`: judge summaries."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.common import (
    TERMINAL,
    Output,
    Reading,
    destination,
    in_options,
    output_options,
    read_data,
    reading_options,
    warn,
)
from summeter.cli.executor_options import executor_options
from summeter.cli.run_options import run_options
from summeter.tables import wrapped

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset
    from summeter.engine.runs import Run
    from summeter.evaluators.base import Evaluator
    from summeter.report.build import Page

Evaluators = Annotated[
    list[str] | None,
    typer.Option("-e", "--evaluator", metavar="NAME", help="Evaluator, as NAME or NAME[setting=value]. Repeatable. "
                 "Default: those of the replayed run, else support and abstractiveness."),
]  # fmt: skip
Models = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--model",
        metavar="[ROLE=]PROVIDER/MODEL",
        help="Model of a role; local/FOLDER or hf/ORG/NAME@REVISION for networks. Repeatable.",
    ),
]
RunOut = Annotated[
    Path | None,
    destination("RUN", "Folder of the run; an existing run is resumed. Default: runs/NAME-OF-DATA."),
]
Replay = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Use the stored replies of this run instead of a network and a key."),
]
Full = Annotated[bool, typer.Option("--full", help="Print the table of systems and the usage of each model as well.")]
Coverage = Annotated[
    float, typer.Option("--min-coverage", min=0, max=1, help="Exit with code 4 if fewer judgments are usable.")
]


@run_options()
@output_options(file=False)
@executor_options
@reading_options
def score(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="Flat files (also in a folder or s3://), a dataset folder, hf:ORG/NAME#SPLIT, or - for stdin.",
        ),
    ],
    evaluators: Evaluators = None,
    models: Models = None,
    out: RunOut = None,
    *,
    reading: Reading,
    replay: Replay = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost without sending data.")
    ] = False,
    min_coverage: Coverage = 0.0,
    full: Full = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the path of the report.")] = False,
    output: Output,
    executor: Any,
    **options: Any,
) -> None:
    """Judge every summary in DATA; write RUN with scores and a report.

    The same command resumes an interrupted run.
    """
    from summeter.engine.api import evaluate
    from summeter.engine.progress import progress
    from summeter.engine.roles import check_roles
    from summeter.engine.runs import check_coverage
    from summeter.models.resolve import parse_bindings

    if executor is not None:
        executor.check()
    judges, bound = chosen_evaluators(evaluators, replay), parse_bindings(models or [])
    check_roles(judges, bound)
    loaded = read_data(data, reading)
    if not quiet:
        warn(loaded.warnings)
        if loaded.judgment_sets:
            warn(_training_overlap(loaded, judges, bound))
    folder = out or Path("runs") / loaded.card.name
    if dry_run:
        _dry(loaded, judges, folder, {"models": bound, **options}, output)
        return
    # SIGTERM, which schedulers send, is treated like Ctrl-C. A background job may have inherited an ignored SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    show = progress(quiet=quiet or output.format == "json")
    try:
        run = evaluate(
            loaded, judges, models=bound, out=folder, replay=replay, progress=show, executor=executor, **options
        )
    except KeyboardInterrupt:
        _show_pending_batches(folder)
        raise
    del loaded  # frees memory; the report reads the copy in the run
    print_run(run, output, quiet=quiet, full=full)
    check_coverage(run, min_coverage)
    if (inside := run.by_source()) is not None:
        check_coverage(inside, min_coverage)


def demo(
    out: Annotated[Path, destination("RUN", "Folder of the run.")] = Path("runs/demo"),
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """Score the bundled example with `support`, without a key or a network, and write a report."""
    import webbrowser

    from summeter.cli.example import NAME, bundled, fresh
    from summeter.data.dataset import load
    from summeter.engine.api import evaluate
    from summeter.engine.progress import progress

    loaded = load(bundled()).with_card(name=NAME)
    fresh(out, NAME)
    run = evaluate(loaded, out=out, progress=progress())
    print_run(run)
    if show and not webbrowser.open((run.folder / "report.html").resolve().as_uri()):
        typer.echo("no browser was found", err=True)


def print_run(run: Run, output: Output = TERMINAL, *, quiet: bool = False, full: bool = False) -> None:
    """Write the report of a run, and print its summary in six lines, or its tables in the format of `output`.

    With `full`, tables, signatures and the usage of each model and judge are printed first.
    """
    page = write_report(run)
    if output != TERMINAL:
        from summeter.report import reliabilities, score_parts

        table, pairs = run.summary(), run.pairs()
        output.write(
            score_parts(table, pairs, reliabilities([run])),
            table.to_dicts(),
            title=f"Scores of {run.manifest.data.source}",
            csv=table.to_dicts() or [pair.model_dump() for pair in pairs],
            pairs=[pair.model_dump() for pair in pairs],
            replies=[{**count.model_dump(), "success": count.success} for count in run.totals.replies],
            counts=run.manifest.counts,
            coverage=run.manifest.coverage,
        )
        return
    if full and not quiet:
        show_scores(run)
    show_summary(run, page, quiet=quiet)


def write_report(run: Run) -> Page:
    """Write the report into the folder of a run, and return its content."""
    from summeter.runs.journal import held

    with held(run.folder):  # held during the import, which is slow, because another process could remove the run
        from summeter.data.atomic import write_lines
        from summeter.report import page, render

        content = page([run])
        write_lines(run.folder / "report.html", render(content))
    return content


def show_summary(run: Run, page: Page, *, quiet: bool = False) -> None:
    """Print what was judged, the coverage, the result, the cost, the path of the report and the next command.

    For a resumed run, the number of judgments that it already had is printed too. With `quiet`, only the path is.
    """
    from summeter.cli.spending import run_notes, total
    from summeter.pages.numbers import count
    from summeter.report import outcome

    if not quiet:
        lines = outcome(page)
        if run.reused:
            lines["reused"] = f"{count(run.reused, 'judgment')} of an earlier session"
        lines["cost"] = total(run.manifest)
        if (inside := run.by_source()) is not None:
            lines["cost with the sources alone"] = total(inside.manifest)  # has the calls of both
        for label, text in lines.items():
            typer.echo(wrapped(f"{label}: {text}"))
    typer.echo(f"report: {run.folder / 'report.html'}")
    if quiet:
        return
    folder = quote(str(run.folder))
    if run.manifest.status != "complete":
        following = "repeat the summeter score command to judge what is missing"
    elif not run.manifest.coverage:
        following = "see the section `Not judged` of the report"
    elif any(each.trust is not None for each in page.agreements):
        following = f"summeter trust {folder}"
    else:
        following = f"summeter rescore {folder} --full"
    typer.echo(f"next: {following}")
    for note in run_notes(run):
        typer.echo(wrapped(note), err=True)


def show_scores(run: Run) -> None:
    """Print the tables of systems and of pairs, the agreement with people, unusable replies and usage."""
    from rich.console import Console

    from summeter.cli.spending import run_lines
    from summeter.meta import agreement_elsewhere, agreement_lines, agreement_with_people
    from summeter.records import shown_signatures
    from summeter.report import pairs, ranking, reliabilities, trust

    console, table, compared = Console(), run.summary(), run.pairs()
    if len(table) or not compared:
        ranking(table, console)
    if len(table) and compared:
        console.print()
    pairs(compared, console)
    trust(reliabilities([run]), console)
    for line in (*agreement_lines(agreement_with_people(run, seed=run.seed)), *agreement_elsewhere(run)):
        typer.echo(wrapped(f"with people: {line}"))
    replies = run.totals.replies
    names = [count.judge for count in replies]
    shown = shown_signatures(count.signature for count in replies)
    for count in replies:
        typer.echo(wrapped(count.line(shown[count.signature] if names.count(count.judge) > 1 else count.judge)))
    for line in run_lines(run):
        typer.echo(wrapped(line))
    typer.echo()


def chosen_evaluators(names: list[str] | None, replay: Path | None) -> list[Evaluator]:
    """Return the evaluators given by -e, or else those of the replayed run, or the default."""
    from summeter.engine.plan import chosen
    from summeter.runs.run import read_manifest

    return chosen(names and evaluator_names(names), None if replay is None else read_manifest(replay))


def evaluator_names(evaluators: list[str]) -> list[str]:
    """Split the values of -e at commas, except within [...], where commas separate settings."""
    names: list[str] = []
    for text in evaluators:
        start = depth = 0
        for position, character in enumerate(text):
            depth += (character == "[") - (character == "]")
            if character == "," and not depth:
                names.append(text[start:position])
                start = position + 1
        names.append(text[start:])
    return [name.strip() for name in names if name.strip()]


def _training_overlap(data: Dataset, judges: list[Evaluator], bound: Mapping[str, str]) -> list[str]:
    """Return a warning for each trained judge whose training data contain documents of `data`."""
    from summeter.models.fitted import DataFile
    from summeter.models.local.names import is_local, parse
    from summeter.training.run import fitted_among

    names = [parse(model) for model in bound.values() if is_local(model)]
    paths = [Path(name.path).expanduser() for name in names if name.source == "local"]
    folders = [path if path.is_dir() else path.with_name(path.name.partition("@")[0] or path.name) for path in paths]
    files = [model for judge in judges if isinstance(model := getattr(judge, "model", None), DataFile)]
    counts = dict.fromkeys([*folders, *(file.path.parent for file in files)], 0)
    documents = iter(data.documents.values() if counts else ())
    while texts := [document.text for document in islice(documents, 1000)]:
        for folder in counts:
            counts[folder] += fitted_among(folder, texts)
    return [
        f"{folder} was trained on {count} of these {data.document_count} documents, so its agreement with people is "
        "overestimated here; its card gives figures on held-out documents"
        for folder, count in counts.items()
        if count
    ]


def _show_pending_batches(folder: Path) -> None:
    """Print the batches that the vendor still processes."""
    from summeter.runs.batches import BATCHES, BatchLog

    pending = BatchLog(folder / BATCHES).open
    for batch in pending:
        what = f"batch {batch.name} ({len(batch.keys)} calls to {batch.model}, since {batch.since})"
        typer.echo(f"summeter: {what} continues at the vendor", err=True)
    if pending:
        how = "run the same command with --batch to fetch the replies"
        typer.echo(f"summeter: {how}, or cancel them with: summeter batches cancel {folder}", err=True)


def _dry(data: Dataset, judges: list[Evaluator], folder: Path, options: dict[str, Any], output: Output) -> None:
    from summeter.cli.spending import dry_lines
    from summeter.engine.dry import dry_run

    rows = dry_run(data, judges, out=folder, **options)
    shown = ({**row._asdict(), "reason": row.reason and in_options(row.reason)} for row in rows)
    output.write(dry_lines(rows), shown, study="dry_run")
