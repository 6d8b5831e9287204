"""Amazon Mechanical Turk.

Links have the form `?workerId=..&assignmentId=..&hitId=..&turkSubmitTo=..`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from summeter.annotate.campaign.config import Campaign, Prerequisites
from summeter.annotate.campaign.people import PREVIEW, Names, Visitor
from summeter.annotate.platforms.base import DECISION, FIGURES, Form, Platform, Work, csv_text, plain_id

NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"
LIVE, SANDBOX = "https://www.mturk.com", "https://workersandbox.mturk.com"
APPROVAL, ACCEPTED, LOCALE = "000000000000000000L0", "00000000000000000040", "00000000000000000071"
"""Qualification types of Mechanical Turk: percentage of approved assignments, number of approved HITs, and locale."""
_WORKER, _ASSIGNMENT, _STATUS = "WorkerId", "AssignmentId", "AssignmentStatus"


class MTurk(Platform):
    """An external question on Mechanical Turk, which receives the outcome and completion code."""

    name = "mturk"
    columns = (
        (_ASSIGNMENT, lambda work: work.session),
        ("HITId", lambda work: work.study),
        (_WORKER, lambda work: work.id),
        *DECISION,
        ("Answer.outcome", lambda work: work.outcome or ""),
        ("Answer.code", lambda work: work.code),
        *FIGURES,
    )
    imported: ClassVar[Mapping[str, str]] = {"id": _WORKER, "assignment": _ASSIGNMENT, "status": _STATUS}
    forms = frames = f"{LIVE} {SANDBOX} https://worker.mturk.com"
    """These origins include the worker site, to which a submitted assignment is redirected."""

    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """Return the worker, or a preview visitor if the assignment has not been accepted yet."""
        assignment = plain_id(query.get("assignmentId"))
        if assignment == NOT_AVAILABLE:
            return Visitor(self.name, PREVIEW)
        worker = plain_id(query.get("workerId"))
        if worker is None or assignment is None or worker == PREVIEW:
            return None
        default = SANDBOX if campaign.platform.sandbox else LIVE
        submit_to = query.get("turkSubmitTo", "").rstrip("/")
        back = submit_to if submit_to in {LIVE, SANDBOX} else default
        return Visitor(self.name, worker, plain_id(query.get("hitId")), assignment, back)

    def completion(self, visitor: Visitor, outcome: str, code: str) -> tuple[str | None, Form | None]:
        """Return the form that submits the assignment."""
        fields = {"assignmentId": visitor.session or "", "outcome": outcome, "code": code}
        return None, {"action": f"{visitor.back or LIVE}/mturk/externalSubmit", "fields": fields}

    def prerequisites(self, wanted: Prerequisites) -> Form:
        """Return the qualification requirements for `CreateHIT`."""
        rules: list[Form] = [
            _rule(APPROVAL, "GreaterThan", IntegerValues=[int(wanted.approval_above)]),
            _rule(ACCEPTED, "GreaterThanOrEqualTo", IntegerValues=[wanted.accepted_at_least]),
        ]
        if wanted.locales:
            countries = [{"Country": locale} for locale in wanted.locales]
            rules.append(_rule(LOCALE, "In", LocaleValues=countries))
        return {"qualification_requirements": rules}

    def bonuses(self, works: Sequence[Work], campaign: Campaign, names: Names) -> str:
        """Return CSV with the parameters of `SendBonus`.

        The request token in each row prevents a bonus from being paid twice.
        """
        columns = ("WorkerId", "AssignmentId", "BonusAmount", "Reason", "UniqueRequestToken")
        reason = f"Careful work: {campaign.title}"
        rows = (
            (work.id, work.session, f"{work.bonus:.2f}", reason, names.mark("bonus", work.session, length=32))
            for work in works
            if work.bonus
        )
        return csv_text(columns, rows)


def _rule(qualification: str, comparator: str, **values: object) -> Form:
    return {"QualificationTypeId": qualification, "Comparator": comparator, **values}
