"""Budgets: no call is sent that would exceed them, and calls within them are sent."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.server import asked

from summeter.models.base import Completion, Layer, Request, attach_reply
from summeter.models.layers.budget import Budget, BudgetGuard, CallBudget
from summeter.models.prices import Price
from summeter.models.providers.scripted import Scripted
from summeter.models.resolve import stack
from summeter.models.tokens import expected
from summeter.records import BudgetError, ContextError, ModelError
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage

PRICE = Price(input=10.0, output=20.0, date=date(2026, 1, 1))


def reply(request: Request) -> Completion:
    return Completion(text="x", tokens_in=expected(request).tokens_in, tokens_out=50)


def spend(budget: Budget, count: int, price: Price | None = None) -> tuple[list[object], Scripted]:
    llm = Scripted(reply, latency=0.0)
    layer = BudgetGuard(llm, CallBudget(budget, price))

    async def main() -> list[object]:
        return await asyncio.gather(
            *(layer.complete(asked(f"number {n}")) for n in range(count)), return_exceptions=True
        )

    return asyncio.run(main()), llm


@given(st.integers(1, 3000), st.integers(1, 30))
def test_tokens_never_pass_the_budget(limit: int, count: int) -> None:
    budget = Budget(limit, None)
    results, llm = spend(budget, count)
    # The first reply is thought to take 200 tokens and takes 50: what is spent stays within the limit.
    assert budget.spent.total_tokens <= limit
    sent = [one for one in results if isinstance(one, Completion)]
    assert len(sent) == llm.calls
    assert all(isinstance(one, BudgetError) for one in results if not isinstance(one, Completion))
    assert (budget.reached is not None) == (len(sent) < count)


@given(st.integers(40, 200))
@settings(max_examples=15)
def test_prompts_with_a_constant_addition_never_exceed_the_budget(limit: int) -> None:
    """The endpoint adds the same number of tokens to each prompt, so short prompts grow by a larger factor."""

    async def main() -> tuple[Budget, int]:
        budget = Budget(limit * 18, None)
        llm = Scripted(lambda _: Completion(text="x", tokens_in=11, tokens_out=7), latency=0.0)
        layer = BudgetGuard(llm, CallBudget(budget, None))
        texts = ["word " * 400, *["word " * 200] * 250]
        prompts = list(map(asked, texts))
        await layer.complete(prompts[0])
        await asyncio.gather(*map(layer.complete, prompts[1:]), return_exceptions=True)
        return budget, llm.calls

    budget, calls = asyncio.run(main())
    assert calls == limit
    assert budget.spent.total_tokens == budget.max_tokens


def test_the_full_limit_is_used() -> None:
    # "number 7" has 2 tokens or so; with 50 for the reply, 40 calls take about 2,100 tokens. What is under way is
    # thought dearer at first (200 a reply), but it is waited for rather than given up.
    results, _ = spend(Budget(2200, None), 40)
    assert sum(isinstance(one, Completion) for one in results) == 40


def test_money() -> None:
    budget = Budget(None, 0.01)
    results, llm = spend(budget, 100, PRICE)
    # A reply of 50 tokens at $20 the million is $0.001; the prompt's 2 or 3 tokens add 2 %: nine calls of ten fit.
    assert llm.calls == 9
    assert budget.spent.cost == pytest.approx(0.0093, abs=0.0002)
    error = next(one for one in results if isinstance(one, BudgetError))
    assert "$0.0092 of $0.01" in str(error)
    assert error.exit_code == 130


def test_a_failed_call_releases_its_reserved_budget() -> None:
    async def main() -> Budget:
        budget = Budget(10_000, None)
        layer = BudgetGuard(Scripted({}), CallBudget(budget, None))
        for number in range(100):
            with pytest.raises(ModelError):
                await layer.complete(asked(f"number {number}"))
        return budget

    budget = asyncio.run(main())
    assert budget.spent == Usage()
    assert budget.reached is None


class TurnsAway(Layer):
    """An LLM whose replies are all rejected."""

    async def complete(self, request: Request) -> Completion:
        completion = await self.llm.complete(request)
        with attach_reply(completion):
            raise ContextError("the prompt was cut")


def test_a_rejected_reply_is_charged() -> None:
    async def main() -> tuple[Budget, CallStore, Usage, int]:
        budget, store, llm = Budget(None, 0.01), CallStore(), Scripted(reply, latency=0.0)
        meter = stack(TurnsAway(llm), store, budget=CallBudget(budget, PRICE))
        await asyncio.gather(*(meter.complete(asked(f"number {n}")) for n in range(100)), return_exceptions=True)
        return budget, store, meter.usage, llm.calls

    budget, store, usage, calls = asyncio.run(main())
    assert calls == 9  # as of replies that are used
    assert budget.spent.cost == pytest.approx(0.0093, abs=0.0002)
    assert len(store) == 0
    told = store.tokens("turned_away")
    assert [call.tokens_out for call in told] == [50] * 9
    assert usage.tokens_out == 450
    assert budget.spent.total_tokens == usage.tokens_in + 450


def test_a_rejected_reply_without_token_counts_is_estimated() -> None:
    budget = Budget(10_000, None)
    layer = BudgetGuard(TurnsAway(Scripted(lambda _: Completion(text="x"), latency=0.0)), CallBudget(budget, None))
    with pytest.raises(ContextError):
        asyncio.run(layer.complete(asked("number 0")))
    assert budget.spent.total_tokens == expected(asked("number 0")).total_tokens


def test_a_budget_error_is_not_counted_as_a_failure() -> None:
    meter = stack(Scripted(reply), budget=CallBudget(Budget(1, None), None))
    with pytest.raises(BudgetError):
        asyncio.run(meter.complete(asked("number 0")))
    assert meter.usage.failures == 0
