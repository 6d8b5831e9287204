"""Create and shorten the signatures of judgments.

A signature consists of evaluator, settings, models, prompt and version.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

SHOWN = 4
"""Number of hash digits that a table shows if they suffice to distinguish the rows."""

SAMPLING = ("t", "seed", "max", "ctx", "overflow", "rep")
"""Keys of the sampling settings: temperature, seed, maximum reply length, context length, handling of documents that
are too long, and repetition."""

_UNSAFE = re.compile(r"[|\s]+")


def signature(name: str, parts: Mapping[str, object]) -> str:
    """Return `name|key:value|...` in the order of `parts`, omitting parts that are None.

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
    """Map each signature to a short form, with hashes of four digits if they suffice.

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
    """Return the signature of a mean of scores with these signatures; repetitions are removed."""
    return "composite(" + " + ".join(dict.fromkeys(signatures)) + ")"


_NAMES = {
    "judge": "model", "t": "temperature", "max": "maximum reply length", "ctx": "context length",
    "overflow": "handling of long documents", "rep": "repetition", "split": "sentence splitting", "v": "version",
}  # fmt: skip
"""Names of keys of a signature that are not words."""


def signature_changes(old: str, new: str) -> tuple[str, ...]:
    """Return the differences of two signatures of a judge in words, in the order of the signatures.

    >>> signature_changes("rts|judge:a/m|t:0|prompt:c1a09f3e|v:2", "rts|judge:b/n|t:0|prompt:9f3ec1a0|v:2")
    ('model from a/m to b/n', 'prompt from c1a0 to 9f3e')
    >>> signature_changes("rouge|v:1", "rouge|stemmer:yes|v:1")
    ('stemmer=yes is new',)
    """
    shown = shown_signatures((old, new))
    before, after = (
        {key: value for key, colon, value in (part.partition(":") for part in _parts(shown[each])) if colon}
        for each in (old, new)
    )
    changes = []
    for key in {**before, **after}:
        name, first, second = _NAMES.get(key, key.replace("_", " ")), before.get(key), after.get(key)
        if first is None:
            changes.append(f"{name}={second} is new")
        elif second is None:
            changes.append(f"{name}={first} was removed")
        elif first != second:
            changes.append(f"{name} from {first} to {second}")
    return tuple(changes)


_COMPOSITE = re.compile(r"composite\((?P<inner>.*)\)")
_PARTS = re.compile(r"\||(?: \+ )")


class JudgeKey(NamedTuple):
    """The identity of a judge: name, signature and model (None if it calls no model).

    `run` is the name of the judge's run if several runs are studied together.
    """

    judge: str
    signature: str
    model: str | None = None
    run: str | None = None


def judge_names(judges: Iterable[JudgeKey]) -> dict[JudgeKey, str]:
    """Map each judge to the shortest name that distinguishes it from the other judges.

    A judge with a unique name keeps this name. Judges with the same name are distinguished by their models if these are
    unique, or else by the settings in which their signatures differ, in the syntax of the option `-e`. Judges that
    differ only in their run are distinguished by its name, as in `rouge (runs/first)`.

    >>> keys = [JudgeKey("rouge", "rouge|v:1"), JudgeKey("rouge", "rouge|stemmer:yes|v:1")]
    >>> list(judge_names(keys).values())
    ['rouge', 'rouge[stemmer=yes]']
    """
    keys = list(dict.fromkeys(judges))
    names = {key: _short_name(key, [other for other in keys if other.judge == key.judge]) for key in keys}
    times = Counter(names.values())
    return {key: f"{name} ({key.run})" if key.run and times[name] > 1 else name for key, name in names.items()}


def _short_name(key: JudgeKey, namesakes: Sequence[JudgeKey]) -> str:
    if len(namesakes) == 1:
        return key.judge
    if key.model is not None and [other.model for other in namesakes].count(key.model) == 1:
        return f"{key.judge} ({key.model})"
    shown = shown_signatures(other.signature for other in namesakes)
    shared = set.intersection(*(set(_parts(signature)) for signature in shown.values()))
    differing = dict.fromkeys(part.replace(":", "=", 1) for part in _parts(shown[key.signature]) if part not in shared)
    return f"{key.judge}[{','.join(differing)}]" if differing else key.judge


def _parts(signature: str) -> list[str]:
    """Return the `key:value` parts of a signature; for a composite, those of all components."""
    composite = _COMPOSITE.fullmatch(signature)
    return _PARTS.split(composite["inner"] if composite else signature)
