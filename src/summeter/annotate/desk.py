"""Desk: everything that can be asked of a campaign, each as one command on the log.

The server, the command line and the simulation all come here; nothing else decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from summeter.annotate.assign import Checks
from summeter.annotate.checks import end_overdue, stage_of
from summeter.annotate.people import Names, Visitor, arm_of
from summeter.annotate.refusal import Refusal
from summeter.annotate.state import Person, State, Submission
from summeter.annotate.store.events import Event
from summeter.annotate.store.log import EventLog, Turn
from summeter.annotate.tasks import kind_named
from summeter.annotate.tasks.base import Task
from summeter.records import UsageError

if TYPE_CHECKING:
    from summeter.annotate.folder import CampaignFolder

Json = dict[str, Any]


class Desk:
    """One open campaign. Safe from any thread; close it when done (or use `with`).

    Every request is a method with the JSON of design/annotate.md: `desk.answers(visitor, {...})`. They raise Refusal
    for what is not allowed, and return once the events are committed.
    """

    def __init__(
        self, folder: CampaignFolder, place: Path | str, *, readonly: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.campaign = folder.campaign
        self.tasks = folder.tasks
        self.kind = kind_named(self.campaign.kind)
        self.names = Names(folder.keys.secret)
        order, overlap = [one.key for one in self.tasks.work], self.campaign.answers_per_item
        lease = int(self.campaign.batch.lease_minutes * 60_000)
        self.fresh: Callable[[], State] = lambda: State(order, overlap, lease)
        self.log: EventLog[State] = EventLog(place, self.fresh, owner=folder.owner, readonly=readonly, clock=clock)
        self._known: dict[str, dict[str, str]] = {}

    @property
    def state(self) -> State:
        """What follows from the log, up to `log.last_seq`."""
        return self.log.state

    def refresh(self) -> None:
        """Take in what other processes have added."""
        self.log.refresh()

    def close(self) -> None:
        """Let go of the log."""
        self.log.close()

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, method: str, visitor: Visitor, body: Json | None = None) -> Future[Json]:
        """Any method below, by name, without waiting: `session`, `consent`, ..., `return_`."""
        from summeter.annotate.requests import REQUESTS

        command = REQUESTS[method]
        given = body or {}

        def decide(turn: Turn[State]) -> Json:
            if not self.log.readonly:
                end_overdue(turn, self.campaign)
            hand = Hand(self, turn, visitor)
            if method != "session":
                hand.writable()
            if not self.log.readonly:
                hand.arrive()
            return command(hand, given)

        return self.log.submit(decide)

    def session(self, visitor: Visitor) -> Json:
        """Where the person stands. Writes at most that somebody known has come from another submission."""
        return self.submit("session", visitor).result()

    def consent(self, visitor: Visitor, body: Json) -> Json:
        """Agree to take part, or not."""
        return self.submit("consent", visitor, body).result()

    def instructions(self, visitor: Visitor, body: Json | None = None) -> Json:
        """The instructions were read."""
        return self.submit("instructions", visitor, body).result()

    def qualification(self, visitor: Visitor, body: Json) -> Json:
        """Answers to the comprehension questions."""
        return self.submit("qualification", visitor, body).result()

    def training(self, visitor: Visitor, body: Json) -> Json:
        """An answer to a training task."""
        return self.submit("training", visitor, body).result()

    def batch(self, visitor: Visitor, body: Json | None = None) -> Json:
        """The batch held, else a new one."""
        return self.submit("batch", visitor, body).result()

    def opened(self, visitor: Visitor, body: Json) -> Json:
        """A task is in view."""
        return self.submit("opened", visitor, body).result()

    def answers(self, visitor: Visitor, body: Json) -> Json:
        """An answer to a task."""
        return self.submit("answers", visitor, body).result()

    def finish(self, visitor: Visitor, body: Json | None = None) -> Json:
        """The batch is done."""
        return self.submit("finish", visitor, body).result()

    def return_(self, visitor: Visitor, body: Json | None = None) -> Json:
        """What is not answered goes back."""
        return self.submit("return", visitor, body).result()

    def exclude(self, annotator: str, reason: str, *, by: str, rule: str | None = None) -> Event:
        """The person's answers stop counting and their slots open. Raises UsageError for an unknown person."""
        return self._rule("excluded", annotator, {"reason": reason, "by": by, "rule": rule})

    def reinstate(self, annotator: str, reason: str, *, by: str, rule: str | None = None) -> Event:
        """The person's answers count again, where a slot is still free."""
        return self._rule("reinstated", annotator, {"reason": reason, "by": by, "rule": rule})

    def _rule(self, kind: str, annotator: str, data: Json) -> Event:
        def decide(turn: Turn[State]) -> Event:
            person = turn.state.people.get(annotator)
            if person is None:
                raise UsageError(f"nobody called {annotator!r} has taken part")
            if person.excluded == (kind == "excluded"):
                raise UsageError(f"{annotator} is {'already' if person.excluded else 'not'} excluded")
            return turn.emit(kind, annotator, data=data)

        return self.log.do(decide)

    def tidy(self) -> None:
        """End the leases that have run out now, rather than when somebody next asks."""
        self.log.do(lambda turn: end_overdue(turn, self.campaign))

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """For each task of the work, the tasks of its group in order."""
        by_name: dict[str, list[str]] = {}
        for task in self.tasks.work:
            by_name.setdefault(task.group, []).append(task.key)
        return {task.key: by_name[task.group] for task in self.tasks.work}

    @cached_property
    def checks(self) -> Checks:
        """The attention checks, also by document."""
        found: dict[str, list[Task]] = {}
        for task in self.tasks.checks:
            found.setdefault(task.document_id, []).append(task)
        return Checks(self.tasks.checks, found)

    def warm(self) -> int:
        """Read now what the first request would wait for; the number of documents."""
        return len(self.folder.sources) if self.groups and self.checks else 0

    def key_of(self, person: Person, given: object) -> str | None:
        """The key of one of a person's own tasks, from what their browser calls it."""
        known = self._known.setdefault(person.annotator, {})
        if len(known) < len(person.assigned):
            known.update({self.names.task(person.annotator, key): key for key in person.assigned})
        return known.get(given) if isinstance(given, str) else None

    def letters(self, annotator: str, task: Task) -> tuple[str, ...]:
        """The systems of a task in the order in which a person sees them."""
        return self.names.order(annotator, task.key, task.systems)


class Hand:
    """One person's turn at the desk."""

    def __init__(self, desk: Desk, turn: Turn[State], visitor: Visitor) -> None:
        self.desk = desk
        self.turn = turn
        self.visitor = visitor
        self.campaign = desk.campaign
        self.annotator = desk.names.annotator(visitor)

    @property
    def person(self) -> Person | None:
        """Their standing; None before their first write."""
        return None if self.visitor.preview else self.turn.state.people.get(self.annotator)

    @property
    def stage(self) -> str:
        """Where they stand."""
        return stage_of(self.campaign, len(self.desk.tasks.training), self.person)

    def join(self) -> Person:
        """The person, who joins now if not before."""
        person = self.person
        if person is None:
            seen = self.visitor
            arm = arm_of(self.annotator, self.campaign.seed, self.campaign.assistance.hide_for)
            data = {"platform": seen.platform, "id": seen.id, "study": seen.study, "session": seen.session, "arm": arm}
            made = {"made": True} if self.desk.names.is_made(seen) else {}
            self.turn.emit("joined", self.annotator, data=data | made)
            person = self.turn.state.people[self.annotator]
        return person

    def arrive(self) -> None:
        """Note that a person who has joined comes from another submission than last time."""
        person, seen = self.person, self.visitor
        if person is not None and person.submission != Submission(seen.study, seen.session):
            self.turn.emit("came", self.annotator, data={"study": seen.study, "session": seen.session})

    def writable(self) -> None:
        """Refuse a preview: it writes nothing."""
        if self.visitor.preview:
            raise Refusal(403, "preview", "this is a preview: nothing is stored; accept the task to begin")

    def at(self, stage: str) -> None:
        """Refuse what belongs to another stage."""
        if self.stage != stage:
            raise Refusal(409, "wrong_stage", f"this belongs to the stage {stage}; you are at {self.stage}")

    def member(self) -> Person:
        """The person, who must have joined."""
        person = self.person
        if person is None:
            raise Refusal(409, "wrong_stage", "you have not begun")
        return person
