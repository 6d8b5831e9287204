"""Define the base class of layers."""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Request


class Layer:
    """An LLM that forwards requests to another LLM.

    Subclasses override `complete`, and also `close` if they hold resources.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    @property
    def id(self) -> str:
        """The model string of the LLM."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """Return the reply of the layer below."""
        return await self.llm.complete(request)

    async def close(self) -> None:
        """Close the layer below."""
        await self.llm.close()
