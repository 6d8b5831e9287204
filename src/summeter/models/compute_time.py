"""Compute time of a judge on this machine: its own code and the local models that it calls."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Generator
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from summeter.runs.usage import Usage

T = TypeVar("T")


_CURRENT: ContextVar[Usage | None] = ContextVar("summeter_compute_time", default=None)


def current_usage() -> Usage | None:
    """Return the usage that is timed in this context, to which work in threads adds its time.

    Returns None outside `timed`.
    """
    return _CURRENT.get()


async def timed(spent: Usage, work: Awaitable[T]) -> T:
    """Await `work` and add the seconds in which it runs, without its waits, to `spent`.

    Tasks that it starts are not timed, but the local models that they call are.
    """
    token = _CURRENT.set(spent)
    try:
        return await _Stepped(spent, work)
    finally:
        _CURRENT.reset(token)


class _Stepped(Generic[T]):
    """An awaitable that reads the clock whenever its work resumes or suspends."""

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
            except BaseException as thrown:  # noqa: BLE001 - passed on to the work
                error = thrown
