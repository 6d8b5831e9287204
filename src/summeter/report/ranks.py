"""Ranks of systems: the ranking tables, and the verdict in one sentence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from summeter.records import JudgeKey, judge_names
from summeter.report.blocks import Cell, Column, RankRow, RankTable, Source
from summeter.report.views import RunView
from summeter.report.words import NEUTRAL, SAME, count, gloss, number, same, with_interval
from summeter.scoring import COMPOSED, COMPOSITE, Score, SystemScore
from summeter.scoring.systems import FIRST, LEVEL, RESAMPLES
from summeter.stats import Bootstrap, Interval

Key = tuple[str, str, str]


class ColumnKey(NamedTuple):
    """A column of some run: where a mean is looked up."""

    run: int
    judge: str
    signature: str
    aspect: str

    @property
    def key(self) -> Key:
        """The column as the run's own table knows it."""
        return self.judge, self.signature, self.aspect


def family(judge: str) -> str:
    """`finesure.align` -> `finesure`."""
    return judge.split(".", maxsplit=1)[0]


def label_of(column: ColumnKey, view: RunView, sources: Sequence[Source]) -> str:
    """The source of a column in a few words; a composite goes by the family of its judges and what tells it apart."""
    for source in sources:
        if source.key == (column.run, column.judge, column.signature):
            return source.label
    judges = [
        JudgeKey(judge, signature) for judge, signature, aspect in view.table.columns() if aspect == column.aspect
    ]
    name = judge_names(judges).get(JudgeKey(column.judge, column.signature), column.judge)
    return f"{view.letter} · {name}" if view.letter else name


def rank_tables(views: Sequence[RunView], sources: Sequence[Source]) -> tuple[RankTable, ...]:
    """One table a family that judges faithfulness, completeness or conciseness. Other measures stand beside
    the only one; where there are several families or runs, in a table of their own."""
    columns = [ColumnKey(view.place, *key) for view in views for key in view.table.columns()]
    families = dict.fromkeys(family(column.judge) for column in columns if column.aspect in COMPOSED)
    main = [name for name in dict.fromkeys(family(column.judge) for column in columns) if name in families]
    others = [column for column in columns if family(column.judge) not in main]
    groups = [(f"Judged by {name}", [column for column in columns if family(column.judge) == name]) for name in main]
    if len(groups) == 1 and len(views) == 1:
        groups = [(groups[0][0], [*groups[0][1], *others])]
    elif others:
        groups.append(("Other measures" if groups else "Measures", others))
    return tuple(_table(title, _ordered(group), views, sources) for title, group in groups)


def _ordered(columns: Sequence[ColumnKey]) -> list[ColumnKey]:
    """By aspect, best known first, then by run: the same aspect of two runs stands side by side."""
    aspects = list(dict.fromkeys(column.aspect for column in columns))

    def order(column: ColumnKey) -> tuple[int, int, int]:
        known = FIRST.index(column.aspect) if column.aspect in FIRST else len(FIRST)
        return known, aspects.index(column.aspect), column.run

    return sorted(columns, key=order)


def _table(title: str, keys: Sequence[ColumnKey], views: Sequence[RunView], sources: Sequence[Source]) -> RankTable:
    means = {key: _means(views[key.run], key) for key in keys}
    lead = next((key for key in keys if key.aspect == COMPOSITE), keys[0])
    systems = list(dict.fromkeys(system for column in means.values() for system in column))
    ranked = ranks([mean.value if (mean := means[lead].get(system)) else None for system in systems])
    order = sorted(range(len(systems)), key=lambda index: (ranked[index] is None, ranked[index] or 0, systems[index]))
    best = {key: None if key.aspect in NEUTRAL else _best(column) for key, column in means.items()}

    def cell(system: str, key: ColumnKey) -> Cell | None:
        mean = means[key].get(system)
        return None if mean is None else as_cell(mean, best[key])

    rows = tuple(
        RankRow(systems[index], ranked[index], tuple(cell(systems[index], key) for key in keys)) for index in order
    )
    columns = tuple(_column(key, means[key], label_of(key, views[key.run], sources)) for key in keys)
    return RankTable(title, columns, rows, keys.index(lead))


def _means(view: RunView, column: ColumnKey) -> dict[str, SystemScore]:
    return {row.system: row for row in view.table.rows if (row.judge, row.signature, row.aspect) == column.key}


def _best(means: Mapping[str, SystemScore]) -> float | None:
    """The highest value, where there is something to be higher than."""
    values = [mean.value for mean in means.values() if mean.value is not None]
    return max(values) if len(values) > 1 else None


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """The rank of each value, 1 for the highest; values that are equal (but for rounding) share a rank.

    >>> ranks([0.5, None, 0.9, 0.5])
    [2, None, 1, 2]
    """
    known = sorted(value for value in values if value is not None)
    return [None if value is None else 1 + len(known) - bisect_right(known, value + SAME) for value in values]


def as_cell(mean: SystemScore, best: float | None = None) -> Cell:
    """A mean as a cell, marked where it is as high as `best`."""
    marked = same(mean.value, best)
    return Cell(mean.value, mean.low, mean.high, mean.n, mean.missing, marked, mean.reason)


def axis(means: Mapping[str, SystemScore]) -> tuple[float, float]:
    """Ends of the axis: 0 to 1 where everything lies there, else what the values span."""
    ends = [end for mean in means.values() for end in (mean.value, mean.low, mean.high) if end is not None]
    if all(0 <= end <= 1 for end in ends):
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _column(key: ColumnKey, means: Mapping[str, SystemScore], source: str) -> Column:
    about = gloss(key.aspect)
    low, high = axis(means)
    return Column(about.title, source, key.signature, about.meaning, about.formula, low, high)


def verdict(view: RunView) -> str:
    """Who leads and whether that is settled, in plain words.

    The two best are compared on the documents both have, pair by pair: intervals of their own that overlap
    say little where both rise and fall with the document.
    """
    columns = view.table.columns()
    lead = next((column for column in columns if column[2] == COMPOSITE), columns[0] if columns else None)
    if lead is None:
        return "Nothing has been judged yet."
    cells = [view.table.cell(system, lead) for system in view.table.ranking()]
    ranked = [cell for cell in cells if cell is not None and cell.value is not None]
    title = gloss(lead[2]).title
    if not ranked:
        return f"No summary has a score for {title} yet: see what could not be judged."
    top = ranked[0]
    value = with_interval(top.value, top.low, top.high)
    if len(ranked) == 1:
        return f"{top.system} has {title} {value} over {count(top.n, 'summary', 'summaries')}."
    second = ranked[1]
    gap = _gap(view, lead, top.system, second.system)
    return f"{top.system} leads on {title} with {value}; {_gap_words(gap, second)}"


def _gap_words(gap: Interval, second: SystemScore) -> str:
    name, on = second.system, f"on the {count(gap.n, 'document')} both have"
    if gap.value is None:
        return f"next is {name} with {number(second.value)}, but they share no document, so the order is not settled."
    if gap.low is None or gap.high is None:
        follows = f"{name} follows with {number(second.value)}"
        return f"{follows}. They share {count(gap.n, 'document')}: too little to settle it."
    if same(gap.low, 0.0) and same(gap.high, 0.0):
        return f"{name} is level with it {on}."
    distance = with_interval(gap.value, gap.low, gap.high)
    if gap.value > 0 and gap.low > 0:
        return f"{on}, it is ahead of {name} by {distance}, more than chance explains."
    return f"its distance to {name}, {distance} {on}, may be chance: the order of the two is not settled."


def _gap(view: RunView, column: Key, first: str, second: str) -> Interval:
    a, b = (_by_document(view.scores, column, system) for system in (first, second))
    common = [doc_id for doc_id in a if doc_id in b]
    bootstrap = Bootstrap(common, RESAMPLES, LEVEL, view.seed)
    return bootstrap.difference([a[doc_id] for doc_id in common], [b[doc_id] for doc_id in common])


def _by_document(scores: Sequence[Score], column: Key, system: str) -> dict[str, float]:
    return {
        score.doc_id: score.value
        for score in scores
        if (score.judge, score.signature, score.aspect) == column and score.system == system and score.value is not None
    }
