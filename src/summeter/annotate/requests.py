"""What a person may ask, one function each: the steps before the work, and the work itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from summeter.annotate.assign import checks_due, choose, with_checks
from summeter.annotate.checks import finish, give_back
from summeter.annotate.desk import Hand, Json
from summeter.annotate.refusal import Refusal
from summeter.annotate.state import SLACK, Batch, Person
from summeter.annotate.tasks.base import Misfit, Task
from summeter.annotate.views import batch_json, done_json, machine_shown, session_json, training_left

_ANSWER_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
LONGEST_SECONDS = 86_400.0 * 30


def session(hand: Hand, _: Json) -> Json:
    """Where the person stands."""
    return session_json(hand)


def consent(hand: Hand, body: Json) -> Json:
    """Agreeing twice is agreeing; refusing ends the campaign for this person."""
    agreed = body.get("agreed")
    if not isinstance(agreed, bool):
        raise Refusal(422, "invalid", "is true or false", "agreed")
    known = None if hand.person is None else hand.person.agreed
    if known != agreed:
        hand.at("consent")
        hand.join()
        hand.turn.emit("consented", hand.annotator, data={"agreed": agreed})
        if not agreed:
            hand.turn.emit("ended", hand.annotator, data={"outcome": "screened_out"})
    return _ok(hand)


def instructions(hand: Hand, _: Json) -> Json:
    """The instructions were read."""
    if hand.person is None or not hand.person.instructed:
        hand.at("instructions")
        hand.join()
        hand.turn.emit("instructed", hand.annotator)
    return _ok(hand)


def qualification(hand: Hand, body: Json) -> Json:
    """All questions right, or an attempt is used up."""
    test = hand.campaign.qualification
    token = _answer_id(body) if "answer_id" in body else None
    known = hand.person.tokens.get(token) if hand.person is not None and token is not None else None
    if test is None:
        raise Refusal(409, "wrong_stage", "this campaign has no qualification test")
    if known is not None and known.kind != "qualified":
        raise Refusal(409, "answer_id_reused", "this answer_id was used for another answer")
    if known is None:
        hand.at("qualification")
        given = body.get("answers")
        wanted = [f"q{index}" for index in range(len(test.questions))]
        if (
            not isinstance(given, dict)
            or set(given) != set(wanted)
            or not all(type(one) is int for one in given.values())
        ):
            raise Refusal(422, "invalid", "answer every question with the index of a choice", "answers")
        person = hand.join()
        right = sum(given[name] == one.answer for name, one in zip(wanted, test.questions, strict=True))
        data = {"answers": given, "correct": right, "total": len(wanted), "passed": right == len(wanted)}
        known = hand.turn.emit("qualified", hand.annotator, token=token, data=data)
        if not data["passed"] and person.attempts >= test.attempts:
            hand.turn.emit("ended", hand.annotator, data={"outcome": "screened_out"})
    attempts = 0 if hand.person is None else hand.person.attempts
    facts = {name: known.data[name] for name in ("passed", "correct", "total")}
    return {**_ok(hand), **facts, "attempts_left": max(0, test.attempts - attempts)}


def training(hand: Hand, body: Json) -> Json:
    """An answer to a training task, with what there is to say about it."""
    token, seconds = _answer_id(body), _seconds(body)
    tasks = {hand.desk.names.task(hand.annotator, one.key): one for one in hand.desk.tasks.training}
    given = body.get("task")
    task = tasks.get(given) if isinstance(given, str) else None
    if task is None:
        raise Refusal(403, "not_yours", "this is no training task of yours")
    person = hand.person
    stored = _read(hand, task, body.get("answer"))
    known = None if person is None else person.tokens.get(token)
    if known is None:
        hand.at("training")
        person = hand.join()
        if task.key in person.trained:
            raise Refusal(409, "closed", "this training task is done")
        passed = hand.desk.kind.passed(task, stored)
        data = {"answer": stored, "passed": passed, "seconds": seconds}
        known = hand.turn.emit("trained", hand.annotator, task=task.key, token=token, data=data)
        _end_training(hand, person)
    elif known.kind != "trained" or known.task != task.key or known.data["answer"] != stored:
        raise Refusal(409, "answer_id_reused", "this answer_id was used for another answer")
    return {**_ok(hand), "passed": known.data["passed"], "feedback": task.feedback}


def _end_training(hand: Hand, person: Person) -> None:
    if training_left(hand.desk, person):
        return
    share = sum(person.trained.values()) / len(person.trained)
    if share < hand.campaign.training.pass_share:
        hand.turn.emit("ended", hand.annotator, data={"outcome": "screened_out"})


def batch(hand: Hand, _: Json) -> Json:
    """The batch held, else a new one, else the end."""
    stage = hand.stage
    if stage not in {"work", "done"}:
        raise Refusal(409, "wrong_stage", f"you are at the stage {stage}")
    person = hand.person
    hard = person is not None and (person.excluded or person.ended in {"failed_checks", "screened_out"})
    if not hard and (person is None or person.active is None):
        _hand_out(hand, hand.join())
    person = hand.member()
    held = None if person.active is None or hand.stage != "work" else batch_json(hand, person, person.active)
    return {**_ok(hand), "batch": held, "done": done_json(hand)}


def _hand_out(hand: Hand, person: Person) -> None:
    """Assign a new batch, or say that it is over."""
    plan, desk = hand.campaign.batch, hand.desk
    most = plan.size
    enough = plan.per_annotator is not None and person.finished >= plan.per_annotator
    keys = [] if enough else choose(hand.turn.state, person, most, desk.groups)
    if not keys:
        outcome = "completed" if person.finished else "no_more_items"
        if person.ended != outcome:
            hand.turn.emit("ended", hand.annotator, data={"outcome": outcome})
        return
    number = len(person.batches) + 1
    rng = Random(desk.names.mark("checks", hand.annotator, str(number)))
    work = [desk.tasks.by_key[key] for key in keys]
    due = checks_due(person, len(work), hand.campaign.attention.rate, Random(desk.names.mark("rate", hand.annotator)))
    for task in with_checks(work, desk.checks, person.assigned, due, rng):
        hand.turn.emit("assigned", hand.annotator, task=task.key, batch=number, data={"check": task.role == "check"})


def opened(hand: Hand, body: Json) -> Json:
    """A task is in view: noted the first time, and a sign of life."""
    person, task = _own(hand, body)
    number = person.assigned[task.key]
    if task.key not in person.opened and person.batches[number].active:
        hand.turn.emit("opened", hand.annotator, task=task.key, batch=number)
    return {"ok": True}


def answers(hand: Hand, body: Json) -> Json:
    """Store an answer: once, whatever the network does; never lost, even if it comes late."""
    token, seconds = _answer_id(body), _seconds(body)
    person, task = _own(hand, body)
    stored = _read(hand, task, body.get("answer"))
    known = person.tokens.get(token)
    if known is None:
        number = person.assigned[task.key]
        held = person.batches[number]
        if held.over and task.key in held.answered:
            raise Refusal(409, "closed", "the batch is finished; its answers stay as they are")
        if seconds < hand.campaign.minimum_seconds or _impossible(hand, person, held, task):
            least = hand.campaign.minimum_seconds
            raise Refusal(422, "too_fast", f"please take at least {least:g} seconds for a task", "seconds")
        passed = hand.desk.kind.passed(task, stored) if task.role == "check" else None
        data = {"answer": stored, "seconds": seconds, "client_at": _client_at(body), "passed": passed}
        known = hand.turn.emit("answered", hand.annotator, task=task.key, batch=number, token=token, data=data)
    elif known.kind != "answered" or known.task != task.key or known.data["answer"] != stored:
        raise Refusal(409, "answer_id_reused", "this answer_id was used for another answer")
    return {"ok": True, "answer_id": token, "task": body["task"], "seq": known.seq}


def _impossible(hand: Hand, person: Person, held: Batch, task: Task) -> bool:
    """Whether by the server's clock there was no time for so many answers, whatever the browser claims.

    Answers that waited for the network arrive together; all of them had since the batch was handed out.
    """
    if person.made:
        return False
    needed = len(held.answered | {task.key}) * hand.campaign.minimum_seconds
    return needed > (hand.turn.now - held.since) / 1000 + SLACK


def finish_batch(hand: Hand, _: Json) -> Json:
    """Finish the batch held; asked again, nothing changes."""
    person = hand.member()
    held = person.active
    if held is not None:
        if held.waiting:
            raise Refusal(409, "unfinished", f"{len(held.waiting)} tasks of the batch have no answer yet")
        finish(hand.turn, hand.campaign, person, held, by="annotator")
    return {**_ok(hand), "done": done_json(hand)}


def return_(hand: Hand, _: Json) -> Json:
    """Give back what is not answered."""
    person = hand.member()
    held = person.active
    count = 0 if held is None else give_back(hand.turn, hand.campaign, person, held)
    return {**_ok(hand), "returned": count}


def _ok(hand: Hand) -> Json:
    return {"ok": True, "stage": hand.stage}


def _own(hand: Hand, body: Json) -> tuple[Person, Task]:
    person = hand.member()
    key = hand.desk.key_of(person, body.get("task"))
    if key is None or key not in person.assigned:
        raise Refusal(403, "not_yours", "this task is not yours")
    return person, hand.desk.tasks.by_key[key]


def _read(hand: Hand, task: Task, answer: Any) -> Json:
    """The answer as it is stored. The machine's verdict must be answered where it is shown, and only there."""
    kind = hand.desk.kind
    try:
        stored = kind.read(kind.unlettered(answer, hand.desk.letters(hand.annotator, task)), task)
    except Misfit as error:
        raise Refusal(422, "invalid", str(error), error.field) from error
    if machine_shown(hand.person, task) != (stored["machine"] is not None):
        there = "say whether you agree with the machine" if stored["machine"] is None else "no verdict was shown"
        raise Refusal(422, "invalid", there, "answer.machine")
    return stored


def _answer_id(body: Json) -> str:
    given = body.get("answer_id")
    if not isinstance(given, str) or not _ANSWER_ID.fullmatch(given):
        raise Refusal(422, "invalid", "is 8 to 64 letters, digits, - and _", "answer_id")
    return given


def _seconds(body: Json) -> float:
    given = body.get("seconds")
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= (seconds := float(given or 0)) <= LONGEST_SECONDS:
        raise Refusal(422, "invalid", "is the time in view, in seconds", "seconds")
    return round(seconds, 3)


def _client_at(body: Json) -> int | None:
    given = body.get("at")
    return given if isinstance(given, int) and not isinstance(given, bool) and abs(given) < 2**53 else None


REQUESTS: dict[str, Callable[[Hand, Json], Json]] = {
    "session": session, "consent": consent, "instructions": instructions, "qualification": qualification,
    "training": training, "batch": batch, "opened": opened, "answers": answers, "finish": finish_batch,
    "return": return_,
}  # fmt: skip
