"""What all layers share: a layer wraps an LLM and is one."""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Request


class Layer:
    """Passes requests on to the LLM below under its id. A layer overrides `complete`, and `close` if it holds more."""

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    @property
    def id(self) -> str:
        """The model string."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """The reply of the layer below."""
        return await self.llm.complete(request)

    async def close(self) -> None:
        """Close the layer below."""
        await self.llm.close()
