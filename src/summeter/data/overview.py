"""Describe a dataset: counts, lengths, votes, near-duplicates and warnings.

Words are counted with `text.ngrams.words`. For the agreement of annotators, see `meta.agree`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from summeter.data.dataset import Dataset
from summeter.data.duplicates import SHINGLE, THRESHOLD, near_duplicates
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SPAN_LABELS
from summeter.records import Document, Summary, unnamed
from summeter.tables import Table, number, plain
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

Row = dict[str, Any]
_CLOSING = "\"'”’»›)]}*_ \t\r\n"
_ENDS = tuple(".!?…:;。！？；：؟।։")
_MARKUP = re.compile(r"</?[a-z][a-z0-9]{0,9} ?/?>|&(?:amp|lt|gt|quot|nbsp|#\d{1,6});")


@dataclass(frozen=True)
class Overview:
    """Overview of a dataset: the counts and lists of rows that `summeter data show --json` prints.

    Attributes:
        counts: Name, version, licence, citation, hash and counts (see `counts`).
        lengths: Mean lengths of the documents and summaries in a `group`. `by` is "all", "domain" or "length" (grouped
            by document length in words). `key_facts` is the mean over documents with key facts. `compression` is the
            mean ratio of the words of a document to the words of a summary. Documents whose texts are withheld are
            counted in `documents` but excluded from the means of documents. A mean is None if there is nothing to
            average.
        system_lengths: The number of summaries of each system, and their lengths. `words` and `sentences` are means;
            `shortest` and `longest` are lengths in words.
        votes: Counts of the votes on each aspect. `kind` is the field of `human` or the name in the signature.
            `annotators` is None if the annotators are unidentified or the votes are aggregated. `fewest` and `most`
            are numbers of votes per item. `items` and `fewest` include items without a vote. `mean` is the mean of the
            numeric votes, or None if there are none.
        near_duplicates: The `ids` and the lowest `similarity` of each group of near-duplicates.
        warnings: Possible problems, which affect `cases` out of `of` texts, votes or annotators. `examples` contains
            the first few cases. `by_system` counts the affected summaries by system, in descending order.
    """

    counts: Mapping[str, Any]
    lengths: list[Row]
    system_lengths: list[Row]
    votes: list[Row]
    near_duplicates: list[Row]
    warnings: list[Row]

    def to_dict(self) -> dict[str, list[Row]]:
        """Return the lists of rows by name."""
        return {name: rows for name, rows in vars(self).items() if name != "counts"}

    def tables(self) -> list[Table]:
        """Return the tables of the overview, without empty tables and columns."""
        tenths, withheld = partial(number, digits=1), self.counts["withheld_documents"]
        means = (
            "Means of the words and sentences of documents, the key facts of documents with key facts, the words and "
            "sentences of summaries, and the ratio of the words of a document to those of its summary."
        )
        missing = [f"The texts of {withheld} documents are withheld and excluded from the means."] if withheld else []
        groups, more = self.near_duplicates[:SHOWN_GROUPS], len(self.near_duplicates) - SHOWN_GROUPS
        rule = f"Jaccard index of word {SHINGLE}-grams of at least {THRESHOLD:g}; similarity is the lowest in the group"
        tables = [
            Table.of(
                ["group", "documents", ("document", "words"), ("document", "sentences"), "key facts", "summaries",
                 ("summary", "words"), ("summary", "sentences"), "compression"],
                [(f"domain {row['group']}" if row["by"] == "domain" else row["group"], *[*row.values()][2:])
                 for row in self.lengths],
                align="lr", show=[str, str, tenths, tenths, tenths, str, tenths, tenths, tenths],
                title="Lengths", notes=[means, *missing],
            ),
            Table.of(
                ["system", "category", "summaries", "words", "sentences", "shortest", "longest"],
                [[*row.values()] for row in self.system_lengths],
                align="llr", show=[str, plain, str, tenths, tenths],
                title="Systems", notes=["Shortest and longest summary in words."],
            ),
            Table.of(
                ["set", "field", "aspect", "unit", "items", "annotators", "votes", "votes per item", "mean"],
                [
                    (
                        row["judgment_set"], row["kind"], row["aspect"], row["unit"].replace("_", " "), row["items"],
                        "-" if row["annotators"] is None else row["annotators"], row["votes"],
                        "-".join(map(str, dict.fromkeys((row["fewest"], row["most"])))), row["mean"],
                    )
                    for row in self.votes
                ],
                align="llllr", show=[str] * 8 + [number], title=VOTES,
                notes=["annotators: - if votes are aggregated or annotators are unidentified."],
            ),
            Table.of(
                ["number", "similarity", "documents"],
                [(len(row["ids"]), row["similarity"], _listed(row["ids"])) for row in groups],
                align="rrl", show=[str, partial(number, digits=2)],
                title="Near-duplicate documents", notes=[rule, *([f"{more} more groups"] if more > 0 else [])],
            ),
            Table.of(
                ["cases", "of", "what", "systems", "for example"],
                [
                    (row["cases"], row["of"], row["what"],
                     _listed([f"{name} ({count})" for name, count in row["by_system"].items()]),
                     _listed(row["examples"], row["cases"]))
                    for row in self.warnings
                ],
                align="rrl", title="Warnings",
            ),
        ]  # fmt: skip
        return [_without_empty_columns(table) for table in tables if table.rows]


def describe(dataset: Dataset) -> Overview:
    """Return an overview of a dataset.

    >>> from summeter.data.dataset import load
    >>> rows = [{"document": "It rained. We stayed in all day.", "summary": "It rained."}]
    >>> describe(load(rows)).lengths[0]["compression"]  # 7 words / 2 words
    3.5
    """
    texts, sizes = _Texts(dataset), Counter[str]()
    votes, vote_warnings = _votes(dataset, sizes)
    duplicates = near_duplicates({doc_id: document.text for doc_id, document in dataset.documents.items()})
    return Overview(
        counts=counts(dataset, sizes),
        lengths=list(_lengths(dataset, texts)),
        system_lengths=list(_systems(texts)),
        votes=votes,
        near_duplicates=[group._asdict() for group in duplicates],
        warnings=[*_text_warnings(dataset, texts), *vote_warnings],
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


class _Texts:
    """The words of all texts, each text joined and surrounded by blanks: ` it rained `."""

    def __init__(self, dataset: Dataset) -> None:
        self.documents = {doc_id: _as_words(document.text) for doc_id, document in dataset.documents.items()}
        self.summaries = [(summary, _as_words(summary.text)) for summary in dataset.summaries]
        self.size = {
            doc_id: _count(self.documents[doc_id])
            for doc_id, document in dataset.documents.items()
            if not document.is_withheld
        }
        """Number of words by document id, without withheld documents."""


def _as_words(text: str) -> str:
    return "".join(f" {word.text}" for word in words(text)) + " "


def _count(as_words: str) -> int:
    return as_words.count(" ") - 1


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return fmean(numbers) if numbers else None


def _lengths(dataset: Dataset, texts: _Texts) -> Iterator[Row]:
    """Yield a row for all documents, and one for each domain and each bucket of lengths."""
    summaries_of = defaultdict[str, list[tuple[Summary, int]]](list)
    for summary, text in texts.summaries:
        summaries_of[summary.document_id].append((summary, _count(text)))

    def lengths(by: str, group: str, documents: Sequence[Document]) -> Row:
        summaries = [pair for document in documents for pair in summaries_of[document.id]]
        known = [document for document in documents if document.id in texts.size]
        ratios = (
            texts.size[summary.document_id] / size
            for summary, size in summaries
            if size and summary.document_id in texts.size
        )
        return {
            "by": by,
            "group": group,
            "documents": len(documents),
            "document_words": _mean(texts.size[document.id] for document in known),
            "document_sentences": _mean(len(document.sentences) for document in known),
            "key_facts": _mean(len(document.key_facts) for document in documents if document.key_facts),
            "summaries": len(summaries),
            "summary_words": _mean(size for _, size in summaries),
            "summary_sentences": _mean(len(summary.sentences) for summary, _ in summaries),
            "compression": _mean(ratios),
        }

    documents = list(dataset.documents.values())
    by_domain, by_length = defaultdict[str, list[Document]](list), defaultdict[str, list[Document]](list)
    for document in documents:
        by_domain[document.domain or "no domain"].append(document)
    for document in sorted((each for each in documents if each.id in texts.size), key=lambda each: texts.size[each.id]):
        by_length[bucket(texts.size[document.id])].append(document)
    if withheld := [document for document in documents if document.is_withheld]:
        by_length["text withheld"] = withheld
    yield lengths("all", "all", documents)
    for by, groups in (("domain", by_domain), ("length", by_length)):
        if len(groups) > 1:
            yield from (lengths(by, name, members) for name, members in groups.items())


def _systems(texts: _Texts) -> Iterator[Row]:
    by_system = defaultdict[str, list[tuple[Summary, int]]](list)
    for summary, text in texts.summaries:
        by_system[summary.system].append((summary, _count(text)))
    for system, members in by_system.items():
        sizes = [size for _, size in members]
        categories = {summary.category for summary, _ in members}
        yield {
            "system": system,
            "category": categories.pop() if len(categories) == 1 else None,
            "summaries": len(members),
            "words": fmean(sizes),
            "sentences": fmean(len(summary.sentences) for summary, _ in members),
            "shortest": min(sizes),
            "longest": max(sizes),
        }


# ---- votes ----


def _votes(dataset: Dataset, sizes: Counter[str]) -> tuple[list[Row], list[Row]]:
    """Return a row for the votes of each set on each aspect, and warnings; add the sizes of the sets to `sizes`."""
    items = defaultdict[tuple[str, ...], Counter[Any]](Counter)
    """The number of votes on each item, by set, kind, aspect and unit."""
    given = defaultdict[tuple[str, ...], dict[str, Counter[float | str]]](lambda: defaultdict(Counter))
    """How often each annotator gave each vote."""
    for name in dataset.judgment_sets:
        for judgment in dataset.iter_judgments(name):
            sizes[name] += 1
            if judgment.signature in SPAN_LABELS:
                continue
            target = judgment.target
            question: tuple[str, ...] = (
                name, judgment.signature.partition("|")[0].removeprefix("human."), judgment.aspect, target.unit,
            )  # fmt: skip
            vote = judgment.value if judgment.value is not None else judgment.label
            items[question][(*target.item, target.index, target.list_id)] += vote is not None
            if vote is not None:
                given[question][judgment.judge][vote] += 1
    rows, warnings = [], []
    for question, counted in items.items():
        by_annotator = given[question]
        values = sum(by_annotator.values(), Counter[float | str]())
        annotators = by_annotator.keys() - {PEOPLE}  # aggregated values have no annotator
        unidentified = any(map(unnamed, annotators)) or not annotators
        numbers = {value: times for value, times in values.items() if not isinstance(value, str)}
        # Scaled by 2^-64, without loss of precision, so that sums of large numbers do not overflow.
        scaled = sum(math.ldexp(value, -64) * times for value, times in numbers.items())
        rows.append(
            dict(zip(("judgment_set", "kind", "aspect", "unit"), question, strict=True))
            | {
                "items": len(counted),
                "annotators": None if unidentified else len(annotators),
                "votes": values.total(),
                "fewest": min(counted.values()),
                "most": max(counted.values()),
                "mean": math.ldexp(scaled / sum(numbers.values()), 64) if numbers else None,
            }
        )
        name, kind, aspect, unit = question
        many = {judge: votes for judge, votes in by_annotator.items() if votes.total() >= FEWEST_VOTES}
        constant = [f"{judge} ({_shown(next(iter(votes)))})" for judge, votes in many.items() if len(votes) == 1]
        if unit == "span":
            continue  # usually all spans are errors
        if len(values) == 1 and values.total() > 1:
            what = f"votes on {aspect} ({name}, {kind}) all have the value {_shown(next(iter(values)))}"
            warnings += _warning("constant_votes", what, values.total(), values.total())
        elif constant and not unidentified:
            of = f"{FEWEST_VOTES} votes or more on {aspect} ({name}, {kind})"
            what = f"annotators with {of} gave the same value each time"
            warnings += _warning("constant_annotators", what, len(constant), len(many), constant)
    return rows, warnings


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _warning(
    kind: str, what: str, cases: int, of: int, examples: Sequence[str] = (), by_system: Mapping[str, int] | None = None
) -> list[Row]:
    """Return a list with the warning, or an empty list if there is no case."""
    row = {"kind": kind, "what": what, "cases": cases, "of": of, "examples": tuple(examples[:EXAMPLES])}
    return [{**row, "by_system": dict(by_system or {})}] if cases else []


# ---- texts ----


def _text_warnings(dataset: Dataset, texts: _Texts) -> Iterator[Row]:
    """Yield the warnings about documents, references and summaries. Texts that are withheld are not examined."""
    documents = [document for document in dataset.documents.values() if not document.is_withheld]
    document_checks: dict[str, tuple[str, Callable[[Document], bool]]] = {
        "empty_documents": ("documents have no words", lambda document: not texts.size[document.id]),
        "cut_documents": ("documents do not end with a complete sentence", lambda document: _cut(document.text)),
        "reference_in_document": (
            "documents contain their reference, which readers therefore see",
            lambda document: any(
                _contains(texts.documents[document.id], _as_words(text)) for text in document.references
            ),
        ),
        "markup_in_documents": ("documents contain markup", lambda document: bool(_MARKUP.search(document.text))),
        "markup_in_references": (
            "documents have references with markup",
            lambda document: any(map(_MARKUP.search, document.references)),
        ),
    }
    for kind, (what, document_check) in document_checks.items():
        ids = [document.id for document in documents if document_check(document)]
        yield from _warning(kind, what, len(ids), len(documents), ids)

    by_systems = Counter((summary.document_id, text) for summary, text in texts.summaries)
    texts_of = defaultdict[tuple[str, str], set[str]](set)
    """The different documents, by system and summary."""
    for summary, text in texts.summaries:
        doc_id = summary.document_id
        texts_of[summary.system, text].add(texts.documents[doc_id] if doc_id in texts.size else doc_id)
    references = {doc_id: set(map(_as_words, document.references)) for doc_id, document in dataset.documents.items()}
    summary_checks: dict[str, tuple[str, Callable[[Summary, str], bool]]] = {
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
            lambda summary, text: _count(text) > 0 and len(texts_of[summary.system, text]) > 1,
        ),
        "same_by_systems": (
            "summaries are equal to a summary of the same document by another system",
            lambda summary, text: _count(text) > 0 and by_systems[summary.document_id, text] > 1,
        ),
        "markup_in_summaries": ("summaries contain markup", lambda summary, _: bool(_MARKUP.search(summary.text))),
    }
    compared = sum(summary.document_id in texts.size for summary, _ in texts.summaries)
    for kind, (what, summary_check) in summary_checks.items():
        chosen = [summary for summary, text in texts.summaries if summary_check(summary, text)]
        names = [f"{summary.document_id} by {summary.system}" for summary in chosen]
        by_system = dict(Counter(summary.system for summary in chosen).most_common())
        of = compared if kind in ("copies_of_source", "as_long_as_source") else len(texts.summaries)
        yield from _warning(kind, what, len(chosen), of, names, by_system)


def _contains(text: str, other: str) -> bool:
    """Return whether a text contains another text of at least `FEWEST_WORDS` words."""
    return _count(other) >= FEWEST_WORDS and other in text


def _cut(text: str) -> bool:
    """Return whether a non-empty text ends without sentence-final punctuation."""
    bare = _MARKUP.sub("", text).rstrip(_CLOSING)
    return bool(bare) and not bare.endswith(_ENDS)


def _listed(names: Sequence[str], count: int | None = None) -> str:
    """Return a string with the first few names.

    `count` is the total number of names if `names` contains only some of them.
    """
    total = len(names) if count is None else count
    return ", ".join([*names[:EXAMPLES], *(["..."] if names and total > EXAMPLES else [])])


def _without_empty_columns(table: Table) -> Table:
    """Return the table without empty columns."""
    filled = [index for index in range(len(table.columns)) if any(row[index] not in (None, "") for row in table.rows)]
    rows = tuple(tuple(row[index] for index in filled) for row in table.rows)
    return replace(table, columns=tuple(table.columns[index] for index in filled), rows=rows)
