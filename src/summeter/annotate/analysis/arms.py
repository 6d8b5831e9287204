"""The effect of machine verdicts on annotators, measured between campaigns.

The campaigns have the same tasks, but show different parts of the machine verdicts. The study follows the ablation of
UniSumEval (Lee et al., 2024). It measures the agreement of annotators, and how often they override machine verdicts,
without assistance, with the verdict, and with the verdict and its reason. Each arm is a campaign with different
annotators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from summeter.annotate.analysis.automation_bias import STUDY, Shares, difference, share
from summeter.annotate.analysis.quality import crowd_votes
from summeter.annotate.campaign.service import CampaignService
from summeter.meta import agree
from summeter.meta.results import Row, Study, interval_row, pivot
from summeter.records import UsageError
from summeter.tables import Table, number, with_interval

RESAMPLES = 1000
ERRORS, PASSES = "overturned_errors", "overturned_passes"
CHECKS, DIFFERENCE = "checks_passed", "difference"


def arms(services: Mapping[str, CampaignService], *, resamples: int = RESAMPLES, seed: int = 0) -> Study:
    """Return the study `assistance` with the rows of each arm (`details.arm`).

    `services` maps the name of each arm to its campaign. The statistics are the agreement coefficient for each aspect
    of the task type; `overturned_errors` and `overturned_passes`, the fractions of negative and of positive machine
    verdicts that most annotators of the task override; and `checks_passed`, the fraction of attention checks that were
    passed. For the last three, `STATISTIC_difference` is the value of the arm minus that of the first arm. Intervals
    are computed by resampling documents.

    Raises UsageError if the campaigns have different tasks, no machine verdicts or no answers.
    """
    _check(services)
    rows: list[Row] = []
    first = next(iter(services.values()))
    documents = list(first.folder.data.documents)
    base: Mapping[str, Shares] = {}
    for arm, service in services.items():
        details = {"arm": arm}
        rows += (
            row.model_copy(update={"study": STUDY, "details": {**row.details, **details}})
            for row in agree(
                crowd_votes(service), coefficients=service.task_type.coefficients[:1], resamples=resamples, seed=seed
            )
            if row.aspect not in service.task_type.side_aspects
        )
        shares = _shares(service)
        for statistic, by_document in shares.items():
            if by_document:
                rate = share(by_document, resamples, seed)
                rows.append(interval_row(rate, study=STUDY, statistic=statistic, details=details))
        if service is first:
            base = shares
            continue
        for statistic, by_document in shares.items():
            if by_document and base[statistic]:
                gap = difference(by_document, base[statistic], documents, resamples, seed)
                compared = {**details, "minus": next(iter(services))}
                rows.append(interval_row(gap, study=STUDY, statistic=f"{statistic}_{DIFFERENCE}", details=compared))
    count = len(first.tasks.work)
    notes = [f"{count} tasks of {first.task_type.name} in each arm; arms have different annotators"]
    return Study(STUDY, rows, notes)


def arm_names(services: Sequence[CampaignService]) -> dict[str, CampaignService]:
    """Return the campaigns by the part of the machine verdict that they show.

    If two campaigns show the same part, their names are added to distinguish them. Raises UsageError if a campaign has
    no machine verdicts or is given twice.
    """
    names: list[str] = []
    for service in services:
        machine = service.campaign.assistance.machine
        if machine is None:
            raise UsageError(f"{service.folder.folder}: the campaign has no machine verdicts; set assistance.machine")
        names.append(machine.show)
    unique = len(set(names)) == len(names)
    named = {
        name if unique else f"{name} ({service.folder.folder.name})": service
        for name, service in zip(names, services, strict=True)
    }
    if len(named) < len(services):
        raise UsageError("a campaign is given twice; give each arm once")
    return named


def table(study: Study) -> Table:
    """Return the table of a study of arms, with one line per statistic and one column per arm."""
    labels = {
        (row.aspect, row.statistic): f"{row.aspect}: {row.statistic}" if row.aspect else row.statistic.replace("_", " ")
        for row in study
    }
    return pivot(
        study,
        line=lambda row: (row.aspect, row.statistic),
        column=lambda row: row.details["arm"].replace("_", " "),
        show=_cell,
        lines=labels,
    )


def _cell(row: Row | None) -> str:
    if row is None or row.value is None:
        return number(None)
    return f"{with_interval(row.value, row.low, row.high, 2)} n={row.n}"


def _check(services: Mapping[str, CampaignService]) -> None:
    if len(services) < 2:
        raise UsageError("an ablation needs two campaigns or more; give one campaign per arm")
    (name, first), *others = services.items()
    keys = {task.key for task in first.tasks.work}
    for other, service in others:
        if {task.key for task in service.tasks.work} != keys or service.task_type.name != first.task_type.name:
            raise UsageError(
                f"the arms {name} and {other} have different tasks; build them from the same data and selection"
            )
    for arm, service in services.items():
        if not any(task.machine for task in service.tasks.work):
            raise UsageError(f"the arm {arm} has no machine verdicts on its tasks; set assistance.machine")


def _shares(service: CampaignService) -> dict[str, dict[str, list[float]]]:
    """Return the outcomes (0 or 1) that each statistic averages, by statistic and document."""
    shares: dict[str, dict[str, list[float]]] = {ERRORS: {}, PASSES: {}, CHECKS: {}}
    task_type, state = service.task_type, service.state
    for task in service.tasks.work:
        if task.machine is None:
            continue
        decision = state.adjudicated.get(task.key)
        answers = [answer.answer for answer in state.counted_answers(task.key)]
        same = [task_type.same(task.machine, answer) for answer in ([decision.answer] if decision else answers)]
        if 2 * sum(same) != len(same):  # ties and tasks without answers do not count
            statistic = PASSES if task.machine["accepts"] else ERRORS
            shares[statistic].setdefault(task.document_id, []).append(float(2 * sum(same) < len(same)))
    for person in state.not_excluded:
        for answer in person.checks:
            document = service.tasks.by_key[answer.task].document_id
            shares[CHECKS].setdefault(document, []).append(float(bool(answer.passed)))
    return shares
