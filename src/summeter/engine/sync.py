"""The border between synchronous callers and the one asynchronous implementation."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: in a new loop, or in a thread of its own where a loop runs already."""
    if not _inside_a_loop():
        return asyncio.run(_interruptible(work) if _hears_interrupts() else work)
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

    Left to asyncio, a second Ctrl-C would break off the winding down wherever it stands.
    """
    doing = asyncio.ensure_future(work)
    interrupts: list[bool] = []

    def cancel() -> None:
        if not interrupts:
            interrupts.append(True)
            doing.cancel()

    # The loop drops the handler when it is closed, behind all winding down.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, cancel)
    try:
        return await doing
    except asyncio.CancelledError:
        if interrupts:
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
