"""Chart of judges: agreement with people against the cost of 1,000 summaries."""

from __future__ import annotations

from summeter.meta.results import Study, judge_labels
from summeter.pages.figures import Point, scatter

_STATISTICS = ("auroc", "spearman")


def frontier_svg(study: Study) -> str:
    """Return the result of `sm.meta.advise` as an SVG chart, with one panel per aspect.

    Each judge is a point with an interval. A line joins the judges on the frontier, which are those for which no
    cheaper judge agrees better with people. The point of the recommended judge is filled. Judges whose cost is unknown
    are in a separate strip on the left.
    """
    rows = [row for row in study if row.statistic in _STATISTICS and row.system is None and row.value is not None]
    panels = []
    for aspect in dict.fromkeys(row.gold_aspect for row in rows):
        shown = [row for row in rows if row.gold_aspect == aspect]
        costs = {
            (row.signature, row.aspect): row.value for row in study.where(statistic="cost_per_1000", gold_aspect=aspect)
        }
        points = [
            Point(
                name or "",
                costs.get((row.signature, row.aspect)),
                row.value or 0.0,
                row.low,
                row.high,
                filled=bool(row.details.get("recommended")),
                joined=bool(row.details.get("frontier")),
            )
            for name, row in zip(judge_labels(shown), shown, strict=True)
        ]
        panels.append((f"{aspect or ''}: {shown[0].statistic} against cost", points))
    return scatter(panels, x_label="per 1,000 summaries", x_tick="${:.2f}", x_unknown="cost unknown")
