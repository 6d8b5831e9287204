"""What lies in a batch that nobody has read is not asked a second time."""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Request
from summeter.records import UsageError
from summeter.runs.batches import BatchLog


class Guard:
    """Sends calls one by one, but none that a batch answers whose replies are not stored: it would be paid for twice.

    It sits below the cache, where only calls arrive that are not stored.
    """

    def __init__(self, llm: LLM, log: BatchLog) -> None:
        self.llm = llm
        self._held = log.held(llm.id)

    @property
    def id(self) -> str:
        """The model string."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """The reply of the layer below."""
        if (made := self._held.get(request.key)) is not None:
            raise UsageError(
                f"batch {made.name} of this run ({len(made.keys)} calls to {made.model}, since {made.since}) holds "
                "calls that would now be made again: give the same command with --batch to fetch its replies; or "
                "call it off with `summeter batches cancel RUN` and fetch what was answered, and the rest is made anew"
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
