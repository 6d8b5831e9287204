"""Tables of factuality benchmarks: balanced accuracy and AUROC on test rows.

A protocol defines the rows of each cell, the validation rows on which the threshold of the cell is tuned, and the
averages. By default, a protocol follows the released code, including its quirks, which can be turned off by keywords:

    aggrefact       one threshold per origin, dataset and group; balanced accuracies averaged by number of test rows
                    within origin and group; on SOTA, one threshold per origin (Tang et al., 2023; FENICE)
    llm-aggrefact   threshold .5 everywhere, unweighted mean over datasets (Tang et al., 2024)
    summac          one threshold per dataset, unweighted mean (Laban et al., 2022)
    story-summeval  one threshold (the long-form data of FENICE)

Thresholds are tuned separately for each judge, on the rows that it scored. Rows without a score count as missing.
Intervals resample the test documents with fixed thresholds; all cells and judges share the same draws. Two judges are
compared on the rows that both scored.
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
from pydantic import Field

from summeter.choices import Level
from summeter.meta._compare import pair_row
from summeter.meta.inputs import Gold, RunLike, judge_input
from summeter.meta.options import Selection, Significance, study
from summeter.meta.results import Row, Study, interval_row, named, unique_labels
from summeter.meta.sample import Sample, Units
from summeter.meta.selection import all_pairs, meta_input
from summeter.records import UsageError
from summeter.scoring.scores import COMPOSITE
from summeter.stats import (
    Bootstrap,
    Estimate,
    PairDifference,
    Threshold,
    auroc,
    corrected,
    decide,
    enough_permutations,
    least_p,
    permutation_p,
    sign_flips,
    tune_threshold,
)
from summeter.stats.base import CONSTANT, Bools, Floats, Ints, ratio
from summeter.stats.classification import NO_NEGATIVES, NO_POSITIVES, accuracy_of, confusion_by_unit
from summeter.stats.significance import Flips
from summeter.stats.thresholds import Candidates

STUDY = "protocol"
FAITHFULNESS = "faithfulness"
ACCURACY, AREA = "balanced_accuracy", "auroc"
MEAN, DIFFERENCE = "balanced_accuracy_mean", "balanced_accuracy_difference"
ORDER = ("SOTA", "XFORMER", "OLD")
"""Order of groups in the tables of AggreFact. Other values are sorted alphabetically."""


class Weight(StrEnum):
    """Weight of a cell in a mean: the number of the cell's test rows, or 1."""

    ROWS = "rows"
    CELLS = "cells"


class OneClass(StrEnum):
    """Value of a cell whose test rows all have the same class.

    `recall`: the recall of that class, as in scikit-learn's balanced accuracy and the tables of the papers.
    `undefined`: no value, with a reason.
    """

    RECALL = "recall"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Mean:
    """A mean over the cells with equal values in the columns `over`, or over all cells if it is empty."""

    over: tuple[str, ...] = ()
    weight: Weight = Weight.CELLS


@dataclass(frozen=True)
class Table:
    """A table with one cell per combination of values of the columns `cells`.

    `keep` restricts the rows by (column, value). The threshold of a cell is `threshold` if given; otherwise it is tuned
    on the validation rows with the cell's values in the columns `tuned` (if `tuned` is empty, the table has one
    threshold).
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
    """The tables of a benchmark and the choice of thresholds.

    `dev` and `test` are splits, given as (column, value).
    """

    name: str
    tables: tuple[Table, ...]
    dev: tuple[str, str] = ("cut", "val")
    test: tuple[str, str] = ("cut", "test")
    candidates: Candidates = Candidates.RELEASED
    one_class: OneClass = OneClass.RECALL

    def with_thresholds(self, thresholds: str | float) -> Protocol:
        """Return the protocol with other thresholds.

        `thresholds` is `cell` (one per cell), `single` (one per table), a number, or `protocol` (no change). Raises
        UsageError for other values.

        >>> PROTOCOLS["summac"].with_thresholds("single").tables[0].tuned
        ()
        """
        if thresholds == "protocol":
            return self
        original = thresholds
        if isinstance(thresholds, str) and thresholds not in ("cell", "single"):
            try:
                thresholds = float(thresholds)
            except ValueError:
                thresholds = math.nan
        fixed = None if isinstance(thresholds, str) else float(thresholds)
        if fixed is not None and not math.isfinite(fixed):
            raise UsageError(f"thresholds must be protocol, cell, single or a number, not {original!r}")
        tables = (
            replace(table, threshold=fixed, tuned=table.cells if thresholds == "cell" else ()) for table in self.tables
        )
        return replace(self, tables=tuple(tables))

    def description(self) -> str:
        """Return one line that describes the choice of thresholds."""
        fixed = sorted({table.threshold for table in self.tables if table.threshold is not None})
        if fixed:
            return f"protocol {self.name}: a score above {fixed[0]:g} counts as consistent"
        tuned = [" x ".join(table.tuned) or "the whole table" for table in self.tables]
        ways = {
            Candidates.PERCENTILES: "among the percentiles 0, 0.2, ..., 99.8",
            Candidates.RELEASED: "among the percentiles 0, 0.2, ..., 99.8, as the released code rounds",
            Candidates.SCORES: "among all scores",
        }
        return (
            f"protocol {self.name}: thresholds per {'; '.join(tuned)}, tuned on {self.dev[0]} = {self.dev[1]} "
            f"{ways[self.candidates]} (ties: the highest); a score above it counts as consistent"
        )


_ORIGIN_CELLS = ("origin", "dataset", "category")
_AGGREFACT = (
    Table(
        "per_data_set",
        "AggreFact, a threshold per dataset",
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
    "per_data_set", "SummaC benchmark, a threshold per dataset", ("dataset",), ("dataset",), means=(Mean(),)
)
_STORY = Table("all", "Long-form summaries, one threshold", ("dataset",), ())
PROTOCOLS: Mapping[str, Protocol] = {
    "aggrefact": Protocol("aggrefact", _AGGREFACT),
    "llm-aggrefact": Protocol("llm-aggrefact", (_LLM_AGGREFACT,)),
    "summac": Protocol("summac", (_SUMMAC,)),
    "story-summeval": Protocol("story-summeval", (_STORY,)),
}


def protocol_named(name: str) -> Protocol:
    """Return the protocol with a given name. Raises UsageError if the name is unknown."""
    if name not in PROTOCOLS:
        raise UsageError(f"unknown protocol {name!r}; protocols are: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


class ProtocolOptions(Significance):
    """The options of `protocol`."""

    resamples: int = Field(1000, ge=0, description="Resamples of the bootstrap by document; 0 for no intervals.")
    aspects: Sequence[str] = Field(
        (),
        description="Aspects of the judges to measure. Default: faithfulness, or all aspects of a judge without "
        "faithfulness.",
    )


@study(ProtocolOptions)
def protocol(runs: Sequence[RunLike], gold: Gold, how: Protocol, options: ProtocolOptions) -> Study:
    """Measure the judges of runs with the protocol of a benchmark, given as `gold` (see `data.factuality`).

    Rows have the study "protocol" and the name of the table in `details.table`. The statistics are `balanced_accuracy`
    and `auroc` per cell (`domain` is the origin, `category` is the group, and `details.group` is the dataset;
    `details` also has the threshold, `dev_n`, `dev_missing` and the balanced accuracy on the validation rows),
    `balanced_accuracy_mean` over cells, and `balanced_accuracy_difference` per pair of judges (`p` is the p-value of a
    permutation test, and `details.p_holm` is the p-value corrected over the pairs of the table).

    Raises UsageError if the data lack a column of the protocol, or if no run has scores of summaries.
    """
    scores = [pairs for run in runs for pairs in _pairs(run, gold, options.aspects)]
    if not scores:
        raise UsageError("no judge has scores of summaries; give a run on these data")
    data = _benchmark(scores[0], how)
    bootstrap = replace(options.resampling(data.documents), by="document (thresholds held)")
    names = unique_labels([pairs.judge for pairs in scores])
    judges = [_Judge(name, pairs, pairs.values_on(data.units)) for name, pairs in zip(names, scores, strict=True)]
    rows: list[Row] = []
    notes: list[str] = []
    for table in how.tables:
        board = _Board(table, how, data, bootstrap, list(_cells(data, table)))
        if not board.cells:
            notes.append(f"{table.title}: the data have no test rows of this table")
            continue
        results = []
        table_rows: list[Row] = []
        for judge in judges:
            thresholds = [board.threshold(judge, cell) for cell in board.cells]
            results.append(board.decided(judge, thresholds))
            table_rows += _table_rows(board, judge, thresholds, results[-1])
        table_rows += _differences(board, judges, results, options)
        rows += table_rows
        notes += _notes(board)
        worst = max(table_rows, key=lambda row: int(row.details["draws_undefined"]))
        if lost := worst.details["draws_undefined"]:
            where = "/".join(worst.details["cell"].values()) or "the mean"
            notes.append(
                f"{table.title}: intervals leave out resamples without a value, at most {lost} of "
                f"{bootstrap.resamples} ({worst.statistic} of {where}); see draws_undefined"
            )
    return Study(STUDY, rows, notes)


def _pairs(run: RunLike, gold: Gold, aspects: Sequence[str]) -> Iterator[Sample]:
    """Yield each judge of the run joined with people, on faithfulness.

    A judge without faithfulness is joined on all aspects.
    """
    read = judge_input(run)
    judged: dict[tuple[str, str], list[str]] = {}
    for judge, signature, aspect, _ in read.questions():
        if aspect != COMPOSITE or COMPOSITE in aspects:  # a composite is measured only if selected
            judged.setdefault((judge, signature), []).append(aspect)
    wanted = {
        (judge, signature, aspect)
        for (judge, signature), of_judge in judged.items()
        for aspect in (aspects or ([FAITHFULNESS] if FAITHFULNESS in of_judge else of_judge))
        if aspect in of_judge
    }
    names = {aspect for _, _, aspect in wanted}
    missing = [name for name in aspects if name not in names]
    if missing or not wanted:
        known = sorted({aspect for of_judge in judged.values() for aspect in of_judge})
        raise UsageError(
            f"no judge of the run has the aspect {missing[0] if missing else FAITHFULNESS!r}; it has: "
            f"{', '.join(known) or 'no judgments'}"
        )
    options = Selection(aspect=sorted(f"{name}:{FAITHFULNESS}" for name in names), source="overall")
    for pairs in all_pairs(meta_input(read, gold, options), Level.SUMMARY, options):
        if (pairs.judge.judge, pairs.judge.signature, pairs.judge.aspect) in wanted:
            yield pairs


# ---- rows, cells and results ----


class _Benchmark(NamedTuple):
    """The labelled rows.

    `unit` is the number of the document (the resampled unit) of each test row, and -1 for other rows.
    """

    units: Units
    gold: Floats
    columns: dict[str, NDArray[np.object_]]
    dev: Bools
    test: Bools
    unit: Ints
    documents: int

    def rows_with(self, name: str, value: str) -> Bools:
        """Return the mask of the rows with a given value in a column."""
        return np.asarray(self.columns[name] == value, dtype=np.bool_)


class _Judge(NamedTuple):
    name: str
    pairs: Sample
    scores: Floats


class _Cell(NamedTuple):
    at: dict[str, str]
    dev: Bools
    test: Bools

    @property
    def name(self) -> str:
        return "/".join(self.at.values())


class _Result(NamedTuple):
    """Results of one judge on one table.

    `decisions` is rows x cells (NaN if missing), and `counts` is documents x cells x 4. `values` holds the balanced
    accuracies, and `samples` their bootstrap samples (draws x cells). `one_class` marks values that are recalls.
    """

    decisions: Floats
    counts: Floats
    values: Floats
    samples: Floats
    one_class: Bools

    @property
    def sizes(self) -> Floats:
        """Number of rows with a decision in each cell."""
        return np.asarray((~np.isnan(self.decisions)).sum(axis=0), dtype=np.float64)


class _Board(NamedTuple):
    """A table with its cells and the labelled rows of the benchmark."""

    table: Table
    how: Protocol
    data: _Benchmark
    bootstrap: Bootstrap
    cells: list[_Cell]

    def threshold(self, judge: _Judge, cell: _Cell) -> Threshold:
        """Return the threshold of a cell: the fixed threshold of the table, or a tuned threshold."""
        if self.table.threshold is not None:
            return Threshold(self.table.threshold, None, 0, 0, None)
        return tune_threshold(self.data.gold[cell.dev], judge.scores[cell.dev], self.how.candidates)

    def decided(self, judge: _Judge, thresholds: Sequence[Threshold]) -> _Result:
        """Return the results of a judge with one threshold per cell."""
        decisions = np.full((len(self.data.gold), len(self.cells)), np.nan)
        for place, (cell, tuned) in enumerate(zip(self.cells, thresholds, strict=True)):
            if tuned.threshold is not None:
                decisions[cell.test, place] = decide(judge.scores[cell.test], tuned.threshold)
        return self.evaluate(decisions)

    def evaluate(self, decisions: Floats) -> _Result:
        """Return the results of decisions, with the protocol's rule for cells with a single class."""
        data = self.data
        counts = np.stack(
            [confusion_by_unit(data.gold, column, data.unit, data.documents) for column in decisions.T], axis=1
        )
        totals = counts.sum(axis=0)
        by_recall = {OneClass.RECALL: True, OneClass.UNDEFINED: False}[self.how.one_class]
        recalls = ((totals[:, 1] > 0) != (totals[:, 3] > 0)) & by_recall
        (samples,) = self.bootstrap.samples(
            lambda weights: accuracy_of(np.tensordot(weights, counts, axes=1), recalls), width=counts[0].size
        )
        return _Result(decisions, counts, accuracy_of(totals, recalls), samples, recalls)

    def fields(self, pairs: Sample, at: Mapping[str, str], **details: Any) -> dict[str, Any]:
        """Return the common fields of rows about a cell or a mean."""
        group = {"by": "dataset", "group": at["dataset"]} if "dataset" in at else {}
        return {
            "study": STUDY, "gold_aspect": pairs.gold.aspect, "gold_signature": pairs.gold.signature,
            "level": Level.SUMMARY.value, "domain": at.get("origin"), "category": at.get("category"),
            "details": {"table": self.table.name, "title": self.table.title, "cell": at, **group, **details},
        }  # fmt: skip

    def targets(self) -> list[_Target]:
        """Return the means of the table."""
        targets: list[_Target] = []
        for mean in self.table.means:
            members: dict[tuple[str, ...], list[int]] = {}
            for number, cell in enumerate(self.cells):
                members.setdefault(tuple(cell.at[name] for name in mean.over), []).append(number)
            groups = members.items()
            targets += [_Target(cells, dict(zip(mean.over, key, strict=True)), mean.weight) for key, cells in groups]
        return targets


class _Target(NamedTuple):
    """A mean, or a cell if the table has no means.

    It has the numbers of the averaged cells and a position in the table.
    """

    members: list[int]
    at: dict[str, str]
    weight: Weight

    def rows(self, board: _Board) -> int:
        """Return the number of test rows in the cells."""
        return sum(int(board.cells[number].test.sum()) for number in self.members)

    def weights(self, sizes: Floats, values: Floats) -> Floats:
        """Return the weight of each averaged cell, 0 for cells without a value."""
        weights = {Weight.ROWS: sizes[self.members], Weight.CELLS: np.ones(len(self.members))}[self.weight]
        return np.where(np.isnan(values), 0.0, weights)


def _benchmark(pairs: Sample, how: Protocol) -> _Benchmark:
    """Return the labelled rows, given any judge joined with people.

    Raises UsageError if a column of the protocol is missing.
    """
    rows = pairs.take(~np.isnan(pairs.y))
    if not np.isin(rows.y, (0.0, 1.0)).all():
        raise UsageError("human values of faithfulness are not all 0 or 1; a protocol needs a label for each summary")
    names = {how.dev[0], how.test[0], *(name for table in how.tables for name in table.cells + table.tuned)}
    names |= {name for table in how.tables for name, _ in table.keep}
    columns = {name: np.array(list(rows.units.column(name).labels()), dtype=object) for name in sorted(names)}
    nothing = np.zeros(len(rows), dtype=np.bool_)
    data = _Benchmark(rows.units, rows.y, columns, nothing, nothing, np.full(len(rows), -1, np.int64), 0)
    dev, test = data.rows_with(*how.dev), data.rows_with(*how.test)
    tuned = any(table.threshold is None for table in how.tables)
    for split, (name, value), mask in (("validation", how.dev, dev), ("test", how.test, test)):
        if not mask.any() and (tuned or split == "test"):
            raise UsageError(
                f"no row is in the {split} split ({name} = {value}); add its file, or give a number as the threshold"
            )
    documents, data.unit[test] = np.unique(rows.units.document.codes[test], return_inverse=True)
    return data._replace(dev=dev, test=test, documents=len(documents))


def _cells(data: _Benchmark, table: Table) -> Iterator[_Cell]:
    """Yield the cells with test rows, in the order of the papers."""
    belongs = np.ones(len(data.gold), dtype=np.bool_)
    for name, value in table.keep:
        belongs &= data.rows_with(name, value)
    for name in table.cells:
        belongs &= np.array([value is not None for value in data.columns[name]], dtype=np.bool_)
    rows = np.flatnonzero(belongs & data.test)
    cells = {tuple(str(data.columns[name][row]) for name in table.cells) for row in rows}
    for values in sorted(cells, key=lambda cell: [(ORDER.index(v) if v in ORDER else -1, v.lower(), v) for v in cell]):
        at = dict(zip(table.cells, values, strict=True))
        test, dev = belongs & data.test, belongs & data.dev
        for name, value in at.items():
            test &= data.rows_with(name, value)
            dev &= data.rows_with(name, value) | (name not in table.tuned)
        yield _Cell(at, dev, test)


# ---- rows of the study ----


def _table_rows(board: _Board, judge: _Judge, thresholds: Sequence[Threshold], result: _Result) -> Iterator[Row]:
    """Yield the rows of the cells and means of a judge."""
    for place, (cell, tuned) in enumerate(zip(board.cells, thresholds, strict=True)):
        scores, gold = judge.scores[cell.test], board.data.gold[cell.test]
        area = auroc(gold, scores, board.data.unit[cell.test])
        positives = int(gold[~np.isnan(scores)].sum())
        about = named(judge.pairs.judge) | board.fields(
            judge.pairs, cell.at, name=judge.name, threshold=tuned.threshold, dev_n=tuned.n, dev_missing=tuned.missing,
            dev_balanced_accuracy=tuned.balanced_accuracy, dev_reason=tuned.reason, positives=positives,
            negatives=area.n - positives, one_class=bool(result.one_class[place]),
        )  # fmt: skip
        why = NO_NEGATIVES if positives else NO_POSITIVES
        if tuned.threshold is None:
            why = f"no threshold: {tuned.reason} among {tuned.n} validation rows"
        if not area.n:
            why = "no test row has a score"
        size: dict[str, Any] = {"n": area.n, "missing": area.missing}
        accuracy = _interval(board, result.values[place], result.samples[:, [place]], undefined=why, **size)
        yield _row(accuracy, about, ACCURACY)
        (samples,) = board.bootstrap.samples(area.weighted, width=area.width)
        value = np.nan if area.value is None else area.value
        yield _row(_interval(board, value, samples[:, None], undefined=area.reason or "", **size), about, AREA)
    for target in board.targets():
        members = target.members
        weights = target.weights(result.sizes, result.values[members])
        n = int(result.sizes[members].sum())
        undefined = [board.cells[number].name for number in members if np.isnan(result.values[number])]
        about = named(judge.pairs.judge) | board.fields(
            judge.pairs, target.at, name=judge.name, weight=str(target.weight), cells=len(members),
            cells_undefined=undefined,
        )  # fmt: skip
        mean = _interval(
            board, averaged(result.values[members], weights).item(), result.samples[:, members], weights,
            undefined="no cell has a value", n=n, missing=target.rows(board) - n,
        )  # fmt: skip
        yield _row(mean, about, MEAN)


_Drawn = tuple[Estimate, dict[str, int]]
"""An estimate, and counts for `details`: resamples without a value or without a cell of a mean."""


def _interval(board: _Board, value: float, samples: Floats, weights: Floats | None = None, **more: Any) -> _Drawn:
    """Return a value with an interval from samples (draws x cells), averaged with weights.

    A value of NaN is undefined. Cells with weight 0 are ignored. An interval of width 0 is not reported as constant,
    because a judge can be correct in all resamples.
    """
    weights = np.ones(samples.shape[1]) if weights is None else weights
    empty = np.isnan(samples[:, weights > 0])
    partial = int((empty.any(axis=1) & ~empty.all(axis=1)).sum())
    known = None if np.isnan(value) else float(value)
    estimate = board.bootstrap.of_samples(known, averaged(samples, weights), **more)
    if estimate.low is not None:
        reasons = [] if estimate.reason in (None, CONSTANT) else [estimate.reason]
        reasons += [f"in {partial} of {board.bootstrap.resamples} resamples, a cell has no value"] if partial else []
        estimate = replace(estimate, reason="; ".join(filter(None, reasons)) or None)
    return estimate, {"draws_undefined": estimate.lost, "draws_partial": partial}


def _row(drawn: _Drawn, about: Mapping[str, Any], statistic: str) -> Row:
    return interval_row(drawn[0], about, statistic=statistic, details=drawn[1])


def averaged(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over the last axis, ignoring NaN, or NaN if all values are NaN.

    >>> averaged(np.array([0.5, 0.8, np.nan]), np.array([1.0, 2.0, 9.0])).round(9).item()
    0.7
    """
    present = np.where(np.isnan(values), 0.0, weights)
    return ratio((np.nan_to_num(values) * present).sum(axis=-1), np.asarray(present.sum(axis=-1)))


class _Test(NamedTuple):
    """A comparison of two judges.

    `contributions` holds the contribution of each document to the difference.
    """

    target: _Target
    pair: PairDifference
    contributions: Floats
    draws: dict[str, int]


def _differences(
    board: _Board, judges: Sequence[_Judge], results: Sequence[_Result], testing: Significance
) -> Iterator[Row]:
    """Yield the comparisons of all pairs of judges on each mean of the table, with one correction.

    If the table has no means, judges are compared on each cell.
    """
    targets = board.targets()
    targets = targets or [_Target([place], cell.at, Weight.CELLS) for place, cell in enumerate(board.cells)]
    family = len(targets) * len(judges) * (len(judges) - 1) // 2
    permutations = max(testing.permutations, enough_permutations(family, testing.alpha))
    flips = sign_flips(board.data.documents, permutations, testing.seed)
    tests: list[_Test] = []
    for (a, first), (b, second) in combinations(zip(judges, results, strict=True), 2):
        lost = np.isnan(first.decisions) | np.isnan(second.decisions)
        both = [board.evaluate(np.where(lost, np.nan, result.decisions)) for result in (first, second)]
        tests += [_tested(board, (a.name, b.name), both[0], both[1], target, flips) for target in targets]
    if not tests:
        return
    p = permutation_p(np.stack([test.contributions for test in tests], axis=1), flips)
    pairs = [
        test.pair if test.pair.difference is None else test.pair._replace(p=float(value))
        for test, value in zip(tests, p, strict=True)
    ]
    method = f"exchange of decisions by document, {flips.total} {'exact' if flips.exact else 'permutations'}"
    for target in targets:
        for test, pair in zip(tests, corrected(pairs, testing.alpha), strict=True):
            if test.target is target:
                about = board.fields(judges[0].pairs, target.at, weight=str(target.weight), method=method)
                yield pair_row(pair, testing.alpha, about, statistic=DIFFERENCE, details=test.draws)


def _tested(
    board: _Board, names: tuple[str, str], first: _Result, second: _Result, target: _Target, flips: Flips
) -> _Test:
    """Return the difference of two judges with an interval, and each document's contribution.

    The contributions sum to the difference. Exchanging the decisions of two judges on a document changes the sign of
    the document's contribution in all cells, so the permutation test is that of paired means.
    """
    members = target.members
    gaps = first.values[members] - second.values[members]
    weights = target.weights(first.sizes, gaps)
    n = int(first.sizes[members].sum())
    estimate, draws = _interval(
        board, averaged(gaps, weights).item(), first.samples[:, members] - second.samples[:, members], weights,
        undefined="no cell has a value of both judges",
    )  # fmt: skip
    contributions = np.zeros(board.data.documents)
    judged = np.zeros(board.data.documents, dtype=np.bool_)
    for number, weight in zip(members, weights, strict=True):
        if weight:
            hits, other_hits = first.counts[:, number], second.counts[:, number]
            # The contribution of each document to the difference of two balanced accuracies (or recalls).
            shares = [
                (hits[:, right] - other_hits[:, right]) / total
                for right, size in ((0, 1), (2, 3))
                if (total := hits[:, size].sum())
            ]
            contributions += weight / weights.sum() * sum(shares) / len(shares)
            judged |= hits.any(axis=1) | other_hits.any(axis=1)
    units = int(judged.sum())
    pair = PairDifference(
        *names, estimate.value, estimate.low, estimate.high, None, None, 0, n, target.rows(board) - n, units,
        least_p(units, None if flips.exact else flips.total), None, estimate.reason, estimate.interval,
    )  # fmt: skip
    return _Test(target, pair, contributions, draws)


# ---- notes ----


def _notes(board: _Board) -> Iterator[str]:
    table, data = board.table, board.data
    one_class = [cell.name for cell in board.cells if len(set(data.gold[cell.test].tolist())) == 1]
    if one_class:
        values = {
            OneClass.UNDEFINED: "no value",
            OneClass.RECALL: "the value is their recall, as in the papers",
        }
        yield f"{table.title}: the test rows of {', '.join(one_class)} have one class: {values[board.how.one_class]}"
    outside = data.test & ~np.any([cell.test for cell in board.cells], axis=0)
    for name, value in table.keep:
        outside &= data.rows_with(name, value)
    if left := int(outside.sum()):
        yield f"{table.title}: {left} test rows without {' or '.join(table.cells)} are left out"
