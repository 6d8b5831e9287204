"""Signatures: the readable name that stands beside every number and says how it was made."""

from __future__ import annotations

import re
from collections.abc import Mapping

_UNSAFE = re.compile(r"[|\s]+")


def signature(name: str, parts: Mapping[str, object]) -> str:
    """`name|key:value|...` in the order given; None values are left out.

    >>> signature("finesure.fact_check", {"judge": "openai/gpt-4o", "t": 0, "prompt": "c1a0", "v": 1})
    'finesure.fact_check|judge:openai/gpt-4o|t:0|prompt:c1a0|v:1'
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
        return ",".join(_show(one) for one in value)
    return str(value)


def composite_signature(signatures: list[str]) -> str:
    """The signature of a mean over scores with these signatures (each named once, in order)."""
    return "composite(" + " + ".join(dict.fromkeys(signatures)) + ")"
