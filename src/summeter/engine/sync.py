"""The border between synchronous callers and the one asynchronous implementation."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from summeter.interrupt import STOP

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: in a new loop, or in a thread of its own where a loop runs already."""
    if not _inside_a_loop():
        if not _hears_interrupts():
            return asyncio.run(work)
        try:
            return asyncio.run(_interruptible(work))
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            STOP.clear()
    box: dict[str, Any] = {}

    def body() -> None:
        try:
            box["value"] = asyncio.run(work)
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, whatever it is
            box["error"] = error

    thread = threading.Thread(target=body, name="summeter")
    thread.start()
    thread.join()
    if "error" in box:
        raise box["error"]
    result: T = box["value"]
    return result


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Do the work; the first Ctrl-C ends it in good order, and later ones have to wait for that.

    Left to asyncio, a second Ctrl-C would break off the winding down wherever it stands. The handler is Python's own,
    not the loop's: it is called between two steps of local work, too, while the loop stands still.
    """
    doing, loop = asyncio.ensure_future(work), asyncio.get_running_loop()

    def stop(*_: object) -> None:
        if not STOP.is_set():
            STOP.set()
            if not loop.is_closed():
                loop.call_soon_threadsafe(doing.cancel)

    signal.signal(signal.SIGINT, stop)  # until all winding down is done: `run_sync` takes it back
    try:
        return await doing
    except asyncio.CancelledError:
        if STOP.is_set():
            raise KeyboardInterrupt from None
        raise


def _hears_interrupts() -> bool:
    """Whether Ctrl-C comes to us: in the main thread, unless the caller has a handler of their own."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
