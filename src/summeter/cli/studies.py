"""Commands generated from the options of studies.

For example, `summeter meta bias` is generated from `BiasOptions`. A command runs the study on each RUN (or on all of
them, if the study takes several) and on the data with human judgments, and prints the result. A command that does more
is written as a function:

    @study_command(app, "reliability", "self_consistency")
    def reliability(given: Given, repeats: Annotated[bool, typer.Option("--repeats")] = False) -> list[Study]: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from summeter.cli.common import (
    READING,
    TABLES,
    Output,
    Reading,
    assignments,
    check_unread,
    keyword,
    output_of,
    output_parameters,
    read_data,
    with_parameters,
    with_ratings,
)
from summeter.data.dataset import Dataset
from summeter.meta.options import LISTED, STUDIES, Choice, CommandLine
from summeter.meta.results import Study
from summeter.records import UsageError
from summeter.runs.run import RunFolder
from summeter.tables import Table

Command = Callable[..., Iterable[Study] | None]
COMMANDS: dict[str, str] = {}
"""Name of the command that runs each study, by name of the study."""


@dataclass
class Given:
    """The arguments of a study command.

    `values` contains the options whose values differ from the defaults. The command can set `parts`, which are then
    shown in place of the tables, signatures and notes of its studies, below `title`. `fields` are added to the JSON
    object.
    """

    study: str
    folders: Sequence[Path]
    gold_source: str | None
    reading: Reading
    values: dict[str, Any]
    output: Output
    parts: Sequence[Table | str] | None = None
    title: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    _rated: dict[str, Dataset] = field(default_factory=dict)
    """The data of the runs with the ratings of --ratings, by hash."""

    @cached_property
    def runs(self) -> list[RunFolder]:
        """The runs given as arguments."""
        return [RunFolder(folder) for folder in self.folders]

    @cached_property
    def gold(self) -> Dataset | None:
        """The data given with --gold, or None."""
        if self.gold_source is None:
            return None
        return read_data(self.gold_source, self.reading)

    def data(self, run: RunFolder | None = None) -> Dataset:
        """Return the data of --gold, or else the copy of the data in a run (default: the first), with --ratings.

        Raises UsageError if there is neither.
        """
        if self.gold is not None:
            return self.gold
        if run is None and not self.runs:
            raise UsageError("give the data with --gold DATA, or a RUN that contains them")
        chosen = run or self.runs[0]
        if not self.has_gold:
            return with_ratings(chosen.data, self.reading)
        data_hash = chosen.manifest.data.hash
        if data_hash not in self._rated:
            self._rated[data_hash] = with_ratings(chosen.data, self.reading)
        return self._rated[data_hash]

    @property
    def has_gold(self) -> bool:
        """Whether the command was given human judgments, with --gold or --ratings."""
        return self.gold_source is not None or self.reading["ratings"] is not None

    def keywords(self, study: str, beside: str) -> dict[str, Any]:
        """Return the options as keyword arguments of a study.

        Raises UsageError if an option is not an option of the study; `beside` names the option that excludes it.
        """
        for key in self.values:
            if key not in STUDIES[study].options.model_fields:
                raise UsageError(f"{self.names[key]} has no effect {beside}; leave it out")
        return self.values

    def studies(self, name: str | None = None, beside: str = "", *more: object) -> list[Study]:
        """Run a study (default: that of the command) on the arguments.

        `more` contains the inputs of the study after the data of --gold.
        """
        entry = STUDIES[name or self.study]
        keywords = self.keywords(entry.name, beside)
        inputs = [each.name for each in entry.inputs]

        def of(run: Any) -> Study:
            before = [] if inputs[0] == "gold" else [run]
            gold = [self.data(run if isinstance(run, RunFolder) else None)] if "gold" in inputs else []
            study: Study = entry.function(*before, *gold, *more, **keywords)
            return study

        if inputs[0] == "runs":
            return [of(self.runs)]
        if self.runs:
            return [of(self.runs[0] if len(self.runs) == 1 else self.runs)]
        if inputs[0] == "gold" or entry.inputs[0].nullable:
            return [of(None)]
        raise UsageError("give a RUN")

    @cached_property
    def names(self) -> dict[str, str]:
        """The name of the command-line option of each keyword."""
        fields = {key: info for entry in STUDIES.values() for key, info in entry.options.ordered().items()}
        return {key: option_names(key, info)[0].partition("/")[0] for key, info in fields.items()}


def study_command(
    app: typer.Typer | None,
    *studies: str,
    name: str | None = None,
    runs: str | None = "RUN...",
    formats: Sequence[str] = TABLES,
) -> Callable[[Command], Callable[..., None]]:
    """Return a decorator that makes a function a command, with the options of all `studies`, and registers it in `app`.

    The command has the name and the description of the first study. If `name` is given, the command has this name and
    the docstring of the function. `runs` is the argument for folders of runs as written in the usage line (RUN, [RUN],
    RUN..., [RUN...]), or None for a command without this argument. `formats` are those of the output. The function is
    called with a `Given` and, as keywords, the options in its own signature, which precede those of the studies. It
    returns the studies to write, or None if it has written its output.
    """
    entries = [STUDIES[name] for name in studies]

    def register(function: Command) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        extra = {
            name: parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in list(inspect.signature(function).parameters.items())[1:]
        }
        fields = {key: info for entry in reversed(entries) for key, info in entry.options.ordered().items()}
        options = {key: shown for key, info in fields.items() if key not in extra and (shown := _option(key, info))}
        parameters = {"runs": _folders(runs)} if runs is not None else {}
        reading = any(each.name == "gold" for entry in entries for each in entry.inputs)
        if reading:
            help_ = "Data with human judgments. Default: the copy in the run."
            parameters["gold"] = keyword("gold", Annotated[str | None, typer.Option(metavar="DATA", help=help_)])
        parameters |= extra | options
        if reading:
            parameters |= {name: keyword(name, kind) for name, kind in READING.items() if name not in parameters}
        parameters |= {each.name: each for each in output_parameters(*formats)}

        def command(**values: Any) -> None:
            folders = values.get("runs") or ()
            given = Given(
                entries[0].name,
                [folders] if isinstance(folders, Path) else folders,
                values.get("gold"),
                {name: values.get(name) for name in READING},
                {
                    key: _value(key, fields[key], values[key])
                    for key, parameter in options.items()
                    if values[key] != parameter.default and values[key] != []
                },
                output_of(values, *formats),
            )
            if runs is not None:
                check_unread(given.reading, gold=given.gold_source)
            results = function(given, **{key: values[key] for key in extra})
            if results is not None:
                given.output.write_study(Study.join(list(results)), given.parts, title=given.title, **given.fields)

        COMMANDS.update(dict.fromkeys(studies, name or entries[0].name))
        command.__doc__ = function.__doc__ if name else entries[0].about
        made = with_parameters(command, parameters.values())
        if app is not None:
            app.command(name or entries[0].name)(made)
        return made

    return register


def _folders(metavar: str) -> inspect.Parameter:
    kind: Any = list[Path] if "..." in metavar else Path
    argument = typer.Argument(
        metavar=metavar.strip("[.]"),
        help="Folders of runs." if "..." in metavar else "Folder of the run.",
        exists=True,
        file_okay=False,
    )
    if metavar.startswith("["):
        return keyword("runs", Annotated[kind | None, argument])
    return keyword("runs", Annotated[kind, argument], inspect.Parameter.empty)


def option_names(name: str, info: FieldInfo) -> tuple[str, ...]:
    """Return the names of a field's option on the command line."""
    declared = next((each.names for each in info.metadata if isinstance(each, CommandLine) and each.names), None)
    return declared or (f"--{name.replace('_', '-')}",)


def _types(info: FieldInfo) -> set[Any]:
    """Return the types that a field accepts, excluding None and type arguments."""
    kind = info.annotation
    members = get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)
    return {get_origin(member) or member for member in members} - {NoneType}


def _option(name: str, info: FieldInfo) -> inspect.Parameter | None:
    """Return the option of a field, or None if the field is not on the command line."""
    shown = next((each for each in info.metadata if isinstance(each, CommandLine)), CommandLine())
    if shown.python_only:
        return None
    kinds = _types(info)
    default = inspect.Parameter.empty if info.is_required() else info.default
    more: dict[str, Any] = {"help": info.description, "metavar": shown.metavar}
    kind: Any
    if tuple in kinds:
        kind = str
    elif kinds & {Sequence, Mapping}:
        kind = list[str]
        if info.default:
            default = [info.default] if isinstance(info.default, str) else list(map(str, info.default))
    elif choice := next((each for each in info.metadata if isinstance(each, Choice)), None):
        kind = Literal[tuple(map(str, choice.values))]
    else:
        (kind,) = kinds
        for each in info.metadata:
            match each:
                case Ge(ge=least):
                    more["min"] = least
                case Le(le=most):
                    more["max"] = most
    names = option_names(name, info)
    if kind is bool and default and "/" not in names[0]:
        names = (f"{names[0]}/--no-{names[0].removeprefix('--')}",)
    if default is None:
        kind = kind | None
    return keyword(name, Annotated[kind, typer.Option(*names, **more)], default)


def _value(name: str, info: FieldInfo, value: Any) -> Any:
    """Convert the value of an option to the value of the keyword."""
    if LISTED in info.metadata:
        return ",".join([value] if isinstance(value, str) else value)
    if Mapping in _types(info):
        metavar = next(each.metavar for each in info.metadata if isinstance(each, CommandLine))
        return assignments(value, option_names(name, info)[0], metavar or "NAME=VALUE", last=True)
    return value
