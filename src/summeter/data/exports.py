"""A dataset for others: flat rows as a Parquet file, or as a folder that a hub shows and loads.

What Parquet cannot hold as it is stands as JSON text in its column: `human` always (as a struct, every cell would get
every annotator's name), other columns where their values differ in kind. The file says which, and `load` gives back
exactly what was written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from summeter.data.atomic import building, write_lines, write_text, writing
from summeter.data.dataset import Dataset, flat_rows
from summeter.data.formats import JSON_COLUMN, WRITTEN_HERE
from summeter.data.rows import FIELDS
from summeter.records import Document, InstallError, Parameter, Summary, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Target = Literal["jsonl", "parquet", "hub"]
TARGETS: tuple[Target, ...] = get_args(Target)
SPLIT = "test"
"""The split of documents that name none: data for evaluation."""
_ORDER = tuple(name for name in FIELDS if name != "human")
_LISTS = frozenset({"references", "key_facts", "sentences"})


def target_of(path: str | Path, named: str | None = None) -> Target:
    """What is written to a path: what is `named`, else Parquet by its suffix, else JSON Lines.

    >>> target_of("rows.parquet"), target_of("rows.jsonl.gz"), target_of("folder", "hub")
    ('parquet', 'jsonl', 'hub')
    """
    if named is None:
        return "parquet" if Path(path).suffix.lower() in (".parquet", ".pq") else "jsonl"
    for target in TARGETS:
        if named == target:
            return target
    raise UsageError(f"unknown kind of export {named!r}; there are: {', '.join(TARGETS)}")


def check_target(path: str | Path, *, force: bool) -> None:
    """Raise UsageError where `path` is a file and not to be replaced."""
    if Path(path).is_file() and not force:
        raise UsageError(f"{path} exists; choose another name, or replace it with ", Parameter("force", "True"))


def write_parquet(dataset: Dataset, path: str | Path, *, force: bool = False) -> int:
    """Write a dataset's flat rows as one Parquet file, whole or not at all; returns how many.

    A file that is there is replaced with `force` only. Raises InstallError without pyarrow, UsageError where the file
    is there.
    """
    check_target(path, force=force)
    rows = list(flat_rows(dataset))
    write_rows(Path(path), rows)
    return len(rows)


def write_hub(dataset: Dataset, folder: str | Path) -> int:
    """Write a folder that can be uploaded to a hub as it is: `data/SPLIT.parquet` and a README.md with the card.

    A split a value of `split`; documents without one are in `test`. Returns how many rows there are. Raises UsageError
    where the folder holds something, where a split's name is no word, and as `write_parquet` does.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; nothing was written: choose a new folder")
    by_split: dict[str, list[dict[str, Any]]] = {}
    for row in flat_rows(dataset):
        by_split.setdefault(row.get("split") or SPLIT, []).append(row)
    for name in by_split:
        if not name.replace(".", "_").isidentifier():
            raise UsageError(f"the split {name!r} cannot name one on a hub; use letters, digits and _")
    with building(target) as fresh:
        for name, rows in by_split.items():
            write_rows(fresh / "data" / f"{name}.parquet", rows)
        write_text(fresh / "README.md", _readme(dataset, list(by_split)))
    return sum(map(len, by_split.values()))


def write_jsonl(dataset: Dataset, path: str | Path, *, force: bool = False) -> int:
    """Write a dataset's flat rows as JSON Lines (`.gz` compresses), whole or not at all; returns how many.

    A file that is there is replaced with `force` only. Raises UsageError where it is there.
    """
    check_target(path, force=force)
    return write_lines(path, (json.dumps(row, ensure_ascii=False) for row in flat_rows(dataset)))


def write_files(dataset: Dataset, folder: str | Path, documents: int) -> int:
    """Write a dataset's flat rows as files of so many documents each, `part-00000.jsonl` and so on, in a new folder;
    returns how many files. `load` reads such a folder.

    Raises UsageError where the folder holds something, and for less than one document a file.
    """
    if documents < 1:
        raise UsageError(Parameter("documents"), f" is {documents}; give at least 1")
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; nothing was written: choose a new folder")
    place = {doc_id: number // documents for number, doc_id in enumerate(dataset.documents)}
    count = 0
    with building(target) as fresh:
        for count, rows in groupby(flat_rows(dataset), key=lambda row: place[row["doc_id"]]):
            write_lines(fresh / f"part-{count:05}.jsonl", (json.dumps(row, ensure_ascii=False) for row in rows))
    return count + 1


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as one Parquet file, columns that Parquet cannot hold as they are as JSON text. Raises InstallError
    without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InstallError.missing("pyarrow", "parquet") from None
    extra = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in FIELDS]
    names = [name for name in (*_ORDER, *extra, "human") if any(name in row for row in rows)]
    fields, columns = [], []
    for name in names:
        values = [row.get(name) for row in rows]
        null = any(name in row and row[name] is None for row in rows)
        column = None if name == "human" or null else _native(pa, name, values)
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


def _readme(dataset: Dataset, splits: Sequence[str]) -> str:
    import yaml

    card = dataset.card
    head: dict[str, Any] = {"pretty_name": card.name}
    if card.licence:
        head["license"] = card.licence.lower()
    head["configs"] = [
        {
            "config_name": "default",
            "data_files": [{"split": name, "path": f"data/{name}.parquet"} for name in splits],
        }
    ]
    text = "\n\n".join(_body(dataset, splits))
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{text}\n"


def _body(dataset: Dataset, splits: Sequence[str]) -> Iterable[str]:
    card = dataset.card
    yield f"# {card.name}{f' {card.version}' if card.version else ''}"
    yield (
        f"{len(dataset)} summaries of {len(dataset.documents)} documents by {len(dataset.systems)} systems, one a row, "
        "with what people said of them, as flat rows of summeter."
    )
    counts = _per_split(dataset.documents.values(), dataset.summaries)
    lines = ["| split | documents | summaries |", "|---|--:|--:|"]
    yield "\n".join([*lines, *(f"| {name} | {counts[name][0]} | {counts[name][1]} |" for name in splits)])
    yield (
        '`human` is JSON text: `json.loads(row["human"])` gives the judgments, with 1 for what is supported or present '
        f"and 0 for what is not. Read the data with `summeter data show hf:ORG/NAME#{splits[0]}`."
    )
    about = {"licence": card.licence, "citation": card.citation, "hash of documents and summaries": card.hash}
    yield "\n".join(f"* {name}: {value}" for name, value in about.items() if value)
    if card.origin is not None:
        yield f"Made from:\n\n```json\n{json.dumps(card.origin, ensure_ascii=False, indent=2)}\n```"


def _per_split(documents: Iterable[Document], summaries: Iterable[Summary]) -> dict[str, tuple[int, int]]:
    """Documents and summaries of each split."""
    split = {document.id: document.split or SPLIT for document in documents}
    of_documents = Counter(split.values())
    of_summaries = Counter(split[summary.document_id] for summary in summaries)
    return {name: (of_documents[name], of_summaries[name]) for name in of_summaries}
