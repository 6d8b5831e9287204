"""Adjudication from the command line: decisions are answers of an adjudicator, who is an annotator with a role.

On the pages an adjudicator answers like an annotator (`campaign.requests`); the batch is the disputes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from summeter.annotate.campaign import disputes as queue
from summeter.annotate.campaign.answer import LONGEST, TaskAnswer
from summeter.annotate.campaign.disputes import Dispute
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.people import ADJUDICATOR, Visitor
from summeter.annotate.campaign.requests import PersonRequest
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import State
from summeter.annotate.tasks.task import InvalidAnswer
from summeter.data.faults import Faults
from summeter.data.formats import read_rows
from summeter.records import UsageError


class Decision(NamedTuple):
    """What an adjudicator answers to a task, by its key; `answer` names systems, not letters."""

    task: str
    answer: TaskAnswer
    by: str = ADJUDICATOR


def disputes(service: CampaignService, *, settled: bool = False) -> list[Dispute]:
    """The campaign's disputes; those that are adjudicated are left out unless `settled`."""
    return queue.disputes(service.task_type, service.state, service.tasks.work, settled=settled)


def adjudicate(service: CampaignService, decisions: Iterable[Decision]) -> list[Event]:
    """Store adjudicators' answers: all of them, or none where one is invalid.

    A later answer to a task replaces an earlier one; the log keeps both. Raises UsageError for a task that is not part
    of the work, or an invalid answer.
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
    """A decision with its answer validated. Raises UsageError for an unknown task or an invalid answer."""
    task = service.tasks.by_key.get(task_key)
    if task is None or task.role != "work":
        raise _unknown(task_key)
    given = answer.to_json() if isinstance(answer, TaskAnswer) else answer
    try:
        stored = service.task_type.read(given, task)
    except InvalidAnswer as error:
        raise UsageError(f"{task_key}: {error.field}: {error}") from error
    reason = stored.comment or (comment or "").strip()[:LONGEST] or None
    return Decision(task_key, stored.model_copy(update={"machine": None, "comment": reason}), by)


def answer_of(state: State, task: str, annotator: str) -> TaskAnswer:
    """An annotator's answer to a task, to be taken as the decision. Raises UsageError where there is none."""
    if task not in state.items:
        raise _unknown(task)
    person = state.people.get(annotator)
    answer = None if person is None else person.answers.get(task)
    if answer is None:
        raise UsageError(f"{annotator!r} gave no answer to {task!r}")
    return answer.answer.model_copy(update={"machine": None, "comment": None})


def read_decisions(service: CampaignService, file: Path, by: str) -> list[Decision]:
    """Decisions of a JSON Lines file: `task`, and `answer` (as stored) or `as` (whose answer it is); perhaps `reason`
    and `by`. Rows with neither `answer` nor `as` are left out, so that a written list can be filled in.

    Raises InputError with every fault, by line.
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
    """The decision of `task` by `answer` or by whose answer is taken (`as`). Raises UsageError where it is invalid."""
    task, answer, annotator = str(row.get("task")), row.get("answer"), row.get("as")
    if (answer is None) == (annotator is None):
        raise UsageError("decide by an answer, or as an annotator answered; not both")
    taken = answer if annotator is None else answer_of(service.state, task, str(annotator))
    reason = row.get("reason")
    return checked_decision(service, task, taken, str(row.get("by") or by), None if reason is None else str(reason))


def queue_lines(queue: Iterable[Dispute]) -> list[str]:
    """The disputes as JSON Lines, with `as`, `answer` and `reason` to be filled in and read by `read_decisions`."""
    empty = {"as": None, "answer": None, "reason": None}
    return [json.dumps({**dispute.to_json(), **empty}, ensure_ascii=False) for dispute in queue]


def _unknown(task: str) -> UsageError:
    return UsageError(f"the campaign has no task {task!r}; `summeter annotate adjudicate` lists the keys")
