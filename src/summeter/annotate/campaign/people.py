"""Identities of annotators: visitors, pseudonyms and tokens.

Pseudonyms and tokens are HMAC-SHA-256 values with the campaign's secret as the key, so they need not be stored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import NamedTuple

from summeter.data.human import PEOPLE

PREVIEW = "preview"
ADJUDICATOR = "adjudicator"
"""Platform of adjudicators, and the default name of an adjudicator."""
RESERVED = {
    PEOPLE: "the name of the merged votes of all annotators",
    PREVIEW: "the name of preview visitors, whose answers are not stored",
    ADJUDICATOR: "the name of adjudicators, whose answers are final",
}
"""Names that accounts must not have, with their meanings."""


class Visitor(NamedTuple):
    """A visitor, as identified by a platform.

    `session` and `study` are identifiers from the platform (for Mechanical Turk, those of the assignment and the HIT).
    The id of a preview visitor is `preview`.
    """

    platform: str
    id: str
    study: str | None = None
    session: str | None = None
    back: str | None = None
    """Address to which the assignment is submitted (`turkSubmitTo` of Mechanical Turk), checked on reading the link."""

    @property
    def preview(self) -> bool:
        """Whether this is a preview visitor."""
        return self.id == PREVIEW


class Names:
    """The pseudonyms, tokens and cookies that are derived from a campaign's secret."""

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()

    def mark(self, purpose: str, *parts: str, length: int = 64) -> str:
        """Return the first `length` hex digits of the HMAC of `parts` for a purpose."""
        text = json.dumps([purpose, *parts])
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:length]

    def same(self, mark: str, purpose: str, *parts: str, length: int = 64) -> bool:
        """Return whether `mark` is the HMAC of `parts`, using a constant-time comparison."""
        return hmac.compare_digest(mark.encode("utf-8", "replace"), self.mark(purpose, *parts, length=length).encode())

    def annotator(self, visitor: Visitor) -> str:
        """Return the pseudonym of a visitor; for a local account, this is its name."""
        if visitor.platform == "local":
            return visitor.id
        if visitor.platform == ADJUDICATOR:
            return ADJUDICATOR if visitor.id == ADJUDICATOR else f"{ADJUDICATOR}:{visitor.id}"
        return f"{visitor.platform}-{self.mark('annotator', visitor.platform, visitor.id, length=10)}"

    def task(self, annotator: str, key: str) -> str:
        """Return the identifier by which an annotator's browser refers to a task."""
        return self.mark("task", annotator, key, length=24)

    def account(self, name: str) -> str:
        """Return the token in the link of a local account."""
        return f"{name}.{self.mark('account', name, length=32)}"

    def account_of(self, token: str) -> str | None:
        """Return the account to which a token belongs, or None if the token is invalid."""
        name, _, mark = token.rpartition(".")
        return name if name and self.same(mark, "account", name, length=32) else None

    def simulated_study(self, platform: str, name: str) -> str:
        """Return the study identifier that marks a simulated annotator."""
        return f"simulated-{self.mark('made', platform, name, length=32)}"

    def is_simulated(self, visitor: Visitor) -> bool:
        """Return whether a visitor is a simulated annotator."""
        start, _, mark = (visitor.study or "").partition("-")
        return start == "simulated" and self.same(mark, "made", visitor.platform, visitor.id, length=32)

    def order(self, annotator: str, key: str, systems: tuple[str, ...]) -> tuple[str, ...]:
        """Return the systems of a task in the order in which an annotator sees their summaries."""
        return tuple(sorted(systems, key=lambda system: self.mark("order", annotator, key, system)))

    def cookie(self, visitor: Visitor) -> str:
        """Return a signed cookie that identifies a visitor."""
        body = base64.urlsafe_b64encode(json.dumps(visitor).encode()).decode().rstrip("=")
        return f"{body}.{self.mark('cookie', body)}"

    def visitor_of(self, cookie: str) -> Visitor | None:
        """Return the visitor whom a cookie identifies, or None if the signature is wrong."""
        body, _, mark = cookie.partition(".")
        if not self.same(mark, "cookie", body):
            return None
        try:
            return Visitor(*json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))
        except (ValueError, TypeError, binascii.Error):
            return None

    def csrf(self, cookie: str) -> str:
        """Return the CSRF token of a session, which every write request must contain."""
        return self.mark("csrf", cookie, length=40)


def adjudicator_name(annotator: str) -> str:
    """Return the name that an adjudicator chose.

    >>> adjudicator_name("adjudicator:lead")
    'lead'
    """
    return annotator.removeprefix(f"{ADJUDICATOR}:")


def arm_of(annotator: str, seed: int, hide_for: float) -> str:
    """Return the arm of an annotator, `assisted` or `unassisted`.

    The arm is chosen by a hash, so that about a fraction `hide_for` of annotators is unassisted.
    >>> arm_of("anna", 0, 0.0), arm_of("anna", 0, 1.0)
    ('assisted', 'unassisted')
    """
    return "unassisted" if fraction("arm", seed, annotator) < hide_for else "assisted"


def fraction(*parts: object) -> float:
    """Return a pseudo-random number in [0, 1) that depends only on the arguments."""
    mark = hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).digest()
    return int.from_bytes(mark[:8], "big") / 2**64
