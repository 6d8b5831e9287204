"""The requests of annotators, one function each, and the JSON that their browsers receive.

No response tells whether a task is an attention check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from summeter.annotate.campaign.assignment import checks_due, choose, with_checks
from summeter.annotate.campaign.bodies import Json, Refusal, field_of
from summeter.annotate.campaign.config import HARD
from summeter.annotate.campaign.disputes import disputes
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.people import ADJUDICATOR, Visitor, arm_of
from summeter.annotate.campaign.stages import answered_late, ended_at, finish, give_back, stage_of, stages
from summeter.annotate.campaign.state import SLACK, Batch, Event, Person, Submission, TaskAnswer
from summeter.annotate.platforms import platform_named
from summeter.annotate.tasks.base import LETTERS
from summeter.annotate.tasks.task import InvalidAnswer, Task
from summeter.text.split import split

QUIET = 0.1
"""Fraction of a lease after which viewing a task again is logged as activity, if no other activity was logged."""


class PersonRequest:
    """A request of a visitor, which can read the state of the campaign and emit events."""

    def __init__(self, folder: CampaignFolder, transaction: Transaction, visitor: Visitor) -> None:
        self.folder = folder
        self.transaction = transaction
        self.state = transaction.state
        self.now = transaction.now
        self.visitor = visitor
        self.campaign = folder.campaign
        self.annotator = folder.names.annotator(visitor)

    @property
    def person(self) -> Person | None:
        """The state of the visitor, or None before the visitor's first event."""
        return None if self.visitor.preview else self.state.find(self.annotator)

    @property
    def record(self) -> Person:
        """The state of the visitor, which is empty before the visitor's first event."""
        return self.person or Person(self.annotator, {}, "assisted", 0, 0)

    @property
    def stage(self) -> str:
        """The current stage, which is always `work` for an adjudicator."""
        if self.adjudicates:
            return "work"
        return stage_of(self.campaign, len(self.folder.tasks.training), self.record)

    @property
    def adjudicates(self) -> bool:
        """Whether the visitor is an adjudicator, whose batch consists of the disputes."""
        return self.visitor.platform == ADJUDICATOR

    def assistance(self, task: Task) -> Json | None:
        """Return the part of a task's assistance that the visitor sees."""
        return None if self.record.arm == "unassisted" else self.campaign.assistance.shown(task.assistance)

    def emit(self, kind: str, **fields: Any) -> Any:
        """Add an event about the visitor; `fields` are the keyword arguments of `Transaction.emit`."""
        return self.transaction.emit(kind, self.annotator, **fields)

    def join(self) -> Person:
        """Return the state of the visitor, adding the visitor to the campaign if necessary."""
        if self.person is None:
            visitor, hide_for = self.visitor, self.campaign.assistance.hide_for
            data: Json = {
                "platform": visitor.platform,
                "id": visitor.id,
                "study": visitor.study,
                "session": visitor.session,
                "arm": "assisted" if self.adjudicates else arm_of(self.annotator, self.campaign.seed, hide_for),
            }
            if self.folder.names.is_simulated(visitor):
                data["made"] = True
            self.emit("joined", data=data)
        return self.record

    def arrive(self) -> None:
        """Log the submission under which the visitor arrives, if it is not the current one."""
        person, visitor = self.person, self.visitor
        if person is not None and person.submission != Submission(visitor.study, visitor.session):
            self.emit("came", data={"study": visitor.study, "session": visitor.session})

    def require_writable(self) -> None:
        """Refuse write requests from a preview visitor."""
        if self.visitor.preview:
            raise Refusal(403, "preview", "a preview stores nothing; accept the task to begin")

    def require_stage(self, stage: str) -> None:
        """Refuse the request unless the visitor is at the given stage."""
        if self.stage != stage:
            raise Refusal(409, "wrong_stage", f"this request is for the stage {stage}; your stage is {self.stage}")

    def require_task(self, body: Json) -> tuple[Person, Task]:
        """Return the state of the visitor and the task that the request names.

        Refuses the request if the task is not assigned to the visitor.
        """
        person = self.record
        key = self.folder.task_key(person, body.get("task"))
        if key is None or key not in person.assigned:
            raise Refusal(403, "not_yours", "this task is not assigned to you")
        return person, self.folder.tasks.by_key[key]

    def adjudicate(self, task: str, answer: TaskAnswer) -> Any:
        """Log the answer of an adjudicator to the task with the given key, and return the event."""
        if task not in self.join().assigned:
            self.emit("assigned", task=task, batch=1, data={"check": False})
        data = {"answer": answer.to_json(), "seconds": 0.0, "client_at": None, "passed": None}
        return self.emit("answered", task=task, batch=1, data=data)

    def done(self, **more: Any) -> Json:
        """Return the reply to a write request; `more` are additional fields."""
        return {"ok": True, "stage": self.stage, **more}


def session(request: PersonRequest, _: Json) -> Json:
    """Return the state of the session: the reply to `GET /api/session` without its CSRF token."""
    stage, person, campaign, tasks = request.stage, request.record, request.campaign, request.folder.tasks
    batch, test = person.active, campaign.qualification
    questions = sample = None
    if stage == "qualification" and test is not None:
        shown = [
            {"id": f"q{index}", "question": question.question, "choices": list(question.choices)}
            for index, question in enumerate(test.questions)
        ]
        questions = {"questions": shown, "attempts_left": test.attempts - person.attempts}
    if request.visitor.preview:
        first = _shown(request, (tasks.training or tasks.work)[:1])
        sample = {"task": first["tasks"][0], "documents": first["documents"]}
    pay = None
    if campaign.pay is not None and not request.adjudicates:
        earned = pay_of(campaign, person)
        # The bonus depends on the attention checks, so before the end it would reveal which batches passed them.
        bonus = round(earned.bonus, 2) if stage == "done" else None
        pay = {"currency": campaign.pay.currency, "earned": round(earned.base, 2), "bonus": bonus}
    return {
        "stage": stage,
        "preview": request.visitor.preview,
        "annotator": request.annotator,
        "adjudicates": request.adjudicates,
        "campaign": about(request.folder),
        "form": request.folder.task_type.form(),
        "stages": stages(campaign, len(tasks.training)),
        "progress": {
            "answered": len(person.answers),
            "batches": person.finished,
            "batches_most": campaign.batch.per_annotator,
            "batch_answered": 0 if batch is None else len(batch.answered),
            "batch_size": 0 if batch is None else len(batch.tasks),
        },
        "qualification": questions,
        "training": _shown(request, _training_left(request)) if stage == "training" else None,
        "batch": _batch(request, batch) if stage == "work" else None,
        "sample": sample,
        "done": _done(request),
        "pay": pay,
    }


def consent(request: PersonRequest, body: Json) -> Json:
    """Log whether the annotator consents; a refusal ends the annotator's campaign."""
    agreed = field_of(body, "agreed")
    if request.record.agreed != agreed:
        request.require_stage("consent")
        request.join()
        request.emit("consented", data={"agreed": agreed})
        if not agreed:
            request.emit("ended", data={"outcome": "screened_out"})
    return request.done()


def instructions(request: PersonRequest, _: Json) -> Json:
    """Log that the instructions were read."""
    if not request.record.instructed:
        request.require_stage("instructions")
        request.join()
        request.emit("instructed")
    return request.done()


def qualification(request: PersonRequest, body: Json) -> Json:
    """Grade the qualification test, which is passed if all choices are right."""
    test = request.campaign.qualification
    token = field_of(body, "answer_id") if "answer_id" in body else None
    known = None if token is None else request.record.tokens.get(token)
    if test is None:
        raise Refusal(409, "wrong_stage", "this campaign has no qualification test")
    if known is not None and known.kind != "qualified":
        raise _reused()
    if known is None:
        request.require_stage("qualification")
        names = [f"q{index}" for index in range(len(test.questions))]
        choices = field_of(body, "answers")
        if set(choices) != set(names):
            raise Refusal(422, "invalid", "answer every question", "answers")
        person = request.join()
        right = sum(choices[name] == question.answer for name, question in zip(names, test.questions, strict=True))
        data = {"answers": choices, "correct": right, "total": len(names), "passed": right == len(names)}
        known = request.emit("qualified", token=token, data=data)
        if not data["passed"] and person.attempts >= test.attempts:
            request.emit("ended", data={"outcome": "screened_out"})
    facts = {name: known.data[name] for name in ("passed", "correct", "total")}
    return request.done(**facts, attempts_left=max(0, test.attempts - request.record.attempts))


def training(request: PersonRequest, body: Json) -> Json:
    """Store the answer to a training task and return the feedback."""
    token, seconds = field_of(body, "answer_id"), round(field_of(body, "seconds"), 3)
    tasks = {request.folder.names.task(request.annotator, task.key): task for task in request.folder.tasks.training}
    task_id = body.get("task")
    task = tasks.get(task_id) if isinstance(task_id, str) else None
    if task is None:
        raise Refusal(403, "not_yours", "this is not one of your training tasks")
    stored = _read(request, task, body.get("answer"))
    known = _repeated(request, token, "trained", task, stored)
    if known is None:
        request.require_stage("training")
        person = request.join()
        if task.key in person.trained:
            raise Refusal(409, "closed", "this training task was already answered")
        passed = request.folder.task_type.passed(task, stored)
        data = {"answer": stored.to_json(), "passed": passed, "seconds": seconds}
        known = request.emit("trained", task=task.key, token=token, data=data)
        if not _training_left(request):
            share = sum(person.trained.values()) / len(person.trained)
            if share < request.campaign.training.pass_share:
                request.emit("ended", data={"outcome": "screened_out"})
    return request.done(passed=known.data["passed"], feedback=task.feedback)


def batch(request: PersonRequest, _: Json) -> Json:
    """Return the current batch.

    If there is no current batch, assign a new one, or end the annotator's campaign if no tasks are left.
    """
    stage = request.stage
    if stage not in {"work", "done"}:
        raise Refusal(409, "wrong_stage", f"this request is for the stage work; your stage is {stage}")
    if request.adjudicates:
        person = request.join()
        for dispute in disputes(request.folder.task_type, request.state, request.folder.tasks.work):
            if dispute.task.key not in person.assigned:
                request.emit("assigned", task=dispute.task.key, batch=1, data={"check": False})
        return request.done(batch=_batch(request, request.record.active), done=None)
    barred = request.record.excluded or request.record.ended in HARD
    if not barred and request.record.active is None:
        _assign_batch(request, request.join())
    held = request.record.active if request.stage == "work" else None
    return request.done(batch=_batch(request, held), done=_done(request))


def _assign_batch(request: PersonRequest, person: Person) -> None:
    """Assign a new batch, or log the annotator's outcome if no tasks are left."""
    plan, folder = request.campaign.batch, request.folder
    enough = plan.per_annotator is not None and person.finished >= plan.per_annotator
    keys = [] if enough else choose(request.state, person, plan.size, folder.groups)
    if not keys:
        outcome = "completed" if person.finished else "no_more_items"
        if person.ended != outcome:
            request.emit("ended", data={"outcome": outcome})
        return
    number = len(person.batches) + 1
    work = [folder.tasks.by_key[key] for key in keys]
    rate_rng = Random(folder.names.mark("rate", request.annotator))
    due = checks_due(person, len(work), request.campaign.attention.rate, rate_rng)
    rng = Random(folder.names.mark("checks", request.annotator, str(number)))
    shown = with_checks(work, folder.tasks.checks, folder.checks_by_document, person.answers, due, rng)
    for task in shown:
        request.emit("assigned", task=task.key, batch=number, data={"check": task.role == "check"})


def reopen(request: PersonRequest, body: Json) -> Json:
    """Revert the decision about a task, so that the annotators' merged answers count again."""
    _, task = request.require_task(body)
    if not request.adjudicates:
        raise Refusal(403, "not_yours", "only adjudicators can revert a decision")
    if task.key in request.state.adjudicated:
        request.emit("reopened", task=task.key)
    return {"ok": True}


def opened(request: PersonRequest, body: Json) -> Json:
    """Log that a task is in view.

    The event is logged when the task is first viewed in its batch, and again after a period of inactivity.
    """
    person, task = request.require_task(body)
    held = person.batches[person.assigned[task.key]]
    inactive = request.now - held.seen >= request.state.lease * QUIET
    if not held.closed and (inactive or task.key not in held.opened):
        request.emit("opened", task=task.key, batch=held.number)
    return {"ok": True}


def answers(request: PersonRequest, body: Json) -> Json:
    """Store an answer.

    A repeated request stores nothing. Answers to tasks of an expired batch are accepted.
    """
    token, seconds = field_of(body, "answer_id"), round(field_of(body, "seconds"), 3)
    person, task = request.require_task(body)
    stored = _read(request, task, body.get("answer"))
    known = _repeated(request, token, "answered", task, stored)
    if known is None:
        number = person.assigned[task.key]
        held = person.batches[number]
        if held.closed and task.key in held.answered:
            raise Refusal(409, "closed", "the batch is finished; its answers can no longer be changed")
        least = 0 if request.adjudicates else request.campaign.minimum_seconds
        if seconds < least or _impossible(request, person, held, task):
            raise Refusal(422, "too_fast", f"please take at least {least:g} seconds for a task", "seconds")
        passed = request.folder.task_type.passed(task, stored) if task.role == "check" else None
        data = {"answer": stored.to_json(), "seconds": seconds, "client_at": field_of(body, "at"), "passed": passed}
        known = request.emit("answered", task=task.key, batch=number, token=token, data=data)
        if held.closed:
            answered_late(request.transaction, request.campaign, person, held)
    return {"ok": True, "answer_id": token, "task": body["task"], "seq": known.seq}


def _impossible(request: PersonRequest, person: Person, held: Batch, task: Task) -> bool:
    """Return whether too little time has passed for the answers to a batch.

    The time is measured by the server's clock. Answers that were delayed by the network may arrive together, so the
    minimum time for all of them is compared with the time since the batch was assigned.
    """
    if person.simulated:
        return False
    needed = len(held.answered | {task.key}) * request.campaign.minimum_seconds
    return needed > (request.now - held.since) / 1000 + SLACK


def finish_batch(request: PersonRequest, _: Json) -> Json:
    """Finish the current batch, if there is one. The batch of an adjudicator stays open."""
    person = request.record
    if request.adjudicates:
        return request.done(done=None)
    held = person.active
    if held is not None:
        if held.waiting:
            raise Refusal(409, "unfinished", f"{len(held.waiting)} tasks of the batch are not answered yet")
        finish(request.transaction, request.campaign, person, held, by="annotator")
    return request.done(done=_done(request))


def return_(request: PersonRequest, _: Json) -> Json:
    """Give back the unanswered tasks of the current batch, except for an adjudicator's batch."""
    person = request.record
    if request.adjudicates:
        return request.done(returned=0)
    held = person.active
    count = 0 if held is None else give_back(request.transaction, request.campaign, person, held)
    return request.done(returned=count)


def _repeated(request: PersonRequest, token: str, kind: str, task: Task, stored: TaskAnswer) -> Event | None:
    """Return the event of an answer that was stored before, or None.

    Refuses the request if a different answer was stored with the same token.
    """
    known = request.record.tokens.get(token)
    if known is not None and (known.kind != kind or known.task != task.key or known.data["answer"] != stored.to_json()):
        raise _reused()
    return known


def _reused() -> Refusal:
    return Refusal(409, "answer_id_reused", "this answer_id was already used for another answer")


def _read(request: PersonRequest, task: Task, answer: Any) -> TaskAnswer:
    """Validate an answer.

    The answer must say whether the annotator agrees with the machine if, and only if, the machine verdict is shown.
    """
    stored = read_answer(request.folder, request.annotator, task, answer)
    shown = (request.assistance(task) or {}).get("machine")
    if (shown is not None) != (stored.machine is not None):
        message = "say whether you agree with the machine" if stored.machine is None else "no verdict was shown"
        raise Refusal(422, "invalid", message, "answer.machine")
    return stored


def read_answer(folder: CampaignFolder, annotator: str, task: Task, answer: Any) -> TaskAnswer:
    """Validate an answer from an annotator's page.

    Raises Refusal if the answer is invalid. Its `field` contains letters instead of systems.
    """
    letters = folder.letters(annotator, task)
    try:
        return folder.task_type.read(answer, task, letters)
    except InvalidAnswer as error:
        shown = dict(zip(letters, LETTERS, strict=False))
        field = ".".join(shown.get(part, part)[:80] for part in error.path)
        raise Refusal(422, "invalid", str(error), field) from error


def about(folder: CampaignFolder) -> Json:
    """Return the fields of the campaign that pages show."""
    campaign = folder.campaign
    return {name: getattr(campaign, name) for name in ("name", "title", "task_type", "language", "contact")}


def _training_left(request: PersonRequest) -> list[Task]:
    return [task for task in request.folder.tasks.training if task.key not in request.record.trained]


def _batch(request: PersonRequest, held: Batch | None) -> Json | None:
    if held is None:
        return None
    lease = request.state.lease
    expires = None if request.adjudicates else held.seen + lease
    return {
        "number": held.number,
        "expires_at": expires,
        "lease_seconds": None if expires is None else lease / 1000,
        "seconds_left": None if expires is None else max(0, expires - request.now) / 1000,
        **_shown(request, (request.folder.tasks.by_key[key] for key in held.tasks)),
    }


def _done(request: PersonRequest) -> Json | None:
    """Return the outcome and completion of an annotator who is done, or None."""
    person = request.person
    if person is None or request.stage != "done":
        return None
    outcome = person.ended or "screened_out"
    code = getattr(request.campaign.codes, outcome)
    url, form = platform_named(request.campaign.platform.name).completion(request.visitor, outcome, code)
    most = request.campaign.batch.per_annotator
    may_continue = not person.excluded and person.ended in {"completed", "no_more_items"}
    more = (
        may_continue
        and (most is None or person.finished < most)
        and bool(choose(request.state, person, 1, request.folder.groups))
    )
    return {"outcome": outcome, "at": ended_at(person), "code": code, "url": url, "form": form, "more": more}


def _shown(request: PersonRequest, tasks: Iterable[Task]) -> Json:
    """Return the JSON of tasks for a browser, which is the same for work, checks and training.

    `documents` contains the documents of the tasks, each once.
    """
    folder, person, adjudicates = request.folder, request.record, request.adjudicates
    names: dict[str, str] = {}
    documents: Json = {}
    shown = []
    for task in tasks:
        letters = folder.letters(person.annotator, task)
        known = (request.state.adjudicated if adjudicates else person.answers).get(task.key)
        held = person.batches.get(person.assigned.get(task.key, 0))
        if task.document_id not in names:
            names[task.document_id] = f"d{len(names) + 1}"
            documents[names[task.document_id]] = document_of(folder, task)
        assistance = request.assistance(task)
        if assistance is not None:
            assistance = {**assistance, "machine": folder.task_type.shown_machine(assistance.get("machine"))}
        one = {
            "id": folder.names.task(person.annotator, task.key),
            "task_type": folder.task_type.name,
            "document": names[task.document_id],
            "body": folder.task_type.shown(task.body, letters),
            "assistance": assistance,
            "minimum_seconds": 0 if adjudicates else request.campaign.minimum_seconds,
            "opened": held is not None and task.key in held.opened,
            "answer": None if known is None else folder.task_type.page_answer(known.answer, letters),
        }
        shown.append({**one, "answers": _disputed(request, task, letters)} if adjudicates else one)
    return {"documents": documents, "tasks": shown}


def _disputed(request: PersonRequest, task: Task, letters: Sequence[str]) -> list[Json]:
    """Return the annotators' answers to a disputed task, without names.

    The order of the answers differs between adjudicators. Each answer says whether it agrees with the machine verdict,
    even if its annotator did not see the verdict.
    """
    task_type, names = request.folder.task_type, request.folder.names
    given = {answer.annotator: answer.answer for answer in request.state.counted_answers(task.key)}
    shown = []
    for name in names.order(request.annotator, task.key, tuple(given)):
        agrees = None if request.campaign.assistance.hides_verdict else task_type.agrees(task, given[name])
        machine = None if agrees is None else "agree" if agrees else "disagree"
        answer = given[name].model_copy(update={"machine": machine, "comment": None})
        parts = task_type.parts(task, given[name], letters, labelled=True)
        page_answer = task_type.page_answer(answer, letters)
        shown.append({"answer": page_answer, "comment": given[name].comment, "parts": parts})
    return shown


def document_of(folder: CampaignFolder, task: Task) -> Json:
    """Return the JSON of a task's document for pages."""
    if task.text is None:
        document = folder.sources[task.document_id].document
        text, domain, sources = document.text, document.domain, document.sources
        spans: Iterable[Any] = document.sentences
    else:
        text, domain, sources, spans = task.text, None, (), split(task.text, folder.campaign.language)
    titles = [[source.start, source.end, source.label] for source in sources]
    return {"text": text, "sentences": [[span.start, span.end] for span in spans], "domain": domain, "sources": titles}


REQUESTS: dict[str, Callable[[PersonRequest, Json], Json]] = {
    "session": session,
    "consent": consent,
    "instructions": instructions,
    "qualification": qualification,
    "training": training,
    "batch": batch,
    "opened": opened,
    "answers": answers,
    "finish": finish_batch,
    "return": return_,
    "reopen": reopen,
}
