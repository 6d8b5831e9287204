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


def failures(views: Sequence[RunView], sources: Sequence[Source], where: Where) -> tuple[FailureGroup, ...]:
    """Groups by status, source and reason, the gravest status first, then the largest group.

    `where` gives the item's number on the page for (run, document, system).
    """
    labels = {(source.run, source.judge, source.signature): source.label for source in sources}
    groups: dict[tuple[str, str, str], list[tuple[int, Judgment]]] = {}
    for view in views:
        for one in view.judgments:
            if one.status != "ok":
                label = labels.get((view.place, one.judge, one.signature), one.judge)
                groups.setdefault((one.status, label, one.reason or ""), []).append((view.place, one))
    made = [_group(key, found, where) for key, found in groups.items()]
    return tuple(sorted(made, key=lambda group: (_ORDER.index(group.status), -group.judgments, group.reason)))


def _group(key: tuple[str, str, str], found: Sequence[tuple[int, Judgment]], where: Where) -> FailureGroup:
    status, label, reason = key
    links: dict[int, ItemLink] = {}
    for run, one in found:
        place = (run, one.target.document_id, one.target.system)
        if place in where:
            links.setdefault(where[place], ItemLink(where[place], *place[1:]))
    listed = [links[item] for item in sorted(links)]
    return FailureGroup(
        status=status, meaning=STATUS[status], source=label,
        aspects=tuple(dict.fromkeys(one.aspect for _, one in found)), reason=reason, judgments=len(found),
        items=len(listed), listed=tuple(listed[:LISTED]), more=max(0, len(listed) - LISTED),
    )  # fmt: skip
