"""Compute the totals of a run: scores, means, preferences and counts of judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from summeter.records import Phrase
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
from summeter.scoring.table import Groups, JudgmentTable
from summeter.stats.base import Ints


class Truncated(NamedTuple):
    """The number of judgments based on truncated documents, and the estimated omitted tokens.

    `tokens` counts the omitted tokens once per judge and summary, because a judge's judgments of a summary share a
    prompt.
    """

    judgments: int
    tokens: int

    def __str__(self) -> str:
        text = "{n} judgments are based on a truncated document (about {tokens} tokens were left out in total)"
        one = f"1 judgment is based on a truncated document (about {self.tokens:,} tokens were left out in total)"
        return Phrase(text, shown=one if self.judgments == 1 else None, n=self.judgments, tokens=self.tokens)


class TallyKey(NamedTuple):
    """The key by which judgments are counted.

    `wrong` is true for judgments with the label 0. `third` is the third of the summary in which a judged sentence is, 1
    to 3; it is 0 for other units, and for the only sentence of a summary.
    """

    judge: str
    signature: str
    aspect: str
    unit: str
    system: str
    status: str
    wrong: bool
    error_type: str | None
    third: int


class Work(NamedTuple):
    """The keys of a judge's calls, and the number of items it judged, without skipped items."""

    calls: dict[str, None]
    items: int


@dataclass(frozen=True)
class RunTotals:
    """The totals of a run.

    `statuses` counts judgments by status, and `tally` counts them by `TallyKey`. `unusable` holds the judgments whose
    status is not `ok`. `work` maps signatures to the work of the judges. `coverage` is the share of usable judgments,
    in [0, 1], or None if there are no judgments to count.
    """

    scores: ScoreTable
    systems: SystemTable
    preferences: list[Preference]
    pairs: list[PairScore]
    replies: list[ReplyCount]
    statuses: dict[str, int]
    tally: dict[TallyKey, int]
    unusable: JudgmentTable
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
        """Compute the totals of a run from tables of judgments.

        All judgments of an item, and of a pair in both orders, must be in the same table. `reduce` maps each judge to
        the reduction of units to a score, and `domains` maps document ids to domains. Judges with a signature in
        `partial` have no scores.
        """
        scored_units: list[ScoreTable] = []
        pairs: list[Preference] = []
        replies, tally, work = ReplyCounter(), Counter[TallyKey](), dict[str, Work]()
        unusable: list[JudgmentTable] = []
        truncated = Truncated(0, 0)
        for table in tables:
            scored = without(table, partial)
            scored_units.append(unit_scores(scored, reduce))
            pairs += preferences(scored)
            replies.add(table)
            tally.update(_tally(table))
            if len(rows := table.take(~table.status.equal("ok"))):
                unusable.append(rows)
            cut_rows = table.take(table.truncated_tokens > 0)
            prompts = cut_rows.groups("signature", "document", "system", "rival")
            omitted = np.zeros(len(prompts), np.int64)
            np.maximum.at(omitted, prompts.of, cut_rows.truncated_tokens)
            truncated = Truncated(truncated.judgments + len(cut_rows), truncated.tokens + int(omitted.sum()))
            _add_work(work, table)
        units = ScoreTable.concat(scored_units) if scored_units else ScoreTable.of([])
        scores = ScoreTable.concat([units, composites(units)])
        statuses = Counter[str]()
        for key, number in tally.items():
            statuses[key.status] += number
        return cls(
            scores=scores,
            systems=SystemTable(system_scores(scores, domains, seed=seed), scores, seed=seed),
            preferences=pairs,
            pairs=pair_scores(pairs, seed=seed),
            replies=replies.counts(),
            statuses=dict(statuses),
            tally=dict(tally),
            unusable=JudgmentTable.concat(unusable) if unusable else JudgmentTable.of([]),
            truncated=truncated,
            coverage=coverage(scores, ((row.n, row.missing) for row in pairs)),
            work=work,
        )


def without(table: JudgmentTable, partial: Collection[str]) -> JudgmentTable:
    """Return the table without the judgments of judges whose signature is in `partial`."""
    if not partial:
        return table
    kept = np.array([name not in partial for name in table.signature.names], np.bool_)
    return table.take(kept[table.signature.codes])


def _tally(table: JudgmentTable) -> dict[TallyKey, int]:
    """Count the judgments of a table by `TallyKey`."""
    computed = {"wrong": (table.label == 0).astype(np.int64), "third": _thirds(table)}
    groups = Groups.by(*(computed[name] if name in computed else getattr(table, name) for name in TallyKey._fields))
    counts = np.bincount(groups.of, minlength=len(groups)).tolist()
    columns = [
        computed[name][groups.first].tolist() if name in computed else getattr(table, name).take(groups.first).labels()
        for name in TallyKey._fields
    ]
    return dict(zip(map(TallyKey, *columns), counts, strict=True))


def _thirds(table: JudgmentTable) -> Ints:
    """Return `TallyKey.third` of each judgment; a summary has the sentences up to the last one that was judged."""
    index = np.where(table.unit.equal("sentence"), table.index, -1)
    items = table.groups("signature", "document", "system")
    sentences = np.zeros(len(items), np.int64)
    np.maximum.at(sentences, items.of, index + 1)
    number = sentences[items.of]
    return np.where((index < 0) | (number < 2), 0, 1 + (2 * index + 1) * 3 // (2 * np.maximum(number, 1)))


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
