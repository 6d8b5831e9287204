"""`summeter score` and `summeter demo`: the main job."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from summeter.cli.common import AsJson, Format, Map, Preset, mapping, print_json, tell, told, warn

if TYPE_CHECKING:
    from summeter.runs.run import RunFolder

DEFAULT = ("support", "abstractiveness")

Evaluators = Annotated[
    list[str] | None,
    typer.Option("-e", "--evaluator", metavar="NAME", help="An evaluator, as NAME or NAME[setting=value]; repeatable. "
                 "Default: support and abstractiveness."),
]  # fmt: skip
Models = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--model",
        metavar="[ROLE=]PROVIDER/MODEL",
        help="The model in a role (judge); networks are local/FOLDER or hf/ORG/NAME@REVISION; repeatable.",
    ),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="RUN", help="The run's folder; default runs/NAME-OF-DATA. "
                              "A run that is there already is carried on.")
]  # fmt: skip
Temperature = Annotated[
    str, typer.Option(metavar="NUMBER|none", help="Sampling temperature; none leaves it to the provider.")
]
Connections = Annotated[int, typer.Option("--max-connections", min=1, help="Calls (and documents) at a time.")]
Repeats = Annotated[
    int,
    typer.Option(min=1, max=100, help="Ask every LLM evaluator so often, and say how far it agrees with itself."),
]
ItemTimeout = Annotated[
    float | None, typer.Option(min=0.001, help="Seconds one summary may take an evaluator, retries included.")
]
Prices = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="Your own prices (YAML), before those that come along.")
]
Context = Annotated[
    list[str] | None,
    typer.Option("--context", metavar="[ROLE=]TOKENS", help="How much a model reads and writes in all; repeatable."),
]
Batch = Annotated[
    bool,
    typer.Option("--batch", help="Send all calls through the vendor's batch API: half the price, within a day. "
                 "May be stopped; the same command fetches the replies."),
]  # fmt: skip
Offline = Annotated[
    bool, typer.Option("--offline", help="Take local models from this machine only, never from the hub.")
]
OnOverflow = Annotated[
    Literal["window", "truncate", "error"],
    typer.Option("--on-overflow", help="A document that is longer: read in windows, cut, or not judged."),
]
_STOPS = "Stop before the call that would take the run past so many {}; it can be carried on."
Replay = Annotated[
    Path | None, typer.Option(metavar="RUN", help="Answer from this run's stored calls; no network, no key.")
]
Coverage = Annotated[
    float, typer.Option("--min-coverage", min=0, max=1, help="Exit with 4 if fewer judgments than this are usable.")
]


def score(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A flat file, a dataset folder, or - for stdin.")],
    evaluators: Evaluators = None,
    models: Models = None,
    out: Output = None,
    map_: Map = None,
    preset: Preset = None,
    format_: Format = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N documents.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the bootstrap, and of the models where given.")] = None,
    temperature: Temperature = "0",
    max_reply: Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")] = None,
    repeats: Repeats = 1,
    connections: Connections = 16,
    rpm: Annotated[float | None, typer.Option("--rpm", min=1, help="Requests a minute, for each endpoint.")] = None,
    tpm: Annotated[float | None, typer.Option("--tpm", min=1, help="Tokens a minute, for each endpoint.")] = None,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds a call may take in all.")] = 120.0,
    item_timeout: ItemTimeout = None,
    max_retries: Annotated[int, typer.Option(min=0, help="Tries after the first, where trying again can help.")] = 8,
    max_cost: Annotated[float | None, typer.Option(metavar="USD", min=0.0, help=_STOPS.format("US dollars"))] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help=_STOPS.format("tokens"))] = None,
    prices: Prices = None,
    base_url: Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible endpoint.")] = None,
    context: Context = None,
    on_overflow: OnOverflow = "window",
    batch: Batch = False,
    offline: Offline = False,
    replay: Replay = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print calls, tokens and cost; send nothing.")] = False,
    min_coverage: Coverage = 0.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Judge every summary in DATA; write RUN, its scores and its report. The same command carries on a broken run."""
    from summeter.data.dataset import load
    from summeter.engine.api import evaluate
    from summeter.engine.progress import progress
    from summeter.models.resolve import parse_bindings

    names, bound = evaluator_names(evaluators), parse_bindings(models or [])
    _check_roles(names, bound)
    loaded = load(data, map=mapping(map_), preset=preset, format=format_)
    if not quiet:
        warn(loaded.warnings)
    arguments: dict[str, Any] = {
        "models": bound, "limit": limit, "seed": seed, "temperature": temperature_of(temperature),
        "max_reply": max_reply, "repeats": repeats, "concurrency": connections, "rpm": rpm, "tpm": tpm,
        "timeout": timeout, "item_timeout": item_timeout, "max_retries": max_retries, "max_cost": max_cost,
        "max_tokens": max_tokens, "prices": None if prices is None else str(prices), "base_url": base_url,
        "context": contexts_of(context or [], bound),
        "on_overflow": on_overflow, "batch": batch, "offline": offline,
    }  # fmt: skip
    folder = out or Path("runs") / loaded.card.name
    if dry_run:
        _dry(loaded, names, folder, arguments, as_json=as_json)
        return
    _interruptible()
    show = progress(quiet=quiet or as_json)
    with _batches_go_on(folder):
        run = evaluate(loaded, names, out=folder, replay=replay, progress=show, **arguments)
    del loaded  # the run has a copy of its own, which the page reads: one of them is enough in memory
    tell(run, as_json=as_json, quiet=quiet)
    if not (quiet or as_json):
        from summeter.cli.spending import run_lines

        for line in run_lines(run):
            typer.echo(line)
    check_coverage(run, min_coverage)


def demo(
    out: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The run's folder.")] = Path("runs/demo"),
) -> None:
    """Score the bundled example with the embedded evaluator: no key, no network; ends with a report."""
    from summeter.cli.example import NAME, bundled, fresh
    from summeter.data.dataset import load
    from summeter.engine.api import evaluate
    from summeter.engine.progress import progress

    loaded = load(bundled()).with_card(name=NAME)
    fresh(out, NAME)
    tell(evaluate(loaded, DEFAULT, out=out, progress=progress()))


def evaluator_names(evaluators: list[str] | None) -> list[str]:
    """Names from repeated -e, each possibly a comma list; commas inside [...] belong to the settings."""
    names: list[str] = []
    for text in evaluators or DEFAULT:
        start = depth = 0
        for place, character in enumerate(text):
            depth += (character == "[") - (character == "]")
            if character == "," and not depth:
                names.append(text[start:place])
                start = place + 1
        names.append(text[start:])
    return [name.strip() for name in names if name.strip()]


def _check_roles(names: Sequence[str], bound: Iterable[str]) -> None:
    """UsageError for a model in a role that none of the evaluators asks for: mostly a slip of the pen."""
    from difflib import get_close_matches

    from summeter.evaluators.catalog import build
    from summeter.records import UsageError

    asked = sorted({role for name in names for part in build(name).parts() for role in part.required_roles})
    for role in bound:
        if role in asked:
            continue
        if not asked:
            raise UsageError(f"-m binds a model to the role {role!r}, but no model is asked by {', '.join(names)}; "
                             "drop -m, or choose other evaluators with -e (`summeter list evaluators`)")  # fmt: skip
        close = get_close_matches(role, asked, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"-m binds a model to the role {role!r}, which no evaluator asks for; {hint}"
                         f"Roles of {', '.join(names)}: {', '.join(asked)}")  # fmt: skip


def contexts_of(texts: Sequence[str], bound: Iterable[str]) -> dict[str, int]:
    """`--context` options by role; without a role, of all roles.

    >>> contexts_of(["8192", "second=32768"], ["judge", "second"])
    {'*': 8192, 'second': 32768}
    """
    from summeter.engine.options import ALL
    from summeter.records import UsageError

    found: dict[str, int] = {}
    for text in texts:
        role, equals, number = text.rpartition("=")
        digits = number.strip().replace(",", "").replace("_", "")
        if not (digits.isascii() and digits.isdigit() and int(digits) > 0):
            raise UsageError(f"--context {text!r} is not [ROLE=]TOKENS, a whole number from 1")
        if equals and role.strip() not in bound:
            raise UsageError(
                f"--context names the role {role.strip()!r}, which no -m binds ({', '.join(bound) or 'none'})"
            )
        found[role.strip() or ALL] = int(digits)
    return found


def temperature_of(text: str) -> float | None:
    from summeter.records import UsageError

    if text.strip().lower() == "none":
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 10:
        raise UsageError(f"--temperature {text!r} is neither a number from 0 nor `none`")
    return number


def _interruptible() -> None:
    # A scheduler's TERM means the same as Ctrl-C: stop, keep what is finished, say how to go on. It is passed on as
    # the signal the event loop knows how to end on, whatever a background job has inherited for it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


@contextmanager
def _batches_go_on(folder: Path) -> Iterator[None]:
    """Who interrupts the command does not interrupt the vendor: say what is under way there."""
    try:
        yield
    except KeyboardInterrupt:
        from summeter.runs.batches import BATCHES, BatchLog, waiting_words

        lines = waiting_words(BatchLog(folder / BATCHES).open)
        for line in lines:
            typer.echo(f"summeter: {line}", err=True)
        if lines:
            typer.echo("summeter: the same command, --batch included, fetches the replies; "
                       f"summeter batches cancel {folder} calls them off", err=True)  # fmt: skip
        raise


def _dry(data: Any, names: list[str], folder: Path, arguments: dict[str, Any], *, as_json: bool) -> None:
    from summeter.cli.spending import dry_lines
    from summeter.engine.dry import dry_run

    rows = dry_run(data, names, out=folder, **arguments)
    if as_json:
        print_json(({**row._asdict(), "reason": row.reason and told(row.reason)} for row in rows), study="dry_run")
        return
    for line in dry_lines(rows):
        typer.echo(line)


def check_coverage(run: RunFolder, least: float) -> None:
    """CoverageError if too few judgments are usable; having none at all is always too few."""
    from summeter.records import CoverageError

    share = run.manifest.coverage
    wanted = sum(number for status, number in run.manifest.counts.items() if status != "skipped")
    if share is None and (run.manifest.counts and least > 0):
        raise CoverageError("coverage: everything was skipped, nothing could be judged; see failures in the report")
    if share is not None and (share < least or share == 0):
        usable = run.manifest.counts.get("ok", 0)
        reasons = dict.fromkeys(failure.reason for failure in run.failures())
        first = f"; the first reason: {next(iter(reasons))}" if reasons else ""
        raise CoverageError(
            f"coverage {share:.1%} is under {max(least, 0):.1%} ({usable} of {wanted} judgments usable){first}"
            if share else f"no judgment of {wanted} is usable{first}"
        )  # fmt: skip
