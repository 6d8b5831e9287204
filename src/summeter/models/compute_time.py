"""Measure the compute time of judges on this machine.

It includes the time of a judge's own code and of the local models that the judge calls.
"""

from __future__ import annotations

import time
import types
from collections.abc import Awaitable, Generator
from contextvars import ContextVar
from typing import Any, TypeVar

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
        return await _stepped(spent, work)
    finally:
        _CURRENT.reset(token)


@types.coroutine
def _stepped(spent: Usage, work: Awaitable[T]) -> Generator[Any, Any, T]:
    """Await `work`, and read the clock whenever it resumes or suspends."""
    steps = work.__await__()
    error: BaseException | None = None
    while True:
        began = time.perf_counter()
        try:
            waits = next(steps) if error is None else steps.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            spent.seconds += time.perf_counter() - began
        error = None
        try:
            yield waits
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as thrown:  # noqa: BLE001 - passed on to the work
            error = thrown
