"""Long work on the processor that can be ended: its loops call `checkpoint`.

An event loop stands still while Python computes: neither its timeouts nor its signals are heard. So whoever begins such
work says with `checked` what ends it, and the work looks at it now and then.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

STOP: Final = threading.Event()
"""Set from Ctrl-C until the run has ended in good order."""

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("summeter_check", default=None)


def checkpoint() -> None:
    """Raise what ends the work at hand, or do nothing: to be called at least every few milliseconds."""
    check = _CHECK.get()
    if check is not None:
        check()


@contextmanager
def checked(check: Callable[[], None]) -> Iterator[None]:
    """Have `checkpoint` call `check` within, also in threads and tasks begun there."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def raise_if_stopped() -> None:
    """CancelledError from Ctrl-C on."""
    if STOP.is_set():
        raise asyncio.CancelledError
