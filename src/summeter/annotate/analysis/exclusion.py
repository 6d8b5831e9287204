"""Exclusion by rule: who falls under which limit. Each exclusion is an event with its rule and can be taken back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from summeter.annotate.analysis.quality import AnnotatorStatistics
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import CHECKS_RULE
from summeter.records import Parameter, UsageError

SECONDS, AGREEMENT, ENDORSEMENT = "seconds", "agreement", "endorsement"


@dataclass(frozen=True)
class Rules:
    """Limits under (endorsement: above) which somebody is excluded; None is no rule.

    `checks_below` is a share of attention checks passed, judged after `min_checks` of them; `seconds_below` a median
    time (claimed, or by the server's clock where that is less); `agreement_below` the coefficient with the others'
    merged votes; `endorsement_above` the share of answers that follow the machine where it is wrong. The last three are
    judged after `min_answers` answers (or cases).
    """

    checks_below: float | None = None
    seconds_below: float | None = None
    agreement_below: float | None = None
    endorsement_above: float | None = None
    min_answers: int = 10
    min_checks: int = 4

    @property
    def any(self) -> bool:
        """Whether there is some rule."""
        limits = (self.checks_below, self.seconds_below, self.agreement_below, self.endorsement_above)
        return any(limit is not None for limit in limits)


class Proposal(NamedTuple):
    """Somebody who falls under a rule, and why in words."""

    annotator: str
    rule: str
    reason: str


def proposals(annotators: Iterable[AnnotatorStatistics], rules: Rules) -> list[Proposal]:
    """Those who fall under a rule and are not excluded yet, each by the first rule that fits.

    Raises UsageError without any rule.
    """
    if not rules.any:
        raise UsageError("no rule is given; set a limit, such as ", Parameter("checks_below", "0.7"))
    proposed = (_first(annotator, rules) for annotator in annotators if not annotator.person.excluded)
    return [proposal for proposal in proposed if proposal is not None]


def _first(annotator: AnnotatorStatistics, rules: Rules) -> Proposal | None:
    person = annotator.person
    name, answered, seen = person.annotator, len(person.answers), person.checks_seen
    enough = answered >= rules.min_answers
    if _under(person.checks_passed / seen if seen >= rules.min_checks and seen else None, rules.checks_below):
        passed = f"passed {person.checks_passed} of {seen} attention checks"
        return Proposal(name, CHECKS_RULE, f"{passed}, under {rules.checks_below:g}")
    times = [time for time in (person.seconds_median, person.seconds_waited) if time is not None]
    quick = min(times) if enough and times else None
    if _under(quick, rules.seconds_below):
        reason = f"half of {answered} answers took {quick:.1f} s or less, under {rules.seconds_below:g} s"
        return Proposal(name, SECONDS, reason)
    if enough and _under(annotator.agreement, rules.agreement_below):
        reason = f"agrees with the others at {annotator.agreement:.2f}, under {rules.agreement_below:g}"
        return Proposal(name, AGREEMENT, reason)
    followed = annotator.endorsement if annotator.endorsement_n >= rules.min_checks else None
    if _under(rules.endorsement_above, followed):
        reason = (
            f"follows the machine in {followed:.0%} of {annotator.endorsement_n} cases where it is wrong, "
            f"above {rules.endorsement_above:.0%}"
        )
        return Proposal(name, ENDORSEMENT, reason)
    return None


def _under(value: float | None, limit: float | None) -> bool:
    """Whether there are both, and the value lies under the limit."""
    return value is not None and limit is not None and value < limit


def exclude(service: CampaignService, proposed: Iterable[Proposal], *, by: str) -> list[Event]:
    """Exclude everybody proposed: their answers stop counting, and their tasks are offered to others again."""
    return [service.exclude(proposal.annotator, proposal.reason, by=by, rule=proposal.rule) for proposal in proposed]


def reinstate_rule(service: CampaignService, rule: str, reason: str, *, by: str) -> list[Event]:
    """Take back every exclusion that stands by a rule. Raises UsageError where there is none."""
    last = {event.annotator: event for event in service.state.exclusions}
    standing = {name: event.data.get("rule") for name, event in last.items() if event.kind == "excluded"}
    annotators = [str(name) for name, excluded_by in standing.items() if excluded_by == rule]
    if not annotators:
        known = ", ".join(sorted({str(excluded_by) for excluded_by in standing.values() if excluded_by})) or "none"
        raise UsageError(f"nobody is excluded by the rule {rule!r}; rules that hold: {known}")
    return [service.reinstate(name, reason, by=by, rule=rule) for name in annotators]
