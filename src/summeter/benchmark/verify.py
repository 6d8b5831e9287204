"""Whether a release is what it says: hashes compared, and everything that its data give built again and compared.

Hashes find a file that was changed; what is built again, by the code that wrote it, also finds a change whose hashes
were renewed, as far as one file of the release still says otherwise. That nothing withheld and no secret is in a
release is checked by code of its own.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeGuard

from pydantic import ValidationError

from summeter._version import __version__
from summeter.benchmark.card import (
    CARD,
    CROISSANT,
    DATASHEET,
    PARQUET,
    PSEUDONYM,
    ReleaseSettings,
    of_people,
    splits_of,
)
from summeter.benchmark.release import FETCH, LONGEST_COLUMN, SHA256, WITHHELD, release_of
from summeter.benchmark.release import STEP as RELEASE
from summeter.benchmark.step import (
    DOCUMENT_COLUMNS,
    MANIFEST,
    SUMMARY_COLUMNS,
    Inputs,
    Manifest,
    Place,
    Result,
    Step,
    StepSettings,
    changed_files,
    counts_of,
    file_hashes,
    read_manifest,
    seal,
)
from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset, load
from summeter.data.duplicates import near_duplicates
from summeter.data.exports import TABLES
from summeter.data.faults import Faults
from summeter.data.folder import CARD as DATASET
from summeter.data.folder import DOCUMENTS, JUDGMENTS, KEY_FACTS, SUMMARIES, is_dataset
from summeter.data.formats import read_rows
from summeter.data.human import PEOPLE
from summeter.data.subsets import split
from summeter.records import GateError, InputError, UsageError, unnamed
from summeter.records.addresses import masked

REPORT = "report.json"
SHOWN = 20
_COUNTED = frozenset({"documents", "summaries", "key_facts"})
"""What every step counts, beside the judgments of each set."""
_PSEUDONYM = re.compile(rf"{re.escape(PSEUDONYM)}[0-9a-f]{{10}}")


class Difference(NamedTuple):
    """Something that a release says and that is not so: the file, and what differs."""

    file: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


class VerifyError(GateError):
    """A release differs from what it says of itself; `differences` holds every one."""

    def __init__(self, folder: Path, differences: Sequence[Difference]) -> None:
        self.differences = tuple(differences)
        shown = [f"  {difference}" for difference in self.differences[:SHOWN]]
        rest = [f"  ... and {len(differences) - SHOWN} more"] if len(differences) > SHOWN else []
        count = "1 difference" if len(differences) == 1 else f"{len(differences)} differences"
        super().__init__("\n".join([f"{folder} is not what it says: {count}", *shown, *rest]))


def verify(folder: str | Path) -> list[Difference]:
    """Everything that differs from what the release in a folder says of itself; empty where nothing does.

    Raises UsageError where the folder holds no release.
    """
    place = Path(folder)
    if not (place / MANIFEST).is_file() or not is_dataset(place):
        raise UsageError(f"{folder} holds no release; give a folder that the step `release` wrote")
    try:
        manifest = read_manifest(place)
    except InputError as error:
        return [Difference(MANIFEST, f"cannot be read: {error}")]
    if manifest.step != "release":
        raise UsageError(f"{folder} holds the step {manifest.step}, and no release")
    try:
        settings = ReleaseSettings.model_validate(manifest.settings)
    except ValidationError as error:
        return [Difference(MANIFEST, f"settings cannot be read: {error}")]
    differences = [
        Difference(name, f"{what} since the release was written") for name, what in changed_files(place, manifest.files)
    ]
    data = _read(place, differences, sealed=True) or _read(place, differences, sealed=False)
    if data is not None:
        stated = manifest.details.get("near_duplicates")
        duplicates: list[list[str]] = stated if _is_groups(stated) else []
        differences += _rebuilt(place, manifest, settings, data, duplicates)
        differences += _steps(manifest)
        differences += _splits(data, settings, duplicates)
        differences += _people(data)
        differences += _secrets(place)
        differences += _files(place, data)
        differences += _withheld(place, data)
    return list(dict.fromkeys(differences))


def _read(folder: Path, differences: list[Difference], *, sealed: bool) -> Dataset | None:
    """The data of a release with all judgments; None, with the differences noted, where they cannot be read."""
    try:
        data = load(folder, verify=sealed)
        for name in data.judgment_sets:
            data.judgments(name)
    except InputError as error:
        for fault in error.faults:
            parts = ("" if fault.line is None else f"line {fault.line}", fault.field or "", fault.message)
            differences.append(Difference(Path(fault.file).name, ": ".join(part for part in parts if part)))
        return None
    except OSError as error:
        file = Path(error.filename or folder).name
        differences.append(Difference(file, f"cannot be read: {error.strerror or error}"))
        return None
    return data if data.documents else None


# ---- built again ----


def _rebuilt(
    folder: Path, manifest: Manifest, settings: ReleaseSettings, data: Dataset, duplicates: Sequence[Sequence[str]]
) -> Iterator[Difference]:
    """What differs from a release of the same data with the same settings and records."""
    with TemporaryDirectory() as place:
        fresh = Path(place)
        made = seal(
            RELEASE,
            settings,
            release_of(data, settings, manifest.history, duplicates),
            fresh,
            inputs=manifest.inputs,
            counts_in=manifest.counts_in,
            history=manifest.history,
        )
        if manifest.seed != made.seed:
            yield Difference(MANIFEST, f"seed is {manifest.seed}; settings.seed is {made.seed}")
        said, computed = (json.loads(each.model_dump_json()) for each in (manifest, made))
        for field in ("counts_out", "details"):
            for name in sorted({*said[field], *computed[field]}):
                one, other = said[field].get(name), computed[field].get(name)
                if one != other:
                    yield Difference(MANIFEST, f"{field}.{name} is {_short(one)}; computed {_short(other)}")
        for name, sealed in file_hashes(fresh).items():
            there = folder / name
            if not there.is_file():
                yield Difference(name, "is missing")
            elif name == FETCH:
                if (
                    manifest.versions.get("summeter") == __version__
                    and there.read_bytes() != (fresh / name).read_bytes()
                ):
                    yield Difference(name, f"is not the script of summeter {__version__}; do not run it")
            elif hashlib.sha256(there.read_bytes()).hexdigest() != sealed:
                compare = _table if there.suffix == ".parquet" else _text
                yield from compare(name, there, fresh / name)


def _text(name: str, there: Path, fresh: Path) -> Iterator[Difference]:
    """The lines of a text that differ from those computed."""
    try:
        said = there.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        yield Difference(name, f"cannot be read: {error}")
        return
    theirs, ours = said.split("\n"), fresh.read_bytes().decode("utf-8").split("\n")
    if there.suffix == ".jsonl":  # made of the same records, line by line
        pairs = enumerate(zip_longest(theirs, ours, fillvalue=""), 1)
        for number, (one, other) in islice((pair for pair in pairs if pair[1][0] != pair[1][1]), SHOWN):
            yield Difference(name, f"line {number} says {_short(one)}; computed {_short(other)}")
        return
    for kind, low, high, first, last in difflib.SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes():
        if kind != "equal":
            one, other = " / ".join(theirs[low:high]), " / ".join(ours[first:last])
            yield Difference(name, f"line {low + 1} says {_short(one)}; computed {_short(other)}")


def _table(name: str, there: Path, fresh: Path) -> Iterator[Difference]:
    """The cells of a Parquet table that differ from those computed; its bytes depend on who wrote it."""
    faults = Faults(name)
    try:
        said, computed = (
            [
                {field: value for field, value in row.cells.items() if value is not None}
                for row in read_rows(path, faults, "parquet")
            ]
            for path in (there, fresh)
        )
        faults.stop()
    except InputError as error:
        yield from (Difference(name, str(fault.message)) for fault in error.faults)
        return
    if len(said) != len(computed):
        yield Difference(name, f"has {len(said)} rows; the JSON Lines have {len(computed)}")
    for number, (row, other) in enumerate(zip(said, computed, strict=False), 1):
        for field in sorted(field for field in {*row, *other} if row.get(field) != other.get(field)):
            one, two = _short(row.get(field)), _short(other.get(field))
            yield Difference(name, f"row {number}, {field}: is {one}; the JSON Lines say {two}")


# ---- checks of their own ----


def _is_groups(value: Any) -> TypeGuard[list[list[str]]]:
    """Whether it is a list of lists of texts."""
    return isinstance(value, list) and all(
        isinstance(group, list) and all(isinstance(name, str) for name in group) for group in value
    )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _steps(manifest: Manifest) -> Iterator[Difference]:
    """What one step gave is what the next one was given."""
    given = [*(record.counts_in for record in manifest.history), manifest.counts_in]
    for record, taken in zip(manifest.history, given[1:], strict=True):
        counted = {name for name in record.counts_out if name in _COUNTED or name.startswith("judgments/")}
        if missing := sorted(counted - taken.keys()):
            yield Difference(MANIFEST, f"{record.step} gave {missing[0]}, which the step after it does not count")
        differing = [name for name in taken if record.counts_out.get(name) != taken[name]]
        for name in differing:
            gave = _short(record.counts_out.get(name))
            yield Difference(MANIFEST, f"{record.step} gave {gave} {name}, and the step after it took {taken[name]}")


def _splits(data: Dataset, settings: ReleaseSettings, duplicates: Sequence[Sequence[str]]) -> Iterator[Difference]:
    of = {document.id: document.split for document in data.documents.values()}
    found = near_duplicates({document.id: document.text for document in data.documents.values()})
    for group in [*map(tuple, duplicates), *(group.ids for group in found)]:
        names = sorted({str(of.get(doc_id)) for doc_id in group})
        if len(names) > 1:
            yield Difference(
                "documents.jsonl", f"{', '.join(group)} are near-duplicates in the splits {', '.join(names)}"
            )
    whole = not any(document.is_withheld for document in data.documents.values())
    if settings.splits and whole:  # else the texts that decide which documents stay together are not here
        drawn = split(data, settings.splits, seed=settings.seed)
        for name, part in drawn.parts.items():
            for doc_id in part.documents:
                if of[doc_id] != name:
                    message = f"{doc_id} is in the split {of[doc_id]}; seed {settings.seed} puts it into {name}"
                    yield Difference("documents.jsonl", message)


def _people(data: Dataset) -> Iterator[Difference]:
    for name in data.judgment_sets:
        judges = {row.judge for row in data.judgments(name) if of_people(row.signature)}
        for judge in sorted(judges):
            if judge != PEOPLE and not unnamed(judge) and not _PSEUDONYM.fullmatch(judge):
                yield Difference(f"judgments/{name}.jsonl", f"names an annotator {judge!r}, which is no pseudonym")


def _files(folder: Path, data: Dataset) -> Iterator[Difference]:
    """Files that no release holds: one that is there may hold a withheld text."""
    sets = {f"{JUDGMENTS}/{name}.jsonl" for name in data.judgment_sets}
    tables = {f"{PARQUET}/{split}/{table}.parquet" for split in splits_of(data) for table in TABLES}
    own = {CARD, DATASHEET, CROISSANT, FETCH, DATASET, DOCUMENTS, SUMMARIES, KEY_FACTS, *sets, *tables}
    for name in sorted(file_hashes(folder).keys() - own):
        yield Difference(name, "is no file of a release")


def _withheld(folder: Path, data: Dataset) -> Iterator[Difference]:
    """Whatever is released of a document that may not be passed on, apart from the columns that are allowed."""
    withheld = {document.id: document for document in data.documents.values() if not document.share}
    for document in withheld.values():
        if document.text or document.references or document.sentences:
            yield Difference(DOCUMENTS, f"{document.id} has a text that may not be passed on")
        if not document.extra.get(SHA256):
            yield Difference(DOCUMENTS, f"{document.id} has neither its text nor the SHA-256 of it")
        columns = {name: value for name, value in document.extra.items() if name != WITHHELD}
        yield from _columns(DOCUMENTS, document.id, columns, {*DOCUMENT_COLUMNS, SHA256})
    for summary in data.summaries:
        if summary.document_id in withheld:
            place = f"the summary of {summary.document_id} by {summary.system}"
            yield from _columns(SUMMARIES, place, summary.extra, SUMMARY_COLUMNS)
    sealed = {document.extra.get(SHA256): document.id for document in withheld.values()}
    for document in data.documents.values():
        if document.share and (other := sealed.get(hashlib.sha256(document.text.encode("utf-8")).hexdigest())):
            yield Difference(DOCUMENTS, f"{document.id} has the text of {other}, which may not be passed on")
    if withheld and not (folder / FETCH).is_file():
        yield Difference(FETCH, "is missing, and texts are withheld")


def _columns(file: str, place: str, columns: Mapping[str, Any], allowed: Collection[str]) -> Iterator[Difference]:
    for name, value in columns.items():
        if name not in allowed:
            yield Difference(file, f"{place} has the column {name!r}, which may hold a withheld text")
        elif len(str(value)) > LONGEST_COLUMN or isinstance(value, list | dict):
            yield Difference(file, f"{place}: the column {name!r} is long enough to hold a withheld text")


def _secrets(folder: Path) -> Iterator[Difference]:
    """Secrets in the addresses that the manifest holds."""
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    for name, value in manifest.items():
        if masked({name: value}) != {name: value}:
            yield Difference(MANIFEST, f"{name} holds an address with a secret; do not publish it")


# ---- the step ----


class VerifySettings(StepSettings):
    """There is nothing to choose."""


def _step(inputs: Inputs, settings: VerifySettings, place: Place) -> Result:
    del settings
    if inputs.folder is None:
        raise UsageError("verify: there is no release; add the section release before it")
    if differences := verify(inputs.folder):
        raise VerifyError(inputs.folder, differences)
    report = {
        "verified": True,
        "files": len(file_hashes(inputs.folder)),
        **counts_of(inputs.data),
    }
    write_text(place.out / REPORT, json.dumps(report, indent=1) + "\n")
    return Result(counts={"files": report["files"]})


STEP = Step("verify", VerifySettings, _step)
