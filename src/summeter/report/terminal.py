"""Summary of a run, and tables of systems and of pairs of systems, for a terminal and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from summeter.meta._sources import STUDY as SOURCES
from summeter.meta.verdicts import Comparison, agreement_name, listed
from summeter.pages.numbers import count, number, percent, with_interval
from summeter.records import JudgeKey, judge_names
from summeter.report.blocks import Reliability
from summeter.report.build import Page
from summeter.report.head_to_head import columns_of
from summeter.report.studies import about
from summeter.report.words import gloss
from summeter.scoring import COMPOSITE, PairScore, SystemTable
from summeter.scoring.systems import counts_note
from summeter.tables import Best, Table, clean, document, wrapped
from summeter.tables import interval as plain_interval
from summeter.tables import number as plain_number

if TYPE_CHECKING:
    from rich.console import Console

Key = tuple[str, str, str]
# Replaces the middle of a shortened name
DOTS = "..."
_FIRST_WIDTH = 6
# Maximum widths, in characters, of a system name, of a heading, and of each of two systems in one line
_SYSTEM, _HEADING, _PAIRED = 30, 24, 24


def outcome(page: Page) -> dict[str, str]:
    """Return what the first run of a report judged, its coverage and its result, by label.

    The result is the sentence at the head of the page, followed by systems whose ratings should be checked and by the
    agreement of the judges with people. If sources were judged alone, there is a text about them.
    """
    block, data = page.runs[0], page.runs[0].view.data
    of = f"{block.judged:,} of " if block.judged != len(data) else ""
    what = f"{of}{count(len(data), 'summary', 'summaries')} by {count(len(data.systems), 'system')}"
    coverage = "nothing to judge."
    if block.view.coverage is not None:
        usable = f"{block.counts.get('ok', 0):,} of {count(block.wanted, 'judgment')} usable"
        others = [f"{number:,} {status}" for status, number in block.counts.items() if status != "ok"]
        coverage = f"{percent(block.view.coverage)}: {', '.join([usable, *others])}."
    notes = [note for note in (block.missing, f"{block.truncated}." if block.truncated else None) if note]
    flagged = [each.sentence for each in page.reliabilities if any(map(each.flagged, each.rows))]
    rows = {
        "judged": f"{what}, {count(data.document_count, 'document')}; judges: {', '.join(block.judges)}",
        "coverage": " ".join([coverage, *notes]),
        "result": " ".join([*block.verdict, *flagged, *_with_people(page)]),
    }
    of_sources = [note for study in page.studies if study.title == about(SOURCES).title for note in study.notes]
    if of_sources:
        rows["sources"] = " ".join(f"{note}." for note in of_sources if not note.endswith("left out"))
    return {label: clean(text).replace("−", "-").replace("–", "-") for label, text in rows.items()}


def _with_people(page: Page) -> list[str]:
    """Return a sentence on the agreement of each judge with people, as measured on the data or elsewhere."""
    measured: dict[tuple[str, str], list[str]] = {}
    for judge, row, _ in page.agreements:
        if row.value is not None:
            verdict = row.details["verdict"]
            note = "" if verdict == "above chance" else f" ({verdict})"
            shown = f"{gloss(row.aspect or '').title} {number(row.value)}{note}"
            measured.setdefault((judge, agreement_name(row.statistic)), []).append(shown)
    sentences = [
        f"Agreement of {judge} with people ({statistic}): {listed(shown)}."
        for (judge, statistic), shown in measured.items()
    ]
    return sentences + [f"{line}." for line in page.agreements_elsewhere]


def ranking(table: SystemTable, console: Console) -> None:
    """Print the table of systems, best first, followed by the signatures.

    Each cell contains the mean and its interval, and also n and the number of missing scores unless these are the same
    in all cells. Columns that do not fit the console's width are printed in further tables, and the middle of long
    names is cut out. If the output is not a terminal, it is plain text without colour.
    """
    if not len(table):
        console.print("Nothing has been scored yet.", markup=False)
        return
    heads, (cells, counts) = _Headings.of(table), _cells(table)
    for at, columns in enumerate(_pages(heads, cells, table.columns(), console.width)):
        if at:
            console.print()
        if console.is_terminal:
            _rich(table, cells, heads, columns, console)
        else:
            rows = [
                [heads.systems[clean(system)], *(cells[system, column] for column in columns)]
                for system in table.ranking()
            ]
            plain = Table.of(["system", *(tuple(heads.column(column)) for column in columns)], rows)
            for line in plain.text(rule=True).split("\n"):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()
    _print_notes([*counts, *_notes(table), *heads.note()], console)


def pairs(scores: Sequence[PairScore], console: Console) -> None:
    """Print the preferences, one block per judge and aspect, if there are any.

    A line has the form `aster over birch  0.72 [0.60, 0.83]  n=18  flips 11%`: the preferred and the other system, the
    mean preference with its interval, the number of documents, and the percentage of documents whose verdict changed
    with the order of presentation. Significant preferences are bold in a terminal.
    """
    for at, group in enumerate(columns_of(scores)):
        if at:
            console.print()
        heading = clean(f"Head to head on {gloss(group[0].aspect).title} ({group[0].judge})")
        console.print(heading, style="bold", markup=False, highlight=False, soft_wrap=True)
        systems = shorten_names((clean(name) for pair in group for name in (pair.system, pair.rival)), _PAIRED)
        table = Table.of([""] * 4, [_pair_cells(pair, systems) for pair in map(PairScore.leading, group)])
        for pair, line in zip(group, table.text().split("\n")[1:], strict=True):
            style = "bold" if pair.settled else ""
            console.print(f"  {line}", style=style, markup=False, highlight=False, soft_wrap=True)
    if scores:
        console.print()
    _print_notes(_pair_notes(scores), console)


def trust(blocks: Sequence[Reliability], console: Console) -> None:
    """Print the systems whose ratings should be checked, for each aspect rated in two ways."""
    _print_notes([clean(f"reliability: {_reliability(block)}") for block in blocks], console)


def _print_notes(notes: Iterable[str], console: Console) -> None:
    for note in notes:
        console.print(wrapped(note, console.width), markup=False, highlight=False, soft_wrap=True)


def _reliability(block: Reliability) -> str:
    values = ", ".join(f"{row.system} {number(row.value)}{' !' if block.flagged(row) else ''}" for row in block.rows)
    return f"{block.sentence} rho by system: {values}".replace("−", "-").replace("–", "-")


def _pair_cells(pair: PairScore, names: Mapping[str, str] | None = None) -> list[str]:
    """Return the cells of a pair: the systems, the preference, the counts and the flips.

    `names` maps systems to shortened names.
    """
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
        notes.append("flips: verdicts that changed with the order of presentation; each counts as a tie (0.5).")
    elif scores and all(pair.flip_rate is None for pair in scores):
        notes.append("flips: unknown, because no pair was judged in both orders.")
    texts = dict.fromkeys(pair.test for pair in scores if pair.test)
    notes += [f"interval: {text}" for text in texts if text]
    notes += [f"signature: {text}" for text in dict.fromkeys(pair.signature for pair in scores)]
    return [clean(note) for note in notes]


def markdown(table: SystemTable, pairs: Sequence[PairScore] = (), reliabilities: Sequence[Reliability] = ()) -> str:
    """Return the parts of `score_parts` as Markdown.

    Names are escaped, so that a system called `a|b` stays in its cell.
    """
    return document(score_parts(table, pairs, reliabilities), "markdown")


def score_parts(
    table: SystemTable, pairs: Sequence[PairScore] = (), reliabilities: Sequence[Reliability] = ()
) -> list[Table | str]:
    """Return the table of systems, with one row per system, and the signatures.

    A cell has the form `0.91 [0.88, 0.94] n=18, 2 missing`; counts that are the same in all cells are in a note. The
    table is followed by a second table with `pairs`, the result of `run.pairs()`, and then by one line for each of
    `reliabilities`, the result of `reliabilities([run])`.
    """
    if not len(table) and not pairs:
        return ["Nothing has been scored yet."]
    parts: list[Table | str] = []
    if len(table):
        columns, judges, (cells_of, common) = table.columns(), _judges(table), _cells(table)
        # A heading is one line: the aspect, and also the judge if several columns have the same aspect.
        aspects = Counter(aspect for _, _, aspect in columns)
        titles = [f"{_title(key)} ({judges[key]})" if aspects[key[2]] > 1 else _title(key) for key in columns]
        rows = [
            [rank, system, *(cells_of[system, column] for column in columns)]
            for rank, system in enumerate(table.ranking(), 1)
        ]
        ranked = Table.of(["#", "system", *titles], rows)
        numbers = ranked.columns[0]._replace(align="right")
        parts += [replace(ranked, columns=(numbers, *ranked.columns[1:])), *common, *_notes(table)]
    if pairs:
        cells = []
        for pair in map(PairScore.leading, pairs):
            who, value, counts, flips = _pair_cells(pair)
            share = flips.removeprefix("flips ") or "-"
            cells.append([gloss(pair.aspect).title, pair.judge, f"{who} {value}", counts, share])
        heads = ["aspect", "judge", "preferred", "n", "flips"]
        parts += [Table.of(heads, cells), *_pair_notes(pairs)]
    return [*parts, *(f"Reliability: {_reliability(block)}" for block in reliabilities)]


class _Headings(NamedTuple):
    """Headings of columns and rows: aspects, judges if an aspect has several, and systems."""

    titles: Mapping[Key, str]
    judges: Mapping[Key, str]
    systems: Mapping[str, str]

    @classmethod
    def of(cls, table: SystemTable) -> _Headings:
        """Return the headings of a table, shortened if necessary."""
        columns = table.columns()
        aspects, judges = Counter(aspect for _, _, aspect in columns), _judges(table)
        shown = shorten_names(judges.values(), _HEADING)
        titles = shorten_names((_title(column) for column in columns), _HEADING)
        return cls(
            {column: titles[_title(column)] for column in columns},
            {column: shown[judges[column]] if aspects[column[2]] > 1 else "" for column in columns},
            shorten_names(map(clean, table.ranking()), _SYSTEM),
        )

    def column(self, column: Key) -> list[str]:
        """Return the lines of a column's heading."""
        return [line for line in (self.titles[column], self.judges[column]) if line]

    def note(self) -> list[str]:
        """Return a note on shortened names, or an empty list if no name was shortened."""
        cut = any(DOTS in short and short != name for name, short in self.systems.items())
        cut = cut or any(DOTS in line for column in self.titles for line in self.column(column))
        return [f"Long names are shortened ({DOTS}); the report and --json have the full names."] * cut


def _pages(heads: _Headings, cells: Cells, columns: Sequence[Key], width: int) -> list[list[Key]]:
    """Return the columns of each table: as many as fit the width, and at least one."""
    first = max(_FIRST_WIDTH, *map(len, heads.systems.values()))
    pages: list[list[Key]] = []
    left = 0
    for column in columns:
        lines = (line for key, lines in cells.items() if key[1] == column for line in lines)
        needed = max(map(len, [*heads.column(column), *lines])) + 2
        if not pages or needed > left:
            pages.append([])
            left = width - first - 2  # Rich adds a character on both sides
        pages[-1].append(column)
        left -= needed
    return pages


def _judges(table: SystemTable) -> dict[Key, str]:
    """Return the label of each column's judge, which is unique among the judges of its aspect."""
    models = {(row.judge, row.signature, row.aspect): row.model for row in table.rows}
    judges: dict[Key, str] = {}
    for aspect in dict.fromkeys(aspect for _, _, aspect in models):
        keys = {column: JudgeKey(*column[:2], model) for column, model in models.items() if column[2] == aspect}
        names = judge_names(keys.values())
        judges |= {column: clean(names[key]) for column, key in keys.items()}
    return judges


def _title(column: Key) -> str:
    return clean(gloss(column[2]).title)


Cells = Mapping[tuple[str, Key], tuple[str, ...]]


def _cells(table: SystemTable) -> tuple[Cells, list[str]]:
    """Return the lines of each cell (value, interval, counts), and a note with the counts if all cells have the same.

    In this case, the cells do not contain them.
    """
    means = {
        (system, column): table.compared(system, column) for column in table.columns() for system in table.ranking()
    }
    best = {(name, column) for column in table.columns() for name in Comparison.of(table, column).best}
    note = counts_note(means.values())
    cells: dict[tuple[str, Key], tuple[str, ...]] = {}
    for key, cell in means.items():
        lines = (
            ["-"]
            if cell is None or cell.value is None
            else [plain_number(cell.value, 2), plain_interval(*cell.ends, 2)]
        )
        if cell is not None and note is None:
            lines.append(f"n={cell.n}, {cell.missing} missing")
        lines.append(table.flag(*key) or "")
        cells[key] = (Best if key in best else tuple)(filter(None, lines))
    return cells, [] if note is None else [note]


def _rich(
    table: SystemTable,
    cells_of: Cells,
    heads: _Headings,
    columns: Sequence[Key],
    console: Console,
) -> None:
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
            lines = cells_of[system, column]
            text = Text(lines[0], style="bold underline" if isinstance(lines, Best) else "")
            text.append("".join(f"\n{line}" for line in lines[1:]), style="not bold not underline dim")
            cells.append(text)
        table_view.add_row(*cells, end_section=False)
    console.print(table_view)


def _notes(table: SystemTable) -> list[str]:
    """Return the notes below the table, on missing scores and units, intervals and signatures."""
    notes = list(dict.fromkeys(note for column in table.columns() if (note := table.note(column))))
    notes += [note for note in (table.missing(), table.unjudged()) if note]
    notes += [f"interval: {interval}" for interval in dict.fromkeys(row.interval for row in table.rows)]
    for _, signature, aspect in table.columns():
        # The signature of a composite consists of the signatures of its parts, which are listed already.
        if aspect != COMPOSITE and (line := f"signature: {signature}") not in notes:
            notes.append(line)
    return [clean(note) for note in notes]


# ---- shortened names


def shorten_names(names: Iterable[str], width: int) -> Mapping[str, str]:
    """Map each name to a distinct name of at most `width` characters.

    The middle of long names is cut out, because the names of systems and settings mostly differ at the ends. If two
    shortened names are equal, they are numbered.

    >>> shorten_names(["bart", "pegasus-large-cnn-dailymail-beam-4"], 20)["pegasus-large-cnn-dailymail-beam-4"]
    'pegasus-l...l-beam-4'
    """
    distinct = list(dict.fromkeys(names))
    same, used = Counter(_cut(name, width) for name in distinct), set(distinct)
    shortened: dict[str, str] = {}
    for name in distinct:
        short, number = _cut(name, width), 0
        while short != name and (short in used or (number == 0 and same[short] > 1)):
            number += 1
            tail = f" #{number}"
            short = _cut(name, width - len(tail)) + tail
        used.add(short)
        shortened[name] = short
    return shortened


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    kept = max(2, width - len(DOTS))
    return text[: (kept + 1) // 2] + DOTS + text[len(text) - kept // 2 :]
