"""The tables of systems and of pairs of systems for a terminal, and as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from summeter.report.study_blocks import Reliability
from summeter.report.words import NEUTRAL, count, gloss, interval, number, same, with_interval
from summeter.scoring import COMPOSITE, PairScore, SystemScore, SystemTable

if TYPE_CHECKING:
    from rich.console import Console

Key = tuple[str, str, str]
# A name must not move the cursor, change colours or turn the line round.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FIRST_WIDTH = 12
_CELL = 16
_WIDEST = 120


def ranking(table: SystemTable, console: Console) -> None:
    """Print systems, best first, with interval, n and missing in each cell, and the signatures beneath.

    Columns that do not fit the console's width (120 at most where output is not a terminal) go into further
    tables. Without a terminal the output is plain ASCII-ruled text without colour.
    """
    if not len(table):
        console.print("Nothing has been scored yet.", markup=False)
        return
    width = min(console.width, _WIDEST) if console.is_terminal else _WIDEST
    for at, columns in enumerate(_pages(table.columns(), width)):
        if at:
            console.print()
        if console.is_terminal:
            _rich(table, columns, console)
        else:
            for line in _plain(table, columns):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()
    for line in _notes(table):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def pairs(scores: Sequence[PairScore], console: Console) -> None:
    """Print who is preferred to whom, a block for each judge and aspect; nothing where nothing was compared.

    A line is `aster over birch  0.72 [0.60, 0.83]  n=18  flips 11%`: the preferred system, its mean preference
    with interval, the documents, and the share of them on which the verdict turned with the order of showing.
    Settled ones are bold in a terminal.
    """
    for at, group in enumerate(_groups(scores)):
        if at:
            console.print()
        console.print(_heading(group[0]), style="bold", markup=False, highlight=False, soft_wrap=True)
        rows = [_pair_cells(one) for one in map(PairScore.leading, group)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        for one, row in zip(group, rows, strict=True):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            style = "bold" if one.settled else ""
            console.print(f"  {line}", style=style, markup=False, highlight=False, soft_wrap=True)
    if scores:
        console.print()
    for line in _pair_notes(scores):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def trust(blocks: Sequence[Reliability], console: Console) -> None:
    """Print, for each aspect rated in two ways, on which systems the judge is not to be trusted blindly."""
    for block in blocks:
        console.print(_clean(f"reliability: {_trusted(block)}"), markup=False, highlight=False, soft_wrap=True)


def _trusted(block: Reliability) -> str:
    values = ", ".join(f"{one.system} {number(one.value)}{' !' if one.flagged else ''}" for one in block.systems)
    return f"{block.said} rho by system: {values}".replace("−", "-").replace("–", "-")


def _groups(scores: Sequence[PairScore]) -> list[list[PairScore]]:
    found: dict[Key, list[PairScore]] = {}
    for one in scores:
        found.setdefault((one.judge, one.signature, one.aspect), []).append(one)
    return list(found.values())


def _heading(one: PairScore) -> str:
    return _clean(f"Head to head on {gloss(one.aspect).title} ({one.judge})")


def _pair_cells(one: PairScore) -> list[str]:
    """Who over whom, how far, on how many documents, and how often the order decided."""
    counts = f"n={one.n}" + (f", {one.missing} missing" if one.missing else "")
    flips = "" if one.flip_rate is None else f"flips {one.flip_rate:.0%}"
    value = with_interval(one.value, one.low, one.high) if one.value is not None else "-"
    return [_clean(f"{one.system} over {one.rival}"), value, counts, flips]


def _pair_notes(scores: Sequence[PairScore]) -> list[str]:
    notes = []
    if any(one.flips for one in scores):
        notes.append("flips: verdicts that turned with the order of showing; each counts as a tie (0.5).")
    elif scores and all(one.flip_rate is None for one in scores):
        notes.append("flips: not known, since no pair was judged in both orders.")
    for kind in ("interval", "signature"):
        notes += [f"{kind}: {text}" for text in dict.fromkeys(getattr(one, kind) for one in scores)]
    return [_clean(note) for note in notes]


def markdown(
    table: SystemTable, pairs: Sequence[PairScore] = (), reliabilities: Sequence[Reliability] = ()
) -> str:  # fmt: skip
    """The table as Markdown: one row a system, cells such as `0.91 [0.88, 0.94] n=18`, then the signatures.

    `pairs` (a run's `pairs()`) follow in a table of their own, then `reliabilities([run])`, a line each. Names are
    escaped, so that a system called `a|b` stays in its cell.
    """
    if not len(table) and not pairs:
        return "Nothing has been scored yet.\n"
    parts = [_markdown_ranking(table)] if len(table) else []
    parts += [_markdown_pairs(pairs)] if pairs else []
    parts += [f"- Reliability: {_escape(_trusted(block))}\n" for block in reliabilities]
    return "\n".join(parts)


def _markdown_pairs(scores: Sequence[PairScore]) -> str:
    lines = ["| aspect | judge | preferred | n | flips |", "|---|---|---|---|---|"]
    for one in map(PairScore.leading, scores):
        who, value, counts, flips = _pair_cells(one)
        cells = [gloss(one.aspect).title, one.judge, f"{who} {value}", counts, flips.removeprefix("flips ") or "-"]
        lines.append("| " + " | ".join(_escape(cell) for cell in cells) + " |")
    return "\n".join([*lines, "", *(f"- {_escape(line)}" for line in _pair_notes(scores))]) + "\n"


def _markdown_ranking(table: SystemTable) -> str:
    columns = table.columns()
    titles = _titles(columns)
    lines = ["| # | system | " + " | ".join(_escape(title) for title in titles) + " |"]
    lines.append("|--:|---|" + "---|" * len(columns))
    best = {column: _best(table, column) for column in columns}
    for place, system in enumerate(table.ranking(), 1):
        cells = []
        for column in columns:
            cell = table.cell(system, column)
            text = " ".join(_lines(cell))
            if cell is not None and same(cell.value, best[column]):
                value, _, rest = text.partition(" ")
                text = f"**{value}** {rest}".rstrip()
            cells.append(text)
        lines.append(f"| {place} | {_escape(system)} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"- {_escape(line)}" for line in _notes(table))]) + "\n"


def _pages(columns: Sequence[Key], width: int) -> list[list[Key]]:
    """Columns by the table they stand in; those of one judge family stay together where they can."""
    fit = max(1, (width - _FIRST_WIDTH) // (_CELL + 1))
    return [list(columns[at : at + fit]) for at in range(0, len(columns), fit)]


def _titles(columns: Sequence[Key]) -> list[str]:
    """Column headings: the aspect, with its judge where another column has the same aspect."""
    aspects = Counter(aspect for _, _, aspect in columns)
    named = Counter((judge, aspect) for judge, _, aspect in columns)
    found, seen = [], Counter[tuple[str, str]]()
    for judge, _, aspect in columns:
        title = gloss(aspect).title
        if aspects[aspect] > 1:
            title += f" ({judge})"
        if named[judge, aspect] > 1:
            seen[judge, aspect] += 1
            title += f" #{seen[judge, aspect]}"
        found.append(_clean(title))
    return found


def _lines(cell: SystemScore | None) -> list[str]:
    """A cell from top to bottom: value, interval, counts."""
    if cell is None:
        return ["-"]
    counts = f"n={cell.n}, {cell.missing} missing"
    if cell.value is None:
        return ["-", counts]
    value = number(cell.value).replace("−", "-")
    between = interval(cell.low, cell.high).replace("−", "-")
    return [value, *([between] if between else []), counts]


def _best(table: SystemTable, column: Key) -> float | None:
    values = [row.value for row in table.rows
              if (row.judge, row.signature, row.aspect) == column and row.value is not None]  # fmt: skip
    return max(values) if len(values) > 1 and column[2] not in NEUTRAL else None


def _plain(table: SystemTable, columns: Sequence[Key]) -> list[str]:
    """Fixed columns of text; a cell may be three lines high."""
    titles = dict(zip(table.columns(), _titles(table.columns()), strict=True))
    rows = [["system", *(titles[column] for column in columns)]]
    blocks = [[[name] for name in rows[0]]]
    blocks += [
        [[_clean(system)], *(_lines(table.cell(system, column)) for column in columns)] for system in table.ranking()
    ]
    widths = [max(len(line) for block in blocks for line in block[at]) for at in range(len(columns) + 1)]
    text = []
    for at, block in enumerate(blocks):
        for level in range(max(len(lines) for lines in block)):
            cells = [lines[level] if level < len(lines) else "" for lines in block]
            text.append("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
        if at == 0:
            text.append("  ".join("-" * width for width in widths))
    return text


def _rich(table: SystemTable, columns: Sequence[Key], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    titles = dict(zip(table.columns(), _titles(table.columns()), strict=True))
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=False, header_style="bold", padding=(0, 1, 0, 0))
    drawn.add_column("system", overflow="fold")
    for column in columns:
        drawn.add_column(Text(titles[column]), overflow="fold")
    best = {column: _best(table, column) for column in columns}
    for system in table.ranking():
        cells = [Text(_clean(system), style="bold")]
        for column in columns:
            cell = table.cell(system, column)
            lines = _lines(cell)
            top = cell is not None and same(cell.value, best[column])
            text = Text(lines[0], style="bold underline" if top else "")
            text.append("".join(f"\n{line}" for line in lines[1:]), style="not bold not underline dim")
            cells.append(text)
        drawn.add_row(*cells, end_section=False)
    console.print(drawn)


def _notes(table: SystemTable) -> list[str]:
    """What stands beneath: how many scores are missing, the interval, the signatures."""
    missing = sum(row.missing for row in table.rows)
    total = missing + sum(row.n for row in table.rows)
    notes = []
    if missing:
        notes.append(f"{missing} of {count(total, 'score')} could not be had: left out of the means, never zero.")
    notes += [f"interval: {one}" for one in dict.fromkeys(row.interval for row in table.rows)]
    for _, signature, aspect in table.columns():
        # A composite's signature is the sum of those of its parts, which stand here already.
        if aspect != COMPOSITE and (line := f"signature: {signature}") not in notes:
            notes.append(line)
    return [_clean(note) for note in notes]


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)


def _escape(text: str) -> str:
    text = _clean(" ".join(text.split()))
    for char in "\\`*_[]<>|":
        text = text.replace(char, f"\\{char}")
    return text
