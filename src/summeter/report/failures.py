"""What could not be judged, grouped by reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from summeter.report.blocks import FailureGroup, ItemLink
from summeter.report.items import Where
from summeter.report.views import RunView, Source
from summeter.scoring.scores import STATUS_SEVERITY


def failures(views: Sequence[RunView], sources: Sequence[Source], where: Where) -> tuple[FailureGroup, ...]:
    """What could not be judged, by status, source and reason: the gravest status first, then the largest group.
    `where` gives an item's number on the page."""
    labels = {source.key: source.label for source in sources}
    groups: dict[tuple[str, str, str, bool], FailureGroup] = {}
    for view in views:
        rows = view.folder.totals.unusable
        columns = (getattr(rows, field.name).labels() for field in fields(rows))
        for status, judge, signature, aspect, reason, document, system, rival in zip(*columns, strict=True):
            key = (status, labels.get((view.place, judge, signature), judge), reason or "", rival is not None)
            group = groups.setdefault(key, FailureGroup(*key))
            group.judgments += 1
            group.aspects[aspect] = None
            # Two summaries are one pair, in whichever order they were shown.
            names = [system] if rival is None else [system, rival]
            items = [number for name in names if (number := where.get((view.place, document, name))) is not None]
            if items:
                group.links.setdefault(tuple(sorted(items)), ItemLink(items[0], document, system, rival))
            # Runs over equal data under other ids share items; a page that lists a sample has no numbers of the others.
            group.items.add(tuple(sorted(items)) if view.listed is None else (document, *sorted(names)))
    return tuple(
        sorted(groups.values(), key=lambda group: (STATUS_SEVERITY.index(group.status), -group.judgments, group.reason))
    )
