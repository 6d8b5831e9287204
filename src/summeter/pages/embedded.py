"""Data for a page's script: JSON that is safe inside script elements, and offsets in the units of browsers."""

from __future__ import annotations

import json
import re
from bisect import bisect_left

# What could end the script element or a line of it, what HTML forbids, and halves of characters that UTF-8 cannot hold.
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def script_json(data: object) -> str:
    r"""Compact JSON in which no character has a meaning in HTML.

    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Utf16Offsets:
    """Turns code-point offsets of one text into offsets in UTF-16 units, in which browsers count.

    >>> Utf16Offsets("a😀b").at(2)
    3
    """

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [place for place, char in enumerate(text) if char > "\uffff"]

    def at(self, place: int) -> int:
        """The offset in UTF-16 units: one more for each wide character before it."""
        return place + bisect_left(self._wide, place)
