"""The border between synchronous callers and the one asynchronous implementation."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from summeter.interrupt import STOP

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: in a new loop, or in a thread of its own where a loop runs already.

    The first Ctrl-C ends it in good order, and later ones have to wait for that; then KeyboardInterrupt is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        return _in_a_thread(work)
    # Ctrl-C comes to us in the main thread, unless the caller has a handler of their own.
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return asyncio.run(work)
    try:
        return asyncio.run(_interruptible(work))
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        STOP.clear()


def _in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    doing, ended = loop.create_task(work), threading.Event()

    def body() -> None:
        try:
            with suppress(KeyboardInterrupt, SystemExit), runner:  # `doing` has kept it
                runner.run(asyncio.wait({doing}))
        finally:
            ended.set()

    threading.Thread(target=body, name="summeter").start()
    interrupted = False
    while not ended.is_set():
        try:
            ended.wait()  # not Thread.join: a thread whose join was interrupted counts as stopped
        except KeyboardInterrupt:  # a notebook's stop button, for example
            if not interrupted:
                interrupted = True
                STOP.set()
                with suppress(RuntimeError):  # the loop may be closed by now
                    loop.call_soon_threadsafe(doing.cancel)
    if interrupted:
        STOP.clear()
        raise KeyboardInterrupt
    return doing.result()


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Do the work; the first Ctrl-C cancels it.

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
