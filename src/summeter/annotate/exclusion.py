"""Exclusion by rule: who falls under which limit. Each exclusion is an event with its rule and can be taken back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from summeter.annotate.quality import Standing
from summeter.annotate.store.events import Event
from summeter.records import UsageError

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk

CHECKS, SECONDS, AGREEMENT, ENDORSEMENT = "checks", "seconds", "agreement", "endorsement"


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
        return any(one is not None for one in limits)


class Proposal(NamedTuple):
    """Somebody who falls under a rule, and why in words."""

    annotator: str
    rule: str
    reason: str


def proposals(people: Iterable[Standing], rules: Rules) -> list[Proposal]:
    """Those who fall under a rule and are not excluded yet, each by the first rule that fits.

    Raises UsageError without any rule.
    """
    if not rules.any:
        raise UsageError("no rule is given; name a limit, such as --checks-below 0.7, or annotators")
    found = (_first(one, rules) for one in people if not one.excluded)
    return [one for one in found if one is not None]


def _first(one: Standing, rules: Rules) -> Proposal | None:
    enough = one.answered >= rules.min_answers
    rate = one.check_rate if one.checks_seen >= rules.min_checks else None
    if rules.checks_below is not None and rate is not None and rate < rules.checks_below:
        said = f"passed {one.checks_passed} of {one.checks_seen} attention checks, under {rules.checks_below:g}"
        return Proposal(one.annotator, CHECKS, said)
    times = [time for time in (one.seconds_median, one.seconds_waited) if time is not None]
    quick = min(times) if enough and times else None
    if rules.seconds_below is not None and quick is not None and quick < rules.seconds_below:
        said = f"half of {one.answered} answers took {quick:.1f} s or less, under {rules.seconds_below:g} s"
        return Proposal(one.annotator, SECONDS, said)
    agreed = one.agreement if enough else None
    if rules.agreement_below is not None and agreed is not None and agreed < rules.agreement_below:
        said = f"agrees with the others at {agreed:.2f}, under {rules.agreement_below:g}"
        return Proposal(one.annotator, AGREEMENT, said)
    blind = one.endorsement if one.endorsement_n >= rules.min_checks else None
    if rules.endorsement_above is not None and blind is not None and blind > rules.endorsement_above:
        said = (f"follows the machine in {blind:.0%} of {one.endorsement_n} cases where it is wrong, "
                f"above {rules.endorsement_above:.0%}")  # fmt: skip
        return Proposal(one.annotator, ENDORSEMENT, said)
    return None


def exclude(desk: Desk, found: Iterable[Proposal], *, by: str) -> list[Event]:
    """Exclude everybody proposed: their answers stop counting, and their tasks are offered to others again."""
    return [desk.exclude(one.annotator, one.reason, by=by, rule=one.rule) for one in found]


def reinstate_rule(desk: Desk, rule: str, reason: str, *, by: str) -> list[Event]:
    """Take back every exclusion that stands by a rule. Raises UsageError where there is none."""
    last = {one.annotator: one for one in desk.state.exclusions}
    under = [name for name, one in last.items() if one.kind == "excluded" and one.data.get("rule") == rule]
    if not under:
        rules = sorted({str(one.data.get("rule")) for one in last.values() if one.kind == "excluded"} - {"None"})
        raise UsageError(f"nobody is excluded by the rule {rule!r}; rules that hold: {', '.join(rules) or 'none'}")
    return [desk.reinstate(str(name), reason, by=by, rule=rule) for name in under]
