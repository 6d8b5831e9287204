"""The base class of platforms: identification of visitors, completion, and CSV files."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from summeter.annotate.campaign.config import Campaign, Prerequisites
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.people import Names, Visitor
from summeter.annotate.campaign.state import State
from summeter.records import InputError, UsageError
from summeter.tables import Cell, csv_line

Form = dict[str, Any]
LONGEST_ID = 128


class Work(NamedTuple):
    """The work of an annotator under one submission.

    `outcome` is None while the submission is open. `pay` and `bonus` are amounts in the campaign's currency.
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
        """Reason for rejecting the submission, or None."""
        if self.outcome != "failed_checks":
            return None
        return f"{self.checks_seen - self.checks_passed} of {self.checks_seen} attention checks were not passed"

    @property
    def approved(self) -> bool:
        """Whether the submission has ended, has answers and should not be rejected."""
        return self.outcome is not None and self.reason is None and self.answered > 0


Column = tuple[str, Callable[[Work], Cell]]
DECISION: tuple[Column, ...] = (
    ("Approve", lambda work: "X" if work.approved else ""),
    ("Reject", lambda work: work.reason or ""),
)
"""Columns for the decision about a submission; without answers, a submission is neither approved nor rejected."""
FIGURES: tuple[Column, ...] = (
    ("Answered", lambda work: work.answered),
    ("Batches", lambda work: work.batches),
    ("Checks seen", lambda work: work.checks_seen),
    ("Checks passed", lambda work: work.checks_passed),
    ("Bonus", lambda work: f"{work.bonus:.2f}"),
)


def submissions(campaign: Campaign, state: State) -> list[Work]:
    """Return the work under each submission.

    The list is in the order in which annotators joined, and then in which their submissions began.
    """
    works = []
    for person in state.people.values():
        for submission, outcome in person.submissions.items():
            batches = [batch for batch in person.batches.values() if batch.submission == submission]
            numbers = {batch.number for batch in batches}
            checks = [answer for answer in person.checks if answer.batch in numbers]
            earned = pay_of(campaign, person, submission)
            work = Work(
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
            works.append(work)
    return works


class Platform(ABC):
    """The base class of platforms."""

    name: ClassVar[str]
    link: ClassVar[str] = ""
    """Query string of the study link, with the platform's placeholders."""
    forms: ClassVar[str] = ""
    """Origins to which pages may send forms, for the content security policy."""
    frames: ClassVar[str] = ""
    """Origins that may frame pages, for the content security policy."""
    columns: ClassVar[tuple[Column, ...]]
    """Columns of the CSV file of submissions, each with a header and a function that returns a cell."""
    imported: ClassVar[Mapping[str, str]] = {}
    """Columns of the platform's CSV file of submissions by field: `id` of the annotator, `submission` or `assignment`,
    `status` and `code`."""

    @abstractmethod
    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """Return the visitor whom the query string of a link identifies, or None if it is invalid."""

    def completion(self, visitor: Visitor, outcome: str, code: str) -> tuple[str | None, Form | None]:
        """Return the address or the form that completes a submission.

        By default, both are None.
        """
        return None, None

    def prerequisites(self, wanted: Prerequisites) -> Form:
        """Return the prerequisites in the platform's format."""
        return {}

    def bonuses(self, works: Sequence[Work], campaign: Campaign, names: Names) -> str:
        """Return the content of the file of bonuses for the platform.

        Raises UsageError if the platform pays no bonuses.
        """
        raise UsageError(f"the platform {self.name} pays no bonuses; the CSV of submissions contains what was earned")

    def read(self, file: Path) -> list[dict[str, str]]:
        """Read the platform's CSV file of submissions, with the fields of `imported` for each submission.

        Raises InputError if the platform has no such file, or the file lacks a column that identifies a submission.
        """
        if not self.imported:
            raise InputError.at(file, f"the platform {self.name} has no CSV file of submissions to import")
        required = [self.imported[field] for field in ("id", "assignment", "status") if field in self.imported]
        try:
            text = file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError.at(file, f"is not UTF-8 text: {error.reason}") from error
        reader = csv.DictReader(io.StringIO(text, newline=""))
        known = reader.fieldnames or ()
        for name in required:
            if name not in known:
                raise InputError.at(file, f"is missing; the columns are {', '.join(known)}", line=1, field=name)
        rows = ({field: row.get(column) or "" for field, column in self.imported.items()} for row in reader)
        return [{**row, "status": row["status"].strip().lower()} for row in rows if row["id"]]


def plain_id(value: str | None) -> str | None:
    """Return an identifier from a platform if it is valid, and None otherwise.

    A valid identifier is short and consists of printable ASCII characters without spaces.
    """
    if value is None or not 0 < len(value) <= LONGEST_ID:
        return None
    return value if value.isascii() and value.isprintable() and " " not in value else None


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return the rows as CSV (RFC 4180), with formulas escaped."""
    return "".join(f"{csv_line(line)}\r\n" for line in (columns, *rows))
