"""State: everything that follows from the log, event by event. Nothing else may change it.

A task of the work has k slots. A slot is held (leased) or counted (answered, by somebody who is not excluded); an
answer for which there was no slot is surplus and takes the next one that falls free, the earliest answer first.
Hence held + counted never exceeds k.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.events import KINDS, Event
from summeter.annotate.campaign.people import ADJUDICATOR
from summeter.records import digest

CHECKS_RULE = "checks"
"""The rule of an exclusion for failed attention checks, by the campaign itself or by a researcher."""
SLACK = 2.0
"""Seconds by which a browser's clock and the way to the server may make times differ."""


@dataclass
class Answer:
    """The last answer of a person to a task, as stored; `seq` is of its event, `first` of the first one.

    `seconds` is what the browser says; `waited` what the server saw: the seconds from when it heard that the task was
    in view (else from handing it out) to the answer's arrival. `contradicted`: with this answer those to a batch claim
    more seconds than have passed since it was handed out. An answer that waited for the network claims no more.
    """

    task: str
    annotator: str
    answer: TaskAnswer
    seconds: float
    at: int
    seq: int
    first: int
    batch: int | None
    passed: bool | None
    waited: float | None = None
    contradicted: bool = False


class Submission(NamedTuple):
    """One coming of a person from their platform: a submission of Prolific, an assignment of Mechanical Turk."""

    study: str | None
    session: str | None


@dataclass
class Batch:
    """Tasks leased together, in the order shown. `waiting` are those not yet answered and still held.

    `since` is when it was handed out, `opened` when each task first came into view, `claimed` all seconds that its
    answers claim, `submission` the one under which it was last worked on.
    """

    number: int
    since: int = 0
    submission: Submission | None = None
    claimed: float = 0.0
    tasks: list[str] = field(default_factory=list)
    checks: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    opened: dict[str, int] = field(default_factory=dict)
    seen: int = 0
    finished: bool = False
    over: bool = False

    @property
    def active(self) -> bool:
        """Whether its person may still work on it: not finished, and its lease neither ran out nor was given back."""
        return not self.over


@dataclass
class Person:
    """Where an annotator stands."""

    annotator: str
    visitor: dict[str, Any]
    arm: str
    joined: int
    number: int
    agreed: bool | None = None
    instructed: bool = False
    qualified: bool = False
    attempts: int = 0
    trained: dict[str, bool] = field(default_factory=dict)
    batches: dict[int, Batch] = field(default_factory=dict)
    assigned: dict[str, int] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    tokens: dict[str, Event] = field(default_factory=dict)
    excluded: bool = False
    forgiven: int = 0
    """The event that took back an exclusion for failed checks: those answered before it are not judged again."""
    ended: str | None = None
    platform_status: dict[str, str] = field(default_factory=dict)
    """What the platform said of each submission, by its id."""
    seen: int = 0
    simulated: bool = False
    """A simulated annotator, for whom the server's clock means nothing."""
    submissions: dict[Submission, str | None] = field(default_factory=dict)
    """Each with the outcome that was reached under it, in order of coming."""
    submission: Submission | None = None

    @property
    def adjudicates(self) -> bool:
        """Whether this is an adjudicator, whose answers take no slot and decide a task."""
        return self.visitor.get("platform") == ADJUDICATOR

    @property
    def active(self) -> Batch | None:
        """The batch held now."""
        last = self.batches.get(len(self.batches))
        return last if last is not None and last.active else None

    @property
    def finished(self) -> int:
        """Finished batches."""
        return sum(batch.finished for batch in self.batches.values())

    @property
    def checks(self) -> list[Answer]:
        """Answered attention checks."""
        return [answer for answer in self.answers.values() if answer.passed is not None]

    @property
    def checks_seen(self) -> int:
        """How many checks were answered."""
        return len(self.checks)

    @property
    def checks_passed(self) -> int:
        """How many of them as expected."""
        return sum(bool(answer.passed) for answer in self.checks)

    @property
    def checks_judged(self) -> list[bool]:
        """Of each attention check that decides whether the person may go on: whether it was answered as expected."""
        return [bool(answer.passed) for answer in self.checks if answer.first > self.forgiven]

    @property
    def seconds_median(self) -> float | None:
        """The median time for a task that the browser claims."""
        times = [answer.seconds for answer in self.answers.values()]
        return median(times) if times else None

    @property
    def seconds_waited(self) -> float | None:
        """The median time from showing to answer by the server's clock; None for whom it says nothing."""
        times = [answer.waited for answer in self.answers.values() if answer.waited is not None]
        return round(median(times), 3) if times else None

    @property
    def contradicted(self) -> int:
        """How many answers claim time that had not passed."""
        return sum(answer.contradicted for answer in self.answers.values())


@dataclass
class Slots:
    """Who holds and who fills the k slots of a task."""

    most: int
    held: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    surplus: list[str] = field(default_factory=list)

    @property
    def open(self) -> int:
        """Free slots."""
        return self.most - len(self.held) - len(self.counted)


class State:
    """The live state of a campaign.

    `order` are the keys of the work's tasks in the order in which they are offered, `overlap` is k, `lease` in
    milliseconds.
    """

    def __init__(self, order: Sequence[str], overlap: int, lease: int) -> None:
        self.order = tuple(order)
        self.place = {key: index for index, key in enumerate(self.order)}
        self.lease = lease
        self.people: dict[str, Person] = {}
        self.items = {key: Slots(overlap) for key in self.order}
        self.adjudicators: dict[str, Person] = {}
        self.adjudicated: dict[str, Answer] = {}
        """By task the last answer of an adjudicator, which decides it."""
        self.exclusions: list[Event] = []
        self.free: list[int] = list(range(len(self.order)))
        """Places of the tasks that have an open slot, in order."""
        self._leases: list[tuple[int, str, int]] = []
        self._handlers = {name: getattr(self, f"_{name}") for name in KINDS if name != "joined"}

    def apply(self, event: Event) -> None:
        """Take in the next event of the log."""
        if event.annotator is None:
            return
        if event.kind == "joined":
            self._join(event)
            return
        person = self.known(event.annotator)
        if person is None:
            raise ValueError(f"event {event.seq} is about {event.annotator!r}, who never joined")
        if event.token is not None:
            person.tokens[event.token] = event
        self._handlers[event.kind](person, event)

    def known(self, name: str) -> Person | None:
        """The annotator or adjudicator of that name."""
        return self.people.get(name) or self.adjudicators.get(name)

    @property
    def counting(self) -> list[Person]:
        """The people whose answers count: all who are not excluded, in order of joining."""
        return [person for person in self.people.values() if not person.excluded]

    def is_complete(self, task: str) -> bool:
        """Whether a task needs no more answers: somebody adjudicated it, or all its slots are filled."""
        slots = self.items[task]
        return task in self.adjudicated or len(slots.counted) >= slots.most

    def counted_answers(self, task: str) -> list[Answer]:
        """The answers that count, in the order in which their people joined."""
        people = sorted((self.people[name] for name in self.items[task].counted), key=lambda person: person.number)
        return [person.answers[task] for person in people]

    def overdue(self, now: int) -> Iterator[tuple[Person, Batch]]:
        """The active batches whose lease has run out. Each is given once; the caller ends it at once."""
        while self._leases and self._leases[0][0] <= now:
            _, annotator, number = heapq.heappop(self._leases)
            person = self.people[annotator]
            batch = person.batches[number]
            if not batch.active:
                continue
            if batch.seen + self.lease > now:
                heapq.heappush(self._leases, (batch.seen + self.lease, annotator, number))
            else:
                yield person, batch

    def digest(self) -> str:
        """A hash of all that matters: equal logs give equal digests, and a rebuilt state that of the live one."""
        people = {name: _plain(person) for name, person in (*self.people.items(), *self.adjudicators.items())}
        items = {key: [sorted(slots.held), sorted(slots.counted), slots.surplus] for key, slots in self.items.items()}
        adjudicated = {key: answer.seq for key, answer in self.adjudicated.items()}
        excluded = [event.seq for event in self.exclusions]
        return digest([people, items, adjudicated, excluded, self.free], 24)

    def _join(self, event: Event) -> None:
        name = event.annotator or ""
        visitor = {key: event.data.get(key) for key in ("platform", "id", "study", "session")}
        arm, simulated = str(event.data.get("arm", "assisted")), bool(event.data.get("made"))
        group = self.adjudicators if visitor["platform"] == ADJUDICATOR else self.people
        if name not in group:
            group[name] = Person(name, visitor, arm, event.at, len(group), seen=event.at, simulated=simulated)
            self._came(group[name], event)

    def _came(self, person: Person, event: Event) -> None:
        """The person comes from a submission: a new one, or one of theirs again."""
        person.submission = Submission(event.data.get("study"), event.data.get("session"))
        person.submissions.setdefault(person.submission, person.ended)

    def _consented(self, person: Person, event: Event) -> None:
        person.agreed = bool(event.data.get("agreed"))

    def _instructed(self, person: Person, _: Event) -> None:
        person.instructed = True

    def _qualified(self, person: Person, event: Event) -> None:
        person.attempts += 1
        person.qualified = bool(event.data.get("passed"))

    def _trained(self, person: Person, event: Event) -> None:
        if event.task is not None:
            person.trained[event.task] = bool(event.data.get("passed"))

    def _assigned(self, person: Person, event: Event) -> None:
        task, number = event.task or "", event.batch or 0
        batch = person.batches.get(number)
        if batch is None:
            batch = person.batches[number] = Batch(number, event.at)
            if not person.adjudicates:
                heapq.heappush(self._leases, (event.at + self.lease, person.annotator, number))
        batch.tasks.append(task)
        batch.waiting.add(task)
        batch.seen = person.seen = event.at
        batch.submission = person.submission
        person.assigned[task] = number
        self._end(person, None)
        if event.data.get("check"):
            batch.checks.add(task)
        elif task in self.items and not person.adjudicates:
            self.items[task].held.add(person.annotator)
            self._changed(task)

    def _opened(self, person: Person, event: Event) -> None:
        batch = person.batches.get(event.batch or 0)
        if batch is not None:
            batch.opened.setdefault(event.task or "", event.at)
        self._alive(person, event)

    def _alive(self, person: Person, event: Event) -> None:
        person.seen = event.at
        batch = person.batches.get(event.batch or 0)
        if batch is not None:
            batch.seen = event.at
            batch.submission = person.submission

    def _answered(self, person: Person, event: Event) -> None:
        task, data = event.task or "", event.data
        before, batch = person.answers.get(task), person.batches.get(event.batch or 0)
        answer = person.answers[task] = Answer(
            task,
            person.annotator,
            TaskAnswer.model_validate(data["answer"]),
            float(data.get("seconds") or 0.0),
            event.at,
            event.seq,
            before.first if before else event.seq,
            event.batch,
            data.get("passed"),
        )
        if batch is not None and not person.simulated:
            batch.claimed += max(0.0, answer.seconds - (before.seconds if before else 0.0))
            answer.waited = (event.at - batch.opened.get(task, batch.since)) / 1000
            answer.contradicted = batch.claimed > (event.at - batch.since) / 1000 + SLACK
        if batch is not None:
            batch.waiting.discard(task)
            batch.answered.add(task)
        self._alive(person, event)
        if person.adjudicates:
            self.adjudicated[task] = answer
            return
        slots = self.items.get(task)
        if slots is None or person.annotator in slots.counted or person.annotator in slots.surplus:
            return
        if person.annotator in slots.held:
            slots.held.discard(person.annotator)
            slots.counted.add(person.annotator)
            return
        slots.surplus.append(person.annotator)
        self._promote(task)

    def _reopened(self, _: Person, event: Event) -> None:
        self.adjudicated.pop(event.task or "", None)

    def _finished(self, person: Person, event: Event) -> None:
        batch = person.batches[event.batch or 0]
        batch.finished = batch.over = True
        if event.data.get("by") != "lease":
            batch.submission = person.submission

    def _released(self, person: Person, event: Event) -> None:
        task = event.task or ""
        batch = person.batches[event.batch or 0]
        batch.waiting.discard(task)
        batch.over = True
        if task in self.items:
            self.items[task].held.discard(person.annotator)
            self._promote(task)

    _expired = _released
    _returned = _released

    def _ended(self, person: Person, event: Event) -> None:
        self._end(person, str(event.data["outcome"]))

    @staticmethod
    def _end(person: Person, outcome: str | None) -> None:
        person.ended = outcome
        if person.submission is not None:
            person.submissions[person.submission] = outcome

    def _excluded(self, person: Person, event: Event) -> None:
        person.excluded = True
        self.exclusions.append(event)
        for batch in person.batches.values():
            batch.waiting.clear()
            batch.over = True
        for task in [*person.assigned, *person.answers]:
            slots = self.items.get(task)
            if slots is None:
                continue
            slots.held.discard(person.annotator)
            if person.annotator in slots.counted:
                slots.counted.discard(person.annotator)
                slots.surplus.append(person.annotator)
            self._promote(task)

    def _reinstated(self, person: Person, event: Event) -> None:
        person.excluded = False
        own = [exclusion for exclusion in self.exclusions if exclusion.annotator == person.annotator]
        if own and own[-1].data.get("rule") == CHECKS_RULE:
            self._forgive(person, event)
        self.exclusions.append(event)
        for task in person.answers:
            if task in self.items:
                self._promote(task)

    @staticmethod
    def _forgive(person: Person, event: Event) -> None:
        """What had ended by failed checks has ended as complete: it is approved, and the person may go on."""
        person.forgiven = event.seq
        outcomes = {"failed_checks": "completed"}
        person.ended = outcomes.get(person.ended or "", person.ended)
        for submission, outcome in person.submissions.items():
            person.submissions[submission] = outcomes.get(outcome or "", outcome)

    def _platform(self, person: Person, event: Event) -> None:
        named = event.data.get("submission") or event.data.get("assignment") or ""
        person.platform_status[str(named)] = str(event.data.get("status", ""))

    def _promote(self, task: str) -> None:
        """Give open slots to surplus answers of people who are not excluded, the earliest first."""
        slots = self.items[task]
        slots.surplus.sort(key=lambda name: self.people[name].answers[task].first)
        for name in list(slots.surplus):
            if slots.open <= 0:
                break
            if not self.people[name].excluded:
                slots.surplus.remove(name)
                slots.counted.add(name)
        self._changed(task)

    def _changed(self, task: str) -> None:
        """Keep `free` true of this task."""
        place = self.place[task]
        at = bisect_left(self.free, place)
        listed = at < len(self.free) and self.free[at] == place
        wanted = self.items[task].open > 0
        if wanted and not listed:
            insort(self.free, place)
        elif listed and not wanted:
            self.free.pop(at)


def _plain(person: Person) -> list[Any]:
    """What `State.digest` hashes of a person."""
    batches = [_values(batch, leave_out={"submission"}) for batch in person.batches.values()]
    answers = [{**vars(answer), "answer": answer.answer.to_json()} for answer in person.answers.values()]
    submissions = [[visit.study, visit.session, outcome] for visit, outcome in person.submissions.items()]
    facts = _values(person, leave_out={"batches", "answers", "tokens", "submission", "submissions"})
    return [facts, sorted(person.tokens), submissions, batches, answers]


def _values(record: Person | Batch, leave_out: set[str]) -> dict[str, Any]:
    fields = {name: value for name, value in vars(record).items() if name not in leave_out}
    return {name: sorted(value) if isinstance(value, set) else value for name, value in fields.items()}
