"""`summeter bench`: building a benchmark of summaries, and running those there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.cli.bench_protocol import protocol
from summeter.cli.common import AsJson, print_json
from summeter.cli.run_options import run_options

if TYPE_CHECKING:
    from summeter.benchmark import Summarizing
    from summeter.benchmark.summarize import Outcome

app = typer.Typer(no_args_is_help=True)
app.command("protocol")(protocol)


@app.callback()
def _root() -> None:
    """Build a benchmark of summaries, or run one of those there are."""


@app.command()
@run_options("limit", "temperature", "max_reply", "seed", "concurrency", "timeout", "base_url")
def summarize(
    documents: Annotated[
        str, typer.Argument(metavar="DOCUMENTS", help="A flat file with a `document` column, a dataset folder, or -.")
    ],
    models: Annotated[
        list[str], typer.Option("-m", "--model", metavar="SYSTEM=PROVIDER/MODEL", help="A summarizer; repeatable. "
                                "The first is the lead, whose length the others are given.")
    ],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the summaries go.")],
    free: Annotated[
        list[str] | None, typer.Option(metavar="SYSTEM", help="A system that is told no length; repeatable.")
    ] = None,
    normalise: Annotated[
        bool, typer.Option("--normalise/--own-length", help="Give the others the lead's number of sentences.")
    ] = True,
    kind: Annotated[str, typer.Option(help="What the documents are called in the prompt.")] = "document",
    words: Annotated[int | None, typer.Option(min=1, help="Show only the first N words of a document.")] = None,
    language: Annotated[str, typer.Option(help="ISO 639-1 code of the texts, for counting sentences.")] = "en",
    as_json: AsJson = False,
    **options: Any,
) -> None:  # fmt: skip
    """Have every model summarize every document, at one length. The same command again asks for what is missing."""
    from summeter.benchmark import Summarizing
    from summeter.benchmark import summarize as build
    from summeter.engine.options import Options
    from summeter.engine.progress import progress
    from summeter.models.resolve import CallSettings
    from summeter.models.structured import Settings
    from summeter.records import CoverageError

    asked = Summarizing(systems(models), tuple(free or ()), normalise, kind, words, language)
    chosen = Options.of(**options)
    calls = CallSettings(
        settings=Settings(chosen.temperature, chosen.max_reply, chosen.seed), base_url=chosen.base_url,
        timeout=chosen.timeout, max_connections=chosen.concurrency,
    )  # fmt: skip
    made = build(documents, asked, out, calls=calls, limit=chosen.limit, progress=progress(quiet=as_json))
    if as_json:
        print_json((row | {"missing": True} for row in _lost(made)), study="summarize", **_manifest(made))
    else:
        _tell(made, asked)
    if made.data is None:
        raise CoverageError(f"no summary came; the reasons are in {made.folder / 'failures.jsonl'}")


def systems(texts: list[str]) -> dict[str, str]:
    """System -> model string, in the order given. A system needs a name, since two may share a model.

    >>> systems(["big=openai/gpt-4o", "small=ollama/llama3.1"])
    {'big': 'openai/gpt-4o', 'small': 'ollama/llama3.1'}
    """
    from summeter.records import UsageError

    found: dict[str, str] = {}
    for text in texts:
        name, equals, model = (part.strip() for part in text.partition("="))
        if not equals or not name or not model:
            raise UsageError(f"-m {text!r} is not SYSTEM=PROVIDER/MODEL (for example big=openai/gpt-4o)")
        if name in found:
            raise UsageError(f"-m names the system {name!r} twice")
        found[name] = model
    return found


def _manifest(made: Outcome) -> dict[str, object]:
    from summeter.benchmark.summarize import MANIFEST

    found: dict[str, object] = json.loads((made.folder / MANIFEST).read_text("utf-8"))
    return {name: value for name, value in found.items() if name != "schema"}


def _lost(made: Outcome) -> list[dict[str, object]]:
    return [
        {"doc_id": one.document.id, "system": one.system, "status": one.status, "reason": one.reason}
        for one in made.missing
    ]


def _tell(made: Outcome, asked: Summarizing) -> None:
    rows = made.data.summaries if made.data else ()
    for system in asked.models:
        mine = [one for one in rows if one.system == system]
        bound = [one for one in mine if one.extra.get("asked_sentences")]
        kept = sum(one.extra["asked_sentences"] == one.extra["written_sentences"] for one in bound)
        at = f", {kept} of {len(bound)} at the lead's number of sentences" if bound else ""
        lost = [one for one in made.missing if one.system == system]
        why = f"; {len(lost)} missing ({lost[0].status}: {lost[0].reason})" if lost else ""
        typer.echo(f"{system} ({asked.models[system]}): {len(mine)} summaries{at}{why}")
    if rows:
        typer.echo(f"summaries: {made.folder / 'summaries.jsonl'} (judge them with `summeter score`)")
