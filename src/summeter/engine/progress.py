"""Show the progress in a terminal or a notebook: finished items, failures and remaining time."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from summeter.printable import printable


class Progress:
    """Receives the progress of a run; this base class shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the display of the progress."""

    def start(self, total: int) -> None:
        """Set the total number of items."""

    def advance(self, *, ok: bool) -> None:
        """Count a finished item."""

    def note(self, text: str) -> None:
        """Show what the run is waiting for."""


class Bar(Progress):
    """A progress bar on stderr, labelled with `verb`."""

    def __init__(self, verb: str = "judging") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(file=getattr(sys.stderr, "terminal", sys.stderr)),  # the bar moves the cursor
        )
        self._verb = verb
        self._failed = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def start(self, total: int) -> None:
        self._task = self._bar.add_task(self._verb, total=total, failed="", note="")

    def advance(self, *, ok: bool) -> None:
        self._failed += not ok
        self._bar.update(self._task, advance=1, failed=f"[red]{self._failed} failed" if self._failed else "")

    def note(self, text: str) -> None:
        self._bar.update(self._task, note=printable(text))


class Line(Progress):
    """A line of text below a cell of a notebook, updated in place."""

    SECONDS = 0.2
    """Minimum time between two updates."""

    def __init__(self, verb: str = "judging") -> None:
        self._verb, self._note = verb, ""
        self._done = self._failed = self._total = 0
        self._start = self._shown = 0.0
        self._handle: Any = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._handle is not None:
            self._show()

    def start(self, total: int) -> None:
        from IPython.display import display

        self._total, self._start = total, time.monotonic()
        self._handle = display(self._text(), raw=True, display_id=True)

    def advance(self, *, ok: bool) -> None:
        self._done += 1
        self._failed += not ok
        if time.monotonic() - self._shown > self.SECONDS:
            self._show()

    def note(self, text: str) -> None:
        self._note = text
        self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._handle.update(self._text(), raw=True)

    def _text(self) -> dict[str, str]:
        seconds = time.monotonic() - self._start
        left = seconds / self._done * (self._total - self._done) if self._done else 0.0
        parts = [
            f"{self._verb} {self._done:,}/{self._total:,}",
            f"{self._failed:,} failed" if self._failed else "",
            f"{_clock(seconds)} elapsed",
            f"{_clock(left)} left" if left else "",
            self._note,
        ]
        return {"text/plain": printable(", ".join(filter(None, parts)))}


def _clock(seconds: float) -> str:
    """Return a duration such as `0:07` or `1:02:07`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def in_notebook(verb: str = "judging") -> Progress:
    """Return a line of text in a notebook. Elsewhere, return a silent Progress."""
    ipython = sys.modules.get("IPython")
    kernel = None if ipython is None else getattr(ipython.get_ipython(), "kernel", None)
    return Progress() if kernel is None else Line(verb)


def progress(*, quiet: bool = False, verb: str = "judging") -> Progress:
    """Return a progress bar if stderr is a terminal and `quiet` is False.

    Otherwise, return a silent Progress.
    """
    return Bar(verb) if sys.stderr.isatty() and not quiet else Progress()
