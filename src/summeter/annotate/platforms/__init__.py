"""Platforms from which annotators come, one module each."""

from __future__ import annotations

from summeter.annotate.platforms.base import Platform
from summeter.annotate.platforms.local import Local
from summeter.annotate.platforms.mturk import MTurk
from summeter.annotate.platforms.prolific import Prolific

PLATFORMS: dict[str, Platform] = {platform.name: platform for platform in (Local(), Prolific(), MTurk())}


def platform_named(name: str) -> Platform:
    """Return the platform with a name: `local`, `prolific` or `mturk`."""
    return PLATFORMS[name]
