"""What could not be judged, grouped by reason."""

from __future__ import annotations

from collections.abc import Sequence

from summeter.records import Judgment
from summeter.report.blocks import FailureGroup, ItemLink, Source
from summeter.report.items import Where
from summeter.report.words import STATUS

LISTED = 40
# What is wrong comes before what merely was not there to judge.
_ORDER = ("error", "refused", "unparsed", "skipped")

Key = tuple[str, str, str, bool]


class Failing:
    """What could not be judged, while judgments are read. `where` gives the item's number on the page."""

    def __init__(self, sources: Sequence[Source], where: Where) -> None:
        self._labels = {source.key: source.label for source in sources}
        self._where = where
        self._groups: dict[Key, _Group] = {}

    def add(self, run: int, judgment: Judgment) -> None:
        """Take a judgment of a run."""
        if judgment.status == "ok":
            return
        label = self._labels.get((run, judgment.judge, judgment.signature), judgment.judge)
        key = (judgment.status, label, judgment.reason or "", judgment.target.rival is not None)
        group = self._groups.setdefault(key, _Group())
        group.judgments += 1
        group.aspects[judgment.aspect] = None
        document, system, rival = judgment.target.item
        # Two summaries are one pair, in whichever order they were shown.
        names = [system] if rival is None else [system, rival]
        items = [self._where[run, document, name] for name in names if (run, document, name) in self._where]
        if items:
            group.links.setdefault(tuple(sorted(items)), ItemLink(items[0], document, system, rival))

    def groups(self) -> tuple[FailureGroup, ...]:
        """By status, source and reason: the gravest status first, then the largest group."""
        blocks = [_block(key, group) for key, group in self._groups.items()]
        return tuple(sorted(blocks, key=lambda group: (_ORDER.index(group.status), -group.judgments, group.reason)))


class _Group:
    def __init__(self) -> None:
        self.judgments = 0
        self.aspects: dict[str, None] = {}
        self.links: dict[tuple[int, ...], ItemLink] = {}


def _block(key: Key, group: _Group) -> FailureGroup:
    status, label, reason, pairs = key
    listed = [group.links[items] for items in sorted(group.links)[:LISTED]]
    return FailureGroup(
        status=status,
        meaning=STATUS[status],
        source=label,
        aspects=tuple(group.aspects),
        reason=reason,
        judgments=group.judgments,
        items=len(group.links),
        listed=tuple(listed),
        more=max(0, len(group.links) - LISTED),
        pairs=pairs,
    )
