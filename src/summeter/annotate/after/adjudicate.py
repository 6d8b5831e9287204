"""Adjudication: the tasks on which annotators differ, their answers side by side, and a decision that is an event."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.log import Turn
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Answer, State
from summeter.annotate.tasks.base import LONGEST, Disagreement, Kind, Misfit
from summeter.annotate.tasks.task import Json, Task
from summeter.data.faults import Faults
from summeter.data.formats import read_rows
from summeter.records import UsageError


class Dispute(NamedTuple):
    """A task with answers that differ, or one that was decided; `why` says how they differ in words."""

    task: Task
    kind: Kind
    why: str
    even: bool
    """Whether no answer has a majority."""
    answers: tuple[Answer, ...]
    decision: Event | None

    def to_json(self) -> Json:
        """As the command line and the page show it."""
        task = self.task
        return {
            "task": task.key,
            "kind": task.kind,
            "document_id": task.document_id,
            "system": task.system,
            "rival": task.rival,
            "index": task.index,
            "why": self.why,
            "even": self.even,
            "machine": task.machine,
            "answers": [
                {
                    "annotator": answer.annotator,
                    "answer": answer.answer,
                    "said": self.kind.describe(task, answer.answer),
                    "seconds": answer.seconds,
                }
                for answer in self.answers
            ],
            "adjudicated": None if self.decision is None else self._decided(self.decision),
        }

    def _decided(self, decision: Event) -> Json:
        answer = decision.data["answer"]
        by, reason = decision.data.get("by"), decision.data.get("reason")
        described = self.kind.describe(self.task, answer)
        return {"answer": answer, "said": described, "reason": reason, "by": by, "at": decision.at}


class Decision(NamedTuple):
    """An adjudicator's answer to a task, in stored form (systems, not letters)."""

    task: str
    answer: Json
    reason: str | None
    by: str


def disputes(service: CampaignService, *, settled: bool = False) -> list[Dispute]:
    """The tasks whose counted answers differ: first those without a majority, then in the order of the work.

    Those that are adjudicated are left out unless `settled`.
    """
    kind, state = service.kind, service.state
    queue: list[Dispute] = []
    for task in service.tasks.work:
        decision = state.adjudicated.get(task.key)
        if decision is not None and not settled:
            continue
        answers = state.counted_answers(task.key)
        split = kind.disagreement(task, answers) if len(answers) > 1 else None
        if split is not None or decision is not None:
            text, even = split or Disagreement("annotators agree", even=False)
            queue.append(Dispute(task, kind, text, even, tuple(answers), decision))
    return sorted(queue, key=lambda dispute: (dispute.decision is not None, not dispute.even))


def adjudicate(service: CampaignService, decisions: Iterable[Decision]) -> list[Event]:
    """Write decisions to the log: all of them, or none where one does not fit.

    A later decision about a task takes the place of an earlier one. Raises UsageError for a task that is none of the
    work's, or an answer that does not fit its task.
    """
    checked = [_checked(service, decision) for decision in decisions]

    def decide(turn: Turn[State]) -> list[Event]:
        return [
            turn.emit(
                "adjudicated",
                task=decision.task,
                data={
                    "answer": decision.answer,
                    "reason": decision.reason,
                    "by": decision.by,
                    "unit": service.kind.unit,
                },
            )
            for decision in checked
        ]

    return service.log.do(decide)


def answer_of(state: State, task: str, annotator: str) -> Json:
    """An annotator's answer to a task, to be taken as the decision. Raises UsageError where there is none."""
    person = state.people.get(annotator)
    answer = None if person is None else person.answers.get(task)
    if answer is None:
        raise UsageError(f"{annotator!r} gave no answer to {task!r}")
    return {**answer.answer, "machine": None, "comment": None}


def read_decisions(service: CampaignService, file: Path, by: str) -> list[Decision]:
    """Decisions of a JSON Lines file: `task`, and `answer` (in stored form) or `as` (whose answer it is); perhaps
    `reason` and `by`. Rows with neither answer nor `as` are passed over, so that a written queue can be filled in.

    Raises InputError with every fault, by line and field.
    """
    faults, decisions = Faults(str(file)), []
    for line, row in read_rows(file, faults, "jsonl"):
        task, answer, annotator = row.get("task"), row.get("answer"), row.get("as")
        if answer is None and annotator is None:
            continue
        try:
            if answer is not None and annotator is not None:
                raise UsageError("give `answer` or `as`, not both")
            taken: Any = answer if annotator is None else answer_of(service.state, str(task), str(annotator))
            reason = row.get("reason")
            decision = Decision(str(task), taken, None if reason is None else str(reason), str(row.get("by") or by))
            decisions.append(_checked(service, decision))
        except UsageError as error:
            faults.add(line, None, str(error))
    faults.stop()
    return decisions


def queue_lines(queue: Iterable[Dispute]) -> list[str]:
    """The queue as JSON Lines, with `as`, `answer` and `reason` to be filled in and read by `read_decisions`."""
    return [
        json.dumps({**dispute.to_json(), "as": None, "answer": None, "reason": None}, ensure_ascii=False)
        for dispute in queue
    ]


def _checked(service: CampaignService, decision: Decision) -> Decision:
    task = service.tasks.by_key.get(decision.task)
    if task is None or task.role != "work":
        raise UsageError(f"the campaign has no task {decision.task!r}; `summeter annotate adjudicate` lists the keys")
    try:
        stored = service.kind.read(decision.answer, task)
    except Misfit as error:
        raise UsageError(f"{decision.task}: {error.field}: {error}") from error
    reason = None if decision.reason is None else decision.reason.strip()[:LONGEST] or None
    return decision._replace(answer={**stored, "machine": None}, reason=reason)
