"""What is in a dataset, before anything is judged: counts, lengths, votes, near-duplicates, and what looks odd.

Rows here, tables by `Overview.tables`; the agreement of annotators is a study (`meta.agree`). Words are those of
`text.ngrams.words`, sentences those of the data.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from types import MappingProxyType
from typing import Any, NamedTuple

from summeter.data.dataset import Dataset
from summeter.data.duplicates import SHINGLE, THRESHOLD, DuplicateGroup, near_duplicates
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SPAN_LABELS
from summeter.records import Document, Judgment, Summary, unnamed
from summeter.tables import Column, Table, number
from summeter.text.ngrams import words

VOTES = "Votes"
"""The title of the table beside which agreement is shown."""
EDGES = (250, 500, 1000, 2000)
"""Lengths of documents, in words, at which a bucket begins."""
EXAMPLES = 3
"""How many places an warning names."""
SHOWN_GROUPS = 20
"""How many groups of near-duplicates a table shows."""
FEWEST_WORDS = SHINGLE
"""Shorter texts are not looked for in others: every text holds a few words of every other."""
FEWEST_VOTES = 10
"""With fewer votes, equal ones of one annotator are nothing odd."""

_CLOSING = "\"'”’»›)]}*_ \t\r\n"
_ENDS = tuple(".!?…:;。！？；：؟।։")
_MARKUP = re.compile(r"</?[a-z][a-z0-9]{0,9} ?/?>|&(?:amp|lt|gt|quot|nbsp|#\d{1,6});")


class Lengths(NamedTuple):
    """Means over the documents of a group and over their summaries; None where the group has none.

    A document whose text is withheld counts among the `documents`, and in no mean of the texts of documents.

    `by` is "all", "domain" or "length" (of the document, in words). `key_facts` is a mean over the documents that
    have some. `compression` is the mean of words of a document divided by words of a summary of it.
    """

    by: str
    group: str
    documents: int
    document_words: float | None
    document_sentences: float | None
    key_facts: float | None
    summaries: int
    summary_words: float | None
    summary_sentences: float | None
    compression: float | None


class SystemLengths(NamedTuple):
    """The summaries of one system: how many, how long on average, and the shortest and longest, in words."""

    system: str
    category: str | None
    summaries: int
    words: float
    sentences: float
    shortest: int
    longest: int


class Votes(NamedTuple):
    """The votes on one aspect: `kind` is the field of `human` they came from, or who signed them.

    `annotators` is None where votes have no names, or came merged. An item without a vote counts among the `items`,
    and in `fewest`; `mean` is of the values given.
    """

    judgment_set: str
    kind: str
    aspect: str
    unit: str
    items: int
    annotators: int | None
    votes: int
    fewest: int
    most: int
    mean: float | None


class DataWarning(NamedTuple):
    """Something to look at before the data are trusted: `cases` of `of` are so.

    `examples` are the first few places; `by_system` counts summaries, the system with most of them first.
    """

    kind: str
    what: str
    cases: int
    of: int
    examples: tuple[str, ...] = ()
    by_system: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Overview:
    """What `describe` says of a dataset. `counts` are those that `summeter data show --json` gives as its row."""

    counts: Mapping[str, Any]
    lengths: tuple[Lengths, ...]
    systems: tuple[SystemLengths, ...]
    votes: tuple[Votes, ...]
    duplicates: tuple[DuplicateGroup, ...]
    warnings: tuple[DataWarning, ...]

    def tables(self) -> list[Table]:
        """Each part as a table with a title; a part that says nothing has none."""
        tables = [_lengths_table(self.lengths, self.counts["withheld_documents"]), _systems_table(self.systems)]
        if self.votes:
            tables.append(_votes_table(self.votes))
        if self.duplicates:
            tables.append(_duplicates_table(self.duplicates))
        if self.warnings:
            tables.append(_warnings_table(self.warnings))
        return tables

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """The parts as plain rows, by name."""
        return {
            "lengths": [row._asdict() for row in self.lengths],
            "system_lengths": [row._asdict() for row in self.systems],
            "votes": [row._asdict() for row in self.votes],
            "near_duplicates": [row._asdict() for row in self.duplicates],
            "warnings": [{**row._asdict(), "by_system": dict(row.by_system)} for row in self.warnings],
        }


def describe(dataset: Dataset) -> Overview:
    """Count, measure and look through a dataset.

    >>> from summeter.data.dataset import load
    >>> rows = [{"document": "It rained. We stayed in all day.", "summary": "It rained."}]
    >>> describe(load(rows)).lengths[0].compression  # 7 words by 2
    3.5
    """
    texts = _Texts.of(dataset)
    sizes: Counter[str] = Counter()
    judgments = [row for name in dataset.judgment_sets for row in _cast(dataset, name, sizes)]
    return Overview(
        counts=counts(dataset, sizes),
        lengths=tuple(_lengths(dataset, texts)),
        systems=tuple(_systems(dataset, texts)),
        votes=tuple(votes for votes, _ in judgments),
        duplicates=tuple(near_duplicates({doc_id: document.text for doc_id, document in dataset.documents.items()})),
        warnings=(*_text_warnings(dataset, texts), *(odd for _, warnings in judgments for odd in warnings)),
    )


def counts(dataset: Dataset, judgments: Mapping[str, int] | None = None) -> dict[str, Any]:
    """How much of everything there is, with the card's name, licence, citation and hash; `judgments` of each set are
    counted unless their numbers are at hand."""
    if judgments is None:
        judgments = {name: sum(1 for _ in dataset.iter_judgments(name)) for name in dataset.judgment_sets}
    card, total = dataset.card, Counter[str]()
    systems, domains = Counter[str](), Counter[str]()
    for document, summaries in dataset.items():
        total.update(
            documents=1,
            summaries=len(summaries),
            sentences=sum(len(summary.sentences) for summary in summaries),
            given_sentences=sum(summary.splitter == "given" for summary in summaries),
            key_facts=len(document.key_facts),
            with_key_facts=int(bool(document.key_facts)),
            with_references=int(bool(document.references)),
            withheld_documents=int(document.is_withheld),
            empty_summaries=sum(not summary.text.strip() for summary in summaries),
        )
        systems.update(summary.system for summary in summaries)
        if document.domain is not None:
            domains[document.domain] += 1
    return {
        "name": card.name,
        "version": card.version,
        "licence": card.licence,
        "citation": card.citation,
        "hash": card.hash,
        "splitter": card.splitter,
        **total,
        "systems": dict(systems),
        "domains": dict(domains),
        "judgment_sets": {name: judgments[name] for name in dataset.judgment_sets},
    }


def bucket(count: int, edges: Sequence[int] = EDGES) -> str:
    """The bucket of a length in words.

    >>> bucket(100, [250, 500]), bucket(250, [250, 500]), bucket(900, [250, 500])
    ('under 250 words', '250-499 words', '500 words or more')
    """
    below = [edge for edge in edges if edge <= count]
    above = [edge for edge in edges if edge > count]
    if not below:
        return f"under {above[0]} words" if above else "all"
    return f"{below[-1]}-{above[0] - 1} words" if above else f"{below[-1]} words or more"


# ---- lengths ----


@dataclass(frozen=True)
class _Texts:
    """Every text as its words, once: ` it rained `, so that a run of words is a part of a text."""

    documents: Mapping[str, str]
    summaries: tuple[str, ...]
    """In the order of the dataset's summaries."""
    size: dict[str, int] = field(default_factory=dict)
    """Words of each document whose text is not withheld."""

    @classmethod
    def of(cls, dataset: Dataset) -> _Texts:
        documents = {doc_id: _as_words(document.text) for doc_id, document in dataset.documents.items()}
        summaries = tuple(_as_words(summary.text) for summary in dataset.summaries)
        known = (document.id for document in dataset.documents.values() if not document.is_withheld)
        return cls(documents, summaries, {doc_id: _count(documents[doc_id]) for doc_id in known})


def _as_words(text: str) -> str:
    return "".join(f" {word.text}" for word in words(text)) + " "


def _count(as_words: str) -> int:
    return as_words.count(" ") - 1


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return fmean(numbers) if numbers else None


def _lengths(dataset: Dataset, texts: _Texts) -> Iterator[Lengths]:
    """A row for all documents, for each domain, and for each bucket of length; no rows for a single group."""
    whole = [*dataset.items()]
    own: dict[str, list[tuple[Summary, int]]] = {doc_id: [] for doc_id in dataset.documents}
    for summary, text in zip(dataset.summaries, texts.summaries, strict=True):
        own[summary.document_id].append((summary, _count(text)))
    of_documents = partial(_lengths_of, texts=texts, own=own)
    documents = [document for document, _ in whole]
    yield of_documents("all", "all", documents)
    by_domain: dict[str, list[Document]] = {}
    for document in documents:
        by_domain.setdefault(document.domain or "no domain", []).append(document)
    if len(by_domain) > 1:
        yield from (of_documents("domain", name, members) for name, members in by_domain.items())
    by_length: dict[str, list[Document]] = {}
    for document in sorted((each for each in documents if each.id in texts.size), key=lambda each: texts.size[each.id]):
        by_length.setdefault(bucket(texts.size[document.id]), []).append(document)
    if withheld := [document for document in documents if document.is_withheld]:
        by_length["text withheld"] = withheld
    if len(by_length) > 1:
        yield from (of_documents("length", name, members) for name, members in by_length.items())


def _lengths_of(
    by: str, group: str, documents: Sequence[Document], *, texts: _Texts, own: Mapping[str, list[tuple[Summary, int]]]
) -> Lengths:
    summaries = [pair for document in documents for pair in own[document.id]]
    known = [document for document in documents if document.id in texts.size]
    return Lengths(
        by,
        group,
        len(documents),
        _mean(texts.size[document.id] for document in known),
        _mean(len(document.sentences) for document in known),
        _mean(len(document.key_facts) for document in documents if document.key_facts),
        len(summaries),
        _mean(size for _, size in summaries),
        _mean(len(summary.sentences) for summary, _ in summaries),
        _mean(
            texts.size[summary.document_id] / size
            for summary, size in summaries
            if size and summary.document_id in texts.size
        ),
    )


def _systems(dataset: Dataset, texts: _Texts) -> Iterator[SystemLengths]:
    by_system: dict[str, list[tuple[Summary, int]]] = {}
    for summary, text in zip(dataset.summaries, texts.summaries, strict=True):
        by_system.setdefault(summary.system, []).append((summary, _count(text)))
    for system, members in by_system.items():
        sizes = [size for _, size in members]
        categories = {summary.category for summary, _ in members}
        yield SystemLengths(
            system,
            categories.pop() if len(categories) == 1 else None,
            len(members),
            fmean(sizes),
            fmean(len(summary.sentences) for summary, _ in members),
            min(sizes),
            max(sizes),
        )


# ---- votes ----


class _Cast:
    """The votes on one aspect, while they are counted."""

    def __init__(self) -> None:
        self.items: Counter[tuple[Any, ...]] = Counter()
        self.values: Counter[float | str] = Counter()
        self.by_annotator: dict[str, Counter[float | str]] = defaultdict(Counter)

    def add(self, judgment: Judgment) -> None:
        target = judgment.target
        item = (*target.item, target.index, target.list_id)
        vote = judgment.value if judgment.value is not None else judgment.label
        self.items[item] += vote is not None
        if vote is not None:
            self.values[vote] += 1
            self.by_annotator[judgment.judge][vote] += 1

    def mean(self) -> float | None:
        numbers = {value: times for value, times in self.values.items() if not isinstance(value, str)}
        total = sum(numbers.values())
        if not total:
            return None
        # In units of 2^64, which changes no digit: else a sum of the largest numbers has no value.
        return math.ldexp(sum(math.ldexp(value, -64) * times for value, times in numbers.items()) / total, 64)


def _cast(dataset: Dataset, name: str, sizes: Counter[str]) -> Iterator[tuple[Votes, list[DataWarning]]]:
    """The votes of a judgment set on each aspect, and what is odd about them; `sizes` counts its judgments."""
    questions: dict[tuple[str, str, str], _Cast] = {}
    for judgment in dataset.iter_judgments(name):
        sizes[name] += 1
        if judgment.signature not in SPAN_LABELS:
            kind = judgment.signature.partition("|")[0].removeprefix("human.")
            questions.setdefault((kind, judgment.aspect, judgment.target.unit), _Cast()).add(judgment)
    for (kind, aspect, unit), cast in questions.items():
        people = cast.by_annotator.keys() - {PEOPLE}  # a value that came merged is nobody's vote
        nameless = any(map(unnamed, people)) or not people
        votes = Votes(
            name, kind, aspect, unit, len(cast.items), None if nameless else len(people), cast.values.total(),
            min(cast.items.values()), max(cast.items.values()), cast.mean(),
        )  # fmt: skip
        # A span is marked for what is wrong with it: that all say so is nothing odd.
        odd = [] if unit == "span" else list(_vote_warnings(f"{aspect} ({name}, {kind})", cast, nameless=nameless))
        yield votes, odd


def _vote_warnings(question: str, cast: _Cast, *, nameless: bool) -> Iterator[DataWarning]:
    total = cast.values.total()
    if len(cast.values) == 1 and total > 1:
        value = next(iter(cast.values))
        what = f"votes on {question} all have one value, {_shown(value)}"
        yield DataWarning("constant_votes", what, total, total)
        return
    if nameless:
        return
    many = {name: votes for name, votes in cast.by_annotator.items() if votes.total() >= FEWEST_VOTES}
    constant = [f"{name} ({_shown(next(iter(votes)))})" for name, votes in many.items() if len(votes) == 1]
    what = f"annotators with {FEWEST_VOTES} votes or more on {question} gave one value throughout"
    if constant:
        yield DataWarning("constant_annotators", what, len(constant), len(many), tuple(constant[:EXAMPLES]))


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


# ---- texts ----


_OF_SOURCE = ("copies_of_source", "as_long_as_source")
"""Kinds that compare a summary with its document: those whose document is withheld are not compared."""


def _text_warnings(dataset: Dataset, texts: _Texts) -> Iterator[DataWarning]:
    """What is odd about documents, references and summaries; nothing where nothing is."""
    documents = [document for document in dataset.documents.values() if not document.is_withheld]
    for kind, (what, odd_document) in _odd_documents(texts).items():
        places = [document.id for document in documents if odd_document(document)]
        yield from _warning(kind, what, places, len(documents))
    summaries = list(zip(dataset.summaries, texts.summaries, strict=True))
    for kind, (what, odd_summary) in _odd_summaries(dataset, texts).items():
        chosen = [summary for summary, text in summaries if odd_summary(summary, text)]
        places = [f"{summary.document_id} by {summary.system}" for summary in chosen]
        by_system = dict(Counter(summary.system for summary in chosen).most_common())
        compared = [summary for summary in dataset.summaries if summary.document_id in texts.size]
        yield from _warning(kind, what, places, len(compared if kind in _OF_SOURCE else summaries), by_system)


def _odd_documents(texts: _Texts) -> dict[str, tuple[str, Callable[[Document], bool]]]:
    """By kind: what documents are or hold, and whether one does."""

    def holds_reference(document: Document) -> bool:
        return any(_holds(texts.documents[document.id], _as_words(text)) for text in document.references)

    return {
        "empty_documents": ("documents have no word", lambda document: not texts.size[document.id]),
        "cut_documents": ("documents do not end as a sentence does", lambda document: _cut(document.text)),
        "reference_in_document": ("documents hold their reference: who reads one sees the other", holds_reference),
        "markup_in_documents": ("documents hold mark-up", lambda document: bool(_MARKUP.search(document.text))),
        "markup_in_references": (
            "documents have references with mark-up",
            lambda document: any(map(_MARKUP.search, document.references)),
        ),
    }


def _odd_summaries(dataset: Dataset, texts: _Texts) -> dict[str, tuple[str, Callable[[Summary, str], bool]]]:
    """By kind: what summaries are or hold, and whether one, with its words, does."""
    shared = Counter(
        (summary.document_id, text) for summary, text in zip(dataset.summaries, texts.summaries, strict=True)
    )
    again = _given_again(dataset, texts)
    references = {doc_id: set(map(_as_words, document.references)) for doc_id, document in dataset.documents.items()}
    return {
        "empty_summaries": ("summaries have no word", lambda _, text: not _count(text)),
        "cut_summaries": ("summaries do not end as a sentence does", lambda summary, _: _cut(summary.text)),
        "copies_of_source": (
            "summaries are one run of words of their document",
            lambda summary, text: _holds(texts.documents[summary.document_id], text),
        ),
        "as_long_as_source": (
            "summaries have as many words as their document, or more",
            lambda summary, text: _count(text) >= max(1, texts.size.get(summary.document_id, math.inf)),
        ),
        "copies_of_reference": (
            "summaries are a reference, word for word",
            lambda summary, text: _count(text) > 0 and text in references[summary.document_id],
        ),
        "same_for_documents": (
            "summaries are what the same system gave for another document",
            lambda summary, text: (summary.system, text) in again,
        ),
        "same_by_systems": (
            "summaries are what another system gave for the same document",
            lambda summary, text: _count(text) > 0 and shared[summary.document_id, text] > 1,
        ),
        "markup_in_summaries": ("summaries hold mark-up", lambda summary, _: bool(_MARKUP.search(summary.text))),
    }


def _warning(
    kind: str, what: str, places: Sequence[str], of: int, by_system: Mapping[str, int] = MappingProxyType({})
) -> Iterator[DataWarning]:
    if places:
        yield DataWarning(kind, what, len(places), of, tuple(places[:EXAMPLES]), by_system)


def _holds(text: str, part: str) -> bool:
    """Whether a text holds another, of enough words to be no chance, word for word."""
    return _count(part) >= FEWEST_WORDS and part in text


def _cut(text: str) -> bool:
    """Whether a text that is not empty ends without a mark that ends a sentence."""
    bare = _MARKUP.sub("", text).rstrip(_CLOSING)
    return bool(bare) and not bare.endswith(_ENDS)


def _given_again(dataset: Dataset, texts: _Texts) -> set[tuple[str, str]]:
    """The (system, text) that a system gave for documents that differ."""
    documents: dict[tuple[str, str], set[str]] = {}
    for summary, text in zip(dataset.summaries, texts.summaries, strict=True):
        if _count(text):
            source = texts.documents[summary.document_id] if summary.document_id in texts.size else summary.document_id
            documents.setdefault((summary.system, text), set()).add(source)
    return {key for key, sources in documents.items() if len(sources) > 1}


# ---- tables ----


def _lengths_table(rows: Iterable[Lengths], withheld: int) -> Table:
    tenths = partial(number, digits=1)
    columns = (
        Column("group"), Column("documents", "right"), Column(("document", "words"), "right", tenths),
        Column(("document", "sentences"), "right", tenths), Column("key facts", "right", tenths),
        Column("summaries", "right"), Column(("summary", "words"), "right", tenths),
        Column(("summary", "sentences"), "right", tenths), Column("compression", "right", tenths),
    )  # fmt: skip
    names = {"all": "{}", "domain": "domain {}", "length": "{}"}
    cells = tuple((names[row.by].format(row.group), *row[2:]) for row in rows)
    note = (
        "Means: words and sentences of a document, key facts of a document that has some, words and sentences of a "
        "summary, and words of a document for each word of its summary."
    )
    missing = (f"The texts of {withheld} documents are withheld and count in no mean.",) if withheld else ()
    return _without_empty(Table(columns, cells, "Lengths", (note, *missing)))


def _systems_table(rows: Iterable[SystemLengths]) -> Table:
    tenths = partial(number, digits=1)
    columns = (
        Column("system"), Column("category"), Column("summaries", "right"), Column("words", "right", tenths),
        Column("sentences", "right", tenths), Column("shortest", "right"), Column("longest", "right"),
    )  # fmt: skip
    return _without_empty(Table(columns, tuple(map(tuple, rows)), "Systems", ("Shortest and longest in words.",)))


def _votes_table(rows: Iterable[Votes]) -> Table:
    heads = ("set", "field", "aspect", "unit", "items", "annotators", "votes", "votes per item", "mean")
    cells = [
        (
            row.judgment_set, row.kind, row.aspect, row.unit.replace("_", " "), row.items,
            "-" if row.annotators is None else row.annotators, row.votes,
            str(row.most) if row.fewest == row.most else f"{row.fewest}-{row.most}", row.mean,
        )
        for row in rows
    ]  # fmt: skip
    show = [str] * 8 + [number]
    note = "annotators: - where votes came merged or without names."
    return Table.of(heads, cells, align="llllrrrrr", show=show, title=VOTES, notes=[note])


def _duplicates_table(groups: Sequence[DuplicateGroup]) -> Table:
    cells = [(len(group.ids), group.similarity, ", ".join(group.ids)) for group in groups[:SHOWN_GROUPS]]
    rule = f"Jaccard index of word {SHINGLE}-grams of {THRESHOLD:g} or more; the lowest that ties the group"
    more = [f"{len(groups) - SHOWN_GROUPS} more groups"] if len(groups) > SHOWN_GROUPS else []
    return Table.of(
        ("number", "similarity", "documents"), cells, align="rrl", show=[str, partial(number, digits=2)],
        title="Near-duplicate documents", notes=[rule, *more],
    )  # fmt: skip


def _warnings_table(warnings: Iterable[DataWarning]) -> Table:
    cells = [
        (odd.cases, odd.of, odd.what, _listed([f"{name} ({count})" for name, count in odd.by_system.items()]),
         _listed(odd.examples, odd.cases))
        for odd in warnings
    ]  # fmt: skip
    return _without_empty(
        Table.of(("cases", "of", "what", "systems", "for example"), cells, align="rrlll", title="Worth a look")
    )


def _listed(names: Sequence[str], count: int | None = None) -> str:
    """The first few of so many names."""
    more = len(names) if count is None else count
    return ", ".join([*names[:EXAMPLES], *(["..."] if names and more > EXAMPLES else [])])


def _without_empty(table: Table) -> Table:
    """The table without columns that hold nothing."""
    kept = [place for place in range(len(table.columns)) if any(row[place] not in (None, "") for row in table.rows)]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in kept), rows=rows)
