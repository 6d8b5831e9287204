"""The step `release`: write a benchmark for publication.

    RELEASE/   README.md . DATASHEET.md . croissant.json . manifest.json
               documents.jsonl . summaries.jsonl . keyfacts.jsonl . judgments/SET.jsonl . dataset.json
               parquet/SPLIT/{documents,summaries,judgments}.parquet . fetch_documents.py

The release has pseudonyms, splits, tables, a card and a datasheet, and its folder is a dataset folder. Times, run ids
and the secret of the pseudonyms are stored outside this folder. `summeter.benchmark.verify` recomputes and checks a
release.
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
    ReleaseSettings,
    agreements,
    card_text,
    croissant_text,
    datasheet_text,
    is_human,
    pseudonym,
    read_secret,
    splits_of,
)
from summeter.benchmark.step import (
    DOCUMENT_COLUMNS,
    SUMMARY_COLUMNS,
    Inputs,
    Result,
    Step,
    StepContext,
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
from summeter.records import Document, FactOrigin, Judgment, UsageError, digest, unnamed

FETCH = "fetch_documents.py"
KEY_FILE = "pseudonyms.key"
SHA256, WITHHELD = "sha256", "withheld"
"""Columns that a release adds to a withheld document: the SHA-256 of the text, and the names of removed fields."""
LONGEST_COLUMN = 200
"""Maximum length, in characters, of a value that is released in a column of a withheld document."""
QUOTE = 6
"""Minimum number of words of a value that is treated as a quotation if it occurs in the text."""


def release_of(
    data: Dataset, settings: ReleaseSettings, history: Sequence[StepRecord], duplicates: Sequence[Sequence[str]]
) -> Result:
    """Return the released data with the details for the manifest.

    The details are hashes of the data, of the steps' records and of the ids in each split; the near-duplicates; the
    agreement; and the unanswered questions of the datasheet. `finish` of the result writes the card, the datasheet, the
    JSON-LD, the tables, and the script that adds withheld texts. `verify` calls this function again to compare the
    results.
    """
    card_fields = {name: getattr(settings, name) for name in ("name", "version", "licence", "citation")}
    data = data.with_card(**card_fields, origin=None)
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
        write_text(folder / CROISSANT, croissant_text(data, settings, file_hashes(folder)))
        write_text(folder / CARD, card_text(data, settings, history, duplicates))
        write_text(folder / DATASHEET, datasheet_text(data, settings, history))
        if any(document.is_withheld for document in data.documents.values()):
            write_text(folder / FETCH, inspect.getsource(fetch_documents))
        for name in splits_of(data):
            for table, rows in table_rows(data, name).items():
                write_rows(folder / PARQUET / name / f"{table}.parquet", rows)

    return Result(data, packages=("pyarrow",), details=details, history=tuple(history), finish=finish)


# ---- the step ----


def _release(inputs: Inputs, settings: ReleaseSettings, context: StepContext) -> Result:
    data = inputs.dataset
    if not data.documents:
        raise UsageError("release: there is no document left to release")
    key = context.work / KEY_FILE if settings.secret is None else settings.secret
    if settings.secret is None and not key.exists():
        with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    secret = read_secret(key)
    splits, duplicates = _assign_splits(data, settings)
    _check_withheld_copies(data, duplicates)
    names = _pseudonyms(data, inputs.history, secret)
    _check_columns(data, names)
    history = [_released_record(record, names) for record in inputs.history]
    return release_of(_released_data(data, splits, names), settings, history, duplicates)


def _assign_splits(data: Dataset, settings: ReleaseSettings) -> tuple[dict[str, str], list[list[str]]]:
    """Return the split of each document, and the groups of near-duplicates.

    All documents of a group are in the same split.
    """
    if settings.splits:
        subsets = split(data, settings.splits, seed=settings.seed)
        split_of = {doc_id: name for name, subset in subsets.subsets.items() for doc_id in subset.documents}
        return split_of, [list(group.ids) for group in subsets.duplicates]
    split_of = {document.id: document.split or SPLIT for document in data.documents.values()}
    for name in split_of.values():
        check_set_name(name, "a split")
    groups = near_duplicates({document.id: document.text for document in data.documents.values()})
    for group in groups:
        if len(splits := sorted({split_of[doc_id] for doc_id in group.ids})) > 1:
            raise UsageError(
                f"release: the documents {', '.join(group.ids)} are near-duplicates but are in the splits "
                f"{' and '.join(splits)}. Give shares under `splits`, which keeps near-duplicates together"
            )
    return split_of, [list(group.ids) for group in groups]


def _check_withheld_copies(data: Dataset, duplicates: Sequence[Sequence[str]]) -> None:
    """Raise UsageError if a document to be released is a near-duplicate of a withheld one."""
    same_text: dict[str, list[str]] = {}
    for document in data.documents.values():
        if document.text:
            same_text.setdefault(document.text, []).append(document.id)
    for group in (*same_text.values(), *duplicates):
        withheld = [doc_id for doc_id in group if not data.documents[doc_id].share]
        released = [doc_id for doc_id in group if data.documents[doc_id].share]
        if withheld and released:
            raise UsageError(
                f"release: {released[0]} is a copy or a near-duplicate of {withheld[0]}, whose text may not be shared. "
                "Set share to false for both, or remove one of them"
            )


def _pseudonyms(data: Dataset, history: Sequence[StepRecord], secret: bytes) -> dict[str, str]:
    """Return the pseudonyms of all annotators, including accounts without an answer.

    Raises UsageError if two annotators would get the same pseudonym.
    """
    judges = {row.judge for name in data.judgment_sets for row in data.iter_judgments(name) if is_human(row.signature)}
    reviews = [origin.review for origins in data.fact_origins.values() for origin in origins]
    judges |= {review.decided_by for review in reviews if review is not None and review.decided_by is not None}
    for record in history:
        _with_accounts(record.settings, judges.add)
    names = {judge: pseudonym(judge, secret) for judge in sorted(judges) if judge != PEOPLE and not unnamed(judge)}
    if len(set(names.values())) < len(names):
        raise UsageError("release: two annotators have the same pseudonym with this secret. Use another secret")
    return names


def _check_columns(data: Dataset, names: Mapping[str, str]) -> None:
    """Raise UsageError if a column that no step wrote contains the name of an annotator."""
    records = (("document", DOCUMENT_COLUMNS, data.documents.values()), ("summary", SUMMARY_COLUMNS, data.summaries))
    for what, step_columns, rows in records:
        for field, value in ((field, value) for row in rows for field, value in row.extra.items()):
            if field not in step_columns and isinstance(value, str) and value in names:
                raise UsageError(
                    f"release: the {what} column {field!r} holds {value!r}, the name of an annotator. Remove the column"
                )


def _released_data(data: Dataset, splits: Mapping[str, str], names: Mapping[str, str]) -> Dataset:
    """Return the data with splits and pseudonyms, but without withheld texts and local folders."""
    summaries = []
    for summary in data.summaries:
        document, extra = data.documents[summary.document_id], summary.extra
        if isinstance(model := extra.get("model"), str):
            extra = {**extra, "model": _model_name(model)}
        if not document.share:
            extra = _allowed_columns(extra, SUMMARY_COLUMNS, document.text)
        summaries.append(summary.model_copy(update={"extra": extra}))
    return Dataset(
        {doc_id: _released_document(document, splits[doc_id]) for doc_id, document in data.documents.items()},
        summaries,
        {name: partial(_released_judgments, data, name, names) for name in data.judgment_sets},
        data.card,
        fact_origins={
            doc_id: tuple(_released_origin(origin, names) for origin in origins)
            for doc_id, origins in data.fact_origins.items()
        },
    )


def _released_origin(origin: FactOrigin, names: Mapping[str, str]) -> FactOrigin:
    votes = tuple(vote.model_copy(update={"model": vote.model and _model_name(vote.model)}) for vote in origin.votes)
    review = origin.review
    if review is not None and review.decided_by is not None:
        review = review.model_copy(update={"decided_by": names.get(review.decided_by, review.decided_by)})
    model = origin.model and _model_name(origin.model)
    return origin.model_copy(update={"model": model, "votes": votes, "review": review})


def _allowed_columns(extra: Mapping[str, Any], names: frozenset[str], text: str) -> dict[str, Any]:
    """Return the columns of a withheld document that do not contain or quote its text.

    Only columns in `names` are returned. A column is excluded if its value is longer than `LONGEST_COLUMN` characters,
    quotes at least `QUOTE` words, or is neither a string nor a number.
    """
    text = text.strip()

    def is_safe(value: Any) -> bool:
        if not isinstance(value, str):
            return isinstance(value, int | float)
        quoted = bool(text) and (text in value or (len(value.split()) >= QUOTE and value in text))
        return not quoted and len(value) <= LONGEST_COLUMN

    return {name: value for name, value in extra.items() if name in names and is_safe(value)}


def _released_document(document: Document, split_name: str) -> Document:
    if document.share:
        return document.model_copy(update={"split": split_name})
    columns = _allowed_columns(document.extra, DOCUMENT_COLUMNS, document.text)
    sha256 = hashlib.sha256(document.text.encode("utf-8")).hexdigest()
    withheld = ["text", "references", *(column for column in document.extra if column not in columns)]
    return Document(
        id=document.id,
        text="",
        key_facts=document.key_facts,
        domain=document.domain,
        split=split_name,
        share=False,
        extra={**columns, SHA256: sha256, WITHHELD: withheld},
    )


def _released_judgments(data: Dataset, name: str, names: Mapping[str, str]) -> Iterator[Judgment]:
    """Yield the judgments of a set with pseudonyms.

    The ids of calls and of prepared data are removed, because a release does not contain these.
    """
    for judgment in data.iter_judgments(name):
        judge = names.get(judgment.judge, judgment.judge) if is_human(judgment.signature) else judgment.judge
        model = None if judgment.model is None else _model_name(judgment.model)
        changes = {"judge": judge, "signature": _model_name(judgment.signature), "model": model}
        yield judgment.model_copy(update={**changes, "calls": (), "prepared": None})


_MODEL_PATH = re.compile(r"\b(scripted|local)//(?:[^/|\n]+/)*")


def _model_name(text: str) -> str:
    """Return the name of a model, or a signature with one, without local folders.

    >>> _model_name("judge:scripted//home/ana/models/judge.jsonl|t:0")
    'judge:scripted/judge.jsonl|t:0'
    """
    return _MODEL_PATH.sub(r"\1/", text)


def _released_record(record: StepRecord, names: Mapping[str, str]) -> StepRecord:
    """Return the record of a step with pseudonyms for accounts.

    Completion codes, hosts and local folders are removed.
    """
    settings = _with_accounts(record.settings, lambda account: names.get(account, account))
    return StepRecord.model_validate(_without_folders({**record.model_dump(), "settings": settings}))


def _with_accounts(settings: Any, change: Callable[[str], Any]) -> Any:
    """Apply `change` to account names in settings, which are in lists called `accounts`.

    The completion codes and hosts of campaigns are removed.
    """
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
    """Replace each absolute path in a JSON value by its last component."""
    if isinstance(value, str):
        return Path(value).name or value if value.startswith("/") and "\n" not in value else _model_name(value)
    if isinstance(value, Mapping):
        renamed: dict[str, Any] = {}
        for key, each in value.items():
            name = _without_folders(key)
            while name in renamed:  # another folder has the same name
                name += "'"
            renamed[name] = _without_folders(each)
        return renamed
    return [_without_folders(each) for each in value] if isinstance(value, Iterable) else value


STEP = Step("release", ReleaseSettings, _release)
