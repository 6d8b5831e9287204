"""Open, rescore and finish runs."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from summeter._version import __version__
from summeter.data.dataset import Dataset
from summeter.engine.derive import cascade_samples, derive
from summeter.engine.plan import Job, chosen, data_entry
from summeter.engine.spending import Spending, accounts
from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import names, rebuild
from summeter.records import CoverageError
from summeter.runs.calls import CallStore
from summeter.runs.checksums import record_checksums
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry, Manifest, RunStatus
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import CALLS, CascadeSample, RunFolder
from summeter.runs.views import write_views


class Run(RunFolder):
    """A run folder opened for reading, with the run's evaluators.

    `print(run.summary())` shows the means of the systems; `run.judgments()` and `run.scores()` return the records.
    """

    reused = 0
    """The number of judgments that the run already had when `evaluate` resumed it."""

    @property
    def specs(self) -> list[Evaluator]:
        """The evaluators of the run, which can be passed to `evaluate`.

        Imported judges have no evaluators. Members with renamed roles and partial members of cascades are omitted,
        since they are included in their derived judges.
        """
        return chosen(None, self.manifest)

    def cascade_samples(self) -> list[CascadeSample]:
        """Return the random samples of the run's cascades, which `sm.meta.estimate_last_judge` takes."""
        return cascade_samples(self)


def new_manifest(data: Dataset, judges: Iterable[JudgeEntry], options: Mapping[str, Any]) -> Manifest:
    """Return the manifest of a new run."""
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
    """Rebuild the views of a run (scores, summary) from its judgments, and recompute its derived judges.

    No model is called. In scores.csv, texts that a spreadsheet would run as formulas ("=...") are prefixed with an
    apostrophe. A derived judge keeps its judgments if it is not in the catalog or has a different version there.
    """
    run = Run(folder)
    judges = run.manifest.judges
    derived = derived_jobs(judges)
    _ = run.totals  # raises InputError for a damaged folder before anything is written
    with Journal(run.folder) as journal:
        if derived:
            run.check_prepared()
            journal.repair(judges)
            for job in derived:
                journal.drop(job.entry)
            derive(derived, judges, run.data, journal, run.manifest.options.get("limit"))
            journal.sort_files(judges, run.data)
        ended = run.manifest.status
        started = run.manifest.model_copy(update={"counts": {}})  # the counts may change
        return finish(run, journal, started, "complete" if ended == "incomplete" else ended)


def derived_jobs(judges: Iterable[JudgeEntry]) -> list[Job]:
    """Return jobs for those derived judges that the catalog contains with the same settings and version."""
    catalog = names()
    jobs = []
    for judge in judges:
        if judge.members and judge.name in catalog:
            evaluator = rebuild(judge.name, judge.settings)
            if set(evaluator.sign({}).split("|")) <= set(judge.signature.split("|")):
                jobs.append(Job(evaluator, judge))
    return jobs


def check_coverage(run: RunFolder, least: float = 0.0) -> None:
    """Raise CoverageError if the share of usable judgments is below `least` or zero."""
    share = run.manifest.coverage
    total = sum(number for status, number in run.manifest.counts.items() if status != "skipped")
    skipped = share is None and bool(run.manifest.counts) and least > 0
    if skipped or (share is not None and (share < least or share == 0)):
        usable = run.manifest.counts.get("ok", 0)
        missing = run.totals.unusable  # without the failures of items that were judged later
        pairs = zip(missing.status.labels(), missing.reason.labels(), strict=True)
        reasons = Counter(reason for status, reason in pairs if (skipped or status != "skipped") and reason)
        reason = "".join(f". The most common reason: {text}" for text, _ in reasons.most_common(1))
        if skipped:
            raise CoverageError(f"coverage: all items were skipped{reason}")
        raise CoverageError(
            f"coverage {share:.1%} is below {least:.1%} ({usable} of {total} judgments are usable){reason}"
            if share
            else f"none of {total} judgments is usable{reason}"
        )


def finish(run: Run, journal: Journal, started: Manifest, status: RunStatus, money: Spending | None = None) -> Run:
    """Write the views and the final manifest of a run, and return the run.

    If `money` is given, the manifest includes the usage of the run. If some items of a complete run are errors, its
    status becomes "incomplete", and resuming the run judges these items again.
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
    record_checksums(run.folder)
    return run


def copy_stores(earlier: Path, folder: Path) -> None:
    """Add the stored calls and results of a run to those of another run, which may not have any."""
    for store_class, name in ((CallStore, CALLS), (ResultStore, RESULTS)):
        if not (earlier / name).exists():
            continue
        if (folder / name).exists():
            with store_class(folder / name) as store:
                store.absorb(earlier / name)
        else:
            folder.mkdir(exist_ok=True)
            with store_class(earlier / name, readonly=True) as store:
                store.copy_to(folder / name)
