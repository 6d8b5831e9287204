"""Prolific: `?PROLIFIC_PID=..&STUDY_ID=..&SESSION_ID=..`, completion by code, submissions by CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from summeter.annotate.people import Names, Visitor
from summeter.annotate.platforms.base import Form, Platform, Said, plain_id, read_csv, submissions
from summeter.records import UsageError

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign, Prerequisites
    from summeter.annotate.desk import Desk

COMPLETE = "https://app.prolific.com/submissions/complete?cc="
_ID, _SUBMISSION, _STATUS = "Participant id", "Submission id", "Status"


class Prolific(Platform):
    """Its links and CSV, as its help pages give them."""

    name = "prolific"
    link = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"

    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """The participant of a link."""
        del names, campaign
        found = plain_id(query.get("PROLIFIC_PID"))
        if found is None:
            return None
        return Visitor(self.name, found, plain_id(query.get("STUDY_ID")), plain_id(query.get("SESSION_ID")))

    def completion(self, visitor: Visitor, outcome: str, code: str) -> tuple[str | None, Form | None]:
        """Back to Prolific with the outcome's code."""
        del visitor, outcome
        return f"{COMPLETE}{quote(code, safe='')}", None

    def prerequisites(self, wanted: Prerequisites) -> Form:
        """Filters as the API of studies takes them; Prolific counts approved submissions, and includes the bound."""
        filters: list[Form] = [
            {"filter_id": "approval_rate", "selected_range": {"lower": wanted.approval_above, "upper": 100}},
            {"filter_id": "approval_numbers", "selected_range": {"lower": wanted.accepted_at_least}},
        ]
        if wanted.locales:
            filters.append({"filter_id": "current-country-of-residence", "selected_values": list(wanted.locales)})
        return {"filters": filters}

    def columns(self) -> Sequence[str]:
        """What is needed to approve and reject; Prolific's bulk forms take lists of submission ids."""
        return ("Submission id", "Participant id", "Study id", "Approve", "Reject", "Outcome", "Completion code",
                "Answered", "Batches", "Checks seen", "Checks passed", "Bonus")  # fmt: skip

    def rows(self, desk: Desk) -> Iterator[Sequence[object]]:
        """One a submission. One of which nothing was done is neither approved nor rejected here."""
        for one in submissions(desk):
            yield (
                one.session, one.id, one.study, "X" if one.approved else "", one.reason or "", one.outcome or "",
                one.code, one.answered, one.batches, one.checks_seen, one.checks_passed, f"{one.bonus:.2f}",
            )  # fmt: skip

    def bonuses(self, desk: Desk) -> str:
        """A line `participant,amount` each, as the form for bulk bonuses takes them: of one study only."""
        found: dict[str, float] = {}
        studies = {one.study for one in submissions(desk) if one.bonus}
        if len(studies) > 1:
            raise UsageError(f"Prolific pays bonuses study by study, and these are of {len(studies)}: "
                             f"{', '.join(sorted(studies))}; take them from --csv")  # fmt: skip
        for one in submissions(desk):
            if one.bonus:
                found[one.id] = found.get(one.id, 0.0) + one.bonus
        return "".join(f"{name},{amount:.2f}\n" for name, amount in found.items())

    def read(self, file: Path) -> list[Said]:
        """The export of a study's submissions."""
        return [
            Said(row[_ID], row.get(_SUBMISSION, ""), {
                "status": row[_STATUS].strip().lower(), "code": row.get("Completion code", ""),
                "submission": row.get(_SUBMISSION, ""),
            })
            for _, row in read_csv(file, (_ID, _STATUS)) if row[_ID]
        ]  # fmt: skip
