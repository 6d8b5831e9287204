"""The page of one annotator: answers, their times, and whether other annotators agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Person
from summeter.records import UsageError

Json = dict[str, Any]
FILTERS: dict[str, tuple[str, Callable[[Json], bool]]] = {
    "all": ("All answers", lambda _: True),
    "checks": ("Attention checks", lambda answer: bool(answer["check"])),
    "failed": ("Failed checks", lambda answer: answer["passed"] is False),
    "differs": ("Others differ", lambda answer: bool(answer["same"] < answer["others"])),
}
"""Filters of answers, each with its title."""
SHOWN = 25
"""Number of answers per page."""


def annotator_page(
    service: CampaignService, rows: list[Json], annotator: str, *, only: str = "all", begin: int = 0, shown: int = SHOWN
) -> Json:
    """Return the data of an annotator's page.

    `rows` is the result of `annotator_statistics`. The page shows at most `shown` answers from index `begin`, newest
    first. `only` is a name in `FILTERS`. Raises UsageError if this name or the annotator is unknown.
    """
    person = service.state.people.get(annotator)
    if person is None:
        raise UsageError(f"there is no annotator {annotator!r} in this campaign")
    if only not in FILTERS:
        raise UsageError(f"unknown filter {only!r}; use one of {', '.join(FILTERS)}")
    answers = [answer for answer in _answers(service, person) if FILTERS[only][1](answer)]
    answers.sort(key=lambda answer: (answer["at"], answer["seq"]), reverse=True)
    all_seconds = [answer.seconds for other in service.state.people.values() for answer in other.answers.values()]
    return {
        **next(row for row in rows if row["annotator"] == annotator),
        "currency": None if service.campaign.pay is None else service.campaign.pay.currency,
        "seconds_usual": median(all_seconds) if all_seconds else None,
        "pass_share": service.campaign.attention.pass_share,
        "history": [
            {"kind": event.kind, "at": event.at, **{name: event.data.get(name) for name in ("reason", "by", "rule")}}
            for event in service.state.exclusions
            if event.annotator == person.annotator
        ],
        "submissions": [
            {**visit._asdict(), "outcome": outcome, "status": person.platform_status.get(visit.session or "")}
            for visit, outcome in person.submissions.items()
        ],
        "batch_list": [
            {
                "number": batch.number,
                "since": batch.since,
                "seen": batch.seen,
                "tasks": len(batch.tasks),
                "answered": len(batch.answered),
                "state": "finished" if batch.finished else "returned or expired" if batch.closed else "in progress",
            }
            for batch in person.batches.values()
        ],
        "answers": answers[begin : begin + shown],
        "answers_total": len(answers),
    }


def _answers(service: CampaignService, person: Person) -> Iterator[Json]:
    task_type = service.task_type
    for answer in person.answers.values():
        task = service.tasks.by_key[answer.task]
        counted = service.state.counted_answers(answer.task) if task.role == "work" else []
        others = [other for other in counted if other.annotator != answer.annotator]
        yield {
            "at": answer.at,
            "seq": answer.seq,
            "task": task.key,
            "check": task.role == "check",
            "document_id": task.document_id,
            "system": task.system,
            "rival": task.rival,
            "index": task.index,
            "said": task_type.described(task, answer.answer),
            "comment": answer.answer.comment,
            "seconds": answer.seconds,
            "seconds_waited": answer.waited,
            "contradicted": answer.contradicted,
            "passed": answer.passed,
            "counts": person.annotator in service.state.items[task.key].counted if task.role == "work" else None,
            "others": len(others),
            "same": sum(task_type.disagreement(task, [answer.answer, other.answer]) is None for other in others),
        }
