"""Local accounts: a link with a token for each name in the campaign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from summeter.annotate.people import Names, Visitor
from summeter.annotate.platforms.base import Platform, plain_id, submissions

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.desk import Desk


class Local(Platform):
    """`?token=anna.0123...`; a made-up annotator at an account says so in `study`."""

    name = "local"

    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """The account of a token, while the campaign names it."""
        account = names.account_of(query.get("token", ""))
        if not account or account not in campaign.platform.accounts:
            return None
        made = Visitor(self.name, account, plain_id(query.get("study")))
        return made if names.is_made(made) else Visitor(self.name, account)

    def columns(self) -> Sequence[str]:
        """Account, how far it came, what it earned."""
        return ("account", "answered", "batches", "outcome", "pay", "bonus")

    def rows(self, desk: Desk) -> Iterator[Sequence[object]]:
        """One a person."""
        for one in submissions(desk):
            yield one.id, one.answered, one.batches, one.outcome or "", f"{one.pay:.2f}", f"{one.bonus:.2f}"
