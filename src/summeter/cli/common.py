"""Options and helpers shared by several commands."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import typer

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset
    from summeter.meta.results import Study
    from summeter.records import Parameter
    from summeter.runs.run import RunFolder
    from summeter.tables import Table

READING: dict[str, Any] = {
    "map_": Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN",
            help="Column of a field. Repeatable. Default: summeter.toml, then usual names.",
        ),
    ],
    "preset": Annotated[
        str | None, typer.Option("--preset", help="Layout of a public dataset (`summeter list presets`).")
    ],
    "input_format": Annotated[
        str | None,
        typer.Option("--input-format", help="jsonl, json, csv, tsv, parquet or xlsx. Default: by the suffix of DATA."),
    ],
    "delimiter": Annotated[
        str | None, typer.Option("--delimiter", metavar="CHAR", help="Separator of CSV cells. Default: detected.")
    ],
    "encoding": Annotated[
        str | None,
        typer.Option("--encoding", metavar="NAME", help="Encoding of text files, as in cp1252. Default: detected."),
    ],
    "ratings": Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Human ratings to join with the data: a row per rating, or per summary."),
    ],
    "on": Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="Columns that identify a summary in --ratings; DATA_COLUMN=COLUMN if the names differ. "
            "Default: doc_id,system.",
        ),
    ],
    "rater": Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="Column of raters in --ratings, or the columns of several raters. "
            "Default: rater, annotator or the like.",
        ),
    ],
    "aspects": Annotated[
        str | None,
        typer.Option(
            metavar="ASPECT,...",
            help="Aspects to read from --ratings; ASPECT=NAME if the file has another name. "
            "Default: all (columns of numbers).",
        ),
    ],
}
"""Options for reading DATA, --gold or the data of a run, by parameter. Each is None by default."""
Reading = Mapping[str, Any]
"""The values of the options in `READING`."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]


def folder_argument(metavar: str, about: str) -> Any:
    """Return the argument for one or several folders that must exist, such as those of runs."""
    return typer.Argument(metavar=metavar, help=about, exists=True, file_okay=False)


OldRun = Annotated[Path, folder_argument("RUN", "Folder of the run.")]


# ---- output ----


def destination(metavar: str, about: str) -> Any:
    """Return the option `-o` of a command that writes one file or folder."""
    return typer.Option("-o", "--output", metavar=metavar, help=about)


SUFFIXES: dict[str, tuple[str, ...]] = {
    "text": (".txt",), "csv": (".csv",), "markdown": (".md",), "latex": (".tex",), "html": (".html", ".htm"),
    "json": (".json",), "junit": (".xml",),
}  # fmt: skip
"""The suffixes of the files in each output format."""
TABLES = ("text", "csv", "markdown", "latex", "html", "json")
"""The output formats of a command that prints tables."""


class Output(NamedTuple):
    """The format of a command's output, and the file to write (None is stdout).

    A command gets it from `output_options`, and calls either `write`, for tables, or `put`, for a text that it has
    formatted itself.
    """

    format: str = "text"
    file: Path | None = None

    @classmethod
    def of(cls, format_: str | None, file: Path | None, *, as_json: bool, formats: Sequence[str] = TABLES) -> Self:
        """Return the output that `--format`, `-o` and `--json` ask for.

        Raises UsageError if two of them name different formats, or if no format has the suffix of the file.
        """
        from summeter.records import UsageError

        if as_json and format_ not in {None, "json"}:
            raise UsageError(f"--json and --format {format_} name two formats; leave one out")
        wanted = "json" if as_json else format_
        if file is None:
            return cls(wanted or formats[0])
        suffix = file.suffix.lower()
        named = next((name for name in formats if suffix in SUFFIXES[name]), None)
        if named is None and (suffix or wanted is None):
            check_suffix(file, *(each for name in formats for each in SUFFIXES[name]))
        if named is not None and wanted not in {None, named}:
            raise UsageError(f"-o {file} is a file for {named}, but the format is {wanted}; leave one out")
        return cls(wanted or named or formats[0], file)

    def write(
        self,
        parts: Iterable[Table | str],
        rows: Iterable[Mapping[str, Any]],
        *,
        title: str | None = None,
        csv: Iterable[Mapping[str, Any]] | None = None,
        **more: Any,
    ) -> None:
        """Print or write tables.

        `parts` are tables and sentences, in order, below an optional title. They are formatted as text (within the
        width of the terminal), Markdown, LaTeX (sentences are comments) or as an HTML page. `rows` are the same results
        for programs. As JSON, they are one object with the fields of `more`; as CSV, they are one table in full
        precision with a column per field, where lists and objects are written as JSON. `csv` replaces `rows` in CSV.

            output.write([table, "aster is best."], study.to_dicts(), notes=list(study.notes))
        """
        from summeter.tables import csv_rows, document

        match self.format:
            case "json":
                content = {"schema": "summeter/1", **more, "rows": list(rows)}
                text = json.dumps(content, ensure_ascii=False, allow_nan=False)
            case "csv":
                text = csv_rows(rows if csv is None else csv)
            case "html":
                from summeter.pages.templates import COMPONENTS, one_file

                values = {"title": title or "Results", "parts": list(parts)}
                text = "\n".join(one_file(COMPONENTS, "tables.html.j2", values))
            case _:
                text = document(parts, self.format, title)
        self.put(text)

    def write_study(self, study: Study, parts: Iterable[Table | str] | None = None, **more: Any) -> None:
        """Print or write a study, or `parts` in place of its tables, signatures and notes (see `write`)."""
        notes = [in_options(note) for note in study.notes]
        parts = type(study)(study.name, study.rows, notes).parts() if parts is None else parts
        self.write(parts, study.to_dicts(), study=study.name, **more, notes=notes)

    def put(self, text: str) -> None:
        """Print a text, or write it to the file, replacing an existing one."""
        from summeter.data.atomic import write_text

        text = text if text.endswith("\n") or not text else f"{text}\n"
        if self.file is None:
            typer.echo(text, nl=False)
        else:
            write_text(self.file, text)
            typer.echo(f"written to {self.file}", err=True)


TERMINAL = Output()
"""Text on stdout."""


def output_options(*formats: str, file: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds `--format`, `-o FILE` and `--json` to a command.

    The command receives them as its parameter `output`. `formats` are the formats of the command, the default first
    (default: those of `TABLES`). `file=False` adds no `-o`, for a command whose `-o` is something else. Options that
    contradict each other are refused before the command runs.

        @app.command()
        @output_options()
        def info(run: OldRun, output: Output) -> None: ...
    """

    return lambda command: with_options(
        command, "output", output_parameters(*formats, file=file), lambda values: output_of(values, *formats)
    )


def keyword(name: str, kind: Any, default: Any = None) -> inspect.Parameter:
    """Return a keyword of a command, whose type is annotated with the option or argument that Typer shows."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def with_parameters(command: Callable[..., None], parameters: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """Return a command that Typer gives these parameters, and that calls `command` with them as keywords."""

    @wraps(command)
    def run(**values: Any) -> None:
        command(**values)

    signature = inspect.Signature(sorted(parameters, key=lambda each: each.kind))
    run.__signature__ = signature  # type: ignore[attr-defined]  # read by Typer
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    return run


def with_options(
    command: Callable[..., None],
    name: str,
    options: Sequence[inspect.Parameter],
    convert: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Return a command with `options` in place of its parameter `name`.

    `convert` turns the values of the options into the value of that parameter, or into further keywords if it is
    variadic (`**options`).
    """
    given = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def run(**values: Any) -> None:
        value = convert({option.name: values.pop(option.name) for option in options})
        command(**values, **(value if given[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}))

    others = [each for each in given.values() if each.name != name]
    return with_parameters(run, [*others, *options])


def output_parameters(*formats: str, file: bool = True) -> list[inspect.Parameter]:
    """Return the parameters of `output_options`."""
    *others, last = formats or TABLES
    about = f"{', '.join(others)} or {last}. Default: {(formats or TABLES)[0]}{', or by the suffix of -o' * file}."
    suffixes = ", ".join(SUFFIXES[name][0] for name in formats or TABLES)
    options = [
        keyword(
            "output_format",
            Annotated[Literal[formats or TABLES] | None, typer.Option("--format", metavar="FORMAT", help=about)],
        ),
        keyword(
            "output_file",
            Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help=f"File to write ({suffixes}).")],
        ),
        keyword("as_json", Annotated[bool, typer.Option("--json", help="Same as --format json.")], default=False),
    ]
    return options if file else [each for each in options if each.name != "output_file"]


def output_of(values: Mapping[str, Any], *formats: str) -> Output:
    """Return the output that the values of `output_parameters` ask for."""
    format_, file = values["output_format"], values.get("output_file")
    return Output.of(format_, file, as_json=values["as_json"], formats=formats or TABLES)


# ---- messages ----

# Parameters whose option has a different name
_OPTIONS = {
    "concurrency": "--max-connections",
    "data": "DATA",
    "evaluators": "-e",
    "format": "--input-format",
    "models": "-m",
    "out": "-o",
    "run": "RUN",
    "runs": "RUN",
}


def option(parameter: Parameter) -> str:
    """Return a parameter as it is written on the command line.

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
    """Return a message with its parameters written as command-line options."""
    from summeter.records import Fault, Message

    message = text.text if isinstance(text, Fault) else text
    return message.worded(option) if isinstance(message, Message) else str(message)


def check_suffix(path: str | Path, *suffixes: str, option: str = "-o") -> None:
    """Raise UsageError if the path of an output file has none of the suffixes."""
    from summeter.records import UsageError

    if str(path).lower().endswith(suffixes):
        return
    *others, last = suffixes
    known = f"{', '.join(others)} or {last}" if others else last
    raise UsageError(f"{option} {path}: this command writes {known} files; use one of these suffixes")


def assignments(
    texts: Sequence[str] | None, option: str, metavar: str = "NAME=VALUE", *, last: bool = False
) -> dict[str, str]:
    """Parse `NAME=VALUE` options into a dict, in the order given.

    Each string is split at the first equals sign, or at the last one with `last=True`. Raises UsageError if a string
    has a different form, or if a name has two values.

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
            raise UsageError(f"{option} gives {name} two values: {values[name]!r} and {value!r}")
    return values


def shares(text: str, option: str) -> dict[str, float]:
    """Parse shares such as `train=.8,test=.2`. Raises UsageError if a share is not a number.

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


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the keyword `reading` of a command, which receives a `Reading`, by the options in `READING`."""
    return with_options(command, "reading", [keyword(*option) for option in READING.items()], lambda values: values)


def read_data(data: str | list[str], reading: Reading, **more: Any) -> Dataset:
    """Load DATA with the options in `READING`; `more` contains further arguments of `load`.

    Warnings about an unreachable hub are printed.
    """
    from summeter.data.dataset import load

    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    columns = assignments(reading["map_"], "--map", "FIELD=COLUMN")
    of_file = {name: reading[name] for name in ("preset", "delimiter", "encoding")}
    dataset = load(data, map=columns, format=reading["input_format"], **of_file, **more)
    for warning in filter(_from_hub, dataset.warnings):
        typer.echo(f"warning: {in_options(warning)}", err=True)
    return with_ratings(dataset, reading)


def with_ratings(data: Dataset, reading: Reading) -> Dataset:
    """Join the file of --ratings, if it is given, with the data, and print what was joined to stderr."""
    from summeter.records import UsageError
    from summeter.tables import wrapped

    joining = {name: reading[name] for name in ("on", "rater", "aspects")}
    if reading["ratings"] is None:
        if given := [name for name, value in joining.items() if value is not None]:
            raise UsageError(f"--{given[0]} has no effect without --ratings; leave it out")
        return data
    joined = data.with_ratings(reading["ratings"], **joining)
    typer.echo(wrapped(str(joined.ratings)), err=True)
    return joined


def gold_data(gold: str | None, reading: Reading, runs: Sequence[RunFolder]) -> Dataset | None:
    """Return the data of --gold, or the data of the first run with the ratings of --ratings, or None without both."""
    check_unread(reading, gold=gold)
    if gold is not None:
        return read_data(gold, reading)
    return with_ratings(runs[0].data, reading) if runs and reading["ratings"] is not None else None


def check_unread(reading: Reading, *, gold: str | None) -> None:
    """Raise UsageError if --gold is not given, but an option for reading its file is."""
    from summeter.records import UsageError

    given = [name for name in ("map_", "preset", "input_format", "delimiter", "encoding") if reading[name] is not None]
    if gold is None and given:
        name = given[0].strip("_").replace("_", "-")
        raise UsageError(f"--{name} has no effect on the data of a run; leave it out, or give a file with --gold")


def _from_hub(warning: object) -> bool:
    """Return whether a warning says that the cache of a hub was used.

    Every command prints such warnings.
    """
    return str(warning).startswith("hf:")


def warn(warnings: Sequence[object], shown: int = 5) -> None:
    """Print the first warnings about the data to stderr, except those that `read_data` prints."""
    warnings = [warning for warning in warnings if not _from_hub(warning)]
    for warning in warnings[:shown]:
        typer.echo(f"warning: {in_options(warning)}", err=True)
    if len(warnings) > shown:
        rest = len(warnings) - shown
        typer.echo(f"warning: ... and {rest} more (`summeter data validate` lists them all)", err=True)
