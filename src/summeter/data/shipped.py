"""Read text files that are installed with summeter."""

from __future__ import annotations

from importlib import resources


def shipped_text(package: str, name: str) -> str:
    """Return the text of a file in `package`; `name` may contain folders ("prompts/star.txt").

    Raises FileNotFoundError if the file is not installed.
    """
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
