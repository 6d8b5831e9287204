"""What a run would send, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

from summeter.engine.api import Data, Planned, make_plan, toolbox
from summeter.engine.dry import dry
from summeter.engine.executor import LocalExecutor
from summeter.engine.options import OptionArgs, Options
from summeter.engine.plan import Job, units
from summeter.engine.progress import Silent
from summeter.engine.runs import Run
from summeter.engine.sync import run_sync
from summeter.engine.worker import Worker
from summeter.evaluators.base import Evaluator
from summeter.records import Judgment
from summeter.store.journal import ItemKey
from summeter.store.manifest import JudgeEntry
from summeter.store.run import MANIFEST, Failure


class Estimate(NamedTuple):
    """What one evaluator would send: calls and estimated tokens.

    `items` are left to judge: summaries, or pairs of them in one order each, as `unit` says.
    """

    judge: str
    signature: str
    items: int
    calls: int
    tokens_in: int
    tokens_out: int
    unit: Literal["summary", "pair"] = "summary"


def estimate(
    data: Data, evaluators: Sequence[Evaluator | str], *, models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None, **options: Unpack[OptionArgs],
) -> list[Estimate]:  # fmt: skip
    """What `evaluate` with the same arguments would still have to do; sends nothing and writes nothing.

    Tokens are estimated at four characters each; replies are assumed as long as an example of their schema.
    """
    plan = make_plan(data, evaluators, models, Options(**options))
    done = frozenset(_done(Path(out))) if out is not None and (Path(out) / MANIFEST).exists() else frozenset()
    return [run_sync(_estimate(plan, job, done)) for job in plan.jobs]


def _done(folder: Path) -> list[tuple[str, str, str, str | None]]:
    return [entry.key for entry in Run(folder).progress()]


async def _estimate(plan: Planned, job: Job, done: frozenset[tuple[str, str, str, str | None]]) -> Estimate:
    tally: Counter[str] = Counter()
    todo = list(units(plan.data, [job], done, plan.options.limit))
    if job.evaluator.asks:
        llms = {role: dry(plan.models[role], tally) for role in job.evaluator.asks}
        worker = Worker([job], _Discard(), toolbox(llms), {}, Silent().advance)
        async for _ in LocalExecutor(1).map(worker, todo):
            pass
    items = sum(unit.size for unit in todo)
    return Estimate(
        judge=job.evaluator.name, signature=job.signature, items=items, calls=tally["calls"],
        tokens_in=tally["tokens_in"], tokens_out=tally["tokens_out"],
        unit="pair" if job.evaluator.pairs else "summary",
    )  # fmt: skip


class _Discard:
    """A sink that keeps nothing."""

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Nothing is kept."""

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Nothing is kept."""

    def failed(self, failure: Failure) -> None:
        """Nothing is kept."""
