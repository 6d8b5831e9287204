"""Does the judge prefer the systems that people prefer? Correct preferences, win rates and Bradley-Terry strengths.

For two systems a document gives the one with the higher score a point, half a point each when equal (Shen et al.,
2023). The judge is correct on a pair when its points and people's lie on the same side of one half, or both on it.
A head-to-head judge gives its points itself: the mean of its verdicts in both orders.

Rows: `pair` (statistic `points`: of the first system, out of n; statistic `agree`: 1 or 0), `correct_preferences`
(the number of correct pairs out of n, for all pairs and for the chain of neighbours in people's ranking),
`win_rate`, `best_rate` and `bradley_terry` (see `wins`; one row a system, of the judge and of people).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.meta.gold import aspects, block_of, gold_scores
from summeter.meta.grids import Draws, PairedMatrix, drawn_row, merged_details, paired_matrices, system_means
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.matrix import ScoreMatrix, Scores
from summeter.meta.results import Row, Study, pair_name, status_of
from summeter.meta.selection import MetaInput, Selection, meta_input, selected, wanted
from summeter.meta.verdicts import Verdicts, verdicts
from summeter.meta.wins import games_of, standing, strengths
from summeter.records import UsageError
from summeter.stats import PairPreference, chain, compare_pair, points, tally
from summeter.stats.base import Floats

ALL, CHAIN, GIVEN = "all", "chain", "given"
_NO_PAIR = "no pair of systems has documents judged by both"


@dataclass(frozen=True)
class Pairing:
    """Which pairs of systems are compared, and what else is shown.

    `pairs` are those asked for, named as given; all by default. The chain of closest systems follows people's
    ranking: by the mean over all aspects of the block (`rank_by="block"`, as Shen et al. rank by the average of
    four ratings) or by the aspect itself (`"aspect"`). `strengths` adds win rates and Bradley-Terry rows; `prior`
    is the number of half-won games between every two systems, which keeps strengths finite.
    """

    pairs: tuple[tuple[str, str], ...] | None = None
    rank_by: str = "block"
    strengths: bool = True
    prior: float = 0.0

    def __post_init__(self) -> None:
        if self.rank_by not in ("block", "aspect"):
            raise UsageError(f"rank_by is block or aspect, not {self.rank_by!r}")


def parse_pairs(text: str, systems: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`A-B,B-C` as pairs; names may hold hyphens themselves, where only one reading fits.

    >>> parse_pairs("M1-M2,bart-large-M1", ["M1", "M2", "bart-large"])
    (('M1', 'M2'), ('bart-large', 'M1'))
    """
    found = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        cuts = [(part[:place], part[place + 1 :]) for place, sign in enumerate(part) if sign == "-"]
        fits = [(one, two) for one, two in cuts if one in systems and two in systems and one != two]
        if len(fits) != 1:
            known = ", ".join(systems)
            raise UsageError(f"{part!r} is not a pair A-B of two systems (systems: {known})")
        found.append(fits[0])
    return tuple(found)


class Contest(NamedTuple):
    """Pairs of systems with the points of the first on each document, by people and by the judge (NaN: missing).

    `details` holds what else is known of each pair.
    """

    pairs: list[tuple[str, str]]
    gold: Floats
    judge: Floats
    details: list[dict[str, Any]]

    def compared(self) -> list[PairPreference]:
        """Each pair by `stats.compare_pair`."""
        return [compare_pair(theirs, ours) for theirs, ours in zip(self.gold, self.judge, strict=True)]


def prefer(
    run: RunLike, gold: Gold, *, aspect: str | Sequence[str] | None = None, select: Selection | None = None,
    pairing: Pairing | None = None, draws: Draws | None = None,
) -> Study:  # fmt: skip
    """Does each judge of `run` prefer the systems that people prefer, on each aspect?

    Scores of summaries and head-to-head verdicts are both used, whichever the run has. Raises UsageError where
    there is nothing to compare or a system is unknown.
    """
    chosen, pairing, draws = selected(select, aspect), pairing or Pairing(), draws or Draws()
    read = meta_input(run, gold, chosen)
    rows: list[Row] = []
    shown: set[tuple[str, ...]] = set()
    found, why = _tables(read, chosen)
    for one in found:
        rows += of_scores(one, _ranking(read, one.pairs.gold, chosen, pairing), pairing, draws)
        if pairing.strengths:
            rows += standing(one, pairing.prior, draws, shown)
    for said, theirs in _verdict_sides(read, chosen):
        rows += of_verdicts(said, theirs, _ranking(read, theirs, chosen, pairing), pairing, draws)
    if not rows:
        raise why or UsageError("no verdicts on pairs of systems that people judged too")
    return Study("prefer", rows)


def _tables(read: MetaInput, chosen: Selection) -> tuple[list[PairedMatrix], UsageError | None]:
    """The scores there are; a run of verdicts only has none, which is no fault."""
    try:
        return paired_matrices(read, chosen), None
    except UsageError as error:
        return [], error


def of_scores(one: PairedMatrix, ranking: Mapping[str, float], pairing: Pairing, draws: Draws) -> list[Row]:
    """Rows `pair` and `correct_preferences` from scores."""
    place = {name: row for row, name in enumerate(one.systems)}
    wanted = _wanted(list(combinations(one.systems, 2)), ranking, pairing, one.systems)
    gold, judge = (
        np.array([points(grid[place[a]], grid[place[b]]) for a, b in wanted]).reshape(len(wanted), -1)
        for grid in (one.gold, one.judge)
    )
    contest = Contest(wanted, gold, judge, [{} for _ in wanted])
    return _contest_rows(contest, one.fields(), chain_of(ranking, one.systems), pairing, draws)


def of_verdicts(
    found: Verdicts, gold: Scores, ranking: Mapping[str, float], pairing: Pairing, draws: Draws
) -> list[Row]:
    """Rows `pair`, `correct_preferences` and `bradley_terry` from head-to-head verdicts."""
    grid = gold.grid()
    wanted = _wanted(list(found.pairs), ranking, pairing, tuple(dict.fromkeys(name for p in found.pairs for name in p)))
    documents = list(dict.fromkeys((*grid.documents, *found.documents)))
    theirs = np.array([_gold_points(grid, pair, documents) for pair in wanted]).reshape(len(wanted), -1)
    ours = np.array([found.points(pair, documents) for pair in wanted]).reshape(len(wanted), -1)
    fields = found.fields(gold)
    contest = Contest(wanted, theirs, ours, [found.order_details(pair) for pair in wanted])
    rows = _contest_rows(contest, fields, chain_of(ranking, list(ranking)), pairing, draws)
    if pairing.strengths:
        names = tuple(dict.fromkeys(name for pair in wanted for name in pair))
        rows += strengths(games_of(wanted, names, ours), names, fields, draws, pairing.prior)
    return rows


def _verdict_sides(read: MetaInput, chosen: Selection) -> list[tuple[Verdicts, Scores]]:
    """Every head-to-head judge's verdicts on an aspect beside people's scores on it."""
    said = list(verdicts(read.judge.table, chosen.judge))
    if not said:
        return []
    names = wanted(chosen, list(dict.fromkeys(one.aspect for one in said)), aspects(read.gold))
    return [
        (one, gold)
        for one in said for own, theirs in names if own == one.aspect
        for gold in gold_scores(read.gold, theirs, Level.SUMMARY, chosen.rule, chosen.source)
    ]  # fmt: skip


def _ranking(read: MetaInput, gold: Scores, chosen: Selection, pairing: Pairing) -> dict[str, float]:
    """People's mean of each system: over the aspects of the block, or on this aspect alone."""
    block = [gold]
    if pairing.rank_by == "block":
        every = [
            one for name in aspects(read.gold)
            for one in gold_scores(read.gold, name, Level.SUMMARY, chosen.rule, chosen.source)
        ]  # fmt: skip
        block = [one for one in every if block_of(one.signature) == block_of(gold.signature)]
    return ranking_of([one.grid() for one in block])


def ranking_of(grids: Sequence[ScoreMatrix]) -> dict[str, float]:
    """The mean over aspects of each system's mean over documents, for systems that have all of them.

    >>> ranking_of([ScoreMatrix(np.array([[1.0, 2.0], [4.0, 3.0]]), ("A", "B"), ("d1", "d2"))])
    {'A': 1.5, 'B': 3.5}
    """
    means: dict[str, list[float]] = {}
    for grid in grids:
        for name, mean in zip(grid.systems, system_means(grid.values), strict=True):
            if not np.isnan(mean):
                means.setdefault(name, []).append(float(mean))
    return {name: round(float(np.mean(found)), 12) for name, found in means.items() if len(found) == len(grids)}


def chain_of(ranking: Mapping[str, float], systems: Sequence[str]) -> list[tuple[str, str]]:
    """Neighbours in the ranking of these systems, best first; systems without a mean are left out.

    >>> chain_of({"A": 1.5, "B": 3.5, "C": 2.0}, ["A", "B", "C"])
    [('B', 'C'), ('C', 'A')]
    """
    return [(systems[i], systems[j]) for i, j in chain([ranking.get(name) for name in systems])]


def _wanted(
    there: list[tuple[str, str]], ranking: Mapping[str, float], pairing: Pairing, systems: Sequence[str]
) -> list[tuple[str, str]]:
    """The pairs to compare: those given, as named; else all there are, the better system (by people) first."""
    if pairing.pairs is None:
        low = float("-inf")
        return [(b, a) if ranking.get(b, low) > ranking.get(a, low) else (a, b) for a, b in there]
    for pair in pairing.pairs:
        for name in pair:
            if name not in systems:
                raise UsageError(f"the pair {pair_name(*pair)} names {name!r}; the judge judged: {', '.join(systems)}")
    return list(pairing.pairs)


def _gold_points(grid: ScoreMatrix, pair: tuple[str, str], documents: Sequence[str]) -> Floats:
    column = {name: place for place, name in enumerate(grid.documents)}
    found = np.full(len(documents), np.nan)
    if pair[0] in grid.systems and pair[1] in grid.systems:
        first, second = (grid.values[grid.systems.index(name)] for name in pair)
        gained = points(first, second)
        for place, name in enumerate(documents):
            if name in column:
                found[place] = gained[column[name]]
    return found


def _contest_rows(
    contest: Contest, fields: Mapping[str, Any], neighbours: Sequence[tuple[str, str]], pairing: Pairing, draws: Draws
) -> list[Row]:
    drawn = _drawn(contest, draws)
    compared = contest.compared()
    close = [pair in neighbours or pair[::-1] in neighbours for pair in contest.pairs]
    rows = []
    for place, (pair, got) in enumerate(zip(contest.pairs, compared, strict=True)):
        about = {**fields, "study": "pair", "level": Level.SYSTEM.value, "pair": pair_name(*pair), "n": got.n,
                 "missing": got.missing, "reason": got.reason}  # fmt: skip
        details = {"points": got.points, "gold_points": got.gold_points, "agree": got.agree, "chain": close[place]}
        ends = None if drawn is None else draws.ends(drawn.points[:, place])
        more = merged_details({**about, "statistic": "points"}, **details, **contest.details[place])
        rows.append(drawn_row(more, got.points, ends, draws))
        agree = None if got.agree is None else float(got.agree)
        rows.append(Row(**about, statistic="agree", value=agree, status=status_of(agree)))
    groups = {GIVEN if pairing.pairs is not None else ALL: list(range(len(compared)))}
    if pairing.pairs is None:
        groups[CHAIN] = [place for place, here in enumerate(close) if here]
    return rows + [_tallied(name, places, compared, drawn, fields, draws) for name, places in groups.items()]


def _tallied(
    name: str, places: Sequence[int], compared: Sequence[PairPreference], drawn: _Drawn | None,
    fields: Mapping[str, Any], draws: Draws,
) -> Row:  # fmt: skip
    count = tally([compared[place] for place in places])
    value = float(count.correct) if count.total else None
    ends = None if drawn is None or value is None else draws.ends(drawn.agree[:, list(places)].sum(axis=1))
    documents = max((compared[place].n for place in places), default=0)
    group = ", ".join(filter(None, (fields.get("details", {}).get("group"), name)))
    about = merged_details(fields, pairs=name, group=group, share=count.share, documents=documents)
    about |= {"study": "correct_preferences", "level": Level.SYSTEM.value, "statistic": "correct_preferences",
              "n": count.total, "missing": count.undefined, "reason": None if count.total else _NO_PAIR}  # fmt: skip
    return drawn_row(about, value, ends, draws)


class _Drawn(NamedTuple):
    """For each draw of documents and each pair: the judge's points (scaled to the pair's n), and agreement."""

    points: Floats
    agree: Floats


def _drawn(contest: Contest, draws: Draws) -> _Drawn | None:
    kept = ~(np.isnan(contest.gold) | np.isnan(contest.judge))
    if kept.size == 0 or kept.shape[1] < 2:
        return None
    times = draws.times(kept.shape[1]).astype(np.float64)
    n = times @ kept.T.astype(np.float64)
    theirs, ours = (times @ np.where(kept, side, 0.0).T for side in (contest.gold, contest.judge))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(n > 0, ours / n, np.nan)
    agree = (np.sign(theirs - n / 2) == np.sign(ours - n / 2)) & (n > 0)
    return _Drawn(share * kept.sum(axis=1), agree.astype(np.float64))
