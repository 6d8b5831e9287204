"""The command line: parse, call one public function, print. Errors become one message and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from summeter._version import __version__
from summeter.cli import data, gate, meta, outputs, reports, score, show

app = typer.Typer(
    name="summeter", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Measure summaries, sentence by sentence and key fact by key fact.",
    epilog="Exit codes: 0 ok, 1 internal error, 2 usage or bad input, 3 gate failed, 4 coverage too low, "
           "130 interrupted and resumable.",
)  # fmt: skip

INTERRUPTED = 130
USAGE = 2


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


app.command("demo")(score.demo)
app.command("score")(score.score)
app.command("rescore")(reports.rescore)
app.command("report")(reports.report)
app.command("gate")(gate.gate)
app.add_typer(data.app, name="data", help="Look at data, check it, turn it into a dataset folder.")
app.add_typer(outputs.app, name="outputs", help="Bring in raw outputs and scores of earlier experiments.")
app.add_typer(meta.app, name="meta", help="Judge the judges: studies of runs against people.")
app.command("list")(show.list_)
app.command("doctor")(show.doctor)


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Never shows a traceback for an error of the user's or of a provider."""
    try:
        code = app(args=arguments, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("summeter: interrupted; what was finished is kept, the same command carries on", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing to say, and no stdout to say it on.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - every error of ours becomes a message, the others are raised again
        sys.exit(_explain(error))


def _explain(error: Exception) -> int:
    """Print an error we mean to raise and give its exit code; raise any other again."""
    from summeter.records import SummeterError

    if isinstance(error, SummeterError):
        typer.echo(f"summeter: {error}", err=True)
        return error.exit_code
    show = getattr(error, "show", None)  # a usage error of the command line's own
    if callable(show):
        show()
        return int(getattr(error, "exit_code", USAGE))
    raise error
