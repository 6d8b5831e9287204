"""What could not be judged, grouped by reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from summeter.records import Judgment
from summeter.report.blocks import FailureGroup, ItemLink
from summeter.report.views import RunView, Source
from summeter.report.words import STATUS

LISTED = 40
# What is wrong comes before what merely was not there to judge.
_ORDER = ("error", "refused", "unparsed", "skipped")

Where = Mapping[tuple[int, str, str], int]
Key = tuple[str, str, str, bool]


def failures(views: Sequence[RunView], sources: Sequence[Source], where: Where) -> tuple[FailureGroup, ...]:
    """Groups by status, source and reason, the gravest status first, then the largest group.

    `where` gives the item's number on the page for (run, document, system).
    """
    labels = {(source.run, source.judge, source.signature): source.label for source in sources}
    groups: dict[Key, list[tuple[int, Judgment]]] = {}
    for view in views:
        for one in view.judgments:
            if one.status != "ok":
                label = labels.get((view.place, one.judge, one.signature), one.judge)
                key = (one.status, label, one.reason or "", one.target.rival is not None)
                groups.setdefault(key, []).append((view.place, one))
    made = [_group(key, found, where) for key, found in groups.items()]
    return tuple(sorted(made, key=lambda group: (_ORDER.index(group.status), -group.judgments, group.reason)))


def _group(key: Key, found: Sequence[tuple[int, Judgment]], where: Where) -> FailureGroup:
    status, label, reason, pairs = key
    # Two summaries are one pair, in whichever order they were shown.
    links: dict[tuple[int, ...], ItemLink] = {}
    for run, one in found:
        document, system, rival = one.target.item
        names = [system] if rival is None else [system, rival]
        items = [where[run, document, name] for name in names if (run, document, name) in where]
        if items:
            links.setdefault(tuple(sorted(items)), ItemLink(items[0], document, system, rival))
    listed = [links[items] for items in sorted(links)]
    return FailureGroup(
        status=status, meaning=STATUS[status], source=label,
        aspects=tuple(dict.fromkeys(one.aspect for _, one in found)), reason=reason, judgments=len(found),
        items=len(listed), listed=tuple(listed[:LISTED]), more=max(0, len(listed) - LISTED), pairs=pairs,
    )  # fmt: skip
