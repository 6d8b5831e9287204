"""Figures: declared as data, and drawn as SVG by one writer.

    panel = Rows("faithfulness", Axis("mean score, 0 to 1", 0, 1), [Line("aster", 0.8, 0.7, 0.9)])
    Figure("System means", [panel], ["n = 18 documents."]).save("means.svg")

A figure has panels: `Rows` (one line per name, with intervals or histograms), `Points` (a scatter plot) or `Matrix`
(shaded cells). Colours differ in lightness, and values are also written as numbers, so that figures can be read in
grayscale and without colour vision. The colours are those of `base.css`: CSS variables in pages, which follow the
reader's theme, and fixed colours in files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple
from unicodedata import combining, east_asian_width

from summeter.data.atomic import writing
from summeter.pages.embedded import without_controls
from summeter.pages.numbers import number, with_interval
from summeter.records import InstallError, UsageError
from summeter.tables import Table, plain

Theme = Literal["light", "dark", "page"]
"""Colours of a figure: fixed for a light or dark background, or CSS variables of a page."""
SHADES = 7
WIDTH = 720.0
"""Width of a figure in SVG units; a matrix with many columns is wider."""
SUFFIXES = (".svg", ".pdf", ".png")
_FONTS = "Helvetica, Arial, 'Liberation Sans', 'Noto Sans', 'Noto Sans CJK SC', sans-serif"
_SIZE, _SMALL, _LINE = 12.0, 11.0, 15.0
_LABELS = 210.0
"""Maximum width of the names left of a panel; longer names are folded."""
_COLOUR = re.compile(r"--(\w+): light-dark\((#\w+), (#\w+)\)")
_NARROW, _BROAD = frozenset("ijltfrI.,:;'|!()[]{} -"), frozenset("mwMW@%—…")
_PIECE = re.compile("[\u2e80-\uffff]|[^\\s\\-_/\u2e80-\uffff]+[\\s\\-_/]*|[\\s\\-_/]+")
_LONGEST = 400
_FEW_LABELS = 4
"""Scatter plots with more labelled points than this have the full width."""


# ---- positions ----


def _share(value: float, low: float, high: float) -> float:
    """Return the position of a value from `low` (0) to `high` (1), or 0.5 if there is no such range."""
    width = high - low
    return (value - low) / width if 0 < width < math.inf else 0.5


def shade(value: float, low: float, high: float) -> int:
    """Return the shade of a heat-map cell, from 0 (at `low`) to 6 (at `high`).

    >>> shade(0.0, 0, 1), shade(0.5, 0, 1), shade(1.0, 0, 1), shade(2, 2, 2)
    (0, 3, 6, 3)
    """
    return min(SHADES - 1, int((value - low) / (high - low) * SHADES)) if low < high else SHADES // 2


class Axis(NamedTuple):
    """An axis from `low` to `high`. The label names the quantity and its unit.

    With `names`, the axis has categories: the numbers from 0 on stand for these names.
    """

    label: str
    low: float
    high: float
    names: tuple[str, ...] = ()

    def ticks(self) -> list[tuple[float, str]]:
        """Return the positions and texts of about five round numbers or names on the axis.

        >>> [text for _, text in Axis("", 0, 1).ticks()]
        ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']
        """
        if self.names:
            return [(float(at), name) for at, name in enumerate(self.names)][:: -(-len(self.names) // 6)]
        span = self.high - self.low
        if not 0 < span < math.inf:
            return [(self.low, f"{self.low:g}")]
        power = 10.0 ** math.floor(math.log10(span / 5))
        step = power * next(factor for factor in (1, 2, 2.5, 5, 10) if span / 5 <= factor * power * (1 + 1e-9))
        digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (step / power == 2.5)
        first = math.ceil(self.low / step - 1e-9)
        values = [index * step for index in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(value, number(value, digits)) for value in values]


# ---- text ----


def text_width(text: str, size: float = _SIZE) -> float:
    """Return the estimated width of a text in a sans-serif font of the given size, in SVG units.

    East Asian characters are as wide as the size.

    >>> text_width("摘要", 10), text_width("ab", 10) < 13
    (20.0, True)
    """
    ems = 0.0
    for char in text:
        if combining(char):
            continue
        if east_asian_width(char) in "WF":
            ems += 1.0
        elif char in _NARROW:
            ems += 0.36
        else:
            ems += 0.92 if char in _BROAD else 0.72 if char.isupper() else 0.59
    return ems * size


def folded(text: str, width: float, size: float = _SIZE, most: int = 3) -> list[str]:
    """Break a text into lines of the given width, after spaces, hyphens, underscores and slashes where possible.

    A text that needs more than `most` lines ends with an ellipsis.

    >>> folded("a-long-name of_a_system", 70)
    ['a-long-', 'name of_a_', 'system']
    """
    lines = [""]
    for piece in _PIECE.findall(text[:_LONGEST]):
        for part in [piece] if text_width(piece, size) <= width else piece:
            if lines[-1] and text_width(lines[-1] + part.rstrip(), size) > width:
                lines.append("")
            lines[-1] += part
    if len(lines) > most:
        last = lines[most - 1].rstrip()
        while last and text_width(last + "…", size) > width:
            last = last[:-1]
        lines[most - 1 :] = [f"{last}…"]
    return lines


# ---- the writer ----


@cache
def _colours() -> Mapping[str, tuple[str, str]]:
    """Return the light and dark value of each colour variable of the pages."""
    style = (Path(__file__).parent / "templates" / "base.css").read_text(encoding="utf-8")
    return {name: (light, dark) for name, light, dark in _COLOUR.findall(style)}


class _Pen:
    """Writer of SVG elements. Colours are names of the variables in `base.css`, such as `ink`."""

    def __init__(self, theme: Theme = "page") -> None:
        self.pieces: list[str] = []
        place = {"light": 0, "dark": 1}.get(theme)
        self._colour = {
            name: f"var(--{name})" if place is None else colours[place] for name, colours in _colours().items()
        }

    def put(self, element: str, content: str | None = None, **attributes: float | str | None) -> None:
        """Add an element. Underscores in the names of attributes stand for hyphens; `content` is escaped."""
        shown = "".join(
            f' {name.replace("_", "-")}="{self._value(name, value)}"'
            for name, value in attributes.items()
            if value is not None
        )
        self.pieces.append(f"<{element}{shown}" + ("/>" if content is None else f">{_xml(content)}</{element}>"))

    def _value(self, name: str, value: float | str) -> str:
        if isinstance(value, str):
            return escape(self._colour[value] if name in ("fill", "stroke") and value != "none" else value)
        return f"{value:.2f}".rstrip("0").rstrip(".")

    def text(
        self, x: float, y: float, content: str, *, anchor: str | None = None, fill: str = "ink", size: float = _SIZE,
        bold: bool = False, turn: float = 0,
    ) -> None:  # fmt: skip
        """Add a line of text with its baseline at (x, y), turned by `turn` degrees."""
        self.put(
            "text", content, x=x, y=y, fill=fill, text_anchor=anchor, font_size=None if size == _SIZE else size,
            font_weight="bold" if bold else None, transform=f"rotate({turn:g} {x:.1f} {y:.1f})" if turn else None,
        )  # fmt: skip

    def lines(self, x: float, y: float, lines: Iterable[str], leading: float = _LINE, **style: object) -> float:
        """Add lines of text, the first with its baseline at (x, y). Return the baseline of the next line."""
        for line in lines:
            self.text(x, y, line, **style)  # type: ignore[arg-type]  # the keywords of `text`
            y += leading
        return y

    def path(self, data: str, stroke: str, width: float = 1, dash: str | None = None) -> None:
        """Add a line."""
        self.put("path", d=data, fill="none", stroke=stroke, stroke_width=width, stroke_dasharray=dash)

    def interval(self, low: float, high: float, y: float, colour: str = "accent", *, upright: bool = False) -> None:
        """Add an interval with caps: from x = `low` to `high` at y or, if `upright`, the other way round."""
        if upright:
            self.path(f"M{y:.1f} {low:.1f}V{high:.1f}M{y - 3:.1f} {low:.1f}h6M{y - 3:.1f} {high:.1f}h6", colour, 1.4)
        else:
            self.path(f"M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8", colour, 1.4)


def _xml(text: str) -> str:
    return escape(without_controls(text), quote=False)


# ---- panels ----


class Line(NamedTuple):
    """A name with a value and its interval, or with a histogram.

    `bars` are the counts of equally wide bins along the axis, `n` is the number of values, and `note` is a remark.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    note: str = ""
    bars: Sequence[int] = ()

    @property
    def text(self) -> str:
        """The numbers and the remark, which are written on the right."""
        value = "no value" if self.value is None else with_interval(self.value, self.low, self.high)
        return "  ".join(filter(None, [value, None if self.n is None else f"n={self.n:,}", self.note]))


class Rows(NamedTuple):
    """Values of several names on one axis, one name below another."""

    title: str
    axis: Axis
    rows: Sequence[Line]

    def width(self) -> float:
        """Return the smallest width of the panel."""
        return WIDTH

    def table(self) -> Table:
        """Return the numbers, one row per name."""
        bins = max((len(row.bars) for row in self.rows), default=0)
        low, step = self.axis.low, (self.axis.high - self.axis.low) / max(1, bins)
        edges = [f"{low + at * step:.4g}–{low + (at + 1) * step:.4g}" for at in range(bins)]
        rows = [(row.label, row.value, row.low, row.high, row.n, row.note, *row.bars) for row in self.rows]
        return _table(self.title, ["name", self.axis.label, "low", "high", "n", "note", *edges], rows)

    def draw(self, pen: _Pen, left: float, top: float, width: float) -> float:
        """Draw the panel and return its lower edge."""
        labels = min(_LABELS, max((text_width(row.label) for row in self.rows), default=0.0))
        notes = max((text_width(row.text, _SMALL) for row in self.rows), default=0.0)
        start, end = left + labels + 18, left + width - (notes + 14)
        most = max((bar for row in self.rows for bar in row.bars), default=0) or 1

        def at(value: float) -> float:
            return start + _share(value, self.axis.low, self.axis.high) * (end - start)

        y = pen.lines(left, top + 14, folded(self.title, width, 13), size=13, bold=True) - 4
        names = [folded(row.label, _LABELS) for row in self.rows]
        heights = [max(30 if row.bars else 22, len(name) * 14 + 8) for row, name in zip(self.rows, names, strict=True)]
        base = y + sum(heights)
        for value, _ in self.axis.ticks():
            pen.path(f"M{at(value):.1f} {y:.1f}V{base:.1f}", "line")
        for row, name, height in zip(self.rows, names, heights, strict=True):
            middle = y + height / 2
            pen.lines(start - 12, middle + 4 - 7 * (len(name) - 1), name, 14, anchor="end")
            step = (end - start) / max(1, len(row.bars))
            bars = "".join(
                f"M{start + index * step + 0.5:.1f} {y + height - 1:.1f}v-{max(1.0, bar / most * (height - 5)):.1f}"
                f"h{step - 1:.1f}V{y + height - 1:.1f}z"
                for index, bar in enumerate(row.bars)
                if bar
            )
            if bars:
                pen.put("path", d=bars, fill="accent", fill_opacity="0.55")
            if row.bars:
                pen.path(f"M{start:.1f} {y + height - 1:.1f}H{end:.1f}", "edge", 0.6)
            if row.low is not None and row.high is not None:
                pen.interval(at(row.low), at(row.high), middle)
            if row.value is not None and row.bars:
                pen.path(f"M{at(row.value):.1f} {y + 3:.1f}V{y + height - 1:.1f}", "ink", 1.8)
            elif row.value is not None:
                pen.put("circle", cx=at(row.value), cy=middle, r=3.6, fill="accent")
            pen.text(end + 14, middle + 4, row.text, fill="soft", size=_SMALL)
            y += height
        pen.path(f"M{start:.1f} {base:.1f}H{end:.1f}", "edge")
        for value, text in self.axis.ticks():
            pen.text(at(value), base + 15, text, anchor="middle", size=_SMALL, fill="soft")
        pen.text((start + end) / 2, base + 31, self.axis.label, anchor="middle", size=_SMALL)
        return base + 40


class Point(NamedTuple):
    """A point of a scatter plot.

    `low` and `high` are the ends of the interval of `y`. `x` is None if it is unknown. The area of the point shows
    `size`, its number of items. A dashed line connects the points with the same `line`, in the `colour` of the points.
    """

    label: str
    x: float | None
    y: float
    low: float | None = None
    high: float | None = None
    size: int = 1
    filled: bool = True
    line: str = ""
    colour: str = "accent"


class Points(NamedTuple):
    """A scatter plot.

    `note` is written below the title. With `diagonal`, a line marks equal values of both axes. Points whose x is
    unknown are drawn in a strip with the label `unknown`, left of the others.
    """

    title: str
    x: Axis
    y: Axis
    points: Sequence[Point]
    note: str = ""
    diagonal: bool = False
    unknown: str = ""

    def width(self) -> float:
        """Return the smallest width of the panel."""
        return WIDTH if sum(bool(point.label) for point in self.points) > _FEW_LABELS else WIDTH / 2 - 12

    def table(self) -> Table:
        """Return the numbers, one row per point; `n` is its number of items if some point has several."""
        several = any(point.size > 1 for point in self.points)
        names = dict(enumerate(self.x.names))
        rows = [
            (point.line or point.label, names.get(round(point.x or 0.0), point.x), point.y, point.low, point.high,
             point.size if several else None)
            for point in self.points
        ]  # fmt: skip
        return _table(self.title, ["name", self.x.label, self.y.label, "low", "high", "n"], rows)

    def draw(self, pen: _Pen, left: float, top: float, width: float) -> float:
        """Draw the panel and return its lower edge."""
        y = pen.lines(left, top + 14, folded(self.title, width, 13), size=13, bold=True)
        y = pen.lines(left, y, folded(self.note, width, _SMALL) if self.note else (), size=_SMALL, fill="soft")
        strip = 96.0 if any(point.x is None for point in self.points) else 0.0
        ticks = max(text_width(text, _SMALL) for _, text in self.y.ticks())
        left, right = left + ticks + 24, left + width - 14
        start, head = left + strip, y + 2
        base = head + (280 if width < WIDTH else 330)

        def across_panel(value: float | None) -> float:
            if value is None:
                return left + 16
            return start + 8 + _share(value, self.x.low, self.x.high) * (right - start - 16)

        def up(value: float) -> float:
            return base - 8 - _share(value, self.y.low, self.y.high) * (base - head - 16)

        for value, text in self.y.ticks():
            pen.path(f"M{left:.1f} {up(value):.1f}H{right:.1f}", "line")
            pen.text(left - 6, up(value) + 4, text, anchor="end", size=_SMALL, fill="soft")
        if strip:
            pen.path(f"M{start - 8:.1f} {head:.1f}V{base:.1f}", "edge", dash="2 3")
            pen.text(left + 4, base + 15, self.unknown, size=_SMALL, fill="soft")
        if any(point.x is not None for point in self.points):
            for value, text in self.x.ticks():
                pen.path(f"M{across_panel(value):.1f} {head:.1f}V{base:.1f}", "line")
                pen.text(across_panel(value), base + 15, text, anchor="middle", size=_SMALL, fill="soft")
            pen.text((start + right) / 2, base + 31, self.x.label, anchor="middle", size=_SMALL)
        pen.text(left - ticks - 12, (head + base) / 2, self.y.label, anchor="middle", size=_SMALL, turn=-90)
        pen.path(f"M{left:.1f} {head:.1f}V{base:.1f}H{right:.1f}", "edge")
        if self.diagonal:
            low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
            if low < high:
                ends = f"M{across_panel(low):.1f} {up(low):.1f}L{across_panel(high):.1f} {up(high):.1f}"
                pen.path(ends, "soft", dash="4 3")
        for name, colour in dict.fromkeys((point.line, point.colour) for point in self.points if point.line):
            line = sorted((point.x, point.y) for point in self.points if point.line == name and point.x is not None)
            data = "L".join(f"{across_panel(x):.1f} {up(y):.1f}" for x, y in line)
            if len(line) > 1:
                pen.path(f"M{data}", colour, dash="4 3")
        taken: list[tuple[float, float, float, float]] = []
        most = max((point.size for point in self.points), default=1)
        widest = 9.0 if all(point.low is None for point in self.points) else 6.0
        for point in self.points:
            x, y, radius = across_panel(point.x), up(point.y), 4.5
            if most > 1:
                radius = max(1.6, widest * math.sqrt(point.size / most))
            if point.low is not None and point.high is not None:
                pen.interval(up(point.low), up(point.high), x, point.colour, upright=True)
                taken.append((x - 3, up(point.high), x + 3, up(point.low)))
            pen.put("circle", cx=x, cy=y, r=radius, fill=point.colour if point.filled else "card", stroke=point.colour,
                    stroke_width=1.4, fill_opacity="0.6" if most > 1 else None)  # fmt: skip
            taken.append((x - radius, y - radius, x + radius, y + radius))
        for point in self.points:
            if point.label:
                area = (left if point.x is None else start - 8 * bool(strip), head, right, base)
                _label(pen, point.label, across_panel(point.x), up(point.y), area, taken)
        return base + 42


def _label(
    pen: _Pen, text: str, x: float, y: float, area: tuple[float, float, float, float],
    taken: list[tuple[float, float, float, float]],
) -> None:  # fmt: skip
    """Write a label beside a point where it covers no other label or point; a line joins it if it is far away."""
    lines = folded(text, 170, _SMALL)
    wide, tall = max(text_width(line, _SMALL) for line in lines), 13.0 * len(lines)
    spots = [
        (x + side * (8 + far), y + drop * (tall / 2 + 7 + far), side)
        for far in range(0, 300, 14)
        for side, drop in (
            (1, 0),
            (-1, 0),
            (1, -1),
            (1, 1),
            (-1, -1),
            (-1, 1),
            (1, -0.5),
            (1, 0.5),
            (-1, -0.5),
            (-1, 0.5),
        )
    ]

    def box(spot: tuple[float, float, int]) -> tuple[float, float, float, float]:
        at, middle, side = spot
        return min(at, at + side * wide), middle - tall / 2, max(at, at + side * wide), middle + tall / 2

    def free(edges: tuple[float, float, float, float]) -> bool:
        a, b, c, d = edges
        inside = area[0] <= a and area[1] <= b and c <= area[2] and d <= area[3]
        return inside and not any(a < right and left < c and b < low and high < d for left, high, right, low in taken)

    at, middle, side = next((spot for spot in spots if free(box(spot))), spots[0])
    taken.append(box((at, middle, side)))
    if abs(at - x) > 12 or abs(middle - y) > tall / 2 + 10:
        pen.path(f"M{x:.1f} {y:.1f}L{at:.1f} {middle:.1f}", "soft", 0.7)
    anchor = "end" if side < 0 else None
    pen.lines(at + 2 * side, middle + 4 - 6.5 * (len(lines) - 1), lines, 13, size=_SMALL, anchor=anchor)


class Cell(NamedTuple):
    """A cell of a matrix. The number is written and shaded; None is an empty cell. `n` is written below."""

    value: float | None
    n: int | None = None


class Matrix(NamedTuple):
    """Cells in rows and columns, shaded from `low` (lightest) to `high`. `scale` explains the numbers.

    `digits` is the number of decimals, and `counted` is what `n` of a cell counts.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    low: float
    high: float
    scale: str
    digits: int = 2
    counted: str = "n"

    def table(self) -> Table:
        """Return the numbers with the rows and columns of the matrix, and a column with `n` beside each."""
        heads = [head for name in self.columns for head in (name, f"{name}: {self.counted}")]
        lines = zip(self.rows, self.cells, strict=True)
        return _table(self.title, ["name", *heads], [(name, *chain.from_iterable(cells)) for name, cells in lines])

    @property
    def _labels(self) -> float:
        return min(_LABELS, max((text_width(name) for name in self.rows), default=0.0)) + 12

    def width(self) -> float:
        """Return the smallest width of the panel."""
        return max(WIDTH, self._labels + 46 * len(self.columns) + self._heads(46.0)[1])

    def _heads(self, cell: float) -> tuple[list[list[str]], float]:
        """Return the lines of each heading, and the width by which slanted headings extend to the right."""
        level = [folded(name, cell - 6, _SMALL) for name in self.columns]
        broken = any(len(lines) > 2 or _cuts(lines) for lines in level)
        if not broken:
            return level, 0.0
        slanted = [folded(name, 180, _SMALL, 2) for name in self.columns]
        return slanted, 0.77 * max(text_width(line, _SMALL) for lines in slanted for line in lines) - cell / 2

    def draw(self, pen: _Pen, left: float, top: float, width: float) -> float:
        """Draw the panel and return its lower edge."""
        y = pen.lines(left, top + 14, folded(self.title, width, 13), size=13, bold=True)
        start, count = left + self._labels, max(1, len(self.columns))
        cell = min(96.0, (width - self._labels) / count)
        heads, beyond = self._heads(cell)
        if beyond:
            cell = min(96.0, (width - self._labels - max(0.0, beyond)) / count)
            y += 0.64 * max(text_width(line, _SMALL) for lines in heads for line in lines) + 6
        else:
            y += 13 * (max(map(len, heads), default=1) - 1) + 6
        for index, lines in enumerate(heads):
            x = start + (index + 0.5) * cell
            for step, line in enumerate(reversed(lines)):
                if beyond:
                    pen.text(x + 4 - 9 * step, y - 10 * step, line, size=_SMALL, turn=-40)
                else:
                    pen.text(x, y - 13 * step, line, size=_SMALL, anchor="middle")
        y += 6
        for name, cells in zip(self.rows, self.cells, strict=True):
            lines = folded(name, _LABELS)
            height = max(24 if all(each.n is None for each in cells) else 34, 14 * len(lines) + 6)
            middle = y + height / 2
            pen.lines(start - 10, middle + 4 - 7 * (len(lines) - 1), lines, 14, anchor="end")
            for index, (value, n) in enumerate(cells):
                x = start + index * cell
                fill = "sunk" if value is None else f"h{shade(value, self.low, self.high)}"
                pen.put("rect", x=x + 1, y=y + 1, width=cell - 2, height=height - 2, fill=fill, stroke="line")
                shown, wide = number(value, self.digits), x + cell / 2
                pen.text(wide, middle + (4 if n is None else -1), shown, anchor="middle")
                if n is not None:
                    below = f"n={n:,}" if self.counted == "n" else f"{n:,}"
                    pen.text(
                        wide, middle + 12, below, anchor="middle", size=10, fill="soft" if value is None else "ink"
                    )
            y += height
        y += 12
        ends = number(self.low, self.digits), number(self.high, self.digits)
        pen.text(start, y + 10, ends[0], size=_SMALL, fill="soft")
        x = start + text_width(ends[0], _SMALL) + 6
        for index in range(SHADES):
            pen.put("rect", x=x + index * 18, y=y, width=18.0, height=12.0, fill=f"h{index}", stroke="line")
        pen.text(x + 18 * SHADES + 6, y + 10, ends[1], size=_SMALL, fill="soft")
        x += 18 * SHADES + 18 + text_width(ends[1], _SMALL)
        return pen.lines(x, y + 10, folded(self.scale, left + width - x, _SMALL), 13, size=_SMALL)


def _cuts(lines: Sequence[str]) -> bool:
    """Return whether a line ends within a word."""
    return any(line[-1].isalnum() and east_asian_width(line[-1]) not in "WF" for line in lines[:-1])


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[float | str | None]]) -> Table:
    """Return a table without the columns that are empty in all rows."""
    kept = [at for at in range(len(heads)) if any(row[at] not in (None, "") for row in rows)]
    shown = [lambda cell: number(cell) if isinstance(cell, float) else plain(cell)] * len(kept)
    lines = [[row[at] for at in kept] for row in rows]
    return Table.of([heads[at] for at in kept], lines, align="lr", show=shown, title=title)


# ---- drawings in tables ----


class Drawing(NamedTuple):
    """A small drawing in a page, which repeats numbers beside it and is hidden from screen readers."""

    svg: str

    def __html__(self) -> str:
        """Return the drawing for a template of a page."""
        return self.svg


def whisker(value: float, ends: tuple[float | None, float | None], low: float, high: float) -> Drawing:
    """Draw a value and its interval on an axis from `low` to `high`."""
    pen = _Pen()
    pen.path("M0 4H100", "line")
    pen.path("M0 1.5V6.5M50 2.5V5.5M100 1.5V6.5", "edge")
    if ends[0] is not None and ends[1] is not None:
        pen.interval(100 * _share(ends[0], low, high), 100 * _share(ends[1], low, high), 4)
    pen.put("circle", cx=100 * _share(value, low, high), cy=4, r=2.5, fill="accent")
    return _drawing("whisker", "-4 0 108 8", pen)


_STATUS_COLOURS = {"ok": "good", "skipped": "line"}


def stack(counts: Mapping[str, int]) -> Drawing:
    """Draw the numbers of judgments by status as parts of a bar."""
    pen, at, total = _Pen(), 0.0, sum(counts.values())
    for status, number_of in counts.items():
        width = 100 * number_of / total
        pen.put("rect", x=at, y=0, width=width, height=2, fill=_STATUS_COLOURS.get(status, "bad"))
        at += width
    return _drawing("stack", "0 0 100 2", pen, preserveAspectRatio="none")


def _drawing(name: str, box: str, pen: _Pen, **attributes: str) -> Drawing:
    more = "".join(f' {key}="{value}"' for key, value in attributes.items())
    content = "".join(pen.pieces)
    return Drawing(f'<svg class="{name}" viewBox="{box}"{more} aria-hidden="true" focusable="false">{content}</svg>')


# ---- the figure ----


@dataclass(frozen=True, repr=False)
class Figure:
    """A figure: a title, panels, and a caption with one string per line.

    Jupyter shows it as an image.

    >>> figure = Figure("Means", [Rows("by support", Axis("mean", 0, 1), [Line("aster", 0.8)])], ["n = 18."])
    >>> figure.svg.startswith("<svg")
    True
    """

    title: str
    panels: Sequence[Rows | Points | Matrix]
    caption: Sequence[str] = ()

    @property
    def tables(self) -> list[Table]:
        """The numbers of each panel."""
        return [panel.table() for panel in self.panels]

    @property
    def svg(self) -> str:
        """The figure as SVG on a light background."""
        return self.to_svg()

    def to_svg(self, theme: Theme = "light") -> str:
        """Return the figure as SVG. The theme "page" is for HTML pages of summeter, which define its colours."""
        pen, margin, gap = _Pen(theme), 20.0, 24.0
        least = max((panel.width() for panel in self.panels), default=WIDTH)
        side_by_side = len(self.panels) > 1 and least < WIDTH
        full = max(WIDTH, least)
        width = (full - gap) / 2 if side_by_side else full
        y = pen.lines(margin, margin + 14, folded(self.title, full, 16), 20, size=16, bold=True)
        per_line = 2 if side_by_side else 1
        for first in range(0, len(self.panels), per_line):
            row = self.panels[first : first + per_line]
            y = max(panel.draw(pen, margin + index * (width + gap), y, width) for index, panel in enumerate(row)) + 12
        for line in self.caption:
            y = pen.lines(margin, y + 8, folded(line, full, _SMALL, 6), 15, size=_SMALL, fill="soft") - 6
        across_, down = full + 2 * margin, y + margin - 4
        size = f'width="{across_:.0f}" height="{down:.0f}" viewBox="0 0 {across_:.0f} {down:.0f}"'
        ground = _Pen(theme)
        if theme != "page":
            ground.put("rect", width="100%", height="100%", fill="card")
        fonts = "" if theme == "page" else f' font-family="{escape(_FONTS)}"'
        label = escape(without_controls(self.title))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} role="img" aria-label="{label}"'
            f'{fonts} font-size="{_SIZE:g}">{"".join(ground.pieces)}{"".join(pen.pieces)}</svg>\n'
        )

    def save(self, path: str | Path, theme: Theme = "light") -> Path:
        """Write the figure to a file with the suffix .svg, .pdf or .png, and return the path.

        PDF and PNG are converted from the SVG and need the extra `plot`. Raises UsageError for another suffix.
        """
        convert = converter(path)
        with writing(Path(path)) as handle:
            handle.write(convert(self.to_svg(theme)))
        return Path(path)

    def __repr__(self) -> str:
        return f"Figure({self.title!r}, {len(self.panels)} panel{'s' * (len(self.panels) != 1)})"

    def _repr_svg_(self) -> str:
        return self.svg

    def __html__(self) -> str:
        """Return the figure for a template of a page."""
        return self.to_svg("page")


def converter(path: str | Path) -> Callable[[str], bytes]:
    """Return the function that converts SVG to the format of a file.

    Raises UsageError if the suffix is not .svg, .pdf or .png, and InstallError if the extra `plot` is needed and
    missing.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".svg":
        return str.encode
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: figures are written as .svg, .pdf or .png; use one of these suffixes")
    try:
        import vl_convert
    except ImportError as error:
        raise InstallError.missing("vl-convert-python", "plot") from error
    if suffix == ".pdf":
        return lambda svg: bytes(vl_convert.svg_to_pdf(svg))
    return lambda svg: bytes(vl_convert.svg_to_png(svg, scale=2))
