"""Texts that a terminal shows and does not obey."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(r"(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")


def printable(text: str, *, styles: bool = False) -> str:
    """A text that a terminal shows and does not obey: control characters but tabs and line ends as escapes. With
    `styles`, colours and weights stay.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if styles:
        parts = _STYLE.split(text)
        return "".join(part if place % 2 else printable(part) for place, part in enumerate(parts))
    return _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
