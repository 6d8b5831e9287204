"""Placeholders in the place of personal data, in every text of a dataset; what points into a text moves with it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from summeter.benchmark.redaction.finding import NOT_AFTER_TIME, NOT_BEFORE_TIME, Category, apart
from summeter.benchmark.step import DOCUMENT_COLUMNS, SUMMARY_COLUMNS
from summeter.data.dataset import Dataset
from summeter.data.human_judgments import list_id_of
from summeter.records import Document, FactOrigin, Judgment, Span, Summary

PLACEHOLDER = re.compile(r"<(PLACE|TIME|DAY|PHONENUMBER|CODE|ADDRESS)_(\d+)>")


class Entity(NamedTuple):
    """One thing that is masked: its category, and what all its writings share."""

    category: Category
    key: str

    @classmethod
    def of(cls, category: Category, text: str) -> Entity:
        """The entity that is written so. Case, punctuation, `the` and `of` do not count.

        >>> Entity.of("TIME", "5 p.m.") == Entity.of("TIME", "17:00"), Entity.of("DAY", "the 3rd of July").key
        (True, '3 july')
        """
        words = [word for word in re.findall(r"\w+", text.casefold()) if word not in ("the", "of")]
        match category:
            case "PHONENUMBER":
                return cls(category, "".join(words).lstrip("0"))
            case "DAY":
                return cls(category, " ".join(sorted(re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", word) for word in words)))
            case "TIME":
                compact = re.sub(r"[\s.]", "", text)
                for form in ("%I:%M%p", "%I%p"):
                    with suppress(ValueError):
                        return cls(category, f"{datetime.strptime(compact, form):%H%M}")  # noqa: DTZ007
                return cls(category, "".join(words))
            case "CODE":
                return cls(category, "".join(words))
            case _:
                return cls(category, " ".join(words))


Writings = dict[Entity, set[str]]
"""The entities of a document, in the order of their numbers, each in its writings."""


class Placed(NamedTuple):
    """Where an entity stands in a text."""

    entity: Entity
    start: int
    end: int


class Masked(NamedTuple):
    """A text with placeholders. `cuts` are (start, end) of each in the old text, `places` in the new one."""

    text: str
    cuts: tuple[tuple[int, int], ...] = ()
    places: tuple[tuple[int, int], ...] = ()

    def moved(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the old text is in the new one. One that begins or ends within something masked holds the
        whole placeholder.

        >>> ghent = Entity("PLACE", "ghent")
        >>> masked = mask("Come to Ghent now.", [Placed(ghent, 8, 13)], {ghent: 1})
        >>> masked.text, masked.text[slice(*masked.moved(5, 13))], masked.text[slice(*masked.moved(10, 17))]
        ('Come to <PLACE_1> now.', 'to <PLACE_1>', '<PLACE_1> now')
        """
        first = bisect_right(self.cuts, start, key=lambda cut: cut[1])  # the first cut that ends behind `start`
        inside = first < len(self.cuts) and self.cuts[first][0] <= start
        moved = self.places[first][0] if inside else self._shifted(start)
        if end <= start:
            return moved, moved
        last = bisect_left(self.cuts, end, key=lambda cut: cut[0]) - 1  # the last cut that begins before `end`
        inside = last >= 0 and self.cuts[last][1] >= end
        return moved, self.places[last][1] if inside else self._shifted(end)

    def _shifted(self, offset: int) -> int:
        """The place of an offset that is within nothing masked."""
        before = bisect_right(self.cuts, offset, key=lambda cut: cut[1])
        return offset + (self.places[before - 1][1] - self.cuts[before - 1][1] if before else 0)

    def spans(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Sentences of the old text in the new one. A placeholder across the end of one belongs to the former."""
        moved: list[Span] = []
        end = 0
        for span in spans:
            start, last = self.moved(span.start, span.end)
            start, end = max(start, end), max(start, end, last)
            moved.append(Span(of=span.of, start=start, end=end))
        return tuple(moved)


def mask(text: str, placed: Iterable[Placed], numbers: Mapping[Entity, int]) -> Masked:
    """The text with a placeholder such as `<PLACE_1>` (as UniSumEval prints it) in each place."""
    parts: list[str] = []
    cuts, places = [], []
    at = length = 0
    for entity, start, end in sorted(placed, key=lambda one: one.start):
        mark = f"<{entity.category}_{numbers[entity]}>"
        parts += [text[at:start], mark]
        length += start - at + len(mark)
        cuts.append((start, end))
        places.append((length - len(mark), length))
        at = end
    return Masked("".join([*parts, text[at:]]), tuple(cuts), tuple(places))


def occurrences(text: str, writings: Mapping[Entity, Iterable[str]]) -> list[Placed]:
    """Every place of a text where an entity stands, the longest where they overlap.

    Phone numbers and codes are found however they are divided. Of the others each writing is found as words of its own:
    in any case if it has several words or digits, else as it is written or in capitals ("Reading" is a town, "reading"
    is not). A dotted time is not found where it is an amount ("leaves at 5.15", "costs 5.15 pounds").
    """
    places = [
        Placed(entity, *match.span())
        for entity, texts in writings.items()
        for written in sorted(texts)
        for match in _pattern(entity, written).finditer(text)
    ]
    return apart(sorted(places, key=lambda one: (one.start - one.end, one.start)))


_LEAST_DIVIDED = 5
"""Characters of a phone number or code that may be divided; fewer would be found in other numbers."""


@lru_cache(maxsize=4096)
def _pattern(entity: Entity, written: str) -> re.Pattern[str]:
    category, key = entity
    if category in ("PHONENUMBER", "CODE") and len(key) >= _LEAST_DIVIDED:
        zeros = "0*" if category == "PHONENUMBER" else ""
        return re.compile(
            rf"(?<!\w)[+#]?(?:\((?=\d{{1,5}}\)))?{zeros}" + r"[\s()./-]*".join(key) + r"(?!\w)", re.IGNORECASE
        )
    words = r"\s+".join(map(re.escape, written.split()))
    before, after = r"(?<!\w)" if written[0].isalnum() else "", r"(?!\w)" if written[-1].isalnum() else ""
    if category == "TIME" and re.fullmatch(r"\d{1,2}\.\d\d", written):
        before, after = before + NOT_BEFORE_TIME, after + NOT_AFTER_TIME
    if any(char.isdigit() or char.isspace() for char in written):
        return re.compile(before + words + after, re.IGNORECASE)
    return re.compile(f"{before}(?:{words}|{re.escape(written.upper())}){after}")


# ---- every text of a document ----


class Reader(Protocol):
    """Is given every text and number of a document, and returns what stands there instead."""

    def text(self, where: str, text: str, /) -> Masked: ...
    def number(self, where: str, number: int | float, /) -> Any: ...


class Collector:
    """Collects the texts and numbers of a document, each once, and changes none."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.numbers: dict[int | float, str] = {}

    def text(self, where: str, text: str, /) -> Masked:
        """Note a text."""
        self.texts.setdefault(text, where)
        return Masked(text)

    def number(self, where: str, number: int | float, /) -> Any:
        """Note a number of a column."""
        self.numbers.setdefault(number, where)
        return number


class Masker:
    """Masks the entities of a document; numbers begin above those of the placeholders that `texts` hold already."""

    def __init__(self, writings: Writings, texts: Iterable[str]) -> None:
        self.numbers: dict[Entity, int] = {}
        counts: dict[str, int] = {}
        met: dict[Entity, None] = {}
        for text in texts:
            met |= dict.fromkeys(placed.entity for placed in occurrences(text, writings))
            for category, number in PLACEHOLDER.findall(text):
                if len(number) < 10:  # a longer one is no placeholder of ours
                    counts[category] = max(counts.get(category, 0), int(number))
        for entity in (*met, *(entity for entity in writings if entity not in met)):
            counts[entity.category] = self.numbers[entity] = counts.get(entity.category, 0) + 1
        self.writings = writings

    def text(self, _where: str, text: str, /) -> Masked:
        """The text with placeholders."""
        return mask(text, occurrences(text, self.writings), self.numbers)

    def number(self, _where: str, number: int | float, /) -> Any:
        """A placeholder for a number that is a phone number or code; any other as it is."""
        if isinstance(number, float) and not number.is_integer():
            return number
        written = str(int(number))
        codes = {entity: texts for entity, texts in self.writings.items() if entity.category in ("PHONENUMBER", "CODE")}
        masked = mask(written, occurrences(written, codes), self.numbers).text
        return number if masked == written else masked


def copy_id(doc_id: str) -> str:
    """The id of a document's redacted copy."""
    return f"{doc_id}#redacted"


def rewrite(data: Dataset, readers: Mapping[str, Reader], *, pairs: bool = False) -> Dataset:
    """The dataset with every text of the documents that have a reader as that returns it, and judgments moved.

    With `pairs`, redacted copies of these documents stand beside them, without summaries and judgments.
    """
    documents: dict[str, Document] = {}
    summaries: list[Summary] = []
    masked: dict[tuple[str, str], Masked] = {}
    origins = dict(data.fact_origins)
    for document, own in data.items():
        reader = readers.get(document.id)
        if reader is None or pairs:
            extra = document.extra if reader is None else {**document.extra, "redaction": "unredacted"}
            documents[document.id] = document.model_copy(update={"extra": extra})
            summaries += own
        if reader is None:
            continue
        new_id = copy_id(document.id) if pairs else document.id
        text = masked[document.id, ""] = reader.text("document", document.text)
        fresh = {
            "id": new_id,
            "text": text.text,
            "sentences": text.spans(document.sentences),
            "references": _each(reader, "reference", document.references),
            "key_facts": _each(reader, "key fact", document.key_facts),
        }
        for summary in () if pairs else own:
            text = masked[document.id, summary.system] = reader.text(f"summary by {summary.system}", summary.text)
            columns = _columns(reader, f"column of {summary.system}", summary.extra, SUMMARY_COLUMNS)
            changed = {"text": text.text, "sentences": text.spans(summary.sentences), "extra": columns}
            summaries.append(Summary(**{**dict(summary), **changed}))
        extra = _columns(reader, "column", document.extra, DOCUMENT_COLUMNS) | {"redaction": "redacted"}
        extra |= {"original": document.id} if pairs else {}
        documents[new_id] = Document(**{**dict(document), **fresh, "extra": extra})
        if document.id in origins:
            origins[new_id] = tuple(_origin(reader, origin) for origin in origins[document.id])
    fresh_data = Dataset(documents, summaries, {}, data.card, fact_origins=origins)
    for name in data.judgment_sets:
        moved: Iterator[Judgment] | list[Judgment] = data.iter_judgments(name)
        if not pairs:
            moved = [_judgment(name, row, readers, data.documents, documents, masked) for row in moved]
        fresh_data = fresh_data.with_judgments(name, moved)
    return fresh_data


def _each(reader: Reader, where: str, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(reader.text(f"{where} {number}", text).text for number, text in enumerate(texts, 1))


def _columns(reader: Reader, where: str, columns: Mapping[str, Any], kept: frozenset[str]) -> dict[str, Any]:
    return {name: value if name in kept else _anywhere(reader, where, value) for name, value in columns.items()}


def _anywhere(reader: Reader, where: str, value: Any) -> Any:
    """A value with its texts, numbers and the names in its mappings replaced; equal names become `NAME (2)`."""
    if isinstance(value, str):
        return reader.text(where, value).text
    if isinstance(value, Mapping):
        names = {name: reader.text(where, str(name)).text for name in value}
        taken = {new for name, new in names.items() if new == name}
        for name, new in names.items():
            if new != name:
                count = 1
                while names[name] in taken:
                    names[name] = f"{new} ({(count := count + 1)})"
                taken.add(names[name])
        return {names[name]: _anywhere(reader, where, each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_anywhere(reader, where, each) for each in value]
    return reader.number(where, value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _origin(reader: Reader, origin: FactOrigin) -> FactOrigin:
    def read(text: str) -> str:
        return reader.text("making of a key fact", text).text

    votes = tuple(vote.model_copy(update={"reason": vote.reason and read(vote.reason)}) for vote in origin.votes)
    review = origin.review and origin.review.model_copy(update={"why": tuple(map(read, origin.review.why))})
    return origin.model_copy(update={"proposed": read(origin.proposed), "votes": votes, "review": review})


def _judgment(
    name: str, judgment: Judgment, readers: Mapping[str, Reader], old: Mapping[str, Document],
    new: Mapping[str, Document], masked: Mapping[tuple[str, str], Masked],
) -> Judgment:  # fmt: skip
    target = judgment.target
    doc_id = target.document_id
    if doc_id not in readers:
        return judgment

    def read(text: str) -> str:
        return readers[doc_id].text(f"judgment of {name}", text).text

    texts = {"document": masked[doc_id, ""], "summary": masked[doc_id, target.system]}

    def moved(span: Span) -> Span:
        start, end = texts[span.of].moved(span.start, span.end)
        return Span(of=span.of, start=start, end=end)

    changed: dict[str, Any] = {"evidence": tuple(map(moved, judgment.evidence))}
    changed["reason"] = judgment.reason and read(judgment.reason)
    if (claim := judgment.claim) is not None:
        changed["claim"] = claim.model_copy(update={"text": read(claim.text), "span": claim.span and moved(claim.span)})
    if target.list_id is not None and target.list_id == list_id_of(old[doc_id].key_facts):
        changed["target"] = target.model_copy(update={"list_id": list_id_of(new[doc_id].key_facts)})
    return judgment.model_copy(update=changed)
