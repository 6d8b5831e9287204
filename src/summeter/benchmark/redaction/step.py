"""The step `redact`: replace personal data by numbered placeholders.

Documents, summaries, references and key facts are redacted. An entity has the same number in all texts of a document.
Columns that no step wrote are left out, because they may identify a document (a title, an address).
Judgments stay valid: spans of evidence and claims are adjusted, lists of key facts get the id of the new texts, and
reasons are masked too.
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
    Entity,
    Spellings,
    copy_id,
    masker,
    occurrences,
    rewrite,
    texts_of,
)
from summeter.benchmark.select import source_of
from summeter.benchmark.step import (
    DOCUMENT_COLUMNS,
    SUMMARY_COLUMNS,
    Inputs,
    Package,
    Result,
    Step,
    StepContext,
    StepSettings,
    WaitingError,
)
from summeter.data.atomic import write_lines, write_text
from summeter.data.dataset import Dataset
from summeter.data.faults import Faults
from summeter.data.formats import read_rows
from summeter.records import Record, UsageError, nearest
from summeter.tables import csv_line, not_inert
from summeter.text.english import MODEL

ENTITIES, LEAKS = "entities.csv", "leaks.jsonl"
COLUMNS = ("document_id", "category", "text", "decision", "same_as", "places", "context")
"""Columns of the review table; `decision` is `mask` or `leave`, and `same_as` another spelling of the same entity."""
MASK, LEAVE = "mask", "leave"
_CONTEXT = 40


class RedactSettings(StepSettings):
    """Replace personal data by placeholders."""

    recognizer: Literal["presidio", "patterns"] = Field(
        "presidio", description="Recognizer of names of places: Presidio (extra `build`), or patterns only."
    )
    categories: tuple[Category, ...] = Field(CATEGORIES, description="Categories of personal data to redact.")
    sources: tuple[str, ...] = Field((), description="Sources (or domains) to redact; default: all.")
    review: Path | None = Field(
        None, description="Table in which a reviewer decides what is masked; if it is missing, the step proposes one."
    )
    pairs: bool = Field(
        default=False, description="Keep the original texts and add redacted copies, summarized by the same systems."
    )

    def packages(self) -> Iterable[Package]:
        """Return the packages that recognize names."""
        if self.recognizer != "presidio":
            return []
        modules = ("presidio_analyzer", "spacy", MODEL)
        return [Package(module, "build", "or set recognizer to patterns") for module in modules]

    def files(self) -> Iterable[Path]:
        """Return the review table."""
        return [] if self.review is None else [self.review]


class Leak(NamedTuple):
    """Possible personal data in a redacted text.

    `kind` is `number`, `name`, `mail`, `link`, or `entity` (one that is masked elsewhere).
    """

    document_id: str
    where: str
    kind: str
    text: str


def redact(inputs: Inputs, settings: RedactSettings, context: StepContext) -> Result:
    """Mask personal data in every text of the selected documents.

    With `pairs`, redacted copies are added, and they are summarized and judged in the same way as the originals (see
    `summarize_copies`). Raises UsageError if no document is selected, InputError if the review table is invalid,
    WaitingError if the review is not finished, and InstallError if the extra `build` is needed but not installed.
    """
    data = inputs.dataset
    sources = set(settings.sources)
    selected = [
        doc_id
        for doc_id, document in data.documents.items()
        if not sources or sources & {source_of(document), document.domain}
    ]
    if not selected:
        known = sorted({source_of(document) for document in data.documents.values()})
        raise UsageError(f"no document is from {', '.join(settings.sources)}. Sources are: {', '.join(known)}")
    texts = texts_of(data, selected)
    recognize = Presidio() if settings.recognizer == "presidio" else None
    decisions: Counter[str] = Counter()
    if settings.review is not None and settings.review.exists():
        entities = _read_review(settings.review, texts, decisions)
    else:
        entities = {doc_id: _find_entities(each, recognize, settings) for doc_id, each in texts.items()}
        proposal = "".join(f"{line}\n" for line in _proposal(data, texts, entities))
        write_text(context.work / ENTITIES, proposal)
        if settings.review is not None:
            write_text(settings.review, proposal)
            raise _waiting(settings.review, "")
    maskers = {doc_id: masker(entities[doc_id], each) for doc_id, each in texts.items()}
    redacted = rewrite(data, maskers, pairs=settings.pairs)
    new_ids = {copy_id(doc_id) if settings.pairs else doc_id: doc_id for doc_id in maskers}
    masked_entities = {new_id: entities[doc_id] for new_id, doc_id in new_ids.items()}
    leaks = list(_find_leaks(redacted, masked_entities, recognize))
    write_lines(context.out / LEAKS, (json.dumps(leak._asdict(), ensure_ascii=False) for leak in leaks))
    result = Result(redacted)
    if settings.pairs and any(summaries for document, summaries in data.items() if document.id in maskers):
        result = summarize_copies(redacted, list(new_ids), inputs.history, context)
    by_category = Counter(entity.category for each in entities.values() for entity in each)
    columns: set[str] = set()  # columns that no step wrote, which are left out
    for document, summaries in data.items():
        if document.id in maskers:
            columns |= document.extra.keys() - DOCUMENT_COLUMNS
            columns |= {name for summary in summaries for name in summary.extra.keys() - SUMMARY_COLUMNS}
    details = {
        "documents": len(maskers),
        "entities": {category: by_category[category] for category in CATEGORIES},
        "entities_per_text": round(by_category.total() / len(maskers), 2),
        "reviewed": None if settings.review is None else dict(sorted(decisions.items())),
        "leaks": dict(sorted(Counter(leak.kind for leak in leaks).items())),
        "columns_left_out": sorted(columns),
    }
    packages = PACKAGES if recognize else ()
    return replace(result, counts={"redacted": len(maskers), **result.counts}, packages=packages, details=details)


def _find_entities(texts: Iterable[str], recognize: Recognizer | None, settings: RedactSettings) -> Spellings:
    """Return the entities in all texts of a document.

    The category of a spelling is that of its first match.
    """
    spellings: Spellings = {}
    by_spelling: dict[str, Entity] = {}
    for text in texts:
        for category, start, end in find(text, recognize):
            if category in settings.categories:
                spelling = text[start:end]
                entity = by_spelling.setdefault(spelling.casefold(), Entity.of(category, spelling))
                spellings.setdefault(entity, set()).add(spelling)
    return spellings


# ---- leaks ----

_LEAKS = {
    "mail": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "link": re.compile(r"(?:https?://|www\.)\S+"),
    "number": re.compile(r"(?<![\w<])#?\+?\d[\d\s().:/-]*\d(?!\w)|(?<!\w)\d(?!\w)"),
}


def _find_leaks(data: Dataset, masked: Mapping[str, Spellings], recognize: Recognizer | None) -> Iterator[Leak]:
    """Yield possible personal data in redacted documents, and in names, which are not redacted."""
    texts_in = texts_of(data, masked)
    records: dict[str, list[Record]] = {doc_id: [data.documents[doc_id]] for doc_id in masked}
    for document, summaries in data.items():
        if document.id in records:
            records[document.id] += [*summaries, *data.fact_origins.get(document.id, ())]
    for name in data.judgment_sets:
        for judgment in data.iter_judgments(name):
            if judgment.target.document_id in records:
                records[judgment.target.document_id].append(judgment)
    for doc_id, entities in masked.items():
        texts = texts_in[doc_id]
        for text, where in texts.items():
            for kind, leak in remaining_data(text, recognize, entities):
                yield Leak(doc_id, where, kind, leak)
        names: dict[str, str] = {}
        for record in records[doc_id]:
            for where, name in _all_texts(record.model_dump(mode="json"), ""):
                names.setdefault(name, where)
        codes = [
            entity.key for entity in entities if entity.category in ("PHONENUMBER", "CODE") and len(entity.key) > 4
        ]
        for name, where in names.items():
            bare = re.sub(r"[^a-z0-9]", "", name.casefold())
            if name not in texts and (any(key in bare for key in codes) or occurrences(name, entities)):
                yield Leak(doc_id, where, "entity", name)


def _all_texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for every string in a record and every column name."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield f"name in {where}", name
            yield from _all_texts(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _all_texts(each, where)


def remaining_data(text: str, recognize: Recognizer | None, entities: Spellings) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) for each mail, link, number, name and masked entity in a text."""
    covered = [match.span() for match in PLACEHOLDER.finditer(text)]
    matches = [(kind, *match.span()) for kind, pattern in _LEAKS.items() for match in pattern.finditer(text)]
    names = [] if recognize is None else recognize(text)
    matches += [("name", name.start, name.end) for name in names if name.label != "PHONE_NUMBER"]
    for kind, start, end in matches:
        if not any(start < last and end > first for first, last in covered):
            covered.append((start, end))
            yield kind, text[start:end]
    for each in sorted({spelling.casefold() for spellings in entities.values() for spelling in spellings}):
        if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text.casefold()):
            yield "entity", each


# ---- the review table ----


def _proposal(
    data: Dataset, texts_in: Mapping[str, Mapping[str, str]], entities: Mapping[str, Spellings]
) -> Iterator[str]:
    """Yield the lines of a new review table.

    There is one line per spelling, and one for each document without entities.
    """
    yield csv_line(COLUMNS)
    for doc_id, spellings in entities.items():
        for entity, texts in spellings.items():
            first, *others = sorted(texts, key=lambda text: (-len(text), text))
            for spelling in (first, *others):
                contexts = [
                    f"{where}: {' '.join(text[max(0, match.start - _CONTEXT) : match.end + _CONTEXT].split())}"
                    for text, where in texts_in[doc_id].items()
                    for match in occurrences(text, {entity: {spelling}})
                ]
                same_as = first if spelling != first else ""
                context = contexts[0] if contexts else ""
                yield csv_line([doc_id, entity.category, spelling, "", same_as, len(contexts), context])
        if not spellings:
            start = " ".join(data.documents[doc_id].text[: 2 * _CONTEXT].split())
            yield csv_line([doc_id, "", "", "", "", 0, f"(nothing was found) {start}"])


def _read_review(
    path: Path, texts_in: Mapping[str, Mapping[str, str]], decisions: Counter[str]
) -> dict[str, Spellings]:
    """Return the entities that the reviewer decided to mask.

    Raises InputError with all faults of the table, by line.
    """
    faults = Faults(str(path))
    rows = list(read_rows(path, faults, "csv"))
    faults.stop()
    entities: dict[str, Spellings] = {doc_id: {} for doc_id in texts_in}
    seen: set[str] = set()
    undecided = 0
    for _, line, cells, _ in rows:
        if missing := [name for name in COLUMNS[:4] if name not in cells]:
            faults.fail(None, missing[0], f"is missing. The columns are: {', '.join(COLUMNS)}")
            break
        row = {name: not_inert(str(cells.get(name) or "").strip()) for name in COLUMNS}
        doc_id, category, decision = row["document_id"], row["category"], row["decision"]
        if doc_id not in texts_in:
            faults.fail(
                line, "document_id", f"is {doc_id!r}, which this step does not redact{nearest(doc_id, texts_in)}"
            )
            continue
        seen.add(doc_id)
        if not decision:
            undecided += 1
        elif decision not in (MASK, LEAVE):
            faults.fail(line, "decision", f"is {decision!r}. Give {MASK} or {LEAVE}")
        elif decision == MASK and category not in CATEGORIES:
            faults.fail(line, "category", f"is {category!r}. Give one of {', '.join(CATEGORIES)}")
        elif decision == MASK and not row["text"]:
            faults.fail(line, "text", f"is empty. Give the text to mask, or set decision to {LEAVE}")
        else:
            decisions[decision] += 1
            if decision == MASK:
                entity = Entity.of(cast("Category", category), row["same_as"] or row["text"])
                for name in ("text", "same_as"):
                    texts = texts_in[doc_id]
                    if row[name] and not any(occurrences(text, {entity: {row[name]}}) for text in texts):
                        faults.fail(line, name, f"is {row[name]!r}, which occurs in no text of {doc_id!r}")
                entities[doc_id].setdefault(entity, set()).add(row["text"])
    for doc_id in texts_in.keys() - seen:
        faults.fail(
            None, "document_id", f"has no row for {doc_id!r}. Add one, or remove the file to get a new proposal"
        )
    faults.stop()
    if undecided:
        raise _waiting(path, f" ({undecided} of {len(rows)} rows are undecided)")
    return entities


def _waiting(path: Path, more: str) -> WaitingError:
    return WaitingError(
        f"redact waits for a review of {path}{more}. Write {MASK} or {LEAVE} into `decision` of every row, add rows "
        "for personal data that were missed, and run the same command again"
    )


STEP = Step("redact", RedactSettings, redact)
