"""A benchmark as others get it: a dataset folder with pseudonyms, splits, tables, a card and a datasheet.

    RELEASE/   README.md . DATASHEET.md . croissant.json . manifest.json
               documents.jsonl . summaries.jsonl . keyfacts.jsonl . judgments/SET.jsonl . dataset.json
               parquet/SPLIT/{documents,summaries,judgments}.parquet . fetch_documents.py

The folder is a dataset folder: whatever reads one reads a release. Times, run ids and the secret behind the pseudonyms
lie outside it. `summeter.benchmark.verify` computes again what it says of itself.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any

from pydantic import Field, field_serializer, field_validator, model_validator

from summeter.benchmark import fetch_documents
from summeter.benchmark.card import (
    CARD,
    CROISSANT,
    DATASHEET,
    PARQUET,
    About,
    Answers,
    agreements,
    card_text,
    croissant_text,
    datasheet_text,
    of_people,
    splits_of,
)
from summeter.benchmark.step import (
    DOCUMENT_COLUMNS,
    SUMMARY_COLUMNS,
    Inputs,
    Package,
    Place,
    Result,
    Step,
    StepRecord,
    StepSettings,
    file_hashes,
)
from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset
from summeter.data.duplicates import near_duplicates
from summeter.data.exports import SPLIT, table_rows, write_rows
from summeter.data.folder import check_set_name
from summeter.data.human import PEOPLE
from summeter.data.parts import split
from summeter.records import Document, FactOrigin, InputError, Judgment, Summary, UsageError, digest, unnamed
from summeter.records.addresses import masked

FETCH = "fetch_documents.py"
KEY_FILE = "pseudonyms.key"
PSEUDONYM = "p-"
"""How the name of an annotator begins in a release."""
SHA256, WITHHELD = "sha256", "withheld"
"""Columns that a release adds to a withheld document: the SHA-256 of its text, and what is missing."""
LONGEST_COLUMN = 200
"""Characters of a column of a withheld document, at most."""
QUOTE = 6
"""Words from which a column that stands in the text is a quotation."""
_DIGITS = 10
_SHORTEST = 16


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
        """Where the secret lies is nobody's business."""
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


def about_of(
    settings: ReleaseSettings, history: Sequence[StepRecord], details: Mapping[str, Any], files: Mapping[str, str]
) -> About:
    """What the card of a release tells beside its data."""
    return About(
        settings.name,
        settings.version,
        settings.description,
        settings.licence,
        settings.citation,
        settings.url,
        settings.published,
        settings.language,
        settings.datasheet,
        history,
        details["near_duplicates"],
        files,
    )


def pseudonym(name: str, secret: bytes) -> str:
    """The name of an annotator in a release: the same for the same secret, and nothing that leads back without it.

    >>> pseudonym("ben", b"kept outside the release")
    'p-a847917694'
    """
    return PSEUDONYM + hmac.new(secret, name.encode("utf-8"), hashlib.sha256).hexdigest()[:_DIGITS]


def texts_of(data: Dataset, about: About) -> dict[str, str]:
    """What stands in the files that describe a release, by name."""
    return {
        CARD: card_text(data, about),
        DATASHEET: datasheet_text(data, about),
        CROISSANT: croissant_text(data, about),
    }


def details_of(
    data: Dataset, duplicates: Sequence[Sequence[str]], answers: Answers, history: Sequence[StepRecord]
) -> dict[str, Any]:
    """What the manifest of a release holds beside counts: the hashes of the data and of the steps' records, the
    documents of each split (as a hash), near-duplicates, agreement, and the fields of the datasheet that nobody filled
    in."""
    members: dict[str, list[str]] = {}
    for document in data.documents.values():
        members.setdefault(document.split or "", []).append(document.id)
    return {
        "hash": data.hash,
        "history": digest([record.model_dump(mode="json") for record in history]),
        "splits": {name: {"documents": len(ids), "ids": digest(sorted(ids))} for name, ids in members.items()},
        "near_duplicates": [list(group) for group in duplicates],
        "agreement": [row._asdict() for row in agreements(data)],
        "not_answered": answers.missing,
    }


# ---- the step ----


def _step(inputs: Inputs, settings: ReleaseSettings, place: Place) -> Result:
    data = inputs.dataset
    if not data.documents:
        raise UsageError("release: there is no document left to release")
    secret = _secret(settings.secret, place.work / KEY_FILE)
    splits, duplicates = _divided(data, settings)
    names = _pseudonyms(data, inputs.history, secret)
    released = _released(data, splits, names, settings)
    history = tuple(_released_record(record, names) for record in inputs.history)
    details = details_of(released, duplicates, settings.datasheet, history)

    def finish(folder: Path) -> None:
        about = about_of(settings, history, details, file_hashes(folder))
        for name, text in texts_of(released, about).items():
            write_text(folder / name, text)
        if any(document.is_withheld for document in released.documents.values()):
            write_text(folder / FETCH, inspect.getsource(fetch_documents))
        for name in splits_of(released):
            for table, rows in table_rows(released, name).items():
                write_rows(folder / PARQUET / name / f"{table}.parquet", rows)

    return Result(released, packages=("pyarrow",), details=details, history=history, finish=finish)


def _secret(given: Path | None, own: Path) -> bytes:
    """The content of the secret's file; one is drawn where nobody gave one."""
    path = own if given is None else given
    if given is None and not own.exists():
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    try:
        secret = path.read_bytes().strip()
    except OSError as error:
        raise InputError.at(path, None, None, f"the secret cannot be read: {error.strerror or error}") from error
    if len(secret) < _SHORTEST:
        raise InputError.at(path, None, None, f"is too short for a secret; give at least {_SHORTEST} bytes")
    return secret


def _divided(data: Dataset, settings: ReleaseSettings) -> tuple[dict[str, str], list[list[str]]]:
    """The split of each document, and the groups of near-duplicates, each of which lies in one split."""
    if settings.splits:
        parts = split(data, settings.splits, seed=settings.seed)
        of = {doc_id: name for name, part in parts.parts.items() for doc_id in part.documents}
        return of, [list(group.ids) for group in parts.duplicates]
    of = {document.id: document.split or SPLIT for document in data.documents.values()}
    for name in of.values():
        check_set_name(name, "a split")
    groups = near_duplicates({document.id: document.text for document in data.documents.values()})
    for group in groups:
        if len(places := sorted({of[doc_id] for doc_id in group.ids})) > 1:
            raise UsageError(
                f"release: the documents {', '.join(group.ids)} are near-duplicates and lie in the splits "
                f"{' and '.join(places)}; give shares under `splits`, which keeps them together"
            )
    return of, [list(group.ids) for group in groups]


def _pseudonyms(data: Dataset, history: Sequence[StepRecord], secret: bytes) -> dict[str, str]:
    """What each annotator is called in the release, those too who have an account and gave no answer. Raises UsageError
    where two would be called alike."""
    judges = {row.judge for name in data.judgment_sets for row in data.iter_judgments(name) if of_people(row.signature)}
    reviews = [origin.review for origins in data.fact_origins.values() for origin in origins]
    judges |= {review.decided_by for review in reviews if review is not None and review.decided_by is not None}
    judges |= {account for record in history for account in _accounts(record.settings)}
    names = {judge: pseudonym(judge, secret) for judge in sorted(judges) if judge != PEOPLE and not unnamed(judge)}
    if len(set(names.values())) < len(names):
        raise UsageError("release: two annotators have one pseudonym by this secret; take another one")
    return names


def _accounts(settings: Any) -> Iterator[str]:
    """The accounts of annotators that the settings of a step name."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if _lists_accounts(name, value):
                yield from map(str, value)
            else:
                yield from _accounts(value)
    elif isinstance(settings, list | tuple):
        for each in settings:
            yield from _accounts(each)


def _lists_accounts(name: str, value: Any) -> bool:
    return name == "accounts" and isinstance(value, list | tuple)


def _released(data: Dataset, splits: Mapping[str, str], names: Mapping[str, str], settings: ReleaseSettings) -> Dataset:
    """The data with splits and pseudonyms, without the texts that may not be passed on."""
    documents = {doc_id: _document(document, splits[doc_id]) for doc_id, document in data.documents.items()}
    _check_columns(data, names)
    _check_copies(data)
    makers = {name: partial(_judgments, data, name, names) for name in data.judgment_sets}
    changes = {"name": settings.name, "version": settings.version, "licence": settings.licence}
    card = data.card.model_copy(update={**changes, "citation": settings.citation, "origin": None})
    origins = {
        doc_id: tuple(_origin(origin, names) for origin in of_document)
        for doc_id, of_document in data.fact_origins.items()
    }
    summaries = [_summary(each, data.documents[each.document_id]) for each in data.summaries]
    return Dataset(documents, summaries, makers, card, fact_origins=origins)


def _check_columns(data: Dataset, names: Mapping[str, str]) -> None:
    """Raise UsageError where a column that no step wrote holds the name of an annotator."""
    records = (("document", DOCUMENT_COLUMNS, data.documents.values()), ("summary", SUMMARY_COLUMNS, data.summaries))
    for what, own, rows in records:
        for field, value in ((field, value) for row in rows for field, value in row.extra.items()):
            if field not in own and isinstance(value, str) and value in names:
                raise UsageError(
                    f"release: the {what} column {field!r} holds {value!r}, the name of an annotator; remove the column"
                )


def _check_copies(data: Dataset) -> None:
    """Raise UsageError where the text of a withheld document is also that of one that is released."""
    withheld = {document.text: document.id for document in data.documents.values() if not document.share}
    for document in data.documents.values():
        if document.share and document.text and document.text in withheld:
            raise UsageError(
                f"release: {document.id} has the text of {withheld[document.text]}, which may not be passed on; set "
                "share to false for both"
            )


def _summary(summary: Summary, document: Document) -> Summary:
    """A summary without folders of this machine; of a withheld document, without columns that may hold its text."""
    extra = summary.extra
    if isinstance(model := extra.get("model"), str):
        extra = {**extra, "model": _model(model)}
    kept = extra if document.share else _allowed(extra, SUMMARY_COLUMNS, document.text)
    return summary.model_copy(update={"extra": kept})


def _origin(origin: FactOrigin, names: Mapping[str, str]) -> FactOrigin:
    """How a key fact was made, with a pseudonym for the person who decided."""
    votes = tuple(vote.model_copy(update={"model": vote.model and _model(vote.model)}) for vote in origin.votes)
    review = origin.review
    if review is not None and review.decided_by is not None:
        review = review.model_copy(update={"decided_by": names.get(review.decided_by, review.decided_by)})
    return origin.model_copy(update={"model": origin.model and _model(origin.model), "votes": votes, "review": review})


def _allowed(extra: Mapping[str, Any], names: frozenset[str], text: str) -> dict[str, Any]:
    """The columns of a withheld document, or of its summaries, that a release may hold: those with these names that are
    no text of more than `LONGEST_COLUMN` characters and quote no `QUOTE` words of the document's text."""
    return {name: value for name, value in extra.items() if name in names and not _may_hold(value, text.strip())}


def _may_hold(value: Any, text: str) -> bool:
    """Whether a value may hold the text of a document, or a part of it."""
    if not isinstance(value, str):
        return not isinstance(value, int | float)
    quoted = bool(text) and (text in value or (len(value.split()) >= QUOTE and value in text))
    return quoted or len(value) > LONGEST_COLUMN


def _document(document: Document, name: str) -> Document:
    if document.share:
        return document.model_copy(update={"split": name})
    kept = _allowed(document.extra, DOCUMENT_COLUMNS, document.text)
    sealed = hashlib.sha256(document.text.encode("utf-8")).hexdigest()
    withheld = ["text", "references", *(column for column in document.extra if column not in kept)]
    return Document(
        id=document.id,
        text="",
        key_facts=document.key_facts,
        domain=document.domain,
        split=name,
        share=False,
        extra={**kept, SHA256: sealed, WITHHELD: withheld},
    )


def _judgments(data: Dataset, name: str, names: Mapping[str, str]) -> Iterator[Judgment]:
    """A judgment set under pseudonyms, without the ids of calls and of what a run prepared, which lead nowhere."""
    for judgment in data.iter_judgments(name):
        judge = names.get(judgment.judge, judgment.judge) if of_people(judgment.signature) else judgment.judge
        model = None if judgment.model is None else _model(judgment.model)
        changed = {"judge": judge, "signature": _model(judgment.signature), "model": model}
        yield judgment.model_copy(update={**changed, "calls": (), "prepared": None})


_MODEL_PATH = re.compile(r"\b(scripted|local)//(?:[^/|\n]+/)*")


def _model(text: str) -> str:
    """The name of a model, or a signature with one, without the folders of this machine.

    >>> _model("judge:scripted//home/ana/models/judge.jsonl|t:0")
    'judge:scripted/judge.jsonl|t:0'
    """
    return _MODEL_PATH.sub(r"\1/", text)


def _released_record(record: StepRecord, names: Mapping[str, str]) -> StepRecord:
    """The record of a step with pseudonyms for accounts, without completion codes, hosts and this machine's folders."""
    fields = _without_folders(record.model_dump())
    return StepRecord.model_validate({**fields, "settings": _with_pseudonyms(fields["settings"], names)})


def _with_pseudonyms(settings: Any, names: Mapping[str, str]) -> Any:
    """Settings whose lists called `accounts` hold pseudonyms; an equal text elsewhere is no account. Completion codes
    and hosts of campaigns are left out."""
    if isinstance(settings, Mapping):
        return {
            name: [names.get(str(account), account) for account in value]
            if _lists_accounts(name, value)
            else _with_pseudonyms(value, names)
            for name, value in settings.items()
            if not (name == "codes" and isinstance(value, Mapping)) and name != "hosts"
        }
    return [_with_pseudonyms(each, names) for each in settings] if isinstance(settings, list) else settings


def _without_folders(value: Any) -> Any:
    """A JSON value with the last part of each path of this machine in place of the path."""
    if isinstance(value, str):
        return Path(value).name or value if value.startswith("/") and "\n" not in value else _model(value)
    if isinstance(value, Mapping):
        shown: dict[str, Any] = {}
        for key, each in value.items():
            name = _without_folders(key)
            while name in shown:  # two folders of one name
                name += "'"
            shown[name] = _without_folders(each)
        return shown
    return [_without_folders(each) for each in value] if isinstance(value, Iterable) else value


STEP = Step("release", "writes what others get: data, tables, card, datasheet", ReleaseSettings, _step)
