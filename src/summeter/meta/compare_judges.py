"""Does one judge agree better with people than another? Judges compared pair by pair on one and the same gold.

Both correlations rest on the same items, so they are correlated themselves and an ordinary test of two r's is wrong
(Graham & Baldwin, 2014; Deutsch et al., 2021). Each pair of judges is tested on the rows that people and both judges
have: by the permutation test that exchanges the judges' scores document by document, and, for Pearson, by Williams'
test beside it. Holm's correction is over all pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple, cast

import numpy as np

from summeter.choices import Average, Coefficient, Level
from summeter.meta._correlate import Options, measure
from summeter.meta.compare import STUDY, Pair, Settings, cluster_rows, corrected, pair_row, sentence, verdict
from summeter.meta.inputs import Gold, JudgeInput, RunLike
from summeter.meta.matrix import PairedScores, group_means
from summeter.meta.results import Row, Study, resampling, status_of
from summeter.meta.selection import Group, Selection, all_pairs, check, groups, meta_input, notes, selected
from summeter.records import Judgment, UsageError
from summeter.runs.run import RunFolder
from summeter.scoring.table import JudgmentTable
from summeter.stats import (
    bootstrap,
    correlation_by_group,
    paired_bootstrap,
    paired_permutation,
    permute_correlations,
    williams,
)
from summeter.stats.base import Floats, Ints
from summeter.stats.correlation import raw

RANK_EXCHANGES = 1000
"""Most exchanges of a test of rank correlations, which are computed one by one."""
RESAMPLES = 1000
"""Most draws of an interval of a difference of correlations, for the same reason."""

_VERB = "agrees better with people than"


class _Task(NamedTuple):
    coefficient: str
    level: Level
    average: Average
    plan: Settings


class _Named(NamedTuple):
    name: str
    pairs: PairedScores


def compare_evaluators(
    runs: RunLike | Sequence[RunLike], gold: Gold, *, level: str = Level.SUMMARY, average: str = Average.POOLED,
    aspect: str | Sequence[str] | None = None, select: Selection | None = None, settings: Settings | None = None,
) -> Study:  # fmt: skip
    """Which judges of one or several runs correlate better with people than which?

    Rows of the study "compare": one a judge with its correlation on all rows it shares with people (`statistic` is
    the coefficient), one a pair (`<coefficient>_difference`; `pair` is "a-b", the value is a's correlation minus
    b's on the rows both have, `p` that of the permutation test, `details.p_holm` the corrected one,
    `details.p_williams` Williams' where it applies), and `cluster` rows. With an average by document or system the
    correlations within each are exchanged. `settings.permutations` and `.resamples` are cut to 1,000 for rank
    coefficients and for the intervals of differences; `settings.coefficient` names the coefficient.

    Raises UsageError with fewer than two judges of one aspect of the gold.
    """
    chosen, plan = selected(select, aspect), settings or Settings()
    task = _Task(plan.coefficient, Level(level), Average(average), plan)
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
            yield _rows(group, found, done, task)


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
    kind, plan = Coefficient(task.coefficient), task.plan
    one, two = (pairs.at(task.level) if task.level is not task.level.base else pairs for pairs in (first, second))
    documents = one.document.codes if one.source is None else None
    most = plan.permutations if kind is Coefficient.PEARSON else min(plan.permutations, RANK_EXCHANGES)
    got = permute_correlations(one.y, one.x, two.x, kind, documents, most, plan.seed)
    details: dict[str, Any] = {
        "first_value": got.first, "second_value": got.second, "permutations": most,
        "method": "exchange of scores by " + ("document" if documents is not None else task.level.value),
    }  # fmt: skip
    if kind is Coefficient.PEARSON:
        test = williams(one.y, one.x, two.x)
        details |= {"williams_t": test.t, "p_williams": test.p}
    low, high = _interval(first, second, task) if got.difference is not None else (None, None)
    pair = Pair("", "", got.difference, low, high, got.p, None, 0, got.n, 0, got.reason)
    return _Test(pair, details)


def _interval(first: PairedScores, second: PairedScores, task: _Task) -> tuple[float | None, float | None]:
    """The difference over drawn documents; for means of systems or documents, the means are formed anew."""
    kind, plan = Coefficient(task.coefficient), task.plan
    if task.level is task.level.base:
        group = np.arange(len(first), dtype=np.int64)
    else:
        group = (first.document if task.level is Level.DOCUMENT else first.system).codes

    def value(gold: Floats, a: Floats, b: Floats, of: Floats) -> float | None:
        if task.level is not task.level.base:
            gold, a, b = (_means(side, of.astype(np.int64)) for side in (gold, a, b))
        one, two = raw(gold, a, kind), raw(gold, b, kind)
        return None if one is None or two is None else one - two

    got = bootstrap(
        value, [first.y, first.x, second.x, group.astype(np.float64)], first.document.codes,
        min(plan.resamples, RESAMPLES), plan.level, plan.seed,
    )  # fmt: skip
    return got.low, got.high


def _means(values: Floats, group: Ints) -> Floats:
    means = group_means(values, group, int(group.max(initial=-1)) + 1)
    return means[~np.isnan(means)]


def _averaged(first: PairedScores, second: PairedScores, task: _Task) -> _Test:
    """Correlations within each document (or system), exchanged as a whole."""
    over = first.document if task.average is Average.DOCUMENT else first.system
    labels = list(over.labels())
    one, two = (correlation_by_group(side.x, side.y, labels, task.coefficient) for side in (first, second))
    a, b = ([found[key].value for key in one] for found in (one, two))
    plan = task.plan
    got = paired_permutation(a, b, None, plan.permutations, plan.seed)
    drawn = paired_bootstrap(a, b, None, plan.resamples, plan.level, plan.seed)
    reason = got.reason if got.difference is None else drawn.reason
    details = {
        "groups": got.n, "groups_undefined": got.missing, "p_bootstrap": drawn.p, "permutations": got.resamples,
        "method": f"exchange of the correlations within a {task.average.value}",
    }  # fmt: skip
    return _Test(Pair("", "", got.difference, drawn.low, drawn.high, got.p, None, 0, len(first), 0, reason), details)


def _rows(group: Group, judges: Sequence[_Named], tests: Sequence[_Test], task: _Task) -> tuple[list[Row], str]:
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
    over = "document" if task.average is not Average.SYSTEM else "system"
    cut = replace(task.plan, resamples=min(task.plan.resamples, RESAMPLES))
    interval = (cut if task.average is Average.POOLED else task.plan).interval(over)
    for one in tests:
        words = sentence(one.pair, gold.aspect, task.plan, verb=_VERB)
        rows.append(pair_row(
            {**about, "signature": f"{one.details['first_signature']} vs {one.details['second_signature']}"}, one.pair,
            task.plan, statistic=f"{task.coefficient}_difference", interval=interval,
            details={**extra, **one.details, "verdict": words},
        ))  # fmt: skip
    names, pairs = [one.name for one in judges], [one.pair for one in tests]
    for row, of in zip(list(cluster_rows(about, names, values, pairs, task.plan)), rows, strict=False):
        rows.append(row.model_copy(
            update={"judge": of.judge, "signature": of.signature, "model": of.model, "aspect": of.aspect, "n": of.n,
                    "missing": of.missing, "details": {**extra, **row.details}}
        ))  # fmt: skip
    where = f" in {group.value}" if group.column else ""
    how = f"{task.coefficient}, {task.level.value} level, {task.average.value}"
    return rows, f"Judges{where} ({how}): {verdict(names, values, pairs, gold.aspect, task.plan, _VERB)}"


def _value_row(one: _Named, common_fields: dict[str, Any], extra: dict[str, Any], task: _Task) -> Row:
    pairs = one.pairs.at(task.level) if task.level is not task.level.base else one.pairs
    most = min(task.plan.resamples, RESAMPLES)
    options = Options(resampling(most, task.plan.level, task.plan.seed))
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
