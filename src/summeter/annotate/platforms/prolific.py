"""Prolific: `?PROLIFIC_PID=..&STUDY_ID=..&SESSION_ID=..`, completion by code, submissions by CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from summeter.annotate.campaign.config import Campaign, Prerequisites
from summeter.annotate.campaign.people import PREVIEW, Names, Visitor
from summeter.annotate.platforms.base import (
    DECISION,
    FIGURES,
    Form,
    Platform,
    SubmissionStatus,
    Work,
    plain_id,
    read_csv,
)
from summeter.records import UsageError

COMPLETE = "https://app.prolific.com/submissions/complete?cc="
_ID, _SUBMISSION, _STATUS, _CODE = "Participant id", "Submission id", "Status", "Completion code"


class Prolific(Platform):
    """Its links and CSV, as its help pages give them."""

    name = "prolific"
    columns = (
        (_SUBMISSION, lambda work: work.session),
        (_ID, lambda work: work.id),
        ("Study id", lambda work: work.study),
        *DECISION,
        ("Outcome", lambda work: work.outcome or ""),
        (_CODE, lambda work: work.code),
        *FIGURES,
    )
    link = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"

    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """The participant of a link."""
        participant = plain_id(query.get("PROLIFIC_PID"))
        if participant is None or participant == PREVIEW:
            return None
        return Visitor(self.name, participant, plain_id(query.get("STUDY_ID")), plain_id(query.get("SESSION_ID")))

    def completion(self, visitor: Visitor, outcome: str, code: str) -> tuple[str | None, Form | None]:
        """Back to Prolific with the outcome's code."""
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

    def bonuses(self, works: Sequence[Work], campaign: Campaign, names: Names) -> str:
        """A line `participant,amount` each, as the form for bulk bonuses takes them: of one study only."""
        amounts: dict[str, float] = {}
        studies = {work.study for work in works if work.bonus}
        if len(studies) > 1:
            raise UsageError(
                f"Prolific pays bonuses study by study, and these are of {len(studies)}: "
                f"{', '.join(sorted(studies))}; take them from the CSV of submissions"
            )
        for work in works:
            if work.bonus:
                amounts[work.id] = amounts.get(work.id, 0.0) + work.bonus
        return "".join(f"{name},{amount:.2f}\n" for name, amount in amounts.items())

    def read(self, file: Path) -> list[SubmissionStatus]:
        """The export of a study's submissions."""
        return [
            SubmissionStatus(
                row[_ID],
                row.get(_SUBMISSION, ""),
                {
                    "status": row[_STATUS].strip().lower(),
                    "code": row.get(_CODE, ""),
                    "submission": row.get(_SUBMISSION, ""),
                },
            )
            for _, row in read_csv(file, (_ID, _STATUS))
            if row[_ID]
        ]
