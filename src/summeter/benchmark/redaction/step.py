"""`bench redact`: personal data of documents, summaries, references and key facts become numbered placeholders.

One entity has one number in all texts of a document. Labels stay with what they are about: spans of evidence and
claims move with the text, lists of key facts get the id of their new texts, reasons are masked as well.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard, cast

from pydantic import Field

from summeter.benchmark.pairs import summarize_copies
from summeter.benchmark.redaction.finding import PACKAGES, Finder, Presidio
from summeter.benchmark.redaction.masking import (
    PLACEHOLDER,
    Entity,
    Masked,
    entities,
    highest_numbers,
    joined,
    key_of,
    mask,
    names_entity,
    number_of,
    numbered,
    occurrences,
    placeholder,
)
from summeter.benchmark.redaction.patterns import CATEGORIES, Category
from summeter.benchmark.select import source_of
from summeter.benchmark.step import (
    DOCUMENT_COLUMNS,
    SUMMARY_COLUMNS,
    Inputs,
    Package,
    Place,
    Result,
    Step,
    StepSettings,
    WaitingError,
)
from summeter.data.atomic import write_lines, write_text
from summeter.data.dataset import Dataset
from summeter.data.faults import Faults, meant
from summeter.data.formats import read_rows
from summeter.data.human_judgments import list_id_of
from summeter.records import Document, FactOrigin, Judgment, Span, Summary, UsageError
from summeter.tables import csv_line, not_inert
from summeter.text.english.dependency import MODEL

Writings = dict[Entity, set[str]]
"""The entities of a document, in the order of their numbers, each in all its writings."""

ENTITIES, LEAKS = "entities.csv", "leaks.jsonl"
COLUMNS = ("document_id", "category", "text", "decision", "same_as", "places", "context")
"""Of the file that a person goes through: `decision` is `mask` or `leave`; `same_as` another writing of the same."""
MASK, LEAVE = "mask", "leave"
_CONTEXT = 40


class RedactSettings(StepSettings):
    """Settings of `bench redact`."""

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


class _Texts(NamedTuple):
    """A document with its summaries, and (where, text) of what else is said about them."""

    document: Document
    summaries: Sequence[Summary]
    more: Sequence[tuple[str, str]]
    names: Sequence[tuple[str, str]]
    """(where, name) of what is not masked, as other records name it or share it."""

    def every(self) -> Iterator[tuple[str, str]]:
        """(where, text) of all texts in which entities are looked for."""
        yield "document", self.document.text
        for index, text in enumerate(self.document.references):
            yield f"reference {index + 1}", text
        for index, text in enumerate(self.document.key_facts):
            yield f"key fact {index + 1}", text
        for summary in self.summaries:
            yield f"summary by {summary.system}", summary.text
        yield from self.more

    def numbers(self) -> Iterator[tuple[str, int | float]]:
        """(where, number) of each number in the further columns, once."""
        where_of: dict[int | float, str] = {}
        for where, _, value in _columns(self.document, self.summaries):
            where_of |= dict.fromkeys(filter(_is_number, _leaves(value)), where)
        yield from ((where, number) for number, where in where_of.items())


def redact(inputs: Inputs, settings: RedactSettings, place: Place) -> Result:
    """Mask personal data in every text of the documents that are to be redacted.

    With `pairs` the copies are summarized, and their summaries checked, as those of the originals were
    (`summarize_copies`).

    Raises UsageError where no document is, InputError for a faulty table, WaitingError where a person has not gone
    through it, InstallError without the extra `build`.
    """
    data = inputs.dataset
    chosen = {document.id: summaries for document, summaries in data.items() if _wanted(document, settings)}
    more = _more_texts(data, chosen)
    names = _names(data, chosen)
    groups = [
        _Texts(data.documents[doc_id], summaries, more[doc_id], names[doc_id]) for doc_id, summaries in chosen.items()
    ]
    if not groups:
        known = sorted({source_of(document) for document in data.documents.values()})
        raise UsageError(f"no document is of {', '.join(settings.sources)}; sources are: {', '.join(known)}")
    finder = Finder(Presidio() if settings.recognizer == "presidio" else None)
    decisions: Counter[str] = Counter()
    if settings.review is not None and settings.review.exists():
        known_entities = _reviewed(settings.review, groups, decisions)
    else:
        known_entities = {group.document.id: _found(group, finder, settings.categories) for group in groups}
        write_text(place.work / ENTITIES, _proposal(groups, known_entities))
        if settings.review is not None:
            write_text(settings.review, _proposal(groups, known_entities))
            raise _waiting(settings.review, "")
    redacted = _Redacted(groups, known_entities)
    done = Result(redacted.dataset(data, pairs=settings.pairs))
    if settings.pairs:
        groups = [group._replace(summaries=()) for group in groups]  # of their copies none is redacted
        if any(chosen.values()):
            copies = [_copy_id(group.document) for group in groups]
            done = summarize_copies(done.data or data, copies, inputs.history, place)
    leaks = [leak for group in groups for leak in redacted.leaks(group, finder)]
    write_lines(place.out / LEAKS, (json.dumps(leak._asdict(), ensure_ascii=False) for leak in leaks))
    by_category = Counter(entity.category for each in known_entities.values() for entity in each)
    details = {
        "documents": len(groups),
        "entities": {category: by_category[category] for category in CATEGORIES},
        "entities_per_text": round(by_category.total() / len(groups), 2),
        "reviewed": None if settings.review is None else dict(sorted(decisions.items())),
        "leaks": dict(sorted(Counter(leak.kind for leak in leaks).items())),
    }
    packages = PACKAGES if settings.recognizer == "presidio" else ()
    counts = {"redacted": len(groups), **done.counts}
    return replace(done, counts=counts, packages=packages, details=details)


def _copy_id(document: Document) -> str:
    """The id of a document's redacted copy."""
    return f"{document.id}#redacted"


def _wanted(document: Document, settings: RedactSettings) -> bool:
    return not settings.sources or bool({source_of(document), document.domain} & set(settings.sources))


def _more_texts(data: Dataset, chosen: Mapping[str, Sequence[Summary]]) -> dict[str, list[tuple[str, str]]]:
    """What else is said of each chosen document: further columns, the making of its key facts, reasons and claims."""
    more: dict[str, dict[str, str]] = {}
    for doc_id, summaries in chosen.items():
        texts = more.setdefault(doc_id, {})
        for where, _, value in _columns(data.documents[doc_id], summaries):
            texts |= dict.fromkeys(_strings(value), where)
        for origin in data.fact_origins.get(doc_id, ()):
            texts |= dict.fromkeys(_fact_texts(origin), "making of a key fact")
    for name in data.judgment_sets:
        for judgment in data.iter_judgments(name):
            if judgment.target.document_id in more:
                said = [judgment.reason, None if judgment.claim is None else judgment.claim.text]
                more[judgment.target.document_id] |= dict.fromkeys(filter(None, said), f"judgment of {name}")
    return {doc_id: [(where, text) for text, where in texts.items()] for doc_id, texts in more.items()}


def _names(data: Dataset, chosen: Mapping[str, Sequence[Summary]]) -> dict[str, list[tuple[str, str]]]:
    """(where, name) of ids, columns, systems, aspects, labels and annotators of each chosen document, each once."""
    names: dict[str, dict[tuple[str, str], None]] = {}
    for doc_id, summaries in chosen.items():
        document = data.documents[doc_id]
        columns = [(f"name of a {where}", name) for where, name, _ in _columns(document, summaries)]
        systems = [("system", summary.system) for summary in summaries]
        groups = [("category", summary.category) for summary in summaries]
        own = [("id", doc_id), ("domain", document.domain), ("split", document.split), *columns, *systems, *groups]
        for origin in data.fact_origins.get(doc_id, ()):
            review = origin.review
            own += [("annotator", review.decided_by), *(("criterion", name) for name in review.lacks)] if review else []
        names[doc_id] = {(where, name): None for where, name in own if name is not None}
    for name in data.judgment_sets:
        for row in data.iter_judgments(name):
            if row.target.document_id in names:
                own = [("aspect", row.aspect), ("annotator", row.judge), ("error type", row.error_type)]
                own.append(("label", row.label if isinstance(row.label, str) else None))
                names[row.target.document_id] |= {(where, each): None for where, each in own if each is not None}
    return {doc_id: list(each) for doc_id, each in names.items()}


def _columns(document: Document, summaries: Sequence[Summary]) -> Iterator[tuple[str, str, Any]]:
    """(where, name, value) of each further column of a document and its summaries."""
    yield from (("column", name, value) for name, value in document.extra.items() if name not in DOCUMENT_COLUMNS)
    for summary in summaries:
        own = ((name, value) for name, value in summary.extra.items() if name not in SUMMARY_COLUMNS)
        yield from ((f"column of {summary.system}", name, value) for name, value in own)


def _fact_texts(origin: FactOrigin) -> Iterator[str]:
    """What was said while a key fact was made."""
    yield origin.proposed
    yield from filter(None, (vote.reason for vote in origin.votes))
    if origin.review is not None:
        yield from origin.review.why


def _leaves(value: Any) -> Iterator[Any]:
    """What stands within any value, and the names in its mappings as texts."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from _leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _strings(value: Any) -> Iterator[str]:
    """The texts within any value, names in mappings among them."""
    return (leaf for leaf in _leaves(value) if isinstance(leaf, str))


def _is_number(value: Any) -> TypeGuard[int | float]:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _found(group: _Texts, finder: Finder, categories: Sequence[Category]) -> Writings:
    """The entities of all texts of a document; a writing is one entity, whatever it was found as first."""
    writings: Writings = {}
    by_writing: dict[str, Entity] = {}
    for _, text in group.every():
        found = [each for each in finder.find(text) if each.category in categories]
        for entity, texts in entities(text, found).items():
            for written in sorted(texts):
                known = by_writing.setdefault(written.casefold(), entity)
                writings.setdefault(known, set()).add(written)
    together = joined(writings)
    for _, text in group.every():  # a column that is nothing but a number, as a text
        if _DIGITS.fullmatch(text) and (known_as := number_of(int(text), together)):
            together[known_as].add(text.strip())
    return together


_DIGITS = re.compile(r"\s*[0-9]{1,15}\s*")


def _in_order(group: _Texts, writings: Writings) -> Writings:
    """The entities in the order in which a reader meets them: that of their numbers."""
    met = dict.fromkeys(placed.entity for _, text in group.every() for placed in occurrences(text, writings))
    return {entity: writings[entity] for entity in (*met, *(each for each in writings if each not in met))}


class _Redacted:
    """Masks the texts of a dataset by the entities of each document."""

    def __init__(self, groups: Sequence[_Texts], known: Mapping[str, Writings]) -> None:
        self._writings = {group.document.id: _in_order(group, known[group.document.id]) for group in groups}
        self._numbers: dict[str, dict[Entity, int]] = {}
        for group in groups:
            taken = highest_numbers(text for _, text in group.every())
            self._numbers[group.document.id] = numbered(self._writings[group.document.id], taken)

    def mask(self, doc_id: str, text: str) -> Masked:
        """A text of a document, or about it."""
        writings = self._writings[doc_id]
        return mask(text, occurrences(text, writings), self._numbers[doc_id])

    def dataset(self, data: Dataset, *, pairs: bool) -> Dataset:
        """The dataset with its texts masked and its judgments moved; with `pairs`, copies without summaries beside what
        was there."""
        documents: dict[str, Document] = {}
        summaries: list[Summary] = []
        masked: dict[tuple[str, str], Masked] = {}
        for document, own in data.items():
            if document.id not in self._writings:
                documents[document.id] = document
                summaries += own
                continue
            if pairs:
                documents[document.id] = _marked(document, "unredacted")
                summaries += own
            copy_id = _copy_id(document) if pairs else document.id
            masked[document.id, ""] = self.mask(document.id, document.text)
            documents[copy_id] = self._document(document, masked[document.id, ""], copy_id)
            for summary in () if pairs else own:
                masked[document.id, summary.system] = self.mask(document.id, summary.text)
                summaries.append(self._summary(summary, masked[document.id, summary.system]))
        origins = dict(data.fact_origins)
        for doc_id in data.fact_origins.keys() & self._writings.keys():
            copy_id = _copy_id(data.documents[doc_id]) if pairs else doc_id
            origins[copy_id] = tuple(self._origin(doc_id, origin) for origin in data.fact_origins[doc_id])
        fresh = Dataset(documents, summaries, {}, data.card, fact_origins=origins)
        for name in data.judgment_sets:
            moved = (
                judgment
                if pairs or judgment.target.document_id not in self._writings
                else self._judgment(judgment, data.documents[judgment.target.document_id], masked)
                for judgment in data.iter_judgments(name)
            )
            fresh = fresh.with_judgments(name, moved)
        return fresh

    def _document(self, document: Document, text: Masked, copy_id: str) -> Document:
        known = {
            name: value if name in DOCUMENT_COLUMNS else self._anywhere(document.id, value)
            for name, value in document.extra.items()
        }
        if copy_id != document.id:
            known["original"] = document.id
        return _marked(
            Document(
                id=copy_id,
                text=text.text,
                sentences=_moved_all(document.sentences, text),
                references=tuple(self.mask(document.id, each).text for each in document.references),
                key_facts=tuple(self.mask(document.id, each).text for each in document.key_facts),
                domain=document.domain,
                split=document.split,
                share=document.share,
                extra=known,
            ),
            "redacted",
        )

    def _summary(self, summary: Summary, text: Masked) -> Summary:
        return Summary(
            document_id=summary.document_id,
            system=summary.system,
            text=text.text,
            sentences=_moved_all(summary.sentences, text),
            splitter=summary.splitter,
            category=summary.category,
            extra={
                name: value if name in SUMMARY_COLUMNS else self._anywhere(summary.document_id, value)
                for name, value in summary.extra.items()
            },
        )

    def _origin(self, doc_id: str, origin: FactOrigin) -> FactOrigin:
        def masked(text: str) -> str:
            return self.mask(doc_id, text).text

        votes = tuple(
            vote.model_copy(update={"reason": vote.reason and masked(vote.reason)}) for vote in origin.votes
        )  # fmt: skip
        review = origin.review and origin.review.model_copy(update={"why": tuple(map(masked, origin.review.why))})
        return origin.model_copy(update={"proposed": masked(origin.proposed), "votes": votes, "review": review})

    def _anywhere(self, doc_id: str, value: Any) -> Any:
        """Any value with the texts and names in it masked, and the numbers that are a masked entity."""
        if isinstance(value, str):
            return self.mask(doc_id, value).text
        if isinstance(value, Mapping):
            names = self._names(doc_id, value)
            return {names[name]: self._anywhere(doc_id, each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._anywhere(doc_id, each) for each in value]
        entity = number_of(value, self._writings[doc_id]) if _is_number(value) else None
        return value if entity is None else placeholder(entity, self._numbers[doc_id][entity])

    def _names(self, doc_id: str, value: Mapping[Any, Any]) -> dict[Any, str]:
        """Each name in a mapping, masked; two that become equal are kept apart: `<PHONENUMBER_1> (2)`."""
        masked = {name: self.mask(doc_id, str(name)).text for name in value}
        names = {name: text for name, text in masked.items() if text == name}
        taken = set(names.values())
        for name, text in masked.items():
            if name not in names:
                free = (text if count == 1 else f"{text} ({count})" for count in itertools.count(1))
                names[name] = next(each for each in free if each not in taken)
                taken.add(names[name])
        return names

    def _judgment(
        self, judgment: Judgment, document: Document, masked: Mapping[tuple[str, str], Masked]
    ) -> Judgment:  # fmt: skip
        target = judgment.target
        texts = {"document": masked[document.id, ""], "summary": masked[document.id, target.system]}

        def moved(span: Span) -> Span:
            start, end = texts[span.of].moved(span.start, span.end)
            return Span(of=span.of, start=start, end=end)

        changed: dict[str, Any] = {"evidence": tuple(map(moved, judgment.evidence))}
        if judgment.reason is not None:
            changed["reason"] = self.mask(document.id, judgment.reason).text
        if (claim := judgment.claim) is not None:
            text = self.mask(document.id, claim.text).text
            changed["claim"] = claim.model_copy(update={"text": text, "span": claim.span and moved(claim.span)})
        if target.list_id is not None and target.list_id == list_id_of(document.key_facts):
            facts = [self.mask(document.id, each).text for each in document.key_facts]
            changed["target"] = target.model_copy(update={"list_id": list_id_of(facts)})
        return judgment.model_copy(update=changed)

    def leaks(self, group: _Texts, finder: Finder) -> Iterator[Leak]:
        """What of a document may still tell who or where."""
        doc_id = group.document.id
        written = {text.casefold() for texts in self._writings[doc_id].values() for text in texts}
        for where, text in group.every():
            left = self.mask(doc_id, text).text
            for kind, each in left_over(left, finder, written):
                yield Leak(doc_id, where, kind, each)
        for where, number in group.numbers():
            if number_of(number, self._writings[doc_id]) is None:
                yield Leak(doc_id, where, "number", str(number))
        for where, name in group.names:
            if any(names_entity(name, entity) for entity in self._writings[doc_id]) or occurrences(
                name, self._writings[doc_id]
            ):
                yield Leak(doc_id, where, "entity", name)


def _moved_all(spans: Sequence[Span], text: Masked) -> tuple[Span, ...]:
    """Sentences in the new text. Where a placeholder stands across the end of one, it is the former's."""
    moved: list[Span] = []
    end = 0
    for span in spans:
        start, last = text.moved(span.start, span.end)
        start = max(start, end)
        end = max(start, last)
        moved.append(Span(of=span.of, start=start, end=end))
    return tuple(moved)


def _marked(document: Document, state: str) -> Document:
    return document.model_copy(update={"extra": {**document.extra, "redaction": state}})


# ---- what is left ----

_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_LINK = re.compile(r"(?:https?://|www\.)\S+")
_NUMBER = re.compile(r"(?<![\w<])#?\+?\d[\d\s().:/-]*\d(?!\w)|(?<!\w)\d(?!\w)")


def left_over(text: str, finder: Finder, written: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """(kind, text) of mails, links, numbers and names that a redacted text still holds, and of the `written` entities
    (in lower case) that stand in it, in whatever case."""
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]

    def free(start: int, end: int) -> bool:
        if any(start < last and end > first for first, last in taken):
            return False
        taken.append((start, end))
        return True

    for kind, pattern in (("mail", _MAIL), ("link", _LINK), ("number", _NUMBER)):
        for match in pattern.finditer(text):
            if free(*match.span()):
                yield kind, match[0]
    for name in finder.names(text):
        if name.kind != "PHONE_NUMBER" and free(name.start, name.end):
            yield "name", text[name.start : name.end]
    plain = text.casefold()
    for each in sorted(written):
        if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", plain):
            yield "entity", each


# ---- a person's table ----


def _proposal(groups: Sequence[_Texts], known: Mapping[str, Writings]) -> str:
    """The table of entities for a person, one row a writing; a document without any has a row as well."""
    lines = [csv_line(COLUMNS)]
    for group in groups:
        rows = 0
        for entity, texts in known[group.document.id].items():
            first, *others = sorted(texts, key=lambda text: (-len(text), text))
            for written in (first, *others):
                places = list(_places(group, entity, written))
                same = first if written != first else ""
                context = places[0] if places else ""
                lines.append(csv_line([group.document.id, entity.category, written, "", same, len(places), context]))
                rows += 1
        if not rows:
            start = " ".join(group.document.text[: 2 * _CONTEXT].split())
            lines.append(csv_line([group.document.id, "", "", "", "", 0, f"(nothing was found) {start}"]))
    return "".join(f"{line}\n" for line in lines)


def _places(group: _Texts, entity: Entity, written: str) -> Iterator[str]:
    """What stands around each place of a writing."""
    for where, text in group.every():
        for found in occurrences(text, {entity: {written}}):
            around = text[max(0, found.start - _CONTEXT) : found.end + _CONTEXT]
            yield f"{where}: {' '.join(around.split())}"


def _reviewed(path: Path, groups: Sequence[_Texts], decisions: Counter[str]) -> dict[str, Writings]:
    """The entities that a person decided to mask. Raises InputError with every fault of the table by line."""
    faults = Faults(str(path))
    rows = list(read_rows(path, faults, "csv"))
    faults.stop()
    by_id = {group.document.id: group for group in groups}
    known: dict[str, Writings] = {doc_id: {} for doc_id in by_id}
    seen: set[str] = set()
    undecided = 0
    for line, cells in rows:
        if missing := [name for name in COLUMNS[:4] if name not in cells]:
            faults.fail(None, missing[0], f"is missing; the columns are: {', '.join(COLUMNS)}")
            break
        row = {name: not_inert(str(cells.get(name) or "").strip()) for name in COLUMNS}
        group = by_id.get(row["document_id"])
        if group is None:
            what = f"is {row['document_id']!r}, which is not redacted here{meant(row['document_id'], by_id)}"
            faults.fail(line, "document_id", what)
            continue
        seen.add(row["document_id"])
        if not row["decision"]:
            undecided += 1
        elif _row_fits(line, row, group, faults):
            decisions[row["decision"]] += 1
            if row["decision"] == MASK:
                _take(known[row["document_id"]], row)
    for doc_id in [doc_id for doc_id in by_id if doc_id not in seen]:
        faults.fail(
            None, "document_id", f"has no row for {doc_id!r}; give it one, or remove the file to have it proposed"
        )
    faults.stop()
    if undecided:
        raise _waiting(path, f" ({undecided} of {len(rows)} rows are undecided)")
    return known


def _row_fits(line: int, row: Mapping[str, str], group: _Texts, faults: Faults) -> bool:
    """Whether a decided row can be taken; if not, its fault is noted."""
    before = faults.count
    if row["decision"] not in (MASK, LEAVE):
        faults.fail(line, "decision", f"is {row['decision']!r}; give {MASK} or {LEAVE}")
    elif row["decision"] == MASK:
        if row["category"] not in CATEGORIES:
            faults.fail(line, "category", f"is {row['category']!r}; give one of {', '.join(CATEGORIES)}")
        elif not row["text"]:
            faults.fail(line, "text", "is empty; give what is to be masked, or decide leave")
        else:
            category = row["category"]
            entity = Entity(category, key_of(category, row["same_as"] or row["text"]))
            for name in ("text", "same_as"):
                if row[name] and not _stands(row[name], entity, group):
                    faults.fail(line, name, f"is {row[name]!r}, which stands in no text of {row['document_id']!r}")
    return faults.count == before


def _stands(written: str, entity: Entity, group: _Texts) -> bool:
    """Whether a writing stands in a text of a document, or is a number of a column."""
    known = {entity: {written}}
    return any(occurrences(text, known) for _, text in group.every()) or any(
        number_of(number, known) for _, number in group.numbers()
    )


def _take(writings: Writings, row: Mapping[str, str]) -> None:
    category = cast("Category", row["category"])
    entity = Entity(category, key_of(category, row["same_as"] or row["text"]))
    writings.setdefault(entity, set()).add(row["text"])


def _waiting(path: Path, more: str) -> WaitingError:
    return WaitingError(
        f"a person goes through {path}{more}: write {MASK} or {LEAVE} into `decision` of every row, add rows for what "
        "was missed, and give the same command again"
    )


STEP = Step("redact", "personal data become numbered placeholders", RedactSettings, redact)
