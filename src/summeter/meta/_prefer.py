"""Pairwise preferences: does a judge prefer the same systems as people?

For each pair of systems, a document gives a point to the system with the higher score, and half a point to both if the
scores are equal (Shen et al., 2023). The judge is correct on a pair if the shares of points by the judge and by people
are both above, both below or both equal to one half. Pairwise verdicts are points themselves: a judge's verdicts are
averaged over both orders, and people's verdicts are merged over annotators.

Rows have these studies: `pair` (statistic `points`: points of the first system out of n; statistic `agree`: 1 or 0),
`correct_preferences` (number of correct pairs out of n, for all pairs and for the chain of neighbours in people's
ranking), and for each system, by the judge and by people, `win_rate` (share of points against all others), `best_rate`
(share of documents on which the system is the best, the win rate of SummQual) and `bradley_terry` (the strength s in
P(i beats j) = 1 / (1 + exp(s_j - s_i))).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule, Level
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input
from summeter.meta.options import By, Draws, Pairs, People, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged, named, pair_name, status_of
from summeter.meta.sample import Grid, Rater, Sample, rounded
from summeter.meta.selection import (
    PEOPLE,
    MetaInput,
    aspects,
    block_of,
    check_has_names,
    gold_scores,
    meta_input,
    summary_groups,
    wanted,
)
from summeter.records import UsageError
from summeter.scoring.table import JudgmentTable, model_names
from summeter.stats import (
    best_rates,
    bradley_terry,
    order_effect,
    points,
    side_of_half,
    win_rates,
)
from summeter.stats.base import Floats, mean_present, ratio
from summeter.stats.resample import empty_reason

ALL, CHAIN, GIVEN = "all", "chain", "given"
MOST_FITS = 200
_NO_PAIR = "no pair of systems has documents that both sides judged"


class PreferOptions(Selection, By, Pairs, Draws):
    """The options of `prefer`."""

    strengths: bool = Field(default=True, description="Add win rates and Bradley-Terry strengths.")
    prior: float = Field(
        0.0,
        ge=0,
        description="Number of half-won pseudo-games per pair of systems, which keep strengths finite.",
    )


@study(PreferOptions, command="[RUN...]")
def prefer(run: RunLike | None, gold: Gold, options: PreferOptions) -> Study:
    """Measure whether judges and people prefer the same systems.

    The rows contain correct preferences, win rates and Bradley-Terry strengths. Without a run, the study returns win
    rates and strengths by human judgments. It uses scores of summaries or pairwise verdicts, depending on what the run
    and people have. People's scores take precedence over their verdicts, unless `source="pairs"` selects the verdicts.
    The chain of neighbours follows people's ranking by the mean over all aspects of the block (Shen et al. rank by the
    average of four ratings). Raises UsageError if there is nothing to compare or a system is unknown.
    """
    rows: list[Row] = []
    if run is None:
        columns, _ = gold_input(gold, options.judgment_set)
        names = options.gold_aspects or aspects(columns)
        for aspect in names:
            for scores in gold_scores(columns, aspect, Level.SUMMARY, options):
                grid = Grid.of(scores)
                if len(grid.systems) > 1:
                    rows += _system_rows(named(scores.judge, scores.gold), grid.systems, grid.gold, options)
            for people in people_verdicts(columns, aspect, options):
                gained = people.points_of(people.pairs, people.documents)
                rows += strength_rows(people.pairs, gained, named(people.rater), options)
        if not rows:
            raise UsageError(f"people did not judge several systems; the judged aspects are: {', '.join(names)}")
        return Study("prefer", rows)
    read = meta_input(run, gold, options)
    shown: set[tuple[str, ...]] = set()
    try:
        matrices, why = summary_groups(read, options, options.by), None
    except UsageError as error:  # a run can have verdicts without scores
        matrices, why = [], error
    for matrix in matrices:
        if len(matrix.grid.systems) > 1:
            judge, people = (Verdicts.of_scores(matrix.sample.of_raters(number)) for number in (0, 1))
            ranking = _ranking(read.gold, matrix.sample.gold, options)
            chained = chain_of(ranking, matrix.grid.systems)
            rows += _contest_rows(
                judge, people, matrix.about(), pairs=people.pairs, chained=chained, ranking=ranking, options=options
            )
            if options.strengths:
                grid, gold_rater = matrix.grid, matrix.sample.gold
                rows += _system_rows(matrix.about(), grid.systems, grid.judge, options)
                # People's rows are returned once per aspect.
                mark = gold_rater.judge, gold_rater.signature, gold_rater.aspect, str(matrix.value)
                if mark not in shown:
                    shown.add(mark)
                    about = merged(named(gold_rater), matrix.fields())
                    rows += _system_rows(about, grid.systems, grid.gold, options)
    for judge, people, ranking in _contests(read, options, compared=bool(rows)):
        pairs = (judge if people.scored else people).pairs
        fields, chained = named(judge.rater, people.rater), chain_of(ranking, list(ranking))
        rows += _contest_rows(judge, people, fields, pairs=pairs, chained=chained, ranking=ranking, options=options)
        if options.strengths:
            chosen = _chosen_pairs(pairs, ranking, options)
            documents = list(dict.fromkeys((*people.documents, *judge.documents)))
            rows += strength_rows(chosen, judge.points_of(chosen, documents), fields, options)
            if not people.scored:
                rows += strength_rows(chosen, people.points_of(chosen, documents), named(people.rater), options)
    if not rows:
        if matrices:
            found = ", ".join(dict.fromkeys(name for matrix in matrices for name in matrix.grid.systems))
            raise UsageError(f"preferences need at least 2 systems, but the data have only {found}")
        raise why or UsageError("the run has no verdicts on pairs of systems that people also judged")
    return Study("prefer", rows)


def _contests(
    read: MetaInput, options: Selection, *, compared: bool
) -> Iterator[tuple[Verdicts, Verdicts, Mapping[str, float]]]:
    """Yield the contests with verdicts on pairs: the judge, people, and people's ranking.

    Verdicts of judges are compared with people's scores. People's verdicts are compared with all judges if people gave
    no scores or if verdicts were selected; `compared` says whether scores were compared.
    """
    known = aspects(read.gold)

    def matching(judges: Sequence[Verdicts], names: Sequence[str]) -> Iterator[tuple[Verdicts, str]]:
        pairs = wanted(options, list(dict.fromkeys(judge.rater.aspect for judge in judges)), names)
        return ((judge, gold) for judge in judges for name, gold in pairs if name == judge.rater.aspect)

    pairwise = list(verdicts(read.judge, options.judge))
    # Aspects on which people did not only judge pairs.
    scored = [name for name in known if set(read.gold.where(aspect=name).unit.used()) != {"pair"}]
    if pairwise and options.source != "pairs" and (scored or not known):
        for judge, aspect in matching(pairwise, known):
            for gold in gold_scores(read.gold, aspect, Level.SUMMARY, options):
                compared = True
                yield judge, Verdicts.of_scores(gold), _ranking(read.gold, gold.gold, options)
    if options.source != "pairs" and (compared or options.source is not None):
        return
    with_verdicts = [name for name in known if len(read.gold.where(unit="pair", aspect=name))]
    scores = (read.judge.scores(question, Level.SUMMARY) for question in read.judge.questions(judge=options.judge))
    judges = [*pairwise, *(Verdicts.of_scores(series) for series in scores if len(series))]
    if with_verdicts and judges:
        for judge, aspect in matching(judges, with_verdicts):
            yield from ((judge, gold, gold.ranking()) for gold in people_verdicts(read.gold, aspect, options))


def _ranking(columns: JudgmentTable, gold: Rater, options: Selection) -> Mapping[str, float]:
    """Return the human mean of each system over the aspects in the block of `gold`."""
    all_scores = (scores for name in aspects(columns) for scores in gold_scores(columns, name, Level.SUMMARY, options))
    block = [scores for scores in all_scores if block_of(scores.gold.signature) == block_of(gold.signature)]
    return ranking_of([Grid.of(scores) for scores in block])


def ranking_of(grids: Sequence[Grid]) -> dict[str, float]:
    """Return the mean over aspects of each system's means, for systems that have all aspects.

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
    """Return the pairs of neighbours in the ranking of these systems, best first; equal means keep their order.

    Systems without a mean are left out.

    >>> chain_of({"A": 1.5, "B": 3.5, "C": 2.0, "D": 2.0}, ["A", "B", "C", "D", "E"])
    [('B', 'C'), ('C', 'D'), ('D', 'A')]
    """
    return list(pairwise(sorted((name for name in systems if name in ranking), key=lambda name: -ranking[name])))


def _chosen_pairs(
    judged: Sequence[tuple[str, str]], ranking: Mapping[str, float], options: PreferOptions
) -> list[tuple[str, str]]:
    """Return the selected pairs (by default all), with the system that people rank higher first."""
    if (selected := options.pairs_of(list(dict.fromkeys(chain(*judged))))) is not None:
        return selected
    low = float("-inf")
    return [(b, a) if ranking.get(b, low) > ranking.get(a, low) else (a, b) for a, b in judged]


def _contest_rows(
    judge: Verdicts,
    gold: Verdicts,
    fields: Mapping[str, Any],
    *,
    pairs: Sequence[tuple[str, str]],
    chained: Sequence[tuple[str, str]],
    ranking: Mapping[str, float],
    options: PreferOptions,
) -> Iterator[Row]:
    """Yield the rows `pair` and `correct_preferences`. `chained` are the neighbours in people's ranking."""
    pairs = _chosen_pairs(pairs, ranking, options)
    documents = list(dict.fromkeys((*gold.documents, *judge.documents)))
    by_people, by_judge = (side.points_of(pairs, documents) for side in (gold, judge))
    bootstrap = options.resampling(len(documents))
    complete = ~(np.isnan(by_people) | np.isnan(by_judge))
    people, machine = (np.where(complete, side, 0.0) for side in (by_people, by_judge))

    def total_points(weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the first systems' points by people and by the judge, and the numbers of documents.

        The arrays are draws x pairs.
        """
        return weights @ people.T, weights @ machine.T, weights @ complete.T.astype(np.float64)

    def scaled(weights: Floats) -> Floats:
        _, points_of_judge, size = total_points(weights)
        return np.asarray(ratio(points_of_judge, size) * complete.sum(axis=1))

    def agreement(weights: Floats) -> Floats:
        """Return 1 if people and the judge prefer the same system or neither, else 0.

        The result is NaN if there are no documents.
        """
        points_of_people, points_of_judge, size = total_points(weights)
        same = side_of_half(points_of_people, size) == side_of_half(points_of_judge, size)
        return np.where(size > 0, same, np.nan)

    by_pair, correct_samples = bootstrap.samples(scaled, agreement, width=len(complete))
    ones = np.ones((1, len(documents)))
    gold_points, judge_points, sizes = (column[0] for column in total_points(ones))
    agrees = [None if np.isnan(value) else bool(value) for value in agreement(ones)[0]]
    close = [pair in chained or pair[::-1] in chained for pair in pairs]
    about = merged(fields, level=Level.SYSTEM.value)
    for place, (pair, agree) in enumerate(zip(pairs, agrees, strict=True)):
        n = int(sizes[place])
        value, of_people = (float(side[place]) if n else None for side in (judge_points, gold_points))
        fields_of_pair = {"study": "pair", "pair": pair_name(*pair), "n": n, "missing": len(documents) - n}
        fields_of_pair["reason"] = None if n else empty_reason(len(documents))
        details = {"points": value, "gold_points": of_people, "agree": agree, "chain": close[place]}
        details |= judge.order_details(pair)
        yield interval_row(
            bootstrap.of_samples(value, by_pair[:, place]), about, fields_of_pair, statistic="points", details=details
        )
        agreed = None if agree is None else float(agree)
        yield Row(**merged(about, fields_of_pair), statistic="agree", value=agreed, status=status_of(agreed))
    groups = {ALL: list(range(len(pairs))), CHAIN: [place for place, in_chain in enumerate(close) if in_chain]}
    if options.pairs is not None:
        groups = {GIVEN: groups[ALL]}
    for name, places in groups.items():
        judged = [place for place in places if agrees[place] is not None]
        correct = sum(bool(agrees[place]) for place in judged)
        value = float(correct) if judged else None
        group = ", ".join(filter(None, (fields.get("details", {}).get("group"), name)))
        most = max((int(sizes[place]) for place in places), default=0)
        yield interval_row(
            bootstrap.of_samples(value, correct_samples[:, judged].sum(axis=1)), about, study="correct_preferences",
            statistic="correct_preferences", n=len(judged), missing=len(places) - len(judged), reason=_NO_PAIR,
            details={"pairs": name, "group": group, "share": correct / len(judged) if judged else None,
                     "documents": most},
        )  # fmt: skip


def _system_rows(
    fields: Mapping[str, Any], systems: Sequence[str], scores: Floats, options: PreferOptions
) -> Iterator[Row]:
    """Yield the win rate, best rate and strength of each system from scores (systems x documents)."""
    for rates in (win_rates(scores), best_rates(scores)):
        about = merged(fields, study=rates.name, statistic=rates.name, level=Level.SYSTEM.value)
        bootstrap = options.resampling(rates.won.shape[1])
        (samples,) = bootstrap.samples(rates.weighted, width=len(scores))
        for system, rate, column in zip(systems, rates.statistics, samples.T, strict=True):
            of_system = {"system": system, "n": rate.n, "missing": rate.missing, "reason": rate.reason}
            yield interval_row(bootstrap.of_samples(rate.value, column), about, of_system)
    pairs = list(combinations(range(len(systems)), 2))
    gained = np.array([points(scores[i], scores[j]) for i, j in pairs])
    yield from strength_rows([(systems[i], systems[j]) for i, j in pairs], gained, fields, options)


def strength_rows(
    pairs: Sequence[tuple[str, str]], gained: Floats, fields: Mapping[str, Any], options: PreferOptions
) -> list[Row]:
    """Return one row per system with its Bradley-Terry strength, best first.

    `gained` holds the points of the first system of each pair (pairs x documents). Each resample requires a fit, so
    there are at most `MOST_FITS` resamples; the description of the interval states their number.
    """
    systems = list(dict.fromkeys(name for pair in pairs for name in pair))
    numbers = [(systems.index(first), systems.index(second)) for first, second in pairs]
    resamples = min(options.resamples, MOST_FITS)
    fits = bradley_terry(numbers, gained, len(systems), options.prior, resamples, options.confidence, options.seed)
    about = merged(fields, study="bradley_terry", level=Level.SYSTEM.value, statistic="strength")
    if lost := max((fit.lost for fit in fits), default=0):
        about = merged(about, details={"resamples_left_out": lost})
    ranked = sorted(zip(systems, fits, strict=True), key=lambda fitted: -(fitted[1].value or 0.0))
    return [interval_row(fit, about, system=system) for system, fit in ranked]


@dataclass(frozen=True)
class Verdicts:
    """Which system of a pair one judge prefers on each document, on one aspect.

    `pairs` are pairs of systems in alphabetical order. `ab` and `ba` are pairs x documents matrices with the points of
    the first system of a pair when its summary was shown first and second, respectively. Points are 1, 1/2 or 0, or NaN
    if there is no verdict. `twice` says for each pair whether verdicts were requested in both orders. If `scored` is
    True, the points follow from scores of summaries, and no verdict was requested.
    """

    rater: Rater
    pairs: tuple[tuple[str, str], ...]
    documents: tuple[str, ...]
    ab: Floats
    ba: Floats
    twice: tuple[bool, ...]
    scored: bool = False

    @classmethod
    def of_scores(cls, sample: Sample) -> Verdicts:
        """Return the preferences that follow from a judge's scores of summaries; all pairs, in order of systems."""
        grid = Grid.of(sample)
        pairs = tuple(combinations(grid.systems, 2))
        numbers = combinations(range(len(grid.systems)), 2)
        shape = len(pairs), len(grid.documents)
        ab = np.array([points(grid.judge[i], grid.judge[j]) for i, j in numbers]).reshape(shape)
        twice = (False,) * len(pairs)
        return cls(sample.judge, pairs, grid.documents, ab, np.full(shape, np.nan), twice, scored=True)

    def both(self, pair: tuple[str, str]) -> tuple[Floats, Floats]:
        """Return the first system's points in `pair` when shown first, and when shown second."""
        if pair in self.pairs:
            place = self.pairs.index(pair)
            return self.ab[place], self.ba[place]
        place = self.pairs.index(pair[::-1])
        return 1 - self.ba[place], 1 - self.ab[place]

    def points(self, pair: tuple[str, str]) -> Floats:
        """Return the points of the first system of `pair` on each document, averaged over both orders.

        A document with a verdict in one order only has no points, unless only one order was requested for the pair.
        The points are NaN for a pair that was not judged.
        """
        if pair not in self.pairs and pair[::-1] not in self.pairs:
            return np.full(len(self.documents), np.nan)
        first, second = self.both(pair)
        place = self.pairs.index(pair if pair in self.pairs else pair[::-1])
        return (first + second) / 2 if self.twice[place] else np.where(np.isnan(first), second, first)

    def points_of(self, pairs: Sequence[tuple[str, str]], documents: Sequence[str]) -> Floats:
        """Return the first system's points in each pair on the given documents (pairs x documents), NaN if missing."""
        column = {name: number for number, name in enumerate(self.documents)}
        columns = np.array([column.get(name, -1) for name in documents], np.int64)
        rows = [np.append(self.points(pair), np.nan)[columns] for pair in pairs]
        return np.array(rows).reshape(len(pairs), len(documents))

    def order_details(self, pair: tuple[str, str]) -> dict[str, Any]:
        """Return the effect of the order on a pair, for the `details` of the pair's row.

        The result is empty if the pair was not judged, or if its points follow from scores.
        """
        if self.scored or (pair not in self.pairs and pair[::-1] not in self.pairs):
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
        """Return the mean points of each system over its pairs and documents."""
        gained: dict[str, list[float]] = {}
        for pair in self.pairs:
            points = self.points(pair)
            for name, values in zip(pair, (points, 1 - points), strict=True):
                gained.setdefault(name, []).extend(values[~np.isnan(values)].tolist())
        return {name: round(float(np.mean(values)), 12) for name, values in gained.items() if values}


def verdicts(judges: JudgeInput, judge: str | None = None, aspects: Collection[str] = ()) -> Iterator[Verdicts]:
    """Yield the verdicts of each pairwise judge and aspect, in order of first appearance.

    In a judgment of (A, B), A was shown first; A wins if the value is more than one half. `judge` is a name or a
    signature, and `aspects` selects aspects (all if it is empty).
    """
    for question in judges.questions(aspects, judge):
        rows = judges.table.take(judges.rows.get(question, np.zeros(0, np.int64))).where(unit="pair")
        if not len(rows):
            continue
        documents = tuple(str(name) for name in rows.document.used())
        shown = list(zip(rows.system.labels(), rows.rival.labels(), strict=True))
        pairs = tuple(dict.fromkeys((min(pair), max(pair)) for pair in shown))
        place = {pair: number for number, pair in enumerate(pairs)}
        column = {name: number for number, name in enumerate(documents)}
        decided = np.where(np.isnan(rows.value), rows.label, rows.value)
        gained = np.where(np.isnan(decided), np.nan, (np.sign(decided - 0.5) + 1) / 2)
        gained[~rows.status.equal("ok")] = np.nan
        grids = np.full((2, len(pairs), len(documents)), np.nan)
        for (first, second), document, gain in zip(shown, rows.document.labels(), gained, strict=True):
            turned = first > second
            cell = place[min(first, second), max(first, second)], column[document]
            grids[int(turned)][cell] = 1 - gain if turned else gain
        orders = set(shown)
        twice = tuple(pair in orders and pair[::-1] in orders for pair in pairs)
        rater = Rater(question.judge, question.signature, model_names(rows.model), question.aspect, question.run)
        yield Verdicts(rater, pairs, documents, grids[0], grids[1], twice)


def people_verdicts(columns: JudgmentTable, aspect: str, options: People) -> list[Verdicts]:
    """Return the human verdicts on pairs in a pairwise campaign, merged over annotators.

    By default, the points are averaged. A majority gives the first system 1 or 0 points, or 1/2 if it is tied. With
    `merge="each"` or the id of an annotator, individual verdicts are returned. The list is empty if people compared no
    pairs on the aspect. Raises UsageError for an unknown annotator.
    """
    votes_of = list(verdicts(JudgeInput(columns.where(unit="pair", aspect=aspect))))
    single = {
        each.rater.judge: replace(each, rater=_signed(each.rater, f"annotator:{each.rater.judge}")) for each in votes_of
    }
    if not single:
        return []
    check_has_names(options.merge, single)
    if options.merge == AggregationRule.EACH:
        return list(single.values())
    if options.merge not in list(AggregationRule):
        if options.merge not in single:
            raise UsageError(
                f"{options.merge!r} is not an annotator of {aspect}; the annotators are: {', '.join(single)}"
            )
        return [single[options.merge]]
    pairs = tuple(dict.fromkeys(pair for annotator in single.values() for pair in annotator.pairs))
    documents = tuple(dict.fromkeys(name for annotator in single.values() for name in annotator.documents))
    votes = np.stack([annotator.points_of(pairs, documents) for annotator in single.values()])
    mean = np.where((~np.isnan(votes)).sum(axis=0) >= options.min_votes, mean_present(votes), np.nan)
    match AggregationRule(options.merge):
        case AggregationRule.MAJORITY:
            merge, gained = "merge:majority", np.where(np.isnan(mean), np.nan, (np.sign(mean - 0.5) + 1) / 2)
        case AggregationRule.AUTO | AggregationRule.MEAN | AggregationRule.MODE_ELSE_MEAN:
            merge, gained = "merge:mean", mean
        case individual:  # handled above
            raise ValueError(f"{individual} does not merge verdicts")
    parts = [merge, *([f"min:{options.min_votes}"] if options.min_votes > 1 else [])]
    people = replace(votes_of[0].rater, judge=PEOPLE, model=None)
    unordered = np.full(gained.shape, np.nan), (False,) * len(pairs)
    return [Verdicts(_signed(people, *parts), pairs, documents, gained, *unordered)]


def _signed(rater: Rater, *parts: str) -> Rater:
    head, *rest = rater.signature.split("|")
    return replace(rater, signature="|".join([head, *parts, *rest]))
