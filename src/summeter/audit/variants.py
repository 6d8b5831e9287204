"""The dataset of an audit: each chosen summary as it is, with each control, and with each attack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from summeter.audit.attacks import Attack
from summeter.data.dataset import Dataset
from summeter.records import Document, Span, Summary, UsageError

CLEAN = "clean"
_JOINT = "\n\n"


class Subject(NamedTuple):
    """A summary that is attacked, with its document, and the rival it is compared with by judges of pairs."""

    document: Document
    summary: Summary
    rival: Summary | None


def subjects(data: Dataset, sample: int, seed: int) -> list[Subject]:
    """Up to `sample` summaries with text, drawn without replacement, in the order of the data.

    The rival is the document's next summary by another system, where there is one.
    """
    candidates = [
        Subject(document, summary, _rival(summary, summaries))
        for document, summaries in data.items()
        for summary in summaries
        if summary.text.strip() and document.text.strip()
    ]
    if not candidates:
        raise UsageError("the data hold no summary with text: there is nothing to attack")
    if len(candidates) <= sample:
        return candidates
    sample_numbers = np.random.default_rng(seed).choice(len(candidates), sample, replace=False)
    return [candidates[number] for number in sorted(sample_numbers.tolist())]


def _rival(summary: Summary, summaries: Sequence[Summary]) -> Summary | None:
    after = summaries.index(summary) + 1
    others = (*summaries[after:], *summaries[: after - 1])
    return next((other for other in others if other.text.strip()), None)


def variants(data: Dataset, chosen: Sequence[Subject], attacks: Sequence[Attack], *, rivals: bool) -> Dataset:
    """Every subject in every variant, each under a document id of its own (see `document_id`)."""
    documents: dict[str, Document] = {}
    summaries: list[Summary] = []
    for number, subject in enumerate(chosen):
        for name, document, summary in _of(subject, attacks):
            key = document_id(number, name)
            documents[key] = document.model_copy(update={"id": key})
            summaries.append(summary.model_copy(update={"document_id": key}))
            if rivals and subject.rival is not None:
                summaries.append(subject.rival.model_copy(update={"document_id": key}))
    return Dataset(documents, summaries, {}, data.card.model_copy(update={"name": f"{data.card.name}-injection"}))


def document_id(number: int, variant: str) -> str:
    """The id under which subject `number` stands in one variant.

    >>> document_id(3, "summary-plea")
    'subject-0003/summary-plea'
    """
    return f"subject-{number:04d}/{variant}"


def _of(subject: Subject, attacks: Sequence[Attack]) -> Iterator[tuple[str, Document, Summary]]:
    yield CLEAN, subject.document, subject.summary
    for attack in attacks:
        text = attack.disguised
        if attack.place == "summary":
            yield attack.name, subject.document, _longer_summary(subject.summary, text)
        else:
            yield attack.name, _longer_document(subject.document, text), subject.summary


def _longer_summary(summary: Summary, text: str) -> Summary:
    """The summary with the text as its last sentence: those before keep their numbers."""
    start = len(summary.text) + len(_JOINT)
    sentence = Span(of="summary", start=start, end=start + len(text))
    return summary.model_copy(
        update={"text": f"{summary.text}{_JOINT}{text}", "sentences": (*summary.sentences, sentence)}
    )


def _longer_document(document: Document, text: str) -> Document:
    start = len(document.text) + len(_JOINT)
    sentence = Span(of="document", start=start, end=start + len(text))
    return document.model_copy(
        update={"text": f"{document.text}{_JOINT}{text}", "sentences": (*document.sentences, sentence)}
    )
