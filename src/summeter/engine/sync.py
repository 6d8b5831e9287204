"""Run asynchronous functions for synchronous callers."""

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
    """Run a coroutine in a new event loop and return its result.

    If this thread has a running loop, the coroutine runs in a new thread. The first Ctrl-C cancels the coroutine, and
    further ones are ignored; KeyboardInterrupt is raised after the cleanup.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        return _in_a_thread(work)
    # Ctrl-C can be handled only in the main thread, and only if the caller has not set a handler.
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
    task, ended = loop.create_task(work), threading.Event()

    def body() -> None:
        try:
            with suppress(KeyboardInterrupt, SystemExit), runner:  # the task holds the error
                runner.run(asyncio.wait({task}))
        finally:
            ended.set()

    threading.Thread(target=body, name="summeter").start()
    interrupted = False
    while not ended.is_set():
        try:
            ended.wait()  # not Thread.join, which marks an interrupted thread as stopped
        except KeyboardInterrupt:  # for example from the stop button of a notebook
            if not interrupted:
                interrupted = True
                STOP.set()
                with suppress(RuntimeError):  # the loop may be closed
                    loop.call_soon_threadsafe(task.cancel)
    if interrupted:
        STOP.clear()
        raise KeyboardInterrupt
    return task.result()


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Await the work, and cancel it on the first Ctrl-C.

    With asyncio's handler, a second Ctrl-C would interrupt the cleanup. A Python signal handler is used instead of a
    handler of the loop, because it is called even while a local computation blocks the loop.
    """
    task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()

    def stop(*_: object) -> None:
        if not STOP.is_set():
            STOP.set()
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

    signal.signal(signal.SIGINT, stop)  # `run_sync` restores the handler after the cleanup
    try:
        return await task
    except asyncio.CancelledError:
        if STOP.is_set():
            raise KeyboardInterrupt from None
        raise
