"""The section of a report on two runs: differences of means, and the summaries that changed, with both texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise

from summeter.meta._versions import Change, ChangedItem, RunVerdict, Versions
from summeter.meta.results import judge_labels
from summeter.meta.selection import group_label
from summeter.meta.verdicts import decision_words
from summeter.pages.numbers import number
from summeter.records import Document
from summeter.report.blocks import (
    ChangedSummary,
    ChangedVerdict,
    ColumnDifferences,
    ItemLink,
    Passage,
    RunComparison,
    ShownVerdict,
)
from summeter.report.items import Where
from summeter.report.views import RunView
from summeter.report.words import gloss, style_of

LISTED = 25
"""Maximum number of changed summaries on a page."""
_MOST_VERDICTS = 40
"""Maximum number of changed verdicts that are shown for one summary."""
# A word, a character of a script without spaces, or a sign, each with the spaces after it
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]+\s*|\S\s*|\s+")
_MOST_WORDS = 2000
"""Maximum number of words of a text that is compared word by word, because the time grows with the square."""
_KINDS = {
    "flip": "changed", "new_error": "new error", "gone_error": "error gone", "error_type": "other error type",
    "failure": "new failure", "recovered": "judged again",
}  # fmt: skip


def comparison(found: Versions, first: RunView, second: RunView, where: Where) -> RunComparison:
    """Return the block of a comparison of two runs of the page.

    `where` maps items to their numbers on the page.
    """
    lines = zip(found, judge_labels(found.rows), strict=True)
    columns = [
        ColumnDifferences(
            gloss(str(aspect)).title,
            str(label),
            tuple(row for row, _ in rows),
        )
        for (_, aspect, label, _), rows in groupby(
            lines, lambda line: (line[0].signature, line[0].aspect, line[1], "by" in line[0].details)
        )
    ]
    systems = {row.system for row in found if "by" not in row.details}
    system = next(iter(systems)) if len(systems) == 1 else None

    def rows(*, grouped: bool) -> tuple[ColumnDifferences, ...]:
        """Return the rows on systems or groups, or the others, of each column that has any."""
        shown = [
            column._replace(rows=tuple(row for row in column.rows if grouped == (
                group_label(row) is not None or (row.system is not None and system is None)
            )))
            for column in columns
        ]  # fmt: skip
        return tuple(column for column in shown if column.rows)

    changed = []
    for item in found.items(LISTED):
        old, new = (run.data.documents.get(item.doc_id) for run in (found.pairing.a, found.pairing.b))
        keys = ((first.number, item.doc_id, item.old_system or ""), (second.number, item.doc_id, item.system))
        links = [None if (at := where.get(key)) is None else ItemLink(at, key[1], key[2]) for key in keys]
        changed.append(_changed(item, new or old, links))
    return RunComparison(
        first=first.letter,
        second=second.letter,
        names=found.names,
        sentences=found.sentences,
        notes=found.notes,
        system=system,
        differences=rows(grouped=False),
        by_group=rows(grouped=True),
        families=tuple(sorted({row.details["comparisons"] for row in found if row.p is not None})),
        changed=tuple(changed),
        changed_items=len(found.changes.order(found.pairing)),
    )


def _changed(item: ChangedItem, document: Document | None, links: Sequence[ItemLink | None]) -> ChangedSummary:
    old, new = word_diff(item.old or "", item.new or "") if item.text == "changed" else (
        [Passage(text, marked=False)] if text is not None else [] for text in (item.old, item.new)
    )  # fmt: skip
    document = None if item.document_changed else document
    verdicts = [change for change in item.changes if change.kind != "score"]
    spans = [
        (span.start, span.end)
        for change in verdicts[:_MOST_VERDICTS]
        for verdict in (change.old, change.new)
        if verdict is not None
        for span in verdict.evidence
        if span.of == "document"
    ]
    return ChangedSummary(
        item=item,
        old=tuple(old),
        new=tuple(new),
        source=() if document is None else tuple(_marked(document.text, spans)),
        verdicts=tuple(_verdict(change, item, document) for change in verdicts[:_MOST_VERDICTS]),
        more=len(verdicts[_MOST_VERDICTS:]),
        scores=tuple(
            (gloss(change.aspect).title, change.judge, number(change.old.value), number(change.new.value))
            for change in item.changes
            if change.kind == "score" and change.old is not None and change.new is not None
        ),
        links=(links[0], links[1]),
    )


def _verdict(change: Change, item: ChangedItem, document: Document | None) -> ChangedVerdict:
    return ChangedVerdict(
        kind=_KINDS[change.kind],
        aspect=gloss(change.aspect).title,
        judge=change.judge,
        unit=change.unit.replace("_", " "),
        text=change.text,
        old=_shown(change.aspect, change.old, item.old, document),
        new=_shown(change.aspect, change.new, item.new, document),
    )


def _shown(
    aspect: str, verdict: RunVerdict | None, summary: str | None, document: Document | None
) -> ShownVerdict | None:
    if verdict is None:
        return None
    words = decision_words(aspect, verdict.label, verdict.error_type) or number(verdict.value)
    if verdict.status != "ok":
        words = f"not judged: {verdict.status}"
    texts = {"document": document and document.text, "summary": summary}
    quotes = []
    for span in verdict.evidence:
        place = document and document.place(span)
        if quote := span.cut(texts[span.of] or ""):
            quotes.append(f"{place}: {quote}" if place else quote)
    return ShownVerdict(style_of(verdict.status, verdict.label, aspect), words, verdict.reason, tuple(quotes))


def word_diff(old: str, new: str) -> tuple[list[Passage], list[Passage]]:
    """Return two texts as passages, in which the words that differ are marked.

    >>> [passage.text for passage in word_diff("It rained a lot.", "It rained today.")[1] if passage.marked]
    ['today']
    """
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > _MOST_WORDS:
        return [Passage(old, marked=True)], [Passage(new, marked=True)]
    sides: tuple[list[Passage], list[Passage]] = ([], [])
    for kind, *ends in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for side, words, (start, end) in zip(sides, (before, after), (ends[:2], ends[2:]), strict=True):
            text = "".join(words[start:end])
            shown = text if kind == "equal" else text.rstrip()
            parts = Passage(shown, kind != "equal"), Passage(text[len(shown) :], marked=False)
            side.extend(part for part in parts if part.text)
    return sides


def _marked(text: str, spans: Iterable[tuple[int, int]]) -> Iterable[Passage]:
    """Yield a text as passages, in which the spans are marked."""
    ends = sorted({0, len(text), *(end for span in spans for end in span)})
    for start, end in pairwise(ends):
        yield Passage(text[start:end], marked=any(low <= start and end <= high for low, high in spans))
