"""The descriptions of a release: card, datasheet, and Croissant metadata in JSON-LD.

All three are determined by the released data, the records of the steps, and the answers in the settings, so that
`verify` can write them again and compare.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isclose
from operator import attrgetter
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, field_serializer, field_validator, model_validator

from summeter.annotate.tasks.key_fact_validation import ASPECT as KEY_FACT_VALIDITY
from summeter.benchmark.step import Package, StepRecord, StepSettings
from summeter.data.dataset import Dataset
from summeter.data.exports import TABLES
from summeter.data.folder import DOCUMENTS, JUDGMENTS, KEY_FACTS, SUMMARIES
from summeter.data.overview import describe
from summeter.meta import agree
from summeter.records import InputError, Record, UsageError
from summeter.records.addresses import masked
from summeter.tables import Table, escape_markdown, number

CARD, DATASHEET, CROISSANT = "README.md", "DATASHEET.md", "croissant.json"
EMPTY = "*Not answered yet.*"
COEFFICIENTS = ("alpha_ordinal", "ac1")
"""Krippendorff's alpha (nominal for labels with two values) and Gwet's AC1, as reported by UniSumEval."""
PARQUET = "parquet"
"""Name of the folder with the tables of each split."""
PSEUDONYM = "p-"
"""Prefix of the pseudonyms of annotators."""
SHORTEST = 16
"""Minimum length of the secret, in bytes."""


class Datasheet(Record):
    """Answers to the questions of "Datasheets for Datasets" (Gebru et al., 2021) that the steps' records do not answer.

    The card lists the fields without an answer.
    """

    purpose: str | None = Field(None, description="For what purpose was the dataset created?")
    creators: str | None = Field(None, description="Who created it, and on behalf of whom?")
    funding: str | None = Field(None, description="Who funded its creation?")
    confidential: str | None = Field(None, description="Does it contain data that might be considered confidential?")
    offensive: str | None = Field(None, description="Does it contain data that might be offensive or cause anxiety?")
    people: str | None = Field(None, description="Does it relate to people, and can they be identified?")
    annotators: str | None = Field(
        None, description="Who annotated it, how were they chosen, and how much were they paid?"
    )
    consent: str | None = Field(
        None, description="Did the annotators and the authors of the sources consent to this use?"
    )
    ethics: str | None = Field(None, description="Was there an ethical review?")
    intended_uses: str | None = Field(None, description="For which tasks is it intended?")
    unsuited_uses: str | None = Field(None, description="For which tasks should it not be used?")
    terms: str | None = Field(None, description="Are there terms of use in addition to the licence?")
    contact: str | None = Field(None, description="Who maintains it, and how can they be reached?")
    updates: str | None = Field(None, description="Will it be corrected or extended, and where are errata listed?")

    @property
    def missing(self) -> list[str]:
        """The fields without an answer."""
        return [name for name in Datasheet.model_fields if not (getattr(self, name) or "").strip()]


class ReleaseSettings(StepSettings):
    """Describe a release and divide it into splits."""

    name: str = Field(description="Name of the benchmark, unless the file has a top-level `name`.")
    version: str = Field("1.0", description="Version of the benchmark.")
    description: str | None = Field(None, description="Description in one or two sentences.")
    licence: str | None = Field(None, description="SPDX identifier of the licence of the benchmark.")
    citation: str | None = Field(None, description="Citation of the benchmark.")
    url: str | None = Field(None, description="URL of the benchmark.")
    published: str | None = Field(None, description="Date of publication.")
    language: str = Field("en", description="ISO 639-1 code of the texts.")
    splits: dict[str, float] = Field(
        default_factory=dict,
        description="Shares of the documents by split, sampled with the seed, keeping near-duplicates together; "
        "default: the splits of the documents, else `test`.",
    )
    secret: Path | None = Field(
        None,
        description="File of at least 16 bytes that is the key of the annotators' pseudonyms; default: a random key.",
    )
    datasheet: Datasheet = Field(default_factory=Datasheet, description="Answers for the datasheet.")

    @model_validator(mode="before")
    @classmethod
    def _mask_secrets(cls, value: Any) -> Any:
        return masked(value)  # the card shows these fields

    @field_validator("splits")
    @classmethod
    def _check_total(cls, splits: dict[str, float]) -> dict[str, float]:
        if splits and not isclose(total := sum(splits.values()), 1, abs_tol=1e-6):
            raise ValueError(f"the shares must add up to 1, not {total:g}")
        return splits

    @field_serializer("secret")
    def _serialize_secret(self, secret: Path | None) -> str | None:
        return None if secret is None else secret.name  # local paths are not written

    def check(self) -> None:
        """Read the secret, if a file is given."""
        if self.secret is not None:
            read_secret(self.secret)

    def files(self) -> Iterable[Path]:
        """Return no files, because the SHA-256 of the secret file could disclose the secret."""
        return ()

    def packages(self) -> Iterable[Package]:
        """Return the package that writes Parquet files."""
        return [Package("pyarrow", "parquet")]

    def secret_hashes(self) -> Mapping[str, str]:
        """Return a keyed hash of the secret, because a different secret gives different pseudonyms."""
        if self.secret is None:
            return {}
        return {"secret": pseudonym("", self.secret.read_bytes().strip()) if self.secret.is_file() else "missing"}


def read_secret(path: Path) -> bytes:
    """Return the content of the secret file. Raises InputError if it cannot be read or is too short."""
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        why = f"the secret cannot be read: {error.strerror or error}. Write random text to it, or leave out secret"
        raise InputError.at(path, why) from error
    if len(secret) < SHORTEST:
        raise InputError.at(path, f"is too short for a secret. Give at least {SHORTEST} bytes")
    return secret


def pseudonym(name: str, secret: bytes) -> str:
    """Return the pseudonym of an annotator.

    It contains the first 10 hexadecimal digits of the HMAC-SHA-256 of the name, with the secret as the key.

    >>> pseudonym("ben", b"kept outside the release")
    'p-a847917694'
    """
    return PSEUDONYM + hmac.new(secret, name.encode("utf-8"), hashlib.sha256).hexdigest()[:10]


def agreements(data: Dataset) -> list[dict[str, Any]]:
    """Return the agreement of annotators by judgment set, aspect and coefficient.

    Values are rounded to 6 decimals. The validity of key facts is excluded, because the data contain only valid key
    facts.
    """
    rows: list[dict[str, Any]] = []
    for name in human_sets(data):
        try:
            study = agree(data.judgments(name), coefficients=COEFFICIENTS, resamples=0)
        except UsageError:
            continue  # no unit was judged by two annotators
        rows += (
            {
                "judgment_set": name,
                "aspect": row.aspect or "",
                "unit": row.level or "",
                "coefficient": row.statistic,
                "value": None if row.value is None else round(row.value, 6) + 0.0,
                "reason": row.reason,
                "annotators": int(row.details.get("raters", 0)),
                "items": row.n,
            }
            for row in study
            if row.statistic in COEFFICIENTS and row.aspect != KEY_FACT_VALIDITY
        )
    return rows


def human_sets(data: Dataset) -> list[str]:
    """Return the names of the judgment sets that contain human judgments."""
    return [name for name in data.judgment_sets if any(is_human(row.signature) for row in data.iter_judgments(name))]


def is_human(signature: str) -> bool:
    """Return whether a signature is that of an annotator's judgment or of an aggregated one."""
    return signature.startswith("human.")


def card_text(
    data: Dataset, settings: ReleaseSettings, history: Sequence[StepRecord], duplicates: Sequence[Sequence[str]]
) -> str:
    """Return the content of README.md: metadata for the Hugging Face Hub, and all tables.

    `duplicates` contains the groups of near-duplicates.
    """
    splits = splits_of(data)
    metadata: dict[str, Any] = {"pretty_name": settings.name, "language": [settings.language]}
    if settings.licence:
        metadata["license"] = settings.licence.lower()
    metadata["task_categories"] = ["summarization"]
    metadata["configs"] = [
        {
            "config_name": table,
            "data_files": [{"split": split, "path": f"{PARQUET}/{split}/{table}.parquet"} for split in splits],
        }
        for table in TABLES
    ]
    parts = [f"# {escape_markdown(settings.name)} {settings.version}", settings.description or "", _size(data)]
    if missing := settings.datasheet.missing:
        named = ", ".join(f"`{name}`" for name in missing)
        parts.append(f"**Not answered yet** (fields of `datasheet`): {named}.")
    shown = (table for table in describe(data).tables() if not table.title or "dup" not in table.title.lower())
    agreement = []
    if rows := agreements(data):
        columns = {
            "judgments": "judgment_set", "aspect": "aspect", "unit": "unit", "coefficient": "coefficient",
            "value": "value", "annotators": "annotators", "items": "items", "note": "reason",
        }  # fmt: skip
        cells = [[row[column] for column in columns.values()] for row in rows]
        show: list[Callable[[Any], str]] = [str, str, str, str, number]
        agreement = [Table.of(list(columns), cells, align="llllrrrl", show=show, title="Agreement of the annotators")]
    tables = (_splits(data), _sources(data), *shown, *agreement, _history(history))
    parts += (table.markdown() for table in tables)
    if duplicates:
        groups = "; ".join(", ".join(escape_markdown(name) for name in group) for group in duplicates)
        parts.append(f"Near-duplicates, each group in one split: {groups}.")
    known = {
        "Licence": settings.licence,
        "Citation": settings.citation,
        "Published": settings.published,
        "At": settings.url,
    }
    parts.append("\n".join(f"* {name}: {value}" for name, value in known.items() if value))
    parts.append(
        "Documents, summaries, key facts and individual votes are JSON Lines files in this folder (`summeter data show "
        f".` reads it) and tables in `{PARQUET}/`. Annotators have pseudonyms. `manifest.json` describes each step and "
        "holds the SHA-256 of every file. `summeter bench verify .` computes the counts, the agreement and every table "
        "again."
    )
    text = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)
    return f"---\n{text}---\n\n" + "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def datasheet_text(data: Dataset, settings: ReleaseSettings, history: Sequence[StepRecord]) -> str:
    """Return the content of DATASHEET.md: answers from the steps' records and the settings."""
    sources = Counter(str(document.extra.get("source") or "not known") for document in data.documents.values())
    listed = ", ".join(f"{escape_markdown(name)} ({count})" for name, count in sources.items())
    withheld = sum(not document.share for document in data.documents.values())
    fetched = (
        f" {withheld} of them are released as ids only; `fetch_documents.py` adds their texts." if withheld else ""
    )
    dropped = [f"{record.step}: {why} ({count})" for record in history for why, count in record.dropped.items()]
    steps = []
    for position, record in enumerate(history, 1):
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in record.counts_out.items())
        steps.append(f"{position}. {record.step} (seed {record.seed}): {counts or 'no data'}.")
    recorded = {
        "What are the instances?": _size(data),
        "Is anything missing?": f"The steps left out: {'; '.join(dropped)}."
        if dropped
        else "The steps left nothing out.",
        "How were the documents acquired?": f"By source: {listed}.{fetched}",
        "How were the data processed?": " ".join(steps),
        "Under which licence is it distributed?": settings.licence or EMPTY,
    }
    lines = [f"# Datasheet of {escape_markdown(settings.name)} {settings.version}", ""]
    for question, answer in recorded.items():
        lines += [f"## {question}", "", answer, ""]
    for name, field in Datasheet.model_fields.items():
        answer = (getattr(settings.datasheet, name) or "").strip()
        lines += [f"## {field.description}", "", answer or EMPTY, ""]
    return "\n".join(lines)


# ---- the card ----


def splits_of(data: Dataset) -> list[str]:
    """Return the names of the splits, in order of first appearance."""
    return list(dict.fromkeys(document.split or "" for document in data.documents.values()))


def _size(data: Dataset) -> str:
    votes = sum(1 for name in human_sets(data) for _ in data.iter_judgments(name))
    facts = sum(len(document.key_facts) for document in data.documents.values())
    return (
        f"{len(data)} summaries of {len(data.documents)} documents by {len(data.systems)} systems, {facts} key facts, "
        f"{votes} human judgments."
    )


def _splits(data: Dataset) -> Table:
    documents = Counter(document.split for document in data.documents.values())
    split_of = {document.id: document.split for document in data.documents.values()}
    summaries = Counter(split_of[summary.document_id] for summary in data.summaries)
    votes = Counter(split_of[row.target.document_id] for name in human_sets(data) for row in data.iter_judgments(name))
    rows = [[split, documents[split], summaries[split], votes[split]] for split in splits_of(data)]
    heads = ["split", "documents", "summaries", "human judgments"]
    return Table.of(heads, rows, align="lrrr", title="Splits")


def _sources(data: Dataset) -> Table:
    groups = Counter(
        (
            str(document.extra.get("source") or "not known"),
            str(document.extra.get("licence") or "not known"),
            "text" if document.share else "id only",
            document.domain or "no domain",
        )
        for document in data.documents.values()
    )
    rows = [[*group, count] for group, count in groups.items()]
    return Table.of(["source", "licence", "released", "domain", "documents"], rows, align="llllr", title="Sources")


def _history(history: Sequence[StepRecord]) -> Table:
    rows = [
        [
            record.step,
            record.counts_in.get("documents"),
            record.counts_out.get("documents"),
            record.counts_out.get("summaries"),
            record.counts_out.get("key_facts"),
            "; ".join(f"{reason} ({count})" for reason, count in record.dropped.items()) or None,
            ", ".join(f"{name}={model}" for name, model in record.models.items()) or None,
            record.seed,
        ]
        for record in history
    ]
    heads = ["step", "documents in", "out", "summaries", "key facts", "left out", "models", "seed"]
    return Table.of(heads, rows, align="lrrrrllr", title="How it was made")


# ---- Croissant ----

_CROISSANT_TERMS = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{name: f"cr:{name}" for name in _CROISSANT_TERMS},
}
_TEXT, _INTEGER, _NUMBER = "sc:Text", "sc:Integer", "sc:Float"
_FIELDS: dict[str, dict[str, str]] = {
    DOCUMENTS: dict.fromkeys(("id", "text", "domain", "split"), _TEXT),
    SUMMARIES: dict.fromkeys(("document_id", "system", "category", "text"), _TEXT),
    KEY_FACTS: dict.fromkeys(("document_id", "id", "facts"), _TEXT),
    JUDGMENTS: {
        **dict.fromkeys(("target.document_id", "target.system", "target.unit"), _TEXT),
        "target.index": _INTEGER,
        **dict.fromkeys(("aspect", "judge", "signature"), _TEXT),
        "value": _NUMBER,
        **dict.fromkeys(("label", "error_type", "status"), _TEXT),
    },
}
"""Columns and their types, by type of file. A column is described only if every line has it."""


def croissant_text(data: Dataset, settings: ReleaseSettings, files: Mapping[str, str]) -> str:
    """Return the metadata in JSON-LD, in the Croissant format 1.0 (MLCommons, 2024).

    `files` maps the names of the described files to their SHA-256.
    """
    rows: dict[str, Iterable[Any]] = {DOCUMENTS: data.documents.values(), SUMMARIES: data.summaries}
    if any(document.key_facts for document in data.documents.values()):
        rows[KEY_FACTS] = ()
    rows |= {f"{JUDGMENTS}/{name}.jsonl": data.judgments(name) for name in data.judgment_sets}
    distribution, records = [], []
    for name, file_rows in rows.items():
        stem = name.removesuffix(".jsonl")
        fields = []
        for column, data_type in _FIELDS[JUDGMENTS if name.startswith(f"{JUDGMENTS}/") else name].items():
            if any(attrgetter(column)(row) is None for row in file_rows):
                continue
            first, _, inner = column.partition(".")
            source: dict[str, Any] = {"fileObject": {"@id": name}, "extract": {"column": first}}
            if inner:
                source["transform"] = {"jsonPath": f"$.{inner}"}
            id_ = f"{stem}/{column}"
            repeated = {"repeated": True} if column == "facts" else {}
            fields.append(
                {"@type": "cr:Field", "@id": id_, "name": id_, "dataType": data_type, **repeated, "source": source}
            )
        records.append({"@type": "cr:RecordSet", "@id": stem, "name": stem, "field": fields})
        file = {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name}
        distribution.append({**file, "encodingFormat": "application/jsonlines", "sha256": files[name]})
    known = {
        "license": settings.licence,
        "citeAs": settings.citation,
        "url": settings.url,
        "datePublished": settings.published,
    }
    body = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": settings.name,
        "description": settings.description or _size(data),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": settings.version,
        "inLanguage": settings.language,
        **{name: value for name, value in known.items() if value},
        "distribution": distribution,
        "recordSet": records,
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"
