"""Disputes: the tasks on which annotators disagree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from summeter.annotate.campaign.people import adjudicator_name
from summeter.annotate.campaign.state import Answer, State
from summeter.annotate.tasks.base import TaskType
from summeter.annotate.tasks.questions import Disagreement
from summeter.annotate.tasks.task import Task


class Dispute(NamedTuple):
    """A task whose answers differ or that was adjudicated.

    `why` describes how the answers differ. `even` is True if no answer has a majority. `decision` is the last answer of
    an adjudicator, or None.
    """

    task: Task
    task_type: TaskType
    why: str
    even: bool
    answers: tuple[Answer, ...]
    decision: Answer | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that `annotate adjudicate --json` prints."""
        task, decision = self.task, self.decision
        return {
            "task": task.key,
            "kind": self.task_type.name,
            "document_id": task.document_id,
            "system": task.system,
            "rival": task.rival,
            "index": task.index,
            "why": self.why,
            "even": self.even,
            "machine": task.machine,
            "answers": [
                {"annotator": answer.annotator, "seconds": answer.seconds, **self._answer(answer)}
                for answer in self.answers
            ],
            "adjudicated": None
            if decision is None
            else {"by": adjudicator_name(decision.annotator), "at": decision.at, **self._answer(decision)},
        }

    def _answer(self, answer: Answer) -> dict[str, Any]:
        return {"answer": answer.answer.to_json(), "said": self.task_type.described(self.task, answer.answer)}


def disputes(
    task_type: TaskType, state: State, work: Iterable[Task], *, include_adjudicated: bool = False
) -> list[Dispute]:
    """Return the tasks whose counted answers differ, beginning with those without a majority.

    With `include_adjudicated`, adjudicated tasks are included at the end.
    """
    found: list[Dispute] = []
    for task in work:
        decision = state.adjudicated.get(task.key)
        if decision is not None and not include_adjudicated:
            continue
        answers = state.counted_answers(task.key)
        split = task_type.disagreement(task, [answer.answer for answer in answers]) if len(answers) > 1 else None
        if split is None and decision is None:
            continue
        text, even = split or Disagreement("annotators agree", even=False)
        found.append(Dispute(task, task_type, text, even, tuple(answers), decision))
    return sorted(found, key=lambda dispute: (dispute.decision is not None, not dispute.even))
