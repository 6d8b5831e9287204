"""SVG figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

# Width of the drawings of intervals in tables, in SVG units
DRAWN = 100.0
SHADES = 7
_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 40, 48
_UNKNOWN = 110
"""Width of the strip left of the plot for points whose x is unknown, in SVG units."""


def across(value: float, low: float, high: float) -> str:
    """Return the position of a value on an axis of 100 units from `low` to `high`.

    The position is 50 if `high - low` is not a positive finite number.

    >>> across(3, 1, 5), across(1e308, 1e308, 1e308 + 0.5)
    ('50.0', '50.0')
    """
    width = high - low
    share = (value - low) / width if 0 < width < math.inf else 0.5
    return f"{share * DRAWN:.1f}"


def shade(value: float, low: float, high: float) -> int:
    """Return the shade of a heat-map cell, from 0 (at `low`) to 6 (at `high`).

    >>> shade(0.0, 0, 1), shade(0.5, 0, 1), shade(1.0, 0, 1), shade(2, 2, 2)
    (0, 3, 6, 3)
    """
    return min(SHADES - 1, int((value - low) / (high - low) * SHADES)) if low < high else SHADES // 2


class Point(NamedTuple):
    """A labelled point of a plot.

    `low` and `high` are the bounds of the interval of `y`. `x`, `low` and `high` are None if they are unknown. The
    points with `joined` are connected by a dashed line.
    """

    label: str
    x: float | None
    y: float
    low: float | None = None
    high: float | None = None
    filled: bool = False
    joined: bool = False


def scatter(panels: Sequence[tuple[str, Sequence[Point]]], *, x_label: str, x_tick: str, x_unknown: str) -> str:
    """Return a scatter plot as SVG, with one panel below another for each pair (title, points).

    The x axis starts at 0, and `x_tick` is the format of the numbers at its two ends, such as `"${:.2f}"`. Points whose
    x is unknown are shown in a strip with the label `x_unknown`, left of the others.
    """
    groups = []
    for index, (title, points) in enumerate(panels):
        panel = "".join(_panel(title, points, x_label, x_tick, x_unknown))
        groups.append(f'<g transform="translate(0 {index * _HEIGHT})">{panel}</g>')
    height = _HEIGHT * max(1, len(panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(groups)}</svg>\n"
    )


def _panel(title: str, points: Sequence[Point], x_label: str, x_tick: str, x_unknown: str) -> Iterator[str]:
    known = [point.x for point in points if point.x is not None]
    largest = max(known, default=0.0) or 1.0
    least = min(point.y if point.low is None else point.low for point in points)
    most = max(point.y if point.high is None else point.high for point in points)
    span = most - least or 1.0
    start = _LEFT + _UNKNOWN * (len(known) < len(points))

    def across_panel(value: float | None) -> float:
        return _LEFT + 12 if value is None else start + value / largest * (_WIDTH - start - _RIGHT)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - least) / span * (_HEIGHT - _TOP - _BOTTOM)

    yield f'<text x="{_LEFT}" y="22" font-weight="bold">{escape(title)}</text>'
    base = _HEIGHT - _BOTTOM
    yield f'<path d="M{_LEFT} {_TOP}V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="#999"/>'
    for value in (least, (least + most) / 2, most):
        yield f'<text x="{_LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>'
    if len(known) < len(points):
        yield f'<text class="unknown" x="{_LEFT}" y="{base + 16}" fill="#666">{escape(x_unknown)}</text>'
    if known:
        for value in (0.0, largest):
            tick = escape(x_tick.format(value))
            yield f'<text x="{across_panel(value):.1f}" y="{base + 16}" text-anchor="middle">{tick}</text>'
        middle = (start + _WIDTH - _RIGHT) / 2
        yield f'<text x="{middle:.0f}" y="{base + 30}" text-anchor="middle" fill="#666">{escape(x_label)}</text>'
    line = sorted((point.x, point.y) for point in points if point.joined and point.x is not None)
    if len(line) > 1:
        coordinates = " ".join(f"{across_panel(x):.1f},{up(y):.1f}" for x, y in line)
        yield f'<polyline class="joined" points="{coordinates}" fill="none" stroke="#06c" stroke-dasharray="4 3"/>'
    for point in points:
        x, y = across_panel(point.x), up(point.y)
        if point.low is not None and point.high is not None:
            yield f'<path d="M{x:.1f} {up(point.low):.1f}V{up(point.high):.1f}" stroke="#06c" opacity=".5"/>'
        fill = "#06c" if point.filled else "#fff"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="#06c"/>'
        yield f'<text x="{x + 9:.1f}" y="{y + 4:.1f}">{escape(point.label)}</text>'
