"""How long this processor computes for a judge: its own code, and the local models that it asks."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Generator
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from summeter.runs.usage import Usage

T = TypeVar("T")


_FOR: ContextVar[Usage | None] = ContextVar("summeter_compute_time", default=None)


def computing_for() -> Usage | None:
    """Whose time the work is that runs now; what is computed for it in a thread is added there."""
    return _FOR.get()


async def timed(spent: Usage, work: Awaitable[T]) -> T:
    """Await `work`, adding to `spent` the seconds in which it runs, not those in which it waits.

    Tasks that it starts are not timed; local models that they ask are.
    """
    token = _FOR.set(spent)
    try:
        return await _Stepped(spent, work)
    finally:
        _FOR.reset(token)


class _Stepped(Generic[T]):
    """An awaitable that looks at the clock whenever its work goes on and stops."""

    def __init__(self, spent: Usage, work: Awaitable[T]) -> None:
        self._spent = spent
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        error: BaseException | None = None
        while True:
            began = time.perf_counter()
            try:
                waits = next(steps) if error is None else steps.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self._spent.seconds += time.perf_counter() - began
            error = None
            try:
                yield waits
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as thrown:  # noqa: BLE001 - it is the work's to meet
                error = thrown
