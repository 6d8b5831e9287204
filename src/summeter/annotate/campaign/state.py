"""The events of a campaign, and the state that follows from them.

A task has k slots. A slot is free, held (leased) or counted (answered by an annotator who is not excluded). An answer
without a slot is surplus. When a slot becomes free, the earliest surplus answer takes it. The sum of held and counted
slots therefore never exceeds k.
"""

from __future__ import annotations

import heapq
import json
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from summeter.annotate.campaign.people import ADJUDICATOR
from summeter.records import digest

CHECKS_RULE = "checks"
"""Name of the rule that excludes for failed attention checks, applied by the campaign or by a researcher."""
SLACK = 2.0
"""Tolerance in seconds for transmission times and for differences between the clocks of browser and server."""
KINDS = (
    *("joined", "came", "consented", "instructed", "qualified", "trained", "assigned", "opened", "answered"),
    *("finished", "expired", "returned", "ended", "excluded", "reinstated", "reopened", "platform"),
)
"""Kinds of events."""
LONGEST = 2000
"""Maximum number of characters of a comment, a reason or a free-text answer."""


class Event(NamedTuple):
    """An event in the log.

    `seq` is the number of the event, from 1, and `at` its time in milliseconds since 1970 (UTC). `batch` is the number
    of the annotator's batch, from 1. `token` is equal for repetitions of a client's request. `data` contains the fields
    of this kind of event.
    """

    seq: int
    at: int
    kind: str
    annotator: str | None
    task: str | None
    batch: int | None
    token: str | None
    data: dict[str, Any]

    def to_line(self) -> str:
        """Return the event as one line of an exported log."""
        return packed(self._asdict())


def packed(data: dict[str, Any]) -> str:
    """Return compact ASCII JSON with sorted keys, which preserves NUL and lone surrogates.

    >>> packed({"b": 1, "a": "é"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


class TaskAnswer(BaseModel):
    """An answer to a task, as stored in the log.

    `values` maps the names of questions about the whole task to the values given. `summaries` contains one such mapping
    per system, for questions about each shown summary. `machine` says whether the annotator agrees with the machine
    verdict, or is None if no verdict was shown.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    values: dict[str, Any] = {}
    summaries: dict[str, dict[str, Any]] = {}
    machine: Literal["agree", "disagree"] | None = None
    comment: str | None = Field(default=None, max_length=LONGEST)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object for the log, without empty fields."""
        return self.model_dump(exclude_defaults=True)


@dataclass
class Answer:
    """The last answer of an annotator to a task.

    `seq` is the number of the answer's event, and `first` that of the annotator's first answer to the task. `seconds`
    is the time in view that the browser reports. `waited` is the time by the server's clock, in seconds, from the first
    report that the task is in view (or else from its assignment) to the arrival of the answer. `contradicted` is True
    if the answers to the batch claim more time than has passed since the batch was assigned.
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
    """One visit of an annotator from a platform.

    On Prolific this is a submission, and on Mechanical Turk an assignment.
    """

    study: str | None
    session: str | None


@dataclass
class Batch:
    """Tasks that are leased together, in the order in which they are shown.

    `waiting` contains the unanswered tasks that are still held. `since` is the time of assignment, and `opened` the
    time at which each task first came into view, in milliseconds since 1970. `claimed` is the total time in seconds
    that the answers claim, and `submission` the submission under which the batch was last worked on.
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
    closed: bool = False
    """Whether the batch is finished or was returned, or its lease has expired."""


@dataclass
class Person:
    """The state of an annotator or adjudicator."""

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
    checks_pardoned_at: int = 0
    """Number of the event that reverted an exclusion for failed checks; checks before it no longer count."""
    ended: str | None = None
    platform_status: dict[str, str] = field(default_factory=dict)
    """Status that the platform reported for each submission."""
    seen: int = 0
    simulated: bool = False
    """Whether this is a simulated annotator, to whom the server's clock does not apply."""
    submissions: dict[Submission, str | None] = field(default_factory=dict)
    """Submissions in order of arrival, each with its outcome (None while it is open)."""
    submission: Submission | None = None

    @property
    def adjudicates(self) -> bool:
        """Whether this is an adjudicator, whose answers take no slot and decide a task."""
        return self.visitor.get("platform") == ADJUDICATOR

    @property
    def active(self) -> Batch | None:
        """The current batch, or None."""
        last = self.batches.get(len(self.batches))
        return None if last is None or last.closed else last

    @property
    def finished(self) -> int:
        """Number of finished batches."""
        return sum(batch.finished for batch in self.batches.values())

    @property
    def checks(self) -> list[Answer]:
        """Answers to attention checks."""
        return [answer for answer in self.answers.values() if answer.passed is not None]

    @property
    def checks_seen(self) -> int:
        """Number of answered attention checks."""
        return len(self.checks)

    @property
    def checks_passed(self) -> int:
        """Number of passed attention checks."""
        return sum(bool(answer.passed) for answer in self.checks)

    @property
    def checks_that_count(self) -> list[bool]:
        """Results of the attention checks that decide whether the annotator may continue."""
        return [bool(answer.passed) for answer in self.checks if answer.first > self.checks_pardoned_at]

    @property
    def seconds_median(self) -> float | None:
        """Median time per task in seconds, as reported by the browser."""
        times = [answer.seconds for answer in self.answers.values()]
        return median(times) if times else None

    @property
    def seconds_waited(self) -> float | None:
        """Median time per task in seconds, by the server's clock, or None for simulated annotators."""
        times = [answer.waited for answer in self.answers.values() if answer.waited is not None]
        return round(median(times), 3) if times else None

    @property
    def contradicted(self) -> int:
        """Number of answers that claim more time than has passed."""
        return sum(answer.contradicted for answer in self.answers.values())


@dataclass
class Slots:
    """The annotators who hold or fill the slots of a task; `most` is the number of slots."""

    most: int
    held: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    surplus: list[str] = field(default_factory=list)

    @property
    def open(self) -> int:
        """Number of free slots."""
        return self.most - len(self.held) - len(self.counted)


class State:
    """The state of a campaign.

    `order` lists the keys of the tasks in the order in which they are offered, `overlap` is the number of slots per
    task, and `lease` is the time of inactivity, in milliseconds, after which a lease expires.
    """

    def __init__(self, order: Sequence[str], overlap: int, lease: int) -> None:
        self.order = tuple(order)
        self.position = {key: index for index, key in enumerate(self.order)}
        self.lease = lease
        self.people: dict[str, Person] = {}
        self.items = {key: Slots(overlap) for key in self.order}
        self.adjudicators: dict[str, Person] = {}
        self.adjudicated: dict[str, Answer] = {}
        """The last answer of an adjudicator, by task."""
        self.exclusions: list[Event] = []
        self.open_positions: list[int] = list(range(len(self.order)))
        """Sorted positions of the tasks that have a free slot."""
        self._leases: list[tuple[int, str, int]] = []

    def apply(self, event: Event) -> None:
        """Apply the next event of the log.

        Raises ValueError if the event is impossible after the events before it.
        """
        if event.annotator is None:
            return
        if event.kind == "joined":
            self._join(event)
            return
        person, data = self.find(event.annotator), event.data
        if person is None:
            raise ValueError(f"event {event.seq} is about {event.annotator!r}, who never joined")
        if event.token is not None:
            person.tokens[event.token] = event
        match event.kind:
            case "opened":
                batch = person.batches.get(event.batch or 0)
                if batch is not None:
                    batch.opened.setdefault(event.task or "", event.at)
                self._note_activity(person, event)
            case "assigned":
                self._assign(person, event)
            case "answered":
                self._answer(person, event)
            case "finished":
                batch = person.batches[event.batch or 0]
                batch.finished = batch.closed = True
                if data.get("by") != "lease":
                    batch.submission = person.submission
            case "expired" | "returned":
                self._release(person, event)
            case "came":
                self._arrive(person, event)
            case "consented":
                person.agreed = bool(data.get("agreed"))
            case "instructed":
                person.instructed = True
            case "qualified":
                person.attempts += 1
                person.qualified = bool(data.get("passed"))
            case "trained":
                person.trained[event.task or ""] = bool(data.get("passed"))
            case "ended":
                self._end(person, str(data["outcome"]))
            case "excluded":
                self._exclude(person, event)
            case "reinstated":
                self._reinstate(person, event)
            case "reopened":
                self.adjudicated.pop(event.task or "", None)
            case "platform":
                submission = data.get("submission") or data.get("assignment") or ""
                person.platform_status[str(submission)] = str(data.get("status", ""))
            case _:
                raise ValueError(f"event {event.seq} has the unknown kind {event.kind!r}")

    def find(self, name: str) -> Person | None:
        """Return the annotator or adjudicator with a name, or None."""
        return self.people.get(name) or self.adjudicators.get(name)

    @property
    def not_excluded(self) -> list[Person]:
        """Annotators who are not excluded, in order of joining."""
        return [person for person in self.people.values() if not person.excluded]

    def is_complete(self, task: str) -> bool:
        """Return whether a task needs no more answers.

        This is the case if the task was adjudicated or all its slots are filled.
        """
        slots = self.items[task]
        return task in self.adjudicated or len(slots.counted) >= slots.most

    def counted_answers(self, task: str) -> list[Answer]:
        """Return the counted answers to a task, in the order in which their annotators joined."""
        people = sorted((self.people[name] for name in self.items[task].counted), key=lambda person: person.number)
        return [person.answers[task] for person in people]

    def expired_leases(self, now: int) -> Iterator[tuple[Person, Batch]]:
        """Yield the open batches whose lease has expired, each once.

        The caller must end each lease before requesting the next one.
        """
        while self._leases and self._leases[0][0] <= now:
            _, annotator, number = heapq.heappop(self._leases)
            person = self.people[annotator]
            batch = person.batches[number]
            if batch.closed:
                continue
            if batch.seen + self.lease > now:
                heapq.heappush(self._leases, (batch.seen + self.lease, annotator, number))
            else:
                yield person, batch

    def digest(self) -> str:
        """Return a hash of the state, which is equal for equal logs."""
        return digest(_plain({name: value for name, value in vars(self).items() if name != "_leases"}), 24)

    def _join(self, event: Event) -> None:
        name = event.annotator or ""
        visitor = {key: event.data.get(key) for key in ("platform", "id", "study", "session")}
        arm, simulated = str(event.data.get("arm", "assisted")), bool(event.data.get("made"))
        group = self.adjudicators if visitor["platform"] == ADJUDICATOR else self.people
        if name not in group:
            group[name] = Person(name, visitor, arm, event.at, len(group), seen=event.at, simulated=simulated)
            self._arrive(group[name], event)

    @staticmethod
    def _arrive(person: Person, event: Event) -> None:
        """Set the current submission, which may be new or an earlier one."""
        person.submission = Submission(event.data.get("study"), event.data.get("session"))
        person.submissions.setdefault(person.submission, person.ended)

    def _assign(self, person: Person, event: Event) -> None:
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
            self._update_open(task)

    @staticmethod
    def _note_activity(person: Person, event: Event) -> None:
        person.seen = event.at
        batch = person.batches.get(event.batch or 0)
        if batch is not None:
            batch.seen = event.at
            batch.submission = person.submission

    def _answer(self, person: Person, event: Event) -> None:
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
            # An answer that was delayed by the network claims no more than the time since the assignment.
            batch.claimed += max(0.0, answer.seconds - (before.seconds if before else 0.0))
            answer.waited = (event.at - batch.opened.get(task, batch.since)) / 1000
            answer.contradicted = batch.claimed > (event.at - batch.since) / 1000 + SLACK
        if batch is not None:
            batch.waiting.discard(task)
            batch.answered.add(task)
        self._note_activity(person, event)
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

    def _release(self, person: Person, event: Event) -> None:
        task = event.task or ""
        batch = person.batches[event.batch or 0]
        batch.waiting.discard(task)
        batch.closed = True
        if task in self.items:
            self.items[task].held.discard(person.annotator)
            self._promote(task)

    @staticmethod
    def _end(person: Person, outcome: str | None) -> None:
        person.ended = outcome
        if person.submission is not None:
            person.submissions[person.submission] = outcome

    def _exclude(self, person: Person, event: Event) -> None:
        person.excluded = True
        self.exclusions.append(event)
        for batch in person.batches.values():
            batch.waiting.clear()
            batch.closed = True
        for task in [*person.assigned, *person.answers]:
            slots = self.items.get(task)
            if slots is None:
                continue
            slots.held.discard(person.annotator)
            if person.annotator in slots.counted:
                slots.counted.discard(person.annotator)
                slots.surplus.append(person.annotator)
            self._promote(task)

    def _reinstate(self, person: Person, event: Event) -> None:
        person.excluded = False
        last = [exclusion for exclusion in self.exclusions if exclusion.annotator == person.annotator][-1:]
        if last and last[0].data.get("rule") == CHECKS_RULE:
            # Work that ended by failed checks now counts as completed: it is approved, and the annotator may continue.
            person.checks_pardoned_at = event.seq
            outcomes = {"failed_checks": "completed"}
            person.ended = outcomes.get(person.ended or "", person.ended)
            for submission, outcome in person.submissions.items():
                person.submissions[submission] = outcomes.get(outcome or "", outcome)
        self.exclusions.append(event)
        for task in person.answers:
            if task in self.items:
                self._promote(task)

    def _promote(self, task: str) -> None:
        """Assign free slots to surplus answers, beginning with the earliest.

        Answers of excluded annotators are skipped.
        """
        slots = self.items[task]
        slots.surplus.sort(key=lambda name: self.people[name].answers[task].first)
        for name in list(slots.surplus):
            if slots.open <= 0:
                break
            if not self.people[name].excluded:
                slots.surplus.remove(name)
                slots.counted.add(name)
        self._update_open(task)

    def _update_open(self, task: str) -> None:
        """Add the task to `open_positions` if it has a free slot; otherwise, remove it."""
        position = self.position[task]
        at = bisect_left(self.open_positions, position)
        is_listed = at < len(self.open_positions) and self.open_positions[at] == position
        is_open = self.items[task].open > 0
        if is_open and not is_listed:
            insort(self.open_positions, position)
        elif is_listed and not is_open:
            self.open_positions.pop(at)


def _plain(value: Any) -> Any:
    """Return a value as JSON, for `State.digest`."""
    match value:
        case Person() | Batch() | Answer() | Slots():
            return _plain(vars(value))
        case TaskAnswer():
            return value.to_json()
        case dict():
            return {str(name): _plain(entry) for name, entry in value.items()}
        case list() | tuple():
            return [_plain(entry) for entry in value]
        case set():
            return sorted(value)
        case _:
            return value
