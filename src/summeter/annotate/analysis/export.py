"""Files out of a campaign and in: judgments, the log, a platform's CSV.

The log as a file is JSON Lines, one event each, behind a first line that says whose it is. Export is a replay of the
log; importing it into an empty (or shorter) log of the same campaign gives the same log, so that export -> import ->
export is identical to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from summeter.annotate.analysis.aggregate import MERGED, judgments_of, merged_of
from summeter.annotate.campaign.events import KINDS, Event, line_of, packed
from summeter.annotate.campaign.folder import JUDGMENTS
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Person
from summeter.annotate.platforms import platform_named
from summeter.annotate.platforms.base import SubmissionStatus, csv_text, submissions
from summeter.data.atomic import write_lines, write_text
from summeter.records import InputError

LAYOUT = "summeter-events/1"


def write_judgments(
    service: CampaignService, folder: Path | None = None, *, complete_only: bool = False
) -> dict[Path, int]:
    """Rebuild the views in `folder` (default: the campaign's judgments/); the number of judgments by file.

    A view that has become empty goes. With `complete_only` a task with fewer answers than wanted has no merged
    label (`merged_of`).
    """
    sets = {
        "human.raw": judgments_of(service),
        "human.adjudicated": judgments_of(service, adjudicated=True),
        MERGED: merged_of(service, complete_only=complete_only),
    }
    place = service.folder.folder / JUDGMENTS if folder is None else folder
    written: dict[Path, int] = {}
    for name, judgments in sets.items():
        path = place / f"{name}.jsonl"
        if not judgments and name != "human.raw":
            path.unlink(missing_ok=True)  # of an earlier export: what was decided may be taken back
        else:
            written[path] = write_lines(path, (judgment.model_dump_json(exclude_none=True) for judgment in judgments))
    return written


def write_submissions(service: CampaignService, file: Path) -> int:
    """Write submissions and outcomes as the campaign's platform reads them; returns the number of submissions."""
    platform = platform_named(service.campaign.platform.name)
    works = submissions(service.campaign, service.state)
    headers, cells = zip(*platform.columns, strict=True)
    write_text(file, csv_text(headers, ([cell(work) for cell in cells] for work in works)))
    return len(works)


def write_bonuses(service: CampaignService, file: Path) -> int:
    """Write the bonuses as the campaign's platform takes them; returns the number of submissions that earned one.

    Raises UsageError where the platform pays none.
    """
    works = submissions(service.campaign, service.state)
    platform = platform_named(service.campaign.platform.name)
    write_text(file, platform.bonuses(works, service.campaign, service.names))
    return sum(work.bonus > 0 for work in works)


def write_study_settings(service: CampaignService, file: Path) -> None:
    """Write the study's settings for the platform: title, link, codes, pay, prerequisites in its terms."""
    campaign = service.campaign
    platform, wanted = platform_named(campaign.platform.name), campaign.platform.prerequisites
    settings = {
        "title": campaign.title,
        "platform": platform.name,
        "link": f"/{platform.link}",
        "completion_codes": campaign.codes.model_dump(),
        "pay": None if campaign.pay is None else campaign.pay.model_dump(),
        **({} if wanted is None else platform.prerequisites(wanted)),
    }
    write_text(file, json.dumps(settings, indent=2, ensure_ascii=False) + "\n")


def import_submissions(service: CampaignService, file: Path) -> tuple[int, int]:
    """Note what the platform's CSV says of submissions; (noted, rows about some that never came here).

    What was noted already is not noted again.
    """
    name = service.campaign.platform.name
    rows = platform_named(name).read(file)

    def decide(transaction: Transaction) -> tuple[int, int]:
        people = {
            person.visitor["id"]: person
            for person in transaction.state.people.values()
            if person.visitor["platform"] == name
        }
        noted = [row for row in rows if row.id in people and _came(people[row.id], row)]
        for row in noted:
            person = people[row.id]
            if person.platform_status.get(row.session) != row.data["status"]:
                transaction.emit("platform", person.annotator, data=dict(row.data))
        return len(noted), len(rows) - len(noted)

    return service.log.do(decide)


def _came(person: Person, row: SubmissionStatus) -> bool:
    return not row.session or any(submission.session == row.session for submission in person.submissions)


def export_events(service: CampaignService, file: Path) -> int:
    """Write the whole log; returns the number of events."""
    head = packed({"campaign": service.folder.owner, "layout": LAYOUT})
    return write_lines(file, chain([head], (line_of(event) for event in service.log.events()))) - 1


def import_events(service: CampaignService, file: Path) -> int:
    """Add the events of an export that the log does not have yet; returns how many.

    Raises InputError, and adds nothing, where a line is damaged, the export is of another campaign, or the log holds
    something else at a place that the export has too.
    """
    events = list(_read(service, file))
    last = 0
    for own, given in zip(service.log.events(), events, strict=False):
        last = own.seq
        if line_of(own) != line_of(given):
            raise InputError.at(
                file, given.seq + 1, None, f"event {given.seq} is another than the log's; nothing was imported"
            )
    added = [event for event in events if event.seq > last]
    if added and service.log.last_seq > last:
        raise InputError.at(file, None, None, "the log has grown meanwhile; try again")
    _check_replay(service, events, file)
    if added:
        service.log.extend(added)
    return len(added)


def _check_replay(service: CampaignService, events: list[Event], file: Path) -> None:
    """Raise InputError unless a state can be rebuilt from the events."""
    state = service.empty_state()
    for event in events:
        try:
            state.apply(event)
        except (KeyError, ValueError, TypeError) as error:
            message = f"event {event.seq} does not follow from those before it ({error}); nothing was imported"
            raise InputError.at(file, event.seq + 1, None, message) from error


def _read(service: CampaignService, file: Path) -> Iterator[Event]:
    with file.open(encoding="utf-8") as lines:
        head = _object(file, 1, next(lines, ""))
        if head.get("layout") != LAYOUT:
            raise InputError.at(file, 1, "layout", f"is not {LAYOUT}; give a file made by `summeter annotate export`")
        if head.get("campaign") != service.folder.owner:
            raise InputError.at(file, 1, "campaign", "the export is of another campaign")
        for number, line in enumerate(lines, 2):
            fields = _object(file, number, line)
            if set(fields) != set(Event._fields):
                raise InputError.at(file, number, None, f"an event has the fields {', '.join(Event._fields)}")
            event = Event(**fields)
            known = event.seq == number - 1 and event.kind in KINDS and type(event.at) is int
            if not known or not isinstance(event.data, dict):
                raise InputError.at(file, number, "seq", "events are numbered from 1 and of a known kind")
            yield event


def _object(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError.at(file, number, None, f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError.at(file, number, None, "is no object")
    return value
