"""Agreement on highlighted spans: character F1 of every two annotators over the summaries both saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from summeter.meta.context import Context
from summeter.meta.grids import Draws, drawn_row
from summeter.meta.results import Row
from summeter.records import Judgment
from summeter.stats import Overlap, mean_span_f1, overlap
from summeter.stats.base import Floats
from summeter.stats.spans import Spans

Item = tuple[str, str]


class Marked(NamedTuple):
    """What annotators marked: for each, the spans of each summary seen, None for one not seen."""

    aspect: str
    signature: str
    items: tuple[Item, ...]
    raters: tuple[str, ...]
    spans: tuple[tuple[Spans | None, ...], ...]

    def take(self, places: Sequence[int]) -> Marked:
        """Some of the summaries."""
        kept = tuple(tuple(row[place] for place in places) for row in self.spans)
        return self._replace(items=tuple(self.items[place] for place in places), spans=kept)


def marked(judgments: Sequence[Judgment]) -> list[Marked]:
    """The spans marked on each aspect.

    Having marked nothing is an answer, but leaves no judgment. So an annotator is taken to have seen a summary who
    gave any judgment of it; one who gave nothing but spans is taken to have seen every judged summary of each
    document in which he or she marked something.
    """
    spans = [one for one in judgments if one.target.unit == "span" and one.status == "ok"]
    found = []
    for aspect in dict.fromkeys(one.aspect for one in spans):
        own = [one for one in spans if one.aspect == aspect]
        raters = tuple(dict.fromkeys(one.judge for one in own))
        seen = {rater: _seen(judgments, rater) for rater in raters}
        items = tuple(dict.fromkeys(item for rater in raters for item in seen[rater]))
        at: dict[tuple[str, Item], list[tuple[int, int]]] = {}
        for one in own:
            item = one.target.document_id, one.target.system
            at.setdefault((one.judge, item), []).extend((span.start, span.end) for span in one.evidence)
        grid = tuple(
            tuple(tuple(at.get((rater, item), ())) if item in seen[rater] else None for item in items)
            for rater in raters
        )
        found.append(Marked(aspect, own[0].signature, items, raters, grid))
    return found


def _seen(judgments: Sequence[Judgment], rater: str) -> dict[Item, None]:
    """The summaries an annotator saw, in order."""
    own = [one for one in judgments if one.judge == rater]
    whole = dict.fromkeys((one.target.document_id, one.target.system) for one in own)
    if any(one.target.unit != "span" for one in own):
        return whole
    documents = {document for document, _ in whole}
    every = ((one.target.document_id, one.target.system) for one in judgments)
    return dict.fromkeys(item for item in every if item[0] in documents)


def span_rows(found: Sequence[Marked], context: Context, by: str | None, draws: Draws) -> list[Row]:
    """Rows of the study `agreement` with the statistic `span_f1`: of all, and by a column."""
    rows = []
    for one in found:
        rows.append(_row(one, {}, draws))
        if by is not None:
            rows += [_row(part, fields, draws) for fields, part in _split(one, context, by)]
    return rows


def _split(one: Marked, context: Context, by: str) -> Iterator[tuple[dict[str, Any], Marked]]:
    look = context.lookup(by)
    values = [look(*item) for item in one.items]
    for value in dict.fromkeys(values):
        if value is None:
            continue
        places = [place for place, other in enumerate(values) if other == value]
        known = by in ("system", "domain", "category")
        yield ({by: value} if known else {"details": {"by": by, "group": value}}), one.take(places)


def _row(one: Marked, fields: dict[str, Any], draws: Draws) -> Row:
    got = mean_span_f1(one.spans)
    details = {**fields.get("details", {}), "raters": len(one.raters)}
    about = {
        **fields, "study": "agreement", "statistic": "span_f1", "aspect": one.aspect, "gold_aspect": one.aspect,
        "gold_signature": one.signature, "level": "summary", "n": got.n, "missing": got.missing,
        "reason": got.reason, "details": details,
    }  # fmt: skip
    ends = draws.ends(_drawn(one, draws)) if got.value is not None else None
    return drawn_row(about, got.value, ends, draws)


def _drawn(one: Marked, draws: Draws) -> Floats:
    """The mean over pairs of annotators of pooled F1 in each draw of documents."""
    documents = list(dict.fromkeys(document for document, _ in one.items))
    column = {name: place for place, name in enumerate(documents)}
    times = draws.times(len(documents)).astype(np.float64)
    if len(documents) < 2:
        return np.full(draws.resamples, np.nan)
    found = []
    for first, second in combinations(one.spans, 2):
        counts = np.zeros((len(documents), 2))
        for (document, _), left, right in zip(one.items, first, second, strict=True):
            if left is not None and right is not None:
                both: Overlap = overlap(left, right)
                counts[column[document]] += (2 * both.both, both.first + both.second)
        drawn = times @ counts
        found.append(np.divide(drawn[:, 0], drawn[:, 1], out=np.full(len(drawn), np.nan), where=drawn[:, 1] > 0))
    values = np.array(found)
    there = ~np.isnan(values)
    counted = there.sum(axis=0)
    sums = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(sums, counted, out=np.full(len(sums), np.nan), where=counted > 0))
