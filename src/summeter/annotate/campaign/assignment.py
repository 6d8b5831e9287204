"""Which tasks a person gets next: those with an open slot that this person has not answered, in order.

What a person began (the summary, the document of the last batch) comes first, so that no document is read twice
and the key facts of a summary stay with one person.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from itertools import chain, islice
from random import Random

from summeter.annotate.campaign.state import Person, State
from summeter.annotate.tasks.task import Task


def choose(state: State, person: Person, most: int, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Keys of up to `most` tasks of the work for a person, in the order of offering; none when all is taken.

    `groups` maps each task to the tasks of its group.
    """
    begun: list[str] = []
    if person.batches:
        for key in person.batches[len(person.batches)].tasks:
            begun += [other for other in groups.get(key, ()) if other not in begun and _free(state, person, other)]
            if len(begun) >= most:
                break
    chosen = set(begun[:most])
    for place in state.free:
        if len(chosen) >= most:
            break
        key = state.order[place]
        if key not in chosen and _free(state, person, key):
            chosen.add(key)
    return sorted(chosen, key=state.place.__getitem__)


def _free(state: State, person: Person, key: str) -> bool:
    """Whether a task has an open slot for this person."""
    slots = state.items[key]
    return slots.open > 0 and person.annotator not in slots.held and key not in person.answers


def checks_due(person: Person, work: int, rate: float, rng: Random) -> int:
    """How many attention checks come with the next `work` tasks, so that of all a person is shown a share `rate` are.

    After n tasks of the work floor(n * rate / (1 - rate) + u) checks were shown, for a u in [0, 1) drawn with `rng`
    (one that is the same for each batch of a person): at no time one more or less than the rate says, and never more
    than a campaign has for somebody who does all of it.
    """
    shown = sum(len(batch.checks) for batch in person.batches.values())
    done = sum(len(batch.tasks) for batch in person.batches.values()) - shown
    due = round((done + work) * rate / (1 - rate), 9)  # 12 * .2 / .8 is 3, and a little more
    return max(0, math.floor(due + rng.random()) - shown)


def with_checks(
    work: Sequence[Task],
    checks: Sequence[Task],
    by_document: Mapping[str, Sequence[Task]],
    answered: Container[str],
    count: int,
    rng: Random,
) -> list[Task]:
    """The batch in the order of showing: its work with `count` attention checks mixed in, as far as there are any.

    A check that this person has `answered` never comes again; one that was given back may, as work does. A check
    stands among the tasks of its own document where it can.
    """
    documents = dict.fromkeys(task.document_id for task in work)
    pool = [check for name in documents for check in by_document.get(name, ()) if check.key not in answered]
    rng.shuffle(pool)
    if len(pool) < count and checks:
        start = rng.randrange(len(checks))
        turned = chain(checks[start:], checks[:start])
        others = (check for check in turned if check.key not in answered and check.document_id not in documents)
        pool += islice(others, count - len(pool))
    mixed = list(work)
    for check in pool[:count]:
        near = [place for place, task in enumerate(mixed) if task.document_id == check.document_id]
        place = rng.choice(near) + rng.randrange(2) if near else rng.randrange(len(mixed) + 1)
        mixed.insert(place, check)
    return mixed
