"""How many of a judge's replies could be used, and what was wrong with the others, by class.

The classes are those of FineSurE, section 4.2 (Song et al., ACL 2024), told apart further: see `REPLY_FAULTS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from summeter.records import REPLY_FAULTS, Judgment, Record, fault_of


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
        unusable = ", ".join(f"{_words(fault)} {n}" for fault, n in self.faults.items())
        tail = f"; {unusable}" if unusable else ""
        share = self.success if self.usable == self.replies else min(self.success, 0.999)
        return f"{name}: {self.usable} of {self.replies} replies usable ({share:.1%}){tail}"


def reply_counts(judgments: Iterable[Judgment]) -> list[ReplyCount]:
    """One count a signature, in order of first appearance; judges that made no calls have none.

    A reply is all that one item has from the same calls. An item that failed before it was asked about (no key
    facts could be had) counts as one unusable reply. What was skipped, or met an error, had no reply.

    >>> reply_counts([])
    []
    """
    found: dict[str, dict[Hashable, Judgment]] = {}
    for one in judgments:
        if one.status in {"unparsed", "refused"} or (one.status == "ok" and one.calls):
            replies = found.setdefault(one.signature, {})
            place = (one.target.item, one.calls)
            # One unit of a reply that could not be used makes the reply unusable.
            if place not in replies or one.status != "ok":
                replies[place] = one
    return [_count(list(replies.values())) for replies in found.values()]


def _count(replies: list[Judgment]) -> ReplyCount:
    first = replies[0]
    faults = Counter(_fault(one) for one in replies if one.status != "ok")
    return ReplyCount(
        judge=first.judge, signature=first.signature, model=first.model, replies=len(replies),
        usable=len(replies) - faults.total(), faults=dict(faults.most_common()),
    )  # fmt: skip


def _fault(one: Judgment) -> str:
    return "refused" if one.status == "refused" else fault_of(one.reason) or "other"


def _words(fault: str) -> str:
    return next((words for name, words in REPLY_FAULTS.items() if name == fault), fault)
