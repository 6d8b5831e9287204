"""Run: a run's folder with what can be made of it again, and the writing of its manifest and views."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from summeter._version import __version__
from summeter.data.dataset import Dataset
from summeter.engine.derive import cascade_samples, derive
from summeter.engine.plan import ItemOrder, Job, data_entry
from summeter.engine.spending import Spending, accounts
from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import names, rebuild
from summeter.records import CoverageError
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry, Manifest, RunStatus
from summeter.runs.run import CascadeSample, RunFolder
from summeter.runs.seals import seal_views
from summeter.runs.views import write_views


class Run(RunFolder):
    """Read access to a run, and its evaluators rebuilt.

    `print(run.summary())` shows the means; `run.judgments()`, `run.scores()` are the records behind them.
    """

    @property
    def specs(self) -> list[Evaluator]:
        """The evaluators of the run: pass them to `evaluate` again. Imported judgments have none; a member that asked
        another role's model, or judged only what a cascade gave it, comes with its derived judge."""
        judges = [judge for judge in self.manifest.judges if not (judge.imported or judge.roles or judge.partial)]
        return [rebuild(judge.name, judge.settings) for judge in judges]

    def cascade_samples(self) -> list[CascadeSample]:
        """The random samples of the run's cascades, for `sm.meta.estimate_last_judge`."""
        return cascade_samples(self)


def new_manifest(data: Dataset, judges: Iterable[JudgeEntry], options: Mapping[str, Any]) -> Manifest:
    """The manifest of a run that begins."""
    now = _now()
    return Manifest(
        schema="summeter-run/1",
        summeter=__version__,
        python=platform.python_version(),
        created=now,
        updated=now,
        data=data_entry(data),
        judges=tuple({judge.signature: judge for judge in judges}.values()),
        options=dict(options),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def rescore(folder: str | Path) -> Run:
    """Rebuild a run's views (scores, summary) from its judgments, and its derived judges from those of their members.

    Asks no model. In scores.csv a text that a spreadsheet would run as a formula ("=...") gets an apostrophe before.
    A derived judge that is not in the catalog, or there with another version, keeps its judgments.
    """
    run = Run(folder)
    judges = run.manifest.judges
    derived = derived_jobs(judges)
    _ = run.totals  # InputError where the folder is damaged, before anything is written
    with Journal(run.folder) as journal:
        if derived:
            run.check_prepared()
            journal.repair(judges)
            for job in derived:
                journal.drop(job.entry)
            derive(derived, judges, run.data, journal, run.manifest.options.get("limit"))
            journal.sort_files(judges, ItemOrder(run.data))
        ended = run.manifest.status
        begun = run.manifest.model_copy(update={"counts": {}})  # there may be more now, or fewer
        return finish(run, journal, begun, "complete" if ended == "incomplete" else ended)


def derived_jobs(judges: Iterable[JudgeEntry]) -> list[Job]:
    """The derived judges that can be computed again: those that the catalog names, if an evaluator with these settings
    signs the same settings and version."""
    known = names()
    jobs = []
    for judge in judges:
        if judge.members and judge.name in known:
            evaluator = rebuild(judge.name, judge.settings)
            if set(evaluator.sign({}).split("|")) <= set(judge.signature.split("|")):
                jobs.append(Job(evaluator, judge))
    return jobs


def check_coverage(run: RunFolder, least: float = 0.0) -> None:
    """CoverageError if a smaller share of the judgments than `least` is usable; none at all is always too few."""
    share = run.manifest.coverage
    wanted = sum(number for status, number in run.manifest.counts.items() if status != "skipped")
    if share is None and (run.manifest.counts and least > 0):
        raise CoverageError("coverage: everything was skipped, nothing could be judged; see failures in the report")
    if share is not None and (share < least or share == 0):
        usable = run.manifest.counts.get("ok", 0)
        reason = next((f"; the first reason: {failure.reason}" for failure in run.failures()), "")
        raise CoverageError(
            f"coverage {share:.1%} is under {least:.1%} ({usable} of {wanted} judgments usable){reason}"
            if share
            else f"no judgment of {wanted} is usable{reason}"
        )


def finish(run: Run, journal: Journal, started: Manifest, status: RunStatus, money: Spending | None = None) -> Run:
    """The last manifest and the views, whether the run came to its end or not; with `money`, what it took. Returns the
    run as it then stands.

    A run that came to its end with items in error is "incomplete": carrying it on tries those again.
    """
    journal.manifest(started)
    run.manifest = started
    write_views(run)
    totals = run.totals
    ended: RunStatus = "incomplete" if status == "complete" and totals.statuses.get("error") else status
    update = {"status": ended, "updated": _now(), "counts": totals.statuses, "coverage": totals.coverage}
    if money is not None:
        started = accounts(run.folder, started, totals.work, money)
        update["stopped"] = "budget" if ended == "interrupted" and money.budget and money.budget.reached else None
    run.manifest = started.model_copy(update=update)
    journal.manifest(run.manifest)
    seal_views(run.folder)
    return run
