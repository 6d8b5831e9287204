"""Describe a dataset: counts, lengths, votes, near-duplicates and warnings.

Words are counted with `text.ngrams.words`. For the agreement of annotators, see `meta.agree`.
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
"""The title of the table of votes, below which the agreement is shown."""
EDGES = (250, 500, 1000, 2000)
"""Boundaries between the buckets of document lengths, in words; each is the lower bound of a bucket."""
EXAMPLES = 3
"""Maximum number of examples in a warning."""
SHOWN_GROUPS = 20
"""Maximum number of groups of near-duplicates in a table."""
FEWEST_WORDS = SHINGLE
"""Minimum number of words of a text that is searched for in other texts."""
FEWEST_VOTES = 10
"""Minimum number of votes of an annotator for a warning about constant votes."""

_CLOSING = "\"'”’»›)]}*_ \t\r\n"
_ENDS = tuple(".!?…:;。！？；：؟।։")
_MARKUP = re.compile(r"</?[a-z][a-z0-9]{0,9} ?/?>|&(?:amp|lt|gt|quot|nbsp|#\d{1,6});")


class Lengths(NamedTuple):
    """Mean lengths of the documents and summaries in a group.

    A mean is None if there is nothing to average.

    `by` is "all", "domain" or "length" (grouped by document length in words). `key_facts` is the mean over documents
    with key facts. `compression` is the mean ratio of the words of a document to the words of a summary. Documents
    whose texts are withheld are counted in `documents` but excluded from the means of documents.
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
    """The number of summaries of a system, and their lengths.

    `words` and `sentences` are means per summary; `shortest` and `longest` are lengths in words.
    """

    system: str
    category: str | None
    summaries: int
    words: float
    sentences: float
    shortest: int
    longest: int


class Votes(NamedTuple):
    """Counts of the votes on an aspect.

    `kind` is the field of `human` or the name in the signature. `annotators` is None if the annotators are unidentified
    or the votes are aggregated. `fewest` and `most` are numbers of votes per item. `items` and `fewest` include items
    without a vote. `mean` is the mean of the numeric votes, or None if there are none.
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
    """A possible problem in the data.

    It affects `cases` out of `of` texts, votes or annotators.

    `examples` contains the first few cases. `by_system` counts the affected summaries by system, in descending order.
    """

    kind: str
    what: str
    cases: int
    of: int
    examples: tuple[str, ...] = ()
    by_system: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Overview:
    """Overview of a dataset. `counts` contains what `summeter data show --json` prints."""

    counts: Mapping[str, Any]
    lengths: tuple[Lengths, ...]
    systems: tuple[SystemLengths, ...]
    votes: tuple[Votes, ...]
    duplicates: tuple[DuplicateGroup, ...]
    warnings: tuple[DataWarning, ...]

    def tables(self) -> list[Table]:
        """Return the tables of the overview, without empty ones."""
        tables = [_lengths_table(self.lengths, self.counts["withheld_documents"]), _systems_table(self.systems)]
        if self.votes:
            tables.append(_votes_table(self.votes))
        if self.duplicates:
            tables.append(_duplicates_table(self.duplicates))
        if self.warnings:
            tables.append(_warnings_table(self.warnings))
        return tables

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return the contents of the overview as lists of dicts, by name."""
        return {
            "lengths": [row._asdict() for row in self.lengths],
            "system_lengths": [row._asdict() for row in self.systems],
            "votes": [row._asdict() for row in self.votes],
            "near_duplicates": [row._asdict() for row in self.duplicates],
            "warnings": [{**row._asdict(), "by_system": dict(row.by_system)} for row in self.warnings],
        }


def describe(dataset: Dataset) -> Overview:
    """Return an overview of a dataset.

    >>> from summeter.data.dataset import load
    >>> rows = [{"document": "It rained. We stayed in all day.", "summary": "It rained."}]
    >>> describe(load(rows)).lengths[0].compression  # 7 words / 2 words
    3.5
    """
    texts = _Texts.of(dataset)
    sizes: Counter[str] = Counter()
    judgments = [row for name in dataset.judgment_sets for row in _votes(dataset, name, sizes)]
    return Overview(
        counts=counts(dataset, sizes),
        lengths=tuple(_lengths(dataset, texts)),
        systems=tuple(_systems(dataset, texts)),
        votes=tuple(votes for votes, _ in judgments),
        duplicates=tuple(near_duplicates({doc_id: document.text for doc_id, document in dataset.documents.items()})),
        warnings=(*_text_warnings(dataset, texts), *(warning for _, warnings in judgments for warning in warnings)),
    )


def counts(dataset: Dataset, judgments: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return the counts of a dataset, and the name, licence, citation and hash from its card.

    `judgments` maps the judgment sets to their sizes; if it is None, the judgments are counted.
    """
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
    """Return the name of the bucket that contains `count` words.

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
    """The words of all texts, each text joined and surrounded by blanks: ` it rained `."""

    documents: Mapping[str, str]
    summaries: tuple[str, ...]
    """The words of the summaries, in the order of the dataset."""
    size: dict[str, int] = field(default_factory=dict)
    """Number of words by document id, without withheld documents."""

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
    """Yield a row for all documents, and one for each domain and each bucket of lengths."""
    summaries_of: dict[str, list[tuple[Summary, int]]] = {doc_id: [] for doc_id in dataset.documents}
    for summary, text in zip(dataset.summaries, texts.summaries, strict=True):
        summaries_of[summary.document_id].append((summary, _count(text)))

    def lengths(by: str, group: str, documents: Sequence[Document]) -> Lengths:
        summaries = [pair for document in documents for pair in summaries_of[document.id]]
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

    documents = list(dataset.documents.values())
    yield lengths("all", "all", documents)
    by_domain: dict[str, list[Document]] = {}
    for document in documents:
        by_domain.setdefault(document.domain or "no domain", []).append(document)
    if len(by_domain) > 1:
        yield from (lengths("domain", name, members) for name, members in by_domain.items())
    by_length: dict[str, list[Document]] = {}
    for document in sorted((each for each in documents if each.id in texts.size), key=lambda each: texts.size[each.id]):
        by_length.setdefault(bucket(texts.size[document.id]), []).append(document)
    if withheld := [document for document in documents if document.is_withheld]:
        by_length["text withheld"] = withheld
    if len(by_length) > 1:
        yield from (lengths("length", name, members) for name, members in by_length.items())


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


class _VoteCounts:
    """Counts of the votes on an aspect."""

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
        # Scaled by 2^-64, without loss of precision, so that sums of large numbers do not overflow.
        return math.ldexp(sum(math.ldexp(value, -64) * times for value, times in numbers.items()) / total, 64)


def _votes(dataset: Dataset, name: str, sizes: Counter[str]) -> Iterator[tuple[Votes, list[DataWarning]]]:
    """Yield the votes of a set on each aspect, with warnings; add the set's size to `sizes`."""
    questions: dict[tuple[str, str, str], _VoteCounts] = {}
    for judgment in dataset.iter_judgments(name):
        sizes[name] += 1
        if judgment.signature not in SPAN_LABELS:
            kind = judgment.signature.partition("|")[0].removeprefix("human.")
            questions.setdefault((kind, judgment.aspect, judgment.target.unit), _VoteCounts()).add(judgment)
    for (kind, aspect, unit), counted in questions.items():
        annotators = counted.by_annotator.keys() - {PEOPLE}  # aggregated values have no annotator
        unidentified = any(map(unnamed, annotators)) or not annotators
        votes = Votes(
            name, kind, aspect, unit, len(counted.items), None if unidentified else len(annotators),
            counted.values.total(),
            min(counted.items.values()), max(counted.items.values()), counted.mean(),
        )  # fmt: skip
        if unit == "span":  # usually all spans are errors
            yield votes, []
        else:
            question = f"{aspect} ({name}, {kind})"
            yield votes, list(_vote_warnings(question, counted, unidentified=unidentified))


def _vote_warnings(question: str, counted: _VoteCounts, *, unidentified: bool) -> Iterator[DataWarning]:
    total = counted.values.total()
    if len(counted.values) == 1 and total > 1:
        value = next(iter(counted.values))
        what = f"votes on {question} all have the value {_shown(value)}"
        yield DataWarning("constant_votes", what, total, total)
        return
    if unidentified:
        return
    many = {name: votes for name, votes in counted.by_annotator.items() if votes.total() >= FEWEST_VOTES}
    constant = [f"{name} ({_shown(next(iter(votes)))})" for name, votes in many.items() if len(votes) == 1]
    what = f"annotators with {FEWEST_VOTES} votes or more on {question} gave the same value each time"
    if constant:
        yield DataWarning("constant_annotators", what, len(constant), len(many), tuple(constant[:EXAMPLES]))


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


# ---- texts ----


_COMPARISONS = ("copies_of_source", "as_long_as_source")
"""Warnings that compare a summary with its document and therefore exclude withheld documents."""


def _text_warnings(dataset: Dataset, texts: _Texts) -> Iterator[DataWarning]:
    """Yield the warnings about documents, references and summaries."""
    documents = [document for document in dataset.documents.values() if not document.is_withheld]
    for kind, (what, document_check) in _document_checks(texts).items():
        ids = [document.id for document in documents if document_check(document)]
        yield from _warning(kind, what, ids, len(documents))
    summaries = list(zip(dataset.summaries, texts.summaries, strict=True))
    for kind, (what, summary_check) in _summary_checks(dataset, texts).items():
        chosen = [summary for summary, text in summaries if summary_check(summary, text)]
        names = [f"{summary.document_id} by {summary.system}" for summary in chosen]
        by_system = dict(Counter(summary.system for summary in chosen).most_common())
        compared = [summary for summary in dataset.summaries if summary.document_id in texts.size]
        yield from _warning(kind, what, names, len(compared if kind in _COMPARISONS else summaries), by_system)


def _document_checks(texts: _Texts) -> dict[str, tuple[str, Callable[[Document], bool]]]:
    """Return the message and the check for each kind of warning about documents."""

    def contains_reference(document: Document) -> bool:
        return any(_contains(texts.documents[document.id], _as_words(text)) for text in document.references)

    return {
        "empty_documents": ("documents have no words", lambda document: not texts.size[document.id]),
        "cut_documents": ("documents do not end with a complete sentence", lambda document: _cut(document.text)),
        "reference_in_document": ("documents contain their reference, which readers therefore see", contains_reference),
        "markup_in_documents": ("documents contain markup", lambda document: bool(_MARKUP.search(document.text))),
        "markup_in_references": (
            "documents have references with markup",
            lambda document: any(map(_MARKUP.search, document.references)),
        ),
    }


def _summary_checks(dataset: Dataset, texts: _Texts) -> dict[str, tuple[str, Callable[[Summary, str], bool]]]:
    """Return the message and the check for each kind of warning about summaries and their words."""
    shared = Counter(
        (summary.document_id, text) for summary, text in zip(dataset.summaries, texts.summaries, strict=True)
    )
    repeated = _repeated(dataset, texts)
    references = {doc_id: set(map(_as_words, document.references)) for doc_id, document in dataset.documents.items()}
    return {
        "empty_summaries": ("summaries have no words", lambda _, text: not _count(text)),
        "cut_summaries": ("summaries do not end with a complete sentence", lambda summary, _: _cut(summary.text)),
        "copies_of_source": (
            "summaries are a verbatim passage of their document",
            lambda summary, text: _contains(texts.documents[summary.document_id], text),
        ),
        "as_long_as_source": (
            "summaries have as many words as their document, or more",
            lambda summary, text: _count(text) >= max(1, texts.size.get(summary.document_id, math.inf)),
        ),
        "copies_of_reference": (
            "summaries are equal to a reference",
            lambda summary, text: _count(text) > 0 and text in references[summary.document_id],
        ),
        "same_for_documents": (
            "summaries are equal to a summary of another document by the same system",
            lambda summary, text: (summary.system, text) in repeated,
        ),
        "same_by_systems": (
            "summaries are equal to a summary of the same document by another system",
            lambda summary, text: _count(text) > 0 and shared[summary.document_id, text] > 1,
        ),
        "markup_in_summaries": ("summaries contain markup", lambda summary, _: bool(_MARKUP.search(summary.text))),
    }


def _warning(
    kind: str, what: str, cases: Sequence[str], of: int, by_system: Mapping[str, int] = MappingProxyType({})
) -> Iterator[DataWarning]:
    if cases:
        yield DataWarning(kind, what, len(cases), of, tuple(cases[:EXAMPLES]), by_system)


def _contains(text: str, other: str) -> bool:
    """Return whether a text contains another text of at least `FEWEST_WORDS` words."""
    return _count(other) >= FEWEST_WORDS and other in text


def _cut(text: str) -> bool:
    """Return whether a non-empty text ends without sentence-final punctuation."""
    bare = _MARKUP.sub("", text).rstrip(_CLOSING)
    return bool(bare) and not bare.endswith(_ENDS)


def _repeated(dataset: Dataset, texts: _Texts) -> set[tuple[str, str]]:
    """Return each (system, text) that is the summary of several different documents."""
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
        "Means of the words and sentences of documents, the key facts of documents with key facts, the words and "
        "sentences of summaries, and the ratio of the words of a document to those of its summary."
    )
    missing = (f"The texts of {withheld} documents are withheld and excluded from the means.",) if withheld else ()
    return _without_empty(Table(columns, cells, "Lengths", (note, *missing)))


def _systems_table(rows: Iterable[SystemLengths]) -> Table:
    tenths = partial(number, digits=1)
    columns = (
        Column("system"), Column("category"), Column("summaries", "right"), Column("words", "right", tenths),
        Column("sentences", "right", tenths), Column("shortest", "right"), Column("longest", "right"),
    )  # fmt: skip
    return _without_empty(
        Table(columns, tuple(map(tuple, rows)), "Systems", ("Shortest and longest summary in words.",))
    )


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
    note = "annotators: - if votes are aggregated or annotators are unidentified."
    return Table.of(heads, cells, align="llllrrrrr", show=show, title=VOTES, notes=[note])


def _duplicates_table(groups: Sequence[DuplicateGroup]) -> Table:
    cells = [(len(group.ids), group.similarity, _listed(group.ids)) for group in groups[:SHOWN_GROUPS]]
    rule = f"Jaccard index of word {SHINGLE}-grams of at least {THRESHOLD:g}; similarity is the lowest in the group"
    more = [f"{len(groups) - SHOWN_GROUPS} more groups"] if len(groups) > SHOWN_GROUPS else []
    return Table.of(
        ("number", "similarity", "documents"), cells, align="rrl", show=[str, partial(number, digits=2)],
        title="Near-duplicate documents", notes=[rule, *more],
    )  # fmt: skip


def _warnings_table(warnings: Iterable[DataWarning]) -> Table:
    cells = [
        (each.cases, each.of, each.what, _listed([f"{name} ({count})" for name, count in each.by_system.items()]),
         _listed(each.examples, each.cases))
        for each in warnings
    ]  # fmt: skip
    return _without_empty(
        Table.of(("cases", "of", "what", "systems", "for example"), cells, align="rrlll", title="Warnings")
    )


def _listed(names: Sequence[str], count: int | None = None) -> str:
    """Return a string with the first few names.

    `count` is the total number of names if `names` contains only some of them.
    """
    total = len(names) if count is None else count
    return ", ".join([*names[:EXAMPLES], *(["..."] if names and total > EXAMPLES else [])])


def _without_empty(table: Table) -> Table:
    """Return the table without empty columns."""
    filled = [index for index in range(len(table.columns)) if any(row[index] not in (None, "") for row in table.rows)]
    rows = tuple(tuple(row[index] for index in filled) for row in table.rows)
    return replace(table, columns=tuple(table.columns[index] for index in filled), rows=rows)
