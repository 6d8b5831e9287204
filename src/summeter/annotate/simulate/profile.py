"""Profile: how a made annotator answers, given what is right and what the page shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from pydantic import Field

from summeter.annotate.simulate.truth import Json, aligned, marked, rated, supported, valid
from summeter.annotate.tasks import kind_named
from summeter.annotate.tasks.base import Task
from summeter.annotate.tasks.pairwise import TIE
from summeter.records import Record

_SPREAD = 0.4
"""Standard deviation of the logarithm of the time for a task."""
_HASTE = 0.1
"""The share of the usual time that somebody takes who does not read."""


class Profile(Record):
    """A made annotator.

    `accuracy` is the chance that an answer (of ratings and choices: each cell) is right. `bias`, from -1 to 1, is the
    share of labels turned to the good side (supported, valid, aligned, clean; below 0 to the bad side); ratings are
    moved by twice the bias. `laziness` is the chance to answer without reading: what the machine says, else the first
    thing at hand, in a tenth of the time. `trust` is the chance to say what the machine says after reading.
    `seconds` is the usual time for a task.
    """

    accuracy: float = Field(default=0.9, ge=0, le=1)
    bias: float = Field(default=0.0, ge=-1, le=1)
    laziness: float = Field(default=0.0, ge=0, le=1)
    trust: float = Field(default=0.0, ge=0, le=1)
    seconds: float = Field(default=20.0, gt=0)


class Reply(NamedTuple):
    """An answer in stored form, and the seconds it took."""

    answer: Json
    seconds: float


class Page(NamedTuple):
    """What a person has before them: the task, the machine's verdict where it is shown, the order of the systems."""

    task: Task
    machine: Json | None
    letters: Sequence[str]


def respond(profile: Profile, page: Page, right: Json, rng: Random) -> Reply:
    """How this annotator answers."""
    seconds = profile.seconds * math.exp(rng.gauss(0, _SPREAD))
    if rng.random() < profile.laziness:
        answer = _follow(page) if page.machine is not None else _EASY[page.task.kind](page)
        return Reply(_complete(page, answer), round(seconds * _HASTE, 1))
    if page.machine is not None and rng.random() < profile.trust:
        answer = _follow(page)
    else:
        answer = _NOISY[page.task.kind](page.task, right, profile, rng)
    return Reply(_complete(page, answer), round(seconds, 1))


def follow_machine(task: Task, machine: Json) -> Json:
    """The answer that says what a machine's verdict says."""
    if task.kind == "key_fact_alignment":
        return aligned(machine["sentences"])
    if task.kind == "key_fact_validation":
        return valid(yes=machine["verdict"] == "valid")
    types = machine.get("error_types") or []
    return supported(task, types[0] if types else None, yes=machine["verdict"] == "supported")


def _follow(page: Page) -> Json:
    return follow_machine(page.task, page.machine or {})


def _complete(page: Page, answer: Json) -> Json:
    made = {"comment": None, "machine": None, **answer}
    if page.machine is not None:
        made["machine"] = "agree" if kind_named(page.task.kind).agrees(page.task, made) else "disagree"
    return made


def _flip(profile: Profile, rng: Random) -> bool | None:
    """The side to which this answer is turned; None where it is not."""
    return profile.bias > 0 if rng.random() < abs(profile.bias) else None


def _side(right: bool, profile: Profile, rng: Random) -> bool:  # noqa: FBT001
    said = right if rng.random() < profile.accuracy else not right
    turned = _flip(profile, rng)
    return said if turned is None else turned


def _fact(task: Task, right: Json, profile: Profile, rng: Random) -> Json:
    yes = right["label"] == "supported"
    said = _side(yes, profile, rng)
    types = [one["name"] for one in task.body["error_types"]] or [None]
    return right if said == yes else supported(task, rng.choice(types), yes=said)


def _validity(_: Task, right: Json, profile: Profile, rng: Random) -> Json:
    yes = bool(right["significant"] and right["correct"] and right["relevant"])
    said = _side(yes, profile, rng)
    return right if said == yes else valid(yes=said)


def _alignment(task: Task, right: Json, profile: Profile, rng: Random) -> Json:
    yes = bool(right["sentences"])
    said = _side(yes, profile, rng)
    if said == yes:
        return right
    return aligned([rng.randrange(len(task.body["summary"]["sentences"]))] if said else [])


def _rating(task: Task, right: Json, profile: Profile, rng: Random) -> Json:
    cells: dict[str, dict[str, int]] = {}
    for system, given in right["ratings"].items():
        cells[system] = {}
        for aspect, value in given.items():
            said = value if rng.random() < profile.accuracy else rng.choice([n for n in range(1, 6) if n != value])
            cells[system][aspect] = min(5, max(1, round(said + 2 * profile.bias)))
    return rated(task, cells)


def _spans(task: Task, right: Json, profile: Profile, rng: Random) -> Json:
    clean = not right["spans"]
    said = _side(clean, profile, rng)
    if said == clean:
        return right
    sentences = task.body["summary"]["sentences"] or [[0, len(task.body["summary"]["text"])]]
    start, end = rng.choice(sentences)
    return marked(task, [] if said else [(start, end, None)])


def _pair(task: Task, right: Json, profile: Profile, rng: Random) -> Json:
    known = [*task.systems, *([TIE] if task.body["ties"] else [])]
    choices = {
        aspect: one if rng.random() < profile.accuracy else rng.choice([other for other in known if other != one])
        for aspect, one in right["choices"].items()
    }
    return {"choices": choices, "reason": None}


def _first_rating(page: Page) -> Json:
    names = [one["name"] for one in page.task.body["aspects"]]
    cells = {one: dict.fromkeys(names, 3) for one in page.task.systems}
    best = page.letters[0] if page.task.body["choose_best"] else None
    return {"ratings": cells, "best": best}


def _first_pair(page: Page) -> Json:
    return {"choices": {one["name"]: page.letters[0] for one in page.task.body["aspects"]}, "reason": None}


_NOISY: dict[str, Callable[[Task, Json, Profile, Random], Json]] = {
    "fact_verification": _fact, "key_fact_validation": _validity, "key_fact_alignment": _alignment, "rating": _rating,
    "span_highlighting": _spans, "pairwise": _pair,
}  # fmt: skip

_EASY: dict[str, Callable[[Page], Any]] = {
    "fact_verification": lambda page: supported(page.task, yes=True), "key_fact_validation": lambda _: valid(yes=True),
    "key_fact_alignment": lambda _: aligned([0]), "rating": _first_rating,
    "span_highlighting": lambda page: marked(page.task, []), "pairwise": _first_pair,
}  # fmt: skip
