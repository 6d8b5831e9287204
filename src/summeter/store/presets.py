"""Presets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from summeter.records import UsageError
from summeter.store.rows import meant


class Misfit(ValueError):
    """A row that is not in the preset's layout."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True)
class Preset:
    """One public layout: which column holds which field, and a small function for what is more than a name."""

    name: str
    about: str
    turn: Callable[[dict[str, Any]], Iterable[dict[str, Any]]]


PRESETS: dict[str, Preset] = {}


def preset_named(name: str) -> Preset:
    """The preset of that name. Raises UsageError."""
    found = PRESETS.get(name)
    if found is None:
        raise UsageError(f"unknown preset {name!r}{meant(name, PRESETS)}; presets are: {', '.join(PRESETS)}")
    return found
