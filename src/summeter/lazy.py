"""Names of a package that are imported when they are first used, so that importing the package stays fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attributes(
    package: str, homes: Mapping[str, str], *more: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package. `homes` says in which module each name lives; a name that is a
    module of the package itself has the package for its home. `more` are names that are there at once.

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
