"""Automation bias: how often annotators say what the machine says where the machine is wrong.

The machine is wrong on an attention check that shows a wrong verdict, and on a task of the work where most *other*
annotators (or the adjudicator) say otherwise. People of the arm without assistance never saw the verdict: how often
they come to the same answer by themselves is what endorsement has to be compared with. Where most people followed the
machine, their majority calls it right: the checks, whose answer is known, do not have this blind spot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Person
from summeter.annotate.tasks.base import TaskType
from summeter.meta.results import Row, interval_row
from summeter.stats import Bootstrap, Estimate
from summeter.stats.base import Floats, ratio

STUDY = "assistance"
ASSISTED, UNASSISTED = "assisted", "unassisted"
Shares = Mapping[str, Sequence[float]]
"""Zeros and ones by document."""


class Case(NamedTuple):
    """One answer where the machine was wrong: `same` is whether it says what the machine says."""

    annotator: str
    arm: str
    document: str
    check: bool
    same: bool


def cases(service: CampaignService) -> list[Case]:
    """Every answer to a task on which the machine's verdict, shown or hidden, is wrong."""
    task_type = service.task_type
    wrong = [case for person in service.state.people.values() for case in _check_cases(service, task_type, person)]
    for task in service.tasks.work:
        machine = task.machine
        if machine is None:
            continue
        same = {
            answer.annotator: task_type.same(machine, answer.answer)
            for answer in service.state.counted_answers(task.key)
        }
        decision = service.state.adjudicated.get(task.key)
        decided = None if decision is None else task_type.same(machine, decision.answer)
        for annotator, follows in same.items():
            others = [other for name, other in same.items() if name != annotator]
            if not decided if decided is not None else 2 * sum(others) < len(others):
                arm = _arm(service, service.state.people[annotator])
                wrong.append(Case(annotator, arm, task.document_id, check=False, same=follows))
    return wrong


def _check_cases(service: CampaignService, task_type: TaskType, person: Person) -> Iterator[Case]:
    for answer in person.checks:
        task = service.tasks.by_key[answer.task]
        machine = task.machine
        if machine is not None and not task_type.passed(task, task_type.following(task, machine)):
            same = task_type.same(machine, answer.answer)
            yield Case(person.annotator, _arm(service, person), task.document_id, check=True, same=same)


def _arm(service: CampaignService, person: Person) -> str:
    """Whether a person sees the machine's verdict."""
    return UNASSISTED if service.campaign.assistance.hides_verdict else person.arm


def endorsement_rate(wrong: Iterable[Case]) -> tuple[float | None, int]:
    """The share of the cases that say what the machine says, and their number."""
    same = [case.same for case in wrong]
    return (sum(same) / len(same) if same else None), len(same)


def automation_bias(wrong: list[Case], *, resamples: int = 1000, seed: int = 0) -> list[Row]:
    """Rows of the study `assistance`: `endorsement` a group (arm; checks or work), and `pull`, the difference of arms.

    Intervals draw documents whole. No row at all where no machine was ever wrong.
    """
    rows: list[Row] = []
    parts = {"checks": [case for case in wrong if case.check], "work": [case for case in wrong if not case.check]}
    for tasks, part in (*parts.items(), ("all", wrong)):
        arms = {arm: _by_document(case for case in part if case.arm == arm) for arm in (ASSISTED, UNASSISTED)}
        for arm, own in arms.items():
            if own:
                rows.append(_row("endorsement", share(own, resamples, seed), {"tasks": tasks, "arm": arm}))
        if all(arms.values()):
            documents = list(dict.fromkeys(case.document for case in part))
            gap = difference(arms[ASSISTED], arms[UNASSISTED], documents, resamples, seed)
            rows.append(_row("pull", replace(gap, n=len(part)), {"tasks": tasks}))
    return rows


def _by_document(cases: Iterable[Case]) -> Shares:
    same: dict[str, list[float]] = {}
    for case in cases:
        same.setdefault(case.document, []).append(float(case.same))
    return same


def share(by_document: Shares, resamples: int, seed: int) -> Estimate:
    """The mean of zeros and ones that stand by document. Its interval draws documents."""
    values = [(document, value) for document, own in by_document.items() for value in own]
    bootstrap = Bootstrap([document for document, _ in values], resamples, seed=seed)
    return bootstrap.mean([value for _, value in values])


def difference(first: Shares, second: Shares, documents: Sequence[str], resamples: int, seed: int) -> Estimate:
    """One share minus another, documents drawn alike for both; `n` counts the first's values."""
    counts = [
        np.array([(sum(of.get(document, ())), len(of.get(document, ()))) for document in documents])
        for of in (first, second)
    ]

    def gap(weights: Floats) -> Floats:
        shares = [ratio(total[:, 0], total[:, 1]) for total in (weights @ count for count in counts)]
        return np.asarray(shares[0] - shares[1])

    bootstrap = Bootstrap(list(documents), resamples, seed=seed)
    return bootstrap.interval(gap, n=sum(map(len, first.values())))


def _row(statistic: str, estimate: Estimate, details: dict[str, Any]) -> Row:
    row = interval_row(estimate, study=STUDY, statistic=statistic, details=details)
    return row.model_copy(update={"reason": None if row.status == "ok" else "too few documents for an interval"})
