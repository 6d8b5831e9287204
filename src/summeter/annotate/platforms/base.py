"""What a platform is: who a link names, where a finished person goes, which CSV it reads and writes."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from summeter.annotate.campaign.config import Campaign, Prerequisites
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.people import Names, Visitor
from summeter.annotate.campaign.state import Person, State, Submission
from summeter.records import InputError, UsageError
from summeter.tables import Cell, csv_line

Form = dict[str, Any]
LONGEST_ID = 128


class SubmissionStatus(NamedTuple):
    """What a platform's CSV says of one submission: the person's id there, and what goes into the event.

    `session` is the submission's own id, empty where the file has none.
    """

    id: str
    session: str
    data: dict[str, str]


class Work(NamedTuple):
    """What one person did under one submission.

    `outcome` is None while it is open.
    """

    id: str
    study: str
    session: str
    outcome: str | None
    code: str
    answered: int
    batches: int
    checks_seen: int
    checks_passed: int
    pay: float
    bonus: float

    @property
    def reason(self) -> str | None:
        """Why it should not be approved; None where nothing speaks against."""
        if self.outcome != "failed_checks":
            return None
        return f"{self.checks_seen - self.checks_passed} of {self.checks_seen} attention checks were not passed"

    @property
    def approved(self) -> bool:
        """Whether it has ended, something was done, and nothing speaks against it."""
        return self.outcome is not None and self.reason is None and self.answered > 0


Column = tuple[str, Callable[[Work], Cell]]
DECISION: tuple[Column, ...] = (
    ("Approve", lambda work: "X" if work.approved else ""),
    ("Reject", lambda work: work.reason or ""),
)
"""A submission under which nothing was done is neither approved nor rejected here."""
FIGURES: tuple[Column, ...] = (
    ("Answered", lambda work: work.answered),
    ("Batches", lambda work: work.batches),
    ("Checks seen", lambda work: work.checks_seen),
    ("Checks passed", lambda work: work.checks_passed),
    ("Bonus", lambda work: f"{work.bonus:.2f}"),
)


def submissions(campaign: Campaign, state: State) -> list[Work]:
    """Every submission of every person, in order of joining and coming."""
    return [
        _work(campaign, person, submission, outcome)
        for person in state.people.values()
        for submission, outcome in person.submissions.items()
    ]


def _work(campaign: Campaign, person: Person, submission: Submission, outcome: str | None) -> Work:
    batches = [batch for batch in person.batches.values() if batch.submission == submission]
    numbers = {batch.number for batch in batches}
    checks = [answer for answer in person.checks if answer.batch in numbers]
    earned = pay_of(campaign, person, submission)
    return Work(
        id=str(person.visitor["id"]),
        study=submission.study or "",
        session=submission.session or "",
        outcome=outcome,
        code=getattr(campaign.codes, outcome) if outcome else "",
        answered=sum(len(batch.answered) for batch in batches),
        batches=sum(batch.finished for batch in batches),
        checks_seen=len(checks),
        checks_passed=sum(bool(answer.passed) for answer in checks),
        pay=round(earned.base, 2),
        bonus=round(earned.bonus, 2),
    )


class Platform(ABC):
    """One platform."""

    name: ClassVar[str]
    link: ClassVar[str] = ""
    """The query that the platform fills in."""
    forms: ClassVar[str] = ""
    """Where a page may send a form, for the content security policy."""
    frames: ClassVar[str] = ""
    """Who may frame a page, for the same."""
    columns: ClassVar[tuple[Column, ...]]
    """The CSV of submissions: each column's header and its cell for a submission."""

    @abstractmethod
    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """The visitor of a link; None for an invalid link."""

    def completion(self, visitor: Visitor, outcome: str, code: str) -> tuple[str | None, Form | None]:
        """Where a finished person goes: an address, or a form to send; neither where the code is all."""
        return None, None

    def prerequisites(self, wanted: Prerequisites) -> Form:
        """The prerequisites in the platform's own terms."""
        return {}

    def bonuses(self, works: Sequence[Work], campaign: Campaign, names: Names) -> str:
        """What the platform is given to pay the bonuses. Raises UsageError where it pays none."""
        raise UsageError(
            f"the platform {self.name} pays no bonuses; the CSV of submissions says what everybody has earned"
        )

    def read(self, file: Path) -> list[SubmissionStatus]:
        """What the platform's own CSV says. Raises InputError by line and field."""
        raise InputError.at(file, None, None, f"the platform {self.name} has no CSV to read")


def plain_id(value: str | None) -> str | None:
    """An id as platforms make them, or None: short, printable ASCII without blanks."""
    if value is None or not 0 < len(value) <= LONGEST_ID:
        return None
    return value if value.isascii() and value.isprintable() and " " not in value else None


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A CSV as text (RFC 4180), in which no cell is a formula."""
    return "".join(f"{csv_line(line)}\r\n" for line in (columns, *rows))


def read_csv(file: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows by line. Raises InputError where the file or a needed column is not there."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError.at(file, None, None, f"is not UTF-8 text: {error.reason}") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for name in needed:
        if name not in (reader.fieldnames or ()):
            raise InputError.at(file, 1, name, f"no such column; there are: {', '.join(reader.fieldnames or ())}")
    for row in reader:
        yield reader.line_num, {key: value or "" for key, value in row.items() if isinstance(key, str)}
