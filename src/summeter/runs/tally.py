"""What one pass over a run's judgments gives: scores, means, pairs, counts. None of the judgments is kept."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from summeter.records import Judgment
from summeter.scoring import (
    Compared,
    HeldScores,
    PairScore,
    Preference,
    ReplyCount,
    ReplyCounter,
    SystemTable,
    composites,
    coverage,
    pair_scores,
    system_scores,
    unit_scores,
)


class LeftOut(NamedTuple):
    """How many judgments go by a document that was not shown whole, and the tokens not shown (estimated).

    `tokens` adds up one figure a judge and summary: its judgments speak of one reading.
    """

    judgments: int
    tokens: int

    def __str__(self) -> str:
        many = f"{self.judgments:,} judgment{' goes' if self.judgments == 1 else 's go'}"
        return f"{many} by a document that the judge was not shown whole (about {self.tokens:,} tokens left out in all)"


class Asked(NamedTuple):
    """What a judge asked of models: the keys of its calls, and the items it judged (not those it skipped)."""

    calls: dict[str, None]
    items: int


class Tally(NamedTuple):
    """A run in numbers. `counts` are judgments by status; `asked` is by signature."""

    scores: HeldScores
    table: SystemTable
    preferences: list[Preference]
    pairs: list[PairScore]
    replies: list[ReplyCount]
    counts: dict[str, int]
    left_out: LeftOut
    coverage: float | None
    asked: dict[str, Asked]


def tally(
    items: Iterable[Sequence[Judgment]], reduce: Mapping[str, str], domains: Mapping[str, str | None], seed: int
) -> Tally:
    """Add up a run. `items` are its judgments, those of one item by one judge together and no question twice;
    `reduce` says how a judge's units become a score, `domains` where each document belongs."""
    adding = _Adding(reduce)
    for judgments in items:
        adding.add(judgments)
    scores, preferences = adding.scores, adding.compared.preferences()
    scores.extend(composites(scores))
    return Tally(
        scores, SystemTable(system_scores(scores, domains, seed=seed)), preferences,
        pair_scores(preferences, seed=seed), adding.replies.counts(), dict(adding.statuses), adding.cut,
        coverage(scores, ((one.n, one.missing) for one in preferences)), adding.asked,
    )  # fmt: skip


class _Adding:
    """The sums while judgments are read."""

    def __init__(self, reduce: Mapping[str, str]) -> None:
        self.reduce = reduce
        self.scores, self.compared, self.replies = HeldScores(), Compared(), ReplyCounter()
        self.statuses: Counter[str] = Counter()
        self.cut = LeftOut(0, 0)
        self.asked: dict[str, Asked] = {}

    def add(self, judgments: Sequence[Judgment]) -> None:
        """Add the judgments of an item by one judge (or of several, all of each)."""
        self.scores.extend(unit_scores(judgments, self.reduce))
        self.compared.add(judgments)
        self.replies.add(judgments)
        self.statuses.update(one.status for one in judgments)
        found = left_out(judgments)
        self.cut = LeftOut(self.cut.judgments + found.judgments, self.cut.tokens + found.tokens)
        for signature in dict.fromkeys(one.signature for one in judgments):
            self._calls(signature, [one for one in judgments if one.signature == signature])

    def _calls(self, signature: str, own: Sequence[Judgment]) -> None:
        calls, items = self.asked.get(signature) or Asked({}, 0)
        for one in own:
            for key in one.calls:
                calls[sys.intern(key)] = None
        self.asked[signature] = Asked(calls, items + len({one.target.item for one in own if one.status != "skipped"}))


def left_out(judgments: Iterable[Judgment]) -> LeftOut:
    """What of documents the judges of a run were not shown; nothing, mostly."""
    cut = [one for one in judgments if one.truncated_tokens]
    readings: dict[tuple[object, ...], int] = {}
    for one in cut:
        key = (one.signature, one.target.item)
        readings[key] = max(readings.get(key, 0), one.truncated_tokens or 0)
    return LeftOut(len(cut), sum(readings.values()))
