"""Ranks of systems: the ranking tables, and the headline."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, overload

from summeter.meta import compare_scores
from summeter.meta._compare import show_p
from summeter.pages.numbers import count, number, with_interval
from summeter.records import JudgeKey, judge_names
from summeter.report.blocks import Cell, Column, RankRow, RankTable, Source
from summeter.report.views import RunView
from summeter.report.words import NEUTRAL, SAME, gloss, same, scale_of
from summeter.scoring import COMPOSED, COMPOSITE, Shared, SystemScore, SystemTable
from summeter.scoring.systems import FIRST
from summeter.stats import PairDifference
from summeter.stats.significance import FEWEST

Key = tuple[str, str, str]
NAMED, FEW = 6, 3
"""So many systems are named in a list, and as leaders."""
MOST_ASPECTS = 3
"""So many aspects are told on which judges may disagree."""


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
    tables = {key: views[key.run].table for key in keys}
    lead = next((key for key in keys if key.aspect == COMPOSITE), keys[0])
    systems = list(dict.fromkeys(row.system for key in keys for row in _means(views[key.run], key)))
    means = {key: {name: tables[key].compared(name, key.key) for name in systems} for key in keys}
    ranked = ranks([mean.value if (mean := means[lead][name]) else None for name in systems])
    order = sorted(range(len(systems)), key=lambda index: (ranked[index] is None, ranked[index] or 0, systems[index]))
    best = {key: None if key.aspect in NEUTRAL else tables[key].best(key.key) for key in keys}
    columns = tuple(_column(key, _means(views[key.run], key), label_of(key, views[key.run], sources)) for key in keys)
    rows = [
        RankRow(name, rank, tuple(as_cell(means[key][name], best=best[key] == name) for key in keys))
        for name, rank in ((systems[index], ranked[index]) for index in order)
    ]
    unlike = any(tables[key].unlike(key.key) for key in keys)
    own = [
        RankRow(row.system, None, tuple(as_cell(tables[key].cell(row.system, key.key)) for key in keys)) for row in rows
    ]
    note = tables[lead].unlike(lead.key)
    return RankTable(title, columns, tuple(rows), keys.index(lead), tuple(own) if unlike else (), note)


def _means(view: RunView, column: ColumnKey) -> list[SystemScore]:
    return [row for row in view.table.rows if (row.judge, row.signature, row.aspect) == column.key]


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """The rank of each value, 1 for the highest; values that are equal (but for rounding) share a rank.

    >>> ranks([0.5, None, 0.9, 0.5])
    [2, None, 1, 2]
    """
    known = sorted(value for value in values if value is not None)
    return [None if value is None else 1 + len(known) - bisect_right(known, value + SAME) for value in values]


@overload
def as_cell(mean: SystemScore, *, best: bool = False) -> Cell: ...


@overload
def as_cell(mean: SystemScore | None, *, best: bool = False) -> Cell | None: ...


def as_cell(mean: SystemScore | None, *, best: bool = False) -> Cell | None:
    """A mean as a cell."""
    return None if mean is None else Cell(mean.value, *mean.ends, mean.n, mean.missing, best, mean.reason)


def axis(means: Sequence[SystemScore], signature: str) -> tuple[float, float]:
    """Ends of the axis: the judge's scale, or 0 to 1 where everything lies there; else what the values span."""
    ends = [end for mean in means for end in (mean.value, mean.low, mean.high) if end is not None]
    low, high = scale_of(signature) or (0.0, 1.0)
    if all(low <= end <= high for end in ends):
        return low, high
    low, high = min(ends), max(ends)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _column(key: ColumnKey, means: Sequence[SystemScore], source: str) -> Column:
    about = gloss(key.aspect)
    return Column(about.title, source, key.signature, about.meaning, about.formula, *axis(means, key.signature))


# ---- the headline


def headline(view: RunView, sources: Sequence[Source]) -> str:
    """Who leads and what of that is more than chance, by the test of `meta compare`; and where judges disagree."""
    lead = view.table.lead()
    if lead is None:
        return "Nothing has been judged yet."
    judged = _judged(view, lead)
    disagreements = {
        aspect: _disagreement(view, columns, sources) for aspect, columns in judged.items() if len(columns) > 1
    }
    claims = {frozenset(_leaders_of(view, lead)): lead}  # one column for each answer to who is highest
    for column in judged.get(lead[2], []):
        claims.setdefault(frozenset(_leaders_of(view, column)), column)
    sentences = [
        leading(view.table, column, _said_by(view, column, sources), view.seed)
        for column in list(claims.values())[:FEW]
    ]
    agreements = list(disagreements.values())[:MOST_ASPECTS]
    # No judge's claim stands before it is said that another sees it otherwise.
    if len(claims) > 1 and lead[2] in disagreements:
        return " ".join([agreements[0], *sentences, *agreements[1:]])
    return " ".join([*sentences, *agreements])


def _said_by(view: RunView, column: Key, sources: Sequence[Source]) -> str:
    label = label_of(ColumnKey(view.place, *column), view, sources)
    return label.removeprefix(f"{view.letter} · ")


def leading(table: SystemTable, column: Key, judge: str, seed: int = 0) -> str:
    """Who is highest in a column of scores, and from which others it differs by more than chance.

    That is the test of `meta compare`: permutations by document, corrected over all pairs of systems, on the documents
    that the ranking is over.
    """
    title, shared = gloss(column[2]).title, table.shared(column)
    if shared is None or not shared.values:
        return f"By {judge}, no summary has a score for {title} yet: see what could not be judged."
    unlike = table.unlike(column)
    if not shared.cells:
        return f"By {judge}, there is no ranking on {title}. {unlike}"
    judged = {row.system for row in table.rows if (row.judge, row.signature, row.aspect) == column}
    without = sorted(judged - set(shared.values) - set(shared.left_out))
    lost = f"{listed(without)} ha{'s' if len(without) == 1 else 've'} no score." if without else None
    return " ".join(filter(None, (f"By {judge}, {_leader(shared, column, title, seed)}.", lost, unlike)))


def _leader(shared: Shared, column: Key, title: str, seed: int) -> str:
    leaders = _highest(shared)
    mean = shared.cells[leaders[0]]
    shown = with_interval(mean.value, *mean.ends)
    if len(shared.cells) == 1:
        return f"{leaders[0]} has {title} {shown} over {count(mean.n, 'summary', 'summaries')}"
    if len(leaders) > 1:
        alike = len(leaders) == len(shared.cells)
        who = f"{_few(leaders)} {'have the same' if alike else 'share the highest'}"
        if len({shared.cells[leader].ends for leader in leaders}) > 1:
            shown = number(mean.value)
        return f"{who} {title}, {shown}: no difference between them is claimed"
    if column[2] in NEUTRAL:
        return f"{leaders[0]} has the highest {title}, {shown}; neither high nor low is good in itself"
    return _apart(leaders[0], title, shown, compare_scores(shared.ranked, seed=seed))


def _few(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= FEW else f"{len(names)} systems"


def _highest(shared: Shared) -> list[str]:
    top = max(mean.value for mean in shared.cells.values() if mean.value is not None)
    return [system for system, mean in shared.cells.items() if same(mean.value, top)]


def _apart(leader: str, title: str, shown: str, pairs: Sequence[PairDifference]) -> str:
    """From which others the leader differs by more than chance."""
    own = [pair for pair in pairs if leader in (pair.first, pair.second)]
    highest = f"{leader} has the highest {title}, {shown}"
    most = max(pair.n for pair in own)
    if most < FEWEST:
        few = f"{count(most, 'shared document')} {'is' if most == 1 else 'are'} too few to tell it from the others"
        return f"{highest}, but {few} (at least {FEWEST} are needed)"
    after = "" if len(pairs) == 1 else f" after Holm's correction over {len(pairs)} pairs"
    if len(pairs) == 1:
        (pair,) = pairs
        other = pair.second if pair.first == leader else pair.first
        gap = _gap(pair, leader)
        if pair.better == leader:
            return f"{leader} is better than {other} on {title}: {shown}, ahead by {gap} on {_on(pair)}, {_p(pair)}"
        return f"{highest}, but it cannot be told from {other}: {gap} on {_on(pair)}, {_p(pair)}"
    others = [pair.second if pair.first == leader else pair.first for pair in own]
    beaten = [other for other, pair in zip(others, own, strict=True) if pair.better == leader]
    level = [other for other in others if other not in beaten]
    if not level:
        return f"{leader} is best on {title}: {shown}, better than each of the other {len(beaten)} (p ≤ .05{after})"
    if not beaten:
        return f"{highest}, but it cannot be told from any of the other {len(level)} (p > .05{after})"
    return f"{highest}; it is better than {listed(beaten)}, but cannot be told from {listed(level)} (p ≤ .05{after})"


def _on(pair: PairDifference) -> str:
    return f"the {count(pair.n, 'document')} both have"


def _gap(pair: PairDifference, leader: str) -> str:
    if same(pair.low, pair.high):  # every document has one difference: there is nothing to resample
        return number(None if pair.difference is None else abs(pair.difference))
    if pair.first == leader:
        return with_interval(pair.difference, pair.low, pair.high)
    difference, low, high = (None if end is None else -end for end in (pair.difference, pair.high, pair.low))
    return with_interval(difference, low, high)


def _p(pair: PairDifference) -> str:
    return show_p(1.0 if pair.p_holm is None else pair.p_holm)


def listed(names: Sequence[str]) -> str:
    """`aster, birch and cedar`; of many the first ones.

    >>> listed(["a", "b"]), listed([str(number) for number in range(9)])
    ('a and b', '0, 1, 2, 3, 4, 5 and 3 more')
    """
    shown = [*names[:NAMED], *([f"{len(names) - NAMED} more"] if len(names) > NAMED else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _judged(view: RunView, lead: Key) -> dict[str, list[Key]]:
    """By aspect, the columns in which several systems are ranked; the leading aspect goes first."""
    columns: dict[str, list[Key]] = {}
    for column in sorted(view.table.columns(), key=lambda column: column[2] != lead[2]):
        shared = view.table.shared(column)
        if column[2] not in NEUTRAL and shared is not None and len(shared.cells) > 1:
            columns.setdefault(column[2], []).append(column)
    return columns


def _disagreement(view: RunView, columns: Sequence[Key], sources: Sequence[Source]) -> str:
    """Whether the judges of an aspect put the same systems first."""
    highest = {_said_by(view, column, sources): _leaders_of(view, column) for column in columns}
    equal = {_said_by(view, column, sources): _all_equal(view, column) for column in columns}
    title = gloss(columns[0][2]).title
    if len(set(map(frozenset, highest.values()))) == 1:
        leaders = _few(next(iter(highest.values())))
        if all(equal.values()):
            return f"On {title}, {'both' if len(columns) == 2 else f'all {len(columns)}'} judges find {leaders} equal."
        return f"On {title}, all {len(columns)} judges put {leaders} highest."
    leaders = "; ".join(
        f"{judge} finds {_few(systems)} equal" if equal[judge] else f"{judge} puts {_few(systems)} highest"
        for judge, systems in highest.items()
    )
    return f"On {title}, the judges disagree: {leaders}."


def _all_equal(view: RunView, column: Key) -> bool:
    shared = view.table.shared(column)
    return shared is not None and len(_highest(shared)) == len(shared.cells)


def _leaders_of(view: RunView, column: Key) -> list[str]:
    shared = view.table.shared(column)
    return _highest(shared) if shared is not None and shared.cells else []
