"""Prolific.

Links have the form `?PROLIFIC_PID=..&STUDY_ID=..&SESSION_ID=..`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar
from urllib.parse import quote

from summeter.annotate.campaign.config import Campaign, Prerequisites
from summeter.annotate.campaign.people import PREVIEW, Names, Visitor
from summeter.annotate.platforms.base import DECISION, FIGURES, Form, Platform, Work, plain_id
from summeter.records import UsageError

COMPLETE = "https://app.prolific.com/submissions/complete?cc="
_ID, _SUBMISSION, _STATUS, _CODE = "Participant id", "Submission id", "Status", "Completion code"


class Prolific(Platform):
    """A study on Prolific, with the links and CSV files that Prolific's help pages describe."""

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
    imported: ClassVar[Mapping[str, str]] = {"id": _ID, "submission": _SUBMISSION, "status": _STATUS, "code": _CODE}
    link = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"

    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """Return the participant whom the link identifies, or None if the link is invalid."""
        participant = plain_id(query.get("PROLIFIC_PID"))
        if participant is None or participant == PREVIEW:
            return None
        return Visitor(self.name, participant, plain_id(query.get("STUDY_ID")), plain_id(query.get("SESSION_ID")))

    def completion(self, visitor: Visitor, outcome: str, code: str) -> tuple[str | None, Form | None]:
        """Return Prolific's address for a completion code."""
        return f"{COMPLETE}{quote(code, safe='')}", None

    def prerequisites(self, wanted: Prerequisites) -> Form:
        """Return the prerequisites as filters for Prolific's API.

        The bounds of filters are inclusive, whereas `approval_above` is exclusive.
        """
        filters: list[Form] = [
            {"filter_id": "approval_rate", "selected_range": {"lower": wanted.approval_above, "upper": 100}},
            {"filter_id": "approval_numbers", "selected_range": {"lower": wanted.accepted_at_least}},
        ]
        if wanted.locales:
            filters.append({"filter_id": "current-country-of-residence", "selected_values": list(wanted.locales)})
        return {"filters": filters}

    def bonuses(self, works: Sequence[Work], campaign: Campaign, names: Names) -> str:
        """Return lines of the form `participant,amount` for bulk bonus payments.

        Raises UsageError if the bonuses are for several studies.
        """
        amounts: dict[str, float] = {}
        studies = {work.study for work in works if work.bonus}
        if len(studies) > 1:
            raise UsageError(
                f"the bonuses are from {len(studies)} studies ({', '.join(sorted(studies))}), but Prolific pays by "
                "study; use the CSV of submissions"
            )
        for work in works:
            if work.bonus:
                amounts[work.id] = amounts.get(work.id, 0.0) + work.bonus
        return "".join(f"{name},{amount:.2f}\n" for name, amount in amounts.items())
