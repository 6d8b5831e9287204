"""Which tasks a person gets next: those with an open slot that this person has not answered, in order.

What a person began (the summary, the document of the last batch) comes first, so that nobody reads a document twice
and the key facts of a summary stay with one person.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from random import Random
from typing import NamedTuple

from summeter.annotate.state import Person, State
from summeter.annotate.tasks.base import Task


class Checks(NamedTuple):
    """The attention checks there are."""

    all: Sequence[Task]
    by_document: Mapping[str, Sequence[Task]]


def choose(state: State, person: Person | None, most: int, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Keys of up to `most` tasks of the work for a person, in the order of offering; none when all is taken.

    `groups` maps each task to the tasks of its group.
    """
    found: list[str] = []
    if person is not None and person.batches:
        for key in person.batches[len(person.batches)].tasks:
            found += [one for one in groups.get(key, ()) if one not in found and _may(state, person, one)]
            if len(found) >= most:
                break
    chosen = set(found[:most])
    for place in state.free:
        if len(chosen) >= most:
            break
        key = state.order[place]
        if key not in chosen and _may(state, person, key):
            chosen.add(key)
    return sorted(chosen, key=state.place.__getitem__)


def _may(state: State, person: Person | None, key: str) -> bool:
    slots = state.items[key]
    if slots.open <= 0:
        return False
    return person is None or (person.annotator not in slots.held and key not in person.answers)


def checks_due(person: Person, work: int, rate: float, rng: Random) -> int:
    """How many attention checks come with the next `work` tasks, so that of all a person is shown a share `rate` are.

    After n tasks of the work floor(n * rate / (1 - rate) + u) checks were shown, for a u in [0, 1) drawn with `rng`
    (one that is the same for each batch of a person): at no time one more or less than the rate says, and never more
    than a campaign has for somebody who does all of it.
    """
    shown = sum(len(one.checks) for one in person.batches.values())
    done = sum(len(one.tasks) for one in person.batches.values()) - shown
    due = round((done + work) * rate / (1 - rate), 9)  # 12 * .2 / .8 is 3, and a little more
    return max(0, math.floor(due + rng.random()) - shown)


def with_checks(work: Sequence[Task], checks: Checks, seen: Mapping[str, int], count: int, rng: Random) -> list[Task]:
    """The batch in the order of showing: its work with `count` attention checks mixed in, as far as there are any.

    A check this person has `seen` never comes again. A check stands among the tasks of its own document where it can.
    """
    near_by = dict.fromkeys(task.document_id for task in work)
    pool = [one for name in near_by for one in checks.by_document.get(name, ()) if one.key not in seen]
    rng.shuffle(pool)
    if len(pool) < count and checks.all:
        start = rng.randrange(len(checks.all))
        turned = chain(checks.all[start:], checks.all[:start])
        others = (one for one in turned if one.key not in seen and one.document_id not in near_by)
        pool += islice(others, count - len(pool))
    mixed = list(work)
    for check in pool[:count]:
        near = [place for place, task in enumerate(mixed) if task.document_id == check.document_id]
        place = rng.choice(near) + rng.randrange(2) if near else rng.randrange(len(mixed) + 1)
        mixed.insert(place, check)
    return mixed
