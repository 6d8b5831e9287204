r"""Tables as aligned text, CSV, Markdown, LaTeX or HTML.

    >>> rows = [["aster", 0.9, 0.0004], ["birch", None, 0.2]]
    >>> table = Table.of(["system", "value", "p"], rows, show=[str, number, p_value])
    >>> print(table.text())
    system  value  p
    aster   0.900  <.001
    birch   -      0.200
    >>> table.csv().splitlines()[1]
    'aster,0.9,0.0004'

A cell is a string, a number, None, or a tuple of strings (one line each). Each column has a format for numbers; CSV
contains them in full precision. Every writer escapes the special characters of its output format.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, zip_longest
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Self
from unicodedata import combining, east_asian_width

Align = Literal["left", "right"]
Cell = Any
"""A string, a number, None or a tuple of strings."""


class Best(tuple[str, ...]):
    """The lines of a cell whose first line is emphasised in Markdown and LaTeX."""


NONE = "-"
"""Text that stands for a missing value."""

# Characters that move the cursor, change colours or change the text direction.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# First characters of a spreadsheet formula, and strings that start like one but are a sign or a number.
_FORMULA = tuple("=@+-\t\r\n")
_HARMLESS = re.compile(r"[+\-]|[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?%?")
_MARKDOWN = str.maketrans({**{char: f"\\{char}" for char in "\\`*_[]|"}, "<": "&lt;", ">": "&gt;"})
# Characters that need no escape in Markdown: brackets of an interval, underscores within a word.
_INTERVAL = re.compile(r"\\\[(-?[\d.]+, -?[\d.]+)\\\](?!\()")
_WITHIN = re.compile(r"(?<=\w)\\_(?=\w)")
# Pieces of a text that are not divided between two lines: an interval, a Chinese or Japanese character, a word, a part
# of a signature.
_WIDE = r"\u3000-\u9fff\uff00-\uffef"
_PIECE = re.compile(rf"\s+|\[-?[\d.]+, -?[\d.]+\]\S*|[{_WIDE}]|[^\s|{_WIDE}]+\|*|\|+")
_NUMERAL = re.compile(r"[^\w\s]*\d[\d.,:%e+\-]*[^\w\s]*|\[-?[\d.]+, -?[\d.]+\]\S*")
# Characters after which a word that is wider than its column is divided.
_JOINTS = "_-/.:,=("
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", **{char: f"\\{char}" for char in "&%$#_{}"},
})  # fmt: skip


# ---- numbers as text ----


def number(value: float | None, digits: int = 3) -> str:
    """Format a value with `digits` decimals, or None as a dash. Negative zero is never printed.

    >>> number(0.5), number(None), number(-0.0001), number(12.5, 1)
    ('0.500', '-', '0.000', '12.5')
    """
    return NONE if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def signed(value: float, digits: int = 3) -> str:
    """Format a difference with its sign, which is + for numbers that are rounded to zero.

    >>> signed(0.126, 2), signed(-0.0001)
    ('+0.13', '+0.000')
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def p_value(p: float | None) -> str:
    """Format a p-value as papers do, or None as an empty string.

    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.031', '<.001', '')
    """
    if p is None:
        return ""
    return "<.001" if p < 0.001 else f"{p:.3f}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Format an interval as `[0.750, 0.900]`, or return an empty string if a bound is missing.

    >>> interval(0.75, 0.9, 2), interval(None, 0.9)
    ('[0.75, 0.90]', '')
    """
    return "" if low is None or high is None else f"[{number(low, digits)}, {number(high, digits)}]"


def with_interval(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Format a value with its interval, or None as a dash.

    >>> with_interval(0.83, 0.75, 0.9, 2), with_interval(0.83, None, None, 2), with_interval(None, None, None)
    ('0.83 [0.75, 0.90]', '0.83', '-')
    """
    return f"{number(value, digits)} {interval(low, high, digits)}".rstrip() if value is not None else NONE


def with_missing(text: str, missing: int) -> str:
    """Append the number of missing values to a string, if there are any.

    >>> with_missing("0.500", 2), with_missing("0.500", 0)
    ('0.500 (2 missing)', '0.500')
    """
    return f"{text} ({missing} missing)" if missing else text


def plain(cell: Cell) -> str:
    """Return a cell as one line of text: an empty string for None, and lines joined by spaces.

    >>> plain(None), plain(3), plain(("a", "b"))
    ('', '3', 'a b')
    """
    if cell is None:
        return ""
    return " ".join(cell) if isinstance(cell, tuple) else str(cell)


def inert(cell: Cell) -> Cell:
    """Escape a string that a spreadsheet would run as a formula, by a leading apostrophe.

    Numbers, and strings that represent numbers, are returned unchanged.

    >>> inert("=1+1"), inert("@SUM(A1)"), inert("-0.15"), inert(-0.15), inert("a=b"), inert("-")
    ("'=1+1", "'@SUM(A1)", '-0.15', -0.15, 'a=b', '-')
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _HARMLESS.fullmatch(cell):
        return f"'{cell}"
    return cell


def not_inert(text: str) -> str:
    """Undo `inert`.

    >>> not_inert(inert("=1+1")), not_inert("it's")
    ('=1+1', "it's")
    """
    return text[1:] if text.startswith("'") and inert(text[1:]) == text else text


def csv_line(cells: Iterable[Cell], *, delimiter: str = ",", escape: bool = True) -> str:
    """Format one line of a CSV file, without a line feed.

    With `escape`, strings are escaped by `inert`. None becomes an empty cell.

    >>> print(csv_line(["a,b", None, -0.5, "=1"]))
    "a,b",,-0.5,'=1
    """
    out = io.StringIO()
    # With this line terminator, the writer also quotes carriage returns, which some readers treat as line ends.
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerow(map(inert, cells) if escape else cells)
    return out.getvalue().removesuffix("\r\n")


def csv_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Format rows as CSV with one column per key. Lists and mappings are written as JSON.

    >>> print(csv_rows([{"system": "aster", "n": 2}, {"system": "birch", "ids": ["a", "b"]}]))
    system,n,ids
    aster,2,
    birch,,"[""a"", ""b""]"
    <BLANKLINE>
    """
    names, cells = columns_and_cells(rows)
    return "".join(f"{csv_line(line)}\n" for line in ([names, *cells] if names else []))


def columns_and_cells(
    rows: Iterable[Mapping[str, Any]], first: Sequence[str] = ()
) -> tuple[list[str], list[list[Any]]]:
    """Return the keys of rows, beginning with those in `first`, and the cells of each row.

    A missing key gives None. Lists and mappings become JSON.
    """
    table = list(rows)
    present = dict.fromkeys(name for row in table for name in row)
    names = [*(name for name in first if name in present), *(name for name in present if name not in first)]
    values = ([row.get(name) for name in names] for row in table)
    return names, [
        [json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict | list | tuple) else cell for cell in row]
        for row in values
    ]


# ---- text within a width ----


def screen_width() -> int:
    """Return the width of the terminal in characters: COLUMNS, or 80 if it is not set and stdout is no terminal."""
    return shutil.get_terminal_size().columns


def screen_length(text: str) -> int:
    """Return the number of columns of a terminal that a text fills.

    >>> screen_length("aster"), screen_length("\u6458\u8981")
    (5, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrapped(text: str, width: int | None = None, indent: str = "  ") -> str:
    """Wrap a text at spaces, and at the bars of signatures.

    `width` is by default that of the terminal. `indent` is added to the indentation of all lines but the first. A
    longer word, such as a path, stays in one piece.

    >>> print(wrapped("aster is better than birch", 16))
    aster is better
      than birch
    """
    width = screen_width() if width is None else width
    lines = []
    for each in text.split("\n"):
        lines += _wrap(each, width, each[: len(each) - len(each.lstrip())] + indent, divide=False)
    return "\n".join(lines)


def _wrap(text: str, width: int, indent: str = "", *, divide: bool = True) -> list[str]:
    """Return the lines of a wrapped text. With `divide`, words that are wider than a line are divided."""
    if screen_length(text) <= width:
        return [text]
    lines, line = [], text[: len(text) - len(text.lstrip())]
    for piece in _PIECE.findall(text.strip()):
        if piece.isspace():
            line += " "
            continue
        rest = piece
        while screen_length(line + rest) > width:
            if line.strip():
                lines.append(line.rstrip())
                line = indent
                continue
            if not divide or _NUMERAL.fullmatch(rest):
                break
            ends = accumulate(map(screen_length, rest[:width]))
            most = max(1, sum(len(line) + end <= width for end in ends))
            cut = max(rest.rfind(joint, 0, most) + 1 for joint in _JOINTS) or most
            lines.append(line + rest[:cut])
            line, rest = indent, rest[cut:]
        line += rest
    return [*lines, line.rstrip()]


def clean(text: str) -> str:
    r"""Replace control characters and characters that change the text direction.

    >>> clean("a\x1b[2J")
    'a\ufffd[2J'
    """
    return _CONTROL.sub("\ufffd", text)


def escape_markdown(text: str) -> str:
    r"""Escape a string for a cell of a Markdown table.

    >>> print(escape_markdown("a|b <i> c_d _e_ [0.1, 0.2]"))
    a\|b &lt;i&gt; c_d \_e\_ [0.1, 0.2]
    """
    escaped = clean(" ".join(text.split())).translate(_MARKDOWN)
    return _WITHIN.sub("_", _INTERVAL.sub(r"[\1]", escaped))


def escape_latex(text: str) -> str:
    r"""Escape a string for LaTeX.

    >>> print(escape_latex("R&D_1 50%"))
    R\&D\_1 50\%
    """
    return clean(" ".join(text.split())).translate(_LATEX)


# ---- the table ----


class Column(NamedTuple):
    """The heading (a tuple has one string per line), alignment and cell format of a column."""

    head: str | tuple[str, ...]
    align: Align = "left"
    show: Callable[[Cell], str] = plain


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns, with notes below.

    `rules` are the indexes of the rows that have a line above them (only in LaTeX). Raises ValueError if the number of
    cells in a row differs from the number of columns.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str | None = None
    notes: tuple[str, ...] = ()
    rules: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells, not {len(self.columns)}: {row}")

    @classmethod
    def of(
        cls,
        heads: Sequence[str | tuple[str, ...]],
        rows: Iterable[Sequence[Cell]],
        *,
        align: str = "",
        show: Sequence[Callable[[Any], str]] = (),
        title: str | None = None,
        notes: Sequence[str] = (),
        rules: Sequence[int] = (),
    ) -> Self:
        """Make a table from headings and rows.

        `align` contains one letter per column, `l` or `r`; the last letter applies to all remaining columns. `show`
        contains one function per column that formats a cell; columns without a function use `plain`.
        """
        sides = [align[min(index, len(align) - 1)] if align else "l" for index in range(len(heads))]
        columns = tuple(
            Column(head, "right" if side == "r" else "left", show[index] if index < len(show) else plain)
            for index, (head, side) in enumerate(zip(heads, sides, strict=True))
        )
        return cls(columns, tuple(tuple(row) for row in rows), title, tuple(notes), tuple(rules))

    @property
    def heads(self) -> list[str]:
        """The headings, each as one line of text."""
        return [plain(column.head) for column in self.columns]

    def cells(self) -> list[list[str]]:
        """Return the cells of each row, each as one line of text."""
        return [
            [" ".join(filter(None, _lines(column, cell))) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def text(self, *, rule: bool = False, gap: str = "  ", width: int | None = None) -> str:
        """Format the table as aligned columns, without title and notes.

        With `rule`, a line is drawn below the headings. `gap` separates the columns. A table that is wider than `width`
        characters is folded: columns whose cells are all equal become one line above the table. Then words are wrapped
        within cells, or the first columns become headings of groups of rows, or the columns are printed in several
        blocks. Numbers are never divided.
        """
        head = [_lines(Column(""), column.head) for column in self.columns]
        body = [[_lines(*pair) for pair in zip(self.columns, row, strict=True)] for row in self.rows]
        shown, grid = list(range(len(self.columns))), [head, *body]
        if width is None or _total((_longest(grid, at) for at in shown), gap) <= width:
            return self._block(shown, grid, rule=rule, gap=gap)
        equal = [at for at in shown if len(body) > 1 and all(row[at] == body[0][at] for row in body)]
        shown = [at for at in shown if at not in equal] or shown[:1]
        said = _said(grid, body[0], [at for at in equal if at not in shown]) if equal else ""
        blocks = ["\n".join(_wrap(f"{said} in all rows", width, "  "))] if said else []
        for group, columns in _pages(grid, shown, width, gap):
            key = shown[: shown.index(columns[0])]
            heading = _wrap(_said(grid, group[0], key), width, "  ") if key else []
            block = self._block(columns, _wrapped_grid([head, *group], columns, width, gap), rule=rule, gap=gap)
            blocks.append("\n".join([*heading, block]))
        return "\n\n".join(blocks)

    def _block(self, shown: Sequence[int], grid: Grid, *, rule: bool, gap: str) -> str:
        """Format the columns `shown` of a grid."""
        widths = [_longest(grid, at) for at in shown]
        lines = []
        for index, row in enumerate(grid):
            for level in zip_longest(*(row[at] for at in shown), fillvalue=""):
                cells = (
                    _padded(cell, size, self.columns[at].align)
                    for cell, size, at in zip(level, widths, shown, strict=True)
                )
                lines.append(gap.join(cells))
            lines += [gap.join("-" * size for size in widths)] * (rule and index == 0)
        return "\n".join(line.rstrip() for line in lines)

    def csv(self) -> str:
        """Format the table as CSV with a line of headings.

        Numbers have full precision, and strings are escaped by `inert`.
        """
        lines = [self.heads, *([plain(cell) if isinstance(cell, tuple) else cell for cell in row] for row in self.rows)]
        return "".join(f"{csv_line(line)}\n" for line in lines)

    def markdown(self) -> str:
        """Format the table as Markdown with title and notes."""
        lines = [[_marked_up(*pair) for pair in zip(self.columns, row, strict=True)] for row in self.rows]
        rows = [f"| {' | '.join(line)} |" for line in [map(escape_markdown, self.heads), *lines]]
        rule = "|".join("---:" if column.align == "right" else "---" for column in self.columns)
        table = "\n".join([rows[0], f"|{rule}|", *rows[1:]])
        title = [f"## {escape_markdown(self.title)}"] if self.title else []
        notes = ["; ".join(map(escape_markdown, self.notes))] if self.notes else []
        return "\n\n".join([*title, table, *notes]) + "\n"

    def latex(self) -> str:
        r"""Format the table as a LaTeX `tabular` for `\usepackage{booktabs}`.

        The title is written as a comment, and the notes are the last lines.
        """
        shape = "".join("r" if column.align == "right" else "l" for column in self.columns)
        title = [f"% {clean(self.title)}"] if self.title else []
        heads = map(escape_latex, self.heads)
        lines = [*title, rf"\begin{{tabular}}{{{shape}}}", r"\toprule", rf"{' & '.join(heads)} \\", r"\midrule"]
        for index, row in enumerate(self.rows):
            lines += [r"\midrule"] * (index in self.rules)
            line = " & ".join(_in_latex(*pair) for pair in zip(self.columns, row, strict=True))
            # After the end of a line, LaTeX would read [ and * as arguments.
            lines.append(rf"{'{}' if line.startswith(('[', '*')) else ''}{line} \\")
        lines.append(r"\bottomrule")
        lines += [rf"\multicolumn{{{len(self.columns)}}}{{l}}{{{escape_latex(note)}}} \\" for note in self.notes]
        return "\n".join([*lines, r"\end{tabular}", ""])

    def html(self) -> str:
        """Format the table as an HTML `<table>` with a caption, and notes below it.

        Right-aligned cells have the class `figure`.
        """
        heads = "".join(
            f'<th scope="col"{_css(column)}>{html.escape(plain(column.head))}</th>' for column in self.columns
        )
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{_css(column)}>{'<br>'.join(map(html.escape, _lines(column, cell)))}</td>"
                for column, cell in zip(self.columns, row, strict=True)
            )
            + "</tr>\n"
            for row in self.rows
        )
        caption = f"<caption>{html.escape(self.title)}</caption>\n" if self.title else ""
        notes = "".join(f"<p>{html.escape(note)}</p>\n" for note in self.notes)
        return f"<table>\n{caption}<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n{notes}"


def document(parts: Iterable[Table | str], format_: str = "text", title: str | None = None) -> str:
    """Format a title, tables and sentences, in order, as one text in the format `text`, `markdown` or `latex`.

    In text, they are wrapped at the width of the terminal. In Markdown, sentences are items of a list; in LaTeX, they
    are comments.

    >>> print(document([Table.of(["system"], [["aster"]]), "n < 30."], "markdown"))
    | system |
    |---|
    | aster |
    <BLANKLINE>
    - n &lt; 30.
    <BLANKLINE>
    """
    writers: dict[str, tuple[Callable[[Table], str], Callable[[str], str]]] = {
        "text": (_plain_text, wrapped),
        "markdown": (Table.markdown, lambda text: f"- {escape_markdown(text)}"),
        "latex": (Table.latex, lambda text: f"% {clean(' '.join(text.split()))}"),
    }
    table, sentence = writers[format_]
    lines: list[str] = []
    blocks = [f"# {escape_markdown(title)}" if format_ == "markdown" else sentence(title)] if title else []
    for part in (*parts, None):
        if isinstance(part, str):
            lines += [sentence(part)] if part or format_ == "text" else []
            continue
        if lines:
            blocks.append("\n".join(lines))
            lines = []
        if part is not None:
            blocks.append(table(part).rstrip("\n"))
    return "\n\n".join(blocks) + "\n"


Grid = Sequence[Sequence[list[str]]]
"""The lines of each cell of a table; the first row is the heading."""


def _longest(grid: Grid, at: int) -> int:
    """Return the width of a column."""
    return max(screen_length(line) for row in grid for line in row[at])


def _total(widths: Iterable[int], gap: str) -> int:
    """Return the width of columns with gaps between them."""
    sizes = list(widths)
    return sum(sizes) + len(gap) * (len(sizes) - 1)


def _least(grid: Grid, at: int, *, divide: bool) -> int:
    """Return the width to which a column can be wrapped; with `divide`, only numbers must stay whole."""
    pieces = {piece for row in grid for line in row[at] for piece in _PIECE.findall(line)}
    if divide:
        numbers = max((screen_length(piece) for piece in pieces if _NUMERAL.fullmatch(piece)), default=0)
        return max(numbers, min(8, _longest(grid, at)))
    return max(map(screen_length, pieces), default=0)


def _said(grid: Grid, row: Sequence[list[str]], columns: Sequence[int]) -> str:
    """Return the cells of a row in words, such as `judge = support, n = 18`."""
    heads = (" ".join(grid[0][at]) for at in columns)
    values = (" ".join(row[at]) or NONE for at in columns)
    return ", ".join(f"{head} = {value}" if head else value for head, value in zip(heads, values, strict=True))


def _pages(grid: Grid, shown: Sequence[int], width: int, gap: str) -> list[tuple[Grid, list[int]]]:
    """Return the rows and the columns of each block.

    If the columns do not fit, even with wrapped words, each block is a group of rows with equal cells in the first
    columns, which the block leaves out. If there is no such group, all rows are in each block, which starts with the
    columns that distinguish them, or with the first column if these are too wide.
    """
    least = {at: _least(grid, at, divide=False) for at in shown}
    rows = list(grid[1:])
    if _total(least.values(), gap) <= width:
        return [(rows, list(shown))]
    for keys in range(1, len(shown)):
        groups = [list(group) for _, group in groupby(rows, itemgetter(*shown[:keys]))]
        if not groups or len(groups) * 3 > len(rows):
            break
        if _total((least[at] for at in shown[keys:]), gap) <= width:
            return [(group, list(shown[keys:])) for group in groups]
    keys = 1
    while keys < len(shown) - 1 and len({str([row[at] for at in shown[:keys]]) for row in rows}) < len(rows):
        keys += 1
    while keys > 1 and _total((least[at] for at in shown[:keys]), gap) > width // 2:
        keys -= 1
    start = min(_total((least[at] for at in shown[:keys]), gap), width // 2)
    pages: list[list[int]] = []
    used = width
    for at in shown[keys:]:
        size = len(gap) + min(least[at], width - start - len(gap))
        if used + size > width:
            pages.append(list(shown[:keys]))
            used = start
        pages[-1].append(at)
        used += size
    return [(rows, page) for page in pages or [list(shown)]]


def _wrapped_grid(grid: Grid, shown: Sequence[int], width: int, gap: str) -> Grid:
    """Return a grid whose cells in the columns `shown` are wrapped, so that these columns fit the width."""
    sizes = {at: min(_longest(grid, at), width) for at in shown}
    for divide in (False, True):
        least = {at: _least(grid, at, divide=divide) for at in shown}
        while _total(sizes.values(), gap) > width and (wide := [at for at in shown if sizes[at] > least[at]]):
            sizes[max(wide, key=lambda at: sizes[at])] -= 1
    return [
        [
            [part for line in row[at] for part in _wrap(line, sizes[at])] if at in sizes else row[at]
            for at in range(len(row))
        ]
        for row in grid
    ]


def _plain_text(table: Table) -> str:
    """Return a table with its title and notes, within the width of the terminal."""
    title = [wrapped(table.title)] if table.title else []
    return "\n".join([*title, table.text(width=screen_width()), *map(wrapped, table.notes)])


def _padded(text: str, width: int, align: Align) -> str:
    space = " " * (width - screen_length(text))
    return space + text if align == "right" else text + space


def _lines(column: Column, cell: Cell) -> list[str]:
    """Return the lines of a cell."""
    lines = list(cell) if isinstance(cell, tuple) else [column.show(cell)]
    return [clean(line) for line in lines] or [""]


def _marked_up(column: Column, cell: Cell) -> str:
    """Format a cell in Markdown."""
    texts = cell if isinstance(cell, tuple) else (column.show(cell),)
    lines = [escape_markdown(text) for text in texts if text]
    return " ".join([f"**{lines[0]}**", *lines[1:]] if isinstance(cell, Best) else lines)


def _in_latex(column: Column, cell: Cell) -> str:
    """Format a cell in LaTeX."""
    lines = [escape_latex(line) for line in _lines(column, cell) if line]
    return " ".join([rf"\textbf{{{lines[0]}}}", *lines[1:]] if isinstance(cell, Best) else lines)


def _css(column: Column) -> str:
    return ' class="figure"' if column.align == "right" else ""
