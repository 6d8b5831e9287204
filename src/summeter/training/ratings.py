"""Read and check the human ratings of a dataset for training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from summeter.data.dataset import Dataset
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SIGNATURES, SPAN_FREE
from summeter.meta.selection import without_merged
from summeter.records import Document, Summary, UsageError, digest, nearest
from summeter.scoring.table import JudgmentTable
from summeter.stats.base import Bools, Floats, Ints, codes

USUAL = ("coherence", "consistency", "coverage", "fluency", "overall")
"""SummQual's five aspects in SummQual's order; they precede other aspects."""
LABELS = "human.raw"
_BLOCKS = ("ratings", "overall", "crowd_ratings")
FEWEST = {"train": 10, "dev": 5, "fit": 15, "test": 5}
"""Minimum number of documents in each subset; `fit` combines train and dev."""


@dataclass(frozen=True)
class Ratings:
    """The ratings of a dataset, with one row per rated summary.

    `votes` holds the ratings by aspect in arrays of shape (raters, rows), with NaN for missing ratings, and `raters`
    the raters of each aspect. The rater `people` stands for the aggregated values of rows without individual ratings.
    `span_free` is 1 for a row in which most annotators marked no inconsistent span, 0 for other annotated rows, and NaN
    for rows without annotations of spans.
    """

    documents: Mapping[str, Document]
    summaries: tuple[Summary, ...]
    votes: Mapping[str, Floats]
    raters: Mapping[str, tuple[str, ...]]
    span_free: Floats

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of the rated aspects."""
        return tuple(self.votes)

    def annotators(self, aspect: str) -> tuple[str, ...]:
        """Return the annotators who rated an aspect."""
        return tuple(rater for rater in self.raters[aspect] if rater != PEOPLE)

    def votes_of_annotators(self, aspect: str) -> Floats:
        """Return the annotators' ratings of an aspect.

        The array has shape (annotators, rows), with NaN for missing ratings.
        """
        return self.votes[aspect][[rater != PEOPLE for rater in self.raters[aspect]]]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The texts of each row as (document, summary)."""
        return [(self.documents[row.document_id].text, row.text) for row in self.summaries]

    @cached_property
    def document_codes(self) -> Ints:
        """The document of each row, given as an integer code."""
        return codes([row.document_id for row in self.summaries])

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the documents with rated summaries, by id."""
        doc_ids = dict.fromkeys(row.document_id for row in self.summaries)
        return {doc_id: self.documents[doc_id].text for doc_id in doc_ids}

    @property
    def domains(self) -> dict[str, str | None]:
        """The domains of the documents with rated summaries, by id."""
        return {doc_id: self.documents[doc_id].domain for doc_id in self.texts}

    def document_count(self, rows: Bools) -> int:
        """Return the number of documents with rows selected by a mask."""
        return len(np.unique(self.document_codes[rows]))

    def mean(self, aspect: str) -> Floats:
        """Return the mean rating of each row, or NaN for a row without a rating."""
        return known_mean(self.votes[aspect], axis=0)

    @property
    def digest(self) -> str:
        """A digest of the ratings by aspect and of the annotations of spans."""
        arrays = {**self.votes, "": self.span_free}
        return digest([[name, np.nan_to_num(array, nan=-1e9).tolist()] for name, array in arrays.items()])

    def take(self, rows: Bools) -> Ratings:
        """Return the ratings of the rows selected by a mask."""
        summaries = tuple(row for row, selected in zip(self.summaries, rows.tolist(), strict=True) if selected)
        votes = {aspect: ratings[:, rows] for aspect, ratings in self.votes.items()}
        return replace(self, summaries=summaries, votes=votes, span_free=self.span_free[rows])


def known_mean(ratings: Floats, axis: int) -> Floats:
    """Return the means of the known ratings along an axis, or NaN where all ratings are missing."""
    rated = ~np.isnan(ratings)
    count, total = rated.sum(axis=axis), np.where(rated, ratings, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def read_ratings(
    data: Dataset, aspects: Sequence[str] | None = None, labels: str = LABELS, *, span_free: bool = False
) -> Ratings:
    """Return the ratings of `aspects` in the judgment set `labels`.

    `aspects` defaults to all rated aspects, with SummQual's five first. With `span_free`, the annotations of
    inconsistent spans are read too.

    Raises UsageError if there are no ratings, if an aspect has no ratings or only equal ratings, if the names of two
    aspects differ only in spelling, or if all summaries are by the same system.
    """
    ratings = _ratings(data, labels)
    if not ratings:
        sets = ", ".join(data.judgment_sets) or "none"
        raise UsageError(
            f"{data.card.name} has no ratings of summaries in the judgment set {labels!r} (its sets: {sets}); in flat "
            "data, ratings are human: {ratings: {aspect: {annotator: value}}}"
        )
    known: dict[str, str] = {}
    for name in ratings:
        if (other := known.setdefault(re.sub(r"[\W_]+", "", name).casefold(), name)) != name:
            raise UsageError(
                f"the aspects {other!r} and {name!r} differ only in spelling; if they are one aspect, give them the "
                "same name (summeter data import --map)"
            )
    if aspects is None:
        aspects = [
            *(aspect for aspect in USUAL if aspect in ratings),
            *(aspect for aspect in ratings if aspect not in USUAL),
        ]
    for aspect in aspects:
        if aspect not in ratings:
            raise UsageError(
                f"aspects: {aspect!r} has no ratings{nearest(aspect, ratings)}; rated aspects: {', '.join(ratings)}"
            )
    aspects = list(dict.fromkeys(aspects))
    labelled = _span_free(data, labels) if span_free else {}
    if span_free and not labelled:
        raise UsageError(
            f"span_free: {data.card.name} has no marked spans and no labels of sentences; remove span_free"
        )
    rated = {item for aspect in aspects for votes in ratings[aspect].values() for item in votes} | labelled.keys()
    summaries = tuple(row for row in data.summaries if (row.document_id, row.system) in rated and row.text.strip())
    systems = {row.system for row in summaries}
    if len(systems) < 2:
        raise UsageError(
            f"all rated summaries of {data.card.name} are by one system ({next(iter(systems), 'none')}); training "
            "needs at least two systems, so that summaries of the same document differ"
        )
    items = [(row.document_id, row.system) for row in summaries]
    votes, raters = {}, {}
    for aspect in aspects:
        raters[aspect] = tuple(sorted(ratings[aspect]))
        votes[aspect] = np.array(
            [[ratings[aspect][rater].get(item, np.nan) for item in items] for rater in raters[aspect]],
            dtype=np.float64,
        )
        if len(np.unique(votes[aspect][~np.isnan(votes[aspect])])) < 2:
            raise UsageError(f"all ratings of {aspect} are equal, so nothing can be learned; remove it from aspects")
    free = np.array([labelled.get(item, np.nan) for item in items], dtype=np.float64)
    return Ratings(data.documents, summaries, votes, raters, free)


_Item = tuple[str, str]


def _ratings(data: Dataset, labels: str) -> dict[str, dict[str, dict[_Item, float]]]:
    """Return the ratings by aspect, annotator and summary.

    Aggregated values are used only for summaries without individual ratings.
    """
    if labels not in data.judgment_sets:
        return {}
    signatures = {SIGNATURES[block] for block in _BLOCKS}
    table = JudgmentTable.of(
        judgment
        for judgment in data.iter_judgments(labels)
        if judgment.signature in signatures and judgment.target.unit == "summary" and judgment.value is not None
    )
    ratings: dict[str, dict[str, dict[_Item, float]]] = {}
    for aspect in table.aspect.used():
        rows = without_merged(table.where(aspect=aspect))
        votes = ratings.setdefault(str(aspect), {})
        for item, judge, value in zip(_items(rows), rows.judge.labels(), rows.value.tolist(), strict=True):
            votes.setdefault(str(judge), {})[item] = value
    return ratings


def _items(rows: JudgmentTable) -> list[_Item]:
    return [
        (str(document), str(system))
        for document, system in zip(rows.document.labels(), rows.system.labels(), strict=True)
    ]


def _span_free(data: Dataset, labels: str) -> dict[_Item, float]:
    """Return 1 for each summary in which most annotators marked no inconsistent span, otherwise 0.

    Only annotated summaries are included. For summaries without annotations of spans, the labels of their sentences are
    used.
    """
    labelled = JudgmentTable.of(judgment for judgment in data.iter_judgments(labels) if judgment.label in (0, 1))
    votes: dict[_Item, list[int]] = {}
    for block in ("sentence_labels", SPAN_FREE):
        rows = without_merged(labelled.where(signature=SIGNATURES[block]))
        by_item: dict[_Item, dict[str, int]] = {}
        for item, judge, label in zip(_items(rows), rows.judge.labels(), rows.label.tolist(), strict=True):
            by_judge = by_item.setdefault(item, {})
            by_judge[str(judge)] = min(by_judge.get(str(judge), 1), int(label))
        votes |= {item: list(by_judge.values()) for item, by_judge in by_item.items()}
    return {item: float(2 * sum(free) > len(free)) for item, free in votes.items()}


def check_sizes(ratings: Ratings, subsets: Mapping[str, Bools], what: str = "ratings") -> None:
    """Raise UsageError if there are too few documents with rows in the mask of a subset.

    In the message, `what` describes what these rows have.
    """
    documents = {subset: ratings.document_count(rows) for subset, rows in subsets.items()}
    for subset, count in documents.items():
        if count < FEWEST[subset]:
            sizes = ", ".join(f"{name} {size}" for name, size in documents.items())
            raise UsageError(
                f"too few documents with {what}: {sizes}; {subset} needs at least {FEWEST[subset]}. Rate summaries of "
                "more documents, or change the shares under split, or split.salt"
            )


def scale_ends(ratings: Ratings, aspect: str, scale: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of the scale: `scale`, or the lowest and the highest rating if `scale` is None.

    Raises UsageError if a rating is outside `scale`.
    """
    votes = ratings.votes[aspect][~np.isnan(ratings.votes[aspect])]
    low, high = float(votes.min()), float(votes.max())
    if scale is None:
        return low, high
    if low < scale[0] or high > scale[1]:
        raise UsageError(
            f"scale: ratings of {aspect} range from {low:g} to {high:g}, outside the scale {scale[0]:g} to {scale[1]:g}"
        )
    return scale
