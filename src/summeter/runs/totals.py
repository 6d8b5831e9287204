"""A run in numbers: scores, means, pairs and counts of its judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from summeter.scoring import (
    PairScore,
    Preference,
    ReplyCount,
    ScoreTable,
    SystemTable,
    composites,
    coverage,
    pair_scores,
    preferences,
    system_scores,
)
from summeter.scoring.replies import ReplyCounter
from summeter.scoring.scores import unit_scores
from summeter.scoring.table import Categorical, Columns, Groups, JudgmentTable


class Truncated(NamedTuple):
    """How many judgments go by a document that was not shown whole, and the tokens not shown (estimated).

    `tokens` adds up one figure a judge and summary: its judgments speak of one reading.
    """

    judgments: int
    tokens: int

    def more(self, other: Truncated) -> Truncated:
        """Both together."""
        return Truncated(self.judgments + other.judgments, self.tokens + other.tokens)

    def __str__(self) -> str:
        many = f"{self.judgments:,} judgment{' goes' if self.judgments == 1 else 's go'}"
        return f"{many} by a document that the judge was not shown whole (about {self.tokens:,} tokens left out in all)"


class TallyKey(NamedTuple):
    """What judgments have in common that are counted together; `wrong`: labelled 0."""

    judge: str
    signature: str
    aspect: str
    unit: str
    system: str
    status: str
    wrong: bool
    error_type: str | None


@dataclass(frozen=True)
class Unusable(Columns):
    """Judgments that are not ok, row by row."""

    status: Categorical
    judge: Categorical
    signature: Categorical
    aspect: Categorical
    reason: Categorical
    document: Categorical
    system: Categorical
    rival: Categorical

    @classmethod
    def of(cls, table: JudgmentTable) -> Unusable:
        """Those of a table."""
        rows = ~table.status.equal("ok")
        return cls(**{column.name: getattr(table, column.name).take(rows) for column in fields(cls)})

    def __len__(self) -> int:
        return len(self.status.codes)


class Work(NamedTuple):
    """What a judge did: the keys of its calls, and how many items it judged (not those it skipped)."""

    calls: dict[str, None]
    items: int


@dataclass(frozen=True)
class RunTotals:
    """`statuses` counts judgments by status, `tally` by all that `TallyKey` names; `work` is by signature."""

    scores: ScoreTable
    systems: SystemTable
    preferences: list[Preference]
    pairs: list[PairScore]
    replies: list[ReplyCount]
    statuses: dict[str, int]
    tally: dict[TallyKey, int]
    unusable: Unusable
    truncated: Truncated
    coverage: float | None
    work: dict[str, Work]

    @classmethod
    def of(
        cls,
        tables: Iterable[JudgmentTable],
        reduce: Mapping[str, str],
        domains: Mapping[str, str | None],
        seed: int,
        partial: Collection[str] = (),
    ) -> RunTotals:
        """Add up a run, whose judgments come in parts, all those of an item (and of a pair, either way round) in one.
        `reduce` says how a judge's units become a score, `domains` where each document belongs; the judges signed
        `partial` have no scores."""
        parts: list[ScoreTable] = []
        pairs: list[Preference] = []
        replies, tally, work = ReplyCounter(), Counter[TallyKey](), dict[str, Work]()
        unusable: list[Unusable] = []
        truncated = Truncated(0, 0)
        for table in tables:
            scored = without(table, partial)
            parts.append(unit_scores(scored, reduce))
            pairs += preferences(scored)
            replies.add(table)
            tally.update(_tally(table))
            if len(others := Unusable.of(table)):
                unusable.append(others)
            truncated = truncated.more(_truncated(table))
            _add_work(work, table)
        units = ScoreTable.concat(parts) if parts else ScoreTable.of([])
        scores = ScoreTable.concat([units, composites(units)])
        statuses = Counter[str]()
        for alike, number in tally.items():
            statuses[alike.status] += number
        return cls(
            scores=scores,
            systems=SystemTable(system_scores(scores, domains, seed=seed), scores, seed=seed),
            preferences=pairs,
            pairs=pair_scores(pairs, seed=seed),
            replies=replies.counts(),
            statuses=dict(statuses),
            tally=dict(tally),
            unusable=Unusable.concat(unusable) if unusable else Unusable.of(JudgmentTable.of([])),
            truncated=truncated,
            coverage=coverage(scores, ((row.n, row.missing) for row in pairs)),
            work=work,
        )


def without(table: JudgmentTable, partial: Collection[str]) -> JudgmentTable:
    """The judgments but for those of the judges signed `partial`."""
    if not partial:
        return table
    kept = np.array([name not in partial for name in table.signature.names], np.bool_)
    return table.take(kept[table.signature.codes])


def _tally(table: JudgmentTable) -> dict[TallyKey, int]:
    """How many judgments of a table have what in common."""
    wrong = table.label == 0
    names = [getattr(table, name) for name in TallyKey._fields if name != "wrong"]
    groups = Groups.by(*names, wrong.astype(np.int64))
    counts = np.bincount(groups.of, minlength=len(groups)).tolist()
    columns = [
        wrong[groups.first].tolist() if name == "wrong" else getattr(table, name).take(groups.first).labels()
        for name in TallyKey._fields
    ]
    return dict(zip(map(TallyKey, *columns), counts, strict=True))


def _truncated(table: JudgmentTable) -> Truncated:
    cut = table.take(table.truncated_tokens > 0)
    readings = cut.groups("signature", "document", "system", "rival")
    most = np.zeros(len(readings), np.int64)
    np.maximum.at(most, readings.of, cut.truncated_tokens)
    return Truncated(len(cut), int(most.sum()))


def _add_work(work: dict[str, Work], table: JudgmentTable) -> None:
    judged = table.take(~table.status.equal("skipped"))
    items = judged.take(judged.groups("signature", "document", "system", "rival").first).signature
    counts = dict(zip(items.names, np.bincount(items.codes, minlength=len(items.names)).tolist(), strict=True))
    sources = table.take(table.groups("signature", "calls").first)
    for signature, keys in zip(sources.signature.labels(), sources.calls.labels(), strict=True):
        work.setdefault(signature, Work({}, 0)).calls.update(dict.fromkeys(keys.split()))
    for signature, number in counts.items():
        if signature in work:
            work[signature] = work[signature]._replace(items=work[signature].items + number)
