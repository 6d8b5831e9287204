"""Counts of a judge's usable replies, and of the unusable ones by class of error.

The classes refine those of FineSurE, section 4.2 (Song et al., ACL 2024); see `REPLY_FAULTS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from summeter.records import REPLY_FAULTS, Judgment, Record, fault_of
from summeter.scoring.table import JudgmentTable

_WORDS: dict[str, str] = {str(fault): words for fault, words in REPLY_FAULTS.items()}


class ReplyCount(Record):
    """Numbers of usable and unusable replies of one judge.

    `faults` counts the unusable replies by class: no_json, meaningless, wrong_count, ambiguous, truncated, refused, or
    "other" if the reason names no class.
    """

    judge: str
    signature: str
    model: str | None
    replies: int
    usable: int
    faults: dict[str, int]

    @property
    def success(self) -> float:
        """Share of usable replies, from 0 to 1."""
        return self.usable / self.replies

    def __str__(self) -> str:
        return self.line(self.judge)

    def line(self, name: str) -> str:
        """Return a line such as `finesure.align: 97 of 100 replies usable (97.0%); wrong count 2, no JSON 1`.

        A share below 1 is never rounded to 100.0%.
        """
        unusable = ", ".join(f"{_WORDS.get(fault, fault)} {n}" for fault, n in self.faults.items())
        tail = f"; {unusable}" if unusable else ""
        share = self.success if self.usable == self.replies else min(self.success, 0.999)
        return f"{name}: {self.usable} of {self.replies} replies usable ({share:.1%}){tail}"


def reply_counts(judgments: Iterable[Judgment] | JudgmentTable) -> list[ReplyCount]:
    """Return one count per signature, in order of first appearance.

    Judges that made no calls are left out.

    All judgments of one item that come from the same calls count as one reply. An item that failed before the call (for
    example, because it has no key facts) counts as one unusable reply. Judgments that were skipped or ended in an error
    have no reply.

    >>> reply_counts([])
    []
    """
    counter = ReplyCounter()
    counter.add(JudgmentTable.of(judgments))
    return counter.counts()


class ReplyCounter:
    """Counter of replies for judgments that are added in batches (see `reply_counts`).

    All judgments of an item must be in the same batch.
    """

    def __init__(self) -> None:
        self._replies: Counter[str] = Counter()
        self._faults: dict[str, Counter[str]] = {}
        self._about: dict[str, tuple[str, str | None]] = {}

    def add(self, table: JudgmentTable) -> None:
        """Add a batch of judgments."""
        unusable = table.status.equal("unparsed", "refused")
        answered = table.take(unusable | (table.status.equal("ok") & ~table.calls.equal("")))
        replies = answered.groups("signature", "document", "system", "rival", "calls")
        # A reply is unusable if the judgment of any unit is unusable; the last such judgment gives the reason.
        deciding = replies.first.copy()
        failed = np.flatnonzero(~answered.status.equal("ok"))
        deciding[replies.of[failed]] = failed
        columns = (answered.signature, answered.judge, answered.model, answered.status, answered.reason)
        rows = zip(*(column.take(deciding).labels() for column in columns), strict=True)
        for signature, judge, model, status, reason in rows:
            self._about.setdefault(signature, (judge, model))
            self._replies[signature] += 1
            if status != "ok":
                fault = "refused" if status == "refused" else fault_of(reason) or "other"
                self._faults.setdefault(signature, Counter())[fault] += 1

    def counts(self) -> list[ReplyCount]:
        """Return the counts of all batches so far."""
        return [
            ReplyCount(
                judge=judge,
                signature=signature,
                model=model,
                replies=self._replies[signature],
                usable=self._replies[signature] - sum(self._faults.get(signature, {}).values()),
                faults=dict(self._faults.get(signature, Counter()).most_common()),
            )
            for signature, (judge, model) in self._about.items()
        ]
