"""Entry point of the command line.

It parses the arguments, runs one command, and turns errors into a message and an exit code.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from typer.core import TyperGroup

from summeter._version import __version__
from summeter.cli.common import in_options, option
from summeter.printable import printable

GROUPS = {
    "Evaluate summaries": {
        "demo": ("score:demo", "Score the bundled example and write a report."),
        "score": ("score:score", "Judge every summary in DATA."),
        "report": ("reports:report", "Write an HTML page of runs and studies."),
        "view": ("view:view", "Serve pages of large runs, or of many, on this machine."),
        "plot": ("plot:plot", "Draw a figure of runs as SVG, PDF or PNG."),
        "table": ("table:command", "Print a table of a paper, computed from your runs."),
        "compare": ("compare:compare", "Show what changed between two runs."),
        "gate": ("gate:gate", "Exit with 3 if a mean is below its bound, or dropped."),
        "rescore": ("reports:rescore", "Rebuild a run's scores and report."),
        "outputs": ("outputs:app", "Import replies and scores of earlier experiments."),
        "calls": ("calls:app", "Show and export a run's prompts and replies."),
        "batches": ("batches:app", "List and cancel batches pending at a vendor."),
    },
    "Judge the judges": {
        "trust": ("trust:trust", "Say how far a judge can be trusted, and why."),
        "meta": ("meta:app", "Compare judges with people, and with each other."),
        "advise": ("advise:advise", "Recommend a judge for your data."),
        "audit": ("audit:app", "Test a judge with injected prompts and planted errors."),
        "train": ("train:train", "Train a judge on human labels."),
    },
    "Annotate": {
        "annotate": ("annotate:app", "Run annotation campaigns."),
    },
    "Build benchmarks": {
        "bench": ("bench:app", "Build a benchmark, or run a published one."),
        "data": ("data:app", "Check, show, convert, split and sample data."),
    },
    "Look": {
        "list": ("show:list_", "List evaluators, models, presets, datasets, aspects."),
        "runs": ("runs:app", "List, verify, merge, export and remove runs."),
        "models": ("models:app", "List models of judges and closing dates; convert."),
        "doctor": ("show:doctor", "Show what works on this machine and what is missing."),
        "help": ("main:help_", "Show the options of a command."),
        "version": ("main:version", "Print the version."),
    },
}
"""For each heading of the overview, the commands with their `module:attribute` in this package and a description."""

COMMANDS = {name: entry for commands in GROUPS.values() for name, entry in commands.items()}


class LazyGroup(TyperGroup):
    """The root command, whose overview does not import the commands that it lists."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, which is imported on first use, or None if there is no such command."""
        del ctx
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            location, about = COMMANDS[cmd_name]
            module, _, attribute = location.partition(":")
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

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command and its arguments.

        Raises UsageError, which names the group, for a command of a group that is given without the group.
        """
        if (name := args[0]) not in COMMANDS:
            groups = [group for group in COMMANDS if name in getattr(self.get_command(ctx, group), "commands", ())]
            if groups:
                from summeter.records import UsageError

                known = " or ".join(f"`summeter {group} {name}`" for group in groups)
                raise UsageError(f"there is no command {name!r}. Did you mean {known}?")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands and options that start with `incomplete`, without importing the commands."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from typer.core import CompletionItem  # type: ignore[attr-defined]  # it has no public name

        return [
            CompletionItem(name, help=about) for name, (_, about) in COMMANDS.items() if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under the headings of `GROUPS`."""
        del ctx
        width = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), about) for name, (_, about) in commands.items()])


app = typer.Typer(
    name="summeter", cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Evaluate summaries, and check how far to trust the evaluator.",
    epilog="Exit codes: 0 ok, 1 internal error, 2 usage or bad input, 3 gate failed, 4 coverage too low, "
           "130 interrupted and resumable.",
)  # fmt: skip

INTERRUPTED = 130
INTERNAL = 1
USAGE = 2
RESUMABLE = "; finished work is saved; run the same command to resume"
_STOPPED = {
    **dict.fromkeys(("score", "audit", "bench run", "bench protocol", "bench leaderboard", "train"), RESUMABLE),
    **dict.fromkeys(("data", "report", "runs merge"), "; nothing was written"),
}
"""What remains of an interrupted command, by its first words: those that resume, and those that write at the end."""

# Errors that a user can fix with a different path or different permissions
_USER_ERRORS = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOENT, errno.EROFS,
     errno.ENAMETOOLONG, errno.ELOOP}
)  # fmt: skip
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def _version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


def version() -> None:
    """Print the version."""
    typer.echo(f"summeter {__version__}")


def help_(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="Name of the command, such as `meta correlate`.")
    ] = None,
) -> None:
    """Show the options of a command, or the overview of all commands."""
    raise typer.Exit(_run([*(command or ()), "--help"]))


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use only cached data and models of hubs (as HF_HUB_OFFLINE=1).")
    ] = False,
) -> None:
    del version
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    Errors made by users, disk errors and errors from providers never show a traceback.
    """
    # A file that is opened must not get the number of a standard stream that the caller has closed (`>&-`).
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("TextIO", _Printable(before[0])), cast("TextIO", _Printable(before[1]))
    log, handler = logging.getLogger("summeter"), _Warnings(logging.WARNING)
    log.addHandler(handler)
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
    finally:
        log.removeHandler(handler)
        sys.stdout, sys.stderr = before
    sys.exit(code)


class _Warnings(logging.Handler):
    """Prints logged warnings to stderr, with parameters written as options."""

    def emit(self, record: logging.LogRecord) -> None:
        from summeter.tables import wrapped

        text = self.format(record) if record.args or record.exc_info else in_options(record.msg)
        typer.echo(text if record.exc_info else wrapped(text), err=True)


class _Printable:
    """A text stream that escapes control characters. `terminal` is the underlying stream."""

    def __init__(self, stream: TextIO) -> None:
        self.terminal = stream

    def write(self, text: str) -> int:
        self.terminal.write(printable(text, styles=self.terminal.isatty()))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)


def _run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    try:
        if "_SUMMETER_COMPLETE" in os.environ:  # set by the completion script of the shell
            app(prog_name="summeter")
        # Not `app()`, which turns Ctrl-C and a closed pipe into exits of its own.
        command = typer.main.get_command(app)
        with command.make_context("summeter", list(arguments)) as context:
            command.invoke(context)
        sys.stdout.flush()  # raises BrokenPipeError here, where it is handled
        return 0
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the message
        typer.echo(f"summeter: interrupted{_stopped(arguments)}", err=True)
        return INTERRUPTED
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):  # rich turns a closed pipe into exit code 1
            raise
        return _discard_output()
    except Exception as error:  # noqa: BLE001 - expected errors become a message, the others are raised again
        from summeter.records import first_error

        return _explain(first_error(error), _stopped(arguments))


def _stopped(arguments: Sequence[str]) -> str:
    """Return what remains of a command that was interrupted, as the end of a message."""
    words = " ".join(word for word in arguments if not word.startswith("-"))
    return next((text for command, text in _STOPPED.items() if f"{words} ".startswith(f"{command} ")), "")


def _discard_output() -> int:
    """Redirect stdout to /dev/null, and return exit code 0.

    This is done after a reader such as `| head` has closed the pipe.
    """
    with suppress(OSError, ValueError):  # a stdout without a file descriptor has nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _explain(error: BaseException, stopped: str) -> int:
    """Print an expected error and return the exit code. Any other error is raised again.

    `stopped` is what remains of the command, for a disk that is full.
    """
    from summeter.records import SummeterError

    if isinstance(error, BrokenPipeError):
        return _discard_output()
    if isinstance(error, SummeterError):
        from summeter.tables import wrapped

        text = f"summeter: {error.worded(option)}"
        typer.echo(wrapped(text) if sys.stderr.isatty() else text, err=True)
        return error.exit_code
    if isinstance(error, OSError):
        typer.echo(f"summeter: {_disk_message(error, stopped)}", err=True)
        return USAGE if error.errno in _USER_ERRORS else INTERNAL
    show = getattr(error, "show", None)  # a usage error that Typer raised
    if callable(show):
        if isinstance(message := getattr(error, "message", None), str):
            near = " or ".join(vars(error).pop("possibilities", None) or ())  # options like an unknown one
            question = f". Did you mean {near}?" if near else ""
            vars(error)["message"] = (
                message.replace("Value error, ", "") + question
            )  # Typer's prefix for a wrong choice
            vars(error)["possibilities"] = ()
        show()
        return int(getattr(error, "exit_code", USAGE))
    raise error


def _disk_message(error: OSError, stopped: str) -> str:
    """Return the message for an error of the file system."""
    if error.errno in _DISK_FULL:
        if error.filename is None:
            try:
                os.write(sys.stdout.fileno(), b"\n")  # bypasses the buffer, which a failed flush has emptied
            except OSError as again:
                if again.errno in _DISK_FULL:
                    return "cannot write standard output: no space left on device"
            except ValueError:  # stdout is closed already
                pass
        return f"no space left on device{stopped}"
    why = error.strerror or str(error) or type(error).__name__
    name = error.filename2 or error.filename
    if not isinstance(name, str | bytes | os.PathLike):
        return why
    path = Path(os.fsdecode(name))
    if error.errno == errno.EFBIG:
        return f"cannot write {path}: the file would exceed the size limit (ulimit -f){stopped}"
    # A missing file in an existing folder was to be read, because a file to write would have been created.
    missing = error.errno == errno.ENOENT and path.parent.is_dir()
    closed = error.errno in {errno.EACCES, errno.EPERM} and os.access(path, os.F_OK) and not os.access(path, os.R_OK)
    return f"cannot {'read' if missing or closed else 'write'} {path}: {why}"
