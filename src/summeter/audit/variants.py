"""The dataset of an audit, with each sampled summary unchanged, with controls and with attacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from summeter.audit.attacks import Attack
from summeter.data.dataset import Dataset
from summeter.records import Document, Span, Summary, UsageError

CLEAN = "clean"
_SEPARATOR = "\n\n"


class Subject(NamedTuple):
    """A summary to attack, with its document and the rival with which pairwise judges compare it."""

    document: Document
    summary: Summary
    rival: Summary | None


def subjects(data: Dataset, sample: int, seed: int) -> list[Subject]:
    """Return up to `sample` non-empty summaries, drawn without replacement, in the order of the data.

    The rival is the next non-empty summary of the same document by another system, or None if there is none. Raises
    UsageError if the sample is below 1 or if no summary has text.
    """
    if sample < 1:
        raise UsageError(f"the sample must have at least 1 summary, not {sample}")
    candidates = [
        Subject(
            document,
            summary,
            next((rival for rival in (*summaries[at + 1 :], *summaries[:at]) if rival.text.strip()), None),
        )
        for document, summaries in data.items()
        for at, summary in enumerate(summaries)
        if summary.text.strip() and document.text.strip()
    ]
    if not candidates:
        raise UsageError("the data contain no summary with text, so there is nothing to audit")
    if len(candidates) <= sample:
        return candidates
    sample_numbers = np.random.default_rng(seed).choice(len(candidates), sample, replace=False)
    return [candidates[number] for number in sorted(sample_numbers.tolist())]


def variants(data: Dataset, sampled: Sequence[Subject], attacks: Sequence[Attack], *, rivals: bool) -> Dataset:
    """Return a dataset of all subjects in all variants, with the ids from `document_id`."""
    documents: dict[str, Document] = {}
    summaries: list[Summary] = []
    for number, subject in enumerate(sampled):
        versions = [(CLEAN, subject.document, subject.summary)]
        for attack in attacks:
            # The attack becomes the last sentence, so that the others keep their numbers.
            attacked = subject.summary if attack.place == "summary" else subject.document
            text = f"{attacked.text}{_SEPARATOR}{attack.disguised}"
            sentence = Span(of=attack.place, start=len(attacked.text) + len(_SEPARATOR), end=len(text))
            update = {"text": text, "sentences": (*attacked.sentences, sentence)}
            if attack.place == "summary":
                versions.append((attack.name, subject.document, subject.summary.model_copy(update=update)))
            else:
                versions.append((attack.name, subject.document.model_copy(update=update), subject.summary))
        for name, document, summary in versions:
            key = document_id(number, name)
            documents[key] = document.model_copy(update={"id": key})
            summaries.append(summary.model_copy(update={"document_id": key}))
            if rivals and subject.rival is not None:
                summaries.append(subject.rival.model_copy(update={"document_id": key}))
    return Dataset(documents, summaries, {}, data.card.model_copy(update={"name": f"{data.card.name}-injection"}))


def document_id(number: int, variant: str) -> str:
    """Return the document id of subject `number` in one variant.

    >>> document_id(3, "summary-plea")
    'subject-0003/summary-plea'
    """
    return f"subject-{number:04d}/{variant}"
