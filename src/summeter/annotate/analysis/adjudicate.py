"""Adjudication without web pages: decisions are stored as answers of an adjudicator.

On the web pages, an adjudicator answers like an annotator whose batch consists of the disputes (see
`campaign.requests`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from summeter.annotate.campaign import disputes as queue
from summeter.annotate.campaign.disputes import Dispute
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.people import ADJUDICATOR, Visitor
from summeter.annotate.campaign.requests import PersonRequest
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import LONGEST, Event, TaskAnswer
from summeter.annotate.tasks.task import InvalidAnswer
from summeter.data.faults import Faults
from summeter.data.formats import read_rows
from summeter.records import UsageError

LISTING = "`summeter annotate adjudicate` lists the keys"


class Decision(NamedTuple):
    """An adjudicator's answer to the task with the key `task`.

    The answer contains the names of systems, not the letters shown on the page. `by` is the name of the adjudicator.
    """

    task: str
    answer: TaskAnswer
    by: str = ADJUDICATOR


def disputes(service: CampaignService, *, include_adjudicated: bool = False) -> list[Dispute]:
    """Return the disputes of a campaign.

    Adjudicated tasks are included only with `include_adjudicated`.
    """
    return queue.disputes(service.task_type, service.state, service.tasks.work, include_adjudicated=include_adjudicated)


def adjudicate(service: CampaignService, decisions: Iterable[Decision]) -> list[Event]:
    """Store all decisions of adjudicators, or none of them, and return the events.

    A later decision replaces an earlier one on the same task; the log keeps both. Raises UsageError if a task is
    unknown or an answer is invalid.
    """
    checked = [checked_decision(service, decision.task, decision.answer, decision.by) for decision in decisions]

    def decide(transaction: Transaction) -> list[Event]:
        requests = {
            decision.by: PersonRequest(service.folder, transaction, Visitor(ADJUDICATOR, decision.by))
            for decision in checked
        }
        return [requests[decision.by].adjudicate(decision.task, decision.answer) for decision in checked]

    return service.log.do(decide)


def checked_decision(
    service: CampaignService, task_key: str, answer: Any, by: str, comment: str | None = None
) -> Decision:
    """Return a decision with a validated answer.

    Raises UsageError if the task is unknown or the answer is invalid.
    """
    task = service.tasks.by_key.get(task_key)
    if task is None or task.role != "work":
        raise UsageError(f"the campaign has no task {task_key!r}; {LISTING}")
    content = answer.to_json() if isinstance(answer, TaskAnswer) else answer
    try:
        stored = service.task_type.read(content, task)
    except InvalidAnswer as error:
        raise UsageError(f"{task_key}: {error.field}: {error}") from error
    reason = stored.comment or (comment or "").strip()[:LONGEST] or None
    return Decision(task_key, stored.model_copy(update={"machine": None, "comment": reason}), by)


def read_decisions(service: CampaignService, file: Path, by: str) -> list[Decision]:
    """Read decisions from a JSON Lines file.

    Each row has the field `task`, either `answer` or `as` (the annotator whose answer is adopted), and optionally
    `reason` and `by` (the adjudicator, instead of the argument `by`). Rows with neither `answer` nor `as` are skipped.
    Raises InputError with all faults, by line.
    """
    faults, decisions = Faults(str(file)), []
    for _, line, row, _ in read_rows(file, faults, "jsonl"):
        answer, annotator = row.get("answer"), row.get("as")
        if answer is None and annotator is None:
            continue
        try:
            decisions.append(decision_of_row(service, row, by))
        except UsageError as error:
            faults.add(line, None, str(error))
    faults.stop()
    return decisions


def decision_of_row(service: CampaignService, row: Mapping[str, Any], by: str) -> Decision:
    """Return the decision of a row in the format of `read_decisions`.

    Raises UsageError if the decision is invalid.
    """
    task, answer, annotator, reason = str(row.get("task")), row.get("answer"), row.get("as"), row.get("reason")
    if (answer is None) == (annotator is None):
        raise UsageError("give either an answer or the annotator whose answer is adopted")
    if annotator is not None:
        person = service.state.people.get(str(annotator))
        if person is None or task not in person.answers:
            raise UsageError(f"{annotator!r} has not answered the task {task!r}; {LISTING}")
        answer = person.answers[task].answer.model_copy(update={"machine": None, "comment": None})
    return checked_decision(service, task, answer, str(row.get("by") or by), None if reason is None else str(reason))


def queue_lines(queue: Iterable[Dispute]) -> list[str]:
    """Return the disputes as JSON Lines for `read_decisions`.

    The fields `as`, `answer` and `reason` are left empty, to be filled in.
    """
    empty = {"as": None, "answer": None, "reason": None}
    return [json.dumps({**dispute.to_json(), **empty}, ensure_ascii=False) for dispute in queue]
