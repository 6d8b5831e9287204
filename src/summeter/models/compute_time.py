"""Measure the compute time of judges on this machine.

It includes the time of a judge's own code and of the local models that the judge calls.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Generator
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from summeter.runs.usage import Usage

T = TypeVar("T")


_CURRENT: ContextVar[Usage | None] = ContextVar("summeter_compute_time", default=None)


def current_usage() -> Usage | None:
    """Return the usage that `timed` measures in this context, or None outside `timed`.

    Work in other threads adds its time to this usage.
    """
    return _CURRENT.get()


async def timed(spent: Usage, work: Awaitable[T]) -> T:
    """Await `work` and add the seconds during which it runs, excluding waits, to `spent`.

    Tasks started by `work` are not timed, but the local models that these tasks call are.
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
