"""Escaping of control characters for terminals."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(r"(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")


def printable(text: str, *, styles: bool = False) -> str:
    """Escape control characters other than tabs and line ends.

    With `styles`, the ANSI sequences for colours and bold text are kept.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if styles:
        parts = _STYLE.split(text)
        return "".join(part if index % 2 else printable(part) for index, part in enumerate(parts))
    return _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
