"""Define the base class of layers, and the layer that refuses requests and replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from summeter.models.base import LLM, Completion, Request, attach_reply


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


class Checked(Layer):
    """Applies checks, which raise an error, to each request before it is sent and to each reply.

    The layer is below the cache, so that only calls that are not stored are checked, and rejected replies are not
    stored. It is also below the rate limit and the retries, so that calls that wait there are checked when they are
    sent.
    """

    def __init__(
        self,
        llm: LLM,
        requests: Sequence[Callable[[Request], None]] = (),
        replies: Sequence[Callable[[Request, Completion], None]] = (),
    ) -> None:
        super().__init__(llm)
        self._requests = requests
        self._replies = replies

    async def complete(self, request: Request) -> Completion:
        for check_request in self._requests:
            check_request(request)
        completion = await self.llm.complete(request)
        with attach_reply(completion):
            for check_reply in self._replies:
                check_reply(request, completion)
        return completion
