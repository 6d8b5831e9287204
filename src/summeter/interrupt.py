"""Cooperative cancellation of long computations.

An event loop handles neither timeouts nor signals while Python code computes. A caller sets a check function with
`checked`, and the loops of the computation call `checkpoint`, which runs that function.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

STOP: Final = threading.Event()
"""Set by Ctrl-C until the run has shut down."""

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("summeter_check", default=None)


def checkpoint() -> None:
    """Run the current check, which may raise an exception.

    Loops call this function at least every few milliseconds.
    """
    check = _CHECK.get()
    if check is not None:
        check()


@contextmanager
def checked(check: Callable[[], None]) -> Iterator[None]:
    """Make `checkpoint` call `check` in this context and in threads and tasks started in it."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def raise_if_stopped() -> None:
    """Raise CancelledError if Ctrl-C was pressed."""
    if STOP.is_set():
        raise asyncio.CancelledError
