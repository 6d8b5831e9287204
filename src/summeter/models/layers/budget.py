"""Enforce budgets: no call is sent that would exceed the tokens or the money that a run may spend."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable

from summeter.models.base import LLM, Completion, Layer, Request, paid_reply
from summeter.models.prices import Price
from summeter.models.tokens import expected
from summeter.records import BudgetError, ModelError
from summeter.runs.usage import Usage


class Budget:
    """The budget that all models of a run share.

    `spent` initially is the usage of earlier sessions. A call is admitted if the sum of the usage so far, the usage
    reserved for calls in flight and the call's own expected usage is within the budget. If the call would fit without
    the calls in flight, it waits until their usage is known. The first call that does not fit even then exhausts the
    budget: `reached` holds the error message, and this and every later call raises BudgetError. `max_tokens` and
    `max_cost` (in US dollars) are None without a limit.
    """

    def __init__(self, max_tokens: int | None, max_cost: float | None, spent: Usage | None = None) -> None:
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.spent = spent or Usage()
        self.reached: str | None = None
        self._reserved = Usage()
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def reserve(self, estimate: Callable[[], Usage]) -> Usage:
        """Reserve the estimated usage of a call and return it, or raise BudgetError.

        The estimate is computed again after each wait, since completed calls improve it.
        """
        while not self.admit(wanted := estimate()):
            if self.reached is not None:
                raise BudgetError(self.reached)
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        return wanted

    def admit(self, wanted: Usage) -> bool:
        """Reserve the usage `wanted` if it fits into the budget, and return whether it was reserved.

        If it does not fit even though nothing is reserved, the budget is exhausted.
        """
        if self.reached is not None:
            return False
        usages = (self.spent, self._reserved, wanted)
        tokens, cost = sum(each.total_tokens for each in usages), sum(each.cost or 0.0 for each in usages)
        # The tolerance allows for the rounding of the sum.
        if (self.max_tokens is None or tokens <= self.max_tokens) and (
            self.max_cost is None or cost <= self.max_cost + 1e-12
        ):
            self._reserved += wanted
            return True
        if not self._reserved.total_tokens:
            spent = []
            if self.max_cost is not None:
                spent.append(f"${self.spent.cost:.4f} of ${self.max_cost:g}")
            if self.max_tokens is not None:
                spent.append(f"{self.spent.total_tokens:,} of {self.max_tokens:,} tokens")
            self.reached = f"the next call would exceed the budget ({' and '.join(spent)} spent)"
            self._wake()
        return False

    def settle(self, reserved: Usage, actual: Usage) -> None:
        """Replace the usage reserved for a completed call with its actual usage."""
        self._reserved -= reserved
        self.spent += actual
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


class Replies:
    """The usage of the calls of one model.

    Token counts that the endpoint does not report are estimated: those of prompts from their texts, and those of
    replies as the mean of the reported counts.
    """

    def __init__(self) -> None:
        self._count = self._tokens = 0

    def record(self, tokens_in: int | None, tokens_out: int | None, expect: Callable[[], Usage]) -> Usage:
        """Return the usage of a call with these reported token counts, which are None if they were not reported.

        `expect` returns the expected usage of the call.
        """
        if tokens_out is not None:
            self._count += 1
            self._tokens += tokens_out
            if tokens_in is not None:
                return Usage(tokens_in=tokens_in, tokens_out=tokens_out)
        estimate = expect()
        mean = self._tokens // self._count if self._count else estimate.tokens_out
        return Usage(
            tokens_in=estimate.tokens_in if tokens_in is None else tokens_in,
            tokens_out=mean if tokens_out is None else tokens_out,
        )


class CallBudget:
    """The usage of one model's calls, estimated before a call and recorded after it, against the run's budget."""

    def __init__(self, budget: Budget, price: Price | None) -> None:
        self.budget = budget
        self._price = price
        self._replies, self._answered = Replies(), False
        self._longest_reply, self._shortest_prompt, self._densest_prompt = 0, 0, 0.0

    def estimate(self, expectation: Usage) -> Usage:
        """Return the usage to reserve for a call with this expected usage.

        The estimate is based on the largest usage of this model's earlier calls, since several calls in flight that
        each exceed the mean could together exceed the budget; the unused part is released afterwards. Endpoints may add
        tokens to every prompt, so the estimate is never below the shortest prompt so far.
        """
        if not self._answered:
            return self._priced(expectation.tokens_in, expectation.tokens_out)
        tokens_in = max(math.ceil(expectation.tokens_in * self._densest_prompt), self._shortest_prompt)
        return self._priced(tokens_in, self._longest_reply)

    def record(self, completion: Completion, expectation: Usage) -> Usage:
        """Return the usage of a call with this reply, and use it to improve later estimates."""
        tokens = self._replies.record(completion.tokens_in, completion.tokens_out, lambda: expectation)
        self._answered = True
        self._longest_reply = max(self._longest_reply, tokens.tokens_out)
        self._shortest_prompt = min(self._shortest_prompt or tokens.tokens_in, tokens.tokens_in)
        self._densest_prompt = max(self._densest_prompt, tokens.tokens_in / max(1, expectation.tokens_in))
        cached, written = completion.tokens_cached or 0, completion.tokens_written or 0
        return self._priced(tokens.tokens_in, tokens.tokens_out, cached, written)

    def _priced(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> Usage:
        cost = 0.0 if self._price is None else self._price.cost(tokens_in, tokens_out, cached, written)
        return Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost=cost)


class BudgetGuard(Layer):
    """Reserves the estimated usage of each call before it is sent, and records the actual usage afterwards."""

    def __init__(self, llm: LLM, calls: CallBudget) -> None:
        super().__init__(llm)
        self._calls = calls

    async def complete(self, request: Request) -> Completion:
        expectation = expected(request)
        reserved = await self._calls.budget.reserve(lambda: self._calls.estimate(expectation))
        actual = Usage()
        try:
            completion = await self.llm.complete(request)
            actual = self._calls.record(completion, expectation)
            return completion
        except ModelError as error:
            if (reply := paid_reply(error)) is not None:
                actual = self._calls.record(reply, expectation)
            raise
        finally:
            self._calls.budget.settle(reserved, actual)
