"""What a person may ask of a campaign, one function each, and what their browser gets to see.

Nothing that is sent says what is a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.assignment import checks_due, choose, with_checks
from summeter.annotate.campaign.bodies import (
    Json,
    Refusal,
    agreed_of,
    answer_id_of,
    choices_of,
    client_at_of,
    seconds_of,
)
from summeter.annotate.campaign.config import HARD
from summeter.annotate.campaign.disputes import disputes
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.people import ADJUDICATOR, Visitor, arm_of
from summeter.annotate.campaign.stages import answered_late, ended_at, finish, give_back, outcome_of, stage_of, stages
from summeter.annotate.campaign.state import SLACK, Batch, Person, Submission
from summeter.annotate.platforms import platform_named
from summeter.annotate.tasks.base import LETTERS
from summeter.annotate.tasks.task import InvalidAnswer, Task
from summeter.text.split import split

QUIET = 0.1
"""The part of a lease without a sign of life after which a task that is seen again is written as one."""


class PersonRequest:
    """One request of a person: what they may do now, decided on the state and written as events."""

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
        """What the log knows of them; None before their first write."""
        return None if self.visitor.preview else self.state.find(self.annotator)

    @property
    def record(self) -> Person:
        """What the log knows of them; an empty record before their first write."""
        return self.person or Person(self.annotator, {}, "assisted", 0, 0)

    @property
    def stage(self) -> str:
        """The stage they are at; an adjudicator is always at work."""
        if self.adjudicates:
            return "work"
        return stage_of(self.campaign, len(self.folder.tasks.training), self.record)

    @property
    def adjudicates(self) -> bool:
        """Whether they are an adjudicator, whose batch is the disputes."""
        return self.visitor.platform == ADJUDICATOR

    @property
    def unassisted(self) -> bool:
        """Whether assistance is hidden from them."""
        return self.record.arm == "unassisted"

    def assistance(self, task: Task) -> Json | None:
        """What of a task's assistance they see."""
        return None if self.unassisted else self.campaign.assistance.shown(task.assistance)

    def emit(self, kind: str, **parts: Any) -> Any:
        """Add an event about this person; `parts` are task, batch, token and data."""
        return self.transaction.emit(kind, self.annotator, **parts)

    def join(self) -> Person:
        """The person, who joins now if not before."""
        person = self.person
        if person is None:
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
            person = self.require_person()
        return person

    def arrive(self) -> None:
        """Record that a person comes from another submission than last time."""
        person, visitor = self.person, self.visitor
        if person is not None and person.submission != Submission(visitor.study, visitor.session):
            self.emit("came", data={"study": visitor.study, "session": visitor.session})

    def require_writable(self) -> None:
        """Refuse a preview: it writes nothing."""
        if self.visitor.preview:
            raise Refusal(403, "preview", "this is a preview: nothing is stored; accept the task to begin")

    def require_stage(self, stage: str) -> None:
        """Refuse what belongs to another stage."""
        if self.stage != stage:
            raise Refusal(409, "wrong_stage", f"this belongs to the stage {stage}; you are at {self.stage}")

    def require_person(self) -> Person:
        """The person, who must have joined."""
        person = self.person
        if person is None:
            raise Refusal(409, "wrong_stage", "you have not begun")
        return person

    def require_task(self, body: Json) -> tuple[Person, Task]:
        """The person and the task of theirs that the body names."""
        person = self.require_person()
        key = self.folder.task_key(person, body.get("task"))
        if key is None or key not in person.assigned:
            raise Refusal(403, "not_yours", "this task is not yours")
        return person, self.folder.tasks.by_key[key]

    def adjudicate(self, task: str, answer: TaskAnswer) -> Any:
        """An adjudicator's answer to a task, by its key; the task comes into their batch where it is not in it yet."""
        if task not in self.join().assigned:
            self.emit("assigned", task=task, batch=1, data={"check": False})
        data = {"answer": answer.to_json(), "seconds": 0.0, "client_at": None, "passed": None}
        return self.emit("answered", task=task, batch=1, data=data)

    def done(self, **more: Any) -> Json:
        """The reply to a write."""
        return {"ok": True, "stage": self.stage, **more}


def session(request: PersonRequest, _: Json) -> Json:
    """Where the person stands: `GET /api/session` but for its csrf."""
    stage = request.stage
    held = request.record.active if stage == "work" else None
    return {
        "stage": stage,
        "preview": request.visitor.preview,
        "annotator": request.annotator,
        "adjudicates": request.adjudicates,
        "campaign": about(request.folder),
        "form": request.folder.task_type.form(),
        "stages": stages(request.campaign, len(request.folder.tasks.training)),
        "progress": _progress(request),
        "qualification": _questions(request) if stage == "qualification" else None,
        "training": _training(request) if stage == "training" else None,
        "batch": None if held is None else _batch(request, held),
        "sample": _sample(request) if request.visitor.preview else None,
        "done": _done(request),
        "pay": _pay(request),
    }


def consent(request: PersonRequest, body: Json) -> Json:
    """Agreeing twice is agreeing; refusing ends the campaign for this person."""
    agreed = agreed_of(body)
    if request.record.agreed != agreed:
        request.require_stage("consent")
        request.join()
        request.emit("consented", data={"agreed": agreed})
        if not agreed:
            request.emit("ended", data={"outcome": "screened_out"})
    return request.done()


def instructions(request: PersonRequest, _: Json) -> Json:
    """The instructions were read."""
    if not request.record.instructed:
        request.require_stage("instructions")
        request.join()
        request.emit("instructed")
    return request.done()


def qualification(request: PersonRequest, body: Json) -> Json:
    """All questions right, or an attempt is used up."""
    test = request.campaign.qualification
    token = answer_id_of(body) if "answer_id" in body else None
    known = None if token is None else request.record.tokens.get(token)
    if test is None:
        raise Refusal(409, "wrong_stage", "this campaign has no qualification test")
    if known is not None and known.kind != "qualified":
        raise _reused()
    if known is None:
        request.require_stage("qualification")
        names = [f"q{index}" for index in range(len(test.questions))]
        choices = choices_of(body, names)
        person = request.join()
        right = sum(choices[name] == question.answer for name, question in zip(names, test.questions, strict=True))
        data = {"answers": choices, "correct": right, "total": len(names), "passed": right == len(names)}
        known = request.emit("qualified", token=token, data=data)
        if not data["passed"] and person.attempts >= test.attempts:
            request.emit("ended", data={"outcome": "screened_out"})
    facts = {name: known.data[name] for name in ("passed", "correct", "total")}
    return request.done(**facts, attempts_left=max(0, test.attempts - request.record.attempts))


def training(request: PersonRequest, body: Json) -> Json:
    """An answer to a training task, with what there is to say about it."""
    token, seconds = answer_id_of(body), seconds_of(body)
    tasks = {request.folder.names.task(request.annotator, task.key): task for task in request.folder.tasks.training}
    task_id = body.get("task")
    task = tasks.get(task_id) if isinstance(task_id, str) else None
    if task is None:
        raise Refusal(403, "not_yours", "this is no training task of yours")
    stored = _read(request, task, body.get("answer"))
    known = _repeated(request, token, "trained", task, stored)
    if known is None:
        request.require_stage("training")
        person = request.join()
        if task.key in person.trained:
            raise Refusal(409, "closed", "this training task is done")
        passed = request.folder.task_type.passed(task, stored)
        data = {"answer": stored.to_json(), "passed": passed, "seconds": seconds}
        known = request.emit("trained", task=task.key, token=token, data=data)
        _end_training(request, person)
    return request.done(passed=known.data["passed"], feedback=task.feedback)


def _end_training(request: PersonRequest, person: Person) -> None:
    if not _training_left(request):
        share = sum(person.trained.values()) / len(person.trained)
        if share < request.campaign.training.pass_share:
            request.emit("ended", data={"outcome": "screened_out"})


def batch(request: PersonRequest, _: Json) -> Json:
    """The batch held, else a new one, else the end."""
    stage = request.stage
    if stage not in {"work", "done"}:
        raise Refusal(409, "wrong_stage", f"you are at the stage {stage}")
    if request.adjudicates:
        _hand_out_disputes(request)
        held = request.record.active
        return request.done(batch=None if held is None else _batch(request, held), done=None)
    barred = request.record.excluded or request.record.ended in HARD
    if not barred and request.record.active is None:
        _hand_out(request, request.join())
    held = request.require_person().active if request.stage == "work" else None
    return request.done(batch=None if held is None else _batch(request, held), done=_done(request))


def _hand_out(request: PersonRequest, person: Person) -> None:
    """Assign a new batch, or say that it is over."""
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


def _hand_out_disputes(request: PersonRequest) -> None:
    """Add the tasks on which annotators differ, and which are not in it yet, to an adjudicator's one batch."""
    person = request.join()
    for dispute in disputes(request.folder.task_type, request.state, request.folder.tasks.work):
        if dispute.task.key not in person.assigned:
            request.emit("assigned", task=dispute.task.key, batch=1, data={"check": False})


def reopen(request: PersonRequest, body: Json) -> Json:
    """Take back the decision about a task: the annotators' answers count again, merged."""
    _, task = request.require_task(body)
    if not request.adjudicates:
        raise Refusal(403, "not_yours", "only an adjudicator's decision can be taken back")
    if task.key in request.state.adjudicated:
        request.emit("reopened", task=task.key)
    return {"ok": True}


def opened(request: PersonRequest, body: Json) -> Json:
    """A task is in view: noted the first time in its batch, later as a sign of life where the last is a while ago."""
    person, task = request.require_task(body)
    held = person.batches[person.assigned[task.key]]
    quiet = request.now - held.seen >= request.state.lease * QUIET
    if not held.closed and (quiet or task.key not in held.opened):
        request.emit("opened", task=task.key, batch=held.number)
    return {"ok": True}


def answers(request: PersonRequest, body: Json) -> Json:
    """Store an answer: once, whatever the network does; never lost, even if it comes after its batch is over."""
    token, seconds = answer_id_of(body), seconds_of(body)
    person, task = request.require_task(body)
    stored = _read(request, task, body.get("answer"))
    known = _repeated(request, token, "answered", task, stored)
    if known is None:
        number = person.assigned[task.key]
        held = person.batches[number]
        if held.closed and task.key in held.answered:
            raise Refusal(409, "closed", "the batch is finished; its answers stay as they are")
        least = 0 if request.adjudicates else request.campaign.minimum_seconds
        if seconds < least or _impossible(request, person, held, task):
            raise Refusal(422, "too_fast", f"please take at least {least:g} seconds for a task", "seconds")
        passed = request.folder.task_type.passed(task, stored) if task.role == "check" else None
        data = {"answer": stored.to_json(), "seconds": seconds, "client_at": client_at_of(body), "passed": passed}
        known = request.emit("answered", task=task.key, batch=number, token=token, data=data)
        if held.closed:
            answered_late(request.transaction, request.campaign, person, held)
    return {"ok": True, "answer_id": token, "task": body["task"], "seq": known.seq}


def _impossible(request: PersonRequest, person: Person, held: Batch, task: Task) -> bool:
    """Whether the server's clock leaves too little time for the answers of a batch.

    Answers that waited for the network arrive together; all of them had since the batch was handed out.
    """
    if person.simulated:
        return False
    needed = len(held.answered | {task.key}) * request.campaign.minimum_seconds
    return needed > (request.now - held.since) / 1000 + SLACK


def finish_batch(request: PersonRequest, _: Json) -> Json:
    """Finish the batch held; asked again, nothing changes. An adjudicator's stays open."""
    person = request.require_person()
    if request.adjudicates:
        return request.done(done=None)
    held = person.active
    if held is not None:
        if held.waiting:
            raise Refusal(409, "unfinished", f"{len(held.waiting)} tasks of the batch have no answer yet")
        finish(request.transaction, request.campaign, person, held, by="annotator")
    return request.done(done=_done(request))


def return_(request: PersonRequest, _: Json) -> Json:
    """Give back what is not answered. An adjudicator's batch stays as it is."""
    person = request.require_person()
    if request.adjudicates:
        return request.done(returned=0)
    held = person.active
    count = 0 if held is None else give_back(request.transaction, request.campaign, person, held)
    return request.done(returned=count)


def _repeated(request: PersonRequest, token: str, kind: str, task: Task, stored: TaskAnswer) -> Event | None:
    """The event of an answer that is sent again; None for a new one. Refuses another answer under the same token."""
    known = request.record.tokens.get(token)
    if known is not None and (known.kind != kind or known.task != task.key or known.data["answer"] != stored.to_json()):
        raise _reused()
    return known


def _reused() -> Refusal:
    return Refusal(409, "answer_id_reused", "this answer_id was used for another answer")


def _read(request: PersonRequest, task: Task, answer: Any) -> TaskAnswer:
    """The answer as it is stored. The machine's verdict must be answered where it is shown, and only there."""
    stored = read_answer(request.folder, request.annotator, task, answer)
    shown = (request.assistance(task) or {}).get("machine")
    if (shown is not None) != (stored.machine is not None):
        lacks = "say whether you agree with the machine" if stored.machine is None else "no verdict was shown"
        raise Refusal(422, "invalid", lacks, "answer.machine")
    return stored


def read_answer(folder: CampaignFolder, annotator: str, task: Task, answer: Any) -> TaskAnswer:
    """What the page of `annotator` sent, as it is stored. Raises Refusal, which names what the page showed alone."""
    letters = folder.letters(annotator, task)
    try:
        return folder.task_type.read(answer, task, letters)
    except InvalidAnswer as error:
        shown = dict(zip(letters, LETTERS, strict=False))  # a page names no system: neither does what is wrong with it
        field = ".".join(shown.get(part, part)[:80] for part in error.path)
        raise Refusal(422, "invalid", str(error), field) from error


def about(folder: CampaignFolder) -> Json:
    """The campaign as pages name it."""
    campaign = folder.campaign
    return {name: getattr(campaign, name) for name in ("name", "title", "task_type", "language", "contact")}


def _pay(request: PersonRequest) -> Json | None:
    """What was earned. The bonus follows from the checks: before the end it would tell which batches passed them."""
    plan = request.campaign.pay
    if plan is None or request.adjudicates:
        return None
    earned = pay_of(request.campaign, request.record)
    shown = round(earned.bonus, 2) if request.stage == "done" else None
    return {"currency": plan.currency, "earned": round(earned.base, 2), "bonus": shown}


def _progress(request: PersonRequest) -> Json:
    person = request.record
    held = person.active
    return {
        "answered": len(person.answers),
        "batches": person.finished,
        "batches_most": request.campaign.batch.per_annotator,
        "batch_answered": 0 if held is None else len(held.answered),
        "batch_size": 0 if held is None else len(held.tasks),
    }


def _questions(request: PersonRequest) -> Json | None:
    test = request.campaign.qualification
    if test is None:
        return None
    questions = [
        {"id": f"q{index}", "question": question.question, "choices": list(question.choices)}
        for index, question in enumerate(test.questions)
    ]
    return {"questions": questions, "attempts_left": test.attempts - request.record.attempts}


def _training_left(request: PersonRequest) -> list[Task]:
    return [task for task in request.folder.tasks.training if task.key not in request.record.trained]


def _training(request: PersonRequest) -> Json:
    view = _TaskView(request)
    tasks = [view.task(task) for task in _training_left(request)]
    return {"tasks": tasks, "documents": view.documents}


def _sample(request: PersonRequest) -> Json:
    view, tasks = _TaskView(request), request.folder.tasks
    return {"task": view.task((tasks.training or tasks.work)[0]), "documents": view.documents}


def _batch(request: PersonRequest, held: Batch) -> Json:
    view, state = _TaskView(request), request.state
    tasks = [view.task(request.folder.tasks.by_key[key]) for key in held.tasks]
    expires = None if request.adjudicates else held.seen + state.lease
    return {
        "number": held.number,
        "expires_at": expires,
        "lease_seconds": None if expires is None else state.lease / 1000,
        "seconds_left": None if expires is None else max(0, expires - request.now) / 1000,
        "documents": view.documents,
        "tasks": tasks,
    }


def _done(request: PersonRequest) -> Json | None:
    """How it ended, where it has."""
    person = request.person
    if person is None or request.stage != "done":
        return None
    outcome = outcome_of(person)
    code = getattr(request.campaign.codes, outcome)
    url, form = platform_named(request.campaign.platform.name).completion(request.visitor, outcome, code)
    more = _more(request, person)
    return {"outcome": outcome, "at": ended_at(person), "code": code, "url": url, "form": form, "more": more}


def _more(request: PersonRequest, person: Person) -> bool:
    """Whether there is new work for a person who had finished."""
    most = request.campaign.batch.per_annotator
    if person.excluded or person.ended not in {"completed", "no_more_items"}:
        return False
    if most is not None and person.finished >= most:
        return False
    return bool(choose(request.state, person, 1, request.folder.groups))


class _TaskView:
    """Tasks for one browser, with each document once."""

    def __init__(self, request: PersonRequest) -> None:
        self.request = request
        self.documents: dict[str, Json] = {}
        self._names: dict[str, str] = {}

    def task(self, task: Task) -> Json:
        """A task: the same fields for work, checks and training."""
        folder, person = self.request.folder, self.request.record
        letters = folder.letters(person.annotator, task)
        adjudicates = self.request.adjudicates
        known = (self.request.state.adjudicated if adjudicates else person.answers).get(task.key)
        held = person.batches.get(person.assigned.get(task.key, 0))
        return {
            "id": folder.names.task(person.annotator, task.key),
            "task_type": folder.task_type.name,
            "document": self._document(task),
            "body": folder.task_type.shown(task.body, letters),
            "assistance": self._assistance(task),
            "minimum_seconds": 0 if adjudicates else self.request.campaign.minimum_seconds,
            "opened": held is not None and task.key in held.opened,
            "answer": None if known is None else folder.task_type.page_answer(known.answer, letters),
            **({"answers": self._answers(task, letters)} if adjudicates else {}),
        }

    def _assistance(self, task: Task) -> Json | None:
        shown, task_type = self.request.assistance(task), self.request.folder.task_type
        return None if shown is None else {**shown, "machine": task_type.shown_machine(shown.get("machine"))}

    def _answers(self, task: Task, letters: Sequence[str]) -> list[Json]:
        """The annotators' answers to a disputed task, in an order of the adjudicator's own, without their names.

        Each says whether it agrees with the machine's verdict even where its annotator saw none.
        """
        folder, assistance = self.request.folder, self.request.campaign.assistance
        task_type, answers = folder.task_type, self.request.state.counted_answers(task.key)
        given = {answer.annotator: answer.answer for answer in answers}
        shown = []
        for name in folder.names.order(self.request.annotator, task.key, tuple(given)):
            agrees = None if assistance.hides_verdict else task_type.agrees(task, given[name])
            machine = None if agrees is None else "agree" if agrees else "disagree"
            page = task_type.page_answer(given[name].model_copy(update={"machine": machine, "comment": None}), letters)
            parts = task_type.parts(task, given[name], letters)
            shown.append({"answer": page, "comment": given[name].comment, "parts": parts})
        return shown

    def _document(self, task: Task) -> str:
        name = self._names.get(task.document_id)
        if name is None:
            name = self._names[task.document_id] = f"d{len(self._names) + 1}"
            self.documents[name] = document_of(self.request.folder, task)
        return name


def document_of(folder: CampaignFolder, task: Task) -> Json:
    """The document of a task as a page gets it."""
    if task.text is None:
        document = folder.sources[task.document_id].document
        text, domain = document.text, document.domain
        spans: Iterable[Any] = document.sentences
    else:
        text, domain, spans = task.text, None, split(task.text, folder.campaign.language)
    return {"text": text, "sentences": [[span.start, span.end] for span in spans], "domain": domain}


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
