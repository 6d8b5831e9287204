"""Load, change and save datasets of documents, summaries, key facts and judgments.

Data that do not fit into memory are read when they are accessed.
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
from typing import Any

from summeter import tables
from summeter.data import folder as folders
from summeter.data import remote
from summeter.data.atomic import check_folder
from summeter.data.faults import Dropped, Faults, OnFault
from summeter.data.flat import flat_row, splitter_of
from summeter.data.folder import Card, Content
from summeter.data.formats import (
    OnRead,
    Row,
    checked_delimiter,
    checked_encoding,
    file_name,
    format_to_read,
    read_rows,
    storable,
)
from summeter.data.frames import rows_in
from summeter.data.hub import Fetched, fetch, is_address
from summeter.data.human import RAW
from summeter.data.intake import Intake
from summeter.data.layout import PEEKED, Table, joined, preset_of, read_tables, with_documents
from summeter.data.on_demand import StoredMapping, StoredSummaries, records_of, summaries_at
from summeter.data.presets import Preset, preset_named
from summeter.data.ratings import Names, Ratings, RatingsReport, join, rating_judgments
from summeter.data.remote import is_remote
from summeter.data.rows import TEXTS, Columns, stored_map
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
    count,
    nearest,
)
from summeter.scoring.frames import SHOWN, Records, shortened

Source = Any
"""The types that `load` reads; their names are in `frames.ACCEPTED`."""


class Dataset:
    """An immutable set of documents, summaries and human judgments.

    Summaries are in the order of their documents. The documents and summaries of a large folder are read when they are
    accessed; to save memory, iterate over `items` without storing the results.

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
        """Create a dataset.

        `known_hash` is the hash of the documents and summaries; if it is None, the hash is computed when needed.
        """
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
            else MappingProxyType(_checked_origins(fact_origins, self._documents))
        )
        self._makers = dict(judgments)
        self._made: dict[str, Records[Judgment]] = {}
        self.ratings: RatingsReport | None = None
        self._card = card

    def _group(self) -> None:
        """Sort the summaries by document, and store the index of each document's first summary."""
        index_of = {doc_id: index for index, doc_id in enumerate(self._documents)}
        if isinstance(self._summaries, StoredSummaries):
            keys = list(self._summaries.keys())
        else:
            keys = [(summary.document_id, summary.system) for summary in self._summaries]
        documents = array("q", (index_of[doc_id] for doc_id, _ in keys))
        systems = [system for _, system in keys]
        if any(left > right for left, right in pairwise(documents)):
            order = sorted(range(len(documents)), key=documents.__getitem__)
            self._summaries = summaries_at(self._summaries, order)
            documents, systems = array("q", (documents[n] for n in order)), [systems[n] for n in order]
        self._ids, self._index, self._first = tuple(index_of), index_of, array("q", [0])
        self._systems: dict[str, tuple[str, ...]] = {}
        known: dict[tuple[str, ...], tuple[str, ...]] = {}  # most documents have summaries by the same systems
        counts = Counter(documents)
        for doc_id, index in index_of.items():
            first = self._first[-1]
            of_document = tuple(systems[first : first + counts[index]])
            self._systems[doc_id] = known.setdefault(of_document, of_document)
            self._first.append(first + len(of_document))

    def __len__(self) -> int:
        """Return the number of summaries."""
        return len(self._summaries)

    def __repr__(self) -> str:
        sets = ", ".join(self.judgment_sets) or "none"
        size = f"{count(self.document_count, 'document')}, {count(len(self), 'summary', 'summaries')}"
        return f"{type(self).__name__}({self._card.name!r}: {size}, judgment sets: {sets})"

    def _repr_html_(self) -> str:
        rows = [
            [summary.document_id, summary.system, self._documents[summary.document_id].domain, shortened(summary.text)]
            for summary in islice(self._summaries, SHOWN)
        ]
        return tables.Table.of(["document", "system", "domain", "summary"], rows, notes=[repr(self)]).html()

    @property
    def documents(self) -> Mapping[str, Document]:
        """The documents by id."""
        return self._documents

    @property
    def summaries(self) -> Sequence[Summary]:
        """The summaries, in the order of their documents."""
        return self._summaries

    @property
    def fact_origins(self) -> Mapping[str, tuple[FactOrigin, ...]]:
        """The provenance of the key facts by document id, for documents for which it is known."""
        return self._fact_origins

    @property
    def document_count(self) -> int:
        """The number of documents."""
        return len(self._documents)

    def systems_by_document(self) -> Mapping[str, Sequence[str]]:
        """Return the systems with a summary of each document, by document id, without reading texts."""
        return MappingProxyType(self._systems)

    def item(self, index: int) -> tuple[Document, Sequence[Summary]]:
        """Return the document at `index`, counted from 0, and its summaries."""
        summaries = self._summaries[self._first[index] : self._first[index + 1]]
        return self._documents[self._ids[index]], summaries

    @property
    def card(self) -> Card:
        """The card: name, version, licence, citation, provenance, splitter and hash."""
        return self._card.model_copy(update={"hash": self.hash})

    @property
    def _unsaved_card(self) -> Card:
        """The card without the counts and hashes of files, which describe the dataset as it was saved."""
        return self._card.model_copy(update={"counts": {}, "files": {}})

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the documents and summaries, in order.

        Human judgments and unknown columns are excluded, so that they can be added to the data of a run.
        """
        sha256 = hashlib.sha256()
        for document in self.documents.values():
            sha256.update(folders.hashed_line(document))
        for summary in self.summaries:
            sha256.update(folders.hashed_line(summary))
        return sha256.hexdigest()

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in order of appearance."""
        return tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(self._systems.values()))))

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains, in order of appearance."""
        return tuple(
            dict.fromkeys(document.domain for document in self.documents.values() if document.domain is not None)
        )

    def document_domains(self) -> dict[str, str]:
        """Return the domains by document id. Documents without a domain are omitted."""
        domains = {document.id: document.domain for document in self.documents.values()}
        return {doc_id: domain for doc_id, domain in domains.items() if domain is not None}

    @property
    def splitters(self) -> tuple[str, ...]:
        """The sentence splitters of the summaries, sorted."""
        summaries = self._summaries
        if isinstance(summaries, StoredSummaries):
            return tuple(sorted(summaries.splitters))
        return tuple(sorted({summary.splitter for summary in summaries}))

    @property
    def judgment_sets(self) -> tuple[str, ...]:
        """The names of the judgment sets."""
        return tuple(self._makers)

    def items(self) -> Iterator[tuple[Document, list[Summary]]]:
        """Yield each document with its summaries."""
        summaries = iter(self.summaries)
        for document, systems in zip(self.documents.values(), self._systems.values(), strict=True):
            yield document, list(islice(summaries, len(systems)))

    def key_facts(self, doc_id: str) -> KeyFacts | None:
        """Return the key facts of a document, or None if it has none."""
        facts = self.documents[doc_id].key_facts
        return KeyFacts.of(facts, "given") if facts else None

    def judgments(self, name: str) -> Records[Judgment]:
        """Return a judgment set and keep it in memory. Raises UsageError if the name is unknown."""
        if name not in self._made:
            self._made[name] = Records(self.iter_judgments(name))
        return self._made[name]

    def iter_judgments(self, name: str) -> Iterator[Judgment]:
        """Yield the judgments of a set without loading the whole set into memory."""
        if name not in self._makers:
            known = f"it has: {', '.join(self._makers)}" if self._makers else "it has none"
            raise UsageError(f"the dataset has no judgment set {name!r}{nearest(name, self._makers)}; {known}")
        return self._makers[name]()

    def with_judgments(self, name: str, judgments: Iterable[Judgment]) -> Dataset:
        """Return the dataset with a judgment set added or replaced.

        Raises UsageError if a judgment refers to a summary that is not in the dataset.
        """
        folders.check_set_name(name)
        stored = tuple(judgments)
        for judgment in stored:
            if judgment.target.system not in self._systems.get(judgment.target.document_id, ()):
                raise UsageError(f"a judgment of {name} refers to {judgment.target.item}, which is not in the dataset")
        makers = {**self._makers, name: lambda: iter(stored)}
        return self._with(judgments=makers)

    def with_ratings(
        self,
        ratings: Ratings,
        *,
        on: Names | None = None,
        rater: str | None = None,
        aspects: Names | None = None,
    ) -> Dataset:
        """Return the dataset with human ratings, which are added to the judgment set `human.raw`.

        `ratings` is a file, a data frame or a list of dicts, with one row per rating (columns for rater, aspect and
        value) or with one column per aspect. The attribute `ratings` of the result describes what was joined. A rating
        of the dataset is replaced if the file has a rating of the same summary, aspect and rater. Empty cells are not
        votes.

        Parameters:
            on: The columns that identify a summary, such as `"id"`, `"doc_id,system"`, or `{"id": "item"}` if the
                column `id` of the data is called `item` in the ratings. Columns that were mapped to fields have both
                names. By default `doc_id` and, if present, `system`.
            rater: The column with the names of the raters, or, such as `"ann,ben"`, the columns of several raters of
                one aspect, which `aspects` names. By default, a column called rater, annotator, worker or similar;
                without one, the ratings are aggregated over raters.
            aspects: The aspects to read, such as `"coherence,fluency"`, or `{"coherence": "Q1"}` if the aspect
                coherence is called `Q1` in the ratings. By default all aspects or, without a column of aspects, all
                columns of numbers that are not ids.

        Raises UsageError if a column is missing, or if a row matches several summaries, and InputError if no row
        matches, if a cell is not a number, or if there are two ratings of a summary and aspect by one rater.

        >>> data = load([{"id": 7, "document": "It rained. We stayed.", "summary": "It rained."}])
        >>> data = data.with_ratings([{"id": 7, "rater": "ann", "coherence": 4}], on="id")
        >>> data.judgments("human.raw")[0].value, data.ratings.scales[0].high
        (4.0, 4.0)
        """
        joined, report = join(self, ratings, on, rater, aspects, self._card.columns)
        made = partial(rating_judgments, joined, self._makers.get(RAW))
        rated = self._with(judgments={RAW: made, **{name: each for name, each in self._makers.items() if name != RAW}})
        rated.ratings = report
        return rated

    def with_key_facts(
        self, key_facts: Mapping[str, Sequence[str]], origins: Mapping[str, tuple[FactOrigin, ...]] | None = None
    ) -> Dataset:
        """Return the dataset with new key facts for some documents.

        `key_facts` and `origins`, the provenance of each key fact, are given by document id. Judgments that refer to a
        changed list of key facts are removed: those of key facts and those of the conciseness of sentences. Raises
        UsageError for an unknown document.
        """
        for doc_id in key_facts:
            if doc_id not in self.documents:
                raise UsageError(f"there is no document {doc_id!r}{nearest(doc_id, self.documents)}")
        lists = {doc_id: tuple(facts) for doc_id, facts in key_facts.items()}
        changed = frozenset(doc_id for doc_id, facts in lists.items() if facts != self.documents[doc_id].key_facts)
        others = {doc_id: self.documents[doc_id].model_copy(update={"key_facts": lists[doc_id]}) for doc_id in changed}
        stored = not isinstance(self.documents, MappingProxyType)
        # A ChainMap has the order of its last mapping, and stores only the changed documents.
        documents = ChainMap(others, self.documents) if stored else {**self.documents, **others}  # type: ignore[arg-type]
        makers = {name: partial(_without_changed_lists, maker, changed) for name, maker in self._makers.items()}
        known = {doc_id: origin for doc_id, origin in self.fact_origins.items() if doc_id not in changed}
        return self._with(
            documents=documents,
            judgments=makers if changed else self._makers,
            fact_origins={**known, **(origins or {})},
        )

    def _with(self, **changes: Any) -> Dataset:
        """Return the dataset with new `documents`, `summaries`, `judgments`, `card` or `fact_origins`.

        New summaries may differ from the current ones only in their unknown columns.
        """
        current = {
            "documents": self.documents,
            "summaries": self.summaries,
            "judgments": self._makers,
            "card": self._unsaved_card,
            "fact_origins": self.fact_origins,
        }
        return Dataset(
            **{**current, **changes},
            warnings=self.warnings,
            dropped=self.dropped,
            known_hash=None if "documents" in changes else self.__dict__.get("hash"),
        )

    def with_documents(self, doc_ids: Iterable[str]) -> Dataset:
        """Return the dataset restricted to these documents, with their summaries and judgments.

        The order of the documents does not change. Raises UsageError for an unknown document.
        """
        kept = frozenset(doc_ids)
        for doc_id in sorted(kept - self.documents.keys()):
            raise UsageError(f"there is no document {doc_id!r}{nearest(doc_id, self.documents)}")
        makers = {name: partial(_of_documents, maker, kept) for name, maker in self._makers.items()}
        selected = [index for doc_id, index in self._index.items() if doc_id in kept]
        indexes = chain.from_iterable(range(self._first[index], self._first[index + 1]) for index in selected)
        documents, origins = records_of(self.documents, kept), records_of(self.fact_origins, kept)
        summaries = summaries_at(self._summaries, indexes)
        return Dataset(documents, summaries, makers, self._unsaved_card, fact_origins=origins)

    def by_source(self) -> Dataset:
        """Return a dataset with a document for each source, so that a judge can be asked about each source alone.

        The source `agenda` of the document `m1` becomes the document `m1/agenda`, with all summaries of `m1`. Documents
        without sources stay as they are. Human judgments, which are about all sources together, are left out. Raises
        UsageError if two documents would have the same id.
        """
        documents: dict[str, Document] = {}
        summaries: list[Summary] = []
        for document, of_document in self.items():
            for source in document.sources or (None,):
                one = document if source is None else document.only(source)
                if one.id in documents:
                    raise UsageError(
                        f"two documents would have the id {one.id!r}; rename one of the documents or sources"
                    )
                documents[one.id] = one
                summaries += (each.model_copy(update={"document_id": one.id}) for each in of_document)
        return Dataset(documents, summaries, {}, self._unsaved_card)

    def without_column(self, name: str) -> Dataset:
        """Return the dataset without an unknown column of the summaries."""
        summaries = (
            summary.model_copy(update={"extra": {key: value for key, value in summary.extra.items() if key != name}})
            for summary in self.summaries
        )
        return self._with(summaries=summaries)

    def with_split(self, name: str) -> Dataset:
        """Return the dataset with `name` as the split of every document."""
        documents = {doc_id: document.model_copy(update={"split": name}) for doc_id, document in self.documents.items()}
        return self._with(documents=documents)

    def with_card(self, **changes: Any) -> Dataset:
        """Return the dataset with some fields of the card changed.

        The fields are `name`, `version`, `licence`, `citation` and `origin`.
        """
        unknown = set(changes) - {"name", "version", "licence", "citation", "origin"}
        if unknown:
            raise UsageError(f"unknown field {min(unknown)!r}; fields are name, version, licence, citation and origin")
        card = self._card.model_copy(update=changes)
        return self._with(card=card)


def _checked_origins(
    origins: Mapping[str, tuple[FactOrigin, ...]], documents: Mapping[str, Document]
) -> dict[str, tuple[FactOrigin, ...]]:
    """Return the origins for `documents`, after checking that each key fact has one."""
    known = {doc_id: origin for doc_id, origin in origins.items() if doc_id in documents}
    for doc_id, origin in known.items():
        count = len(documents[doc_id].key_facts)
        if len(origin) != count:
            raise UsageError(f"there are {len(origin)} origins for the {count} key facts of document {doc_id!r}")
    return known


def _without_changed_lists(maker: Callable[[], Iterator[Judgment]], changed: frozenset[str]) -> Iterator[Judgment]:
    """Yield the judgments that do not refer to the key facts of the documents `changed`."""
    for judgment in maker():
        target = judgment.target
        of_key_facts = target.unit == "key_fact" or (target.unit == "sentence" and judgment.aspect == "conciseness")
        if not of_key_facts or target.document_id not in changed:
            yield judgment


def _of_documents(maker: Callable[[], Iterator[Judgment]], kept: frozenset[str]) -> Iterator[Judgment]:
    return (judgment for judgment in maker() if judgment.target.document_id in kept)


def load(
    data: Source,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002
    preset: str | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
    language: str = "en",
    verify: bool = True,
    documents: str | Path | Sequence[str | Path] = (),
    on_fault: OnFault = "error",
    on_read: OnRead | None = None,
    ratings: Ratings | None = None,
    on: Names | None = None,
    rater: str | None = None,
    aspects: Names | None = None,
) -> Dataset:
    """Load a dataset from files, a dataset folder, a hub, a data frame or dicts.

    Files contain flat rows or have a public layout (see `preset`). They are given as one file, a list of files, a
    pattern (`parts/*.jsonl`), or a folder of JSON Lines, CSV, TSV or Parquet files, stored locally or at `s3://`,
    `gs://` or `az://`. They form one dataset: the rows of a document may be in several files. If the texts exceed 64
    MB, they stay on disk (see `Dataset`). Instead of a file, the address of data on a hub can be given:
    `hf:org/name@revision#[config/]split` (see `data.hub`). Rows in memory are dicts, a DataFrame of pandas or polars,
    an Arrow table, or a Dataset of Hugging Face; messages give the number of a row, from 1.

    If the rows have no `document` or `summary`, columns with usual names such as `article` and `highlights` take their
    place, and a warning is logged that names them.

    Parameters:
        map: The column name for each field whose column has another name. Other fields are mapped by the table `[map]`
            of the file `summeter.toml` beside the files or in the working directory, if there is one.
        preset: The name of a public layout. The roles of the files are recognised by their columns.
        format: The format of the files. By default, it is determined by the suffix.
        delimiter: The character between the cells of CSV and TSV files. By default, it is detected.
        encoding: The encoding of text files, such as "cp1252". By default, UTF-8, UTF-16 and Windows-1252 are detected.
        language: The language of the texts (ISO 639-1), for sentence splitting.
        verify: Whether to refuse a dataset folder whose files were changed. Records are always validated.
        documents: Files or folders that contain the documents by id, for rows without documents.
        on_fault: The handling of faulty rows: stop the import (`error`), drop them (`skip`), or drop only their faulty
            fields (`keep-valid`); see `Dataset.dropped`.
        on_read: A function that is called with the number of bytes read since the last call.
        ratings: Human ratings to add, as a file, a data frame or a list of dicts; `on`, `rater` and `aspects` are the
            columns to join by, of the raters and of the ratings (see `Dataset.with_ratings`).

    Raises InputError with all faults, UsageError for an invalid call, and InstallError if the package that reads
    Parquet or XLSX is missing.
    """
    joining: dict[str, Any] = {"on": on, "rater": rater, "aspects": aspects}
    if ratings is None and (given := [name for name, value in joining.items() if value is not None]):
        raise UsageError(Parameter(given[0]), " has no effect without ", Parameter("ratings"))

    def rated(dataset: Dataset) -> Dataset:
        return dataset if ratings is None else dataset.with_ratings(ratings, **joining)

    of_file = {"format": format, "delimiter": delimiter, "encoding": encoding}
    of_rows = {"map": map, "preset": preset, "documents": documents, **of_file}
    if isinstance(data, Dataset):
        _refuse("the data are a Dataset already", of_rows)
        return rated(data)
    layout = None if preset is None else preset_named(preset)
    article_files, article_hub = _fetched([documents] if isinstance(documents, str | Path) else list(documents))
    named, hub = _fetched(_paths(data))
    paths = named if named is None or layout else [file for path in named for file in _flat_files(path)]
    takes_folders = layout is not None and any(role.files for role in layout.roles)
    if paths and len(paths) == 1 and _is_folder(paths[0]) and not takes_folders:
        _refuse(f"{paths[0]} is a folder", of_rows)
        folder = Path(paths[0])
        if not folders.is_dataset(folder):
            message = (
                f"is a folder without {folders.CARD}; give a flat file, or a folder made by `summeter data import`"
            )
            raise InputError.at(folder, message)
        folder_card = folders.read_card(folder)
        stored = folders.read(folder, verify=verify)
        return rated(_dataset(stored, folder_card, stored.warnings, folders.read_dropped(folder)))

    card = Card(name=_name_of(named, len(paths or ()), layout), splitter=splitter_of(language))
    if layout is not None:
        card = card.model_copy(update={"licence": layout.licence, "citation": layout.citation})
    sources = [*hub, *article_hub]
    if sources:
        origins = [source.origin for source in sources]
        origin = origins[0] if len(origins) == 1 else {"how": "hub", "of": origins}
        licence = card.licence or sources[0].licence
        card = card.model_copy(update={"name": sources[0].name, "licence": licence, "origin": origin})
    memory: Iterator[Row] | None = None
    if paths is None:
        main_file, memory = rows_in(data)
        _refuse("the data are not in a file", of_file)
    else:
        main_file = file_name(paths[0])
    faults = Faults(main_file, on_fault, columns_known=layout is None and not map)
    columns = Columns(map)
    intake = Intake(faults, columns, language)
    read = partial(
        read_rows, on_read=on_read, delimiter=checked_delimiter(delimiter), encoding=checked_encoding(encoding)
    )

    def rows_of(path: str | Path) -> Iterator[Row]:
        of_file = faults.of(file_name(path))
        kind = format_to_read(path, format, of_file)
        return of_file.counted(() if kind is None else read(path, of_file, kind))

    if layout is not None:
        if article_files and layout.articles is None:
            raise UsageError(
                Parameter("documents"), f": the rows of preset {layout.name} contain their documents; leave it out"
            )
        if memory is not None:
            tables = [Table.of(main_file, _storable(memory, faults))]
        else:
            tables = list(read_tables(paths, layout, format, faults, read))
        for row in joined(layout, tables, lambda row: columns.apply(row, faults.of(row.file)), article_files, faults):
            intake.convert(layout, row)
        content = intake.finish()
    else:
        rows = chain.from_iterable(rows_of(path) for path in paths) if memory is None else _storable(memory, faults)
        start = list(islice(rows, PEEKED))
        names = {name for row in start for name in row.cells}
        beside = dict.fromkeys(Path(path).parent for path in paths or () if not is_remote(path) and str(path) != "-")
        columns.recognise(
            start,
            faults,
            None if memory is not None else stored_map([*beside, Path()]),
            preset_of(names, main_file),
            ("doc_id", "summary") if article_files else TEXTS,
        )
        rows = chain(start, rows)
        if article_files:
            rows = with_documents(list(rows), columns, article_files, faults)
        first = _until_large(rows)
        if (following := next(rows, None)) is not None:
            content = stream(chain(_emptying(first), [following], rows), faults, columns, language)
        else:
            for flat in _emptying(first):
                intake.take(flat)
            content = intake.finish()
    card = card.model_copy(update={"columns": columns.renamed})
    warnings = [*(warning for source in sources for warning in source.warnings), *faults.warnings]
    return rated(_dataset(content, card, warnings, faults.dropped))


def _refuse(what: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError if any of the options is given, which have no effect because of `what`."""
    given = [part for name, value in options.items() if value for part in (" and ", Parameter(name))]
    if given:
        raise UsageError(f"{what}; leave out ", *given[1:])


def _dataset(content: Content, card: Card, warnings: Iterable[Fault], dropped: Iterable[Dropped]) -> Dataset:
    return Dataset(
        content.documents,
        content.summaries,
        content.judgments,
        card,
        warnings,
        dropped,
        content.fact_origins,
        known_hash=content.hash,
    )


def _until_large(rows: Iterator[Row]) -> deque[Row]:
    """Return the first rows, until their texts are too large to hold all rows in memory."""
    first: deque[Row] = deque()
    size = 0
    while size < folders.LARGE and (row := next(rows, None)) is not None:
        first.append(row)
        for cell in row.cells.values():
            # A list may hold the texts of sources; what is nested more deeply is no text.
            for part in cell if isinstance(cell, list) else (cell,):
                texts = part.values() if isinstance(part, dict) else (part,)
                size += sum(len(text) for text in texts if isinstance(text, str))
    return first


def _emptying(rows: deque[Row]) -> Iterator[Row]:
    """Yield each row and remove it from `rows`, so that its memory is freed."""
    while rows:
        yield rows.popleft()


def _fetched(paths: Sequence[str | Path] | None) -> tuple[Any, list[Fetched]]:
    """Return the paths, with hub addresses replaced by the fetched files, and the fetched data."""
    if paths is None or not any(map(is_address, paths)):
        return paths, []
    sources = {str(path): fetch(path) for path in paths if is_address(path)}
    files = [sources[str(path)].files if is_address(path) else (path,) for path in paths]
    return [file for several in files for file in several], list(sources.values())


def _paths(data: Source) -> list[str | Path] | None:
    """Return the paths in `data`, or None if `data` contains rows."""
    if isinstance(data, str | Path):
        return [data]
    paths = [item for item in data if isinstance(item, str | Path)] if isinstance(data, Sequence) else []
    if paths and len(paths) < len(data):
        raise UsageError("the data contain both rows and files; give either rows (dicts) or files (paths)")
    return paths or None


_FLAT_FILES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
"""Suffixes of the files in a folder that are read, optionally followed by `.gz`."""


_OTHER_FOLDERS = (folders.CARD, folders.DOCUMENTS, "run.json", "campaign.yaml")
"""Files that mark a folder as a dataset, a run or a campaign instead of a folder of flat files."""


def _is_flat(name: str) -> bool:
    file = name.rpartition("/")[2].lower()
    return not file.startswith(".") and file.removesuffix(".gz").endswith(_FLAT_FILES)


def _flat_files(path: str | Path) -> list[str | Path]:
    """Return the files of a folder, the files that match a pattern, or the path itself."""
    name, folder = str(path), Path(path)
    pattern = any(sign in name for sign in "*?[")
    if is_remote(path):
        if _is_flat(name) and not pattern:
            return [path]
        objects = remote.files(name)
        if any(each.endswith(f"/{folders.CARD}") for each in objects):
            raise UsageError(f"{name} is a dataset folder on remote storage, which cannot be read; copy it here first")
        found: list[str | Path] = [each for each in objects if pattern or _is_flat(each)]
    elif pattern and not folder.exists():
        root = Path(folder.anchor)
        found = [each for each in sorted(root.glob(str(folder.relative_to(root)))) if each.is_file()]
    elif name != "-" and folder.is_dir() and not any((folder / other).exists() for other in _OTHER_FOLDERS):
        found = [each for each in sorted(folder.iterdir()) if _is_flat(each.name) and each.is_file()]
        if not found:
            message = (
                f"is a folder without {folders.CARD} and without flat files ({', '.join(_FLAT_FILES)}); give a flat "
                "file, a folder of flat files, or a folder made by `summeter data import`"
            )
            raise InputError.at(path, message)
    else:
        return [path]
    return found or [path]


def _is_folder(path: str | Path) -> bool:
    return not is_remote(path) and str(path) != "-" and Path(path).is_dir()


def _name_of(named: Sequence[str | Path] | None, files: int, layout: Preset | None) -> str:
    """Return the default name of a dataset: the name of its only file or of its folder."""
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


def save(dataset: Dataset, folder: str | Path, *, force: bool = False, keep_others: bool = False) -> Card:
    """Write a dataset folder, completely or not at all, and return its card.

    With `keep_others`, files in a replaced folder that do not belong to the dataset there are preserved. Raises
    UsageError if the folder is not empty, unless `force` is true and it contains a dataset.
    """
    target = Path(folder)
    check_folder(target, "a dataset", folders.is_dataset, force=force)
    return folders.write(target, _content_of(dataset), dataset.card, dataset.dropped, keep_others=keep_others)


def _content_of(dataset: Dataset) -> Content:
    makers = {name: partial(dataset.iter_judgments, name) for name in dataset.judgment_sets}
    return Content(dataset.documents, dataset.summaries, makers, dataset.fact_origins)


def update(folder: str | Path, dataset: Dataset) -> None:
    """Add the judgment sets and unknown columns of `dataset` to a stored dataset with the same hash.

    They replace sets and columns of the same names. The folder is not written if it contains all of them already.
    """
    target, content = Path(folder), _content_of(dataset)
    files = dataset.card.files
    if files and files.items() <= folders.read_card(target).files.items():
        return
    stored = load(target, verify=False)

    def summaries() -> Iterator[Summary]:
        for old, new in zip(stored.summaries, dataset.summaries, strict=True):
            yield new.model_copy(update={"extra": {**old.extra, **new.extra}})

    if folders.contains(target, content._replace(summaries=summaries())):
        return
    judgments = {**_content_of(stored).judgments, **content.judgments}
    card = dataset.card.model_copy(update={"columns": {**stored.card.columns, **dataset.card.columns}})
    folders.write(target, content._replace(summaries=summaries(), judgments=judgments), card, dataset.dropped)


def concatenate(parts: Iterable[Path], folder: Path, card: Card) -> Dataset:
    """Concatenate dataset folders that share no documents, and return the new dataset.

    Documents are in the order of the folders. `card` describes the new dataset; its hash and counts are computed.
    """
    counts = folders.concatenate(parts, folder)
    dataset = _dataset(folders.read_on_demand(folder), card, (), ())
    folders.seal(folder, dataset.card, counts)
    return dataset


def flat_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield a flat row for each summary, without judgments (see `exports.judgment_rows`)."""
    for document, summaries in dataset.items():
        for summary in summaries:
            yield flat_row(document, summary)


def _storable(rows: Iterable[Row], faults: Faults) -> Iterator[Row]:
    """Yield the rows in memory that can be stored; files are checked when they are read."""
    return faults.counted(row for each in rows if (row := storable(each, faults)) is not None)
