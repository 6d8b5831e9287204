"""Exclusion of annotators by rules.

Each exclusion is logged with its rule and can be reverted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import CHECKS_RULE, Event
from summeter.records import Parameter, UsageError

Json = dict[str, Any]


class Proposal(NamedTuple):
    """An annotator to exclude, with the rule that applies and the reason."""

    annotator: str
    rule: str
    reason: str


def proposals(
    annotators: Iterable[Json],
    *,
    checks_below: float | None = None,
    seconds_below: float | None = None,
    agreement_below: float | None = None,
    endorsement_above: float | None = None,
    min_answers: int = 10,
    min_checks: int = 4,
) -> list[Proposal]:
    """Return the annotators to exclude, each by the first rule that applies; a limit of None disables a rule.

    - `checks_below`: fraction of attention checks that were passed, after at least `min_checks` checks
    - `seconds_below`: median time per task, in seconds: the reported time or that by the server's clock, whichever is
      less
    - `agreement_below`: agreement with the merged votes of the other annotators
    - `endorsement_above`: fraction of answers that agree with the machine when it is wrong, after at least `min_checks`
      such answers

    `seconds_below` and `agreement_below` apply after at least `min_answers` answers. `annotators` is the result of
    `quality.annotator_statistics`. Annotators who are already excluded are left out. Raises UsageError if no limit is
    given.
    """
    if (checks_below, seconds_below, agreement_below, endorsement_above) == (None,) * 4:
        raise UsageError("no rule is set; give a limit such as ", Parameter("checks_below", "0.7"))
    found: list[Proposal] = []
    for row in annotators:
        name, answered, seen = row["annotator"], row["answered"], row["checks_seen"]
        times = [time for time in (row["seconds_median"], row["seconds_waited"]) if time is not None]
        has_enough_answers = answered >= min_answers
        seconds = min(times) if has_enough_answers and times else None
        agreement = row["agreement"] if has_enough_answers else None
        endorsement = row["endorsement"] if row["endorsement_n"] >= min_checks else None
        if row["excluded"]:
            continue
        if _is_below(row["check_rate"] if seen >= min_checks else None, checks_below):
            passed = f"passed {row['checks_passed']} of {seen} attention checks"
            found.append(Proposal(name, CHECKS_RULE, f"{passed}, a share below {checks_below:g}"))
        elif _is_below(seconds, seconds_below):
            reason = f"median of {seconds:.1f} s in {answered} answers, below {seconds_below:g} s"
            found.append(Proposal(name, "seconds", reason))
        elif _is_below(agreement, agreement_below):
            reason = f"agreement of {agreement:.2f} with the others, below {agreement_below:g}"
            found.append(Proposal(name, "agreement", reason))
        elif _is_below(endorsement_above, endorsement):
            reason = (
                f"agrees with the machine in {endorsement:.0%} of {row['endorsement_n']} cases where it is wrong, "
                f"above {endorsement_above:.0%}"
            )
            found.append(Proposal(name, "endorsement", reason))
    return found


def _is_below(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value < limit


def exclude(service: CampaignService, proposed: Iterable[Proposal], *, by: str) -> list[Event]:
    """Exclude the proposed annotators, and return the events.

    The tasks of these annotators are offered to others again.
    """
    return [service.exclude(proposal.annotator, proposal.reason, by=by, rule=proposal.rule) for proposal in proposed]


def reinstate_rule(service: CampaignService, rule: str, reason: str, *, by: str) -> list[Event]:
    """Revert all exclusions by a rule, and return the events.

    Raises UsageError if no annotator is excluded by the rule.
    """
    last_events = {event.annotator: event for event in service.state.exclusions}
    rules = {name: event.data.get("rule") for name, event in last_events.items() if event.kind == "excluded"}
    annotators = [str(name) for name, excluded_by in rules.items() if excluded_by == rule]
    if not annotators:
        known = ", ".join(sorted({str(excluded_by) for excluded_by in rules.values() if excluded_by})) or "none"
        raise UsageError(f"no annotator is excluded by the rule {rule!r}; rules of current exclusions: {known}")
    return [service.reinstate(name, reason, by=by, rule=rule) for name in annotators]
