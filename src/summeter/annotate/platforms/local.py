"""Local accounts, each with a personal link."""

from __future__ import annotations

from collections.abc import Mapping

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.people import PREVIEW, Names, Visitor
from summeter.annotate.platforms.base import Platform, plain_id


class Local(Platform):
    """Accounts of a campaign, identified by links such as `?token=anna.0123...`.

    The query parameter `study` marks simulated annotators.
    """

    name = "local"
    columns = (
        ("account", lambda work: work.id),
        ("answered", lambda work: work.answered),
        ("batches", lambda work: work.batches),
        ("outcome", lambda work: work.outcome or ""),
        ("pay", lambda work: f"{work.pay:.2f}"),
        ("bonus", lambda work: f"{work.bonus:.2f}"),
    )

    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """Return the account to which the token belongs, or None if the campaign no longer has it."""
        account = names.account_of(query.get("token", ""))
        if not account or account == PREVIEW or account not in campaign.platform.accounts:
            return None
        simulated = Visitor(self.name, account, plain_id(query.get("study")))
        return simulated if names.is_simulated(simulated) else Visitor(self.name, account)
