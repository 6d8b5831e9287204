"""`summeter data`: check, import, show, split, sample and export data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from summeter.cli.common import (
    Output,
    Reading,
    destination,
    in_options,
    output_options,
    read_data,
    reading_options,
    shares,
    warn,
)
from summeter.tables import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from summeter.data.dataset import Dataset
    from summeter.records import Document, Fault, Judgment, Summary

BAD_INPUT = 2
SHOWN_DOMAINS = 12
_SEVERAL = (
    "Flat files (JSONL, JSON, CSV, TSV, Parquet, XLSX; .gz; a folder of them; s3://; - for stdin), a dataset folder, "
    "hf:ORG/NAME@REV#SPLIT, or all files of a --preset."
)
_ON_FAULT = "Stop at a faulty row (error), skip the row (skip), or drop only the faulty field (keep-valid)."
Documents = Annotated[
    list[str] | None,
    typer.Option("--documents", metavar="FILE|FOLDER", help="File of documents (id, text) or folder of .story files."),
]


app = typer.Typer(no_args_is_help=True, add_completion=False)

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A flat file (JSONL, JSON, CSV, TSV, Parquet; .gz; - for stdin), dataset folder or hf:ORG/NAME@REV#SPLIT.",
    ),
]
Language = Annotated[str, typer.Option("--language", help="Language of the texts (ISO 639-1), for sentence splitting.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Name = Annotated[str | None, typer.Option("--name", help="Name of the dataset. Default: the file's name.")]
Version = Annotated[str | None, typer.Option("--version", help="Version of the dataset.")]
Licence = Annotated[str | None, typer.Option("--licence", help="Licence of the dataset, for example CC-BY-4.0.")]
Citation = Annotated[str | None, typer.Option("--citation", help="Citation of the dataset.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing dataset.")]


@app.command("import")
@reading_options
def import_(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help=_SEVERAL)],
    folder: Annotated[Path, destination("FOLDER", "Dataset folder to write.")],
    *, reading: Reading, language: Language = "en",
    documents: Documents = None,
    on_fault: Annotated[Literal["error", "skip", "keep-valid"], typer.Option("--on-fault", help=_ON_FAULT)] = "error",
    name: Name = None, version: Version = None, licence: Licence = None, citation: Citation = None,
    force: Force = False,
) -> None:  # fmt: skip
    """Check DATA and write it as a dataset folder.

    If DATA has a fault, nothing is written.
    """
    from summeter.data.atomic import check_folder
    from summeter.data.dataset import save
    from summeter.data.folder import is_dataset

    check_folder(folder, "a dataset", is_dataset, force=force)  # before DATA is read, which may be slow

    with _reading(data) as on_read:
        dataset = read_data(
            data, reading, language=language, verify=False, documents=documents or (),
            on_fault=on_fault, on_read=on_read,
        )  # fmt: skip
    card = {"name": name, "version": version, "licence": licence, "citation": citation}
    dataset = dataset.with_card(**{key: value for key, value in card.items() if value is not None})
    within = any(Path(path).resolve().is_relative_to(folder.resolve()) for path in data)
    save(dataset, folder, force=force, keep_others=within)
    warn(dataset.warnings)
    lines = [
        *_overview(dataset),
        *_terms(dataset, reading["preset"]),
        *_dropped(dataset, folder),
        f"written to {folder}",
    ]
    typer.echo("\n".join(map(wrapped, lines)))


@app.command()
@output_options()
@reading_options
def validate(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help=_SEVERAL)],
    *, reading: Reading, language: Language = "en",
    documents: Documents = None, output: Output,
) -> None:  # fmt: skip
    """List every fault of DATA by file, line and field.

    Exits with 2 if there is a fault.
    """
    from summeter.pages.numbers import count
    from summeter.records import InputError

    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    overview: list[str] = []
    try:
        dataset = read_data(data, reading, language=language, documents=documents or ())
        warnings = dataset.warnings
        for judgments in dataset.judgment_sets:
            sum(1 for _ in dataset.iter_judgments(judgments))  # judgments in a folder are checked when they are read
        overview = _overview(dataset)
    except InputError as error:
        faults = error.faults
    rows = [_fault_row("error", fault) for fault in faults] + [_fault_row("warning", fault) for fault in warnings]
    lines = [*map(in_options, faults), *(f"{in_options(warning)} (warning)" for warning in warnings), *overview]
    found = count(len(faults), "fault") if faults else "no faults"
    found += f", {count(len(warnings), 'warning')}" if warnings else ""
    output.write([*lines, found], rows, valid=not faults)
    if faults:
        raise typer.Exit(BAD_INPUT)


@app.command()
@output_options()
@reading_options
def show(
    data: Data, *, reading: Reading, language: Language = "en",
    doc: Annotated[str | None, typer.Option("--doc", metavar="ID", help="Document to show.")] = None,
    system: Annotated[str | None, typer.Option("--system", metavar="NAME", help="System to show.")] = None,
    output: Output,
) -> None:  # fmt: skip
    """Show statistics of DATA, or one document with its summaries.

    Statistics are counts, lengths, votes, near-duplicates and warnings. Summaries are shown with human judgments.
    """
    dataset = read_data(data, reading, language=language)
    if doc is None and system is None:
        _show_all(dataset, output)
        return
    chosen = _chosen(dataset, doc, system)
    from summeter.data.human_judgments import SPAN_LABELS

    documents = {document.id for document, _ in chosen}
    judgments: dict[tuple[str, str], list[Judgment]] = {}
    for name in dataset.judgment_sets:
        for row in dataset.iter_judgments(name):
            if row.target.document_id in documents and row.signature not in SPAN_LABELS:
                judgments.setdefault((row.target.document_id, row.target.system), []).append(row)
    texts = "\n\n".join(_readable(document, summaries, judgments) for document, summaries in chosen)
    rows = (
        {"document": document.model_dump(), "summaries": [summary.model_dump() for summary in summaries]}
        for document, summaries in chosen
    )
    output.write(texts.split("\n"), rows)


def _show_all(dataset: Dataset, output: Output) -> None:
    from summeter.data.overview import describe
    from summeter.report.dataset import agreements, dataset_page, overview_tables

    overview, agreement = describe(dataset), agreements(dataset)
    if output.format == "html":
        output.put("\n".join(dataset_page(overview, agreement)))
        return
    rows = [
        {
            "judgment_set": judgment_set,
            "aspect": row.aspect,
            "unit": row.level,
            "value": row.value,
            "reason": row.reason if row.value is None else None,
            "annotators": row.details.get("raters", 0),
            "items": row.n,
        }
        for judgment_set, row in agreement
    ]
    lists: dict[str, Any] = {**overview.to_dict(), "agreement": rows}
    output.write(
        [*_overview(dataset, overview.counts), *overview_tables(overview, agreement)],
        [overview.counts],
        csv=[{"table": name, **row} for name, each in lists.items() for row in each],
        **lists,
    )


@app.command()
@output_options(file=False)
@reading_options
def split(
    data: Data,
    folder: Annotated[Path, destination("FOLDER", "Folder for one dataset per part.")],
    parts: Annotated[
        str, typer.Option("--parts", metavar="NAME=SHARE,...", help="Names and shares of the parts; the sum is 1.")
    ] = "train=.8,dev=.1,test=.1",
    seed: Seed = 0, *, reading: Reading, language: Language = "en",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing split.")] = False,
    output: Output,
) -> None:  # fmt: skip
    """Split DATA by document.

    Near-duplicates stay together, and each domain is split in the same proportions.
    """
    from summeter.data.subsets import save_split
    from summeter.data.subsets import split as split_dataset
    from summeter.tables import Table, number

    dataset = read_data(data, reading, language=language)
    division = split_dataset(dataset, shares(parts, "--parts"), seed=seed)
    save_split(division, folder, force=force)
    rows = division.rows()
    names = list(dict.fromkeys(name for row in rows for name in row["domains"]))
    shown = names if 1 < len(names) <= SHOWN_DOMAINS else []
    table = Table.of(
        ["part", "documents", "summaries", "share", "hash", *shown],
        [
            [
                *(row[name] for name in ("part", "documents", "summaries", "share_of_documents")),
                row["hash"][:12],
                *(row["domains"].get(name, 0) for name in shown),
            ]
            for row in rows
        ],
        align="lrrrlr",
        show=[str, str, str, number],
    )  # fmt: skip
    notes = []
    if division.duplicates:
        grouped = sum(len(group.ids) for group in division.duplicates)
        groups = "1 group" if len(division.duplicates) == 1 else f"{len(division.duplicates)} groups"
        notes = [f"near-duplicates kept together: {groups} of {grouped} documents"]
    output.write([table, *notes], rows, near_duplicates=[row._asdict() for row in division.duplicates])
    typer.echo(f"written to {folder}", err=True)


@app.command()
@reading_options
def sample(
    data: Data,
    folder: Annotated[Path, destination("FOLDER", "Dataset folder to write.")],
    documents: Annotated[int, typer.Option("-n", "--documents", metavar="N", help="Number of documents.")],
    seed: Seed = 0, *, reading: Reading, language: Language = "en",
    force: Force = False,
) -> None:  # fmt: skip
    """Sample N documents of DATA, stratified by domain.

    The sample contains their summaries and judgments.
    """
    from summeter.data.dataset import save
    from summeter.data.subsets import sample as sample_dataset

    sampled = sample_dataset(read_data(data, reading, language=language), documents, seed=seed)
    save(sampled, folder, force=force)
    typer.echo("\n".join(map(wrapped, [*_overview(sampled), f"written to {folder}"])))


@app.command()
@reading_options
def shard(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help=_SEVERAL)],
    folder: Annotated[Path, destination("FOLDER", "New folder to write.")],
    documents: Annotated[int, typer.Option("--documents", metavar="N", min=1, help="Documents per file.")],
    *, reading: Reading, language: Language = "en",
) -> None:  # fmt: skip
    """Write DATA as flat files of N documents each.

    Commands that get FOLDER as DATA read all its files.
    """
    from summeter.data.exports import write_files
    from summeter.pages.numbers import count

    with _reading(data) as on_read:
        dataset = read_data(data, reading, language=language, on_read=on_read)
    files = write_files(dataset, folder, documents)
    warn(dataset.warnings)
    size = f"{count(dataset.document_count, 'document')} and {count(len(dataset), 'summary', 'summaries')}"
    typer.echo(f"{size} in {count(files, 'file')}\nwritten to {folder}")


@app.command()
@reading_options
def export(
    data: Data,
    output: Annotated[
        str,
        destination("PATH", "File (.jsonl, .csv, .tsv, .parquet, .xlsx; .gz), folder for hub, or - for stdout."),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl, csv, tsv, parquet, xlsx, hub (for upload), label_studio or potato. Default: by the suffix.",
        ),
    ] = None,
    *, reading: Reading, language: Language = "en",
    by_source: Annotated[
        bool, typer.Option("--by-source", help="Write each source as a document DOC_ID/SOURCE, without judgments.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:  # fmt: skip
    """Write DATA as flat rows, and its judgments as a second table.

    --preset tables reads both, if they are JSON Lines or Parquet. Tasks of a labelling tool have no judgments.
    """
    from summeter.data.dataset import flat_rows
    from summeter.data.exports import TASKS, check_files, judgments_path, row_lines, target_of, write_hub, write_tasks
    from summeter.data.exports import export as write
    from summeter.records import UsageError

    target = target_of(output, to)
    if output == "-" and target not in {"jsonl", "csv", "tsv"}:
        raise UsageError(f"{target} cannot be written to stdout; give a path with -o")
    if output != "-" and target != "hub":
        check_files(output, force=force)  # before DATA is read, which may be slow
    dataset = read_data(data, reading, language=language)
    if by_source:
        dataset = dataset.by_source()
    if target in TASKS:
        typer.echo(f"{write_tasks(dataset, output, target)} tasks written to {output}", err=True)
        return
    if output == "-":
        for line in row_lines(flat_rows(dataset), target):
            typer.echo(line)
        if dataset.judgment_sets:
            typer.echo("judgments are not written to stdout; give a file with -o", err=True)
        return
    count = write_hub(dataset, output) if target == "hub" else write(dataset, output, force=force)
    beside = f", judgments to {judgments_path(output)}" if target != "hub" and dataset.judgment_sets else ""
    typer.echo(f"{count} rows written to {output}{beside}", err=True)


@contextmanager
def _reading(paths: list[str]) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar on stderr if it is a terminal and all inputs are files."""
    files = [Path(path) for path in paths]
    if not sys.stderr.isatty() or not all(file.is_file() for file in files):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeElapsedColumn(), TextColumn("ETA"))
    console = Console(file=getattr(sys.stderr, "terminal", sys.stderr))
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("reading", total=sum(file.stat().st_size for file in files))
        yield lambda count: bar.advance(task, count)


def _terms(dataset: Dataset, preset: str | None) -> list[str]:
    """Return licence, notes and released counts of a preset, as lines."""
    from summeter.data.presets import preset_named

    if preset is None:
        return []
    layout = preset_named(preset)
    lines = [] if dataset.card.licence else ["licence: not stated by the authors; ask them before you share the data"]
    lines += [f"known issue: {note}" for note in layout.notes]
    released = [str(count) for count in layout.counts]
    return [*lines, *([f"as released: {'; '.join(released)}"] if released else [])]


def _dropped(dataset: Dataset, folder: Path) -> list[str]:
    from summeter.data.folder import DROPPED
    from summeter.pages.numbers import count

    if not dataset.dropped:
        return []
    rows = len({(each.file, each.line) for each in dataset.dropped if each.dropped == "row"})
    fields = sum(each.dropped == "field" for each in dataset.dropped)
    counts = [count(number, what) for number, what in ((rows, "row"), (fields, "field")) if number]
    return [f"skipped: {' and '.join(counts)}; the reasons are in {folder / DROPPED}"]


def _fault_row(severity: str, fault: Fault) -> dict[str, Any]:
    return {"severity": severity, **fault._asdict(), "message": in_options(fault.message)}


def _overview(dataset: Dataset, known: Mapping[str, Any] | None = None) -> list[str]:
    from summeter.data.overview import counts as counts_of
    from summeter.pages.numbers import count

    counts = counts_of(dataset) if known is None else known
    lines = [f"{counts['name']}{' ' + counts['version'] if counts['version'] else ''}  (hash {counts['hash'][:12]})"]
    lines += [f"{key}: {counts[key]}" for key in ("licence", "citation") if counts[key]]
    documents, summaries = count(counts["documents"], "document"), count(counts["summaries"], "summary", "summaries")
    sentences, given = count(counts["sentences"], "sentence"), count(counts["given_sentences"], "summary", "summaries")
    lines.append(f"{documents}, {summaries}, {sentences} ({given} with given sentences, else {counts['splitter']})")
    facts = f"{count(counts['key_facts'], 'key fact')} for {count(counts['with_key_facts'], 'document')}"
    empty = count(counts["empty_summaries"], "empty summary", "empty summaries")
    lines.append(f"{facts}, references for {counts['with_references']}; {empty}")
    for title in ("systems", "domains", "judgment_sets"):
        named = ", ".join(f"{name} ({number})" for name, number in counts[title].items()) or "none"
        lines.append(f"{title.replace('_', ' ')}: {named}")
    return lines


def _chosen(dataset: Dataset, doc: str | None, system: str | None) -> list[tuple[Document, list[Summary]]]:
    from summeter.records import UsageError, nearest

    if doc is not None and doc not in dataset.documents:
        raise UsageError(f"there is no document {doc!r}{nearest(doc, dataset.documents)}")
    if system is not None and system not in dataset.systems:
        raise UsageError(f"there is no system {system!r}{nearest(system, dataset.systems)}")
    chosen = [
        (document, [summary for summary in summaries if system in (None, summary.system)])
        for document, summaries in dataset.items()
        if doc in (None, document.id)
    ]
    return [(document, summaries) for document, summaries in chosen if summaries]


def _readable(document: Document, summaries: list[Summary], judgments: Mapping[tuple[str, str], list[Judgment]]) -> str:
    """Format a document with its summaries and the judgments on them.

    `judgments` contains the judgments by (document, system).
    """
    about = ", ".join(filter(None, (document.domain, document.split)))
    lines = [f"document {document.id}{f' ({about})' if about else ''}", document.titled()]
    lines += [f"reference: {text}" for text in document.references]
    lines += [f"key fact {index}: {text}" for index, text in enumerate(document.key_facts)]
    for summary in summaries:
        rows = judgments.get((summary.document_id, summary.system), [])
        sentences = enumerate(summary.sentence_texts)
        labels = [_labels(rows, "key_fact", index) for index in range(len(document.key_facts))]
        ratings = [row for row in rows if row.target.unit == "summary"]
        spans = [row for row in rows if row.target.unit == "span" and row.evidence]
        lines += ["", f"summary by {summary.system}{f' ({summary.category})' if summary.category else ''}"]
        lines += [f"  [{index}] {text}{_labels(rows, 'sentence', index)}" for index, text in sentences] or ["  (empty)"]
        lines += [f"  key fact {index}:{text}" for index, text in enumerate(labels) if text]
        lines += [
            f"  {row.aspect} by {row.judge}: {'no vote' if row.value is None else f'{row.value:g}'}" for row in ratings
        ]
        lines += [
            f"  marked by {row.judge}: {row.evidence[0].cut(summary.text)!r} ({row.error_type or row.label})"
            for row in spans
        ]
    return "\n".join(lines)


def _labels(judgments: list[Judgment], unit: str, index: int) -> str:
    labels = [
        f"{row.aspect} {row.judge}={'-' if row.label is None else row.label} {row.error_type or ''}".rstrip()
        for row in judgments
        if row.target.unit == unit and row.target.index == index
    ]
    return f"  <{'; '.join(labels)}>" if labels else ""
