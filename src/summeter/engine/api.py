"""Evaluate summaries: judge a dataset with evaluators, and write the run folder."""

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
from typing import Any, Unpack

from summeter.data.atomic import check_folder_name, half_built, write_text
from summeter.data.dataset import save, update
from summeter.data.folder import is_intact
from summeter.data.remote import check_local
from summeter.engine.derive import derive, drop_outdated, undecided
from summeter.engine.executors.base import Executor
from summeter.engine.options import OptionArgs, Options, with_options
from summeter.engine.parts import Session, Setup, documents_per_part
from summeter.engine.plan import (
    Data,
    Evaluators,
    ItemFilter,
    Job,
    RunPlan,
    WorkItem,
    chosen,
    items_left,
    make_plan,
    replay_plans,
    work_items,
)
from summeter.engine.progress import Progress, in_notebook
from summeter.engine.roles import contexts, possible_variants
from summeter.engine.runs import Run, copy_stores, finish, new_manifest
from summeter.engine.spending import Spending, spending, spent_before, with_usage
from summeter.engine.sync import run_sync
from summeter.engine.worker import PreparedIndex, Worker, toolbox
from summeter.evaluators.base import Prepared
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.layers.retry import RetryPolicy
from summeter.models.resolve import Bound, CallSettings, bind
from summeter.records import (
    BudgetError,
    InputError,
    Parameter,
    ReplayMiss,
    UsageError,
    WriteError,
    first_error,
)
from summeter.runs.batches import BATCHES, BatchLog
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal
from summeter.runs.manifest import Manifest, RunStatus
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import BY_SOURCE, CALLS, MANIFEST, RunFolder, read_manifest
from summeter.runs.usage import Usage

log = logging.getLogger(__name__)

DOCUMENTS_PER_ROUND = 10_000
"""Maximum number of documents whose calls are collected in one round of batches."""


@with_options
def evaluate(
    data: Data,
    evaluators: Evaluators = None,
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None,
    replay: str | Path | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **options: Unpack[OptionArgs],
) -> Run:
    """Judge every summary of `data` with every evaluator, and return the finished Run.

    `data` is a Dataset or anything that `load` takes: a path, a data frame, a list of dicts. `evaluators` is an
    evaluator, a name in the catalog, or a list of these; by default, those of the replayed run, or else support and
    abstractiveness. `models` maps roles to model strings; a single string is the model for the role
    "judge". `out` is the run folder, by default a new temporary folder; if it contains a run, that run is resumed.
    `replay` is the folder of an earlier run whose stored calls are used instead of calling models; each evaluator is
    replayed with all models that the run recorded for it, unless `models` specifies others. `executor` is a
    `ProcessExecutor` (processes on this machine) or a `RayExecutor` (a Ray cluster); by default, judges run in this
    process. `progress` shows the progress, by default a line in a notebook and nothing elsewhere.

    Inside a running event loop, the work is done in a separate thread. Raises UsageError for invalid arguments,
    InputError for invalid data, ReplayMiss for a call that is missing in the replayed run, and BudgetError if the next
    call would exceed `max_cost` or `max_tokens`, in which case the run can be resumed. Failures of single items are
    recorded in the run with a status and a reason.

    >>> run = evaluate([{"document": "It rained all day.", "summary": "It rained."}], "support")
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
    evaluators: Evaluators = None,
    *,
    models: Mapping[str, str] | str | None = None,
    out: str | Path | None = None,
    replay: str | Path | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **options: Unpack[OptionArgs],
) -> Run:
    """Judge summaries like `evaluate`, for callers that have a running event loop."""
    recorded = None if replay is None else read_manifest(Path(replay))
    settings = Options.of(**options)
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="summeter-run-"))
    if recorded is None:
        judges = chosen(evaluators)
        plan = make_plan(data, judges, models, settings)
        before = read_manifest(folder) if (folder / MANIFEST).exists() else None
        variants = await possible_variants(judges, plan.models, settings, before, send=True)
        plans = [plan if variants == judges else plan.with_evaluators(variants)]
    else:
        plans = replay_plans(data, evaluators, models, settings, recorded)
    if executor is not None:
        if not hasattr(executor, "map") or isinstance(executor, type):
            raise UsageError(
                Parameter("executor"), f" must be a ProcessExecutor(...) or a RayExecutor(...), not {executor!r}"
            )
        executor.check()
    alone = [plan.by_source() for plan in plans] if settings.by_source else []
    earlier = None if replay is None else RunFolder(replay).by_source()
    if alone and replay is not None and earlier is None:
        raise UsageError(
            f"{replay} contains no judgments of single sources; replay it without ", Parameter("by_source")
        )
    runs: list[Run] = []
    for plan in plans:
        is_new = not folder.exists()
        try:
            runs.append(await _run_session(plan, folder, replay, recorded, progress or in_notebook(), executor))
        except ReplayMiss:
            if is_new and not read_manifest(folder).counts:  # other data or settings: nothing could be replayed
                shutil.rmtree(folder)
            raise
    if alone:
        inside = folder / BY_SOURCE
        copy_stores(folder, inside)  # calls that both need, such as for the claims of a summary, are made once
        replayed, recorded = (None, None) if earlier is None else (earlier.folder, earlier.manifest)
        for plan in alone:
            await _run_session(plan, inside, replayed, recorded, progress or in_notebook(), executor)
    runs[-1].reused = runs[0].reused
    return runs[-1]


async def _run_session(
    plan: RunPlan,
    folder: Path,
    replay: str | Path | None,
    recorded: Manifest | None,
    progress: Progress,
    executor: Executor | None,
) -> Run:
    """Judge the remaining items of a plan in a run folder, and return the run.

    `recorded` is the manifest of the run to `replay`, or None without a replay.
    """
    money = spending(plan.options, plan.models.values() if replay is None else ())
    if replay is None:
        # Reports a missing API key before anything is written.
        await bind(plan.models, None, _call_settings(plan, money)).close()
    _check_folder(folder)
    with Journal(folder) as journal, ExitStack() as stores:
        before: Manifest | None = None
        if (folder / MANIFEST).exists():
            old = RunFolder(folder)
            old.check_data(plan.data, "Choose another ", Parameter("out"))
            before = old.manifest
        # Only after the folder is accepted, because a server may load its model to answer.
        plan = plan._replace(contexts=await contexts(plan.models, plan.options, before, replay=recorded))
        started = _initial_manifest(folder, plan, replay, before)
        if executor is not None and started.documents_per_part is None:
            size = executor.documents_per_part or documents_per_part(plan.data.document_count)
            started = started.model_copy(update={"documents_per_part": size})
        # The run stores the prompts and numbers to which its signatures refer by hash.
        for name, text in (kept for job in plan.jobs for kept in job.evaluator.files_to_keep().items()):
            if not (folder / name).exists():
                (folder / name).parent.mkdir(exist_ok=True)
                write_text(folder / name, text)
        if damaged := journal.repair(started.judges):
            listed = InputError(damaged)  # its text lists the first faults
            log.warning("%s: %d entries are damaged and will be judged again:\n%s", folder, len(damaged), listed)
        if replay is not None:  # with copies of the stores, the new run can be replayed too
            copy_stores(Path(replay), folder)
        # Opened before the status is "running", so that an unusable store does not change a finished run.
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
            # After a failure, such as a full disk, errors of these writes must not replace the original error.
            with suppress(OSError, WriteError) if status == "failed" else nullcontext():
                if status != "failed":
                    journal.sort_files(started.judges, plan.data)
                used = with_usage(started, session.used, session.computed())
                run = finish(Run(folder, data=plan.data), journal, used, status, money)
    run.reused = journal.kept
    return run


# Files that a run writes before it has a manifest; after a crash, the folder must still be accepted.
_EARLY_FILES = frozenset({"data", "prompts", "files", "judgments", "prepared", ".lock"})


def _check_folder(folder: Path) -> None:
    """Raise UsageError if the folder contains anything other than a run or is not on this machine."""
    check_local(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Choose another ", Parameter("out"))
    check_folder_name(folder)
    if folder.is_dir() and not (folder / MANIFEST).exists():
        unknown = [
            path.name
            for path in folder.iterdir()
            if path.name not in _EARLY_FILES
            and not path.name.startswith((CALLS, RESULTS))
            and not half_built(path.name, "data", MANIFEST)
        ]
        if unknown:
            raise UsageError(
                f"{folder} is not empty and is not a run (it contains {unknown[0]!r}). Choose another ",
                Parameter("out"),
            )


def _initial_manifest(folder: Path, plan: RunPlan, replay: str | Path | None, old: Manifest | None) -> Manifest:
    """Return a new manifest, or the old one with the jobs added.

    If necessary, the data are copied to the folder.
    """
    new = new_manifest(plan.data, [job.entry for job in plan.jobs], plan.options.model_dump(mode="json"))
    if old is not None:
        if not is_intact(folder / "data"):
            log.warning("%s is damaged; the data are copied again", folder / "data")
            shutil.rmtree(folder / "data", ignore_errors=True)
            save(plan.data, folder / "data")
        update(folder / "data", plan.data)  # human ratings may have been added
        judges = (*old.judges, *new.judges)
        complete = {judge.signature for judge in judges if not judge.partial}
        without_renamed_roles = {judge.signature for judge in judges if not judge.roles}
        entries = {
            judge.signature: judge.model_copy(
                update={
                    "partial": judge.signature not in complete,
                    "roles": {} if judge.signature in without_renamed_roles else judge.roles,
                }
            )
            for judge in judges
        }
        changes = {
            "judges": tuple(entries.values()),
            "options": new.options,
            "status": new.status,
            "updated": new.updated,
            "summeter": new.summeter,
            "stopped": None,
            "contexts": {**old.contexts, **plan.contexts},
        }
        return old.model_copy(update=changes)
    for temporary in folder.glob(".data.*"):
        shutil.rmtree(temporary)
    save(plan.data, folder / "data", force=True)
    source = str(replay) if replay else None
    return new.model_copy(update={"replayed_from": source, "contexts": dict(plan.contexts)})


@dataclass(frozen=True)
class _Session:
    """A session of a run, which judges the remaining items once.

    `used` holds the usage of local models by id, and `compute` the computing time of judges by signature.
    """

    plan: RunPlan
    journal: Journal
    money: Spending
    replay: bool
    progress: Progress
    executor: Executor | None
    documents_per_part: int
    used: dict[str, Usage] = field(default_factory=dict)
    compute: dict[str, Usage] = field(default_factory=dict)

    async def judge(
        self, known: Mapping[tuple[str, str], Prepared], store: CallStore | None, results: ResultStore | None
    ) -> None:
        """Judge all remaining items.

        Raises BudgetError if the budget is exhausted before all items have been judged.
        """
        plan, budget = self.plan, None if self.replay else self.money.budget
        if budget is not None and store is not None:
            inside = self.journal.folder / BY_SOURCE / CALLS  # has calls of earlier sessions that are not in `store`
            with CallStore(inside, readonly=True) if inside.is_file() else CallStore() as of_sources:
                # In a thread, because unreported tokens are estimated from the requests, of which there may be many.
                budget.spent = await asyncio.to_thread(spent_before, (store, of_sources), self.money.prices)
        batch_log = None if self.replay or store is None else BatchLog(self.journal.folder / BATCHES)
        calls = replace(
            _call_settings(plan, self.money),
            replay=self.replay,
            batches=batch_log,
            tell=self.progress.note,
            broken=lambda: self.journal.broken or (None if results is None else results.broken),
        )
        bound = bind(plan.models, store, calls)
        self.money.used.update({model: llm.usage for model, llm in bound.models.items()})
        networks: Mapping[str, Any] = {}
        if plan.networks:
            from summeter.models.local.load import build as build_networks

            networks = build_networks(list(plan.networks.values()), results, self.used, replay=self.replay)
        direct = [job for job in plan.jobs if not isinstance(job.evaluator, DerivedEvaluator)]
        partial = [job for job in direct if job.entry.partial]
        tools = toolbox(bound.llms, networks)
        try:
            with self.progress as show:
                first = only = await asyncio.to_thread(undecided, plan, self.journal, judged=False)
                for jobs in [direct, partial] if partial else [direct]:
                    if jobs is partial:
                        known = await asyncio.to_thread(PreparedIndex, self.journal.folder, plan.jobs)
                        now = await asyncio.to_thread(undecided, plan, self.journal, judged=True)
                        # Failures of the first round are judged again in the next session, not in this one.
                        only = {signature: items - first[signature] for signature, items in now.items()}
                    # Judges that call an LLM run in this process, and so do all judges of a replay.
                    local: Sequence[Job] = jobs
                    if self.executor is not None and not self.replay:
                        local = [job for job in jobs if any(name in plan.models for name in job.roles.values())]
                        if local:
                            names = ", ".join(dict.fromkeys(job.evaluator.name for job in local))
                            log.info("%s: these judges call an LLM and run in the main process", names)
                    distributed = [job for job in jobs if job not in local]
                    drop_outdated(plan, jobs, self.journal, only)
                    count = items_left(plan.data, jobs, self.journal.done, plan.options.limit, only)
                    if count or jobs is direct:
                        show.start(count)
                    if not count:
                        continue

                    def remaining(jobs: Sequence[Job], only: ItemFilter = only) -> Iterator[WorkItem]:
                        return work_items(plan.data, jobs, self.journal.done, plan.options.limit, only)

                    async with asyncio.TaskGroup() as group:
                        if distributed:
                            group.create_task(self._distribute(distributed, known, results, remaining(distributed)))
                        if local:
                            worker = Worker(
                                local, self.journal, tools, known, show, plan.options.item_timeout, self.compute
                            )
                            within = takewhile(lambda _: budget is None or budget.reached is None, remaining(local))
                            group.create_task(self._judge_locally(worker, within, bound))
                    if budget is not None and budget.reached is not None:
                        break
        finally:
            await bound.close()
        if budget is not None and budget.reached is not None:
            raise BudgetError(
                f"{budget.reached}. Finished items are stored in {self.journal.folder}. Run the same command again "
                "with a larger ",
                Parameter("max_cost"),
                " or ",
                Parameter("max_tokens"),
                " to resume",
            )
        derive(plan.jobs, [job.entry for job in plan.jobs], plan.data, self.journal, plan.options.limit)

    async def _judge_locally(self, worker: Worker, work_items: Iterator[WorkItem], bound: Bound) -> None:
        """Judge in this process, either directly or in rounds, after each of which the calls are sent in batches."""
        width = self.plan.options.concurrency
        if not bound.batches:
            await worker.run(work_items, width)
            return
        todo = list(islice(work_items, DOCUMENTS_PER_ROUND))
        while todo:
            await worker.run(todo, width)
            await bound.fetch()
            todo = [*worker.pending, *islice(work_items, DOCUMENTS_PER_ROUND - len(worker.pending))]
            known = await asyncio.to_thread(PreparedIndex, self.journal.folder, self.plan.jobs)
            worker = replace(worker, known=known, pending=[])

    def computed(self) -> dict[str, Usage]:
        """Return the computing time by signature.

        Judges whose results were read from a replayed run are omitted.
        """
        replayed = {
            job.signature
            for job in self.plan.jobs
            if self.replay and any(job.evaluator.role(role).kind != "llm" for role in job.roles)
        }
        return {signature: usage for signature, usage in self.compute.items() if signature not in replayed}

    async def _distribute(
        self,
        jobs: Sequence[Job],
        known: Mapping[tuple[str, str], Prepared],
        results: ResultStore | None,
        work_items: Iterable[WorkItem],
    ) -> None:
        """Judge the work items with the workers of the executor."""
        assert self.executor is not None  # noqa: S101 - jobs are distributed only with an executor
        names = {name for job in jobs for name in job.roles.values()}
        networks = tuple(
            replace(network, loaded=None, external=None)
            for network in self.plan.networks.values()
            if network.role in names
        )
        options = self.plan.options
        setup = Setup(tuple(jobs), networks, options.concurrency, options.item_timeout, options.offline)
        session = Session(self.executor, setup, self.journal, known, self.progress, results, self.used, self.compute)
        await session.judge(work_items, self.documents_per_part)


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
