"""The command line: parse, call one public function, print. Errors become one message and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from summeter._version import __version__
from summeter.cli import annotate, audit, batches, bench, data, gate, meta, outputs, reports, score, show
from summeter.cli.common import option

app = typer.Typer(
    name="summeter", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Measure summaries, sentence by sentence and key fact by key fact.",
    epilog="Exit codes: 0 ok, 1 internal error, 2 usage or bad input, 3 gate failed, 4 coverage too low, "
           "130 interrupted and resumable.",
)  # fmt: skip

INTERRUPTED = 130
INTERNAL = 1
USAGE = 2
CARRIES_ON = "what was finished is kept, the same command carries on"

# What the user can mend by naming another place or changing its rights; anything else is not of their making.
_MENDED = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOENT, errno.EROFS,
     errno.ENAMETOOLONG, errno.ELOOP}
)  # fmt: skip
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"summeter {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    del version


app.command("demo", short_help="Score the bundled example; ends with a report.")(score.demo)
app.command("score", short_help="Judge every summary in DATA.")(score.score)
app.command("rescore", short_help="Rebuild a run's views; asks no model.")(reports.rescore)
app.command("report", short_help="Draw one HTML page of runs and studies.")(reports.report)
app.command("gate", short_help="Exit with 3 where a mean is under its bound.")(gate.gate)
app.add_typer(data.app, name="data", help="Look at data, check it, keep it as a folder.")
app.add_typer(batches.app, name="batches", help="What waits in a vendor's batches; calling it off.")
app.add_typer(outputs.app, name="outputs", help="Bring in outputs of earlier experiments.")
app.add_typer(annotate.app, name="annotate", help="Have people judge summaries; lose no answer.")
app.add_typer(meta.app, name="meta", help="Judge the judges: runs against people.")
app.add_typer(bench.app, name="bench", help="Build a benchmark of summaries, or run one.")
app.add_typer(audit.app, name="audit", help="Try what a judge withstands.")
app.command("list", short_help="List evaluators, models, presets, aspects.")(show.list_)
app.command("doctor", short_help="Say what works here, and what adds the rest.")(show.doctor)


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Never shows a traceback for an error of the user's, of the disk's or of a provider."""
    try:
        _invoke(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()  # here, where a reader that went away can still be met
        code = 0
    except typer.Exit as end:
        code = end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who presses it again wants what happens already
        typer.echo(f"summeter: interrupted; {CARRIES_ON}", err=True)
        code = INTERRUPTED
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):  # which rich turns into an exit with 1
            raise
        code = _hushed()
    except Exception as error:  # noqa: BLE001 - every error of ours becomes a message, the others are raised again
        from summeter.records import first_error

        code = _explain(first_error(error))
    sys.exit(code)


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
        typer.echo(f"summeter: {error.told(option)}", err=True)
        return error.exit_code
    if isinstance(error, OSError):
        typer.echo(f"summeter: {_of_disk(error)}", err=True)
        return USAGE if error.errno in _MENDED else INTERNAL
    show = getattr(error, "show", None)  # a usage error of the command line's own
    if callable(show):
        show()
        return int(getattr(error, "exit_code", USAGE))
    raise error


def _of_disk(error: OSError) -> str:
    if error.errno in _FULL:
        return f"no space left on device; {CARRIES_ON}"
    why = error.strerror or str(error) or type(error).__name__
    name = error.filename2 or error.filename
    if not isinstance(name, str | bytes | os.PathLike):
        return why
    path = Path(os.fsdecode(name))
    # What is not there is made where there is a folder for it, so it was to be read.
    gone = error.errno == errno.ENOENT and path.parent.is_dir()
    closed = error.errno in {errno.EACCES, errno.EPERM} and os.access(path, os.F_OK) and not os.access(path, os.R_OK)
    return f"cannot {'read' if gone or closed else 'write'} {path}: {why}"
