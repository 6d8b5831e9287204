"""What could not be judged, grouped by reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from summeter.records import Status
from summeter.report.blocks import FailureGroup, ItemLink, Source
from summeter.report.items import Where
from summeter.report.views import RunView
from summeter.report.words import STATUS

LISTED = 40
# What is wrong comes before what merely was not there to judge.
_ORDER = ("error", "refused", "unparsed", "skipped")

Key = tuple[Status, str, str, bool]


def failures(views: Sequence[RunView], sources: Sequence[Source], where: Where) -> tuple[FailureGroup, ...]:
    """What could not be judged, by status, source and reason: the gravest status first, then the largest group.
    `where` gives an item's number on the page."""
    labels = {source.key: source.label for source in sources}
    groups: dict[Key, _Group] = {}
    for view in views:
        rows = view.folder.totals.unusable
        columns = (getattr(rows, field.name).labels() for field in fields(rows))
        for status, judge, signature, aspect, reason, document, system, rival in zip(*columns, strict=True):
            label = labels.get((view.place, judge, signature), judge)
            group = groups.setdefault((status, label, reason or "", rival is not None), _Group())
            group.judgments += 1
            group.aspects[aspect] = None
            # Two summaries are one pair, in whichever order they were shown.
            names = [system] if rival is None else [system, rival]
            items = [number for name in names if (number := where.get((view.place, document, name))) is not None]
            if items:
                group.links.setdefault(tuple(sorted(items)), ItemLink(items[0], document, system, rival))
            # Runs over equal data under other ids share items; a page that lists a sample has no numbers of the others.
            group.items.add(tuple(sorted(items)) if view.listed is None else (document, *sorted(names)))
    blocks = [_block(key, group) for key, group in groups.items()]
    return tuple(sorted(blocks, key=lambda group: (_ORDER.index(group.status), -group.judgments, group.reason)))


class _Group:
    def __init__(self) -> None:
        self.judgments = 0
        self.aspects: dict[str, None] = {}
        self.links: dict[tuple[int, ...], ItemLink] = {}
        self.items: set[tuple[int, ...] | tuple[str, ...]] = set()


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
        items=len(group.items),
        listed=tuple(listed),
        more=len(group.items) - len(listed),
        pairs=pairs,
    )
