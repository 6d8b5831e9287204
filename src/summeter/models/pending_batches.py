"""List and cancel the pending batches of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import NamedTuple

from summeter.models.layers.batches import check_address
from summeter.models.providers.batches import BatchAPI, Batching, Tag
from summeter.models.resolve import resolve
from summeter.records import ModelError, UsageError
from summeter.runs.batches import BatchLog, Submission


class PendingBatch(NamedTuple):
    """A batch whose results were not read; `words` are its state at the vendor, or why nothing was done."""

    batch: str
    model: str
    calls: int
    since: str
    words: str
    ended: bool = False


async def pending_batches(
    log: BatchLog, *, cancel: bool = False, only: Collection[str] = (), base_url: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[PendingBatch]:  # fmt: skip
    """Yield the state of each batch whose results were not read; with `cancel`, after cancelling it.

    `only` are ids; `base_url` and `environ` are those of the run. A batch that has ended, or is being cancelled, is
    left as it is, so that asking twice is harmless. The log is only read. UsageError for an id that is not the
    run's; ModelError where the vendor cannot be asked.
    """
    unknown = sorted(set(only) - {submission.id for submission in log.open})
    if unknown:
        waiting = ", ".join(submission.id for submission in log.open if submission.id) or "none"
        raise UsageError(f"no batch {unknown[0]!r} of this run is waited for; those that are: {waiting}")
    for model in dict.fromkeys(submission.model for submission in log.open):
        llm = resolve(model, base_url=base_url, environ=environ)
        try:
            api = llm.batches() if isinstance(llm, Batching) else None
            if api is None:
                raise UsageError(f"{model} has no batch API that summeter speaks")
            # The key goes to no address that only the folder names.
            check_address(log, model, getattr(llm, "address", llm.id))
            wanted = [
                submission for submission in log.of(model)
                if not submission.ended and (not only or submission.id in only)
            ]  # fmt: skip
            # The vendor is asked for those of which no id came, and no batch is two of them. The latest first: where
            # several are alike, a batch is that of the last one submitted before it was made.
            known, ids = log.ids, {submission.nonce: submission.id for submission in wanted}
            lost = [submission for submission in wanted if submission.id is None]
            for submission in sorted(lost, key=lambda submission: submission.at, reverse=True):
                batch = await api.find(Tag(submission.nonce, submission.at, frozenset(submission.keys)), known)
                ids[submission.nonce], known = batch, known if batch is None else known | {batch}
            for submission in wanted:
                named = submission.id in only
                yield await _status(api, submission, ids[submission.nonce], named=named, cancel=cancel)
        finally:
            await llm.close()


async def _status(
    api: BatchAPI, submission: Submission, batch: str | None, *, named: bool, cancel: bool
) -> PendingBatch:  # fmt: skip
    pending = PendingBatch(batch or "?", submission.model, len(submission.keys), submission.since, "")
    if batch is None:
        return pending._replace(words="the vendor lists no such batch: it may never have arrived")
    sure = api.marks or named or (submission.id is not None and not submission.found)
    status = await api.status(batch)
    if cancel and not sure and not status.ended:
        mend = "cancel it with the vendor" if submission.id is None else "name its id to cancel it"
        words = f"{status.words}; not cancelled, since only its time and size say that it is this run's; {mend}"
        return pending._replace(words=words)
    if cancel and not status.ended and not status.words.startswith("cancel"):
        try:
            status = await api.cancel(batch)
        except ModelError:
            # It may have ended at this very moment, which comes to the same.
            status = await api.status(batch)
            if not status.ended:
                raise
    return pending._replace(words=status.words, ended=status.ended)
