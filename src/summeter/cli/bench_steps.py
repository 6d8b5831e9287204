"""The commands of single steps of a benchmark: their options are the fields of the steps' settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

if TYPE_CHECKING:
    from summeter.benchmark.step import Manifest, StepSettings

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="The step's folder.")]
Before = Annotated[
    Path, typer.Argument(metavar="DATA", help="The folder of an earlier step, a dataset folder, or a flat file.")
]

_NONE = "none"


def step_options(settings: type[StepSettings], *but: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command an option for each plain field of a step's settings (`but` some), which it takes as `**options`,
    ready for `settings_of`. A field that may be None and usually is not takes `none`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        names = [name for name in settings.model_fields if name not in but]
        parameters = [*own, *(_parameter(settings, name) for name in names)]

        @wraps(command)
        def run(**given: Any) -> None:
            command(**given)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # typer reads it
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameter(settings: type[StepSettings], name: str) -> inspect.Parameter:
    field = settings.model_fields[name]
    kind: Any = field.annotation
    default: Any = field.default
    metavar: str | None = None
    inner = [part for part in get_args(kind) if part is not type(None)]
    optional = get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind)
    if optional and default is not None:
        kind, default, metavar = str, str(default), "NUMBER|none"
    elif not optional and get_origin(kind) is Literal:
        kind, metavar = str, "|".join(map(str, get_args(kind)))
    elif optional:
        kind = inner[0] | None
    help_ = field.description or ("Draws whatever the step draws." if name == "seed" else "")
    flag = f"--{name.replace('_', '-')}"
    option = typer.Option(f"{flag}/--no-{flag[2:]}" if kind is bool else flag, help=help_, metavar=metavar)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )  # fmt: skip


def settings_of(settings: type[StepSettings], values: Mapping[str, Any]) -> Any:
    """The settings from options. Raises UsageError with each option at fault."""
    from pydantic import ValidationError

    from summeter.cli.common import option
    from summeter.records import Parameter, UsageError

    try:
        return settings.model_validate({name: None if value == _NONE else value for name, value in values.items()})
    except ValidationError as error:
        faults = []
        for details in error.errors(include_url=False):
            place = [str(part) for part in details["loc"] if str(part) not in ("function-before", "int", "float")]
            name = option(Parameter(place[0])) if len(place) == 1 else ".".join(place)
            message = details["msg"].removeprefix("Value error, ")
            faults.append(f"{name}: {message}" if name else message)
        raise UsageError("\n".join(dict.fromkeys(faults))) from error


def run_one(name: str, source: Path | None, out: Path, settings: StepSettings, *, as_json: bool) -> None:
    """Do one step, and tell what came out."""
    from summeter.benchmark import run_step
    from summeter.benchmark.chain import step_named
    from summeter.engine.progress import progress

    manifest = run_step(step_named(name), source, out, settings, progress=progress(quiet=as_json))
    tell_manifest(manifest, out, as_json=as_json)


def tell_manifest(manifest: Manifest, out: Path, *, as_json: bool) -> None:
    """What a step did: what went in and came out, what was left out and why, and its tables."""
    if as_json:
        typer.echo(manifest.model_dump_json(by_alias=True))
        return
    from summeter.tables import Table

    counts = "; ".join(
        f"{word}: " + ", ".join(f"{number:,} {name}" for name, number in each.items())
        for word, each in (("in", manifest.counts_in), ("out", manifest.counts_out))
        if each
    )
    typer.echo(f"{manifest.step}: {counts}")
    for reason, number in manifest.dropped.items():
        typer.echo(f"left out: {number:,} {reason}")
    for name, rows in manifest.details.items():
        if isinstance(rows, dict) and rows and all(isinstance(value, int | float) for value in rows.values()):
            typer.echo(f"{name.replace('_', ' ')}: " + ", ".join(f"{value:,} {key}" for key, value in rows.items()))
        elif isinstance(rows, list | tuple) and rows and all(isinstance(row, dict) for row in rows):
            heads = list(rows[0])
            lines = [["" if row.get(head) is None else str(row[head]) for head in heads] for row in rows]
            align = "".join("r" if isinstance(rows[0][head], int | float) else "l" for head in heads)
            typer.echo(Table.of(heads, lines, align=align, title=name).text())
    typer.echo(f"written to {out}")


def by_name(texts: list[str] | None, names: list[str], what: str) -> dict[str, str]:
    """`[NAME=]VALUE` options by source: a value without a name holds for all. Raises UsageError for an unknown name.

    >>> by_name(["news", "calls=talk"], ["cnn", "calls"], "--domain")
    {'cnn': 'news', 'calls': 'talk'}
    """
    from summeter.records import UsageError, nearest

    values: dict[str, str] = {}
    named: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or (name not in names and "://" in name):  # an address may hold an equals sign
            values |= dict.fromkeys(names, text)
        elif name in names:
            named[name] = value
        else:
            raise UsageError(
                f"{what} {text!r}: there is no source {name!r}{nearest(name, names)}; there are: {', '.join(names)}"
            )
    given = values | named
    return {name: given[name] for name in names if name in given}
