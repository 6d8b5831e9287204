"""No call is sent once it would pass what the run may spend, in tokens or in money."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable

from summeter.models.base import LLM, Completion, Request, paid_reply
from summeter.models.layers.base import Layer
from summeter.models.prices import Price
from summeter.models.tokens import expected
from summeter.records import BudgetError, ModelError
from summeter.runs.usage import Usage


class Budget:
    """What all models of a run may take together; `spent` is what the run took before.

    A call is let through while what was spent, what is under way and what it is thought to take stay within the
    budget. Where only what is under way stands against it, it waits until that is known. The first call that does not
    fit even then ends the spending: `reached` says so from then on, and every further call is a BudgetError.
    """

    def __init__(self, max_tokens: int | None, max_cost: float | None, spent: Usage | None = None) -> None:
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.spent = spent or Usage()
        self.reached: str | None = None
        self._under_way = Usage()
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def reserve(self, thought: Callable[[], Usage]) -> Usage:
        """Set aside what a call about to be made is thought to take, or raise BudgetError. `thought` is asked again
        after a wait, in which more may have become known."""
        while not self.admit(wanted := thought()):
            if self.reached is not None:
                raise BudgetError(self.reached)
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        return wanted

    def admit(self, wanted: Usage) -> bool:
        """Set `wanted` aside if it fits. Where it would not even fit with nothing under way, the spending ends."""
        if self.reached is not None:
            return False
        parts = (self.spent, self._under_way, wanted)
        tokens, cost = sum(each.total_tokens for each in parts), sum(each.cost or 0.0 for each in parts)
        # A sum of floats may miss the limit by its rounding.
        if (self.max_tokens is None or tokens <= self.max_tokens) and (
            self.max_cost is None or cost <= self.max_cost + 1e-12
        ):
            self._under_way += wanted
            return True
        if not self._under_way.total_tokens:
            spent = []
            if self.max_cost is not None:
                spent.append(f"${self.spent.cost:.4f} of ${self.max_cost:g}")
            if self.max_tokens is not None:
                spent.append(f"{self.spent.total_tokens:,} of {self.max_tokens:,} tokens")
            self.reached = f"the next call would pass the budget ({' and '.join(spent)} spent)"
            self._wake()
        return False

    def settle(self, wanted: Usage, took: Usage) -> None:
        """The call for which `wanted` was set aside is over, and took `took`."""
        self._under_way -= wanted
        self.spent += took
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


class Replies:
    """What the calls of one model took. An endpoint that tells no tokens is taken at the estimate: that of the prompt,
    and a reply as long as those that told their length were on average."""

    def __init__(self) -> None:
        self._count = self._tokens = 0

    def took(self, tokens_in: int | None, tokens_out: int | None, thought: Callable[[], Usage]) -> Usage:
        """What a call took that told these tokens; `thought` is what a call like it is thought to take."""
        if tokens_out is not None:
            self._count += 1
            self._tokens += tokens_out
            if tokens_in is not None:
                return Usage(tokens_in=tokens_in, tokens_out=tokens_out)
        estimate = thought()
        usual = self._tokens // self._count if self._count else estimate.tokens_out
        return Usage(
            tokens_in=estimate.tokens_in if tokens_in is None else tokens_in,
            tokens_out=usual if tokens_out is None else tokens_out,
        )


class CallBudget:
    """What the calls of one model take from the run's budget: thought before a call, known after it."""

    def __init__(self, budget: Budget, price: Price | None) -> None:
        self.budget = budget
        self._price = price
        self._replies, self._answered = Replies(), False
        self._longest_reply, self._shortest_prompt, self._densest_prompt = 0, 0, 0.0

    def estimate(self, thought: Usage) -> Usage:
        """What to set aside for a call that is thought to take so many tokens.

        What this model's calls took so far is a better guide. Calls under way that each take a little more than the
        mean would together pass the budget; what is set aside too much for them is given back. What an endpoint adds to
        every prompt is no share of it: a shorter prompt than all before is taken for as long as the shortest of them.
        """
        if not self._answered:
            return self._priced(thought.tokens_in, thought.tokens_out)
        tokens_in = max(math.ceil(thought.tokens_in * self._densest_prompt), self._shortest_prompt)
        return self._priced(tokens_in, self._longest_reply)

    def took(self, completion: Completion, thought: Usage) -> Usage:
        """What a call took that got this reply; the estimates of the next calls learn from it."""
        tokens = self._replies.took(completion.tokens_in, completion.tokens_out, lambda: thought)
        self._answered = True
        self._longest_reply = max(self._longest_reply, tokens.tokens_out)
        self._shortest_prompt = min(self._shortest_prompt or tokens.tokens_in, tokens.tokens_in)
        self._densest_prompt = max(self._densest_prompt, tokens.tokens_in / max(1, thought.tokens_in))
        cached, written = completion.tokens_cached or 0, completion.tokens_written or 0
        return self._priced(tokens.tokens_in, tokens.tokens_out, cached, written)

    def _priced(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> Usage:
        cost = 0.0 if self._price is None else self._price.cost(tokens_in, tokens_out, cached, written)
        return Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost=cost)


class BudgetGuard(Layer):
    """Has each call set aside from the budget before it is sent, and settled when it is over."""

    def __init__(self, llm: LLM, calls: CallBudget) -> None:
        super().__init__(llm)
        self._calls = calls

    async def complete(self, request: Request) -> Completion:
        thought = expected(request)
        wanted = await self._calls.budget.reserve(lambda: self._calls.estimate(thought))
        took = Usage()
        try:
            completion = await self.llm.complete(request)
            took = self._calls.took(completion, thought)
            return completion
        except ModelError as error:
            if (reply := paid_reply(error)) is not None:
                took = self._calls.took(reply, thought)
            raise
        finally:
            self._calls.budget.settle(wanted, took)
