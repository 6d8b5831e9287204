"""The tables of factuality benchmarks: thresholds tuned on validation rows, balanced accuracy and AUROC on test rows.

Every judge gets thresholds of its own on the rows it scored; a row without a score is counted and is neither right nor
wrong. Intervals draw test documents whole, once for all cells and judges, with the thresholds held; two judges are
compared on the rows both scored, in the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level
from summeter.meta._compare import Pair, Significance, corrected, pair_row
from summeter.meta.inputs import Gold, RunLike, judge_input
from summeter.meta.matrix import PairedScores
from summeter.meta.protocol_cells import (
    Cell,
    Data,
    Found,
    Judge,
    Settings,
    cells_of,
    data_of,
    judges_of,
    measured,
    worth,
)
from summeter.meta.protocols import OneClass, Protocol, Table, Weight
from summeter.meta.results import Row, Study, status_of
from summeter.meta.selection import Selection, all_pairs, checks_keywords, meta_input
from summeter.records import UsageError
from summeter.scoring.scores import COMPOSITE
from summeter.stats import auroc
from summeter.stats.base import Floats
from summeter.stats.classify import NO_NEGATIVES, NO_POSITIVES
from summeter.stats.permute import permutation_p, sign_flips

STUDY = "protocol"
FAITHFULNESS = "faithfulness"
ACCURACY, AREA = "balanced_accuracy", "auroc"
MEAN, DIFFERENCE = "balanced_accuracy_mean", "balanced_accuracy_difference"


@checks_keywords
def protocol(
    runs: Sequence[RunLike], gold: Gold, how: Protocol, *, aspects: Sequence[str] = (), settings: Settings | None = None
) -> Study:  # fmt: skip
    """Measure the judges of the runs as the protocol says; `gold` is the benchmark (`data.factuality`).

    A judge of faithfulness is measured by that aspect, any other by each of its aspects, or by `aspects`. Rows of the
    study "protocol", `details.table` naming the table: `balanced_accuracy` and `auroc` a cell (`domain` is the origin,
    `category` the group, `details.group` the data set; `details.threshold` with `dev_n`, `dev_missing` and the
    accuracy it reached there), `balanced_accuracy_mean` over cells, `balanced_accuracy_difference` a pair of judges
    (`p` by permutation, `details.p_holm` over the pairs of the table).

    Raises UsageError where the data lack a column of the protocol, or no run has a judge with scores of summaries.
    """
    plan = settings or Settings()
    found = [pairs for run in runs for pairs in _pairs(run, gold, aspects)]
    if not found:
        raise UsageError("no judge has scores of summaries; give a run over these data")
    data = data_of(found[0], how, plan)
    judges = judges_of(found, data)
    rows: list[Row] = []
    notes: list[str] = []
    for table in how.tables:
        cells = list(cells_of(data, table))
        if not cells:
            notes.append(f"{table.title}: no test row belongs to it")
            continue
        worths = [measured(judge, data, cells, table, how) for judge in judges]
        made: list[Row] = []
        for judge, one in zip(judges, worths, strict=True):
            made.extend(_cell_rows(judge, one, data, cells, table, plan))
            made.extend(_mean_rows(judge, one, cells, table, plan))
        made.extend(_differences(judges, worths, data, cells, table, how, plan))
        rows.extend(made)
        notes.extend([*_notes(cells, data, table, how), *_lost(made, table, plan)])
    return Study(STUDY, rows, notes)


def _pairs(run: RunLike, gold: Gold, aspects: Sequence[str]) -> Iterator[PairedScores]:
    """Every judge of the run beside people: by faithfulness where it judges that, else by whatever it judges."""
    read = judge_input(run)
    there: dict[tuple[str, str], list[str]] = {}
    for judge, signature, aspect in read.questions():
        if aspect != COMPOSITE or COMPOSITE in aspects:  # made of several aspects: measured only where asked for
            there.setdefault((judge, signature), []).append(aspect)
    wanted = {
        (judge, signature, aspect)
        for (judge, signature), its in there.items()
        for aspect in (aspects or ([FAITHFULNESS] if FAITHFULNESS in its else its)) if aspect in its
    }  # fmt: skip
    lost = [name for name in aspects if all(name != one[2] for one in wanted)]
    if lost or not wanted:
        known = sorted({aspect for its in there.values() for aspect in its})
        raise UsageError(f"no judge of the run has the aspect {lost[0] if lost else FAITHFULNESS!r}; it has: "
                         f"{', '.join(known) or 'no judgments'}")  # fmt: skip
    chosen = Selection(aspects=sorted({f"{one[2]}:{FAITHFULNESS}" for one in wanted}), source="overall")
    for pairs in all_pairs(meta_input(read, gold, chosen), Level.SUMMARY, chosen):
        if (pairs.judge.judge, pairs.judge.signature, pairs.judge.aspect) in wanted:
            yield pairs


class _Target(NamedTuple):
    """What a mean (or a cell, where there are no means) is over: the numbers of its cells, what names it."""

    members: list[int]
    at: dict[str, str]
    weight: Weight


def _targets(cells: Sequence[Cell], table: Table) -> list[_Target]:
    found: list[_Target] = []
    for mean in table.means:
        places: dict[tuple[str, ...], list[int]] = {}
        for number, cell in enumerate(cells):
            places.setdefault(tuple(cell.at[name] for name in mean.over), []).append(number)
        found += [
            _Target(members, dict(zip(mean.over, key, strict=True)), mean.weight) for key, members in places.items()
        ]
    return found


def _fields(judge: Judge, at: dict[str, str], table: Table, **details: Any) -> dict[str, Any]:
    pairs = judge.pairs
    return {
        "study": STUDY, "judge": pairs.judge.judge, "signature": pairs.judge.signature, "model": pairs.judge.model,
        "aspect": pairs.judge.aspect, **_place(pairs, at, table, name=judge.name, **details),
    }  # fmt: skip


def _place(pairs: PairedScores, at: dict[str, str], table: Table, **details: Any) -> dict[str, Any]:
    group = {"by": "dataset", "group": at["dataset"]} if "dataset" in at else {}
    return {
        "gold_aspect": pairs.gold.aspect, "gold_signature": pairs.gold.signature, "level": Level.SUMMARY.value,
        "domain": at.get("origin"), "category": at.get("category"),
        "details": {"table": table.name, "title": table.title, "cell": at, **group, **details},
    }  # fmt: skip


class _Ends(NamedTuple):
    """An interval; none where more than half of the draws have no value. `lost` counts those that have none, `partial`
    those in which a mean lacks some of its cells."""

    low: float | None = None
    high: float | None = None
    lost: int = 0
    partial: int = 0
    reason: str | None = None

    @classmethod
    def of(cls, draws: Floats, value: float | None, plan: Settings, partial: int = 0) -> _Ends:
        """The interval of a value; nothing is said of a value that is not there."""
        if value is None or not len(draws):
            return cls()
        kept = draws[~np.isnan(draws)]
        lost = len(draws) - len(kept)
        if lost * 2 > len(draws):
            reason = f"the statistic is undefined in {lost} of {len(draws)} resamples"
            return cls(lost=lost, partial=partial, reason=reason)
        low, high = np.quantile(kept, [(1 - plan.level) / 2, (1 + plan.level) / 2])
        notes = [
            *([f"{lost} of {len(draws)} resamples undefined, left out"] if lost else []),
            *([f"in {partial} of {len(draws)} resamples some cell has no value"] if partial else []),
        ]
        return cls(float(low), float(high), lost, partial, "; ".join(notes) or None)

    @classmethod
    def of_mean(cls, draws: Floats, weights: Floats, value: float | None, plan: Settings) -> _Ends:
        """The interval of a mean, from draws x cells; cells that have no value in any case are not missed in a draw."""
        missed = np.isnan(draws[:, weights > 0])
        return cls.of(averaged(draws, weights), value, plan, int((missed.any(axis=1) & ~missed.all(axis=1)).sum()))

    @property
    def counts(self) -> dict[str, int]:
        """What stands among the details."""
        return {"draws_undefined": self.lost, "draws_partial": self.partial}

    def row(self, value: float | None, why: str | None, plan: Settings, **fields: Any) -> Row:
        """The row of a value, or of `why` there is none."""
        details = fields.pop("details") | self.counts
        status = status_of(value, "no_interval" if self.lost and self.low is None else None)
        return Row(
            **fields, value=value, low=self.low, high=self.high, status=status, details=details,
            reason=why or self.reason, interval=None if self.low is None else plan.says(),
        )  # fmt: skip


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _cell_rows(
    judge: Judge, found: Found, data: Data, cells: Sequence[Cell], table: Table, plan: Settings
) -> Iterator[Row]:  # fmt: skip
    for place, cell in enumerate(cells):
        tuned, scores, gold = found.thresholds[place], judge.scores[cell.test], data.gold[cell.test]
        kept = ~np.isnan(scores)
        n = int(kept.sum())
        positives = int(gold[kept].sum())
        details = {
            "threshold": tuned.threshold, "dev_n": tuned.n, "dev_missing": tuned.missing,
            "dev_balanced_accuracy": tuned.balanced_accuracy, "dev_reason": tuned.reason, "positives": positives,
            "negatives": n - positives, "one_class": found.lone[place],
        }  # fmt: skip
        fields = _fields(judge, cell.at, table, **details) | {"n": n, "missing": len(scores) - n}
        value = _number(found.values[place])
        reason = None
        if value is None:
            lacking = NO_POSITIVES if not positives else NO_NEGATIVES
            reason = "no test row has a score" if not n else (
                f"no threshold: {tuned.reason} among {tuned.n} validation rows" if tuned.threshold is None else lacking
            )  # fmt: skip
        yield _Ends.of(found.draws[:, place], value, plan).row(value, reason, plan, **fields, statistic=ACCURACY)
        area = auroc(gold, scores)
        ends = _Ends.of(found.areas[place], area.value, plan)
        yield ends.row(area.value, area.reason, plan, **fields, statistic=AREA)


def averaged(values: Floats, weights: Floats) -> Floats:
    """The weighted mean over the last axis, cells without a value left out; NaN where none has one.

    >>> averaged(np.array([0.5, 0.8, np.nan]), np.array([1.0, 2.0, 9.0])).round(9).item()
    0.7
    """
    present = np.where(np.isnan(values), 0.0, weights)
    total = present.sum(axis=-1)
    return np.asarray(
        np.divide(
            (np.nan_to_num(values) * present).sum(axis=-1), total, out=np.full_like(total, np.nan), where=total > 0
        )
    )


def _mean_rows(judge: Judge, found: Found, cells: Sequence[Cell], table: Table, plan: Settings) -> Iterator[Row]:
    sizes = np.array([int((~np.isnan(one)).sum()) for one in found.said], dtype=np.float64)
    for target in _targets(cells, table):
        members = target.members
        weights = sizes[members] if target.weight is Weight.ROWS else np.ones(len(members))
        weights = np.where(np.isnan(found.values[members]), 0.0, weights)
        value = _number(averaged(found.values[members], weights).item())
        lost = ["/".join(cells[one].at.values()) for one in members if np.isnan(found.values[one])]
        whole = sum(int(cells[one].test.sum()) for one in members)
        n = int(sizes[members].sum())
        yield _Ends.of_mean(found.draws[:, members], weights, value, plan).row(
            value, "no cell has a value" if value is None else None, plan,
            **_fields(judge, target.at, table, weight=str(target.weight), cells=len(members), cells_undefined=lost),
            statistic=MEAN, n=n, missing=whole - n,
        )  # fmt: skip


class _Test(NamedTuple):
    target: _Target
    pair: Pair
    parts: Floats
    ends: _Ends = _Ends()


def _differences(
    judges: Sequence[Judge], found: Sequence[Found], data: Data, cells: Sequence[Cell], table: Table, how: Protocol,
    plan: Settings,
) -> Iterator[Row]:  # fmt: skip
    """Every two judges on every mean of the table (or cell, where it has none), corrected over all of them."""
    targets = _targets(cells, table) or [_Target([place], cell.at, Weight.CELLS) for place, cell in enumerate(cells)]
    tests: list[_Test] = []
    for (a, first), (b, second) in combinations(zip(judges, found, strict=True), 2):
        one, two = _shared(first, second, data, how)
        tests += [_tested((a.name, b.name), (one, two), cells, target, plan) for target in targets]
    if not tests:
        return
    flips = sign_flips(data.draws.units, plan.permutations, plan.seed)
    p = permutation_p(np.stack([test.parts for test in tests], axis=1), flips)
    pairs = [
        test.pair if test.pair.difference is None else test.pair._replace(p=float(one))
        for test, one in zip(tests, p, strict=True)
    ]
    by = Significance(plan.permutations, max(1, plan.resamples), plan.level, plan.alpha, plan.seed)
    method = f"exchange of decisions by document, {flips.total} {'exact' if flips.exact else 'permutations'}"
    rows = list(zip(tests, corrected(pairs), strict=True))
    for target in targets:
        for test, pair in ((test, pair) for test, pair in rows if test.target is target):
            common = _place(judges[0].pairs, target.at, table, weight=str(target.weight), method=method)
            details = common.pop("details") | test.ends.counts
            yield pair_row({"study": STUDY, **common}, pair, by, statistic=DIFFERENCE, details=details)


def _shared(first: Found, second: Found, data: Data, how: Protocol) -> tuple[Found, Found]:
    """Both on the rows that both decided; as they are where these are all they have."""
    both = [np.isnan(a) | np.isnan(b) for a, b in zip(first.said, second.said, strict=True)]
    cut = []
    for found in (first, second):
        said = [np.where(lost, np.nan, one) for lost, one in zip(both, found.said, strict=True)]
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(said, found.said, strict=True))
        cut.append(found if same else worth(found.thresholds, said, data, how))
    return cut[0], cut[1]


def _tested(
    names: tuple[str, str], found: tuple[Found, Found], cells: Sequence[Cell], target: _Target, plan: Settings
) -> _Test:  # fmt: skip
    """The difference with its interval, and what each document contributes to it: their sum is the difference.

    Exchanging two judges' decisions on a document turns the sign of its contribution, whatever the cells it is in, so
    the permutation test is that of paired means.
    """
    members, (first, second) = target.members, found
    sizes = np.array([float((~np.isnan(first.said[one])).sum()) for one in members])
    weights = sizes if target.weight is Weight.ROWS else np.ones(len(members))
    gaps = first.values[members] - second.values[members]
    weights = np.where(np.isnan(gaps), 0.0, weights)
    value = _number(averaged(gaps, weights).item())
    n, whole = int(sizes.sum()), sum(int(cells[one].test.sum()) for one in members)
    why = None if value is not None else "no cell in which both have a value"
    shell = Pair(*names, value, None, None, None, None, 0, n, whole - n, why)
    parts = np.zeros(len(first.counts[0]))
    if value is None:
        return _Test(target, shell, parts)
    for one, weight in zip(members, weights / weights.sum(), strict=True):
        if weight:
            parts += weight * _contributions(first.counts[one], second.counts[one])
    ends = _Ends.of_mean(first.draws[:, members] - second.draws[:, members], weights, value, plan)
    text = None if ends.low is None else plan.says()
    return _Test(target, shell._replace(low=ends.low, high=ends.high, reason=ends.reason, interval=text), parts, ends)


def _contributions(first: Floats, second: Floats) -> Floats:
    """Each document's share in the difference of two balanced accuracies (or recalls of an only class)."""
    gaps = [(first[:, hit] - second[:, hit], first[:, size].sum()) for hit, size in ((0, 1), (2, 3))]
    present = [gap / size for gap, size in gaps if size]
    return np.asarray(sum(present[1:], present[0]) / len(present))


def _lost(rows: Sequence[Row], table: Table, plan: Settings) -> Iterator[str]:
    worst = max(rows, key=lambda row: row.details["draws_undefined"])
    if lost := worst.details["draws_undefined"]:
        where = "/".join(worst.details["cell"].values()) or "the mean"
        yield (
            f"{table.title}: draws that give no value are left out of the intervals, at most {lost} of "
            f"{plan.resamples} ({worst.statistic} of {where}); draws_undefined counts them"
        )


def _notes(cells: Sequence[Cell], data: Data, table: Table, how: Protocol) -> Iterator[str]:
    lone = [
        "/".join(cell.at.values()) for cell in cells
        if len(set(data.gold[cell.test].tolist())) == 1
    ]  # fmt: skip
    if lone:
        worth_of = "no value" if how.one_class is OneClass.UNDEFINED else "the recall of that class, as in the papers"
        yield f"{table.title}: test rows of one class only in {', '.join(lone)}: {worth_of}"
    inside = np.zeros(len(data.gold), dtype=np.bool_)
    for cell in cells:
        inside |= cell.test
    for name, value in table.keep:
        inside |= np.asarray(data.columns[name] != value, dtype=np.bool_)
    if left := int((data.test & ~inside).sum()):
        columns = " or ".join(table.cells)
        yield f"{table.title}: test rows not measured, as they have no {columns}: {left}"
