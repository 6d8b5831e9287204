"""`summeter calls`: the prompts and raw replies behind the judgments of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.common import OldRun, Output, check_suffix, destination, output_options

if TYPE_CHECKING:
    from summeter.runs.calls import StoredCall

app = typer.Typer(no_args_is_help=True)


@app.command()
@output_options("text", "json", file=False)
def show(
    run: OldRun,
    output: Output,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="Keys of calls, or their first characters.")
    ] = None,
    doc: Annotated[str | None, typer.Option(metavar="ID", help="Calls about this document. Default: all.")] = None,
    system: Annotated[str | None, typer.Option(metavar="NAME", help="Calls about this system. Default: all.")] = None,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="Calls of this judge. Default: all.")] = None,
) -> None:
    """Show prompts and replies, with the judgments based on them.

    Select calls by KEY, as in `calls` of a judgment, or by --doc, --system and --judge.
    """
    from summeter.records import Parameter, UsageError
    from summeter.runs.run import RunFolder

    if not keys and doc is system is judge is None:
        raise UsageError("give the KEY of a call, or select calls with ", Parameter("doc", "ID"))
    about: dict[str, list[str]] = {}
    chosen: set[str] = set()
    for judgment in RunFolder(run).judgments():
        target = judgment.target
        names = [target.document_id, target.system, judgment.judge, judgment.aspect, target.unit]
        place = "" if target.index is None else f" {target.index}"
        value = judgment.status if judgment.value is None else f"{judgment.value:g}"
        for key in judgment.calls:
            about.setdefault(key, []).append(f"{', '.join(str(name) for name in names if name)}{place}: {value}")
        asked = ((doc, target.document_id), (system, target.system), (judge, judgment.judge))
        if not keys and all(wanted in (None, found) for wanted, found in asked):
            chosen |= {*judgment.calls}
    with RunFolder(run).calls() as store:
        calls = [call for call in store.stored(None if keys else chosen) if call.key.startswith(tuple(keys or [""]))]
    if not calls:
        raise UsageError(f"{run} has no such call")
    parts = []
    for call in calls:
        parts += [f"call {call.key[:16]}, {call.model}, {_when(call)}{'' if call.usable else ', unusable reply'}"]
        parts += [f"--- {role} ---\n{text}" for role, text in call.messages]
        parts += [f"--- reply ---\n{call.reply}", *(f"judgment: {text}" for text in about.get(call.key, ())), ""]
    if output.format == "json":
        output.write([], [{**_row(call), "judgments": about.get(call.key, [])} for call in calls])
    else:
        output.put("\n".join(parts))


@app.command()
@output_options()
def stats(run: OldRun, output: Output) -> None:
    """Count calls and tokens by model.

    Tokens are those that the endpoint reported; `uncounted` calls have none.
    """
    from summeter.runs.calls import CallTokens
    from summeter.runs.run import RunFolder
    from summeter.tables import Table

    by_model: dict[str, list[tuple[CallTokens, bool]]] = {}
    with RunFolder(run).calls() as store:
        for table in ("calls", "turned_away"):
            for call in store.tokens(table):
                by_model.setdefault(call.model, []).append((call, table == "calls"))
    rows: list[dict[str, Any]] = []
    for model, calls in by_model.items():
        row = {"model": model, "calls": len(calls), "unusable": sum(not usable for _, usable in calls)}
        row["uncounted"] = sum(call.tokens_in is None for call, _ in calls)
        for name in ("tokens_in", "tokens_cached", "tokens_out"):
            known = [count for call, _ in calls if (count := getattr(call, name)) is not None]
            row[name] = sum(known) if known else None
        rows.append(row)
    heads = [name.replace("_", " ") for name in rows[0]] if rows else []
    shown = Table.of(heads, [list(row.values()) for row in rows], align="lr")
    output.write([shown if rows else f"{run} has no stored calls"], rows)


@app.command()
def export(
    run: OldRun,
    out: Annotated[Path, destination("FILE", "File to write (.jsonl).")],
) -> None:
    """Write all calls of RUN as JSON Lines.

    Each line has the key, the time, the model, the request and the completion.
    """
    import json

    from summeter.data.atomic import write_text
    from summeter.runs.run import RunFolder

    check_suffix(out, ".jsonl")
    with RunFolder(run).calls() as store:
        lines = [json.dumps(_row(call), ensure_ascii=False) for call in store.stored()]
    write_text(out, "".join(f"{line}\n" for line in lines))
    typer.echo(f"{len(lines):,} calls written to {out}", err=True)


def _row(call: StoredCall) -> dict[str, Any]:
    return {**call._asdict(), "created": _when(call)}


def _when(call: StoredCall) -> str:
    return datetime.fromtimestamp(call.created, UTC).isoformat(timespec="seconds")
