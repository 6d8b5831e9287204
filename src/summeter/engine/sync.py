"""The border between synchronous callers and the one asynchronous implementation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: in a new loop, or in a thread of its own where a loop runs already."""
    if not _inside_a_loop():
        return asyncio.run(work)
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


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
