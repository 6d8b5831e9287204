"""Identity: the Visitor of a link, the pseudonym in its place, and unguessable names.

Everything here is a keyed hash (HMAC-SHA-256) of the campaign's secret: nothing needs to be stored to be known again.
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
"""The platform of adjudicators, and the usual name of one."""
RESERVED = {
    PEOPLE: "the name of all annotators' votes taken together; studies would leave this person's answers out",
    PREVIEW: "the name of a preview, which stores nothing: this person's answers would be lost",
    ADJUDICATOR: "the name of an adjudicator, whose answers decide: this person's would be taken for theirs",
}
"""Names that no account can have, and what each stands for."""


class Visitor(NamedTuple):
    """A person as a platform names them; `session` and `study` are the platform's own (assignment and HIT of MTurk).

    The id `preview` is that of a preview, which writes nothing.
    """

    platform: str
    id: str
    study: str | None = None
    session: str | None = None
    back: str | None = None
    """Where a finished assignment is sent (MTurk's turkSubmitTo, checked when the link is read)."""

    @property
    def preview(self) -> bool:
        """True for a preview visitor."""
        return self.id == PREVIEW


class Names:
    """Names made with a campaign's secret."""

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()

    def mark(self, purpose: str, *parts: str, length: int = 64) -> str:
        """Hex digits that only the secret can make, for `parts` in the role `purpose`."""
        text = json.dumps([purpose, *parts])
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:length]

    def same(self, given: str, purpose: str, *parts: str, length: int = 64) -> bool:
        """Whether `given` is that mark, compared in constant time."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.mark(purpose, *parts, length=length).encode())

    def annotator(self, visitor: Visitor) -> str:
        """The pseudonym under which a person's answers are kept; a local account is its own."""
        if visitor.platform == "local":
            return visitor.id
        if visitor.platform == ADJUDICATOR:
            return ADJUDICATOR if visitor.id == ADJUDICATOR else f"{ADJUDICATOR}:{visitor.id}"
        return f"{visitor.platform}-{self.mark('annotator', visitor.platform, visitor.id, length=10)}"

    def task(self, annotator: str, key: str) -> str:
        """What a task is called in one person's browser."""
        return self.mark("task", annotator, key, length=24)

    def account(self, name: str) -> str:
        """The token in the link of a local account."""
        return f"{name}.{self.mark('account', name, length=32)}"

    def account_of(self, token: str) -> str | None:
        """The account a token belongs to, or None."""
        name, _, mark = token.rpartition(".")
        return name if name and self.same(mark, "account", name, length=32) else None

    def simulated_study(self, platform: str, name: str) -> str:
        """The study id of a simulated annotator; it needs the secret."""
        return f"simulated-{self.mark('made', platform, name, length=32)}"

    def is_simulated(self, visitor: Visitor) -> bool:
        """Whether this is a simulated annotator."""
        start, _, mark = (visitor.study or "").partition("-")
        return start == "simulated" and self.same(mark, "made", visitor.platform, visitor.id, length=32)

    def order(self, annotator: str, key: str, systems: tuple[str, ...]) -> tuple[str, ...]:
        """The systems of a task in the order in which this person sees them."""
        return tuple(sorted(systems, key=lambda system: self.mark("order", annotator, key, system)))

    def cookie(self, visitor: Visitor) -> str:
        """A visitor as a signed cookie."""
        body = base64.urlsafe_b64encode(json.dumps(visitor).encode()).decode().rstrip("=")
        return f"{body}.{self.mark('cookie', body)}"

    def visitor_of(self, cookie: str) -> Visitor | None:
        """The visitor of a cookie; None if it is not one of ours."""
        body, _, mark = cookie.partition(".")
        if not self.same(mark, "cookie", body):
            return None
        try:
            return Visitor(*json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))
        except (ValueError, TypeError, binascii.Error):
            return None

    def csrf(self, cookie: str) -> str:
        """The token that every write of a session carries."""
        return self.mark("csrf", cookie, length=40)


def adjudicator_name(annotator: str) -> str:
    """The name that an adjudicator gave.

    >>> adjudicator_name("adjudicator:lead")
    'lead'
    """
    return annotator.removeprefix(f"{ADJUDICATOR}:")


def arm_of(annotator: str, seed: int, hide_for: float) -> str:
    """`assisted`, or for a share `hide_for` of people `unassisted`: by hash, so it never changes.

    >>> arm_of("anna", 0, 0.0), arm_of("anna", 0, 1.0)
    ('assisted', 'unassisted')
    """
    return "unassisted" if fraction("arm", seed, annotator) < hide_for else "assisted"


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on nothing but its arguments."""
    mark = hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).digest()
    return int.from_bytes(mark[:8], "big") / 2**64
