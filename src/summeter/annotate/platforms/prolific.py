"""Prolific: `?PROLIFIC_PID=..&STUDY_ID=..&SESSION_ID=..`, completion by code, submissions by CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from summeter.annotate.pay import pay_of
from summeter.annotate.people import Names, Visitor
from summeter.annotate.platforms.base import Form, Platform, Said, plain_id, read_csv

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign, Prerequisites
    from summeter.annotate.desk import Desk

COMPLETE = "https://app.prolific.com/submissions/complete?cc="
_ID, _STATUS = "Participant id", "Status"


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
        """What is needed to approve, reject and pay by hand or by Prolific's bulk forms."""
        return ("Participant id", "Submission id", "Study id", "Outcome", "Completion code", "Answered", "Batches",
                "Checks seen", "Checks passed", "Bonus")  # fmt: skip

    def rows(self, desk: Desk) -> Iterator[Sequence[object]]:
        """One a participant."""
        for one in desk.state.people.values():
            seen, outcome = one.visitor, one.ended
            code = getattr(desk.campaign.codes, outcome) if outcome else ""
            yield (
                seen["id"], seen["session"] or "", seen["study"] or "", outcome or "", code, len(one.answers),
                one.finished, one.checks_seen, one.checks_passed, f"{pay_of(desk.campaign, one).bonus:.2f}",
            )  # fmt: skip

    def read(self, file: Path) -> list[Said]:
        """The export of a study's submissions."""
        return [
            Said(row[_ID], {"status": row[_STATUS].strip().lower(), "code": row.get("Completion code", "")})
            for _, row in read_csv(file, (_ID, _STATUS)) if row[_ID]
        ]  # fmt: skip
