"""Local accounts: a link with a token for each name in the campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.people import Names, Visitor
from summeter.annotate.platforms.base import Platform, Work, plain_id


class Local(Platform):
    """`?token=anna.0123...`; a made-up annotator at an account says so in `study`."""

    name = "local"

    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """The account of a token, while the campaign names it."""
        account = names.account_of(query.get("token", ""))
        if not account or account not in campaign.platform.accounts:
            return None
        simulated = Visitor(self.name, account, plain_id(query.get("study")))
        return simulated if names.is_simulated(simulated) else Visitor(self.name, account)

    def columns(self) -> Sequence[str]:
        """Account, how far it came, what it earned."""
        return ("account", "answered", "batches", "outcome", "pay", "bonus")

    def row(self, work: Work) -> Sequence[object]:
        """One a person."""
        return work.id, work.answered, work.batches, work.outcome or "", f"{work.pay:.2f}", f"{work.bonus:.2f}"
