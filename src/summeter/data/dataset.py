"""Dataset: documents, summaries, key facts and any number of named judgment sets; large ones are read on demand.

`load` reads flat files or a dataset folder, `save` writes the folder, `flat_rows` gives the flat rows back.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import ChainMap, Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, islice, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from summeter.data import folder as folders
from summeter.data import remote
from summeter.data.atomic import check_folder
from summeter.data.faults import Dropped, Faults, OnFault, meant
from summeter.data.flat import flat_row, splitter_of
from summeter.data.folder import Card
from summeter.data.formats import OnRead, Row, file_name, format_to_read, read_rows, storable
from summeter.data.hub import Fetched, fetch, is_address
from summeter.data.intake import Intake
from summeter.data.layout import Table, joined, read_tables, records, with_documents
from summeter.data.on_demand import StoredMapping, StoredSummaries
from summeter.data.presets import Preset, preset_named
from summeter.data.presets.base import Joined, Record
from summeter.data.remote import is_remote
from summeter.data.rows import Columns
from summeter.data.streaming import stream
from summeter.records import (
    Document,
    FactOrigin,
    Fault,
    InputError,
    Judgment,
    KeyFacts,
    Parameter,
    Summary,
    UsageError,
)

Rows = Sequence[Mapping[str, Any]]


class Dataset:
    """Documents, summaries and human judgments. Immutable; the `with_` methods return new datasets.

    Summaries stand in the order of their documents. Those of a large folder are read from it when they are asked for,
    and so are its documents: go through `items`, and keep none of them.

    >>> data = load([{"document": "It rained. We stayed.", "summary": "It rained."}])
    >>> len(data), data.systems
    (1, ('system',))
    """

    def __init__(
        self,
        documents: Mapping[str, Document],
        summaries: Iterable[Summary],
        judgments: Mapping[str, Callable[[], Iterator[Judgment]]],
        card: Card,
        warnings: Iterable[Fault] = (),
        dropped: Iterable[Dropped] = (),
        fact_origins: Mapping[str, tuple[FactOrigin, ...]] = MappingProxyType({}),
        *,
        known_hash: str | None = None,
    ) -> None:
        """`known_hash` is the hash of the documents and summaries, where it was computed before."""
        self._documents: Mapping[str, Document] = (
            MappingProxyType(dict(documents)) if isinstance(documents, dict | MappingProxyType) else documents
        )
        self._summaries: Sequence[Summary] = summaries if isinstance(summaries, StoredSummaries) else tuple(summaries)
        self._group()
        if known_hash is not None:
            self.__dict__["hash"] = known_hash
        self.warnings = tuple(warnings)
        self.dropped = tuple(dropped)
        self._fact_origins = (
            fact_origins
            if isinstance(fact_origins, StoredMapping)
            else MappingProxyType(_fitting(fact_origins, self._documents))
        )
        self._makers = dict(judgments)
        self._made: dict[str, tuple[Judgment, ...]] = {}
        self._card = card

    def _group(self) -> None:
        """Put the summaries in the order of their documents, and note where those of each document begin."""
        place = {doc_id: number for number, doc_id in enumerate(self._documents)}
        keys = list(_keys(self._summaries))
        documents = array("q", (place[doc_id] for doc_id, _ in keys))
        systems = [system for _, system in keys]
        if any(left > right for left, right in pairwise(documents)):
            order = sorted(range(len(documents)), key=documents.__getitem__)
            summaries = self._summaries
            self._summaries = (
                summaries.take(order)
                if isinstance(summaries, StoredSummaries)
                else tuple(summaries[number] for number in order)
            )
            documents, systems = array("q", (documents[n] for n in order)), [systems[n] for n in order]
        self._ids, self._place, self._first = tuple(place), place, array("q", [0])
        self._systems: dict[str, tuple[str, ...]] = {}
        known: dict[tuple[str, ...], tuple[str, ...]] = {}  # most documents have summaries by the same systems
        counts = Counter(documents)
        for doc_id, number in place.items():
            first = self._first[-1]
            own = tuple(systems[first : first + counts[number]])
            self._systems[doc_id] = known.setdefault(own, own)
            self._first.append(first + len(own))

    def __len__(self) -> int:
        """The number of summaries."""
        return len(self._summaries)

    def __repr__(self) -> str:
        sets = ", ".join(self.judgment_sets) or "none"
        size = f"{self.document_count} documents, {len(self)} summaries"
        return f"{type(self).__name__}({self._card.name!r}: {size}, judgment sets: {sets})"

    @property
    def documents(self) -> Mapping[str, Document]:
        """The documents by id, in order."""
        return self._documents

    @property
    def summaries(self) -> Sequence[Summary]:
        """The summaries, in the order of their documents."""
        return self._summaries

    @property
    def fact_origins(self) -> Mapping[str, tuple[FactOrigin, ...]]:
        """Where the key facts of a document come from, by its id, as far as that is known."""
        return self._fact_origins

    @property
    def document_count(self) -> int:
        """The number of documents."""
        return len(self._documents)

    def systems_by_document(self) -> Mapping[str, Sequence[str]]:
        """The id of each document with the systems of its summaries, in order; no text is read."""
        return MappingProxyType(self._systems)

    def item(self, place: int) -> tuple[Document, Sequence[Summary]]:
        """The document at a place in the data, from 0, with its summaries."""
        summaries = self._summaries[self._first[place] : self._first[place + 1]]
        return self._documents[self._ids[place]], summaries

    @property
    def card(self) -> Card:
        """Name, version, licence, citation, origin, splitter, hashes."""
        return self._card.model_copy(update={"hash": self.hash})

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the documents and summaries in their order: what evaluators see, without human judgments."""
        sha256 = hashlib.sha256()
        for document in self.documents.values():
            sha256.update(folders.hashed_line(document))
        for summary in self.summaries:
            sha256.update(folders.hashed_line(summary))
        return sha256.hexdigest()

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems in order of appearance."""
        return tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(self._systems.values()))))

    @property
    def domains(self) -> tuple[str, ...]:
        """Domains in order of appearance (documents without one add nothing)."""
        return tuple(
            dict.fromkeys(document.domain for document in self.documents.values() if document.domain is not None)
        )

    def document_domains(self) -> dict[str, str]:
        """The domain of each document that has one, by its id."""
        domains = {document.id: document.domain for document in self.documents.values()}
        return {doc_id: domain for doc_id, domain in domains.items() if domain is not None}

    @property
    def splitters(self) -> tuple[str, ...]:
        """Who drew the sentences of summaries, in the order of their names."""
        summaries = self._summaries
        if isinstance(summaries, StoredSummaries):
            return tuple(sorted(summaries.splitters))
        return tuple(sorted({summary.splitter for summary in summaries}))

    @property
    def judgment_sets(self) -> tuple[str, ...]:
        """Names of the judgment sets."""
        return tuple(self._makers)

    def items(self) -> Iterator[tuple[Document, list[Summary]]]:
        """Each document with its summaries: the unit of work."""
        summaries = iter(self.summaries)
        for document, systems in zip(self.documents.values(), self._systems.values(), strict=True):
            yield document, list(islice(summaries, len(systems)))

    def key_facts(self, doc_id: str) -> KeyFacts | None:
        """The key facts given with a document, or None."""
        facts = self.documents[doc_id].key_facts
        return KeyFacts.of(facts, "given") if facts else None

    def judgments(self, name: str) -> tuple[Judgment, ...]:
        """A judgment set, kept in memory once asked for. Raises UsageError for an unknown name."""
        if name not in self._made:
            self._made[name] = tuple(self.iter_judgments(name))
        return self._made[name]

    def iter_judgments(self, name: str) -> Iterator[Judgment]:
        """A judgment set one by one, without keeping it."""
        if name not in self._makers:
            known = f"it has: {', '.join(self._makers)}" if self._makers else "it has none"
            raise UsageError(f"the dataset has no judgment set {name!r}{meant(name, self._makers)}; {known}")
        return self._makers[name]()

    def with_judgments(self, name: str, judgments: Iterable[Judgment]) -> Dataset:
        """The dataset with a judgment set added, or replaced. Raises UsageError if one judges what is not here."""
        folders.check_set_name(name)
        kept = tuple(judgments)
        for judgment in kept:
            if judgment.target.system not in self._systems.get(judgment.target.document_id, ()):
                raise UsageError(f"a judgment of {name} is about {judgment.target.item}, which is not in the dataset")
        makers = {**self._makers, name: lambda: iter(kept)}
        return self._with(judgments=makers)

    def with_key_facts(
        self, key_facts: Mapping[str, Sequence[str]], origins: Mapping[str, tuple[FactOrigin, ...]] | None = None
    ) -> Dataset:
        """The dataset with other key facts for these documents, an empty list for none; `origins` says where each of a
        document's facts comes from.

        Judgments that count in a list which has changed are left out: those of key facts, and of sentences whether
        they carry one (conciseness). Raises UsageError for a document that is not here.
        """
        for doc_id in key_facts:
            if doc_id not in self.documents:
                raise UsageError(f"there is no document {doc_id!r}{meant(doc_id, self.documents)}")
        lists = {doc_id: tuple(facts) for doc_id, facts in key_facts.items()}
        changed = frozenset(doc_id for doc_id, facts in lists.items() if facts != self.documents[doc_id].key_facts)
        others = {doc_id: self.documents[doc_id].model_copy(update={"key_facts": lists[doc_id]}) for doc_id in changed}
        stored = not isinstance(self.documents, MappingProxyType)
        # A ChainMap is in the order of its last mapping, and holds no other documents than the changed ones.
        documents = ChainMap(others, self.documents) if stored else {**self.documents, **others}  # type: ignore[arg-type]
        makers = {name: partial(_counting_in_other_lists, maker, changed) for name, maker in self._makers.items()}
        known = {doc_id: origin for doc_id, origin in self.fact_origins.items() if doc_id not in changed}
        return self._with(
            documents=documents,
            judgments=makers if changed else self._makers,
            fact_origins={**known, **(origins or {})},
        )

    def _with(self, **changes: Any) -> Dataset:
        """The dataset with other `documents`, `judgments`, `card` or `fact_origins`."""
        own = {"documents": self.documents, "judgments": self._makers, "card": self._card}
        return Dataset(
            **{**own, "fact_origins": self.fact_origins, **changes},
            summaries=self.summaries,
            warnings=self.warnings,
            dropped=self.dropped,
            known_hash=None if "documents" in changes else self.__dict__.get("hash"),
        )

    def with_documents(self, doc_ids: Iterable[str]) -> Dataset:
        """The dataset of these documents alone, in its own order, with their summaries and judgments.

        Raises UsageError for an id that is not here.
        """
        kept = frozenset(doc_ids)
        for doc_id in sorted(kept - self.documents.keys()):
            raise UsageError(f"there is no document {doc_id!r}{meant(doc_id, self.documents)}")
        makers = {name: partial(_of_documents, maker, kept) for name, maker in self._makers.items()}
        places = [place for doc_id, place in self._place.items() if doc_id in kept]
        numbers = chain.from_iterable(range(self._first[place], self._first[place + 1]) for place in places)
        documents, summaries, origins = self.documents, self._summaries, self.fact_origins
        card = self._card.model_copy(update={"counts": {}, "files": {}})
        return Dataset(
            documents.of(kept)
            if isinstance(documents, StoredMapping)
            else {doc_id: documents[doc_id] for doc_id in self._place if doc_id in kept},
            summaries.take(numbers)
            if isinstance(summaries, StoredSummaries)
            else [summaries[number] for number in numbers],
            makers,
            card,
            fact_origins=origins.of(kept) if isinstance(origins, StoredMapping) else origins,
        )

    def with_split(self, name: str) -> Dataset:
        """The dataset with `name` as the split of every document."""
        documents = {doc_id: document.model_copy(update={"split": name}) for doc_id, document in self.documents.items()}
        return self._with(documents=documents)

    def with_card(self, **changes: Any) -> Dataset:
        """The dataset with `name`, `version`, `licence`, `citation` or `origin` changed."""
        unknown = set(changes) - {"name", "version", "licence", "citation", "origin"}
        if unknown:
            there = "name, version, licence, citation and origin"
            raise UsageError(f"a card has no {sorted(unknown)[0]!r} to set; it has {there}")
        card = self._card.model_copy(update=changes)
        return self._with(card=card)


def _keys(summaries: Sequence[Summary]) -> Iterator[tuple[str, str]]:
    """The document's id and the system of each summary."""
    if isinstance(summaries, StoredSummaries):
        return summaries.keys()
    return ((summary.document_id, summary.system) for summary in summaries)


def _fitting(
    origins: Mapping[str, tuple[FactOrigin, ...]], documents: Mapping[str, Document]
) -> dict[str, tuple[FactOrigin, ...]]:
    """The origins of the key facts that are here. Raises UsageError where they are not as many as the key facts."""
    here = {doc_id: origin for doc_id, origin in origins.items() if doc_id in documents}
    for doc_id, origin in here.items():
        if len(origin) != len(documents[doc_id].key_facts):
            count = len(documents[doc_id].key_facts)
            raise UsageError(f"there are {len(origin)} origins for the {count} key facts of document {doc_id!r}")
    return here


def _counting_in_other_lists(maker: Callable[[], Iterator[Judgment]], changed: frozenset[str]) -> Iterator[Judgment]:
    """The judgments that do not count in the key facts of the documents `changed`."""
    for judgment in maker():
        target = judgment.target
        counts = target.unit == "key_fact" or (target.unit == "sentence" and judgment.aspect == "conciseness")
        if not counts or target.document_id not in changed:
            yield judgment


def _of_documents(maker: Callable[[], Iterator[Judgment]], kept: frozenset[str]) -> Iterator[Judgment]:
    return (judgment for judgment in maker() if judgment.target.document_id in kept)


def load(
    data: str | Path | Rows | Sequence[str | Path],
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002
    preset: str | None = None,
    format: str | None = None,  # noqa: A002
    language: str = "en",
    verify: bool = True,
    documents: str | Path | Sequence[str | Path] = (),
    on_fault: OnFault = "error",
    on_read: OnRead | None = None,
) -> Dataset:
    """Read flat files (or `-`), a dataset folder, rows as dicts, the files of a public layout, or data of a hub.

    Flat files are one file, a list of files, a pattern (`parts/*.jsonl`), or a folder of JSON Lines, CSV, TSV or
    Parquet files, here or at `s3://`, `gs://`, `az://`. They are one data set: the rows of a document may stand in
    several files. Data whose texts are larger than 64 MB are not held in memory (see `Dataset`).

    A hub's data are named `hf:org/name@revision#[config/]split`, wherever a file is (see `data.hub`).

    `map` renames columns (field: column), `preset` names a public layout (whose files are told apart by their columns),
    `format` overrules the suffix, `language` (ISO 639-1) is that of the texts, for splitting sentences. `documents`
    are files or folders of documents by id, for rows without them. `on_fault`: faulty rows end the import (`error`),
    are left out (`skip`), or are kept without the field at fault (`keep-valid`); see `Dataset.dropped`.
    `verify=False` accepts a dataset folder whose files were changed by hand (each record is still checked).
    `on_read` is called with how many bytes more were read.

    Raises InputError with every fault found, UsageError for an impossible call, InstallError for Parquet or XLSX
    without the package that reads it.
    """
    source = Source.of(
        data,
        map=map,
        preset=preset,
        format=format,
        language=language,
        documents=documents,
        on_fault=on_fault,
        on_read=on_read,
    )
    if source.folder is not None:
        return _load_folder(source.folder, verify=verify)
    faults = source.faults()
    columns = Columns(map)
    intake = Intake(faults, columns, language)
    if source.layout is None:
        rows = source.flat(faults)
        first = deque(rows) if source.paths is None or source.documents else _up_to_large(rows)
        if (more := next(rows, None)) is not None:
            content = stream(chain(_emptying(first), [more], rows), faults, map, language, source.card)
            return Dataset(
                content.documents,
                content.summaries,
                content.judgments,
                source.card,
                [*source.warnings, *faults.warnings],
                faults.dropped,
                content.fact_origins,
            )
        for record in _emptying(first):
            intake.take(record)
    else:
        for row in source.joined(source.layout, columns, faults):
            intake.convert(source.layout, row)
    flat = intake.finish()
    return Dataset(
        flat.documents,
        flat.summaries,
        flat.judgments,
        source.card,
        [*source.warnings, *faults.warnings],
        faults.dropped,
    )


def _up_to_large(rows: Iterator[Record]) -> deque[Record]:
    """The first rows, until their texts are too large to hold all rows in memory."""
    first: deque[Record] = deque()
    size = 0
    while size < folders.LARGE and (row := next(rows, None)) is not None:
        first.append(row)
        size += sum(len(cell) for cell in row.cells.values() if isinstance(cell, str))
    return first


def _emptying(rows: deque[Record]) -> Iterator[Record]:
    """The rows, each of which is let go of."""
    while rows:
        yield rows.popleft()


def _fetched(paths: Sequence[str | Path] | None) -> tuple[Any, list[Fetched]]:
    """The paths, with the files of each address of a hub in its place; and what was fetched."""
    if paths is None or not any(map(is_address, paths)):
        return paths, []
    sources = {str(path): fetch(path) for path in paths if is_address(path)}
    files = [sources[str(path)].files if is_address(path) else (path,) for path in paths]
    return [file for several in files for file in several], list(sources.values())


def _of_hub(card: Card, hub: Sequence[Fetched]) -> dict[str, Any]:
    """What a card says of data that came from a hub."""
    origins = [source.origin for source in hub]
    origin = origins[0] if len(origins) == 1 else {"how": "hub", "of": origins}
    return {"name": hub[0].name, "licence": card.licence or hub[0].licence, "origin": origin}


def _paths(data: str | Path | Rows | Sequence[str | Path]) -> list[str | Path] | None:
    """The files that are named; None for rows."""
    if isinstance(data, str | Path):
        return [data]
    paths = [item for item in data if isinstance(item, str | Path)] if isinstance(data, Sequence) else []
    if paths and len(paths) < len(data):
        raise UsageError("the data are rows and files at once; give rows (dicts), or files (paths)")
    return paths or None


_FLAT_FILES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
"""Suffixes of the files that are read where a folder is named, also with `.gz` behind them."""


_OTHER_FOLDERS = (folders.CARD, folders.DOCUMENTS, "run.json", "campaign.yaml")
"""A folder with one of these is no folder of flat files."""


def _is_flat(name: str) -> bool:
    file = name.rpartition("/")[2].lower()
    return not file.startswith(".") and file.removesuffix(".gz").endswith(_FLAT_FILES)


def _flat_files(path: str | Path) -> list[str | Path]:
    """The files that a path names: those of a folder, those that fit a pattern, else the path itself."""
    name, folder = str(path), Path(path)
    pattern = any(sign in name for sign in "*?[")
    if is_remote(path):
        if _is_flat(name) and not pattern:
            return [path]
        there = remote.files(name)
        if any(each.endswith(f"/{folders.CARD}") for each in there):
            raise UsageError(f"{name} is a dataset folder, which is read on this machine only; copy it here first")
        found: list[str | Path] = [each for each in there if pattern or _is_flat(each)]
    elif pattern and not folder.exists():
        root = Path(folder.anchor)
        found = [each for each in sorted(root.glob(str(folder.relative_to(root)))) if each.is_file()]
    elif name != "-" and folder.is_dir() and not any((folder / own).exists() for own in _OTHER_FOLDERS):
        found = [each for each in sorted(folder.iterdir()) if _is_flat(each.name) and each.is_file()]
        if not found:
            message = (
                f"is a folder without {folders.CARD} and without flat files ({', '.join(_FLAT_FILES)}); give a flat "
                "file, a folder of flat files, or a folder made by `summeter data import`"
            )
            raise InputError.at(path, None, None, message)
    else:
        return [path]
    return found or [path]


def _is_folder(path: str | Path) -> bool:
    return not is_remote(path) and str(path) != "-" and Path(path).is_dir()


def _name_of(named: Sequence[str | Path] | None, files: int, layout: Preset | None) -> str:
    """What data are called that are named so: by their file, or, of several `files`, by their folder."""
    if named is None:
        return "rows"
    if layout is not None and (len(named) > 1 or _is_folder(named[0])):
        return layout.name
    if str(named[0]) == "-":
        return "stdin"
    path = Path(named[0])
    if _is_folder(path):
        return path.resolve().name
    if files > 1 and (len(named) > 1 or "*" in path.name) and path.parent.name:
        return path.parent.name
    return path.name.partition(".")[0] or path.name


class Source(NamedTuple):
    """What is to be read: a dataset folder, or flat rows, or files in a format (None: by their names), of a `layout`
    or flat; what the data are called, and where the documents are. `hub` is what was fetched."""

    data: Any
    paths: Sequence[str | Path] | None
    name: str
    folder: Path | None
    layout: Preset | None
    renamed: bool
    format: str | None
    language: str
    documents: Sequence[str | Path]
    hub: Sequence[Fetched]
    on_fault: OnFault
    on_read: OnRead | None

    @classmethod
    def of(
        cls,
        data: str | Path | Rows | Sequence[str | Path],
        *,
        map: Mapping[str, str] | None,  # noqa: A002
        preset: str | None,
        format: str | None,  # noqa: A002
        language: str,
        documents: str | Path | Sequence[str | Path],
        on_fault: OnFault,
        on_read: OnRead | None,
    ) -> Source:
        """What the keywords of `load` name. Raises UsageError for those that do not fit each other."""
        layout = None if preset is None else preset_named(preset)
        texts, article_hub = _fetched([documents] if isinstance(documents, str | Path) else list(documents))
        named, hub = _fetched(_paths(data))
        paths = named if named is None or layout else [file for path in named for file in _flat_files(path)]
        folder: Path | None = None
        takes_folders = layout is not None and any(role.files for role in layout.roles)
        if paths and len(paths) == 1 and _is_folder(paths[0]) and not takes_folders:
            if map or preset or format or texts:
                raise UsageError(
                    f"{paths[0]} is a folder; ",
                    Parameter("map"),
                    ", ",
                    Parameter("preset"),
                    " and ",
                    Parameter("format"),
                    " are for flat files",
                )
            folder = Path(paths[0])
        name = _name_of(named, len(paths or ()), layout)
        fetched = [*hub, *article_hub]
        return cls(data, paths, name, folder, layout, bool(map), format, language, texts, fetched, on_fault, on_read)

    def faults(self) -> Faults:
        """Where the faults of a reading are noted."""
        faults = Faults("rows" if self.paths is None else file_name(self.paths[0]), self.on_fault)
        faults.columns_known = self.layout is None and not self.renamed
        return faults

    @property
    def card(self) -> Card:
        """The card of the data, before they are read."""
        card = Card(name=self.name, splitter=splitter_of(self.language))
        if self.layout is not None:
            card = card.model_copy(update={"licence": self.layout.licence, "citation": self.layout.citation})
        return card.model_copy(update=_of_hub(card, self.hub)) if self.hub else card

    @property
    def warnings(self) -> list[Fault]:
        """What is to be said of data that came from a hub."""
        return [warning for source in self.hub for warning in source.warnings]

    def flat(self, faults: Faults) -> Iterator[Record]:
        """The flat rows of all files."""
        if self.paths is None:
            rows = records("rows", _rows(self.data, faults), faults)
        else:
            rows = chain.from_iterable(self._of_file(path, faults.of(file_name(path))) for path in self.paths)
        return with_documents(list(rows), self.documents, faults) if self.documents else rows

    def _of_file(self, path: str | Path, faults: Faults) -> Iterator[Record]:
        kind = format_to_read(path, self.format, faults)
        if kind is None:
            return iter(())
        return records(faults.file, read_rows(path, faults, kind, on_read=self.on_read), faults, kind)

    def joined(self, layout: Preset, columns: Columns, faults: Faults) -> Iterator[Joined]:
        """The rows of a public layout, joined."""
        if self.documents and layout.articles is None:
            raise UsageError(
                Parameter("documents"), f": the rows of preset {layout.name} bring their documents; leave it out"
            )
        if self.paths is None:
            tables = [Table.of("rows", records("rows", _rows(self.data, faults), faults))]
        else:
            tables = list(read_tables(self.paths, layout, self.format, faults, self.on_read))
        return joined(
            layout, tables, lambda record: columns.apply(record, faults.of(record.file)), self.documents, faults
        )


def save(dataset: Dataset, folder: str | Path, *, force: bool = False, keep_others: bool = False) -> Card:
    """Write a dataset folder, whole or not at all; returns its card.

    `keep_others` keeps the files of a replaced folder that are not part of its dataset. Raises UsageError where
    the folder holds something: a dataset is replaced with `force`, anything else never.
    """
    target = Path(folder)
    check_folder(target, "a dataset", folders.is_dataset, force=force)
    makers = {name: partial(dataset.iter_judgments, name) for name in dataset.judgment_sets}
    return folders.write(
        target,
        dataset.documents,
        dataset.summaries,
        makers,
        dataset.card,
        dataset.dropped,
        dataset.fact_origins,
        keep_others=keep_others,
    )


def concatenate(parts: Iterable[Path], folder: Path, card: Card) -> Dataset:
    """Write dataset folders that have no document in common as one new folder; returns its data, read on demand.

    Documents stand in the order of the folders. `card` describes the new folder; its hash and counts are filled in.
    """
    counts = folders.concatenate(parts, folder)
    content = folders.read_on_demand(folder, card)
    dataset = Dataset(content.documents, content.summaries, content.judgments, card, fact_origins=content.fact_origins)
    folders.seal(folder, dataset.card, counts)
    return dataset


def flat_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """The texts of the dataset as flat rows, in the order of its summaries; judgments are `exports.judgment_rows`."""
    for document, summaries in dataset.items():
        for summary in summaries:
            yield flat_row(document, summary)


def _rows(data: Rows, faults: Faults) -> Iterator[Row]:
    for number, cells in enumerate(data, 1):
        if (row := storable(Row(number, dict(cells)), faults)) is not None:
            yield row


def _load_folder(folder: Path, *, verify: bool) -> Dataset:
    if not folders.is_dataset(folder):
        message = f"is a folder without {folders.CARD}; give a flat file, or a folder made by `summeter data import`"
        raise InputError.at(folder, None, None, message)
    content = folders.read(folder, verify=verify)
    return Dataset(
        content.documents,
        content.summaries,
        content.judgments,
        content.card,
        content.warnings,
        folders.read_dropped(folder),
        content.fact_origins,
        known_hash=content.hash,
    )
