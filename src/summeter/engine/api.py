"""evaluate(): from data, evaluators and models to a run's folder. Sync at the border, async inside."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from pathlib import Path
from typing import Unpack

from summeter.data.atomic import check_folder_name, half_built, write_text
from summeter.data.dataset import Dataset, save
from summeter.data.folder import is_intact
from summeter.data.remote import check_local
from summeter.engine.derive import derive, drop_outdated, undecided
from summeter.engine.executors.base import Executor
from summeter.engine.executors.local import LocalExecutor
from summeter.engine.options import OptionArgs, Options, with_options
from summeter.engine.parts import NetworkName, Session, Setup, documents_per_part
from summeter.engine.plan import (
    Data,
    ItemOrder,
    Job,
    RunPlan,
    Wanted,
    WorkItem,
    data_entry,
    items_left,
    make_plan,
    replay_plans,
    units,
)
from summeter.engine.progress import Progress
from summeter.engine.roles import contexts
from summeter.engine.runs import Run, finish, new_manifest
from summeter.engine.spending import Spending, spending, spent_before, with_usage
from summeter.engine.sync import run_sync
from summeter.engine.tools import networks_of, toolbox
from summeter.engine.worker import PreparedIndex, Worker
from summeter.evaluators.base import Evaluator, Prepared
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.layers.retry import RetryPolicy
from summeter.models.resolve import Bound, CallSettings, bind
from summeter.records import (
    BudgetError,
    InputError,
    Parameter,
    UsageError,
    WriteError,
    first_error,
)
from summeter.runs.batches import BATCHES, BatchLog
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal
from summeter.runs.manifest import Manifest, RunStatus
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import CALLS, MANIFEST, read_manifest
from summeter.runs.usage import Usage

log = logging.getLogger(__name__)

DOCUMENTS_PER_ROUND = 10_000
"""Documents whose calls wait at a time, where calls go in batches."""


@with_options
def evaluate(
    data: Data,
    evaluators: Sequence[Evaluator | str],
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None,
    replay: str | Path | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **options: Unpack[OptionArgs],
) -> Run:
    """Judge every summary of `data` with every evaluator; returns the finished Run.

    `data` is a Dataset, a path (flat file or dataset folder) or a list of flat rows; `evaluators` are
    evaluators or catalog names; `models` binds roles to model strings (a bare string binds "judge").
    `out` is the run's folder: where it holds a run already, that run is carried on and nothing finished is
    done again (default: a new temporary folder). `replay` is an earlier run whose stored calls answer
    instead of any model; each evaluator is repeated with all models that the run recorded for it, unless `models`
    names others. `executor` says where the work is done: in this
    process, unless it is a `ProcessExecutor` (processes of this machine) or a `RayExecutor` (a Ray cluster).

    Works inside a running event loop too (the work then has a thread of its own). Raises UsageError for
    what cannot be done as asked, InputError for faulty data, ReplayMiss for a call the replay lacks.
    One item's failure raises nothing: it is in the run, with status and reason. BudgetError where the next call
    would pass `max_cost` or `max_tokens`: what is finished is kept, and the run can be carried on.

    >>> run = evaluate([{"document": "It rained all day.", "summary": "It rained."}], ["support"])
    >>> run.scores()[0].aspect
    'faithfulness'
    """
    return run_sync(
        evaluate_async(
            data, evaluators, models=models, out=out, replay=replay, progress=progress, executor=executor, **options
        )
    )


@with_options
async def evaluate_async(
    data: Data,
    evaluators: Sequence[Evaluator | str],
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None,
    replay: str | Path | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **options: Unpack[OptionArgs],
) -> Run:
    """`evaluate` for callers with an event loop of their own."""
    recorded = None if replay is None else read_manifest(Path(replay))
    settings = Options.of(**options)
    if recorded is None:
        plans = [make_plan(data, evaluators, models, settings)]
    else:
        plans = replay_plans(data, evaluators, models, settings, recorded)
    if executor is not None:
        if not hasattr(executor, "map") or isinstance(executor, type):
            kinds = "is a ProcessExecutor(...) or a RayExecutor(...)"
            raise UsageError(Parameter("executor"), f" {kinds}, not {executor!r}")
        executor.check()
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="summeter-run-"))
    for plan in plans:
        run = await _run_session(plan, folder, replay, recorded, progress or Progress(), executor)
    return run


async def _run_session(
    plan: RunPlan,
    folder: Path,
    replay: str | Path | None,
    recorded: Manifest | None,
    progress: Progress,
    executor: Executor | None,
) -> Run:
    """Judge what a plan has left in a run's folder; `recorded` is the manifest of the run to `replay`."""
    money = spending(plan.options, plan.models.values() if replay is None else ())
    if replay is None:
        # A missing key is told of before anything is written.
        await bind(plan.models, None, _call_settings(plan, money)).close()
    _check_folder(folder)
    with Journal(folder) as journal, ExitStack() as stores:
        before = _before(folder, plan.data)
        # Only now: a server may load its model to answer, and then all for a folder that is refused.
        plan = plan._replace(contexts=await contexts(plan.models, plan.options, before, replay=recorded))
        started = _open(folder, plan, replay, before)
        if executor is not None and started.documents_per_part is None:
            size = executor.documents_per_part or documents_per_part(plan.data.document_count)
            started = started.model_copy(update={"documents_per_part": size})
        # The run keeps the prompts and numbers that its signatures name by their hashes.
        for name, text in (kept for job in plan.jobs for kept in job.evaluator.files_to_keep().items()):
            if not (folder / name).exists():
                (folder / name).parent.mkdir(exist_ok=True)
                write_text(folder / name, text)
        if damaged := journal.repair(started.judges):
            first = InputError(damaged)  # whose text lists the first of them
            log.warning("%s: %d places are damaged; what stood there is judged anew:\n%s", folder, len(damaged), first)
        if replay is not None:  # with its calls and results, the new run can be replayed in turn
            for kind, name in ((CallStore, CALLS), (ResultStore, RESULTS)):
                if (source := Path(replay) / name).exists() and not (folder / name).exists():
                    with kind(source, readonly=True) as calls_or_results:
                        calls_or_results.copy_to(folder / name)
        # Opened before run.json says "running": a store that cannot be used leaves a finished run finished.
        store = stores.enter_context(CallStore(folder / CALLS)) if plan.models else None
        results = stores.enter_context(ResultStore(folder / RESULTS)) if plan.networks else None
        journal.manifest(started)
        session = _Session(
            plan, journal, money, replay is not None, progress, executor, started.documents_per_part or 1
        )
        status: RunStatus = "failed"
        try:
            with stores:
                known = await asyncio.to_thread(PreparedIndex, folder, plan.jobs)
                await session.judge(known, store, results)
            status = "complete"
        except (KeyboardInterrupt, asyncio.CancelledError, BudgetError):
            status = "interrupted"
            raise
        except BaseExceptionGroup as group:
            error = first_error(group)
            raise error from error.__cause__
        finally:
            # A disk that is full, say, is told of by the error that ended the run, not by that of its last words.
            with suppress(OSError, WriteError) if status == "failed" else nullcontext():
                if status != "failed":
                    journal.sort_files(started.judges, ItemOrder(plan.data))
                used = with_usage(started, session.used, session.computed())
                run = finish(Run(folder, data=plan.data), journal, used, status, money)
    return run


# What a run writes into its folder before it has a manifest: a kill there must not lock its owner out.
_OWN = frozenset({"data", "prompts", "files", "judgments", "prepared", ".lock"})


def _check_folder(folder: Path) -> None:
    """UsageError where the folder is somebody else's, or not on this machine."""
    check_local(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another ", Parameter("out"))
    check_folder_name(folder)
    if folder.is_dir() and not (folder / MANIFEST).exists():
        strange = [
            path.name
            for path in folder.iterdir()
            if path.name not in _OWN
            and not path.name.startswith((CALLS, RESULTS))
            and not half_built(path.name, "data", MANIFEST)
        ]
        if strange:
            raise UsageError(
                f"{folder} is not empty and holds no run (it holds {strange[0]!r}); choose another ", Parameter("out")
            )


def _before(folder: Path, data: Dataset) -> Manifest | None:
    """The manifest of the run that is carried on, if there is one. UsageError where it is over other data."""
    if not (folder / MANIFEST).exists():
        return None
    old, entry = read_manifest(folder), data_entry(data)
    if old.data.hash != entry.hash:
        raise UsageError(
            f"{folder} holds a run over other data ({old.data.source}, {old.data.summaries} summaries, "
            f"hash {old.data.hash[:12]}; now {entry.summaries}, {entry.hash[:12]}); choose another ",
            Parameter("out"),
        )
    return old


def _open(folder: Path, plan: RunPlan, replay: str | Path | None, old: Manifest | None) -> Manifest:
    """The manifest to go on with: a new one, or that of the run in the folder with these jobs added."""
    new = new_manifest(plan.data, [job.entry for job in plan.jobs], plan.options.model_dump(mode="json"))
    if old is not None:
        if not is_intact(folder / "data"):
            log.warning("%s is damaged; the data are copied anew", folder / "data")
            shutil.rmtree(folder / "data", ignore_errors=True)
            save(plan.data, folder / "data")
        judges = (*old.judges, *new.judges)
        whole = {judge.signature for judge in judges if not judge.partial}
        under_own_role = {judge.signature for judge in judges if not judge.roles}
        entries = {
            judge.signature: judge.model_copy(
                update={
                    "partial": judge.signature not in whole,
                    "roles": {} if judge.signature in under_own_role else judge.roles,
                }
            )
            for judge in judges
        }
        update = {
            "judges": tuple(entries.values()),
            "options": new.options,
            "status": new.status,
            "updated": new.updated,
            "summeter": new.summeter,
            "stopped": None,
            "contexts": {**old.contexts, **plan.contexts},
        }
        return old.model_copy(update=update)
    for left in folder.glob(".data.*"):
        shutil.rmtree(left)
    save(plan.data, folder / "data", force=True)
    source = str(replay) if replay else None
    return new.model_copy(update={"replayed_from": source, "contexts": dict(plan.contexts)})


@dataclass(frozen=True)
class _Session:
    """One sitting at a run: what is to be done, where it is written, who answers."""

    plan: RunPlan
    journal: Journal
    money: Spending
    replay: bool
    progress: Progress
    executor: Executor | None
    documents_per_part: int
    used: dict[str, Usage] = field(default_factory=dict)
    spent: dict[str, Usage] = field(default_factory=dict)

    async def judge(
        self, known: Mapping[tuple[str, str], Prepared], store: CallStore | None, results: ResultStore | None
    ) -> None:
        """Judge all that is left. BudgetError where the budget ended before the work did."""
        plan, budget = self.plan, None if self.replay else self.money.budget
        if budget is not None and store is not None:
            # Untold tokens are estimated from the requests, of which there may be many.
            budget.spent = await asyncio.to_thread(spent_before, store, self.money.prices)
        log = None if self.replay or store is None else BatchLog(self.journal.folder / BATCHES)
        calls = replace(
            _call_settings(plan, self.money),
            replay=self.replay,
            batches=log,
            tell=self.progress.note,
            broken=lambda: self.journal.broken or (None if results is None else results.broken),
        )
        bound = bind(plan.models, store, calls)
        self.money.used.update({model: llm.usage for model, llm in bound.models.items()})
        networks = networks_of(plan, results, self.used, replay=self.replay)
        asking = [job for job in plan.jobs if not isinstance(job.evaluator, DerivedEvaluator)]
        partial = [job for job in asking if job.entry.partial]
        tools = toolbox(bound.llms, networks)
        try:
            with self.progress as show:
                first = wanted = await asyncio.to_thread(undecided, plan, self.journal, judged=False)
                for jobs in [asking, partial] if partial else [asking]:
                    if jobs is partial:
                        known = await asyncio.to_thread(PreparedIndex, self.journal.folder, plan.jobs)
                        now = await asyncio.to_thread(undecided, plan, self.journal, judged=True)
                        # What failed in the first round is tried again by the next session.
                        wanted = {signature: named - first[signature] for signature, named in now.items()}
                    here, spread = self._divided(jobs)
                    drop_outdated(plan, jobs, self.journal, wanted)
                    items = items_left(plan.data, jobs, self.journal.done, plan.options.limit, wanted)
                    if items or jobs is asking:
                        show.start(items)
                    if not items:
                        continue

                    def left(jobs: Sequence[Job], wanted: Wanted = wanted) -> Iterator[WorkItem]:
                        return units(plan.data, jobs, self.journal.done, plan.options.limit, wanted)

                    async with asyncio.TaskGroup() as group:
                        if spread:
                            group.create_task(self._judge_spread(spread, known, results, left(spread)))
                        if here:
                            worker = Worker(
                                here, self.journal, tools, known, show, plan.options.item_timeout, self.spent
                            )
                            within = takewhile(lambda _: budget is None or budget.reached is None, left(here))
                            group.create_task(self._judge_here(worker, within, bound))
                    if budget is not None and budget.reached is not None:
                        break
        finally:
            await bound.close()
        if budget is not None and budget.reached is not None:
            raise BudgetError(
                f"{budget.reached}; what is finished is kept in {self.journal.folder}, and the same with a larger ",
                Parameter("max_cost"),
                " or ",
                Parameter("max_tokens"),
                " carries on",
            )
        derive(plan.jobs, [job.entry for job in plan.jobs], plan.data, self.journal, plan.options.limit)

    async def _judge_here(self, worker: Worker, units: Iterator[WorkItem], bound: Bound) -> None:
        """Judge units in this process: at once, or in rounds between which calls go in batches."""
        executor = LocalExecutor(self.plan.options.concurrency)
        if not bound.batches:
            await executor.run(worker, units)
            return
        todo = list(islice(units, DOCUMENTS_PER_ROUND))
        while todo:
            await executor.run(worker, todo)
            await bound.fetch()
            todo = [*worker.pending, *islice(units, DOCUMENTS_PER_ROUND - len(worker.pending))]
            known = await asyncio.to_thread(PreparedIndex, self.journal.folder, self.plan.jobs)
            worker = replace(worker, known=known, pending=[])

    def computed(self) -> dict[str, Usage]:
        """What was computed for each judge; nothing where a replay read the results of its local models."""
        read = {
            job.signature
            for job in self.plan.jobs
            if self.replay and any(job.evaluator.role(role).kind != "llm" for role in job.roles)
        }
        return {signature: spent for signature, spent in self.spent.items() if signature not in read}

    def _divided(self, jobs: Sequence[Job]) -> tuple[Sequence[Job], Sequence[Job]]:
        """The jobs that run here, and those that run in workers: all that ask no LLM, unless stored results answer."""
        if self.executor is None or self.replay:
            return jobs, []
        here = [job for job in jobs if any(name in self.plan.models for name in job.roles.values())]
        if here:
            names = ", ".join(dict.fromkeys(job.evaluator.name for job in here))
            log.info("%s: these judges ask an LLM, and run in this process", names)
        return here, [job for job in jobs if job not in here]

    async def _judge_spread(
        self,
        jobs: Sequence[Job],
        known: Mapping[tuple[str, str], Prepared],
        results: ResultStore | None,
        left: Iterable[WorkItem],
    ) -> None:
        assert self.executor is not None  # noqa: S101 - nothing is spread without one
        names = {name for job in jobs for name in job.roles.values()}
        networks = tuple(
            NetworkName(own.role, own.task, own.name, own.id)
            for own in self.plan.networks.values()
            if own.role in names
        )
        options = self.plan.options
        setup = Setup(tuple(jobs), networks, options.concurrency, options.item_timeout, options.offline)
        session = Session(self.executor, setup, self.journal, known, self.progress, results, self.used, self.spent)
        await session.judge(left, self.documents_per_part)


def _call_settings(plan: RunPlan, money: Spending) -> CallSettings:
    options = plan.options
    return CallSettings(
        settings=plan.asking,
        base_url=options.base_url,
        timeout=options.timeout,
        max_connections=options.concurrency,
        retry=RetryPolicy(max_retries=options.max_retries),
        requests=options.rpm,
        tokens=options.tpm,
        budget=money.budget,
        prices=money.prices,
        batch=options.batch,
        contexts={model: context.tokens for model, context in plan.contexts.items() if context.tokens is not None},
    )
