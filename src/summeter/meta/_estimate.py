"""Few labels, honest means: a system's score from many machine judgments and a small random sample of human ones.

The machine judged every summary; people judged a random sample. The machine's error is measured on the sample and
taken out of its mean (prediction-powered inference: Angelopoulos et al., 2023; its weight tuned as in PPI++), so the
score is unbiased whichever systems the machine favours (Shen et al., 2023, section 5), and the interval covers at its
stated rate. The sample must be *random*: labels chosen by the machine's score, or the first rows of a file, bring
the bias back. What can be seen of that is told in the notes.

`simulate` checks the intervals on data that people judged in full: each draw pretends that only a few randomly chosen
documents were labelled and looks whether the estimate's interval holds people's mean over everything. "population"
draws the documents anew, with replacement: the data stand for all documents like them, and the rate should be the
stated one. "data" keeps the documents and draws only which are labelled: the question is then about these very
documents, less can vary, and the intervals are on the safe side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from summeter.choices import Level, Population
from summeter.meta.inputs import Gold, JudgeInput, RunLike, context_of
from summeter.meta.measure import pair_fields
from summeter.meta.options import By, Choice, CommandLine, GoldAtLeast, Options, Pairs, Selection, study
from summeter.meta.results import Row, Study, interval_row, merged, named, pair_name
from summeter.meta.sample import Sample
from summeter.meta.selection import Group, all_pairs, meta_input, summary_groups
from summeter.records import JudgeKey, UsageError, judge_names
from summeter.runs.run import CascadeSample, RunFolder
from summeter.stats import Bootstrap, Estimate, Status, correlate, labels_needed, ppi_mean
from summeter.stats.base import Floats, Labels, codes, generator, split_rows, undefined
from summeter.tables import interval

STUDY = "estimate"
SMALL = 30
"""Fewer labelled documents than this are called few."""
RESAMPLES = 2000
"""Of the bootstrap of the machine's mean, and of a rate of coverage."""
SURE = 0.001
"""A p-value under which a sample is said not to look random (there is one look a system)."""


class IntervalOptions(Options):
    """How a prediction-powered interval is made."""

    confidence: float = Field(0.95, gt=0, lt=1, description="Level of the intervals.")
    tuned: Annotated[bool, CommandLine(("--tuned/--plain",))] = Field(
        default=True, description="Weigh the machine by how well it predicts people (PPI++), else give it the weight 1."
    )


class LastJudgeOptions(IntervalOptions, Pairs, By):
    """The options of `estimate_last_judge`."""

    power: float = Field(
        0.8, gt=0, lt=1, description="Probability of finding the difference that the number of labels is planned for."
    )
    difference: float | None = Field(None, gt=0, description="The difference to plan for; default: the one estimated.")


class EstimateOptions(Selection, GoldAtLeast, LastJudgeOptions):
    """The options of `estimate`."""


@study(EstimateOptions)
def estimate(run: RunLike, gold: Gold, options: EstimateOptions) -> Study:
    """Estimate mean human scores from a judge and few human labels.

    The estimates are unbiased if the labelled summaries are a random sample (prediction-powered inference).
    Rows of the study "estimate", for each judge and system: `ppi_mean` (the estimate of people's mean, had they read
    everything; `n` labelled summaries,
    `missing` without a machine score, `details.unlabelled`, `.weight`, `.narrower`: its interval's width as a share
    of that from labels alone), `labelled_mean` (of the labels, which are not people's in `estimate_last_judge`) and
    `machine_mean` (each alone), and `machine_bias` (machine minus people
    on the sample). For each pair of systems ("a-b"): `ppi_difference`, from documents labelled for both, with
    `details.settled` by the interval widened for the number of pairs (Bonferroni), and `labels_needed`, how many
    labelled documents would find the difference with the power planned for.

    Raises UsageError where people and the machine have nothing in common, or for an unknown system in `pairs`.
    """
    read = meta_input(run, gold, options)
    if read.judge.context.domains:
        # People's data may hold the labelled documents only; the run knows all of them.
        read = read._replace(context=read.judge.context)
    rows: list[Row] = []
    notes: list[str] = []
    matrices = summary_groups(read, options, options.by)
    names = judge_names(JudgeKey(scores.judge, scores.signature) for scores in (part.sample.judge for part in matrices))
    for matrix in matrices:
        systems = matrix.grid.systems
        for system in systems:
            rows += _system_rows(matrix, system, options)
        rows += _pair_rows(matrix, options)
        judge = matrix.sample.judge
        notes += _warnings(matrix, systems, names[JudgeKey(judge.judge, judge.signature)])
    verdicts = [
        _verdict(row, names[JudgeKey(row.judge or "", row.signature or "")])
        for row in rows
        if row.statistic == "ppi_difference"
    ]
    return Study(STUDY, rows, [*notes, *verdicts])


@study(LastJudgeOptions)
def estimate_last_judge(run: RunFolder, samples: Iterable[CascadeSample], options: LastJudgeOptions) -> Study:
    """Estimate what the last judge of a cascade would give each system on the mean, had it judged everything.

    `samples` are the random samples of the run's cascades: `run.cascade_samples()`. `estimate`, with the last judge's
    judgments of the sample in the place of people's, and what the cascade would say without that sample as the
    machine's. Rows as those of `estimate`; `gold_signature` begins with the last judge's name. Raises UsageError where
    there are no samples.
    """
    studies = [
        estimate(
            JudgeInput(sample.machine, {sample.cascade.name: sample.cascade.reduce}, context_of(run.data)),
            sample.last,
            **dict(options),
        )
        for sample in samples
    ]
    if not studies:
        raise UsageError(f"{run.folder} holds no cascade with a sample that all its judges judged (sample=300, say)")
    return Study.join(studies)


def _of(group: Group, system: str) -> Sample:
    return group.sample.take(group.sample.units.system.equal(system))


def _row(group: Group, estimate: Estimate, statistic: str, **more: Any) -> Row:
    """A row about these summaries."""
    about = merged(named(group.sample.judge, group.sample.gold), group.fields(), study=STUDY, level=Level.SYSTEM.value)
    return interval_row(estimate, about, more, statistic=statistic)


def _system_rows(group: Group, system: str, options: IntervalOptions) -> Iterator[Row]:
    part = _of(group, system)
    documents = part.units.document.codes
    got = ppi_mean(part.y, part.x, documents, options.confidence, options.tuned)
    details = {"unlabelled": got.unlabelled, "weight": got.weight, "clusters": got.estimate.clusters}
    # People's missing labels are the design, so `missing` is the machine's alone.
    yield _row(group, got.estimate, "ppi_mean", system=system, details={**details, "narrower": got.narrower})
    # Labels where the machine has no score count for people alone, so this is not always the sample above.
    alone = ppi_mean(part.y, np.zeros(len(part)), documents, options.confidence).human
    yield _row(group, alone, "labelled_mean", system=system, missing=len(part) - alone.n)
    machine = Bootstrap(documents, RESAMPLES, options.confidence).mean(part.x)
    yield _row(group, machine, "machine_mean", system=system)
    bias = ppi_mean(part.x - part.y, np.zeros(len(part)), documents, options.confidence).human
    yield _row(group, bias, "machine_bias", system=system, missing=got.estimate.missing)


def _pair_rows(matrix: Group, options: LastJudgeOptions) -> Iterator[Row]:
    grid = matrix.grid
    given = options.pairs_of(grid.systems)
    wanted = list(combinations(grid.systems, 2)) if given is None else given
    for pair in wanted:
        first, second = map(grid.systems.index, pair)
        human, machine = (side[first] - side[second] for side in (grid.gold, grid.judge))
        yield from _difference(matrix, pair_name(*pair), human, machine, len(wanted), options)


def _difference(
    group: Group, name: str, human: Floats, machine: Floats, family: int, options: LastJudgeOptions
) -> Iterator[Row]:
    """Rows about the differences of two systems, a document each."""
    got = ppi_mean(human, machine, None, options.confidence, options.tuned)
    # At the level of the interval that settles the difference.
    level = 1 - (1 - options.confidence) / family
    wide = ppi_mean(human, machine, None, level, options.tuned).estimate
    settled = None if wide.low is None or wide.high is None else bool(wide.low > 0 or wide.high < 0)
    yield _row(
        group, got.estimate, "ppi_difference", pair=name, reason="no document is labelled for both systems",
        details={"unlabelled": got.unlabelled, "weight": got.weight, "human": got.human.value,
                 "machine_bias": got.bias, "narrower": got.narrower, "low_adjusted": wide.low,
                 "high_adjusted": wide.high, "comparisons": family, "settled": settled},
    )  # fmt: skip
    find = options.difference if options.difference is not None else abs(got.estimate.value or 0.0)
    counts: dict[str, Any] = {"n": got.estimate.n, "missing": got.estimate.missing}
    if got.estimate.n < 2 or not find:
        few = "fewer than 2 documents with labels for both systems" if got.estimate.n < 2 else "the difference is 0"
        yield _row(group, undefined(f"{few}: nothing to plan from", **counts), "labels_needed", pair=name)
        return
    plans = labels_needed(human, machine, find, level, options.power)
    about = {"pair": name, **counts, "details": {"difference": find, "power": options.power}}
    yield _row(group, plans, "labels_needed", **about)


def _verdict(row: Row, judge: str) -> str:
    if row.value is None or row.low is None or row.high is None:
        return f"{row.pair} on {row.gold_aspect}: {row.reason}"
    verdict = "can be told apart" if row.details["settled"] else "cannot be told apart"
    many = row.details["comparisons"]
    after = "" if many == 1 else f", interval widened for {many} pairs"
    return (
        f"{row.pair} on {row.gold_aspect}: {row.value:+.2f} {interval(row.low, row.high, 2)} from {row.n} labelled "
        f"documents and {row.details['unlabelled']} more by {judge}; the two {verdict}{after}"
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
        yield f"warning: {group.sample.gold.aspect}{where}: no label in the domains {lost}: is the sample random?"


def sample_warnings(human: Floats, machine: Floats) -> list[str]:
    """What speaks against a sample: too few labels, the head of the file, or other machine scores than the rest.

    `human` is NaN where nobody labelled. That a sample passes does not make it random; only drawing it so does.

    >>> sample_warnings(np.array([1.0, np.nan, np.nan]), np.array([0.5, 0.4, 0.3]))
    ['only 1 label: no interval']
    """
    labelled = ~np.isnan(human)
    n, rest = int(labelled.sum()), int((~labelled).sum())
    warnings = []
    if n < SMALL:
        few = "no interval" if n < 2 else f"fewer than {SMALL}, so the interval leans on Student's t"
        warnings.append(f"only {n} label{'' if n == 1 else 's'}: {few}")
    if n < 5 or rest < 5:
        return warnings
    if bool(labelled[:n].all()):
        warnings.append(f"the labels are those of the first {n} documents: draw a random sample instead")
    gap = correlate(labelled.astype(np.float64), machine, "spearman")
    if gap.p is not None and gap.value is not None and gap.p < SURE:
        side = "higher" if gap.value > 0 else "lower"
        warnings.append(
            f"the machine scores the labelled summaries {side} than the others (Spearman {gap.value:+.2f}): the sample "
            "does not look random, and the estimate then speaks for its kind of summary only"
        )
    return warnings


# ---- how often do the intervals hold the truth? ----


class Coverage(NamedTuple):
    """How often intervals held the truth, and how wide they were, over `draws` draws.

    `rate` is that of the estimate, `human_rate` of the labels alone, both with their own `draws` behind them;
    `width` and `human_width` are mean widths, `bias` the mean error of the estimate, `machine_bias` that of the
    machine's mean over everything, `low`-`high` the interval of `rate` by chance of the draws, as `interval` says.
    """

    rate: float
    low: float | None
    high: float | None
    human_rate: float
    width: float
    human_width: float
    bias: float
    machine_bias: float
    draws: int
    labels: int
    truth: float
    interval: str | None = None

    @property
    def narrower(self) -> float:
        """The estimate's width as a share of the labels' own."""
        return self.width / self.human_width if self.human_width else 1.0


class CoverageOptions(IntervalOptions):
    """How estimates are simulated."""

    draws: int = Field(500, ge=1, description="Draws of the simulation.")
    resample_unit: Annotated[str, Choice(Population, "resample_unit")] = Field(
        Population.POPULATION,
        description="Draw documents anew too (population), or only which of them people label (data).",
    )
    seed: int = Field(0, description="Random seed.")


class SimulateOptions(Selection, GoldAtLeast, CoverageOptions):
    """The options of `simulate`."""


def coverage(
    human: Floats, machine: Floats, labels: int, options: CoverageOptions, clusters: Labels | None = None
) -> Coverage:
    """Simulate estimates from `labels` labelled clusters (documents) of rows that have both judgments.

    Rows with NaN on either side are left out first. Raises UsageError where there are no more clusters than `labels`,
    or fewer than 2 labels.
    """
    rng = generator(options.seed)
    kept = ~(np.isnan(human) | np.isnan(machine))
    human, machine = human[kept], machine[kept]
    of = np.arange(len(kept))[kept] if clusters is None else codes(clusters)[kept]
    units = [rows for _, rows in split_rows(np.unique(of, return_inverse=True)[1].astype(np.int64))]
    if not 2 <= labels < len(units):
        raise UsageError(f"labels must be at least 2 and fewer than the {len(units)} documents, got {labels}")
    truth = float(human.mean())
    size = len(units)
    simulated = []
    for _ in range(options.draws):
        picks = rng.integers(0, size, size) if options.resample_unit == Population.POPULATION else rng.permutation(size)
        drawn = [units[pick] for pick in picks]
        rows = np.concatenate(drawn)
        of_draw = np.repeat(np.arange(size), [len(unit) for unit in drawn])
        people = np.where(of_draw < labels, human[rows], np.nan)
        got = ppi_mean(people, machine[rows], of_draw, options.confidence, options.tuned)
        # Labels without spread have a width of 0.
        ends = [each.value if end is None else end for each in got[:2] for end in (each.low, each.high)]
        simulated.append([np.nan if value is None else value for value in (*ends, got.estimate.value)])
    low, high, human_low, human_high, value = np.array(simulated).T
    inside = ((low <= truth) & (truth <= high)).astype(np.float64)
    alone = (human_low <= truth) & (truth <= human_high)
    rate = Bootstrap(len(inside), RESAMPLES, seed=options.seed, by="draw").mean(inside)
    return Coverage(
        rate=float(inside.mean()),
        low=rate.low,
        high=rate.high,
        human_rate=float(alone.mean()),
        width=float((high - low).mean()),
        human_width=float((human_high - human_low).mean()),
        bias=float((value - truth).mean()),
        machine_bias=float(machine.mean() - truth),
        draws=options.draws,
        labels=labels,
        truth=truth,
        interval=rate.interval,
    )


@study(SimulateOptions)
def simulate(run: RunLike, gold: Gold, labels: int, options: SimulateOptions) -> Study:
    """Simulate estimates from `labels` labelled documents on data that people judged in full: all systems, and each.

    Rows of the study "estimate": `coverage` (the share of intervals that held people's mean; `n` draws) and
    `width_ratio` (the estimate's mean width as a share of that from labels alone).
    """
    read = meta_input(run, gold, options)
    rows: list[Row] = []
    for pairs in all_pairs(read, Level.SUMMARY, options):
        whole = Group(None, None, pairs)
        systems = [str(name) for name in pairs.units.system.used()]
        parts = [Group("system", system, _of(whole, system)) for system in systems] if len(systems) > 1 else []
        for group in (whole, *parts):
            part = group.sample
            about = merged(pair_fields(part), group.fields(), study=STUDY)
            try:
                got = coverage(part.y, part.x, labels, options, part.units.document.codes)
            except UsageError as error:
                rows.append(interval_row(undefined(str(error), missing=part.missing), about, statistic="coverage"))
                continue
            details: dict[str, Any] = {
                "labels": labels, "draws": options.draws, "resample_unit": str(options.resample_unit),
                "seed": options.seed,
                "human_coverage": got.human_rate, "bias": got.bias, "machine_bias": got.machine_bias,
                "truth": got.truth,
            }  # fmt: skip
            rate = Estimate(got.rate, options.draws, part.missing, got.low, got.high, method=got.interval)
            if got.low is None:
                rate = replace(rate, status=Status.NO_INTERVAL, reason="fewer than 2 draws: no interval")
            width = Estimate(got.narrower, options.draws, part.missing)
            rows.append(interval_row(rate, about, statistic="coverage", details=details))
            rows.append(interval_row(width, about, statistic="width_ratio", details=details))
    return Study(
        STUDY,
        rows,
        [f"coverage: {options.draws} draws of {labels} labelled documents each, about the {options.resample_unit}"],
    )
