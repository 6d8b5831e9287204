"""Read and write dataset folders, which contain records as JSON Lines and a card.

    DATA/   dataset.json . documents.jsonl . summaries.jsonl . keyfacts.jsonl . judgments/SET.jsonl

dataset.json contains the SHA-256 of every other file, so that manual changes are detected.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_core import from_json

from summeter.data.atomic import building, write_lines, write_text
from summeter.data.faults import Dropped, Faults
from summeter.data.formats import read_rows
from summeter.data.human import SET_NAME
from summeter.data.on_demand import LineFile, StoredMapping, StoredSummaries, lines_of
from summeter.data.rows import EMPTY
from summeter.records import (
    Document,
    FactOrigin,
    Fault,
    InputError,
    Judgment,
    KeyFacts,
    Record,
    Summary,
    UsageError,
    canonical,
    invalid,
)

CARD = "dataset.json"
DOCUMENTS = "documents.jsonl"
SUMMARIES = "summaries.jsonl"
KEY_FACTS = "keyfacts.jsonl"
JUDGMENTS = "judgments"
DROPPED = "faults.jsonl"
"""The file with the rows and fields dropped at import, and the reasons; it is not part of the data and has no hash."""

LARGE = 64 << 20
"""Bytes of documents.jsonl and summaries.jsonl, or of the texts in flat files, above which the data stay on disk."""

_REIMPORT = "import the data again"
_UNKNOWN = f"which is not in the dataset; {_REIMPORT}"
_R = TypeVar("_R", bound=Record)

JudgmentMaker = Callable[[], Iterator[Judgment]]


class Card(Record):
    """The card of a dataset: name, version, licence, citation, provenance and hashes.

    `hash` covers the documents and summaries without their unknown columns. `files` maps each file of the folder to its
    SHA-256, and `counts` maps it to its number of records (both are empty unless the dataset is as it was saved).
    `origin` describes the dataset of which this one is a subset, or the address on a hub (see `data.subsets`,
    `data.hub`). `columns` maps fields to the columns that they had in the flat file, if the names differ.
    """

    layout: Literal["summeter-dataset/1"] = "summeter-dataset/1"
    name: str
    version: str | None = None
    licence: str | None = None
    citation: str | None = None
    origin: dict[str, Any] | None = None
    splitter: str
    columns: dict[str, str] = Field(default_factory=dict)
    hash: str = ""
    counts: dict[str, int] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


class _GivenFacts(Record):
    """A line of keyfacts.jsonl: the key facts of a document."""

    document_id: str
    id: str
    origin: Literal["given"]
    facts: tuple[str, ...]
    origins: tuple[FactOrigin, ...] | None = None
    """The provenance of each fact, if known."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.origins is not None and len(self.origins) != len(self.facts):
            raise ValueError(f"there are {len(self.origins)} origins for {len(self.facts)} key facts")
        return self


class Content(NamedTuple):
    """The content of a folder or of flat files.

    `judgments` maps the name of each set to a function that yields the judgments. `hash` is the hash of the documents
    and summaries, or None if it has not been computed.
    """

    documents: Mapping[str, Document]
    summaries: Iterable[Summary]
    judgments: Mapping[str, JudgmentMaker]
    fact_origins: Mapping[str, tuple[FactOrigin, ...]] = MappingProxyType({})
    warnings: Sequence[Fault] = ()
    hash: str | None = None


def is_dataset(path: Path) -> bool:
    """Return whether the folder contains a dataset."""
    return (path / CARD).is_file()


def check_intact(folder: Path) -> None:
    """Raise InputError if files of the dataset were added, changed or removed."""
    faults = Faults(str(folder))
    accept = f"to accept the change, check the file, then run: summeter data import {folder} -o {folder} --force"
    there = {name: file_hash(folder / name) for name in _files(folder)}
    for name, what in hash_differences(read_card(folder).files, there):
        faults.add(None, name, f"was {what} after import; {accept}")
    faults.stop()


def is_intact(folder: Path) -> bool:
    """Return whether the folder contains a dataset whose files are unchanged."""
    try:
        check_intact(folder)
    except (InputError, OSError):
        return False
    return True


def check_set_name(name: str, what: str = "a judgment set") -> None:
    """Raise UsageError unless `name` is valid for `what` and for a file or folder."""
    if not SET_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name of {what}; use letters, digits, full stops, _ and -")


def write(
    folder: Path, content: Content, card: Card, dropped: Iterable[Dropped] = (), *, keep_others: bool = False
) -> Card:
    """Write the folder, completely or not at all, and return the card with counts and hashes.

    With `keep_others`, files in a replaced folder that do not belong to the dataset there are preserved.
    """
    with building(folder) as fresh:
        if keep_others and folder.is_dir():
            shutil.copytree(folder, fresh, symlinks=True, dirs_exist_ok=True, ignore=partial(_dataset_files, folder))
        counts = {name.removesuffix(".jsonl"): write_lines(fresh / name, lines) for name, lines in files_with(content)}
        if lines := [json.dumps(each._asdict(), ensure_ascii=False) for each in dropped]:
            write_lines(fresh / DROPPED, lines)
        return seal(fresh, card, counts)


def contains(folder: Path, content: Content) -> bool:
    """Return whether an unchanged folder contains exactly these documents and summaries, and these judgment sets."""

    def sha256(lines: Iterable[str]) -> str:
        digest = hashlib.sha256()
        for line in lines:
            digest.update(f"{line}\n".encode())
        return digest.hexdigest()

    files = read_card(folder).files
    return all(files.get(name) == sha256(lines) for name, lines in files_with(content))


def files_with(content: Content) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name and the lines of each file with records."""
    documents = content.documents.values()
    yield DOCUMENTS, _lines(documents, without={"key_facts"})
    yield SUMMARIES, _lines(content.summaries)
    facts = (
        _GivenFacts(
            document_id=each.id,
            id=KeyFacts.of(each.key_facts, "given").id,
            origin="given",
            facts=each.key_facts,
            origins=content.fact_origins.get(each.id),
        )
        for each in documents
        if each.key_facts
    )
    yield KEY_FACTS, _lines(facts)
    for name, make in content.judgments.items():
        check_set_name(name)
        yield f"{JUDGMENTS}/{name}.jsonl", _lines(make())


def seal(folder: Path, card: Card, counts: Mapping[str, int]) -> Card:
    """Write and return the card of a folder, with `counts` and the hashes of the files."""
    files = {name: file_hash(folder / name) for name in _files(folder)}
    sealed = card.model_copy(update={"counts": dict(counts), "files": files})
    write_text(folder / CARD, json.dumps(sealed.model_dump(), ensure_ascii=False, indent=2) + "\n")
    return sealed


def concatenate(folders: Iterable[Path], target: Path) -> dict[str, int]:
    """Concatenate the files of several dataset folders in a new folder without a card.

    Returns the counts for the card of the new folder. No records are held in memory.
    """
    (target / JUDGMENTS).mkdir(parents=True)
    for name in (DOCUMENTS, SUMMARIES, KEY_FACTS):
        (target / name).touch()
    counts = Counter[str]()
    for folder in folders:
        counts.update(read_card(folder).counts)
        for name in _files(folder):
            with (folder / name).open("rb") as source, (target / name).open("ab") as lines:
                shutil.copyfileobj(source, lines)
    return dict(counts)


def read(folder: Path, *, verify: bool) -> Content:
    """Read a dataset folder. Judgments, and texts if they are large, are read when accessed.

    Texts are large if their files exceed `LARGE` bytes. Raises InputError for invalid records and, with `verify`, for
    changed files.
    """
    names = _files(folder)
    if verify:
        check_intact(folder)
    size = sum((folder / name).stat().st_size for name in (DOCUMENTS, SUMMARIES) if name in names)
    if size >= LARGE and (verify or is_intact(folder)):
        return read_on_demand(folder)._replace(hash=read_card(folder).hash or None)
    given = [row for _, row in _records(folder / KEY_FACTS, _GivenFacts)]
    facts = {row.document_id: row.facts for row in given}
    documents: dict[str, Document] = {}
    for line, document in _records(folder / DOCUMENTS, Document):
        if document.id in documents:
            message = f"{document.id!r} occurs twice; {_REIMPORT}"
            raise InputError.at(folder / DOCUMENTS, message, line=line, field="id")
        if document.id in facts:
            document = document.model_copy(update={"key_facts": facts[document.id]})  # noqa: PLW2901
        documents[document.id] = document
    for doc_id in facts.keys() - documents.keys():
        raise InputError.at(folder / KEY_FACTS, f"refers to {doc_id!r}, {_UNKNOWN}", field="document_id")
    summaries = tuple(summary for _, summary in _records(folder / SUMMARIES, Summary, sealed=verify))
    faults, items = Faults(str(folder / SUMMARIES)), set[tuple[str, str]]()
    for line, summary in enumerate(summaries, 1):
        key = (summary.document_id, summary.system)
        if summary.document_id not in documents:
            faults.add(line, "document_id", f"refers to {summary.document_id!r}, {_UNKNOWN}")
        if key in items:
            faults.add(line, "system", f"is a second summary of {key[0]!r} by {key[1]!r}; {_REIMPORT}")
        items.add(key)
    faults.stop()
    makers: dict[str, JudgmentMaker] = {
        Path(name).stem: partial(_judgments, folder / name, items, sealed=verify)
        for name in names
        if name.startswith(f"{JUDGMENTS}/")
    }
    origins = {row.document_id: row.origins for row in given if row.origins is not None}
    texts = (
        (DOCUMENTS, (document.text for document in documents.values())),
        (SUMMARIES, (summary.text for summary in summaries)),
    )
    warnings = [
        Fault(str(folder / name), line, "text", EMPTY)
        for name, each in texts for line, text in enumerate(each, 1) if not text.strip()
    ]  # fmt: skip
    return Content(documents, summaries, makers, origins, warnings)


def read_on_demand(folder: Path, owner: object = None) -> Content:
    """Return the content of an unchanged folder. All records are read when they are accessed.

    The content holds a reference to `owner` (see `LineFile`).
    """
    warnings: list[Fault] = []
    documents: dict[str, int] = {}
    number: dict[str, int] = {}
    for start, line in lines_of(folder / DOCUMENTS):
        row = from_json(line)
        number[row["id"]] = len(number)
        documents[row["id"]] = start
        if not row["text"].strip():
            warnings.append(Fault(str(folder / DOCUMENTS), len(documents), "text", EMPTY))
    starts, of_document, kinds, names = array("q"), array("q"), array("q"), dict[tuple[str, str], int]()
    for start, line in lines_of(folder / SUMMARIES):
        row = from_json(line)
        starts.append(start)
        of_document.append(number[row["document_id"]])
        kinds.append(names.setdefault((row["system"], row["splitter"]), len(names)))
        if not row["text"].strip():
            warnings.append(Fault(str(folder / SUMMARIES), len(starts), "text", EMPTY))
    facts, origins = dict[str, int](), dict[str, int]()
    for start, line in lines_of(folder / KEY_FACTS):
        row = from_json(line)
        facts[row["document_id"]] = start
        if row.get("origins") is not None:
            origins[row["document_id"]] = start
    facts_file = LineFile(folder / KEY_FACTS, owner) if facts else None

    def document(line: bytes) -> Document:
        row = from_json(line)
        if facts_file is not None and row["id"] in facts:
            row["key_facts"] = from_json(facts_file.line(facts[row["id"]]))["facts"]
        return Document.model_validate(row)

    def origins_in(line: bytes) -> tuple[FactOrigin, ...]:
        return _GivenFacts.model_validate_json(line).origins or ()

    summaries = StoredSummaries(
        LineFile(folder / SUMMARIES, owner), starts, of_document, kinds, list(documents), list(names)
    )
    makers: dict[str, JudgmentMaker] = {
        path.stem: partial(_judgments, path, None, sealed=True, _owner=owner)
        for path in sorted((folder / JUDGMENTS).glob("*.jsonl"))
    }
    return Content(
        StoredMapping(LineFile(folder / DOCUMENTS, owner), documents, document), summaries, makers,
        {} if facts_file is None else StoredMapping(facts_file, origins, origins_in), warnings,
    )  # fmt: skip


def document_domains(folder: Path) -> dict[str, str]:
    """Return the domains by document id, reading only the documents.

    Raises InputError if a file was changed.
    """
    check_intact(folder)
    with (folder / DOCUMENTS).open("rb") as lines:
        rows = map(from_json, lines)
        return {row["id"]: row["domain"] for row in rows if row.get("domain") is not None}


def read_dropped(folder: Path) -> list[Dropped]:
    """Return the rows and fields that were dropped when the dataset was imported."""
    if not (folder / DROPPED).is_file():
        return []
    faults = Faults(str(folder / DROPPED))
    dropped = [
        Dropped._make(row.cells.get(name) for name in Dropped._fields)
        for row in read_rows(folder / DROPPED, faults, "jsonl")
    ]
    faults.stop()
    return dropped


def hashed_line(record: Document | Summary) -> bytes:
    """Return the bytes that a record contributes to the hash of a dataset. Unknown columns contribute nothing."""
    return canonical(record.model_dump(exclude={"extra"})).encode("utf-8") + b"\n"


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file as hex digits."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def hash_differences(known: Mapping[str, str], found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (name, "removed" | "added" | "changed") for each file whose hash differs."""
    for name in [*known, *(name for name in found if name not in known)]:
        if found.get(name) != known.get(name):
            yield name, "removed" if name not in found else "added" if name not in known else "changed"


def _dataset_files(folder: Path, directory: str, names: Iterable[str]) -> set[str]:
    """Return the names in `directory` that are files of the dataset in `folder`."""
    if Path(directory) == folder:
        return {CARD, DOCUMENTS, SUMMARIES, KEY_FACTS, DROPPED}
    return {name for name in names if Path(directory) == folder / JUDGMENTS and name.endswith(".jsonl")}


def _files(folder: Path) -> list[str]:
    fixed = [name for name in (DOCUMENTS, SUMMARIES, KEY_FACTS) if (folder / name).is_file()]
    return fixed + [f"{JUDGMENTS}/{path.name}" for path in sorted((folder / JUDGMENTS).glob("*.jsonl"))]


def _lines(records: Iterable[Record], without: set[str] | None = None) -> Iterator[str]:
    return (record.model_dump_json(exclude_none=True, exclude=without) for record in records)


def read_card(folder: Path) -> Card:
    """Read the card of a dataset folder. Raises InputError if it is invalid."""
    path = folder / CARD
    try:
        return Card.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise invalid(path, None, error, _REIMPORT) from error


def _records(path: Path, kind: type[_R], *, sealed: bool = False) -> Iterator[tuple[int, _R]]:
    """Yield (line, record). A `sealed` file is known to be unchanged, and is read faster."""
    if not path.exists():
        if path.name != KEY_FACTS:
            raise InputError.at(path, f"is missing; {_REIMPORT}")
        return
    faults = Faults(str(path))
    with path.open("rb") as handle:
        lines: Iterable[tuple[int, Any]] = enumerate(handle, 1)
        validate: Callable[[Any], _R] = kind.model_validate_json
        if not sealed:
            lines = ((row.line, row.cells) for row in read_rows(path, faults, "jsonl"))
            validate = kind.model_validate
        for line, content in lines:
            faults.stop()
            try:
                yield line, validate(content)
            except ValidationError as error:
                raise invalid(path, line, error, _REIMPORT) from error
    faults.stop()


def _judgments(
    path: Path, items: Container[tuple[str, str]] | None, *, sealed: bool, _owner: object = None
) -> Iterator[Judgment]:
    """Yield the judgments of a file, holding a reference to the owner of the file.

    Raises InputError if a judgment is not about one of the `items`, given as (document, system).
    """
    for line, judgment in _records(path, Judgment, sealed=sealed):
        key = (judgment.target.document_id, judgment.target.system)
        if items is not None and key not in items:
            raise InputError.at(path, f"refers to {key[0]!r} by {key[1]!r}, {_UNKNOWN}", line=line, field="target")
        yield judgment
