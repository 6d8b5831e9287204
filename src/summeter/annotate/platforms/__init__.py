"""Where annotators come from, one small file a platform: identity, completion, CSV."""

from __future__ import annotations

from importlib import import_module

from summeter.annotate.platforms.base import Platform

PLATFORMS = {"local": "local:Local", "prolific": "prolific:Prolific", "mturk": "mturk:MTurk"}


def platform_named(name: str) -> Platform:
    """The platform of that name."""
    module, _, cls = PLATFORMS[name].partition(":")
    platform: Platform = getattr(import_module(f"{__name__}.{module}"), cls)()
    return platform
