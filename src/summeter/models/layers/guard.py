"""What lies in a batch that nobody has read is not asked a second time."""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Request
from summeter.records import UsageError
from summeter.store.batches import BatchLog


class Guard:
    """Sends calls one by one, but none that lies in a batch which nobody has read: it would be paid for twice."""

    def __init__(self, llm: LLM, log: BatchLog) -> None:
        self.llm = llm
        self._held = {key: one for one in log.open if one.model == llm.id for key in one.keys}

    @property
    def id(self) -> str:
        """The model string."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """The reply of the layer below."""
        if (made := self._held.get(request.key)) is not None:
            raise UsageError(
                f"this run waits for batch {made.name} ({len(made.keys)} calls to {made.model}, since {made.since}), "
                "which holds calls that would now be made again: give the same command with --batch to fetch it; or "
                "cancel the batch with the vendor and delete batches.jsonl in the run's folder to pay for them anew"
            )
        return await self.llm.complete(request)

    async def close(self) -> None:
        """Close what is below."""
        await self.llm.close()


def same_address(log: BatchLog, model: str, address: str) -> None:
    """UsageError where a batch that nobody has read lies with another endpoint than the one that is asked now."""
    for made in log.of(model):
        if not made.ended and made.address != address:
            raise UsageError(
                f"batch {made.name} of this run was handed in at {made.address}, and {model} is now asked at "
                f"{address}; give the base URL it had, so that it can be fetched"
            )
