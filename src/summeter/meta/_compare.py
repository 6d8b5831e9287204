"""Is A really better than B? Systems, or judges, compared pair by pair, corrected for the number of pairs, in words.

Two systems are compared on the documents that both summarized: a paired permutation test exchanges their scores
document by document, a paired bootstrap draws documents; Holm's (1979) correction is over all pairs of one judge
and aspect, and systems between which nothing is significant share a cluster. The interval of a difference stands
for its own pair and is not widened for the number of pairs; the corrected p-value decides.

Judges are compared by their correlation with people on the same items. Their correlations are correlated themselves,
so an ordinary test of two r's is wrong (Graham & Baldwin, 2014; Deutsch et al., 2021): each pair is tested on the
rows that people and both judges have, by the permutation test that exchanges the judges' scores document by document,
and, for Pearson, by Williams' test beside it. Holm's correction is over all pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple, Unpack, cast

import numpy as np

from summeter.choices import Average, ClusterRule, Coefficient, Level
from summeter.meta._correlate import Options, measure
from summeter.meta.context import Context
from summeter.meta.gold import aspects as judged_aspects
from summeter.meta.gold import gold_scores
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.matrix import PairedScores, ScoreMatrix, Scores, group_means
from summeter.meta.results import Row, Study, interval_row, pair_name, resampling, status_of
from summeter.meta.selection import (
    Group,
    Selection,
    SelectionArgs,
    all_pairs,
    check,
    checks_keywords,
    choose,
    groups,
    meta_input,
    notes,
)
from summeter.records import Judgment, UsageError
from summeter.runs.run import RunFolder
from summeter.scoring.table import JudgmentTable
from summeter.stats import (
    Bootstrap,
    Comparison,
    Interval,
    clusters_of_equals,
    correlation_by_group,
    holm,
    of_rows,
    paired_permutation,
    paired_permutations,
    permute_correlations,
    williams,
)
from summeter.stats.base import Bools, Floats, Ints
from summeter.stats.correlation import raw

STUDY = "compare"
ALL_TOLD = 6
"""Up to so many pairs the sentence tells all of them; beyond, the neighbours in the ranking and the clusters."""
DESCRIPTIVE = frozenset({"abstractiveness"})
"""Aspects of which more is not better."""
RANK_EXCHANGES = 1000
"""Most exchanges of a test of rank correlations, which are computed one by one."""
RESAMPLES = 1000
"""Most draws of an interval of a difference of correlations, for the same reason."""

_VERB = "agrees better with people than"


@dataclass(frozen=True)
class Significance:
    """How differences are tested.

    `permutations` of the test (all of them where there are no more), `resamples` of the bootstrap, `confidence` of
    its interval, `alpha` the corrected p-value from which a difference counts, `rule` how clusters are cut (see
    `ClusterRule`).
    """

    permutations: int = 10_000
    resamples: int = 2000
    confidence: float = 0.95
    alpha: float = 0.05
    seed: int = 0
    rule: str = ClusterRule.GREEDY

    def __post_init__(self) -> None:
        if self.permutations < 1 or self.resamples < 1:
            raise UsageError("a test needs at least 1 permutation and 1 resample")
        if not 0 < self.confidence < 1 or not 0 < self.alpha < 1:
            raise UsageError(f"confidence and alpha must lie between 0 and 1, got {self.confidence} and {self.alpha}")
        if self.rule not in set(ClusterRule):
            raise UsageError(f"clusters are cut by one of {', '.join(ClusterRule)}, not {self.rule!r}")


class Pair(NamedTuple):
    """One comparison: the first minus the second, before and after correction over `family` pairs.

    `least_p` is the smallest p that the test can give with the `draws` it has ("20 permutations", "3 documents");
    `interval` says what `low`-`high` is.
    """

    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    family: int
    n: int
    missing: int
    reason: str | None = None
    least_p: float = 0.0
    draws: str = ""
    interval: str | None = None

    @property
    def name(self) -> str:
        """`first-second`."""
        return pair_name(self.first, self.second)

    def unreachable(self, alpha: float) -> str | None:
        """Why no difference at all could be significant after the correction; None where one could."""
        least = min(1.0, self.least_p * self.family)
        if self.p_holm is None or least <= alpha:
            return None
        after = f"{show_p(least)} at the least after Holm over {_pairs(self.family)}"
        return f"{self.draws} {'is' if self.draws.startswith('1 ') else 'are'} too few for a verdict ({after})"

    def better(self, alpha: float) -> str | None:
        """The one that is significantly higher, or None."""
        if self.difference is None or self.p_holm is None or self.p_holm > alpha or not self.difference:
            return None
        return self.first if self.difference > 0 else self.second


@checks_keywords
def compare_systems(
    run: RunLike,
    *,
    aspect: str | Sequence[str] | None = None,
    judge: str | None = None,
    by: str | None = None,
    permutations: int = 10_000,
    resamples: int = 2000,
    confidence: float = 0.95,
    alpha: float = 0.05,
    rule: str = ClusterRule.GREEDY,
    seed: int = 0,
) -> Study:
    """Which systems of a run are better than which, by every judge and aspect in it?

    `permutations` of the test, `resamples` of the bootstrap, `alpha` the corrected p-value from which a difference
    counts, `rule` how clusters of equals are cut (`greedy` or `separated`).

    Rows of the study "compare": `mean` (one a system, with its interval), `mean_difference` (one a pair; `pair` is
    "a-b", the value is a's mean minus b's over the documents both have, `p` that of the permutation test,
    `details.p_holm` the corrected one) and `cluster` (one a system; 1 is the best). `by` repeats it within each
    value of a column, one correction over all its groups. Raises UsageError where no judge has the aspect, or the
    summaries are of one system only.

        print(sm.meta.compare_systems(run, aspect="faithfulness").notes[0])
    """
    testing = Significance(permutations, resamples, confidence, alpha, seed, rule)
    judges, chosen = judge_input(run), Selection(aspect=aspect).aspects
    wanted = [name.partition(":")[0] for name in chosen]
    fit = judges.questions(judge=judge)
    questions = [question for question in fit if not wanted or question[2] in wanted]
    lost = [name for name in wanted if name not in {question[2] for question in fit}]
    if lost or not questions:
        known = ", ".join(sorted({f"{name} ({aspect})" for name, _, aspect in judges.questions()})) or "none"
        what = f"with the aspect {lost[0]}" if lost else "in the run"
        raise UsageError(f"no judge {f'{judge} ' if judge else ''}{what}; there are: {known}")
    scores = [judges.scores(question, Level.SUMMARY) for question in questions]
    return _compare([one for one in scores if len(one)], judges.context, by, testing)


@checks_keywords
def compare_by_people(
    gold: Gold,
    *,
    permutations: int = 10_000,
    resamples: int = 2000,
    confidence: float = 0.95,
    alpha: float = 0.05,
    rule: str = ClusterRule.GREEDY,
    seed: int = 0,
    **select: Unpack[SelectionArgs],
) -> Study:
    """Which systems are better than which by people's own judgments, merged as the shared keywords say?

    Keywords and rows are those of `compare_systems`.
    """
    testing, selection = Significance(permutations, resamples, confidence, alpha, seed, rule), Selection(**select)
    columns, context = gold_input(gold, selection.judgment_set)
    known = judged_aspects(columns)
    wanted = [name.partition(":")[2] or name for name in selection.aspects] or known
    for name in wanted:
        if name not in known:
            raise UsageError(f"people have not judged {name!r}; they have: {', '.join(known) or 'nothing'}")
    scores = [
        one for name in wanted for one in gold_scores(columns, name, Level.SUMMARY, selection.rule, selection.source)
    ]
    return _compare(scores, context, selection.by, testing)


def _compare(found: Sequence[Scores], context: Context, by: str | None, testing: Significance) -> Study:
    usable = [one for one in found if len(one.system.used()) > 1]
    if not usable:
        raise UsageError("to compare systems, a judge must have scored the summaries of at least 2 of them")
    rows: list[Row] = []
    notes: list[str] = []
    for series in usable:
        for family in _families(series, context, by):
            tested = [_Part.of(fields, part, testing) for fields, part in family]
            for part, pairs in zip(tested, _corrected([part.pairs for part in tested]), strict=True):
                done = part._replace(pairs=pairs)
                rows.extend(_rows(series, done, testing))
                notes.append(_note(series, done, testing))
    return Study(STUDY, rows, notes)


_Fields = Mapping[str, Any]


def _families(series: Scores, context: Context, by: str | None) -> Iterator[list[tuple[_Fields, Scores]]]:
    """All rows, and, as one family of tests, the rows of each value of a column."""
    yield [({}, series)]
    if by is None:
        return
    column = context.column(by, series.document, series.system)
    parts: list[tuple[_Fields, Scores]] = []
    for code in dict.fromkeys(column.codes.tolist()):
        value = column.names[code]
        part = _take(series, column.codes == code)
        if value is not None and len(part.system.used()) > 1:
            named = by in {"system", "domain", "category"}
            parts.append(({by: value} if named else {"details": {"by": by, "group": value}}, part))
    if not parts:
        raise UsageError(f"no value of {by!r} has summaries of 2 systems to compare")
    yield parts


def _take(series: Scores, rows: Bools) -> Scores:
    return replace(
        series, document=series.document.take(rows), system=series.system.take(rows),
        list_id=series.list_id.take(rows), index=series.index[rows], value=series.value[rows],
        why=series.why.take(rows),
    )  # fmt: skip


class _Part(NamedTuple):
    """The summaries of one group: means of systems and tests of pairs."""

    fields: _Fields
    grid: ScoreMatrix
    means: list[Interval]
    pairs: list[Pair]
    bootstraps: list[Interval]
    method: str

    @classmethod
    def of(cls, fields: _Fields, series: Scores, testing: Significance) -> _Part:
        grid = series.grid()
        bootstrap = Bootstrap(len(grid.documents), testing.resamples, testing.confidence, testing.seed)
        means = [bootstrap.mean(row) for row in grid.values]
        tests = paired_permutations(grid.values, None, testing.permutations, testing.seed)
        drawn = [bootstrap.difference(grid.values[test.first], grid.values[test.second]) for test in tests]
        pairs = [
            Pair(grid.systems[one.first], grid.systems[one.second], one.result.difference, boot.low, boot.high,
                 one.result.p, None, 0, one.result.n, one.result.missing, one.result.reason or boot.reason,
                 *_least(one.result, "document"), boot.text)
            for one, boot in zip(tests, drawn, strict=True)
        ]  # fmt: skip
        method = f"{tests[0].result.method}, {tests[0].result.resamples} flips"
        return cls(fields, grid, means, pairs, drawn, method)


def _least(test: Comparison, unit: str) -> tuple[float, str]:
    """The smallest p that a permutation test can give, and with what."""
    if test.exact:
        return 2.0 / 2.0**test.n if test.n else 0.0, f"{test.n} {unit}{'' if test.n == 1 else 's'}"
    return 1 / (test.resamples + 1), f"{test.resamples} permutations"


def _corrected(families: Sequence[Sequence[Pair]]) -> list[list[Pair]]:
    flat = corrected([pair for pairs in families for pair in pairs])
    places = iter(flat)
    return [[next(places) for _ in pairs] for pairs in families]


def corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with Holm's correction over all of them that were tested."""
    adjusted = holm([pair.p for pair in pairs])
    family = sum(pair.p is not None for pair in pairs)
    return [pair._replace(p_holm=p, family=family) for pair, p in zip(pairs, adjusted, strict=True)]


def cluster(
    names: Sequence[str], values: Sequence[float | None], pairs: Iterable[Pair], testing: Significance
) -> list[int | None]:
    """The cluster of each name, 1 for the highest values, from corrected pairs."""
    place = {name: number for number, name in enumerate(names)}
    matrix: list[list[float | None]] = [[None] * len(names) for _ in names]
    for pair in pairs:
        first, second = place[pair.first], place[pair.second]
        matrix[first][second] = matrix[second][first] = pair.p_holm
    return clusters_of_equals(values, matrix, testing.alpha, testing.rule)


def _rows(series: Scores, part: _Part, testing: Significance) -> Iterator[Row]:
    fields = {key: value for key, value in part.fields.items() if key != "details"}
    extra = dict(part.fields.get("details", {}))
    common: dict[str, Any] = {
        "study": STUDY, "judge": series.judge, "signature": series.signature, "model": series.model,
        "aspect": series.aspect, "level": Level.SUMMARY.value, **fields,
    }  # fmt: skip
    for system, mean in zip(part.grid.systems, part.means, strict=True):
        yield interval_row(mean, **{**common, "system": system}, statistic="mean", details=extra)
    for pair, boot in zip(part.pairs, part.bootstraps, strict=True):
        yield pair_row(
            common, pair, testing, statistic="mean_difference",
            details={**extra, "p_bootstrap": boot.p, "method": part.method,
                     "verdict": sentence(pair, series.aspect, testing)},
        )  # fmt: skip
    values = [mean.value for mean in part.means]
    for row in cluster_rows(common, part.grid.systems, values, part.pairs, testing):
        at = part.grid.systems.index(str(row.details["member"]))
        yield row.model_copy(
            update={"system": row.details["member"], "n": part.means[at].n, "missing": part.means[at].missing,
                    "details": {**extra, **row.details}}
        )  # fmt: skip


def pair_row(common: Mapping[str, Any], pair: Pair, testing: Significance, **more: Any) -> Row:
    """The row of a pair; `details` gains what the correction was."""
    details = {
        "first": pair.first, "second": pair.second, "p_holm": pair.p_holm, "comparisons": pair.family,
        "alpha": testing.alpha, "better": pair.better(testing.alpha), "least_p": pair.least_p,
        **more.pop("details", {}),
    }  # fmt: skip
    status = status_of(pair.difference, "no_interval" if pair.low is None else None)
    return Row(
        **common, value=pair.difference, p=pair.p, low=pair.low, high=pair.high, n=pair.n, missing=pair.missing,
        pair=pair.name, status=status, reason=pair.reason or (None if pair.difference is not None else "not tested"),
        interval=pair.interval, details=details, **more,
    )  # fmt: skip


def cluster_rows(
    common: Mapping[str, Any], names: Sequence[str], values: Sequence[float | None], pairs: Sequence[Pair],
    testing: Significance,
) -> Iterator[Row]:  # fmt: skip
    """A row a member, `value` its cluster; the caller adds what n and missing are."""
    found = cluster(names, values, pairs, testing)
    for name, value, number in zip(names, values, found, strict=True):
        equals = [other for other, its in zip(names, found, strict=True) if its == number and number is not None]
        yield Row(
            **common, statistic="cluster", value=None if number is None else float(number), n=0,
            status=status_of(number), reason=None if number is not None else "no value to rank by",
            details={"member": name, "of": value, "equals": equals, "rule": str(testing.rule), "alpha": testing.alpha},
        )  # fmt: skip


def _pairs(count: int) -> str:
    return f"{count} pair{'' if count == 1 else 's'}"


def show_p(p: float) -> str:
    """A p-value as a sentence has it.

    >>> show_p(0.0042), show_p(0.00004), show_p(0.3123), show_p(1.0)
    ('p = .004', 'p < .001', 'p = .31', 'p = 1')
    """
    if p < 0.001:
        return "p < .001"
    digits = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "p = 1" if float(digits) == 1 else f"p = {digits.lstrip('0')}"


def sentence(pair: Pair, aspect: str, testing: Significance, *, verb: str | None = None) -> str:
    """The verdict on a pair in words.

    >>> pair = Pair("aster", "birch", 0.1, 0.02, 0.18, 0.0007, 0.0042, 6, 18, 0)
    >>> sentence(pair, "composite", Significance())
    'aster is better than birch on composite: +0.10 [0.02, 0.18], p = .004 after Holm over 6 pairs'
    """
    if pair.difference is None or pair.p_holm is None:
        return f"{pair.first} and {pair.second} were not compared on {aspect}: {pair.reason or 'nothing in common'}"
    better = pair.better(testing.alpha)
    turned = better == pair.second
    size = _size(pair, turned=turned)
    after = f"{show_p(pair.p_holm)} after Holm over {_pairs(pair.family)}"
    lost = f" ({pair.missing} without both scores)" if pair.missing else ""
    if too_few := pair.unreachable(testing.alpha):
        return f"{pair.first} and {pair.second} {_not_told(pair)} on {aspect}: {size}, {too_few}{lost}"
    if better is None:
        return f"{pair.first} and {pair.second} cannot be told apart on {aspect}: {size}, {after}{lost}"
    worse = pair.first if turned else pair.second
    says = verb or ("is higher than" if aspect in DESCRIPTIVE else "is better than")
    return f"{better} {says} {worse} on {aspect}: {size}, {after}{lost}"


def _size(pair: Pair, *, turned: bool) -> str:
    assert pair.difference is not None  # noqa: S101 - the caller has looked
    sign = -1 if turned else 1
    text = f"{sign * pair.difference:+.2f}"
    if pair.low is None or pair.high is None:
        return text
    low, high = (-pair.high, -pair.low) if turned else (pair.low, pair.high)
    return f"{text} [{low:.2f}, {high:.2f}]"


def verdict(
    names: Sequence[str], values: Sequence[float | None], pairs: Sequence[Pair], aspect: str, testing: Significance,
    verb: str | None = None,
) -> str:  # fmt: skip
    """All there is to say of a family, in one sentence: who is better, and who cannot be told apart."""
    value = dict(zip(names, values, strict=True))
    ranked = sorted((name for name in names if value[name] is not None), key=lambda name: -(value[name] or 0.0))
    by_name = {frozenset((pair.first, pair.second)): pair for pair in pairs}
    if len(pairs) <= ALL_TOLD:
        told = [by_name[frozenset(two)] for two in combinations(ranked, 2)]
    else:
        told = [by_name[frozenset(two)] for two in pairwise(ranked)]
    better = [sentence(pair, aspect, testing, verb=verb) for pair in told if pair.better(testing.alpha)]
    if not any(pair.better(testing.alpha) for pair in pairs):
        return "; ".join([_none_better(ranked, pairs, aspect, testing.alpha), *_unranked(names, ranked, aspect)])
    alike = [_alike(pair) for pair in told if pair.p_holm is not None and not pair.better(testing.alpha)]
    parts = [*better, *alike, *_unranked(names, ranked, aspect)]
    if len(pairs) > ALL_TOLD:
        parts.append(f"clusters of equals, best first: {_clusters(names, values, pairs, testing)}")
    return "; ".join(parts)


def _none_better(ranked: Sequence[str], pairs: Sequence[Pair], aspect: str, alpha: float) -> str:
    tested = [pair.p_holm for pair in pairs if pair.p_holm is not None]
    if len(ranked) < 2 or not tested:
        return f"nothing can be compared on {aspect}"
    who = f"{', '.join(ranked[:-1])} and {ranked[-1]}"
    least = "" if len(tested) == 1 else "smallest "
    after = f"{least}{show_p(min(tested))} after Holm over {_pairs(len(tested))}"
    lost = sum(pair.missing for pair in pairs)
    unseen = "" if not lost else "; some documents lack a score" if len(pairs) > 1 else f"; {lost} without both scores"
    too_few = [pair.unreachable(alpha) for pair in pairs if pair.p_holm is not None]
    if why := too_few[0] if all(too_few) else None:
        return f"{who} {_not_told(pairs[0])} on {aspect}: {why}{unseen}"
    return f"{who} cannot be told apart on {aspect} ({after}{unseen})"


def _not_told(pair: Pair) -> str:
    """More permutations might tell two apart; all flips of the documents there are do not."""
    return "were not told apart" if pair.draws.endswith("permutations") else "cannot be told apart"


def _alike(pair: Pair) -> str:
    assert pair.p_holm is not None  # noqa: S101 - the caller has looked
    lost = f", {pair.missing} without both scores" if pair.missing else ""
    return f"{pair.first} and {pair.second} cannot be told apart ({show_p(pair.p_holm)}{lost})"


def _unranked(names: Sequence[str], ranked: Sequence[str], aspect: str) -> list[str]:
    lost = [name for name in names if name not in ranked]
    return [f"{', '.join(lost)} ha{'s' if len(lost) == 1 else 've'} no score on {aspect}"] if lost else []


def _clusters(
    names: Sequence[str], values: Sequence[float | None], pairs: Sequence[Pair], testing: Significance
) -> str:
    found = cluster(names, values, pairs, testing)
    order = sorted({number for number in found if number is not None})
    return " > ".join(
        "{" + ", ".join(name for name, number in zip(names, found, strict=True) if number == one) + "}" for one in order
    )


def _note(series: Scores, part: _Part, testing: Significance) -> str:
    group = next((str(value) for key, value in part.fields.items() if key != "details"), None)
    group = group or part.fields.get("details", {}).get("group")
    where = f" in {group}" if group else ""
    values = [mean.value for mean in part.means]
    return f"By {series.judge}{where}: {verdict(part.grid.systems, values, part.pairs, series.aspect, testing)}"


# ---- judges ----


class _Task(NamedTuple):
    coefficient: Coefficient
    level: Level
    average: Average
    testing: Significance


class _Named(NamedTuple):
    name: str
    pairs: PairedScores


@checks_keywords
def compare_evaluators(
    runs: RunLike | Sequence[RunLike],
    gold: Gold,
    *,
    level: str = Level.SUMMARY,
    average: str = Average.POOLED,
    coefficient: str = Coefficient.PEARSON,
    permutations: int = 10_000,
    resamples: int = 2000,
    confidence: float = 0.95,
    alpha: float = 0.05,
    rule: str = ClusterRule.GREEDY,
    seed: int = 0,
    **select: Unpack[SelectionArgs],
) -> Study:
    """Which judges of one or several runs correlate better with people than which?

    Rows of the study "compare": one a judge with its correlation on all rows it shares with people (`statistic` is
    the coefficient), one a pair (`<coefficient>_difference`; `pair` is "a-b", the value is a's correlation minus
    b's on the rows both have, `p` that of the permutation test, `details.p_holm` the corrected one,
    `details.p_williams` Williams' where it applies), and `cluster` rows. With an average by document or system the
    correlations within each are exchanged. `permutations` and `resamples` are cut to 1,000 for rank coefficients
    and for the intervals of differences. The other keywords are those of `compare_systems` and `correlate`.

    Raises UsageError with fewer than two judges of one aspect of the gold.
    """
    chosen, testing = Selection(**select), Significance(permutations, resamples, confidence, alpha, seed, rule)
    task = _Task(
        choose(Coefficient, coefficient, "coefficient"),
        choose(Level, level, "level"),
        choose(Average, average, "average"),
        testing,
    )
    check(task.level, task.average)
    told: list[str] = []
    found: dict[tuple[str, str], list[PairedScores]] = {}
    for run in _several(runs):
        read = meta_input(run, gold, chosen)
        here = list(all_pairs(read, task.level, chosen))
        told.extend(notes(read, chosen, task.level, here))
        for pairs in here:
            found.setdefault((pairs.gold.aspect, pairs.gold.signature), []).append(pairs)
    usable = {key: judges for key, judges in found.items() if len(judges) > 1}
    if not usable:
        raise UsageError("to compare judges, at least 2 of them must have judged one aspect; give further runs")
    rows: list[Row] = []
    for judges in usable.values():
        for part, words in _parts(_with_names(judges), chosen.by, task):
            rows.extend(part)
            told.append(words)
    return Study(STUDY, rows, told)


def _several(runs: RunLike | Sequence[RunLike]) -> list[RunLike]:
    """One run, or a list of judgments, as a list of one."""
    if isinstance(runs, RunFolder | JudgmentTable | JudgeInput):
        return [runs]
    found = list(runs)
    if found and all(isinstance(one, Judgment) for one in found):
        return [cast("list[Judgment]", found)]
    return cast("list[RunLike]", found)


def _with_names(judges: Sequence[PairedScores]) -> list[_Named]:
    """Each judge by the shortest of name, name:aspect, name@model and signature that tells it from the others."""
    ways = [
        [one.judge.judge for one in judges],
        [f"{one.judge.judge}:{one.judge.aspect}" for one in judges],
        [f"{one.judge.judge}@{one.judge.model}" for one in judges],
        [one.judge.signature for one in judges],
        [f"{one.judge.signature}:{one.judge.aspect}" for one in judges],
        [f"{number}:{one.judge.signature}" for number, one in enumerate(judges, 1)],
    ]
    names = next(names for names in ways if len(set(names)) == len(names))
    return [_Named(name, pairs) for name, pairs in zip(names, judges, strict=True)]


def _parts(judges: Sequence[_Named], by: str | None, task: _Task) -> Iterator[tuple[list[Row], str]]:
    """All rows, and the groups of a column: rows of each, and the verdict in words. The groups are one family."""
    whole: list[tuple[Group, list[_Named]]] = []
    split: dict[str, tuple[Group, list[_Named]]] = {}
    for one in judges:
        for group in groups(one.pairs, by):
            if group.column is None:
                whole = whole or [(group, [])]
                whole[0][1].append(one)
            else:
                split.setdefault(group.value or "", (group, []))[1].append(_Named(one.name, group.pairs))
    for family in (whole, [part for part in split.values() if len(part[1]) > 1]):
        raw_pairs = [[_tested(a, b, task) for a, b in combinations(found, 2)] for _, found in family]
        adjusted = iter(corrected([one.pair for tests in raw_pairs for one in tests]))
        for (group, found), tests in zip(family, raw_pairs, strict=True):
            done = [one._replace(pair=next(adjusted)) for one in tests]
            yield _judge_rows(group, found, done, task)


class _Test(NamedTuple):
    pair: Pair
    details: dict[str, Any]


def _tested(a: _Named, b: _Named, task: _Task) -> _Test:
    first, second = common(a.pairs, b.pairs)
    lost = _with_gold(a.pairs, b.pairs) - len(first)
    made = (_pooled if task.average is Average.POOLED else _averaged)(first, second, task)
    pair = made.pair._replace(first=a.name, second=b.name, missing=lost)
    signatures = {"first_signature": a.pairs.judge.signature, "second_signature": b.pairs.judge.signature}
    return _Test(pair, {**made.details, **signatures})


def common(a: PairedScores, b: PairedScores) -> tuple[PairedScores, PairedScores]:
    """Two judges' pairs with the same gold, cut to the rows that people and both judges have, in one order.

    Raises UsageError where a row is not one (the same key fact number in two lists of one document).
    """
    one, two = a.take(a.kept), b.take(b.kept)
    here, there = _keys(one), _keys(two)
    place = {key: row for row, key in enumerate(there)}
    if len(place) < len(there) or len(set(here)) < len(here):
        raise UsageError("people judged two lists of key facts of one document; compare judges a summary instead")
    rows = [(row, place[key]) for row, key in enumerate(here) if key in place]
    left, right = (np.array([both[side] for both in rows], np.int64) for side in (0, 1))
    return one.take(left), two.take(right)


def _keys(pairs: PairedScores) -> list[tuple[Any, Any, int]]:
    return list(zip(pairs.document.labels(), pairs.system.labels(), pairs.index.tolist(), strict=True))


def _with_gold(a: PairedScores, b: PairedScores) -> int:
    """How many rows people judged."""
    return len({key for one in (a, b) for key in _keys(one.take(~np.isnan(one.y)))})


def _pooled(first: PairedScores, second: PairedScores, task: _Task) -> _Test:
    kind, testing = task.coefficient, task.testing
    one, two = (pairs.at(task.level) if task.level is not task.level.base else pairs for pairs in (first, second))
    documents = one.document.codes if one.source is None else None
    most = testing.permutations if kind is Coefficient.PEARSON else min(testing.permutations, RANK_EXCHANGES)
    got = permute_correlations(one.y, one.x, two.x, kind, documents, most, testing.seed)
    details: dict[str, Any] = {
        "first_value": got.first, "second_value": got.second, "permutations": most,
        "method": "exchange of scores by " + ("document" if documents is not None else task.level.value),
    }  # fmt: skip
    if kind is Coefficient.PEARSON:
        test = williams(one.y, one.x, two.x)
        details |= {"williams_t": test.t, "p_williams": test.p}
    drawn = _interval(first, second, task) if got.difference is not None else None
    low, high, text = (drawn.low, drawn.high, drawn.text) if drawn else (None, None, None)
    least = 1 / (most + 1), f"{most} permutations"
    pair = Pair("", "", got.difference, low, high, got.p, None, 0, got.n, 0, got.reason, *least, text)
    return _Test(pair, details)


def _interval(first: PairedScores, second: PairedScores, task: _Task) -> Interval:
    """The difference over drawn documents; for means of systems or documents, the means are formed anew."""
    kind, testing = task.coefficient, task.testing
    if task.level is task.level.base:
        group = np.arange(len(first), dtype=np.int64)
    else:
        group = {Level.DOCUMENT: first.document, Level.SYSTEM: first.system}[task.level].codes

    def value(gold: Floats, a: Floats, b: Floats, of: Floats) -> float | None:
        if task.level is not task.level.base:
            gold, a, b = (_means(side, of.astype(np.int64)) for side in (gold, a, b))
        one, two = raw(gold, a, kind), raw(gold, b, kind)
        return None if one is None or two is None else one - two

    drawn = Bootstrap(first.document.codes, min(testing.resamples, RESAMPLES), testing.confidence, testing.seed)
    return drawn.interval(of_rows(value, [first.y, first.x, second.x, group.astype(np.float64)], drawn.codes))


def _means(values: Floats, group: Ints) -> Floats:
    means = group_means(values, group, int(group.max(initial=-1)) + 1)
    return means[~np.isnan(means)]


def _averaged(first: PairedScores, second: PairedScores, task: _Task) -> _Test:
    """Correlations within each document (or system), exchanged as a whole."""
    over = {Average.DOCUMENT: first.document, Average.SYSTEM: first.system}[task.average]
    labels = list(over.labels())
    one, two = (correlation_by_group(side.x, side.y, labels, task.coefficient) for side in (first, second))
    a, b = ([found[key].value for key in one] for found in (one, two))
    testing = task.testing
    got = paired_permutation(a, b, None, testing.permutations, testing.seed)
    bootstrap = Bootstrap(len(a), testing.resamples, testing.confidence, testing.seed, task.average.value)
    drawn = bootstrap.difference(a, b)
    reason = got.reason if got.difference is None else drawn.reason
    details = {
        "groups": got.n, "groups_undefined": got.missing, "p_bootstrap": drawn.p, "permutations": got.resamples,
        "method": f"exchange of the correlations within a {task.average.value}",
    }  # fmt: skip
    least = _least(got, task.average.value)
    pair = Pair(
        "", "", got.difference, drawn.low, drawn.high, got.p, None, 0, len(first), 0, reason, *least, drawn.text
    )
    return _Test(pair, details)


def _judge_rows(group: Group, judges: Sequence[_Named], tests: Sequence[_Test], task: _Task) -> tuple[list[Row], str]:
    fields = group.fields()
    extra = dict(fields.pop("details", {}))
    gold = judges[0].pairs.gold
    same = Counter(one.pairs.judge.aspect for one in judges)
    common_fields: dict[str, Any] = {
        "study": STUDY, "gold_aspect": gold.aspect, "gold_signature": gold.signature, "level": task.level.value,
        "average": task.average.value, **fields,
    }  # fmt: skip
    rows = [_value_row(one, common_fields, extra, task) for one in judges]
    values = [row.value for row in rows]
    aspect = next(iter(same)) if len(same) == 1 else None
    about = {**common_fields, "aspect": aspect}
    for one in tests:
        words = sentence(one.pair, gold.aspect, task.testing, verb=_VERB)
        rows.append(pair_row(
            {**about, "signature": f"{one.details['first_signature']} vs {one.details['second_signature']}"}, one.pair,
            task.testing, statistic=f"{task.coefficient}_difference",
            details={**extra, **one.details, "verdict": words},
        ))  # fmt: skip
    names, pairs = [one.name for one in judges], [one.pair for one in tests]
    for row, of in zip(list(cluster_rows(about, names, values, pairs, task.testing)), rows, strict=False):
        rows.append(row.model_copy(
            update={"judge": of.judge, "signature": of.signature, "model": of.model, "aspect": of.aspect, "n": of.n,
                    "missing": of.missing, "details": {**extra, **row.details}}
        ))  # fmt: skip
    where = f" in {group.value}" if group.column else ""
    how = f"{task.coefficient}, {task.level.value} level, {task.average.value}"
    return rows, f"Judges{where} ({how}): {verdict(names, values, pairs, gold.aspect, task.testing, _VERB)}"


def _value_row(one: _Named, common_fields: dict[str, Any], extra: dict[str, Any], task: _Task) -> Row:
    pairs = one.pairs.at(task.level) if task.level is not task.level.base else one.pairs
    most = min(task.testing.resamples, RESAMPLES)
    options = Options(resampling(most, task.testing.confidence, task.testing.seed))
    got = measure(pairs, task.coefficient, task.average, options)
    drawn = got.interval
    judge = pairs.judge
    return Row(
        **common_fields, judge=judge.judge, signature=judge.signature, model=judge.model, aspect=judge.aspect,
        statistic=task.coefficient, value=got.value, n=got.n, missing=got.missing, p=got.p, reason=got.reason,
        low=drawn.low if drawn else None, high=drawn.high if drawn else None,
        status=status_of(got.value, drawn.status if drawn else None),
        interval=drawn.text if drawn else None,
        details={**extra, **got.details, "name": one.name},
    )  # fmt: skip
