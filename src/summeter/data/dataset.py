"""Dataset: documents, summaries, key facts and any number of named judgment sets, in memory.

`load` reads a flat file or a dataset folder, `save` writes the folder, `flat_rows` gives the flat rows back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from summeter.data import folder as folders
from summeter.data.faults import Faults, meant
from summeter.data.flat import Gatherer, flat_row, splitter_of
from summeter.data.folder import Card
from summeter.data.formats import Row, check_storable, file_name, format_of, read_rows
from summeter.data.human import CROWD, RAW
from summeter.data.presets import LayoutError, Preset, preset_named
from summeter.data.rows import EMPTY, Columns, check
from summeter.records import Document, Fault, InputError, Judgment, KeyFacts, Parameter, Summary, UsageError, canonical

FLAT_SETS = (RAW, CROWD)
"""The judgment sets that flat rows hold."""

Rows = Sequence[Mapping[str, Any]]


class Dataset:
    """Documents, summaries and human judgments. Immutable; the `with_` methods return new datasets.

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
    ) -> None:
        self.documents: Mapping[str, Document] = MappingProxyType(dict(documents))
        self.summaries = tuple(summaries)
        self.warnings = tuple(warnings)
        self._makers = dict(judgments)
        self._made: dict[str, tuple[Judgment, ...]] = {}
        self._card = card

    def __len__(self) -> int:
        """The number of summaries."""
        return len(self.summaries)

    def __repr__(self) -> str:
        sets = ", ".join(self.judgment_sets) or "none"
        size = f"{len(self.documents)} documents, {len(self)} summaries"
        return f"Dataset({self._card.name!r}: {size}, judgment sets: {sets})"

    @property
    def card(self) -> Card:
        """Name, version, licence, citation, splitter, hashes."""
        return self._card.model_copy(update={"hash": self.hash})

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the documents and summaries in their order: what evaluators see, without human judgments."""
        sha256 = hashlib.sha256()
        for record in (*self.documents.values(), *self.summaries):
            sha256.update(canonical(record.model_dump()).encode("utf-8") + b"\n")
        return sha256.hexdigest()

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems in order of appearance."""
        return tuple(dict.fromkeys(summary.system for summary in self.summaries))

    @property
    def domains(self) -> tuple[str, ...]:
        """Domains in order of appearance (documents without one add nothing)."""
        return tuple(
            dict.fromkeys(document.domain for document in self.documents.values() if document.domain is not None)
        )

    @property
    def judgment_sets(self) -> tuple[str, ...]:
        """Names of the judgment sets."""
        return tuple(self._makers)

    def items(self) -> Iterator[tuple[Document, list[Summary]]]:
        """Each document with its summaries: the unit of work."""
        grouped: dict[str, list[Summary]] = {doc_id: [] for doc_id in self.documents}
        for summary in self.summaries:
            grouped[summary.document_id].append(summary)
        for doc_id, document in self.documents.items():
            yield document, grouped[doc_id]

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
        known = {(summary.document_id, summary.system) for summary in self.summaries}
        for judgment in kept:
            if (judgment.target.document_id, judgment.target.system) not in known:
                raise UsageError(f"a judgment of {name} is about {judgment.target.item}, which is not in the dataset")
        makers = {**self._makers, name: lambda: iter(kept)}
        return Dataset(self.documents, self.summaries, makers, self._card, self.warnings)

    def with_card(self, **changes: str | None) -> Dataset:
        """The dataset with `name`, `version`, `licence` or `citation` changed."""
        unknown = set(changes) - {"name", "version", "licence", "citation"}
        if unknown:
            raise UsageError(f"a card has no {sorted(unknown)[0]!r} to set; it has name, version, licence and citation")
        card = self._card.model_copy(update=changes)
        return Dataset(self.documents, self.summaries, self._makers, card, self.warnings)


def load(
    data: str | Path | Rows,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002
    preset: str | None = None,
    format: str | None = None,  # noqa: A002
    language: str = "en",
    verify: bool = True,
) -> Dataset:
    """Read a flat file (or `-`), a dataset folder, or rows as dicts.

    `map` renames columns (field: column), `preset` names a public layout, `format` overrules the suffix,
    `language` (ISO 639-1) is that of the texts, for splitting sentences. `verify=False` accepts a dataset folder
    whose files were changed by hand (each record is still checked).

    Raises InputError with every fault found, UsageError for an impossible call, InstallError for Parquet
    without pyarrow.
    """
    layout = None if preset is None else preset_named(preset)
    if isinstance(data, str | Path):
        if str(data) != "-" and Path(data).is_dir():
            if map or preset or format:
                raise UsageError(
                    f"{data} is a folder; ",
                    Parameter("map"),
                    ", ",
                    Parameter("preset"),
                    " and ",
                    Parameter("format"),
                    " are for flat files",
                )
            return _load_folder(Path(data), verify=verify)
        kind = format_of(data, format)
        faults = Faults(file_name(data))
        rows = read_rows(data, faults, kind)
        as_text = kind in ("csv", "tsv", "parquet")
        name = "stdin" if str(data) == "-" else Path(data).name.partition(".")[0] or Path(data).name
    else:
        faults = Faults("rows")
        rows = _rows(data, faults)
        as_text, name = False, "rows"
    gatherer, columns = Gatherer(faults, language), Columns(map)
    for row in rows:
        cells = columns.apply(row, faults)
        for turned in _turned(layout, row.line, cells, faults):
            columns.note(turned)
            checked = check(row.line, turned, faults, as_text=as_text)
            if checked is not None:
                gatherer.add(row.line, checked)
    columns.finish(faults)
    flat = gatherer.finish()
    card = Card(name=name, splitter=splitter_of(language))
    return Dataset(flat.documents, flat.summaries, flat.judgments, card, faults.warnings)


def save(dataset: Dataset, folder: str | Path, *, force: bool = False) -> Card:
    """Write a dataset folder, whole or not at all; returns its card.

    Raises UsageError where the folder holds something: a dataset is replaced with `force`, anything else never.
    """
    target = Path(folder)
    folders.check_target(target, force=force)
    makers = {name: partial(dataset.iter_judgments, name) for name in dataset.judgment_sets}
    return folders.write(target, dataset.documents, dataset.summaries, makers, dataset.card)


def flat_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """The dataset as flat rows, in the order of its summaries; the sets human.raw and crowd.raw become `human`.

    Raises UsageError if those sets hold a judgment that a flat row has no place for.
    """
    judgments = _by_item(dataset)
    for summary in dataset.summaries:
        key = (summary.document_id, summary.system)
        row, unplaced = flat_row(dataset.documents[summary.document_id], summary, judgments.get(key, ()))
        if unplaced:
            raise UsageError(
                f"{unplaced} judgments of {key[0]!r} by {key[1]!r} have no place in a flat row; "
                "keep the dataset folder, or move them to a judgment set of their own"
            )
        yield row


def _by_item(dataset: Dataset) -> dict[tuple[str, str], list[Judgment]]:
    grouped: dict[tuple[str, str], list[Judgment]] = {}
    for name in FLAT_SETS:
        if name in dataset.judgment_sets:
            for judgment in dataset.iter_judgments(name):
                grouped.setdefault((judgment.target.document_id, judgment.target.system), []).append(judgment)
    return grouped


def _rows(data: Rows, faults: Faults) -> Iterator[Row]:
    for number, cells in enumerate(data, 1):
        row = Row(number, dict(cells))
        check_storable(row, faults)
        yield row


def _turned(layout: Preset | None, line: int, cells: dict[str, Any], faults: Faults) -> Iterator[Mapping[str, Any]]:
    """The row as the preset turns it, or as it is."""
    if layout is None:
        yield cells
        return
    try:
        yield from layout.turn(cells)
    except LayoutError as error:
        faults.add(line, error.field, f"{error} (preset {layout.name})")


def _load_folder(folder: Path, *, verify: bool) -> Dataset:
    if not folders.is_dataset(folder):
        message = f"is a folder without {folders.CARD}; give a flat file, or a folder made by `summeter data import`"
        raise InputError.at(folder, None, None, message)
    card, documents, summaries, makers = folders.read(folder, verify=verify)
    texts = [
        (folders.DOCUMENTS, [document.text for document in documents.values()]),
        (folders.SUMMARIES, [summary.text for summary in summaries]),
    ]
    warnings = [
        Fault(str(folder / name), line, "text", EMPTY)
        for name, each in texts
        for line, text in enumerate(each, 1)
        if not text.strip()
    ]
    return Dataset(documents, summaries, makers, card, warnings)
