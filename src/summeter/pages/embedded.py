"""Texts and data in HTML pages and their scripts: safe text, safe JSON, and offsets in UTF-16 code units."""

from __future__ import annotations

import json
import re
from bisect import bisect_left

# Characters that could end the script element or a line, that HTML forbids, or that UTF-8 cannot encode
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def script_json(data: object) -> str:
    r"""Return compact JSON in which all characters with a special meaning in HTML are escaped.

    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def without_controls(text: str) -> str:
    """Replace control characters, lone surrogates and noncharacters, which are invalid in HTML and XML."""
    return _CONTROL.sub("\ufffd", text)


RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""A letter of a right-to-left script."""
# From a letter of a right-to-left script to the last one before a Latin letter, a quote or a separator
_RIGHT_TO_LEFT = re.compile(rf"{RIGHT_TO_LEFT.pattern}(?:[^A-Za-z\n,;:()\[\]\"']*{RIGHT_TO_LEFT.pattern})?")


def isolated(text: str) -> str:
    r"""Put marks around names in right-to-left scripts, so that they do not reorder an English sentence.

    A sentence that begins with such a name also gets a mark of its own direction.

    >>> isolated("best: \u05d0-\u05d1, 0.5") == "best: \u2068\u05d0-\u05d1\u2069, 0.5"
    True
    """
    first = next(filter(str.isalpha, text), "")
    return ("\u200e" if RIGHT_TO_LEFT.match(first) else "") + _RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", text)


class Utf16Offsets:
    """Convert code-point offsets in a string to the UTF-16 offsets that browsers use.

    >>> Utf16Offsets("a😀b").at(2)
    3
    """

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [index for index, char in enumerate(text) if char > "\uffff"]

    def at(self, offset: int) -> int:
        """Return the UTF-16 offset that corresponds to a code-point offset."""
        return offset + bisect_left(self._wide, offset)
