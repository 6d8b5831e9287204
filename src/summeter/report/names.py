"""Names short enough for a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

DOTS = "..."


def fitted(names: Iterable[str], width: int) -> Mapping[str, str]:
    """Each name at most `width` characters long, the middle left out; a number tells apart what would look the same.

    Systems and settings mostly differ at one of their ends.

    >>> fitted(["bart", "pegasus-large-cnn-dailymail-beam-4"], 20)["pegasus-large-cnn-dailymail-beam-4"]
    'pegasus-l...l-beam-4'
    """
    given = list(dict.fromkeys(names))
    alike, taken = Counter(_cut(name, width) for name in given), set(given)
    found: dict[str, str] = {}
    for name in given:
        short, number = _cut(name, width), 0
        while short != name and (short in taken or (number == 0 and alike[short] > 1)):
            number += 1
            tail = f" #{number}"
            short = _cut(name, width - len(tail)) + tail
        taken.add(short)
        found[name] = short
    return found


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    kept = max(2, width - len(DOTS))
    return text[: (kept + 1) // 2] + DOTS + text[len(text) - kept // 2 :]
