"""People's ratings of summaries, as numbers to train on: read from a dataset, and checked before any work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from summeter.data.dataset import Dataset
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SIGNATURES, SPAN_FREE
from summeter.meta.gold import without_merged
from summeter.records import Document, Summary, UsageError, nearest
from summeter.scoring.table import JudgmentTable
from summeter.stats.base import Bools, Floats, Ints, codes

USUAL = ("coherence", "consistency", "coverage", "fluency", "overall")
"""SummQual's five aspects, in its order: they come first."""
LABELS = "human.raw"
_BLOCKS = ("ratings", "overall", "crowd_ratings")
FEWEST = {"train": 10, "dev": 5, "test": 5}
"""The fewest documents a part may have."""


@dataclass(frozen=True)
class Ratings:
    """The rated summaries of a dataset, one a row.

    `votes` holds by aspect the ratings (raters x rows, NaN for none) and `raters` who gave them; the rater `people`
    stands for values that were merged before, on rows that no annotator rated. `span_free` is 1 where most readers
    found no inconsistent span, 0 where they found one, NaN where nobody looked.
    """

    documents: Mapping[str, Document]
    summaries: tuple[Summary, ...]
    votes: Mapping[str, Floats]
    raters: Mapping[str, tuple[str, ...]]
    span_free: Floats

    @property
    def aspects(self) -> tuple[str, ...]:
        """The rated aspects."""
        return tuple(self.votes)

    def annotators(self, aspect: str) -> tuple[str, ...]:
        """Who rated an aspect: the raters without merged values."""
        return tuple(rater for rater in self.raters[aspect] if rater != PEOPLE)

    def votes_of_annotators(self, aspect: str) -> Floats:
        """The ratings of `annotators`: shape (annotators, rows), NaN for none."""
        return self.votes[aspect][[rater != PEOPLE for rater in self.raters[aspect]]]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """(document, summary) of each row."""
        return [(self.documents[row.document_id].text, row.text) for row in self.summaries]

    @cached_property
    def document_codes(self) -> Ints:
        """The document of each row, as a number."""
        return codes([row.document_id for row in self.summaries])

    @property
    def texts(self) -> dict[str, str]:
        """The text of each document that has a rated summary."""
        wanted = dict.fromkeys(row.document_id for row in self.summaries)
        return {doc_id: self.documents[doc_id].text for doc_id in wanted}

    @property
    def domains(self) -> dict[str, str | None]:
        """The domain of each document that has a rated summary."""
        return {doc_id: self.documents[doc_id].domain for doc_id in self.texts}

    def mean(self, aspect: str) -> Floats:
        """The mean rating of each row, NaN where there is none."""
        votes = self.votes[aspect]
        given = ~np.isnan(votes)
        count = given.sum(axis=0)
        total = np.where(given, votes, 0.0).sum(axis=0)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def take(self, rows: Bools) -> Ratings:
        """Some of the rows."""
        kept = [row for row, own in zip(self.summaries, rows.tolist(), strict=True) if own]
        votes = {aspect: cast[:, rows] for aspect, cast in self.votes.items()}
        return replace(self, summaries=tuple(kept), votes=votes, span_free=self.span_free[rows])


def read_ratings(
    data: Dataset, aspects: Sequence[str] | None = None, labels: str = LABELS, *, span_free: bool = False
) -> Ratings:
    """The ratings of `aspects` in the judgment set `labels`; by default all that were rated, SummQual's five first.

    Raises UsageError where nothing was rated, for aspects that nobody rated or that differ in spelling alone, where
    all summaries are by one system, and where all ratings of an aspect are alike.
    """
    cast = _cast(data, labels)
    if not cast:
        there = ", ".join(data.judgment_sets) or "none"
        raise UsageError(
            f"{data.card.name} has no ratings of summaries in the judgment set {labels!r} (its sets: {there}); a flat "
            "row gives them as human: {ratings: {aspect: {annotator: value}}}"
        )
    _check_names(cast)
    chosen = _chosen(cast, aspects)
    readers = _readers(data, labels) if span_free else {}
    if span_free and not readers:
        raise UsageError(
            f"span_free: nobody looked for inconsistent spans or judged sentences in {data.card.name}; leave it out"
        )
    rated = {item for aspect in chosen for votes in cast[aspect].values() for item in votes} | readers.keys()
    summaries = tuple(row for row in data.summaries if (row.document_id, row.system) in rated and row.text.strip())
    systems = {row.system for row in summaries}
    if len(systems) < 2:
        raise UsageError(
            f"all rated summaries of {data.card.name} are by one system ({next(iter(systems), 'none')}): nothing in "
            "them tells a good summary from a bad one of the same document; a training needs two systems or more"
        )
    items = [(row.document_id, row.system) for row in summaries]
    votes, raters = {}, {}
    for aspect in chosen:
        raters[aspect] = tuple(sorted(cast[aspect]))
        votes[aspect] = np.array(
            [[cast[aspect][rater].get(item, np.nan) for item in items] for rater in raters[aspect]], dtype=np.float64
        )
        if len(np.unique(votes[aspect][~np.isnan(votes[aspect])])) < 2:
            raise UsageError(f"all ratings of {aspect} are alike: there is nothing to learn; leave it out of aspects")
    free = np.array([readers.get(item, np.nan) for item in items], dtype=np.float64)
    return Ratings(data.documents, summaries, votes, raters, free)


_Item = tuple[str, str]


def _cast(data: Dataset, labels: str) -> dict[str, dict[str, dict[_Item, float]]]:
    """The rating of each summary by aspect and annotator; a merged value only where no annotator rated."""
    if labels not in data.judgment_sets:
        return {}
    marks = {SIGNATURES[block] for block in _BLOCKS}
    given = JudgmentTable.of(
        judgment
        for judgment in data.iter_judgments(labels)
        if judgment.signature in marks and judgment.target.unit == "summary" and judgment.value is not None
    )
    cast: dict[str, dict[str, dict[_Item, float]]] = {}
    for aspect in given.aspect.used():
        rows = without_merged(given.where(aspect=aspect))
        votes = cast.setdefault(str(aspect), {})
        for item, judge, value in zip(_items(rows), rows.judge.labels(), rows.value.tolist(), strict=True):
            votes.setdefault(str(judge), {})[item] = value
    return cast


def _items(rows: JudgmentTable) -> list[_Item]:
    return [
        (str(document), str(system))
        for document, system in zip(rows.document.labels(), rows.system.labels(), strict=True)
    ]


def _readers(data: Dataset, labels: str) -> dict[_Item, float]:
    """1 for each summary in which most readers found no inconsistent span, 0 where half or more found one; where
    nobody marked spans, by the labels of its sentences."""
    labelled = JudgmentTable.of(judgment for judgment in data.iter_judgments(labels) if judgment.label in (0, 1))
    votes: dict[_Item, list[int]] = {}
    for block in ("sentence_labels", SPAN_FREE):
        rows = without_merged(labelled.where(signature=SIGNATURES[block]))
        own: dict[_Item, dict[str, int]] = {}
        for item, judge, label in zip(_items(rows), rows.judge.labels(), rows.label.tolist(), strict=True):
            by_judge = own.setdefault(item, {})
            by_judge[str(judge)] = min(by_judge.get(str(judge), 1), int(label))
        votes |= {item: list(by_judge.values()) for item, by_judge in own.items()}
    return {item: float(2 * sum(free) > len(free)) for item, free in votes.items()}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _check_names(names: Iterable[str]) -> None:
    known: dict[str, str] = {}
    for name in names:
        if (other := known.setdefault(_plain(name), name)) != name:
            raise UsageError(
                f"the data rate {other!r} and {name!r}, which differ in spelling alone: if they are one aspect, give "
                "them one name (summeter data import --map); one judge cannot be trained on both"
            )


def _chosen(cast: Mapping[str, object], aspects: Sequence[str] | None) -> list[str]:
    if aspects is None:
        return [*(aspect for aspect in USUAL if aspect in cast), *(aspect for aspect in cast if aspect not in USUAL)]
    for aspect in aspects:
        if aspect not in cast:
            raise UsageError(f"aspects: nobody rated {aspect!r}{nearest(aspect, cast)}; rated are: {', '.join(cast)}")
    return list(dict.fromkeys(aspects))


def check_parts(documents: Mapping[str, int], *, test: bool = True) -> None:
    """UsageError where a part has too few documents (by part, how many it has) to say anything by."""
    for part, fewest in FEWEST.items():
        if (part != "test" or test) and documents[part] < fewest:
            parts = ", ".join(f"{name} {count}" for name, count in documents.items())
            raise UsageError(
                f"too few documents with ratings: {parts}; {part} needs at least {fewest}. Rate summaries of more "
                "documents, or change the shares under split, or split.salt"
            )


def scale_ends(ratings: Ratings, aspect: str, scale: tuple[float, float] | None) -> tuple[float, float]:
    """The scale's ends: as given, else the lowest and the highest rating."""
    votes = ratings.votes[aspect][~np.isnan(ratings.votes[aspect])]
    low, high = float(votes.min()), float(votes.max())
    if scale is None:
        return low, high
    if low < scale[0] or high > scale[1]:
        raise UsageError(
            f"scale: ratings of {aspect} go from {low:g} to {high:g}, beyond the scale {scale[0]:g} to {scale[1]:g}"
        )
    return scale
