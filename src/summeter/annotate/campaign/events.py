"""Events of the append-only log of a campaign."""

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
    """An event of the log.

    `seq` is numbered from 1; `at` is in milliseconds since 1970 (UTC); `batch` numbers an annotator's batches from 1;
    `token` identifies repeated requests of a client; `data` holds the fields of the event's kind.
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
    """Return an event as one line of an export."""
    return packed(event._asdict())
