"""Signatures: the readable name that stands beside every number and says how it was made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

SHOWN = 4
"""Digits of a hash that a table shows, where they tell its rows apart."""

SAMPLING = ("t", "seed", "max", "ctx", "overflow", "rep")
"""Parts that say how an LLM is asked: temperature, seed, longest reply, context length, what is done with documents
that are too long, and which repetition it is."""

_UNSAFE = re.compile(r"[|\s]+")


def signature(name: str, parts: Mapping[str, object]) -> str:
    """`name|key:value|...` in the order given; None values are left out.

    >>> signature("finesure.fact_check", {"judge": "openai/gpt-4o", "t": 0, "prompt": "c1a09f3e5b7d2468", "v": 1})
    'finesure.fact_check|judge:openai/gpt-4o|t:0|prompt:c1a09f3e5b7d2468|v:1'
    """
    fields = [name]
    for key, value in parts.items():
        if value is not None:
            fields.append(f"{key}:{_UNSAFE.sub('_', _show(value))}")
    return "|".join(fields)


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return ",".join(_show(item) for item in value)
    return str(value)


_HASHED = re.compile(
    r"(?<=\|)(?P<key>(?:prompt|def|steps|weights|idf|baseline|members|corenlp|units|model|scorer):(?:[a-z]+@)?)(?P<hash>[0-9a-f]{4,16})(?![0-9a-z])"
)


def shown_signatures(signatures: Iterable[str]) -> dict[str, str]:
    """Each signature as a table for people shows it: of a hash the first four digits, where they tell the rows apart.

    >>> shown_signatures(["rts|prompt:c1a09f3e5b7d2468|v:2"])
    {'rts|prompt:c1a09f3e5b7d2468|v:2': 'rts|prompt:c1a0|v:2'}
    >>> [*shown_signatures(["dae|corenlp:c1a09f3e5b7d2468|v:1", "support|scorer:lexical@27977ce00878088d"]).values()]
    ['dae|corenlp:c1a0|v:1', 'support|scorer:lexical@2797']
    """
    distinct = list(dict.fromkeys(signatures))
    short = {
        signature: _HASHED.sub(lambda match: f"{match['key']}{match['hash'][:SHOWN]}", signature)
        for signature in distinct
    }
    alike = Counter(short.values())
    return {signature: name if alike[name] == 1 else signature for signature, name in short.items()}


def composite_signature(signatures: list[str]) -> str:
    """The signature of a mean over scores with these signatures (each named once, in order)."""
    return "composite(" + " + ".join(dict.fromkeys(signatures)) + ")"


_COMPOSITE = re.compile(r"composite\((?P<inner>.*)\)")
_PARTS = re.compile(r"\||(?: \+ )")


class JudgeKey(NamedTuple):
    """What tells one judge from another: its name, its signature, and the model it asks."""

    judge: str
    signature: str
    model: str | None = None


def judge_names(judges: Iterable[JudgeKey]) -> dict[JudgeKey, str]:
    """The shortest name that tells each judge from its namesakes.

    Alone it goes by its name. Among namesakes it is told by its model where no other has that one, else by what its
    signature alone says, written as `-e` takes settings; one with nothing of its own keeps the bare name.

    >>> keys = [JudgeKey("rouge", "rouge|v:1"), JudgeKey("rouge", "rouge|stemmer:yes|v:1")]
    >>> list(judge_names(keys).values())
    ['rouge', 'rouge[stemmer=yes]']
    """
    keys = list(dict.fromkeys(judges))
    return {key: _short_name(key, [other for other in keys if other.judge == key.judge]) for key in keys}


def _short_name(key: JudgeKey, namesakes: Sequence[JudgeKey]) -> str:
    if len(namesakes) == 1:
        return key.judge
    if key.model is not None and [other.model for other in namesakes].count(key.model) == 1:
        return f"{key.judge} ({key.model})"
    shown = shown_signatures(other.signature for other in namesakes)
    shared = set.intersection(*(set(_parts(signature)) for signature in shown.values()))
    own = dict.fromkeys(part.replace(":", "=", 1) for part in _parts(shown[key.signature]) if part not in shared)
    return f"{key.judge}[{','.join(own)}]" if own else key.judge


def _parts(signature: str) -> list[str]:
    """`key:value` by `key:value`; of a composite those of all that it is made of."""
    composite = _COMPOSITE.fullmatch(signature)
    return _PARTS.split(composite["inner"] if composite else signature)
