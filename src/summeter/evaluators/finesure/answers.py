"""What the replies of this family have in common: one entry a unit, yes or no, a reason."""

from __future__ import annotations

from typing import Any, Final

from summeter.evaluators.replies import choice, clean, show
from summeter.records import ReplyError

REASON: Final = 300
"""Longest reason a server is told to let through, in characters; the prompts ask for 40 words."""

YES_NO: Final[dict[str, Any]] = {"type": "string", "enum": ["yes", "no"]}


def keyed(count: int, name: str, properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with one required entry a unit, keyed "1" to "`count`", each with `properties`.

    Only what the strict modes of hosted providers and the grammars of local servers both hold to; the entry
    stands once, under $defs, since some limit the enum values of a schema in all.

    >>> keyed(2, "vote", {"useful": YES_NO})["required"]
    ['1', '2']
    """
    entry = {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip
    keys = [str(position) for position in range(1, count + 1)]
    return {
        "type": "object",
        "properties": {key: {"$ref": f"#/$defs/{name}"} for key in keys},
        "required": keys,
        "additionalProperties": False,
        "$defs": {name: entry},
    }


def text(most: int) -> dict[str, Any]:
    """The schema of a text of so many characters at most: a small model would write on to its limit."""
    return {"type": "string", "maxLength": most}


def field(entry: dict[str, Any], *names: str) -> Any:
    """The value under the one of these names that is there; ReplyError for none and for several."""
    found = [name for name in names if name in entry]
    if len(found) != 1:
        raise ReplyError(f"it has {'no' if not found else 'more than one'} field named {' or '.join(names)}")
    return entry[found[0]]


def yes(said: Any) -> bool:
    """Whether it says yes, in any case, or as a boolean; ReplyError for anything else.

    >>> yes("No.")
    False
    """
    word = {True: "yes", False: "no"}[said] if isinstance(said, bool) else choice(said)
    if word not in {"yes", "no"}:
        raise ReplyError(f"{show(said)} is neither yes nor no")
    return word == "yes"


def reason(entry: dict[str, Any]) -> str | None:
    """The reason of an entry, None where it gives none; ReplyError where it is no text."""
    said = entry.get("reason")
    if said is not None and not isinstance(said, str):
        raise ReplyError(f"the reason is {show(said)}, not a text")
    return clean(said) or None if said else None
