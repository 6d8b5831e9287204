"""The tables of systems and of pairs of systems for a terminal, and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from summeter.meta.verdicts import Comparison
from summeter.pages.numbers import number, with_interval
from summeter.records import JudgeKey, judge_names
from summeter.report.blocks import Reliability
from summeter.report.head_to_head import columns_of
from summeter.report.words import gloss
from summeter.scoring import COMPOSITE, PairScore, SystemTable
from summeter.tables import Best, Table, clean, escape_markdown
from summeter.tables import interval as plain_interval
from summeter.tables import number as plain_number

if TYPE_CHECKING:
    from rich.console import Console

Key = tuple[str, str, str]
# Stands for the middle of a name that is cut.
DOTS = "..."
_FIRST_WIDTH = 12
_CELL = 16
_WIDEST = 120
# What a table spends at most on a system, on a heading, and on each of two systems in one line.
_SYSTEM, _HEADING, _PAIRED = 30, 24, 24


def ranking(table: SystemTable, console: Console) -> None:
    """Print systems, best first, with interval, n and missing in each cell, and the signatures beneath.

    Columns that do not fit the console's width (120 at most where output is not a terminal) go into further
    tables, and long names lose their middle. Without a terminal the output is plain ASCII-ruled text without colour.
    """
    if not len(table):
        console.print("Nothing has been scored yet.", markup=False)
        return
    width = min(console.width, _WIDEST) if console.is_terminal else _WIDEST
    heads = _Heads.of(table)
    for at, columns in enumerate(_pages(heads, table.columns(), width)):
        if at:
            console.print()
        if console.is_terminal:
            _rich(table, heads, columns, console)
        else:
            rows = [
                [heads.systems[clean(system)], *(_cell(table, system, column) for column in columns)]
                for system in table.ranking()
            ]
            plain = Table.of(["system", *(tuple(heads.column(column)) for column in columns)], rows)
            for line in plain.text(rule=True).split("\n"):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()
    for line in [*_notes(table), *heads.note()]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def pairs(scores: Sequence[PairScore], console: Console) -> None:
    """Print who is preferred to whom, a block for each judge and aspect; nothing where nothing was compared.

    A line is `aster over birch  0.72 [0.60, 0.83]  n=18  flips 11%`: the preferred system, its mean preference
    with interval, the documents, and the share of them on which the verdict turned with the order of showing.
    Settled ones are bold in a terminal.
    """
    for at, group in enumerate(columns_of(scores)):
        if at:
            console.print()
        heading = clean(f"Head to head on {gloss(group[0].aspect).title} ({group[0].judge})")
        console.print(heading, style="bold", markup=False, highlight=False, soft_wrap=True)
        systems = fitted((clean(name) for pair in group for name in (pair.system, pair.rival)), _PAIRED)
        table = Table.of([""] * 4, [_pair_cells(pair, systems) for pair in map(PairScore.leading, group)])
        for pair, line in zip(group, table.text().split("\n")[1:], strict=True):
            style = "bold" if pair.settled else ""
            console.print(f"  {line}", style=style, markup=False, highlight=False, soft_wrap=True)
    if scores:
        console.print()
    for line in _pair_notes(scores):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def trust(blocks: Sequence[Reliability], console: Console) -> None:
    """Print, for each aspect rated in two ways, on which systems the judge is not to be trusted blindly."""
    for block in blocks:
        console.print(clean(f"reliability: {_reliability(block)}"), markup=False, highlight=False, soft_wrap=True)


def _reliability(block: Reliability) -> str:
    values = ", ".join(f"{row.system} {number(row.value)}{' !' if block.flagged(row) else ''}" for row in block.rows)
    return f"{block.sentence} rho by system: {values}".replace("−", "-").replace("–", "-")


def _pair_cells(pair: PairScore, names: Mapping[str, str] | None = None) -> list[str]:
    """Who over whom (by `names` where these are given), how far, on how many documents, how often the order decided."""
    first, second = (clean(name) for name in (pair.system, pair.rival))
    if names is not None:
        first, second = names[first], names[second]
    counts = f"n={pair.n}" + (f", {pair.missing} missing" if pair.missing else "")
    flips = "" if pair.flip_rate is None else f"flips {pair.flip_rate:.0%}"
    value = with_interval(pair.value, *pair.ends) if pair.value is not None else "-"
    return [f"{first} over {second}", value, counts, flips]


def _pair_notes(scores: Sequence[PairScore]) -> list[str]:
    notes = []
    if any(pair.flips for pair in scores):
        notes.append("flips: verdicts that turned with the order of showing; each counts as a tie (0.5).")
    elif scores and all(pair.flip_rate is None for pair in scores):
        notes.append("flips: not known, since no pair was judged in both orders.")
    texts = dict.fromkeys(pair.claim.text for pair in scores if pair.claim)
    notes += [f"interval: {text}" for text in texts if text]
    notes += [f"signature: {text}" for text in dict.fromkeys(pair.signature for pair in scores)]
    return [clean(note) for note in notes]


def markdown(table: SystemTable, pairs: Sequence[PairScore] = (), reliabilities: Sequence[Reliability] = ()) -> str:
    """The table as Markdown: one row a system, cells such as `0.91 [0.88, 0.94] n=18`, then the signatures.

    `pairs` (a run's `pairs()`) follow in a table of their own, then `reliabilities([run])`, a line each. Names are
    escaped, so that a system called `a|b` stays in its cell.
    """
    if not len(table) and not pairs:
        return "Nothing has been scored yet.\n"
    parts = [_markdown_ranking(table)] if len(table) else []
    parts += [_markdown_pairs(pairs)] if pairs else []
    parts += [f"- Reliability: {escape_markdown(_reliability(block))}\n" for block in reliabilities]
    return "\n".join(parts)


def _markdown_pairs(scores: Sequence[PairScore]) -> str:
    rows = []
    for pair in map(PairScore.leading, scores):
        who, value, counts, flips = _pair_cells(pair)
        rows.append(
            [gloss(pair.aspect).title, pair.judge, f"{who} {value}", counts, flips.removeprefix("flips ") or "-"]
        )
    table = Table.of(["aspect", "judge", "preferred", "n", "flips"], rows)
    return _with_notes(table, _pair_notes(scores))


def _markdown_ranking(table: SystemTable) -> str:
    columns = table.columns()
    titles = _titles(table)
    rows = [
        [rank, system, *(_cell(table, system, column) for column in columns)]
        for rank, system in enumerate(table.ranking(), 1)
    ]
    heads = ["#", "system", *(titles[column] for column in columns)]
    columned = Table.of(heads, rows)
    ranked = columned.columns[0]._replace(align="right")
    return _with_notes(replace(columned, columns=(ranked, *columned.columns[1:])), _notes(table))


def _with_notes(table: Table, notes: Sequence[str]) -> str:
    return "\n".join([table.markdown(), *(f"- {escape_markdown(note)}" for note in notes)]) + "\n"


class _Heads(NamedTuple):
    """What stands at the head of columns and rows: aspects, judges where these need telling apart, systems."""

    titles: Mapping[Key, str]
    judges: Mapping[Key, str]
    systems: Mapping[str, str]

    @classmethod
    def of(cls, table: SystemTable) -> _Heads:
        """Names cut to what a table spends on them."""
        columns = table.columns()
        aspects, judges = Counter(aspect for _, _, aspect in columns), _judges(table)
        shown = fitted(judges.values(), _HEADING)
        titles = fitted((_title(column) for column in columns), _HEADING)
        return cls(
            {column: titles[_title(column)] for column in columns},
            {column: shown[judges[column]] if aspects[column[2]] > 1 else "" for column in columns},
            fitted(map(clean, table.ranking()), _SYSTEM),
        )

    def column(self, column: Key) -> list[str]:
        """The heading from top to bottom."""
        return [line for line in (self.titles[column], self.judges[column]) if line]

    def width(self, column: Key) -> int:
        """How wide a column is at least."""
        return max(_CELL, *map(len, self.column(column)))

    def note(self) -> list[str]:
        """Says that names were cut, where some were."""
        cut = any(DOTS in short and short != name for name, short in self.systems.items())
        cut = cut or any(DOTS in line for column in self.titles for line in self.column(column))
        return [f"Long names are cut in the middle ({DOTS}); they stand whole in the report and with --json."] * cut


def _pages(heads: _Heads, columns: Sequence[Key], width: int) -> list[list[Key]]:
    """Columns by the table they stand in, as many in each as its width holds, at least one."""
    first = max(_FIRST_WIDTH, *map(len, heads.systems.values()))
    pages: list[list[Key]] = []
    left = 0
    for column in columns:
        needed = heads.width(column) + 1
        if not pages or needed > left:
            pages.append([])
            left = width - first
        pages[-1].append(column)
        left -= needed
    return pages


def _judges(table: SystemTable) -> dict[Key, str]:
    """By column the name of its judge, with what tells it from another of that name on the same aspect."""
    models = {(row.judge, row.signature, row.aspect): row.model for row in table.rows}
    judges: dict[Key, str] = {}
    for aspect in dict.fromkeys(aspect for _, _, aspect in models):
        keys = {column: JudgeKey(*column[:2], model) for column, model in models.items() if column[2] == aspect}
        names = judge_names(keys.values())
        judges |= {column: clean(names[key]) for column, key in keys.items()}
    return judges


def _title(column: Key) -> str:
    return clean(gloss(column[2]).title)


def _titles(table: SystemTable) -> dict[Key, str]:
    """Headings of one line: the aspect, with its judge where another column has the same aspect."""
    columns, judges = table.columns(), _judges(table)
    aspects = Counter(aspect for _, _, aspect in columns)
    return {
        column: f"{_title(column)} ({judges[column]})" if aspects[column[2]] > 1 else _title(column)
        for column in columns
    }


def _cell(table: SystemTable, system: str, column: Key) -> tuple[str, ...]:
    """A cell from top to bottom: value, interval, counts."""
    cell = table.compared(system, column)
    if cell is None:
        return ("-",)
    counts = f"n={cell.n}, {cell.missing} missing"
    if cell.value is None:
        return ("-", counts)
    lines = (plain_number(cell.value, 2), plain_interval(*cell.ends, 2), counts)
    shown = tuple(line for line in lines if line)
    return Best(shown) if Comparison.of(table, column).best == system else shown


def _rich(table: SystemTable, heads: _Heads, columns: Sequence[Key], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table_view = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=False, header_style="bold", padding=(0, 1, 0, 0))
    table_view.add_column("system", overflow="fold")
    for column in columns:
        first, *more = heads.column(column)
        head = Text(first)
        head.append("".join(f"\n{line}" for line in more), style="not bold")
        table_view.add_column(head, overflow="fold")
    for system in table.ranking():
        cells = [Text(heads.systems[clean(system)], style="bold")]
        for column in columns:
            lines = _cell(table, system, column)
            text = Text(lines[0], style="bold underline" if isinstance(lines, Best) else "")
            text.append("".join(f"\n{line}" for line in lines[1:]), style="not bold not underline dim")
            cells.append(text)
        table_view.add_row(*cells, end_section=False)
    console.print(table_view)


def _notes(table: SystemTable) -> list[str]:
    """What stands beneath: how many scores and units are missing, the interval, the signatures."""
    notes = list(dict.fromkeys(note for column in table.columns() if (note := table.note(column))))
    notes += [note for note in (table.missing(), table.unjudged()) if note]
    notes += [f"interval: {interval}" for interval in dict.fromkeys(row.interval for row in table.rows)]
    for _, signature, aspect in table.columns():
        # A composite's signature is the sum of those of its parts, which stand here already.
        if aspect != COMPOSITE and (line := f"signature: {signature}") not in notes:
            notes.append(line)
    return [clean(note) for note in notes]


# ---- names short enough for a table


def fitted(names: Iterable[str], width: int) -> Mapping[str, str]:
    """Each name at most `width` characters long, the middle left out; a number tells apart what would look the same.

    Systems and settings mostly differ at one of their ends.

    >>> fitted(["bart", "pegasus-large-cnn-dailymail-beam-4"], 20)["pegasus-large-cnn-dailymail-beam-4"]
    'pegasus-l...l-beam-4'
    """
    distinct = list(dict.fromkeys(names))
    alike, taken = Counter(_cut(name, width) for name in distinct), set(distinct)
    fitted_names: dict[str, str] = {}
    for name in distinct:
        short, number = _cut(name, width), 0
        while short != name and (short in taken or (number == 0 and alike[short] > 1)):
            number += 1
            tail = f" #{number}"
            short = _cut(name, width - len(tail)) + tail
        taken.add(short)
        fitted_names[name] = short
    return fitted_names


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    kept = max(2, width - len(DOTS))
    return text[: (kept + 1) // 2] + DOTS + text[len(text) - kept // 2 :]
