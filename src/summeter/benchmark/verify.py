"""Verification of a release: compare hashes, and recompute what follows from the data.

Comparing hashes detects changed files. Recomputing also detects changes after which the hashes were renewed, if another
file of the release contradicts them. Separate checks make sure that a release contains no withheld text and no secret.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from summeter._version import __version__
from summeter.benchmark.card import (
    CARD,
    CROISSANT,
    DATASHEET,
    PARQUET,
    PSEUDONYM,
    ReleaseSettings,
    is_human,
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
    Result,
    Step,
    StepContext,
    StepSettings,
    changed_files,
    counts_of,
    excerpt,
    file_hashes,
    read_manifest,
    write_result,
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
MAX_SHOWN = 20
_COUNTS = frozenset({"documents", "summaries", "key_facts"})
"""Counts of every step, in addition to the number of judgments in each set."""
_GROUPS = TypeAdapter(list[list[str]])
_PSEUDONYM = re.compile(rf"{re.escape(PSEUDONYM)}[0-9a-f]{{10}}")


class Difference(NamedTuple):
    """A fault in a file of a release."""

    file: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


class VerifyError(GateError):
    """Raised if a release is inconsistent."""

    def __init__(self, folder: Path, differences: Sequence[Difference]) -> None:
        shown = [f"  {difference}" for difference in differences[:MAX_SHOWN]]
        rest = [f"  ... and {len(differences) - MAX_SHOWN} more"] if len(differences) > MAX_SHOWN else []
        count = "1 difference" if len(differences) == 1 else f"{len(differences)} differences"
        super().__init__("\n".join([f"{folder} failed verification: {count}", *shown, *rest]))


def verify(folder: str | Path) -> list[Difference]:
    """Return all faults of the release in a folder, or an empty list if there are none.

    Raises UsageError if the folder is not a release.
    """
    path = Path(folder)
    if not (path / MANIFEST).is_file() or not is_dataset(path):
        raise UsageError(f"{folder} is not a release. Give a folder that the step `release` wrote")
    try:
        manifest = read_manifest(path)
    except InputError as error:
        return [Difference(MANIFEST, f"cannot be read: {error}")]
    if manifest.step != "release":
        raise UsageError(
            f"{folder} holds the step {manifest.step}, not a release. Give a folder that the step `release` wrote"
        )
    try:
        settings = ReleaseSettings.model_validate(manifest.settings)
    except ValidationError as error:
        return [Difference(MANIFEST, f"settings cannot be read: {error}")]
    differences = [
        Difference(name, f"{what} since the release was written") for name, what in changed_files(path, manifest.files)
    ]
    data = _load(path, differences, check_hashes=True) or _load(path, differences, check_hashes=False)
    if data is not None:
        try:
            duplicates = _GROUPS.validate_python(manifest.details.get("near_duplicates"))
        except ValidationError:
            duplicates = []  # the comparison with the rebuilt manifest reports what is stated
        differences += _compare_rebuilt(path, manifest, settings, data, duplicates)
        differences += _check_counts(manifest)
        differences += _check_splits(data, settings, duplicates)
        differences += _check_pseudonyms(data)
        content = json.loads((path / MANIFEST).read_text("utf-8"))
        for name, value in content.items():
            if masked({name: value}) != {name: value}:
                differences.append(Difference(MANIFEST, f"{name} holds an address with a secret. Do not publish it"))
        sets = {f"{JUDGMENTS}/{name}.jsonl" for name in data.judgment_sets}
        tables = {f"{PARQUET}/{split_name}/{table}.parquet" for split_name in splits_of(data) for table in TABLES}
        known = {CARD, DATASHEET, CROISSANT, FETCH, DATASET, DOCUMENTS, SUMMARIES, KEY_FACTS, *sets, *tables}
        for name in sorted(file_hashes(path).keys() - known):  # such a file may contain a withheld text
            differences.append(Difference(name, "is not a file of a release"))
        differences += _check_withheld(path, data, duplicates)
    return list(dict.fromkeys(differences))


def _load(folder: Path, differences: list[Difference], *, check_hashes: bool) -> Dataset | None:
    """Load the data of a release with all judgments.

    If the data cannot be read, add the faults to `differences` and return None.
    """
    try:
        data = load(folder, verify=check_hashes)
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
    if not data.documents:
        differences.append(Difference(DOCUMENTS, "contains no documents"))
        return None
    return data


# ---- comparison with a rebuilt release ----


def _compare_rebuilt(
    folder: Path, manifest: Manifest, settings: ReleaseSettings, data: Dataset, duplicates: Sequence[Sequence[str]]
) -> Iterator[Difference]:
    """Compare the folder with a new release of the same data, settings and records."""
    with TemporaryDirectory() as temporary:
        fresh = Path(temporary)
        rebuilt = write_result(
            RELEASE,
            settings,
            release_of(data, settings, manifest.history, duplicates),
            fresh,
            inputs=manifest.inputs,
            counts_in=manifest.counts_in,
            history=manifest.history,
        )
        if manifest.seed != rebuilt.seed:
            yield Difference(MANIFEST, f"seed is {manifest.seed}, but settings.seed is {rebuilt.seed}")
        stored, computed = (json.loads(each.model_dump_json()) for each in (manifest, rebuilt))
        for field in ("counts_out", "details"):
            for name in sorted({*stored[field], *computed[field]}):
                one, other = stored[field].get(name), computed[field].get(name)
                if one != other:
                    yield Difference(MANIFEST, f"{field}.{name} {_expected(one, other)}")
        for name, sha256 in file_hashes(fresh).items():
            file = folder / name
            if not file.is_file():
                yield Difference(name, "is missing")
            elif name == FETCH:
                if (
                    manifest.versions.get("summeter") == __version__
                    and file.read_bytes() != (fresh / name).read_bytes()
                ):
                    yield Difference(name, f"is not the script of summeter {__version__}. Do not run it")
            elif hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
                yield from _first_difference(name, file, fresh / name)


def _first_difference(name: str, file: Path, fresh: Path) -> Iterator[Difference]:
    """Yield the first line, or row of a Parquet table, that differs from the rebuilt file.

    Tables are compared by their cells, because the bytes may differ between versions of the Parquet writer.
    """

    def lines(path: Path) -> list[Any]:
        if path.suffix != ".parquet":
            return path.read_bytes().decode("utf-8").split("\n")
        faults = Faults(name)
        rows = [{field: value for field, value in row.cells.items() if value is not None}
                for row in read_rows(path, faults, "parquet")]  # fmt: skip
        faults.stop()
        return rows

    try:
        pairs = zip_longest(lines(file), lines(fresh))
    except (InputError, UnicodeDecodeError) as error:
        yield Difference(name, f"cannot be read: {error}")
        return
    for number, (one, other) in enumerate(pairs, 1):
        if one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):  # only the cells that differ
            differing = [field for field in {**one, **other} if one.get(field) != other.get(field)]
            one, other = ({field: row.get(field) for field in differing} for row in (one, other))  # noqa: PLW2901
        yield Difference(name, f"line {number} {_expected(one, other)}")
        return


def _expected(stored: Any, computed: Any) -> str:
    return f"is {excerpt(stored, 120)}, but should be {excerpt(computed, 120)}"


# ---- separate checks ----


def _check_counts(manifest: Manifest) -> Iterator[Difference]:
    """Check that the output counts of each step are the input counts of the next step."""
    inputs = [*(record.counts_in for record in manifest.history), manifest.counts_in]
    for record, next_counts in zip(manifest.history, inputs[1:], strict=True):
        counted = {name for name in record.counts_out if name in _COUNTS or name.startswith("judgments/")}
        if missing := sorted(counted - next_counts.keys()):
            yield Difference(MANIFEST, f"{record.step} wrote {missing[0]}, which the next step does not count")
        for name, count in next_counts.items():
            if record.counts_out.get(name) != count:
                written = excerpt(record.counts_out.get(name), 120)
                yield Difference(MANIFEST, f"{record.step} wrote {written} {name}, but the next step read {count}")


def _check_splits(
    data: Dataset, settings: ReleaseSettings, duplicates: Sequence[Sequence[str]]
) -> Iterator[Difference]:
    split_of = {document.id: document.split for document in data.documents.values()}
    groups = near_duplicates({document.id: document.text for document in data.documents.values()})
    for group in [*map(tuple, duplicates), *(group.ids for group in groups)]:
        names = sorted({str(split_of.get(doc_id)) for doc_id in group})
        if len(names) > 1:
            yield Difference(
                DOCUMENTS, f"{', '.join(group)} are near-duplicates but are in the splits {', '.join(names)}"
            )
    complete = not any(document.is_withheld for document in data.documents.values())
    if settings.splits and complete:  # withheld texts would be needed to find near-duplicates, which stay together
        for name, subset in split(data, settings.splits, seed=settings.seed).subsets.items():
            for doc_id in subset.documents:
                if split_of[doc_id] != name:
                    message = (
                        f"{doc_id} is in the split {split_of[doc_id]}, but seed {settings.seed} puts it into {name}"
                    )
                    yield Difference(DOCUMENTS, message)


def _check_pseudonyms(data: Dataset) -> Iterator[Difference]:
    for name in data.judgment_sets:
        judges = {row.judge for row in data.judgments(name) if is_human(row.signature)}
        for judge in sorted(judges):
            if judge != PEOPLE and not unnamed(judge) and not _PSEUDONYM.fullmatch(judge):
                yield Difference(f"judgments/{name}.jsonl", f"names an annotator {judge!r}, which is not a pseudonym")


def _check_withheld(folder: Path, data: Dataset, duplicates: Sequence[Sequence[str]]) -> Iterator[Difference]:
    """Yield released content of withheld documents, except in the allowed columns."""
    withheld = {document.id: document for document in data.documents.values() if not document.share}
    for document in withheld.values():
        if document.text or document.references or document.sentences:
            yield Difference(DOCUMENTS, f"{document.id} has a text that may not be shared")
        if not document.extra.get(SHA256):
            yield Difference(DOCUMENTS, f"{document.id} has neither a text nor a SHA-256")
        columns = {name: value for name, value in document.extra.items() if name != WITHHELD}
        yield from _check_columns(DOCUMENTS, document.id, columns, {*DOCUMENT_COLUMNS, SHA256})
    for summary in data.summaries:
        if summary.document_id in withheld:
            label = f"the summary of {summary.document_id} by {summary.system}"
            yield from _check_columns(SUMMARIES, label, summary.extra, SUMMARY_COLUMNS)
    id_of_hash = {document.extra.get(SHA256): document.id for document in withheld.values()}
    for document in data.documents.values():
        if document.share and (other := id_of_hash.get(hashlib.sha256(document.text.encode("utf-8")).hexdigest())):
            yield Difference(DOCUMENTS, f"{document.id} has the text of {other}, which may not be shared")
    for group in duplicates:
        released = [doc_id for doc_id in group if doc_id in data.documents and doc_id not in withheld]
        if released and (others := [doc_id for doc_id in group if doc_id in withheld]):
            message = f"{released[0]} is a near-duplicate of {others[0]}, whose text may not be shared"
            yield Difference(DOCUMENTS, message)
    if withheld and not (folder / FETCH).is_file():
        yield Difference(FETCH, "is missing, although texts are withheld")


def _check_columns(file: str, label: str, columns: Mapping[str, Any], allowed: Collection[str]) -> Iterator[Difference]:
    for name, value in columns.items():
        if name not in allowed:
            yield Difference(file, f"{label} has the column {name!r}, which may contain a withheld text")
        elif len(str(value)) > LONGEST_COLUMN or isinstance(value, list | dict):
            yield Difference(file, f"{label}: the column {name!r} is long enough to contain a withheld text")


# ---- the step ----


def _verify(inputs: Inputs, settings: StepSettings, context: StepContext) -> Result:
    del settings
    if inputs.folder is None:
        raise UsageError("verify: there is no release. Add the section release before it")
    if differences := verify(inputs.folder):
        raise VerifyError(inputs.folder, differences)
    files = len(file_hashes(inputs.folder))
    report = {"verified": True, "files": files, **counts_of(inputs.data)}
    write_text(context.out / REPORT, json.dumps(report, indent=1) + "\n")
    return Result(counts={"files": files})


class VerifySettings(StepSettings):
    """This step has no settings of its own."""


STEP = Step("verify", VerifySettings, _verify)
