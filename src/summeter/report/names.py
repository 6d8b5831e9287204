"""Names of judges that tell one setting from another, and names short enough for a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

DOTS = "..."

_COMPOSITE = re.compile(r"composite\((?P<inner>.*)\)")
_PARTS = re.compile(r"\||(?: \+ )")


class Named(NamedTuple):
    """A judge as tables know it: its name, its signature, and the model it asks."""

    judge: str
    signature: str
    model: str | None = None


def judge_names(judges: Iterable[Named]) -> dict[Named, str]:
    """The shortest name that tells each judge from its namesakes.

    Alone it goes by its name. Among namesakes it is told by its model where no other has that one, else by what its
    signature alone says, written as `-e` takes settings; one with nothing of its own keeps the bare name.

    >>> one, two = Named("rouge", "rouge|v:1"), Named("rouge", "rouge|stemmer:yes|v:1")
    >>> list(judge_names([one, two]).values())
    ['rouge', 'rouge[stemmer=yes]']
    """
    given = list(dict.fromkeys(judges))
    return {one: _name(one, [other for other in given if other.judge == one.judge]) for one in given}


def _name(one: Named, namesakes: Sequence[Named]) -> str:
    if len(namesakes) == 1:
        return one.judge
    if one.model is not None and [other.model for other in namesakes].count(one.model) == 1:
        return f"{one.judge} ({one.model})"
    shared = set.intersection(*(set(_parts(other.signature)) for other in namesakes))
    own = dict.fromkeys(part.replace(":", "=", 1) for part in _parts(one.signature) if part not in shared)
    return f"{one.judge}[{','.join(own)}]" if own else one.judge


def _parts(signature: str) -> list[str]:
    """`key:value` by `key:value`; of a composite those of all that it is made of."""
    found = _COMPOSITE.fullmatch(signature)
    return _PARTS.split(found["inner"] if found else signature)


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
