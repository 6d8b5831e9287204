"""Does the judge prefer the systems that people prefer? Correct preferences, win rates and Bradley-Terry strengths.

For two systems a document gives the one with the higher score a point, half a point each when equal (Shen et al.,
2023). The judge is correct on a pair when its points and people's lie on the same side of one half, or both on it.
Whoever judges head to head, a judge or people, gives the points directly: a judge's are the mean of its verdicts in
both orders, people's are merged over annotators.

Rows: `pair` (statistic `points`: of the first system, out of n; statistic `agree`: 1 or 0), `correct_preferences`
(the number of correct pairs out of n, for all pairs and for the chain of neighbours in people's ranking), and, one a
system, of the judge and of people: `win_rate` (share of points against all others), `best_rate` (share of documents
on which it is the best, SummQual's win rate) and `bradley_terry` (the strength s in
P(i beats j) = 1 / (1 + exp(s_j - s_i))).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule, Level
from summeter.meta.gold import PEOPLE, Aggregation, aspects, block_of, check_has_names, gold_scores
from summeter.meta.inputs import Gold, RunLike, gold_input
from summeter.meta.options import By, Draws, Pairs, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged, named, pair_name, status_of
from summeter.meta.sample import Grid, Rater, Sample, rounded
from summeter.meta.selection import Group, MetaInput, meta_input, summary_groups, wanted
from summeter.records import UsageError
from summeter.scoring.table import JudgmentTable, model_names
from summeter.stats import (
    Games,
    best_rates,
    bradley_terry,
    chain,
    games_from_scores,
    order_effect,
    points,
    side_of_half,
    win_rates,
)
from summeter.stats.base import Floats, mean_present, ratio
from summeter.stats.resample import empty_reason

ALL, CHAIN, GIVEN = "all", "chain", "given"
MOST_FITS = 200
_NO_PAIR = "no pair of systems has documents judged by both"
_APART = "the pairs judged do not connect all systems: no common scale"


class PreferOptions(Selection, By, Pairs, Draws):
    """The options of `prefer`."""

    strengths: bool = Field(default=True, description="Win rates and Bradley-Terry strengths too.")
    prior: float = Field(
        0.0,
        ge=0,
        description="Half-won games between every two systems, which keep strengths finite where one wins everything.",
    )


@study(PreferOptions, command="[RUN...]")
def prefer(run: RunLike | None, gold: Gold, options: PreferOptions) -> Study:
    """Ask whether judges prefer the systems people prefer: correct preferences, win rates, Bradley-Terry. Without a
    run: win rates and strengths by people's own judgments.

    Sample of summaries and head-to-head verdicts are both used, whichever the run and people have (people's scores
    first; source="pairs" for their verdicts). `pairs` are those to compare, named as given. The chain of closest
    systems follows people's ranking: by the mean over all aspects of the block (Shen et al. rank by the average of
    four ratings). Raises UsageError where there is nothing to compare or a system is unknown.
    """
    if run is None:
        return _people_alone(gold_input(gold, options.judgment_set)[0], options)
    read = meta_input(run, gold, options)
    rows: list[Row] = []
    shown: set[tuple[str, ...]] = set()
    try:
        matrices, why = summary_groups(read, options, options.by), None
    except UsageError as error:  # a run of verdicts only has no scores, which is no fault
        matrices, why = [], error
    for matrix in matrices:
        systems = matrix.grid.systems
        if len(systems) > 1:
            judge, people = (Grid.of(matrix.sample.of_raters(number)) for number in (0, 1))
            ranking = _ranking(read.gold, matrix.sample.gold, options)
            rows += _contest_rows(judge, people, matrix.about(), systems=systems, ranking=ranking, options=options)
            rows += _ranking_rows(matrix, options, shown) if options.strengths else []
    for verdicts_of_judge, scores in _verdicts_and_scores(read, options):
        rows += _verdict_rows(verdicts_of_judge, scores, _ranking(read.gold, scores.gold, options), options)
    for either, verdicts_of_people in _against_verdicts(read, options, compared=bool(rows)):
        rows += _verdict_rows(either, verdicts_of_people, verdicts_of_people.ranking(), options)
    if not rows:
        if matrices:
            there = ", ".join(dict.fromkeys(name for matrix in matrices for name in matrix.grid.systems))
            raise UsageError(f"preferences are between systems, and there is only {there}; give data of 2 or more")
        raise why or UsageError("no verdicts on pairs of systems that people judged too")
    return Study("prefer", rows)


def _people_alone(columns: JudgmentTable, options: PreferOptions) -> Study:
    """Win rates and strengths by people's scores and verdicts."""
    rows: list[Row] = []
    names = options.gold_aspects or aspects(columns)
    for aspect in names:
        for scores in gold_scores(columns, aspect, Level.SUMMARY, options.rule, options.source):
            grid = Grid.of(scores)
            if len(grid.systems) > 1:
                rows += _system_rows(named(scores.judge, scores.gold), grid.systems, grid.gold, options)
        for verdicts in people_verdicts(columns, aspect, options.rule):
            rows += _strengths_of(verdicts.pairs, _points(verdicts, verdicts.pairs), named(verdicts), options)
    if not rows:
        raise UsageError(f"people did not judge the summaries of several systems; they judged: {', '.join(names)}")
    return Study("prefer", rows)


def _verdict_rows(
    judge: Verdicts | Sample, gold: Verdicts | Sample, ranking: Mapping[str, float], options: PreferOptions
) -> list[Row]:
    """Rows of head-to-head verdicts, the judge's or people's, against either."""
    mine, people = (side if isinstance(side, Verdicts) else Grid.of(side) for side in (judge, gold))
    pairs = next(side.pairs for side in (people, mine) if isinstance(side, Verdicts))
    systems = list(dict.fromkeys(name for pair in pairs for name in pair))
    fields = named(_rater(judge), _rater(gold))
    rows = list(_contest_rows(mine, people, fields, systems=systems, ranking=ranking, options=options))
    if options.strengths:
        chosen = _chosen_pairs(pairs, ranking, options, systems)
        documents = list(dict.fromkeys((*people.documents, *mine.documents)))
        rows += _strengths_of(chosen, _points(mine, chosen, documents), fields, options)
        if isinstance(people, Verdicts):
            rows += _strengths_of(chosen, _points(people, chosen, documents), named(people), options)
    return rows


def _rater(side: Verdicts | Sample) -> Verdicts | Rater:
    return side if isinstance(side, Verdicts) else side.judge


def _points(side: Verdicts | Grid, pairs: Sequence[tuple[str, str]], documents: Sequence[str] | None = None) -> Floats:
    """The points of each pair's first system on each document (pairs x documents); NaN where there are none."""
    documents = side.documents if documents is None else documents
    if isinstance(side, Verdicts):
        rows = [side.points(pair, documents) for pair in pairs]
    else:
        rows = [points(*side.over(pair, documents).judge) for pair in pairs]
    return np.array(rows).reshape(len(pairs), len(documents))


def _verdicts_and_scores(read: MetaInput, options: Selection) -> list[tuple[Verdicts, Sample]]:
    """Every head-to-head judge's verdicts on an aspect beside people's scores on it."""
    judges = list(verdicts(read.judge.table, options.judge))
    # Aspects on which people judged more than pairs.
    known = [name for name in aspects(read.gold) if set(read.gold.where(aspect=name).unit.used()) != {"pair"}]
    if not judges or options.source == _BLOCK or (not known and aspects(read.gold)):
        return []
    names = wanted(options, list(dict.fromkeys(judge.aspect for judge in judges)), aspects(read.gold))
    return [
        (judge, gold)
        for judge in judges for own, other in names if own == judge.aspect
        for gold in gold_scores(read.gold, other, Level.SUMMARY, options.rule, options.source)
    ]  # fmt: skip


def _against_verdicts(
    read: MetaInput, options: Selection, *, compared: bool
) -> Iterator[tuple[Verdicts | Sample, Verdicts]]:
    """Every judge beside people's own verdicts on pairs, where people have no scores or these were asked for."""
    if (compared and options.source is None) or options.source not in (None, _BLOCK):
        return
    there = [name for name in aspects(read.gold) if len(_pair_rows(read.gold, name))]
    judges: list[Verdicts | Sample] = list(verdicts(read.judge.table, options.judge))
    scores = (read.judge.scores(question, Level.SUMMARY) for question in read.judge.questions(judge=options.judge))
    judges += [series for series in scores if len(series)]
    if not there or not judges:
        return
    names = wanted(options, list(dict.fromkeys(_rater(judge).aspect for judge in judges)), there)
    for judge in judges:
        for own, other in names:
            if own == _rater(judge).aspect:
                yield from ((judge, gold) for gold in people_verdicts(read.gold, other, options.rule))


def _ranking(columns: JudgmentTable, gold: Rater, options: Selection) -> dict[str, float]:
    """People's mean of each system over the aspects of the block of ratings that `gold` is of."""
    every = (
        scores
        for name in aspects(columns)
        for scores in gold_scores(columns, name, Level.SUMMARY, options.rule, options.source)
    )
    block = [scores for scores in every if block_of(scores.gold.signature) == block_of(gold.signature)]
    return ranking_of([Grid.of(scores) for scores in block])


def ranking_of(grids: Sequence[Grid]) -> dict[str, float]:
    """The mean over aspects of each system's mean over documents, for systems that have all of them.

    >>> ranking_of([Grid(("A", "B"), ("d1", "d2"), np.array([[[1.0, 2.0], [4.0, 3.0]]]))])
    {'A': 1.5, 'B': 3.5}
    """
    means: dict[str, list[float]] = {}
    for grid in grids:
        for name, mean in zip(grid.systems, grid.means[0], strict=True):
            if not np.isnan(mean):
                means.setdefault(name, []).append(float(mean))
    ranking = {name: np.mean(values) for name, values in means.items() if len(values) == len(grids)}
    return dict(zip(ranking, rounded(np.array(list(ranking.values()))).tolist(), strict=True))


def chain_of(ranking: Mapping[str, float], systems: Sequence[str]) -> list[tuple[str, str]]:
    """Neighbours in the ranking of these systems, best first; systems without a mean are left out.

    >>> chain_of({"A": 1.5, "B": 3.5, "C": 2.0}, ["A", "B", "C"])
    [('B', 'C'), ('C', 'A')]
    """
    return [(systems[i], systems[j]) for i, j in chain([ranking.get(name) for name in systems])]


def _chosen_pairs(
    there: Sequence[tuple[str, str]], ranking: Mapping[str, float], options: PreferOptions, systems: Sequence[str]
) -> list[tuple[str, str]]:
    """The pairs to compare: those given, as named; else all there are, the better system (by people) first."""
    if (given := options.pairs_of(systems)) is not None:
        return given
    low = float("-inf")
    return [(b, a) if ranking.get(b, low) > ranking.get(a, low) else (a, b) for a, b in there]


def _contest_rows(
    judge: Verdicts | Grid,
    gold: Verdicts | Grid,
    fields: Mapping[str, Any],
    *,
    systems: Sequence[str],
    ranking: Mapping[str, float],
    options: PreferOptions,
) -> Iterator[Row]:
    """Rows `pair` and `correct_preferences`."""
    verdicts = next((side for side in (gold, judge) if isinstance(side, Verdicts)), None)
    there, chained = (list(combinations(systems, 2)), systems) if verdicts is None else (verdicts.pairs, list(ranking))
    pairs = _chosen_pairs(there, ranking, options, systems)
    documents = list(dict.fromkeys((*gold.documents, *judge.documents)))
    by_people, by_judge = (_points(side, pairs, documents) for side in (gold, judge))
    bootstrap = options.resampling(len(documents))
    kept = ~(np.isnan(by_people) | np.isnan(by_judge))
    people, machine = (np.where(kept, side, 0.0) for side in (by_people, by_judge))

    def gained(weights: Floats) -> tuple[Floats, Floats, Floats]:
        """The points of the first system of each pair by people and by the judge, and the documents (draws x pairs)."""
        return weights @ people.T, weights @ machine.T, weights @ kept.T.astype(np.float64)

    def scaled(weights: Floats) -> Floats:
        _, points_of_judge, drawn = gained(weights)
        return np.asarray(ratio(points_of_judge, drawn) * kept.sum(axis=1))

    def agreement(weights: Floats) -> Floats:
        """1 where people and judge prefer the same system, or neither does, else 0; NaN without documents."""
        points_of_people, points_of_judge, drawn = gained(weights)
        same = side_of_half(points_of_people, drawn) == side_of_half(points_of_judge, drawn)
        return np.where(drawn > 0, same, np.nan)

    by_pair, right = bootstrap.samples(scaled, agreement, width=len(kept))
    every = np.ones((1, len(documents)))
    gold_points, own_points, sizes = (column[0] for column in gained(every))
    agrees = [None if np.isnan(value) else bool(value) for value in agreement(every)[0]]
    neighbours = chain_of(ranking, chained)
    close = [pair in neighbours or pair[::-1] in neighbours for pair in pairs]
    about = merged(fields, level=Level.SYSTEM.value)
    for place, (pair, agree) in enumerate(zip(pairs, agrees, strict=True)):
        n = int(sizes[place])
        value, of_people = (float(side[place]) if n else None for side in (own_points, gold_points))
        own = {"study": "pair", "pair": pair_name(*pair), "n": n, "missing": len(documents) - n}
        own["reason"] = None if n else empty_reason(len(documents))
        details = {"points": value, "gold_points": of_people, "agree": agree, "chain": close[place]}
        details |= judge.order_details(pair) if isinstance(judge, Verdicts) else {}
        yield interval_row(
            bootstrap.of_samples(value, by_pair[:, place]), about, own, statistic="points", details=details
        )
        agreed = None if agree is None else float(agree)
        yield Row(**merged(about, own), statistic="agree", value=agreed, status=status_of(agreed))
    groups = {ALL: list(range(len(pairs))), CHAIN: [place for place, here in enumerate(close) if here]}
    if options.pairs is not None:
        groups = {GIVEN: groups[ALL]}
    for name, places in groups.items():
        judged = [place for place in places if agrees[place] is not None]
        correct = sum(bool(agrees[place]) for place in judged)
        value = float(correct) if judged else None
        group = ", ".join(filter(None, (fields.get("details", {}).get("group"), name)))
        most = max((int(sizes[place]) for place in places), default=0)
        yield interval_row(
            bootstrap.of_samples(value, right[:, judged].sum(axis=1)), about, study="correct_preferences",
            statistic="correct_preferences", n=len(judged), missing=len(places) - len(judged), reason=_NO_PAIR,
            details={"pairs": name, "group": group, "share": correct / len(judged) if judged else None,
                     "documents": most},
        )  # fmt: skip


def _ranking_rows(matrix: Group, options: PreferOptions, shown: set[tuple[str, ...]]) -> list[Row]:
    """Win rates, best rates and strengths by a judge's scores; people's too, once an aspect (kept in `shown`)."""
    gold, grid = matrix.sample.gold, matrix.grid
    rows = list(_system_rows(matrix.about(), grid.systems, grid.judge, options))
    mark = gold.judge, gold.signature, gold.aspect, str(matrix.value)
    if mark not in shown:
        shown.add(mark)
        rows += _system_rows(merged(named(gold), matrix.fields()), grid.systems, grid.gold, options)
    return rows


def _system_rows(
    fields: Mapping[str, Any], systems: Sequence[str], scores: Floats, options: PreferOptions
) -> Iterator[Row]:
    """Each system's win rate, best rate and strength by scores (systems x documents), with intervals over documents."""
    for rates in (win_rates(scores), best_rates(scores)):
        about = merged(fields, study=rates.name, statistic=rates.name, level=Level.SYSTEM.value)
        bootstrap = options.resampling(rates.won.shape[1])
        (samples,) = bootstrap.samples(rates.weighted, width=len(scores))
        for system, rate, column in zip(systems, rates.statistics, samples.T, strict=True):
            own = {"system": system, "n": rate.n, "missing": rate.missing, "reason": rate.reason}
            yield interval_row(bootstrap.of_samples(rate.value, column), about, own)
    yield from strength_rows(games_from_scores(scores), systems, fields, options)


def strength_rows(games: Games, systems: Sequence[str], fields: Mapping[str, Any], options: PreferOptions) -> list[Row]:
    """One row a system, best first: its Bradley-Terry strength, or why it is missing.

    Every draw is a fit of its own, so there are at most `MOST_FITS`; the interval says how many.
    """
    how = options.resampling(1)
    fits = bradley_terry(games, len(systems), options.prior, min(how.resamples, MOST_FITS), how.level, how.seed)
    about = merged(fields, study="bradley_terry", level=Level.SYSTEM.value, statistic="strength")
    if lost := max((fit.lost for fit in fits), default=0):
        about = merged(about, details={"resamples_left_out": lost})
    apart = {} if _linked(games, len(systems)) else {"reason": _APART}
    ranked = sorted(zip(systems, fits, strict=True), key=lambda fitted: -(fitted[1].value or 0.0))
    return [interval_row(fit, about, apart, system=system) for system, fit in ranked]


def _strengths_of(
    pairs: Sequence[tuple[str, str]], gained: Floats, fields: Mapping[str, Any], options: PreferOptions
) -> list[Row]:
    """Strengths from the points of each pair's first system (pairs x documents): one game a pair and document."""
    systems = list(dict.fromkeys(name for pair in pairs for name in pair))
    documents = gained.shape[1]
    first, second = (np.repeat([systems.index(pair[side]) for pair in pairs], documents) for side in (0, 1))
    games = Games(
        first.astype(np.int64), second.astype(np.int64), gained.ravel(), np.tile(np.arange(documents), len(pairs))
    )
    return strength_rows(games, systems, fields, options)


def _linked(games: Games, systems: int) -> bool:
    """Whether the games connect all systems, by any path."""
    part = list(range(systems))
    for first, second in set(zip(games.first.tolist(), games.second.tolist(), strict=True)):
        old, new = part[first], part[second]
        part = [new if here == old else here for here in part]
    return len(set(part)) <= 1


@dataclass(frozen=True)
class Verdicts:
    """One judge's verdicts on one aspect.

    `pairs` name two systems each, in alphabetical order. `ab` and `ba` are matrices pairs x documents of the points
    of a pair's first system, 1, 1/2 or 0, when its summary was shown first and when it was shown second; NaN where
    there is no verdict. `requested` says for each of the two orders which verdicts were asked for at all.
    """

    judge: str
    signature: str
    model: str | None
    aspect: str
    pairs: tuple[tuple[str, str], ...]
    documents: tuple[str, ...]
    ab: Floats
    ba: Floats
    requested: tuple[Floats, Floats]

    def both(self, pair: tuple[str, str]) -> tuple[Floats, Floats]:
        """The points of the first named system: where it was shown first, and where it was shown second."""
        if pair in self.pairs:
            place = self.pairs.index(pair)
            return self.ab[place], self.ba[place]
        place = self.pairs.index(pair[::-1])
        return 1 - self.ba[place], 1 - self.ab[place]

    def points(self, pair: tuple[str, str], documents: Sequence[str] | None = None) -> Floats:
        """Points of the first named system a document: both orders summed and halved.

        A document with a verdict in one order only has none, unless that is all that was ever asked of the pair.
        All NaN for a pair that was not judged.
        """
        if pair not in self.pairs and pair[::-1] not in self.pairs:
            return np.full(len(self.documents if documents is None else documents), np.nan)
        first, second = self.both(pair)
        place = self.pairs.index(pair if pair in self.pairs else pair[::-1])
        requested = [bool(order[place].any()) for order in self.requested]
        halved = (first + second) / 2 if all(requested) else np.where(np.isnan(first), second, first)
        if documents is None:
            return halved
        column = {name: number for number, name in enumerate(self.documents)}
        return np.array([halved[column[name]] if name in column else np.nan for name in documents])

    def order_details(self, pair: tuple[str, str]) -> dict[str, Any]:
        """What order did to a pair, for the details of its row; empty for a pair that was not judged."""
        if pair not in self.pairs and pair[::-1] not in self.pairs:
            return {}
        effect = order_effect(*self.both(pair))
        if not effect.n:
            return {"orders": 1}
        return {
            "orders": 2, "flip_rate": effect.flip_rate, "first_slot": effect.first_slot,
            "second_slot": effect.second_slot, "half_tied": effect.half_tied,
            "ties": int((self.points(pair) == 0.5).sum()),
        }  # fmt: skip

    def ranking(self) -> dict[str, float]:
        """Each system's mean points over its pairs and documents."""
        gained: dict[str, list[float]] = {}
        for pair in self.pairs:
            points = self.points(pair)
            for name, values in zip(pair, (points, 1 - points), strict=True):
                gained.setdefault(name, []).extend(values[~np.isnan(values)].tolist())
        return {name: round(float(np.mean(values)), 12) for name, values in gained.items() if values}


def verdicts(columns: JudgmentTable, judge: str | None = None) -> Iterator[Verdicts]:
    """The verdicts of every head-to-head judge and aspect, in order of first appearance.

    A judgment of (A, B) with the value v shows A first and gives it v; more than a half is a win. `judge` is a name
    or a signature.
    """
    rows = columns.take(columns.unit.equal("pair"))
    for (name, signature, aspect), place in rows.questions().items():
        if judge is None or judge in (name, signature):
            yield _verdicts_of(rows.take(place), name, signature, aspect)


def _verdicts_of(rows: JudgmentTable, judge: str, signature: str, aspect: str) -> Verdicts:
    documents = [str(name) for name in rows.document.used()]
    shown = list(zip(rows.system.labels(), rows.rival.labels(), strict=True))
    pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in shown))
    place = {pair: number for number, pair in enumerate(pairs)}
    column = {name: number for number, name in enumerate(documents)}
    decided = np.where(np.isnan(rows.value), rows.label, rows.value)
    gained = np.where(np.isnan(decided), np.nan, (np.sign(decided - 0.5) + 1) / 2)
    gained[~rows.status.equal("ok")] = np.nan
    size = len(pairs), len(documents)
    grids = [np.full(size, np.nan), np.full(size, np.nan)]
    requested = (np.zeros(size), np.zeros(size))
    for (first, second), document, gain in zip(shown, rows.document.labels(), gained, strict=True):
        turned = first > second
        cell = place[min(first, second), max(first, second)], column[document]
        grids[turned][cell] = 1 - gain if turned else gain
        requested[turned][cell] = 1.0
    return Verdicts(
        judge, signature, model_names(rows.model), aspect, tuple(pairs), tuple(documents), grids[0], grids[1], requested
    )  # fmt: skip


_BLOCK = "pairs"


def _pair_rows(columns: JudgmentTable, aspect: str) -> JudgmentTable:
    return columns.where(unit="pair", aspect=aspect)


def people_verdicts(columns: JudgmentTable, aspect: str, rule: Aggregation) -> list[Verdicts]:
    """People's verdicts on pairs (what a pairwise campaign exports), merged over annotators: the mean of their points.

    A majority gives the first system 1, 0 or, when split, 1/2; merge="each" or an annotator's id keeps single votes
    apart. Empty where people compared no pairs on the aspect. Raises UsageError for an unknown annotator.
    """
    single = {
        annotator.judge: replace(annotator, signature=_signed(annotator.signature, f"annotator:{annotator.judge}"))
        for annotator in verdicts(_pair_rows(columns, aspect))
    }
    if not single:
        return []
    check_has_names(rule, single)
    if rule.merge == AggregationRule.EACH:
        return list(single.values())
    if rule.merge not in list(AggregationRule):
        if rule.merge not in single:
            raise UsageError(f"no annotator {rule.merge!r} among the verdicts on {aspect} ({', '.join(single)})")
        return [single[rule.merge]]
    pairs = tuple(dict.fromkeys(pair for annotator in single.values() for pair in annotator.pairs))
    documents = tuple(dict.fromkeys(name for annotator in single.values() for name in annotator.documents))
    votes = np.array([[annotator.points(pair, documents) for pair in pairs] for annotator in single.values()])
    mean = np.where((~np.isnan(votes)).sum(axis=0) >= rule.min_votes, mean_present(votes), np.nan)
    shape = mean.shape
    match AggregationRule(rule.merge):
        case AggregationRule.MAJORITY:
            merge, gained = "merge:majority", np.where(np.isnan(mean), np.nan, (np.sign(mean - 0.5) + 1) / 2)
        case AggregationRule.AUTO | AggregationRule.MEAN | AggregationRule.MODE_ELSE_MEAN:
            merge, gained = "merge:mean", mean
        case kept_apart:  # single votes, above
            raise ValueError(f"{kept_apart} names no way to make one verdict of several")
    parts = [merge, *([f"min:{rule.min_votes}"] if rule.min_votes > 1 else [])]
    signature = _signed(next(verdicts(_pair_rows(columns, aspect))).signature, *parts)
    requested = (~np.isnan(gained)).astype(np.float64)
    return [
        Verdicts(
            PEOPLE, signature, None, aspect, pairs, documents, gained, np.full(shape, np.nan),
            (requested, np.zeros(shape)),
        )
    ]  # fmt: skip


def _signed(signature: str, *parts: str) -> str:
    head, *rest = signature.split("|")
    return "|".join([head, *parts, *rest])
