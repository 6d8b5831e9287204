"""One annotator in full: answers with their times, compared with other annotators' answers to the same tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from summeter.annotate.analysis.quality import AnnotatorStatistics
from summeter.annotate.analysis.status import row_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Answer, Batch, Person
from summeter.records import UsageError

Json = dict[str, Any]
FILTERS: dict[str, Callable[[Json], bool]] = {
    "all": lambda _: True,
    "checks": lambda answer: bool(answer["check"]),
    "failed": lambda answer: answer["passed"] is False,
    "differs": lambda answer: bool(answer["same"] < answer["others"]),
}
"""Which answers are shown: all, those to attention checks, failed checks, those that differ from somebody else's."""
SHOWN = 25
"""Answers at a time."""


def annotator_page(
    service: CampaignService, statistics: AnnotatorStatistics, *, only: str = "all", begin: int = 0, shown: int = SHOWN
) -> Json:
    """Everything there is to know of one annotator, the newest answers first.

    `only` is one of FILTERS; `shown` of those answers are given, from `begin`. Raises UsageError for another filter.
    """
    person, wanted = statistics.person, FILTERS.get(only)
    if wanted is None:
        raise UsageError(f"there are no answers {only!r}; choose {', '.join(FILTERS)}")
    answers = [answer for answer in _answers(service, person) if wanted(answer)]
    answers.sort(key=lambda answer: (answer["at"], answer["seq"]), reverse=True)
    everybody = [answer.seconds for other in service.state.people.values() for answer in other.answers.values()]
    return {
        **statistics.to_json(),
        **row_of(service, person),
        "currency": None if service.campaign.pay is None else service.campaign.pay.currency,
        "seconds_usual": median(everybody) if everybody else None,
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
        "batch_list": [_batch(batch) for batch in person.batches.values()],
        "answers": answers[begin : begin + shown],
        "answers_total": len(answers),
    }


def statistics_of(annotators: list[AnnotatorStatistics], annotator: str) -> AnnotatorStatistics:
    """The statistics of one annotator. Raises UsageError for somebody who never took part."""
    for statistics in annotators:
        if statistics.person.annotator == annotator:
            return statistics
    raise UsageError(f"nobody called {annotator!r} has taken part")


def _answers(service: CampaignService, person: Person) -> Iterator[Json]:
    task_type = service.task_type
    for answer in person.answers.values():
        task = service.tasks.by_key[answer.task]
        others = _others(service, answer)
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


def _others(service: CampaignService, answer: Answer) -> list[Answer]:
    """What others said of the same task of the work, where it counts."""
    if answer.task not in service.state.items:
        return []
    counted = service.state.counted_answers(answer.task)
    return [other for other in counted if other.annotator != answer.annotator]


def _batch(batch: Batch) -> Json:
    state = "finished" if batch.finished else "given back or run out" if batch.closed else "being worked on"
    return {
        "number": batch.number,
        "since": batch.since,
        "seen": batch.seen,
        "tasks": len(batch.tasks),
        "answered": len(batch.answered),
        "state": state,
    }
