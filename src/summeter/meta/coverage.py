"""Do the intervals of `estimate` keep their word? A simulation on data that people judged in full.

Each draw pretends that only a few randomly chosen documents were labelled, makes the estimate, and looks whether its
interval holds people's mean over everything. "population" draws the documents themselves anew, with replacement:
the data stand for all documents like them, which is what the interval is about, and the rate should be the stated
one. "data" keeps the documents and draws only which are labelled: the question is then about these very documents,
less can vary, and the intervals are on the safe side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Level, Population
from summeter.meta.estimate import STUDY, Plan
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.matrix import PairedScores
from summeter.meta.results import Row, Study, status_of
from summeter.meta.selection import Group, Selection, all_pairs, meta_input, row, selected
from summeter.records import UsageError
from summeter.stats import bootstrap_mean, ppi_mean
from summeter.stats.base import Floats, Ints, Labels, codes, generator, split_rows


@dataclass(frozen=True)
class Drawing:
    """How a simulation draws: how many times, from which seed, and about what."""

    draws: int = 500
    seed: int = 0
    about: str = Population.POPULATION

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise UsageError(f"a simulation needs at least 1 draw, got {self.draws}")
        if self.about not in set(Population):
            raise UsageError(f"a simulation is about one of {', '.join(Population)}, not {self.about!r}")


class Coverage(NamedTuple):
    """How often intervals held the truth, and how wide they were, over `draws` draws.

    `rate` is that of the estimate, `human_rate` of the labels alone, both with their own `draws` behind them;
    `width` and `human_width` are mean widths, `bias` the mean error of the estimate, `machine_bias` that of the
    machine's mean over everything, `low`-`high` the interval of `rate` by chance of the draws.
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

    @property
    def narrower(self) -> float:
        """The estimate's width as a share of the labels' own."""
        return self.width / self.human_width if self.human_width else 1.0


def coverage(
    human: Floats, machine: Floats, labels: int, *, clusters: Labels | None = None, drawing: Drawing | None = None,
    plan: Plan | None = None,
) -> Coverage:  # fmt: skip
    """Simulate estimates from `labels` labelled clusters (documents) of rows that have both judgments.

    Rows with NaN on either side are left out first. Raises UsageError where there are no more clusters than
    `labels`, or fewer than 2 labels.
    """
    how, drawn = plan or Plan(), drawing or Drawing()
    rng = generator(drawn.seed)
    kept = ~(np.isnan(human) | np.isnan(machine))
    human, machine = human[kept], machine[kept]
    of = np.arange(len(kept))[kept] if clusters is None else codes(clusters)[kept]
    units = [rows for _, rows in split_rows(np.unique(of, return_inverse=True)[1].astype(np.int64))]
    if not 2 <= labels < len(units):
        raise UsageError(f"labels must be at least 2 and fewer than the {len(units)} documents, got {labels}")
    truth = float(human.mean())
    found = [
        _draw(human, machine, _picked(units, rng, Population(drawn.about)), labels, how) for _ in range(drawn.draws)
    ]  # fmt: skip
    table = np.array(found)
    inside = ((table[:, 0] <= truth) & (truth <= table[:, 1])).astype(np.float64)
    alone = (table[:, 2] <= truth) & (truth <= table[:, 3])
    rate = bootstrap_mean(inside, seed=drawn.seed)
    return Coverage(
        float(inside.mean()), rate.low, rate.high, float(alone.mean()),
        float((table[:, 1] - table[:, 0]).mean()), float((table[:, 3] - table[:, 2]).mean()),
        float((table[:, 4] - truth).mean()), float(machine.mean() - truth), drawn.draws, labels, truth,
    )  # fmt: skip


def _picked(units: Sequence[Ints], rng: np.random.Generator, about: Population) -> list[Ints]:
    size = len(units)
    picks = rng.integers(0, size, size) if about is Population.POPULATION else rng.permutation(size)
    return [units[pick] for pick in picks]


def _draw(
    human: Floats, machine: Floats, units: Sequence[Ints], labels: int, plan: Plan
) -> tuple[float, float, float, float, float]:
    """The ends of the estimate and of the labels alone, and the estimate."""
    rows = np.concatenate(units)
    of = np.repeat(np.arange(len(units)), [len(one) for one in units])
    people = np.where(of < labels, human[rows], np.nan)
    got = ppi_mean(people, machine[rows], of, plan.level, plan.tuned)
    ends = (got.low, got.high, got.human_low, got.human_high, got.value)
    return tuple(np.nan if end is None else float(end) for end in ends)  # type: ignore[return-value]


def simulate(
    run: RunLike, gold: Gold, labels: int, *, aspect: str | Sequence[str] | None = None,
    select: Selection | None = None, drawing: Drawing | None = None, plan: Plan | None = None,
) -> Study:  # fmt: skip
    """Simulate estimates on data that people judged in full: all systems together, and each.

    Rows of the study "estimate": `coverage` (the share of intervals that held people's mean; `n` draws) and
    `width_ratio` (the estimate's mean width as a share of that from labels alone).
    """
    chosen, drawn = selected(select, aspect), drawing or Drawing()
    read = meta_input(run, gold, chosen)
    rows: list[Row] = []
    for pairs in all_pairs(read, Level.SUMMARY, chosen):
        parts: list[tuple[str | None, PairedScores]] = [(None, pairs)]
        names = [str(name) for name in pairs.system.used()]
        parts += [(name, pairs.take(pairs.system.equal(name))) for name in names] if len(names) > 1 else []
        for system, part in parts:
            group = Group(None if system is None else "system", system, part)
            try:
                got = coverage(
                    part.y, part.x, labels, clusters=part.document.codes, drawing=drawn, plan=plan
                )  # fmt: skip
            except UsageError as error:
                rows.append(_undefined(group, str(error)))
                continue
            rows.extend(_rows(group, got, drawn))
    return Study(
        STUDY, rows, [f"coverage: {drawn.draws} draws of {labels} labelled documents each, about the {drawn.about}"]
    )


def _undefined(group: Group, reason: str) -> Row:
    return row(STUDY, group, "coverage", None, n=0, missing=group.pairs.missing, reason=reason)


def _rows(group: Group, got: Coverage, drawn: Drawing) -> Iterator[Row]:
    details: dict[str, Any] = {
        "labels": got.labels, "draws": got.draws, "about": str(drawn.about), "seed": drawn.seed,
        "human_coverage": got.human_rate, "bias": got.bias, "machine_bias": got.machine_bias, "truth": got.truth,
    }  # fmt: skip
    common: dict[str, Any] = {"n": got.draws, "missing": group.pairs.missing, "details": details}
    yield row(
        STUDY, group, "coverage", got.rate, **common, low=got.low, high=got.high,
        status=status_of(got.rate, None if got.low is not None else "no_interval"),
        reason=None if got.low is not None else "fewer than 2 draws: no interval",
        interval=f"95% percentile bootstrap over {got.draws} draws, seed {drawn.seed}" if got.low is not None else None,
    )  # fmt: skip
    yield row(STUDY, group, "width_ratio", got.narrower, **common)
