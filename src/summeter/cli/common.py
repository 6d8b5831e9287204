"""Options and small helpers that several commands share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset
    from summeter.engine.runs import Run
    from summeter.meta.results import Study
    from summeter.records import Parameter

Map = Annotated[
    list[str] | None, typer.Option("--map", metavar="FIELD=COLUMN", help="Where a field stands in the data.")
]
Preset = Annotated[str | None, typer.Option("--preset", help="A known layout: see `summeter list presets`.")]
Format = Annotated[
    str | None, typer.Option("--format", help="jsonl, json, csv, tsv, parquet or xlsx; default: by the file's name.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
OldRun = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", exists=True, file_okay=False)]
Out = Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The run's folder.")]


# Parameters whose option is not `--name`.
_OPTIONS = {
    "concurrency": "--max-connections",
    "data": "DATA",
    "evaluators": "-e",
    "models": "-m",
    "out": "-o",
    "run": "RUN",
}


def option(parameter: Parameter) -> str:
    """A parameter as the command line spells it.

    >>> from summeter.records import Parameter
    >>> option(Parameter("models", "judge=openai/gpt-4o")), option(Parameter("force", "True"))
    ('-m judge=openai/gpt-4o', '--force')
    >>> option(Parameter("min_votes", "...")), option(Parameter("aspect", "'JUDGE:GOLD'"))
    ('--min-votes', '--aspect JUDGE:GOLD')
    """
    name = _OPTIONS.get(parameter.name) or f"--{parameter.name.replace('_', '-')}"
    value = (parameter.value or "True").strip("'")
    return name if value in {"True", "..."} else f"{name} {'none' if value == 'None' else value}"


def in_options(text: object) -> str:
    """A text for the terminal: parameters in it are named as options."""
    from summeter.records import Fault, Message

    message = text.text if isinstance(text, Fault) else text
    return message.worded(option) if isinstance(message, Message) else str(message)


def check_suffix(path: str | Path, *suffixes: str) -> None:
    """Raise UsageError unless a file to write has the name of what is written there."""
    from summeter.records import UsageError

    if str(path).lower().endswith(suffixes):
        return
    *others, last = suffixes
    known = f"{', '.join(others)} or {last}" if others else last
    raise UsageError(f"-o {path}: this command writes {known} files; give such a name")


def print_json(rows: Iterable[Mapping[str, Any]], **more: Any) -> None:
    """One JSON object with the rows of a study or list."""
    typer.echo(json.dumps({"schema": "summeter/1", **more, "rows": list(rows)}, ensure_ascii=False, allow_nan=False))


def print_study_json(study: Study, **more: Any) -> None:
    """One JSON object with the rows and the notes of a study."""
    print_json(study.to_dicts(), study=study.name, **more, notes=[in_options(note) for note in study.notes])


def tell(run: Run, *, as_json: bool = False, quiet: bool = False) -> None:
    """Write a run's report; print its means and preferences, as tables or as one JSON object."""
    from summeter.runs.journal import held

    with held(run.folder):
        from summeter.report import html  # importing it takes time in which another process might remove the run

        page = html([run], run.folder / "report.html")
    if as_json:
        pairs = [row.model_dump() for row in run.pairs()]
        rows = run.summary().to_dicts()
        replies = [{**count.model_dump(), "success": count.success} for count in run.totals.replies]
        print_json(rows, pairs=pairs, replies=replies, counts=run.manifest.counts, coverage=run.manifest.coverage)
        return
    if not quiet:
        show_scores(run)
    typer.echo(f"report: {page}")


def show_scores(run: Run) -> None:
    """Print the table of systems, then that of pairs; of a run that only compares, the latter alone."""
    from rich.console import Console

    from summeter.meta import agreement_lines, agreement_with_people
    from summeter.records import shown_signatures
    from summeter.report import pairs, ranking, reliabilities, trust

    console, table, compared = Console(), run.summary(), run.pairs()
    if len(table) or not compared:
        ranking(table, console)
    if len(table) and compared:
        console.print()
    pairs(compared, console)
    trust(reliabilities([run]), console)
    for line in agreement_lines(agreement_with_people(run, seed=run.seed)):
        typer.echo(f"with people: {line}")
    if (cut := run.totals.truncated).judgments:
        typer.echo(f"{cut}.")
    replies = run.totals.replies
    names = [count.judge for count in replies]
    shown = shown_signatures(count.signature for count in replies)
    for count in replies:
        typer.echo(count.line(shown[count.signature] if names.count(count.judge) > 1 else count.judge))


def assignments(
    texts: Sequence[str] | None, option: str, metavar: str = "NAME=VALUE", *, last: bool = False
) -> dict[str, str]:
    """`NAME=VALUE` options as a dict, in the order given. The first equals sign counts, or the `last`. UsageError for
    what is not so written, and for a name with two values.

    >>> assignments(["gpt=4=openai", "t5=google"], "--family", last=True)
    {'gpt=4': 'openai', 't5': 'google'}
    """
    from summeter.records import UsageError

    values: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in (text.rpartition("=") if last else text.partition("=")))
        if not equals or not name or not value:
            raise UsageError(f"{option} {text!r} is not {metavar}")
        if values.setdefault(name, value) != value:
            raise UsageError(f"{option} names {name} twice, as {values[name]!r} and as {value!r}")
    return values


def shares(text: str, option: str) -> dict[str, float]:
    """`train=.8,test=.2` as shares by name. UsageError for what is no number.

    >>> shares("train=.8,test=.2", "--parts")
    {'train': 0.8, 'test': 0.2}
    """
    from summeter.records import UsageError

    values: dict[str, float] = {}
    for name, value in assignments(text.split(","), option, "NAME=SHARE").items():
        try:
            values[name] = float(value)
        except ValueError:
            raise UsageError(f"{option}: the share of {name!r} is {value!r}, not a number") from None
    return values


def mapping(pairs: list[str] | None) -> dict[str, str]:
    """`--map field=column` options as a dict."""
    return assignments(pairs, "--map", "FIELD=COLUMN")


def read_data(
    data: str | list[str], map_: list[str] | None, preset: str | None, format_: str | None, **more: Any
) -> Dataset:
    """The dataset that the options for reading data describe."""
    from summeter.data.dataset import load

    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    dataset = load(data, map=mapping(map_), preset=preset, format=format_, **more)
    for warning in filter(_of_hub, dataset.warnings):
        typer.echo(f"warning: {in_options(warning)}", err=True)
    return dataset


def _of_hub(warning: object) -> bool:
    """Whether a warning is of a hub: that its cache answered is said at once, whatever the command."""
    return str(warning).startswith("hf:")


def warn(warnings: Sequence[object], shown: int = 5) -> None:
    """Warnings about the data on stderr, the first few in full; `read_data` has told those of a hub."""
    warnings = [warning for warning in warnings if not _of_hub(warning)]
    for warning in warnings[:shown]:
        typer.echo(f"warning: {in_options(warning)}", err=True)
    if len(warnings) > shown:
        rest = len(warnings) - shown
        typer.echo(f"warning: ... and {rest} more (`summeter data validate` lists them all)", err=True)
