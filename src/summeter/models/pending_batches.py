"""List and cancel the pending batches of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import NamedTuple

from summeter.models.layers.batches import check_address
from summeter.models.providers.batches import BatchAPI
from summeter.models.providers.http import HttpLLM
from summeter.models.resolve import resolve
from summeter.records import ModelError, UsageError
from summeter.runs.batches import BatchLog, Submission


class PendingBatch(NamedTuple):
    """A batch whose results have not been read.

    `calls` is the number of calls in the batch. `words` describes the state of the batch at the vendor, or why it was
    not cancelled.
    """

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
    """Yield the state of each batch whose results have not been read.

    With `cancel`, cancel the batch first. `only` selects batches by id; if it is empty, all batches are yielded.
    `base_url` and `environ` are those of the run. Batches that have ended or are being cancelled are not changed, so
    the call may be repeated. The log is not written. Raises UsageError for an id that is not a pending batch of the
    run, and ModelError if the vendor does not answer.
    """
    unknown = sorted(set(only) - {submission.id for submission in log.open})
    if unknown:
        waiting = ", ".join(submission.id for submission in log.open if submission.id) or "none"
        raise UsageError(f"{unknown[0]!r} is not a pending batch of this run; pending batches: {waiting}")
    for model in dict.fromkeys(submission.model for submission in log.open):
        llm = resolve(model, base_url=base_url, environ=environ)
        try:
            api = llm.batches() if isinstance(llm, HttpLLM) else None
            if api is None:
                raise UsageError(f"{model} has no batch API that summeter supports")
            # The key is sent only to the address that the user's settings give, never to one from the folder alone.
            check_address(log, model, getattr(llm, "address", llm.id))
            selected = [
                submission for submission in log.of(model)
                if not submission.ended and (not only or submission.id in only)
            ]  # fmt: skip
            # Submissions without an id are looked up at the vendor, and each batch is assigned to one submission. The
            # latest submission comes first: a batch belongs to the last of similar submissions before its creation.
            known, ids = log.ids, {submission.nonce: submission.id for submission in selected}
            lost = [submission for submission in selected if submission.id is None]
            for submission in sorted(lost, key=lambda submission: submission.at, reverse=True):
                batch = await api.find(submission, known)
                ids[submission.nonce], known = batch, known if batch is None else known | {batch}
            for submission in selected:
                named = submission.id in only
                yield await _status(api, submission, ids[submission.nonce], named=named, cancel=cancel)
        finally:
            await llm.close()


async def _status(
    api: BatchAPI, submission: Submission, batch: str | None, *, named: bool, cancel: bool
) -> PendingBatch:  # fmt: skip
    pending = PendingBatch(batch or "?", submission.model, len(submission.keys), submission.since, "")
    if batch is None:
        return pending._replace(words="the vendor does not list this batch; it may never have arrived")
    sure = api.has_nonce or named or (submission.id is not None and not submission.found)
    status = await api.status(batch)
    if cancel and not sure and not status.ended:
        fix = "cancel it at the vendor" if submission.id is None else "give its id to cancel it"
        words = f"{status.words}; not cancelled, because only its time and size match this run; {fix}"
        return pending._replace(words=words)
    if cancel and not status.ended and not status.words.startswith("cancel"):
        try:
            status = await api.cancel(batch)
        except ModelError:
            # The batch may have ended in the meantime.
            status = await api.status(batch)
            if not status.ended:
                raise
    return pending._replace(words=status.words, ended=status.ended)
