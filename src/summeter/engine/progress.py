"""Show the progress on stderr if it is a terminal: finished items, failures and remaining time."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

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


def progress(*, quiet: bool = False, verb: str = "judging") -> Progress:
    """Return a progress bar if stderr is a terminal and `quiet` is False.

    Otherwise, return a silent Progress.
    """
    return Bar(verb) if sys.stderr.isatty() and not quiet else Progress()
