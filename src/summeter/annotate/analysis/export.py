"""Export and import of judgments, of the log, and of the CSV files of platforms.

An exported log is a JSON Lines file: the first line identifies the campaign, and each further line is an event. If an
exported log is imported into an empty or shorter log of the same campaign, the log is restored exactly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from summeter.annotate.analysis.aggregate import MERGED, dataset_of, judgments_of, merged_of
from summeter.annotate.campaign.folder import JUDGMENTS
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import KINDS, Event, packed
from summeter.annotate.platforms import platform_named
from summeter.annotate.platforms.base import Platform, csv_text, submissions
from summeter.data.atomic import write_lines, write_text
from summeter.data.dataset import save
from summeter.data.exports import write_rows
from summeter.records import InputError

LAYOUT = "summeter-events/1"


def write_judgments(
    service: CampaignService, folder: Path | None = None, *, complete_only: bool = False
) -> dict[Path, int]:
    """Write the judgment sets to `folder` (default: `judgments/` in the campaign folder).

    Returns the number of judgments by file. Files of judgment sets that are now empty are deleted. `complete_only` has
    the same meaning as in `merged_of`.
    """
    sets = {
        "human.raw": judgments_of(service),
        "human.adjudicated": judgments_of(service, adjudicated=True),
        MERGED: merged_of(service, complete_only=complete_only),
    }
    target = service.folder.folder / JUDGMENTS if folder is None else folder
    written: dict[Path, int] = {}
    for name, judgments in sets.items():
        path = target / f"{name}.jsonl"
        if not judgments and name != "human.raw":
            path.unlink(missing_ok=True)  # decisions may have been reverted since the last export
        else:
            written[path] = write_lines(path, (judgment.model_dump_json(exclude_none=True) for judgment in judgments))
    return written


def answer_rows(service: CampaignService) -> Iterator[dict[str, Any]]:
    """Yield one row per answer of an annotator or adjudicator, or one per summary if the answer is about several.

    A row has the fields of the task, the pseudonym of the annotator, whether the answer counts, when it was given, the
    seconds in view, whether a check was passed, and the value of each question as `answer.QUESTION`.
    """
    state = service.state
    for person in (*state.people.values(), *state.adjudicators.values()):
        for answer in person.answers.values():
            task, given = service.tasks.by_key[answer.task], answer.answer
            row = {
                "task": task.key, "role": task.role, "doc_id": task.document_id, "system": task.system,
                "rival": task.rival, "index": task.index, "annotator": person.annotator,
                "counted": task.key in state.items and person.annotator in state.items[task.key].counted,
                "at": datetime.fromtimestamp(answer.at / 1000, UTC).isoformat(timespec="seconds"),
                "seconds": answer.seconds, "passed": answer.passed, "machine": given.machine, "comment": given.comment,
            }  # fmt: skip
            for system, values in given.summaries.items() or [(task.system, {})]:
                answers = {f"answer.{name}": value for name, value in {**given.values, **values}.items()}
                yield {**row, "system": system, **answers}


def write_answers(service: CampaignService, file: Path) -> int:
    """Write the answers to a file in the format of its suffix, and return the number of rows (see `answer_rows`)."""
    return write_rows(file, answer_rows(service), escape=True)


def write_submissions(service: CampaignService, file: Path) -> int:
    """Write the submissions and their outcomes in the platform's format.

    Returns the number of submissions.
    """
    platform = platform_named(service.campaign.platform.name)
    works = submissions(service.campaign, service.state)
    headers, cells = zip(*platform.columns, strict=True)
    write_text(file, csv_text(headers, ([cell(work) for cell in cells] for work in works)))
    return len(works)


def write_bonuses(service: CampaignService, file: Path) -> int:
    """Write the bonuses in the platform's format.

    Returns the number of submissions with a bonus. Raises UsageError if the platform pays no bonuses.
    """
    works = submissions(service.campaign, service.state)
    platform = platform_named(service.campaign.platform.name)
    write_text(file, platform.bonuses(works, service.campaign, service.names))
    return sum(work.bonus > 0 for work in works)


def write_study_settings(service: CampaignService, file: Path) -> int:
    """Write the settings of the study in the platform's format, and return their number.

    The settings are the title, link, completion codes, pay and prerequisites.
    """
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
    return len(settings)


def import_submissions(service: CampaignService, file: Path) -> tuple[int, int]:
    """Log each status in the platform's CSV of submissions that has changed.

    Returns the number of known submissions in the file and the number of rows about unknown submissions.
    """
    name = service.campaign.platform.name
    rows = platform_named(name).read(file)

    def decide(transaction: Transaction) -> tuple[int, int]:
        people = {
            person.visitor["id"]: person
            for person in transaction.state.people.values()
            if person.visitor["platform"] == name
        }
        known = 0
        for row in rows:
            person, data = people.get(row["id"]), {field: text for field, text in row.items() if field != "id"}
            session = row.get("submission") or row.get("assignment") or ""
            if person is None or session not in {"", *(visit.session for visit in person.submissions)}:
                continue
            known += 1
            if person.platform_status.get(session) != row["status"]:
                transaction.emit("platform", person.annotator, data=data)
        return known, len(rows) - known

    return service.log.do(decide)


def export_events(service: CampaignService, file: Path) -> int:
    """Write all events of the log, and return the number of events."""
    head = packed({"campaign": service.folder.owner, "layout": LAYOUT})
    return write_lines(file, chain([head], (event.to_line() for event in service.log.events()))) - 1


class ExportedFile(NamedTuple):
    """The title, description and file extension of an exported file, and the function that writes it.

    The function returns the number of entries. Several files are written to a folder, and downloaded as a ZIP archive.
    """

    title: str
    about: str
    suffix: str
    write: Callable[[CampaignService, Path], object]


FILES = {
    "judgments": ExportedFile("Judgments", "by annotator, adjudicated and merged", ".zip", write_judgments),
    "answers": ExportedFile("Answers", "one row per answer, for a spreadsheet", ".csv", write_answers),
    "data": ExportedFile(
        "Data with judgments",
        "dataset folder for the option --gold",
        ".zip",
        lambda service, folder: save(dataset_of(service), folder),
    ),
    "events": ExportedFile("Events", "the whole log, for annotate import", ".jsonl", export_events),
    "submissions": ExportedFile("Submissions", "work and pay by submission", ".csv", write_submissions),
    "bonuses": ExportedFile("Bonuses", "for bulk payment on the platform", ".csv", write_bonuses),
    "study": ExportedFile("Study settings", "for creating the study on the platform", ".json", write_study_settings),
}
"""The files of `annotate export` by name."""


def downloads(service: CampaignService) -> dict[str, ExportedFile]:
    """Return the files that researchers can download.

    Bonuses and study settings are included only for platforms that have them.
    """
    platform = platform_named(service.campaign.platform.name)
    without = {"bonuses"} if type(platform).bonuses is Platform.bonuses else set()
    without |= {"study"} if platform.name == "local" else set()
    return {name: file for name, file in FILES.items() if name not in without}


def content_of(service: CampaignService, name: str) -> bytes:
    """Return the content of a file in `downloads`."""
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / name
        file = FILES[name]
        if file.suffix != ".zip":
            path = path.with_suffix(file.suffix)
            file.write(service, path)
            return path.read_bytes()
        file.write(service, path)
        archive = Path(temporary) / "archive.zip"
        with ZipFile(archive, "w", ZIP_DEFLATED) as zipped:
            for part in sorted(path.rglob("*")):
                if part.is_file():
                    zipped.write(part, part.relative_to(path))
        return archive.read_bytes()


def import_events(service: CampaignService, file: Path) -> int:
    """Add the missing events of an exported log, and return the number of events added.

    Raises InputError and adds nothing if a line is damaged, if the export is from another campaign, or if its events
    differ from those of the log.
    """
    events = list(_read(service, file))
    last = 0
    for logged, exported in zip(service.log.events(), events, strict=False):
        last = logged.seq
        if logged.to_line() != exported.to_line():
            message = f"event {exported.seq} differs from the event in the log; nothing was imported"
            raise InputError.at(file, message, line=exported.seq + 1)
    added = [event for event in events if event.seq > last]
    if added and service.log.last_seq > last:
        raise InputError.at(file, "the log has grown during the import; try again")
    state = service.empty_state()
    for event in events:
        try:
            state.apply(event)
        except (KeyError, ValueError, TypeError) as error:
            message = f"event {event.seq} does not follow from those before it ({error}); nothing was imported"
            raise InputError.at(file, message, line=event.seq + 1) from error
    if added:
        service.log.extend(added)
    return len(added)


def _read(service: CampaignService, file: Path) -> Iterator[Event]:
    with file.open(encoding="utf-8") as lines:
        head = _object(file, 1, next(lines, ""))
        if head.get("layout") != LAYOUT:
            raise InputError.at(
                file,
                f"is not {LAYOUT}; give a file written by `summeter annotate export --events`",
                line=1,
                field="layout",
            )
        if head.get("campaign") != service.folder.owner:
            raise InputError.at(
                file, "is that of another campaign; import the file into that campaign", line=1, field="campaign"
            )
        for number, line in enumerate(lines, 2):
            fields = _object(file, number, line)
            if set(fields) != set(Event._fields):
                raise InputError.at(file, f"is not an event with the fields {', '.join(Event._fields)}", line=number)
            event = Event(**fields)
            is_valid = event.seq == number - 1 and event.kind in KINDS and type(event.at) is int
            if not is_valid or not isinstance(event.data, dict):
                message = f"is not event {number - 1} of a known kind; export the log again"
                raise InputError.at(file, message, line=number, field="seq")
            yield event


def _object(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError.at(file, f"is not JSON: {error}", line=number) from error
    if not isinstance(value, dict):
        raise InputError.at(file, "is not a JSON object; export the log again", line=number)
    return value
