"""So many a minute: a token bucket that never gives more than that in any minute."""

from __future__ import annotations

MINUTE = 60.0
ROUNDING = 1e-9


class Bucket:
    """Lets `a_minute` units pass in any minute, evenly: a second's worth at once, the rest as it flows in.

    The level may fall below nothing, since the size of a call is only known afterwards; who comes next waits until
    the debt is paid. Times are seconds of any steady clock.

    >>> bucket = Bucket(60, now=0.0)
    >>> bucket.take(1, now=0.0)
    >>> round(bucket.wait(1, now=0.0), 3)
    1.017
    """

    def __init__(self, a_minute: float, now: float) -> None:
        self._most = max(1.0, a_minute / MINUTE)
        # With what is there at the start, a minute brings `a_minute` and no more.
        self._flow = max(a_minute - self._most, 1.0) / MINUTE
        self._level = self._most
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may pass; more than the bucket holds passes when it is full."""
        self._fill(now)
        short = min(amount, self._most) - self._level
        # What only rounding has left short would be waited for in steps too small for the clock.
        return short / self._flow if short > ROUNDING else 0.0

    def take(self, amount: float, now: float) -> None:
        """Let `amount` pass; a negative one gives back what turned out not to be needed."""
        self._fill(now)
        self._level = min(self._most, self._level - amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._most, self._level + max(0.0, now - self._at) * self._flow)
        self._at = now
