"""Export a dataset as flat rows with a table of judgments, as three tables for a hub, or as tasks of labelling tools.

    rows.jsonl                    one row per summary, with its document
    rows.judgments.jsonl          one row per judgment

    FOLDER/README.md . documents/SPLIT.parquet . summaries/SPLIT.parquet . judgments/SPLIT.parquet

The preset `tables` reads both forms, if they are JSON Lines or Parquet. Columns with values that Parquet cannot
represent are stored as JSON strings; these columns are listed in the metadata of the file, so that `load` restores the
values exactly. CSV, TSV and XLSX contain lists and objects as JSON, which `load` reads in the columns of the flat rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import quote

from summeter.data.atomic import building, check_file, check_folder, write_lines, write_text, writing
from summeter.data.dataset import Dataset, flat_rows
from summeter.data.formats import JSON_COLUMN, WRITTEN_HERE
from summeter.data.rows import FIELDS, LISTS
from summeter.records import InstallError, Judgment, Parameter, UsageError, count
from summeter.tables import Table, columns_and_cells, csv_line

if TYPE_CHECKING:
    import pyarrow as pa

Target = Literal["jsonl", "csv", "tsv", "parquet", "xlsx", "hub", "label_studio", "potato"]
TARGETS: tuple[Target, ...] = get_args(Target)
TASKS = {"label_studio": ".json", "potato": ".jsonl"}
"""Labelling tools, with the suffix of their tasks. The presets of the same names read the annotations."""
_SUFFIXES: dict[str, Target] = {
    ".jsonl": "jsonl", ".jsonl.gz": "jsonl", ".csv": "csv", ".csv.gz": "csv", ".tsv": "tsv", ".tsv.gz": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx",
}  # fmt: skip
_DELIMITERS = {"csv": ",", "tsv": "\t"}
LONGEST_CELL, MOST_ROWS = 32_767, 1_048_576
"""The limits of XLSX: characters in a cell, and rows in a sheet."""
SPLIT = "test"
"""The split of documents for which no split is given."""
TABLES = ("documents", "summaries", "judgments")
"""The three tables of a dataset, in the order of `table_rows`."""
_FIRST = (*(name for name in FIELDS if name != "human"), "judgment_set")


def target_of(path: str | Path, named: str | None = None) -> Target:
    """Return the kind of export by the suffix of a file.

    `named` is needed only for a folder, tasks and standard output (`-`).

    Raises UsageError if the suffix is unknown, or belongs to another kind than `named`.

    >>> target_of("rows.parquet"), target_of("rows.jsonl.gz"), target_of("folder", "hub"), target_of("-", "csv")
    ('parquet', 'jsonl', 'hub', 'csv')
    """
    known = next((target for target in TARGETS if target == named), None)
    if named is not None and known is None:
        raise UsageError(f"unknown kind of export {named!r}; kinds are: {', '.join(TARGETS)}")
    if known in TASKS and str(path) != "-" and not str(path).lower().endswith(TASKS[known]):
        raise UsageError(f"{path} is no file of tasks for {known}; its suffix must be {TASKS[known]}")
    if known in ("hub", *TASKS):
        return known
    if str(path) == "-":
        return known or "jsonl"
    by_suffix = next((target for suffix, target in _SUFFIXES.items() if str(path).lower().endswith(suffix)), None)
    if by_suffix is None:
        raise UsageError(f"{path} has no suffix of an export; use one of {', '.join(_SUFFIXES)}")
    if known not in {None, by_suffix}:
        raise UsageError(f"{path} is a name for {by_suffix}, but the format is {known}; change one of them")
    return by_suffix


def judgments_path(path: str | Path) -> Path:
    """Return the path of the judgments file that belongs to a file of rows.

    >>> judgments_path("out/rows.jsonl.gz").as_posix()
    'out/rows.judgments.jsonl.gz'
    """
    stem, dot, suffix = Path(path).name.partition(".")
    return Path(path).with_name(f"{stem}.judgments{dot}{suffix}")


def check_files(path: str | Path, *, force: bool) -> None:
    """Raise UsageError if an export to `path` would replace a file, unless `force` is true."""
    for file in (Path(path), judgments_path(path)):
        check_file(file, force=force)


# ---- the rows of the tables ----


def judgment_row(name: str, judgment: Judgment) -> dict[str, Any]:
    """Return a judgment of the set `name` as a row. Fields with their default value are omitted."""
    target = judgment.target.model_dump(exclude_none=True)
    row = judgment.model_dump(mode="json", exclude={"target"}, exclude_defaults=True)
    return {"judgment_set": name, "doc_id": target.pop("document_id"), **target, **row, "status": judgment.status}


def judgment_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield one row for each judgment of each set."""
    for name in dataset.judgment_sets:
        for judgment in dataset.iter_judgments(name):
            yield judgment_row(name, judgment)


def table_rows(dataset: Dataset, split: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a dataset, or of the documents of one `split`, by table.

    Documents and summaries have the columns of flat rows. Summaries also have their sentences and the name of the
    `splitter`. Absent values are omitted from the rows.
    """
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    included = set()
    for document, summaries in dataset.items():
        if split not in (None, document.split or SPLIT):
            continue
        included.add(document.id)
        fields = document.model_dump(
            mode="json", exclude={"id", "text", "sources", "sentences", "extra"}, exclude_defaults=True
        )
        tables["documents"].append({"doc_id": document.id, "document": document.cell, **fields, **document.extra})
        for summary in summaries:
            row: dict[str, Any] = {"doc_id": document.id, "system": summary.system}
            if summary.category is not None:
                row["category"] = summary.category
            row |= {"summary": summary.text, "sentences": list(summary.sentence_texts), "splitter": summary.splitter}
            tables["summaries"].append(row | summary.extra)
    tables["judgments"] = [row for row in judgment_rows(dataset) if row["doc_id"] in included]
    return tables


# ---- writing the tables ----


def export(dataset: Dataset, path: str | Path, *, force: bool = False) -> int:
    """Write flat rows and judgments to two files, and return the number of rows.

    The suffix decides the format: `.jsonl`, `.csv`, `.tsv` (each also with `.gz`), `.parquet` or `.xlsx`. Each file is
    written completely or not at all. Raises UsageError if one of the files exists, unless `force` is true, or if a text
    does not fit a cell of XLSX, and InstallError if the package for Parquet or XLSX is missing.
    """
    target_of(path)
    check_files(path, force=force)
    if dataset.judgment_sets:
        write_rows(judgments_path(path), judgment_rows(dataset))
    else:
        judgments_path(path).unlink(missing_ok=True)
    return write_rows(Path(path), flat_rows(dataset))


def write_files(dataset: Dataset, folder: str | Path, documents: int) -> int:
    """Write flat rows to files with `documents` documents each, and return the number of files.

    The files in the new folder are `part-00000.jsonl` and so on; `load` reads the folder. The judgments are in files
    with the same names in the subfolder `judgments`. Raises UsageError if the folder is not empty or `documents` is
    below 1.
    """
    if documents < 1:
        raise UsageError(Parameter("documents"), f" is {documents}; give at least 1")
    check_folder(folder)
    number = {doc_id: index // documents for index, doc_id in enumerate(dataset.documents)}
    last = 0
    with building(folder) as fresh:
        for last, rows in groupby(flat_rows(dataset), key=lambda row: number[row["doc_id"]]):
            write_lines(fresh / f"part-{last:05}.jsonl", _json_lines(rows))
        (fresh / "judgments").mkdir()
        for file, rows in groupby(judgment_rows(dataset), key=lambda row: number[row["doc_id"]]):
            with (fresh / "judgments" / f"part-{file:05}.jsonl").open("a", encoding="utf-8") as handle:
                handle.writelines(f"{line}\n" for line in _json_lines(rows))
    return last + 1


def write_hub(dataset: Dataset, folder: str | Path) -> int:
    """Write a folder to upload to a hub, and return the number of summaries.

    Each table is a config, and each value of the field `split` is a split (`test` for documents without a split).
    README.md is the dataset card. Raises UsageError if the folder is not empty or the name of a split is invalid, and
    InstallError if pyarrow is missing.
    """
    check_folder(folder)
    splits = list(dict.fromkeys(document.split or SPLIT for document in dataset.documents.values()))
    for name in splits:
        if not name.replace(".", "_").isidentifier():
            raise UsageError(f"{name!r} is not a valid name of a split on a hub; use letters, digits and _")
    with building(folder) as fresh:
        for name in splits:
            for table, rows in table_rows(dataset, name).items():
                if rows:
                    write_rows(fresh / table / f"{name}.parquet", rows)
        write_text(fresh / "README.md", _readme(dataset, splits, fresh))
    return len(dataset)


def write_tasks(dataset: Dataset, path: str | Path, tool: Target) -> int:
    """Write each summary as a task of a labelling tool, and return the number of tasks.

    Tasks of Label Studio are a list of objects with `data`, which contains the flat row. Those of potato are JSON Lines
    of flat rows with an `id`. A document that consists of several sources is their text with titles.
    """
    tasks = (
        {**row, "document": dataset.documents[row["doc_id"]].titled()} if isinstance(row["document"], list) else row
        for row in flat_rows(dataset)
    )
    if tool == "label_studio":
        rows = [{"data": row} for row in tasks]
        write_text(Path(path), json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return len(rows)
    return write_lines(
        Path(path),
        _json_lines(
            {"id": "/".join(quote(row[name], safe="") for name in ("doc_id", "system")), **row} for row in tasks
        ),
    )


def _json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) for row in rows)


def row_lines(rows: Iterable[Mapping[str, Any]], target: Target, *, escape: bool = False) -> Iterator[str]:
    """Yield rows as lines of JSON, CSV or TSV. `escape` escapes formulas in CSV and TSV (see `inert`)."""
    if target == "jsonl":
        yield from _json_lines(rows)
        return
    names, cells = columns_and_cells(rows, _FIRST)
    for line in (names, *cells):
        yield csv_line(line, delimiter=_DELIMITERS[target], escape=escape)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], *, escape: bool = False) -> int:
    """Write rows to a file in the format of its suffix, and return the number of rows.

    `escape` has the same meaning as in `row_lines`.
    """
    target = target_of(path)
    if target == "parquet":
        return _write_parquet(path, list(rows))
    if target == "xlsx":
        return _write_xlsx(path, rows)
    return write_lines(path, row_lines(rows, target, escape=escape)) - (target != "jsonl")


def _write_xlsx(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    except ImportError:
        raise InstallError.missing("openpyxl", "xlsx") from None
    names, cells = columns_and_cells(rows, _FIRST)
    if len(cells) >= MOST_ROWS:
        raise UsageError(
            f"{path}: a sheet of XLSX holds {MOST_ROWS - 1:,} rows, not {len(cells):,}; write .csv instead"
        )
    for number, line in enumerate(cells, 1):
        for name, cell in zip(names, line, strict=True):
            if isinstance(cell, str) and len(cell) > LONGEST_CELL:
                raise UsageError(
                    f"{path}: {name} of row {number} has {len(cell):,} characters, and a cell of XLSX holds "
                    f"{LONGEST_CELL:,}; write .csv or .parquet instead"
                )
    book = Workbook(write_only=True)
    sheet = book.create_sheet("rows")

    def written(cell: Any) -> Any:
        if isinstance(cell, int) and abs(cell) >= 10**15:
            cell = str(cell)  # a number in a sheet has 15 digits
        if not isinstance(cell, str):
            return cell
        text = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", cell))
        text.data_type = "s"  # a text that begins with = is no formula
        return text

    for line in [names, *cells]:
        sheet.append(list(map(written, line)))
    with writing(path) as handle:
        book.save(handle)
    return len(cells)


def _write_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> int:
    """Write rows to a Parquet file, with JSON strings in columns that Parquet cannot represent."""
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
    return len(rows)


def _native(pa: Any, name: str, values: Sequence[Any]) -> pa.Array | None:
    """Return the column as an Arrow array, or None if Parquet would change the values."""
    try:
        column = pa.array(values, pa.list_(pa.string()) if name in LISTS else None)
    except (pa.ArrowException, OverflowError, ValueError):
        return None
    simple = pa.types.is_string(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    simple = simple or pa.types.is_boolean(column.type) or name in LISTS
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
    split_of = [document.split or SPLIT for document, summaries in dataset.items() for _ in summaries]
    documents = [document.split or SPLIT for document in dataset.documents.values()]
    sizes = [(name, documents.count(name), split_of.count(name)) for name in splits]
    addresses = " ".join(f"hf:ORG/NAME#{table}/{splits[0]}" for table in TABLES)
    about = {"licence": card.licence, "citation": card.citation, "hash of documents and summaries": card.hash}
    origin = "" if card.origin is None else json.dumps(card.origin, ensure_ascii=False, indent=2)
    size = (
        f"{count(len(dataset), 'summary', 'summaries')} of {count(dataset.document_count, 'document')} by "
        f"{count(len(dataset.systems), 'system')}, and human judgments of them, one per row."
    )
    reading = (
        "`doc_id` and `system` join the tables. In judgments, `value` is the raw score and `label` the decision: 1 for "
        "supported or present, 0 for not. Read the data with "
        f"`summeter data import {addresses} --preset tables -o FOLDER`."
    )
    parts = [
        f"# {card.name}{f' {card.version}' if card.version else ''}",
        size,
        Table.of(["split", "documents", "summaries"], sizes, align="lrr").markdown().rstrip(),
        reading,
        "\n".join(f"* {name}: {value}" for name, value in about.items() if value),
        f"Made from:\n\n```json\n{origin}\n```" if origin else "",
    ]
    text = "\n\n".join(filter(None, parts))
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{text}\n"
