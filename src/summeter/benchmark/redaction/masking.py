"""Replacement of personal data by placeholders in a dataset, with adjusted offsets."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from summeter.benchmark.redaction.finding import NOT_AFTER_TIME, NOT_BEFORE_TIME, Category, Match, without_overlaps
from summeter.benchmark.step import DOCUMENT_COLUMNS, SUMMARY_COLUMNS
from summeter.data.dataset import Dataset
from summeter.data.human_judgments import list_id_of
from summeter.records import Document, FactOrigin, Judgment, Span, Summary

PLACEHOLDER = re.compile(r"<(PLACE|TIME|DAY|PHONENUMBER|CODE|ADDRESS)_(\d+)>")


class Entity(NamedTuple):
    """An entity to mask, with its category and a key that all its spellings share."""

    category: Category
    key: str

    @classmethod
    def of(cls, category: Category, text: str) -> Entity:
        """Return the entity with a spelling; case, punctuation, `the` and `of` are ignored.

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


Spellings = dict[Entity, set[str]]
"""The spellings of each entity in a document, in the order of the entities' numbers."""


class Masked(NamedTuple):
    """A masked text.

    `old_ranges` and `new_ranges` contain the (start, end) of each replacement in the old text and in the new text.
    """

    text: str
    old_ranges: tuple[tuple[int, int], ...] = ()
    new_ranges: tuple[tuple[int, int], ...] = ()

    def map_range(self, start: int, end: int) -> tuple[int, int]:
        """Map a range of the old text to the new text; placeholders at either end are included.

        >>> ghent = Entity("PLACE", "ghent")
        >>> masked = mask("Come to Ghent now.", [Match(ghent, 8, 13)], {ghent: 1})
        >>> masked.text, masked.text[slice(*masked.map_range(5, 13))], masked.text[slice(*masked.map_range(10, 17))]
        ('Come to <PLACE_1> now.', 'to <PLACE_1>', '<PLACE_1> now')
        """
        first = bisect_right(self.old_ranges, start, key=lambda old: old[1])  # the first range that ends after `start`
        inside = first < len(self.old_ranges) and self.old_ranges[first][0] <= start
        new_start = self.new_ranges[first][0] if inside else self._shift(start)
        if end <= start:
            return new_start, new_start
        last = bisect_left(self.old_ranges, end, key=lambda old: old[0]) - 1  # the last range that starts before `end`
        inside = last >= 0 and self.old_ranges[last][1] >= end
        return new_start, self.new_ranges[last][1] if inside else self._shift(end)

    def _shift(self, offset: int) -> int:
        """Map an offset in the old text that is outside all replacements to the new text."""
        before = bisect_right(self.old_ranges, offset, key=lambda old: old[1])
        return offset + (self.new_ranges[before - 1][1] - self.old_ranges[before - 1][1] if before else 0)

    def map_spans(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Map the sentences of the old text to the new text.

        A placeholder that crosses a sentence boundary belongs to the first sentence.
        """
        mapped: list[Span] = []
        end = 0
        for span in spans:
            start, last = self.map_range(span.start, span.end)
            start, end = max(start, end), max(start, end, last)
            mapped.append(Span(of=span.of, start=start, end=end))
        return tuple(mapped)


def mask(text: str, matches: Iterable[Match[Entity]], numbers: Mapping[Entity, int]) -> Masked:
    """Replace each occurrence by a placeholder such as `<PLACE_1>`, as in UniSumEval."""
    pieces: list[str] = []
    old_ranges, new_ranges = [], []
    position = length = 0
    for entity, start, end in sorted(matches, key=lambda match: match.start):
        placeholder = f"<{entity.category}_{numbers[entity]}>"
        pieces += [text[position:start], placeholder]
        length += start - position + len(placeholder)
        old_ranges.append((start, end))
        new_ranges.append((length - len(placeholder), length))
        position = end
    return Masked("".join([*pieces, text[position:]]), tuple(old_ranges), tuple(new_ranges))


def occurrences(text: str, spellings: Mapping[Entity, Iterable[str]]) -> list[Match[Entity]]:
    """Return all occurrences of entities in a text; of overlapping ones, only the longest.

    Phone numbers and codes match with any separators. Other spellings match whole words. A spelling with several words
    or with digits matches in any case; other spellings match as they are written or in capitals ("Reading" is a town,
    "reading" is not). A time with a dot ("leaves at 5.15") does not match an amount ("costs 5.15 pounds").
    """
    matches = [
        Match(entity, *match.span())
        for entity, texts in spellings.items()
        for spelling in sorted(texts)
        for match in _pattern(entity, spelling).finditer(text)
    ]
    return without_overlaps(sorted(matches, key=lambda match: (match.start - match.end, match.start)))


_MIN_SEPARABLE = 5
"""Minimum length of a phone number or code that may contain separators; a shorter one would match other numbers."""


@lru_cache(maxsize=4096)
def _pattern(entity: Entity, spelling: str) -> re.Pattern[str]:
    category, key = entity
    if category in ("PHONENUMBER", "CODE") and len(key) >= _MIN_SEPARABLE:
        zeros = "0*" if category == "PHONENUMBER" else ""
        return re.compile(
            rf"(?<!\w)[+#]?(?:\((?=\d{{1,5}}\)))?{zeros}" + r"[\s()./-]*".join(key) + r"(?!\w)", re.IGNORECASE
        )
    words = r"\s+".join(map(re.escape, spelling.split()))
    before, after = r"(?<!\w)" if spelling[0].isalnum() else "", r"(?!\w)" if spelling[-1].isalnum() else ""
    if category == "TIME" and re.fullmatch(r"\d{1,2}\.\d\d", spelling):
        before, after = before + NOT_BEFORE_TIME, after + NOT_AFTER_TIME
    if any(char.isdigit() or char.isspace() for char in spelling):
        return re.compile(before + words + after, re.IGNORECASE)
    return re.compile(f"{before}(?:{words}|{re.escape(spelling.upper())}){after}")


# ---- every text of a document ----


Transform = Callable[[str, str], Masked]
"""Receives the location of each text of a document and the text, and returns the replacement."""


def texts_of(data: Dataset, doc_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return for each document its distinct texts, in order of reading, each with its first location."""
    texts: dict[str, dict[str, str]] = {doc_id: {} for doc_id in doc_ids}

    def record(of_document: dict[str, str], where: str, text: str) -> Masked:
        of_document.setdefault(text, where)
        return Masked(text)

    rewrite(data, {doc_id: partial(record, of_document) for doc_id, of_document in texts.items()})
    return texts


def masker(spellings: Spellings, texts: Iterable[str]) -> Transform:
    """Return a transform that masks the entities of a document.

    The numbers start above those of the placeholders that `texts` already contain.
    """
    numbers: dict[Entity, int] = {}
    counts: dict[str, int] = {}
    ordered: dict[Entity, None] = {}
    for text in texts:
        ordered |= dict.fromkeys(occurrence.label for occurrence in occurrences(text, spellings))
        for category, number in PLACEHOLDER.findall(text):
            if len(number) < 10:  # a longer number is not from a placeholder of this module
                counts[category] = max(counts.get(category, 0), int(number))
    for entity in {**ordered, **dict.fromkeys(spellings)}:
        counts[entity.category] = numbers[entity] = counts.get(entity.category, 0) + 1
    return lambda _, text: mask(text, occurrences(text, spellings), numbers)


def copy_id(doc_id: str) -> str:
    """Return the id of a document's redacted copy."""
    return f"{doc_id}#redacted"


def rewrite(data: Dataset, transforms: Mapping[str, Transform], *, pairs: bool = False) -> Dataset:
    """Apply the transform of each document to all its texts, and adjust offsets in judgments.

    `transforms` maps ids of documents to transforms. Of the columns, only those that steps wrote are kept. With
    `pairs`, the documents are kept, and redacted copies without summaries and judgments are added.
    """
    documents: dict[str, Document] = {}
    summaries: list[Summary] = []
    masked: dict[tuple[str, str], Masked] = {}
    origins = dict(data.fact_origins)
    for document, document_summaries in data.items():
        transform = transforms.get(document.id)
        if transform is None or pairs:
            extra = document.extra if transform is None else {**document.extra, "redaction": "unredacted"}
            documents[document.id] = document.model_copy(update={"extra": extra})
            summaries += document_summaries
        if transform is None:
            continue
        new_id = copy_id(document.id) if pairs else document.id
        text = masked[document.id, ""] = transform("document", document.text)
        places = [Span(of="document", start=source.start, end=source.end) for source in document.sources]
        fresh = {
            "id": new_id,
            "text": text.text,
            "sources": tuple(
                source.model_copy(update={"start": span.start, "end": span.end})
                for source, span in zip(document.sources, text.map_spans(places), strict=True)
            ),
            "sentences": text.map_spans(document.sentences),
        }
        for label, texts in {"reference": document.references, "key fact": document.key_facts}.items():
            replaced = (transform(f"{label} {number}", each).text for number, each in enumerate(texts, 1))
            fresh["references" if label == "reference" else "key_facts"] = tuple(replaced)
        for summary in () if pairs else document_summaries:
            text = masked[document.id, summary.system] = transform(f"summary by {summary.system}", summary.text)
            columns = {name: value for name, value in summary.extra.items() if name in SUMMARY_COLUMNS}
            changes = {"text": text.text, "sentences": text.map_spans(summary.sentences), "extra": columns}
            summaries.append(Summary(**{**dict(summary), **changes}))
        extra = {name: value for name, value in document.extra.items() if name in DOCUMENT_COLUMNS}
        extra |= {"redaction": "redacted"}
        extra |= {"original": document.id} if pairs else {}
        documents[new_id] = Document(**{**dict(document), **fresh, "extra": extra})
        if document.id in origins:
            origins[new_id] = tuple(_origin(transform, origin) for origin in origins[document.id])
    fresh_data = Dataset(documents, summaries, {}, data.card, fact_origins=origins)
    for name in data.judgment_sets:
        moved: Iterator[Judgment] | list[Judgment] = data.iter_judgments(name)
        if not pairs:
            moved = [_judgment(name, row, transforms, data.documents, documents, masked) for row in moved]
        fresh_data = fresh_data.with_judgments(name, moved)
    return fresh_data


def _origin(transform: Transform, origin: FactOrigin) -> FactOrigin:
    def replace(text: str) -> str:
        return transform("making of a key fact", text).text

    votes = tuple(vote.model_copy(update={"reason": vote.reason and replace(vote.reason)}) for vote in origin.votes)
    review = origin.review and origin.review.model_copy(update={"why": tuple(map(replace, origin.review.why))})
    return origin.model_copy(update={"proposed": replace(origin.proposed), "votes": votes, "review": review})


def _judgment(
    name: str, judgment: Judgment, transforms: Mapping[str, Transform], old: Mapping[str, Document],
    new: Mapping[str, Document], masked: Mapping[tuple[str, str], Masked],
) -> Judgment:  # fmt: skip
    target = judgment.target
    doc_id = target.document_id
    if doc_id not in transforms:
        return judgment

    def replace(text: str) -> str:
        return transforms[doc_id](f"judgment of {name}", text).text

    texts = {"document": masked[doc_id, ""], "summary": masked[doc_id, target.system]}

    def map_span(span: Span) -> Span:
        start, end = texts[span.of].map_range(span.start, span.end)
        return Span(of=span.of, start=start, end=end)

    changes: dict[str, Any] = {"evidence": tuple(map(map_span, judgment.evidence))}
    changes["reason"] = judgment.reason and replace(judgment.reason)
    if (claim := judgment.claim) is not None:
        span = claim.span and map_span(claim.span)
        changes["claim"] = claim.model_copy(update={"text": replace(claim.text), "span": span})
    if target.list_id is not None and target.list_id == list_id_of(old[doc_id].key_facts):
        changes["target"] = target.model_copy(update={"list_id": list_id_of(new[doc_id].key_facts)})
    return judgment.model_copy(update=changes)
