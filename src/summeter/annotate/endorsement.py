"""The machine's pull on people: how often they say what the machine says where the machine is wrong.

The machine is wrong on an attention check that shows a wrong verdict, and on a task of the work where most *other*
annotators (or the adjudicator) say otherwise. People of the arm without assistance never saw the verdict: how often
they come to the same answer by themselves is what endorsement has to be compared with. Where most people were pulled
along, their majority calls the machine right: the checks, whose answer is known, do not have this blind spot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter.annotate.simulate.profile import follow_machine
from summeter.annotate.state import Person
from summeter.meta.results import Row
from summeter.stats import bootstrap, bootstrap_mean

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk

STUDY = "assistance"
ASSISTED, UNASSISTED = "assisted", "unassisted"


class Case(NamedTuple):
    """One answer where the machine was wrong: `same` is whether it says what the machine says."""

    annotator: str
    arm: str
    document: str
    check: bool
    same: bool


def cases(desk: Desk) -> list[Case]:
    """Every answer to a task on which the machine's verdict, shown or hidden, is wrong."""
    found: list[Case] = []
    for person in desk.state.people.values():
        found += _checks(desk, person)
    for task in desk.tasks.work:
        if task.assistance is None or task.assistance["machine"] is None:
            continue
        said = {one.annotator: bool(desk.kind.agrees(task, one.answer)) for one in desk.state.counted_answers(task.key)}
        settled = desk.state.adjudicated.get(task.key)
        decided = None if settled is None else bool(desk.kind.agrees(task, settled.data["answer"]))
        for who, same in said.items():
            others = [other for name, other in said.items() if name != who]
            wrong = not decided if decided is not None else 2 * sum(others) < len(others)
            if wrong:
                found.append(Case(who, desk.state.people[who].arm, task.document_id, check=False, same=same))
    return found


def _checks(desk: Desk, person: Person) -> Iterator[Case]:
    for answer in person.checks:
        task = desk.tasks.by_key[answer.task]
        machine = (task.assistance or {}).get("machine")
        if machine is not None and not desk.kind.passed(task, follow_machine(task, machine)):
            same = bool(desk.kind.agrees(task, answer.answer))
            yield Case(person.annotator, person.arm, task.document_id, check=True, same=same)


def share(found: Iterable[Case]) -> tuple[float | None, int]:
    """The share of the cases that say what the machine says, and their number."""
    own = [one.same for one in found]
    return (sum(own) / len(own) if own else None), len(own)


def pull(found: list[Case], *, resamples: int = 1000, seed: int = 0) -> list[Row]:
    """Rows of the study `assistance`: `endorsement` a group (arm; checks or work), and `pull`, the difference of arms.

    Intervals draw documents whole. No row at all where no machine was ever wrong.
    """
    rows: list[Row] = []
    on_checks, on_work = [one for one in found if one.check], [one for one in found if not one.check]
    for name, part in (("checks", on_checks), ("work", on_work), ("all", found)):
        if not part:
            continue
        arms = {arm: [one for one in part if one.arm == arm] for arm in (ASSISTED, UNASSISTED)}
        rows += [_endorsement(own, {"tasks": name, "arm": arm}, resamples, seed) for arm, own in arms.items() if own]
        if all(arms.values()):
            rows.append(_difference(part, {"tasks": name}, resamples, seed))
    return rows


def _endorsement(own: list[Case], details: dict[str, Any], resamples: int, seed: int) -> Row:
    got = bootstrap_mean([float(one.same) for one in own], [one.document for one in own], resamples, seed=seed)
    return _row("endorsement", got.value, (got.low, got.high), len(own), details, (resamples, seed))


def _difference(part: list[Case], details: dict[str, Any], resamples: int, seed: int) -> Row:
    same = np.array([float(one.same) for one in part])
    helped = np.array([float(one.arm == ASSISTED) for one in part])

    def gap(values: Any, arm: Any) -> float | None:
        with_, without = values[arm == 1], values[arm == 0]
        return float(with_.mean() - without.mean()) if len(with_) and len(without) else None

    got = bootstrap(gap, [same, helped], clusters=[one.document for one in part], resamples=resamples, seed=seed)
    return _row("pull", got.value, (got.low, got.high), len(part), details, (resamples, seed))


def _row(
    statistic: str, value: float | None, ends: tuple[float | None, float | None], n: int, details: dict[str, Any],
    drawn: tuple[int, int],
) -> Row:  # fmt: skip
    low, high = ends
    there = low is not None and high is not None
    interval = f"95% percentile bootstrap by document, {drawn[0]} resamples, seed {drawn[1]}" if there else None
    return Row(
        study=STUDY, statistic=statistic, value=value, n=n, low=low if there else None, high=high if there else None,
        interval=interval, details=details,
        status="ok" if there else ("undefined" if value is None else "no_interval"),
        reason=None if there else "too few documents for an interval",
    )  # fmt: skip
