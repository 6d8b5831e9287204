"""The log as a file: JSON Lines, one event each, behind a first line that says whose it is.

Export is a replay of the log; importing it into an empty (or shorter) log of the same campaign gives the same log, so
that export -> import -> export is identical to the byte, whatever the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from summeter.annotate.store.events import KINDS, Event, line_of, packed
from summeter.data.atomic import write_lines
from summeter.records import InputError

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk

LAYOUT = "summeter-events/1"


def export_events(desk: Desk, file: Path) -> int:
    """Write the whole log; returns the number of events."""
    head = packed({"campaign": desk.folder.owner, "layout": LAYOUT})
    return write_lines(file, chain([head], (line_of(one) for one in desk.log.events()))) - 1


def import_events(desk: Desk, file: Path) -> int:
    """Add the events of an export that the log does not have yet; returns how many.

    Raises InputError, and adds nothing, where a line is damaged, the export is of another campaign, or the log holds
    something else at a place that the export has too.
    """
    events = list(_read(desk, file))
    last = 0
    for mine, given in zip(desk.log.events(), events, strict=False):
        last = mine.seq
        if line_of(mine) != line_of(given):
            raise InputError.at(
                file, given.seq + 1, None, f"event {given.seq} is another than the log's; nothing was imported"
            )
    added = [one for one in events if one.seq > last]
    if added and desk.log.last_seq > last:
        raise InputError.at(file, None, None, "the log has grown meanwhile; try again")
    _replays(desk, events, file)
    if added:
        desk.log.extend(added)
    return len(added)


def _replays(desk: Desk, events: list[Event], file: Path) -> None:
    """Raise InputError unless a state can be rebuilt from the events."""
    state = desk.fresh()
    for event in events:
        try:
            state.apply(event)
        except (KeyError, ValueError, TypeError) as error:
            message = f"event {event.seq} does not follow from those before it ({error}); nothing was imported"
            raise InputError.at(file, event.seq + 1, None, message) from error


def _read(desk: Desk, file: Path) -> Iterator[Event]:
    with file.open(encoding="utf-8") as lines:
        head = _object(file, 1, next(lines, ""))
        if head.get("layout") != LAYOUT:
            raise InputError.at(file, 1, "layout", f"is not {LAYOUT}; give a file made by `summeter annotate export`")
        if head.get("campaign") != desk.folder.owner:
            raise InputError.at(file, 1, "campaign", "the export is of another campaign")
        for number, line in enumerate(lines, 2):
            given = _object(file, number, line)
            if set(given) != set(Event._fields):
                raise InputError.at(file, number, None, f"an event has the fields {', '.join(Event._fields)}")
            event = Event(**given)
            if event.seq != number - 1 or event.kind not in KINDS or not isinstance(event.data, dict):
                raise InputError.at(file, number, "seq", "events are numbered from 1 and of a known kind")
            yield event


def _object(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InputError.at(file, number, None, f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError.at(file, number, None, "is no object")
    return found
