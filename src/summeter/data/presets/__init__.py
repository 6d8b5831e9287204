"""Presets: the column names and conventions of public layouts, turned into flat rows, one small file each.

`base` says how one is written. A preset moves the columns it knows, leaves every other column as it is, and raises
`LayoutError` rather than guess where a row is not in its layout. Labels are turned so that 1 means supported. Layouts
were read from the released files or their authors' documentation.
"""

from __future__ import annotations

from summeter.data.faults import meant
from summeter.data.presets.base import LayoutError, Preset
from summeter.data.presets.claims import CLAIMS
from summeter.data.presets.finesure import FINESURE
from summeter.data.presets.frank import FRANK
from summeter.data.presets.qags import QAGS
from summeter.data.presets.summeval import SUMMEVAL
from summeter.data.presets.unisumeval import UNISUMEVAL
from summeter.records import UsageError

__all__ = ["PRESETS", "LayoutError", "Preset", "preset_named"]

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (FINESURE, UNISUMEVAL, SUMMEVAL, FRANK, QAGS, *CLAIMS)}


def preset_named(name: str) -> Preset:
    """The preset of that name, or of that alias. Raises UsageError."""
    name = next((preset.name for preset in PRESETS.values() if name in preset.aliases), name)
    if name not in PRESETS:
        raise UsageError(f"unknown preset {name!r}{meant(name, PRESETS)}; presets are: {', '.join(PRESETS)}")
    return PRESETS[name]
