"""Judgments that could not be made, grouped by the reason."""

from __future__ import annotations

from collections.abc import Sequence

from summeter.report.blocks import FailureGroup, ItemLink
from summeter.report.items import Where
from summeter.report.views import RunView, Source
from summeter.scoring.scores import STATUS_SEVERITY


def failures(views: Sequence[RunView], sources: Sequence[Source], where: Where) -> tuple[FailureGroup, ...]:
    """Return the missing judgments, grouped by status, source and reason.

    Groups with the most severe status come first, and among these the largest groups. `where` maps items to their
    numbers on the page.
    """
    labels = {source.key: source.label for source in sources}
    groups: dict[tuple[str, str, str, bool], FailureGroup] = {}
    for view in views:
        rows = view.folder.totals.unusable
        fields = ("status", "judge", "signature", "aspect", "reason", "document", "system", "rival")
        columns = (getattr(rows, name).labels() for name in fields)
        for status, judge, signature, aspect, reason, document, system, rival in zip(*columns, strict=True):
            key = (status, labels.get((view.number, judge, signature), judge), reason or "", rival is not None)
            group = groups.setdefault(key, FailureGroup(*key))
            group.judgments += 1
            group.aspects[aspect] = None
            # A pair is one item in both orders of presentation.
            names = [system] if rival is None else [system, rival]
            items = [number for name in names if (number := where.get((view.number, document, name))) is not None]
            if items:
                group.links.setdefault(tuple(sorted(items)), ItemLink(items[0], document, system, rival))
            # Runs with different ids for the same data share items. In a sample, only the sampled items have numbers.
            group.items.add(tuple(sorted(items)) if view.listed is None else (document, *sorted(names)))
    return tuple(
        sorted(groups.values(), key=lambda group: (STATUS_SEVERITY.index(group.status), -group.judgments, group.reason))
    )
