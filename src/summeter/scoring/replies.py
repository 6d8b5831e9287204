"""How many of a judge's replies could be used, and what was wrong with the others, by class.

The classes are those of FineSurE, section 4.2 (Song et al., ACL 2024), told apart further: see `REPLY_FAULTS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from summeter.records import REPLY_FAULTS, Judgment, Record, fault_of
from summeter.scoring.table import JudgmentTable

_WORDS: dict[str, str] = {str(fault): words for fault, words in REPLY_FAULTS.items()}


class ReplyCount(Record):
    """Replies of one judge. `faults` counts the unusable ones by class: no_json, meaningless, wrong_count,
    ambiguous, truncated, refused, and "other" where the reason names none."""

    judge: str
    signature: str
    model: str | None
    replies: int
    usable: int
    faults: dict[str, int]

    @property
    def success(self) -> float:
        """Share of replies that could be used, from 0 to 1."""
        return self.usable / self.replies

    def __str__(self) -> str:
        """As printed, by the judge's name."""
        return self.line(self.judge)

    def line(self, name: str) -> str:
        """As printed: `finesure.align: 97 of 100 replies usable (97.0%); wrong count 2, no JSON 1`. No share
        under 1 is rounded to 100.0%."""
        unusable = ", ".join(f"{_WORDS.get(fault, fault)} {n}" for fault, n in self.faults.items())
        tail = f"; {unusable}" if unusable else ""
        share = self.success if self.usable == self.replies else min(self.success, 0.999)
        return f"{name}: {self.usable} of {self.replies} replies usable ({share:.1%}){tail}"


def reply_counts(judgments: Iterable[Judgment] | JudgmentTable) -> list[ReplyCount]:
    """One count a signature, in order of first appearance; judges that made no calls have none.

    A reply is all that one item has from the same calls. An item that failed before it was asked about (no key
    facts could be had) counts as one unusable reply. What was skipped, or met an error, had no reply.

    >>> reply_counts([])
    []
    """
    counter = ReplyCounter()
    counter.add(JudgmentTable.of(judgments))
    return counter.counts()


class ReplyCounter:
    """`reply_counts` of judgments that come in parts, all those of an item in one."""

    def __init__(self) -> None:
        self._replies: Counter[str] = Counter()
        self._faults: dict[str, Counter[str]] = {}
        self._about: dict[str, tuple[str, str | None]] = {}

    def add(self, table: JudgmentTable) -> None:
        """Take a part."""
        unusable = table.status.equal("unparsed", "refused")
        answered = table.take(unusable | (table.status.equal("ok") & ~table.calls.equal("")))
        replies = answered.groups("signature", "document", "system", "rival", "calls")
        # One unit of a reply that could not be used makes the reply unusable; the last such unit says why.
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
        """The counts so far."""
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
