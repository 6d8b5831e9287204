"""Automation bias: how often annotators agree with the machine when the machine is wrong.

The machine is wrong on an attention check if it shows a planned wrong verdict. It is wrong on another task if the
adjudicated label, or else the majority label of the *other* annotators, differs from the verdict. The endorsement rate
of annotators who saw the verdict is compared with that of the arm without assistance. If most annotators follow a wrong
verdict, the majority label makes it count as right; attention checks, whose answers are known, do not have this
limitation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Person
from summeter.meta.results import Row, interval_row
from summeter.stats import Bootstrap, Estimate
from summeter.stats.base import Floats, ratio

STUDY = "assistance"
ASSISTED, UNASSISTED = "assisted", "unassisted"
Shares = Mapping[str, Sequence[float]]
"""Outcomes (0 or 1) by document."""


class Case(NamedTuple):
    """An answer to a task on which the machine was wrong.

    `check` says whether the task is an attention check, and `same` whether the answer agrees with the machine.
    """

    annotator: str
    arm: str
    document: str
    check: bool
    same: bool


def cases(service: CampaignService) -> list[Case]:
    """Return all answers to tasks whose machine verdict, shown or hidden, is wrong."""
    task_type = service.task_type
    wrong: list[Case] = []
    for person in service.state.people.values():
        for answer in person.checks:
            task = service.tasks.by_key[answer.task]
            if task.machine is not None and not task_type.passed(task, task_type.following(task, task.machine)):
                same = task_type.same(task.machine, answer.answer)
                wrong.append(Case(person.annotator, _arm(service, person), task.document_id, check=True, same=same))
    for task in service.tasks.work:
        machine = task.machine
        if machine is None:
            continue
        agreement = {
            answer.annotator: task_type.same(machine, answer.answer)
            for answer in service.state.counted_answers(task.key)
        }
        decision = service.state.adjudicated.get(task.key)
        decided = None if decision is None else task_type.same(machine, decision.answer)
        for annotator, agrees in agreement.items():
            others = [other for name, other in agreement.items() if name != annotator]
            if not decided if decided is not None else 2 * sum(others) < len(others):
                arm = _arm(service, service.state.people[annotator])
                wrong.append(Case(annotator, arm, task.document_id, check=False, same=agrees))
    return wrong


def _arm(service: CampaignService, person: Person) -> str:
    return UNASSISTED if service.campaign.assistance.hides_verdict else person.arm


def endorsement_rate(wrong: Iterable[Case]) -> tuple[float | None, int]:
    """Return the fraction of cases that agree with the machine, and the number of cases.

    The fraction is None if there are no cases.
    """
    same = [case.same for case in wrong]
    return (sum(same) / len(same) if same else None), len(same)


def automation_bias(wrong: list[Case], *, resamples: int = 1000, seed: int = 0) -> list[Row]:
    """Return rows of the study `assistance` for attention checks, for other tasks and for both.

    `endorsement` is the endorsement rate of one arm, and `pull` the difference between the arms. Intervals are computed
    by resampling documents. The list is empty if there are no cases.
    """
    rows: list[Row] = []
    groups = {"checks": [case for case in wrong if case.check], "work": [case for case in wrong if not case.check]}
    for tasks, group in (*groups.items(), ("all", wrong)):
        arms: dict[str, dict[str, list[float]]] = {ASSISTED: {}, UNASSISTED: {}}
        for case in group:
            arms[case.arm].setdefault(case.document, []).append(float(case.same))
        for arm, by_document in arms.items():
            if by_document:
                rows.append(_row("endorsement", share(by_document, resamples, seed), {"tasks": tasks, "arm": arm}))
        if all(arms.values()):
            documents = list(dict.fromkeys(case.document for case in group))
            gap = difference(arms[ASSISTED], arms[UNASSISTED], documents, resamples, seed)
            rows.append(_row("pull", replace(gap, n=len(group)), {"tasks": tasks}))
    return rows


def share(by_document: Shares, resamples: int, seed: int) -> Estimate:
    """Return the mean of outcomes, with an interval computed by resampling documents."""
    values = [(document, value) for document, group in by_document.items() for value in group]
    bootstrap = Bootstrap([document for document, _ in values], resamples, seed=seed)
    return bootstrap.mean([value for _, value in values])


def difference(first: Shares, second: Shares, documents: Sequence[str], resamples: int, seed: int) -> Estimate:
    """Return the difference between the means of two sets of outcomes.

    For the interval, the same documents are resampled for both. `n` is the number of outcomes in `first`.
    """
    counts = [
        np.array([(sum(shares.get(document, ())), len(shares.get(document, ()))) for document in documents])
        for shares in (first, second)
    ]

    def gap(weights: Floats) -> Floats:
        shares = [ratio(total[:, 0], total[:, 1]) for total in (weights @ count for count in counts)]
        return np.asarray(shares[0] - shares[1])

    bootstrap = Bootstrap(list(documents), resamples, seed=seed)
    return bootstrap.interval(gap, n=sum(map(len, first.values())))


def _row(statistic: str, estimate: Estimate, details: dict[str, Any]) -> Row:
    row = interval_row(estimate, study=STUDY, statistic=statistic, details=details)
    return row.model_copy(update={"reason": None if row.status == "ok" else "too few documents for an interval"})
