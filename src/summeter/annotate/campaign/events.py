"""Event: one thing that happened in a campaign. Events are only ever added."""

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
    """One line of the log.

    `seq` counts from 1, `at` is in milliseconds since 1970 (UTC), `batch` counts a person's batches from 1, `token`
    is the key by which a client's retry is known, `data` holds what is particular to the kind.
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
    """JSON in ASCII, keys sorted: every text, also NUL and lone surrogates, is stored as it is.

    >>> packed({"b": 1, "a": "é"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def line_of(event: Event) -> str:
    """The event as one line of an export."""
    return packed(event._asdict())
