"""Text files that come with the package."""

from __future__ import annotations

from importlib import resources


def shipped_text(package: str, name: str) -> str:
    """The text of a file beside the modules of `package`; `name` may hold folders ("prompts/star.txt").

    Raises FileNotFoundError where the installation lacks it.
    """
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
