"""Adjudication: the tasks on which annotators differ, their answers side by side, and a decision that is an event.

A page shows a task to the adjudicator as to an annotator of the name `ADJUDICATOR`: under letters that hide the
systems, and with an id that says nothing. Answers stand in an order that is another for each task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from summeter.annotate.campaign.assistance import Similarity, top
from summeter.annotate.campaign.config import Similar
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.people import ADJUDICATOR
from summeter.annotate.campaign.requests import document_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Answer, State
from summeter.annotate.tasks.base import LETTERS, LONGEST, Disagreement, Kind
from summeter.annotate.tasks.task import Json, Misfit, Task
from summeter.data.faults import Faults
from summeter.data.formats import read_rows
from summeter.records import UsageError

EXCERPT = 160
"""Characters of a task's text in the list."""


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
                    "said": self.kind.answer_text(task, answer.answer),
                    "seconds": answer.seconds,
                }
                for answer in self.answers
            ],
            "adjudicated": None if self.decision is None else self._decided(self.decision),
        }

    def _decided(self, decision: Event) -> Json:
        answer = decision.data["answer"]
        by, reason = decision.data.get("by"), decision.data.get("reason")
        described = self.kind.answer_text(self.task, answer)
        return {"answer": answer, "said": described, "reason": reason, "by": by, "at": decision.at}


class Decision(NamedTuple):
    """An adjudicator's answer to a task, in stored form (systems, not letters).

    `blind` says whether systems and annotators were hidden, where that is known. `follows` is the `seq` of the
    decision that the adjudicator saw, 0 where they saw none; None takes the place of whatever decision there is.
    """

    task: str
    answer: Json
    reason: str | None
    by: str
    blind: bool | None = None
    follows: int | None = None


class Overtaken(UsageError):
    """Somebody else has decided a task since it was shown."""


def disputes(service: CampaignService, *, settled: bool = False) -> list[Dispute]:
    """The tasks whose counted answers differ: first those without a majority, then in the order of the work.

    Those that are adjudicated are left out unless `settled`.
    """
    queue: list[Dispute] = []
    for task in service.tasks.work:
        if task.key in service.state.adjudicated and not settled:
            continue
        dispute = dispute_of(service.kind, service.state, task)
        if dispute is not None:
            queue.append(dispute)
    return sorted(queue, key=lambda dispute: (dispute.decision is not None, not dispute.even))


def dispute_of(kind: Kind, state: State, task: Task) -> Dispute | None:
    """The dispute about one task; None where its answers agree and nobody has decided."""
    decision, answers = state.adjudicated.get(task.key), state.counted_answers(task.key)
    split = kind.answer_disagreement(task, answers) if len(answers) > 1 else None
    if split is None and decision is None:
        return None
    text, even = split or Disagreement("annotators agree", even=False)
    return Dispute(task, kind, text, even, tuple(answers), decision)


def adjudicate(service: CampaignService, decisions: Iterable[Decision]) -> list[Event]:
    """Write decisions to the log: all of them, or none where one does not fit.

    A later decision about a task takes the place of an earlier one. Raises UsageError for a task that is none of the
    work's, or an answer that does not fit its task, and Overtaken where a decision does not follow the one it should.
    """
    checked = [_checked(service, decision) for decision in decisions]

    def decide(transaction: Transaction) -> list[Event]:
        for decision in checked:
            _require(transaction.state, decision.task, decision.follows)
        return [
            transaction.emit("adjudicated", task=decision.task, data=_data(service, decision)) for decision in checked
        ]

    return service.log.do(decide)


def reopen(
    service: CampaignService,
    task: str,
    by: str,
    *,
    reason: str | None = None,
    follows: int | None = None,
    restore: bool = False,
) -> Event:
    """Take back the decision about a task, by its key: the annotators' answers count again, merged.

    With `restore`, the decision whose place it took, if any, stands again as it was made: by whom, blind or not, why.
    Raises UsageError where nobody has decided it, Overtaken where the decision is not the one that `follows` names.
    """

    def decide(transaction: Transaction) -> Event:
        if task not in transaction.state.adjudicated:
            raise UsageError(f"nobody has decided {task!r}")
        _require(transaction.state, task, follows)
        before = transaction.state.superseded[task] if restore else []
        restores = {"restores": before[-1].seq} if before else {}
        return transaction.emit("reopened", task=task, data={"reason": reason, "by": by, **restores})

    return service.log.do(decide)


def _require(state: State, task: str, follows: int | None) -> None:
    last = state.adjudicated.get(task)
    if follows is not None and follows != (0 if last is None else last.seq):
        by = "taken back" if last is None else f"decided by {last.data.get('by') or 'somebody'}"
        raise Overtaken(f"meanwhile this was {by}; look at it again")


def _data(service: CampaignService, decision: Decision) -> Json:
    data = {"answer": decision.answer, "reason": decision.reason, "by": decision.by, "unit": service.kind.unit}
    return data if decision.blind is None else {**data, "blind": decision.blind}


def queue_page(service: CampaignService) -> Json:
    """The list of the adjudication page: every disputed or decided task, without systems and annotators."""
    view = Blind(service.folder)
    tasks = [view.row(dispute) for dispute in disputes(service, settled=True)]
    return {"tasks": tasks, "open": sum(row["decided"] is None for row in tasks)}


class Blind:
    """Tasks and their answers as the adjudication page gets them."""

    def __init__(self, folder: CampaignFolder) -> None:
        self.folder, self.kind = folder, folder.kind

    def task_id(self, task: Task) -> str:
        """What the page calls a task."""
        return self.folder.names.task(ADJUDICATOR, task.key)

    def row(self, dispute: Dispute) -> Json:
        """A line of the list."""
        task = dispute.task
        text = (
            self.kind.focus(task) or task.body.get("summary", {}).get("text") or document_of(self.folder, task)["text"]
        )
        return {
            "id": self.task_id(task),
            "document_id": task.document_id,
            "text": text[:EXCERPT],
            "why": self._why(dispute),
            "even": dispute.even,
            "decided": self.decided(dispute),
        }

    def page(self, dispute: Dispute, *, named: bool) -> Json:
        """A task with all its answers; who gave them, and whose the summaries are, only where `named`.

        Each answer is as the annotator's own browser sent it, but for the letters, and says whether it agrees with a
        machine's verdict even where its annotator saw none.
        """
        task, folder = dispute.task, self.folder
        letters = folder.letters(ADJUDICATOR, task)
        given = {answer.annotator: answer for answer in dispute.answers}
        order = folder.names.order(ADJUDICATOR, task.key, tuple(given))
        return {
            **self.row(dispute),
            "kind": task.kind,
            "document": document_of(folder, task),
            "body": self.kind.shown(task.body, letters),
            "assistance": self.folder.campaign.assistance.shown(
                {"similar": self._similar(dispute), "machine": task.machine}
            ),
            **self.kind.asked(letters),
            "minimum_seconds": 0,
            "answers": [
                {**self._answer(task, given[name].answer), "annotator": name if named else None} for name in order
            ],
            "answer": self.answer(dispute),
            "names": self._names(task, letters) if named else None,
        }

    def decided(self, dispute: Dispute) -> Json | None:
        """The decision in words, with the `seq` by which another one says that it follows it."""
        decision = dispute.decision
        if decision is None:
            return None
        described = self.kind.answer_text(dispute.task, self._lettered(dispute.task, decision.data["answer"]))
        by, reason = decision.data.get("by"), decision.data.get("reason")
        return {"text": described, "reason": reason, "by": by, "at": decision.at, "seq": decision.seq}

    def answer(self, dispute: Dispute) -> Json | None:
        """The decision as the form of the task has it."""
        decision = dispute.decision
        if decision is None:
            return None
        answer: Json = self._answer(dispute.task, decision.data["answer"])["answer"]
        return answer

    def _lettered(self, task: Task, answer: Json) -> Json:
        return self.kind.page_answer(answer, self.folder.letters(ADJUDICATOR, task))

    def _answer(self, task: Task, answer: Json) -> Json:
        lettered, agrees = self._lettered(task, answer), self.kind.agrees(task, answer)
        parts = [list(part) for part in self.kind.answer_parts(task, lettered)]
        comment = answer.get("comment")
        hidden = agrees is None or self.folder.campaign.assistance.hides_verdict
        machine = None if hidden else "agree" if agrees else "disagree"
        return {
            "answer": {**lettered, "machine": machine, "comment": None},
            "parts": [*parts, *([["comment", comment]] if comment else [])],
        }

    def _why(self, dispute: Dispute) -> str:
        task = dispute.task
        lettered = [replace(answer, answer=self._lettered(task, answer.answer)) for answer in dispute.answers]
        split = self.kind.answer_disagreement(task, lettered) if len(lettered) > 1 else None
        return dispute.why if split is None else split.text

    def _similar(self, dispute: Dispute) -> list[int]:
        """The sentences of the document that are most like what is disputed."""
        task, plan = dispute.task, self.folder.campaign.assistance.similar or Similar()
        similar: list[int] = (task.assistance or {}).get("similar") or []
        text = self.kind.disputed(task, [answer.answer for answer in dispute.answers])
        if similar or not text:
            return similar
        sentences = self.folder.sources[task.document_id].document.sentence_texts
        return top(Similarity(sentences).scores(text), plan.share, plan.most)

    def _names(self, task: Task, letters: tuple[str, ...]) -> Json:
        return {"system": task.system, "letters": dict(zip(LETTERS, letters, strict=False))}


def answer_of(state: State, task: str, annotator: str) -> Json:
    """An annotator's answer to a task, to be taken as the decision. Raises UsageError where there is none."""
    if task not in state.items:
        raise _unknown(task)
    person = state.people.get(annotator)
    answer = None if person is None else person.answers.get(task)
    if answer is None:
        raise UsageError(f"{annotator!r} gave no answer to {task!r}")
    return {**answer.answer, "machine": None, "comment": None}


def read_decisions(service: CampaignService, file: Path, by: str) -> list[Decision]:
    """Decisions of a JSON Lines file: `task`, and `answer` (in stored form) or `as` (whose answer it is); perhaps
    `reason` and `by`. Rows with neither answer nor `as` are passed over, so that a written queue can be filled in.
    A row of a written queue has `adjudicated`: the decision that its own one follows, null for none.

    Raises InputError with every fault, by line and field: also where a task was decided, or its decision taken back,
    since its row was written, and where two rows decide one task.
    """
    faults, decisions, lines = Faults(str(file)), [], dict[str, int]()
    for line, row in read_rows(file, faults, "jsonl"):
        task, answer, annotator = row.get("task"), row.get("answer"), row.get("as")
        if answer is None and annotator is None:
            continue
        try:
            if answer is not None and annotator is not None:
                raise UsageError("give `answer` or `as`, not both")
            taken: Any = answer if annotator is None else answer_of(service.state, str(task), str(annotator))
            reason, by_whom = row.get("reason"), str(row.get("by") or by)
            decision = Decision(str(task), taken, None if reason is None else str(reason), by_whom, None, _seen(row))
            decisions.append(_checked(service, decision))
            _require(service.state, decision.task, decision.follows)
            if lines.setdefault(decision.task, line) != line:
                faults.add(line, "task", f"{decision.task} is decided on line {lines[decision.task]} already")
        except UsageError as error:
            faults.add(line, None, str(error))
    faults.stop()
    return decisions


def _seen(row: Json) -> int | None:
    """The `seq` of the decision that stood when the row was written, 0 for none; None where the row does not say."""
    if "adjudicated" not in row:
        return None
    decision = row["adjudicated"]
    if decision is None:
        return 0
    seq = decision.get("seq") if isinstance(decision, dict) else None
    if type(seq) is not int:
        raise UsageError("`adjudicated` has no `seq` of a decision; write the queue anew, or leave `adjudicated` out")
    return seq


def queue_lines(queue: Iterable[Dispute]) -> list[str]:
    """The queue as JSON Lines, with `as`, `answer` and `reason` to be filled in and read by `read_decisions`.

    A decision has its `seq` there, by which a later one follows it.
    """
    rows = []
    for dispute in queue:
        row = {**dispute.to_json(), "as": None, "answer": None, "reason": None}
        if dispute.decision is not None:
            row["adjudicated"]["seq"] = dispute.decision.seq
        rows.append(json.dumps(row, ensure_ascii=False))
    return rows


def _unknown(task: str) -> UsageError:
    return UsageError(f"the campaign has no task {task!r}; `summeter annotate adjudicate` lists the keys")


def _checked(service: CampaignService, decision: Decision) -> Decision:
    task = service.tasks.by_key.get(decision.task)
    if task is None or task.role != "work":
        raise _unknown(decision.task)
    try:
        stored = service.kind.read_answer(decision.answer, task)
    except Misfit as error:
        raise UsageError(f"{decision.task}: {error.field}: {error}") from error
    reason = None if decision.reason is None else decision.reason.strip()[:LONGEST] or None
    # Exported as an annotator's comment is.
    answer = {**stored, "machine": None, "comment": stored["comment"] or reason}
    return decision._replace(answer=answer, reason=reason)
