"""Progress on stderr: done, failed, ETA. Off where stderr is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from summeter.printable import printable


class Progress:
    """What a run tells of how it comes on. This one shows nothing; a subclass shows what it likes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing more is told."""

    def start(self, total: int) -> None:
        """So many items are to be judged."""

    def advance(self, *, ok: bool) -> None:
        """One more item has ended."""

    def note(self, text: str) -> None:
        """What is waited for."""


class Bar(Progress):
    """A rich progress bar on stderr; `verb` says what is being done."""

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
            console=Console(file=getattr(sys.stderr, "terminal", sys.stderr)),  # which the bar moves about in
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
    """A bar where somebody can see it, else silence."""
    return Bar(verb) if sys.stderr.isatty() and not quiet else Progress()
