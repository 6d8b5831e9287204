"""Run asynchronous functions for synchronous callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from summeter.interrupt import STOP

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of a new thread, and return its result.

    This thread may therefore have a running loop, as in a notebook, and receives Ctrl-C even while a local computation
    blocks the loop. The first Ctrl-C cancels the coroutine, and further ones are ignored; KeyboardInterrupt is raised
    after the cleanup.
    """
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
        except KeyboardInterrupt:
            if not interrupted:
                interrupted = True
                STOP.set()
                with suppress(RuntimeError):  # the loop may be closed
                    loop.call_soon_threadsafe(task.cancel)
    if interrupted:
        STOP.clear()
        raise KeyboardInterrupt
    return task.result()
