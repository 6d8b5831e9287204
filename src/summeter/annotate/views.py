"""What a browser gets to see: the session, batches and tasks as JSON. Nothing here says what is a check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from summeter.annotate.assign import choose
from summeter.annotate.checks import outcome_of, stages
from summeter.annotate.pay import pay_of
from summeter.annotate.platforms import platform_named
from summeter.annotate.state import Batch, Person
from summeter.annotate.tasks.base import Task

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk, Hand

Json = dict[str, Any]


def session_json(hand: Hand) -> Json:
    """`GET /api/session` but for its csrf."""
    person, stage = hand.person, hand.stage
    campaign = hand.campaign
    if person is not None and person.active is not None and stage == "work":
        held = batch_json(hand, person, person.active)
    else:
        held = None
    return {
        "stage": stage, "preview": hand.visitor.preview, "annotator": hand.annotator,
        "campaign": about(hand.desk), "stages": stages(campaign, len(hand.desk.tasks.training)),
        "progress": _progress(hand, person),
        "qualification": _questions(hand, person) if stage == "qualification" else None,
        "training": _training(hand, person) if stage == "training" else None,
        "batch": held, "sample": _sample(hand) if hand.visitor.preview else None,
        "done": done_json(hand), "pay": _pay(hand, person),
    }  # fmt: skip


def _pay(hand: Hand, person: Person | None) -> Json | None:
    """What was earned. The bonus follows from the checks: before the end it would tell which batches passed them."""
    plan = hand.campaign.pay
    if plan is None:
        return None
    base, bonus = (0.0, 0.0) if person is None else pay_of(hand.campaign, person)
    shown = round(bonus, 2) if hand.stage == "done" else None
    return {"currency": plan.currency, "earned": round(base, 2), "bonus": shown}


def about(desk: Desk) -> Json:
    """The campaign as pages name it."""
    one = desk.campaign
    return {"name": one.name, "title": one.title, "kind": one.kind, "language": one.language, "contact": one.contact}


def _progress(hand: Hand, person: Person | None) -> Json:
    held = None if person is None else person.active
    return {
        "answered": 0 if person is None else len(person.answers), "batches": 0 if person is None else person.finished,
        "batches_most": hand.campaign.batch.per_annotator,
        "batch_answered": 0 if held is None else len(held.answered),
        "batch_size": 0 if held is None else len(held.tasks),
    }  # fmt: skip


def _questions(hand: Hand, person: Person | None) -> Json | None:
    test = hand.campaign.qualification
    if test is None:
        return None
    questions = [
        {"id": f"q{index}", "question": one.question, "choices": list(one.choices)}
        for index, one in enumerate(test.questions)
    ]
    return {"questions": questions, "attempts_left": test.attempts - (0 if person is None else person.attempts)}


def training_left(desk: Desk, person: Person | None) -> list[Task]:
    """The training tasks still to do."""
    done: Mapping[str, bool] = {} if person is None else person.trained
    return [one for one in desk.tasks.training if one.key not in done]


def _training(hand: Hand, person: Person | None) -> Json:
    shelf = _Shelf(hand)
    tasks = [shelf.task(one, person) for one in training_left(hand.desk, person)]
    return {"tasks": tasks, "documents": shelf.documents}


def _sample(hand: Hand) -> Json:
    shelf = _Shelf(hand)
    task = shelf.task((hand.desk.tasks.training or hand.desk.tasks.work)[0], None)
    return {"task": task, "documents": shelf.documents}


def batch_json(hand: Hand, person: Person, batch: Batch) -> Json:
    """A batch as the browser gets it."""
    shelf = _Shelf(hand)
    tasks = [shelf.task(hand.desk.tasks.by_key[key], person) for key in batch.tasks]
    ends = batch.seen + hand.turn.state.lease
    return {
        "number": batch.number, "expires_at": ends, "lease_seconds": hand.turn.state.lease / 1000,
        "seconds_left": max(0, ends - hand.turn.now) / 1000, "documents": shelf.documents, "tasks": tasks,
    }  # fmt: skip


def done_json(hand: Hand) -> Json | None:
    """How it ended, where it has."""
    person = hand.person
    if person is None or hand.stage != "done":
        return None
    outcome = outcome_of(person)
    code = getattr(hand.campaign.codes, outcome)
    url, form = platform_named(hand.campaign.platform.name).completion(hand.visitor, outcome, code)
    return {"outcome": outcome, "code": code, "url": url, "form": form, "more": _more(hand, person)}


def _more(hand: Hand, person: Person) -> bool:
    most = hand.campaign.batch.per_annotator
    if person.excluded or person.ended not in {"completed", "no_more_items"}:
        return False
    if most is not None and person.finished >= most:
        return False
    return bool(choose(hand.turn.state, person, 1, hand.desk.groups))


def machine_shown(person: Person | None, task: Task) -> bool:
    """Whether this person sees a machine's verdict beside this task."""
    hidden = person is not None and person.arm == "unassisted"
    return not hidden and task.assistance is not None and task.assistance["machine"] is not None


class _Shelf:
    """Tasks for one browser, with each document once."""

    def __init__(self, hand: Hand) -> None:
        self.hand = hand
        self.documents: dict[str, Json] = {}
        self._names: dict[str, str] = {}

    def task(self, task: Task, person: Person | None) -> Json:
        """A task: the same fields for work, checks and training."""
        desk, annotator = self.hand.desk, self.hand.annotator
        letters = desk.letters(annotator, task)
        known = None if person is None else person.answers.get(task.key)
        hidden = person is not None and person.arm == "unassisted"
        return {
            "id": desk.names.task(annotator, task.key), "kind": task.kind, "document": self._document(task),
            "body": desk.kind.shown(task.body, letters), "assistance": None if hidden else task.assistance,
            "minimum_seconds": self.hand.campaign.minimum_seconds,
            "opened": person is not None and task.key in person.opened,
            "answer": None if known is None else desk.kind.relettered(known.answer, letters),
        }  # fmt: skip

    def _document(self, task: Task) -> str:
        name = self._names.get(task.document_id)
        if name is None:
            name = self._names[task.document_id] = f"d{len(self._names) + 1}"
            self.documents[name] = self._text(task)
        return name

    def _text(self, task: Task) -> Json:
        if task.text is not None:
            from summeter.text.split import split

            spans: Iterable[Any] = split(task.text, self.hand.campaign.language)
            return {"text": task.text, "sentences": [[one.start, one.end] for one in spans], "domain": None}
        document = self.hand.desk.folder.sources[task.document_id].document
        sentences = [[one.start, one.end] for one in document.sentences]
        return {"text": document.text, "sentences": sentences, "domain": document.domain}
