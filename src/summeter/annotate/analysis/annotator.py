"""The page of one annotator: answers, their times, and whether other annotators agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from summeter.annotate.analysis.quality import AnnotatorStatistics
from summeter.annotate.analysis.status import row_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Person
from summeter.records import UsageError

Json = dict[str, Any]
FILTERS: dict[str, Callable[[Json], bool]] = {
    "all": lambda _: True,
    "checks": lambda answer: bool(answer["check"]),
    "failed": lambda answer: answer["passed"] is False,
    "differs": lambda answer: bool(answer["same"] < answer["others"]),
}
"""Filters of answers: all, attention checks, failed checks, and answers that differ from those of others."""
SHOWN = 25
"""Number of answers per page."""


def annotator_page(
    service: CampaignService, statistics: AnnotatorStatistics, *, only: str = "all", begin: int = 0, shown: int = SHOWN
) -> Json:
    """Return the data of an annotator's page.

    The page shows at most `shown` answers from index `begin`, newest first. `only` is a name in `FILTERS`. Raises
    UsageError if this name is unknown.
    """
    person, matches = statistics.person, FILTERS.get(only)
    if matches is None:
        raise UsageError(f"unknown filter {only!r}; use one of {', '.join(FILTERS)}")
    answers = [answer for answer in _answers(service, person) if matches(answer)]
    answers.sort(key=lambda answer: (answer["at"], answer["seq"]), reverse=True)
    all_seconds = [answer.seconds for other in service.state.people.values() for answer in other.answers.values()]
    return {
        **statistics.to_json(),
        **row_of(service, person),
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


def statistics_of(annotators: list[AnnotatorStatistics], annotator: str) -> AnnotatorStatistics:
    """Return the statistics of one annotator. Raises UsageError if the annotator is unknown."""
    for statistics in annotators:
        if statistics.person.annotator == annotator:
            return statistics
    raise UsageError(f"there is no annotator {annotator!r} in this campaign")


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
