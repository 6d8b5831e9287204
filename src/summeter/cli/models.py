"""`summeter models`: list the models of judges and the closing dates of hosted models; convert checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.common import AsJson, Output, destination, output_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from summeter.evaluators.base import Checkpoint

app = typer.Typer(invoke_without_command=True, add_completion=False)

ON_CPU = 450
"""The largest number of parameters, in millions, with which a network is listed as one for a CPU."""
LLM = "LLM endpoint"


@app.callback()
@output_options()
def models(context: typer.Context, output: Output) -> None:
    """List what every judge needs, the published models, and the closing dates of hosted models.

    Models have their size, longest input, languages, licence, and the command that fetches them. Judges and models that
    are not available are listed with the reason.
    """
    if context.invoked_subcommand is not None:
        return
    from summeter.tables import Table

    judges, hosted = list(_judges()), list(_hosted())
    fields = dict.fromkeys(key for row in (*judges, *hosted) for key in row)
    first = {row["judge"]: row for row in reversed(judges)}
    shown = [
        [row["judge"], row.get("needs"), _about(row)]
        if row is first[row["judge"]]
        else [None, row["needs"], _about(row)[1:]]
        for row in judges
    ]
    sources = list(dict.fromkeys(f"{row['source']} (read on {row['read']})" for row in hosted))
    closing = [
        [row["model"], row["state"], row["replacement"], sources.index(f"{row['source']} (read on {row['read']})") + 1]
        for row in hosted
    ]
    notes = [f"{number}: {source}" for number, source in enumerate(sources, 1)]
    output.write(
        [
            Table.of(["judge", "needs", "purpose and model"], shown, title="Judges"),
            Table.of(["model", "closing", "replacement", "source"], closing, title="Hosted models", notes=notes),
        ],
        [fields | row for row in (*judges, *hosted)],
        list="models",
    )


def _judges() -> Iterator[dict[str, Any]]:
    """Yield a row for each published model of each role of each judge, or for the role if there is none."""
    from summeter.evaluators.catalog import UNAVAILABLE, find, names
    from summeter.evaluators.derived import DerivedEvaluator

    for name in names():
        evaluator = find(name)
        about = {"judge": name, "purpose": evaluator.summary.rstrip(".")}
        if not evaluator.roles:
            members = issubclass(evaluator, DerivedEvaluator)
            yield {**about, "needs": "the models of its members" if members else "no download"}
        for role_name, role in evaluator.roles.items():
            for weights in role.checkpoints or (None,):
                needs = LLM if role.kind == "llm" else _network(weights)
                of_model = {} if weights is None else weights._asdict() | {"fetch": _fetch(needs, weights)}
                yield {**about, "needs": needs, "role": role_name, "hint": role.hint, **of_model}
    for name, why in UNAVAILABLE.items():
        yield {"judge": name, "unavailable": why}


def _network(weights: Checkpoint | None) -> str:
    """Return what a network needs, by its size if it is known."""
    if weights is None or weights.size is None:
        return "network"
    return "CPU network" if weights.size <= ON_CPU else "GPU network"


def _fetch(needs: str, weights: Checkpoint) -> str | None:
    """Return the command that fetches published weights, or None if they are not on a hub or not available."""
    if weights.unavailable is not None or "/" not in weights.model:
        return None
    if needs == LLM:
        return f"vllm serve {weights.model}"
    return f"hf download {weights.model}" + (f" --local-dir downloads/{weights.convert}" if weights.convert else "")


def _about(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the purpose of a judge and the description of its model, in lines."""
    facts = {
        "size": "{:,} million parameters",
        "tokens": "{:,} tokens",
        "languages": "{}",
        "licence": "licence: {}",
        "fetch": "`{}`",
        "convert": "then `summeter models convert {} FILE -o FOLDER`",
        "unavailable": "not available: {}",
    }
    known = [text.format(row[key]) for key, text in facts.items() if row.get(key) is not None]
    model = row.get("model") or row.get("hint") or "your choice"
    lines = (row.get("purpose"), row.get("role") and f"{row['role']}: {model}", "; ".join(known))
    return tuple(filter(None, lines))


def _hosted() -> Iterator[dict[str, Any]]:
    """Yield a row for each hosted model, with the state of its closing today."""
    import datetime

    from summeter.models.closing import closing_dates

    today = datetime.datetime.now(datetime.UTC).date()
    for each in closing_dates().values():
        told = {key: str(value) if value else None for key, value in each.model_dump().items()}
        yield {**told, "needs": LLM, "state": each.state(today)}


@app.command()
def convert(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="alignscore, a3cu, dae, bartscore or hhem.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Released checkpoint.", exists=True, dir_okay=False)],
    out: Annotated[Path, destination("FOLDER", "New folder to write.")],
    base: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder with config and tokenizer of the base model. Default: the folder of FILE.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Convert a released checkpoint to a folder for -m.

    The folder holds safetensors with checked tensor names, and a README.md with the hash and the licence.
    """
    from summeter.models.local.convert import convert as write

    folders = write(kind, file, out, base)
    if as_json:
        Output("json").write((), [{"folder": str(folder)} for folder in folders])
        return
    for folder in folders:
        typer.echo(f"-> {folder}")
