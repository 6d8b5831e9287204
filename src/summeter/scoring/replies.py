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
    counter = ReplyCounter()
    counter.add(judgments)
    return counter.counts()


class ReplyCounter:
    """Counts replies while judgments are read; those of one item and signature must come in one `add`."""

    def __init__(self) -> None:
        # By signature: judge, model, replies, and the unusable ones by fault.
        self._found: dict[str, tuple[str, str | None, Counter[str]]] = {}
        self._replies: Counter[str] = Counter()

    def add(self, judgments: Iterable[Judgment]) -> None:
        """Count the replies behind these judgments."""
        replies: dict[Hashable, Judgment] = {}
        for one in judgments:
            if one.status in {"unparsed", "refused"} or (one.status == "ok" and one.calls):
                place = (one.signature, one.target.item, one.calls)
                # One unit of a reply that could not be used makes the reply unusable.
                if place not in replies or one.status != "ok":
                    replies[place] = one
        for one in replies.values():
            _, _, faults = self._found.setdefault(one.signature, (one.judge, one.model, Counter()))
            self._replies[one.signature] += 1
            if one.status != "ok":
                faults[_fault(one)] += 1

    def counts(self) -> list[ReplyCount]:
        """What was counted, as `reply_counts` gives it."""
        return [
            ReplyCount(
                judge=judge, signature=signature, model=model, replies=self._replies[signature],
                usable=self._replies[signature] - faults.total(), faults=dict(faults.most_common()),
            )
            for signature, (judge, model, faults) in self._found.items()
        ]  # fmt: skip


def _fault(one: Judgment) -> str:
    return "refused" if one.status == "refused" else fault_of(one.reason) or "other"


def _words(fault: str) -> str:
    return next((words for name, words in REPLY_FAULTS.items() if name == fault), fault)
