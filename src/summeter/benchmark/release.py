"""A benchmark as others get it: a dataset folder with pseudonyms, splits, tables, a card and a datasheet.

    RELEASE/   README.md . DATASHEET.md . croissant.json . manifest.json
               documents.jsonl . summaries.jsonl . keyfacts.jsonl . judgments/SET.jsonl . dataset.json
               parquet/SPLIT/{documents,summaries,judgments}.parquet . fetch_documents.py

The folder is a dataset folder. Times, run ids and the secret behind the pseudonyms
lie outside it. `summeter.benchmark.verify` computes again what it says of itself.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from summeter.benchmark import fetch_documents
from summeter.benchmark.card import (
    CARD,
    CROISSANT,
    DATASHEET,
    PARQUET,
    About,
    ReleaseSettings,
    agreements,
    card_text,
    croissant_text,
    datasheet_text,
    of_people,
    pseudonym,
    splits_of,
)
from summeter.benchmark.step import (
    DOCUMENT_COLUMNS,
    SUMMARY_COLUMNS,
    Inputs,
    Place,
    Result,
    Step,
    StepRecord,
    file_hashes,
)
from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset
from summeter.data.duplicates import near_duplicates
from summeter.data.exports import SPLIT, table_rows, write_rows
from summeter.data.folder import check_set_name
from summeter.data.human import PEOPLE
from summeter.data.subsets import split
from summeter.records import Document, FactOrigin, InputError, Judgment, Summary, UsageError, digest, unnamed

FETCH = "fetch_documents.py"
KEY_FILE = "pseudonyms.key"
SHA256, WITHHELD = "sha256", "withheld"
"""Columns that a release adds to a withheld document: the SHA-256 of its text, and what is missing."""
LONGEST_COLUMN = 200
"""Characters of a column of a withheld document, at most."""
QUOTE = 6
"""Words from which a column that stands in the text is a quotation."""
_SHORTEST = 16


def release_of(
    data: Dataset, settings: ReleaseSettings, history: Sequence[StepRecord], duplicates: Sequence[Sequence[str]]
) -> Result:
    """The released data with their card, and everything that a release says of them. `verify` makes it again.

    The manifest's details are hashes of the data, of the steps' records and of the ids of each split, near-duplicates,
    agreement, and questions of the datasheet without an answer. `finish` writes the card, the datasheet, the JSON-LD,
    the tables, and the script that adds withheld texts.
    """
    named = {name: getattr(settings, name) for name in ("name", "version", "licence", "citation")}
    data = data.with_card(**named, origin=None)
    members: dict[str, list[str]] = {}
    for document in data.documents.values():
        members.setdefault(document.split or "", []).append(document.id)
    details = {
        "hash": data.hash,
        "history": digest([record.model_dump(mode="json") for record in history]),
        "splits": {name: {"documents": len(ids), "ids": digest(sorted(ids))} for name, ids in members.items()},
        "near_duplicates": [list(group) for group in duplicates],
        "agreement": agreements(data),
        "not_answered": settings.datasheet.missing,
    }

    def finish(folder: Path) -> None:
        about = About(settings, history, duplicates, file_hashes(folder))
        for name, text in ((CARD, card_text), (DATASHEET, datasheet_text), (CROISSANT, croissant_text)):
            write_text(folder / name, text(data, about))
        if any(document.is_withheld for document in data.documents.values()):
            write_text(folder / FETCH, inspect.getsource(fetch_documents))
        for name in splits_of(data):
            for table, rows in table_rows(data, name).items():
                write_rows(folder / PARQUET / name / f"{table}.parquet", rows)

    return Result(data, packages=("pyarrow",), details=details, history=tuple(history), finish=finish)


# ---- the step ----


def _step(inputs: Inputs, settings: ReleaseSettings, place: Place) -> Result:
    data = inputs.dataset
    if not data.documents:
        raise UsageError("release: there is no document left to release")
    secret = _secret(settings.secret, place.work / KEY_FILE)
    splits, duplicates = _divided(data, settings)
    names = _pseudonyms(data, inputs.history, secret)
    history = [_released_record(record, names) for record in inputs.history]
    return release_of(_released(data, splits, names), settings, history, duplicates)


def _secret(given: Path | None, own: Path) -> bytes:
    """The content of the secret's file; a random one is made where none is given."""
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
    for record in history:
        _with_accounts(record.settings, judges.add)
    names = {judge: pseudonym(judge, secret) for judge in sorted(judges) if judge != PEOPLE and not unnamed(judge)}
    if len(set(names.values())) < len(names):
        raise UsageError("release: two annotators have one pseudonym by this secret; take another one")
    return names


def _released(data: Dataset, splits: Mapping[str, str], names: Mapping[str, str]) -> Dataset:
    """The data with splits and pseudonyms, without the texts that may not be passed on."""
    documents = {doc_id: _document(document, splits[doc_id]) for doc_id, document in data.documents.items()}
    _check_columns(data, names)
    _check_copies(data)
    makers = {name: partial(_judgments, data, name, names) for name in data.judgment_sets}
    origins = {
        doc_id: tuple(_origin(origin, names) for origin in of_document)
        for doc_id, of_document in data.fact_origins.items()
    }
    summaries = [_summary(each, data.documents[each.document_id]) for each in data.summaries]
    return Dataset(documents, summaries, makers, data.card, fact_origins=origins)


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
    settings = _with_accounts(fields["settings"], lambda account: names.get(account, account))
    return StepRecord.model_validate({**fields, "settings": settings})


def _with_accounts(settings: Any, change: Callable[[str], Any]) -> Any:
    """Settings with the changed names of accounts, which stand in lists called `accounts`; an equal text elsewhere is
    no account. Completion codes and hosts of campaigns are left out."""
    if isinstance(settings, Mapping):
        return {
            name: [change(str(account)) for account in value]
            if name == "accounts" and isinstance(value, list | tuple)
            else _with_accounts(value, change)
            for name, value in settings.items()
            if not (name == "codes" and isinstance(value, Mapping)) and name != "hosts"
        }
    return [_with_accounts(each, change) for each in settings] if isinstance(settings, list | tuple) else settings


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


STEP = Step("release", ReleaseSettings, _step)
