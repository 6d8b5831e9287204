"""Faults: everything wrong with one input, gathered so that a user mends a file once."""

from __future__ import annotations

from typing import ClassVar

from summeter.records import Fault, InputError


class Faults:
    """Collects faults and warnings of one file in bounded memory: past `KEPT` of either it only counts."""

    KEPT: ClassVar[int] = 1000

    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self._kept: list[Fault] = []
        self._warned = 0
        self._warnings: list[Fault] = []

    def add(self, line: int | None, field: str | None, message: str) -> None:
        """Note a fault."""
        self.count += 1
        if len(self._kept) < self.KEPT:
            self._kept.append(Fault(self.file, line, field, message))

    def warn(self, line: int | None, field: str | None, message: str) -> None:
        """Note something that is allowed and yet worth a look."""
        self._warned += 1
        if len(self._warnings) < self.KEPT:
            self._warnings.append(Fault(self.file, line, field, message))

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The warnings in file order."""
        return self._listed(self._warnings, self._warned, "warnings")

    def stop(self) -> None:
        """Raise InputError if there is any fault."""
        if self.count:
            raise InputError(self._listed(self._kept, self.count, "faults"))

    def _listed(self, kept: list[Fault], count: int, what: str) -> tuple[Fault, ...]:
        ordered = sorted(kept, key=lambda fault: (fault.line is None, fault.line or 0))
        if count > len(kept):
            ordered.append(Fault(self.file, None, None, f"and {count - len(kept)} more {what}, not listed"))
        return tuple(ordered)
