"""What a machine's help does: campaigns over the same tasks that show more or less of its verdict, side by side.

UniSumEval's ablation (Lee et al., 2024): how far annotators agree, and how often they overturn the machine's verdicts,
without its help, with its verdict, and with its verdict and reason. Each arm is a campaign with people of its own.
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
    """Rows of the study "assistance" for each arm (`details.arm`), by the arms' names; the first is what the others are
    compared with.

    The coefficient of agreement of the kind's aspects; `overturned_errors` and `overturned_passes`, the share of the
    machine's negative and positive verdicts that most annotators overturn, tasks as units; `checks_passed`. For each of
    the last three `STATISTIC_difference` is the arm minus the first. Intervals draw documents whole.

    Raises UsageError where the campaigns ask unlike tasks or have no verdicts, or nobody has answered in one.
    """
    _check(services)
    rows: list[Row] = []
    first = next(iter(services.values()))
    documents = list(first.folder.data.documents)
    base: Mapping[str, Shares] = {}
    for arm, service in services.items():
        about = {"arm": arm}
        rows += (
            row.model_copy(update={"study": STUDY, "details": {**row.details, **about}})
            for row in agree(
                crowd_votes(service), coefficients=service.task_type.coefficients[:1], resamples=resamples, seed=seed
            )
            if row.aspect not in service.task_type.side_aspects
        )
        shares = _shares(service)
        for statistic, own in shares.items():
            if own:
                rate = share(own, resamples, seed)
                rows.append(interval_row(rate, study=STUDY, statistic=statistic, details=about))
        if service is first:
            base = shares
            continue
        for statistic, own in shares.items():
            if own and base[statistic]:
                gap = difference(own, base[statistic], documents, resamples, seed)
                details = {**about, "minus": next(iter(services))}
                rows.append(interval_row(gap, study=STUDY, statistic=f"{statistic}_{DIFFERENCE}", details=details))
    notes = [
        f"{len(first.tasks.work)} tasks of {first.task_type.name} in each arm; an arm is a campaign with its own people"
    ]
    return Study(STUDY, rows, notes)


def arm_names(services: Sequence[CampaignService]) -> dict[str, CampaignService]:
    """The campaigns by what they show of the machine's verdict; by their own names too where two show the same.

    Raises UsageError for a campaign that has no machine's verdicts.
    """
    names: list[str] = []
    for service in services:
        machine = service.campaign.assistance.machine
        if machine is None:
            raise UsageError(f"{service.folder.folder}: the campaign has no machine's verdicts (assistance.machine)")
        names.append(machine.show)
    unlike = len(set(names)) == len(names)
    named = {
        name if unlike else f"{name} ({service.folder.folder.name})": service
        for name, service in zip(names, services, strict=True)
    }
    if len(named) < len(services):
        raise UsageError("a campaign is named twice; name each arm once")
    return named


def table(study: Study) -> Table:
    """The rows of `arms` as a table: a line a statistic, a column an arm."""
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
        raise UsageError("give two campaigns or more, each an arm")
    (name, first), *others = services.items()
    keys = {task.key for task in first.tasks.work}
    for other, service in others:
        if {task.key for task in service.tasks.work} != keys or service.task_type.name != first.task_type.name:
            raise UsageError(
                f"the arms {name} and {other} ask unlike tasks; make them from the same data and selection"
            )
    for arm, service in services.items():
        if not any(task.machine for task in service.tasks.work):
            raise UsageError(f"the arm {arm} has no machine's verdict on any task (assistance.machine)")


def _shares(service: CampaignService) -> dict[str, dict[str, list[float]]]:
    """The zeros and ones of each share, by document."""
    shares: dict[str, dict[str, list[float]]] = {ERRORS: {}, PASSES: {}, CHECKS: {}}
    task_type, state = service.task_type, service.state
    for task in service.tasks.work:
        if task.machine is None:
            continue
        decision = state.adjudicated.get(task.key)
        answers = [answer.answer for answer in state.counted_answers(task.key)]
        same = [task_type.same(task.machine, answer) for answer in ([decision.answer] if decision else answers)]
        if 2 * sum(same) != len(same):  # a tie overturns nothing and confirms nothing, as does a task without answers
            statistic = PASSES if task.machine["accepts"] else ERRORS
            shares[statistic].setdefault(task.document_id, []).append(float(2 * sum(same) < len(same)))
    for person in state.not_excluded:
        for answer in person.checks:
            document = service.tasks.by_key[answer.task].document_id
            shares[CHECKS].setdefault(document, []).append(float(bool(answer.passed)))
    return shares
