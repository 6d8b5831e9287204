"""Estimate system scores from many machine judgments and a small random sample of human judgments.

The machine judged every summary, and people judged a random sample. Prediction-powered inference (Angelopoulos et al.,
2023; with the weight of PPI++) estimates the error of the machine on the sample and subtracts this error from the
machine's mean. The estimate is unbiased even if the machine favours some systems (Shen et al., 2023, section 5), and
the interval has nominal coverage. The sample must be *random*: a sample that is selected by the machine's score, or
that consists of the first rows of a file, reintroduces bias. Notes warn of samples that do not look random.

`simulate` tests the coverage of the intervals on fully labelled data. Each draw labels a few random documents and
checks whether the interval contains the human mean over all documents. Documents are drawn with replacement, so that
they represent a population, and the coverage should be nominal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import Level
from summeter.meta.inputs import Gold, JudgeInput, RunLike, context_of
from summeter.meta.measure import pair_fields
from summeter.meta.options import By, CommandLine, GoldAtLeast, Options, Pairs, Selection, study
from summeter.meta.results import Row, Study, interval_row, key_of, merged, named, pair_name
from summeter.meta.sample import Sample
from summeter.meta.selection import Group, all_pairs, groups, meta_input, summary_groups
from summeter.pages.numbers import count
from summeter.records import UsageError, judge_names
from summeter.runs.run import CascadeSample, RunFolder
from summeter.stats import Bootstrap, Estimate, correlate, labels_needed, ppi_mean
from summeter.stats.base import Floats, Labels, codes, generator, split_rows, undefined
from summeter.tables import interval, signed

STUDY = "estimate"
SMALL = 30
"""Number of labels below which a note warns of a small sample."""
RESAMPLES = 2000
"""Number of resamples for the intervals of the machine mean and of the coverage."""
SURE = 0.001
"""Significance level of the tests for samples that are not random, one test per system."""


class IntervalOptions(Options):
    """Settings of prediction-powered intervals."""

    confidence: float = Field(0.95, gt=0, lt=1, description="Confidence level of the intervals.")
    tuned: Annotated[bool, CommandLine(("--tuned/--plain",))] = Field(
        default=True, description="Weight the machine by how well it predicts people (PPI++), or use the weight 1."
    )


class LastJudgeOptions(IntervalOptions, Pairs, By):
    """The options of `estimate_last_judge`."""

    power: float = Field(
        0.8, gt=0, lt=1, description="Power with which the planned number of labels detects the difference."
    )
    difference: float | None = Field(
        None, gt=0, description="Difference to plan for. Default: the estimated difference."
    )


class EstimateOptions(Selection, GoldAtLeast, LastJudgeOptions):
    """The options of `estimate`."""


@study(EstimateOptions)
def estimate(run: RunLike, gold: Gold, options: EstimateOptions) -> Study:
    """Estimate mean human scores from a judge and few human labels.

    The estimates are unbiased if the labelled summaries are a random sample (prediction-powered inference).

    Rows have the study "estimate". Each judge and system has the rows `ppi_mean` (the estimate, from `n` labelled
    summaries; `missing` summaries have no machine score; `details` has the number `unlabelled`, the `weight` of the
    machine, and `narrower`, the width of the interval relative to that from labels alone), `labelled_mean` (from labels
    alone), `machine_mean` (from machine scores alone) and `machine_bias` (machine minus people on the sample). Each
    pair of systems ("a-b") has the rows `ppi_difference`, from documents labelled for both systems (`details.settled`
    is based on an interval with Bonferroni correction for the number of pairs), and `labels_needed`, the number of
    labelled documents needed to detect the difference with the planned power.

    Raises UsageError if people and the machine have nothing in common, or if a system in `pairs` is unknown.
    """
    read = meta_input(run, gold, options)
    if read.judge.context.domains:
        # The gold can have labelled documents only; the run has all documents.
        read = read._replace(context=read.judge.context)
    rows: list[Row] = []
    notes: list[str] = []
    matrices = summary_groups(read, options, options.by)
    names = judge_names(part.sample.judge.key for part in matrices)
    for matrix in matrices:
        systems = matrix.grid.systems
        for system in systems:
            rows += _system_rows(matrix, system, options)
        rows += _pair_rows(matrix, options)
        notes += _warnings(matrix, systems, names[matrix.sample.judge.key])
    verdicts = [_verdict(row, names[key_of(row)]) for row in rows if row.statistic == "ppi_difference"]
    return Study(STUDY, rows, [*notes, *verdicts])


@study(LastJudgeOptions)
def estimate_last_judge(run: RunFolder, samples: Iterable[CascadeSample], options: LastJudgeOptions) -> Study:
    """Estimate each system's mean score by the last judge of a cascade from a random sample.

    `samples` are the random samples of the cascades of the run (`run.cascade_samples()`). The last judge's judgments of
    the sample are used as human labels, and the cascade's judgments without the sample as those of the machine. The
    rows are those of `estimate`; `gold_signature` begins with the name of the last judge. Raises UsageError if there
    are no samples.
    """
    studies = [
        estimate(
            JudgeInput(
                sample.machine,
                {sample.cascade.name: sample.cascade.reduce},
                context_of(run.data),
                runs={run.folder.name: np.arange(len(sample.machine))},
            ),
            sample.last,
            **dict(options),
        )
        for sample in samples
    ]
    if not studies:
        raise UsageError(
            f"{run.folder} has no cascade with a random sample; use a cascade with sample=300, for example"
        )
    return Study.join(studies)


def _of(group: Group, system: str) -> Sample:
    return group.sample.take(group.sample.units.system.equal(system))


def _row(group: Group, estimate: Estimate, statistic: str, **more: Any) -> Row:
    about = merged(named(group.sample.judge, group.sample.gold), group.fields(), study=STUDY, level=Level.SYSTEM.value)
    return interval_row(estimate, about, more, statistic=statistic)


def _system_rows(group: Group, system: str, options: IntervalOptions) -> Iterator[Row]:
    part = _of(group, system)
    documents = part.units.document.codes
    got = ppi_mean(part.y, part.x, documents, options.confidence, options.tuned)
    details = {"unlabelled": got.unlabelled, "weight": got.weight, "clusters": got.estimate.clusters}
    # Labels are missing by design, so `missing` counts only missing machine scores.
    yield _row(group, got.estimate, "ppi_mean", system=system, details={**details, "narrower": got.narrower})
    # This also counts labels of summaries without a machine score.
    alone = ppi_mean(part.y, np.zeros(len(part)), documents, options.confidence).human
    yield _row(group, alone, "labelled_mean", system=system, missing=len(part) - alone.n)
    machine = Bootstrap(documents, RESAMPLES, options.confidence).mean(part.x)
    yield _row(group, machine, "machine_mean", system=system)
    bias = ppi_mean(part.x - part.y, np.zeros(len(part)), documents, options.confidence).human
    yield _row(group, bias, "machine_bias", system=system, missing=got.estimate.missing)


def _pair_rows(matrix: Group, options: LastJudgeOptions) -> Iterator[Row]:
    """Yield the rows on the differences of pairs of systems."""
    grid = matrix.grid
    pairs = options.pairs_of(grid.systems) or list(combinations(grid.systems, 2))
    level = 1 - (1 - options.confidence) / len(pairs) if pairs else options.confidence  # Bonferroni correction
    for pair in pairs:
        first, second = map(grid.systems.index, pair)
        name = pair_name(*pair)
        human, machine = (side[first] - side[second] for side in (grid.gold, grid.judge))
        got = ppi_mean(human, machine, None, options.confidence, options.tuned)
        wide = ppi_mean(human, machine, None, level, options.tuned).estimate
        settled = None if wide.low is None or wide.high is None else bool(wide.low > 0 or wide.high < 0)
        yield _row(
            matrix, got.estimate, "ppi_difference", pair=name, reason="no document is labelled for both systems",
            details={"unlabelled": got.unlabelled, "weight": got.weight, "human": got.human.value,
                     "machine_bias": got.bias, "narrower": got.narrower, "low_adjusted": wide.low,
                     "high_adjusted": wide.high, "comparisons": len(pairs), "settled": settled},
        )  # fmt: skip
        find = options.difference if options.difference is not None else abs(got.estimate.value or 0.0)
        counts: dict[str, Any] = {"n": got.estimate.n, "missing": got.estimate.missing}
        if got.estimate.n < 2 or not find:
            few = "fewer than 2 documents have labels for both systems" if got.estimate.n < 2 else "the difference is 0"
            yield _row(matrix, undefined(few, **counts), "labels_needed", pair=name)
            continue
        plan = labels_needed(human, machine, find, level, options.power)
        about = {"pair": name, **counts, "details": {"difference": find, "power": options.power}}
        yield _row(matrix, plan, "labels_needed", **about)


def _verdict(row: Row, judge: str) -> str:
    if row.value is None or row.low is None or row.high is None:
        return f"{row.pair} on {row.gold_aspect}: {row.reason}"
    verdict = "can be told apart" if row.details["settled"] else "cannot be told apart"
    many = row.details["comparisons"]
    after = "" if many == 1 else f", interval widened for {many} pairs"
    return (
        f"{row.pair} on {row.gold_aspect}: {signed(row.value, 2)} {interval(row.low, row.high, 2)} from {row.n} "
        f"labelled documents and {row.details['unlabelled']} more by {judge}; the two {verdict}{after}"
    )


def _warnings(group: Group, systems: Sequence[str], judge: str) -> Iterator[str]:
    where = f" in {group.value}" if group.column else ""
    for system in systems:
        part = _of(group, system)
        about = f"{judge}, {part.gold.aspect}{where}, {system}"
        yield from (f"warning: {about}: {text}" for text in sample_warnings(part.y, part.x))
    labelled = group.sample.take(~np.isnan(group.sample.y))
    every, seen = (
        {value for value in part.units.column("domain").labels() if value is not None}
        for part in (group.sample, labelled)
    )
    if seen and every - seen:
        lost = ", ".join(sorted(every - seen))
        yield f"warning: {group.sample.gold.aspect}{where}: no label in the domains {lost}; is the sample random?"


def sample_warnings(human: Floats, machine: Floats) -> list[str]:
    """Return warnings about a sample that is small or does not look random.

    The checks are on the number of labels, on whether the first documents were labelled, and on whether the machine
    scores of labelled and other documents differ. `human` is NaN for documents without a label.

    >>> sample_warnings(np.array([1.0, np.nan, np.nan]), np.array([0.5, 0.4, 0.3]))
    ['only 1 label: no interval']
    """
    labelled = ~np.isnan(human)
    n, rest = int(labelled.sum()), int((~labelled).sum())
    warnings = []
    if n < SMALL:
        few = "no interval" if n < 2 else f"fewer than {SMALL}, so the interval relies on Student's t"
        warnings.append(f"only {count(n, 'label')}: {few}")
    if n < 5 or rest < 5:
        return warnings
    if bool(labelled[:n].all()):
        warnings.append(f"only the first {n} documents are labelled; draw a random sample instead")
    gap = correlate(labelled.astype(np.float64), machine, "spearman")
    if gap.p is not None and gap.value is not None and gap.p < SURE:
        side = "higher" if gap.value > 0 else "lower"
        warnings.append(
            f"machine scores of labelled summaries are {side} than those of others (Spearman {signed(gap.value, 2)}); "
            "the sample does not look random, so the estimate may be biased"
        )
    return warnings


# ---- simulated coverage ----


class SimulateOptions(Selection, GoldAtLeast, IntervalOptions):
    """The options of `simulate`."""

    draws: int = Field(500, ge=1, description="Number of simulated draws.")
    seed: int = Field(0, description="Random seed.")


def coverage(
    human: Floats,
    machine: Floats,
    labels: int,
    clusters: Labels | None = None,
    *,
    draws: int = 500,
    seed: int = 0,
    confidence: float = 0.95,
    tuned: bool = True,
) -> Estimate:
    """Return the coverage of estimates from `labels` labelled clusters (documents), simulated in `draws` draws.

    `details` holds the mean `width` of the intervals, and `human_coverage` and `human_width`, those of intervals from
    labels alone; the mean error (`bias`) of the estimates, the error of the machine mean over all documents
    (`machine_bias`), and the `truth`. Rows in which either judgment is NaN are left out. Raises UsageError unless
    `labels` is at least 2 and less than the number of clusters.
    """
    rng = generator(seed)
    both = ~(np.isnan(human) | np.isnan(machine))
    human, machine = human[both], machine[both]
    cluster = np.arange(len(both))[both] if clusters is None else codes(clusters)[both]
    units = [rows for _, rows in split_rows(np.unique(cluster, return_inverse=True)[1].astype(np.int64))]
    if not 2 <= labels < len(units):
        raise UsageError(
            f"labels must be at least 2 and less than the number of documents ({len(units)}), not {labels}"
        )
    truth = float(human.mean())
    size = len(units)
    simulated = []
    for _ in range(draws):
        drawn = [units[pick] for pick in rng.integers(0, size, size)]
        rows = np.concatenate(drawn)
        of_draw = np.repeat(np.arange(size), [len(unit) for unit in drawn])
        people = np.where(of_draw < labels, human[rows], np.nan)
        got = ppi_mean(people, machine[rows], of_draw, confidence, tuned)
        # The interval of constant labels has a width of 0.
        ends = [each.value if end is None else end for each in got[:2] for end in (each.low, each.high)]
        simulated.append([np.nan if value is None else value for value in (*ends, got.estimate.value)])
    low, high, human_low, human_high, value = np.array(simulated).T
    inside = ((low <= truth) & (truth <= high)).astype(np.float64)
    alone = (human_low <= truth) & (truth <= human_high)
    rate = Bootstrap(len(inside), RESAMPLES, seed=seed, by="draw").mean(inside)
    details = {
        "width": float((high - low).mean()), "human_width": float((human_high - human_low).mean()),
        "human_coverage": float(alone.mean()), "bias": float((value - truth).mean()),
        "machine_bias": float(machine.mean() - truth), "truth": truth,
    }  # fmt: skip
    return replace(rate, details=details, reason=None)


@study(SimulateOptions)
def simulate(run: RunLike, gold: Gold, labels: int, options: SimulateOptions) -> Study:
    """Simulate estimates from `labels` labelled documents on fully labelled data.

    The estimates are simulated for all systems together and for each system. Rows have the study "estimate" and the
    statistics `coverage` (the share of intervals that contain the human mean; `n` is the number of draws) and
    `width_ratio` (the mean width of the intervals relative to that from labels alone).
    """
    read = meta_input(run, gold, options)
    rows: list[Row] = []
    for pairs in all_pairs(read, Level.SUMMARY, options):
        all_systems, *each_system = groups(pairs, "system")
        for group in (all_systems, *(each_system if len(each_system) > 1 else ())):
            part = group.sample
            about = merged(pair_fields(part), group.fields(), study=STUDY)
            try:
                got = coverage(
                    part.y, part.x, labels, part.units.document.codes, draws=options.draws, seed=options.seed,
                    confidence=options.confidence, tuned=options.tuned,
                )  # fmt: skip
            except UsageError as error:
                rows.append(interval_row(undefined(str(error), missing=part.missing), about, statistic="coverage"))
                continue
            width, human_width = got.details["width"], got.details["human_width"]
            details = {**got.details, "labels": labels, "draws": options.draws, "seed": options.seed}
            rate = replace(got, missing=part.missing)
            ratio = Estimate(width / human_width if human_width else 1.0, options.draws, part.missing)
            rows.append(interval_row(rate, about, statistic="coverage", details=details))
            rows.append(interval_row(ratio, about, statistic="width_ratio", details=details))
    return Study(STUDY, rows, [f"coverage: {options.draws} draws of {labels} labelled documents each"])
