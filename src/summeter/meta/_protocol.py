"""The tables of factuality benchmarks: thresholds tuned on validation rows, balanced accuracy and AUROC on test rows.

A protocol says which rows make a cell, where its threshold is tuned and what is averaged. What the released code does
is followed, with its quirks, and keywords turn each of them off:

    aggrefact       a threshold per origin, data set and group, balanced accuracies averaged by number of test rows
                    within origin and group; and on SOTA one threshold per origin (Tang et al., 2023; FENICE)
    llm-aggrefact   the threshold .5 everywhere, plain mean over data sets (Tang et al., 2024)
    summac          a threshold per data set, plain mean (Laban et al., 2022)
    story-summeval  one threshold (FENICE's long-form set)

Every judge gets thresholds of its own on the rows it scored; a row without a score is counted and is neither right nor
wrong. Intervals draw test documents whole, once for all cells and judges, with the thresholds held; two judges are
compared on the rows both scored, in the same draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.choices import Level
from summeter.meta._compare import Significance, pair_row
from summeter.meta.inputs import Gold, RunLike, judge_input
from summeter.meta.matrix import PairedScores
from summeter.meta.results import Row, Study, interval_row, resampling
from summeter.meta.selection import Selection, all_pairs, checks_keywords, meta_input
from summeter.records import UsageError
from summeter.scoring.scores import COMPOSITE
from summeter.stats import (
    Bootstrap,
    Interval,
    PairDifference,
    Threshold,
    auroc,
    corrected,
    decide,
    least_p,
    permutation_p,
    sign_flips,
    tune_threshold,
)
from summeter.stats.base import CONSTANT, Bools, Floats, Ints, Status
from summeter.stats.classification import NO_NEGATIVES, NO_POSITIVES, Accuracies, Area, accuracy_of, confusion_by_unit
from summeter.stats.significance import Flips
from summeter.stats.thresholds import Candidates

STUDY = "protocol"
FAITHFULNESS = "faithfulness"
ACCURACY, AREA = "balanced_accuracy", "auroc"
MEAN, DIFFERENCE = "balanced_accuracy_mean", "balanced_accuracy_difference"
ORDER = ("SOTA", "XFORMER", "OLD")
"""AggreFact's groups as its tables have them; other values of a column come in the order of the alphabet."""


class Weight(StrEnum):
    """How cells are averaged: each by its number of test rows, or all alike."""

    ROWS = "rows"
    CELLS = "cells"


class OneClass(StrEnum):
    """What a cell whose test rows are all of one class is worth.

    `recall`: the recall of that class, which scikit-learn's balanced accuracy silently becomes and the papers' tables
    hold. `undefined`: nothing, with the reason.
    """

    RECALL = "recall"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Mean:
    """A mean over the cells that agree in the columns `over` (none: over all cells)."""

    over: tuple[str, ...] = ()
    weight: Weight = Weight.CELLS


@dataclass(frozen=True)
class Table:
    """One table: a row a cell (a value of each column of `cells`), among the rows that `keep` (column, value) names.

    A cell's threshold is tuned on the validation rows with its values in `tuned`, so that no columns at all means one
    threshold for the table; or it is `threshold`, and nothing is tuned.
    """

    name: str
    title: str
    cells: tuple[str, ...]
    tuned: tuple[str, ...]
    keep: tuple[tuple[str, str], ...] = ()
    means: tuple[Mean, ...] = ()
    threshold: float | None = None


@dataclass(frozen=True)
class Protocol:
    """A benchmark's tables, and how thresholds are chosen. `dev` and `test` are (column, value)."""

    name: str
    tables: tuple[Table, ...]
    dev: tuple[str, str] = ("cut", "val")
    test: tuple[str, str] = ("cut", "test")
    candidates: Candidates = Candidates.RELEASED
    one_class: OneClass = OneClass.RECALL

    def with_thresholds(self, thresholds: str | float) -> Protocol:
        """The same tables with other thresholds: `cell` (one each), `single` (one a table), or a number, untuned.

        >>> PROTOCOLS["summac"].with_thresholds("single").tables[0].tuned
        ()

        Raises UsageError for anything else; `protocol` changes nothing.
        """
        if thresholds == "protocol":
            return self
        given = thresholds
        if isinstance(thresholds, str) and thresholds not in ("cell", "single"):
            try:
                thresholds = float(thresholds)
            except ValueError:
                thresholds = math.nan
        fixed = None if isinstance(thresholds, str) else float(thresholds)
        if fixed is not None and not math.isfinite(fixed):
            raise UsageError(f"thresholds: {given!r} is none of protocol, cell, single and a number")
        tables = (
            replace(table, threshold=fixed, tuned=table.cells if thresholds == "cell" else ()) for table in self.tables
        )
        return replace(self, tables=tuple(tables))

    def description(self) -> str:
        """How its thresholds are chosen, in a line."""
        fixed = sorted({table.threshold for table in self.tables if table.threshold is not None})
        if fixed:
            return f"protocol {self.name}: a score above {fixed[0]:g} counts as consistent; nothing is tuned"
        tuned = [" x ".join(table.tuned) or "the whole table" for table in self.tables]
        ways = {
            Candidates.PERCENTILES: "among the percentiles 0, 0.2, ..., 99.8",
            Candidates.RELEASED: "among the percentiles 0, 0.2, ..., 99.8, as the released code rounds",
            Candidates.SCORES: "among all scores",
        }
        return (
            f"protocol {self.name}: thresholds per {'; '.join(tuned)}, tuned on {self.dev[0]} = {self.dev[1]} "
            f"{ways[self.candidates]}, the highest of equals; a score above it counts as consistent"
        )


_ORIGIN_CELLS = ("origin", "dataset", "category")
_AGGREFACT = (
    Table(
        "per_data_set",
        "AggreFact, a threshold per data set",
        _ORIGIN_CELLS,
        _ORIGIN_CELLS,
        means=(Mean(("origin", "category"), Weight.ROWS),),
    ),
    Table(
        "sota",
        "AggreFact-SOTA, one threshold per origin",
        ("origin",),
        ("origin",),
        keep=(("category", "SOTA"),),
        means=(Mean(),),
    ),
)
_LLM_AGGREFACT = Table("per_data_set", "LLM-AggreFact, threshold .5", ("dataset",), (), means=(Mean(),), threshold=0.5)
_SUMMAC = Table(
    "per_data_set", "SummaC benchmark, a threshold per data set", ("dataset",), ("dataset",), means=(Mean(),)
)
_STORY = Table("all", "Long-form summaries, one threshold", ("dataset",), ())
PROTOCOLS: Mapping[str, Protocol] = {
    "aggrefact": Protocol("aggrefact", _AGGREFACT),
    "llm-aggrefact": Protocol("llm-aggrefact", (_LLM_AGGREFACT,)),
    "summac": Protocol("summac", (_SUMMAC,)),
    "story-summeval": Protocol("story-summeval", (_STORY,)),
}


def protocol_named(name: str) -> Protocol:
    """The protocol of that name. Raises UsageError."""
    if name not in PROTOCOLS:
        raise UsageError(f"unknown protocol {name!r}; protocols are: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


@checks_keywords
def protocol(
    runs: Sequence[RunLike],
    gold: Gold,
    how: Protocol,
    *,
    aspects: Sequence[str] = (),
    resamples: int = 1000,
    permutations: int = 10_000,
    confidence: float = 0.95,
    alpha: float = 0.05,
    seed: int = 0,
) -> Study:
    """Measure the judges of the runs as the protocol says; `gold` is the benchmark (`data.factuality`).

    A judge of faithfulness is measured by that aspect, any other by each of its aspects, or by `aspects`. Intervals at
    `confidence` draw documents (`resamples`=0: none); `permutations` are of the test of two judges, `alpha` is for its
    corrected p-values. Rows of the study "protocol", `details.table` naming the table: `balanced_accuracy` and `auroc`
    a cell (`domain` is the origin, `category` the group, `details.group` the data set; `details.threshold` with
    `dev_n`, `dev_missing` and the accuracy it reached there), `balanced_accuracy_mean` over cells,
    `balanced_accuracy_difference` a pair of judges (`p` by permutation, `details.p_holm` over the pairs of the table).

    Raises UsageError where the data lack a column of the protocol, or no run has a judge with scores of summaries.
    """
    testing = Significance(permutations, max(1, resamples), confidence, alpha, seed)
    resample = resampling(resamples, confidence, seed)
    scores = [pairs for run in runs for pairs in _pairs(run, gold, aspects)]
    if not scores:
        raise UsageError("no judge has scores of summaries; give a run over these data")
    data = _benchmark(scores[0], how)
    bootstrap = replace(resample(data.documents), by="document (thresholds held)")
    judges = _judges(scores, data)
    rows: list[Row] = []
    notes: list[str] = []
    for table in how.tables:
        board = _Board(table, how, data, bootstrap, list(_cells(data, table)))
        if not board.cells:
            notes.append(f"{table.title}: no test row belongs to it")
            continue
        results = [board.measured(judge) for judge in judges]
        table_rows = [
            row
            for judge, result in zip(judges, results, strict=True)
            for row in (*_cell_rows(board, judge, result), *_mean_rows(board, judge, result))
        ]
        table_rows += _differences(board, judges, results, testing)
        rows += table_rows
        notes += [*_notes(board), *_lost(board, table_rows)]
    return Study(STUDY, rows, notes)


def _pairs(run: RunLike, gold: Gold, aspects: Sequence[str]) -> Iterator[PairedScores]:
    """Every judge of the run beside people: by faithfulness where it judges that, else by whatever it judges."""
    read = judge_input(run)
    judged: dict[tuple[str, str], list[str]] = {}
    for judge, signature, aspect in read.questions():
        if aspect != COMPOSITE or COMPOSITE in aspects:  # made of several aspects: measured only where asked for
            judged.setdefault((judge, signature), []).append(aspect)
    wanted = {
        (judge, signature, aspect)
        for (judge, signature), own in judged.items()
        for aspect in (aspects or ([FAITHFULNESS] if FAITHFULNESS in own else own))
        if aspect in own
    }
    names = {aspect for _, _, aspect in wanted}
    lacking = [name for name in aspects if name not in names]
    if lacking or not wanted:
        known = sorted({aspect for own in judged.values() for aspect in own})
        raise UsageError(
            f"no judge of the run has the aspect {lacking[0] if lacking else FAITHFULNESS!r}; it has: "
            f"{', '.join(known) or 'no judgments'}"
        )
    chosen = Selection(aspect=sorted(f"{name}:{FAITHFULNESS}" for name in names), source="overall")
    for pairs in all_pairs(meta_input(read, gold, chosen), Level.SUMMARY, chosen):
        if (pairs.judge.judge, pairs.judge.signature, pairs.judge.aspect) in wanted:
            yield pairs


# ---- rows, cells and what judges are worth on them ----


class _Benchmark(NamedTuple):
    """The labelled rows. `unit` numbers the documents of the test rows, which are drawn; -1 elsewhere."""

    keys: list[tuple[str | None, str | None]]
    gold: Floats
    columns: dict[str, NDArray[np.object_]]
    dev: Bools
    test: Bools
    unit: Ints
    documents: int


class _Judge(NamedTuple):
    name: str
    pairs: PairedScores
    scores: Floats


class _Cell(NamedTuple):
    at: dict[str, str]
    dev: Bools
    test: Bools

    @property
    def name(self) -> str:
        return "/".join(self.at.values())


class _Result(NamedTuple):
    """What one judge is worth on one table: by cell its threshold, decisions (NaN: none), counts and balanced accuracy;
    in the draws that (draws x cells) and the AUROC (`areas`, where asked for). `one_class` marks recalls."""

    thresholds: list[Threshold]
    decisions: list[Floats]
    counts: list[Floats]
    values: Floats
    one_class: list[bool]
    samples: Floats
    areas: list[Floats]

    @property
    def sizes(self) -> Floats:
        """The number of decided rows of each cell."""
        return np.array([(~np.isnan(decided)).sum() for decided in self.decisions], dtype=np.float64)


class _Board(NamedTuple):
    """A table with its cells, over the labelled rows of the benchmark."""

    table: Table
    how: Protocol
    data: _Benchmark
    bootstrap: Bootstrap
    cells: list[_Cell]

    def measured(self, judge: _Judge) -> _Result:
        """A judge's thresholds, decisions and values."""
        thresholds, decisions, areas = [], [], []
        for cell in self.cells:
            tuned = self._threshold(judge, cell)
            decided = np.full(len(self.data.gold), np.nan)
            if tuned.threshold is not None:
                decided[cell.test] = decide(judge.scores[cell.test], tuned.threshold)
            thresholds.append(tuned)
            decisions.append(decided)
            areas.append(Area(self.data.gold[cell.test], judge.scores[cell.test], self.data.unit[cell.test]))
        return self.worth(thresholds, decisions, areas)

    def _threshold(self, judge: _Judge, cell: _Cell) -> Threshold:
        if self.table.threshold is not None:
            return Threshold(self.table.threshold, None, 0, 0, Status.OK, None)
        return tune_threshold(self.data.gold[cell.dev], judge.scores[cell.dev], self.how.candidates)

    def worth(self, thresholds: list[Threshold], decisions: list[Floats], areas: Sequence[Area] = ()) -> _Result:
        """What decisions are worth; a cell whose decided rows have one class is worth what the protocol says."""
        data = self.data
        counts = [confusion_by_unit(data.gold, decided, data.unit, data.documents) for decided in decisions]
        totals = np.stack([count.sum(axis=0) for count in counts])
        recall = self.how.one_class is OneClass.RECALL
        one_class = [recall and (p > 0) != (n > 0) for _, p, _, n in totals.tolist()]
        accuracies = Accuracies(counts, one_class)
        width = max([accuracies.width, *(area.width for area in areas)])
        samples, *area_samples = self.bootstrap.samples(accuracies, *areas, width=width)
        values = accuracy_of(totals, np.array(one_class))
        return _Result(thresholds, decisions, counts, values, one_class, samples, area_samples)

    def fields(self, pairs: PairedScores, at: dict[str, str], **details: Any) -> dict[str, Any]:
        """The fields of every row about a cell or a mean."""
        group = {"by": "dataset", "group": at["dataset"]} if "dataset" in at else {}
        about = {"table": self.table.name, "title": self.table.title, "cell": at, **group, **details}
        return {
            "study": STUDY,
            "gold_aspect": pairs.gold.aspect,
            "gold_signature": pairs.gold.signature,
            "level": Level.SUMMARY.value,
            "domain": at.get("origin"),
            "category": at.get("category"),
            "details": about,
        }

    def judge_fields(self, judge: _Judge, at: dict[str, str], **details: Any) -> dict[str, Any]:
        """The fields of every row about one judge."""
        of = judge.pairs.judge
        about = {"judge": of.judge, "signature": of.signature, "model": of.model, "aspect": of.aspect}
        return {**about, **self.fields(judge.pairs, at, name=judge.name, **details)}


def _keys(pairs: PairedScores) -> list[tuple[str | None, str | None]]:
    return list(zip(pairs.document.labels(), pairs.system.labels(), strict=True))


def _benchmark(pairs: PairedScores, how: Protocol) -> _Benchmark:
    """The labelled rows, from any judge beside people. Raises UsageError as `protocol` does."""
    rows = pairs.take(~np.isnan(pairs.y))
    if not np.isin(rows.y, (0.0, 1.0)).all():
        raise UsageError("people's faithfulness is not 0 or 1 here; a protocol needs a yes or no for each summary")
    names = {how.dev[0], how.test[0], *(name for table in how.tables for name in table.cells + table.tuned)}
    names |= {name for table in how.tables for name, _ in table.keep}
    columns = {name: np.array(list(rows.column(name).labels()), dtype=object) for name in sorted(names)}
    dev, test = (np.asarray(columns[name] == value, dtype=np.bool_) for name, value in (how.dev, how.test))
    tuned = any(table.threshold is None for table in how.tables)
    for split, (name, value), mask in (("validation", how.dev, dev), ("test", how.test, test)):
        if not mask.any() and (tuned or split == "test"):
            raise UsageError(
                f"no row is of the {split} split ({name} = {value}); give that file too, or a number as the threshold"
            )
    unit = np.full(len(test), -1, np.int64)
    documents, unit[test] = np.unique(rows.document.codes[test], return_inverse=True)
    return _Benchmark(_keys(rows), rows.y, columns, dev, test, unit, len(documents))


def _judges(scores: Sequence[PairedScores], data: _Benchmark) -> list[_Judge]:
    """The judges by the shortest names that tell them apart, their scores in the order of the data's rows."""
    of = [pairs.judge for pairs in scores]
    ways = [
        [judge.judge for judge in of],
        [f"{judge.judge}:{judge.aspect}" for judge in of],
        [f"{judge.signature}:{judge.aspect}" for judge in of],
        [f"{number}:{judge.signature}:{judge.aspect}" for number, judge in enumerate(of, 1)],
    ]
    names = next(way for way in ways if len(set(way)) == len(way))
    judges = []
    for name, pairs in zip(names, scores, strict=True):
        by_key = dict(zip(_keys(pairs), pairs.x.tolist(), strict=True))
        judges.append(_Judge(name, pairs, np.array([by_key.get(key, np.nan) for key in data.keys], dtype=np.float64)))
    return judges


def _cells(data: _Benchmark, table: Table) -> Iterator[_Cell]:
    """The cells that some test row is in, in the papers' order."""
    belongs = np.ones(len(data.gold), dtype=np.bool_)
    for name, value in table.keep:
        belongs &= np.asarray(data.columns[name] == value, dtype=np.bool_)
    for name in table.cells:
        belongs &= np.array([value is not None for value in data.columns[name]], dtype=np.bool_)
    rows = np.flatnonzero(belongs & data.test)
    found = {tuple(str(data.columns[name][row]) for name in table.cells) for row in rows}
    for values in sorted(found, key=lambda cell: [(ORDER.index(v) if v in ORDER else -1, v.lower(), v) for v in cell]):
        at = dict(zip(table.cells, values, strict=True))
        test, dev = belongs & data.test, belongs & data.dev
        for name, value in at.items():
            same = np.asarray(data.columns[name] == value, dtype=np.bool_)
            test &= same
            if name in table.tuned:
                dev &= same
        yield _Cell(at, dev, test)


# ---- rows of the study ----


class _Target(NamedTuple):
    """What a mean (or a cell, where there are no means) is over: the numbers of its cells, what names it."""

    members: list[int]
    at: dict[str, str]
    weight: Weight

    def rows(self, board: _Board) -> int:
        """How many test rows its cells have."""
        return sum(int(board.cells[number].test.sum()) for number in self.members)

    def weights(self, sizes: Floats, values: Floats) -> Floats:
        """The weight of each member; 0 where it has no value."""
        weights = sizes[self.members] if self.weight is Weight.ROWS else np.ones(len(self.members))
        return np.where(np.isnan(values), 0.0, weights)


def _targets(board: _Board) -> list[_Target]:
    targets: list[_Target] = []
    for mean in board.table.means:
        members: dict[tuple[str, ...], list[int]] = {}
        for number, cell in enumerate(board.cells):
            members.setdefault(tuple(cell.at[name] for name in mean.over), []).append(number)
        targets += [
            _Target(numbers, dict(zip(mean.over, key, strict=True)), mean.weight) for key, numbers in members.items()
        ]
    return targets


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _interval(
    bootstrap: Bootstrap, value: float | None, samples: Floats, *, partial: int = 0, **more: Any
) -> tuple[Interval, dict[str, int]]:
    """A value with its interval, and what stands among the details.

    `partial` counts the draws in which a mean lacks some of its cells. An interval without width has no reason: a judge
    may be right in every draw.
    """
    estimate = bootstrap.of_samples(value, samples, **more)
    if estimate.low is not None:
        reasons = [] if estimate.reason in (None, CONSTANT) else [estimate.reason]
        reasons += [f"in {partial} of {bootstrap.resamples} resamples some cell has no value"] if partial else []
        estimate = estimate._replace(reason="; ".join(filter(None, reasons)) or None)
    return estimate, {"draws_undefined": estimate.lost, "draws_partial": partial}


def _mean_interval(
    bootstrap: Bootstrap, samples: Floats, weights: Floats, value: float | None, **more: Any
) -> tuple[Interval, dict[str, int]]:
    """The interval of a mean, from draws x cells; cells that have no value in any case are not missed in a draw."""
    empty = np.isnan(samples[:, weights > 0])
    partial = int((empty.any(axis=1) & ~empty.all(axis=1)).sum())
    return _interval(bootstrap, value, averaged(samples, weights), partial=partial, **more)


def _row(interval: tuple[Interval, dict[str, int]], fields: dict[str, Any], statistic: str) -> Row:
    estimate, draws = interval
    return interval_row(estimate, **{**fields, "details": fields["details"] | draws}, statistic=statistic)


def _cell_rows(board: _Board, judge: _Judge, result: _Result) -> Iterator[Row]:
    for place, cell in enumerate(board.cells):
        tuned, scores, gold = result.thresholds[place], judge.scores[cell.test], board.data.gold[cell.test]
        kept = ~np.isnan(scores)
        n = int(kept.sum())
        positives = int(gold[kept].sum())
        fields = board.judge_fields(
            judge,
            cell.at,
            threshold=tuned.threshold,
            dev_n=tuned.n,
            dev_missing=tuned.missing,
            dev_balanced_accuracy=tuned.balanced_accuracy,
            dev_reason=tuned.reason,
            positives=positives,
            negatives=n - positives,
            one_class=result.one_class[place],
        )
        if not n:
            why = "no test row has a score"
        elif tuned.threshold is None:
            why = f"no threshold: {tuned.reason} among {tuned.n} validation rows"
        else:
            why = NO_NEGATIVES if positives else NO_POSITIVES
        size = {"n": n, "missing": len(scores) - n}
        value = _number(result.values[place])
        yield _row(_interval(board.bootstrap, value, result.samples[:, place], undefined=why, **size), fields, ACCURACY)
        area = auroc(gold, scores)
        estimate = _interval(board.bootstrap, area.value, result.areas[place], undefined=area.reason or "", **size)
        yield _row(estimate, fields, AREA)


def averaged(values: Floats, weights: Floats) -> Floats:
    """The weighted mean over the last axis, cells without a value left out; NaN where none has one.

    >>> averaged(np.array([0.5, 0.8, np.nan]), np.array([1.0, 2.0, 9.0])).round(9).item()
    0.7
    """
    present = np.where(np.isnan(values), 0.0, weights)
    total = present.sum(axis=-1)
    sums = (np.nan_to_num(values) * present).sum(axis=-1)
    return np.asarray(np.divide(sums, total, out=np.full_like(total, np.nan), where=total > 0))


def _mean_rows(board: _Board, judge: _Judge, result: _Result) -> Iterator[Row]:
    for target in _targets(board):
        members = target.members
        weights = target.weights(result.sizes, result.values[members])
        value = _number(averaged(result.values[members], weights).item())
        n = int(result.sizes[members].sum())
        undefined = [board.cells[number].name for number in members if np.isnan(result.values[number])]
        fields = board.judge_fields(
            judge, target.at, weight=str(target.weight), cells=len(members), cells_undefined=undefined
        )
        interval = _mean_interval(
            board.bootstrap,
            result.samples[:, members],
            weights,
            value,
            undefined="no cell has a value",
            n=n,
            missing=target.rows(board) - n,
        )
        yield _row(interval, fields, MEAN)


class _Test(NamedTuple):
    """Two judges on a mean; `parts` is what each document contributes to their difference."""

    target: _Target
    pair: PairDifference
    parts: Floats
    draws: dict[str, int]


def _differences(
    board: _Board, judges: Sequence[_Judge], results: Sequence[_Result], testing: Significance
) -> Iterator[Row]:
    """Every two judges on every mean of the table (or cell, where it has none), corrected over all of them."""
    targets = _targets(board) or [_Target([place], cell.at, Weight.CELLS) for place, cell in enumerate(board.cells)]
    flips = sign_flips(board.data.documents, testing.permutations, testing.seed)
    tests: list[_Test] = []
    for (a, first), (b, second) in combinations(zip(judges, results, strict=True), 2):
        both = _shared(board, first, second)
        tests += [_tested(board, (a.name, b.name), both, target, flips) for target in targets]
    if not tests:
        return
    p = permutation_p(np.stack([test.parts for test in tests], axis=1), flips)
    pairs = [
        test.pair if test.pair.difference is None else test.pair._replace(p=float(value))
        for test, value in zip(tests, p, strict=True)
    ]
    method = f"exchange of decisions by document, {flips.total} {'exact' if flips.exact else 'permutations'}"
    for target in targets:
        for test, pair in zip(tests, corrected(pairs, testing.alpha), strict=True):
            if test.target is target:
                fields = board.fields(judges[0].pairs, target.at, weight=str(target.weight), method=method)
                details = fields.pop("details") | test.draws
                yield pair_row(pair, testing, fields, statistic=DIFFERENCE, details=details)


def _shared(board: _Board, first: _Result, second: _Result) -> tuple[_Result, _Result]:
    """Both on the rows that both decided; as they are where these are all they have."""
    lost = [np.isnan(a) | np.isnan(b) for a, b in zip(first.decisions, second.decisions, strict=True)]

    def cut(result: _Result) -> _Result:
        decisions = [np.where(rows, np.nan, decided) for rows, decided in zip(lost, result.decisions, strict=True)]
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(decisions, result.decisions, strict=True))
        return result if same else board.worth(result.thresholds, decisions)

    return cut(first), cut(second)


def _tested(
    board: _Board, names: tuple[str, str], results: tuple[_Result, _Result], target: _Target, flips: Flips
) -> _Test:
    """The difference with its interval, and what each document contributes to it: their sum is the difference.

    Exchanging two judges' decisions on a document turns the sign of its contribution, whatever the cells it is in, so
    the permutation test is that of paired means.
    """
    members, (first, second) = target.members, results
    gaps = first.values[members] - second.values[members]
    weights = target.weights(first.sizes, gaps)
    value = _number(averaged(gaps, weights).item())
    n = int(first.sizes[members].sum())
    estimate, draws = _mean_interval(
        board.bootstrap,
        first.samples[:, members] - second.samples[:, members],
        weights,
        value,
        undefined="no cell in which both have a value",
    )
    parts = np.zeros(board.data.documents)
    judged = np.zeros(board.data.documents, dtype=np.bool_)
    for number, weight in zip(members, weights, strict=True):
        if weight:
            parts += weight / weights.sum() * _contributions(first.counts[number], second.counts[number])
            judged |= first.counts[number].any(axis=1) | second.counts[number].any(axis=1)
    units = int(judged.sum())
    pair = PairDifference(
        *names, value, estimate.low, estimate.high, None, None, 0, n, target.rows(board) - n, units,
        least_p(units, None if flips.exact else flips.total), None, estimate.reason, estimate.text,
    )  # fmt: skip
    return _Test(target, pair, parts, draws)


def _contributions(first: Floats, second: Floats) -> Floats:
    """Each document's share in the difference of two balanced accuracies (or recalls of an only class)."""
    gaps = [(first[:, hit] - second[:, hit], first[:, size].sum()) for hit, size in ((0, 1), (2, 3))]
    present = [gap / size for gap, size in gaps if size]
    return np.asarray(sum(present[1:], present[0]) / len(present))


# ---- notes ----


def _lost(board: _Board, rows: Sequence[Row]) -> Iterator[str]:
    worst = max(rows, key=lambda row: row.details["draws_undefined"])
    if lost := worst.details["draws_undefined"]:
        where = "/".join(worst.details["cell"].values()) or "the mean"
        yield (
            f"{board.table.title}: draws that give no value are left out of the intervals, at most {lost} of "
            f"{board.bootstrap.resamples} ({worst.statistic} of {where}); draws_undefined counts them"
        )


def _notes(board: _Board) -> Iterator[str]:
    table, data = board.table, board.data
    one_class = [cell.name for cell in board.cells if len(set(data.gold[cell.test].tolist())) == 1]
    if one_class:
        undefined = board.how.one_class is OneClass.UNDEFINED
        value = "no value" if undefined else "the recall of that class, as in the papers"
        yield f"{table.title}: test rows of one class only in {', '.join(one_class)}: {value}"
    inside = np.zeros(len(data.gold), dtype=np.bool_)
    for cell in board.cells:
        inside |= cell.test
    for name, value in table.keep:
        inside |= np.asarray(data.columns[name] != value, dtype=np.bool_)
    if left := int((data.test & ~inside).sum()):
        yield f"{table.title}: test rows not measured, as they have no {' or '.join(table.cells)}: {left}"
