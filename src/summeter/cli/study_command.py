"""What the commands of `summeter meta` share: their common options, how runs and data are read, how studies print.

A command names the shared options that it takes, and gets their values as one `Given`:

    @study_command(app, f"runs gold aspect judge by {PEOPLE} {BOOTSTRAP}")
    def stability(given: Given, separately: Separately = False) -> list[Study]:
        return given.each(lambda run, gold: study(run, gold, together=not separately, **given.keywords))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_type_hints

import typer

from summeter.choices import Tie
from summeter.cli.common import AsJson, Format, Map, Preset, assignments, read_data
from summeter.cli.studies import print_studies

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset
    from summeter.meta.results import Study
    from summeter.meta.selection import SelectionArgs
    from summeter.runs.run import RunFolder


class Shared(NamedTuple):
    """An option of several commands: its type, its default and how typer shows it."""

    kind: Any
    default: Any
    option: Any


def _text(help_: str, **more: Any) -> Shared:
    return Shared(str | None, None, typer.Option(help=help_, **more))


def _texts(help_: str, **more: Any) -> Shared:
    return Shared(list[str] | None, None, typer.Option(help=help_, **more))


def _folders(metavar: str, help_: str) -> Any:
    return typer.Argument(metavar=metavar, help=help_, exists=True, file_okay=False)


_REQUIRED = inspect.Parameter.empty
SHARED: Mapping[str, Shared] = {
    "runs": Shared(list[Path], _REQUIRED, _folders("RUN...", "Folders of runs.")),
    "run": Shared(Path, _REQUIRED, _folders("RUN", "The folder of a run.")),
    "some_run": Shared(Path | None, None, _folders("[RUN]", "The folder of a run.")),
    "some_runs": Shared(list[Path] | None, None, _folders("[RUN...]", "Folders of runs.")),
    "gold": _text("The data with people's judgments; default: the run's own copy.", metavar="DATA"),
    "aspect": _texts("An aspect, or the judge's and people's. Repeatable.", metavar="A|JUDGE:GOLD"),
    "judge": _text("Only this judge (name or signature)."),
    "by": _text("Also a row for each value: domain, category, system, split...", metavar="COLUMN"),
    "judgment_set": Shared(
        str, "human.raw", typer.Option("--set", metavar="NAME", help="The judgment set of the data.")
    ),
    "source": _text(
        "Which of people's judgments: sentence_labels, key_fact_labels, conciseness_labels, alignment, ratings... "
        "Default: labels of units, else ratings, else overall."
    ),
    "merge": Shared(
        str,
        "auto",
        typer.Option(
            help="How annotators are merged: auto (majority of labels, mean of ratings), mean, majority, "
            "mode_else_mean, each; or the id of one annotator."
        ),
    ),
    "tie": Shared(
        Tie,
        Tie.FINESURE,
        typer.Option(
            help="What a majority does with a tie; finesure: a sentence is then supported, anything else absent.",
        ),
    ),
    "min_votes": Shared(int, 1, typer.Option(min=1, help="Leave out what has fewer votes.")),
    "gold_at_least": Shared(
        float | None, None, typer.Option(help="People's values from this one on count as yes, others as no.")
    ),
    "min_items": Shared(int, 1, typer.Option(min=1, help="Leave out systems or documents with fewer items.")),
    "resamples": Shared(
        int, 1000, typer.Option(min=0, help="Resamples of the bootstrap by document; 0 for no intervals.")
    ),
    "seed": Shared(int, 0, typer.Option(help="Random seed of the bootstrap.")),
    "family": _texts("Who made a system. Repeatable.", metavar="SYSTEM=NAME"),
    "judge_family": _texts(
        "Who made a judge; default: the family whose name stands in its model's name. Repeatable.",
        metavar="JUDGE=NAME",
    ),
    "map_": Shared(get_args(Map)[0], None, get_args(Map)[1]),
    "preset": Shared(get_args(Preset)[0], None, get_args(Preset)[1]),
    "format_": Shared(get_args(Format)[0], None, get_args(Format)[1]),
    "as_json": Shared(get_args(AsJson)[0], False, get_args(AsJson)[1]),
}
PEOPLE = "judgment_set source merge tie min_votes"
"""Options that choose and merge people's judgments."""
BOOTSTRAP = "resamples seed"
MAKERS = "family judge_family"
"""Options that say who made systems and judges (`Given.makers`)."""
DATA = "map_ preset format_"
"""Options for how data are read; they come with `gold`."""
SELECTION = f"aspect judge by {PEOPLE} gold_at_least min_items".split()
"""Options that the studies take as keywords of the same names."""
_FIRST = ("runs", "run", "some_runs", "some_run", "gold")

Command = Callable[..., "Iterable[Study]"]


@dataclass
class Given:
    """The values of the shared options of a command, and what it prints besides its studies.

    `lines` come after the tables; `tables=False` leaves these out. Neither is printed with --json.
    """

    options: Mapping[str, Any]
    tables: bool = True
    lines: list[str] = field(default_factory=list)

    @property
    def keywords(self) -> dict[str, Any]:
        """The options that studies take as keywords: those of the selection, resamples and seed."""
        return {name: self.options[name] for name in (*SELECTION, *BOOTSTRAP.split()) if name in self.options}

    def only(self, names: str, beside: str) -> dict[str, Any]:
        """The keywords of these names. UsageError for another option that was given: `beside` has no use for it."""
        from summeter.records import Parameter, UsageError

        for name, value in self.keywords.items():
            if name not in names.split() and value != SHARED[name].default:
                raise UsageError(Parameter(name), f" does nothing with {beside}; leave it out")
        return {name: value for name, value in self.keywords.items() if name in names.split()}

    @property
    def selection(self) -> SelectionArgs:
        """The keywords that choose what is studied."""
        return {name: self.options[name] for name in SELECTION if name in self.options}  # type: ignore[return-value]  # names of a TypedDict

    @property
    def makers(self) -> dict[str, Any]:
        """The keywords that say who made systems and judges."""
        return {
            "families": assignments(self.options["family"], "--family", last=True),
            "judge_families": assignments(self.options["judge_family"], "--judge-family", last=True),
        }

    @cached_property
    def runs(self) -> list[RunFolder]:
        """The runs given."""
        from summeter.runs.run import RunFolder

        folder = self.options.get("run") or self.options.get("some_run")
        folders = self.options.get("runs") or self.options.get("some_runs") or ()
        return [RunFolder(path) for path in ([folder] if folder else folders)]

    @cached_property
    def gold(self) -> Dataset | None:
        """The data given with --gold."""
        if self.options["gold"] is None:
            return None
        return read_data(*(self.options[name] for name in ("gold", *DATA.split())))

    def data(self, run: RunFolder | None = None) -> Dataset:
        """The data given, else the run's (by default the first run's) own copy of what it judged. UsageError."""
        from summeter.records import UsageError

        if self.gold is not None:
            return self.gold
        if run is None and not self.runs:
            raise UsageError("give the data with --gold DATA, or a RUN that has them")
        return (run or self.runs[0]).data

    def each(self, study: Callable[[RunFolder, Dataset], Study]) -> list[Study]:
        """A study of each run and its gold; of several runs each row says which one it is of."""
        return self.each_run(lambda run: study(run, self.data(run)))

    def each_run(self, study: Callable[[RunFolder], Study]) -> list[Study]:
        """The same where there is no gold."""
        from summeter.records import UsageError

        if not self.runs:
            raise UsageError("give a RUN")
        studies = [study(run) for run in self.runs]
        if len(studies) == 1:
            return studies
        return [_of_run(study, run) for study, run in zip(studies, self.runs, strict=True)]


def _of_run(study: Study, run: RunFolder) -> Study:
    rows = [row.model_copy(update={"details": {**row.details, "run": str(run.folder)}}) for row in study]
    return type(study)(study.name, rows, study.notes)


def study_command(app: typer.Typer, shared: str, *, name: str | None = None) -> Callable[[Command], Command]:
    """Make a function a command of `app` that takes these shared options, as one `Given`, besides its own.

    An option of the function's own goes before a shared one of the same name. `gold` brings the options for reading
    data, and every command has --json.
    """

    def register(function: Command) -> Command:
        hints = get_type_hints(_Annotated(function), function.__globals__, include_extras=True)
        own = {
            parameter.name: parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in list(inspect.signature(function).parameters.values())[1:]
        }
        wanted = [*shared.split(), *(DATA.split() if "gold" in shared.split() else ()), "as_json"]
        common = {key: SHARED[key] for key in wanted if key not in own}
        parameters = {
            key: inspect.Parameter(
                key,
                inspect.Parameter.KEYWORD_ONLY,
                default=shared.default,
                annotation=Annotated[shared.kind, shared.option],
            )
            for key, shared in common.items()
        }
        parameters = {**{key: parameters.pop(key) for key in _FIRST if key in parameters}, **own, **parameters}

        def command(**values: Any) -> None:
            given = Given({key: values[key] for key in values if key in common})
            studies = list(function(given, **{key: values[key] for key in own}))
            as_json = values["as_json"]
            if given.tables or as_json:
                print_studies(studies, as_json=as_json)
            for line in given.lines if not as_json else ():
                typer.echo(line)

        command.__name__ = function.__name__
        command.__doc__ = function.__doc__
        command.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
        command.__annotations__ = {key: parameter.annotation for key, parameter in parameters.items()}
        app.command(name)(command)
        return function

    return register


class _Annotated:
    """The annotations of a function's parameters, without that of what it returns."""

    def __init__(self, function: Command) -> None:
        self.__annotations__ = {key: hint for key, hint in function.__annotations__.items() if key != "return"}


def two_names(text: str | None) -> tuple[str, str] | None:
    """`A,B` as two names."""
    from summeter.records import UsageError

    if text is None:
        return None
    first, comma, second = (part.strip() for part in text.partition(","))
    if not comma or not first or not second or "," in second:
        raise UsageError(f"--judges takes two names, A,B, not {text!r}")
    return first, second


def numbers(text: str | None, option: str = "--scale", kind: Callable[[str], float] = float) -> tuple[Any, ...]:
    """`1,2,3` as numbers in order."""
    from summeter.records import UsageError

    try:
        return tuple(kind(part) for part in text.split(",") if part.strip()) if text else ()
    except ValueError as error:
        what = "whole numbers such as 250,500" if kind is int else "numbers such as 1,2,3"
        raise UsageError(f"{option} {text!r} is not a list of {what}") from error
