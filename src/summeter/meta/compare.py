"""Is A really better than B? Systems compared pair by pair, corrected for the number of pairs, and told in words.

Two systems are compared on the documents that both summarized: a paired permutation test exchanges their scores
document by document, a paired bootstrap draws documents; Holm's (1979) correction is over all pairs of one judge
and aspect, and systems between which nothing is significant share a cluster. The interval of a difference stands
for its own pair and is not widened for the number of pairs; the corrected p-value decides.

Judges are compared in `compare_judges`, which shares the settings and the sentences of this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from summeter.choices import ClusterRule, Coefficient, Level
from summeter.meta.context import Context
from summeter.meta.gold import aspects as judged_aspects
from summeter.meta.gold import gold_scores
from summeter.meta.inputs import Gold, RunLike, gold_input, judge_input
from summeter.meta.matrix import ScoreMatrix, Scores
from summeter.meta.results import Row, Study, pair_name, status_of
from summeter.meta.selection import Selection, selected
from summeter.records import UsageError
from summeter.stats import (
    Comparison,
    Interval,
    bootstrap_mean,
    clusters_of_equals,
    holm,
    paired_bootstrap,
    paired_permutations,
)
from summeter.stats.base import Bools

STUDY = "compare"
ALL_TOLD = 6
"""Up to so many pairs the sentence tells all of them; beyond, the neighbours in the ranking and the clusters."""
DESCRIPTIVE = frozenset({"abstractiveness"})
"""Aspects of which more is not better."""


@dataclass(frozen=True)
class Settings:
    """How differences are tested.

    `permutations` of the test (all of them where there are no more), `resamples` of the bootstrap, `level` of its
    interval, `alpha` the corrected p-value from which a difference counts, `rule` how clusters are cut ("greedy" or
    "separated"; see `stats.Rule`), `coefficient` the correlation by which judges are compared.
    """

    permutations: int = 10_000
    resamples: int = 2000
    level: float = 0.95
    alpha: float = 0.05
    seed: int = 0
    rule: str = ClusterRule.GREEDY
    coefficient: str = Coefficient.PEARSON

    def __post_init__(self) -> None:
        if self.permutations < 1 or self.resamples < 1:
            raise UsageError("a test needs at least 1 permutation and 1 resample")
        if not 0 < self.level < 1 or not 0 < self.alpha < 1:
            raise UsageError(f"level and alpha must lie between 0 and 1, got {self.level} and {self.alpha}")
        if self.rule not in set(ClusterRule):
            raise UsageError(f"clusters are cut by one of {', '.join(ClusterRule)}, not {self.rule!r}")
        if self.coefficient not in set(Coefficient):
            raise UsageError(f"a coefficient is one of {', '.join(Coefficient)}, not {self.coefficient!r}")

    def interval(self, over: str = "document") -> str:
        """What stands beside an interval."""
        return f"{self.level:.0%} percentile bootstrap by {over}, {self.resamples} resamples, seed {self.seed}"


class Pair(NamedTuple):
    """One comparison: the first minus the second, before and after correction over `family` pairs."""

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

    @property
    def name(self) -> str:
        """`first-second`."""
        return pair_name(self.first, self.second)

    def better(self, alpha: float) -> str | None:
        """The one that is significantly higher, or None."""
        if self.difference is None or self.p_holm is None or self.p_holm > alpha or not self.difference:
            return None
        return self.first if self.difference > 0 else self.second


def compare_systems(
    run: RunLike, *, aspect: str | Sequence[str] | None = None, judge: str | None = None, by: str | None = None,
    settings: Settings | None = None,
) -> Study:  # fmt: skip
    """Which systems of a run are better than which, by every judge and aspect in it?

    Rows of the study "compare": `mean` (one a system, with its interval), `mean_difference` (one a pair; `pair` is
    "a-b", the value is a's mean minus b's over the documents both have, `p` that of the permutation test,
    `details.p_holm` the corrected one) and `cluster` (one a system; 1 is the best). `by` repeats it within each
    value of a column, one correction over all its groups. Raises UsageError where no judge has the aspect, or the
    summaries are of one system only.

        print(sm.meta.compare_systems(run, aspect="faithfulness").notes[0])
    """
    read = judge_input(run)
    asked = [one.partition(":")[0] for one in selected(None, aspect).aspects]
    fit = read.questions(judge=judge)
    found = [one for one in fit if not asked or one[2] in asked]
    lost = [name for name in asked if name not in {one[2] for one in fit}]
    if lost or not found:
        there = ", ".join(sorted({f"{one[0]} ({one[2]})" for one in read.questions()})) or "none"
        what = f"with the aspect {lost[0]}" if lost else "in the run"
        raise UsageError(f"no judge {f'{judge} ' if judge else ''}{what}; there are: {there}")
    made = [read.scores(question, Level.SUMMARY) for question in found]
    return _compare([one for one in made if len(one)], read.context, by, settings or Settings())


def compare_by_people(
    gold: Gold, *, aspect: str | Sequence[str] | None = None, select: Selection | None = None,
    settings: Settings | None = None,
) -> Study:  # fmt: skip
    """Which systems are better than which by people's own judgments, merged as `select.rule` says."""
    chosen = selected(select, aspect)
    columns, context = gold_input(gold, chosen.set_name)
    known = judged_aspects(columns)
    wanted = [one.partition(":")[2] or one for one in chosen.aspects] or known
    for name in wanted:
        if name not in known:
            raise UsageError(f"people have not judged {name!r}; they have: {', '.join(known) or 'nothing'}")
    made = [
        one for name in wanted for one in gold_scores(columns, name, Level.SUMMARY, chosen.rule, chosen.source)
    ]  # fmt: skip
    return _compare(made, context, chosen.by, settings or Settings())


def _compare(found: Sequence[Scores], context: Context, by: str | None, plan: Settings) -> Study:
    usable = [one for one in found if len(one.system.used()) > 1]
    if not usable:
        raise UsageError("to compare systems, a judge must have scored the summaries of at least 2 of them")
    rows: list[Row] = []
    notes: list[str] = []
    for series in usable:
        for family in _families(series, context, by):
            tested = [_Part.of(fields, part, plan) for fields, part in family]
            for part, pairs in zip(tested, _corrected([part.pairs for part in tested]), strict=True):
                done = part._replace(pairs=pairs)
                rows.extend(_rows(series, done, plan))
                notes.append(_told(series, done, plan))
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
    bootstraps: list[Comparison]
    method: str

    @classmethod
    def of(cls, fields: _Fields, series: Scores, plan: Settings) -> _Part:
        grid = series.grid()
        means = [bootstrap_mean(row, None, plan.resamples, plan.level, plan.seed) for row in grid.values]
        tests = paired_permutations(grid.values, None, plan.permutations, plan.seed)
        drawn = [
            paired_bootstrap(grid.values[one.first], grid.values[one.second], None, plan.resamples, plan.level,
                             plan.seed)
            for one in tests
        ]  # fmt: skip
        pairs = [
            Pair(grid.systems[one.first], grid.systems[one.second], one.result.difference, boot.low, boot.high,
                 one.result.p, None, 0, one.result.n, one.result.missing, one.result.reason or boot.reason)
            for one, boot in zip(tests, drawn, strict=True)
        ]  # fmt: skip
        method = f"{tests[0].result.method}, {tests[0].result.resamples} flips"
        return cls(fields, grid, means, pairs, drawn, method)


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
    names: Sequence[str], values: Sequence[float | None], pairs: Iterable[Pair], plan: Settings
) -> list[int | None]:
    """The cluster of each name, 1 for the highest values, from corrected pairs."""
    place = {name: number for number, name in enumerate(names)}
    matrix: list[list[float | None]] = [[None] * len(names) for _ in names]
    for pair in pairs:
        first, second = place[pair.first], place[pair.second]
        matrix[first][second] = matrix[second][first] = pair.p_holm
    return clusters_of_equals(values, matrix, plan.alpha, plan.rule)


def _rows(series: Scores, part: _Part, plan: Settings) -> Iterator[Row]:
    fields = {key: value for key, value in part.fields.items() if key != "details"}
    extra = dict(part.fields.get("details", {}))
    common: dict[str, Any] = {
        "study": STUDY, "judge": series.judge, "signature": series.signature, "model": series.model,
        "aspect": series.aspect, "level": Level.SUMMARY.value, **fields,
    }  # fmt: skip
    for system, mean in zip(part.grid.systems, part.means, strict=True):
        yield Row(
            **{**common, "system": system}, statistic="mean", value=mean.value, low=mean.low, high=mean.high, n=mean.n,
            missing=mean.missing, status=status_of(mean.value, mean.status), reason=mean.reason, details=extra,
            interval=plan.interval() if mean.low is not None else None,
        )  # fmt: skip
    for pair, boot in zip(part.pairs, part.bootstraps, strict=True):
        yield pair_row(
            common, pair, plan, statistic="mean_difference", interval=plan.interval(),
            details={**extra, "p_bootstrap": boot.p, "method": part.method,
                     "verdict": sentence(pair, series.aspect, plan)},
        )  # fmt: skip
    values = [mean.value for mean in part.means]
    for row in cluster_rows(common, part.grid.systems, values, part.pairs, plan):
        at = part.grid.systems.index(str(row.details["member"]))
        yield row.model_copy(
            update={"system": row.details["member"], "n": part.means[at].n, "missing": part.means[at].missing,
                    "details": {**extra, **row.details}}
        )  # fmt: skip


def pair_row(common: Mapping[str, Any], pair: Pair, plan: Settings, **more: Any) -> Row:
    """The row of a pair; `details` gains what the correction was."""
    details = {
        "first": pair.first, "second": pair.second, "p_holm": pair.p_holm, "comparisons": pair.family,
        "alpha": plan.alpha, "better": pair.better(plan.alpha), **more.pop("details", {}),
    }  # fmt: skip
    interval = more.pop("interval", None)
    status = status_of(pair.difference, "no_interval" if pair.low is None else None)
    return Row(
        **common, value=pair.difference, p=pair.p, low=pair.low, high=pair.high, n=pair.n, missing=pair.missing,
        pair=pair.name, status=status, reason=pair.reason or (None if pair.difference is not None else "not tested"),
        interval=interval if pair.low is not None else None, details=details, **more,
    )  # fmt: skip


def cluster_rows(
    common: Mapping[str, Any], names: Sequence[str], values: Sequence[float | None], pairs: Sequence[Pair],
    plan: Settings,
) -> Iterator[Row]:  # fmt: skip
    """A row a member, `value` its cluster; the caller adds what n and missing are."""
    found = cluster(names, values, pairs, plan)
    for name, value, number in zip(names, values, found, strict=True):
        equals = [other for other, its in zip(names, found, strict=True) if its == number and number is not None]
        yield Row(
            **common, statistic="cluster", value=None if number is None else float(number), n=0,
            status=status_of(number), reason=None if number is not None else "no value to rank by",
            details={"member": name, "of": value, "equals": equals, "rule": str(plan.rule), "alpha": plan.alpha},
        )  # fmt: skip


def show_p(p: float) -> str:
    """A p-value as a sentence has it.

    >>> show_p(0.0042), show_p(0.00004), show_p(0.3123), show_p(1.0)
    ('p = .004', 'p < .001', 'p = .31', 'p = 1')
    """
    if p < 0.001:
        return "p < .001"
    digits = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "p = 1" if float(digits) == 1 else f"p = {digits.lstrip('0')}"


def sentence(pair: Pair, aspect: str, plan: Settings, *, verb: str | None = None) -> str:
    """The verdict on a pair in words.

    >>> pair = Pair("aster", "birch", 0.1, 0.02, 0.18, 0.0007, 0.0042, 6, 18, 0)
    >>> sentence(pair, "composite", Settings())
    'aster is better than birch on composite: +0.10 [0.02, 0.18], p = .004 after Holm over 6 pairs'
    """
    if pair.difference is None or pair.p_holm is None:
        return f"{pair.first} and {pair.second} were not compared on {aspect}: {pair.reason or 'nothing in common'}"
    better = pair.better(plan.alpha)
    turned = better == pair.second
    size = _size(pair, turned=turned)
    after = f"{show_p(pair.p_holm)} after Holm over {pair.family} pair{'' if pair.family == 1 else 's'}"
    lost = f" ({pair.missing} without both scores)" if pair.missing else ""
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
    names: Sequence[str], values: Sequence[float | None], pairs: Sequence[Pair], aspect: str, plan: Settings,
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
    better = [sentence(pair, aspect, plan, verb=verb) for pair in told if pair.better(plan.alpha)]
    if not any(pair.better(plan.alpha) for pair in pairs):
        return "; ".join([_none_better(ranked, pairs, aspect), *_unranked(names, ranked, aspect)])
    alike = [_alike(pair) for pair in told if pair.p_holm is not None and not pair.better(plan.alpha)]
    parts = [*better, *alike, *_unranked(names, ranked, aspect)]
    if len(pairs) > ALL_TOLD:
        parts.append(f"clusters of equals, best first: {_clusters(names, values, pairs, plan)}")
    return "; ".join(parts)


def _none_better(ranked: Sequence[str], pairs: Sequence[Pair], aspect: str) -> str:
    tested = [pair.p_holm for pair in pairs if pair.p_holm is not None]
    if len(ranked) < 2 or not tested:
        return f"nothing can be compared on {aspect}"
    who = f"{', '.join(ranked[:-1])} and {ranked[-1]}"
    least = "" if len(tested) == 1 else "smallest "
    after = f"{least}{show_p(min(tested))} after Holm over {len(tested)} pair{'' if len(tested) == 1 else 's'}"
    lost = sum(pair.missing for pair in pairs)
    unseen = "" if not lost else "; some documents lack a score" if len(pairs) > 1 else f"; {lost} without both scores"
    return f"{who} cannot be told apart on {aspect} ({after}{unseen})"


def _alike(pair: Pair) -> str:
    assert pair.p_holm is not None  # noqa: S101 - the caller has looked
    lost = f", {pair.missing} without both scores" if pair.missing else ""
    return f"{pair.first} and {pair.second} cannot be told apart ({show_p(pair.p_holm)}{lost})"


def _unranked(names: Sequence[str], ranked: Sequence[str], aspect: str) -> list[str]:
    lost = [name for name in names if name not in ranked]
    return [f"{', '.join(lost)} ha{'s' if len(lost) == 1 else 've'} no score on {aspect}"] if lost else []


def _clusters(names: Sequence[str], values: Sequence[float | None], pairs: Sequence[Pair], plan: Settings) -> str:
    found = cluster(names, values, pairs, plan)
    order = sorted({number for number in found if number is not None})
    return " > ".join(
        "{" + ", ".join(name for name, number in zip(names, found, strict=True) if number == one) + "}" for one in order
    )


def _told(series: Scores, part: _Part, plan: Settings) -> str:
    group = next((str(value) for key, value in part.fields.items() if key != "details"), None)
    group = group or part.fields.get("details", {}).get("group")
    where = f" in {group}" if group else ""
    values = [mean.value for mean in part.means]
    return f"By {series.judge}{where}: {verdict(part.grid.systems, values, part.pairs, series.aspect, plan)}"
