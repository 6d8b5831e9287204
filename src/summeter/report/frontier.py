"""A picture of judges: what 1,000 summaries cost against how well the judge agrees with people."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from summeter.meta.results import Row, Study, judge_labels

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 40, 48
_UNPRICED = 110
"""Width of the strip for judges whose cost is not known, left of the axis of cost."""
_STATISTICS = ("auroc", "spearman")


def frontier_svg(study: Study) -> str:
    """The picture of `sm.meta.advise` as SVG: a panel an aspect, a point a judge with its interval; the frontier (no
    judge agrees better for less money) is joined, the recommended judge filled. Judges of unknown cost stand in a strip
    of their own, left of the others.
    """
    rows = [row for row in study if row.statistic in _STATISTICS and row.system is None and row.value is not None]
    aspects = list(dict.fromkeys(row.gold_aspect for row in rows))
    parts: list[str] = []
    for place, aspect in enumerate(aspects):
        panel = "".join(_panel(study, [row for row in rows if row.gold_aspect == aspect], aspect or ""))
        parts.append(f'<g transform="translate(0 {place * _HEIGHT})">{panel}</g>')
    height = _HEIGHT * max(1, len(aspects))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _panel(study: Study, rows: list[Row], aspect: str) -> Iterator[str]:
    costs = {
        (row.signature, row.aspect): row.value
        for row in study
        if row.statistic == "cost_per_1000" and row.gold_aspect == aspect
    }
    points = [
        (name or "", row, row.value or 0.0, costs.get((row.signature, row.aspect)))
        for name, row in zip(judge_labels(rows), rows, strict=True)
    ]
    known = [cost for *_, cost in points if cost is not None]
    title = escape(f"{aspect}: {rows[0].statistic} against cost")
    yield f'<text x="{_LEFT}" y="22" font-weight="bold">{title}</text>'
    dearest = max(known, default=0.0) or 1.0
    lows = [row.low if row.low is not None else value for _, row, value, _ in points]
    highs = [row.high if row.high is not None else value for _, row, value, _ in points]
    least, most = min(lows), max(highs)
    span = most - least or 1.0
    start = _LEFT + _UNPRICED * (len(known) < len(points))

    def x(cost: float | None) -> float:
        return _LEFT + 12 if cost is None else start + cost / dearest * (_WIDTH - start - _RIGHT)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - least) / span * (_HEIGHT - _TOP - _BOTTOM)

    base = _HEIGHT - _BOTTOM
    yield f'<path d="M{_LEFT} {_TOP}V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="#999"/>'
    for value in (least, (least + most) / 2, most):
        yield f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>'
    if len(known) < len(points):
        yield f'<text class="unpriced" x="{_LEFT}" y="{base + 16}" fill="#666">cost unknown</text>'
    if known:
        for tick in (0.0, dearest):
            yield f'<text x="{x(tick):.1f}" y="{base + 16}" text-anchor="middle">${tick:.2f}</text>'
        middle = (start + _WIDTH - _RIGHT) / 2
        yield f'<text x="{middle:.0f}" y="{base + 30}" text-anchor="middle" fill="#666">per 1,000 summaries</text>'
    edge = sorted((cost, value) for _, row, value, cost in points if cost is not None and row.details.get("frontier"))
    if len(edge) > 1:
        line = " ".join(f"{x(cost):.1f},{y(value):.1f}" for cost, value in edge)
        yield f'<polyline class="frontier" points="{line}" fill="none" stroke="#06c" stroke-dasharray="4 3"/>'
    for name, row, value, cost in points:
        if row.low is not None and row.high is not None:
            yield f'<path d="M{x(cost):.1f} {y(row.low):.1f}V{y(row.high):.1f}" stroke="#06c" opacity=".5"/>'
        fill = "#06c" if row.details.get("recommended") else "#fff"
        yield f'<circle cx="{x(cost):.1f}" cy="{y(value):.1f}" r="5" fill="{fill}" stroke="#06c"/>'
        yield f'<text x="{x(cost) + 9:.1f}" y="{y(value) + 4:.1f}">{escape(name)}</text>'
