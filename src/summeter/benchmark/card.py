"""What a release says of itself: its card, its datasheet, and its description in JSON-LD (Croissant).

All three are functions of the released data, the records of the steps, and the answers that a person gave: nothing in
them is typed by hand, so that `verify` can write them again and compare.
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
from typing import Any, NamedTuple

import yaml
from pydantic import Field, field_serializer, field_validator, model_validator

from summeter.annotate.tasks.key_fact_validation import ASPECT as KEY_FACT_VALIDITY
from summeter.benchmark.step import Package, StepRecord, StepSettings
from summeter.data.dataset import Dataset
from summeter.data.exports import TABLES
from summeter.data.folder import DOCUMENTS, JUDGMENTS, KEY_FACTS, SUMMARIES
from summeter.data.overview import describe
from summeter.meta import agree
from summeter.records import Record, UsageError
from summeter.records.addresses import masked
from summeter.tables import Table, escape_markdown, number

CARD, DATASHEET, CROISSANT = "README.md", "DATASHEET.md", "croissant.json"
EMPTY = "*Not answered yet.*"
COEFFICIENTS = ("alpha_ordinal", "ac1")
"""Krippendorff's alpha (of labels with two values: the nominal one) and Gwet's AC1, as UniSumEval reports them."""
PARQUET = "parquet"
"""The folder of the tables of each split."""
PSEUDONYM = "p-"
"""How the name of an annotator begins in a release."""
_DIGITS = 10


class Answers(Record):
    """What only a person can say of a data set, after Gebru et al. (2021), "Datasheets for Datasets": the questions
    that the steps' records do not answer. A field that is left out is named in the card as not answered."""

    purpose: str | None = Field(None, description="For what purpose was the data set created?")
    creators: str | None = Field(None, description="Who created it, and on behalf of whom?")
    funding: str | None = Field(None, description="Who funded its creation?")
    confidential: str | None = Field(None, description="Does it hold data that might be considered confidential?")
    offensive: str | None = Field(None, description="Does it hold what might be offensive or cause anxiety?")
    people: str | None = Field(None, description="Does it speak of people, and can they be identified?")
    annotators: str | None = Field(None, description="Who annotated it, how were they chosen, and what were they paid?")
    consent: str | None = Field(None, description="Did annotators and authors of the sources agree to this use?")
    ethics: str | None = Field(None, description="Was there an ethical review?")
    intended_uses: str | None = Field(None, description="For which tasks is it meant?")
    unsuited_uses: str | None = Field(None, description="For what should it not be used?")
    terms: str | None = Field(None, description="Are there terms of use beside the licence?")
    contact: str | None = Field(None, description="Who maintains it, and how can they be reached?")
    updates: str | None = Field(None, description="Will it be corrected or extended, and where are errata listed?")

    @property
    def missing(self) -> list[str]:
        """The fields without an answer."""
        return [name for name in Answers.model_fields if not (getattr(self, name) or "").strip()]


class ReleaseSettings(StepSettings):
    """What a release says of itself, and how it is divided."""

    name: str = Field(description="Name of the benchmark; default: the one above the sections.")
    version: str = Field("1.0", description="Version of the benchmark.")
    description: str | None = Field(None, description="What it is, in a sentence or two.")
    licence: str | None = Field(None, description="Licence of the benchmark as a whole, as SPDX names it.")
    citation: str | None = Field(None, description="How to cite it.")
    url: str | None = Field(None, description="Where it is found.")
    published: str | None = Field(None, description="Date of publication.")
    language: str = Field("en", description="ISO 639-1 code of the texts.")
    splits: dict[str, float] = Field(
        default_factory=dict,
        description="Shares of the documents by split, drawn by the seed, near-duplicates together; default: the "
        "splits that documents have, else `test`.",
    )
    secret: Path | None = Field(
        None, description="File of at least 16 bytes that makes the pseudonyms of annotators; default: one is drawn."
    )
    datasheet: Answers = Field(default_factory=Answers, description="Answers of a person.")

    @model_validator(mode="before")
    @classmethod
    def _without_secrets(cls, given: Any) -> Any:
        """What the card shows holds no secret of an address."""
        return masked(given)

    @field_validator("splits")
    @classmethod
    def _whole(cls, splits: dict[str, float]) -> dict[str, float]:
        if splits and not isclose(total := sum(splits.values()), 1, abs_tol=1e-6):
            raise ValueError(f"the shares must add up to 1; they add up to {total:g}")
        return splits

    @field_serializer("secret")
    def _name(self, secret: Path | None) -> str | None:
        """Local paths are not written."""
        return None if secret is None else secret.name

    def files(self) -> Iterable[Path]:
        """None: the hash of a secret would give it away."""
        return ()

    def packages(self) -> Iterable[Package]:
        """What writes Parquet."""
        return [Package("pyarrow", "parquet")]

    def marks(self) -> Mapping[str, str]:
        """A mark of the secret that does not give it away: with another one, there are other pseudonyms."""
        if self.secret is None:
            return {}
        return {"secret": pseudonym("", self.secret.read_bytes().strip()) if self.secret.is_file() else "missing"}


class About(NamedTuple):
    """What a card tells beside the data: the settings of the release, the steps' records, the groups of
    near-duplicates, and the SHA-256 of the files that it describes, by name."""

    settings: ReleaseSettings
    history: Sequence[StepRecord]
    duplicates: Sequence[Sequence[str]]
    files: Mapping[str, str]


def pseudonym(name: str, secret: bytes) -> str:
    """The name of an annotator in a release: the same for the same secret, and nothing that leads back without it.

    >>> pseudonym("ben", b"kept outside the release")
    'p-a847917694'
    """
    return PSEUDONYM + hmac.new(secret, name.encode("utf-8"), hashlib.sha256).hexdigest()[:_DIGITS]


def agreements(data: Dataset) -> list[dict[str, Any]]:
    """The coefficients of each aspect that two people or more judged, in each judgment set; rounded to 6 decimals.

    Not of the validity of key facts: the data hold those that were found valid alone.
    """
    rows: list[dict[str, Any]] = []
    for name in people_sets(data):
        try:
            study = agree(data.judgments(name), coefficients=COEFFICIENTS, resamples=0)
        except UsageError:
            continue  # nothing that two people judged
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


def people_sets(data: Dataset) -> list[str]:
    """The judgment sets that hold what people said."""
    return [name for name in data.judgment_sets if any(of_people(row.signature) for row in data.iter_judgments(name))]


def of_people(signature: str) -> bool:
    """Whether a judgment with this signature is a person's, or merged from those of people."""
    return signature.startswith("human.")


def card_text(data: Dataset, about: About) -> str:
    """README.md: a head that a hub reads, and every table."""
    settings, splits = about.settings, splits_of(data)
    head: dict[str, Any] = {"pretty_name": settings.name, "language": [settings.language]}
    if settings.licence:
        head["license"] = settings.licence.lower()
    head["task_categories"] = ["summarization"]
    head["configs"] = [
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
    agreement = [_agreement(rows)] if (rows := agreements(data)) else []
    tables = (_splits(data), _sources(data), *shown, *agreement, _history(about.history))
    parts += (table.markdown() for table in tables)
    if about.duplicates:
        groups = "; ".join(", ".join(escape_markdown(name) for name in group) for group in about.duplicates)
        parts.append(f"Near-duplicates, each group in one split: {groups}.")
    known = {
        "Licence": settings.licence,
        "Citation": settings.citation,
        "Published": settings.published,
        "At": settings.url,
    }
    parts.append("\n".join(f"* {name}: {value}" for name, value in known.items() if value))
    parts.append(
        "Documents, summaries, key facts and single votes stand as JSON Lines in this folder (`summeter data show .` "
        f"reads it) and as tables in `{PARQUET}/`. Annotators have pseudonyms. `manifest.json` holds what each step "
        "did and the SHA-256 of every file; `summeter bench verify .` computes counts, agreement and every table "
        "again."
    )
    text = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    return f"---\n{text}---\n\n" + "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def datasheet_text(data: Dataset, about: About) -> str:
    """DATASHEET.md: what the records say, and what a person answered."""
    sources = Counter(str(document.extra.get("source") or "not known") for document in data.documents.values())
    listed = ", ".join(f"{escape_markdown(name)} ({count})" for name, count in sources.items())
    withheld = sum(not document.share for document in data.documents.values())
    fetched = f" {withheld} of them ship as ids only; `fetch_documents.py` adds their texts." if withheld else ""
    dropped = [f"{record.step}: {why} ({count})" for record in about.history for why, count in record.dropped.items()]
    done = []
    for place, record in enumerate(about.history, 1):
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in record.counts_out.items())
        done.append(f"{place}. {record.step} (seed {record.seed}): {counts or 'no data'}.")
    recorded = {
        "What are the instances?": _size(data),
        "Is anything missing?": f"The steps left out: {'; '.join(dropped)}."
        if dropped
        else "The steps left nothing out.",
        "How were the documents acquired?": f"By source: {listed}.{fetched}",
        "How were the data processed?": " ".join(done),
        "Under which licence is it distributed?": about.settings.licence or EMPTY,
    }
    lines = [f"# Datasheet of {escape_markdown(about.settings.name)} {about.settings.version}", ""]
    for question, answer in recorded.items():
        lines += [f"## {question}", "", answer, ""]
    for name, field in Answers.model_fields.items():
        answer = (getattr(about.settings.datasheet, name) or "").strip()
        lines += [f"## {field.description}", "", answer or EMPTY, ""]
    return "\n".join(lines)


# ---- the card ----


def splits_of(data: Dataset) -> list[str]:
    """The splits, in order of appearance."""
    return list(dict.fromkeys(document.split or "" for document in data.documents.values()))


def _size(data: Dataset) -> str:
    votes = sum(1 for name in people_sets(data) for _ in data.iter_judgments(name))
    facts = sum(len(document.key_facts) for document in data.documents.values())
    return (
        f"{len(data)} summaries of {len(data.documents)} documents by {len(data.systems)} systems, {facts} key facts, "
        f"{votes} judgments by people."
    )


def _splits(data: Dataset) -> Table:
    documents = Counter(document.split for document in data.documents.values())
    of = {document.id: document.split for document in data.documents.values()}
    summaries = Counter(of[summary.document_id] for summary in data.summaries)
    votes = Counter(of[row.target.document_id] for name in people_sets(data) for row in data.iter_judgments(name))
    rows = [[split, documents[split], summaries[split], votes[split]] for split in splits_of(data)]
    heads = ["split", "documents", "summaries", "judgments by people"]
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


def _agreement(rows: Sequence[Mapping[str, Any]]) -> Table:
    heads = ["judgments", "aspect", "unit", "coefficient", "value", "annotators", "items", "note"]
    columns = ("judgment_set", "aspect", "unit", "coefficient", "value", "annotators", "items", "reason")
    cells = [[row[name] for name in columns] for row in rows]
    show: list[Callable[[Any], str]] = [str, str, str, str, number]
    return Table.of(heads, cells, align="llllrrrl", show=show, title="Agreement of the annotators")


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

_OF_CROISSANT = (
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
    **{name: f"cr:{name}" for name in _OF_CROISSANT},
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
"""The columns of each kind of file, with their types; those that every line has are described."""
_REPEATED = frozenset({"facts"})


def croissant_text(data: Dataset, about: About) -> str:
    """The data set in JSON-LD, after the Croissant format 1.0 (MLCommons, 2024)."""
    rows: dict[str, Iterable[Any]] = {DOCUMENTS: data.documents.values(), SUMMARIES: data.summaries}
    if any(document.key_facts for document in data.documents.values()):
        rows[KEY_FACTS] = ()
    rows |= {f"{JUDGMENTS}/{name}.jsonl": data.judgments(name) for name in data.judgment_sets}
    files, records = [], []
    for name, own in rows.items():
        stem = name.removesuffix(".jsonl")
        fields = []
        for column, kind in _FIELDS[JUDGMENTS if name.startswith(f"{JUDGMENTS}/") else name].items():
            if any(attrgetter(column)(row) is None for row in own):
                continue
            first, _, inner = column.partition(".")
            source: dict[str, Any] = {"fileObject": {"@id": name}, "extract": {"column": first}}
            if inner:
                source["transform"] = {"jsonPath": f"$.{inner}"}
            id_ = f"{stem}/{column}"
            repeated = {"repeated": True} if column in _REPEATED else {}
            fields.append(
                {"@type": "cr:Field", "@id": id_, "name": id_, "dataType": kind, **repeated, "source": source}
            )
        records.append({"@type": "cr:RecordSet", "@id": stem, "name": stem, "field": fields})
        file = {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name}
        files.append({**file, "encodingFormat": "application/jsonlines", "sha256": about.files[name]})
    settings = about.settings
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
        "distribution": files,
        "recordSet": records,
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"
