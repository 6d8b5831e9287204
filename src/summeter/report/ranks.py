"""Ranking tables of systems, and the headline of a run."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import NamedTuple

from summeter.meta.verdicts import FEW, SAME, Comparison, listed
from summeter.pages.numbers import count, number, with_interval
from summeter.records import JudgeKey, Phrase, judge_names
from summeter.report.blocks import RankColumn, RankTable
from summeter.report.views import RunView, Source
from summeter.report.words import gloss, scale_of
from summeter.scoring import COMPOSED, SystemScore, SystemTable
from summeter.scoring.systems import FIRST, NEUTRAL, counts_note, leading_column

Key = tuple[str, str, str]
MAX_ASPECTS = 3
"""Maximum number of aspects whose agreement among judges the headline reports."""


MAX_COLUMNS = 6
"""Maximum number of columns of a ranking table to which other measures are added."""


class ColumnKey(NamedTuple):
    """Key of a column: the number of the run, and the judge, signature and aspect."""

    run: int
    judge: str
    signature: str
    aspect: str

    @property
    def key(self) -> Key:
        """The key of the column in the run's table: (judge, signature, aspect)."""
        return self.judge, self.signature, self.aspect


def family(judge: str) -> str:
    """Return the family of a judge, such as `finesure` for `finesure.align`."""
    return judge.split(".", maxsplit=1)[0]


def label_of(column: ColumnKey, view: RunView, sources: Sequence[Source]) -> str:
    """Return a short label of a column's source; that of a composite is its judge family."""
    for source in sources:
        if source.key == (column.run, column.judge, column.signature):
            return source.label
    judges = [
        JudgeKey(judge, signature) for judge, signature, aspect in view.table.columns() if aspect == column.aspect
    ]
    name = judge_names(judges).get(JudgeKey(column.judge, column.signature), column.judge)
    return f"{view.letter} · {name}" if view.letter else name


def rank_tables(views: Sequence[RunView], sources: Sequence[Source]) -> tuple[RankTable, ...]:
    """Return one ranking table per family of judges.

    A family has its own table if it judges faithfulness, completeness or conciseness. If there is only one such table
    and it stays narrow, the other measures are added to it; otherwise, they form a separate table.
    """
    columns = [ColumnKey(view.number, *key) for view in views for key in view.table.columns()]
    families = dict.fromkeys(family(column.judge) for column in columns if column.aspect in COMPOSED)
    main = [name for name in dict.fromkeys(family(column.judge) for column in columns) if name in families]
    others = [column for column in columns if family(column.judge) not in main]
    groups: list[tuple[str, list[ColumnKey]]] = [
        (Phrase("Judged by {judge}", judge=name), [column for column in columns if family(column.judge) == name])
        for name in main
    ]
    if len(groups) == 1 and len(views) == 1 and len(columns) <= MAX_COLUMNS:
        groups = [(groups[0][0], [*groups[0][1], *others])]
    elif others:
        groups.append((Phrase("Other measures" if groups else "Measures"), others))
    return tuple(_table(title, _ordered(group), views, sources) for title, group in groups)


def _ordered(columns: Sequence[ColumnKey]) -> list[ColumnKey]:
    """Return the columns sorted by aspect and run: first the aspect that ranks systems, then the best-known ones."""
    aspects = list(dict.fromkeys(column.aspect for column in columns))
    lead = columns[leading_column([column.aspect for column in columns])].aspect

    def order(column: ColumnKey) -> tuple[bool, int, int, int]:
        known = FIRST.index(column.aspect) if column.aspect in FIRST else len(FIRST)
        return column.aspect != lead, known, aspects.index(column.aspect), column.run

    return sorted(columns, key=order)


def _table(title: str, keys: Sequence[ColumnKey], views: Sequence[RunView], sources: Sequence[Source]) -> RankTable:
    tables = [views[key.run].table for key in keys]
    shown = [of_column(table, key.key) for table, key in zip(tables, keys, strict=True)]
    systems = sorted({row.system for rows in shown for row in rows})
    columns = [
        RankColumn(
            gloss(key.aspect),
            label_of(key, views[key.run], sources),
            key.signature,
            *axis([end for row in rows for end in (row.value, row.low, row.high) if end is not None], key.signature),
            means={name: table.compared(name, key.key) for name in systems},
            all_means={row.system: row for row in rows},
            comparison=Comparison.of(table, key.key),
            flags={name: table.flag(name, key.key) for name in systems},
        )
        for key, table, rows in zip(keys, tables, shown, strict=True)
    ]
    places = [None] * len(systems) if keys[0].aspect in NEUTRAL else ranks(list(columns[0].means.values()))
    ranked = dict(zip(systems, places, strict=True))
    order = tables[0].ordered(systems, keys[0].key)
    notes = [table.note(key.key) for table, key in zip(tables, keys, strict=True)]
    of_columns = {name: {column.flags[name] for column in columns} for name in systems}
    flags = {name: only.pop() for name, only in of_columns.items() if len(only) == 1}
    same = counts_note(mean for column in columns for mean in column.means.values())
    return RankTable(title, tuple(columns), {name: ranked[name] for name in order}, any(notes), notes[0], same, flags)


def ranks(means: Sequence[SystemScore | None]) -> list[int | None]:
    """Return the rank of each mean in its ranking, 1 for the highest, or None for a mean that is not ranked.

    Values that are equal up to rounding errors share a rank.
    """
    known: dict[int | None, list[float]] = {}
    for mean in means:
        if mean is not None and mean.value is not None:
            insort(known.setdefault(mean.ranking, []), mean.value)
    return [
        None
        if mean is None or mean.value is None or mean.ranking is None
        else 1 + len(known[mean.ranking]) - bisect_right(known[mean.ranking], mean.value + SAME)
        for mean in means
    ]


def axis(values: Sequence[float], signature: str) -> tuple[float, float]:
    """Return the ends of the axis for the values of a judge, and for the bounds of their intervals.

    The axis is the judge's scale, or 0 to 1 if the signature contains no scale. If a value is outside this axis, the
    axis is the range of all values.
    """
    low, high = scale_of(signature) or (0.0, 1.0)
    if all(low <= value <= high for value in values):
        return low, high
    low, high = min(values), max(values)
    margin = max(0.5, abs(low) / 100)
    return (low, high) if low < high else (low - margin, high + margin)


# ---- the headline


def headline(view: RunView, sources: Sequence[Source]) -> tuple[str, ...]:
    """Return the sentences of the headline of a run, the most important first.

    They say which system leads, which differences are significant (by the test of `meta compare`), and whether judges
    disagree.
    """
    lead = view.table.lead()
    if lead is None:
        return ("Nothing has been judged yet.",)
    # The columns that rank several systems, by aspect; the leading aspect is first.
    judged: dict[str, list[Key]] = {}
    for column in sorted(view.table.columns(), key=lambda column: column[2] != lead[2]):
        shared = view.table.shared(column)
        if column[2] not in NEUTRAL and shared is not None and len(shared) > 1:
            judged.setdefault(column[2], []).append(column)
    disagreements = {
        aspect: _disagreement(view, columns, sources) for aspect, columns in judged.items() if len(columns) > 1
    }
    claims = {frozenset(Comparison.of(view.table, lead).highest): lead}  # one column per distinct set of leaders
    for column in judged.get(lead[2], []):
        claims.setdefault(frozenset(Comparison.of(view.table, column).highest), column)
    sentences = [
        leading(view.table, column, _judge_label(view, column, sources)) for column in list(claims.values())[:FEW]
    ]
    agreements = list(disagreements.values())[:MAX_ASPECTS]
    # A disagreement on the leading aspect is reported before the claims of its judges.
    if len(claims) > 1 and lead[2] in disagreements:
        return agreements[0], *sentences, *agreements[1:]
    return *sentences, *agreements


def _judge_label(view: RunView, column: Key, sources: Sequence[Source]) -> str:
    label = label_of(ColumnKey(view.number, *column), view, sources)
    return label.removeprefix(f"{view.letter} · ")


def of_column(table: SystemTable, column: Key) -> list[SystemScore]:
    """Return the means of a column, one per system."""
    return [row for row in table.rows if (row.judge, row.signature, row.aspect) == column]


def leading(table: SystemTable, column: Key, judge: str) -> str:
    """Return which system leads in a column of scores, and how it differs from the others."""
    title, shared = gloss(column[2]).title, table.shared(column)
    if shared is None or all(row.value is None for row in of_column(table, column)):
        nothing = "By {judge}, no summary has a score for {aspect} yet: see what could not be judged."
        return Phrase(nothing, judge=judge, aspect=title)
    compared = Comparison.of(table, column, title)
    clauses = []
    for part in compared.parts:
        shown = ""
        if part.highest:
            mean = shared[part.highest[0]]
            several = len({shared[name].ends for name in part.highest}) > 1
            shown = number(mean.value) if several else with_interval(mean.value, *mean.ends)
            if len(part.ranked) == 1:
                shown = Phrase("{value} over {n}", value=shown, n=count(mean.n, "summary", "summaries"))
        clauses.append(part.leading(shown))
    without = sorted(row.system for row in of_column(table, column) if row.value is None)
    lost = None
    if without and compared.ranked:
        one = f"{without[0]} has no score." if len(without) == 1 else None
        lost = Phrase("{systems} have no score.", shown=one, systems=listed(without))
    claim = Phrase("By {judge}, {claims}.", judge=judge, claims=Phrase.join("; ", clauses))
    return Phrase.join(" ", filter(None, (claim, lost, table.note(column))))


def _disagreement(view: RunView, columns: Sequence[Key], sources: Sequence[Source]) -> str:
    """Return a sentence on whether the judges of an aspect rank the same systems first."""
    compared = {_judge_label(view, column, sources): Comparison.of(view.table, column) for column in columns}
    title = gloss(columns[0][2]).title
    equal = {judge: len(ranking.highest) == len(ranking.ranked) for judge, ranking in compared.items()}
    if len({frozenset(ranking.highest) for ranking in compared.values()}) == 1:
        leaders = _few(next(iter(compared.values())).highest)
        pattern = (
            "On {aspect}, all {n} judges find {systems} equal." if all(equal.values())
            else "On {aspect}, all {n} judges put {systems} highest."
        )  # fmt: skip
        both = pattern.replace("all {n}", "both").format(aspect=title, systems=leaders) if len(columns) == 2 else None
        return Phrase(pattern, shown=both, aspect=title, systems=leaders, n=len(columns))
    claims = [
        Phrase("{judge} finds {systems} equal" if equal[judge] else "{judge} puts {systems} highest", judge=judge,
               systems=_few(ranking.highest))
        for judge, ranking in compared.items()
    ]  # fmt: skip
    return Phrase("On {aspect}, the judges disagree: {claims}.", aspect=title, claims=Phrase.join("; ", claims))


def _few(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= FEW else count(len(names), "system")
