"""Assignment of tasks and attention checks to annotators.

Tasks are offered in a fixed order, except that tasks on a document or summary of the annotator's last batch come first.
In this way, annotators read each document once and see all key facts of a summary.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from itertools import chain, islice
from random import Random

from summeter.annotate.campaign.state import Person, State
from summeter.annotate.tasks.task import Task


def choose(state: State, person: Person, most: int, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the keys of at most `most` tasks that are open for an annotator.

    The keys are in the order in which tasks are offered. `groups` maps the key of each task to those of its group.
    """
    continued: list[str] = []
    if person.batches:
        for key in person.batches[len(person.batches)].tasks:
            group = groups.get(key, ())
            continued += [other for other in group if other not in continued and _is_open(state, person, other)]
            if len(continued) >= most:
                break
    chosen = set(continued[:most])
    for position in state.open_positions:
        if len(chosen) >= most:
            break
        key = state.order[position]
        if key not in chosen and _is_open(state, person, key):
            chosen.add(key)
    return sorted(chosen, key=state.position.__getitem__)


def _is_open(state: State, person: Person, key: str) -> bool:
    """Return whether a task has a free slot that an annotator may take."""
    slots = state.items[key]
    return slots.open > 0 and person.annotator not in slots.held and key not in person.answers


def checks_due(person: Person, work: int, rate: float, rng: Random) -> int:
    """Return the number of attention checks to show with the next `work` tasks.

    After n tasks, floor(n * rate / (1 - rate) + u) checks have been shown. The number u is drawn from [0, 1) with
    `rng`, which must have the same seed for all batches of an annotator. The number of checks therefore differs by less
    than one from the number that `rate` requires.
    """
    shown = sum(len(batch.checks) for batch in person.batches.values())
    done = sum(len(batch.tasks) for batch in person.batches.values()) - shown
    due = round((done + work) * rate / (1 - rate), 9)  # in floating point, 12 * .2 / .8 is slightly above 3
    return max(0, math.floor(due + rng.random()) - shown)


def with_checks(
    work: Sequence[Task],
    checks: Sequence[Task],
    by_document: Mapping[str, Sequence[Task]],
    answered: Container[str],
    count: int,
    rng: Random,
) -> list[Task]:
    """Return the tasks of a batch with up to `count` attention checks inserted among them.

    Checks in `answered`, the keys that the annotator has answered, are not repeated. If possible, checks are about
    documents of the batch and are shown among the tasks on the same document. `by_document` contains the checks by
    document.
    """
    documents = dict.fromkeys(task.document_id for task in work)
    pool = [check for name in documents for check in by_document.get(name, ()) if check.key not in answered]
    rng.shuffle(pool)
    if len(pool) < count and checks:
        start = rng.randrange(len(checks))
        rotated = chain(checks[start:], checks[:start])
        others = (check for check in rotated if check.key not in answered and check.document_id not in documents)
        pool += islice(others, count - len(pool))
    mixed = list(work)
    for check in pool[:count]:
        same_document = [index for index, task in enumerate(mixed) if task.document_id == check.document_id]
        index = rng.choice(same_document) + rng.randrange(2) if same_document else rng.randrange(len(mixed) + 1)
        mixed.insert(index, check)
    return mixed
