"""The events in the append-only log of a campaign."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, get_args

EventKind = Literal[
    "joined",
    "came",
    "consented",
    "instructed",
    "qualified",
    "trained",
    "assigned",
    "opened",
    "answered",
    "finished",
    "expired",
    "returned",
    "ended",
    "excluded",
    "reinstated",
    "reopened",
    "platform",
]
KINDS: tuple[str, ...] = get_args(EventKind)


class Event(NamedTuple):
    """An event in the log.

    `seq` is the number of the event, from 1, and `at` its time in milliseconds since 1970 (UTC). `batch` is the number
    of the annotator's batch, from 1. `token` is equal for repetitions of a client's request. `data` contains the fields
    of this kind of event.
    """

    seq: int
    at: int
    kind: str
    annotator: str | None
    task: str | None
    batch: int | None
    token: str | None
    data: dict[str, Any]


def packed(data: dict[str, Any]) -> str:
    """Return compact ASCII JSON with sorted keys, which preserves NUL and lone surrogates.

    >>> packed({"b": 1, "a": "é"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def line_of(event: Event) -> str:
    """Return an event as one line of an exported log."""
    return packed(event._asdict())
