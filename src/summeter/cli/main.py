"""The command line: parse, call one public function, print. Errors become one message and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from summeter._version import __version__
from summeter.cli.common import option
from summeter.printable import printable

COMMANDS = {
    "demo": ("score:demo", "Score the bundled example; ends with a report."),
    "score": ("score:score", "Judge every summary in DATA."),
    "rescore": ("reports:rescore", "Rebuild a run's scores and report."),
    "report": ("reports:report", "Write an HTML page of runs and studies."),
    "gate": ("reports:gate", "Exit with 3 where a mean is below its bound."),
    "list": ("show:list_", "List evaluators, models, presets, aspects."),
    "doctor": ("show:doctor", "Show what works here, and how to add the rest."),
    "data": ("data:app", "Check, show, convert, split and sample data."),
    "models": ("models:app", "Convert released checkpoints to local models."),
    "runs": ("runs:app", "List, verify, merge, export and remove runs."),
    "batches": ("batches:app", "List and cancel pending batches."),
    "outputs": ("outputs:app", "Import outputs of earlier experiments."),
    "annotate": ("annotate:app", "Run annotation campaigns."),
    "meta": ("meta:app", "Measure how far judges can be trusted."),
    "advise": ("advise:command", "Recommend a judge for your data."),
    "bench": ("bench:app", "Build a benchmark, or run a published one."),
    "train": ("train:train", "Train a judge on people's labels."),
    "audit": ("audit:app", "Test a judge against prompt injection."),
}
"""Name -> where its command or group is ("module:name" in this package), and what the overview says of it."""


class LazyGroup(TyperGroup):
    """The root command: its overview says what each command is for and imports none of them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported when it is first asked for; None where there is none."""
        del ctx
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            place, about = COMMANDS[cmd_name]
            module, _, attribute = place.partition(":")
            command = getattr(import_module(f"summeter.cli.{module}"), attribute)
            holder = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
            holder.callback()(lambda: None)
            if isinstance(command, typer.Typer):
                holder.add_typer(command, name=cmd_name, help=about)
            else:
                holder.command(cmd_name, short_help=about)(command)
            group: Any = typer.main.get_command(holder)
            self.commands[cmd_name] = group.commands[cmd_name]
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the overview."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


app = typer.Typer(
    name="summeter", cls=LazyGroup, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    rich_markup_mode=None, help="Evaluate summaries, and check how far to trust the evaluator.",
    epilog="Exit codes: 0 ok, 1 internal error, 2 usage or bad input, 3 gate failed, 4 coverage too low, "
           "130 interrupted and resumable.",
)  # fmt: skip

INTERRUPTED = 130
INTERNAL = 1
USAGE = 2
CARRIES_ON = "what was finished is kept, the same command carries on"
NOTHING_WRITTEN = "nothing was written"
_WHOLE_OR_NOT = frozenset({("data",), ("runs", "merge")})
"""How commands begin that write everything at their end, or nothing."""

# What the user can mend by naming another place or changing its rights; anything else is not of their making.
_MENDED = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOENT, errno.EROFS,
     errno.ENAMETOOLONG, errno.ELOOP}
)  # fmt: skip
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"summeter {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_version)
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no hub for data or models: read its cache (as HF_HUB_OFFLINE=1).")
    ] = False,
) -> None:
    del version
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Never shows a traceback for an error of the user's, of the disk's or of a provider."""
    _open_closed()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("TextIO", _Printable(before[0])), cast("TextIO", _Printable(before[1]))
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
    finally:
        sys.stdout, sys.stderr = before
    sys.exit(code)


class _Printable:
    """A stream of text through which no control character reaches a terminal; `terminal` is the stream itself."""

    def __init__(self, stream: TextIO) -> None:
        self.terminal = stream

    def write(self, text: str) -> int:
        self.terminal.write(printable(text, styles=self.terminal.isatty()))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)


def _run(given: list[str]) -> int:
    """Carry out a command; returns its exit code."""
    try:
        _invoke(given)
        sys.stdout.flush()  # here, where a reader that went away can still be met
        code = 0
    except typer.Exit as end:
        code = end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who presses it again wants what happens already
        words = tuple(word for word in given if not word.startswith("-"))
        nothing = any(words[: len(command)] == command for command in _WHOLE_OR_NOT)
        typer.echo(f"summeter: interrupted; {NOTHING_WRITTEN if nothing else CARRIES_ON}", err=True)
        code = INTERRUPTED
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):  # which rich turns into an exit with 1
            raise
        code = _hushed()
    except Exception as error:  # noqa: BLE001 - every error of ours becomes a message, the others are raised again
        from summeter.records import first_error

        code = _explain(first_error(error))
    return code


def _open_closed() -> None:
    """Where standard streams are closed (`>&-`), nothing is read and nothing shown; no file may take their places."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _invoke(arguments: list[str]) -> None:
    # Not `app()`: that makes an exit of its own of Ctrl-C and of a closed pipe.
    command = typer.main.get_command(app)
    with command.make_context("summeter", list(arguments)) as context:
        command.invoke(context)


def _hushed() -> int:
    """The reader of our output went away (`| head`): nothing to say, and no stdout to say it on."""
    with suppress(OSError, ValueError):  # a stdout without a descriptor has nothing to flush either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _explain(error: BaseException) -> int:
    """Print an error we mean to raise, or one of the disk's, and give its exit code; raise any other again."""
    from summeter.records import SummeterError

    if isinstance(error, BrokenPipeError):
        return _hushed()
    if isinstance(error, SummeterError):
        typer.echo(f"summeter: {error.worded(option)}", err=True)
        return error.exit_code
    if isinstance(error, OSError):
        typer.echo(f"summeter: {_of_disk(error)}", err=True)
        return USAGE if error.errno in _MENDED else INTERNAL
    show = getattr(error, "show", None)  # a usage error of the command line's own
    if callable(show):
        if isinstance(message := getattr(error, "message", None), str):
            vars(error)["message"] = message.replace("Value error, ", "")  # Typer puts it before a wrong choice
        show()
        return int(getattr(error, "exit_code", USAGE))
    raise error


def _stdout_is_full() -> bool:
    try:
        os.write(sys.stdout.fileno(), b"\n")  # past the buffer, which a failed flush has emptied
    except (OSError, ValueError) as error:
        return isinstance(error, OSError) and error.errno in _FULL
    return False


def _of_disk(error: OSError) -> str:
    if error.errno in _FULL:
        if error.filename is None and _stdout_is_full():
            return "cannot write standard output: no space left on device"
        return f"no space left on device; {CARRIES_ON}"
    why = error.strerror or str(error) or type(error).__name__
    name = error.filename2 or error.filename
    if not isinstance(name, str | bytes | os.PathLike):
        return why
    path = Path(os.fsdecode(name))
    if error.errno == errno.EFBIG:
        return f"cannot write {path}: it would be larger than files may be here (ulimit -f); {CARRIES_ON}"
    # What is not there is made where there is a folder for it, so it was to be read.
    gone = error.errno == errno.ENOENT and path.parent.is_dir()
    closed = error.errno in {errno.EACCES, errno.EPERM} and os.access(path, os.F_OK) and not os.access(path, os.R_OK)
    return f"cannot {'read' if gone or closed else 'write'} {path}: {why}"
