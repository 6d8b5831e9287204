"""A run in numbers: scores, means, pairs and counts of its judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from summeter.scoring import (
    PairScore,
    Preference,
    ReplyCount,
    ScoreTable,
    SystemTable,
    coverage,
    pair_scores,
    preferences,
    reply_counts,
    summary_scores,
    system_scores,
)
from summeter.scoring.table import JudgmentTable


class Truncated(NamedTuple):
    """How many judgments go by a document that was not shown whole, and the tokens not shown (estimated).

    `tokens` adds up one figure a judge and summary: its judgments speak of one reading.
    """

    judgments: int
    tokens: int

    def __str__(self) -> str:
        many = f"{self.judgments:,} judgment{' goes' if self.judgments == 1 else 's go'}"
        return f"{many} by a document that the judge was not shown whole (about {self.tokens:,} tokens left out in all)"


class Work(NamedTuple):
    """What a judge did: the keys of its calls, and how many items it judged (not those it skipped)."""

    calls: dict[str, None]
    items: int


@dataclass(frozen=True)
class RunTotals:
    """`statuses` counts judgments by status; `work` is by signature."""

    scores: ScoreTable
    systems: SystemTable
    preferences: list[Preference]
    pairs: list[PairScore]
    replies: list[ReplyCount]
    statuses: dict[str, int]
    truncated: Truncated
    coverage: float | None
    work: dict[str, Work]

    @classmethod
    def of(
        cls, table: JudgmentTable, reduce: Mapping[str, str], domains: Mapping[str, str | None], seed: int
    ) -> RunTotals:
        """Add up a run. `reduce` says how a judge's units become a score, `domains` where each document belongs."""
        scores, pairs = summary_scores(table, reduce), preferences(table)
        counts = np.bincount(table.status.codes, minlength=len(table.status.names)).tolist()
        return cls(
            scores=scores,
            systems=SystemTable(system_scores(scores, domains, seed=seed), scores, seed=seed),
            preferences=pairs,
            pairs=pair_scores(pairs, seed=seed),
            replies=reply_counts(table),
            statuses={name: n for name, n in zip(table.status.names, counts, strict=True) if name is not None and n},
            truncated=_truncated(table),
            coverage=coverage(scores, ((row.n, row.missing) for row in pairs)),
            work=_work(table),
        )


def _truncated(table: JudgmentTable) -> Truncated:
    cut = table.take(table.truncated_tokens > 0)
    readings = cut.groups("signature", "document", "system", "rival")
    most = np.zeros(len(readings), np.int64)
    np.maximum.at(most, readings.of, cut.truncated_tokens)
    return Truncated(len(cut), int(most.sum()))


def _work(table: JudgmentTable) -> dict[str, Work]:
    judged = table.take(~table.status.equal("skipped"))
    items = judged.take(judged.groups("signature", "document", "system", "rival").first).signature
    counts = dict(zip(items.names, np.bincount(items.codes, minlength=len(items.names)).tolist(), strict=True))
    sources = table.take(table.groups("signature", "calls").first)
    calls: dict[str, dict[str, None]] = {}
    for signature, keys in zip(sources.signature.labels(), sources.calls.labels(), strict=True):
        calls.setdefault(signature, {}).update(dict.fromkeys(keys.split()))
    return {signature: Work(keys, counts.get(signature, 0)) for signature, keys in calls.items()}
