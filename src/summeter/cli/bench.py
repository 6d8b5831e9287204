"""`summeter bench`: building a benchmark of summaries, and running those there are."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from summeter.benchmark.facts import FactsSettings
from summeter.benchmark.raw.source import SourceSettings
from summeter.benchmark.redaction.step import RedactSettings
from summeter.benchmark.select import DetectSettings, SelectSettings
from summeter.cli.bench_steps import Before, Folder, by_name, run_one, settings_of, step_options
from summeter.cli.common import AsJson, assignments, print_json, print_study_json, shares
from summeter.cli.run_options import run_options

if TYPE_CHECKING:
    from summeter.benchmark import Summarizing
    from summeter.benchmark.own import OwnConfig
    from summeter.benchmark.summarize import Outcome

app = typer.Typer(no_args_is_help=True)


class Layout(StrEnum):
    """How the table is printed."""

    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"


class PromptChoice(StrEnum):
    """Which prompt asks for summaries."""

    SUMMETER = "summeter"
    UNISUMEVAL = "unisumeval"


@app.callback()
def _root() -> None:
    """Build a benchmark of summaries, or run one of those there are."""


@app.command()
def run(
    config: Annotated[
        Path, typer.Argument(metavar="BENCH.yaml", help="The steps, a section each, and their settings.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where a folder a step goes. What is done stays.")
    ],
    until: Annotated[str | None, typer.Option(metavar="STEP", help="End after this step.")] = None,
    again: Annotated[str | None, typer.Option(metavar="STEP", help="Do this step again, whatever it is.")] = None,
    as_json: AsJson = False,
) -> None:
    """Build a benchmark: do every step of BENCH.yaml that is left, or whose input or settings have changed."""
    from functools import partial

    from summeter.benchmark.chain import chain_status, run_chain, status_table
    from summeter.engine.progress import progress

    tell = partial(typer.echo, err=True)
    run_chain(config, out, until=until, again=again, tell=tell, progress=progress(quiet=as_json))
    rows = chain_status(out)
    if as_json:
        print_json((row._asdict() for row in rows), study="bench")
    else:
        typer.echo(status_table(rows).text())


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `summeter bench run` was given as -o.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="BENCH.yaml", help="The file of settings, where it has moved.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show each step of a benchmark: done, stale and why, left, waiting or failed; what went in and came out."""
    from summeter.benchmark.chain import chain_status, status_table

    rows = chain_status(folder, config)
    if as_json:
        print_json((row._asdict() for row in rows), study="bench")
    else:
        typer.echo(status_table(rows).text())


@app.command()
def release(
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="A step's folder, or a dataset folder.")],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="RELEASE", help="The folder to write.")],
    name: Annotated[str, typer.Option(help="What the benchmark is called.")],
    version: Annotated[str, typer.Option(help="Which version of it this is.")] = "1.0",
    description: Annotated[str | None, typer.Option(help="What it is, in a sentence or two.")] = None,
    licence: Annotated[str | None, typer.Option(help="Of the benchmark as a whole, as SPDX names it.")] = None,
    citation: Annotated[str | None, typer.Option(help="How to cite it.")] = None,
    url: Annotated[str | None, typer.Option(help="Where it is found.")] = None,
    published: Annotated[str | None, typer.Option(metavar="DATE", help="When it is published.")] = None,
    splits: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=SHARE,...",
            help="Shares of the documents, near-duplicates together; default: the splits that documents have.",
        ),
    ] = None,
    secret: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Makes the pseudonyms; default: drawn, kept beside RELEASE.")
    ] = None,
    datasheet: Annotated[
        Path | None, typer.Option(metavar="YAML", help="A person's answers; what is left out is named in the card.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the splits.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write a benchmark as others get it: data, tables, card, datasheet; annotators under pseudonyms."""
    from summeter.benchmark.card import Answers
    from summeter.benchmark.release import STEP, ReleaseSettings
    from summeter.benchmark.step import run_step
    from summeter.data.mapping import read_model

    answers = Answers() if datasheet is None else read_model(datasheet, Answers, "give an answer a field")
    settings = ReleaseSettings(
        name=name,
        version=version,
        description=description,
        licence=licence,
        citation=citation,
        url=url,
        published=published,
        splits={} if splits is None else shares(splits, "--splits"),
        secret=secret,
        datasheet=answers,
        seed=seed,
    )
    manifest = run_step(STEP, source, out, settings)
    if as_json:
        print_json([manifest.counts_out], study="release", **manifest.details)
        return
    typer.echo(f"{', '.join(f'{count} {what}' for what, count in manifest.counts_out.items())}: written to {out}")
    if missing := manifest.details["not_answered"]:
        typer.echo(f"not answered yet: {', '.join(missing)} (give them with --datasheet)", err=True)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="A folder that `summeter bench release` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Compute again what a release says of itself: hashes, counts, splits, agreement, tables. Exits with 3 where
    something differs."""
    from summeter.benchmark.step import file_hashes
    from summeter.benchmark.verify import VerifyError
    from summeter.benchmark.verify import verify as differences_of

    differences = differences_of(folder)
    if as_json:
        print_json((each._asdict() for each in differences), study="verify", verified=not differences)
    elif not differences:
        typer.echo(f"{folder} is what it says: {len(file_hashes(folder))} files, every count and table computed again")
    if differences:
        raise VerifyError(folder, differences)


@app.command()
def protocol(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="Protocol, files, evaluators, models.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Where the run, the study and the tables go; default "
            "runs/NAME-OF-CONFIG. What is judged already is not judged again.",
        ),
    ] = None,
    layout: Annotated[Layout, typer.Option(help="How the table is printed; all three are written.")] = Layout.MARKDOWN,
    check: Annotated[bool, typer.Option("--check", help="Read the files, say what is in them, judge nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure evaluators as AggreFact, LLM-AggreFact, SummaC or FENICE's long-form set do, on files of your own; or
    systems and evaluators on a benchmark of your own (protocol: own)."""
    from summeter.benchmark.own import OwnConfig
    from summeter.benchmark.protocol import read_config, read_files, run_protocol
    from summeter.engine.progress import progress
    from summeter.engine.runs import check_coverage
    from summeter.meta.protocol_layouts import laid_out

    settings, base = read_config(config), config.parent
    if isinstance(settings, OwnConfig):
        _own_protocol(settings, config, out, layout=layout, check=check, quiet=quiet, as_json=as_json)
        return
    if check:
        lines = read_files(settings, base).tally.lines()
        if as_json:
            print_json([{"said": line} for line in lines], study="check")
        else:
            typer.echo("\n".join(lines))
        return
    result = run_protocol(
        settings, out or Path("runs") / config.stem, base=base, progress=progress(quiet=quiet or as_json)
    )
    if as_json:
        print_study_json(result.study)
    elif not quiet:
        typer.echo(laid_out(result.study, layout.value), nl=False)
        typer.echo(
            f"\nwritten to {result.folder}" if layout is Layout.MARKDOWN else f"written to {result.folder}", err=True
        )
    if result.run is not None:
        check_coverage(result.run)  # a table of dashes is no success


def _own_protocol(
    settings: OwnConfig, config: Path, out: Path | None, *, layout: Layout, check: bool, quiet: bool, as_json: bool
) -> None:
    """`protocol` on a benchmark of one's own."""
    from summeter.benchmark.own import laid_out, read_own, run_own
    from summeter.engine.progress import progress
    from summeter.engine.runs import check_coverage

    if check:
        data = read_own(settings, config.parent)
        votes = sum(1 for _ in data.iter_judgments(settings.judgment_set))
        line = (
            f"{len(data.documents)} documents in {len(data.domains)} domains, {len(data)} summaries by "
            f"{len(data.systems)} systems, {votes} judgments in {settings.judgment_set}"
        )
        if as_json:
            print_json([{"said": line}], study="check")
        else:
            typer.echo(line)
        return
    show = progress(quiet=quiet or as_json)
    result = run_own(settings, out or Path("runs") / config.stem, base=config.parent, progress=show)
    if as_json:
        print_study_json(result.study)
    elif not quiet:
        typer.echo(laid_out(result.study, layout.value), nl=False)
        typer.echo(f"written to {result.folder}", err=True)
    if result.run is not None:
        check_coverage(result.run)


@app.command()
@run_options(
    "limit",
    "temperature",
    "max_reply",
    "seed",
    "concurrency",
    "timeout",
    "base_url",
    limit="Summarize only the first so many documents.",
    seed="Sent to the models where given.",
)
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
    length_from: Annotated[
        str | None, typer.Option(metavar="SYSTEM", help="The lead, where that is not the first model.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND|DOMAIN=KIND", help="What the documents are called in the prompt; of a domain, "
                     "repeatable. Default: document."),
    ] = None,
    form: Annotated[PromptChoice, typer.Option(help="The prompt: ours, or the text of UniSumEval's.")] = (
        PromptChoice.SUMMETER
    ),
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="SYSTEM=CATEGORY", help="Of what kind a system is; a column of the rows. Repeatable."),
    ] = None,
    prefix: Annotated[
        list[str] | None,
        typer.Option(metavar="SYSTEM=TEXT", help="What a local system reads before a document; repeatable."),
    ] = None,
    beams: Annotated[int | None, typer.Option(min=1, help="Beams of local systems; default: the model's own.")] = None,
    max_new_tokens: Annotated[
        int | None, typer.Option(min=1, help="Longest summary of local systems, in tokens; default: the model's own.")
    ] = None,
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
    from summeter.models.networks import Generation
    from summeter.models.resolve import CallSettings
    from summeter.models.structured import Settings
    from summeter.records import CoverageError

    systems = assignments(models, "-m", "SYSTEM=PROVIDER/MODEL (for example big=openai/gpt-4o)")
    task = Summarizing(
        systems,
        free=tuple(free or ()),
        normalise=normalise,
        kind=_kinds(kind or []),
        words=words,
        language=language,
        length_from=length_from,
        form=form.value,
        categories=assignments(category, "--category", "SYSTEM=CATEGORY"),
        prefixes=_prefixes(prefix or []),
        generation=Generation(max_new_tokens, beams),
    )
    chosen = Options.of(**options)
    calls = CallSettings(
        settings=Settings(chosen.temperature, chosen.max_reply, chosen.seed), base_url=chosen.base_url,
        timeout=chosen.timeout, max_connections=chosen.concurrency,
    )  # fmt: skip
    outcome = build(documents, task, out, calls=calls, limit=chosen.limit, progress=progress(quiet=as_json))
    if as_json:
        print_json((row | {"missing": True} for row in _lost(outcome)), study="summarize", **_manifest(outcome))
    else:
        _tell(outcome, task)
    if outcome.data is None:
        raise CoverageError(f"no summary came; the reasons are in {outcome.folder / 'failures.jsonl'}")


def _kinds(texts: list[str]) -> str | dict[str, str]:
    """`--kind` options: one for all documents, or one a domain."""
    from summeter.records import UsageError

    plain = [text for text in texts if "=" not in text]
    if len(texts) > 1 and plain:
        raise UsageError(f"--kind {plain[0]!r} is for all documents; give it alone, or each as DOMAIN=KIND")
    if plain:
        return plain[0]
    return assignments(texts, "--kind", "DOMAIN=KIND") or "document"


def _prefixes(texts: list[str]) -> dict[str, str]:
    """`--prefix` options; blanks at the end of a text are part of it."""
    from summeter.records import UsageError

    prefixes = {}
    for text in texts:
        name, equals, prefix = text.partition("=")
        if not equals or not name.strip() or not prefix:
            raise UsageError(f"--prefix {text!r} is not SYSTEM=TEXT")
        prefixes[name.strip()] = prefix
    return prefixes


def _manifest(outcome: Outcome) -> dict[str, object]:
    from summeter.benchmark.summarize import MANIFEST

    manifest: dict[str, object] = json.loads((outcome.folder / MANIFEST).read_text("utf-8"))
    return {name: value for name, value in manifest.items() if name != "schema"}


def _lost(outcome: Outcome) -> list[dict[str, object]]:
    return [
        {"doc_id": lost.document.id, "system": lost.system, "status": lost.status, "reason": lost.reason}
        for lost in outcome.missing
    ]


def _tell(outcome: Outcome, task: Summarizing) -> None:
    from summeter.benchmark.summarize import outcome_of

    rows = outcome.data.summaries if outcome.data else ()
    for system in task.models:
        own = [row for row in rows if row.system == system]
        bound = [row for row in own if row.extra.get("asked_sentences")]
        kept = sum(row.extra["asked_sentences"] == row.extra["written_sentences"] for row in bound)
        at = f", {kept} of {len(bound)} at the lead's number of sentences" if bound else ""
        lost = [failure for failure in outcome.missing if failure.system == system]
        empty = sum(outcome_of(failure) == "empty" for failure in lost)
        blank = f", {empty} of them empty" if empty else ""
        why = f"; {len(lost)} missing{blank} ({lost[0].status}: {lost[0].reason})" if lost else ""
        typer.echo(f"{system} ({task.models[system]}): {len(own)} summaries{at}{why}")
    if rows:
        typer.echo(f"summaries: {outcome.folder / 'summaries.jsonl'} (judge them with `summeter score`)")


@app.command()
@step_options(SourceSettings, "sources")
def source(
    sources: Annotated[
        list[str], typer.Argument(metavar="[NAME=]PATH...", help="Files, folders or hf:..., each a source.")
    ],
    out: Folder,
    domain: Annotated[list[str] | None, typer.Option(metavar="[NAME=]DOMAIN", help="Of a source, or all.")] = None,
    licence: Annotated[list[str] | None, typer.Option(metavar="[NAME=]LICENCE", help="Of a source, or all.")] = None,
    origin: Annotated[
        list[str] | None, typer.Option(metavar="[NAME=]ORIGIN", help="Who published it, or where.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]dialogue|text", help="What its texts are; by default each shows it."),
    ] = None,
    private: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A source whose texts may not be passed on; repeatable.")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--map", metavar="FIELD=COLUMN", help="Where a field stands in flat files.")
    ] = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Read raw documents (text, HTML, PDF, subtitles, dialogues, flat files, a hub), clean and sample them."""
    from summeter.data.hub import is_address
    from summeter.records import UsageError

    paths: dict[str, str] = {}
    for text in sources:
        name, equals, path = text.partition("=")
        if not equals or is_address(text) or Path(text).exists():
            name, path = text.rpartition("/")[2].partition("@")[0] if is_address(text) else Path(text).stem, text
        if name in paths:
            raise UsageError(f"two sources are called {name!r}; name them: NAME=PATH")
        paths[name] = path
    names = list(paths)
    for name in private or []:
        if name not in paths:
            raise UsageError(f"--private {name!r}: there is no such source; there are: {', '.join(names)}")
    about = {
        "domain": by_name(domain, names, "--domain"),
        "licence": by_name(licence, names, "--licence"),
        "origin": by_name(origin, names, "--origin"),
        "category": by_name(category, names, "--category"),
    }
    mapped = assignments(columns, "--map", "FIELD=COLUMN")
    described = {
        name: {
            "path": path,
            "share": name not in (private or []),
            "columns": mapped,
            **{field: values[name] for field, values in about.items() if name in values},
        }
        for name, path in paths.items()
    }
    run_one("source", None, out, settings_of(SourceSettings, {"sources": described, **options}), as_json=as_json)


@app.command()
@step_options(DetectSettings, "detector", "second")
def detect(
    folder: Before,
    out: Folder,
    evaluator: Annotated[
        str | None, typer.Option("-e", "--evaluator", help="Who looks for errors; default: UniSumEval's fact check.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("-m", "--model", metavar="[ROLE=]MODEL", help="Its models; repeatable.")
    ] = None,
    run: Annotated[str | None, typer.Option(metavar="RUN", help="A run that has judged these summaries.")] = None,
    aspect: Annotated[str, typer.Option(help="The aspect whose verdicts count.")] = "faithfulness",
    threshold: Annotated[
        float | None, typer.Option(help="A value below is an error. Default: the evaluator's own labels.")
    ] = None,
    second: Annotated[str | None, typer.Option(metavar="EVALUATOR", help="Another evaluator, to agree.")] = None,
    second_models: Annotated[
        list[str] | None, typer.Option("--second-model", metavar="[ROLE=]MODEL", help="Its models; repeatable.")
    ] = None,
    second_run: Annotated[str | None, typer.Option(metavar="RUN", help="A run for the second.")] = None,
    second_threshold: Annotated[float | None, typer.Option(help="The threshold of the second.")] = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Have an evaluator look for errors in the summaries of all systems; a second one may confirm them."""
    from summeter.benchmark.select import Detector

    usual = Detector.model_fields["evaluator"].default
    detector = {
        "evaluator": evaluator or usual, "models": _roles(models), "run": run, "aspect": aspect, "threshold": threshold
    }  # fmt: skip
    other = {
        "evaluator": second or usual, "models": _roles(second_models), "run": second_run, "aspect": aspect,
        "threshold": second_threshold,
    }  # fmt: skip
    wanted = other if second or second_models or second_run else None
    settings = settings_of(DetectSettings, {"detector": detector, "second": wanted, **options})
    run_one("detect", folder, out, settings, as_json=as_json)


@app.command()
@step_options(SelectSettings)
def select(folder: Before, out: Folder, as_json: AsJson = False, **options: Any) -> None:
    """Choose texts of each source from those in whose summaries an error was found."""
    run_one("select", folder, out, settings_of(SelectSettings, options), as_json=as_json)


@app.command()
@step_options(RedactSettings, "seed", "categories", "sources", "review")
def redact(
    folder: Before,
    out: Folder,
    categories: Annotated[
        list[str] | None, typer.Option("--category", metavar="CATEGORY", help="Redact this alone; repeatable.")
    ] = None,
    sources: Annotated[
        list[str] | None, typer.Option("--source", metavar="SOURCE", help="A source or domain to redact; repeatable.")
    ] = None,
    review: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV that a person goes through; proposed if missing.")
    ] = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Mask places, times, days, phone numbers, codes and addresses, one entity one number in all texts."""
    chosen = {"review": review, **options, **({"categories": categories} if categories else {})}
    settings = settings_of(RedactSettings, {"sources": sources or [], **chosen})
    run_one("redact", folder, out, settings, as_json=as_json)


def _roles(models: list[str] | None) -> dict[str, str]:
    """`[ROLE=]MODEL` options; without a role, of the judge."""
    return assignments([text if "=" in text else f"judge={text}" for text in models or []], "-m", "ROLE=MODEL")


@app.command()
@step_options(FactsSettings, "models")
def facts(
    folder: Before,
    out: Folder,
    models: Annotated[
        list[str],
        typer.Option(
            "-m",
            "--model",
            metavar="[ROLE=]MODEL",
            help="Who proposes key facts (judge), and who votes on them (validator, validator2, ...); repeatable.",
        ),
    ],
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Have a model propose key facts of every document, and others vote on them: what most reject is dropped."""
    settings = settings_of(FactsSettings, {"models": _roles(models), **options})
    run_one("facts", folder, out, settings, as_json=as_json)


class Plan(StrEnum):
    """Whose campaigns are made."""

    UNISUMEVAL = "unisumeval"
    SUMMQUAL = "summqual"


@app.command()
def annotate(
    folder: Before,
    out: Folder,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="BENCH.yaml", help="Take everything from its section `annotate`."),
    ] = None,
    plan: Annotated[
        Plan, typer.Option(help="Key facts, sentences and alignment; or ratings and passages.")
    ] = Plan.UNISUMEVAL,
    accounts: Annotated[
        list[str] | None, typer.Option("--account", metavar="NAME", help="Somebody who annotates; repeatable.")
    ] = None,
    machine: Annotated[
        str, typer.Option(metavar="SET|none", help="Whose verdicts stand beside sentences, where the data have them.")
    ] = "detector",
    embed: Annotated[
        str | None,
        typer.Option(metavar="local/FOLDER|hf/ORG/NAME", help="Mark similar sentences by this network's embeddings."),
    ] = None,
    simulate: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Have so many made-up annotators do the work.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of orders, checks and whatever is made up.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make the annotation campaigns of a benchmark; once they are finished, take their labels back.

    The same command again carries on: it says what is still to be annotated, or writes the step's folder.
    """
    from contextlib import chdir, nullcontext

    from summeter.benchmark.annotate import STEP, AnnotateSettings
    from summeter.benchmark.chain import read_chain
    from summeter.records import UsageError

    if config is None:
        platform = {"platform": {"accounts": accounts}} if accounts else {}
        made_up = None if simulate is None else {"annotators": simulate}
        given = {
            "plan": plan,
            "campaign": platform,
            "machine": machine,
            "embed": embed,
            "simulate": made_up,
            "seed": seed,
        }
        settings = settings_of(AnnotateSettings, given)
    else:
        chosen = [each for step, each in read_chain(config).steps if step is STEP]
        if not chosen:
            raise UsageError(f"{config} has no section `annotate`")
        settings = chosen[0]
    source, target = folder.resolve(), out.resolve()
    with nullcontext() if config is None else chdir(config.resolve().parent):  # paths in the file are relative to it
        run_one("annotate", source, target, settings, as_json=as_json)
