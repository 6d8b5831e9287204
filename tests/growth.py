"""Whether work grows in proportion to its input, told the same on a busy machine as on an idle one."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

TRIES = 8


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this process, without collections of the garbage that the rest of the suite left."""
    gc.disable()
    try:
        begin = time.process_time()
        work()
        return time.process_time() - begin
    finally:
        gc.enable()


def assert_proportional(short: Callable[[], object], long: Callable[[], object], times: float, quick: float) -> None:
    """`long`, with `times` the input of `short`, takes nothing near the square of it.

    Noise adds time to one measurement; a quadratic reader is slow in each. So it fails only where every one of eight
    tries takes over `quick` seconds and over `times ** 1.6` times as long as the short input.
    """
    tries = []
    for _ in range(TRIES):
        took = cpu_seconds(long)
        if took <= quick:
            return
        brief = cpu_seconds(short)
        if took < brief * times**1.6:
            return
        tries.append((brief, took))
    raise AssertionError(f"{times:g} times the input, seconds before and after: {tries}")


def assert_within(seconds: float, work: Callable[[], object]) -> None:
    """The quickest of some tries takes no more CPU seconds than these, a bound far above what it should take."""
    tries: list[float] = []
    while not tries or (min(tries) > seconds and len(tries) < TRIES):
        tries.append(cpu_seconds(work))
    assert min(tries) <= seconds, tries
