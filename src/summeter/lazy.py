"""Lazy import of the names of a package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attributes(
    package: str, homes: Mapping[str, str], *more: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    `homes` maps each name to the module that defines it, or to the package if the name is a submodule. `more` are
    names that the package defines itself.

        __getattr__, __dir__ = attributes(__name__, {"load": "summeter.data.dataset", "report": "summeter"})
    """

    def getter(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(homes[name]), name)

    def listing() -> list[str]:
        return [*sorted(homes), *more]

    return getter, listing
