"""The step `redact`: personal data of documents, summaries, references and key facts become numbered placeholders.

One entity has one number in all texts of a document. Labels stay with what they are about: spans of evidence and
claims move with the text, lists of key facts get the id of their new texts, reasons are masked as well.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from pydantic import Field

from summeter.benchmark.pairs import summarize_copies
from summeter.benchmark.redaction.finding import CATEGORIES, PACKAGES, Category, Presidio, Recognizer, find
from summeter.benchmark.redaction.masking import (
    PLACEHOLDER,
    Collector,
    Entity,
    Masker,
    Writings,
    copy_id,
    occurrences,
    rewrite,
)
from summeter.benchmark.select import source_of
from summeter.benchmark.step import Inputs, Package, Place, Result, Step, StepSettings, WaitingError
from summeter.data.atomic import write_lines, write_text
from summeter.data.dataset import Dataset
from summeter.data.faults import Faults, meant
from summeter.data.formats import read_rows
from summeter.records import Record, UsageError
from summeter.tables import csv_line, not_inert
from summeter.text.english.dependency import MODEL

ENTITIES, LEAKS = "entities.csv", "leaks.jsonl"
COLUMNS = ("document_id", "category", "text", "decision", "same_as", "places", "context")
"""Of the file that a person goes through: `decision` is `mask` or `leave`; `same_as` another writing of the same."""
MASK, LEAVE = "mask", "leave"
_CONTEXT = 40


class RedactSettings(StepSettings):
    """What is masked, and how it is found."""

    recognizer: Literal["presidio", "patterns"] = Field(
        "presidio", description="Who finds names of places: Presidio (extra `build`), or patterns alone."
    )
    categories: tuple[Category, ...] = Field(CATEGORIES, description="What is redacted.")
    sources: tuple[str, ...] = Field((), description="Sources (or domains) that are redacted; none named: all.")
    review: Path | None = Field(None, description="A table that a person goes through; it is proposed if missing.")
    pairs: bool = Field(
        default=False, description="Keep the texts beside their redacted copies, which the same systems summarize."
    )

    def packages(self) -> Iterable[Package]:
        """What recognizes names."""
        if self.recognizer != "presidio":
            return []
        modules = ("presidio_analyzer", "spacy", MODEL)
        return [Package(module, "build", "or set recognizer to patterns") for module in modules]

    def files(self) -> Iterable[Path]:
        """The table of the person."""
        return [] if self.review is None else [self.review]


class Leak(NamedTuple):
    """What may still tell who or where: `kind` is number, name, mail, link, or entity (masked elsewhere)."""

    document_id: str
    where: str
    kind: str
    text: str


def redact(inputs: Inputs, settings: RedactSettings, place: Place) -> Result:
    """Mask personal data in every text of the documents that are to be redacted.

    With `pairs` the copies are summarized, and their summaries checked, as those of the originals were
    (`summarize_copies`).

    Raises UsageError where no document is, InputError for a faulty table, WaitingError where a person has not gone
    through it, InstallError without the extra `build`.
    """
    data = inputs.dataset
    wanted = set(settings.sources)
    collectors = {
        doc_id: Collector()
        for doc_id, document in data.documents.items()
        if not wanted or wanted & {source_of(document), document.domain}
    }
    if not collectors:
        known = sorted({source_of(document) for document in data.documents.values()})
        raise UsageError(f"no document is of {', '.join(settings.sources)}; sources are: {', '.join(known)}")
    rewrite(data, collectors)
    recognize = Presidio() if settings.recognizer == "presidio" else None
    decisions: Counter[str] = Counter()
    if settings.review is not None and settings.review.exists():
        entities = _reviewed(settings.review, collectors, decisions)
    else:
        entities = {doc_id: _found(texts, recognize, settings) for doc_id, texts in collectors.items()}
        proposal = "".join(f"{line}\n" for line in _proposal(data, collectors, entities))
        write_text(place.work / ENTITIES, proposal)
        if settings.review is not None:
            write_text(settings.review, proposal)
            raise _waiting(settings.review, "")
    maskers = {doc_id: Masker(entities[doc_id], texts.texts) for doc_id, texts in collectors.items()}
    redacted = rewrite(data, maskers, pairs=settings.pairs)
    new_ids = {copy_id(doc_id) if settings.pairs else doc_id: doc_id for doc_id in maskers}
    written = {new_id: entities[doc_id] for new_id, doc_id in new_ids.items()}
    leaks = list(_leaks(redacted, written, recognize))
    write_lines(place.out / LEAKS, (json.dumps(leak._asdict(), ensure_ascii=False) for leak in leaks))
    done = Result(redacted)
    if settings.pairs and any(summaries for document, summaries in data.items() if document.id in maskers):
        done = summarize_copies(redacted, list(new_ids), inputs.history, place)
    by_category = Counter(entity.category for each in entities.values() for entity in each)
    details = {
        "documents": len(maskers),
        "entities": {category: by_category[category] for category in CATEGORIES},
        "entities_per_text": round(by_category.total() / len(maskers), 2),
        "reviewed": None if settings.review is None else dict(sorted(decisions.items())),
        "leaks": dict(sorted(Counter(leak.kind for leak in leaks).items())),
    }
    packages = PACKAGES if recognize else ()
    return replace(done, counts={"redacted": len(maskers), **done.counts}, packages=packages, details=details)


def _found(collected: Collector, recognize: Recognizer | None, settings: RedactSettings) -> Writings:
    """The entities of all texts of a document; a writing is one entity, whatever it was found as first."""
    writings: Writings = {}
    by_writing: dict[str, Entity] = {}
    for text in collected.texts:
        for category, start, end in find(text, recognize):
            if category in settings.categories:
                written = text[start:end]
                entity = by_writing.setdefault(written.casefold(), Entity.of(category, written))
                writings.setdefault(entity, set()).add(written)
    return writings


# ---- what is left ----

_LEFT = {
    "mail": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "link": re.compile(r"(?:https?://|www\.)\S+"),
    "number": re.compile(r"(?<![\w<])#?\+?\d[\d\s().:/-]*\d(?!\w)|(?<!\w)\d(?!\w)"),
}


def _leaks(data: Dataset, written: Mapping[str, Writings], recognize: Recognizer | None) -> Iterator[Leak]:
    """What of redacted documents may still tell who or where: in their texts, and in names that stay as they are."""
    collected = {doc_id: Collector() for doc_id in written}
    rewrite(data, collected)
    records: dict[str, list[Record]] = {doc_id: [data.documents[doc_id]] for doc_id in written}
    for document, summaries in data.items():
        if document.id in records:
            records[document.id] += [*summaries, *data.fact_origins.get(document.id, ())]
    for name in data.judgment_sets:
        for judgment in data.iter_judgments(name):
            if judgment.target.document_id in records:
                records[judgment.target.document_id].append(judgment)
    for doc_id, entities in written.items():
        texts = collected[doc_id].texts
        for text, where in texts.items():
            for kind, left in left_over(text, recognize, entities):
                yield Leak(doc_id, where, kind, left)
        for number, where in collected[doc_id].numbers.items():
            yield Leak(doc_id, where, "number", str(number))
        names: dict[str, str] = {}
        for record in records[doc_id]:
            for where, name in _names(record.model_dump(mode="json"), ""):
                names.setdefault(name, where)
        codes = [
            entity.key for entity in entities if entity.category in ("PHONENUMBER", "CODE") and len(entity.key) > 4
        ]
        for name, where in names.items():
            bare = re.sub(r"[^a-z0-9]", "", name.casefold())
            if name not in texts and (any(key in bare for key in codes) or occurrences(name, entities)):
                yield Leak(doc_id, where, "entity", name)


def _names(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """(field, text) of every text within a record, and of every name of a column."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield f"name in {where}", name
            yield from _names(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _names(each, where)


def left_over(text: str, recognize: Recognizer | None, entities: Writings) -> Iterator[tuple[str, str]]:
    """(kind, text) of mails, links, numbers and names that a redacted text still holds, and of the writings of its
    entities that stand in it, in whatever case."""
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    finds = [(kind, *match.span()) for kind, pattern in _LEFT.items() for match in pattern.finditer(text)]
    names = [] if recognize is None else recognize(text)
    finds += [("name", name.start, name.end) for name in names if name.kind != "PHONE_NUMBER"]
    for kind, start, end in finds:
        if not any(start < last and end > first for first, last in taken):
            taken.append((start, end))
            yield kind, text[start:end]
    for each in sorted({written.casefold() for writings in entities.values() for written in writings}):
        if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text.casefold()):
            yield "entity", each


# ---- a person's table ----


def _proposal(data: Dataset, collectors: Mapping[str, Collector], entities: Mapping[str, Writings]) -> Iterator[str]:
    """The lines of the table for a person, one a writing; a document without entities has a line as well."""
    yield csv_line(COLUMNS)
    for doc_id, writings in entities.items():
        for entity, texts in writings.items():
            first, *others = sorted(texts, key=lambda text: (-len(text), text))
            for written in (first, *others):
                places = [
                    f"{where}: {' '.join(text[max(0, placed.start - _CONTEXT) : placed.end + _CONTEXT].split())}"
                    for text, where in collectors[doc_id].texts.items()
                    for placed in occurrences(text, {entity: {written}})
                ]
                same = first if written != first else ""
                context = places[0] if places else ""
                yield csv_line([doc_id, entity.category, written, "", same, len(places), context])
        if not writings:
            start = " ".join(data.documents[doc_id].text[: 2 * _CONTEXT].split())
            yield csv_line([doc_id, "", "", "", "", 0, f"(nothing was found) {start}"])


def _reviewed(path: Path, collectors: Mapping[str, Collector], decisions: Counter[str]) -> dict[str, Writings]:
    """The entities that a person decided to mask. Raises InputError with every fault of the table by line."""
    faults = Faults(str(path))
    rows = list(read_rows(path, faults, "csv"))
    faults.stop()
    entities: dict[str, Writings] = {doc_id: {} for doc_id in collectors}
    seen: set[str] = set()
    undecided = 0
    for line, cells in rows:
        if missing := [name for name in COLUMNS[:4] if name not in cells]:
            faults.fail(None, missing[0], f"is missing; the columns are: {', '.join(COLUMNS)}")
            break
        row = {name: not_inert(str(cells.get(name) or "").strip()) for name in COLUMNS}
        doc_id, category, decision = row["document_id"], row["category"], row["decision"]
        if doc_id not in collectors:
            faults.fail(line, "document_id", f"is {doc_id!r}, which is not redacted here{meant(doc_id, collectors)}")
            continue
        seen.add(doc_id)
        if not decision:
            undecided += 1
        elif decision not in (MASK, LEAVE):
            faults.fail(line, "decision", f"is {decision!r}; give {MASK} or {LEAVE}")
        elif decision == MASK and category not in CATEGORIES:
            faults.fail(line, "category", f"is {category!r}; give one of {', '.join(CATEGORIES)}")
        elif decision == MASK and not row["text"]:
            faults.fail(line, "text", "is empty; give what is to be masked, or decide leave")
        else:
            decisions[decision] += 1
            if decision == MASK:
                entity = Entity.of(cast("Category", category), row["same_as"] or row["text"])
                own = [*collectors[doc_id].texts, *map(str, collectors[doc_id].numbers)]
                for name in ("text", "same_as"):
                    if row[name] and not any(occurrences(text, {entity: {row[name]}}) for text in own):
                        faults.fail(line, name, f"is {row[name]!r}, which stands in no text of {doc_id!r}")
                entities[doc_id].setdefault(entity, set()).add(row["text"])
    for doc_id in collectors.keys() - seen:
        faults.fail(
            None, "document_id", f"has no row for {doc_id!r}; give it one, or remove the file to have it proposed"
        )
    faults.stop()
    if undecided:
        raise _waiting(path, f" ({undecided} of {len(rows)} rows are undecided)")
    return entities


def _waiting(path: Path, more: str) -> WaitingError:
    return WaitingError(
        f"a person goes through {path}{more}: write {MASK} or {LEAVE} into `decision` of every row, add rows for what "
        "was missed, and give the same command again"
    )


STEP = Step("redact", RedactSettings, redact)
