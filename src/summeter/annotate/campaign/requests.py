"""What a person may ask of a campaign, one function each, and what their browser gets to see.

Nothing that is sent says what is a check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from summeter.annotate.campaign.assignment import checks_due, choose, with_checks
from summeter.annotate.campaign.config import HARD
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.log import Turn
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.people import Visitor, arm_of
from summeter.annotate.campaign.stages import finish, give_back, outcome_of, stage_of, stages
from summeter.annotate.campaign.state import SLACK, Batch, Person, State, Submission
from summeter.annotate.platforms import platform_named
from summeter.annotate.tasks.base import Misfit
from summeter.annotate.tasks.task import Task
from summeter.records import UsageError
from summeter.text.split import split

Json = dict[str, Any]
_ANSWER_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
LONGEST_SECONDS = 86_400.0 * 30


class Refusal(UsageError):
    """A request that is not granted, as the browser hears it.

    `status` is that of HTTP, `code` one of design/annotate.md, `field` the part of the body at fault.
    """

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field

    def to_json(self) -> dict[str, dict[str, str]]:
        """`{"error": {...}}`."""
        field = {} if self.field is None else {"field": self.field}
        return {"error": {"code": self.code, "message": self.message, **field}}


class PersonTurn:
    """One person's turn: what they may do now, decided on the state and written as events."""

    def __init__(self, folder: CampaignFolder, turn: Turn[State], visitor: Visitor) -> None:
        self.folder = folder
        self.turn = turn
        self.visitor = visitor
        self.campaign = folder.campaign
        self.annotator = folder.names.annotator(visitor)

    @property
    def person(self) -> Person | None:
        """Their standing; None before their first write."""
        return None if self.visitor.preview else self.turn.state.people.get(self.annotator)

    @property
    def stage(self) -> str:
        """Where they stand."""
        return stage_of(self.campaign, len(self.folder.tasks.training), self.person)

    def emit(self, kind: str, **parts: Any) -> Any:
        """Add an event about this person; `parts` are task, batch, token and data."""
        return self.turn.emit(kind, self.annotator, **parts)

    def join(self) -> Person:
        """The person, who joins now if not before."""
        person = self.person
        if person is None:
            visitor = self.visitor
            data: Json = {
                "platform": visitor.platform,
                "id": visitor.id,
                "study": visitor.study,
                "session": visitor.session,
                "arm": arm_of(self.annotator, self.campaign.seed, self.campaign.assistance.hide_for),
            }
            if self.folder.names.is_simulated(visitor):
                data["made"] = True
            self.emit("joined", data=data)
            person = self.turn.state.people[self.annotator]
        return person

    def arrive(self) -> None:
        """Note that a person who has joined comes from another submission than last time."""
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

    def done(self, **more: Any) -> Json:
        """The reply to a write."""
        return {"ok": True, "stage": self.stage, **more}


def session(asked: PersonTurn, _: Json) -> Json:
    """Where the person stands: `GET /api/session` but for its csrf."""
    person, stage = asked.person, asked.stage
    held = None if person is None or stage != "work" else person.active
    return {
        "stage": stage,
        "preview": asked.visitor.preview,
        "annotator": asked.annotator,
        "campaign": about(asked.folder),
        "stages": stages(asked.campaign, len(asked.folder.tasks.training)),
        "progress": _progress(asked, person),
        "qualification": _questions(asked, person) if stage == "qualification" else None,
        "training": _training(asked, person) if stage == "training" else None,
        "batch": None if held is None else _batch(asked, person, held),
        "sample": _sample(asked) if asked.visitor.preview else None,
        "done": _done(asked),
        "pay": _pay(asked, person),
    }


def consent(asked: PersonTurn, body: Json) -> Json:
    """Agreeing twice is agreeing; refusing ends the campaign for this person."""
    agreed = body.get("agreed")
    if not isinstance(agreed, bool):
        raise Refusal(422, "invalid", "is true or false", "agreed")
    known = None if asked.person is None else asked.person.agreed
    if known != agreed:
        asked.require_stage("consent")
        asked.join()
        asked.emit("consented", data={"agreed": agreed})
        if not agreed:
            asked.emit("ended", data={"outcome": "screened_out"})
    return asked.done()


def instructions(asked: PersonTurn, _: Json) -> Json:
    """The instructions were read."""
    if asked.person is None or not asked.person.instructed:
        asked.require_stage("instructions")
        asked.join()
        asked.emit("instructed")
    return asked.done()


def qualification(asked: PersonTurn, body: Json) -> Json:
    """All questions right, or an attempt is used up."""
    test = asked.campaign.qualification
    token = _answer_id(body) if "answer_id" in body else None
    known = asked.person.tokens.get(token) if asked.person is not None and token is not None else None
    if test is None:
        raise Refusal(409, "wrong_stage", "this campaign has no qualification test")
    if known is not None and known.kind != "qualified":
        raise Refusal(409, "answer_id_reused", "this answer_id was used for another answer")
    if known is None:
        asked.require_stage("qualification")
        choices = body.get("answers")
        names = [f"q{index}" for index in range(len(test.questions))]
        complete = isinstance(choices, dict) and set(choices) == set(names)
        if not isinstance(choices, dict) or not complete or not all(type(one) is int for one in choices.values()):
            raise Refusal(422, "invalid", "answer every question with the index of a choice", "answers")
        person = asked.join()
        right = sum(choices[name] == question.answer for name, question in zip(names, test.questions, strict=True))
        data = {"answers": choices, "correct": right, "total": len(names), "passed": right == len(names)}
        known = asked.emit("qualified", token=token, data=data)
        if not data["passed"] and person.attempts >= test.attempts:
            asked.emit("ended", data={"outcome": "screened_out"})
    attempts = 0 if asked.person is None else asked.person.attempts
    facts = {name: known.data[name] for name in ("passed", "correct", "total")}
    return asked.done(**facts, attempts_left=max(0, test.attempts - attempts))


def training(asked: PersonTurn, body: Json) -> Json:
    """An answer to a training task, with what there is to say about it."""
    token, seconds = _answer_id(body), _seconds(body)
    tasks = {asked.folder.names.task(asked.annotator, task.key): task for task in asked.folder.tasks.training}
    task_id = body.get("task")
    task = tasks.get(task_id) if isinstance(task_id, str) else None
    if task is None:
        raise Refusal(403, "not_yours", "this is no training task of yours")
    stored = _read(asked, task, body.get("answer"))
    known = None if asked.person is None else asked.person.tokens.get(token)
    if known is None:
        asked.require_stage("training")
        person = asked.join()
        if task.key in person.trained:
            raise Refusal(409, "closed", "this training task is done")
        passed = asked.folder.kind.passed(task, stored)
        data = {"answer": stored, "passed": passed, "seconds": seconds}
        known = asked.emit("trained", task=task.key, token=token, data=data)
        _end_training(asked, person)
    elif known.kind != "trained" or known.task != task.key or known.data["answer"] != stored:
        raise Refusal(409, "answer_id_reused", "this answer_id was used for another answer")
    return asked.done(passed=known.data["passed"], feedback=task.feedback)


def _end_training(asked: PersonTurn, person: Person) -> None:
    if not _training_left(asked.folder, person):
        share = sum(person.trained.values()) / len(person.trained)
        if share < asked.campaign.training.pass_share:
            asked.emit("ended", data={"outcome": "screened_out"})


def batch(asked: PersonTurn, _: Json) -> Json:
    """The batch held, else a new one, else the end."""
    stage = asked.stage
    if stage not in {"work", "done"}:
        raise Refusal(409, "wrong_stage", f"you are at the stage {stage}")
    person = asked.person
    barred = person is not None and (person.excluded or person.ended in HARD)
    if not barred and (person is None or person.active is None):
        _hand_out(asked, asked.join())
    person = asked.require_person()
    held = person.active if asked.stage == "work" else None
    return asked.done(batch=None if held is None else _batch(asked, person, held), done=_done(asked))


def _hand_out(asked: PersonTurn, person: Person) -> None:
    """Assign a new batch, or say that it is over."""
    plan, folder = asked.campaign.batch, asked.folder
    enough = plan.per_annotator is not None and person.finished >= plan.per_annotator
    keys = [] if enough else choose(asked.turn.state, person, plan.size, folder.groups)
    if not keys:
        outcome = "completed" if person.finished else "no_more_items"
        if person.ended != outcome:
            asked.emit("ended", data={"outcome": outcome})
        return
    number = len(person.batches) + 1
    work = [folder.tasks.by_key[key] for key in keys]
    rate_rng = Random(folder.names.mark("rate", asked.annotator))
    due = checks_due(person, len(work), asked.campaign.attention.rate, rate_rng)
    rng = Random(folder.names.mark("checks", asked.annotator, str(number)))
    shown = with_checks(work, folder.tasks.checks, folder.checks_by_document, person.assigned, due, rng)
    for task in shown:
        asked.emit("assigned", task=task.key, batch=number, data={"check": task.role == "check"})


def opened(asked: PersonTurn, body: Json) -> Json:
    """A task is in view: noted the first time, and a sign of life."""
    person, task = asked.require_task(body)
    number = person.assigned[task.key]
    if task.key not in person.opened and person.batches[number].active:
        asked.emit("opened", task=task.key, batch=number)
    return {"ok": True}


def answers(asked: PersonTurn, body: Json) -> Json:
    """Store an answer: once, whatever the network does; never lost, even if it comes late."""
    token, seconds = _answer_id(body), _seconds(body)
    person, task = asked.require_task(body)
    stored = _read(asked, task, body.get("answer"))
    known = person.tokens.get(token)
    if known is None:
        number = person.assigned[task.key]
        held = person.batches[number]
        if held.over and task.key in held.answered:
            raise Refusal(409, "closed", "the batch is finished; its answers stay as they are")
        least = asked.campaign.minimum_seconds
        if seconds < least or _impossible(asked, person, held, task):
            raise Refusal(422, "too_fast", f"please take at least {least:g} seconds for a task", "seconds")
        passed = asked.folder.kind.passed(task, stored) if task.role == "check" else None
        data = {"answer": stored, "seconds": seconds, "client_at": _client_at(body), "passed": passed}
        known = asked.emit("answered", task=task.key, batch=number, token=token, data=data)
    elif known.kind != "answered" or known.task != task.key or known.data["answer"] != stored:
        raise Refusal(409, "answer_id_reused", "this answer_id was used for another answer")
    return {"ok": True, "answer_id": token, "task": body["task"], "seq": known.seq}


def _impossible(asked: PersonTurn, person: Person, held: Batch, task: Task) -> bool:
    """Whether by the server's clock there was no time for so many answers, whatever the browser claims.

    Answers that waited for the network arrive together; all of them had since the batch was handed out.
    """
    if person.simulated:
        return False
    needed = len(held.answered | {task.key}) * asked.campaign.minimum_seconds
    return needed > (asked.turn.now - held.since) / 1000 + SLACK


def finish_batch(asked: PersonTurn, _: Json) -> Json:
    """Finish the batch held; asked again, nothing changes."""
    person = asked.require_person()
    held = person.active
    if held is not None:
        if held.waiting:
            raise Refusal(409, "unfinished", f"{len(held.waiting)} tasks of the batch have no answer yet")
        finish(asked.turn, asked.campaign, person, held, by="annotator")
    return asked.done(done=_done(asked))


def return_(asked: PersonTurn, _: Json) -> Json:
    """Give back what is not answered."""
    person = asked.require_person()
    held = person.active
    count = 0 if held is None else give_back(asked.turn, asked.campaign, person, held)
    return asked.done(returned=count)


def _read(asked: PersonTurn, task: Task, answer: Any) -> Json:
    """The answer as it is stored. The machine's verdict must be answered where it is shown, and only there."""
    kind = asked.folder.kind
    try:
        stored = kind.read(kind.unlettered(answer, asked.folder.letters(asked.annotator, task)), task)
    except Misfit as error:
        raise Refusal(422, "invalid", str(error), error.field) from error
    hidden = asked.person is not None and asked.person.arm == "unassisted"
    if (task.machine is not None and not hidden) != (stored["machine"] is not None):
        lacks = "say whether you agree with the machine" if stored["machine"] is None else "no verdict was shown"
        raise Refusal(422, "invalid", lacks, "answer.machine")
    return stored


def _answer_id(body: Json) -> str:
    answer_id = body.get("answer_id")
    if not isinstance(answer_id, str) or not _ANSWER_ID.fullmatch(answer_id):
        raise Refusal(422, "invalid", "is 8 to 64 letters, digits, - and _", "answer_id")
    return answer_id


def _seconds(body: Json) -> float:
    given = body.get("seconds")
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= (seconds := float(given or 0)) <= LONGEST_SECONDS:
        raise Refusal(422, "invalid", "is the time in view, in seconds", "seconds")
    return round(seconds, 3)


def _client_at(body: Json) -> int | None:
    given = body.get("at")
    return given if isinstance(given, int) and not isinstance(given, bool) and abs(given) < 2**53 else None


def about(folder: CampaignFolder) -> Json:
    """The campaign as pages name it."""
    campaign = folder.campaign
    return {name: getattr(campaign, name) for name in ("name", "title", "kind", "language", "contact")}


def _pay(asked: PersonTurn, person: Person | None) -> Json | None:
    """What was earned. The bonus follows from the checks: before the end it would tell which batches passed them."""
    plan = asked.campaign.pay
    if plan is None:
        return None
    base, bonus = (0.0, 0.0) if person is None else pay_of(asked.campaign, person)
    shown = round(bonus, 2) if asked.stage == "done" else None
    return {"currency": plan.currency, "earned": round(base, 2), "bonus": shown}


def _progress(asked: PersonTurn, person: Person | None) -> Json:
    held = None if person is None else person.active
    return {
        "answered": 0 if person is None else len(person.answers),
        "batches": 0 if person is None else person.finished,
        "batches_most": asked.campaign.batch.per_annotator,
        "batch_answered": 0 if held is None else len(held.answered),
        "batch_size": 0 if held is None else len(held.tasks),
    }


def _questions(asked: PersonTurn, person: Person | None) -> Json | None:
    test = asked.campaign.qualification
    if test is None:
        return None
    questions = [
        {"id": f"q{index}", "question": question.question, "choices": list(question.choices)}
        for index, question in enumerate(test.questions)
    ]
    return {"questions": questions, "attempts_left": test.attempts - (0 if person is None else person.attempts)}


def _training_left(folder: CampaignFolder, person: Person | None) -> list[Task]:
    trained = {} if person is None else person.trained
    return [task for task in folder.tasks.training if task.key not in trained]


def _training(asked: PersonTurn, person: Person | None) -> Json:
    view = _TaskView(asked)
    tasks = [view.task(task, person) for task in _training_left(asked.folder, person)]
    return {"tasks": tasks, "documents": view.documents}


def _sample(asked: PersonTurn) -> Json:
    view, tasks = _TaskView(asked), asked.folder.tasks
    return {"task": view.task((tasks.training or tasks.work)[0], None), "documents": view.documents}


def _batch(asked: PersonTurn, person: Person | None, held: Batch) -> Json:
    view, state = _TaskView(asked), asked.turn.state
    tasks = [view.task(asked.folder.tasks.by_key[key], person) for key in held.tasks]
    expires = held.seen + state.lease
    return {
        "number": held.number,
        "expires_at": expires,
        "lease_seconds": state.lease / 1000,
        "seconds_left": max(0, expires - asked.turn.now) / 1000,
        "documents": view.documents,
        "tasks": tasks,
    }


def _done(asked: PersonTurn) -> Json | None:
    """How it ended, where it has."""
    person = asked.person
    if person is None or asked.stage != "done":
        return None
    outcome = outcome_of(person)
    code = getattr(asked.campaign.codes, outcome)
    url, form = platform_named(asked.campaign.platform.name).completion(asked.visitor, outcome, code)
    return {"outcome": outcome, "code": code, "url": url, "form": form, "more": _more(asked, person)}


def _more(asked: PersonTurn, person: Person) -> bool:
    """Whether there is work again for somebody who was done."""
    most = asked.campaign.batch.per_annotator
    if person.excluded or person.ended not in {"completed", "no_more_items"}:
        return False
    if most is not None and person.finished >= most:
        return False
    return bool(choose(asked.turn.state, person, 1, asked.folder.groups))


class _TaskView:
    """Tasks for one browser, with each document once."""

    def __init__(self, asked: PersonTurn) -> None:
        self.asked = asked
        self.documents: dict[str, Json] = {}
        self._names: dict[str, str] = {}

    def task(self, task: Task, person: Person | None) -> Json:
        """A task: the same fields for work, checks and training."""
        folder, annotator = self.asked.folder, self.asked.annotator
        letters = folder.letters(annotator, task)
        known = None if person is None else person.answers.get(task.key)
        hidden = person is not None and person.arm == "unassisted"
        return {
            "id": folder.names.task(annotator, task.key),
            "kind": task.kind,
            "document": self._document(task),
            "body": folder.kind.shown(task.body, letters),
            "assistance": None if hidden else task.assistance,
            "minimum_seconds": self.asked.campaign.minimum_seconds,
            "opened": person is not None and task.key in person.opened,
            "answer": None if known is None else folder.kind.relettered(known.answer, letters),
        }

    def _document(self, task: Task) -> str:
        name = self._names.get(task.document_id)
        if name is None:
            name = self._names[task.document_id] = f"d{len(self._names) + 1}"
            self.documents[name] = self._text(task)
        return name

    def _text(self, task: Task) -> Json:
        if task.text is None:
            document = self.asked.folder.sources[task.document_id].document
            text, domain = document.text, document.domain
            spans: Iterable[Any] = document.sentences
        else:
            text, domain, spans = task.text, None, split(task.text, self.asked.campaign.language)
        return {"text": text, "sentences": [[span.start, span.end] for span in spans], "domain": domain}


REQUESTS: dict[str, Callable[[PersonTurn, Json], Json]] = {
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
}
