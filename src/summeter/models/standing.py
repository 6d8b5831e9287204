"""How the batches of a run stand at the vendor's, and calling them off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import NamedTuple

from summeter.models.batch import BatchAPI, Batching, Tag
from summeter.models.layers.batches import same_address
from summeter.models.resolve import resolve
from summeter.records import ModelError, UsageError
from summeter.runs.batches import BatchLog, Submission


class Standing(NamedTuple):
    """A batch as it stands: `words` are the vendor's, or why nothing was done."""

    batch: str
    model: str
    calls: int
    since: str
    words: str
    ended: bool = False


class At(NamedTuple):
    """Where the vendors are; as of a run."""

    base_url: str | None = None
    environ: Mapping[str, str] | None = None


async def standing(
    log: BatchLog, *, cancel: bool = False, only: Collection[str] = (), at: At | None = None
) -> AsyncIterator[Standing]:
    """How each batch stands whose results were not read; with `cancel`, after it was called off. `only` are ids.

    A batch that has ended, or is being cancelled, is left as it is, so that asking twice is harmless. The log is only
    read. UsageError for an id that is none of the run's; ModelError where the vendor cannot be asked.
    """
    at = at or At()
    unknown = sorted(set(only) - {made.id for made in log.open})
    if unknown:
        waiting = ", ".join(made.id for made in log.open if made.id) or "none"
        raise UsageError(f"no batch {unknown[0]!r} of this run is waited for; those that are: {waiting}")
    for model in dict.fromkeys(made.model for made in log.open):
        llm = resolve(model, base_url=at.base_url, environ=at.environ)
        try:
            api = llm.batches() if isinstance(llm, Batching) else None
            if api is None:
                raise UsageError(f"{model} has no batch API that summeter speaks")
            # The key goes to no address that only the folder names.
            same_address(log, model, getattr(llm, "address", llm.id))
            wanted = [made for made in log.of(model) if not made.ended and (not only or made.id in only)]
            found = await _found(api, wanted, log.ids)
            for made in wanted:
                yield await _one(api, made, found[made.nonce], named=made.id in only, cancel=cancel)
        finally:
            await llm.close()


async def _found(api: BatchAPI, wanted: Sequence[Submission], known: frozenset[str]) -> dict[str, str | None]:
    """The id of each, by its word; the vendor is asked for those of which none came, and no batch is two of them.

    The latest first: where several are alike, a batch is that of the last one handed in before it was made.
    """
    found = {made.nonce: made.id for made in wanted}
    for made in sorted((made for made in wanted if made.id is None), key=lambda made: made.at, reverse=True):
        got = await api.find(Tag(made.nonce, made.at, frozenset(made.keys)), known)
        found[made.nonce], known = got, known if got is None else known | {got}
    return found


async def _one(api: BatchAPI, made: Submission, found: str | None, *, named: bool, cancel: bool) -> Standing:
    told = Standing(found or "?", made.model, len(made.keys), made.since, "")
    if found is None:
        return told._replace(words="the vendor lists no such batch: it may never have arrived")
    sure = api.marks or named or (made.id is not None and not made.found)
    status = await api.status(found)
    if cancel and not sure and not status.ended:
        mend = "cancel it with the vendor" if made.id is None else "name its id to cancel it"
        words = f"{status.words}; not cancelled, since only its time and size say that it is this run's; {mend}"
        return told._replace(words=words)
    if cancel and not status.ended and not status.words.startswith("cancel"):
        try:
            status = await api.cancel(found)
        except ModelError:
            # It may have ended at this very moment, which comes to the same.
            status = await api.status(found)
            if not status.ended:
                raise
    return told._replace(words=status.words, ended=status.ended)
