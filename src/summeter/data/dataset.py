"""Dataset: documents, summaries, key facts and any number of named judgment sets; in memory, or in shards on disk.

`load` reads a flat file or a dataset folder, `save` writes the folder, `flat_rows` gives the flat rows back. Shards are
written by `data.sharding`.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import ChainMap, Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import chain, islice, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from summeter.data import folder as folders
from summeter.data.atomic import building
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
from summeter.data.shards import Shard, Shards, is_sharded, write_manifest
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

Outline = Mapping[str, Sequence[str]]
"""Document id -> the systems of its summaries, in the order of the data."""

_T = TypeVar("_T")


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
        self._place, self._first = place, array("q", [0])
        self._of_document: list[tuple[str, ...]] = []
        known: dict[tuple[str, ...], tuple[str, ...]] = {}  # most documents have summaries by the same systems
        counts = Counter(documents)
        for number in range(len(place)):
            first = self._first[-1]
            own = tuple(systems[first : first + counts[number]])
            self._of_document.append(known.setdefault(own, own))
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

    def parts(self, without: Callable[[Outline], bool] | None = None) -> Iterator[Dataset]:
        """The dataset part by part, each in memory: itself, or one shard after the other. A shard of whose outline
        `without` holds is not read."""
        del without
        yield self

    def outlines(self) -> Iterator[Outline]:
        """The outline of each part."""
        yield dict(zip(self._documents, self._of_document, strict=True))

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
        return tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(self._of_document))))

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
        for document, systems in zip(self.documents.values(), self._of_document, strict=True):
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
            number = self._place.get(judgment.target.document_id)
            if number is None or judgment.target.system not in self._of_document[number]:
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
            documents.of(kept) if isinstance(documents, StoredMapping)
            else {doc_id: documents[doc_id] for doc_id in self._place if doc_id in kept},
            summaries.take(numbers) if isinstance(summaries, StoredSummaries)
            else [summaries[number] for number in numbers],
            makers, card,
            fact_origins=origins.of(kept) if isinstance(origins, StoredMapping) else origins,
        )  # fmt: skip

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


WHOLE = 200_000
"""Summaries of a dataset in shards up to which it is read into memory where something asks for all of it."""


class ShardedDataset(Dataset):
    """A dataset in shards on disk, which need not fit in memory: `parts`, `items` and `iter_judgments` read one shard
    after the other (and the next one ahead), each checked against its hash.

    Whatever asks for all documents or summaries at once (`documents`, `summaries`, most `with_` methods) gets them,
    in the order of `items`, where there are at most `WHOLE` summaries; else it raises UsageError. A shard that is
    missing or changed raises InputError that names it, where it is read.
    """

    def __init__(self, source: Shards, dropped: Iterable[Dropped] = ()) -> None:
        super().__init__({}, (), dict.fromkeys(source.manifest.sets, lambda: iter(())), source.manifest.card)
        self.source = source
        self.dropped = tuple(dropped)

    def __len__(self) -> int:
        return self.source.manifest.summaries

    @property
    def document_count(self) -> int:
        return self.source.manifest.documents

    @cached_property
    def hash(self) -> str:
        """As of the same data in memory, their summaries in the order of their documents."""
        return self.source.manifest.card.hash

    @property
    def systems(self) -> tuple[str, ...]:
        return self.source.manifest.systems

    @property
    def domains(self) -> tuple[str, ...]:
        return self.source.manifest.domains

    def document_domains(self) -> dict[str, str]:
        if not self.domains:
            return {}
        return dict(chain.from_iterable(part.items() for part in self._read_ahead(self.source.domains)))

    @property
    def splitters(self) -> tuple[str, ...]:
        return self.source.manifest.splitters

    def parts(self, without: Callable[[Outline], bool] | None = None) -> Iterator[Dataset]:
        def part(shard: Shard) -> Dataset | None:
            left_out = without is not None and without(self.source.outline(shard))
            return None if left_out else self._part(shard)

        return (part for part in self._read_ahead(part) if part is not None)

    def outlines(self) -> Iterator[Outline]:
        return self._read_ahead(self.source.outline)

    def _read_ahead(self, read: Callable[[Shard], _T]) -> Iterator[_T]:
        """What `read` gives of each shard, while the next one is read."""
        with ThreadPoolExecutor(1, "shards") as ahead:
            reading = [ahead.submit(read, shard) for shard in self.source.manifest.shards[:1]]
            for shard in (*self.source.manifest.shards[1:], None):
                content = reading.pop().result()
                if shard is not None:
                    reading.append(ahead.submit(read, shard))
                yield content
                del content

    def _part(self, shard: Shard, only: Container[str] | None = None) -> Dataset:
        """A shard with all its documents, or with those of these ids."""
        content = self.source.read(shard, only)
        return Dataset(content.documents, content.summaries, content.judgments, content.card,
                       fact_origins=content.fact_origins)  # fmt: skip

    def items(self) -> Iterator[tuple[Document, list[Summary]]]:
        for part in self.parts():
            yield from part.items()

    def iter_judgments(self, name: str) -> Iterator[Judgment]:
        super().iter_judgments(name)  # UsageError for an unknown name
        return self._all_judgments(name)

    def _all_judgments(self, name: str) -> Iterator[Judgment]:
        for part in self.parts():
            if name in part.judgment_sets:
                yield from part.iter_judgments(name)

    @cached_property
    def whole(self) -> Dataset:
        """All of it in memory. Raises UsageError where that is too much."""
        if len(self) > WHOLE:
            raise UsageError(
                f"{self.source.folder} holds {len(self):,} summaries in {len(self.source.manifest.shards):,} shards, "
                f"and this needs all of them in memory, which is done for up to {WHOLE:,}; take one of the shards, or "
                f"a part of the documents (summeter data sample {self.source.folder} -n N -o FOLDER)"
            )
        documents: dict[str, Document] = {}
        summaries: list[Summary] = []
        origins: dict[str, tuple[FactOrigin, ...]] = {}
        for part in self.parts():
            documents.update(part.documents)
            summaries += part.summaries
            origins.update(part.fact_origins)
        makers = {name: partial(self.iter_judgments, name) for name in self.judgment_sets}
        return Dataset(documents, summaries, makers, self._card, dropped=self.dropped, fact_origins=origins)

    @property
    def documents(self) -> Mapping[str, Document]:
        return self.whole.documents

    @property
    def summaries(self) -> Sequence[Summary]:
        return self.whole.summaries

    @property
    def fact_origins(self) -> Mapping[str, tuple[FactOrigin, ...]]:
        return self.whole.fact_origins

    def _with(self, **changes: Any) -> Dataset:
        if changes.keys() != {"card"}:
            return self.whole._with(**changes)
        manifest = self.source.manifest.model_copy(update=changes)
        return ShardedDataset(self.source._replace(manifest=manifest), self.dropped)

    def with_documents(self, doc_ids: Iterable[str]) -> Dataset:
        """As of data in memory: only the documents that are named are held."""
        wanted = frozenset(doc_ids)
        documents: dict[str, Document] = {}
        summaries: list[Summary] = []
        origins: dict[str, tuple[FactOrigin, ...]] = {}
        for part in self._read_ahead(partial(self._part, only=wanted)):
            documents.update(part.documents)
            summaries += part.summaries
            origins.update(part.fact_origins)
        for doc_id in sorted(wanted - documents.keys()):
            raise UsageError(f"there is no document {doc_id!r}")
        makers = {name: partial(_of_documents, partial(self.iter_judgments, name), wanted) for name in self._makers}
        card = self._card.model_copy(update={"counts": {}, "files": {}})
        return Dataset(documents, summaries, makers, card, fact_origins=origins)


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
    """Read a flat file (or `-`), a dataset folder, rows as dicts, the files of a public layout, or data of a hub.

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
    source = Source.of(data, map=map, preset=preset, format=format, language=language, documents=documents,
                       on_fault=on_fault, on_read=on_read)  # fmt: skip
    if source.folder is not None:
        if is_sharded(source.folder):
            return _load_shards(source.folder)
        return _load_folder(Path(source.folder), verify=verify)
    faults = source.faults()
    columns = Columns(map)
    intake = Intake(faults, columns, language)
    if source.layout is None:
        for record in source.flat(faults):
            intake.take(record)
    else:
        for row in source.joined(source.layout, columns, faults):
            intake.turn(source.layout, row)
    flat = intake.finish()
    return Dataset(
        flat.documents, flat.summaries, flat.judgments, source.card,
        [*source.warnings, *faults.warnings], faults.dropped,
    )  # fmt: skip


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


def _is_folder(path: str | Path) -> bool:
    if is_remote(path):
        return is_sharded(path)
    return str(path) != "-" and Path(path).is_dir()


def _name_of(paths: Sequence[str | Path] | None, layout: Preset | None) -> str:
    if paths is None:
        return "rows"
    if layout is not None and (len(paths) > 1 or _is_folder(paths[0])):
        return layout.name
    return "stdin" if str(paths[0]) == "-" else Path(paths[0]).name.partition(".")[0] or Path(paths[0]).name


class Source(NamedTuple):
    """What is to be read: a dataset folder, or flat rows, or files in a format (None: by their names), of a `layout`
    or flat; and where the documents are. `hub` is what was fetched."""

    data: Any
    paths: Sequence[str | Path] | None
    folder: str | Path | None
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
        cls, data: str | Path | Rows | Sequence[str | Path], *, map: Mapping[str, str] | None,  # noqa: A002
        preset: str | None, format: str | None, language: str,  # noqa: A002
        documents: str | Path | Sequence[str | Path], on_fault: OnFault, on_read: OnRead | None,
    ) -> Source:  # fmt: skip
        """What the keywords of `load` name. Raises UsageError for those that do not fit each other."""
        layout = None if preset is None else preset_named(preset)
        texts, article_hub = _fetched([documents] if isinstance(documents, str | Path) else list(documents))
        paths, hub = _fetched(_paths(data))
        folder: str | Path | None = None
        takes_folders = layout is not None and any(part.files for part in layout.parts)
        if paths and len(paths) == 1 and _is_folder(paths[0]) and not takes_folders:
            if map or preset or format or texts:
                raise UsageError(
                    f"{paths[0]} is a folder; ", Parameter("map"), ", ", Parameter("preset"), " and ",
                    Parameter("format"), " are for flat files",
                )  # fmt: skip
            folder = str(paths[0]) if is_remote(paths[0]) else Path(paths[0])
        elif paths and len(paths) > 1 and layout is None and not (len(hub) == 1 and len(hub[0].files) == len(paths)):
            raise UsageError("several files are the parts of one layout; name it with ", Parameter("preset", "NAME"))
        return cls(data, paths, folder, layout, bool(map), format, language, texts, [*hub, *article_hub], on_fault,
                   on_read)  # fmt: skip

    def faults(self) -> Faults:
        """Where the faults of a reading are noted."""
        faults = Faults("rows" if self.paths is None else file_name(self.paths[0]), self.on_fault)
        faults.columns_known = self.layout is None and not self.renamed
        return faults

    @property
    def card(self) -> Card:
        """The card of the data, before they are read."""
        card = Card(name=_name_of(self.paths, self.layout), splitter=splitter_of(self.language))
        if self.layout is not None:
            card = card.model_copy(update={"licence": self.layout.licence, "citation": self.layout.citation})
        return card.model_copy(update=_of_hub(card, self.hub)) if self.hub else card

    @property
    def warnings(self) -> list[Fault]:
        """What is to be said of data that came from a hub."""
        return [warning for source in self.hub for warning in source.warnings]

    def flat(self, faults: Faults) -> Iterator[Record]:
        """The flat rows of the one file."""
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
    folders.check_target(target, force=force)
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


def flat_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """The dataset as flat rows, in the order of its summaries; `human` holds the judgments of all its sets.

    `load` of these rows, or of some of them, makes the same judgments of the same summaries.
    """
    sets: dict[tuple[str, str], dict[str, list[Judgment]]] = {}
    for name in dataset.judgment_sets:
        for judgment in dataset.iter_judgments(name):
            own = sets.setdefault((judgment.target.document_id, judgment.target.system), {})
            own.setdefault(name, []).append(judgment)
    for summary in dataset.summaries:
        own = sets.get((summary.document_id, summary.system), {})
        yield flat_row(dataset.documents[summary.document_id], summary, own)


def _rows(data: Rows, faults: Faults) -> Iterator[Row]:
    for number, cells in enumerate(data, 1):
        if (row := storable(Row(number, dict(cells)), faults)) is not None:
            yield row


def keep(dataset: Dataset, folder: Path) -> None:
    """Write what a run keeps of its data into `folder`, in place of an earlier such: a copy; of shards, their list,
    which names their place and their hashes."""
    if isinstance(dataset, ShardedDataset):
        with building(folder) as fresh:
            write_manifest(fresh, dataset.source.manifest.model_copy(update={"place": dataset.source.place}))
    else:
        save(dataset, folder, force=True)


def is_kept(dataset: Dataset, folder: Path) -> bool:
    """Whether a folder holds what `keep` writes, as it was written."""
    if not isinstance(dataset, ShardedDataset):
        return folders.is_intact(folder)
    if not is_sharded(folder):
        return False
    try:
        kept = Shards.open(folder)
    except InputError:
        return False
    own = dataset.source
    return kept.place == own.place and kept.manifest.differs(own.manifest) is None


def _load_shards(folder: str | Path) -> ShardedDataset:
    dropped = [] if is_remote(folder) else folders.read_dropped(Path(folder))
    return ShardedDataset(Shards.open(folder), dropped)


def _load_folder(folder: Path, *, verify: bool) -> Dataset:
    if not folders.is_dataset(folder):
        message = f"is a folder without {folders.CARD}; give a flat file, or a folder made by `summeter data import`"
        raise InputError.at(folder, None, None, message)
    content = folders.read(folder, verify=verify)
    return Dataset(
        content.documents, content.summaries, content.judgments, content.card, content.warnings,
        folders.read_dropped(folder), content.fact_origins, known_hash=content.hash,
    )  # fmt: skip
