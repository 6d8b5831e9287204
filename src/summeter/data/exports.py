"""A dataset for others: flat rows of texts with a table of judgments, or three tables as a hub shows and loads them.

    rows.jsonl (or .parquet)            one row a summary, with its document
    rows.judgments.jsonl (.parquet)     one row a judgment

    FOLDER/README.md . documents/SPLIT.parquet . summaries/SPLIT.parquet . judgments/SPLIT.parquet

Either form is read again by the preset `tables`. What Parquet cannot hold as it is stands as JSON text in its column;
the file says which columns, and `load` gives back exactly what was written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from summeter.data.atomic import building, check_file, check_folder, write_lines, write_text, writing
from summeter.data.dataset import Dataset, flat_rows
from summeter.data.formats import JSON_COLUMN, WRITTEN_HERE
from summeter.data.rows import FIELDS
from summeter.records import InstallError, Judgment, Parameter, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Target = Literal["jsonl", "parquet", "hub"]
TARGETS: tuple[Target, ...] = get_args(Target)
SPLIT = "test"
"""The split of documents that name none: data for evaluation."""
TABLES = ("documents", "summaries", "judgments")
"""The three tables of a dataset, in the order in which `table_rows` gives them."""
_LISTS = frozenset({"references", "key_facts", "sentences"})
_FIRST = (*(name for name in FIELDS if name != "human"), "judgment_set")


def target_of(path: str | Path, named: str | None = None) -> Target:
    """The kind of export written to a path: `named` where given, else Parquet by its suffix, else JSON Lines.

    >>> target_of("rows.parquet"), target_of("rows.jsonl.gz"), target_of("folder", "hub")
    ('parquet', 'jsonl', 'hub')
    """
    if named is None:
        return "parquet" if Path(path).suffix.lower() in (".parquet", ".pq") else "jsonl"
    for target in TARGETS:
        if named == target:
            return target
    raise UsageError(f"unknown kind of export {named!r}; there are: {', '.join(TARGETS)}")


def judgments_path(path: str | Path) -> Path:
    """Where the judgments stand that belong to a file of rows.

    >>> judgments_path("out/rows.jsonl.gz").as_posix()
    'out/rows.judgments.jsonl.gz'
    """
    stem, dot, suffix = Path(path).name.partition(".")
    return Path(path).with_name(f"{stem}.judgments{dot}{suffix}")


def check_files(path: str | Path, *, force: bool) -> None:
    """Raise UsageError where an export to `path` would replace a file, unless `force`."""
    for file in (Path(path), judgments_path(path)):
        check_file(file, force=force)


# ---- the rows of the tables ----


def judgment_row(name: str, judgment: Judgment) -> dict[str, Any]:
    """A judgment of the set `name` as a row: the set, what was judged, and the fields of `Judgment` that are set."""
    target = judgment.target.model_dump(exclude_none=True)
    row = judgment.model_dump(mode="json", exclude={"target"}, exclude_defaults=True)
    return {"judgment_set": name, "doc_id": target.pop("document_id"), **target, **row, "status": judgment.status}


def judgment_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """The judgments of all sets, one row each."""
    for name in dataset.judgment_sets:
        for judgment in dataset.iter_judgments(name):
            yield judgment_row(name, judgment)


def table_rows(dataset: Dataset, split: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """The rows of the tables of a dataset, or of the documents of one `split`, by table.

    Documents and summaries have the columns of flat rows; the sentences of all summaries are given, with the name of
    their `splitter`. A row has no cell for what is unknown.
    """
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    kept = set()
    for document, summaries in dataset.items():
        if split not in (None, document.split or SPLIT):
            continue
        kept.add(document.id)
        own = document.model_dump(mode="json", exclude={"id", "text", "sentences", "extra"}, exclude_defaults=True)
        tables["documents"].append({"doc_id": document.id, "document": document.text, **own, **document.extra})
        for summary in summaries:
            row: dict[str, Any] = {"doc_id": document.id, "system": summary.system}
            if summary.category is not None:
                row["category"] = summary.category
            row |= {"summary": summary.text, "sentences": list(summary.sentence_texts), "splitter": summary.splitter}
            tables["summaries"].append(row | summary.extra)
    tables["judgments"] = [row for row in judgment_rows(dataset) if row["doc_id"] in kept]
    return tables


# ---- writing them ----


def write_jsonl(dataset: Dataset, path: str | Path, *, force: bool = False) -> int:
    """Write flat rows as JSON Lines (`.gz` compresses), and the judgments beside them; returns the number of rows.

    Each file is written whole or not at all; one that is there is replaced with `force` only. Raises UsageError where
    it is there.
    """
    check_files(path, force=force)
    if dataset.judgment_sets:
        write_lines(judgments_path(path), _json_lines(judgment_rows(dataset)))
    else:
        judgments_path(path).unlink(missing_ok=True)
    return write_lines(path, _json_lines(flat_rows(dataset)))


def write_parquet(dataset: Dataset, path: str | Path, *, force: bool = False) -> int:
    """Write flat rows as one Parquet file, and the judgments as one beside it; returns the number of rows.

    As `write_jsonl`. Raises InstallError without pyarrow.
    """
    check_files(path, force=force)
    rows = list(flat_rows(dataset))
    if dataset.judgment_sets:
        write_rows(judgments_path(path), list(judgment_rows(dataset)))
    else:
        judgments_path(path).unlink(missing_ok=True)
    write_rows(Path(path), rows)
    return len(rows)


def write_files(dataset: Dataset, folder: str | Path, documents: int) -> int:
    """Write flat rows as files of `documents` documents each, `part-00000.jsonl` and so on, in a new folder; returns
    the number of files. `load` reads such a folder.

    The judgments of the documents of a file stand in a file of the same name in the folder `judgments`. Raises
    UsageError where the folder holds something, and for less than one document a file.
    """
    if documents < 1:
        raise UsageError(Parameter("documents"), f" is {documents}; give at least 1")
    check_folder(folder)
    number = {doc_id: place // documents for place, doc_id in enumerate(dataset.documents)}
    count = 0
    with building(folder) as fresh:
        for count, rows in groupby(flat_rows(dataset), key=lambda row: number[row["doc_id"]]):
            write_lines(fresh / f"part-{count:05}.jsonl", _json_lines(rows))
        (fresh / "judgments").mkdir()
        for file, rows in groupby(judgment_rows(dataset), key=lambda row: number[row["doc_id"]]):
            with (fresh / "judgments" / f"part-{file:05}.jsonl").open("a", encoding="utf-8") as handle:
                handle.writelines(f"{line}\n" for line in _json_lines(rows))
    return count + 1


def write_hub(dataset: Dataset, folder: str | Path) -> int:
    """Write a folder that can be uploaded to a hub as it is; returns the number of summaries.

    Each table is a config, each value of `split` a split; documents without one are in `test`. README.md holds the
    card. Raises UsageError where the folder holds something and where a split's name is no word, InstallError without
    pyarrow.
    """
    check_folder(folder)
    splits = list(dict.fromkeys(document.split or SPLIT for document in dataset.documents.values()))
    for name in splits:
        if not name.replace(".", "_").isidentifier():
            raise UsageError(f"the split {name!r} cannot name one on a hub; use letters, digits and _")
    with building(folder) as fresh:
        for name in splits:
            for table, rows in table_rows(dataset, name).items():
                if rows:
                    write_rows(fresh / table / f"{name}.parquet", rows)
        write_text(fresh / "README.md", _readme(dataset, splits, fresh))
    return len(dataset)


def _json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) for row in rows)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as one Parquet file, columns that Parquet cannot hold as they are as JSON text. Raises InstallError
    without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InstallError.missing("pyarrow", "parquet") from None
    present = dict.fromkeys(name for row in rows for name in row)
    fields, columns = [], []
    for name in (*(name for name in _FIRST if name in present), *(name for name in present if name not in _FIRST)):
        null = any(name in row and row[name] is None for row in rows)
        column = None if null else _native(pa, name, [row.get(name) for row in rows])
        if column is None:
            texts = [json.dumps(row[name], ensure_ascii=False) if name in row else None for row in rows]
            column = pa.array(texts, pa.string())
            fields.append(pa.field(name, pa.string(), metadata=JSON_COLUMN))
        else:
            fields.append(pa.field(name, column.type))
        columns.append(column)
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=WRITTEN_HERE))
    with writing(path) as handle:
        pq.write_table(table, handle, compression="zstd")


def _native(pa: Any, name: str, values: Sequence[Any]) -> pa.Array | None:
    """The column as Parquet holds it, where that gives the very values back; else None."""
    try:
        column = pa.array(values, pa.list_(pa.string()) if name in _LISTS else None)
    except (pa.ArrowException, OverflowError, ValueError):
        return None
    simple = pa.types.is_string(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    simple = simple or pa.types.is_boolean(column.type) or name in _LISTS
    return column if simple and json.dumps(column.to_pylist()) == json.dumps(values) else None


# ---- the card of a hub's folder ----


def _readme(dataset: Dataset, splits: Sequence[str], folder: Path) -> str:
    import yaml

    card = dataset.card
    head: dict[str, Any] = {"pretty_name": card.name}
    if card.licence:
        head["license"] = card.licence.lower()
    head["configs"] = [
        {
            "config_name": table,
            "data_files": [
                {"split": name, "path": f"{table}/{name}.parquet"}
                for name in splits
                if (folder / table / f"{name}.parquet").is_file()
            ],
        }
        for table in TABLES
        if (folder / table).is_dir()
    ]
    text = "\n\n".join(_body(dataset, splits))
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{text}\n"


def _body(dataset: Dataset, splits: Sequence[str]) -> Iterable[str]:
    card = dataset.card
    yield f"# {card.name}{f' {card.version}' if card.version else ''}"
    yield (
        f"{len(dataset)} summaries of {dataset.document_count} documents by {len(dataset.systems)} systems, and "
        "people's judgments of them, one a row."
    )
    counts = _per_split(dataset)
    lines = ["| split | documents | summaries |", "|---|--:|--:|"]
    yield "\n".join([*lines, *(f"| {name} | {counts[name][0]} | {counts[name][1]} |" for name in splits)])
    addresses = " ".join(f"hf:ORG/NAME#{table}/{splits[0]}" for table in TABLES)
    yield (
        "`doc_id` and `system` join the tables. In judgments, `value` is the raw score and `label` the decision: 1 for "
        "what is supported or present, 0 for what is not. Read the data with "
        f"`summeter data import {addresses} --preset tables -o FOLDER`."
    )
    about = {"licence": card.licence, "citation": card.citation, "hash of documents and summaries": card.hash}
    yield "\n".join(f"* {name}: {value}" for name, value in about.items() if value)
    if card.origin is not None:
        yield f"Made from:\n\n```json\n{json.dumps(card.origin, ensure_ascii=False, indent=2)}\n```"


def _per_split(dataset: Dataset) -> dict[str, tuple[int, int]]:
    """Documents and summaries of each split."""
    documents, summaries = Counter[str](), Counter[str]()
    for document, own in dataset.items():
        documents[document.split or SPLIT] += 1
        summaries[document.split or SPLIT] += len(own)
    return {name: (documents[name], summaries[name]) for name in documents}
