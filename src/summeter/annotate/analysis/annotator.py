"""The pages of one annotator and of one task: answers, their times, and whether other annotators agree."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from summeter.annotate.campaign.people import adjudicator_name
from summeter.annotate.campaign.requests import document_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Answer, Person, TaskAnswer
from summeter.annotate.tasks.task import Task
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
    rows_of_answers = (_row(service, person, answer) for answer in person.answers.values())
    answers = [row for row in rows_of_answers if FILTERS[only][1](row)]
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


def task_page(service: CampaignService, key: str) -> Json:
    """Return the data of a task's page: its texts, its answers in order of time, and the adjudicator's decision.

    Raises UsageError if there is no such task.
    """
    task = service.tasks.by_key.get(key)
    if task is None:
        raise UsageError(f"there is no task {key!r} in this campaign")
    body = task.body
    texts = [("Document", document_of(service.folder, task)["text"])]
    texts += [("Key fact", body["key_fact"])] if "key_fact" in body else []
    texts += [("Summary", body["summary"]["text"])] if "summary" in body else []
    texts += [("Marked sentence", body["sentence"])] if "sentence" in body else []
    texts += [(f"Summary by {one['system']}", one["text"]) for one in body.get("summaries", ())]
    everybody = service.state.people.values()
    answers = [_row(service, person, person.answers[key]) for person in everybody if key in person.answers]
    decision = service.state.adjudicated.get(key)
    machine: list[str] = []
    if task.machine:
        values = service.task_type.described(task, TaskAnswer(values=task.machine["values"]))
        machine = ["accepts" if task.machine["accepts"] else "rejects", values, task.machine.get("reason") or ""]
    return {
        "title": title_of(task),
        "role": task.role,
        "texts": texts,
        "answers": sorted(answers, key=lambda answer: (answer["at"], answer["seq"])),
        "decision": decision
        and {"by": adjudicator_name(decision.annotator), "said": service.task_type.described(task, decision.answer)},
        "machine": "; ".join(filter(None, machine)),
    }


def title_of(task: Task) -> str:
    """Return the document, systems and number of a task."""
    systems = " vs ".join(name for name in (task.system, task.rival) if name)
    number = "" if task.index is None else f"no. {task.index + 1}"
    return " · ".join(part for part in (task.document_id, systems, number) if part)


def _row(service: CampaignService, person: Person, answer: Answer) -> Json:
    task, task_type = service.tasks.by_key[answer.task], service.task_type
    counted = service.state.counted_answers(answer.task) if task.role == "work" else []
    others = [other for other in counted if other.annotator != answer.annotator]
    return {
        "at": answer.at,
        "seq": answer.seq,
        "annotator": answer.annotator,
        "task": task.key,
        "title": title_of(task),
        "check": task.role == "check",
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
