"""What a run would send, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

from summeter.engine.api import Data, Planned, make_plan, toolbox
from summeter.engine.contexts import contexts
from summeter.engine.dry import Seen, dry
from summeter.engine.dry_networks import counting, dry_network
from summeter.engine.executor import LocalExecutor
from summeter.engine.options import OptionArgs, Options
from summeter.engine.plan import Job, units
from summeter.engine.progress import Silent
from summeter.engine.runs import Run
from summeter.engine.sync import run_sync
from summeter.engine.worker import Worker
from summeter.evaluators.base import Evaluator
from summeter.models.prices import Price, Prices, prices
from summeter.records import Judgment
from summeter.runs.calls import CallStore
from summeter.runs.journal import DoneKey, ItemKey
from summeter.runs.manifest import JudgeEntry
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import CALLS, MANIFEST, Failure


class Estimate(NamedTuple):
    """What one evaluator would send: calls and estimated tokens.

    `items` are left to judge: summaries, or pairs of them in one order each, as `unit` says. `tokens_shared` is that
    part of `tokens_in` which begins a prompt as an earlier one began, so that a provider's cache may serve it for
    less. `cost` is in US dollars with nothing from a cache, in `batch`es at their lower price; None where a price is
    unknown, and `reason` says which. `local` is how many inputs would go through each local model, by its id.
    `reads` is what is known, by model string, of how much the models read whose context was not told.
    """

    judge: str
    signature: str
    items: int
    calls: int
    tokens_in: int
    tokens_out: int
    unit: Literal["summary", "pair"] = "summary"
    tokens_shared: int = 0
    cost: float | None = None
    reason: str | None = None
    batch: bool = False
    local: dict[str, int] | None = None
    reads: dict[str, dict[str, Any]] | None = None


def estimate(
    data: Data, evaluators: Sequence[Evaluator | str], *, models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None, **options: Unpack[OptionArgs],
) -> list[Estimate]:  # fmt: skip
    """What `evaluate` with the same arguments would still have to do; sends nothing of the data and writes nothing.
    Servers are asked how much their models read, where that was not told.

    Tokens are those of `summeter.models.tokens`; replies are assumed as long as an example of their schema. A call
    that several evaluators share counts with the first, one that is stored already with none.
    """
    # Not even a model of the hub is fetched: one that is not here is counted under the name it was given.
    plan = make_plan(data, evaluators, models, Options(**options), fetch=False)
    table = prices(plan.options.prices)
    folder = None if out is None or not (Path(out) / MANIFEST).exists() else Path(out)
    plan = plan._replace(contexts=run_sync(contexts(plan.models, plan.options, folder, load=False)))
    done = frozenset(_done(folder)) if folder is not None else frozenset()
    stored = folder is not None and (folder / CALLS).is_file()
    kept = folder is not None and bool(plan.networks) and (folder / RESULTS).is_file()
    with (
        CallStore(folder / CALLS if stored and folder else None) as store,
        ResultStore(folder / RESULTS if kept and folder else None) as results,
    ):
        known = _Known(done, Seen(store, partial(_price, table, batch=plan.options.batch)), set(), results)
        return [run_sync(_estimate(plan, job, known, table)) for job in plan.jobs]


class _Known(NamedTuple):
    """What is done, what other evaluators would ask already, and what is stored."""

    done: frozenset[DoneKey]
    seen: Seen
    inputs: set[bytes]
    results: ResultStore


def _price(table: Prices, model: str, *, batch: bool) -> Price | None:
    price = table.of(model)
    return price.batched if batch and price is not None else price


def _done(folder: Path) -> list[DoneKey]:
    return [entry.key for entry in Run(folder).progress()]


async def _estimate(plan: Planned, job: Job, known: _Known, table: Prices) -> Estimate:
    llm_roles = {role: model for role, model in job.entry.models.items() if role not in plan.networks}
    tallies: dict[str, Counter[str]] = {model: Counter() for model in llm_roles.values()}
    local: Counter[str] = Counter()
    todo = list(units(plan.data, [job], known.done, plan.options.limit))
    if job.evaluator.required_roles:
        llms = {role: dry(model, tallies[model], known.seen, plan.asking(role)) for role, model in llm_roles.items()}
        networks = {
            role: dry_network(one.kind, one.id, counting(one.id, local, known.inputs, known.results))
            for role, one in plan.networks.items() if role in job.entry.models
        }  # fmt: skip
        worker = Worker([job], _Discard(), toolbox(llms, networks), {}, Silent().advance)
        async for _ in LocalExecutor(1).map(worker, todo):
            pass
    tally: Counter[str] = sum(tallies.values(), Counter())
    why = next((why for model in tallies if (why := table.why(model))), None)
    return Estimate(
        judge=job.evaluator.name, signature=job.signature, items=sum(unit.size for unit in todo), calls=tally["calls"],
        tokens_in=tally["tokens_in"], tokens_out=tally["tokens_out"],
        unit="pair" if job.evaluator.pairs else "summary", tokens_shared=tally["tokens_shared"],
        cost=None if why else round(tally["nanodollars"] / 1e9, 6), reason=why,
        batch=plan.options.batch, local=dict(local) or None,
        reads={model: plan.contexts[model].model_dump() for model in tallies if model in plan.contexts} or None,
    )  # fmt: skip


class _Discard:
    """A sink that keeps nothing."""

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Nothing is kept."""

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Nothing is kept."""

    def failed(self, failure: Failure) -> None:
        """Nothing is kept."""
