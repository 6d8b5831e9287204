"""The DATA folder: documents, summaries, key facts and judgment sets as JSON Lines, sealed by dataset.json.

    DATA/   dataset.json . documents.jsonl . summaries.jsonl . keyfacts.jsonl . judgments/SET.jsonl

dataset.json holds the SHA-256 of every other file, so that a change made by hand is noticed on loading.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_core import from_json

from summeter.data.atomic import building, write_lines, write_text
from summeter.data.faults import Dropped, Faults
from summeter.data.formats import Row, read_rows
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
"""What was left out of the dataset, with the reasons; no part of the data, and not sealed."""

LARGE = 64 << 20
"""Bytes of texts from which data are not held in memory: of documents.jsonl and summaries.jsonl, or of flat files."""

_AGAIN = "import the data again"
_UNKNOWN = f"which is not in the dataset; {_AGAIN}"
_R = TypeVar("_R", bound=Record)

JudgmentMaker = Callable[[], Iterator[Judgment]]


class Card(Record):
    """What a dataset is, where it may be used, and the hashes that say it is unchanged.

    `hash` is that of the content an evaluator sees (documents and summaries); `files` maps each file of the
    folder to its SHA-256 and `counts` says how much is in it (both empty before the dataset is saved). `origin` says of
    which dataset it is a part, or from where on a hub it came (`data.subsets`, `data.hub`).
    """

    layout: Literal["summeter-dataset/1"] = "summeter-dataset/1"
    name: str
    version: str | None = None
    licence: str | None = None
    citation: str | None = None
    origin: dict[str, Any] | None = None
    splitter: str
    hash: str = ""
    counts: dict[str, int] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


class _GivenFacts(Record):
    """A line of keyfacts.jsonl."""

    document_id: str
    id: str
    origin: Literal["given"]
    facts: tuple[str, ...]
    origins: tuple[FactOrigin, ...] | None = None
    """Where each of the facts comes from, where that is known."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.origins is not None and len(self.origins) != len(self.facts):
            raise ValueError(f"there are {len(self.origins)} origins for {len(self.facts)} key facts")
        return self


class Content(NamedTuple):
    """What a folder holds. `hash` is that of its card where the card's word is taken for it."""

    card: Card
    documents: Mapping[str, Document]
    summaries: Sequence[Summary]
    judgments: dict[str, JudgmentMaker]
    fact_origins: Mapping[str, tuple[FactOrigin, ...]]
    warnings: Sequence[Fault] = ()
    hash: str | None = None


def is_dataset(path: Path) -> bool:
    """Whether the folder holds a dataset."""
    return (path / CARD).is_file()


def check_intact(folder: Path) -> None:
    """Raise InputError, by file, unless the files of a dataset are as they were written."""
    _verify(folder, _card(folder), _files(folder))


def is_intact(folder: Path) -> bool:
    """Whether the folder holds a dataset whose files are as they were written."""
    try:
        check_intact(folder)
    except (InputError, OSError):
        return False
    return True


def check_set_name(name: str, what: str = "a judgment set") -> None:
    """Raise UsageError unless `name` can name a judgment set, or `what` is named so (and so a file or folder)."""
    if not SET_NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name {what}; use letters, digits, full stops, _ and -")


def write(
    folder: Path,
    documents: Mapping[str, Document],
    summaries: Iterable[Summary],
    sets: Mapping[str, JudgmentMaker],
    card: Card,
    dropped: Iterable[Dropped] = (),
    fact_origins: Mapping[str, tuple[FactOrigin, ...]] = MappingProxyType({}),
    *,
    keep_others: bool = False,
) -> Card:
    """Write the folder whole; returns the card with counts and file hashes filled in. `keep_others` keeps the files of
    a folder that is replaced which are not part of its dataset."""
    with building(folder) as fresh:
        if keep_others and folder.is_dir():
            shutil.copytree(folder, fresh, symlinks=True, dirs_exist_ok=True, ignore=partial(_own, folder))
        lists = (
            _given_facts(document, fact_origins.get(document.id))
            for document in documents.values()
            if document.key_facts
        )
        counts = {
            "documents": write_lines(fresh / DOCUMENTS, _lines(documents.values(), without={"key_facts"})),
            "summaries": write_lines(fresh / SUMMARIES, _lines(summaries)),
            "keyfacts": write_lines(fresh / KEY_FACTS, _lines(lists)),
        }
        for name, make in sets.items():
            check_set_name(name)
            path = fresh / JUDGMENTS / f"{name}.jsonl"
            counts[f"{JUDGMENTS}/{name}"] = write_lines(path, _lines(make()))
        if lines := [json.dumps(each._asdict(), ensure_ascii=False) for each in dropped]:
            write_lines(fresh / DROPPED, lines)
        return seal(fresh, card, counts)


def seal(folder: Path, card: Card, counts: Mapping[str, int]) -> Card:
    """Write the card of a folder whose other files are written, with their counts and hashes; returns it."""
    files = {name: file_hash(folder / name) for name in _files(folder)}
    sealed = card.model_copy(update={"counts": dict(counts), "files": files})
    write_text(folder / CARD, json.dumps(sealed.model_dump(), ensure_ascii=False, indent=2) + "\n")
    return sealed


def concatenate(folders: Iterable[Path], target: Path) -> dict[str, int]:
    """Write the files of several folders, one folder after the other, as those of a new folder without a card.

    Memory holds no record. Returns the counts for the card of the new folder.
    """
    (target / JUDGMENTS).mkdir(parents=True)
    for name in (DOCUMENTS, SUMMARIES, KEY_FACTS):
        (target / name).touch()
    counts = Counter[str]()
    for folder in folders:
        counts.update(_card(folder).counts)
        for name in _files(folder):
            with (folder / name).open("rb") as source, (target / name).open("ab") as lines:
                shutil.copyfileobj(source, lines)
    return dict(counts)


class Appending:
    """Writes the files of a new dataset folder, but for its card, some documents at a time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / JUDGMENTS).mkdir()
        self._folder = folder
        self._files = {name: (folder / name).open("wb") for name in (DOCUMENTS, SUMMARIES, KEY_FACTS)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(
        self, documents: Iterable[Document], summaries: Iterable[Summary], sets: Mapping[str, JudgmentMaker]
    ) -> None:
        """Write documents with all that belongs to them."""
        documents = list(documents)
        facts = (_given_facts(document, None) for document in documents if document.key_facts)
        for name, lines in (
            (DOCUMENTS, _lines(documents, without={"key_facts"})), (SUMMARIES, _lines(summaries)),
            (KEY_FACTS, _lines(facts)), *((f"{JUDGMENTS}/{each}.jsonl", _lines(make())) for each, make in sets.items()),
        ):  # fmt: skip
            if name not in self._files:
                self._files[name] = (self._folder / name).open("wb")
            self._files[name].writelines(f"{line}\n".encode() for line in lines)


def read(folder: Path, *, verify: bool) -> Content:
    """Read a folder; judgment sets are read when asked for, and so are documents and summaries of LARGE bytes. Raises
    InputError, also for changed files."""
    card = _card(folder)
    names = _files(folder)
    if verify:
        _verify(folder, card, names)
    size = sum((folder / name).stat().st_size for name in (DOCUMENTS, SUMMARIES) if name in names)
    if size >= LARGE and (verify or is_intact(folder)):
        return read_on_demand(folder, card)
    given = [row for _, row in _records(folder / KEY_FACTS, _GivenFacts)]
    facts = {row.document_id: row.facts for row in given}
    documents = _documents(folder / DOCUMENTS, facts)
    summaries = tuple(summary for _, summary in _records(folder / SUMMARIES, Summary, sealed=verify))
    items = _items(folder / SUMMARIES, documents, summaries)
    makers = {
        Path(name).stem: _maker(folder / name, items, sealed=verify)
        for name in names
        if name.startswith(f"{JUDGMENTS}/")
    }
    origins = {row.document_id: row.origins for row in given if row.origins is not None}
    texts = (
        (DOCUMENTS, (document.text for document in documents.values())),
        (SUMMARIES, (own.text for own in summaries)),
    )
    warnings = [
        Fault(str(folder / name), line, "text", EMPTY)
        for name, own in texts for line, text in enumerate(own, 1) if not text.strip()
    ]  # fmt: skip
    return Content(card, documents, summaries, makers, origins, warnings)


def read_on_demand(folder: Path, card: Card, place: object = None) -> Content:
    """What a folder holds whose files are as summeter wrote them; documents, summaries and key facts are read from it
    when they are asked for. `place` is kept as long as the content (see `LineFile`)."""
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
    facts_file = LineFile(folder / KEY_FACTS, place) if facts else None

    def document(line: bytes) -> Document:
        row = from_json(line)
        if facts_file is not None and row["id"] in facts:
            row["key_facts"] = from_json(facts_file.line(facts[row["id"]]))["facts"]
        return Document.model_validate(row)

    def origins_in(line: bytes) -> tuple[FactOrigin, ...]:
        return _GivenFacts.model_validate_json(line).origins or ()

    summaries = StoredSummaries(
        LineFile(folder / SUMMARIES, place), starts, of_document, kinds, list(documents), list(names)
    )
    makers: dict[str, JudgmentMaker] = {
        path.stem: partial(_judgments, path, place) for path in sorted((folder / JUDGMENTS).glob("*.jsonl"))
    }
    return Content(
        card, StoredMapping(LineFile(folder / DOCUMENTS, place), documents, document), summaries, makers,
        {} if facts_file is None else StoredMapping(facts_file, origins, origins_in), warnings, card.hash or None,
    )  # fmt: skip


def _judgments(path: Path, _place: object) -> Iterator[Judgment]:
    """The judgments of a sealed file; the generator keeps the place in which the file is."""
    for _, judgment in _records(path, Judgment, sealed=True):
        yield judgment


def document_domains(folder: Path) -> dict[str, str]:
    """The domain of each document that has one, by id; reads no summary. Raises InputError as `read` does."""
    _verify(folder, _card(folder), _files(folder))
    with (folder / DOCUMENTS).open("rb") as lines:
        rows = map(from_json, lines)
        return {row["id"]: row["domain"] for row in rows if row.get("domain") is not None}


def read_dropped(folder: Path) -> list[Dropped]:
    """What was left out of the dataset in a folder when it was imported."""
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
    """A record as the hash of a dataset reads it: documents, then summaries, in their order."""
    return canonical(record.model_dump()).encode("utf-8") + b"\n"


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def hash_differences(known: Mapping[str, str], there: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names of files whose hash is not the known one, each with what happened: "removed", "added" or "changed"."""
    for name in [*known, *(name for name in there if name not in known)]:
        if there.get(name) != known.get(name):
            yield name, "removed" if name not in there else "added" if name not in known else "changed"


def _own(folder: Path, place: str, names: Iterable[str]) -> set[str]:
    """The names in a place of a folder that are files of its dataset."""
    if Path(place) == folder:
        return {CARD, DOCUMENTS, SUMMARIES, KEY_FACTS, DROPPED}
    return {name for name in names if Path(place) == folder / JUDGMENTS and name.endswith(".jsonl")}


def _files(folder: Path) -> list[str]:
    fixed = [name for name in (DOCUMENTS, SUMMARIES, KEY_FACTS) if (folder / name).is_file()]
    return fixed + [f"{JUDGMENTS}/{path.name}" for path in sorted((folder / JUDGMENTS).glob("*.jsonl"))]


def _lines(records: Iterable[Record], without: set[str] | None = None) -> Iterator[str]:
    return (record.model_dump_json(exclude_none=True, exclude=without) for record in records)


def _given_facts(document: Document, origins: tuple[FactOrigin, ...] | None) -> _GivenFacts:
    facts = KeyFacts.of(document.key_facts, "given")
    return _GivenFacts(document_id=document.id, id=facts.id, origin="given", facts=facts.texts, origins=origins)


def _card(folder: Path) -> Card:
    path = folder / CARD
    try:
        return Card.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise invalid(path, None, error, _AGAIN) from error


def _verify(folder: Path, card: Card, names: list[str]) -> None:
    faults = Faults(str(folder))
    accept = f"to keep the change, check it and seal it: summeter data import {folder} -o {folder} --force"
    for name, what in hash_differences(card.files, {name: file_hash(folder / name) for name in names}):
        faults.add(None, name, f"was {what} after import; {accept}")
    faults.stop()


def _numbered(path: Path) -> Iterator[Row]:
    if not path.exists():
        if path.name != KEY_FACTS:
            raise InputError.at(path, None, None, f"is missing; {_AGAIN}")
        return
    faults = Faults(str(path))
    for row in read_rows(path, faults, "jsonl"):
        faults.stop()
        yield row
    faults.stop()


def _documents(path: Path, facts: Mapping[str, tuple[str, ...]]) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    for row in _numbered(path):
        doc_id = row.cells.get("id")
        if isinstance(doc_id, str) and doc_id in facts:
            row.cells["key_facts"] = facts[doc_id]
        document = _validated(path, row, Document)
        if document.id in documents:
            raise InputError.at(path, row.line, "id", f"is a second document {document.id!r}; {_AGAIN}")
        documents[document.id] = document
    for doc_id in facts:
        if doc_id not in documents:
            raise InputError.at(path.with_name(KEY_FACTS), None, "document_id", f"names {doc_id!r}, {_UNKNOWN}")
    return documents


def _records(path: Path, kind: type[_R], *, sealed: bool = False) -> Iterator[tuple[int, _R]]:
    """Records with their lines; a `sealed` file is as summeter wrote it, and read the fast way."""
    if sealed:
        with path.open("rb") as handle:
            for number, line in enumerate(handle, 1):
                try:
                    yield number, kind.model_validate_json(line)
                except ValidationError as error:  # of another version of summeter
                    raise invalid(path, number, error, _AGAIN) from error
    else:
        for row in _numbered(path):
            yield row.line, _validated(path, row, kind)


def _validated(path: Path, row: Row, kind: type[_R]) -> _R:
    try:
        return kind.model_validate(row.cells)
    except ValidationError as error:
        raise invalid(path, row.line, error, _AGAIN) from error


def _items(path: Path, documents: Mapping[str, Document], summaries: Iterable[Summary]) -> set[tuple[str, str]]:
    """The (document_id, system) of each summary, once and about a known document."""
    faults, seen = Faults(str(path)), set[tuple[str, str]]()
    for line, summary in enumerate(summaries, 1):
        key = (summary.document_id, summary.system)
        if summary.document_id not in documents:
            faults.add(line, "document_id", f"names {summary.document_id!r}, {_UNKNOWN}")
        if key in seen:
            faults.add(line, "system", f"is a second summary of {key[0]!r} by {key[1]!r}; {_AGAIN}")
        seen.add(key)
    faults.stop()
    return seen


def _maker(path: Path, items: set[tuple[str, str]], *, sealed: bool) -> JudgmentMaker:
    def make() -> Iterator[Judgment]:
        for line, judgment in _records(path, Judgment, sealed=sealed):
            key = (judgment.target.document_id, judgment.target.system)
            if key not in items:
                raise InputError.at(path, line, "target", f"is about {key[0]!r} by {key[1]!r}, {_UNKNOWN}")
            yield judgment

    return make
