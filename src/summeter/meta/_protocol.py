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
from functools import cached_property
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.meta._compare import pair_row
from summeter.meta.inputs import Gold, RunLike, judge_input
from summeter.meta.options import Selection, Significance, study
from summeter.meta.results import Row, Study, interval_row, merged, named, unique_labels
from summeter.meta.sample import Sample
from summeter.meta.selection import all_pairs, meta_input
from summeter.records import UsageError
from summeter.scoring.scores import COMPOSITE
from summeter.stats import (
    Bootstrap,
    Estimate,
    Threshold,
    auroc,
    corrected,
    decide,
    permuted_differences,
    tune_threshold,
)
from summeter.stats.base import CONSTANT, Bools, Floats, Ints, ratio
from summeter.stats.classification import NO_NEGATIVES, NO_POSITIVES, accuracy_of, confusion_by_unit
from summeter.stats.thresholds import Candidates

STUDY = "protocol"
FAITHFULNESS = "faithfulness"
ACCURACY, AREA = "balanced_accuracy", "auroc"
MEAN, DIFFERENCE = "balanced_accuracy_mean", "balanced_accuracy_difference"
ORDER = ("SOTA", "XFORMER", "OLD")
"""Order of groups in the tables of AggreFact. Other values are sorted alphabetically."""


Weight = Literal["rows", "cells"]
"""Weight of a cell in a mean: the number of the cell's test rows, or 1."""
OneClass = Literal["recall", "undefined"]
"""Value of a cell whose test rows all have the same class.

`recall`: the recall of that class, as in scikit-learn's balanced accuracy and the tables of the papers. `undefined`: no
value, with a reason.
"""


@dataclass(frozen=True)
class Table:
    """A table with one cell per combination of values of the columns `cells`.

    `keep` restricts the rows by (column, value). The threshold of a cell is `threshold` if given; otherwise it is tuned
    on the validation rows with the cell's values in the columns `tuned` (if `tuned` is empty, the table has one
    threshold). A mean is over the cells with equal values in the columns `means`, or over all cells if it is empty;
    with None, the table has no means.
    """

    name: str
    title: str
    cells: tuple[str, ...]
    tuned: tuple[str, ...]
    keep: tuple[tuple[str, str], ...] = ()
    means: tuple[str, ...] | None = None
    weight: Weight = "cells"
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
    one_class: OneClass = "recall"

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
        means=("origin", "category"),
        weight="rows",
    ),
    Table(
        "sota",
        "AggreFact-SOTA, one threshold per origin",
        ("origin",),
        ("origin",),
        keep=(("category", "SOTA"),),
        means=(),
    ),
)
_LLM_AGGREFACT = Table("per_data_set", "LLM-AggreFact, threshold .5", ("dataset",), (), means=(), threshold=0.5)
_SUMMAC = Table("per_data_set", "SummaC benchmark, a threshold per dataset", ("dataset",), ("dataset",), means=())
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
    joined = [pairs for run in runs for pairs in _pairs(run, gold, options.aspects)]
    if not joined:
        raise UsageError("no judge has scores of summaries; give a run on these data")
    rows: list[Row] = []
    notes: list[str] = []
    for board in _boards(joined, how, options):
        table, votes = board.table, board.votes
        if not board.cells:
            notes.append(f"{table.title}: the data have no test rows of this table")
            continue
        results: dict[str, _Result] = {}
        table_rows: list[Row] = []
        for rater, name, scores in zip(votes.raters, unique_labels(votes.raters[:-1]), votes.matrix, strict=False):
            thresholds = [board.threshold(scores, cell) for cell in board.cells]
            decisions = np.full((len(scores), len(board.cells)), np.nan)
            for place, (cell, tuned) in enumerate(zip(board.cells, thresholds, strict=True)):
                if tuned.threshold is not None:
                    decisions[cell.test, place] = decide(scores[cell.test], tuned.threshold)
            results[name] = board.evaluate(decisions)
            about = {**named(rater), "details": {"name": name}}
            table_rows += _cell_rows(board, scores, thresholds, results[name], about)
            table_rows += _mean_rows(board, results[name], about)
        table_rows += _differences(board, results, options)
        rows += table_rows
        notes += _notes(board)
        worst = max(table_rows, key=lambda row: int(row.details["draws_undefined"]))
        if lost := worst.details["draws_undefined"]:
            where = "/".join(worst.details["cell"].values()) or "the mean"
            notes.append(
                f"{table.title}: intervals leave out resamples without a value, at most {lost} of "
                f"{board.bootstrap.resamples} ({worst.statistic} of {where}); see draws_undefined"
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


class _Cell(NamedTuple):
    """The test rows of a cell, the rows on which its threshold is tuned, and its place in the table."""

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


@dataclass(frozen=True)
class _Board:
    """A table and the labelled rows, with the votes of all judges and of people (the last rater).

    `dev` and `test` are masks of rows. `unit` is the number of the document (the resampled unit) of each test row, and
    -1 for other rows.
    """

    how: Protocol
    table: Table
    votes: Sample
    dev: Bools
    test: Bools
    unit: Ints
    bootstrap: Bootstrap

    @cached_property
    def kept(self) -> Bools:
        """Mask of the rows that belong to the table."""
        kept = np.ones(len(self.votes), dtype=np.bool_)
        for name, value in self.table.keep:
            kept &= self.votes.units.column(name).equal(value)
        return kept

    @cached_property
    def cells(self) -> list[_Cell]:
        """Cells with test rows, in the order of the papers."""
        columns = {name: self.votes.units.column(name) for name in self.table.cells}
        belongs = self.kept & ~np.any([column.equal(None) for column in columns.values()], axis=0)
        rows = belongs & self.test
        names = set(zip(*(column.take(rows).labels() for column in columns.values()), strict=True))
        cells = []
        for values in sorted(names, key=lambda at: [(ORDER.index(v) if v in ORDER else -1, v.lower(), v) for v in at]):
            at = dict(zip(columns, values, strict=True))
            test, dev = rows.copy(), belongs & self.dev
            for name, value in at.items():
                inside = columns[name].equal(value)
                test &= inside
                dev &= inside | (name not in self.table.tuned)
            cells.append(_Cell(at, dev, test))
        return cells

    def threshold(self, scores: Floats, cell: _Cell) -> Threshold:
        """Return the threshold of a cell: the fixed threshold of the table, or a tuned threshold."""
        if self.table.threshold is not None:
            return Threshold(self.table.threshold, None, 0, 0, None)
        return tune_threshold(self.votes.y[cell.dev], scores[cell.dev], self.how.candidates)

    def evaluate(self, decisions: Floats) -> _Result:
        """Return the results of decisions, with the protocol's rule for cells with a single class."""
        gold, units = self.votes.y, self.bootstrap.units
        counts = np.stack([confusion_by_unit(gold, column, self.unit, units) for column in decisions.T], axis=1)
        totals = counts.sum(axis=0)
        recalls = ((totals[:, 1] > 0) != (totals[:, 3] > 0)) & (self.how.one_class == "recall")
        (samples,) = self.bootstrap.samples(
            lambda weights: accuracy_of(np.tensordot(weights, counts, axes=1), recalls), width=counts[0].size
        )
        return _Result(decisions, counts, accuracy_of(totals, recalls), samples, recalls)

    def fields(self, at: Mapping[str, str], **details: Any) -> dict[str, Any]:
        """Return the common fields of rows about a cell or a mean."""
        group = {"by": "dataset", "group": at["dataset"]} if "dataset" in at else {}
        gold = self.votes.gold
        return {
            "study": STUDY, "gold_aspect": gold.aspect, "gold_signature": gold.signature,
            "level": Level.SUMMARY.value, "domain": at.get("origin"), "category": at.get("category"),
            "details": {"table": self.table.name, "title": self.table.title, "cell": at, **group, **details},
        }  # fmt: skip

    def rows_of(self, members: Sequence[int]) -> int:
        """Return the number of test rows in the cells of a mean."""
        return sum(int(self.cells[number].test.sum()) for number in members)

    def weights(self, sizes: Floats, values: Floats) -> Floats:
        """Return the weight of each cell of a mean, 0 for cells without a value."""
        weights = sizes if self.table.weight == "rows" else np.ones(len(sizes))
        return np.where(np.isnan(values), 0.0, weights)

    def means(self) -> list[tuple[dict[str, str], list[int]]]:
        """Return the place in the table and the numbers of the cells of each mean."""
        over = self.table.means
        if over is None:
            return []
        members: dict[tuple[str, ...], list[int]] = {}
        for number, cell in enumerate(self.cells):
            members.setdefault(tuple(cell.at[name] for name in over), []).append(number)
        return [(dict(zip(over, key, strict=True)), cells) for key, cells in members.items()]


def _boards(joined: Sequence[Sample], how: Protocol, options: ProtocolOptions) -> list[_Board]:
    """Return the tables with the labelled rows, given each judge joined with people.

    Raises UsageError if a column of the protocol is missing.
    """
    labelled = joined[0].take(~np.isnan(joined[0].y))
    if not np.isin(labelled.y, (0.0, 1.0)).all():
        raise UsageError("human values of faithfulness are not all 0 or 1; a protocol needs a label for each summary")
    units = labelled.units
    for table in how.tables:
        for name in (*table.cells, *table.tuned, *(name for name, _ in table.keep)):
            units.column(name)  # raises if the column is unknown
    masks = [units.column(name).equal(value) for name, value in (how.dev, how.test)]
    tuned = any(table.threshold is None for table in how.tables)
    for split, (name, value), mask in zip(("validation", "test"), (how.dev, how.test), masks, strict=True):
        if not mask.any() and (tuned or split == "test"):
            raise UsageError(
                f"no row is in the {split} split ({name} = {value}); add its file, or give a number as the threshold"
            )
    dev, test = masks
    documents, unit = np.unique(units.document.codes[test], return_inverse=True)
    of_row = np.full(len(units), -1, np.int64)
    of_row[test] = unit
    values = np.stack([*(pairs.values_on(units) for pairs in joined), labelled.y])
    votes = Sample.of_values(units, [*(pairs.judge for pairs in joined), labelled.gold], values)
    bootstrap = replace(options.resampling(len(documents)), by="document (thresholds held)")
    return [_Board(how, table, votes, dev, test, of_row, bootstrap) for table in how.tables]


# ---- rows of the study ----


def _cell_rows(
    board: _Board, scores: Floats, thresholds: Sequence[Threshold], result: _Result, judge: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield the balanced accuracy and the AUROC of a judge in each cell."""
    for place, (cell, tuned) in enumerate(zip(board.cells, thresholds, strict=True)):
        gold = board.votes.y[cell.test]
        area = auroc(gold, scores[cell.test], board.unit[cell.test])
        positives = int(gold[~np.isnan(scores[cell.test])].sum())
        about = merged(judge, board.fields(
            cell.at, threshold=tuned.threshold, dev_n=tuned.n, dev_missing=tuned.missing,
            dev_balanced_accuracy=tuned.balanced_accuracy, dev_reason=tuned.reason, positives=positives,
            negatives=area.n - positives, one_class=bool(result.one_class[place]),
        ))  # fmt: skip
        why = NO_NEGATIVES if positives else NO_POSITIVES
        if tuned.threshold is None:
            why = f"no threshold: {tuned.reason} among {tuned.n} validation rows"
        if not area.n:
            why = "no test row has a score"
        size: dict[str, Any] = {"n": area.n, "missing": area.missing}
        accuracy = _interval(board, result.values[place], result.samples[:, [place]], undefined=why, **size)
        yield interval_row(accuracy, about, statistic=ACCURACY)
        (samples,) = board.bootstrap.samples(area.weighted, width=area.width)
        value = np.nan if area.value is None else area.value
        estimate = _interval(board, value, samples[:, None], undefined=area.reason or "", **size)
        yield interval_row(estimate, about, statistic=AREA)


def _mean_rows(board: _Board, result: _Result, judge: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the means over cells of a judge."""
    for at, members in board.means():
        weights = board.weights(result.sizes[members], result.values[members])
        n = int(result.sizes[members].sum())
        undefined = [board.cells[number].name for number in members if np.isnan(result.values[number])]
        fields = board.fields(at, weight=board.table.weight, cells=len(members), cells_undefined=undefined)
        mean = _interval(
            board, averaged(result.values[members], weights).item(), result.samples[:, members], weights,
            undefined="no cell has a value", n=n, missing=board.rows_of(members) - n,
        )  # fmt: skip
        yield interval_row(mean, judge, fields, statistic=MEAN)


def _interval(board: _Board, value: float, samples: Floats, weights: Floats | None = None, **more: Any) -> Estimate:
    """Return a value with an interval from samples (draws x cells), averaged with weights.

    A value of NaN is undefined. Cells with weight 0 are ignored. An interval of width 0 is not reported as constant,
    because a judge can be correct in all resamples. `details` has the numbers of resamples without a value, and without
    the value of a cell.
    """
    weights = np.ones(samples.shape[1]) if weights is None else weights
    empty = np.isnan(samples[:, weights > 0])
    partial = int((empty.any(axis=1) & ~empty.all(axis=1)).sum())
    known = None if np.isnan(value) else float(value)
    bootstrap = board.bootstrap
    estimate = bootstrap.of_samples(known, averaged(samples, weights), **more)
    if estimate.low is not None:
        reasons = [] if estimate.reason in (None, CONSTANT) else [estimate.reason]
        reasons += [f"in {partial} of {bootstrap.resamples} resamples, a cell has no value"] if partial else []
        estimate = replace(estimate, reason="; ".join(filter(None, reasons)) or None)
    return replace(estimate, details={"draws_undefined": estimate.lost, "draws_partial": partial})


def averaged(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over the last axis, ignoring NaN, or NaN if all values are NaN.

    >>> averaged(np.array([0.5, 0.8, np.nan]), np.array([1.0, 2.0, 9.0])).round(9).item()
    0.7
    """
    present = np.where(np.isnan(values), 0.0, weights)
    return ratio((np.nan_to_num(values) * present).sum(axis=-1), np.asarray(present.sum(axis=-1)))


def _differences(board: _Board, results: Mapping[str, _Result], testing: Significance) -> Iterator[Row]:
    """Yield the comparisons of all pairs of judges on each mean of the table, with one correction.

    If the table has no means, judges are compared on each cell. Exchanging the decisions of two judges on a document
    changes the sign of the document's contribution to the difference in all cells, so the permutation test is that of
    paired means.
    """
    if len(results) < 2:
        return
    means = board.means() or [(cell.at, [place]) for place, cell in enumerate(board.cells)]
    weight = board.table.weight if board.table.means is not None else "cells"
    compared = []
    for (a, first), (b, second) in combinations(results.items(), 2):
        lost = np.isnan(first.decisions) | np.isnan(second.decisions)
        one, two = (board.evaluate(np.where(lost, np.nan, result.decisions)) for result in (first, second))
        compared.append(((a, b), one, two))
    tests = list(product(means, compared))
    estimates: list[Estimate] = []
    contributions = np.full((board.bootstrap.units, len(tests)), np.nan)
    for place, ((_, members), (_, first, second)) in enumerate(tests):
        gaps = first.values[members] - second.values[members]
        weights = board.weights(first.sizes[members], gaps)
        n = int(first.sizes[members].sum())
        estimates.append(_interval(
            board, averaged(gaps, weights).item(), first.samples[:, members] - second.samples[:, members], weights,
            undefined="no cell has a value of both judges", n=n, missing=board.rows_of(members) - n,
        ))  # fmt: skip
        for number, share in zip(members, weights / max(weights.sum(), 1.0), strict=True):
            if share:
                hits, other_hits = first.counts[:, number], second.counts[:, number]
                # The contribution of each document to the difference of two balanced accuracies (or recalls).
                recalls = [
                    (hits[:, right] - other_hits[:, right]) / total
                    for right, size in ((0, 1), (2, 3))
                    if (total := hits[:, size].sum())
                ]
                judged = hits.any(axis=1) | other_hits.any(axis=1)
                before = np.nan_to_num(contributions[judged, place])
                contributions[judged, place] = before + (share * sum(recalls) / len(recalls))[judged]
    names = [names for _, (names, _, _) in tests]
    tested = permuted_differences(names, contributions, testing.alpha, len(tests), testing.permutations, testing.seed)
    pairs = [
        pair._replace(
            difference=got.value, low=got.low, high=got.high, n=got.n, missing=got.missing, reason=got.reason,
            text=got.interval, p=None if got.value is None else pair.p,
        )
        for pair, got in zip(tested, estimates, strict=True)
    ]  # fmt: skip
    for ((at, _), _), pair, got in zip(tests, corrected(pairs, testing.alpha), estimates, strict=True):
        about = board.fields(at, weight=weight, method=f"exchange of decisions by document: {pair.method}")
        yield pair_row(pair, testing.alpha, about, statistic=DIFFERENCE, details=got.details)


# ---- notes ----


def _notes(board: _Board) -> Iterator[str]:
    table = board.table
    one_class = [cell.name for cell in board.cells if len(set(board.votes.y[cell.test].tolist())) == 1]
    if one_class:
        value = "no value" if board.how.one_class == "undefined" else "the value is their recall, as in the papers"
        yield f"{table.title}: the test rows of {', '.join(one_class)} have one class: {value}"
    outside = board.test & board.kept & ~np.any([cell.test for cell in board.cells], axis=0)
    if left := int(outside.sum()):
        yield f"{table.title}: {left} test rows without {' or '.join(table.cells)} are left out"
