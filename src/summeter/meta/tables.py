"""Systems and their means from judgments by the million: what `Run.summary()` gives, without a record a judgment."""

from __future__ import annotations

from collections.abc import Iterator

from summeter.choices import Level
from summeter.meta.columns import Coded
from summeter.meta.inputs import RunLike, judge_input
from summeter.meta.matrix import Scores
from summeter.scoring import SystemScore, SystemTable
from summeter.scoring.systems import LEVEL, RESAMPLES
from summeter.stats import bootstrap_mean
from summeter.stats.base import Bools


def system_table(run: RunLike, *, seed: int = 0) -> SystemTable:
    """Means of every judge, aspect and system with interval, n and missing, over all documents and by domain.

    The values are those of `Run.summary()` (intervals by document, percentile bootstrap).
    """
    read = judge_input(run)
    rows: list[SystemScore] = []
    for question in read.questions():
        made = read.scores(question, Level.SUMMARY)
        domain = read.context.column("domain", made.document, made.system)
        rows.extend(_means(made, domain, seed))
    return SystemTable(rows)


def _means(made: Scores, domain: Coded, seed: int) -> Iterator[SystemScore]:
    for system in made.system.used():
        here = made.system.equal(system)
        yield _mean(made, here, str(system), None, seed)
        for name in domain.take(here).used():
            if name is not None:
                yield _mean(made, here & domain.equal(name), str(system), name, seed)


def _mean(made: Scores, rows: Bools, system: str, domain: str | None, seed: int) -> SystemScore:
    got = bootstrap_mean(
        made.value[rows], made.document.codes[rows], resamples=RESAMPLES, level=LEVEL, seed=seed
    )  # fmt: skip
    return SystemScore(
        system=system, judge=made.judge, signature=made.signature, model=made.model, aspect=made.aspect,
        domain=domain, value=got.value, low=got.low, high=got.high, n=got.n, missing=got.missing, reason=got.reason,
        interval=f"{LEVEL:.0%} {got.method} bootstrap by document, {got.resamples} resamples, seed {seed}",
    )  # fmt: skip
