"""Platforms from which annotators come, one module each."""

from __future__ import annotations

from importlib import import_module

from summeter.annotate.platforms.base import Platform

PLATFORMS = {"local": "local:Local", "prolific": "prolific:Prolific", "mturk": "mturk:MTurk"}


def platform_named(name: str) -> Platform:
    """Return the platform with a name: `local`, `prolific` or `mturk`."""
    module, _, cls = PLATFORMS[name].partition(":")
    platform: Platform = getattr(import_module(f"{__name__}.{module}"), cls)()
    return platform
