"""`summeter score` and `summeter demo`: judge summaries."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.common import AsJson, Reading, in_options, print_json, print_run, read_data, reading_options, warn
from summeter.cli.executor_options import CpusPerWorker, Executor, GpusPerWorker, RayAddress, Workers, executor_of
from summeter.cli.run_options import run_options

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset
    from summeter.evaluators.base import Evaluator

DEFAULT = ("support", "abstractiveness")

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
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="RUN", help="Folder of the run; an existing run is resumed. "
                              "Default: runs/NAME-OF-DATA.")
]  # fmt: skip
Replay = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Use the stored replies of this run instead of a network and a key."),
]
Coverage = Annotated[
    float, typer.Option("--min-coverage", min=0, max=1, help="Exit with code 4 if fewer judgments are usable.")
]


@run_options()
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
    out: Output = None,
    *,
    reading: Reading,
    replay: Replay = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost without sending data.")
    ] = False,
    min_coverage: Coverage = 0.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress and no table.")] = False,
    as_json: AsJson = False,
    executor: Executor = None,
    workers: Workers = None,
    ray_address: RayAddress = None,
    cpus_per_worker: CpusPerWorker = None,
    gpus_per_worker: GpusPerWorker = None,
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

    where = executor_of(executor, workers, ray_address, cpus_per_worker, gpus_per_worker)
    if where is not None:
        where.check()
    judges, bound = chosen_evaluators(evaluators, replay), parse_bindings(models or [])
    check_roles(judges, bound)
    loaded = read_data(data, reading)
    if not quiet:
        warn(loaded.warnings)
        if loaded.judgment_sets:
            warn(_training_overlap(loaded, judges, bound))
    folder = out or Path("runs") / loaded.card.name
    if dry_run:
        _dry(loaded, judges, folder, {"models": bound, **options}, as_json=as_json)
        return
    # SIGTERM, which schedulers send, is treated like Ctrl-C. A background job may have inherited an ignored SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    show = progress(quiet=quiet or as_json)
    with _pending_batches_shown(folder):
        run = evaluate(
            loaded, judges, models=bound, out=folder, replay=replay, progress=show, executor=where, **options
        )
    del loaded  # frees memory; the report reads the copy in the run
    print_run(run, as_json=as_json, quiet=quiet)
    if not (quiet or as_json):
        from summeter.cli.spending import run_lines

        for line in run_lines(run):
            typer.echo(line)
    check_coverage(run, min_coverage)


def demo(
    out: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="Folder of the run.")] = Path("runs/demo"),
) -> None:
    """Score the bundled example with `support`, without a key or a network, and write a report."""
    from summeter.cli.example import NAME, bundled, fresh
    from summeter.data.dataset import load
    from summeter.engine.api import evaluate
    from summeter.engine.progress import progress

    loaded = load(bundled()).with_card(name=NAME)
    fresh(out, NAME)
    print_run(evaluate(loaded, DEFAULT, out=out, progress=progress()))


def chosen_evaluators(names: list[str] | None, replay: Path | None) -> list[Evaluator]:
    """Return the evaluators given by -e, or else those of the replayed run, or the default."""
    from summeter.engine.runs import Run
    from summeter.evaluators.catalog import build

    if names is None and replay is not None:
        return Run(replay).specs
    return [build(name) for name in evaluator_names(names)]


def evaluator_names(evaluators: list[str] | None) -> list[str]:
    """Split the values of -e at commas, except within [...], where commas separate settings."""
    names: list[str] = []
    for text in evaluators or DEFAULT:
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


@contextmanager
def _pending_batches_shown(folder: Path) -> Iterator[None]:
    """Print the batches that the vendor still processes if Ctrl-C is pressed in this context."""
    try:
        yield
    except KeyboardInterrupt:
        from summeter.runs.batches import BATCHES, BatchLog, waiting_words

        lines = waiting_words(BatchLog(folder / BATCHES).open)
        for line in lines:
            typer.echo(f"summeter: {line}", err=True)
        if lines:
            how = "run the same command with --batch to fetch the replies"
            typer.echo(f"summeter: {how}, or cancel them with: summeter batches cancel {folder}", err=True)
        raise


def _dry(data: Dataset, judges: list[Evaluator], folder: Path, options: dict[str, Any], *, as_json: bool) -> None:
    from summeter.cli.spending import dry_lines
    from summeter.engine.dry import dry_run

    rows = dry_run(data, judges, out=folder, **options)
    if as_json:
        print_json(
            ({**row._asdict(), "reason": row.reason and in_options(row.reason)} for row in rows), study="dry_run"
        )
        return
    for line in dry_lines(rows):
        typer.echo(line)
